"""Finds passages that address a model instead of a reader: orders, roles, answers in the form of a reply.

The patterns of ``injections.toml`` find only what resembles them; a passage without a finding is not thereby safe. They
are narrow, because a false alarm takes evidence away (``tests/attacks/test_injections.py``).
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files

from redargue.sanitize import INVISIBLE

LONGEST = 200_000  # characters of a text that are read


def _read_patterns() -> dict[str, re.Pattern[str]]:
    table = tomllib.loads(files("redargue").joinpath("injections.toml").read_text("utf-8"))
    joined = {kind: "|".join(patterns) for kind, patterns in table["kinds"].items()}
    for name, words in table["words"].items():
        joined = {kind: pattern.replace(f"@{name}@", words) for kind, pattern in joined.items()}
    return {kind: re.compile(pattern, re.IGNORECASE | re.MULTILINE) for kind, pattern in joined.items()}


_PATTERNS = _read_patterns()
_INVISIBLE = str.maketrans(dict.fromkeys(INVISIBLE, ""))
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SPACED = re.compile(r"\b(?:\w[ .\-_]){5,}\w\b")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_CONFUSABLE = str.maketrans("аеорсухіѕԁӏ", "aeopcyxisdl")


@lru_cache(maxsize=1024)
def injection_in(text: str) -> str:
    """What a text does that only a model would obey, such as ``orders an answer``; empty if nothing was found."""
    text = text[:LONGEST]
    for reading in _readings(text):
        for kind, pattern in _PATTERNS.items():
            if pattern.search(reading):
                return kind
    return ""


def _readings(text: str) -> list[str]:
    """The text as a model might read it: folded, with its hidden tag characters, spaced words and encoded runs."""
    plain = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    latin = plain.translate(_CONFUSABLE) if re.search("[a-zA-Z][а-яіѕԁӏ]|[а-яіѕԁӏ][a-zA-Z]", plain) else plain
    lines = "\n".join(" ".join(line.split()) for line in latin.splitlines())
    readings = [lines.replace("’", "'"), " ".join(lines.replace("’", "'").split())]
    if hidden := "".join(chr(ord(char) - 0xE0000) for run in _TAGS.findall(text) for char in run):
        readings.append(hidden)
    if spaced := _SPACED.findall(lines):
        readings.append(" ".join(re.sub(r"[ .\-_]", "", word) for word in spaced))
    readings += filter(None, map(_decoded, _ENCODED.findall(text)[:20]))
    return readings


def _decoded(run: str) -> str:
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return decoded if decoded.isprintable() else ""
