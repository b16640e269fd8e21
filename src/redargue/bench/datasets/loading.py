"""Reads a data set and draws a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from redargue.bench.datasets.base import Dataset, Example, datasets
from redargue.bench.datasets.sampling import Sample, SamplePlan, describe_sample, draw
from redargue.errors import UsageError, problem_of
from redargue.registry import did_you_mean

TAKES = ("first", "random", "balanced", "group")
HALVES = ("all", "even", "odd")


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
    examples = tuple(make(name, **options).read(path))
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
    for value, known, what in ((take, TAKES, "way to take a sample"), (half, HALVES, "half")):
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}", hint=did_you_mean(value, list(known)))
    if limit is not None and limit < 1:
        raise UsageError(f"expected a limit of at least 1, got {limit}")
    fields = {"how": "random", "per_group": True} if take == "group" else {"how": take}
    return SamplePlan.model_validate({**fields, "limit": limit, "half": half, "seed": seed})


def make(name: str, **options: Any) -> Dataset:
    """A data set's reader with these options."""
    kind: Callable[..., Dataset] = datasets[name]
    known = {name: type_ for name, type_ in get_type_hints(kind.__init__).items() if name != "return"}
    for option, value in options.items():
        if option not in known:
            raise UsageError(f"{name!r} has no option {option!r}", hint=did_you_mean(option, list(known)))
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
