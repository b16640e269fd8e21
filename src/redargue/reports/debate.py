"""What happened to one claim, arranged for a page: passages, rounds, turns, the judge.

Pages have a bound on the size of a file. In their Jinja environment every value is escaped, an undefined one is an
error, and control characters are removed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

from redargue import events, words
from redargue.backends import Stability
from redargue.claims import FREE_TEXT, Meaning
from redargue.events import Answered
from redargue.evidence import Passage, Quote, Side
from redargue.methods.base import Layout
from redargue.methods.strangers import recorded_method
from redargue.reports import CLAIMS_SHOWN, SingleRun, Trace, annotated_text, overview, phrases, traces
from redargue.reports.folders import further_tables
from redargue.reports.overview import by_risk, counts_text, date_text, run_rows, run_table, title_of
from redargue.reports.phrases import NO_ANSWER
from redargue.reports.table import Cell, Column, letter
from redargue.runs.manifest import RunManifest
from redargue.sanitize import counted, link_address, printable
from redargue.verdicts import Metric, Verdict

_LONGEST = 2000  # characters of a passage or an answer that are shown


def shorten(text: str, length: int = _LONGEST) -> tuple[str, int]:
    return text[:length], max(0, len(text) - length)


class Passages:
    """The passages in some traces of one claim, each shown once and referred to by number, and the claim's labels."""

    def __init__(self, item: int, traces: Iterable[Trace]) -> None:
        self.item = item
        self.labels = FREE_TEXT
        self.by_sha: dict[str, Passage] = {}
        self._spans: dict[str, list[tuple[int, int, bool]]] = {}
        for event in (event for trace in traces for event in trace):
            if isinstance(event, events.ClaimStarted):
                self.labels = event.claim.labels
            for passage in events.passages_of(event):
                self.by_sha.setdefault(passage.sha256, passage)
            answer = event.verdict if isinstance(event, events.ClaimEnded) else event
            for quote in answer.quotes if isinstance(answer, events.Answered | Verdict) else ():
                if quote.found and quote.part == "text" and quote.start >= 0:
                    self._spans.setdefault(quote.passage, []).append((quote.start, quote.end, True))
        self._numbers = {sha: number for number, sha in enumerate(self.by_sha, start=1)}

    def plain(self, label: str | None) -> str:
        """A label of the claim in plain words."""
        return self.labels.plain(label) if label else NO_ANSWER

    def without_label(self, answer: str) -> str:
        """An answer without a last line that only names its label, which is shown in plain words below it."""
        rest, _, last = answer.rstrip().rpartition("\n")
        return rest.rstrip() if last.strip("*_`. ") in self.labels.names else answer

    def number(self, sha: str) -> int | None:
        return self._numbers.get(sha)

    def parts(self, sha: str) -> tuple[list[tuple[str, bool | None]], int]:
        """A passage in pieces, quoted ones marked, cut after the last quotation; and how many characters are cut."""
        text = self.by_sha[sha].text
        spans = self._spans.get(sha, [])
        shown, cut = shorten(text, max([_LONGEST, *(end for _, end, _ in spans)]))
        return [part for part in annotated_text.shown_parts(shown, spans) if part[0]], cut


class _Answer(NamedTuple):
    """An answer split at its quotations, the number of characters cut off, and quotations that do not appear in it."""

    parts: tuple[tuple[str, Quote | None], ...]
    cut: int
    elsewhere: tuple[Quote, ...]


def answer(text: str, quotes: Sequence[Quote]) -> _Answer:
    shown, cut = shorten(text)
    places = ((shown.find(quote.text), quote) for quote in quotes if quote.text)
    spans: list[tuple[int, int, Quote]] = []
    for start, quote in sorted(places, key=lambda place: (place[0], len(place[1].text))):
        if start >= (spans[-1][1] if spans else 0):
            spans.append((start, start + len(quote.text), quote))
    placed = [quote for _, _, quote in spans]
    elsewhere = tuple(quote for quote in quotes if quote not in placed)
    return _Answer(tuple(annotated_text.shown_parts(shown, spans)), cut, elsewhere)


class _Turn(NamedTuple):
    """What one agent did in a round."""

    agent: str
    lines: tuple[Markup, ...]


class Round(NamedTuple):
    """A round or a step; the turns of a team form a column. The title is empty where there is only one round.

    ``chained``: each agent answers the one before it, so that their order matters.
    """

    number: int
    title: str
    teams: tuple[tuple[_Turn, ...], ...]
    others: tuple[_Turn, ...]
    end: events.RoundEnded | events.RoundVoted | None
    chained: bool = False

    @property
    def turns(self) -> tuple[_Turn, ...]:
        return (*(turn for team in self.teams for turn in team), *self.others)


class Debate(NamedTuple):
    """The stages of a cascade, all rounds, then the judge."""

    stages: tuple[events.StageEnded, ...]
    rounds: tuple[Round, ...]
    judged: events.Judged | None
    verdict: Verdict | None
    silent: bool  # no agent answered: the verdict's reason is all there is to read

    @property
    def judge_quotes(self) -> tuple[Quote, ...]:
        """The judge's, and those of debaters that its text has too: a verdict has each quotation once."""
        quotes, said = self.verdict.quotes if self.verdict else (), self.judged.text if self.judged else ""
        theirs = (quote for quote in quotes if quote.agent == "judge" or quote.text in said)
        last_wins = sorted(theirs, key=lambda quote: (quote.found, quote.agent == "judge"))
        return tuple({quote.text: quote for quote in last_wins}.values())


Line = Callable[..., Markup]


def debate(trace: Trace, passages: Passages, line: Line) -> Debate:
    """Arranges the events of one claim; ``line`` renders one event.

    If an agent repeats itself, ``line`` is called with ``repeated``, the round of the first occurrence.
    """
    rounds: dict[int, dict[str, list[events.Event]]] = {}
    ends: dict[int, events.RoundEnded | events.RoundVoted] = {}
    judged: events.Judged | None = None
    verdict: Verdict | None = None
    for event in trace:
        if isinstance(event, events.StageEnded):
            continue
        if isinstance(event, events.RoundEnded | events.RoundVoted):
            ends[event.round] = event
        elif isinstance(event, events.Judged):
            judged = event
        elif isinstance(event, events.ClaimEnded):
            verdict = event.verdict
        elif not isinstance(event, events.ClaimStarted):
            at = max(rounds, default=0) if isinstance(event, events.EvidenceRemembered) else event.round
            rounds.setdefault(at, {}).setdefault(event.agent, []).append(event)
    unit = "Step" if any(isinstance(event, events.Stepped) for event in trace) else "Round"
    layout = _layout_of(trace)
    last_shown: dict[str, tuple[int, Markup]] = {}
    arranged = []
    for number, agents in sorted(rounds.items()):
        titled = number and (len(rounds) > 1 or number in ends or verdict is None)
        names = agents if layout.chained else sorted(agents)
        turns = {name: _Turn(name, _lines(agents[name], passages, last_shown, line)) for name in names}
        title = f"{unit} {number}" if titled else ""
        arranged.append(Round(number, title, *_by_team(turns, layout), ends.get(number), layout.chained))
    stages = tuple(event for event in trace if isinstance(event, events.StageEnded))
    silent = not any(isinstance(event, events.Answered) for event in trace)
    return Debate(stages, tuple(arranged), judged, verdict, silent)


def turn_id(prefix: str, turn: _Turn) -> str:
    """The id of a turn's element: its agent's name may hold any character. Empty without a prefix."""
    name = hashlib.sha256(turn.agent.encode(errors="replace")).hexdigest()[:12]
    return f"{prefix}-{name}" if prefix else ""


def _layout_of(trace: Trace) -> Layout:
    """That of the method that the trace names; without columns where this release does not have the method."""
    started = next((event for event in trace if isinstance(event, events.ClaimStarted)), None)
    method = recorded_method(started.method, started.settings) if started else None
    return method.layout() if method else Layout({})


def _by_team(turns: Mapping[str, _Turn], layout: Layout) -> tuple[tuple[tuple[_Turn, ...], ...], tuple[_Turn, ...]]:
    """The turns of each column of several agents, and those of the other agents."""
    teams = [names for names in layout.columns.values() if len(names) > 1]
    columns = (tuple(turns[name] for name in names if name in turns) for names in teams)
    others = tuple(turn for name, turn in turns.items() if not any(name in names for names in teams))
    return tuple(filter(None, columns)), others


def _lines(
    agent_events: Iterable[events.Event], passages: Passages, last_shown: dict[str, tuple[int, Markup]], line: Line
) -> tuple[Markup, ...]:
    lines: dict[Markup, None] = {}
    for event in agent_events:
        shown = line(event, passages)
        if isinstance(event, events.Spoke | events.Refereed | events.Answered) and shown:
            first, before = last_shown.get(event.agent, (0, ""))
            if shown == before:
                shown = line(event, passages, repeated=first)
            else:
                last_shown[event.agent] = event.round, shown
        if shown:
            lines[shown] = None
    return tuple(lines)


_COLOURS = 6  # of systems, in report.css


class Indentation(Extension):
    """Drops line breaks and indentation between tags, so that templates may be indented freely."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Turns such white space into a comment, which keeps line numbers in error messages right."""
        return re.sub(r"(?<=[>}])(\s*\n\s*)(?=[<{])", r"{#\1#}", source)


@lru_cache(maxsize=1)
def environment() -> Environment:
    shared = Environment(
        loader=PackageLoader("redargue.reports", "html"),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=[Indentation],
    )
    functions: list[Callable[..., object]] = [answer, cell_class, colour, counted, letter, link_address]
    functions += [annotated_text.readable_text, shorten, turn_id, words.notes, words.unread_file]
    functions += [phrases.citation_text, phrases.confidence_text, phrases.file_of, phrases.gap_sections]
    functions += [phrases.heading, phrases.label_of, phrases.lost_quotes, phrases.meaning_text, phrases.summary]
    functions += [phrases.unread_text, phrases.without_gaps]
    shared.globals |= {function.__name__: function for function in functions}
    shared.globals |= {"Side": Side, "quote_status": phrases.QUOTE_STATUS}
    return shared


def page(template: str, **context: Any) -> str:
    return printable(environment().get_template(template).render(context)) + "\n"


def macro(template: str, name: str, templates: Environment | None = None) -> Callable[..., Markup]:
    module = (templates or environment()).get_template(template).module
    function: Callable[..., Markup] = getattr(module, name)
    return function


def colour(key: str) -> str:
    """The class that gives a system its colour, from its letter or number."""
    at = ord(key) - ord("A") if key.isalpha() else int(key) - 1
    return f"k{at % _COLOURS}"


def cell_class(column: Column, cell: Cell = None) -> str:
    """The class of a cell; of a heading where there is no cell."""
    if column.kind == "number":
        return "num" if column.is_number(cell) else "long"
    return column.kind if column.kind in ("name", "long") else ""


DEBATES_BYTES = 4_000_000  # of all debates in one file


def within_bound(items: Iterable[int], make: Callable[[int], Markup]) -> dict[int, Markup]:
    reports: dict[int, Markup] = {}
    size = 0
    for item in items:
        report = make(item)
        size += len(report.encode(errors="replace"))
        if size > DEBATES_BYTES:
            break
        reports[item] = report
    return reports


class VerdictView(NamedTuple):
    """A verdict, and how it was reached; the arguments are the last of each side."""

    verdict: Verdict
    passages: Passages
    arguments: Mapping[Side, Answered | None]
    debate: Debate


def verdict_view(
    item: int, verdict: Verdict, trace: Trace, limits: Mapping[Metric, float], shared: Passages | None = None
) -> VerdictView:
    """``shared``: the passages of all claims, where the page shows them once."""
    passages = shared or Passages(item, [trace])
    last = {event.label: event for event in trace if isinstance(event, Answered) and event.label}
    arguments = {
        side: last.get(verdict.claim.labels.named(meaning) or "")
        for side, meaning in ((Side.FOR, Meaning.SUPPORTED), (Side.AGAINST, Meaning.REFUTED))
    }
    return VerdictView(verdict, passages, arguments, debate(trace, passages, line_writer(limits)))


def line_writer(limits: Mapping[Metric, float]) -> Line:
    """Renders one event; scores with their thresholds."""
    return partial(macro("debate.html", "line"), limits=limits)


def limits_of(manifest: RunManifest) -> Mapping[Metric, float]:
    """The thresholds of a run's scores; empty for a method without any, and for settings of another release."""
    method = recorded_method(manifest.spec.method, manifest.spec.settings)
    return method.limits(Stability(*manifest.backend.stability)) if method else {}


def how_done(run: SingleRun) -> dict[str, object]:
    return {
        "command_lines": (overview.replay_command(run),),
        "facts": overview.run_facts(run),
        "settings": overview.settings(run.manifest),
    }


def run_page(run: SingleRun) -> str:
    shown = list(run.verdicts)[:CLAIMS_SHOWN]
    events = traces(run.folder, shown)
    limits, done, further = limits_of(run.manifest), how_done(run), further_tables(run)
    if len(run.verdicts) == 1 and not run.unfinished and run.text is None:
        ((item, verdict),) = run.verdicts.items()
        view = verdict_view(item, verdict, events[item], limits)
        done |= {"checked_on": date_text(run), "unread_files": run.unread_files, "further": further}
        return page("claim.html", title=verdict.claim.text[:80], view=view, **done)

    citations = run.citations
    shared = Passages(0, events.values()) if run.text else None

    def claim(item: int) -> Markup:
        view = verdict_view(item, run.verdicts[item], events[item], limits, shared)
        return macro("run_parts.html", "claim")(item, view, citations.get(item), alone=shared is None)

    claims = within_bound(shown, claim)
    return page(
        "run.html",
        title=title_of(run),
        run=run,
        checked_on=date_text(run),
        counts=counts_text(run),
        claims=claims,
        claims_table=None if run.text else run_table(run, claims),
        rows=by_risk(run_rows(run)),
        passages=shared,
        further=further,
        **text_parts(run),
        **done,
    )


def text_parts(run: SingleRun) -> dict[str, object]:
    """What ``annotated`` in ``run_parts.html`` shows of a text."""
    if run.text is None:
        return {"text": ""}
    text, extraction = run.text
    spans = annotated_text.annotated_sentences(run, extraction)
    return {
        "text": text.text,
        "context": text.context,
        "parts": list(annotated_text.shown_parts(text.text, spans)),
        "unchecked": annotated_text.unchecked_table(text, extraction) if extraction.unchecked else None,
        "outcome": annotated_text.text_outcome(run),
    }
