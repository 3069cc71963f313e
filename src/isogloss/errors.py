"""Every fault that isogloss names itself. The text of each is one line: what, where, what to do."""

from __future__ import annotations


class IsoglossError(Exception):
    """Base of all faults that a user can mend; the command line prints its text and exits with 1."""

    exit_code = 1


class DataError(IsoglossError):
    """A file or value that isn't what was expected; names file, row and column where there are any."""


class EmptyInputError(DataError):
    """A measure was asked of no data. Nothing measured isn't zero."""


class UndefinedError(DataError):
    """A measure has no value for these data (e.g. a correlation of a constant)."""


class SettingError(IsoglossError):
    """A setting, option or combination of them that can't work."""


class UnknownNameError(SettingError):
    """A name that nothing is registered under; near names are offered."""


class AbilityError(SettingError):
    """A model is asked for what it can't do, said before anything is sent."""


class ModelError(IsoglossError):
    """A model can't be reached or used at all (no key, no weights, no server); ends the asking of that model."""


class StoreError(IsoglossError):
    """A run folder or ledger that can't be opened or written."""


class IncompleteError(IsoglossError):
    """Work ended early; all that was answered is kept, and the same command goes on."""

    exit_code = 3
