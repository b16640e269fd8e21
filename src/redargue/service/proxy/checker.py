"""Checks an answer sentence by sentence while it is being written.

A first reader, the embedded one, reads every sentence. Where the plan names a method, this debates the claims that the
first reader does not find supported. Both read the same documents, which stay encoded between the answers of a
conversation; without documents both search, if the operator allows it.

Readings of all answers take turns, oldest answer first, so that under load some checks end in time.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from redargue.assembly import Parts
from redargue.claims import Claim, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import RedargueError, UsageError
from redargue.evidence import Passage
from redargue.runs.budget import Budget, Cost
from redargue.service.guard import Turns
from redargue.service.keys import DayBudget, KeyBudget
from redargue.service.proxy.settings import FIRST_READER, Plan, ProxySettings
from redargue.service.proxy.structured import begins, has_object, structure_of
from redargue.service.rules import RequestRules, RunChoices
from redargue.spec import RunSpec
from redargue.text import CheckedClaim
from redargue.text.grounder import BEFORE, Grounder, Segmenter, check_sentence
from redargue.text.segment import MAX_LENGTH, Sentence
from redargue.verdicts import Verdict
from redargue.verifier import TEXT_CONCURRENCY, Verifier

KEPT = 8  # sets of documents that stay encoded
KEPT_CHARACTERS = 4_000_000
_HEAD = 100  # characters that show whether an answer is JSON


class Searcher:
    """Checks sentences and claims, as :class:`Grounder` does, and searches for its evidence."""

    def __init__(self, spec: RunSpec, budget: Budget | None = None) -> None:
        self._verifier = Verifier(spec, actions={}, parts=Parts(budget=budget))

    async def check_sentence(self, sentences: Sequence[Sentence]) -> tuple[CheckedClaim, ...]:
        return await check_sentence(sentences, self._verifier, self._verifier.spec.models)

    async def verify(self, claim: Claim) -> Verdict:
        return await self._verifier.verify(claim)

    def close(self) -> None:
        self._verifier.close()


_Reader = Grounder | Searcher
_Turn = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class Readers:
    """Those of one answer; ``debate`` is None where the first reader decides alone.

    Attributes:
        local: whether the first reader only computes; one that searches waits for others most of the time.
        debate_local: the same of the debate, which a language model may lead.
        turn: of the answer among all that compute.
    """

    first: _Reader
    debate: _Reader | None = None
    local: bool = True
    debate_local: bool = False
    turn: _Turn = nullcontext

    @property
    def reading(self) -> AbstractAsyncContextManager[None]:
        return self.turn() if self.local else nullcontext()

    @property
    def debating(self) -> AbstractAsyncContextManager[None]:
        return self.turn() if self.debate_local else nullcontext()

    def close(self) -> None:
        self.first.close()
        if self.debate:
            self.debate.close()


class NoEvidence(RedargueError):
    """There is no document to check an answer against, and the operator does not allow a search."""


@dataclass
class _Entry:
    readers: asyncio.Task[Readers]
    size: int
    users: int = 0
    dropped: bool = False


_Key = tuple[str, str | None, tuple[Passage, ...], Budget | None]


class Checkers:
    """Opens the readers of answers; those of the last sets of documents are kept."""

    def __init__(self, settings: ProxySettings) -> None:
        self.settings = settings
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._turns, self._numbers = Turns(settings.running), count()

    @asynccontextmanager
    async def open(
        self, documents: tuple[Passage, ...], plan: Plan, day: DayBudget | None = None
    ) -> AsyncIterator[asyncio.Task[Readers]]:
        """The readers, which a thread makes meanwhile; the task raises NoEvidence, or what keeps them from being made.

        ``day``: the caller's budget of the day, which pays for all of their calls. Readers with a budget of their own
        are of one answer.
        """
        shared = bool(documents) and not self._budget(plan)
        key = (plan.method, str(plan.as_of), documents, day)
        turn = partial(self._turns.take, next(self._numbers))
        entry = self._entries.get(key) if shared else None
        if entry is None or (entry.readers.done() and (entry.readers.cancelled() or entry.readers.exception())):
            made = asyncio.create_task(self._make(documents, plan, day, turn))
            made.add_done_callback(_seen)
            entry = _Entry(made, sum(len(document.text) for document in documents), dropped=not shared)
            if shared:
                self._entries[key] = entry
        if not entry.dropped:
            self._entries.move_to_end(key)
        entry.users += 1
        readers = asyncio.create_task(_in_turn(entry.readers, turn))
        readers.add_done_callback(_seen)
        try:
            yield readers
        finally:
            readers.cancel()
            entry.users -= 1
            self._drop_oldest()
            if entry.dropped and not entry.users:
                _close_when_made(entry.readers)

    def _drop_oldest(self) -> None:
        entries = self._entries
        while len(entries) > KEPT or sum(entry.size for entry in entries.values()) > KEPT_CHARACTERS:
            _, entry = entries.popitem(last=False)
            entry.dropped = True
            if not entry.users:
                _close_when_made(entry.readers)

    async def _make(self, documents: tuple[Passage, ...], plan: Plan, day: DayBudget | None, turn: _Turn) -> Readers:
        if documents:
            async with turn():
                return await asyncio.to_thread(self._readers, documents, plan, day)
        if not self.settings.search:
            raise NoEvidence("the request has no contexts", hint="send redargue.contexts")
        return self._readers(documents, plan, day)

    def _readers(self, documents: tuple[Passage, ...], plan: Plan, day: DayBudget | None) -> Readers:
        first, debate = self._configs(plan)
        reading, debating = _budgets(self._budget(plan), day)

        def reader(spec: RunSpec, budget: Budget | None) -> _Reader:
            return (
                Grounder(documents, spec=spec.updated(tools=None), budget=budget)
                if documents
                else Searcher(spec, budget)
            )

        made, local = reader(first, reading), bool(documents)
        try:
            second = reader(debate, debating) if debate else None
        except RedargueError:
            made.close()
            raise
        return Readers(made, second, local=local, debate_local=bool(local and debate and not _has_model(debate)))

    def _configs(self, plan: Plan) -> tuple[RunSpec, RunSpec | None]:
        """Of the first reader and of the debate."""
        operator = self.settings.spec
        spec = operator.updated(as_of=plan.as_of or operator.as_of)
        own: dict[str, object] = {"method": FIRST_READER, "settings": {}, "backend": "embedded", "model": ""}
        own |= {"models": {}, "prompts": None, "mcp": (), "budget": None, "min_confidence": None}
        reading = spec.model_copy(update=own)
        if plan.method == FIRST_READER and not _has_model(operator):
            return reading, None
        rules = RequestRules(spec.model_copy(update={"budget": None}), tools=spec.tools)
        debating = rules.spec_for(RunChoices(method=plan.method))
        return reading, debating.model_copy(update={"budget": self._budget(plan)})

    def _budget(self, plan: Plan) -> str | None:
        """Of one answer; small models cost neither tokens nor money."""
        budget = plan.budget or self.settings.spec.budget
        if not budget or _has_model(self.settings.spec):
            return budget
        limits = Budget.parse(budget)
        kept = {"calls": limits.calls, "searches": limits.searches}
        return ",".join(f"{most}{unit}" for unit, most in kept.items() if most) or None

    async def close(self) -> None:
        entries = [*self._entries.values()]
        self._entries.clear()
        for entry in entries:
            entry.readers.cancel()
            _close_when_made(entry.readers)
        await asyncio.gather(*(entry.readers for entry in entries), return_exceptions=True)


class _ReadingBudget(Budget):
    """An answer's budget for its first reader, whose tokens cost nothing; the debate spends what is left."""

    def __init__(self, whole: Budget) -> None:
        super().__init__()
        self._whole = whole

    async def reserve(self, bound: Cost) -> None:
        await self._whole.reserve(bound)

    def hold(self, bound: Cost) -> bool:
        return self._whole.hold(bound)

    def settle(self, bound: Cost, actual: Cost) -> None:
        self._whole.settle(bound, actual._replace(tokens=0, usd=0.0))


def _budgets(budget: str | None, day: DayBudget | None) -> tuple[Budget | None, Budget | None]:
    """Of the first reader and of the debate; None for no limit."""
    if not budget:
        return (KeyBudget(day), KeyBudget(day)) if day else (None, None)
    own = Budget.parse(budget)
    whole = KeyBudget(day, own) if day else own
    return _ReadingBudget(whole), whole


def _has_model(spec: RunSpec) -> bool:
    return bool(spec.model or spec.backend not in ("", "embedded"))


async def _in_turn(made: asyncio.Task[Readers], turn: _Turn) -> Readers:
    """Readers that several answers may share, with the turn of one."""
    return replace(await asyncio.shield(made), turn=turn)


def _seen(task: asyncio.Task[Readers]) -> None:
    """Takes note of the error of readers that no answer may need."""
    if not task.cancelled():
        task.exception()


def _close_when_made(readers: asyncio.Task[Readers]) -> None:
    def close(made: asyncio.Task[Readers]) -> None:
        if not made.cancelled() and not made.exception():
            made.result().close()

    readers.add_done_callback(close)


@dataclass(eq=False)
class _Read:
    """One sentence: the task that checks it, and what the first reader found; hashed by its identity."""

    sentence: Sentence
    task: asyncio.Task[tuple[CheckedClaim, ...]]
    first: tuple[CheckedClaim, ...] | None = None


@dataclass(frozen=True)
class Checked:
    """What was found out about an answer by a moment.

    Attributes:
        late: sentences whose check had not finished.
        failed: why sentences could not be checked, with their numbers; the error's class name.
        problem: why the answer as a whole was not checked: ``no_context``, ``checker_down``, ``too_long``; or empty.
    """

    text: str
    sentences: tuple[Sentence, ...]
    claims: tuple[CheckedClaim, ...]
    late: tuple[Sentence, ...] = ()
    failed: tuple[tuple[Sentence, str], ...] = ()
    problem: str = ""
    structured: int = 0  # values of a JSON answer that may state something and are not text
    ms: float = 0.0  # after the answer's end


@dataclass
class AnswerCheck:
    """The check of one answer, to which text is added as it arrives; a JSON answer is read when it is whole."""

    readers: asyncio.Task[Readers]
    _segmenter: Segmenter = field(default_factory=Segmenter)
    _reads: list[_Read] = field(default_factory=list)
    _sentences: list[Sentence] = field(default_factory=list)
    _held: str = ""  # a structure so far, or what may become one
    _prose: bool = False
    _structured: int = 0
    _problem: str = ""
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TEXT_CONCURRENCY))

    @property
    def text(self) -> str:
        return self._segmenter.text + self._held

    @property
    def is_empty(self) -> bool:
        """Whether no text was added; one that could not be read is not empty."""
        return not self._problem and not self.text.strip()

    @property
    def progress(self) -> str:
        """Sentences checked, and those complete so far: ``3/5``."""
        return f"{sum(read.task.done() for read in self._reads)}/{len(self._reads)}"

    def add(self, text: str) -> None:
        if self._problem:
            return
        held = self._held + text
        self._held = "" if self._prose or begins(held[:_HEAD]) is False else held
        if len(self._held) > MAX_LENGTH:
            self._problem = "too_long"
        elif not self._held:
            self._prose = True
            self._read(held)

    def _read(self, text: str, *, ended: bool = False) -> None:
        try:
            self._start([*self._segmenter.add(text), *(self._segmenter.end() if ended else ())])
        except UsageError:  # half a character is one at the end, too
            long = len(self._segmenter.text) > MAX_LENGTH
            self._problem = "too_long" if long else "unreadable_answer"

    def _end(self) -> None:
        held, self._held = self._held, ""
        try:
            structure = structure_of(held) if held else None
        except UsageError:
            self._problem = "unreadable_answer"
        else:
            if structure is None:
                self._structured = int(has_object(self._segmenter.text + held))
                self._read(held, ended=True)
                return
            self._start(structure.sentences)
            self._structured = structure.unread
        self._held = held

    def _start(self, new: Sequence[Sentence]) -> None:
        for sentence in new:
            self._sentences.append(sentence)
            window = self._sentences[-BEFORE - 1 :]
            task = asyncio.create_task(self._check(len(self._sentences) - 1, window))
            self._reads.append(_Read(sentence, task))

    async def _check(self, number: int, window: Sequence[Sentence]) -> tuple[CheckedClaim, ...]:
        readers = await asyncio.shield(self.readers)
        async with self._slots, readers.reading:
            claims = await readers.first.check_sentence(window)
        if not readers.debate:
            return claims
        self._reads[number].first = claims
        async with self._slots, readers.debating:
            verdicts = await gather_or_cancel(_debated(claim, readers.debate) for claim in claims)
        return tuple(verdicts)

    async def finish(self, seconds: float) -> Checked:
        """Waits for the rest, up to so many seconds; what has not finished then is cancelled."""
        began = time.monotonic()
        if not self._problem:
            self._end()
        tasks = [read.task for read in self._reads]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        late = {read for read in self._reads if not read.task.done() or read.task.cancelled()}
        await self.cancel()
        claims: list[CheckedClaim] = []
        failed: list[tuple[Sentence, str]] = []
        for read in self._reads:
            if read in late:
                claims += read.first or ()
                continue
            error = read.task.exception()
            if isinstance(error, NoEvidence):
                self._problem = self._problem or "no_context"
            elif error:
                failed.append((read.sentence, type(error).__name__))
            else:
                claims += read.task.result()
        return Checked(
            text=self.text,
            sentences=tuple(self._sentences),
            claims=tuple(claims),
            late=tuple(read.sentence for read in self._reads if read in late),
            failed=tuple(failed),
            problem=self._problem,
            structured=self._structured,
            ms=1000 * (time.monotonic() - began),
        )

    async def cancel(self) -> None:
        tasks = [read.task for read in self._reads]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def check_text(text: str, readers: asyncio.Task[Readers], seconds: float) -> Checked:
    """The check of a whole text, for which it takes up to so many seconds."""
    answer = AnswerCheck(readers)
    try:
        answer.add(text)
        return await answer.finish(seconds)
    finally:
        await answer.cancel()


async def _debated(claim: CheckedClaim, debate: _Reader) -> CheckedClaim:
    verdict = claim.verdict
    doubtful = verdict.meaning is not Meaning.SUPPORTED or verdict.unsure or verdict.error
    if verdict.unchecked or not doubtful:
        return claim
    return claim.model_copy(update={"verdict": await debate.verify(verdict.claim)})
