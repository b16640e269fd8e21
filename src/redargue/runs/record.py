"""A run on disk: its settings and its events; resume and replay read the paid answers back.

A run folder holds ``run.json`` (:class:`~redargue.runs.manifest.RunManifest`) and ``events.jsonl``. Lines are
appended and flushed one by one, so a killed process loses at most the line it was writing; that torn line is cut off
when the run goes on. An unfinished claim is verified again from its start, and every answer it already paid for comes
from the record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, NamedTuple, Protocol

from pydantic import ValidationError

from redargue.errors import RecordError
from redargue.events import (
    EVENT,
    CallFailed,
    CallFinished,
    ClaimEnded,
    Event,
    EvidenceFound,
    EvidenceMissing,
    EvidenceRecalled,
    EvidenceRemembered,
)
from redargue.net.secrets import Secrets
from redargue.runs.manifest import FORMAT, RunManifest, read_manifest
from redargue.verdicts import Verdict

try:
    import fcntl
except ImportError:  # Windows has no flock; two processes on one run folder go unnoticed there
    fcntl = None  # type: ignore[assignment]

Paid = CallFinished | EvidenceFound | EvidenceMissing | EvidenceRecalled | EvidenceRemembered
Mode = Literal["record", "replay"]


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Keeps other processes from writing into a folder.

    Raises:
        RecordError: another one does.
    """
    held = _lock(folder)
    try:
        yield
    finally:
        os.close(held)


def _lock(folder: Path) -> int:
    held = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    if fcntl is not None:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            raise RecordError(
                f"another process is writing to {str(folder)!r}", hint="wait for it, or take another folder"
            ) from None
    return held


class CallRecord(Protocol):
    """Where a run finds what was paid for already, and writes down what happens.

    Attributes:
        mode: ``record`` or ``replay``.
        folder: whose record it is.
    """

    mode: Mode
    folder: Path

    @property
    def id(self) -> str:
        """The run's name."""
        ...

    def recall(self, item: int, key: str) -> Paid | CallFailed | None:
        """The paid answer to that question of that claim, or None."""
        ...

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        """What earlier attempts at a claim sent and got nothing for."""
        ...

    def write(self, event: Event) -> None:
        """Keeps an event; what was recalled is not paid for twice."""
        ...


class Record:
    """A run folder, open for writing (``record``: begins or goes on) or for reading alone (``replay``).

    Args:
        folder: the run folder; made where it is missing.
        manifest: what the run is asked to do; compared where the folder already holds a run. None to read only.
        mode: ``record`` or ``replay``.
        secrets: keys that no line may hold, should one have come that far.

    Attributes:
        matched: for each claim of an earlier recording that was replayed, how many answers were found by position.
        chosen: those of these claims where any of several concurrent questions could have been the answered one.

    Raises:
        RecordError: the folder holds another run, is in use, is damaged, or (replay) holds no run.
    """

    def __init__(
        self,
        folder: Path,
        manifest: RunManifest | None = None,
        *,
        mode: Mode = "record",
        secrets: Secrets | None = None,
    ) -> None:
        self.folder, self._secrets = folder, secrets or Secrets()
        self.mode: Mode = mode
        self._paid: dict[int, dict[str, Paid | CallFailed]] = {}
        self._failed: dict[int, list[CallFailed]] = {}
        self._ended: dict[int, _Place] = {}
        self._lines: dict[int, list[int]] = {}
        self.matched: dict[int, int] = {}
        self.chosen: set[int] = set()
        self.format = FORMAT
        if manifest is None or mode == "replay":
            self.mode = "replay"
            self.manifest = self._read_manifest()
            self._load()
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._held = _lock(self.folder)
        except OSError as error:
            raise RecordError(
                f"{str(folder)!r} cannot be a run folder: {error.strerror}",
                hint="give --run another folder, or set REDARGUE_HOME",
            ) from error
        try:
            if (folder / "run.json").exists():
                self.manifest = self._read_manifest()
                self._compare(manifest)
                self._load()
                self._rewrite()
            else:
                self.manifest = manifest.model_copy(update={"run": manifest.run or folder.name})
                _write_whole(folder / "run.json", self.manifest.model_dump_json(indent=1) + "\n")
            self._log = (folder / "events.jsonl").open("ab")
        except BaseException:
            os.close(self._held)
            raise

    @property
    def id(self) -> str:
        """The run's name, which it keeps when its folder is moved."""
        return self.manifest.run or self.folder.name

    def events(self, item: int) -> list[Event]:
        """The events of one claim of an earlier recording, in the order they were written."""
        with (self.folder / "events.jsonl").open("rb") as log:
            return [_event_at(log, offset) for offset in self._lines.get(item, ())]

    def match(self, item: int, answers: Mapping[str, Paid | CallFailed], others: Iterable[Paid | CallFailed]) -> None:
        """Puts a claim's answers under the keys that their questions have now.

        Args:
            item: the claim's index.
            answers: by key.
            others: those that were not asked for; they keep their keys.
        """
        self.matched[item] = sum(key != event.key for key, event in answers.items())
        self._paid[item] = {event.key: event for event in others} | dict(answers)

    def finished(self) -> Iterator[Verdict]:
        """The verdicts that were reached without an error, read one by one."""
        return (self._read(place) for place in self._ended.values() if place.fine)

    def recall(self, item: int, key: str) -> Paid | CallFailed | None:
        """The paid answer to that question of that claim, or None.

        A reply that could not be read is an answer too (the debate went on without a score), unless the claim ended in
        an error and is now tried again.
        """
        return self._paid.get(item, {}).get(key)

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        """What earlier attempts at a claim sent and got nothing for."""
        return tuple(self._failed.get(item, ()))

    def verdict(self, item: int) -> Verdict | None:
        """The verdict of a claim that was finished without an error, or None."""
        place = self._ended.get(item)
        return self._read(place) if place and place.fine else None

    def verdicts(self) -> dict[int, Verdict]:
        """Every recorded verdict, by claim, errors too."""
        return {item: self._read(place) for item, place in sorted(self._ended.items())}

    def _read(self, place: _Place) -> Verdict:
        with (self.folder / "events.jsonl").open("rb") as log:
            event = _event_at(log, place.offset)
        assert isinstance(event, ClaimEnded)
        return event.verdict

    def write(self, event: Event) -> None:
        """Appends one event; what was recalled stands in the log already and is not written again."""
        known = self._paid.get(event.item, {})
        if self.mode == "replay" or (isinstance(event, Paid | CallFailed) and event.key in known):
            return
        try:
            offset = self._log.tell() if isinstance(event, ClaimEnded) else 0
            self._log.write(self._secrets.hide(event.model_dump_json()).encode() + b"\n")
            self._log.flush()
        except OSError as error:
            raise RecordError(
                f"{str(self.folder)!r} cannot be written: {error.strerror}", hint="make room; the same command goes on"
            ) from error
        if isinstance(event, ClaimEnded):
            self._ended[event.item] = _Place(offset, event.verdict.error is None)
            self._paid.pop(event.item, None)  # never asked again: a long run holds what is under way, no more
            os.fsync(self._log.fileno())  # a finished claim outlives a power failure, too

    def close(self) -> None:
        """Closes the files and frees the folder."""
        if self.mode == "record" and not self._log.closed:
            self._log.close()
            os.close(self._held)

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read_manifest(self) -> RunManifest:
        path = self.folder / "run.json"
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RecordError(f"{str(self.folder)!r} holds no run", hint="a run folder has a run.json") from None
        except (OSError, ValueError) as error:
            raise RecordError(f"{str(path)!r} cannot be read: {error}") from error
        self.format = values.get("format", 1) if isinstance(values, dict) else FORMAT
        return read_manifest(values, str(path))

    def _compare(self, wanted: RunManifest) -> None:
        if apart := self.manifest.differing(wanted):
            name, old, new = apart
            verb = "differ" if name.endswith("s") else "differs"
            raise RecordError(
                f"{str(self.folder)!r} already holds a run whose {name} {verb}: {old}, not {new}",
                hint="resume with the same arguments, or take another folder",
            )

    def _load(self) -> None:
        indexed = self.mode == "replay" and self.format < FORMAT
        for offset, event in _located(self.folder):
            if indexed:
                self._lines.setdefault(event.item, []).append(offset)
            if isinstance(event, Paid):
                self._paid.setdefault(event.item, {})[event.key] = event
            elif isinstance(event, CallFailed):
                self._failed.setdefault(event.item, []).append(event)
            elif isinstance(event, ClaimEnded):
                self._ended[event.item] = _Place(offset, event.verdict.error is None)
                if self.mode == "record" and event.verdict.error is None:
                    self._paid.pop(event.item, None)
        for item, failures in self._failed.items():
            place = self._ended.get(item)
            if place is None or place.fine:
                paid = self._paid.get(item, {})  # what was asked again after an error, and answered
                unreadable = {
                    each.key: each for each in failures if each.error.type == "BadReply" and each.key not in paid
                }
                if self.mode == "replay" or place is None:
                    self._paid.setdefault(item, {}).update(unreadable)
                self._failed[item] = [each for each in failures if each.key not in unreadable]

    def _rewrite(self) -> None:
        """Drops the torn line and what unfinished claims emit again: the log then reads like one undisturbed run."""
        fine = {item for item, place in self._ended.items() if place.fine}
        self._ended = {}
        beside = self.folder / "events.new"
        with beside.open("wb") as log:
            for event in read_events(self.folder):
                if event.item not in fine and not isinstance(event, Paid | CallFailed):
                    continue
                if isinstance(event, ClaimEnded):
                    self._ended[event.item] = _Place(log.tell(), True)
                log.write(event.model_dump_json().encode() + b"\n")
            log.flush()
            os.fsync(log.fileno())
        beside.replace(self.folder / "events.jsonl")


class _Place(NamedTuple):
    """Where a claim's verdict stands in the log, and whether it is one: thousands of them are not held in memory."""

    offset: int
    fine: bool


def read_events(folder: Path) -> Iterator[Event]:
    """The events of a run folder, in the order they were written; a torn last line is left out.

    Raises:
        RecordError: a line that is not an event stands before the last.
    """
    return (event for _, event in _located(folder))


def _located(folder: Path) -> Iterator[tuple[int, Event]]:
    """The events with the offset of their line in bytes."""
    path, offset = folder / "events.jsonl", 0
    if not path.exists():
        return
    with path.open("rb") as log:
        for number, line in enumerate(log, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield offset, EVENT.validate_json(line)
            except ValidationError as error:
                raise RecordError(
                    f"line {number} of {str(path)!r} is not an event: {line[:60]!r}",
                    hint="the file was changed; restore it or run again into another folder",
                ) from error
            offset += len(line)


def _event_at(log: BinaryIO, offset: int) -> Event:
    log.seek(offset)
    return EVENT.validate_json(log.readline())


def _write_whole(path: Path, text: str) -> None:
    """Writes a file so that a reader, or a crash, meets the old text or the new one and nothing between."""
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
