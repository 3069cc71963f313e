"""People's part: what they are asked, sheets that go out and come back, how far they agree."""

from isogloss.annotation.form import Field, Form

__all__ = ["Field", "Form"]
