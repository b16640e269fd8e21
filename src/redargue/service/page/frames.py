"""The events of a run as frames: elements that a page adds or replaces, rendered on the server.

A frame is one element with an id. The page replaces the element that has this id; if there is none, an ``append`` adds
it at the end of the element that ``data-in`` names, and a ``replace`` is dropped. Frames are made from events alone, so
that every reader sees the same page, and one that has missed some can be sent them again.

The templates of the page: those of the reports, and the page's own around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from threading import Lock
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from redargue import events, words
from redargue.evidence import GapKind
from redargue.reports import SingleRun
from redargue.reports import debate as reports
from redargue.reports.debate import Line, Passages, debate, how_done, limits_of, line_writer, turn_id, verdict_view
from redargue.runs.budget import Budget, UsageCounter
from redargue.runs.manifest import RunManifest
from redargue.sanitize import counted, printable, shortened
from redargue.service.checks import Check
from redargue.service.entries import EventLine
from redargue.verdicts import Usage, Verdict

POLICY = (  # forms, because a check is started and stopped by one, without a script too
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
OUTCOMES = {"not_enough": "not enough evidence", "unchecked": "not checked", "non_factual": "not factual"}
LAYOUT = {"layout": "page.html", "frames": "", "path": "", "signed_in": False}


def outcome_words(outcome: str) -> str:
    """The outcome of a claim, a text or a check in words."""
    return OUTCOMES.get(outcome, outcome.replace("_", " "))


def outcomes_words(check: Check) -> str:
    """The outcome of a check; of several claims with different ones, how many have which."""
    if check.outcome:
        return outcome_words(check.outcome)
    counts = sorted(check.outcomes.items())
    return ", ".join(f"{count} {outcome_words(name)}" for name, count in counts)


def claim_start(claim: str) -> str:
    """As lists show it."""
    return shortened(claim, 400)


@cache
def page_environment() -> Environment:
    folders = (("redargue.service.page", "templates"), ("redargue.reports", "html"))
    loader = ChoiceLoader([PackageLoader(*folder) for folder in folders])
    shared = reports.environment().overlay(loader=loader)
    own = (claim_start, outcome_words, outcomes_words)
    shared.globals = {**shared.globals, **{function.__name__: function for function in own}}
    return shared


def render_page(template: str, **context: Any) -> str:
    """A whole page in the layout of the service."""
    return printable(page_environment().get_template(template).render({**LAYOUT, **context})) + "\n"


@cache
def page_macro(template: str, name: str) -> Callable[..., Markup]:
    return reports.macro(template, name, page_environment())


def live(name: str, *shown: object) -> Markup:
    """An element of ``live.html``."""
    return page_macro("live.html", name)(*shown)


@cache
def style() -> str:
    own = files("redargue.service.page") / "static/page.css"
    shared = files("redargue.reports") / "html/report.css"
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in (shared, own))


@cache
def script() -> str:
    return (files("redargue.service.page") / "static/page.js").read_text(encoding="utf-8")


class Frame(NamedTuple):
    """One element with an id."""

    event: Literal["append", "replace"]
    id: str
    html: Markup


class _Part(NamedTuple):
    """An element of a claim's page, at the end of the element ``place``.

    Attributes:
        turns: of a round, its elements that can be replaced one by one, by id.
        rest: what a round shows besides its turns.
    """

    id: str
    place: str
    html: Markup
    turns: Mapping[str, Markup] = MappingProxyType({})
    rest: tuple[object, ...] = ()


class Frames(Protocol):
    """A page's view of a run, fed with the run's events in order.

    Attributes:
        only_replaces: no frame appends, so that a late reader needs only the last one of each element.
    """

    only_replaces: bool

    def feed(self, event: events.Event) -> list[Frame]: ...

    def element(self) -> Markup:
        """Everything that the frames so far have built."""
        ...


class Meter(NamedTuple):
    """What was spent of a budget; ``limit`` is None where there is none."""

    words: str
    share: float | None

    @property
    def percent(self) -> str:
        return f"{100 * min(1.0, self.share or 0.0):.1f}"


def meters(usage: Usage, budget: Budget | None, *, local: bool = False) -> tuple[Meter, ...]:
    """Calls, tokens, dollars and searches, each with its limit where there is one; ``local`` calls cost nothing."""
    tokens = usage.prompt_tokens + usage.completion_tokens
    limits = budget or Budget()
    usd = "price unknown" if usage.usd is None else f"${usage.usd:.4f}"
    spent = (
        _meter(counted(usage.calls, "call"), usage.calls, limits.calls, f"{limits.calls or 0:,}"),
        _meter(counted(tokens, "token"), tokens, limits.tokens, f"{limits.tokens or 0:,}"),
        _meter(usd, usage.usd, limits.usd, f"${limits.usd or 0:g}"),
    )
    noise = local and usage.usd is None
    shown = (meter for meter in spent if not noise or meter.share is not None)
    return (*shown, Meter(counted(usage.searches, "search", "searches"), None))


def _meter(words: str, spent: float | None, limit: float | None, limit_words: str) -> Meter:
    if limit is None:
        return Meter(words, None)
    return Meter(f"{words} of {limit_words}", None if spent is None else spent / limit)


class ClaimFrames:
    """One claim's debate while it is held, and its report afterwards.

    Args:
        manifest: of the run.
        item: the claim's index in it.
        finished: reads the run folder again once the claim has ended, for the report's last section.
    """

    only_replaces = False

    def __init__(
        self, manifest: RunManifest, item: int, finished: Callable[[], SingleRun], budget: Budget | None = None
    ) -> None:
        self._manifest, self._item, self._load, self._budget = manifest, item, finished, budget
        self._limits = limits_of(manifest)
        self._begin()

    def _begin(self) -> None:
        self._trace: list[events.Event] = []
        self._usage = UsageCounter(self._manifest.priced)
        self._verdict: Verdict | None = None
        self._passages = Passages(self._item, [])
        self._line = _remembered(line_writer(self._limits))
        self._debate = debate((), self._passages, self._line)
        self._parts = tuple(self._arranged())

    def feed(self, event: events.Event) -> list[Frame]:
        if event.item != self._item:
            return []
        if isinstance(event, events.ClaimStarted):
            self._begin()
        self._usage.count(event)
        if not isinstance(event, events.CallFinished | events.CallFailed):
            self._see(event)
        before, self._parts = self._parts, tuple(self._arranged())
        if isinstance(event, events.ClaimStarted | events.ClaimEnded):
            return [Frame("replace", self._id, self.element())]
        return list(changes(before, self._parts))

    def _see(self, event: events.Event) -> None:
        self._trace.append(event)
        if isinstance(event, events.ClaimEnded):
            self._verdict = event.verdict
        trace = tuple(self._trace)
        if events.passages_of(event) or isinstance(event, events.Answered | events.ClaimStarted):
            self._passages = Passages(self._item, [trace])
        self._debate = debate(trace, self._passages, self._line)

    def _arranged(self) -> Iterator[_Part]:
        """The parts that a reader sees while the claim is argued; the judge is shown with the verdict."""
        for round_ in self._debate.rounds:
            part = self._part(f"r{round_.number}", "rounds", "live_round", round_)
            ids = {turn_id(part.id, turn): turn for turn in round_.turns}
            turns = {id_: page_macro("debate.html", "turn")(turn, id_) for id_, turn in ids.items()}
            yield part._replace(turns=turns, rest=(round_.title, round_.end))
            if round_.title:
                yield self._part(f"l{round_.number}", "log", "log_line", round_)
        for sha in self._passages.by_sha:
            number = self._passages.number(sha)
            yield self._part(f"s{number}", "sources", "live_source", self._passages, sha)
        gaps = filter(None, map(events.gap_of, self._trace))
        failures = (gap for gap in gaps if gap.kind is not GapKind.PARTIAL)
        for number, gap in enumerate(failures, start=1):
            yield self._part(f"f{number}", "failed", "failed_search", gap, words.failure(gap))
        spent = meters(self._usage.usage(), self._budget, local=self._manifest.is_local)
        yield self._part("cost", "spent", "cost", spent)

    def _part(self, name: str, place: str, macro: str, *shown: object) -> _Part:
        id_, place = f"{self._id}-{name}", f"{self._id}-{place}"
        return _Part(id_, place, live(macro, id_, place, *shown))

    @property
    def _id(self) -> str:
        return f"c{self._item}"

    @property
    def finished(self) -> bool:
        return self._verdict is not None

    def element(self) -> Markup:
        if self._verdict is not None:
            view = verdict_view(self._item, self._verdict, tuple(self._trace), self._limits)
            return page_macro("live.html", "finished")(self._item, view, **how_done(self._load()))
        return live("arguing", self._item, self._manifest.claims[self._item], self._parts)


def changes(before: Iterable[_Part], now: Iterable[_Part]) -> Iterator[Frame]:
    """The frames that turn one page into the other; of a round in which nobody is new, only the turns that differ."""
    known = {part.id: part for part in before}
    for part in now:
        old = known.get(part.id)
        if old == part:
            continue
        if old and part.turns and old.turns.keys() == part.turns.keys() and old.rest == part.rest:
            yield from (Frame("replace", id_, turn) for id_, turn in part.turns.items() if turn != old.turns[id_])
        else:
            yield Frame("append", part.id, part.html)


def _remembered(line: Line) -> Line:
    """A writer that renders each event once."""
    # The event is kept, so that its id stays its own.
    lines: dict[tuple[int, int], tuple[events.Event, Markup]] = {}

    def remembered(event: events.Event, passages: Passages, repeated: int = 0) -> Markup:
        key = id(event), repeated
        if key not in lines:
            lines[key] = event, line(event, passages, repeated=repeated)
        return lines[key][1]

    return remembered


# Frames by line of a run's log, made once for all readers of a page.


class FrameLog:
    """The frames of a page, one tuple for each line that was read."""

    def __init__(self, page: Frames) -> None:
        self.page = page
        self._lines: list[tuple[Frame, ...]] = []
        self._replaced: dict[str, int] = {}  # the index of the last line that replaced an element
        self._lock = Lock()  # pages are rendered in threads

    @property
    def read(self) -> int:
        """Number of lines that were read."""
        return len(self._lines)

    def frames(self, line: EventLine) -> tuple[Frame, ...]:
        """Those of a line; every line before it has been read."""
        with self._lock:
            if line.number == self.read + 1:
                self._add(tuple(self.page.feed(line.event)))
            return self._lines[line.number - 1]

    def _add(self, frames: tuple[Frame, ...]) -> None:
        """Of a page that only replaces, keeps an element's last frame: a text is rendered with each of its claims."""
        for frame in frames if self.page.only_replaces else ():
            if (last := self._replaced.get(frame.id)) is not None:
                self._lines[last] = tuple(old for old in self._lines[last] if old.id != frame.id)
            self._replaced[frame.id] = self.read
        self._lines.append(frames)

    def element(self) -> tuple[Markup, int]:
        """The page as it is now, and the number of lines that were read for it."""
        with self._lock:
            return self.page.element(), self.read


def encoded(frame: Frame, id_: int | None = None) -> str:
    """A frame as a server-sent event; ``id_`` is the line that it completes."""
    data = "".join(f"data: {line}\n" for line in printable(str(frame.html)).split("\n"))
    return f"event: {frame.event}\n{'' if id_ is None else f'id: {id_}' + chr(10)}{data}\n"
