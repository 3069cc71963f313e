"""Who answers: models behind HTTP, embedded ones, and scripted informants of known behaviour."""

from isogloss.models.model import Abilities, Model
from isogloss.models.opening import Name, Provider, foretell, open_model, parse_name, providers
from isogloss.models.scripted import ScriptedModel

__all__ = [
    "Abilities",
    "Model",
    "Name",
    "Provider",
    "ScriptedModel",
    "foretell",
    "open_model",
    "parse_name",
    "providers",
]
