"""One MCP server and its shared connection, opened when first needed and opened again if the server dies.

The SDK's client has to be closed by the task that entered it, so each connection is a task of its own. Any task may
call tools, concurrently with others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from redargue.errors import ProviderError, ToolFailed, UsageError
from redargue.net.secrets import Secrets
from redargue.retrieval.mcp.extra import needed
from redargue.retrieval.mcp.streamable_http import START, TIMEOUT, Address

_GONE = ("Connection closed", "SSE stream ended", "Session terminated")  # the SDK's messages for a lost connection


class Target(Protocol):
    """How a server is reached.

    Attributes:
        place: as it may be shown and recorded.
    """

    @property
    def place(self) -> str:
        """As it may be shown and recorded."""
        ...

    def transport(self) -> Any:
        """What the SDK's client takes: a transport, or a server of this process."""
        ...

    def last_words(self) -> str:
        """How it ended, as far as known; empty otherwise."""
        ...


@dataclass
class InProcess:
    """A server of this process: no socket, no start.

    Attributes:
        server: the SDK's.
        place: as it may be shown and recorded.
    """

    server: Any
    place: str = "this process"

    def transport(self) -> Any:
        """The server itself."""
        return self.server

    def last_words(self) -> str:
        """Empty: it cannot end alone."""
        return ""


class _Died(Exception):
    """The connection is lost; the request may be repeated on a new one."""


class Server:
    """A named MCP server; an asynchronous context manager that may be entered several times concurrently.

    Args:
        name: as the user calls it.
        target: how it is reached.
        timeout: seconds for a call.
        secrets: what to hide in whatever it says.

    Raises:
        MissingExtra: the SDK is not installed.
    """

    def __init__(self, name: str, target: Target, *, timeout: float = TIMEOUT, secrets: Secrets | None = None) -> None:
        needed()
        self.name, self.target, self.timeout = name, target, timeout
        self.secrets = secrets or Secrets.from_environment()
        if isinstance(target, Address):
            self.secrets.add(target.token)
            self.secrets.add_url(target.url)
        self._users = 0
        self._life: _Life | None = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forgets what belongs to an event loop, perhaps another one than the next."""
        self._lost, self._until = "", 0.0
        self._turn, self._again = asyncio.Lock(), asyncio.Lock()

    async def __aenter__(self) -> Server:
        if not self._users:
            self._begin_anew()
        self._users += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._users -= 1
        if not self._users and self._life:
            life, self._life = self._life, None
            await life.end()

    async def ask(self, method: str, **arguments: Any) -> Any:
        """Calls a method of the SDK's client, and repeats it on a new connection if the server dies.

        Requests that were in progress when the server died are repeated one by one, so that a call that kills the
        server does not make others fail.

        Args:
            method: of the client.
            arguments: of the method.

        Raises:
            ToolFailed: no connection, no answer in time, or an error of the protocol.
        """
        life = await self._living()
        try:
            return await self._asked(life, method, arguments)
        except _Died:
            life.dead = True
        async with self._again:
            life = await self._living()
            try:
                return await self._asked(life, method, arguments)
            except _Died:
                life.dead = True
                await life.end()  # only now is it known how its process ended
                why = f"died twice under the same call{self._ending()}"
                raise self._failed(why, "the call may be what kills it") from None

    async def about(self) -> str:
        """The name and version that the server reports; empty if it reports none."""
        life = await self._living()
        info = life.client.server_info
        return self.secrets.hide(f"{info.name} {info.version}".strip()) if info else ""

    async def _asked(self, life: _Life, method: str, arguments: Mapping[str, Any]) -> Any:
        from mcp import MCPError

        try:
            async with asyncio.timeout(self.timeout):
                return await getattr(life.client, method)(**arguments)
        except TimeoutError:
            hint = f"REDARGUE_MCP_{self.name.upper()}_TIMEOUT gives it more seconds"
            raise self._failed(f"gave no answer in {self.timeout:g} s", hint) from None
        except MCPError as error:
            if life.task.done() or error.message.startswith(_GONE):
                raise _Died from None
            raise self._failed(f"answered with the error {error.code}: {error.message[:300]}") from None
        except Exception as error:  # whatever a foreign server's answer does to the SDK must not end a verification
            if life.task.done():
                raise _Died from None
            raise self._failed(f"gave an answer that cannot be read: {type(error).__name__}") from error

    async def _living(self) -> _Life:
        """The open connection, or a new one."""
        if not self._users:
            raise UsageError(f"the MCP server {self.name!r} is not open", hint="async with server: …")
        async with self._turn:
            if time.monotonic() < self._until:
                raise ToolFailed(self._lost)
            if self._life and (self._life.dead or self._life.task.done()):
                await self._life.end()
                self._life = None
            if self._life is None:
                life = _Life(self.target)
                try:
                    async with asyncio.timeout(START):
                        await life.ready()
                except Exception as error:  # the SDK raises what its parts do
                    await life.end()
                    raise self._not_started(error) from error
                except BaseException:
                    await life.end()
                    raise
                self._life = life
            return self._life

    def _not_started(self, error: Exception) -> ToolFailed:
        why = (
            f"gave no sign of life in {START:g} s"
            if isinstance(error, TimeoutError)
            else f"cannot be reached: {_first(error)}"
        )
        hint = error.hint if isinstance(error, ProviderError) else "does the same command or address work by hand?"
        failed = self._failed(why + self._ending(), hint)
        self._lost, self._until = failed.what, time.monotonic() + START  # until then others need not wait for the same
        return failed

    def _ending(self) -> str:
        words = self.target.last_words()
        return f"; {words}" if words else ""

    def _failed(self, why: str, hint: str = "") -> ToolFailed:
        return ToolFailed(self.secrets.hide(f"the MCP server {self.name!r} ({self.target.place}) {why}"), hint=hint)


class _Life:
    """One connection, in the task that entered it."""

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
        """Closes the connection."""
        self._leave.set()
        if not self._ready.done():
            self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _hold(self, target: Target) -> None:
        from mcp import Client

        async with Client(target.transport(), cache=None) as client:
            self._ready.set_result(client)
            await self._leave.wait()


def _first(error: BaseException) -> str:
    """What went wrong, out of the groups that the SDK wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (error.what if isinstance(error, ProviderError) else str(error) or type(error).__name__)[:300]
