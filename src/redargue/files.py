"""Opens files safely in folders that someone else may have filled, and creates files that only the user can read.

Only regular files are opened, so that a named pipe or a device cannot block. Nothing is written through a link, or
into a file of another user. New files are readable by their owner alone (0600), and so are new folders (0700).
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar, cast

from redargue.errors import RecordError, UsageError

try:
    import fcntl
except ImportError:  # Windows has no flock; two processes on one folder go unnoticed there
    fcntl = None  # type: ignore[assignment]

_T = TypeVar("_T")

# The folders where redargue keeps its user's data and configuration.


def home() -> Path:
    """The folder of corpora and runs: ``REDARGUE_HOME``, or ``redargue`` in the user's data folder."""
    if folder := os.environ.get("REDARGUE_HOME"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "redargue"


def config_home() -> Path:
    """The folder of the user's ``redargue.toml``: ``redargue`` in the user's configuration folder."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "redargue"


# Windows has neither
_NO_LINK, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
_ALWAYS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | _NO_WAIT
FILE_MODE, FOLDER_MODE = 0o600, 0o700
# of an OSError: a full disk, a quota, a limit
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def open_to_read(path: Path) -> BinaryIO:
    """Raises OSError, also for what is not a regular file."""
    return cast(BinaryIO, os.fdopen(_regular(os.open(path, os.O_RDONLY | _ALWAYS), path), "rb"))


def read_stored(path: Path, parse: Callable[[Any], _T], *, hint: str) -> _T | None:
    """What a JSON file that redargue wrote holds; None without it. Raises RecordError if it is damaged."""
    try:
        with open_to_read(path) as file:
            return parse(json.loads(file.read()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, UsageError) as error:
        raise RecordError(f"{str(path)!r} cannot be read", hint=hint) from error


def open_to_write(path: Path, *, append: bool = False) -> BinaryIO:
    """The user's own file, created or emptied; raises OSError, also for a link and a file of another user."""
    file = open_own(path, os.O_WRONLY | (os.O_APPEND if append else 0))
    if not append:
        os.ftruncate(file, 0)
    return cast(BinaryIO, os.fdopen(file, "ab" if append else "wb"))


def open_own(path: Path, flags: int) -> int:
    """The descriptor of a file that belongs to the user, created if there is none."""
    try:
        file = _regular(os.open(path, flags | os.O_CREAT | _NO_LINK | _ALWAYS, FILE_MODE), path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "it is a symbolic link", str(path)) from None
        if error.errno == errno.ENXIO:  # a named pipe that nobody reads
            raise OSError(errno.EINVAL, "it is not a regular file", str(path)) from None
        raise
    try:
        status = os.fstat(file)
        if status.st_nlink > 1:
            raise OSError(errno.EMLINK, "it has several names (hard links)", str(path))
        require_own(status, path)
    except OSError:
        os.close(file)
        raise
    return file


def require_own(status: os.stat_result, path: Path) -> None:
    """Raises OSError for a file or folder of another user."""
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to another user", str(path))


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Holds a lock file that no other process holds.

    Raises BlockingIOError if another process holds it and ``wait`` is False.
    """
    file = open_own(path, os.O_RDWR)
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(file)


class Closable(ABC):
    """What is closed where its ``with`` block ends."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def replacing(path: Path, temporary: Path | None = None) -> Iterator[BinaryIO]:
    """A new file that replaces ``path`` when the block ends, durably; a link is replaced, not followed.

    If the block fails, nothing is left of it; an OSError names the file.
    """
    new = temporary or path.with_suffix(".new")
    new.unlink(missing_ok=True)
    try:
        with open_to_write(new) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException as error:
        with suppress(OSError):
            new.unlink()
        if isinstance(error, OSError):
            error.filename = error.filename or str(path)
        raise


def make_folder(path: Path) -> None:
    """Creates a folder and its parents, where they do not exist, for the user alone."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    if not path.is_dir():
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def make_private(path: Path) -> None:
    """Creates an empty file for the user alone, where there is none, before another library opens it."""
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | _ALWAYS, FILE_MODE))


def _regular(file: int, path: Path) -> int:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if _NO_WAIT:
        os.set_blocking(file, True)
    return file


def sha256_of(path: Path) -> str:
    """Of a file, the hash of its bytes; of a folder, the hash of the lines ``sha256  name`` of its files by name."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        return hashlib.sha256("".join(f"{sha256_of(file)}  {file.name}\n" for file in files).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
