"""System messages for chat templates that have none."""

from __future__ import annotations

from collections.abc import Sequence

from isogloss.records import Message


def fold_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with the text of all system messages put before the user's first; a prompt without any is kept.

    Examples
    --------
    >>> fold_system([Message(role="system", content="Be brief."), Message(role="user", content="Why?")])
    (Message(role='user', content='Be brief.\\n\\nWhy?'),)
    """
    system = [message.content for message in messages if message.role == "system"]
    if not system:
        return tuple(messages)
    rest = [message for message in messages if message.role != "system"]
    if rest and rest[0].role == "user":
        system.append(rest.pop(0).content)
    return (Message(role="user", content="\n\n".join(system)), *rest)
