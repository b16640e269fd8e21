"""Records paid calls in the shared ledger as they finish, so that a claim's next worker does not pay for them again.

The unit is one call, as in a run folder (:mod:`redargue.runs.record`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from redargue.cluster.queue import Job
from redargue.cluster.store import LedgerTransaction, TransactionBatcher
from redargue.errors import UsageError
from redargue.events import EVENT, CallFailed, Event
from redargue.net.secrets import Secrets
from redargue.runs.record import Paid, RecordMode


class PaidCall(NamedTuple):
    """The paid event with this ``number`` in its lease, as JSON."""

    place: int
    lease: int
    number: int
    event: str


class PaidCallTable:
    """Stores the paid events of a batch."""

    def __init__(self, batch: int) -> None:
        self._batch = batch

    def handle(self, db: LedgerTransaction, requests: Sequence[PaidCall]) -> list[None]:
        insert = "INSERT INTO paid (batch, place, lease, n, event) VALUES (?, ?, ?, ?, ?)"
        db.executemany(insert, [(self._batch, *request) for request in requests])
        return [None] * len(requests)


@dataclass
class _LeasedClaim:
    lease: int
    known: dict[str, Paid | CallFailed]
    failed: tuple[CallFailed, ...]
    lines: list[str]
    written: int = 0


class SharedRecord:
    """The record of a worker's leased claims (a :class:`~redargue.runs.record.CallRecord`); ``secrets`` are masked."""

    def __init__(
        self, run: str, batcher: TransactionBatcher, table: PaidCallTable, *, secrets: Secrets | None = None
    ) -> None:
        self.id, self.folder = run, Path(run)
        self._batcher, self._table, self._secrets = batcher, table, secrets or Secrets()
        self.mode: RecordMode = "record"
        self._claims: dict[int, _LeasedClaim] = {}

    def begin(self, job: Job) -> None:
        try:
            events = [(EVENT.validate_json(text), old) for text, old in job.paid]
        except ValidationError:
            what = f"a paid call of claim {job.place + 1} in this ledger is damaged"
            raise UsageError(what, hint="drop the batch (redargue ledger drop) and start it again") from None
        paid: dict[str, Paid | CallFailed] = {event.key: event for event, _ in events if isinstance(event, Paid)}
        failures = [(event, old) for event, old in events if isinstance(event, CallFailed)]
        replies = (event for event, old in failures if not old and event.error.type == "BadReply")
        # The debate continued without these replies.
        unreadable = {event.key: event for event in replies if event.key not in paid}
        failed = tuple(event for event, old in failures if old or event.key not in unreadable)
        lines = [event.model_dump_json() for event in failed]
        self._claims[job.place] = _LeasedClaim(job.lease, paid | unreadable, failed, lines)

    def end(self, item: int) -> list[str]:
        return self._claims.pop(item).lines

    def recall(self, item: int, key: str) -> Paid | CallFailed | None:
        return self._claims[item].known.get(key)

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        return self._claims[item].failed

    def write(self, event: Event) -> None:
        claim = self._claims[event.item]
        line = self._secrets.hide(event.model_dump_json())
        claim.lines.append(line)
        if isinstance(event, Paid | CallFailed) and event.key not in claim.known:
            self._batcher.post(self._table, PaidCall(event.item, claim.lease, claim.written, line))
            claim.written += 1
