"""What an agent of a debate says for its side."""

from __future__ import annotations

from pydantic import Field

from redargue.claims import Frozen
from redargue.tasks.base import max_length, quotes_field


class Argument(Frozen):
    """A statement, with the quotations that it relies on."""

    text: str = Field(description="your argument", json_schema_extra=max_length(1_000))
    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word from the documents")
