"""API keys: made once, stored as their sha256, compared in constant time.

Budgets of a key and day, from which all checks of the key are paid.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import Field, TypeAdapter

from redargue.claims import Frozen
from redargue.errors import BudgetReached, UsageError
from redargue.files import home, locked, make_folder, open_to_read, read_stored, replacing
from redargue.runs.budget import Budget, Cost
from redargue.runs.record import write_atomically
from redargue.sanitize import counted
from redargue.service.entries import CheckEntry
from redargue.verifier import cost_of, goes_online

PREFIX = "rdg_"
_RESTORE = "restore it, or remove it"  # a file that is damaged
_SESSION = re.compile(
    r"(?P<begun>(?P<key>k[0-9a-f]{8})\.(?P<until>[0-9]{1,12})\.[0-9a-f]{16})\.(?P<signature>[0-9a-f]{64})"
)
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
            stored = read_stored(self._path, _Stored.model_validate, hint=_RESTORE)
            self._keys = stored.keys if stored else ()
            self._seen = status.st_mtime_ns, status.st_ino
        return self._keys

    def get(self, id_: str) -> ApiKey | None:
        return next((key for key in self.list() if key.id == id_), None)

    def add(self, name: str, budget: str = "") -> tuple[ApiKey, str]:
        """A new key and its secret, which is stored nowhere."""
        if budget:
            Budget.parse(budget)
        secret = PREFIX + secrets.token_urlsafe(32)
        id_, created = f"k{secrets.token_hex(4)}", datetime.now(UTC)
        key = ApiKey(id=id_, name=name, sha256=_hash(secret), created=created, budget=budget)
        self._change(lambda keys: (*keys, key))
        return key, secret

    def remove(self, id_: str) -> ApiKey:
        """Raises UsageError if there is no such key."""
        if not (key := self.get(id_)):
            raise UsageError(f"no key {id_!r}", hint="list them: redargue serve key ls")
        self._change(lambda keys: tuple(other for other in keys if other.id != id_))
        return key

    def find(self, secret: str) -> ApiKey | None:
        presented = _hash(secret)
        matching = [key for key in self.list() if hmac.compare_digest(key.sha256, presented)]
        return matching[-1] if matching else None

    def _change(self, change: Callable[[tuple[ApiKey, ...]], tuple[ApiKey, ...]]) -> None:
        """Changes the keys while no other thread or process does."""
        make_folder(self._folder)
        with locked(self._folder / "keys.lock", wait=True):
            write_atomically(self._path, _Stored(keys=change(self.list())).model_dump_json(indent=1) + "\n")

    # A browser's EventSource sends no Authorization header, so that a page gets a cookie for its key.

    def session(self, key: ApiKey, *, now: float | None = None) -> str:
        """The value of a cookie that stands for a key for some hours, also after a restart."""
        until = int((time.time() if now is None else now) + SESSION_SECONDS)
        begun = f"{key.id}.{until}.{secrets.token_hex(8)}"
        return f"{begun}.{self._sign(key, begun)}"

    def find_session(self, cookie: str, *, now: float | None = None) -> ApiKey | None:
        """The key of a session that has neither run out nor been ended."""
        if not (match := _SESSION.fullmatch(cookie)) or not (key := self.get(match["key"])):
            return None
        begun, signature = match["begun"], match["signature"]
        if not hmac.compare_digest(signature, self._sign(key, begun)):
            return None
        if int(match["until"]) <= (time.time() if now is None else now):
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
        # Raises RecordError: no session may come to life again.
        parse = TypeAdapter(dict[str, int]).validate_python
        return read_stored(self._folder / ENDED_SESSIONS, parse, hint=_RESTORE) or {}

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


DAYS = 32  # whose budgets are kept
_LEAST = Cost(calls=1, tokens=1, usd=1e-9)  # of a check; not every one searches


def _spent_today() -> BudgetReached:
    return BudgetReached("the key's budget of this day is spent", hint="try again tomorrow (UTC)")


class DayBudget(Budget):
    """The budget of a key and day.

    Attributes:
        ended, cost: number of checks that it has paid for, and what these cost.
        active: checks that wait or run, and the most calls of each.
    """

    def __init__(self, calls: int | None = None, **limits: Any) -> None:
        super().__init__(calls, **limits)
        self.ended, self.cost = 0, Cost()
        self.active: dict[KeyBudget, int] = {}
        self._refused = _LEAST  # the last call that no longer fitted

    def refuse(self, bound: Cost) -> None:
        """Notes a call that did not fit, unless so much is left that others will."""
        if any(getattr(self.spent, unit) >= limit / 2 for unit, limit in self.limits.items()):
            self._refused = bound

    def count(self, cost: Cost) -> None:
        """Counts a check that has ended; what those before have cost is expected of further ones."""
        self.ended, self.cost = self.ended + 1, self.cost.plus(cost)

    def is_spent(self) -> bool:
        """Whether a further call would find nothing left."""
        return bool(self._limit_exceeded_by(self.spent.plus(self._refused)))

    def require(self, calls: int) -> None:
        """Raises BudgetReached if nothing is left, or nothing will be once the active checks have cost what others did.

        Before any has ended, they and the further one, of at most so many calls, are taken to cost as many as they may.
        """
        if self.is_spent():
            raise _spent_today()
        total = self.spent.plus(self._refused)
        if self.active and not self.ended:
            total = total.plus(Cost(calls=calls - 1))
        for budget, most in self.active.items():
            whole = Cost._make(part / self.ended for part in self.cost) if self.ended else Cost(calls=most)
            total = total.plus(Cost._make(max(0, part) for part in whole.plus(budget.spent, -1)))
        if self._limit_exceeded_by(total):
            sent = counted(len(self.active), "check")
            what = f"{sent} that you have sent may spend the rest of the key's budget of this day"
            raise BudgetReached(what, hint="send this again when they have ended")


class KeyBudget(Budget):
    """The budget of one check, which also reserves from its key's budget of the day."""

    def __init__(self, day: DayBudget, own: Budget | None = None) -> None:
        super().__init__(**(own or Budget()).limits)
        self._day = day

    async def reserve(self, bound: Cost) -> None:
        while not self.hold(bound):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            self._day._waiting.append(turn)
            await turn

    def hold(self, bound: Cost) -> bool:
        if not super().hold(bound):
            return False
        held = False
        try:
            held = self._day.hold(bound)
        except BudgetReached:
            self._day.refuse(bound)
            raise _spent_today() from None
        finally:
            self.held = self.held if held else self.held.plus(bound, -1)
        return held

    def settle(self, bound: Cost, actual: Cost) -> None:
        super().settle(bound, actual)
        self._day.settle(bound, actual)

    def recall(self, cost: Cost) -> None:
        super().recall(cost)
        self._day.recall(cost)


class DayBudgets:
    """The budgets of each day; what was spent before a restart is read from the checks that ended since yesterday.

    A day's budget is given once, however the clock is set: a day that comes again has what is left of it, and a day
    before the first one known is that one.
    """

    def __init__(self, limit_of: Callable[[str], str], now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._limit_of, self._now = limit_of, now
        self._days: dict[date, dict[str, DayBudget]] = {}

    def load(self, entries: Iterable[CheckEntry]) -> None:
        for entry in entries:
            if entry.ended and entry.usage and (budget := self._on(entry.ended.date(), entry.owner)):
                # Whatever its tools are called, a request's contexts have answered.
                searched = goes_online if entry.request.contexts is None else lambda tool: False
                cost = cost_of(entry.usage, searched)
                budget.recall(cost)
                budget.count(cost)

    def of(self, owner: str) -> DayBudget | None:
        """An owner's budget of today; None without a limit."""
        return self._on(self.today(), owner)

    def today(self) -> date:
        return max(self._now().date(), min(self._days, default=date.min))

    def _on(self, day: date, owner: str) -> DayBudget | None:
        if day not in self._days and len(self._days) == DAYS:
            del self._days[min(self._days)]
        budgets = self._days.setdefault(day, {})
        if owner not in budgets:
            if not (limit := self._limit_of(owner)):
                return None
            budgets[owner] = DayBudget.parse(limit)
        return budgets[owner]

    def commit(self, owner: str, budget: str, day: date | None = None) -> Cost:
        """Counts the whole budget of a batch, which may be spent on other machines, on a day; default: today.

        Raises UsageError without one, and BudgetReached if it is more than is left today, or would be once the
        requests of running checks have cost what they may.
        """
        if not (paying := self._on(day or self.today(), owner)):
            return Cost()
        own = Budget.parse(budget) if budget else Budget()
        if paying.limits.keys() - own.limits.keys():
            hint = "name one in the same unit, such as 400calls"
            raise UsageError("a batch needs a budget where its key has one", where="budget", hint=hint)
        cost = Cost(**own.limits)
        if paying._limit_exceeded_by(paying.spent.plus(cost)):
            raise BudgetReached("the batch's budget is more than is left of the key's today")
        if paying._limit_exceeded_by(paying.spent.plus(paying.held).plus(cost)):
            what = "running checks may spend what the batch's budget needs of the key's today"
            raise BudgetReached(what, hint="send this again when they have ended")
        paying.recall(cost)
        return cost

    def release(self, owner: str, cost: Cost) -> None:
        """Takes back what was committed for a batch that was not stored."""
        if day := self.of(owner):
            day.recall(Cost().plus(cost, -1))

    @contextmanager
    def check(
        self, owner: str, own: str = "", most_calls: Callable[[], int] = lambda: 1, *, resumed: bool = False
    ) -> Iterator[Budget | None]:
        """The budget of a check, with its own limits, that is active within the context; None where it has none at all.

        ``most_calls`` gives the most that it may make; one that is ``resumed`` was begun before a restart. Raises
        BudgetReached where nothing is left today, or nothing will be after the owner's active checks.
        """
        mine = Budget.parse(own) if own else None
        if not (day := self.of(owner)):
            yield mine
            return
        calls = most_calls()
        if not resumed:
            day.require(calls)
        budget = KeyBudget(day, mine)
        day.active[budget] = calls
        try:
            yield budget
        finally:
            del day.active[budget]
            if budget.spent != Cost():
                day.count(budget.spent)
