"""What a report is made from: a bench folder or a run folder, read without asking a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from redargue.errors import RecordError, UsageError
from redargue.evals.comparison import RESULTS, Comparison, read
from redargue.events import CallFailed, CallFinished, ClaimEnded, ClaimStarted, Event
from redargue.ledger.record import read_events
from redargue.registry import did_you_mean
from redargue.texts.extract import Extraction, recorded
from redargue.texts.text import Text
from redargue.verdicts import Usage, Verdict

OTHERS_SHOWN = 50
CLAIMS_SHOWN = 200

Trace = tuple[Event, ...]
"""What happened to one claim, in order, without the calls to a mind."""


class BenchRun(NamedTuple):
    """A finished bench.

    Attributes:
        folder: as it was given.
        comparison: its results.
        abouts: the ``run.json`` of each contender.
    """

    folder: Path
    comparison: Comparison
    abouts: tuple[Mapping[str, Any], ...]

    @property
    def flipping(self) -> frozenset[int]:
        """Claims on which not all contenders say the same."""
        rows = self.comparison.rows
        return frozenset(
            item for item in range(len(self.comparison.claims)) if len({row.said[item].label for row in rows}) > 1
        )

    def shown(self) -> tuple[int, ...]:
        """The claims whose traces are wanted: those that flip, then the first others."""
        flipping = self.flipping
        others = [item for item in range(len(self.comparison.claims)) if item not in flipping]
        return (*sorted(flipping), *others[:OTHERS_SHOWN])

    def row(self, spec: str) -> int:
        """The place of a contender; the first where none is named.

        Raises:
            UsageError: there is none of that name.
        """
        specs = [row.spec for row in self.comparison.rows]
        if spec and spec not in specs:
            raise UsageError(f"no contender {spec!r}", where="--method", hint=did_you_mean(spec, specs))
        return specs.index(spec) if spec else 0

    def verdicts(self, row: int) -> dict[int, Verdict]:
        """A contender's verdicts, by claim."""
        return _verdicts(self.folder / self.comparison.rows[row].slug)


class SingleRun(NamedTuple):
    """The run of one method on one claim or several.

    Attributes:
        folder: as it was given.
        about: its ``run.json``.
        verdicts: by claim, in order; claims that never ended are missing.
    """

    folder: Path
    about: Mapping[str, Any]
    verdicts: Mapping[int, Verdict]

    @property
    def unfinished(self) -> int:
        """Claims that never ended."""
        return max(0, len(self.about.get("claims") or ()) - len(self.verdicts))

    @property
    def text(self) -> tuple[Text, Extraction] | None:
        """The text that its claims were taken from; None where they were given as claims.

        Raises:
            RecordError: what stands there is no text.
        """
        if not self.about.get("text"):
            return None
        try:
            return recorded(self.about["text"])
        except (ValueError, AttributeError):
            raise RecordError(
                f"the run.json of {str(self.folder)!r} describes no text", hint="restore it, or run again"
            ) from None

    @property
    def spent(self) -> tuple[Usage, ...]:
        """On each claim and, of a text, on taking it apart.

        Raises:
            RecordError: what stands there is no usage.
        """
        claims = tuple(each.usage for each in self.verdicts.values())
        try:
            text = [Usage.model_validate(each)] if (each := (self.about.get("text") or {}).get("usage")) else []
        except ValidationError:
            raise RecordError(
                f"the run.json of {str(self.folder)!r} says no cost of its text", hint="restore it, or run again"
            ) from None
        return (*claims, *text)


def gather(folder: Path) -> BenchRun | SingleRun:
    """Reads a bench folder's results or a run folder.

    Raises:
        UsageError: it is neither, or the bench has no results yet.
        RecordError: its record is damaged, or holds no verdict.
    """
    if (folder / RESULTS).is_file() or (folder / "bench.json").is_file():
        comparison = read(folder)
        return BenchRun(folder, comparison, tuple(_about(folder / row.slug) for row in comparison.rows))
    if not (folder / "run.json").is_file():
        raise UsageError(
            f"{str(folder)!r} is neither a bench nor a run", hint="a bench folder has a results.json, a run a run.json"
        )
    found = SingleRun(folder, _about(folder), _verdicts(folder))
    if not found.verdicts and (found.unfinished or found.text is None):
        raise RecordError(f"{str(folder)!r} holds no verdict yet", hint="the command that began the run goes on")
    return found


def traces(folder: Path, items: Iterable[int]) -> dict[int, Trace]:
    """What happened to some claims; of a claim that was tried again, the last attempt."""
    wanted: dict[int, list[Event]] = {item: [] for item in items}
    for event in read_events(folder):
        if event.item not in wanted or isinstance(event, CallFinished | CallFailed):
            continue
        if isinstance(event, ClaimStarted):
            wanted[event.item].clear()
        wanted[event.item].append(event)
    return {item: tuple(events) for item, events in wanted.items()}


def _verdicts(folder: Path) -> dict[int, Verdict]:
    found = {each.item: each.verdict for each in read_events(folder) if isinstance(each, ClaimEnded)}
    return dict(sorted(found.items()))


def _about(folder: Path) -> Mapping[str, Any]:
    path = folder / "run.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"{str(path)!r} cannot be read", hint="restore it, or run again") from error
    if not isinstance(about, dict):
        raise RecordError(f"{str(path)!r} is not a run's description", hint="restore it, or run again")
    return about
