"""The installed commands against endpoints that accept and close, and against readers that leave."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from support.installed import COMMAND, READY, RESET, finished

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="needs pipes that report their reader")]
CLAIM = "The Ritz in London opened in 1926."
OPTIONS = ["--store", "starter", "--method", "single-reader", "--model", "any"]


def at_once(made: socket.socket) -> None:
    """Closes."""


def after_a_byte(made: socket.socket) -> None:
    made.recv(1)


def reset(made: socket.socket) -> None:
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def in_the_answer(made: socket.socket) -> None:
    made.recv(65_536)
    made.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")


CLOSING = [at_once, after_a_byte, reset, in_the_answer]


class Closing:
    """An endpoint that accepts connections and closes them."""

    def __init__(self, how: Callable[[socket.socket], None]) -> None:
        self._how, self.accepted = how, 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # of the listener, which was shut down
            while True:
                made, _ = self._listener.accept()
                self.accepted += 1
                with made, contextlib.suppress(ConnectionError):
                    self._how(made)

    def __enter__(self) -> Closing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()


@pytest.fixture(params=CLOSING, ids=lambda each: each.__name__)
def endpoint(request: pytest.FixtureRequest) -> Iterator[Closing]:
    with Closing(request.param) as closing:
        yield closing


def test_check_reports_an_endpoint_that_closes(endpoint: Closing) -> None:
    done = finished("check", CLAIM, *OPTIONS, "--base-url", endpoint.url, "--json")
    assert done.returncode == 5, done.stderr
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert (verdict["error"]["type"], verdict["label"]) == ("ProviderError", None)
    assert endpoint.url in verdict["error"]["what"]
    assert "Traceback" not in done.stderr
    assert endpoint.accepted


@pytest.mark.parametrize("workers", [[], ["--workers", "1"]], ids=["one process", "a worker"])
def test_batch_and_its_worker_report_an_endpoint_that_closes(
    endpoint: Closing, workers: Sequence[str], tmp_path: Path
) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_text(json.dumps({"claim": CLAIM}) + "\n" + json.dumps({"claim": "Bees are birds."}) + "\n")
    out = tmp_path / "out"
    done = finished("batch", str(file), *OPTIONS, "--base-url", endpoint.url, "-o", str(out), "-q", *workers)
    assert done.returncode == 5, done.stderr
    lines = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    assert [line["error"]["type"] for line in lines] == ["ProviderError"] * 2
    assert "Traceback" not in done.stderr


def test_the_tools_of_mcp_report_an_endpoint_that_closes(endpoint: Closing) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    with speaking("mcp", *OPTIONS, "--base-url", endpoint.url) as process:
        answer = called(process, "verify_claim", {"claim": CLAIM, "wait_s": 240})
        assert answer["outcome"] == "unchecked"
        assert "ProviderError" in answer["explanation"]
        assert process.stdin
        process.stdin.close()
        assert process.wait(READY) == 0
        assert process.stderr
        assert "Traceback" not in process.stderr.read()


TOOL_SERVERS = pytest.mark.parametrize(
    "arguments", [["mcp", "--store", "starter", "--offline"], ["mcp-tools", "wikipedia"]], ids=["mcp", "mcp-tools"]
)


@TOOL_SERVERS
def test_a_tool_server_ends_at_sigterm_though_its_input_stays_open(arguments: list[str]) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    with speaking(*arguments) as process:
        process.terminate()
        assert process.wait(READY) == -signal.SIGTERM


@TOOL_SERVERS
def test_a_tool_server_ends_when_its_client_stops_reading(arguments: list[str]) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    with speaking(*arguments) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        say(process, 2, "tools/list", {})
        code = process.wait(READY)
        said = process.stderr.read()
        assert (code, said) == (141, "")


@pytest.mark.parametrize(
    "arguments",
    [["list", "methods"], ["list", "methods", "--json"], ["--help"], ["doctor", "--json"], ["--version"]],
    ids=" ".join,
)
@pytest.mark.parametrize("buffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_command_ends_quietly_when_its_reader_leaves(arguments: list[str], buffered: str) -> None:
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "PYTHONUNBUFFERED": buffered}
    done = subprocess.run(
        [COMMAND, *arguments], env=environment, stdout=write, stderr=subprocess.PIPE, check=False, timeout=READY
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_standard_output_is_named() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, "list", "methods"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, b"'standard output' cannot be used: No space left" in done.stderr) == (2, True)
    assert b"REDARGUE_HOME" not in done.stderr


def test_check_ends_quietly_when_the_reader_of_its_lines_leaves(tmp_path: Path) -> None:
    claims = tmp_path / "claims.txt"
    claims.write_text("".join(f"{number}: {CLAIM}\n" for number in range(200)))
    command = [COMMAND, "check", str(claims), "--store", "starter", "--offline", "--jsonl", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert json.loads(process.stdout.readline())
        process.stdout.close()
        code = process.wait(READY)
        assert (code, process.stderr.read()) == (141, "")


def test_messages_that_nobody_reads_end_nothing(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [COMMAND, "check", CLAIM, "--store", "starter", "--offline", "--method", "single-reader", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=write, check=False, timeout=READY)
    os.close(write)
    assert done.returncode == 0
    assert json.loads(done.stdout)["verdicts"]


def test_a_broken_connection_is_not_taken_for_a_reader_that_left() -> None:
    """As a library would raise it that reports the system's error unchanged."""
    program = (
        "import sys, redargue.cli.app as app\n"
        "@app.app.command('broken')\n"
        "def broken():\n"
        "    raise BrokenPipeError(32, 'Broken pipe')\n"
        "sys.argv = ['redargue', 'broken']\n"
        "app.main()\n"
    )
    done = subprocess.run(
        [re.sub("redargue$", "python", COMMAND), "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=READY,
    )
    assert done.returncode == 5
    assert "closed a connection" in done.stderr


@contextlib.contextmanager
def speaking(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """An MCP server on standard input and output, after its greeting."""
    pipes = subprocess.PIPE
    with subprocess.Popen([COMMAND, *arguments], stdin=pipes, stdout=pipes, stderr=pipes, text=True) as process:
        try:
            about = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            say(process, 1, "initialize", about)
            assert process.stdout
            assert json.loads(process.stdout.readline())["id"] == 1
            assert process.stdin
            process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            process.stdin.flush()
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def say(process: subprocess.Popen[str], number: int, method: str, parameters: object) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}) + "\n")
    process.stdin.flush()


def called(process: subprocess.Popen[str], tool: str, arguments: object) -> dict[str, str]:
    say(process, 2, "tools/call", {"name": tool, "arguments": arguments})
    assert process.stdout
    while True:
        message = json.loads(process.stdout.readline())
        if message.get("id") == 2:
            assert "structuredContent" in message["result"], message
            answer: dict[str, str] = message["result"]["structuredContent"]
            return answer
