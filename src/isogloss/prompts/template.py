"""Text with named fields. A field that is missing, or given and not used, is an error."""

from __future__ import annotations

import string
from collections.abc import Mapping

from isogloss.errors import SettingError


class Template:
    """A text with named fields in braces, parsed once and quick to render.

    `{{` and `}}` stand for the braces themselves. Values are put in as they are: braces in a value mean nothing.

    Parameters
    ----------
    text : str
        The text, e.g. `"Do you say {variant} in {country}?"`.
    name : str
        What the text is called in messages.

    Raises
    ------
    SettingError
        If a brace is not closed, or a field has no plain name (`{}`, `{0}`, `{a.b}`, `{a!r}`, `{a:>8}`).

    Examples
    --------
    >>> Template("Do you say {variant}?", name="yes_no").render({"variant": "auto"})
    'Do you say auto?'
    """

    __slots__ = ("_literals", "_names", "fields", "name", "text")

    def __init__(self, text: str, *, name: str) -> None:
        self.text = text
        self.name = name
        literals: list[str] = []
        names: list[str] = []
        literal = ""
        try:
            parsed = list(string.Formatter().parse(text))
        except ValueError as error:
            raise SettingError(f"template {name!r}: {str(error).lower()}; a brace itself is written twice") from error
        for before, field, form, conversion in parsed:
            literal += before
            if field is None:
                continue
            if not field.isidentifier() or form or conversion:
                raise SettingError(f"template {name!r}: a field is a plain name in braces, got {{{field}}}")
            literals.append(literal)
            names.append(field)
            literal = ""
        literals.append(literal)
        self._literals = tuple(literals)
        self._names = tuple(names)
        self.fields = frozenset(names)

    def __repr__(self) -> str:
        return f"Template({self.text!r}, name={self.name!r})"

    def render(self, values: Mapping[str, str]) -> str:
        """The text with its fields filled in.

        Raises
        ------
        SettingError
            If a field has no value, or a value no field.
        """
        if values.keys() != self.fields:
            raise self._mismatch(values)
        parts = [self._literals[0]]
        for name, literal in zip(self._names, self._literals[1:], strict=True):
            parts.append(values[name])
            parts.append(literal)
        return "".join(parts)

    def _mismatch(self, values: Mapping[str, str]) -> SettingError:
        missing = ", ".join(repr(name) for name in sorted(self.fields - values.keys()))
        unused = ", ".join(repr(name) for name in sorted(values.keys() - self.fields))
        faults = [f"no value for field {missing}"] if missing else []
        if unused:
            faults.append(f"no field for value {unused}")
        return SettingError(f"template {self.name!r}: " + "; ".join(faults))
