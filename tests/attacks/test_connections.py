"""Clients without a key that close, reset, idle, stall or send halves, against the installed commands that listen."""

from __future__ import annotations

import resource
import select
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from redargue.runs.folders import runs_folder
from support.installed import RESET, SOON, Listening, ends, files_of

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs ulimit")]
TIMES = 500
IDLE = 1_050
LINES = 60  # of the log at most, whatever clients do in the minutes of a test
COMMANDS = {
    "serve": (["serve", "--port", "0", "--offline"], "/healthz"),
    "view": (["view", "--no-browser", "--offline"], "/"),
    "mcp-tools": (["mcp-tools", "wikipedia", "--http", "127.0.0.1:0"], "/mcp"),
}
LONG = {"serve": "/openapi.json", "view": "/"}  # answers that the system's buffers do not hold, many times over
MANY = 1_400  # files of this process


@pytest.fixture(autouse=True)
def _files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY:
        pytest.skip(f"this test needs {MANY} open files; the limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def listening(name: str, folder: Path, files: str = "") -> Listening:
    if name == "mcp-tools":
        pytest.importorskip("mcp", reason="the extra mcp is not installed")
    if name == "view":
        runs_folder().mkdir(parents=True, exist_ok=True)
    arguments, probe = COMMANDS[name]
    return Listening(folder, *arguments, probe=probe, files=files)


def before(made: socket.socket, request: bytes) -> None:
    """Closes before the answer."""
    made.sendall(request)


def between(made: socket.socket, request: bytes) -> None:
    """Closes when the first byte has come, with more answers to write."""
    made.sendall(request * 3)
    assert made.recv(1)


def after(made: socket.socket, request: bytes) -> None:
    made.sendall(request)
    assert b"\r\n\r\n" in made.recv(65_536)


def reset(made: socket.socket, request: bytes) -> None:
    """Breaks the connection while the request is on its way."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    made.sendall(request)


def reset_by_the_way(made: socket.socket, request: bytes) -> None:
    """Breaks it in the middle of the head."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    made.sendall(request[: len(request) // 2])


def twice(made: socket.socket, request: bytes) -> None:
    """Asks for two answers, and closes before them."""
    made.sendall(request * 2)


def garbage(made: socket.socket, request: bytes) -> None:
    made.sendall(b"\x16\x03\x01" + request)
    ends(made)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("client", [before, between, after, reset, reset_by_the_way, twice, garbage])
def test_a_listening_command_outlives_clients_that_close(
    client: Callable[[socket.socket, bytes], None], name: str, tmp_path: Path
) -> None:
    with listening(name, tmp_path) as command:
        for number in range(TIMES):
            host = "127.0.0.1" if number % 2 else "evil.example"
            with command.connect() as made:
                client(made, command.request(host=host))
            if number % 50 == 0:
                command.answers()
        ended_well(command)


@pytest.mark.parametrize(
    ("name", "files"),
    [("serve", "-n 1024"), ("serve", "-S -n 1024"), ("view", "-n 1024"), ("mcp-tools", "-n 1024")],
    ids=["serve, all files", "serve, files at first", "view", "mcp-tools"],
)
def test_a_listening_command_answers_beside_idle_connections(name: str, files: str, tmp_path: Path) -> None:
    with listening(name, tmp_path, files) as command, ExitStack() as opened:
        idle = []
        for number in range(IDLE):
            idle.append(opened.enter_context(command.connect()))
            if number % 50 == 0:
                command.answers()
        for _ in range(50):
            command.answers()
        if Path("/proc/self/limits").exists():
            soft, hard = files_of(command.process.pid)
            assert soft == min(hard, 16_384)
        assert {ends(made) for made in idle} == {b""}  # the command closes each
        ended_well(command)


@pytest.mark.parametrize("name", COMMANDS)
def test_unfinished_requests_and_unread_responses_are_closed(name: str, tmp_path: Path) -> None:
    with listening(name, tmp_path) as command, ExitStack() as opened:
        whole = command.request()
        body = command.request("/", "Content-Length: 100", "Content-Type: application/json", method="POST")
        chunked = command.request("/", "Transfer-Encoding: chunked", method="POST")
        parts = [whole[:length] for length in (1, 5, len(whole) - 2)]
        parts += [whole + whole[:20], body + b"{", chunked + b"5\r\nab"]
        connections = [opened.enter_context(command.connect()) for _ in parts]
        unread = [opened.enter_context(stalled(command))] if name in LONG else []
        for made, part in zip(connections, parts, strict=True):
            made.sendall(part)
        for made in connections:
            ends(made)
            command.answers()
        for made in unread:
            gone = select.poll()
            gone.register(made, 0)  # POLLERR and POLLHUP are always reported
            assert gone.poll(3_000 * SOON)
        ended_well(command)


def stalled(command: Listening) -> socket.socket:
    """A client that asks for many answers and reads none."""
    made = socket.socket()
    path = LONG["serve" if command.probe == "/healthz" else "view"]
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    made.connect(("127.0.0.1", command.port))
    made.setblocking(False)
    with suppress(BlockingIOError):
        for _ in range(10_000):
            made.send(command.request(path))
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_a_head_without_end_is_refused(name: str, tmp_path: Path) -> None:
    with listening(name, tmp_path) as command, command.connect() as made:
        made.sendall(command.request()[:-2])
        lines = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 1_000) for number in range(20_000))
        with pytest.raises(ConnectionError):
            made.sendall(lines)
        ended_well(command)


def ended_well(command: Listening) -> None:
    """It answers, wrote few lines, and stops when it is asked to."""
    command.answers()
    lines = command.log.splitlines()
    print(f"slowest of {command.probes} answers: {command.slowest:.3f} s; {len(lines)} lines")  # noqa: T201
    assert len(lines) < LINES
    assert "Traceback" not in command.log
    assert command.stop() == 0
