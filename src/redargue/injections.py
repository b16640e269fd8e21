"""Finds passages that address a model instead of a reader: orders, roles, answers in the form of a reply.

The patterns of ``injections.toml`` find only what resembles them; a passage without a finding is not thereby safe
(``python -m benchmarks injections`` counts texts that they were not written for). They are narrow, because a false
alarm takes evidence away (``tests/attacks/test_injections.py``).
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib.resources import files

from redargue.evidence import Injection
from redargue.sanitize import INVISIBLE

_LONGEST = 200_000  # characters of a text that are read
# Of languages not in Latin script.
SCRIPTS = {"ru": re.compile("[\u0400-\u04ff]"), "zh": re.compile("[\u4e00-\u9fff]")}
_NAME = re.compile("@([A-Z_]+)@")


def _read_patterns() -> dict[str, dict[Injection, re.Pattern[str]]]:
    """By language, then by kind; what is in no language's own words is under ``en``."""
    table = tomllib.loads(files("redargue").joinpath("injections.toml").read_text("utf-8"))
    found: dict[str, dict[Injection, re.Pattern[str]]] = {}
    for language, own in table["languages"].items():
        lists: dict[str, str] = own | table["gaps"]
        kinds: dict[Injection, re.Pattern[str]] = {}
        for kind, patterns in table["kinds"].items():
            templates = table["templates"].get(kind, [])
            fitting = (each for each in templates if lists.keys() >= set(_NAME.findall(each)))
            whole = [_filled(each, lists) for each in fitting]
            if language == "en":
                whole += [_filled(each, table["words"]) for each in patterns]
            if whole:
                kinds[Injection(kind)] = re.compile("|".join(whole), re.MULTILINE)
        found[language] = kinds
    return found


def _filled(pattern: str, lists: dict[str, str]) -> str:
    return _NAME.sub(lambda match: lists[match.group(1)], pattern)


def _read_confusables() -> dict[int, str]:
    lines = files("redargue").joinpath("confusables.txt").read_text("utf-8").splitlines()
    pairs = (line.split(" ") for line in lines if not line.startswith("#"))
    return {ord(char): letters for letters, chars in pairs for char in chars}


_PATTERNS = _read_patterns()
_CONFUSABLE = _read_confusables()
_INVISIBLE = str.maketrans(dict.fromkeys(INVISIBLE, ""))
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SPACED = re.compile(r"\b(?:\w[ .\-_]){5,}\w\b")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")


@lru_cache(maxsize=1024)
def injection_in(text: str) -> Injection | None:
    """The first injection in a text; None if nothing was found."""
    text = text[:_LONGEST]
    for reading in _readings(text):
        for language, kinds in _PATTERNS.items():
            if language in SCRIPTS and not SCRIPTS[language].search(reading):
                continue
            for kind, pattern in kinds.items():
                if pattern.search(reading):
                    return kind
    return None


def _readings(text: str) -> tuple[str, ...]:
    """The text as a model might read it: its letters, what they look like, its hidden tags, spaced and encoded words.

    Each is casefolded; letters are compared with Unicode's confusables before, as capitals look like other letters.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_INVISIBLE).replace("’", "'")
    alike = plain
    if not plain.isascii():  # marks that belong to no letter strike it through
        alike = "".join(char for char in plain if not unicodedata.combining(char))
        alike = alike.translate(_CONFUSABLE)
    found: list[str] = []
    for each in dict.fromkeys((plain, alike)):
        lines = "\n".join(" ".join(line.split()) for line in each.splitlines())
        found += [lines, " ".join(lines.split())]
        found += [" ".join(re.sub(r"[ .\-_]", "", word) for word in _SPACED.findall(lines))]
    found += ["".join(chr(ord(char) - 0xE0000) for char in "".join(_TAGS.findall(text)))]
    found += map(_decoded, _ENCODED.findall(text)[:20])
    return tuple(dict.fromkeys(filter(None, map(str.casefold, found))))


def _decoded(run: str) -> str:
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return decoded if decoded.isprintable() else ""
