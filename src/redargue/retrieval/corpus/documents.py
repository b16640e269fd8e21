"""A user-supplied document: a text and the metadata of its source."""

from __future__ import annotations

import hashlib
import json

from pydantic import Field, field_validator

from redargue.claims import Frozen


class Document(Frozen):
    """A text that can be searched and quoted.

    Attributes:
        id: unique in its corpus; adding a document replaces an existing one with the same id.
        text: must not be blank.
        url: address of publication.
        published: publication date as stated by the source.
        path: file that the document was read from; not part of the content.
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
            raise ValueError(f"contains a NUL character at position {value.index(chr(0))}")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"contains an unpaired surrogate at position {error.start}") from None
        return value

    @field_validator("text")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be blank")
        return value

    @property
    def sha256(self) -> str:
        """Hash of title, text, url, publisher and date: equal for documents with equal content."""
        content = json.dumps([self.title, self.text, self.url, self.publisher, self.published])
        return hashlib.sha256(content.encode()).hexdigest()
