"""Redacts keys and passwords.

Every response of a service passes through :meth:`Secrets.hide` first, because providers repeat keys in error messages.
"""

from __future__ import annotations

import base64
import html.entities
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

HIDDEN = "[secret]"
_KNOWN_NAME = re.compile(
    r"(?:REDARGUE|OPENAI|TAVILY|SERPER|GOOGLE_CSE|GOOGLE|NCBI|OPENALEX|ANTHROPIC|HF|HUGGINGFACE)_(?:\w+_)?"
    r"(?:API_KEY|KEY|TOKEN|PASSWORD)|PGPASSWORD"
)
_PLACEHOLDERS = frozenset(
    "ollama none null empty dummy test fake local localhost token secret key apikey api-key no-key nokey not-needed "
    "unused lm-studio lmstudio vllm llama llama.cpp sk-xxx xxxx placeholder anything true false default".split()
)
_ENCODED = re.compile(r"\\u00|%[2-7]|&#", re.IGNORECASE)
_KEY_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


class Secrets:
    """The keys of this process.

    Short ones and plain words are ignored, because redacting "key" would garble text, unless they are known to be keys;
    those are hidden where they are whole words. What servers without keys are given ("ollama") is never hidden.
    """

    def __init__(self, values: Iterable[str] = (), *, known: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._words: set[str] = set()
        self._patterns: tuple[re.Pattern[str], re.Pattern[str]] | None = None  # verbatim, and encoded
        self.add(*values)
        self.add_known(*known)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Secrets:
        """The values of variables whose names suggest keys, and the credentials in URLs."""
        variables = os.environ if environment is None else environment
        secrets = cls(value for name, value in variables.items() if _KEY_NAME.search(name))
        secrets.add_known(*(value for name, value in variables.items() if _KNOWN_NAME.fullmatch(name)))
        for value in variables.values():
            if "://" in value:
                secrets.add_url(value)
        return secrets

    def add(self, *values: str) -> None:
        self._extend(self._values, {value for value in map(str.strip, values) if _is_long(value)})

    def add_known(self, *values: str) -> None:
        """Adds what certainly is a key, however short; of four characters or more."""
        short = {value for value in map(str.strip, values) if len(value) >= 4 and not _is_long(value)}
        self._extend(self._words, {value for value in short if value.lower() not in _PLACEHOLDERS})
        self.add(*values)

    def _extend(self, known: set[str], more: set[str]) -> None:
        if more <= known:
            return
        known |= more
        coded = {form for value in self._values for form in _base64(value)}
        values = sorted(self._values | self._words | coded, key=len, reverse=True)  # longest first
        self._patterns = self._compiled(values, _escapes), self._compiled(values, _encodings)

    def _compiled(self, values: Iterable[str], forms: Callable[[str], str]) -> re.Pattern[str]:
        patterns = (("".join(map(forms, value)), value in self._words) for value in values)
        found = (rf"(?<![^\W_]){text}(?![^\W_])" if word else f"(?i:{text})" for text, word in patterns)
        return re.compile("|".join(found))

    def add_url(self, url: str) -> None:
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
        if self._patterns is None:
            return text
        verbatim, encoded = self._patterns
        text = verbatim.sub(HIDDEN, text)
        # Any character may be encoded, which is slower to look for, and rare.
        return encoded.sub(HIDDEN, text) if _ENCODED.search(text) else text

    def redact_logs(self) -> None:
        """Redacts the logs of the HTTP and MCP libraries for the lifetime of this object."""
        _redaction.secrets.add(self)
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_redaction)


class _Redaction(logging.Filter):
    """One filter for the process, because loggers are global and keep their filters."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: WeakSet[Secrets] = WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        for secrets in list(self.secrets):
            message = secrets.hide(message)
        record.msg, record.args = message, ()
        return True


_redaction = _Redaction()
# A filter on a parent logger does not apply to its children's records.
_LOGGERS = (
    "httpx2",
    "httpcore2",
    "mcp.client.streamable_http",
    "mcp.shared.jsonrpc_dispatcher",
    *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
)


def _is_long(value: str) -> bool:
    """Whether a value is a key by its looks."""
    return len(value) >= 20 or (
        len(value) >= 8 and re.search(r"\d", value) is not None and re.search(r"[^\W\d]", value) is not None
    )


def _base64(value: str) -> set[str]:
    """The value in base64, without padding; with the characters of addresses, too."""
    return {encode(value.encode()).decode().rstrip("=") for encode in (base64.b64encode, base64.urlsafe_b64encode)}


def _escapes(char: str) -> str:
    """A pattern for a character, of which letters and digits are verbatim."""
    return char if char.isalnum() and char.isascii() else _encodings(char)


def _encodings(char: str) -> str:
    """A pattern for a character: verbatim, percent-encoded, or escaped for JSON or HTML."""
    forms = [r"\\{0,4}" + re.escape(char), "(?i:" + "".join(f"%{byte:02x}" for byte in char.encode()) + ")"]
    forms += [rf"\\{{0,4}}(?i:\\u{ord(char):04x})", rf"(?i:&\#x0*{ord(char):x};)", rf"&\#0*{ord(char)};"]
    forms += [f"&{html.entities.codepoint2name[ord(char)]};"] if ord(char) in html.entities.codepoint2name else []
    forms += [r"\+"] if char == " " else []
    forms += [r"\\{1,4}" + repr(char)[2:-1]] if char in "\n\r\t" else []
    return "(?:" + "|".join(forms) + ")"


_MILVUS = "milvus:"  # prefix of a Milvus corpus' URL


def has_credentials(url: str) -> bool:
    """Whether a URL contains a password, or a query value whose name suggests a key."""
    try:
        parts = urlsplit(url.removeprefix(_MILVUS))
        return bool(parts.password) or any(_KEY_NAME.search(pair.partition("=")[0]) for pair in parts.query.split("&"))
    except ValueError:
        return False


def without_credentials(url: str) -> str:
    """A URL without user, password and query values whose names suggest keys."""
    prefix = _MILVUS if url.startswith(_MILVUS) else ""
    parts = urlsplit(url.removeprefix(_MILVUS))
    query = "&".join(pair for pair in parts.query.split("&") if not _KEY_NAME.search(pair.partition("=")[0]))
    return prefix + parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query).geturl()


def display_url(url: str) -> str:
    """A URL without user, password and query, for errors and records; a path is shown as it is."""
    address = url.removeprefix(_MILVUS)
    if "://" not in address:
        return url if "@" not in address else "an invalid address"
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an invalid address"
    host = parts.netloc.rpartition("@")[2]
    return f"{_MILVUS if address != url else ''}{parts.scheme}://{host}{parts.path}".rstrip("/")
