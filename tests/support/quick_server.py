"""An ASGI application on 127.0.0.1, in a thread of its own, that stops at once when a test is done with it."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, Literal, Self

import uvicorn


class QuickServer:
    """An ASGI application at ``url``, which is known once it is entered.

    Args:
        options: of uvicorn's ``Config``.
    """

    def __init__(self, application: Any, *, lifespan: Literal["on", "off"] = "off", **options: Any) -> None:
        self._application, self._lifespan, self._options, self.url = application, lifespan, options, ""

    def __enter__(self) -> Self:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))  # asyncio turns Nagle's algorithm off only where the protocol is named
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            self._application, loop="asyncio", ws="none", lifespan=self._lifespan, interface="asgi3", log_config=None,
            log_level="critical", access_log=False, **self._options,
        )  # fmt: skip
        self._server = _Server(config)
        serving = self._server.serve([listener])
        self._thread = threading.Thread(target=asyncio.run, args=(serving,), name="loopback", daemon=True)
        self._thread.start()
        if not self._server.up.wait(120):
            raise RuntimeError("the loopback server did not start within 120 s")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._thread.join(120)


class _Server(uvicorn.Server):
    """Stops when told, at once: requests in progress are dropped, as nobody is there any more who waits for them."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up, self._stop = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)  # the headers of every answer
        self.up.set()
        await self._stop.wait()

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        for server in self.servers:
            for listener in server.sockets:
                loop.remove_reader(listener.fileno())
        for _ in range(5):  # what was accepted in the last moment needs a server that is still open to be closed with
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()
        for _ in range(3):
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            await asyncio.sleep(0)
        tasks = list(self.server_state.tasks)
        if tasks:  # those that wait see that their client is gone, and count it; asyncio.run cancels any other
            await asyncio.wait(tasks, timeout=30)
        await self.lifespan.shutdown()
        await asyncio.sleep(0)  # transports close in the loop's next turn
