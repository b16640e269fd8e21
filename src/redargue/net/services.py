"""Addresses, keys and limits of services, from the environment."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from redargue.errors import ProviderError, UsageError
from redargue.net.secrets import display_url
from redargue.net.transport import Limiter, Rate, Service
from redargue.registry import Registry

_limiters: dict[frozenset[tuple[str, Rate]], Limiter] = {}  # of this process, by their limits


class _ServiceDefaults(NamedTuple):
    url: str
    key_names: tuple[str, ...]
    timeout: float
    rate: Rate
    extra: dict[str, str] = {}  # noqa: RUF012  (never changed)
    rate_with_key: Rate | None = None  # where it differs


SERVICES = {
    "model": _ServiceDefaults(
        "https://api.openai.com/v1", ("REDARGUE_API_KEY", "OPENAI_API_KEY"), 120, Rate(in_flight=64)
    ),
    "tavily": _ServiceDefaults(  # a development key's limit
        "https://api.tavily.com", ("TAVILY_API_KEY",), 20, Rate(in_flight=16, requests_per_minute=100)
    ),
    "serper": _ServiceDefaults("https://google.serper.dev", ("SERPER_API_KEY",), 20, Rate(in_flight=16)),
    "google-cse": _ServiceDefaults(
        "https://www.googleapis.com",
        ("GOOGLE_CSE_API_KEY", "GOOGLE_API_KEY"),
        20,
        Rate(in_flight=8),
        {"cx": "GOOGLE_CSE_ID"},
    ),
    "searxng": _ServiceDefaults("", (), 20, Rate(in_flight=4, requests_per_minute=60)),  # the user's own instance
    "wikipedia": _ServiceDefaults(
        "https://{language}.wikipedia.org",
        (),
        20,
        Rate(in_flight=3),  # Wikimedia's etiquette
        {"contact": "REDARGUE_CONTACT", "language": "REDARGUE_WIKIPEDIA_LANGUAGE"},
    ),
    "pubmed": _ServiceDefaults(
        "https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
        ("NCBI_API_KEY",),
        30,
        Rate(in_flight=3, requests_per_minute=175, burst=0),  # NCBI counts per second: 3, with a key 10
        {"mailto": "REDARGUE_MAILTO"},
        Rate(in_flight=10, requests_per_minute=590, burst=0),
    ),
    "arxiv": _ServiceDefaults(  # arXiv's rule: one at a time, one per 3 seconds
        "https://export.arxiv.org", (), 30, Rate(in_flight=1, requests_per_minute=20, burst=0)
    ),
    "openalex": _ServiceDefaults(
        "https://api.openalex.org",
        ("OPENALEX_API_KEY",),
        30,
        Rate(in_flight=8, requests_per_minute=600),  # a tenth of its limit: the daily quota is the constraint
        {"mailto": "REDARGUE_MAILTO"},
    ),
}
_READER = "reader"  # a grader, whose address and key's variable are stored with it
READER_RATE = Rate(in_flight=8)  # a local server answers one request after another, within the timeout
PLACEHOLDER = "a-key-that-is-never-sent"
RATES = ("in_flight", "requests_per_minute", "tokens_per_minute")


def services(
    base_url: str = "", environment: Mapping[str, str] | None = None, *, assume_keys: bool = False
) -> dict[str, Service]:
    """Every service, with its address and key from the environment (``base_url`` wins); UsageError if one is wrong.

    ``assume_keys`` gives a placeholder to services without a key: for what sends nothing.
    """
    variables = _variables(environment)
    configured = {}
    for name, defaults in SERVICES.items():
        key, key_name = _first_set(variables, defaults.key_names)
        key = key.strip() or (PLACEHOLDER if assume_keys else "")
        if not key.isascii() or not key.isprintable():
            what = f"{key_name} contains characters that no key has"
            raise UsageError(what, hint="set it again, without quotation marks")
        url_names = ("REDARGUE_BASE_URL", "OPENAI_BASE_URL") if name == "model" else (f"{_prefix(name)}_URL",)
        url, url_name = _first_set(variables, url_names)
        if base_url and name == "model":
            url, url_name = base_url, "--base-url"
        extra = {option: variables.get(variable, "") for option, variable in defaults.extra.items()}
        url = (url or defaults.url).replace("{language}", extra.get("language") or "en")
        if url and not _is_address(url):
            public = url.rpartition("@")[2].partition("?")[0]  # without credentials
            hint = "begin it with http:// or https://; ports end at 65535"
            raise UsageError(f"{public!r} is not an address", where=url_name, hint=hint)
        variable = f"{_prefix(name)}_TIMEOUT"
        timeout = _number(variable, variables.get(variable, ""), defaults.timeout)
        configured[name] = Service(name=name, url=url, key=key, timeout=timeout, extra=extra)
    return configured


def limiter(environment: Mapping[str, str] | None = None) -> Limiter:
    """The process' limiter; ``REDARGUE_MODEL_REQUESTS_PER_MINUTE`` and the like change a service's limits.

    Equal limits have one limiter, whichever runs, threads and event loops use it.
    """
    variables, rates = _variables(environment), {}
    for name, defaults in SERVICES.items():
        has_key = any(variables.get(variable, "").strip() for variable in defaults.key_names)
        rates[name] = defaults.rate_with_key if defaults.rate_with_key and has_key else defaults.rate
    rates[_READER] = READER_RATE
    configured = {name: _configured(rate, name, variables) for name, rate in rates.items()}
    return _limiters.setdefault(frozenset(configured.items()), Limiter(configured))


def _configured(rate: Rate, name: str, variables: Mapping[str, str]) -> Rate:
    changes: dict[str, float] = {}
    for each in RATES:
        variable = f"{_prefix(name)}_{each.upper()}"
        if value := _number(variable, variables.get(variable, ""), 0):
            changes[each] = int(value) if each == "in_flight" else value
    return rate.model_copy(update=changes)


def service_variables() -> Iterable[str]:
    """The variables of redargue's own that configure services."""
    for name, defaults in SERVICES.items():
        own = (*defaults.key_names, *defaults.extra.values())
        yield from (variable for variable in own if variable.startswith("REDARGUE_"))
        yield from (f"{_prefix(name)}_{each.upper()}" for each in ("url", "timeout", *RATES))
    yield from (f"{_prefix(_READER)}_{each.upper()}" for each in ("timeout", *RATES))


def reader_service(url: str, key: str) -> Service:
    """A grader's endpoint; ``REDARGUE_READER_TIMEOUT`` changes how long it may take."""
    variable = f"{_prefix(_READER)}_TIMEOUT"
    timeout = _number(variable, os.environ.get(variable, ""), 120.0)
    return Service(name=_READER, url=url, key=key, timeout=timeout)


def _is_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https") and urlsplit(url).port != 0
    except ValueError:  # a port beyond 65535, or brackets that hold no address
        return False


def _first_set(variables: Mapping[str, str], names: Iterable[str]) -> tuple[str, str]:
    return next(((variables[name], name) for name in names if variables.get(name)), ("", ""))


def _prefix(service: str) -> str:
    return "REDARGUE_" + service.upper().replace("-", "_")


def _variables(environment: Mapping[str, str] | None) -> Mapping[str, str]:
    """The environment, which is never an argument of what raises: pytest prints the arguments of the last frame."""
    return os.environ if environment is None else environment


def _number(name: str, text: str, default: float) -> float:
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf or (name.endswith("IN_FLIGHT") and value != int(value)):
        raise UsageError(f"expected a positive number, got {text!r}", where=name)
    return value


def is_offline(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the environment keeps every request on this machine, for commands without ``--offline``."""
    value = _variables(environment).get("REDARGUE_OFFLINE", "")
    return value.strip().lower() not in ("", "0", "false", "f", "no", "n", "off")


def require_local(
    address: str, *, what: str, stores: Registry[Any] | None = None, environment: Mapping[str, str] | None = None
) -> None:
    """Raises ProviderError unless a PostgreSQL or Milvus address, or a path, stays on this machine.

    Databases are not reached through the transport, which keeps all else on this machine with ``--offline``. One of
    another package, by the scheme of its address in ``stores``, stays here where its entry says ``online = False``.
    """
    scheme, url = address.partition(":")[0], address.removeprefix("milvus:")
    hint = "drop --offline, or use one on this machine"
    if stores is not None and scheme in stores and not stores.place(scheme):
        is_local = not getattr(stores[scheme], "online", True)
        hint += f"; if {scheme!r} is one, its author has to say so: online = False (docs/extending.md)"
    else:
        is_local = "://" not in address or _all_local(url, environment)
    if not is_local:
        what = f"the {what} at {display_url(url)!r} is not opened: --offline keeps every request on this machine"
        raise ProviderError(what, hint=hint)


def _all_local(url: str, environment: Mapping[str, str] | None) -> bool:
    try:
        return all(map(_is_local, _hosts(url, _variables(environment))))
    except ValueError:
        return False


def _hosts(url: str, variables: Mapping[str, str]) -> list[str]:
    """Every host that the client library may contact; libpq also reads them from the query and the environment."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        return [parts.hostname or ""]
    query = parse_qs(parts.query)
    if "service" in query or variables.get("PGSERVICE"):
        return [""]  # a file names them
    named = map(unquote, parts.netloc.rpartition("@")[2].split(","))
    hosts = [host for name in named if (host := _without_port(name))]
    for name, variable in (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR")):
        given = query.get(name) or ([] if hosts and name == "host" else [variables.get(variable, "")])
        hosts += [host for value in given for host in value.split(",") if host]
    return hosts or ["/"]  # the socket of this machine


def _without_port(host: str) -> str:
    return host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]


def _is_local(host: str) -> bool:
    if host.startswith(("/", "@")) or host.lower() in ("localhost", "localhost."):  # "/", "@": a socket
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
