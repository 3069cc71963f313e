"""Tokens of a call as its provider tells them, and their sum over the tries of one call."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

MOST_TOKENS = 2**40
"""No call takes so many (a trillion): a larger count is an error of the provider's, and sums of it would overflow."""


def counted(value: object) -> int | None:
    """A count of tokens; None for what can't be one: negative, fractional, a text, beyond `MOST_TOKENS`."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


class Told(Protocol):
    """Whatever carries the counts of tokens."""

    @property
    def input_tokens(self) -> int | None: ...
    @property
    def cached_tokens(self) -> int | None: ...
    @property
    def output_tokens(self) -> int | None: ...


class Usage(NamedTuple):
    """What a reply says it took; None for what it doesn't say."""

    input_tokens: int | None = None
    """All of them, those read from a cache among them."""
    cached_tokens: int | None = None
    output_tokens: int | None = None

    @classmethod
    def of(cls, reply: Told) -> Self:
        """What an outcome or a response says it took."""
        return cls(reply.input_tokens, reply.cached_tokens, reply.output_tokens)

    @property
    def is_told(self) -> bool:
        """Whether it says anything."""
        return self.input_tokens is not None or self.output_tokens is not None

    def plus(self, other: Usage) -> Usage:
        """The sum of two that are told; a number that one of them lacks isn't known of the sum either.

        Examples
        --------
        >>> Usage(10, 4, 2).plus(Usage(10, None, 3))
        Usage(input_tokens=20, cached_tokens=4, output_tokens=5)
        >>> Usage(10, None, 2).plus(Usage(10, None, None))
        Usage(input_tokens=20, cached_tokens=None, output_tokens=None)
        """
        n_cached = None
        if self.cached_tokens is not None or other.cached_tokens is not None:
            n_cached = (self.cached_tokens or 0) + (other.cached_tokens or 0)
        n_input = _sum(self.input_tokens, other.input_tokens)
        return Usage(n_input, None if n_input is None else n_cached, _sum(self.output_tokens, other.output_tokens))


NOT_TOLD = Usage()


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
