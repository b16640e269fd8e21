"""What a listening server allows its clients: time to send and to read, a number of connections, lines of its log."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.server import ServerState

UNCLEAR = "the end of the body is not clear: send either Content-Length or Transfer-Encoding: chunked"


def unclear(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the headers of a request, with names in lower case, have any other coding, or both.

    Two servers in a row have to agree on where a body ends, or one request hides in another.
    """
    pairs = list(headers)
    codings = [value.strip().lower() for name, value in pairs if name == b"transfer-encoding"]
    lengths = [value for name, value in pairs if name == b"content-length"]
    return (bool(codings) and (codings != [b"chunked"] or bool(lengths))) or len(lengths) > 1


if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as HttpProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as HttpProtocol

_FILES = 16_384  # files that a server may open, where the system allows as many
UNKNOWN = 512  # files, on a system that does not report its limit
BACKLOG = 128  # connections that the system holds until they are accepted
_GRACE = 2  # seconds for requests to end after a stop
HEAD = 65_536  # bytes of a request before its body
REFUSED_BODY = 4_000_000  # bytes that are read of a body after its request has been answered
TIMED_OUT = b"408 Request Timeout", b"the rest of the request did not arrive in time"
TOO_LONG = b"431 Request Header Fields Too Large", b"the request's head has more than 65,536 bytes"
FULL = b"503 Service Unavailable", b"too many connections: try again later"
RESET = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)  # of SO_LINGER
LINES, MINUTE = 10, 60.0  # of the log, by each place in the code, in so many seconds

logger = logging.getLogger("uvicorn.error")


@dataclass(frozen=True)
class Limits:
    """How long a server waits for its clients, and how many it has.

    Attributes:
        sending: seconds for a request's head, and for its body; a client that sends ``rate`` may take longer.
        reading: seconds without progress after which a response is given up.
        idle: seconds for the next request to begin; longer than clients keep a connection, which they reuse until then.
        rate: bytes per second of the slowest client that is waited for.
        connections: their number at most, besides half of the files that the process may open.
    """

    sending: float = 20.0
    reading: float = 60.0
    idle: int = 75
    rate: int = 1_024
    connections: int = 4_096


DEFAULT = Limits()


class Clients(ServerState):
    """The connections of a server.

    A connection that waits for its client (to send the rest of a request, the next one, or to read the response) is
    closed when its time is over, or when its place is needed: that of the client which did nothing for longest first.
    One that waits for this process is never closed.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits, self.most = limits, limits.connections
        self.waiting: OrderedDict[Connection, None] = OrderedDict()  # for their clients, in the order of their last act

    def admit(self, connection: Connection) -> None:
        """Makes room for a connection, or refuses it."""
        if len(self.connections) <= self.most:
            return
        logger.warning("%d connections: clients that send or read nothing lose theirs", self.most)
        if self.waiting:
            longest, _ = self.waiting.popitem(last=False)
            longest.reset()
        else:
            connection.refuse(FULL)

    def sweep(self) -> None:
        """Closes the connections whose clients' time is over."""
        for connection in list(self.connections):
            if isinstance(connection, Connection):
                connection.close_if_overdue()


class Connection(HttpProtocol):
    """One connection, which knows for how long it has waited for its client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        assert isinstance(self.server_state, Clients)
        self._clients = self.server_state
        self._state: tuple[object, ...] = ()
        self._note_state()
        self._clients.admit(self)
        self._acted()

    def connection_lost(self, exc: Exception | None) -> None:
        self._clients.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            self._since = self.loop.time()
        self._received += len(data)
        super().data_received(data)
        self._acted()
        if self._received > self._most_before_a_request() and not self.transport.is_closing():
            self.refuse(TOO_LONG)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._acted()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._acted()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._acted()

    def close_if_overdue(self) -> None:
        self._note_state()
        if not self._waits or (self._is_idle and not self._unread):
            return
        limits, waited = self._clients.limits, self.loop.time() - self._since
        if self._unread:
            taken = self._pending - self.transport.get_write_buffer_size()
            if waited > limits.reading + taken / limits.rate:
                self.reset()
        elif waited > limits.sending + self._received / limits.rate:
            self.refuse(TIMED_OUT)

    def reset(self) -> None:
        """Closes the connection without what was not sent yet, which the system would keep for its client."""
        made = self.transport.get_extra_info("socket")
        if made is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()

    def refuse(self, answer: tuple[bytes, bytes]) -> None:
        """Closes the connection; says why to a client that waits for an answer."""
        status, text = answer
        if not self._unread and (answer is FULL or self._expects_an_answer()):
            head = b"HTTP/1.1 %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            self.transport.write(head % (status, len(text)) + text)
        self.transport.close()

    def _expects_an_answer(self) -> bool:
        cycle = self.cycle
        if cycle is not None and cycle.more_body:
            return not cycle.response_started
        return bool(self._received) and (cycle is None or cycle.response_complete)

    def _acted(self) -> None:
        """Notes what the client did."""
        self._note_state()
        waiting = self._clients.waiting
        waiting.pop(self, None)
        if self._waits:
            waiting[self] = None

    def _note_state(self) -> None:
        """A new state, or a new request, gives the client its whole time again."""
        cycle = self.cycle
        self._unread = self.flow.write_paused or self.transport.is_closing()
        wanted = cycle is None or cycle.more_body or cycle.response_complete
        self._waits = self._unread or (wanted and not self.flow.read_paused)
        # Between two pieces of a large body nobody may wait for the client: its end is a new state all the same.
        state = (cycle, cycle is not None and cycle.more_body, self._unread, self._waits)
        if state != self._state:
            self._state, self._since, self._received = state, self.loop.time(), 0
            self._pending = self.transport.get_write_buffer_size()

    @property
    def _is_idle(self) -> bool:
        """Whether nothing of the next request has arrived; uvicorn closes a connection that stays so."""
        return self.cycle is not None and self.cycle.response_complete and not self._received

    def _most_before_a_request(self) -> float:
        """Bytes that may be received in the present state: a body is bounded by the application that reads it."""
        cycle = self.cycle
        if cycle is None or not cycle.more_body:
            return HEAD
        return REFUSED_BODY if cycle.response_complete else float("inf")


class PatientServer(uvicorn.Server):
    """uvicorn with :class:`Limits` on its clients, and on the lines that they can put into its log."""

    def __init__(self, application: Any, limits: Limits = DEFAULT) -> None:
        config = uvicorn.Config(
            application,
            http=Connection,
            backlog=BACKLOG,
            timeout_keep_alive=limits.idle,
            timeout_graceful_shutdown=_GRACE,
            access_log=False,
            log_level="warning",
            log_config=None,  # the command chooses its form
            server_header=False,
            proxy_headers=False,
            ws="none",
        )
        super().__init__(config)
        self.clients = self.server_state = Clients(limits)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM:
            self.should_exit = True  # uvicorn would kill the process with the same signal once it has stopped
        else:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: Any = None) -> None:
        self.clients.most = min(self.clients.limits.connections, raise_file_limit() // 2)
        few = FewLines()
        for name in ("uvicorn.error", "asyncio"):  # asyncio reports failures to accept
            if not any(isinstance(each, FewLines) for each in logging.getLogger(name).filters):
                logging.getLogger(name).addFilter(few)
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            self.clients.sweep()
        return await super().on_tick(counter)


class FewLines(logging.Filter):
    """Passes ten records a minute from each place in the code; the next says how many were left out."""

    def __init__(self) -> None:
        super().__init__()
        self._minutes: dict[tuple[str, int], tuple[float, int]] = {}  # by file and line: start, and records since

    def filter(self, record: logging.LogRecord) -> bool:
        place, now = (record.pathname, record.lineno), time.monotonic()
        began, count = self._minutes.get(place, (now, 0))
        if now - began >= MINUTE:
            if count > LINES:
                record.msg = f"({count - LINES:,} more were left out before) {record.msg}"
            began, count = now, 0
        self._minutes[place] = (began, count + 1)
        return count < LINES


def raise_file_limit() -> int:
    """Raises the number of files that this process may open to what the system allows, at most FILES; returns it."""
    if sys.platform == "win32":
        return UNKNOWN
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (_FILES if limit == resource.RLIM_INFINITY else limit for limit in limits)
    most = min(hard, _FILES)
    if soft >= most:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    except (ValueError, OSError):  # a system with a limit of its own, below that
        return soft
    return most
