"""A document that a user gives: one text with what is known about its source."""

from __future__ import annotations

import hashlib
import json

from pydantic import Field, field_validator

from redargue.claims import Frozen


class Document(Frozen):
    """A text to be searched and quoted.

    Attributes:
        id: names the document in its corpus; a document added under a known id replaces the one that is there.
        text: what is searched and quoted; at least one character that is not white space.
        title: empty where there is none.
        url: where the text was published; empty where unknown.
        publisher: who published it; empty where unknown.
        published: date as the source states it; empty where undated.
        path: the file that it came from; no part of the content.
    """

    id: str = Field(min_length=1)
    text: str
    title: str = ""
    url: str = ""
    publisher: str = ""
    published: str = ""
    path: str = ""

    @field_validator("*")
    @classmethod
    def _storable(cls, value: str) -> str:
        if "\0" in value:
            raise ValueError(f"a NUL character at character {value.index(chr(0))}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"half a surrogate pair at character {error.start}") from None
        return value

    @field_validator("text")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("no text")
        return value

    @property
    def sha256(self) -> str:
        """Of title, text, url, publisher and date: two documents with the same one are the same content."""
        content = json.dumps([self.title, self.text, self.url, self.publisher, self.published])
        return hashlib.sha256(content.encode()).hexdigest()
