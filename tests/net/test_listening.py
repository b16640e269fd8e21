"""How long a server waits for its clients, which ones lose their connection first, and what it logs."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
import uvicorn

from redargue.net.listening import LINES, MINUTE, Clients, Connection, FewLines, Limits, PatientServer

pytestmark = pytest.mark.anyio
LIMITS = Limits(sending=20, reading=60, rate=1_000, connections=3)
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"


class Clock:
    """The running loop at a time that the test sets."""

    def __init__(self) -> None:
        self._loop, self.now = asyncio.get_running_loop(), 0.0

    def time(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class Pipe(asyncio.Transport):
    """A transport whose client reads nothing: what is written stays ``pending``."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.pending, self.closed, self.aborted = b"", 0, False, False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.pending

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Server:
    """Connections without sockets; each request is answered when the test says so."""

    def __init__(self) -> None:
        self.clock, self.clients, self.go = Clock(), Clients(LIMITS), asyncio.Event()
        self.config = uvicorn.Config(self.application, log_config=None, lifespan="off", interface="asgi3", ws="none")
        self.config.load()

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await self.go.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def connect(self) -> tuple[Connection, Pipe]:
        made, pipe = Connection(self.config, self.clients, {}, self.clock), Pipe()  # type: ignore[arg-type]
        made.connection_made(pipe)
        return made, pipe

    def after(self, seconds: float) -> None:
        self.clock.now += seconds
        self.clients.sweep()

    async def close(self) -> None:
        self.go.set()
        for made in list(self.clients.connections):
            made.connection_lost(None)
        await asyncio.gather(*self.clients.tasks)


@pytest.mark.parametrize("sent", [b"", GET[:1], GET[:-2], GET[:-2] + b"X: 1\r\n", POST, POST + b"x" * 50_000])
async def test_an_unfinished_request_is_closed_when_its_time_is_over(sent: bytes) -> None:
    server = Server()
    made, pipe = server.connect()
    if sent:
        made.data_received(sent)
    server.after(0)
    server.after(19)
    assert not pipe.closed
    server.after(2 + len(sent) / LIMITS.rate)
    assert pipe.closed
    assert (b" 408 " in pipe.written) == bool(sent)
    await server.close()


async def test_a_slow_upload_that_lives_is_waited_for() -> None:
    server = Server()
    made, pipe = server.connect()
    made.data_received(POST)
    for _ in range(100):  # 1,000 seconds
        made.data_received(b"x" * 1_000)
        await asyncio.sleep(0)
        server.after(1.02)
    assert not pipe.closed
    assert not made.cycle.more_body
    server.go.set()
    await asyncio.gather(*server.clients.tasks)
    assert b" 204 " in pipe.written
    await server.close()


async def test_a_large_body_in_pieces_is_read_to_its_end() -> None:
    """The application reads more slowly than the client sends, so that reading pauses between the pieces."""
    server = Server()
    made, pipe = server.connect()
    made.data_received(POST)
    made.data_received(b"x" * 99_000)
    assert made.flow.read_paused
    made.data_received(b"x" * 1_000)  # the rest
    await asyncio.sleep(0)
    assert not pipe.closed
    server.go.set()
    await asyncio.gather(*server.clients.tasks)
    assert b" 204 " in pipe.written
    await server.close()


async def test_a_client_that_waits_for_its_answer_is_waited_for() -> None:
    server = Server()
    made, pipe = server.connect()
    made.data_received(GET)
    server.after(3_600)
    assert not pipe.closed
    server.go.set()
    await asyncio.gather(*server.clients.tasks)
    assert b" 204 " in pipe.written
    made.data_received(GET[:5])  # of the next request
    server.after(0)
    server.after(21)
    assert pipe.closed
    await server.close()


async def test_a_connection_without_a_request_is_kept_longer_than_clients_keep_it() -> None:
    """A client such as httpx keeps one for 5 seconds: a server that closes it then cuts the next request."""
    assert PatientServer(Server().application).config.timeout_keep_alive > 60
    server = Server()
    made, pipe = server.connect()
    server.go.set()
    made.data_received(GET)
    await asyncio.gather(*server.clients.tasks)
    server.after(0)
    server.after(60)
    assert not pipe.closed
    made.data_received(GET[:5])
    server.after(19)
    assert not pipe.closed
    server.after(2)
    assert pipe.closed
    await server.close()


async def test_a_reader_that_takes_nothing_loses_its_answer_and_a_slow_one_does_not() -> None:
    server = Server()
    made, pipe = server.connect()
    made.data_received(GET)
    pipe.pending = 200_000
    made.pause_writing()
    for _ in range(150):
        pipe.pending -= 1_000
        server.after(1)
    assert not pipe.aborted
    server.after(61)
    assert pipe.aborted
    await server.close()


async def test_what_is_left_to_send_on_a_closed_connection_is_given_up() -> None:
    server = Server()
    made, pipe = server.connect()
    pipe.pending = 10
    made.transport.close()
    server.after(0)
    server.after(59)
    assert not pipe.aborted
    server.after(2)
    assert pipe.aborted
    await server.close()


async def test_the_client_that_did_nothing_for_longest_makes_room() -> None:
    server = Server()
    (first, one), (_, two), (_, three) = (server.connect() for _ in range(3))
    first.data_received(GET[:3])
    _, four = server.connect()
    assert [pipe.aborted for pipe in (one, two, three, four)] == [False, True, False, False]
    await server.close()


async def test_a_client_is_refused_only_where_all_others_wait_for_their_answers() -> None:
    server = Server()
    busy = [server.connect() for _ in range(3)]
    for made, _ in busy:
        made.data_received(GET)
    _, pipe = server.connect()
    assert pipe.closed
    assert b" 503 " in pipe.written
    assert not any(each.is_closing() for _, each in busy)
    await server.close()


async def test_a_head_of_more_than_64_kib_is_refused_whatever_comes_before_it() -> None:
    for start in (b"", GET):
        server = Server()
        made, pipe = server.connect()
        made.data_received(start + GET[:-2])
        for _ in range(70):
            if not pipe.closed:
                made.data_received(b"X: " + b"x" * 995 + b"\r\n")
        assert pipe.closed
        await server.close()


def test_a_place_in_the_code_logs_ten_records_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("redargue.net.listening.time.monotonic", lambda: now[0])
    few = FewLines()

    def passed(count: int, line: int) -> list[str]:
        records = [logging.LogRecord("a", logging.WARNING, "a.py", line, "bad %s", ("x",), None) for _ in range(count)]
        return [record.getMessage() for record in records if few.filter(record)]

    assert passed(1_000, 1) == ["bad x"] * LINES
    assert passed(1, 2) == ["bad x"]
    now[0] = MINUTE
    assert passed(2, 1) == ["(990 more were left out before) bad x", "bad x"]
