"""API keys: made once, stored as their sha256, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from pydantic import Field, ValidationError

from redargue.claims import Frozen
from redargue.errors import RecordError, UsageError
from redargue.files import home, make_folder, open_to_read, replacing
from redargue.runs.budget import Budget
from redargue.runs.record import write_atomically

PREFIX = "rdg_"
SESSION_SECONDS = 12 * 3600
ENDED_SESSIONS = "sessions-ended.json"


class ApiKey(Frozen):
    """A key without its secret; ``budget`` is for each day (UTC), empty for the service's default."""

    id: str = Field(pattern=r"^k[0-9a-f]{8}$")
    name: str
    sha256: str
    created: datetime
    budget: str = ""


class _Stored(Frozen):
    keys: tuple[ApiKey, ...] = ()


class Keys:
    """The keys in a folder, read again when another process changes them."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or home() / "service"
        self._path = self._folder / "keys.json"
        self._seen: tuple[int, int] | None = None
        self._keys: tuple[ApiKey, ...] = ()
        self._needed = False
        self._lock = Lock()

    @property
    def needed(self) -> bool:
        """Whether requests need a key: there is one, or was one since this process began.

        Removing the last key locks a service that may be reached from other machines, and does not open it.
        """
        self._needed = self._needed or bool(self.list())
        return self._needed

    def list(self) -> tuple[ApiKey, ...]:
        """Raises RecordError if the file is damaged: a service must not take that for no keys."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return ()
        if (status.st_mtime_ns, status.st_ino) != self._seen:
            try:
                with open_to_read(self._path) as file:
                    self._keys = _Stored.model_validate(json.loads(file.read())).keys
            except (OSError, ValueError, ValidationError) as error:
                raise RecordError(f"{str(self._path)!r} cannot be read", hint="restore it, or remove it") from error
            self._seen = status.st_mtime_ns, status.st_ino
        return self._keys

    def add(self, name: str, budget: str = "") -> tuple[ApiKey, str]:
        """A new key and its secret, which is stored nowhere."""
        if budget:
            Budget.parse(budget)
        secret = PREFIX + secrets.token_urlsafe(32)
        key = ApiKey(
            id=f"k{secrets.token_hex(4)}", name=name, sha256=_hash(secret), created=datetime.now(UTC), budget=budget
        )
        self._write((*self.list(), key))
        return key, secret

    def remove(self, id_: str) -> ApiKey:
        """Raises UsageError if there is no such key."""
        keys = self.list()
        key = next((key for key in keys if key.id == id_), None)
        if key is None:
            raise UsageError(f"no key {id_!r}", hint="list them: redargue serve key ls")
        self._write(tuple(other for other in keys if other.id != id_))
        return key

    def find(self, secret: str) -> ApiKey | None:
        presented, found = _hash(secret), None
        for key in self.list():
            if hmac.compare_digest(key.sha256, presented):
                found = key
        return found

    def _write(self, keys: tuple[ApiKey, ...]) -> None:
        make_folder(self._folder)
        write_atomically(self._path, _Stored(keys=keys).model_dump_json(indent=1) + "\n")

    # A browser's EventSource sends no Authorization header, so that a page gets a cookie for its key.

    def session(self, key: ApiKey, *, now: float | None = None) -> str:
        """The value of a cookie that stands for a key for some hours, also after a restart."""
        until = int((time.time() if now is None else now) + SESSION_SECONDS)
        begun = f"{key.id}.{until}.{secrets.token_hex(8)}"
        return f"{begun}.{self._sign(key, begun)}"

    def find_session(self, cookie: str, *, now: float | None = None) -> ApiKey | None:
        """The key of a session that has neither run out nor been ended."""
        begun, _, signature = cookie.rpartition(".")
        id_, _, rest = begun.partition(".")
        until = rest.partition(".")[0]
        key = next((key for key in self.list() if key.id == id_), None)
        if key is None or not until.isascii() or not until.isdigit() or len(until) > 12:
            return None
        fine = hmac.compare_digest(signature.encode(), self._sign(key, begun).encode())
        if not fine or int(until) <= (time.time() if now is None else now):
            return None
        with self._lock:
            return None if _hash(begun) in self._ended() else key

    def end_session(self, cookie: str, *, now: float | None = None) -> None:
        """Ends a session: its cookie, which may have been copied, stands for no key any more, also after a restart."""
        if self.find_session(cookie, now=now) is None:
            return
        begun = cookie.rpartition(".")[0]
        with self._lock:
            moment = time.time() if now is None else now
            ended = {name: until for name, until in self._ended().items() if until > moment}
            ended[_hash(begun)] = int(begun.split(".")[1])
            make_folder(self._folder)
            write_atomically(self._folder / ENDED_SESSIONS, json.dumps(ended) + "\n")

    def _ended(self) -> dict[str, int]:
        """Hashes of the sessions that were ended, with the times at which they would have run out."""
        path = self._folder / ENDED_SESSIONS
        try:
            with open_to_read(path) as file:
                ended: dict[str, int] = json.loads(file.read())
                return ended
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:  # no session may come to life again
            raise RecordError(f"{str(path)!r} cannot be read", hint="restore it, or remove it") from error

    def _sign(self, key: ApiKey, begun: str) -> str:
        return hmac.new(self._secret(), f"{begun}.{key.sha256}".encode(), "sha256").hexdigest()

    def _secret(self) -> bytes:
        path = self._folder / "session-secret"
        make_folder(self._folder)
        with self._lock:  # requests are authorized in several threads
            try:
                with open_to_read(path) as file:
                    if len(secret := file.read()) >= 32:
                        return secret
            except FileNotFoundError:
                pass
            secret = secrets.token_bytes(32)
            with replacing(path) as file:
                file.write(secret)
            return secret


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
