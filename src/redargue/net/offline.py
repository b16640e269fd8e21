"""The promise of ``--offline`` for databases, which are not reached through the transport."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import parse_qs, unquote, urlsplit

from redargue.errors import ProviderError
from redargue.net.secrets import display_url

VARIABLE = "REDARGUE_OFFLINE"
_LOCAL = ("localhost", "localhost.")


def is_offline(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the environment keeps every request on this machine, for commands without ``--offline``."""
    variables = os.environ if environment is None else environment
    return variables.get(VARIABLE, "").strip().lower() not in ("", "0", "false", "f", "no", "n", "off")


def require_local(address: str, *, what: str, environment: Mapping[str, str] | None = None) -> None:
    """Raises ProviderError unless a PostgreSQL or Milvus address, or a path, stays on this machine."""
    if "://" not in address:
        return
    url = address.removeprefix("milvus:")
    try:
        hosts = _hosts(url, os.environ if environment is None else environment)
    except ValueError:
        hosts = [""]
    if not all(_is_local(host) for host in hosts):
        raise ProviderError(
            f"the {what} at {display_url(url)!r} is not opened: --offline keeps every request on this machine",
            hint="drop --offline, or use one on this machine",
        )


def _hosts(url: str, variables: Mapping[str, str]) -> list[str]:
    """Every host that the client library may contact; libpq also reads them from the query and the environment."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        return [parts.hostname or ""]
    query = parse_qs(parts.query)
    if "service" in query or variables.get("PGSERVICE"):
        return [""]  # a file names them
    hosts = [_without_port(unquote(part)) for part in parts.netloc.rpartition("@")[2].split(",")]
    hosts = [host for host in hosts if host]
    for name, variable in (("host", "PGHOST"), ("hostaddr", "PGHOSTADDR")):
        given = query.get(name) or ([] if hosts and name == "host" else [variables.get(variable, "")])
        hosts += [host for value in given for host in value.split(",") if host]
    return hosts or ["/"]  # the socket of this machine


def _without_port(host: str) -> str:
    return host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]


def _is_local(host: str) -> bool:
    if host.startswith(("/", "@")) or host.lower() in _LOCAL:  # a socket
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
