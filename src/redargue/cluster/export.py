"""A batch folder made from a shared ledger: the same files as of a batch in one process, in the claims' order.

``events.jsonl`` and ``run.json`` make it a run folder: it can be replayed, reported on and compared like any other.
``ledger.json`` says which batch of a ledger it shows, and how long the log was when it was written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redargue.claims import Claim
from redargue.cluster.queue import Batch, find, results
from redargue.cluster.store import SharedDatabase
from redargue.errors import RecordError, UsageError
from redargue.events import EVENT, ClaimEnded
from redargue.runs.record import writing
from redargue.verdicts import Verdict


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Makes a folder where there is none, and keeps other commands from writing there.

    Raises:
        UsageError: it cannot be made.
        RecordError: another command is at it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{str(folder)!r} cannot be a batch folder: {error.strerror}"
        raise UsageError(what, hint="give -o another folder") from error
    with writing(folder):
        yield


def exported(folder: Path, batch: str, ledger: SharedDatabase) -> None:
    """Looks whether a folder may be written anew from a ledger.

    Raises:
        RecordError: it shows something else, or results of the batch that the ledger no longer has.
    """
    if not any(shown(folder, batch).get("log", ())):
        return
    try:
        find(ledger, batch)
    except UsageError:
        raise RecordError(
            f"{str(folder)!r} holds results of a batch that is not in this ledger: it was dropped, or is in another",
            hint="give the ledger that it was in; or take another folder to verify all claims again",
        ) from None


def shown(folder: Path, batch: str) -> Mapping[str, Any]:
    """What a folder says of the batch that it shows; empty where it shows none.

    Args:
        folder: the batch folder.
        batch: the id of the one that it is to show.

    Raises:
        RecordError: it shows something else, or its log has changed since it was written here.
    """
    mark = folder / "ledger.json"
    known: Mapping[str, Any] = _read(mark) if mark.exists() else {}
    if known and known.get("batch") != batch:
        raise RecordError(
            f"{str(folder)!r} shows another batch: {str(known.get('batch'))[:16]}, not {batch[:16]}",
            hint="give the same claims and arguments, or take another folder",
        )
    log = folder / "events.jsonl"
    if log.exists() and log.stat().st_size not in known.get("log", ()):
        raise RecordError(
            f"{str(folder)!r} holds a run of one process", hint="go on without --engine, or take another folder"
        )
    return known


def claim_folder(folder: Path, batch: Batch, claims: Sequence[Claim]) -> None:
    """Makes a folder the batch's, before anything is written to it.

    Raises:
        RecordError: it shows something else, or its log has changed since it was written here.
    """
    if not shown(folder, batch.id):
        head = json.dumps({"run": folder.name, **batch.about}, indent=1, ensure_ascii=False).removesuffix("\n}")
        fresh = folder / "run.json.new"
        with fresh.open("w", encoding="utf-8") as file:  # claim by claim: there may be a million
            file.write(head + ',\n "claims": [')
            for place, claim in enumerate(claims):
                file.write(("," if place else "") + "\n  " + claim.model_dump_json())
            file.write("\n ]\n}\n")
        os.replace(fresh, folder / "run.json")
        _write(folder / "ledger.json", json.dumps({"batch": batch.id, "log": []}))


def written(folder: Path, batch: Batch, ledger: SharedDatabase) -> Iterator[tuple[int, Verdict]]:
    """Writes the log of all finished claims anew, and gives each one's place and verdict on the way."""
    log, fresh = folder / "events.jsonl", folder / "events.new"
    before = log.stat().st_size if log.exists() else 0
    with fresh.open("wb") as file:
        for place, lines in results(ledger, batch.number):
            file.write("".join(f"{line}\n" for line in lines).encode())
            event = EVENT.validate_json(lines[-1])
            assert isinstance(event, ClaimEnded)
            yield place, event.verdict
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    _write(folder / "ledger.json", json.dumps({"batch": batch.id, "log": [before, size]}))
    os.replace(fresh, log)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(f"{str(path)!r} cannot be read: {error}") from error


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)
