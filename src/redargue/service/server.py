"""Runs the application with uvicorn; open streams end as soon as the process is asked to stop."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from fastapi import FastAPI

from redargue.errors import RecordError, UsageError
from redargue.files import make_folder
from redargue.net.listening import DEFAULT, Limits, PatientServer
from redargue.runs.record import writing
from redargue.service.checks import CheckStore
from redargue.service.guard import LOOPBACK


class Server(PatientServer):
    """Closes the store of checks at the first signal, because uvicorn waits for open streams."""

    def __init__(
        self, application: FastAPI, ready: Callable[[], None] = lambda: None, *, limits: Limits = DEFAULT
    ) -> None:
        super().__init__(application, limits)
        self._application, self._ready = application, ready
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        store: CheckStore | None = getattr(self._application.state, "store", None)
        if store and self._loop:
            # A signal may interrupt asyncio.Event.wait() before the waiter is noted, who would then never be woken.
            self._loop.call_soon_threadsafe(store.close)
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            self._ready()


@contextmanager
def only_one(folder: Path, name: str) -> Iterator[None]:
    """Keeps out a second process with the same home, which would resume the same checks; raises UsageError."""
    make_folder(folder)
    with ExitStack() as held:
        try:
            held.enter_context(writing(folder))
        except RecordError:
            what = f"{name} is running already with the home {str(folder.parent)!r}"
            raise UsageError(what, hint="use that one, stop it, or set REDARGUE_HOME to another folder") from None
        yield


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is a free one. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        what = f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}"
        raise UsageError(what, hint="choose another --port, or --port 0 for a free one") from None
    return listener


def allowed_hosts(host: str, trusted: tuple[str, ...], *, has_keys: bool) -> tuple[str, ...]:
    """The names by which clients may reach a service that listens on an address.

    Raises UsageError beyond loopback without a key, and for a wildcard address without trusted hosts.
    """
    name = host.strip("[]").lower()
    if name == "localhost" or _address_is(name, "is_loopback"):
        return (*LOOPBACK, name, *trusted)
    if not has_keys:
        what = f"{host!r} can be reached from other machines, and the service has no key"
        raise UsageError(what, where="--host", hint="make one: redargue serve key add NAME")
    if name and not _address_is(name, "is_unspecified"):
        return (name, *trusted)
    if not trusted:
        what = f"{host!r} is every address of this machine, so that any Host header could be meant"
        hint = "name those that clients use: --trusted-host NAME"
        raise UsageError(what, where="--host", hint=hint)
    return (*LOOPBACK, *trusted)


def _address_is(name: str, what: str) -> bool:
    try:
        return bool(getattr(ipaddress.ip_address(name), what))
    except ValueError:
        return False
