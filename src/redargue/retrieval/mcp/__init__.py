"""One MCP server and its shared connection, opened when first needed and opened again if the server dies.

The SDK's client has to be closed by the task that entered it, so each connection is a task of its own. Any task may
call tools, concurrently with others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from redargue.errors import ProviderError, ToolFailed, UsageError
from redargue.net.secrets import Secrets
from redargue.registry import install
from redargue.retrieval.mcp.transports import START, TIMEOUT, ServerAddress
from redargue.sanitize import printable

_GONE = ("Connection closed", "SSE stream ended", "Session terminated")  # the SDK's messages for a lost connection


def require_sdk() -> None:
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise UsageError("MCP needs its SDK", hint=install("mcp"))


class Target(Protocol):
    """How to reach a server; ``place`` is the location without secrets, for messages and records."""

    @property
    def place(self) -> str: ...

    def transport(self) -> Any:
        """The argument of the SDK's client: a transport, or a server in this process."""
        ...

    def last_words(self) -> str:
        """How the server ended; empty if unknown."""
        ...


@dataclass
class InProcess:
    """One of the SDK's servers in this process, connected without a socket."""

    server: Any
    place: str = "this process"

    def transport(self) -> Any:
        return self.server

    def last_words(self) -> str:
        return ""


class _Died(Exception):
    """The connection is lost; the request may be repeated on a new one."""


class McpServer:
    """A named MCP server; an asynchronous context manager that may be entered several times concurrently.

    ``timeout`` is in seconds per call; ``secrets`` are hidden in its answers.
    """

    def __init__(self, name: str, target: Target, *, timeout: float = TIMEOUT, secrets: Secrets | None = None) -> None:
        require_sdk()
        self.name, self.target, self.timeout = name, target, timeout
        self.secrets = secrets or Secrets.from_environment()
        if isinstance(target, ServerAddress):
            self.secrets.add_known(target.token)
            self.secrets.add_url(target.url)
        self._users = 0
        self._connection: _Connection | None = None
        self._reset()

    def _reset(self) -> None:
        """Resets the state that is bound to an event loop; the next one may differ."""
        self._lost, self._until = "", 0.0
        self._connecting, self._repeating = asyncio.Lock(), asyncio.Lock()

    async def __aenter__(self) -> McpServer:
        if not self._users:
            self._reset()
        self._users += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self._users -= 1
        if not self._users and self._connection:
            connection, self._connection = self._connection, None
            await connection.end()

    async def ask(self, method: str, **arguments: Any) -> Any:
        """Calls a method of the SDK's client, and repeats it on a new connection if the server dies.

        Requests that were in progress when the server died are repeated one by one, so that a call that kills the
        server does not make others fail. Raises ToolFailed without a connection or an answer in time, and for a
        protocol error.
        """
        with suppress(_Died):
            return await self._asked(await self._connected(), method, arguments)
        async with self._repeating:
            connection = await self._connected()
            try:
                return await self._asked(connection, method, arguments)
            except _Died:
                await connection.end()  # afterwards the exit status is known
                raise self._ended("died twice under the same call", "the call itself may crash the server") from None

    async def about(self) -> str:
        """The name and version that the server reports; empty if it reports none."""
        connection = await self._connected()
        info = connection.client.server_info
        return self.secrets.hide(f"{info.name} {info.version}".strip()) if info else ""

    async def _asked(self, connection: _Connection, method: str, arguments: Mapping[str, Any]) -> Any:
        from mcp import MCPError

        try:
            async with asyncio.timeout(self.timeout):
                return await getattr(connection.client, method)(**arguments)
        except TimeoutError:
            hint = f"REDARGUE_MCP_{self.name.upper()}_TIMEOUT sets a longer time limit"
            raise self._failed(f"gave no answer in {self.timeout:g} s", hint) from None
        except MCPError as error:
            if connection.task.done() or error.message.startswith(_GONE):
                connection.dead = True
                raise _Died from None
            raise self._failed(f"answered with the error {error.code}: {printable(error.message[:300])}") from None
        except Exception as error:  # an answer that breaks the SDK must not end a verification
            if connection.task.done():  # so a new one is opened
                raise _Died from None
            raise self._failed(f"gave an answer that cannot be read: {type(error).__name__}") from error

    async def _connected(self) -> _Connection:
        if not self._users:
            raise UsageError(f"the MCP server {self.name!r} is not open", hint="async with server: …")
        async with self._connecting:
            if time.monotonic() < self._until:
                raise ToolFailed(self._lost)
            if self._connection and (self._connection.dead or self._connection.task.done()):
                await self._connection.end()
                self._connection = None
            if self._connection is None:
                connection = _Connection(self.target)
                try:
                    async with asyncio.timeout(START):
                        await connection.ready()
                except BaseException as error:
                    await connection.end()
                    if isinstance(error, Exception):  # the SDK raises errors of many libraries
                        raise self._not_started(error) from error
                    raise
                self._connection = connection
            return self._connection

    def _not_started(self, error: Exception) -> ToolFailed:
        late = isinstance(error, TimeoutError)
        why = f"did not start within {START:g} s" if late else f"cannot be reached: {_message(error)}"
        hint = error.hint if isinstance(error, ProviderError) else "does the same command or address work by hand?"
        failed = self._ended(why, hint)
        self._lost, self._until = failed.what, time.monotonic() + START  # until then, other calls fail immediately
        return failed

    def _ended(self, why: str, hint: str) -> ToolFailed:
        return self._failed("; ".join(filter(None, (why, self.target.last_words()))), hint)

    def _failed(self, why: str, hint: str = "") -> ToolFailed:
        return ToolFailed(self.secrets.hide(f"the MCP server {self.name!r} ({self.target.place}) {why}"), hint=hint)


class _Connection:
    def __init__(self, target: Target) -> None:
        self._leave = asyncio.Event()
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.client: Any = None
        self.dead = False
        self.task = asyncio.create_task(self._hold(target))

    async def ready(self) -> None:
        """Waits until the connection is open; raises the error that prevented it."""
        await asyncio.wait([self._ready, self.task], return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done():
            self.task.result()
        self.client = self._ready.result()

    async def end(self) -> None:
        self._leave.set()
        if not self._ready.done():
            self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _hold(self, target: Target) -> None:
        from mcp import Client

        async with Client(target.transport(), cache=None) as client:
            self._ready.set_result(client)
            await self._leave.wait()


def _message(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (error.what if isinstance(error, ProviderError) else str(error) or type(error).__name__)[:300]
