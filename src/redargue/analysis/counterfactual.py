"""Finds the evidence that a recorded verdict depends on: verifies the claim again with passages removed.

The tools return the recorded answers without the removed passages; a query that was not recorded returns nothing.
Method, settings and backend are those of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal

from redargue.api import spec_of
from redargue.assembly import Parts, make_backend, method_of, read_prompts
from redargue.backends import Backend, backends
from redargue.claims import Claim, Frozen
from redargue.errors import RecordError, ToolFailed, UsageError
from redargue.events import EvidenceFound, EvidenceMissing
from redargue.evidence import Passage
from redargue.net.services import limiter, services
from redargue.net.transport import Transport
from redargue.retrieval.tools import Search
from redargue.runs.budget import Budget, Prices
from redargue.runs.manifest import RunManifest, ToolEntry
from redargue.runs.record import Record, read_events
from redargue.spec import RunSpec
from redargue.verdicts import ErrorInfo, Verdict
from redargue.verifier import Verifier

MAX_FOR_PAIRS = 12  # items up to which all pairs are tried

How = Literal["smallest", "minimal", "some", "none"]
"""Quality of a set: no smaller set works; no item can be restored; neither is known; no set was found."""

Flips = Callable[[frozenset[str]], Awaitable[bool]]


class MinimalSetSearch:
    """Searches for the smallest set of items whose removal changes an outcome, with few trials.

    It tries single items, then removes items one by one until the outcome flips, and restores those not needed.

    Args:
        order: names of the items, the most likely first.
        flips: whether the outcome changes without these items.
    """

    def __init__(self, order: Sequence[str], flips: Flips) -> None:
        self._order, self._flips = tuple(order), flips
        self.best: frozenset[str] | None = None
        self.how: How = "none"

    async def run(self) -> None:
        """Sets ``best`` and ``how``; if ``flips`` raises, they are the result so far."""
        for name in self._order:
            if await self._try([name], "smallest"):
                return
        if len(self._order) < 2:
            return
        await self._grow()
        await self._shrink()
        if self.best and len(self.best) == 2:
            self.how = "smallest"  # all single items were tried
        elif len(self._order) <= MAX_FOR_PAIRS:
            for pair in combinations(self._order, 2):
                if await self._try(pair, "smallest"):
                    return
            if self.best and len(self.best) == 3:
                self.how = "smallest"

    async def _try(self, removed: Iterable[str], how: How) -> bool:
        tried = frozenset(removed)
        if flips := await self._flips(tried):
            self.best, self.how = tried, how
        return flips

    async def _grow(self) -> None:
        await self._try(self._order, "some")  # if this does not flip, subsets rarely do
        for size in range(2, len(self._order)):
            if await self._try(self._order[:size], "some"):
                return

    async def _shrink(self) -> None:
        """Restores single items until none of the set can be restored."""
        if not self.best:
            return
        restored = True
        while restored:
            restored = False
            for name in reversed([name for name in self._order if name in self.best]):
                restored |= len(self.best) > 1 and await self._try(self.best - {name}, "some")
        self.how = "minimal"


OnVerified = Callable[[int, int, Verdict], None]
"""Called with the numbers of the verification and of removed passages, and the verdict."""


class RemovedPassage(Frozen):
    """A removed passage, and the verdict's quotations from it."""

    passage: Passage
    quoted: tuple[str, ...] = ()


class Counterfactual(Frozen):
    """A set of passages without which the verdict differs.

    Attributes:
        item: number of the claim in its run, from 1.
        before: label with all evidence.
        after: label without the set; None if no set was found.
        evidence: number of distinct passages in the debate.
        removed_all: whether the claim was verified without any evidence.
        without_all: label without any evidence; None also if there was no answer.
        unrecorded: number of searches without the set that returned nothing because their query was not recorded.
        verifications: including the first one, with all evidence.
        usd: None if no price is known.
        failed: number of verifications that failed, which count as unchanged.
        ended: the search ended early.
        error: ended the search early.
    """

    schema_version: Literal[2] = 2
    run: str
    item: int
    claim: Claim
    before: str | None
    after: str | None = None
    taken: tuple[RemovedPassage, ...] = ()
    how: How
    evidence: int
    removed_all: bool = False
    without_all: str | None = None
    unrecorded: int = 0
    verifications: int
    calls: int = 0
    usd: float | None = None
    failed: int = 0
    ended: bool = False
    error: ErrorInfo | None = None


class RecordedClaim:
    """A finished claim of a run folder, with its evidence, read-only.

    Args:
        number: of the claim, from 1; may be None if the run has one claim.
    """

    def __init__(self, folder: Path, number: int | None = None) -> None:
        record = Record(folder, mode="replay")
        self.folder, self.manifest = folder, record.manifest
        count = len(self.manifest.claims)
        if number is None and count > 1:
            hint = f"choose one: --item 1 to {count}"
            raise UsageError(f"{str(folder)!r} has {count:,} claims", hint=hint)
        self.number = number or 1
        self.item = self.number - 1
        if not 0 <= self.item < count:
            what = f"{str(folder)!r} has no claim {self.number}"
            raise UsageError(what, hint=f"--item 1 to {count}")
        verdict = record.verdict(self.item)
        if verdict is None:
            what = f"claim {self.number} of {str(folder)!r} has no verdict"
            raise RecordError(what, hint="resume the run first")
        self.verdict = verdict
        self.answers: dict[tuple[str, str], EvidenceFound | EvidenceMissing] = {}
        passages: dict[str, Passage] = {}
        for event in read_events(folder):
            if event.item == self.item and isinstance(event, EvidenceFound | EvidenceMissing):
                self.answers.setdefault((event.tool, event.query), event)
                for passage in event.passages if isinstance(event, EvidenceFound) else ():
                    known = passages.get(passage.sha256, passage)
                    passages[passage.sha256] = min(known, passage, key=_place)

        def order(passage: Passage) -> tuple[bool, int, str, str]:
            return not self.quoted(passage), *_place(passage), passage.sha256

        # By hash; quoted passages first. Whichever tool answered first, the order is the same.
        self.evidence = {passage.sha256: passage for passage in sorted(passages.values(), key=order)}

    def quoted(self, passage: Passage) -> tuple[str, ...]:
        """The verdict's quotations from a passage, whichever agent found it."""
        found = (quote.text for quote in self.verdict.quotes if quote.found)
        return tuple(text for text in found if text in passage.text)

    def verifier(
        self,
        *,
        backend: Backend | None = None,
        base_url: str = "",
        budget: Budget | None = None,
        offline: bool = False,
    ) -> Verifier:
        """A verifier with the run's method and settings, and the recorded answers as tools.

        The default backend is the recorded one; ``base_url`` overrides the environment.
        """
        spec = spec_of(self.manifest)  # first: it refuses settings that name a file
        tools = self.manifest.tools.items()
        parts = Parts(
            backend=backend or _recorded_backend(self.manifest, spec, base_url, offline=offline),
            evidence={name: _RecordedTool(entry, name, self) for name, entry in tools},
            budget=budget,
        )
        return Verifier(spec, parts=parts)


def _place(passage: Passage) -> tuple[int, str]:
    return passage.rank, passage.tool


class _RecordedTool:
    """A tool that returns the recorded answers without the removed passages."""

    def __init__(self, entry: ToolEntry, recorded_name: str, recorded: RecordedClaim) -> None:
        self.name, self.about, self.revision = entry.name, entry.about, entry.revision
        self._recorded_name, self._answers = recorded_name, recorded.answers
        own = (answer for (tool, _), answer in recorded.answers.items() if tool == recorded_name)
        self.whole = any(isinstance(answer, EvidenceFound) and answer.whole for answer in own)
        self.removed: frozenset[str] = frozenset()
        self.unrecorded = 0

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        answer = self._answers.get((self._recorded_name, query))
        if isinstance(answer, EvidenceMissing):
            raise ToolFailed(answer.why)
        if answer is None:
            self.unrecorded += 1
            return ()
        return tuple(passage for passage in answer.passages if passage.sha256 not in self.removed)


def _recorded_backend(manifest: RunManifest, spec: RunSpec, base_url: str, *, offline: bool) -> Backend:
    """The backend of a run.

    An address in a run folder is only compared, never used, so that the user's API key cannot be sent to it.
    """
    entry = manifest.backend
    if spec.backend not in backends:
        raise UsageError(f"the run's backend {spec.backend!r} no longer exists")
    if spec.backend not in ("chat", "embedded"):
        raise UsageError(f"a run with the backend {spec.backend!r} can only be verified again from Python")
    service = services(base_url)["model"]
    if spec.backend == "chat" and service.display_url != entry.address:
        what = f"the run's models were at {entry.address}, not at {service.display_url}"
        raise UsageError(what, hint=f"to use that address: --base-url {entry.address}")
    transport = Transport(limiter(), offline=offline)
    prompts = read_prompts(manifest.prompts)
    backend = make_backend(spec, method_of(spec), service, transport, Prices.read(), prompts=prompts)
    if backend.identity != entry.identity:
        what = f"the run's backend was {entry.identity!r}, this one is {backend.identity!r}"
        raise UsageError(what, hint="verify the claim again, and explain the new run")
    return backend


class _SearchEnded(Exception):
    """The search may not verify any more."""


async def find_counterfactual(
    recorded: RecordedClaim, verifier: Verifier, *, most: int = 60, on_verified: OnVerified | None = None
) -> Counterfactual:
    """Searches for the smallest set of passages without which the verdict differs.

    Verifies at most ``most`` times, including the first time with all evidence, which must give the recorded label.
    """
    trials = _Trials(recorded, verifier, most, on_verified)
    search = MinimalSetSearch(list(recorded.evidence), trials.flips)
    async with verifier.transport:
        try:
            await trials.check_baseline()
            await search.run()
        except _SearchEnded:
            pass
    best, everything = search.best or frozenset(), frozenset(recorded.evidence)
    return Counterfactual(
        run=str(recorded.folder),
        item=recorded.number,
        claim=recorded.verdict.claim,
        before=recorded.verdict.label,
        after=trials.label_without(best) if best else None,
        taken=tuple(
            RemovedPassage(passage=passage, quoted=recorded.quoted(passage))
            for name, passage in recorded.evidence.items()
            if name in best
        ),
        how=search.how,
        evidence=len(recorded.evidence),
        removed_all=everything in trials.verdicts,
        without_all=trials.label_without(everything) if everything else None,
        unrecorded=trials.unrecorded.get(best, 0),
        verifications=trials.count,
        calls=trials.calls,
        usd=round(trials.usd, 9) if verifier.priced else None,
        failed=trials.failed,
        ended=trials.ended,
        error=trials.error,
    )


class _Trials:
    """Verifies the claim with passages removed, each set once."""

    def __init__(self, recorded: RecordedClaim, verifier: Verifier, most: int, on_verified: OnVerified | None) -> None:
        self._recorded, self._verifier = recorded, verifier
        self._most, self._on_verified = most, on_verified
        self.verdicts: dict[frozenset[str], Verdict] = {}
        self.unrecorded: dict[frozenset[str], int] = {}
        self.count = self.calls = self.failed = 0
        self.usd = 0.0
        self.error: ErrorInfo | None = None
        self.ended = False

    async def check_baseline(self) -> None:
        label, recorded = (await self._verdict(frozenset())).label, self._recorded.verdict.label
        if label != recorded:
            raise RecordError(
                f"verified again with all its evidence, the claim gets the label {label!r} instead of {recorded!r}",
                where=str(self._recorded.folder),
                hint="the model's answers vary, or the code has changed since: removing evidence would show nothing",
            )

    async def flips(self, removed: frozenset[str]) -> bool:
        label = (await self._verdict(removed)).label  # a missing label does not count
        return label is not None and label != self._recorded.verdict.label

    def label_without(self, removed: frozenset[str]) -> str | None:
        return verdict.label if (verdict := self.verdicts.get(removed)) else None

    async def _verdict(self, removed: frozenset[str]) -> Verdict:
        if removed in self.verdicts:
            return self.verdicts[removed]
        if self.count >= self._most:
            self.ended = True
            raise _SearchEnded
        tools = [tool for tool in self._verifier.tools.values() if isinstance(tool, _RecordedTool)]
        for tool in tools:
            tool.removed, tool.unrecorded = removed, 0
        verdict = await self._verifier.verify(self._recorded.verdict.claim)
        self.count += 1
        self.calls += verdict.usage.calls
        self.usd += verdict.usage.usd or 0.0
        # Exit code 3: only this debate failed.
        if verdict.error and (verdict.error.exit_code != 3 or not removed):
            self.error, self.ended = verdict.error, True
            raise _SearchEnded
        self.failed += verdict.error is not None
        self.verdicts[removed] = verdict
        self.unrecorded[removed] = sum(tool.unrecorded for tool in tools)
        if self._on_verified:
            self._on_verified(self.count, len(removed), verdict)
        return verdict
