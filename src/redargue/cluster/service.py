"""Batches over HTTP: start one, see its progress, read its verdicts.

The claims are in the ledger that workers share; the service is one of its workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal, NamedTuple, Self

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import StreamingResponse
from pydantic import Field

from redargue.assembly import Parts
from redargue.claims import Claim, Frozen
from redargue.cluster import worker_job
from redargue.cluster.queue import Batch, batch_id, count_finished, find_batch, progress, results, retry, submit
from redargue.cluster.store import SharedDatabase, open_ledger
from redargue.cluster.worker import verify_batch
from redargue.concurrency import Busy
from redargue.errors import BudgetReached, RecordError, RedargueError, UsageError
from redargue.events import EVENT, ClaimEnded
from redargue.files import home, make_folder, read_stored
from redargue.net.services import limiter
from redargue.runs.budget import Cost
from redargue.runs.record import write_atomically
from redargue.service.context import Caller
from redargue.service.entries import LateWrites
from redargue.service.guard import JsonRoute, Pool
from redargue.service.keys import DayBudgets
from redargue.service.problems import UnknownCheck
from redargue.service.routes import STREAM_HEADERS, problems
from redargue.service.rules import CLAIM_LENGTH, RequestRules, RunChoices, with_workspace
from redargue.spec import RunSpec
from redargue.verdicts import ErrorInfo, Verdict
from redargue.verifier import Verifier

_CLAIMS = 10_000
_CONCURRENCY = 4  # claims of a batch
WAITING = 100  # batches
_PAGE = 200  # claims that are read at a time
_log = logging.getLogger("redargue.service")


class BatchRequest(RunChoices):
    """Claims that are verified in one run."""

    claims: tuple[Annotated[str, Field(min_length=1, max_length=CLAIM_LENGTH)], ...] = Field(
        min_length=1, max_length=_CLAIMS
    )


class BatchEntry(Frozen):
    """What is stored about a batch beside the ledger."""

    id: str
    owner: str
    created: datetime
    spec: RunSpec
    state: Literal["running", "done", "failed"] = "running"
    error: ErrorInfo | None = None


class BatchAnswer(Frozen):
    """The progress of a batch.

    Attributes:
        done: number of claims with a verdict.
        errors: number of claims that ended in an error.
        stopped: number of claims that the budget stopped.
        calls: model calls, those of claims in progress included.
        usd: spent; 0 where prices are not known.
    """

    id: str
    state: Literal["running", "done", "failed"]
    created: datetime
    total: int
    done: int
    errors: int
    stopped: int = 0
    calls: int = 0
    usd: float = 0.0
    error: ErrorInfo | None = None
    results: str


class BatchStore:
    """The batches of a service, one at a time; an asynchronous context manager.

    ``folder`` holds the entries, and by default the ledger; ``where`` is another one: ``postgresql://…`` or a file.
    """

    def __init__(
        self, rules: RequestRules, parts: Parts, folder: Path, budgets: DayBudgets, *, where: str = ""
    ) -> None:
        self._rules, self._parts, self._folder = rules, parts, folder / "batches"
        self._where, self._budgets = where or str(folder / "ledger.db"), budgets
        self._pool = Pool(WAITING)
        self._queue: asyncio.Queue[BatchEntry] = asyncio.Queue()
        self._known: set[tuple[str, str]] = set()
        self._worker: asyncio.Task[None] | None = None
        self._stopping, self._submitting, self._late = False, asyncio.Lock(), LateWrites()

    async def __aenter__(self) -> Self:
        for path in sorted(self._folder.glob("*/*.json")):
            with suppress(RecordError, UnknownCheck):
                entry = _read(path)
                if (day := entry.created.date()) >= self._budgets.today():  # later: the clock was set back
                    with suppress(UsageError, BudgetReached):
                        self._budgets.commit(entry.owner, entry.spec.budget or "", day)
                if entry.state == "running":
                    self._add(entry)
        self._worker = asyncio.create_task(self._work(), name="batches")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops; unfinished batches are resumed by the next service, or by ``redargue worker``."""
        self._stopping = True
        self._pool.close()
        if self._worker:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        await self._late.close()

    def _add(self, entry: BatchEntry) -> None:
        self._known.add((entry.owner, entry.id))
        self._queue.put_nowait(entry)

    async def submit(self, request: BatchRequest, *, owner: str) -> BatchAnswer:
        """Stores a batch; the same one again is found, and its errors are tried again.

        Raises UsageError if a claim or an option does not fit, BudgetReached if the batch's budget is more than is left
        of the key's today, and Busy if the service cannot take another batch now.
        """
        if self._stopping:
            raise Busy("the service is stopping", draining=True, hint="try again in a few seconds")
        if self._queue.qsize() >= WAITING:
            raise Busy(f"{WAITING} batches are waiting", hint="try again later")
        planned = await self._pool.run(lambda: self._plan(request, owner))
        async with self._submitting:  # two equal requests are one batch
            entry = self._earlier(planned, owner)
            counted = Cost()
            if entry is None:
                counted = self._budgets.commit(owner, planned.spec.budget or "")
                entry = BatchEntry(id=planned.id, owner=owner, created=datetime.now(UTC), spec=planned.spec)
            path = self._path(entry.id, owner)
            late = self._late.withdraw(path)
            try:
                await asyncio.to_thread(self._store, entry, planned)
            except BaseException:
                self._budgets.release(owner, counted)
                if late is not None:
                    self._late.write(path, late)
                raise
            if (owner, entry.id) not in self._known:
                self._add(entry)
        return await asyncio.to_thread(self.get, entry.id, owner=owner)

    def _plan(self, request: BatchRequest, owner: str) -> _Planned:
        spec = self._rules.spec_for(request)
        if spec.mcp:
            raise UsageError("batches use no MCP servers", hint="check single claims, or use redargue batch")
        spec = with_workspace(spec, owner)
        claims = [_claim(spec, number, text) for number, text in enumerate(request.claims, 1)]
        with Verifier(spec, parts=replace(self._parts, transport=None)) as verifier:
            about = verifier.manifest().model_dump(mode="json", exclude={"claims"}) | {"run": "service"}
            job, _ = worker_job(verifier, _CONCURRENCY)
        # A batch is its owner's: whoever sends the same one must neither learn of it nor get what it cost.
        return _Planned(batch_id(claims, about, owner), spec, claims, about, job.model_dump(mode="json"))

    def _earlier(self, planned: _Planned, owner: str) -> BatchEntry | None:
        """The same batch, if the budget of today has counted it already."""
        try:
            earlier = _read(self._path(planned.id, owner))
        except UnknownCheck:
            return None
        if earlier.created.date() != self._budgets.today() or earlier.spec.budget != planned.spec.budget:
            return None
        return BatchEntry(id=planned.id, owner=owner, created=earlier.created, spec=planned.spec)

    def _store(self, entry: BatchEntry, planned: _Planned) -> None:
        make_folder(self._folder)
        with closing(open_ledger(self._where)) as ledger:
            batch = submit(ledger, planned.claims, about=planned.about, job=planned.job, owner=entry.owner)
            retry(ledger, batch.number)
        self._write(entry)

    def get(self, id_: str, *, owner: str) -> BatchAnswer:
        """Raises UnknownCheck, also for another owner's batch."""
        path = self._path(id_, owner)
        late = self._late.text(path)
        entry = BatchEntry.model_validate_json(late) if late else _read(path)
        with self._open(entry) as (ledger, batch):
            spent, _ = progress(ledger, batch.number)
            finished = count_finished(ledger, batch.number)._replace(calls=spent.calls, usd=spent.usd)
        return BatchAnswer(
            id=id_,
            state=entry.state,
            created=entry.created,
            total=batch.total,
            **finished._asdict(),
            error=entry.error,
            results=f"/v1/batches/{id_}/results",
        )

    async def verdicts(self, id_: str, *, owner: str) -> AsyncIterator[tuple[int, Verdict]]:
        """The finished claims with their numbers from 1, in order; raises UnknownCheck before the first."""
        entry, start = _read(self._path(id_, owner)), 0
        while page := await asyncio.to_thread(self._page, entry, start):
            for place, verdict in page:
                yield place + 1, verdict
            start = page[-1][0] + 1

    def _page(self, entry: BatchEntry, start: int) -> list[tuple[int, Verdict]]:
        with self._open(entry) as (ledger, batch):
            rows = islice(results(ledger, batch.number, start=start, page=_PAGE), _PAGE)
            events = [(place, EVENT.validate_json(lines[-1])) for place, lines in rows]
        return [(place, event.verdict) for place, event in events if isinstance(event, ClaimEnded)]

    @contextmanager
    def _open(self, entry: BatchEntry) -> Iterator[tuple[SharedDatabase, Batch]]:
        """The ledger, and a batch in it."""
        with closing(open_ledger(self._where, make=False)) as ledger:
            yield ledger, find_batch(ledger, entry.id)

    def _path(self, id_: str, owner: str) -> Path:
        return self._folder / (owner or "local") / f"{id_}.json"

    def _write(self, entry: BatchEntry) -> None:
        path = self._path(entry.id, entry.owner)
        make_folder(path.parent)
        write_atomically(path, _text_of(entry))

    async def _work(self) -> None:
        while True:
            entry = await self._queue.get()
            error: ErrorInfo | None = None
            try:
                await self._verify(entry)
            except RedargueError as raised:
                error = ErrorInfo.of(raised)
            except Exception:
                _log.exception("batch %s failed", entry.id[:12])
                error = ErrorInfo.of(RecordError("the batch failed", hint="the service's log says why"))
            self._known.discard((entry.owner, entry.id))
            ended = entry.model_copy(update={"state": "failed" if error else "done", "error": error})
            async with self._submitting:  # while it is stored again, its file is being written
                if (entry.owner, entry.id) not in self._known:
                    self._late.write(self._path(entry.id, entry.owner), _text_of(ended))

    async def _verify(self, entry: BatchEntry) -> None:
        with self._open(entry) as (_, batch):
            pass
        rates, concurrency = limiter().rates, _CONCURRENCY
        await verify_batch(self._where, batch, entry.spec, self._parts, rates=rates, concurrency=concurrency)


class _Planned(NamedTuple):
    """What a batch is in the ledger."""

    id: str
    spec: RunSpec
    claims: list[Claim]
    about: dict[str, object]
    job: dict[str, object]


def _claim(spec: RunSpec, number: int, text: str) -> Claim:
    try:
        return spec.claim(text)
    except UsageError as error:
        where = error.where or f"claims.{number - 1}"
        raise UsageError(f"claim {number}: {error.what}", where=where, hint=error.hint) from None


def _text_of(entry: BatchEntry) -> str:
    return entry.model_dump_json(exclude_defaults=True) + "\n"


def _read(path: Path) -> BatchEntry:
    entry = read_stored(path, BatchEntry.model_validate, hint="remove it, and send the batch again")
    if entry is None:
        raise UnknownCheck("no such batch", hint="POST /v1/batches answers with the id")
    return entry


router = APIRouter(prefix="/v1/batches", tags=["batches"], route_class=JsonRoute)
_Id = Annotated[str, PathParameter(alias="id", pattern="^[0-9a-f]{64}$", description="The id of a batch.")]


@router.post("", status_code=202, responses=problems(402, 409, 429, 503))
async def start_batch(body: BatchRequest, request: Request, caller: Caller, response: Response) -> BatchAnswer:
    """Verify up to 10,000 claims; the same request again finds the same batch and tries its errors again."""
    answer = await _batches(request).submit(body, owner=caller.owner)
    response.headers["Location"] = f"/v1/batches/{answer.id}"
    return answer


@router.get("/{id}", responses=problems(404, 409, 503))
async def read_batch(id_: _Id, request: Request, caller: Caller) -> BatchAnswer:
    """How many claims of a batch are finished."""
    return await asyncio.to_thread(_batches(request).get, id_, owner=caller.owner)


@router.get(
    "/{id}/results",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A line for each finished claim: its number and its verdict, in the order of the claims.",
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        },
        **problems(404, 409, 503),
    },
)
async def read_results(id_: _Id, request: Request, caller: Caller) -> StreamingResponse:
    """The verdicts of a batch so far, as JSON Lines."""
    batches = _batches(request)
    await asyncio.to_thread(batches.get, id_, owner=caller.owner)  # an error has to come before the first line
    return StreamingResponse(
        _lines(batches.verdicts(id_, owner=caller.owner)), headers=STREAM_HEADERS, media_type="application/x-ndjson"
    )


async def _lines(verdicts: AsyncIterator[tuple[int, Verdict]]) -> AsyncIterator[str]:
    async for number, verdict in verdicts:
        yield json.dumps({"number": number, "verdict": verdict.model_dump(mode="json")}) + "\n"


def _batches(request: Request) -> BatchStore:
    store: BatchStore = request.app.state.batches
    return store


@asynccontextmanager
async def opened(application: FastAPI, parts: Parts) -> AsyncIterator[None]:
    """Keeps ``app.state.batches`` open while the service is running."""
    settings, folder = application.state.settings, home() / "service"
    budgets = application.state.budgets
    async with BatchStore(settings.rules, parts, folder, budgets, where=settings.ledger) as batches:
        application.state.batches = batches
        yield
