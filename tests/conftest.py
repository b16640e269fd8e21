"""What holds for every test: no network beyond loopback, a home of its own, one event loop library.

The package is imported where it is used, because the process that hands out the tests reads this file before the others
start, and needs nothing of it.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import socket
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from hypothesis import HealthCheck, settings

from support import postgres

# A busy machine makes an example slow, and its data slow to draw.
settings.register_profile("redargue", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("redargue")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays until the end: the search for cycles need not go through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the starter corpus, made once."""
    from redargue.retrieval.corpus.index import open_starter

    folder = tmp_path_factory.mktemp("starter")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDARGUE_HOME", str(folder))
        open_starter().close()
    (path,) = folder.glob("starter-*.db")
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A server for the whole session."""
    if why := postgres.missing():
        assert not postgres.REQUIRED, why
        pytest.skip(why)
    with postgres.running() as server:
        yield server


@pytest.fixture(autouse=True)
def _own_home(starter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of the test's own, in which the starter corpus is indexed already, and limits that no other test used."""
    from redargue.net import services

    monkeypatch.setattr(services, "_limiters", {})
    home = tmp_path.with_name(f"{tmp_path.name}-home")
    home.mkdir()
    (home / starter.name).symlink_to(starter)  # it is only read
    monkeypatch.setenv("REDARGUE_HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    for name in [name for name in os.environ if name.startswith(("REDARGUE_", "OPENAI_"))]:
        if name not in ("REDARGUE_DATA", "REDARGUE_HOME", "REDARGUE_GOLDEN"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REDARGUE_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def own_registrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test registers by name is gone after it: an example and the page that shows it have one name."""
    from redargue.backends import backends
    from redargue.bench.datasets import datasets
    from redargue.methods import methods
    from redargue.retrieval.corpus import stores
    from redargue.retrieval.tools import tools

    for registry in (methods, tools, backends, datasets, stores):
        monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Ctrl-C reaches what tests start: a shell that runs the tests in the background ignores it, and so would they."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuses, where it would leave the machine, any connection a test tries to make."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def allowed(address: Any) -> None:
        if isinstance(address, tuple) and not _loopback(str(address[0])):
            raise AssertionError(f"a test tried to reach {address[0]!r}: tests have no network")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        allowed(address)
        return connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        allowed(address)
        return connect_ex(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        yield


@pytest.fixture(autouse=True, scope="session")
def _certificates_read_once() -> Iterator[None]:
    """The clients that tests make, one for a request, take 30 ms each to read certificates that none of them needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
