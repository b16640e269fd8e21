"""Run folders: the manifest and the events of a run, from which resume and replay read paid answers.

A run folder contains ``run.json`` (:class:`~redargue.runs.manifest.RunManifest`) and ``events.jsonl``. Lines are
appended and flushed one by one, so a killed process loses at most the line it was writing; a resumed run drops that
line. An unfinished claim is verified again from its start, with the answers that it has already paid for, and the
events that are in the log already are not written again: a line keeps its number, so that a reader can continue there.

Clocks: a run reads the time from its clock alone.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Protocol

from pydantic import ValidationError

from redargue.errors import RecordError
from redargue.events import (
    EVENT,
    CallFailed,
    CallFinished,
    ClaimEnded,
    ClaimStarted,
    Event,
    EvidenceFound,
    EvidenceMissing,
    EvidenceRecalled,
    EvidenceRemembered,
    head_of,
)
from redargue.files import (
    Closable,
    home,
    locked,
    make_folder,
    open_own,
    open_to_read,
    open_to_write,
    replacing,
    require_own,
)
from redargue.net.secrets import Secrets
from redargue.runs.manifest import RunManifest, load_manifest
from redargue.verdicts import Verdict

Paid = CallFinished | EvidenceFound | EvidenceMissing | EvidenceRecalled | EvidenceRemembered
RecordMode = Literal["record", "replay"]
DRAFT = ".text"  # in a run folder: the record of the calls that were made before a text's claims were known
_BLOCK = 1 << 16  # bytes


def new_run_folder() -> Path:
    """The path of a new run folder, named by the current time to the microsecond, so that names sort by it."""
    now = datetime.now(UTC)
    return home() / "runs" / f"{now:%Y%m%d-%H%M%S}-{now.microsecond:06x}"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder / ".lock", wait=False))
        except BlockingIOError:
            what = f"another process is writing to {str(folder)!r}"
            raise RecordError(what, hint="wait for it, or choose another folder") from None
        yield


class CallRecord(Protocol):
    """Records a run's events and returns the answers that are already paid for."""

    mode: RecordMode
    folder: Path

    @property
    def id(self) -> str: ...

    def recall(self, item: int, key: str) -> Paid | CallFailed | None: ...

    def failed(self, item: int) -> tuple[CallFailed, ...]: ...

    def write(self, event: Event) -> None: ...


class Record(Closable):
    """A run folder, open for writing (``record``: starts or resumes a run) or read-only (``replay``).

    Args:
        folder: the run folder; created if it does not exist.
        manifest: has to equal that of a run which the folder already contains. None to read only.
        count: called with each recorded event.

    Raises:
        RecordError: the folder contains another run, is in use, is damaged, or (replay) contains no run.
    """

    def __init__(
        self,
        folder: str | Path,
        manifest: RunManifest | None = None,
        *,
        mode: RecordMode = "record",
        secrets: Secrets | None = None,
        count: Callable[[Event], object] = lambda event: None,
    ) -> None:
        self.folder = folder = Path(folder)
        self._secrets, self._count = secrets or Secrets(), count
        self.mode: RecordMode = "replay" if manifest is None else mode
        self._paid: dict[int, dict[str, Paid | CallFailed]] = {}
        self._failed: dict[int, list[CallFailed]] = {}
        self._ended: dict[int, _Ended] = {}
        # events of unfinished claims, which are emitted again
        self._logged: dict[int, Counter[str]] = {}
        self._held = ExitStack()  # the folder's lock
        if manifest is None or mode == "replay":
            self.manifest = load_manifest(folder)
            self._load()
            return
        try:
            make_folder(folder)
            if (folder / "run.json").exists():
                # its answers would count as this user's
                require_own((folder / "run.json").stat(), folder)
            self._held.enter_context(writing(folder))
        except OSError as error:
            raise RecordError(
                f"{str(folder)!r} cannot be a run folder: {error.strerror}",
                hint="choose another folder: --run DIR, or REDARGUE_HOME without it; of a batch, -o DIR",
            ) from error
        try:
            self._begin_or_resume(manifest)
        except BaseException as error:
            self._held.close()
            if isinstance(error, OSError):
                raise self._unwritable(error) from error
            raise

    def _begin_or_resume(self, manifest: RunManifest) -> None:
        description = self.folder / "run.json"
        if description.exists():
            self.manifest = load_manifest(self.folder)
            self._compare(manifest)
            self._cut_incomplete_line()
            self._load()
        else:
            self.manifest = manifest.model_copy(update={"run": manifest.run or self.folder.name})
            write_atomically(description, self.manifest.model_dump_json(indent=1) + "\n")
        self._log = open_to_write(self.folder / "events.jsonl", append=True)

    @property
    def id(self) -> str:
        """The run's name, which stays the same when its folder is moved."""
        return self.manifest.run or self.folder.name

    def finished_items(self) -> frozenset[int]:
        return frozenset(item for item, ended in self._ended.items() if ended.fine)

    def recall(self, item: int, key: str) -> Paid | CallFailed | None:
        """A claim's recorded answer to the question with that key, or None.

        An unreadable reply counts as an answer, unless the claim ended with an error and is now retried.
        """
        return self._paid.get(item, {}).get(key)

    def failed(self, item: int) -> tuple[CallFailed, ...]:
        return tuple(self._failed.get(item, ()))

    def verdict(self, item: int) -> Verdict | None:
        ended = self._ended.get(item)
        return self._read(ended) if ended and ended.fine else None

    def verdicts(self) -> dict[int, Verdict]:
        return {item: self._read(ended) for item, ended in sorted(self._ended.items())}

    def _read(self, ended: _Ended) -> Verdict:
        with open_to_read(self.folder / "events.jsonl") as log:
            log.seek(ended.offset)
            event = EVENT.validate_json(log.readline())
        assert isinstance(event, ClaimEnded)
        return event.verdict

    def write(self, event: Event) -> None:
        """Appends an event, unless it is in the log: recalled ones are, and those of a claim that is verified again."""
        known = self._paid.get(event.item, {})
        if self.mode == "replay" or (isinstance(event, Paid | CallFailed) and event.key in known):
            return
        if self._was_logged(event):
            return
        try:
            offset = self._log.tell() if isinstance(event, ClaimEnded) else 0
            self._log.write(self._secrets.hide(event.model_dump_json()).encode() + b"\n")
            self._log.flush()
        except OSError as error:
            raise self._unwritable(error) from error
        if isinstance(event, ClaimEnded):
            self._ended[event.item] = _Ended(offset, event.verdict.error is None)
            self._paid.pop(event.item, None)  # a long run keeps only unfinished claims in memory
            os.fsync(self._log.fileno())  # a finished claim survives a power failure

    def _was_logged(self, event: Event) -> bool:
        logged = self._logged.get(event.item)
        content = self._secrets.hide(_content(event)) if logged else ""
        if not logged or not logged[content]:
            return False
        logged[content] -= 1
        return True

    def _unwritable(self, error: OSError) -> RecordError:
        what = f"{str(error.filename or self.folder)!r} cannot be written: {error.strerror}"
        hint = "make room, or choose another folder; the same command resumes the run"
        return RecordError(what, hint=hint)

    def close(self) -> None:
        if self.mode == "record" and not self._log.closed:
            with suppress(OSError):  # of a line that could not be written, as was said
                self._log.close()
            self._held.close()

    def _compare(self, manifest: RunManifest) -> None:
        if difference := self.manifest.differing(manifest):
            name, old, new = difference
            verb = "differ" if name.endswith("s") and not name.endswith("ss") else "differs"
            raise RecordError(
                f"{str(self.folder)!r} already holds a run whose {name} {verb}: {old}, not {new}",
                hint="resume with the same arguments, or choose another folder",
            )

    def _load(self) -> None:
        for offset, event in _events(self.folder):
            self._count(event)
            if isinstance(event, Paid):
                self._paid.setdefault(event.item, {})[event.key] = event
            elif isinstance(event, CallFailed):
                self._failed.setdefault(event.item, []).append(event)
            elif isinstance(event, ClaimEnded):
                self._ended[event.item] = _Ended(offset, event.verdict.error is None)
                self._logged.pop(event.item, None)
                if self.mode == "record" and event.verdict.error is None:
                    self._paid.pop(event.item, None)
            elif self.mode == "record":
                self._logged.setdefault(event.item, Counter())[_content(event)] += 1
        for item, failures in self._failed.items():
            ended = self._ended.get(item)
            if ended is None or ended.fine:
                # includes questions that were asked again after an error
                paid = self._paid.get(item, {})
                bad = (call for call in failures if call.error.type == "BadReply")
                unreadable = {call.key: call for call in bad if call.key not in paid}
                if self.mode == "replay" or ended is None:
                    self._paid.setdefault(item, {}).update(unreadable)
                self._failed[item] = [call for call in failures if call.key not in unreadable]

    def _cut_incomplete_line(self) -> None:
        """Drops the line that a killed process was writing."""
        path = self.folder / "events.jsonl"
        if not path.exists():
            return
        file = open_own(path, os.O_RDWR)
        try:
            end = size = os.fstat(file).st_size
            last = b""
            while end and b"\n" not in last:
                start = max(0, end - _BLOCK)
                os.lseek(file, start, os.SEEK_SET)
                last = os.read(file, end - start)
                end = start + last.rfind(b"\n") + 1
            if end < size:
                os.ftruncate(file, end)
        finally:
            os.close(file)


def _content(event: Event) -> str:
    """What an event says, without its order and time, which differ when a claim is verified again."""
    return event.model_dump_json(exclude={"seq", "at"})


class _Ended(NamedTuple):
    """The offset in bytes of a claim's verdict in the log, and whether it has no error."""

    offset: int
    fine: bool


def remove_record(folder: Path) -> None:
    """Removes the files of a run, and their folder unless someone else's files are in it."""
    for name in ("events.jsonl", "run.json", ".lock"):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def read_events(folder: Path) -> Iterator[Event]:
    """The events of a run; of a claim that was retried, those of the last attempt and all paid answers."""
    return (event for _, event in _events(folder))


def last_attempts(folder: Path) -> Iterator[Event]:
    """As :func:`read_events`, without failed calls that were made again: they cost something, and decided nothing.

    An unreadable reply that the last attempt used again is part of it. The events of a claim come together.
    """
    unfinished: defaultdict[int, list[Event]] = defaultdict(list)
    for event in read_events(folder):
        events = unfinished[event.item]
        if isinstance(event, Paid | CallFailed):
            events[:] = (each for each in events if not isinstance(each, CallFailed) or each.key != event.key)
        elif isinstance(event, ClaimStarted):
            events[:] = (each for each in events if not isinstance(each, CallFailed) or each.error.type == "BadReply")
        events.append(event)
        if isinstance(event, ClaimEnded):
            yield from unfinished.pop(event.item)
    yield from chain.from_iterable(unfinished.values())


def _events(folder: Path) -> Iterator[tuple[int, Event]]:
    """The events with the offsets of their lines in bytes."""
    path, offset = folder / "events.jsonl", 0
    if not os.path.lexists(path):
        return
    with _log_of(path) as log:
        heads = ((number, head_of(line)) for number, line in enumerate(log, 1))
        starts = {head.item: number for number, head in heads if head and head.kind == "claim_started"}
        log.seek(0)
        for number, line in enumerate(log, 1):
            if not line.endswith(b"\n"):
                return
            try:
                event = EVENT.validate_json(line)
            except ValidationError as error:
                raise RecordError(
                    f"line {number} of {str(path)!r} is not an event: {line[:60]!r}",
                    hint="the file was changed; restore it or run again into another folder",
                ) from error
            if isinstance(event, Paid | CallFailed) or number >= starts.get(event.item, 0):
                yield offset, event
            offset += len(line)


def _log_of(path: Path) -> BinaryIO:
    try:
        return open_to_read(path)
    except OSError as error:
        what = f"{str(path)!r} cannot be read: {error.strerror}"
        raise RecordError(what, hint="restore it, or run again") from error


def write_atomically(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


class Clock(Protocol):
    """The source of a run's times."""

    def now(self) -> datetime:
        """The date and time, timezone-aware, in UTC."""
        ...

    def elapsed(self) -> float:
        """Seconds since the clock was created; monotonic."""
        ...


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed(self) -> float:
        return time.monotonic() - self._start
