"""isogloss finds where language models stop knowing a country's words and culture."""

__version__ = "0.1.0"
