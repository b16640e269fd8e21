"""Methods on a data set: the same claims, the same world of evidence, one run folder each.

A bench folder holds ``bench.json`` (sample, contenders, options) and a run folder for every contender. The same command
again goes on where it stopped; scoring again asks no model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_origin

from redargue.claims import Frozen
from redargue.errors import RecordError, ReplayMiss, UsageError
from redargue.evals.datasets.base import Example
from redargue.evals.datasets.catalogue import load
from redargue.events import ClaimEnded, EvidenceFound
from redargue.evidence import Passage
from redargue.ledger.record import Record, read_events
from redargue.models.embedder import Embedder
from redargue.protocols.base import configure, methods
from redargue.tools.base import PerClaim, Tool
from redargue.tools.frozen import FrozenEvidence
from redargue.tools.shared import SharedTool
from redargue.verdicts import Verdict
from redargue.verifier import Verifier

DEBATED = "debated"
FROZEN, FROZEN_WORDS = "frozen", "frozen-words"
_SEED = re.compile(r"#\d+$")


class Contender(Frozen):
    """One row of a table.

    Attributes:
        spec: as it was given: ``METHOD[@PROFILE][:SETTING=VALUE,…][#SEED]``.
        method: registered name.
        profile: of the method.
        settings: that differ from the profile's.
        seed: of the run; None for the bench's.
    """

    spec: str
    method: str
    profile: str = "hardened"
    settings: dict[str, Any] = {}  # noqa: RUF012  (pydantic copies it)
    seed: int | None = None

    @classmethod
    def parse(cls, spec: str) -> Contender:
        """Reads ``tool-mad@paper:rounds=1,debaters=corpus+wikipedia#7``.

        Raises:
            UsageError: a setting without a value; an unknown method, profile or setting; a seed that is no number.
        """
        plain, sign, number = spec.rpartition("#") if _SEED.search(spec) else (spec, "", "")
        name, _, rest = plain.partition(":")
        method, _, profile = name.partition("@")
        settings: dict[str, Any] = {}
        for pair in rest.split(",") if rest else ():
            key, equals, value = pair.partition("=")
            if not equals or not key.strip():
                raise UsageError(f"cannot read {pair!r}", where=spec, hint="write it like tool-mad:rounds=1,top_k=5")
            name = key.strip().replace("-", "_")
            settings[name] = value.strip().split("+") if name in _lists(method) else _value(value.strip())
        configure(method, profile or "hardened", settings)
        seed = int(number) if sign else None
        return cls(spec=spec, method=method, profile=profile or "hardened", settings=settings, seed=seed)

    def seeded(self, seed: int) -> Contender:
        """The same method with another seed."""
        return self.model_copy(update={"spec": f"{self.unseeded}#{seed}", "seed": seed})

    @property
    def unseeded(self) -> str:
        """What contenders that differ in their seed alone have in common."""
        return self.spec if self.seed is None else self.spec.rpartition("#")[0]

    @property
    def slug(self) -> str:
        """Its folder's name."""
        plain = re.sub(r"[^a-z0-9.]+", "-", self.spec.lower()).strip("-")
        return plain if len(plain) <= 60 else f"{plain[:50]}-{hashlib.sha256(self.spec.encode()).hexdigest()[:8]}"

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it asks."""
        return configure(self.method, self.profile, self.settings).tools()


class Outcome(NamedTuple):
    """One claim's verdict, and the seconds it took when it was reached."""

    verdict: Verdict
    seconds: float


class Bench:
    """Contenders over one sample, in a folder.

    Args:
        folder: made where it is missing.
        examples: what is checked.
        contenders: in the order in which they run; the tool ``debated`` gives what the first of them read.
        sample: how the examples were taken, as JSON; another sample is another bench.
        options: of the verifiers (``model``, ``store``, ``seed``, …).
        pages: the corpus in the data set's own format, for metrics that count sentences; None: documents are counted.
        arguments: of the command line that are neither sample nor contenders, written down to be repeated.

    Raises:
        UsageError: the folder holds another bench, or two contenders are the same.
    """

    def __init__(
        self,
        folder: Path,
        examples: Sequence[Example],
        contenders: Sequence[Contender],
        *,
        sample: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
        pages: Path | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self.pages, self.arguments = pages, tuple(arguments)
        self.folder, self.examples, self.contenders = folder, tuple(examples), tuple(contenders)
        self.sample = dict(sample)
        self.options = dict(options or {})
        if len({each.slug for each in contenders}) < len(contenders):
            raise UsageError("the same contender twice", hint="each --method once")
        about = {
            "sample": self.sample,
            "contenders": [each.model_dump(mode="json") for each in contenders],
            "claims": hashlib.sha256(json.dumps([each.claim.text for each in examples]).encode()).hexdigest(),
            "arguments": self.arguments,
        }
        path = folder / "bench.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.exists():
                self._compare(json.loads(path.read_text(encoding="utf-8")), about)
            path.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{str(folder)!r} cannot be a bench folder: {error.strerror}") from error

    @staticmethod
    def _compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        """Contenders may be added; the sample stays."""
        for name in ("sample", "claims"):
            if old.get(name) != json.loads(json.dumps(new[name])):
                raise UsageError(
                    f"the folder holds a bench with another {name}",
                    hint="give --out another folder, or the same sample",
                )

    async def run(
        self, contender: Contender, *, at_once: int = 2, seen: Callable[[int, Outcome], None] | None = None
    ) -> list[Outcome]:
        """Runs one contender, or goes on with it; every claim ends in a verdict or a typed error."""
        claims = [example.claim for example in self.examples]
        seconds: dict[int, float] = {}

        def listen(event: Any) -> None:
            if isinstance(event, ClaimEnded):
                seconds[event.item] = event.at

        with Verifier(
            method=contender.method,
            profile=contender.profile,
            settings=contender.settings,
            evidence=self.evidence(contender),
            folder=self.folder / contender.slug,
            claims=claims,
            **self.options | ({} if contender.seed is None else {"seed": contender.seed}),
        ) as verifier:
            self._share(verifier)
            async for item, verdict in verifier.stream(claims, at_once=at_once, listeners=[listen]):
                if seen:
                    seen(item, Outcome(verdict, seconds.get(item, 0.0)))
        return self.outcomes(contender)

    def evidence(self, contender: Contender) -> dict[str, Tool | PerClaim]:
        """The evidence that belongs to single claims, where the contender's tools name it."""
        found: dict[str, Tool | PerClaim] = {}
        passages = [example.passages for example in self.examples]
        if FROZEN in contender.tools:
            found[FROZEN] = FrozenEvidence(passages, encoder=Embedder())
        if FROZEN_WORDS in contender.tools:
            found[FROZEN_WORDS] = FrozenEvidence(passages, name=FROZEN_WORDS)
        if DEBATED in contender.tools:
            first = self.contenders[0].unseeded
            seeds = {each.seed: each for each in self.contenders if each.unseeded == first}
            debate = seeds.get(contender.seed, self.contenders[0])
            if debate.slug == contender.slug:
                raise UsageError(f"{contender.spec!r} comes first, and nothing was debated yet", where="--method")
            found[DEBATED] = FrozenEvidence(self.read_by(debate), name=DEBATED, whole=True)
        return found

    def read_by(self, contender: Contender) -> list[tuple[Passage, ...]]:
        """All passages that a contender's agents were given, claim by claim, each once, in the order of their finding.

        Raises:
            RecordError: it has not finished every claim.
        """
        found: list[dict[str, Passage]] = [{} for _ in self.examples]
        ended = set()
        for event in read_events(self.folder / contender.slug):
            if isinstance(event, EvidenceFound):
                for passage in event.passages:
                    found[event.item].setdefault(passage.sha256, passage)
            elif isinstance(event, ClaimEnded):
                ended.add(event.item)
        if len(ended) < len(self.examples):
            raise RecordError(f"{contender.spec!r} has not finished", hint="run it first: it comes before in --method")
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
        from redargue.api import replay_claim

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
        UsageError: no bench folder, or the data set is another than it was.
    """
    try:
        about = json.loads((folder / "bench.json").read_text(encoding="utf-8"))
        sample, contenders = about["sample"], [Contender.model_validate(each) for each in about["contenders"]]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{str(folder)!r} is no bench folder", hint="it has a bench.json") from error
    take = "group" if sample["per_group"] else sample["how"]
    loaded = load(
        sample["dataset"],
        path,
        limit=sample["limit"],
        take=take,
        half=sample["half"],
        seed=sample["seed"],
        **{name: _value(value.lower() if value in ("True", "False") else value) for name, value in sample["options"]},
    )
    return Bench(folder, loaded.examples, contenders, sample=loaded.sample.model_dump(mode="json"))


def _lists(method: str) -> set[str]:
    """The settings of a method that are lists, written with a plus between their items."""
    fields = methods[method].options.model_fields
    return {name for name, field in fields.items() if get_origin(field.annotation) is tuple}


def _value(text: str) -> Any:
    """A setting's value: JSON where it is JSON, else text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
