"""`hf/OWNER/NAME` and `hf/./DIR`: models on this machine through transformers."""

from isogloss.models.hf.model import HfModel

__all__ = ["HfModel"]
