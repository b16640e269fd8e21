"""One MCP server and the connection that all share: made when first needed, made again once if the server dies.

The SDK's client has to be left by the task that entered it, so each life of a connection is a task of its own; calls
come from whichever task wants to make one, as many at once as there are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

import httpx2

from redargue.errors import ProviderError, ToolFailed, UsageError
from redargue.keys import Secrets, place
from redargue.tools.mcp.extra import needed
from redargue.tools.mcp.process import ServerProcess
from redargue.transport import LARGEST_ANSWER

TIMEOUT, START = 60.0, 30.0  # seconds, of a call and of a server's start
_GONE = ("Connection closed", "SSE stream ended", "Session terminated")  # how the SDK says that a connection is lost


class Target(Protocol):
    """How a server is reached.

    Attributes:
        place: as it may be shown and recorded.
    """

    @property
    def place(self) -> str:
        """As it may be shown and recorded."""
        ...

    def opened(self) -> Any:
        """An asynchronous context manager that gives what the SDK's client takes."""
        ...

    def last_words(self) -> str:
        """What is known of its end, if anything."""
        ...


@dataclass
class Command:
    """A server that is run as a process.

    Attributes:
        command: the program and its arguments.
        environment: variables that it gets besides the few that every program needs.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    _process: ServerProcess | None = field(default=None, init=False, repr=False)

    @property
    def place(self) -> str:
        """The program's name; its arguments may hold what is secret."""
        return str(self.command[0]).replace("\\", "/").rpartition("/")[2]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Any]:
        """The running server."""
        self._process = ServerProcess(self.command, self.environment)
        yield self._process.streams()

    def last_words(self) -> str:
        """How its process ended."""
        return self._process.last_words() if self._process else ""


@dataclass
class Address:
    """A server at a web address (streamable HTTP).

    Attributes:
        url: of its endpoint.
        token: is sent as a bearer token; empty for none.
        timeout: seconds that it may be silent.
    """

    url: str = field(repr=False)
    token: str = field(default="", repr=False)
    timeout: float = TIMEOUT

    @property
    def place(self) -> str:
        """The address without what may be secret in it."""
        return place(self.url)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Any]:
        """A client of its own: no redirect leaves the server's origin, no answer passes the bound."""
        from mcp.client.streamable_http import streamable_http_client

        headers = {"Accept-Encoding": "identity"}  # a few bytes could unpack to more than the bound
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        async with httpx2.AsyncClient(
            timeout=httpx2.Timeout(START, read=self.timeout + START),
            headers=headers,
            mounts=dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]")),  # through no proxy
            event_hooks={"response": [_bound]},
        ) as client:
            yield streamable_http_client(self.url, http_client=client, max_sse_event_size=LARGEST_ANSWER)

    def last_words(self) -> str:
        """Nothing is known."""
        return ""


@dataclass
class InProcess:
    """A server of this process: no socket, no start.

    Attributes:
        server: the SDK's.
        place: as it may be shown and recorded.
    """

    server: Any
    place: str = "this process"

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Any]:
        """The server itself."""
        yield self.server

    def last_words(self) -> str:
        """It cannot die alone."""
        return ""


class _Died(Exception):
    """The connection is gone; what was asked may be asked again on a new one."""


class Server:
    """A named MCP server; an asynchronous context manager that may be entered several times at once.

    Args:
        name: its user's name for it.
        target: how it is reached.
        timeout: seconds for a call.
        secrets: what to hide in whatever it says.

    Raises:
        MissingExtra: the SDK is not installed.
    """

    def __init__(self, name: str, target: Target, *, timeout: float = TIMEOUT, secrets: Secrets | None = None) -> None:
        needed()
        self.name, self.target, self.timeout = name, target, timeout
        self.secrets = secrets or Secrets.of()
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
        """Has the SDK's client do something, on a new connection where the old one died under it.

        What was under way when a server died is asked again one by one: a call that kills its server takes no other
        with it.

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
        """The server's own name and version; empty where it does not tell."""
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
        """A connection that lives as far as is known; whoever comes first makes it."""
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
        """Waits until it stands; raises what kept it from standing."""
        await asyncio.wait([self._ready, self.task], return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done():
            self.task.result()
        self.client = self._ready.result()

    async def end(self) -> None:
        """Closes it."""
        self._leave.set()
        if not self._ready.done():
            self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _hold(self, target: Target) -> None:
        from mcp import Client

        async with AsyncExitStack() as stack:
            reached = await stack.enter_async_context(target.opened())
            client = await stack.enter_async_context(Client(reached, cache=None))
            self._ready.set_result(client)
            await self._leave.wait()


def _first(error: BaseException) -> str:
    """What went wrong, out of the groups that the SDK wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (error.what if isinstance(error, ProviderError) else str(error) or type(error).__name__)[:300]


async def _bound(response: httpx2.Response) -> None:
    """Lets an answer of JSON be no larger than the bound; events are bounded one by one."""
    if "json" in response.headers.get("content-type", ""):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    """A body that fails where it passes the bound."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > LARGEST_ANSWER:
                raise httpx2.StreamError(f"the answer is larger than {LARGEST_ANSWER:,} bytes; nothing of it was kept")
            yield part

    async def aclose(self) -> None:
        """Closes the connection, or gives it back."""
        await self._inner.aclose()
