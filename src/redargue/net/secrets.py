"""Keys: read from the environment, sent to the service they belong to, and shown nowhere.

Whatever comes back from a service passes through :meth:`Secrets.hide` before anything else sees it, because error
messages of providers repeat the key they were sent.
"""

from __future__ import annotations

import base64
import html.entities
import logging
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

HIDDEN = "[secret]"
_KEY_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


class Secrets:
    """The keys of this process.

    Args:
        values: the keys; one that is short or a plain word ("none", "ollama") is no secret and would blot out words.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.add(*values)

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> Secrets:
        """What the environment holds under names that keys have, and inside addresses."""
        given = os.environ if environment is None else environment
        secrets = cls(value for name, value in given.items() if _KEY_NAME.search(name))
        for value in given.values():
            if "://" in value:
                secrets.add_url(value)
        return secrets

    def add(self, *values: str) -> None:
        """Makes more values secret, in every spelling in which they could come back."""
        known = len(self._values)
        for value in map(str.strip, values):
            if len(value) >= 20 or (len(value) >= 8 and re.search(r"\d", value) and re.search(r"[^\W\d]", value)):
                self._values.add(value)
        if len(self._values) > known:
            longest_first = sorted(self._values, key=len, reverse=True)
            self._pattern = re.compile("|".join("".join(map(_spelled, value)) for value in longest_first))

    def add_url(self, url: str) -> None:
        """Makes secret what an address carries besides its place: a password, the values of its query."""
        try:
            parts = urlsplit(url)
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
        except ValueError:
            return
        self.add(user, password)
        if password:
            self.add(base64.b64encode(f"{user}:{password}".encode()).decode())  # as it is sent
        for pair in parts.query.split("&"):
            value = pair.partition("=")[2]
            self.add(value, unquote(value))

    def hide(self, text: str) -> str:
        """The text with every key replaced by ``[secret]``."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def watch_logs(self) -> None:
        """Hides keys in what the HTTP library logs, as long as these secrets are in use."""
        _hiding.secrets.add(self)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_hiding)


class _Hiding(logging.Filter):
    """One filter for the process: a logger belongs to nobody, and keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: WeakSet[Secrets] = WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record pass, cleaned."""
        said = record.getMessage()
        for each in list(self.secrets):
            said = each.hide(said)
        record.msg, record.args = said, ()
        return True


_hiding = _Hiding()
# A filter on a parent does not see what its children log.
_LOGGERS = (
    "httpx2",
    "httpcore2",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
    *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
)


def _spelled(char: str) -> str:
    """A pattern for a character as programs write it: as it is, quoted for an address, escaped for JSON or HTML."""
    if char.isalnum() and char.isascii():
        return char
    forms = [r"\\{0,4}" + re.escape(char), "(?i:" + "".join(f"%{byte:02x}" for byte in char.encode()) + ")"]
    forms += [rf"\\{{0,4}}(?i:\\u{ord(char):04x})", rf"(?i:&\#x0*{ord(char):x};)", rf"&\#0*{ord(char)};"]
    forms += [f"&{html.entities.codepoint2name[ord(char)]};"] if ord(char) in html.entities.codepoint2name else []
    forms += [r"\+"] if char == " " else []
    forms += [r"\\{1,4}" + repr(char)[2:-1]] if char in "\n\r\t" else []
    return "(?:" + "|".join(forms) + ")"


_KIND = "milvus:"  # stands before the address of a corpus


def private(url: str) -> bool:
    """Whether an address carries a password, however plain, or a value under a name that keys have."""
    try:
        parts = urlsplit(url.removeprefix(_KIND))
        return bool(parts.password) or any(_KEY_NAME.search(each.partition("=")[0]) for each in parts.query.split("&"))
    except ValueError:
        return False


def bare(url: str) -> str:
    """An address without user, password, and values under names that keys have; the rest of its query stays."""
    kind = _KIND if url.startswith(_KIND) else ""
    parts = urlsplit(url.removeprefix(_KIND))
    query = "&".join(each for each in parts.query.split("&") if not _KEY_NAME.search(each.partition("=")[0]))
    return kind + parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query).geturl()


def place(url: str) -> str:
    """An address without what may be secret in it: no user, no password, no query."""
    bare = url.removeprefix(_KIND)
    try:
        parts = urlsplit(bare)
    except ValueError:
        return "an address that is none"
    host = parts.netloc.rpartition("@")[2]
    return f"{_KIND if bare != url else ''}{parts.scheme}://{host}{parts.path}".rstrip("/")
