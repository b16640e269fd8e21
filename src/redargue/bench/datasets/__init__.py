"""Examples, the interface of data sets, reproducible samples, and as-of dates.

A random choice ranks examples by a hash of seed and id: it depends neither on the file's order nor on a generator, and
a larger sample with the same seed contains the smaller one.

The labels of a data set are those of its time; a live search also finds what came later (temporal drift: Tool-MAD,
journal, §V-C).
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, dataclass_transform, get_args, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from redargue.claims import Claim, Frozen, LabelSet, with_strict_as_of
from redargue.errors import UsageError, problem_of
from redargue.events import Event, EvidenceFound
from redargue.evidence import Passage, Timing
from redargue.files import sha256_of
from redargue.inputs.rows import Row
from redargue.registry import Registry, accepts, did_you_mean, having


class GoldEvidence(Frozen):
    """One piece of gold evidence."""

    document: str  # page title or abstract id, as the data set writes it
    element: str = ""  # sentence number, or like ``cell_0_2_1``; empty for the whole document


class Example(Frozen):
    """One row of a data set."""

    id: str  # the data set's id, or the row number
    claim: Claim
    gold: str | None  # a label of the claim's label set; None if hidden
    evidence: tuple[tuple[GoldEvidence, ...], ...] = ()  # gold groups, each sufficient on its own
    passages: tuple[Passage, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()  # gold question-answer pairs (AVeriTeC)
    group: str = ""  # stratum (``2-hop``, ``qa``); empty if there is only one
    response: str = ""  # id of the longer text with the claim, whose claims are scored together
    row: int = Field(ge=1)  # in the file, from 1

    @classmethod
    def of(cls, row: Row, /, *, claim: Claim, gold: str | None, **attributes: Any) -> Example:
        """The example in a row; its id defaults to the row number."""
        return cls(**{"id": str(row.number), "row": row.number, "claim": claim, "gold": gold, **attributes})


@dataclass_transform(kw_only_default=True)
class Dataset(ABC):
    """Reads one data set's official format.

    A subclass is registered under its ``name``, and made a dataclass whose fields are the data set's options.
    """

    name: ClassVar[str]
    about: ClassVar[str]  # one-line description and source
    labels: ClassVar[LabelSet]
    metric: ClassVar[str]  # a name in ``bench.official_metrics``

    def __init_subclass__(cls, *, name: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name = name
        datasets.register(name)(dataclass(kw_only=True)(cls))

    @abstractmethod
    def read(self, path: Path) -> Iterator[Example]:
        """The examples of a file or folder, gzipped or not, in its order.

        Another format raises UsageError, which names the row, the field, its value and what was expected.
        """

    def example(self, row: Row, /, *, hidden: bool = False, **attributes: Any) -> Example:
        """The example in a row; by default, with the row's ``claim``, and its ``label`` unless that is hidden."""
        if "claim" not in attributes:
            attributes["claim"] = row.claim("claim", labels=self.labels)
        if "gold" not in attributes:
            attributes["gold"] = None if hidden else row.label("label", attributes["claim"].labels)
        return Example.of(row, **attributes)


def _missing(entry: object) -> str:
    if not (isinstance(entry, type) and issubclass(entry, Dataset)):
        return "it is not a subclass of Dataset"
    if inspect.isabstract(entry) or not accepts(entry.read, entry, Path()):
        return "it has no method read(path)"
    if lacks := having("about", "labels", "metric")(entry):
        return lacks
    return "" if isinstance(entry.labels, LabelSet) else f"its 'labels' are {entry.labels!r:.60}, not a LabelSet"


datasets: Registry[type[Dataset]] = Registry(
    "data set",
    builtin={
        "averitec": "redargue.bench.datasets.averitec:Averitec",
        "bingcheck": "redargue.bench.datasets.model_answers:BingCheck",
        "factcheck-bench": "redargue.bench.datasets.model_answers:FactCheckBench",
        "factool-qa": "redargue.bench.datasets.model_answers:FacToolQa",
        "faviq": "redargue.bench.datasets.wikipedia:Faviq",
        "felm": "redargue.bench.datasets.model_answers:Felm",
        "fever": "redargue.bench.datasets.wikipedia:Fever",
        "feverous": "redargue.bench.datasets.wikipedia:Feverous",
        "fire": "redargue.bench.datasets.files:FireDataset",
        "halueval": "redargue.bench.datasets.model_answers:HaluEval",
        "hover": "redargue.bench.datasets.wikipedia:Hover",
        "medqa": "redargue.bench.datasets.medicine:MedQa",
        "mermaid-runs": "redargue.bench.datasets.files:MermaidRuns",
        "pubmedqa": "redargue.bench.datasets.medicine:PubMedQa",
        "scifact": "redargue.bench.datasets.medicine:SciFact",
        "snapshots": "redargue.bench.datasets.files:Snapshots",
        "table": "redargue.bench.datasets.files:TableFile",
    },
    group="redargue.datasets",
    missing=_missing,
)


Half = Literal["all", "even", "odd"]


class SamplePlan(Frozen):
    """How a sample is drawn.

    Attributes:
        limit: maximum number of examples (of each group, with ``per_group``); None for all.
        how: ``first`` of the file; ``random``; ``balanced``: random, equally many of each label (the first labels get
            one more if the limit does not divide evenly; drops examples without gold).
        per_group: draws from each group separately (100 of each number of hops, as FOLK does on HoVer).
        half: ``even`` for choosing settings, ``odd`` for reporting; see :func:`half_of`. Applied first.
    """

    limit: int | None = Field(default=None, ge=1)
    how: Literal["first", "random", "balanced"] = "first"
    per_group: bool = False
    half: Half = "all"
    seed: int = 0


class Sample(SamplePlan):
    """The record of a sample."""

    dataset: str
    options: tuple[tuple[str, str], ...] = ()  # of the data set, as text
    file: str
    sha256: str  # of the file's bytes; of a folder, see :func:`sha256_of`
    rows: int  # examples in the whole file
    taken: int
    labels: tuple[tuple[str, int], ...]  # by gold label, in the label set's order; hidden is ""
    groups: tuple[tuple[str, int], ...]  # count of each group, in the file's order


def half_of(claim: str) -> Literal["even", "odd"]:
    """The half of a claim by its text alone: ``int(sha1(claim)[:8], 16) % 2``."""
    digest = hashlib.sha1(claim.encode(), usedforsecurity=False).hexdigest()
    return "odd" if int(digest[:8], 16) % 2 else "even"


def draw(examples: Iterable[Example], sampling: SamplePlan) -> tuple[Example, ...]:
    """The sample, in the order of the examples."""
    eligible = [example for example in examples if sampling.half in ("all", half_of(example.claim.text))]
    if sampling.how == "balanced":
        eligible = [example for example in eligible if example.gold is not None]
    if not eligible:
        raise UsageError(f"no examples left to sample (half {sampling.half!r}, {sampling.how!r})")
    strata: defaultdict[str, list[Example]] = defaultdict(list)
    for example in eligible:
        strata[example.group if sampling.per_group else ""].append(example)
    chosen = {id(example) for stratum in strata.values() for example in _drawn(stratum, sampling)}
    return tuple(example for example in eligible if id(example) in chosen)


def _drawn(examples: list[Example], sampling: SamplePlan) -> Sequence[Example]:
    if sampling.limit is None and sampling.how != "balanced":
        return examples
    if sampling.how == "first":
        return examples[: sampling.limit]
    ranked = sorted(examples, key=lambda one: hashlib.sha256(f"{sampling.seed}\0{one.id}".encode()).digest())
    return _balanced(ranked, sampling.limit) if sampling.how == "balanced" else ranked[: sampling.limit]


def _balanced(ranked: list[Example], limit: int | None) -> list[Example]:
    """Equally many of each label that occurs; without a limit, as many as the rarest label has."""
    by_label: defaultdict[str, list[Example]] = defaultdict(list)
    for example in ranked:
        by_label[example.gold or ""].append(example)
    names = [name for name in ranked[0].claim.labels.names if name in by_label] or sorted(by_label)
    if len(names) < 2:
        raise UsageError(f"all rows are {names[0]!r}: nothing to balance", hint="use --take random")
    largest = len(names) * min(map(len, by_label.values()))
    limit = largest if limit is None else limit
    chosen = []
    for place, name in enumerate(names):
        share = limit // len(names) + (place < limit % len(names))
        if share > len(by_label[name]):
            what = f"a balanced sample of {limit} needs {share} of {name!r}, and there are {len(by_label[name])}"
            raise UsageError(what, hint=f"use a limit of at most {largest}")
        chosen += by_label[name][:share]
    return chosen


def describe_sample(
    dataset: str,
    path: Path,
    sampling: SamplePlan,
    *,
    rows: int,
    taken: Sequence[Example],
    options: Iterable[tuple[str, str]] = (),
) -> Sample:
    labels = Counter(example.gold or "" for example in taken)
    order = dict.fromkeys(name for example in taken for name in example.claim.labels.names)
    groups = Counter(example.group for example in taken)
    return Sample(
        **sampling.model_dump(),
        dataset=dataset,
        options=tuple(options),
        file=path.name,
        sha256=sha256_of(path),
        rows=rows,
        taken=len(taken),
        labels=tuple((name, labels[name]) for name in order | dict.fromkeys(labels)),
        groups=tuple(groups.items()) if set(groups) != {""} else (),
    )


class Loaded(NamedTuple):
    """The sampled examples in the file's order, and the record of the sample."""

    examples: tuple[Example, ...]
    sample: Sample


def load(
    name: str,
    path: Path | str,
    *,
    limit: int | None = None,
    take: str = "first",
    half: str = "all",
    seed: int = 0,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Loaded:
    """Reads a whole data set and draws a sample.

    Args:
        path: the official file or folder, gzipped or not.
        limit: maximum number of examples; per group if ``take`` is ``group``.
        take: ``first``, ``random``, ``balanced`` by label, or ``group``: random within each group.
        half: ``even``, ``odd`` or ``all``, by the claim's hash.
        options: of the data set (``{"with_evidence": True}``).
    """
    path = Path(path)
    sampling = _sampling(limit, take, half, seed)
    with datasets.blamed(name):
        examples = tuple(make(name, **options).read(path))
        if odd := [example for example in examples if not isinstance(example, Example)]:
            raise TypeError(f"'read' gives {odd[0]!r:.60}, not an Example")
    row_by_id: dict[str, int] = {}
    for example in examples:
        if example.id in row_by_id:
            what = f"the id {example.id!r} is taken by row {row_by_id[example.id]}"
            raise UsageError(what, where=f"{path}, row {example.row}")
        row_by_id[example.id] = example.row
    taken = draw(examples, sampling)
    recorded = ((key, str(value)) for key, value in sorted(options.items()))
    return Loaded(taken, describe_sample(name, path, sampling, rows=len(examples), taken=taken, options=recorded))


def _sampling(limit: int | None, take: str, half: str, seed: int) -> SamplePlan:
    takes = ("first", "random", "balanced", "group")
    for value, known, what in ((take, takes, "way to take a sample"), (half, get_args(Half), "half")):
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}", hint=did_you_mean(value, known))
    if limit is not None and limit < 1:
        raise UsageError(f"expected a limit of at least 1, got {limit}")
    fields = {"how": "random", "per_group": True} if take == "group" else {"how": take}
    return SamplePlan.model_validate({**fields, "limit": limit, "half": half, "seed": seed})


def make(name: str, **options: Any) -> Dataset:
    kind: Callable[..., Dataset] = datasets[name]
    known = {name: type_ for name, type_ in get_type_hints(kind.__init__).items() if name != "return"}
    for option, value in options.items():
        if option not in known:
            hint = did_you_mean(option, list(known)) if known else "it has no options"
            raise UsageError(f"{name!r} has no option {option!r}", hint=hint)
        options[option] = _checked(f"{name}, {option}", value, known[option])
    return kind(**options)


def _checked(where: str, value: Any, type_: Any) -> Any:
    if isinstance(value, str) and value.lower() in ("true", "false") and type_ is bool:
        value = value.lower() == "true"
    try:
        adapter = TypeAdapter(type_, config=ConfigDict(arbitrary_types_allowed=True))
        return adapter.validate_python(value, strict=type_ is bool)
    except ValidationError as error:
        raise UsageError(f"invalid value {value!r}: {problem_of(error)}", where=where) from None


TIMINGS = (Timing.IN_TIME, Timing.LATER, Timing.UNDATED)


class EvidenceDates(Frozen):
    """Passages (in time, later, undated) that agents read, and that ``--strict-as-of`` left out."""

    read: tuple[int, int, int]
    left_out: tuple[int, int, int] = (0, 0, 0)


def apply_as_of(
    examples: Sequence[Example], sample: Mapping[str, Any], *, as_of: date | None = None, strict_as_of: bool = False
) -> tuple[tuple[Example, ...], dict[str, object]]:
    """The examples with an as-of date for claims that have none, and the sample with these options."""
    given = (example.claim for example in examples)
    claims = [claim if claim.as_of else claim.model_copy(update={"as_of": as_of}) for claim in given]
    if strict_as_of:
        claims = with_strict_as_of(claims)
    dated = {"as_of": as_of.isoformat()} if as_of else {}
    strict = {"only_in_time": True} if strict_as_of else {}
    pairs = zip(examples, claims, strict=True)
    return tuple(example.model_copy(update={"claim": claim}) for example, claim in pairs), {**sample, **dated, **strict}


def count_dates(events: Iterable[Event]) -> EvidenceDates | None:
    """Counts the passages of a recorded run; None if no claim has an as-of date."""
    read: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for event in events:
        if isinstance(event, EvidenceFound):
            read.update(passage.timing for passage in event.passages if passage.timing)
            left_out.update(event.left_out)
    if not read and not left_out:
        return None
    counts = {"read": read, "left_out": left_out}
    return EvidenceDates.model_validate({name: [count[at] for at in TIMINGS] for name, count in counts.items()})
