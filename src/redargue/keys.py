"""Keys: read from the environment, sent to the service they belong to, and shown nowhere.

Whatever comes back from a service passes through :meth:`Secrets.hide` before anything else sees it, because error
messages of providers repeat the key they were sent.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "[secret]"
_KEY_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


class Secrets:
    """The keys of this process.

    Args:
        values: the keys; one that is short or a plain word ("none", "ollama") is no secret and would blot out words.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._forms: set[str] = set()
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
        known = len(self._forms)
        for value in values:
            value = value.strip()
            if len(value) >= 20 or (len(value) >= 8 and re.search(r"\d", value) and re.search(r"[^\W\d]", value)):
                self._forms |= {value, quote(value, safe=""), unquote(value), json.dumps(value)[1:-1]}
        if len(self._forms) == known:
            return
        longest_first = sorted(self._forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def add_url(self, url: str) -> None:
        """Makes secret what an address carries besides its place: a password, the values of its query."""
        try:
            parts = urlsplit(url)
            self.add(*(each for each in (parts.username, parts.password) if each))
        except ValueError:
            return
        self.add(*(pair.partition("=")[2] for pair in parts.query.split("&") if pair))

    def hide(self, text: str) -> str:
        """The text with every key replaced by ``[secret]``."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def watch_logs(self, *loggers: str) -> None:
        """Hides keys in what those loggers write."""
        for name in loggers:
            logging.getLogger(name).addFilter(self._clean)

    def _clean(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.hide(record.getMessage()), ()
        return True


def place(url: str) -> str:
    """An address without what may be secret in it: no user, no password, no query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")
