"""The address of a Milvus store: a folder for Milvus Lite, or a server's URI."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from redargue.errors import UsageError
from redargue.net.secrets import display_url

TOKEN = "REDARGUE_MILVUS_TOKEN"
INSTALL = "pip install 'redargue[milvus]'"

_OPTIONS = {"collection": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}"), "index": re.compile("flat|hnsw|autoindex", re.I)}


class Address(NamedTuple):
    """The folder of Milvus Lite, or a server's URI, with the store's options."""

    uri: str
    lite: bool
    collection: str
    index_type: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parses ``PATH`` or ``http(s)://host:port[/database][?collection=NAME&index=flat]``; else UsageError."""
        if not re.match(r"(https?|tcp)://", text):
            if not text:
                raise UsageError("milvus: needs a folder or a URI", hint="--store milvus:PATH.db")
            return cls(os.path.abspath(Path(text).expanduser()), True, "redargue", "FLAT")
        try:
            parts, _ = urlsplit(text), urlsplit(text).port
        except ValueError as error:
            raise UsageError(f"not the address of a Milvus server: {error}", hint="http://host:19530") from None
        if "@" in parts.netloc:
            raise UsageError(
                f"the address of the Milvus server at {display_url(text)!r} contains a name or password",
                hint=f"put it into the environment: {TOKEN}=name:password",
            )
        options = dict(parse_qsl(parts.query))
        for name, value in options.items():
            if name not in _OPTIONS or not _OPTIONS[name].fullmatch(value):
                raise UsageError(
                    f"{name}={value!r} is not an option of a Milvus store",
                    hint="?collection=NAME (letters, digits, _) or ?index=flat, hnsw or autoindex",
                )
        index_type = options.get("index", "FLAT").upper()
        return cls(display_url(text), False, options.get("collection", "redargue"), index_type)


def nothing_at(address: str) -> UsageError:
    return UsageError(f"no corpus at {address!r}", hint=f"create one: redargue corpus add FILES --store {address}")
