"""An MCP server that misbehaves as a test asks it to: ``python odd_server.py`` over stdio, ``http`` over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from redargue.retrieval.mcp.serving import serve_http

server = MCPServer("odd", version="1.0", log_level="CRITICAL")
waiting: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
left: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
together: dict[int, asyncio.Barrier] = {}


@server.tool()
def text(length: int) -> str:
    """A text of words that is so long."""
    return ("word " * (length // 5 + 1))[:length]


@server.tool()
def rows(count: int) -> list[dict[str, Any]]:
    """Rows with their addresses."""
    return [
        {"title": f"Page {at}", "link": f"https://page{at}.example/x", "snippet": "Söme text."} for at in range(count)
    ]


@server.tool()
async def hang(who: str) -> str:
    """Never answers; knows when its caller has left."""
    waiting[who].set()
    try:
        await asyncio.Event().wait()
    finally:
        left[who].set()
    return ""


@server.tool()
async def has_come(who: str) -> bool:
    """Answers once somebody of that name waits."""
    await waiting[who].wait()
    return True


@server.tool()
async def has_left(who: str) -> bool:
    """Answers once the call of `hang` by that name was cancelled."""
    await left[who].wait()
    return True


@server.tool()
async def meet(count: int) -> str:
    """Answers once so many calls are under way together."""
    await together.setdefault(count, asyncio.Barrier(count)).wait()
    return f"{count} together"


@server.tool()
def die(counter: str, times: int) -> str:
    """Kills the server the first times it is called."""
    path = Path(counter)
    past = path.stat().st_size if path.exists() else 0
    if past < times:
        path.write_text("x" * (past + 1))
        print("out of memory", file=sys.stderr, flush=True)  # noqa: T201
        os._exit(3)
    return f"alive after {past} deaths"


@server.tool()
async def hang_once(seen: str) -> str:
    """Never answers the first time."""
    if not os.path.exists(seen):  # noqa: ASYNC240
        Path(seen).touch()  # noqa: ASYNC240
        waiting[seen].set()
        await asyncio.Event().wait()
    return "answered"


@server.tool()
def number() -> int:
    """Of the process."""
    return os.getpid()


@server.tool()
def variables() -> list[str]:
    """The names in its environment."""
    return sorted(os.environ)


@server.tool()
def repeat(said: str) -> str:
    """Says it again."""
    return said


@server.tool()
def fail() -> str:
    """Fails."""
    raise RuntimeError("secret inner state")


if __name__ == "__main__":
    if "http" in sys.argv:
        serve_http(server, "127.0.0.1:0", "", lambda url: print(url, file=sys.stderr, flush=True))  # noqa: T201
    else:
        server.run()
