"""The bodies of answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self

from redargue.claims import Frozen
from redargue.reports import CheckResult
from redargue.service.checks import Check, with_its_end
from redargue.service.entries import State
from redargue.text import Report
from redargue.verdicts import ErrorInfo, Usage


class Links(Frozen):
    """Addresses of a check's parts, relative to the service."""

    self: str
    events: str
    report: str

    @classmethod
    def of(cls, id_: str) -> Links:
        path = f"/v1/checks/{id_}"
        return cls(self=path, events=f"{path}/events", report=f"{path}/report.html")


class CheckSummary(Frozen):
    """A check in a list.

    Attributes:
        claims: number of claims; 0 until the claims of a text are extracted.
        first: the first 200 characters of the claim or text.
        outcome: of a finished check: the meaning of a claim's label, the outcome of a text, ``unchecked`` or ``error``.
        position: in the queue, from 1; 0 where it does not wait.
    """

    id: str
    state: State
    created: datetime
    method: str
    claims: int
    first: str
    outcome: str = ""
    position: int = 0
    links: Links

    @classmethod
    def of(cls, check: Check, **more: object) -> Self:
        names = ("id", "state", "created", "method", "claims", "outcome", "position")
        same = {name: getattr(check, name) for name in names}
        return cls(**same, first=check.first[:200], links=Links.of(check.id), **more)


class CheckAnswer(CheckSummary):
    """A check with its result.

    Attributes:
        result: as ``redargue check --json`` prints it (check.v2), or the report on a text (text.v2); null until it has
            ended, and of a text that was stopped before all of its claims had a verdict.
        error: why it failed.
        usage: what it cost; null until it has ended.
        offsets: what offsets in the result count.
    """

    result: CheckResult | Report | None = None
    error: ErrorInfo | None = None
    usage: Usage | None = None
    offsets: Literal["code_point"] = "code_point"

    @classmethod
    def with_result(cls, check: Check, result: CheckResult | Report | None) -> CheckAnswer:
        check = with_its_end(check, result)
        return cls.of(check, result=result, error=check.error, usage=check.usage)


class CheckList(Frozen):
    """The caller's checks, newest first; ``cursor`` continues the list and is empty at its end."""

    checks: tuple[CheckSummary, ...]
    cursor: str = ""


class Health(Frozen):
    """Whether the service answers, or can take checks; ``why`` names what is missing."""

    status: Literal["ok", "unavailable"] = "ok"
    why: tuple[str, ...] = ()
