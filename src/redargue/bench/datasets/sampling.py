"""Reproducible samples of data sets.

A random choice ranks examples by a hash of seed and id: it depends neither on the file's order nor on a generator, and
a larger sample with the same seed contains the smaller one.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from redargue.bench.datasets.base import Example
from redargue.claims import Frozen
from redargue.errors import UsageError

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
    """The record of a sample.

    Attributes:
        options: of the data set, as text.
        sha256: of the file's bytes; of a folder, see :func:`sha256_of`.
        rows: examples in the whole file.
        labels: count of each gold label, in the label set's order; hidden gold as "".
        groups: count of each group, in the file's order.
    """

    dataset: str
    options: tuple[tuple[str, str], ...] = ()
    file: str
    sha256: str
    rows: int
    taken: int
    labels: tuple[tuple[str, int], ...]
    groups: tuple[tuple[str, int], ...]


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


def sha256_of(path: Path) -> str:
    """Of a file, the hash of its bytes; of a folder, the hash of the lines ``sha256  name`` of its files by name."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        return hashlib.sha256("".join(f"{sha256_of(file)}  {file.name}\n" for file in files).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
