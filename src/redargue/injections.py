"""Guards against passages that address a model: finds them, and keeps what they ask for out of requests.

An injection is an order, a role, or an answer in the form of a reply. The patterns of ``injections.toml`` find only
what resembles them; a passage without a finding is not thereby safe (``python -m benchmarks injections`` counts texts
that they were not written for). They are narrow, because a false alarm takes evidence away
(``tests/attacks/test_injections.py``).

A page may tell a model to fetch its author's address, or to put another document into a query. What may leave: the
claim, words of the model's own, addresses of the claim and of search results, short quotations, and again what was sent
before: services repeat the query in their answer.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from redargue.claims import Claim
from redargue.evidence import Injection, Passage
from redargue.sanitize import INVISIBLE

_LONGEST = 200_000  # characters of a text that are read
# Of languages not in Latin script.
SCRIPTS = {"ru": re.compile("[\u0400-\u04ff]"), "zh": re.compile("[\u4e00-\u9fff]")}
_NAME = re.compile("@([A-Z_]+)@")


@cache  # compiling them takes longer than a command that reads no passage
def _patterns() -> dict[str, dict[Injection, re.Pattern[str]]]:
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


@cache
def _confusables() -> dict[int, str]:
    lines = files("redargue").joinpath("confusables.txt").read_text("utf-8").splitlines()
    pairs = (line.split(" ") for line in lines if not line.startswith("#"))
    return {ord(char): letters for letters, chars in pairs for char in chars}


_INVISIBLE = str.maketrans(dict.fromkeys(INVISIBLE, ""))
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SPACED = re.compile(r"\b(?:\w[ .\-_]){5,}\w\b")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")


@lru_cache(maxsize=1024)
def injection_in(text: str) -> Injection | None:
    """The first injection in a text; None if nothing was found."""
    text = text[:_LONGEST]
    for reading in _readings(text):
        for language, kinds in _patterns().items():
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
        alike = alike.translate(_confusables())
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


_LONGEST_RUN = 12  # words of a passage in a row
ADDRESS_FIELDS = ("url", "link", "href")  # of a result

_URL = re.compile(r"(?i)(?:https?|ftp|wss?|file)://[^\s\"'<>\\^`{|}]+|\bwww\.[^\s\"'<>]+")
_BARE = re.compile(r"(?<![\w@.-])(?:[a-z0-9-]+\.)+[a-z]{2,24}(?::\d+)?/[^\s\"'<>]*", re.IGNORECASE)


def reason_to_refuse(text: str, claim: Claim | None, passages: Iterable[Passage], sent: Iterable[str] = ()) -> str:
    """Why a model's text may not leave as a query or as arguments; empty if it may. ``sent``: earlier requests."""
    passages = tuple(passages)
    if not passages:
        return ""
    own = " ".join([claim.text, claim.context, *claim.options]) if claim else ""
    plain = unquote_plus(text)
    addresses = (*_URL.findall(plain), *_BARE.findall(_URL.sub(" ", plain)))
    for url in dict.fromkeys(match.rstrip(".,;:)]}") for match in addresses):
        if _only_in_passages(url, own, passages):
            return f"the address {url[:100]!r} is named only in a passage"
    if run := _long_run(plain, (own, *sent), passages):
        return f"it repeats {_LONGEST_RUN} words or more of a passage ({run[:60]!r} …)"
    return ""


def _only_in_passages(url: str, own: str, passages: tuple[Passage, ...]) -> bool:
    """Whether an address, or its host, comes from a passage's text; search results' own addresses may be fetched."""
    host = _host(url)
    known = any(url in _result_addresses(passage) for passage in passages)
    if not host or known or host in own.casefold():
        return False
    if any(host in f"{passage.text}\n{passage.title}".casefold() for passage in passages):
        return True
    of_result = any(host == _host(passage.url) for passage in passages)
    return of_result and re.search(r"[?#]", url) is not None  # with something added


def _result_addresses(passage: Passage) -> frozenset[str]:
    """A result's own address, and the addresses of the results that a service lists in one JSON text."""
    return frozenset({passage.url, f"{passage.url}/"} - {"", "/"}) | _listed_addresses(passage.text)


@lru_cache(maxsize=256)
def _listed_addresses(text: str) -> frozenset[str]:
    if not text.lstrip().startswith(("{", "[")):
        return frozenset()
    try:
        return frozenset(_addresses_in(json.loads(text)))
    except (ValueError, RecursionError):
        return frozenset()


def _addresses_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and name in ADDRESS_FIELDS:
                yield item
            yield from _addresses_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _addresses_in(item)


def _host(url: str) -> str:
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname or ""
    except ValueError:
        host = url.partition("://")[2].partition("/")[0]
    return host.casefold().removeprefix("www.")


def _long_run(text: str, own: Iterable[str], passages: tuple[Passage, ...]) -> str:
    words = _words(text)
    if len(words) < _LONGEST_RUN:
        return ""
    runs = [" ".join(words[at : at + _LONGEST_RUN]) for at in range(len(words) - _LONGEST_RUN + 1)]
    mine = [f" {' '.join(_words(part))} " for part in own]
    shown = [f" {' '.join(_words(passage.text))} " for passage in passages]
    new = (run for run in runs if not any(f" {run} " in known for known in mine))
    return next((run for run in new if any(f" {run} " in seen for seen in shown)), "")


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
