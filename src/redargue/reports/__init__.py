"""Reads a run folder; no model is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from redargue.claims import Frozen
from redargue.errors import RecordError, UsageError
from redargue.events import CallFailed, CallFinished, ClaimEnded, Event
from redargue.evidence import UnreadFile
from redargue.runs.folders import is_begun, time_in_name
from redargue.runs.manifest import RunManifest, load_manifest
from redargue.runs.record import DRAFT, read_events
from redargue.text import Citation, Report, build_report
from redargue.text.citations import FILE, read_citations
from redargue.text.extract import Extraction, recorded
from redargue.text.segment import Text
from redargue.verdicts import ErrorInfo, Usage, Verdict

CLAIMS_SHOWN = 200
RUN = "run.json"

Trace = tuple[Event, ...]
"""The events of one claim, in order, without model calls."""


class SingleRun(NamedTuple):
    """A run of one method: its manifest, and the verdicts of finished claims by index."""

    folder: Path
    manifest: RunManifest
    verdicts: Mapping[int, Verdict]

    @property
    def name(self) -> str:
        return self.manifest.run or self.folder.name

    @property
    def unfinished(self) -> int:
        return max(0, len(self.manifest.claims) - len(self.verdicts))

    @property
    def text(self) -> tuple[Text, Extraction] | None:
        try:
            return recorded(self.manifest.text) if self.manifest.text else None
        except ValueError:
            raise self._damaged("describes no text") from None

    @property
    def checked_on(self) -> date | None:
        """The day of the check (UTC), by the folder's name or its evidence; None where neither says it."""
        if began := time_in_name(self.folder):
            return began.date()
        quotes = (quote for verdict in self.verdicts.values() for quote in verdict.quotes)
        times = [quote.source.retrieved for quote in quotes if quote.source and quote.source.retrieved]
        return max(times).date() if times else None

    @property
    def unread_files(self) -> tuple[UnreadFile, ...]:
        """The files that were given as sources and not read."""
        return self.manifest.origin.unread_files

    @property
    def citations(self) -> Mapping[int, Citation]:
        """How the cited pages relate to the claims that have a verdict; empty if the links were not checked."""
        if self.text is None or not (self.folder / FILE).is_file():
            return {}
        cited = read_citations(self.folder, len(self.manifest.claims))
        return {item: cited.citation(item, verdict) for item, verdict in self.verdicts.items()}

    @property
    def extraction_usage(self) -> Usage:
        """Usage of the extraction of claims from a text."""
        usage = (self.manifest.text or {}).get("usage")
        try:
            return Usage.model_validate(usage) if usage else Usage()
        except ValidationError:
            raise self._damaged("records no valid usage for its text") from None

    @property
    def usages(self) -> tuple[Usage, ...]:
        extraction = (self.extraction_usage,) if (self.manifest.text or {}).get("usage") else ()
        return (*(verdict.usage for verdict in self.verdicts.values()), *extraction)

    def _damaged(self, what: str) -> RecordError:
        return RecordError(f"the run.json of {str(self.folder)!r} {what}", hint="restore it, or run again")


def load_run(folder: Path) -> SingleRun:
    """Reads a run folder; UsageError for another folder, RecordError if its record is damaged or has no verdict."""
    begun = is_begun(folder)
    if not begun and not is_begun(folder / DRAFT):
        raise UsageError(f"{str(folder)!r} is not a run", hint=f"a run folder has a {RUN}")
    run = SingleRun(folder, load_manifest(folder), verdicts_in(folder)) if begun else None
    if run is None or (not run.verdicts and (run.unfinished or run.text is None)):
        raise RecordError(f"{str(folder)!r} has no verdict yet", hint="the command that began the run resumes it")
    return run


def traces(folder: Path, items: Iterable[int]) -> dict[int, Trace]:
    """The events of some claims, without model calls."""
    events_of: dict[int, list[Event]] = {item: [] for item in items}
    for event in read_events(folder):
        if event.item in events_of and not isinstance(event, CallFinished | CallFailed):
            events_of[event.item].append(event)
    return {item: tuple(events) for item, events in events_of.items()}


def verdicts_in(folder: Path) -> dict[int, Verdict]:
    verdicts = {event.item: event.verdict for event in read_events(folder) if isinstance(event, ClaimEnded)}
    return dict(sorted(verdicts.items()))


# The result of a recorded run, as ``redargue check --json`` prints it.


class RefusedEntry(Frozen):
    """A row of a file of claims that could not be read as one; ``item``: its number, from 1."""

    item: int
    id: str
    error: ErrorInfo


class CheckResult(Frozen):
    """What ``redargue check --json`` prints."""

    schema_version: Literal[2] = 2
    verdicts: tuple[Verdict, ...]
    unread_files: tuple[UnreadFile, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()


def result_of(run: SingleRun) -> CheckResult | Report:
    """The verdicts of a run, or the report on its text if all claims are finished."""
    verdicts = tuple(run.verdicts.values())
    if run.text and not run.unfinished:
        whole = build_report(*run.text, verdicts, run.extraction_usage, unread_files=run.unread_files)
        citations = map(run.citations.get, run.verdicts)
        cited = zip(whole.claims, citations, strict=True)
        claims = tuple(claim.model_copy(update={"citation": citation}) for claim, citation in cited)
        return whole.model_copy(update={"claims": claims})
    return CheckResult(verdicts=verdicts, unread_files=run.unread_files)
