"""Calls of MCP tools over each transport: one after another, many concurrently, and an answer of 50 MB."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from redargue.errors import ToolFailed
from redargue.retrieval.mcp.client import McpTool, list_tools
from redargue.retrieval.mcp.connection import InProcess, Server, Target
from redargue.retrieval.mcp.process import Command
from redargue.retrieval.mcp.serving import serve_http
from redargue.retrieval.mcp.streamable_http import Address
from redargue.retrieval.tools.base import Search
from redargue.runs.budget import Account

WAIT, AT_ONCE, LENGTH = 0.3, 16, 50_000_000
HERE = [sys.executable, "-m", "benchmarks.mcp"]
served = MCPServer("bench", log_level="CRITICAL")


@served.tool()
async def wait(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "waited"


@served.tool()
def text(length: int) -> str:
    """A text that is so long."""
    return "x" * length


def main(arguments: list[str]) -> None:
    """Prints milliseconds a call; seconds and megabytes for the large answer, each in a separate process."""
    if arguments:
        print(json.dumps(asyncio.run(_large(sdk=arguments == ["sdk"]))))
        return
    with _serving() as url:
        targets: dict[str, Target] = {"in process": InProcess(served), "stdio": Command([*HERE, "serve"], _path())}
        targets["http"] = Address(url)
        for name, target in targets.items():
            print(json.dumps({name: asyncio.run(_calls(target))}), flush=True)
    for name in ("ours", "sdk"):
        print(f"50 MB over stdio, {name}:", end=" ", flush=True)
        subprocess.run([sys.executable, "-m", "benchmarks", "mcp", name], check=True)


async def _calls(target: Target) -> dict[str, float]:
    server = Server("bench", target)
    started = time.perf_counter()
    async with server:
        tools = await list_tools([server])
        times = {"start ms": time.perf_counter() - started}
        await _call(tools["wait"], seconds=0)
        for at_once in (1, 4, AT_ONCE):
            started = time.perf_counter()
            await asyncio.gather(*(_call(tools["wait"], seconds=WAIT) for _ in range(at_once)))
            times[f"{at_once} of 300 ms at once"] = time.perf_counter() - started
    return {name: round(1000 * seconds, 1) for name, seconds in times.items()}


async def _large(*, sdk: bool) -> dict[str, Any]:
    started = time.perf_counter()
    if sdk:
        async with Client(StdioServerParameters(command=HERE[0], args=[*HERE[1:], "serve"], env=_path())) as client:
            said = f"{len((await client.call_tool('text', {'length': LENGTH})).content[0].text):,}"  # type: ignore[union-attr]
    else:
        server = Server("bench", Command([*HERE, "serve"], _path()))
        async with server:
            try:
                await _call((await list_tools([server]))["text"], length=LENGTH)
                said = "answered"
            except ToolFailed as error:
                said = error.what
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"seconds": round(time.perf_counter() - started, 1), "peak MB": peak, "said": said}


async def _call(tool: McpTool, **arguments: Any) -> None:
    await tool.call(arguments, search=Search(account=Account(charge="search")))


def _path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}


@contextmanager
def _serving() -> Iterator[str]:
    command = [*HERE, "http"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | _path()) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().strip()
        finally:
            process.kill()


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        serve_http(served, "127.0.0.1:0", "", lambda url: print(url, file=sys.stderr, flush=True))
    else:
        served.run()
