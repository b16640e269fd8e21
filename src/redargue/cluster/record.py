"""What a worker has paid for, kept in the shared ledger as it comes: whoever goes on with a claim pays nothing twice.

One call is the unit, as in a run folder (:mod:`redargue.runs.record`): the answers of a claim's lost worker are
answered to its next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from redargue.cluster.queue import Job
from redargue.cluster.store import Rows
from redargue.cluster.transaction_batcher import Desk
from redargue.events import EVENT, CallFailed, Event
from redargue.net.secrets import Secrets
from redargue.runs.record import Mode, Paid


class Entry(NamedTuple):
    """An event that was paid for.

    Attributes:
        place: of its claim.
        lease: of the claim, from 1.
        n: its number under that lease.
        event: as JSON.
    """

    place: int
    lease: int
    n: int
    event: str


class Entries:
    """The window where what was paid for is written down."""

    def __init__(self, batch: int) -> None:
        self._batch = batch

    def serve(self, db: Rows, asked: Sequence[Entry]) -> list[None]:
        """Writes down each."""
        insert = "INSERT INTO paid (batch, place, lease, n, event) VALUES (?, ?, ?, ?, ?)"
        db.executemany(insert, [(self._batch, *each) for each in asked])
        return [None] * len(asked)


@dataclass
class _Claim:
    lease: int
    known: dict[str, Paid | CallFailed]
    failed: tuple[CallFailed, ...]
    lines: list[str]
    written: int = field(default=0)


class SharedRecord:
    """The record of the claims that a worker has in hand; a :class:`~redargue.runs.record.CallRecord`.

    Args:
        run: the run's name.
        desk: writes.
        entries: where.
        secrets: keys that no line may hold.
    """

    def __init__(self, run: str, desk: Desk, entries: Entries, *, secrets: Secrets | None = None) -> None:
        self._run, self.folder = run, Path(run)
        self._desk, self._entries, self._secrets = desk, entries, secrets or Secrets()
        self.mode: Mode = "record"
        self._claims: dict[int, _Claim] = {}

    @property
    def id(self) -> str:
        """The run's name."""
        return self._run

    def begin(self, job: Job) -> None:
        """Takes a leased claim in hand."""
        events = [(EVENT.validate_json(text), old) for text, old in job.paid]
        paid: dict[str, Paid | CallFailed] = {each.key: each for each, _ in events if isinstance(each, Paid)}
        failures = [(each, old) for each, old in events if isinstance(each, CallFailed)]
        unreadable = {
            each.key: each
            for each, old in failures
            if not old and each.error.type == "BadReply" and each.key not in paid
        }  # the debate went on without them
        failed = tuple(each for each, old in failures if old or each.key not in unreadable)
        lines = [each.model_dump_json() for each in failed]
        self._claims[job.place] = _Claim(job.lease, paid | unreadable, failed, lines)

    def end(self, item: int) -> list[str]:
        """The claim's events, as lines of JSON; the claim is no longer in hand."""
        return self._claims.pop(item).lines

    def recall(self, item: int, key: str) -> Paid | CallFailed | None:
        """The paid answer to that question of that claim, or None."""
        return self._claims[item].known.get(key)

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        """What earlier attempts at a claim sent and got nothing for."""
        return self._claims[item].failed

    def write(self, event: Event) -> None:
        """Keeps an event; what was paid for goes to the ledger at once."""
        claim = self._claims[event.item]
        line = self._secrets.hide(event.model_dump_json())
        claim.lines.append(line)
        if isinstance(event, Paid | CallFailed) and event.key not in claim.known:
            self._desk.post(self._entries, Entry(event.item, claim.lease, claim.written, line))
            claim.written += 1
