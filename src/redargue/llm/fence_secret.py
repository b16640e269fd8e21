"""The secret of the words in fences: one per installation, so that neither code nor documents reveal a word.

It stays the same between runs: a repeated run sends the same requests, a batch at a provider that was interrupted is
found again, and providers' caches hit.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path

from redargue.files import home, make_folder, open_to_read, open_to_write

SECRET_FILE = "fence-secret"
LENGTH = 32  # bytes


def fence_secret() -> bytes:
    """Of this installation, created at the first call; of this process where its folder cannot be written."""
    return _secret(home() / SECRET_FILE)


@cache
def _secret(path: Path) -> bytes:
    with suppress(OSError):
        if not path.exists():
            _create(path)
        with open_to_read(path) as file:
            if len(found := file.read(LENGTH)) == LENGTH:
                return found
    return secrets.token_bytes(LENGTH)


def _create(path: Path) -> None:
    """Whole or not at all: of several processes that create it, the first one wins."""
    make_folder(path.parent)
    new = path.with_name(f"{SECRET_FILE}.{secrets.token_hex(8)}")
    try:
        with open_to_write(new) as file:
            file.write(secrets.token_bytes(LENGTH))
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
