"""Which examples of a data set are measured, chosen so that anyone chooses the same ones.

A random choice ranks examples by a hash of seed and id: it depends neither on the file's order nor on a generator, and
a larger sample with the same seed holds the smaller one.
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


class Sampling(Frozen):
    """How a sample is drawn.

    Attributes:
        limit: how many; of each group where ``per_group``; None for all. A smaller set (group) is taken whole.
        how: ``first`` of the file; ``random``; ``balanced``: random, as many of each label (the first labels have one
            more where it does not come out even; examples without gold are left out).
        per_group: draws from each group on its own (100 of each number of hops, as FOLK does on HoVer).
        half: ``even`` rows choose, ``odd`` rows report; see :func:`half_of`. Applied first.
        seed: of the random choice.
    """

    limit: int | None = Field(default=None, ge=1)
    how: Literal["first", "random", "balanced"] = "first"
    per_group: bool = False
    half: Half = "all"
    seed: int = 0


class Sample(Sampling):
    """What was drawn from what, for a run to write down.

    Attributes:
        dataset: registered name.
        options: that it was read with, as text.
        file: name of the file or folder.
        sha256: of the file as it lies there; of a folder, of its files' lines ``sha256  name``.
        rows: examples in the whole file.
        taken: examples in the sample.
        labels: how many of each gold label, in the label set's order; hidden gold as "".
        groups: how many of each group, in the file's order; empty where the data set has none.
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
    """The half that a claim's text belongs to: ``int(sha1(claim)[:8], 16) % 2``, whatever data set it stands in."""
    digest = hashlib.sha1(claim.encode(), usedforsecurity=False).hexdigest()
    return "odd" if int(digest[:8], 16) % 2 else "even"


def draw(examples: Iterable[Example], sampling: Sampling) -> tuple[Example, ...]:
    """The sample, in the examples' own order.

    Raises:
        UsageError: nothing is left, or a balanced sample wants more of a label than there are.
    """
    kept = [each for each in examples if sampling.half in ("all", half_of(each.claim.text))]
    if sampling.how == "balanced":
        kept = [each for each in kept if each.gold is not None]
    if not kept:
        raise UsageError(f"no example is left to take (half {sampling.half!r}, {sampling.how!r})")
    strata: defaultdict[str, list[Example]] = defaultdict(list)
    for each in kept:
        strata[each.group if sampling.per_group else ""].append(each)
    chosen = {id(each) for stratum in strata.values() for each in _drawn(stratum, sampling)}
    return tuple(each for each in kept if id(each) in chosen)


def _drawn(examples: list[Example], sampling: Sampling) -> Sequence[Example]:
    if sampling.limit is None and sampling.how != "balanced":
        return examples
    if sampling.how == "first":
        return examples[: sampling.limit]
    ranked = sorted(examples, key=lambda each: hashlib.sha256(f"{sampling.seed}\0{each.id}".encode()).digest())
    return _balanced(ranked, sampling.limit) if sampling.how == "balanced" else ranked[: sampling.limit]


def _balanced(ranked: list[Example], limit: int | None) -> list[Example]:
    """As many of each label that occurs; without a limit, as many as the rarest label has."""
    by_label: defaultdict[str, list[Example]] = defaultdict(list)
    for each in ranked:
        by_label[each.gold or ""].append(each)
    names = [name for name in ranked[0].claim.labels.names if name in by_label] or sorted(by_label)
    if len(names) < 2:
        raise UsageError(f"all rows are {names[0]!r}: nothing to balance", hint="--take random")
    if limit is None:
        limit = len(names) * min(len(found) for found in by_label.values())
    chosen = []
    for place, name in enumerate(names):
        share = limit // len(names) + (place < limit % len(names))
        if share > len(by_label[name]):
            raise UsageError(
                f"a balanced sample of {limit} needs {share} of {name!r}, and there are {len(by_label[name])}",
                hint=f"at most {len(names) * min(len(found) for found in by_label.values())} can be balanced",
            )
        chosen += by_label[name][:share]
    return chosen


def describe(
    dataset: str,
    path: Path,
    sampling: Sampling,
    *,
    rows: int,
    taken: Sequence[Example],
    options: Iterable[tuple[str, str]] = (),
) -> Sample:
    """The record of a sample."""
    found = Counter(each.gold or "" for each in taken)
    order = dict.fromkeys(name for each in taken for name in each.claim.labels.names)
    groups = Counter(each.group for each in taken)
    return Sample(
        **sampling.model_dump(),
        dataset=dataset,
        options=tuple(options),
        file=path.name,
        sha256=sha256_of(path),
        rows=rows,
        taken=len(taken),
        labels=tuple((name, found[name]) for name in (*order, *(name for name in found if name not in order))),
        groups=tuple(groups.items()) if set(groups) != {""} else (),
    )


def sha256_of(path: Path) -> str:
    """Of a file's bytes; of a folder, of a line ``sha256  name`` for each file in it, sorted by name."""
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
        return hashlib.sha256("".join(f"{sha256_of(each)}  {each.name}\n" for each in files).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
