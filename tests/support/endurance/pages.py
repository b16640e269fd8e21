"""Fetches of web pages that the server or the caller breaks off: typed errors, and nothing stays open."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from redargue.errors import ProviderError, UsageError
from redargue.net.fetch import TIMEOUT, PageFetcher
from support.endurance import Outcome

TEXT = b"<html><body>" + b"Bees are insects. " * 3_000 + b"</body></html>"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(TEXT)
CONCURRENT = 20


class Server:
    """Sends part of a page, and then closes, resets or waits.

    Attributes:
        arrived: set when a request has come; replaced each time.
    """

    def __init__(self) -> None:
        self.port, self.open = 0, 0
        self.arrived = asyncio.Event()

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            kind, size = path.strip("/").split("/")
            writer.write((HEAD + TEXT)[: int(size)])
            await writer.drain()
            self.arrived.set()
            if kind == "hang":
                await reader.read()  # until the client leaves
            elif kind == "reset":
                writer.transport.abort()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()


async def trial(times: int) -> Outcome:
    """Pages cut at a random byte by the server, and fetches cancelled by the caller while they wait or read."""
    failures: list[str] = []
    results: Counter[str] = Counter()
    chance = random.Random(times)
    async with Server() as server:
        fetcher = PageFetcher(allow=[f"127.0.0.1:{server.port}"])
        await _one(fetcher, server, "close", len(HEAD + TEXT))  # what is loaded once
        files, tasks = _files(), len(asyncio.all_tasks())
        began = time.monotonic()
        for start in range(0, times, CONCURRENT):
            kinds = [("close", "reset", "hang")[number % 3] for number in range(start, min(times, start + CONCURRENT))]
            sizes = [chance.randrange(len(HEAD + TEXT)) for _ in kinds]
            some: Sequence[Awaitable[str]] = [_one(fetcher, server, *pair) for pair in zip(kinds, sizes, strict=True)]
            for kind, result in zip(kinds, await asyncio.gather(*some), strict=True):
                results[result] += 1
                if result != ("cancelled" if kind == "hang" else "ProviderError"):
                    failures.append(f"{kind}: {result}")
        seconds = time.monotonic() - began
        await _until(lambda: server.open == 0 and _files() <= files and len(asyncio.all_tasks()) <= tasks)
        left = (server.open, _files() - files, len(asyncio.all_tasks()) - tasks)
    if max(left) > 0:
        failures.append(f"{left[0]} connections, {left[1]} files and {left[2]} tasks are left")
    shown = ", ".join(f"{name} {number}" for name, number in results.most_common())
    return Outcome("aborted fetches of a page", times, tuple(failures), f"{shown}; nothing left open, {seconds:.1f} s")


async def _one(fetcher: PageFetcher, server: Server, kind: str, size: int) -> str:
    task = asyncio.create_task(fetcher.fetch(f"http://127.0.0.1:{server.port}/{kind}/{size}"))
    if kind == "hang":
        await server.arrived.wait()
        await asyncio.wait({task}, timeout=size % 10 / 100)  # cancelled at several points of the body
        task.cancel()
    try:
        page = await asyncio.wait_for(task, 6 * TIMEOUT)
    except asyncio.CancelledError:
        return "cancelled"
    except (ProviderError, UsageError) as error:
        return type(error).__name__
    except Exception as error:  # any other is a failure of this fetch
        return repr(error)[:200]
    return "read" if page.content == TEXT else f"{len(page.content)} of {len(TEXT)} bytes"


def _files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def _until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not ready() and time.monotonic() < deadline:  # noqa: ASYNC110  (files have no event)
        await asyncio.sleep(0.02)
