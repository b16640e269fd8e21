"""Keeps text and addresses of passages out of the requests that a model asks for.

A page may tell a model to fetch its author's address, or to put another document into a query. What may leave: the
claim, words of the model's own, addresses of the claim and of search results, short quotations, and again what was
sent before: services repeat the query in their answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from redargue.claims import Claim
from redargue.evidence import Passage

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
