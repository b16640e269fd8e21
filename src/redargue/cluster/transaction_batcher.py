"""One thread of a worker that talks to the shared database.

What is asked while one transaction is under way goes into the next one, together: the busier the database, the fewer
and larger its transactions. The thread also says that its worker is alive, whatever the event loop is busy with. A desk
whose transaction failed is closed for good, and with it its worker: what was under way is leased to another one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from redargue.cluster.store import Rows, SharedDatabase
from redargue.errors import RecordError, RedargueError


class Window(Protocol):
    """Where one kind of thing is asked."""

    def serve(self, db: Rows, asked: Sequence[Any]) -> Sequence[Any]:
        """Answers what was asked, in its order, inside of one transaction; called in the desk's thread.

        Windows are served in the desk's order, so that two workers never wait for each other's rows.
        """
        ...


class _Asked(NamedTuple):
    what: Any
    answer: asyncio.Future[Any] | None
    undo: Any


class Desk:
    """The windows and the thread behind them; an async context manager.

    Args:
        connect: opens the database, in the thread.
        windows: in the order in which they are served.
        alive: begins every transaction; raises LeaseLost where the worker was given up.
        every: seconds after which a transaction is made though nothing was asked.
    """

    def __init__(
        self,
        connect: Callable[[], SharedDatabase],
        windows: Sequence[Window],
        *,
        alive: Callable[[Rows], None],
        every: float,
    ) -> None:
        self._connect, self._windows, self._alive, self._every = connect, tuple(windows), alive, every
        self._asked: list[list[_Asked]] = [[] for _ in windows]
        self._under_way: list[list[_Asked]] = []
        self._some = threading.Condition()
        self._closing = False
        self.broken: RedargueError | None = None
        self.transactions = 0
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    async def ask(self, window: Window, what: Any, *, undo: Any = None) -> Any:
        """What the window answers, once the transaction that it was part of is on the disk.

        Args:
            window: whom to ask.
            what: is asked.
            undo: posted where the answer is True and nobody waits for it any more.

        Raises:
            RecordError: the database failed, or the worker was given up.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(window, _Asked(what, answer, undo))
        try:
            return await answer
        except asyncio.CancelledError:
            if undo is not None and answer.done() and not answer.cancelled() and answer.result() is True:
                self.post(window, undo)  # it came in the moment in which nobody wanted it any more
            raise

    def post(self, window: Window, what: Any) -> None:
        """Has something written, in the order of posting; does not wait for it.

        Raises:
            RecordError: as :meth:`ask`, if it is known already.
        """
        self._put(window, _Asked(what, None, None))

    def _put(self, window: Window, asked: _Asked) -> None:
        with self._some:
            if self.broken:
                raise self.broken
            self._asked[self._windows.index(window)].append(asked)
            self._some.notify()

    async def __aenter__(self) -> Desk:
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        with self._some:
            self._closing = True
            self._some.notify()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            database = self._connect()
            try:
                while (asked := self._next()) is not None:
                    with database.transaction() as db:
                        self._alive(db)
                        answers = [
                            window.serve(db, [one.what for one in each]) if each else ()
                            for window, each in zip(self._windows, asked, strict=True)
                        ]
                    self.transactions += 1
                    self._tell(asked, answers)
            finally:
                database.close()
        except BaseException as error:
            self._break(error)

    def _next(self) -> list[list[_Asked]] | None:
        until = time.monotonic() + self._every
        with self._some:
            while not any(self._asked):
                left = until - time.monotonic()
                if self._closing:
                    return None
                if left <= 0:
                    break
                self._some.wait(left)
            self._under_way, self._asked = self._asked, [[] for _ in self._windows]
        return self._under_way

    def _tell(self, asked: list[list[_Asked]], answers: Sequence[Sequence[Any]]) -> None:
        told = [
            (window, one, one.answer, answer)
            for window, each, found in zip(self._windows, asked, answers, strict=True)
            for one, answer in zip(each, found, strict=True)
            if one.answer is not None
        ]

        def tell() -> None:
            for window, one, waiting, answer in told:
                if not waiting.done():
                    waiting.set_result(answer)
                elif answer is True and one.undo is not None and not self.broken:
                    self.post(window, one.undo)

        if told:
            self._loop.call_soon_threadsafe(tell)

    def _break(self, error: BaseException) -> None:
        found = error if isinstance(error, RecordError) else RecordError(f"the shared ledger cannot be used: {error}")
        found.__cause__ = error if found is not error else error.__cause__
        with self._some:
            self.broken = found
            waiting = [one.answer for each in (*self._under_way, *self._asked) for one in each if one.answer]
            self._asked = [[] for _ in self._windows]

        def tell() -> None:
            for each in waiting:
                if not each.done():
                    each.set_exception(found)

        self._loop.call_soon_threadsafe(tell)
