"""Methods on a data set: the same claims, the same world of evidence, one run folder each.

A bench folder holds ``bench.json`` (sample, contenders, options) and a run folder for every contender. The same command
again goes on where it stopped; scoring again asks no model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from redargue.bench.datasets.base import Example
from redargue.bench.datasets.loading import load
from redargue.bench.evidence_spans import relevant
from redargue.bench.extra import require_bench_extra
from redargue.bench.memory_copy import lend, unchanged
from redargue.bench.memory_usage import begin, resident_peak
from redargue.bench.system import DEBATED, FROZEN, FROZEN_WORDS, Contender
from redargue.bench.temporal import judged
from redargue.config import Components, RunConfig
from redargue.errors import RecordError, ReplayMiss, UsageError
from redargue.events import ClaimEnded, passages_of
from redargue.evidence import Passage
from redargue.memory.memory import Memory, open_memory
from redargue.methods.base import configure
from redargue.nli.embedder import shared
from redargue.retrieval.tools.base import PerClaim, Tool
from redargue.retrieval.tools.frozen import FrozenEvidence
from redargue.retrieval.tools.shared import SharedTool
from redargue.runs.record import Record, read_events, writing
from redargue.verdicts import Verdict
from redargue.verifier import Verifier

BENCH = "bench.json"
MEMORY = ".memory.db"


class Outcome(NamedTuple):
    """One claim's verdict, and when it was reached, in seconds of its run; 0 while one is told that was known."""

    verdict: Verdict
    seconds: float


class Bench:
    """Contenders over one sample, in a folder.

    Args:
        folder: made where it is missing.
        examples: what is checked.
        contenders: in the order in which they run; the tool ``debated`` gives what the first of them read, or another.
        sample: how the examples were taken, as JSON; another sample is another bench.
        config: of the verifiers; contenders change its method, profile, settings and seed.
        components: of the verifiers.
        pages: the corpus in the data set's own format, for metrics that count sentences; None for the one that the
            folder was scored with before; without one, documents are counted.
        qrels: gold documents where they are listed apart from the claims (FEVER's pool); None likewise.
        arguments: of the command line that are neither sample nor contenders: of those that are run now.

    Attributes:
        relevant: gold documents by claim id; empty where they are not listed apart.

    Raises:
        UsageError: the folder holds another bench, lacks a file it was scored with, or two contenders are the same.
    """

    def __init__(
        self,
        folder: Path,
        examples: Sequence[Example],
        contenders: Sequence[Contender],
        *,
        sample: Mapping[str, Any],
        config: RunConfig | None = None,
        components: Components | None = None,
        pages: Path | None = None,
        qrels: Path | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self._given = list(arguments)
        self.folder, self.examples, self.contenders = folder, tuple(examples), tuple(contenders)
        self.sample = dict(sample)
        self.config, self.components = config or RunConfig(), components or Components()
        if len({each.slug for each in contenders}) < len(contenders):
            raise UsageError("the same contender twice", hint="each --method once")
        self._claims = hashlib.sha256(json.dumps([each.claim.text for each in examples]).encode()).hexdigest()
        old = self._described()
        if old:
            for name, value in (("sample", self.sample), ("claims", self._claims)):
                if old.get(name) != json.loads(json.dumps(value)):
                    raise UsageError(
                        f"the folder holds a bench with another {name}",
                        hint="give --out another folder, or the same sample",
                    )
            known = [Contender.model_validate(each) for each in old["contenders"]]
            self.contenders = (*known, *(each for each in contenders if each not in known))
        self.pages, self.qrels = _file("pages", pages, old), _file("qrels", qrels, old)
        self.relevant = relevant(self.sample["dataset"], self.qrels) if self.qrels else {}

    def peak(self, contender: Contender) -> int | None:
        """The greatest memory of the process while a contender ran, in bytes; None where it was not measured."""
        found = self._described().get("peaks", {}).get(contender.slug)
        return found if isinstance(found, int) else None

    def arguments(self, contender: Contender) -> tuple[str, ...]:
        """Those of the command line that ran a contender last."""
        return tuple(self._described().get("arguments", {}).get(contender.slug, ()))

    def _described(self) -> dict[str, Any]:
        return described(self.folder) if (self.folder / BENCH).exists() else {}

    def _write(self, contender: Contender, peak: int | None = None) -> None:
        """Adds a contender that begins, or its peak, to what the folder holds; the others stay."""
        path, old = self.folder / BENCH, self._described()
        known, peaks = old.get("contenders", []), dict(old.get("peaks", {}))
        if peak:
            peaks[contender.slug] = max(peak, peaks.get(contender.slug) or 0)
        new = contender.model_dump(mode="json")
        about = {
            "sample": self.sample,
            "contenders": known if new in known else [*known, new],
            "claims": self._claims,
            "arguments": {**old.get("arguments", {}), contender.slug: self._given},
            **{name: str(file) if file else None for name, file in (("pages", self.pages), ("qrels", self.qrels))},
            "peaks": peaks,
        }
        beside = path.with_suffix(".new")
        with _kept_in(self.folder):
            beside.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            beside.replace(path)

    async def run(
        self, contender: Contender, *, concurrency: int = 2, seen: Callable[[int, Outcome], None] | None = None
    ) -> list[Outcome]:
        """Runs one contender, or goes on with it; every claim ends in a verdict or a typed error.

        Args:
            contender: one of the bench's.
            concurrency: number of claims verified at the same time.
            seen: called with each claim's place and outcome, as they come.

        Raises:
            UsageError: the folder cannot be made or written, or the contender's evidence is not there.
            RecordError: another process is writing there, or the run in it is another.
        """
        require_bench_extra()
        evidence = self.evidence(contender)
        with ExitStack() as held:
            with _kept_in(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                held.enter_context(writing(self.folder))
            return await self._run(contender, evidence, concurrency, seen)

    async def _run(
        self,
        contender: Contender,
        evidence: dict[str, Tool | PerClaim],
        concurrency: int,
        seen: Callable[[int, Outcome], None] | None,
    ) -> list[Outcome]:
        claims = [example.claim for example in self.examples]
        begin()
        seconds: dict[int, float] = {}

        def listen(event: Any) -> None:
            if isinstance(event, ClaimEnded):
                seconds[event.item] = event.at

        config, own = contender.applied(self.config), None if self.components.memory else self._memory(contender)
        memory = self.components.memory or own
        if memory is not None:
            concurrency = 1  # what is recalled depends on the order of the claims: the data set's (M16)
        with (
            own or nullcontext(),
            Verifier(
                config,
                components=replace(self.components, evidence=evidence, memory=memory),
                folder=self.folder / contender.slug,
                claims=claims,
            ) as verifier,
        ):
            self._write(contender)  # not before: what was refused ran nothing
            with _kept_in(self.folder):
                self._share(verifier)
            async for item, verdict in verifier.stream(claims, concurrency=concurrency, listeners=[listen]):
                if seen:
                    seen(item, Outcome(verdict, seconds.get(item, 0.0)))
        self._write(contender, resident_peak())
        return self.outcomes(contender)

    def _memory(self, contender: Contender) -> Memory | None:
        """A memory of the contender's own, empty when it begins, where its method keeps one: never the user's."""
        wanted = getattr(
            configure(contender.method, contender.profile, contender.settings).settings, "remembering", None
        )
        if wanted is None:
            return None
        with _kept_in(self.folder):
            return open_memory(self.folder / f"{contender.slug}{MEMORY}", settings=wanted, write=True)

    def lend(self, folder: Path, owner: Contender, contender: Contender) -> None:
        """Gives a contender that has not begun the memory that another one's run has left.

        Args:
            folder: the bench folder of the owner's run.
            owner: whose memory.
            contender: who is given a copy.

        Raises:
            UsageError: there is no such memory, or the contender was given another one before.
        """
        source, copy = (place / f"{each.slug}{MEMORY}" for place, each in ((folder, owner), (self.folder, contender)))
        with _kept_in(self.folder):
            lend(source, copy, whose=f"{folder.parent.name}, {owner.spec}", to=contender.spec)

    def evidence(self, contender: Contender) -> dict[str, Tool | PerClaim]:
        """The evidence that belongs to single claims, where the contender's tools name it."""
        found: dict[str, Tool | PerClaim] = {}
        passages = [example.passages for example in self.examples]
        if {FROZEN, FROZEN_WORDS} & set(contender.tools) and not any(passages):
            raise UsageError(
                f"{self.sample.get('dataset')!r} brings no evidence along, and {contender.spec!r} asks for it",
                hint="--option with_evidence=true, where the data set has it; or another tool",
            )
        if FROZEN in contender.tools:
            found[FROZEN] = FrozenEvidence(passages, encoder=shared())
        if FROZEN_WORDS in contender.tools:
            found[FROZEN_WORDS] = FrozenEvidence(passages, name=FROZEN_WORDS)
        if DEBATED in contender.tools:
            debate = self._read_of(contender)
            if not (self.folder / debate.slug).exists():
                hint = f"run {debate.spec!r} first: name it before"
                raise RecordError(f"{debate.spec!r} was never finished", where=contender.spec, hint=hint)
            found[DEBATED] = read = FrozenEvidence(self.read_by(debate), name=DEBATED, whole=True)
            unchanged(self.folder / contender.slug, DEBATED, read.revision, of=debate.spec)
        return found

    def _read_of(self, contender: Contender) -> Contender:
        """Whose passages the tool ``debated`` gives a contender: with the same seed, where several have run."""
        first = contender.reads or self.contenders[0].unseeded
        seeds = {each.seed: each for each in self.contenders if each.unseeded == first}
        if not seeds:
            hint = f"name it before: --method {first}"
            raise UsageError(f"{first!r} is none of this bench", where=contender.spec, hint=hint)
        debate = seeds.get(contender.seed) or next(iter(seeds.values()))
        if debate.slug == contender.slug:
            raise UsageError(f"{contender.spec!r} comes first, and nothing was debated yet", where="--method")
        return debate

    def read_by(self, contender: Contender) -> list[tuple[Passage, ...]]:
        """All passages that a contender's agents were given, claim by claim, each once, in the order of their finding.

        Raises:
            RecordError: it has not finished every claim.
        """
        errors = [verdict.error for verdict, _ in self.outcomes(contender) if verdict.error]
        if cut := {error.type for error in errors if error.exit_code in (4, 5)}:
            raise RecordError(
                f"claims of {contender.spec!r} ended in {', '.join(sorted(cut))}: what it would have read is not known",
                hint="the same command tries them again, with a larger --budget say",
            )
        return self.found(contender)

    def found(self, contender: Contender) -> list[tuple[Passage, ...]]:
        """The passages that are recorded so far of each claim, each once, in the order of their finding."""
        found: list[dict[str, Passage]] = [{} for _ in self.examples]
        for event in read_events(self.folder / contender.slug):
            for passage in passages_of(event):
                found[event.item].setdefault(passage.sha256, passage)
        return [tuple(each.values()) for each in found]

    def outcomes(self, contender: Contender) -> list[Outcome]:
        """What is recorded of a contender, in the order of the claims.

        Raises:
            RecordError: it has not finished every claim.
        """
        folder = self.folder / contender.slug
        ended = {each.item: each for each in read_events(folder) if isinstance(each, ClaimEnded)}
        missing = [item for item in range(len(self.examples)) if item not in ended]
        if missing:
            raise RecordError(
                f"{len(missing)} claims of {contender.spec!r} were never finished", hint="the same command goes on"
            )
        return [Outcome(ended[item].verdict, ended[item].at) for item in range(len(self.examples))]

    async def rescore(self, contender: Contender, settings: Mapping[str, Any]) -> tuple[list[Verdict | None], int]:
        """What the recorded debates would have come to with other settings; no model is asked.

        Args:
            contender: has run.
            settings: instead of its own, thresholds say.

        Returns:
            A verdict a claim, None where the debate would have gone on to calls that were never made; and how many.
        """
        from redargue.playback import replay_claim

        self.outcomes(contender)
        folder = self.folder / contender.slug
        record = Record(folder, mode="replay")
        found: list[Verdict | None] = []
        for item in range(len(self.examples)):
            try:
                found.append(await replay_claim(record, item, settings={**contender.settings, **settings}))
            except ReplayMiss:
                found.append(None)
        return found, found.count(None)

    def _share(self, verifier: Verifier) -> None:
        """Puts services whose answers change behind one memory for all contenders."""
        for name, tool in verifier.tools.items():
            if not isinstance(tool, PerClaim) and getattr(tool, "online", False):
                verifier.tools[name] = SharedTool(tool, self.folder / f"searches-{name}.jsonl")


def reopened(folder: Path, path: Path) -> Bench:
    """A bench folder with its examples, read again from the data set.

    Raises:
        UsageError: no bench folder, the data set is another than it was, or a file that it was scored with is gone.
    """
    about = described(folder)
    sample, contenders = about["sample"], [Contender.model_validate(each) for each in about["contenders"]]
    take = "group" if sample["per_group"] else sample["how"]
    loaded = load(
        sample["dataset"],
        path,
        limit=sample["limit"],
        take=take,
        half=sample["half"],
        seed=sample["seed"],
        options=dict(sample["options"]),
    )
    examples, same = judged(
        loaded.examples,
        loaded.sample.model_dump(mode="json"),
        as_of=date.fromisoformat(sample["as_of"]) if "as_of" in sample else None,
        strict_as_of="only_in_time" in sample,
    )
    return Bench(folder, examples, contenders, sample=same)


def described(folder: Path) -> dict[str, Any]:
    """What a bench folder says it holds.

    ``sample``, ``claims``, ``contenders``; by contender ``arguments`` and ``peaks``; ``pages`` and ``qrels``, the files
    that it is scored with.

    Raises:
        UsageError: no bench folder, or its description is damaged.
    """
    path = folder / BENCH
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        slugs = [Contender.model_validate(each).slug for each in about["contenders"]]
        if isinstance(about.get("arguments"), list):  # one list for all, as folders of earlier versions have it
            about["arguments"] = dict.fromkeys(slugs, about["arguments"])
        if not about["sample"].keys() >= {"dataset", "options", "taken"}:
            raise ValueError("no sample")
    except FileNotFoundError:
        raise UsageError(f"{str(folder)!r} is no bench folder", hint="it has a bench.json") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{str(path)!r} is damaged", hint="restore it, or run again in another folder") from error
    return dict(about)


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    """Tells an error of the file system as one of the bench folder; for its own files and nothing else."""
    try:
        yield
    except OSError as error:
        what = f"{str(folder)!r} cannot be a bench folder: {error.strerror}"
        raise UsageError(what, hint="give --out another folder, or make room") from error


def _file(name: str, given: Path | None, old: Mapping[str, Any]) -> Path | None:
    """A file that a bench is scored with: as it is given, else as it was before.

    Raises:
        UsageError: it was there before, and is gone.
    """
    if given or not old.get(name):
        return given and given.absolute()
    known = Path(str(old[name]))
    if not known.exists():
        raise UsageError(
            f"{str(known)!r}, which this bench was scored with, is gone",
            where=f"--{name}",
            hint=f"put it back, or give redargue bench run again with --{name} and its new place",
        )
    return known
