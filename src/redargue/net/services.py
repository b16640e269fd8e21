"""Services and their keys, as the environment gives them: address, key, limits of each."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import NamedTuple

from redargue.errors import UsageError
from redargue.net.rate_limit import Limiter, Rate
from redargue.net.transport import Service


class _Known(NamedTuple):
    """A service: where it is by default, and what its settings are called."""

    url: str
    url_names: tuple[str, ...]
    key_names: tuple[str, ...]
    timeout: float
    rate: Rate
    extra: dict[str, str] = {}  # noqa: RUF012  (never changed)
    keyed: Rate | None = None  # with a key, where that makes a difference


SERVICES = {
    "model": _Known(
        "https://api.openai.com/v1",
        ("REDARGUE_BASE_URL", "OPENAI_BASE_URL"),
        ("REDARGUE_API_KEY", "OPENAI_API_KEY"),
        120,
        Rate(in_flight=64),
    ),
    "tavily": _Known(
        "https://api.tavily.com",
        ("REDARGUE_TAVILY_URL",),
        ("TAVILY_API_KEY",),
        20,
        Rate(in_flight=16, requests_per_minute=100),  # a development key's limit
    ),
    "serper": _Known(
        "https://google.serper.dev",
        ("REDARGUE_SERPER_URL",),
        ("SERPER_API_KEY",),
        20,
        Rate(in_flight=16),
    ),
    "google-cse": _Known(
        "https://www.googleapis.com",
        ("REDARGUE_GOOGLE_CSE_URL",),
        ("GOOGLE_CSE_API_KEY", "GOOGLE_API_KEY"),
        20,
        Rate(in_flight=8),
        {"cx": "GOOGLE_CSE_ID"},
    ),
    "wikipedia": _Known(
        "https://{language}.wikipedia.org",
        ("REDARGUE_WIKIPEDIA_URL",),
        (),
        20,
        Rate(in_flight=3),  # what Wikimedia asks of a client
        {"contact": "REDARGUE_CONTACT", "language": "REDARGUE_WIKIPEDIA_LANGUAGE"},
    ),
    "pubmed": _Known(
        "https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
        ("REDARGUE_PUBMED_URL",),
        ("NCBI_API_KEY",),
        30,
        Rate(in_flight=3, requests_per_minute=175, burst=0),  # NCBI counts by the second: 3, with a key 10
        {"mailto": "REDARGUE_MAILTO"},
        Rate(in_flight=10, requests_per_minute=590, burst=0),
    ),
    "arxiv": _Known(
        "https://export.arxiv.org",
        ("REDARGUE_ARXIV_URL",),
        (),
        30,
        Rate(in_flight=1, requests_per_minute=20, burst=0),  # arXiv's own rule: one at a time, one each 3 seconds
    ),
    "openalex": _Known(
        "https://api.openalex.org",
        ("REDARGUE_OPENALEX_URL",),
        ("OPENALEX_API_KEY",),
        30,
        Rate(in_flight=8, requests_per_minute=600),  # a tenth of what it takes: what is short is the day's allowance
        {"mailto": "REDARGUE_MAILTO"},
    ),
}
RATES = ("in_flight", "requests_per_minute", "tokens_per_minute")


def services(base_url: str = "", environment: Mapping[str, str] | None = None) -> dict[str, Service]:
    """Every service, with the address and the key that the environment gives it.

    Args:
        base_url: of the models' endpoint, before the environment's.
        environment: the process' own by default.

    Raises:
        UsageError: an address that is none, or a key that cannot be sent.
    """
    given = os.environ if environment is None else environment
    found = {}
    for name, known in SERVICES.items():
        key, key_name = next(((given[each].strip(), each) for each in known.key_names if given.get(each)), ("", ""))
        if not key.isascii() or not key.isprintable():
            raise UsageError(
                f"{key_name} holds characters that no key has", hint="set it again, without quotation marks"
            )
        url, url_name = next(((given[each], each) for each in known.url_names if given.get(each)), (known.url, ""))
        extra = {option: given.get(variable, "") for option, variable in known.extra.items()}
        url, url_name = (base_url, "--base-url") if base_url and name == "model" else (url, url_name)
        url = url.replace("{language}", extra.get("language") or "en")
        if not url.startswith(("http://", "https://")):
            shown = url.rpartition("@")[2].partition("?")[0]  # without what may be secret in it
            raise UsageError(f"{shown!r} is no address", where=url_name, hint="it begins with http:// or https://")
        found[name] = Service(
            name=name, url=url, key=key, timeout=_number(given, f"{_prefix(name)}_TIMEOUT", known.timeout), extra=extra
        )
    return found


def limiter(environment: Mapping[str, str] | None = None) -> Limiter:
    """The process' limiter: ``REDARGUE_MODEL_REQUESTS_PER_MINUTE`` and the like change a service's limits."""
    given = os.environ if environment is None else environment
    rates = {}
    for name, known in SERVICES.items():
        changes = {rate: _number(given, f"{_prefix(name)}_{rate.upper()}", 0) for rate in RATES}
        wanted = {rate: int(value) if rate == "in_flight" else value for rate, value in changes.items() if value}
        has_key = any(given.get(each, "").strip() for each in known.key_names)
        rates[name] = (known.keyed if known.keyed and has_key else known.rate).model_copy(update=wanted)
    return Limiter(rates)


def _prefix(service: str) -> str:
    return "REDARGUE_" + service.upper().replace("-", "_")


def _number(given: Mapping[str, str], name: str, default: float) -> float:
    if not given.get(name):
        return default
    try:
        value = float(given[name])
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf or (name.endswith("IN_FLIGHT") and value != int(value)):
        raise UsageError(f"{given[name]!r} is no number above 0", where=name)
    return value
