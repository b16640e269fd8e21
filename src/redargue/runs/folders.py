"""The runs that redargue recorded in its home: finds, lists and removes them."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from redargue.caveats import Unchecked
from redargue.errors import RecordError, UsageError
from redargue.events import head_of
from redargue.files import home
from redargue.registry import did_you_mean
from redargue.runs.manifest import read_description
from redargue.runs.record import DRAFT, writing

LAST = "last"
ERROR, UNCHECKED, NO_LABEL = "error", "unchecked", "no label"
_OF_A_RUN = frozenset({"run.json", "events.jsonl", ".lock", DRAFT, "citations.json", "check.json", "report.html"})
_NAMED_BY_TIME = re.compile(r"\d{8}-\d{6}")


class RecordedRun(NamedTuple):
    """A run folder in redargue's home."""

    folder: Path
    began: datetime  # in UTC
    method: str  # empty if ``run.json`` cannot be read
    name: str  # of the file that was checked; empty without one
    claims: int  # their number
    first: str  # the text of the first claim
    outcomes: Counter[str]  # finished claims by meaning, ``error``, ``unchecked`` or ``no label``
    unread: int | None  # sentences of a text that may state something and were not read; None for claims
    size: int  # of its files, in bytes


def runs_folder() -> Path:
    return home() / "runs"


def run_folders() -> list[Path]:
    """The folders of recorded runs, also of texts whose claims are not known yet; newest first, links are left out."""
    folder = runs_folder()
    if not folder.is_dir():
        return []
    own = (path for path in folder.iterdir() if not path.is_symlink())
    runs = (path for path in own if is_begun(described_in(path)))
    return sorted(runs, key=lambda path: (began(path), path.name), reverse=True)


def is_begun(folder: Path) -> bool:
    return (folder / "run.json").is_file()


def described_in(folder: Path) -> Path:
    """The folder with the description of a run: of a text whose claims are not known yet, that of its draft."""
    return folder if is_begun(folder) else folder / DRAFT


def find_run(name: str | Path) -> Path:
    """The folder of a run: a path, ``last``, or the name of a run in redargue's home, of which a beginning is enough.

    Raises UsageError if no run, or several, have that name.
    """
    path, text = Path(name), str(name)
    if path.exists() or path.name != text:
        return path
    folders = run_folders()
    if text == LAST and (runs := list(filter(is_begun, folders))):
        return runs[0]
    names = [folder.name for folder in folders]
    matches = [text] if text in names else [known for known in names if known.startswith(text)]
    if len(matches) == 1:
        return runs_folder() / matches[0]
    if matches:
        hint = f"write more of the name: {matches[0]}"
        raise UsageError(f"{len(matches)} runs begin with {text!r}", hint=hint)
    near = did_you_mean(text, names[:10]) if names else f"{str(runs_folder())!r} has none yet"
    hint = f"name a run folder, or a run that redargue runs ls lists; {near}"
    raise UsageError(f"no run {text!r}", hint=hint)


def read_run(folder: Path) -> RecordedRun:
    """Reads what a listing shows; a damaged run has no method."""
    try:
        about = read_description(described_in(folder))
        claims = [str(claim["text"]) for claim in about["claims"]]
        method, name = str(about["spec"]["method"]), str(about.get("origin", {}).get("name", ""))
        outcomes, unread = Counter(dict(_outcomes(folder / "events.jsonl")).values()), _unread(about.get("text"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        claims, method, name, outcomes, unread = [], "", "", Counter(), None
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    first = claims[0] if claims else ""
    return RecordedRun(folder, began(folder), method, name, len(claims), first, outcomes, unread, size)


def remove_run(folder: Path) -> None:
    """Removes a run folder with its files.

    Raises RecordError if a process is writing to it, and for a folder outside redargue's home with files of others.
    """
    others = sorted(path.name for path in folder.iterdir() if path.name not in _OF_A_RUN)
    if others and folder.absolute().parent != runs_folder().absolute():
        hint = "remove its run.json and events.jsonl by hand"
        raise RecordError(f"{str(folder)!r} holds {others[0]!r}, which is not of the run", hint=hint)
    # renamed first, so that no reader finds half a run
    gone = folder.with_name(f".{folder.name}.removed")
    draft = folder / DRAFT
    with writing(folder), writing(draft) if draft.is_dir() else nullcontext():
        try:
            folder.rename(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise RecordError(f"{str(folder)!r} cannot be removed: {error.strerror}") from error


def began(folder: Path) -> datetime:
    """When a run began (UTC), by its name or its ``run.json``."""
    if named := time_in_name(folder):
        return named
    return datetime.fromtimestamp((described_in(folder) / "run.json").stat().st_mtime, UTC)


def time_in_name(folder: Path) -> datetime | None:
    """When a run began (UTC), by its name; None where that does not say it."""
    if stamp := _NAMED_BY_TIME.match(folder.name):
        try:
            return datetime.strptime(stamp.group(), "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            pass  # digits that are not a date
    return None


def _outcomes(log: Path) -> Iterator[tuple[int, str]]:
    if not log.is_file():
        return
    with log.open("rb") as lines:
        for line in lines:
            head = head_of(line)
            if head and head.kind == "claim_ended":
                yield head.item, _outcome(json.loads(line)["verdict"])


def _unread(text: dict[str, list[dict[str, object]]] | None) -> int | None:
    sentences = text.get("unchecked", []) if text else []
    return sum(Unchecked.model_validate(each["why"]).may_state for each in sentences) if text else None


def _outcome(verdict: dict[str, object]) -> str:
    if verdict.get("error"):
        return ERROR
    return UNCHECKED if verdict.get("unchecked") else str(verdict.get("meaning") or NO_LABEL)
