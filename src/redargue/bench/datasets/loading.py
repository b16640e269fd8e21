"""Reads a data set and draws a sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from redargue.bench.datasets.base import Dataset, Example, datasets
from redargue.bench.datasets.sampling import Sample, Sampling, describe, draw
from redargue.errors import UsageError
from redargue.registry import did_you_mean

TAKES = ("first", "random", "balanced", "group")
HALVES = ("all", "even", "odd")


class Loaded(NamedTuple):
    """Examples in the file's order, and what a run writes down about them."""

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
    """Reads a data set whole and draws a sample.

    Args:
        name: registered name.
        path: the official file (or folder), packed or not.
        limit: how many examples at most; of each group where ``take`` is ``group``.
        take: ``first``, ``random``, ``balanced`` by label, or ``group``: random in each group.
        half: ``even``, ``odd`` or ``all``, by the claim's hash.
        seed: of a random choice.
        options: the data set's own (``{"with_evidence": True}``).

    Raises:
        UsageError: no such data set, option or way to sample; not its format; two rows with one id.
    """
    path = Path(path)
    sampling = _sampling(limit, take, half, seed)
    examples = tuple(make(name, **options).read(path))
    seen: dict[str, int] = {}
    for each in examples:
        if each.id in seen:
            raise UsageError(f"the id {each.id!r} is taken by row {seen[each.id]}", where=f"{path}, row {each.row}")
        seen[each.id] = each.row
    taken = draw(examples, sampling)
    said = ((key, str(value)) for key, value in sorted(options.items()))
    return Loaded(taken, describe(name, path, sampling, rows=len(examples), taken=taken, options=said))


def _sampling(limit: int | None, take: str, half: str, seed: int) -> Sampling:
    for value, known, what in ((take, TAKES, "way to take a sample"), (half, HALVES, "half")):
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}", hint=did_you_mean(value, list(known)))
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit}", hint="1 or more")
    grouped = take == "group"
    how = "random" if grouped else take
    return Sampling.model_validate({"limit": limit, "how": how, "per_group": grouped, "half": half, "seed": seed})


def make(name: str, **options: Any) -> Dataset:
    """A data set's reader with its options set.

    Raises:
        UsageError: no such data set or option.
    """
    kind: Any = datasets[name]
    known = {} if kind.__init__ is object.__init__ else get_type_hints(kind.__init__)
    known = {option: type_ for option, type_ in known.items() if option != "return"}
    for option, value in options.items():
        if option not in known:
            raise UsageError(f"{name!r} has no option {option!r}", hint=did_you_mean(option, list(known)))
        options[option] = _checked(f"{name}, {option}", value, known[option])
    reader: Dataset = kind(**options)
    return reader


def _checked(where: str, value: Any, type_: Any) -> Any:
    """An option's value as its reader takes it; of a command line, ``true`` and ``false`` in any case."""
    if isinstance(value, str) and value.lower() in ("true", "false") and type_ is bool:
        value = value.lower() == "true"
    try:
        return TypeAdapter(type_, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(
            value, strict=type_ is bool
        )
    except ValidationError as error:
        raise UsageError(f"{value!r} cannot be meant: {error.errors()[0]['msg']}", where=where) from None
