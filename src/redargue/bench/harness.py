"""Runs systems on the same claims and evidence.

A bench folder has a ``bench.json`` (sample, systems, options) and a run folder per system; running it
again resumes it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from redargue.assembly import Parts, connect, tools_setting
from redargue.bench import require_bench_extra
from redargue.bench.datasets import Example, apply_as_of, datasets, load
from redargue.bench.official_metrics import load_qrels, official_metrics
from redargue.bench.system import DEBATED, FROZEN, FROZEN_WORDS, System
from redargue.errors import RecordError, ReplayMiss, UsageError
from redargue.events import ClaimEnded, EvidenceChosen, passages_of
from redargue.evidence import Passage
from redargue.files import make_folder, open_to_read, replacing
from redargue.memory.memory import Memory, open_memory
from redargue.methods.base import configure, methods
from redargue.nli.session import shared
from redargue.registry import did_you_mean
from redargue.retrieval.tools import CachedTool, PerClaim, Tool
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.runs.manifest import load_manifest, read_description
from redargue.runs.record import Record, read_events, writing
from redargue.sanitize import counted
from redargue.spec import RunSpec
from redargue.verdicts import Verdict
from redargue.verifier import Verifier


def copy_memory(source: Path, copy: Path, *, whose: str, to: str) -> None:
    """Copies an evidence memory once; a file beside the copy records ``whose`` memory it is."""
    origin = copy.with_suffix(".from")
    if copy.exists():
        known = origin.read_text(encoding="utf-8") if origin.exists() else whose
        if known != whose:
            what = f"{to!r} has run, and its memory is that of {known!r}, not of {whose!r}"
            hint = "give --out another folder, or the memory that it had"
            raise UsageError(what, where=str(copy.parent), hint=hint)
        return
    if not source.exists():
        raise UsageError(f"no file {str(source)!r}: {whose!r} has left no memory", hint="run it first")
    beside = copy.with_suffix(".new")  # an interrupted copy must not be used
    beside.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(beside)) as new:
        old.backup(new)
    origin.write_text(whose, encoding="utf-8")
    beside.replace(copy)


def require_same_passages(run: Path, tool: str, revision: str, *, of: str) -> None:
    """Refuses to resume a run whose evidence tool, the passages read by the system ``of``, has changed."""
    try:
        known = load_manifest(run).tools[tool].revision
    except (RecordError, LookupError):
        return  # nothing has run yet; damage is reported when the run is opened
    if known != revision:
        what = f"claims of {of!r} were retried after {run.name!r} had read their passages"
        raise RecordError(what, hint=f"remove the folder {str(run)!r} to run it again")


def reset_peak() -> None:
    """Starts a new measurement of the peak of resident memory; does nothing on other systems than Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark falls to what is resident now


def resident_peak() -> int | None:
    """Bytes since the last reset; None on other systems."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)


BENCH = "bench.json"


class ClaimOutcome(NamedTuple):
    """A claim's verdict and the seconds from its start to it; while a system runs, 0 for an earlier run's verdict."""

    verdict: Verdict
    seconds: float


class Bench:
    """Systems on one sample, in a folder.

    Args:
        systems: in the order in which they run; the tool ``debated`` provides what the first of them read, or another.
        sample: how the examples were taken, as JSON.
        spec: base of each system's, which replaces method, profile, settings and seed.
        pages: the corpus in the data set's format, for metrics that count sentences; default: the recorded one.
        qrels: gold documents if they are listed apart from the claims (FEVER's pool); default: the recorded file.
        arguments: of the command line that are neither sample nor systems, for the systems that run now.

    Raises:
        UsageError: the folder has another bench, lacks a file it was scored with, or two systems are the same.
    """

    def __init__(
        self,
        folder: Path,
        examples: Sequence[Example],
        systems: Sequence[System],
        *,
        sample: Mapping[str, Any],
        spec: RunSpec | None = None,
        parts: Parts | None = None,
        pages: Path | None = None,
        qrels: Path | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self._arguments = list(arguments)
        self.folder, self.examples = folder, tuple(examples)
        self.sample = dict(sample)
        self.spec, self.parts = spec or RunSpec(), parts or Parts()
        self._claims = hashlib.sha256(json.dumps([example.claim.text for example in examples]).encode()).hexdigest()
        old = self._described()
        if old:
            self._require_same_sample(old)
        self.systems = _merged(map(System.model_validate, old.get("contenders", ())), systems)
        self.pages, self.qrels = _file("pages", pages, old), _file("qrels", qrels, old)
        self.relevant = load_qrels(self.sample["dataset"], self.qrels) if self.qrels else {}

    def peak(self, system: System) -> int | None:
        """Peak memory of the process while a system ran, in bytes; None if not measured."""
        peak = self._described().get("peaks", {}).get(system.slug)
        return peak if isinstance(peak, int) else None

    def arguments(self, system: System) -> tuple[str, ...]:
        return tuple(self._described().get("arguments", {}).get(system.slug, ()))

    def _require_same_sample(self, old: Mapping[str, Any]) -> None:
        there, here = old["sample"], json.loads(json.dumps(self.sample))
        pairs = {name: (there.get(name), here.get(name)) for name in {**there, **here}}
        differs = [f"{name}: {_brief(a)} there, {_brief(b)} here" for name, (a, b) in pairs.items() if a != b]
        if not differs and old.get("claims") != self._claims:
            differs = ["the same rows now give other claims"]
        if differs:
            what = f"{str(self.folder)!r} already holds a bench of another sample: {'; '.join(differs)}"
            raise UsageError(what, hint="give --out another folder, or the same sample")

    def _described(self) -> dict[str, Any]:
        return read_bench_file(self.folder) if (self.folder / BENCH).exists() else {}

    def _write(self, system: System, peak: int | None = None) -> None:
        old = self._described()
        known, peaks = old.get("contenders", []), dict(old.get("peaks", {}))
        if peak:
            peaks[system.slug] = max(peak, peaks.get(system.slug) or 0)
        new = [] if system in map(System.model_validate, known) else [system.model_dump(mode="json")]
        about = {
            "sample": self.sample,
            "contenders": [*known, *new],
            "claims": self._claims,
            "arguments": {**old.get("arguments", {}), system.slug: self._arguments},
            **{name: str(file) if file else None for name, file in (("pages", self.pages), ("qrels", self.qrels))},
            "peaks": peaks,
        }
        with _writing_errors(self.folder), replacing(self.folder / BENCH) as file:
            file.write((json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode())

    async def run(
        self, system: System, *, concurrency: int = 2, on_outcome: Callable[[int, ClaimOutcome], None] | None = None
    ) -> list[ClaimOutcome]:
        """Runs or resumes one system; calls ``on_outcome`` with each claim's index and outcome as they arrive.

        Raises UsageError if the folder cannot be written or the system's evidence is missing, RecordError if another
        process is writing there or the folder has another run.
        """
        require_bench_extra()
        dataset = self.sample["dataset"]
        metric = datasets[dataset].metric if dataset in datasets else None  # imported runs have no data set
        if metric is not None and metric not in official_metrics:  # before any claim
            hint = did_you_mean(metric, official_metrics)
            raise UsageError(f"unknown metric {metric!r} of the data set {dataset!r}", hint=hint)
        evidence = self.evidence(system)
        claims = [example.claim for example in self.examples]
        seconds: dict[int, float] = {}

        def listen(event: Any) -> None:
            if isinstance(event, ClaimEnded):
                seconds[event.item] = event.at

        with ExitStack() as stack:
            with _writing_errors(self.folder):
                make_folder(self.folder)
                stack.enter_context(writing(self.folder))
            reset_peak()
            memory = self.parts.memory
            if memory is None and (opened := self._memory(system)):
                memory = stack.enter_context(opened)
            if memory is not None:
                concurrency = 1  # the memory depends on the order of the claims
            spec = self._configured(system)
            parts = await connect(spec, replace(self.parts, evidence=evidence, memory=memory))
            run = self.folder / system.slug
            with Verifier(spec, parts=parts, folder=run, claims=claims) as verifier:
                self._write(system)  # after opening the verifier, which may refuse the run
                with _writing_errors(self.folder):
                    self._share(verifier)
                async for item, verdict in verifier.stream(claims, concurrency=concurrency, listeners=[listen]):
                    if on_outcome:
                        on_outcome(item, ClaimOutcome(verdict, seconds.get(item, 0.0)))
                for name, tool in verifier.tools.items():
                    if tool.revision != self.revisions(system).get(name):
                        raise _changed(name, f"while {system.spec!r} ran")
            self._write(system, resident_peak() if seconds else None)  # a run that was already finished has no peak
            return self.outcomes(system)

    def revisions(self, system: System) -> dict[str, str]:
        """The revision of each search tool when the system's run began."""
        try:
            about = read_description(self.folder / system.slug)
            return {name: tool["revision"] for name, tool in about["tools"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            return {}  # an imported run has no tools

    def require_same_sources(self) -> None:
        """Raises UsageError if two systems searched different revisions of a source."""
        first: dict[str, tuple[str, str]] = {}
        for system in self.systems:
            for name, revision in self.revisions(system).items():
                source = "corpus" if name == "keywords" else name  # two tools of one corpus
                known, other = first.setdefault(source, (revision, system.spec))
                if revision != known and source != DEBATED:
                    raise _changed(source, f"between {other!r} and {system.spec!r}")

    def _configured(self, system: System) -> RunSpec:
        """The configuration of a system; MCP servers are for methods whose agents call their tools, and for no others.

        With servers, such a method has no other tools unless its system names some.
        """
        spec = system.applied(self.spec)
        if not spec.mcp or not getattr(methods[system.method], "calls_actions", False):
            return spec.updated(mcp=())
        tools = tools_setting(system.method)
        return spec if tools in system.settings else spec.updated(settings={**system.settings, tools: ()})

    def _memory(self, system: System) -> Memory | None:
        """A memory for this system alone, initially empty, if its method uses one; never the user's."""
        settings = configure(system.method, system.profile, system.settings).settings
        remembering = getattr(settings, "remembering", None)
        if remembering is None:
            return None
        with _writing_errors(self.folder):
            return open_memory(_memory_of(self.folder, system), settings=remembering, write=True)

    def lend(self, folder: Path, owner: System, system: System) -> None:
        """Copies the memory of ``owner``'s run in another bench folder to a system that has not run yet."""
        source, copy = _memory_of(folder, owner), _memory_of(self.folder, system)
        with _writing_errors(self.folder):
            copy_memory(source, copy, whose=f"{folder.parent.name}, {owner.spec}", to=system.spec)

    def evidence(self, system: System) -> dict[str, Tool | PerClaim]:
        """The tools of a system that return passages fixed per claim."""
        evidence: dict[str, Tool | PerClaim] = {}
        passages = [example.passages for example in self.examples]
        if {FROZEN, FROZEN_WORDS} & set(system.tools) and not any(passages):
            what = f"{system.spec!r} needs evidence, and {self.sample.get('dataset')!r} has none"
            raise UsageError(what, hint="use --option with_evidence=true if the data set has it, or another tool")
        if FROZEN in system.tools:
            evidence[FROZEN] = FixedPassages(passages, encoder=shared())
        if FROZEN_WORDS in system.tools:
            evidence[FROZEN_WORDS] = FixedPassages(passages, name=FROZEN_WORDS)
        if DEBATED in system.tools:
            debate = self._debate_read_by(system)
            if not (self.folder / debate.slug).exists():
                hint = f"run {debate.spec!r} first: name it before"
                raise RecordError(f"{debate.spec!r} was never finished", where=system.spec, hint=hint)
            evidence[DEBATED] = read = FixedPassages(self.passages_read(debate), name=DEBATED, whole=True)
            require_same_passages(self.folder / system.slug, DEBATED, read.revision, of=debate.spec)
        return evidence

    def _debate_read_by(self, system: System) -> System:
        """The system whose passages the tool ``debated`` provides, preferably with the same seed."""
        first = system.reads or self.systems[0].unseeded
        seeds = {other.seed: other for other in self.systems if other.unseeded == first}
        if not seeds:
            what = f"{first!r} is not in this bench"
            raise UsageError(what, where=system.spec, hint=f"name it before: --method {first}")
        debate = seeds.get(system.seed) or next(iter(seeds.values()))
        if debate.slug == system.slug:
            raise UsageError(f"{system.spec!r} comes first, so there is no debate to read from", where="--method")
        return debate

    def passages_read(self, system: System) -> list[tuple[Passage, ...]]:
        """As :meth:`recorded_passages`; refuses systems with unfinished claims or budget or provider errors."""
        errors = [verdict.error for verdict, _ in self.outcomes(system) if verdict.error]
        if cut := {error.type for error in errors if error.exit_code in (4, 5)}:
            what = f"claims of {system.spec!r} ended in {', '.join(sorted(cut))}: their passages are incomplete"
            raise RecordError(what, hint="run the same command again to retry them, with a larger --budget if needed")
        return self.recorded_passages(system)

    def recorded_passages(self, system: System) -> list[tuple[Passage, ...]]:
        """The distinct passages recorded so far for each claim, in the order in which they were found.

        Of an agent that chose among its passages, only the chosen ones.
        """
        events = list(read_events(self.folder / system.slug))
        chosen: dict[tuple[int, str], set[str]] = {}
        for event in events:
            if isinstance(event, EvidenceChosen):
                chosen.setdefault((event.item, event.agent), set()).update(event.passages)
        passages: list[dict[str, Passage]] = [{} for _ in self.examples]
        for event in events:
            kept = chosen.get((event.item, getattr(event, "agent", "")))
            for passage in passages_of(event):
                if kept is None or passage.sha256 in kept:
                    passages[event.item].setdefault(passage.sha256, passage)
        return [tuple(of_claim.values()) for of_claim in passages]

    def outcomes(self, system: System) -> list[ClaimOutcome]:
        """The recorded outcomes of a system that has finished, in the order of the claims."""
        events = read_events(self.folder / system.slug)
        ended = {e.item: ClaimOutcome(e.verdict, e.at) for e in events if isinstance(e, ClaimEnded)}
        items = range(len(self.examples))
        if missing := sum(item not in ended for item in items):
            what = f"{counted(missing, 'claim')} of {system.spec!r} never finished"
            raise RecordError(what, hint="run the same command again to resume")
        return [ended[item] for item in items]

    async def rescore(self, system: System, settings: Mapping[str, Any]) -> tuple[list[Verdict | None], int]:
        """Replays the recorded debates with other settings (such as thresholds); calls no model.

        Returns a verdict per claim, None if the debate needs calls that were not recorded, and the number of those.
        """
        from redargue.api import replay_claim

        self.outcomes(system)
        record = Record(self.folder / system.slug, mode="replay")
        verdicts: list[Verdict | None] = []
        for item in range(len(self.examples)):
            try:
                verdicts.append(await replay_claim(record, item, settings={**system.settings, **settings}))
            except ReplayMiss:
                verdicts.append(None)
        return verdicts, verdicts.count(None)

    def _share(self, verifier: Verifier) -> None:
        """Caches online services, whose answers change, for all systems."""
        for name, tool in verifier.tools.items():
            if not isinstance(tool, PerClaim) and getattr(tool, "online", False):
                verifier.tools[name] = CachedTool(tool, self.folder / f"searches-{name}.jsonl")


def _merged(known: Iterable[System], new: Iterable[System]) -> tuple[System, ...]:
    """The systems of a bench folder and new ones; raises UsageError for a system given twice and for a shared run."""
    systems = {system.slug: system for system in known}
    given = set[str]()
    for system in new:
        other = systems.setdefault(system.slug, system)
        if other.spec != system.spec:
            what = f"the runs of {other.spec!r} and {system.spec!r} would have one folder, {system.slug!r}"
            raise UsageError(what, where="--method", hint="give --out another folder for one of them")
        if system.slug in given:
            raise UsageError(f"the same system twice: {system.spec!r}", hint="give each --method once")
        given.add(system.slug)
    return tuple(systems.values())


def _memory_of(folder: Path, system: System) -> Path:
    return folder / f"{system.slug}.memory.db"


def _brief(value: Any) -> str:
    """A value of a sample; counts and options as names with values."""
    pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    words = ", ".join(f"{name or 'hidden'}={count}" for name, count in value) or "none" if pairs else repr(value)
    return words if len(words) <= 120 else f"{words[:120]}…"


def _changed(source: str, when: str) -> UsageError:
    what = f"the source {source!r} changed {when}, so the systems did not search the same evidence"
    hint = "run them again in another folder, with a source that does not change meanwhile"
    return UsageError(what, hint=hint)


def reopen(folder: Path, path: Path) -> Bench:
    """Opens a bench folder and reads its examples again from the data set, which must not have changed."""
    about = read_bench_file(folder)
    sample = about["sample"]
    sampling = {name: sample[name] for name in ("limit", "half", "seed")}
    take, options = "group" if sample["per_group"] else sample["how"], dict(sample["options"])
    loaded = load(sample["dataset"], path, take=take, options=options, **sampling)
    examples, same = apply_as_of(
        loaded.examples,
        loaded.sample.model_dump(mode="json"),
        as_of=date.fromisoformat(sample["as_of"]) if "as_of" in sample else None,
        strict_as_of="only_in_time" in sample,
    )
    return Bench(folder, examples, (), sample=same)


def read_bench_file(folder: Path) -> dict[str, Any]:
    path = folder / BENCH
    try:
        with open_to_read(path) as file:
            about = json.loads(file.read())
        for fields in about["contenders"]:
            System.model_validate(fields)
        if not (about["sample"].keys() >= {"dataset", "options", "taken"} and isinstance(about["arguments"], dict)):
            raise ValueError("no sample, or no arguments")
    except FileNotFoundError:
        raise UsageError(f"{str(folder)!r} is not a bench folder", hint="a bench folder has a bench.json") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} is damaged", hint="restore it, or run the bench in another folder") from error
    return dict(about)


@contextmanager
def _writing_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"cannot use {str(folder)!r} as a bench folder: {error.strerror}"
        raise UsageError(what, hint="give --out another folder, or free disk space") from error


def _file(name: str, path: Path | None, old: Mapping[str, Any]) -> Path | None:
    """A file that a bench is scored with: the given one, otherwise the one recorded before, which must exist."""
    if path or not old.get(name):
        return path and path.absolute()
    known = Path(str(old[name]))
    if not known.is_file():  # nor a pipe or a device: the bench may be a stranger's
        what = f"{str(known)!r}, which this bench was scored with, is missing or not a file"
        hint = f"restore it, or run redargue bench run again with --{name} and its new path"
        raise UsageError(what, where=f"--{name}", hint=hint)
    return known
