"""Reading replies: strict or lenient, a status otherwise, never a guess."""

from isogloss.text.reading import Reading

__all__ = ["Reading"]
