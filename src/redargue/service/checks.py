"""The checks of the service: a bounded queue over run folders, which a restart resumes. Knows nothing of HTTP.

A check is a folder in ``runs`` of redargue's home: ``run.json`` and ``events.jsonl`` as every run has them, and
``check.json`` with the request and its owner. Its id is the folder's name.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from redargue.assembly import Parts, connect
from redargue.concurrency import Busy
from redargue.errors import RecordError, RedargueError, UsageError
from redargue.events import Event
from redargue.files import make_folder
from redargue.reports import RUN, CheckResult, load_run, result_of
from redargue.runs.budget import Budget, UsageCounter
from redargue.runs.folders import ERROR, NO_LABEL, RecordedRun, began, is_begun, read_run, remove_run, runs_folder
from redargue.runs.manifest import load_manifest
from redargue.runs.record import DRAFT, new_run_folder, read_events, writing
from redargue.service.entries import (
    ENDED,
    ENTRY_FILE,
    CheckEntry,
    EventLine,
    LateWrites,
    LogReader,
    State,
    read_entry,
    text_of_entry,
    write_entry,
)
from redargue.service.guard import Pool
from redargue.service.keys import DayBudgets
from redargue.service.problems import UnknownCheck, without_paths
from redargue.service.rules import CheckRequest, PreparedRequest, RequestRules, with_workspace
from redargue.text import Report, outcome_of_claims
from redargue.text.verification import prepare, with_documents
from redargue.verdicts import ErrorInfo, Usage, total_usage
from redargue.verifier import Verifier

LOCAL = ""  # the owner where there are no keys: the user of this machine
_log = logging.getLogger("redargue.service")
IDEMPOTENT = timedelta(hours=24)
FOREIGN_TURN = 0.5  # seconds between looks at the log of a run that another process writes


class Check(NamedTuple):
    """A check as its owner sees it.

    Attributes:
        first: the beginning of the claim or text.
        method: empty where it is not known yet.
        outcome: of a finished check: the meaning of a claim's label, the outcome of a text, or ``error``.
        position: in the queue, from 1; 0 where it does not wait.
        outcomes: how many claims have which outcome.
    """

    id: str
    folder: Path
    owner: str
    state: State
    created: datetime
    method: str
    claims: int
    first: str
    outcome: str = ""
    error: ErrorInfo | None = None
    usage: Usage | None = None
    position: int = 0
    outcomes: Mapping[str, int] = MappingProxyType({})

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def recorded(self) -> bool:
        """Whether there is a record of its run."""
        return (self.folder / RUN).is_file()


class _Page(NamedTuple):
    """A part of a list; ``cursor`` continues it and is empty at its end."""

    checks: tuple[Check, ...]
    cursor: str


class _Repeatable(NamedTuple):
    """What an idempotency key was sent with: the hash of the body and the check's id.

    ``since`` is in seconds of the monotonic clock: setting the other one forward must not start a check again.
    """

    body: str
    id: str
    since: float

    @property
    def expired(self) -> bool:
        return time.monotonic() - self.since > IDEMPOTENT.total_seconds()


class _Ending(NamedTuple):
    """How a check ended, and what it cost."""

    state: State
    outcome: str = ""
    error: ErrorInfo | None = None
    usage: Usage | None = None


@dataclass
class _Active:
    """A check that is queued or running in this process."""

    entry: CheckEntry
    folder: Path
    paying: ExitStack  # until it has ended
    budget: Budget | None  # from which it is paid, where its key has one of the day, or it has one itself
    state: State = "queued"
    task: asyncio.Task[None] | None = None
    cancelled: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)  # replaced each time it is set

    def ring(self, event: Event | None = None) -> None:
        self.news, news = asyncio.Event(), self.news
        news.set()


class CheckStore:
    """Runs checks and finds them again; an asynchronous context manager.

    Args:
        rules: the configuration of checks, and what requests may decide; default: of an empty spec.
        parts: parts that all checks share.
        folder: of the run folders; default: ``runs`` in redargue's home.
        name: a store resumes the checks of stores with its name only.
        resumes: whether it does; not where someone else may have filled the folder, whose requests nobody here made.
        running: number of checks that run at the same time.
        waiting: number of checks that may wait.
        budgets: of owners and days; None for no limits.
        finished: called with the entry of every check that ends.
        listeners: gives the further listeners of a check's events.

    Attributes:
        closing: set when the service begins to stop; whatever waits, stops waiting.
        streams: number of open streams of events.
    """

    def __init__(
        self,
        rules: RequestRules | None = None,
        *,
        parts: Parts | None = None,
        folder: Path | None = None,
        name: str = "serve",
        resumes: bool = True,
        running: int = 4,
        waiting: int = 100,
        budgets: DayBudgets | None = None,
        finished: Callable[[CheckEntry], None] = lambda entry: None,
        listeners: Callable[[], Sequence[Callable[[Event], None]]] = tuple,
    ) -> None:
        self.rules = rules or RequestRules()
        self.spec, self.parts = self.rules.spec, parts or Parts()
        self.folder, self.name = folder or runs_folder(), name
        self.pool = Pool(waiting)
        self._running, self._waiting = running, waiting
        self._budgets, self._finished = budgets or DayBudgets(lambda owner: ""), finished
        self._listeners, self._resumed = listeners, name if resumes else None
        self._repeated: dict[tuple[str, str], _Repeatable] = {}  # by owner and key, oldest first
        self._active: dict[str, _Active] = {}
        self._queue: asyncio.Queue[_Active] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._removing, self._late = asyncio.Lock(), LateWrites()
        self.closing, self.streams = asyncio.Event(), 0

    async def __aenter__(self) -> Self:
        make_folder(self.folder)
        recent = self._recent()
        self._budgets.load(entry for _, entry in recent)
        for folder, entry in recent:
            if entry.idempotency:
                self._remember(entry, folder)
            if entry.store == self._resumed and entry.state not in ENDED:
                self._enqueue(_Active(entry, folder, *self._paid(entry, resumed=True)))
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._running)]
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Stops; running checks stay resumable."""
        self.close()
        self.pool.close()
        tasks = [*self._workers, *(active.task for active in self._active.values() if active.task)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._late.close()

    def close(self) -> None:
        """Ends everything that waits, and refuses further checks."""
        self.closing.set()
        for active in self._active.values():
            active.ring()

    def _recent(self) -> Sequence[tuple[Path, CheckEntry]]:
        """The checks that have not ended or began within a day, in the order of their beginning."""
        found = []
        since = datetime.now(UTC) - IDEMPOTENT
        for path in self.folder.glob(f"*/{ENTRY_FILE}"):
            with suppress(RecordError):
                entry = read_entry(path.parent)
                if entry and (entry.state not in ENDED or (entry.ended or entry.created) > since):
                    found.append((path.parent, entry))
        return sorted(found, key=lambda pair: pair[1].created)

    # Beginning and ending

    async def prepare(self, request: CheckRequest) -> PreparedRequest:
        """A request as the rules read it, which may take a while; raises UsageError and Busy."""
        return await self.pool.run(lambda: self.rules.prepare(request))

    def submit(
        self,
        request: CheckRequest,
        *,
        owner: str = LOCAL,
        idempotency: str = "",
        prepared: PreparedRequest | None = None,
    ) -> Check:
        """Queues a check, or finds the one of an earlier request with the same idempotency key.

        ``prepared`` is the result of :meth:`prepare`; without it, the request is read here.

        Raises:
            UsageError: the request cannot be carried out, or an earlier one with its idempotency key differs.
            BudgetReached: the owner's budget of this day is spent.
            Busy: too many checks are waiting, or the service is stopping.
        """
        key, body = _sha256(idempotency) if idempotency else "", _sha256(request.model_dump_json())
        if earlier := self.repeated(request, owner=owner, idempotency=idempotency):
            return earlier
        prepared = prepared or self.rules.prepare(request)
        if self.closing.is_set():
            raise Busy("the service is stopping", draining=True, hint="try again in a few seconds")
        counts = self.counts()
        if counts["queued"] >= self._waiting + max(0, self._running - counts["running"]):
            raise Busy(f"{self._waiting} checks are waiting", hint="try again later")
        entry = CheckEntry(
            store=self.name,
            owner=owner,
            created=datetime.now(UTC),
            request=request,
            method=prepared.spec.method,
            tools=prepared.spec.tools,
            budget=prepared.spec.budget or "",
            idempotency=key,
            body=body if key else "",
        )
        paid = self._paid(entry, lambda: prepared.most_calls)
        active = _Active(entry, self._new_folder(), *paid)
        try:
            write_entry(active.folder, entry)
        except OSError:  # a full disk
            active.paying.close()
            shutil.rmtree(active.folder, ignore_errors=True)
            raise
        self._enqueue(active)
        if key:
            self._remember(entry, active.folder)
        return self._seen(active)

    def _remember(self, entry: CheckEntry, folder: Path) -> None:
        key = entry.owner, entry.idempotency
        self._repeated.pop(key, None)  # so that the oldest stays first
        age = max(0.0, (datetime.now(UTC) - entry.created).total_seconds())
        self._repeated[key] = new = _Repeatable(entry.body, folder.name, time.monotonic() - age)
        while (oldest := next(iter(self._repeated.values()))) is not new and oldest.expired:
            del self._repeated[next(iter(self._repeated))]

    def repeated(self, request: CheckRequest, *, owner: str, idempotency: str) -> Check | None:
        """The check of an earlier request with an idempotency key; raises UsageError if that request differs."""
        known = self._repeated.get((owner, _sha256(idempotency))) if idempotency else None
        if known is None or known.expired:
            return None
        with suppress(UnknownCheck):  # it was erased
            check = self.get(known.id, owner=owner)
            if known.body != _sha256(request.model_dump_json()):
                what = "an earlier request with this Idempotency-Key had another body"
                raise UsageError(what, hint="send another Idempotency-Key with another request")
            return check
        return None

    def _paid(
        self, entry: CheckEntry, most_calls: Callable[[], int] = lambda: 1, *, resumed: bool = False
    ) -> tuple[ExitStack, Budget | None]:
        """What ends a check for its owner's budget, and the budget that pays it; raises BudgetReached."""
        paying = ExitStack()
        return paying, paying.enter_context(self._budgets.check(entry.owner, entry.budget, most_calls, resumed=resumed))

    def _new_folder(self) -> Path:
        while True:
            folder = self.folder / new_run_folder().name
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                return folder

    def _enqueue(self, active: _Active) -> None:
        self._active[active.folder.name] = active
        self._queue.put_nowait(active)

    async def cancel(self, id_: str, *, owner: str = LOCAL) -> Check:
        """Stops a check; what it found until then stays. Raises UnknownCheck."""
        check = self.get(id_, owner=owner)
        if active := self._active.get(id_):
            active.cancelled = True
            if active.task:
                active.task.cancel()
            else:
                self._end(active, _Ending("cancelled"))
            await active.ended.wait()
            return self.get(id_, owner=owner)
        return check

    async def cancel_all(self) -> None:
        """Stops every check of this process that has not ended."""
        for id_, active in list(self._active.items()):
            with suppress(UnknownCheck):
                await self.cancel(id_, owner=active.entry.owner)

    async def erase(self, id_: str, *, owner: str = LOCAL) -> None:
        """Stops a check and removes everything stored about it. Raises UnknownCheck."""
        await self.cancel(id_, owner=owner)
        async with self._removing:
            check = self.get(id_, owner=owner)  # another request may have erased it
            await asyncio.to_thread(remove_run, check.folder)

    # Reading

    def get(self, id_: str, *, owner: str = LOCAL) -> Check:
        """Raises UnknownCheck, also for another owner's check."""
        if (active := self._active.get(id_)) and active.entry.owner == owner:
            return self._seen(active)
        folder = self.folder / id_
        is_name = id_ == folder.name and not id_.startswith(".")
        try:
            if not is_name or folder.is_symlink() or not folder.is_dir():
                raise _unknown(id_)
        except OSError:  # no file could have so long a name
            raise _unknown(id_) from None
        late = self._late.text(folder / ENTRY_FILE)
        entry = CheckEntry.model_validate_json(late) if late else read_entry(folder)
        if (entry.owner if entry else LOCAL) != owner:
            raise _unknown(id_)
        try:
            run = read_run(folder) if (folder / RUN).is_file() else None
        except FileNotFoundError:  # it is being erased
            raise _unknown(id_) from None
        if entry:
            elsewhere: State = "running" if run else "queued"
            state = entry.state if entry.state in ENDED else elsewhere
            return self._described(folder, entry, state, run)
        if run:
            return _of_a_command(run)
        raise _unknown(id_)

    def list(self, *, owner: str = LOCAL, cursor: str = "", limit: int = 20) -> _Page:
        """An owner's checks, newest first; those that commands recorded belong to the user of this machine."""
        paths = [path for path in self.folder.iterdir() if not path.is_symlink() and path.is_dir()]
        keys = [f"{_began(path):%Y%m%d%H%M%S}-{path.name}" for path in paths]
        found: list[Check] = []
        last = ""
        for key in sorted(keys, reverse=True):
            if cursor and key >= cursor:
                continue
            with suppress(UnknownCheck, RecordError, OSError):
                check = self.get(key.partition("-")[2], owner=owner)
                if len(found) == limit:
                    return _Page(tuple(found), last)
                found.append(check)
                last = key
        return _Page(tuple(found), "")

    def result(self, id_: str, *, owner: str = LOCAL) -> CheckResult | Report | None:
        """As ``redargue check --json`` prints it; None while there is none. Raises UnknownCheck.

        A text that was stopped before all of its claims had a verdict has none: these are not a result for the text.
        """
        check = self.get(id_, owner=owner)
        if not (check.ended and check.recorded):
            return None
        with suppress(RecordError):  # it was stopped before a verdict
            run = load_run(check.folder)
            return None if run.text and run.unfinished else result_of(run)
        return None

    async def wait(self, id_: str, *, owner: str = LOCAL, seconds: float | None = None) -> Check:
        """Waits until a check has ended, the time is over or the service stops; raises UnknownCheck."""
        self.get(id_, owner=owner)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (active := self._active.get(id_)) and not self.closing.is_set():
                    await active.news.wait()
        return self.get(id_, owner=owner)

    async def follow(
        self, id_: str, *, owner: str = LOCAL, after: int = 0, silence: float | None = None
    ) -> AsyncIterator[Sequence[EventLine]]:
        """The lines of a check's log from ``after`` + 1 on, as they are written, until it ends or the service stops.

        All lines at hand come together, and none after ``silence`` seconds without a line. An
        ``after`` beyond the log begins at its start. Raises UnknownCheck.
        """
        folder = self.get(id_, owner=owner).folder
        reader = LogReader(folder, after)
        loop = asyncio.get_running_loop()
        spoken = loop.time()
        while True:
            active = self._active.get(id_)
            news = active.news if active else self.closing
            ended = active is None and _has_ended(folder)
            if lines := reader.read():
                yield lines
                spoken = loop.time()
                continue
            if self.closing.is_set() or ended or not folder.exists():
                return
            left = None if silence is None else max(0.0, spoken + silence - loop.time())
            seconds = left if active else min(FOREIGN_TURN, FOREIGN_TURN if left is None else left)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await news.wait()
            if silence is not None and loop.time() >= spoken + silence:
                yield []
                spoken = loop.time()

    async def counted(self, frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The frames of a stream, which counts as open meanwhile."""
        self.streams += 1
        try:
            async for frame in frames:
                yield frame
        finally:
            self.streams -= 1

    @property
    def places(self) -> tuple[int, int]:
        """How many checks may run and wait at the same time, and how many more are accepted now."""
        counts, places = self.counts(), self._waiting + self._running
        return places, max(0, places - sum(counts.values()))

    def counts(self) -> Mapping[str, int]:
        """Number of checks that are running and that wait."""
        states = [active.state for active in tuple(self._active.values())]
        return {"running": states.count("running"), "queued": states.count("queued")}

    def _seen(self, active: _Active) -> Check:
        others = tuple(self._active.values())  # a copy, because lists are made in other threads
        waiting = [other.folder for other in others if other.state == "queued"]
        position = waiting.index(active.folder) + 1 if active.folder in waiting else 0
        check = self._described(active.folder, active.entry, active.state)
        return check._replace(position=position)

    def _described(self, folder: Path, entry: CheckEntry, state: State, run: RecordedRun | None = None) -> Check:
        request = entry.request
        return Check(
            id=folder.name,
            folder=folder,
            owner=entry.owner,
            state=state,
            created=entry.created,
            method=(run.method if run else "") or entry.method or request.method or self.spec.method,
            claims=run.claims if run else int(request.claim is not None),
            first=request.first_words,
            outcome=entry.outcome,
            error=entry.error,
            usage=entry.usage,
            outcomes=run.outcomes if run else {},
        )

    # Running

    async def _work(self) -> None:
        while True:
            active = await self._queue.get()
            if active.cancelled:
                continue
            active.task = asyncio.create_task(self._run(active), name=f"check {active.folder.name}")
            await asyncio.wait([active.task])
            if not active.task.cancelled() and (error := active.task.exception()):
                _log.error("check %s failed", active.folder.name, exc_info=error)
            if active.cancelled and not active.ended.is_set():
                self._end(active, _Ending("cancelled"))  # before the task's first step

    async def _run(self, active: _Active) -> None:
        active.state = "running"
        active.ring()
        folder = active.folder
        try:
            entry = active.entry
            prepared = await asyncio.to_thread(self.rules.prepare, entry.request, tools=entry.tools)
            await self._verify(active, prepared)
            ending = await asyncio.to_thread(_outcome, folder)
        except asyncio.CancelledError:
            if not active.cancelled:
                raise  # the service stops, and resumes the check when it starts again
            ending = _Ending("cancelled", usage=_spent(folder))
        except RedargueError as error:
            ending = _failed(folder, error)
        except OSError as error:
            what = f"the run folder cannot be used: {error.strerror}"
            hint = "make room on its disk, and send it again"
            ending = _failed(folder, RecordError(what, hint=hint))
        except (Exception, SystemExit) as error:  # a SystemExit would end the service, and again when it is resumed
            _log.error("check %s failed", folder.name, exc_info=error)
            what, hint = f"{type(error).__name__} in the check", "see the service's log"
            ending = _failed(folder, RedargueError(what, hint=hint))
        self._end(active, ending)

    async def _verify(self, active: _Active, prepared: PreparedRequest) -> None:
        owner, request = active.entry.owner, active.entry.request
        spec = with_workspace(prepared.spec, owner)
        parts = replace(self.parts, budget=active.budget or self.parts.budget)
        listeners, documents = [active.ring, *self._listeners()], request.documents
        record: dict[str, Any] = {"folder": active.folder, "origin": request.origin}
        if documents is None:
            parts = await connect(spec, parts)
        if prepared.text is not None:
            text = await prepare(prepared.text, spec, parts, documents=documents, **record)
            with text.verifier() as verifier:
                active.ring()
                await verifier.verify_all(text.claims, concurrency=verifier.text_concurrency, listeners=listeners)
            return
        assert prepared.claim
        if documents is not None:
            spec, parts = await asyncio.to_thread(with_documents, spec, [documents], parts)
        claim = prepared.claim
        with Verifier(spec, parts=parts, claims=[claim], **record) as verifier:
            await verifier.verify(claim, listeners=listeners)

    def _end(self, active: _Active, ending: _Ending) -> None:
        changes = {**ending._asdict(), "ended": datetime.now(UTC)}
        if failed := ending.error:
            shown = {"what": without_paths(failed.what), "hint": without_paths(failed.hint)}
            changes["error"] = failed.model_copy(update=shown)
        active.entry = active.entry.model_copy(update=changes)
        active.state = ending.state
        # If the process is killed before there is room for this, the check is resumed.
        self._late.write(active.folder / ENTRY_FILE, text_of_entry(active.entry))
        self._active.pop(active.folder.name, None)
        active.paying.close()
        self._finished(active.entry)
        seconds = (changes["ended"] - active.entry.created).total_seconds()
        outcome = ending.outcome or ending.state
        fields = {"check": active.folder.name, "outcome": outcome, "ms": round(1_000 * seconds)}
        _log.info("check %s ended: %s", active.folder.name, outcome, extra={"fields": fields})
        active.ended.set()
        active.ring()


def _outcome(folder: Path) -> _Ending:
    """How a run ended that was not stopped; raises RecordError."""
    result = result_of(load_run(folder))
    error, usage = _error_and_usage(result)
    state: State = "failed" if error else "done"
    if isinstance(result, Report):
        return _Ending(state, result.outcome, error, usage)
    (verdict,) = result.verdicts
    checked = "unchecked" if verdict.why_unchecked else str(verdict.meaning or verdict.label)
    return _Ending(state, "error" if error else checked, error, usage)


def with_its_end(check: Check, result: CheckResult | Report | None) -> Check:
    """The check with its error and its cost, which for a run of a command only the result tells."""
    if result is None or check.usage:
        return check
    error, usage = _error_and_usage(result)
    return check._replace(error=error if check.state == "failed" else None, usage=usage)


def _error_and_usage(result: CheckResult | Report) -> tuple[ErrorInfo | None, Usage]:
    """The error of the first claim where every claim ended in one, and what all of them cost."""
    if isinstance(result, Report):
        errors, usage = [claim.verdict.error for claim in result.claims], result.usage
    else:
        errors = [verdict.error for verdict in result.verdicts]
        usage = total_usage([verdict.usage for verdict in result.verdicts])
    return (errors[0] if errors and all(errors) else None), usage


def _failed(folder: Path, error: RedargueError) -> _Ending:
    return _Ending("failed", error=ErrorInfo.of(error), usage=_spent(folder))


def _spent(folder: Path) -> Usage | None:
    """What was paid for a check without a verdict, which its owner's budget of the day counts after a restart."""
    draft = folder / DRAFT
    try:
        counter = UsageCounter(load_manifest(folder if is_begun(folder) else draft).priced)
        for event in chain(read_events(folder), read_events(draft)):
            counter.count(event)
        return counter.usage()
    except (RecordError, OSError):
        return None


def _of_a_command(run: RecordedRun) -> Check:
    """A run that a command recorded: it belongs to the user of this machine."""
    folder, shown = run.folder, (run.began, run.method, run.claims, run.name or run.first)
    state: State
    check = Check(folder.name, folder, LOCAL, "failed", *shown)
    if not run.method:
        error = RecordError("its run.json cannot be read", hint="restore it, or remove the run")
        return check._replace(error=ErrorInfo.of(error))
    if sum(run.outcomes.values()) < run.claims:
        state = "interrupted" if _finished_elsewhere(folder) else "running"
        return check._replace(state=state, outcomes=run.outcomes)
    if run.unread is not None:
        outcome: str = outcome_of_claims(run.outcomes, unread=run.unread > 0)
    else:
        outcome = next(iter(run.outcomes)) if len(run.outcomes) == 1 else ""
    state = "failed" if set(run.outcomes) == {ERROR} else "done"
    return check._replace(state=state, outcome="unchecked" if outcome == NO_LABEL else outcome, outcomes=run.outcomes)


def require_verdict(check: Check) -> None:
    """Raises RecordError for a check without a verdict, which has no report."""
    if check.recorded and read_run(check.folder).outcomes:
        return
    if check.error:
        raise RecordError(f"this check has no report: {check.error.what}", hint=check.error.hint)
    if check.state == "cancelled":
        raise RecordError("this check was stopped: it has no verdict and no report", hint="start it again")
    if check.state != "done":
        raise RecordError("the check has no verdict yet", hint="it has a report once a claim has its verdict")


def _has_ended(folder: Path) -> bool:
    """Whether nobody will write to the folder of a check that is not active here."""
    entry = read_entry(folder) if folder.is_dir() else None
    return (entry is not None and entry.state in ENDED) or _finished_elsewhere(folder)


def _finished_elsewhere(folder: Path) -> bool:
    """Whether no other process writes to a run folder."""
    try:
        with writing(folder):
            return True
    except RecordError:
        return False
    except OSError:
        return True


def _began(folder: Path) -> datetime:
    try:
        return began(folder)
    except OSError:  # it is not a run, or was removed
        return datetime.min.replace(tzinfo=UTC)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _unknown(id_: str) -> UnknownCheck:
    return UnknownCheck(f"no check {id_[:60]!r}", hint="give the id of one of your checks")
