"""The mark of a corpus to which documents are being added: its searches would miss some."""

from __future__ import annotations

import os
import socket
import uuid
from datetime import UTC, datetime, timedelta

from redargue.errors import StoreUnavailable

ABANDONED = timedelta(minutes=10)  # without a batch, whoever was adding documents is gone


def moment() -> str:
    """The time now, as the mark holds it: ISO 8601 in UTC, in seconds."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


def refuse_while_adding(name: str, since: str) -> None:
    """Raises StoreUnavailable if a store has the mark and was not abandoned; ``since`` is empty without a mark."""
    if not since:
        return
    began = datetime.fromisoformat(since).replace(tzinfo=UTC)
    if datetime.now(UTC) - began > ABANDONED:
        return
    raise StoreUnavailable(
        f"documents are being added to {name!r} (since {began:%H:%M} UTC): it is not complete",
        hint="try again when redargue corpus add has ended; if it was interrupted, run it again",
    )


def new_mark() -> str:
    """The name of one addition's mark, where several processes may add documents at the same time."""
    return f"adding {socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"


def was_killed(mark: str) -> bool:
    """Whether the process that made a mark on this machine no longer runs."""
    _, host, process, *_ = [*mark.split(" "), "", ""]
    if host != socket.gethostname() or not process.isdigit() or os.name != "posix":
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # of another user
        return False
    return False
