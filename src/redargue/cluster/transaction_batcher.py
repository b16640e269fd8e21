"""Batches a worker's requests to the shared database into few transactions, in one thread.

Requests that arrive during a transaction go into the next one together: the busier the database, the fewer and larger
the transactions. The thread also sends the worker's heartbeats, even if the event loop is busy. While the ledger is
away, requests wait. After a transaction fails otherwise, or the ledger was waited for long enough, the batcher accepts
no more requests, and its worker ends; its claims are leased to other workers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from redargue.cluster.store import LedgerTransaction, SharedDatabase, repeated
from redargue.errors import RecordError, RedargueError


class RequestHandler(Protocol):
    """Handles one kind of request in the batcher's thread."""

    def handle(self, db: LedgerTransaction, requests: Sequence[Any]) -> Sequence[Any]:
        """Answers requests in order, within one transaction."""
        ...


class _Request(NamedTuple):
    value: Any
    answer: asyncio.Future[Any] | None
    undo: Any


class TransactionBatcher:
    """Calls handlers in a thread; an async context manager.

    Args:
        connect: opens the database; called in the thread.
        handlers: called in this order, the same in all workers: two workers then cannot wait for each other's locks.
        begin: called at the beginning of every transaction; raises RecordError if the worker has expired.
        interval: maximum seconds between transactions.
        recover: whether the last transaction was committed, asked when the ledger was away and has returned.

    Attributes:
        failure: the error that ended the batcher, if any.
        transactions: number of committed transactions.
    """

    def __init__(
        self,
        connect: Callable[[], SharedDatabase],
        handlers: Sequence[RequestHandler],
        *,
        begin: Callable[[LedgerTransaction], None],
        interval: float,
        recover: Callable[[LedgerTransaction], bool] = lambda db: False,
    ) -> None:
        self._connect, self._handlers, self._begin, self._interval = connect, tuple(handlers), begin, interval
        self._recover = recover
        self._pending: list[list[_Request]] = [[] for _ in handlers]
        self._in_transaction: list[list[_Request]] = []
        self._changed = threading.Condition()
        self._closing = False
        self.failure: RedargueError | None = None
        self.transactions = 0
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    async def ask(self, handler: RequestHandler, request: Any, *, undo: Any = None) -> Any:
        """Returns the handler's answer once committed; posts ``undo`` if it is True but the caller was cancelled.

        Raises RecordError if the database failed or the worker has expired.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(handler, _Request(request, answer, undo))
        try:
            return await answer
        except asyncio.CancelledError:
            if undo is not None and answer.done() and not answer.cancelled() and answer.result() is True:
                self.post(handler, undo)  # the answer arrived at the moment of the cancellation
            raise

    def post(self, handler: RequestHandler, request: Any) -> None:
        """Adds a request without waiting for its answer; raises ``failure`` if the batcher has failed already."""
        self._put(handler, _Request(request, None, None))

    def _put(self, handler: RequestHandler, request: _Request) -> None:
        with self._changed:
            if self.failure:
                raise self.failure
            self._pending[self._handlers.index(handler)].append(request)
            self._changed.notify()

    async def __aenter__(self) -> TransactionBatcher:
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            database = self._connect()
            try:
                while (batches := self._next()) is not None:
                    answers = self._commit(database, batches)
                    self.transactions += 1
                    self._deliver(batches, answers)
            finally:
                database.close()
        except BaseException as error:
            self._fail(error)

    def _commit(self, database: SharedDatabase, batches: Sequence[Sequence[_Request]]) -> Sequence[Sequence[Any]]:
        """The handlers' answers, from exactly one transaction, even if the answer to its commit is lost."""
        answers: list[Sequence[Any]] | None = None

        def attempt() -> Sequence[Sequence[Any]]:
            nonlocal answers
            if answers is not None:
                with database.transaction() as db:
                    committed = self._recover(db)
                if committed and len(answers) == len(self._handlers):  # the lost answer was that to its commit
                    return answers
            answers = []
            with database.transaction() as db:
                self._begin(db)
                for handler, batch in zip(self._handlers, batches, strict=True):
                    answers.append(handler.handle(db, [request.value for request in batch]) if batch else ())
            return answers

        return repeated(database, attempt, pause=self._pause)

    def _pause(self, seconds: float) -> None:
        with self._changed:
            if self._changed.wait_for(lambda: self._closing, seconds):
                raise RecordError("the worker was stopped while its ledger was away")

    def _next(self) -> list[list[_Request]] | None:
        """The requests of the next transaction by handler; None when the batcher closes and none are left."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or any(self._pending), self._interval)
            if self._closing and not any(self._pending):
                return None
            self._in_transaction, self._pending = self._pending, [[] for _ in self._handlers]
        return self._in_transaction

    def _deliver(self, batches: list[list[_Request]], answers: Sequence[Sequence[Any]]) -> None:
        delivered = [
            (handler, request, request.answer, answer)
            for handler, batch, batch_answers in zip(self._handlers, batches, answers, strict=True)
            for request, answer in zip(batch, batch_answers, strict=True)
            if request.answer is not None
        ]

        def deliver() -> None:
            for handler, request, future, answer in delivered:
                if not future.done():
                    future.set_result(answer)
                elif answer is True and request.undo is not None and not self.failure:
                    self.post(handler, request.undo)

        if delivered:
            self._loop.call_soon_threadsafe(deliver)

    def _fail(self, error: BaseException) -> None:
        failure = error if isinstance(error, RecordError) else RecordError(f"the shared ledger failed: {error}")
        failure.__cause__ = error if failure is not error else error.__cause__
        with self._changed:
            self.failure = failure
            batches = (*self._in_transaction, *self._pending)
            futures = [request.answer for batch in batches for request in batch if request.answer]
            self._pending = [[] for _ in self._handlers]

        def deliver() -> None:
            for future in futures:
                if not future.done():
                    future.set_exception(failure)

        self._loop.call_soon_threadsafe(deliver)
