"""Which evidence a verdict stands on: a recorded claim is verified again with passages taken away.

The evidence of a debate is what its searches returned. Taking passages away means the same method, settings and backend
with tools that give the recorded answers without those passages; a query that was not recorded finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from redargue.analysis.minimal_set import Finder, How
from redargue.api import config_of
from redargue.assembly import read_prompts
from redargue.backends.base import Backend, backends
from redargue.claims import Claim, Frozen
from redargue.errors import RecordError, ToolFailed, UsageError
from redargue.events import EvidenceFound, EvidenceMissing
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.net.services import limiter, services
from redargue.net.transport import Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.retrieval.tools.base import Search
from redargue.runs.budget import Budget
from redargue.runs.manifest import RunManifest, ToolEntry
from redargue.runs.prices import Prices
from redargue.runs.record import Record, read_events
from redargue.verdicts import ErrorInfo, Verdict
from redargue.verifier import Verifier

IDENTITY = re.compile(r"chat:(\S+) (.+) form=(\S+) max=(\d+) prompts=\S* embeddings=(.*)")

Seen = Callable[[int, int, Verdict], None]
"""Told of each verification: its number, how many passages were taken away, what came out."""

TOLD: Mapping[How, str] = {
    "smallest": "smallest: every smaller set was tried, and none flips the verdict",
    "minimal": "minimal by removal, found greedily; not proved smallest",
    "some": "enough to flip the verdict, but perhaps not all of it is needed: the search ended before",
    "none": "no set that was tried flips the verdict",
}


class Taken(Frozen):
    """A passage of the set.

    Attributes:
        passage: as it was found.
        quoted: what the verdict quotes from it.
    """

    passage: Passage
    quoted: tuple[str, ...] = ()


class Why(Frozen):
    """What a verdict stands on.

    Attributes:
        run: folder.
        item: the claim's place in it, from 0.
        claim: as it was checked.
        before: the label with all its evidence.
        after: the label without the set; None where no set flips it.
        taken: the set; empty where there is none.
        how: how sure it is that there is none smaller.
        told: the same in words.
        evidence: how many passages the debate was given, each counted once.
        without_all: the label without any evidence; None where that was not tried.
        unrecorded: searches, in the verification without the set, whose query was not recorded: they found nothing.
        verifications: how many were held, the first with all evidence.
        calls: that they cost.
        usd: likewise; None where no price is known.
        error: what ended the search early.
    """

    schema_version: Literal[1] = 1
    run: str
    item: int
    claim: Claim
    before: str | None
    after: str | None = None
    taken: tuple[Taken, ...] = ()
    how: How
    told: str
    evidence: int
    without_all: str | None = None
    unrecorded: int = 0
    verifications: int
    calls: int = 0
    usd: float | None = None
    error: ErrorInfo | None = None


class Recorded:
    """A finished claim of a run folder, with its evidence; nothing is written there.

    Args:
        folder: the run folder.
        item: which claim, from 0; None where the run has one.

    Raises:
        RecordError: no run, or the claim has no verdict there.
        UsageError: no such claim, or several to choose from.
    """

    def __init__(self, folder: Path, item: int | None = None) -> None:
        record = Record(folder, mode="replay")
        self.folder, self.manifest = folder, record.manifest
        many = len(self.manifest.claims)
        if item is None and many > 1:
            raise UsageError(f"{str(folder)!r} holds {many} claims", hint=f"choose one: --item 0 to {many - 1}")
        self.item = item or 0
        if not 0 <= self.item < many:
            raise UsageError(f"{str(folder)!r} has no claim {self.item}", hint=f"--item 0 to {many - 1}")
        verdict = record.verdict(self.item)
        if verdict is None:
            raise RecordError(f"claim {self.item} of {str(folder)!r} has no verdict", hint="resume the run first")
        self.verdict: Verdict = verdict
        self.answers: dict[tuple[str, str], EvidenceFound | EvidenceMissing] = {}
        found: dict[str, Passage] = {}
        for event in read_events(folder):
            if event.item == self.item and isinstance(event, EvidenceFound | EvidenceMissing):
                self.answers.setdefault((event.tool, event.query), event)
                for passage in event.passages if isinstance(event, EvidenceFound) else ():
                    known = found.get(passage.sha256)
                    found[passage.sha256] = passage if not known or passage.rank < known.rank else known
        self.evidence = {name: found[name] for name in sorted(found, key=lambda name: self._order(found[name]))}

    def quoted(self, passage: Passage) -> tuple[str, ...]:
        """What the verdict quotes from a passage, whoever found it."""
        return tuple(each.text for each in self.verdict.quotes if each.found and each.text in passage.text)

    def _order(self, passage: Passage) -> tuple[bool, int]:
        return not self.quoted(passage), passage.rank

    def verifier(
        self,
        *,
        backend: Backend | None = None,
        base_url: str = "",
        budget: Budget | None = None,
        offline: bool = False,
    ) -> Verifier:
        """The run's method, settings and backend once more, with the recorded answers for tools.

        Args:
            backend: who plays the roles; the recorded one by default.
            base_url: of the models' endpoint, before the environment's.
            budget: of all verifications together.
            offline: sends nothing that leaves this machine.

        Raises:
            UsageError: the recorded backend cannot be had here; says what differs.
        """
        return Verifier(
            config_of(self.manifest),
            backend=backend or _again(self.manifest, base_url, offline=offline),
            evidence={name: _Remembered(entry, name, self) for name, entry in self.manifest.tools.items()},
            budget=budget,
        )


class _Remembered:
    """A tool that gives the recorded answers without the passages that were taken away."""

    def __init__(self, entry: ToolEntry, known_as: str, recorded: Recorded) -> None:
        self.name, self.about, self.revision = entry.name, entry.about, entry.revision
        self._known_as, self._answers = known_as, recorded.answers
        self.removed: frozenset[str] = frozenset()
        self.unrecorded = 0

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        known = self._answers.get((self._known_as, query))
        if isinstance(known, EvidenceMissing):
            raise ToolFailed(known.why)
        self.unrecorded += known is None
        return tuple(each for each in (known.passages if known else ()) if each.sha256 not in self.removed)


def _again(manifest: RunManifest, base_url: str, *, offline: bool) -> Backend:
    """The recorded backend.

    The key of the user's own endpoint goes nowhere else: an address that a run folder names is compared, never used.
    """
    name = manifest.backend
    if name == "embedded":
        made: Backend = EmbeddedBackend()
    elif name == "chat" and (match := IDENTITY.fullmatch(manifest.identity)):
        place, model, form, most, embeddings = match.groups()
        service = services(base_url)["model"]
        if service.place != place:
            raise UsageError(
                f"the run's models were at {place}, not at {service.place}",
                hint=f"if that is right: --base-url {place}",
            )
        made = ChatBackend(
            Transport(limiter(), offline=offline),
            service,
            model,
            embedding_model="" if embeddings == EmbeddedBackend().identity else embeddings,
            prices=Prices.read(),
            prompts=read_prompts(manifest.prompts),
            form=form,
            max_tokens=int(most),
        )
    elif name in backends:
        raise UsageError(f"a run with the backend {name!r} can be verified again from Python alone")
    else:
        raise UsageError(f"there is no backend {name!r} any more")
    if made.identity != manifest.identity:
        raise UsageError(
            f"the run's backend was {manifest.identity!r}, and this is {made.identity!r}",
            hint="verify the claim again, and ask for that run",
        )
    return made


class _Ended(Exception):
    """The search may verify no more."""


async def why(recorded: Recorded, verifier: Verifier, *, most: int = 60, seen: Seen | None = None) -> Why:
    """Looks for the smallest set of passages without which the verdict is another.

    Args:
        recorded: the claim.
        verifier: as :meth:`Recorded.verifier` makes it.
        most: verifications at most, the one with all evidence included.
        seen: called after each.

    Raises:
        RecordError: verified again with all its evidence, the claim comes out otherwise: taking evidence away would
            show nothing.
    """
    trials = _Trials(recorded, verifier, most, seen)
    finder = Finder(list(recorded.evidence), trials.flips)
    async with verifier.transport:
        try:
            await trials.control()
            await finder.find()
        except _Ended:
            pass
    how: How = finder.how if finder.best else "none"
    best = finder.best or frozenset()
    without_all = trials.without(frozenset(recorded.evidence)) if recorded.evidence else None
    told = TOLD[how]
    if how == "none" and without_all is not None:
        told += ", and neither does taking away all evidence"
    elif how == "none" and trials.silent(frozenset(recorded.evidence)):
        told += "; without any evidence there is no answer at all"
    if how == "none" and trials.ended:
        told += f"; the search ended after {trials.held} verifications"
    if trials.failed:
        told += f"; {trials.failed} verifications ended in an error and count as no flip"
    return Why(
        run=str(recorded.folder),
        item=recorded.item,
        claim=recorded.verdict.claim,
        before=recorded.verdict.label,
        after=trials.without(best) if best else None,
        taken=tuple(
            Taken(passage=passage, quoted=recorded.quoted(passage))
            for name, passage in recorded.evidence.items()
            if name in best
        ),
        how=how,
        told=told if recorded.evidence else "the debate was given no evidence: there is nothing to take away",
        evidence=len(recorded.evidence),
        without_all=without_all,
        unrecorded=trials.unrecorded.get(best, 0),
        verifications=trials.held,
        calls=trials.calls,
        usd=round(trials.usd, 9) if verifier.priced else None,
        error=trials.error,
    )


class _Trials:
    """Verifies with passages taken away, each set once."""

    def __init__(self, recorded: Recorded, verifier: Verifier, most: int, seen: Seen | None) -> None:
        self._recorded, self._verifier, self._most, self._seen = recorded, verifier, most, seen
        self._known: dict[frozenset[str], Verdict] = {}
        self.unrecorded: dict[frozenset[str], int] = {}
        self.held = self.calls = self.failed = 0
        self.usd = 0.0
        self.error: ErrorInfo | None = None
        self.ended = False

    async def control(self) -> None:
        """With all evidence, it has to come out as recorded."""
        verdict = await self._verdict(frozenset())
        if verdict.label != self._recorded.verdict.label:
            raise RecordError(
                f"verified again with all its evidence, the claim comes out as {verdict.label!r}, not as"
                f" {self._recorded.verdict.label!r}: taking evidence away would show nothing",
                where=str(self._recorded.folder),
                hint="the model does not answer alike twice, or the code has changed since",
            )

    async def flips(self, removed: frozenset[str]) -> bool:
        """Whether there is another label without these passages; no answer at all is none."""
        label = (await self._verdict(removed)).label
        return label is not None and label != self._recorded.verdict.label

    def without(self, removed: frozenset[str]) -> str | None:
        """The label without these passages; None where that was not tried."""
        return known.label if (known := self._known.get(removed)) else None

    def silent(self, removed: frozenset[str]) -> bool:
        """Whether it was tried, and gave no label."""
        known = self._known.get(removed)
        return known is not None and known.label is None

    async def _verdict(self, removed: frozenset[str]) -> Verdict:
        if removed in self._known:
            return self._known[removed]
        if self.held >= self._most:
            self.ended = True
            raise _Ended
        tools = [each for each in self._verifier.tools.values() if isinstance(each, _Remembered)]
        for tool in tools:
            tool.removed, tool.unrecorded = removed, 0
        verdict = await self._verifier.verify(self._recorded.verdict.claim)
        self.held += 1
        self.calls += verdict.usage.calls
        self.usd += verdict.usage.usd or 0.0
        if verdict.error and (verdict.error.exit_code != 3 or not removed):  # 3: this debate failed; others go on
            self.error, self.ended = verdict.error, True
            raise _Ended
        self.failed += verdict.error is not None
        self._known[removed], self.unrecorded[removed] = verdict, sum(tool.unrecorded for tool in tools)
        if self._seen:
            self._seen(self.held, len(removed), verdict)
        return verdict
