"""An MCP server as a process of its own: messages a line each over its standard streams.

The SDK's own transport takes a minute for an answer of 50 MB (it copies all it has with each 64 kB that come) and has
no bound. This one reads as fast as the pipe and holds no line that is longer than its bound: the call that it answers
fails, and the others go on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from redargue.errors import ProviderError
from redargue.transport import LARGEST_ANSWER

INHERITED = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TERM", "TMPDIR", "USER")
GRACE = 2.0  # seconds to end in, when its input is closed and again when it is told to
_CHUNK = 1 << 20
_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*,')
_log = logging.getLogger(__name__)


class ServerProcess:
    """The server's command, and what is known of its end.

    Args:
        command: the program and its arguments.
        environment: variables besides the few that every program needs; a server gets no others, so no keys.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.command = tuple(command)
        self._environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | dict(
            environment or {}
        )
        self._process: asyncio.subprocess.Process | None = None
        self._said: deque[bytes] = deque(maxlen=20)

    def last_words(self) -> str:
        """How it ended and the last line that it wrote to its standard error; empty as long as it runs."""
        if self._process is None or self._process.returncode is None:
            return ""
        line = next((text for each in reversed(self._said) if (text := each.decode(errors="replace").strip())), "")
        return f"it ended with status {self._process.returncode}" + (f": {line[:200]}" if line else "")

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """The SDK's two streams of messages, as long as the server runs; it is stopped on leaving.

        Raises:
            ProviderError: the command cannot be run.
        """
        import anyio
        from mcp.shared.message import SessionMessage

        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
                limit=_CHUNK,
            )
        except (OSError, ValueError) as error:
            raise ProviderError(
                f"{self.command[0]!r} cannot be run: {error}", hint="is the program installed, and on PATH?"
            ) from error
        self._process = process
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        work = [asyncio.create_task(each) for each in (_read(process, incoming), _write(process, outgoing))]
        work.append(asyncio.create_task(self._listen(process)))
        try:
            yield read, write
        finally:
            await asyncio.shield(asyncio.create_task(_stopped(process, work)))
            for stream in (read, write, incoming, outgoing):
                stream.close()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Keeps the last lines of its standard error."""
        assert process.stderr is not None
        rest = b""
        while part := await process.stderr.read(_CHUNK):
            *lines, rest = (rest + part).split(b"\n")
            self._said.extend(line[-1000:] for line in lines)
            rest = rest[-1000:]
        self._said.append(rest)


async def _read(process: asyncio.subprocess.Process, incoming: Any) -> None:
    """Hands on each line as a message, until the server closes its output."""
    import anyio
    from mcp import types
    from mcp.shared.message import SessionMessage

    assert process.stdout is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError), incoming:
        async for line, size in _lines(process.stdout):
            message: SessionMessage | Exception
            try:
                if size > LARGEST_ANSWER:
                    message = SessionMessage(types.jsonrpc_message_adapter.validate_python(_too_large(line, size)))
                else:
                    message = SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                _log.warning("a line that is no message of MCP was passed over")
                message = error
            await incoming.send(message)


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[tuple[bytes, int]]:
    """Each line with its length; of one above the bound no more than its beginning is held."""
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(_CHUNK):
        *ends, rest = part.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end]), size + len(end)
            parts, size = [], 0
        size += len(rest)
        if size <= LARGEST_ANSWER or not parts:
            parts.append(rest)


def _too_large(line: bytes, size: int) -> dict[str, Any]:
    """The error that stands for an answer above the bound.

    Raises:
        ValueError: it does not begin like an answer, so that nobody knows whose it is.
    """
    found = _ID.match(line)
    if not found:
        raise ValueError(f"a message of {size:,} bytes")
    said = f"the answer of {size:,} bytes is larger than {LARGEST_ANSWER:,}; nothing of it was kept"
    return {"jsonrpc": "2.0", "id": int(found[1]), "error": {"code": -32001, "message": said}}


async def _write(process: asyncio.subprocess.Process, outgoing: Any) -> None:
    """Sends each message, until there are no more or nobody reads them."""
    assert process.stdin is not None
    with suppress(OSError), outgoing:
        async for each in outgoing:
            process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()


async def _stopped(process: asyncio.subprocess.Process, work: Sequence[asyncio.Task[None]]) -> None:
    """Ends the server as the protocol wants it: its input closes, it is told, it is killed with its children."""
    assert process.stdin is not None
    process.stdin.close()
    for sign in (None, signal.SIGTERM, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM):
        if sign is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, sign) if hasattr(os, "killpg") else process.send_signal(sign)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
            break
    for each in work:
        each.cancel()
    await asyncio.gather(*work, return_exceptions=True)
