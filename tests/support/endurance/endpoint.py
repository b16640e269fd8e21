"""A model endpoint that misbehaves on the wire: what it sends is never taken for an answer unless it is one."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.endurance import Outcome
from support.loopback import HEALTHY, chat
from support.loopback_services import Request
from support.scripts import agreeing
from support.served_process import Serving, ended, files_with

KEY = "sk-loopback-0123456789-must-stay-hidden"
LABEL = "SUPPORTS"  # the only one that this endpoint ever gives
HEAVIEST = 600.0  # MB that the service may use
SOON = 400.0  # seconds in which a check ends

Send = Callable[[bytes], Awaitable[None]]
Fault = Callable[[bytes, Send], Awaitable[None]]
FAULTS: dict[str, Fault] = {}
READABLE: set[str] = set()  # faults after which a client still has the whole answer
EITHER = {"a byte order mark", "chunked with a length"}  # a client may refuse them or not
REFUSED = {f"status {status}" for status in (400, 401, 403, 404)}  # the user can mend them: UsageError


def _fault(name: str, *, readable: bool = False) -> Callable[[Fault], Fault]:
    def add(fault: Fault) -> Fault:
        FAULTS[name] = fault
        if readable:
            READABLE.add(name)
        return fault

    return add


def _whole(
    body: bytes, status: str = "200 OK", kind: str = "application/json", more: str = "", length: int | None = None
) -> bytes:
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n{more}Connection: close\r\n\r\n"
    return head.encode("latin-1") + body


def _chunked(*parts: bytes, more: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{more}Transfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts)


def _simple(name: str, make: Callable[[bytes], bytes], *, readable: bool = False) -> None:
    async def send(body: bytes, out: Send) -> None:
        await out(make(body))

    _fault(name, readable=readable)(send)


_ERROR = json.dumps({"error": {"message": f"wrong key {KEY}", "type": "server_error"}}).encode()
_simple("closes before any byte", lambda body: b"")
_simple("half a status line", lambda body: b"HTTP/1.1 2")
_simple("half a header", lambda body: b"HTTP/1.1 200 OK\r\nContent-Le")
_simple("half a body", lambda body: _whole(body[: len(body) // 2], length=len(body)))
_simple("no body", lambda body: _whole(b""))
_simple("another protocol", lambda body: b"SSH-2.0-OpenSSH_9.6\r\n")
_simple("an answer as HTTP/0.9", lambda body: body)
_simple("status 200 and no reason", lambda body: _whole(body, "200"), readable=True)
_simple("a status of four digits", lambda body: _whole(body, "2000 OK"))
_simple("a negative length", lambda body: _whole(body, length=-5))
_simple("a length that is no number", lambda body: _whole(body).replace(b"Content-Length: ", b"Content-Length: x"))
_simple("a length of ten digits", lambda body: _whole(body, length=9_999_999_999))
_simple("two lengths", lambda body: _whole(body, more="Content-Length: 3\r\n"))
_simple("a header of a megabyte", lambda body: _whole(body, more=f"X-Long: {'x' * 1_000_000}\r\n"))
_simple(
    "a thousand headers", lambda body: _whole(body, more="".join(f"X-{n}: y\r\n" for n in range(1000))), readable=True
)
_simple("a header with a null", lambda body: _whole(body, more="X-Null: \0\r\n"))
_simple("HTML with status 200", lambda body: _whole(b"<html><body>Please log in</body></html>", kind="text/html"))
_simple("the wrong content type", lambda body: _whole(body, kind="image/png"), readable=True)
_simple("an unknown charset", lambda body: _whole(body, kind="application/json; charset=klingon"), readable=True)
_simple("the charset rot13", lambda body: _whole(body, kind="application/json; charset=rot13"), readable=True)
_simple(
    "UTF-16 that says UTF-8",
    lambda body: _whole(body.decode().encode("utf-16"), kind="application/json; charset=utf-8"),
)
_simple("a byte order mark", lambda body: _whole(b"\xef\xbb\xbf" + body))
_simple("invalid UTF-8", lambda body: _whole(b"\xff\xfe\xfa" * 40))
_simple("gzip that is not", lambda body: _whole(body, more="Content-Encoding: gzip\r\n"))
_simple("half of gzip", lambda body: _whole(gzip.compress(body)[:-20], more="Content-Encoding: gzip\r\n"))
_simple("a bomb", lambda body: _whole(gzip.compress(bytes(60_000_000)), more="Content-Encoding: gzip\r\n"))
_simple("an unknown encoding", lambda body: _whole(body, more="Content-Encoding: br\r\n"))
_simple("chunked", lambda body: _chunked(body[:9], body[9:], b""), readable=True)
_simple("no last chunk", lambda body: _chunked(body[:9], body[9:]))
_simple("a chunk of a wrong size", lambda body: _chunked(body, b"").replace(b"\r\n\r\n", b"\r\n\r\nfff", 1))
_simple("a chunk size that is no number", lambda body: _chunked(body, b"").replace(b"\r\n\r\n", b"\r\n\r\nzz", 1))
_simple("chunked with a length", lambda body: _chunked(body, b"", more="Content-Length: 5\r\n"))
_simple("JSON cut short", lambda body: _whole(body[: len(body) // 2]))
_simple("JSON twice", lambda body: _whole(body + body))
_simple("null", lambda body: _whole(b"null"))
_simple("a list", lambda body: _whole(b"[" + body + b"]"))
_simple("a number of 5,000 digits", lambda body: _whole(b'{"choices": ' + b"1" * 5_000 + b"}"))
_simple("nested 100,000 deep", lambda body: _whole(b"[" * 100_000 + b"]" * 100_000))
_simple("NaN", lambda body: _whole(b'{"choices": NaN}'))
_simple("a lone surrogate", lambda body: _whole(rb'{"choices": [{"message": {"content": "\ud800"}}]}'))
_simple("no choices", lambda body: _whole(b'{"choices": []}'))
_simple("choices as an object", lambda body: _whole(b'{"choices": {"0": {"message": {"content": "SUPPORTS"}}}}'))
_simple("content as a number", lambda body: _whole(b'{"choices": [{"message": {"content": 7}}]}'))
_simple("content as a list of numbers", lambda body: _whole(b'{"choices": [{"message": {"content": [1, 2]}}]}'))
_simple("an error with status 200", lambda body: _whole(_ERROR))
_simple("negative usage", lambda body: _whole(_with_usage(body, -5)), readable=True)
_simple("usage as text", lambda body: _whole(_with_usage(body, "many")), readable=True)
_simple("usage of 400 digits", lambda body: _whole(_with_usage(body, 10**400)), readable=True)
for _status in (
    "500 X",
    "501 X",
    "502 X",
    "504 X",
    "400 X",
    "401 X",
    "403 X",
    "404 X",
    "408 X",
    "409 X",
    "418 X",
    "451 X",
):
    _simple(f"status {_status[:3]}", lambda body, status=_status: _whole(_ERROR, status))  # type: ignore[misc]
for _status in ("204 X", "206 X", "299 X", "304 X", "600 X", "999 X"):
    _simple(f"an answer with status {_status[:3]}", lambda body, status=_status: _whole(body, status))  # type: ignore[misc]
_simple("a redirect to itself", lambda body: _whole(b"", "307 X", more="Location: /v1/chat/completions\r\n"))
_simple("a redirect to a file", lambda body: _whole(b"", "302 X", more="Location: file:///etc/passwd\r\n"))
_simple("a redirect to nowhere", lambda body: _whole(b"", "301 X", more="Location: http://[\r\n"))
for _after in (
    "nan",
    "-1",
    "1e999",
    "0x10",
    "",
    "99999999999999999999",
    "Wed, 31 Dec 9999 23:59:59 GMT",
    "soon",
    "0.1",
):
    _simple(
        f"429, Retry-After {_after!r}",
        lambda body, after=_after: _whole(_ERROR, "429 X", more=f"Retry-After: {after}\r\n"),  # type: ignore[misc]
    )


def _with_usage(body: bytes, value: object) -> bytes:
    tokens = {"prompt_tokens": value, "completion_tokens": value, "total_tokens": value}
    # Python refuses to write so many digits unless it is asked to.
    text = json.dumps({**json.loads(body), "usage": "USAGE"})
    if isinstance(value, int) and value > 1 << 64:
        written = "{" + ", ".join(f'"{name}": 1{"0" * 400}' for name in tokens) + "}"
    else:
        written = json.dumps(tokens)
    return text.replace('"USAGE"', written).encode()


@_fault("sends a byte at a time", readable=True)
async def _drip(body: bytes, out: Send) -> None:
    for byte in _whole(body):
        await out(bytes([byte]))


@_fault("sends without end")
async def _endless(body: bytes, out: Send) -> None:
    await out(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    for _ in range(600):
        await out(b" " * 100_000)


@_fault("resets within the body")
async def _reset(body: bytes, out: Send) -> None:
    await out(_whole(body)[:-30])
    raise ConnectionResetError


class Endpoint:
    """The endpoint in a thread of this process; the number in a claim decides which fault befalls its requests.

    Attributes:
        asked: requests by number.
    """

    def __init__(self, names: list[str]) -> None:
        self._names, self.asked = names, Counter[int]()
        self._up, self._stop = threading.Event(), asyncio.Event()
        self.url = ""

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="endpoint", daemon=True)
        self._thread.start()
        assert self._up.wait(60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._up.set()
        await self._stop.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def out(part: bytes) -> None:
            writer.write(part)
            await writer.drain()

        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int((re.search(rb"(?i)content-length: (\d+)", head) or [b"", b"0"])[1])
            request = json.loads(await reader.readexactly(length))
            number = int((re.search(r"claim number (\d+)", json.dumps(request)) or ["", "0"])[1])
            self.asked[number] += 1
            good = chat(Request("chat", "/v1/chat/completions", {}, request), HEALTHY, agreeing, "").raw.body
            await FAULTS[self._names[number % len(self._names)]](good, out)
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            writer.transport.abort()


def trial(folder: Path, count: int, names: list[str] | None = None) -> Outcome:
    """Checks over the endpoint, sixteen at a time, each with one fault; the label and the errors that they end with."""
    names, failures = names or list(FAULTS), list[str]()
    results: Counter[str] = Counter()
    options = ("--method", "single-reader", "--model", "loopback", "--running", "16", "--base-url")
    with (
        Endpoint(names) as endpoint,
        Serving(folder / "home", *options, endpoint.url, shared={"OPENAI_API_KEY": KEY}) as serving,
        ThreadPoolExecutor(16) as clients,
        serving.client() as http,
    ):

        def check(number: int) -> None:
            name = names[number % len(names)]
            reply = http.post("/v1/checks", json={"claim": f"Bees are insects, says claim number {number}."})
            answer: dict[str, Any] = ended(http, reply.json()["id"], SOON)
            if wrong := _wrong(name, answer):
                failures.append(f"{name}: {wrong}")
            results[answer["state"] if answer["state"] == "done" else answer["error"]["type"]] += 1

        for each in clients.map(lambda number: _caught(check, number), range(count)):
            failures += each
        if serving.resident() > HEAVIEST:
            failures.append(f"the service uses {serving.resident()} MB")
        asked, most = sum(endpoint.asked.values()), serving.resident()
    failures += [f"the key is in {path}" for path in files_with(folder, KEY)]
    failures += ["the log holds a traceback"] * ("Traceback" in serving.log.read_text(encoding="utf-8"))
    shown = ", ".join(f"{name} {number}" for name, number in results.most_common())
    return Outcome("endpoint faults", count, tuple(failures), f"{shown}; {asked} requests, {most:.0f} MB at the end")


def _caught(check: Callable[[int], None], number: int) -> list[str]:
    try:
        check(number)
    except Exception as error:  # a client's error is a failure of this number, and the others go on
        return [f"claim {number}: {error!r}"[:300]]
    return []


def _wrong(name: str, answer: dict[str, Any]) -> str:
    """What is wrong with how a check ended; empty where nothing is."""
    text = json.dumps(answer)
    if KEY in text:
        return "the answer quotes the key"
    error = answer.get("error") or {}
    if answer["state"] == "done":
        labels = {each["label"] for each in (answer["result"] or {}).get("verdicts", ())}
        return "" if labels == {LABEL} and name in READABLE | EITHER else f"{labels} from no answer"
    if name in READABLE:
        return f"{error.get('type')}: {error.get('what')} although the answer can be read"[:300]
    known = ("UsageError",) if name in REFUSED else ("ProviderError", "BadReply")
    if error.get("type") not in known or not error.get("what"):
        return f"an error of no type: {error}"[:300]
    return ""
