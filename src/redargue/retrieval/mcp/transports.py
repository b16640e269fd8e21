"""How an MCP server is reached: a child process, or a web address."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from anyio import BrokenResourceError, ClosedResourceError
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from redargue.errors import ProviderError
from redargue.net.fetch import trusted
from redargue.net.secrets import display_url
from redargue.net.transport import LARGEST_ANSWER

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage


# An MCP server as a child process: JSON-RPC messages, one per line, over its standard streams.
#
# This replaces the SDK's ``stdio_client``, which holds a line of any length, copies all that it
# holds whenever 64 kB arrive, and does not report how the process ended. Here a call whose
# answer is larger than the bound fails, and other calls continue.

GRACE = 2.0  # seconds for the server to end after its input closes, and again after SIGTERM
_LINES_KEPT, _LINE_KEPT = 20, 1_000  # of its standard error: lines, and bytes of a line
_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*,')
_log = logging.getLogger(__name__)


@dataclass
class Command:
    """A server as a child process; ``environment`` is added to what the SDK passes to every server (PATH, HOME, …)."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    _process: Process | None = field(default=None, init=False, repr=False)
    _stderr: deque[bytes] = field(default_factory=lambda: deque(maxlen=_LINES_KEPT), init=False, repr=False)

    @property
    def place(self) -> str:
        """The program's name; its arguments may contain secrets."""
        return str(self.command[0]).replace("\\", "/").rpartition("/")[2]

    def last_words(self) -> str:
        """The exit status and the last line of its standard error; empty while it runs."""
        if self._process is None or self._process.returncode is None:
            return ""
        line = next((text for line in reversed(self._stderr) if (text := line.decode(errors="replace").strip())), "")
        return f"it ended with status {self._process.returncode}" + (f": {line[:200]}" if line else "")

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Any]:
        """The SDK's two streams of messages; on leaving, the process and its descendants are stopped."""
        from mcp.client.stdio import get_default_environment
        from mcp.shared.message import SessionMessage

        environment = get_default_environment() | dict(self.environment)
        try:
            process = await anyio.open_process(list(self.command), env=environment, start_new_session=True)
        except (OSError, ValueError) as error:
            what = f"{self.command[0]!r} cannot be run: {error}"
            raise ProviderError(what, hint="is the program installed, and on PATH?") from error
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self._process = process
        self._stderr.clear()
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with process, anyio.create_task_group() as pipes:
            pipes.start_soon(_receive, process.stdout, incoming)
            pipes.start_soon(_send, process.stdin, outgoing)
            pipes.start_soon(self._keep_stderr, process.stderr)
            try:
                yield read, write
            finally:
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                pipes.cancel_scope.cancel()
                for stream in (read, write, incoming, outgoing):
                    stream.close()

    async def _keep_stderr(self, stderr: ByteReceiveStream) -> None:
        rest = b""
        with suppress(ClosedResourceError):
            async for part in stderr:
                *lines, rest = (rest + part).split(b"\n")
                self._stderr.extend(line[-_LINE_KEPT:] for line in lines)
                rest = rest[-_LINE_KEPT:]
        self._stderr.append(rest)


async def _receive(stdout: ByteReceiveStream, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    from mcp import types
    from mcp.shared.message import SessionMessage

    with suppress(BrokenResourceError, ClosedResourceError):
        async with incoming:
            async for line, size in _lines(stdout):
                try:
                    content = line if size <= LARGEST_ANSWER else _too_large(line, size)
                    parsed = types.jsonrpc_message_adapter.validate_json(content, by_name=False)
                    await incoming.send(SessionMessage(parsed))
                except ValueError as error:
                    _log.warning("skipped a line from an MCP server that is not a message")
                    await incoming.send(error)


async def _lines(stdout: ByteReceiveStream) -> AsyncIterator[tuple[bytes, int]]:
    """Each line with its length in bytes; only the beginning of a line above the bound is kept."""
    parts: list[bytes] = []
    size = 0
    async for part in stdout:
        *ends, rest = part.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end]), size + len(end)
            parts, size = [], 0
        size += len(rest)
        if size <= LARGEST_ANSWER or not parts:
            parts.append(rest)


def _too_large(line: bytes, size: int) -> str:
    """The error that replaces an answer above the bound; raises ValueError if its request cannot be identified."""
    match = _ID.match(line)
    if not match:
        raise ValueError(f"a message of {size:,} bytes")
    text = f"the answer of {size:,} bytes is larger than {LARGEST_ANSWER:,}; it was discarded"
    return json.dumps({"jsonrpc": "2.0", "id": int(match[1]), "error": {"code": -32001, "message": text}})


async def _send(stdin: ByteSendStream, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with suppress(OSError, BrokenResourceError, ClosedResourceError):
        async with outgoing:
            async for sent in outgoing:
                await stdin.send(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


async def _stop(process: Process) -> None:
    """Closes the server's input and, if it does not end, terminates and kills its process group."""
    from mcp.os.posix.utilities import terminate_posix_process_tree

    assert process.stdin
    with suppress(OSError, BrokenResourceError, ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(GRACE):
        await process.wait()
        return
    if sys.platform == "win32":
        process.kill()
    else:
        await terminate_posix_process_tree(process, GRACE)


# An MCP server at a web address, over the SDK's streamable HTTP transport.

TIMEOUT, START = 60.0, 30.0  # seconds for a call, and for a server to start
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass
class ServerAddress:
    """A server at a web address (streamable HTTP); ``token`` is sent as a bearer token if it is not empty."""

    url: str = field(repr=False)
    token: str = field(default="", repr=False)
    timeout: float = TIMEOUT

    @property
    def place(self) -> str:
        return display_url(self.url)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Any]:
        """The SDK's two streams of messages; answers are bounded, and redirects stay on the server's origin."""
        from mcp.client.streamable_http import streamable_http_client

        headers = {"Accept-Encoding": "identity"}  # a few compressed bytes can expand beyond the bound
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(START, read=self.timeout + START),
            headers=headers,
            verify=trusted(),
            mounts={f"all://{host}": None for host in LOOPBACK_HOSTS},  # without a proxy
            event_hooks={"response": [_bound]},
        )
        async with (
            client,
            streamable_http_client(self.url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
        ):
            yield streams

    def last_words(self) -> str:
        return ""


async def _bound(response: httpx2.Response) -> None:
    """Bounds a JSON answer, which the SDK reads as a whole; it bounds events itself. Refuses compressed answers."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        await response.aclose()
        raise httpx2.StreamError("the answer is compressed, which was not asked for; it was discarded")
    if "json" in response.headers.get("content-type", ""):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > LARGEST_ANSWER:
                raise httpx2.StreamError(f"the answer is larger than {LARGEST_ANSWER:,} bytes; it was discarded")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
