"""Reading replies: strict or lenient, a status otherwise, never a guess."""

from isogloss.text.body import part
from isogloss.text.choice import read_choice
from isogloss.text.normalise import fold, normalise, unwrap
from isogloss.text.numbers import read_numbers
from isogloss.text.packs import languages
from isogloss.text.reading import Reading
from isogloss.text.reasoning import REASONING_TAGS, Split, Tag, read_tag, split_reasoning
from isogloss.text.refusals import is_refusal
from isogloss.text.verdict import read_verdict
from isogloss.text.yes_no import read_yes_no

__all__ = [
    "REASONING_TAGS",
    "Reading",
    "Split",
    "Tag",
    "fold",
    "is_refusal",
    "languages",
    "normalise",
    "part",
    "read_choice",
    "read_numbers",
    "read_tag",
    "read_verdict",
    "read_yes_no",
    "split_reasoning",
    "unwrap",
]
