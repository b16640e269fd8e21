"""What the service stores beside a run: the request, its owner and how it ended (``check.json``)."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from redargue.claims import Frozen
from redargue.errors import RecordError
from redargue.files import open_to_read
from redargue.runs.record import write_atomically
from redargue.service.requests import CheckRequest
from redargue.verdicts import ErrorInfo, Usage

ENTRY_FILE = "check.json"
State = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
ENDED: frozenset[State] = frozenset({"done", "failed", "cancelled", "interrupted"})


class CheckEntry(Frozen):
    """A check of the service; ``queued`` is also what is stored while it is running.

    Attributes:
        store: name of the store that runs it.
        owner: the caller's key id; empty for the user of this machine.
        tools: search tools, chosen when it was requested.
        budget: the lower one of the request's and the service's; empty for none.
        idempotency, body: hashes of the caller's idempotency key, with its route, and of the body sent with it.
        outcome: of a finished check: the meaning of a claim's label, the outcome of a text, or ``error``.
    """

    format: Literal[1] = 1
    store: str
    owner: str
    created: datetime
    request: CheckRequest
    tools: tuple[str, ...] | None = None
    budget: str = ""
    idempotency: str = ""
    body: str = ""
    state: State = "queued"
    outcome: str = ""
    error: ErrorInfo | None = None
    usage: Usage | None = None
    ended: datetime | None = None


def read_entry(folder: Path) -> CheckEntry | None:
    """The entry of a run folder; None if the service did not begin the run. Raises RecordError."""
    path = folder / ENTRY_FILE
    try:
        with open_to_read(path) as file:
            return CheckEntry.model_validate(json.loads(file.read()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, ValidationError) as error:
        raise RecordError(f"{str(path)!r} cannot be read", hint="restore it, or remove the run") from error


def write_entry(folder: Path, entry: CheckEntry) -> None:
    write_atomically(folder / ENTRY_FILE, text_of_entry(entry))


def text_of_entry(entry: CheckEntry) -> str:
    return entry.model_dump_json(indent=1, exclude_defaults=True) + "\n"
