"""What happened to one claim, as HTML: rounds, queries, passages, answers, scores, objections, the judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch

from redargue.evals.report.gathered import Trace
from redargue.evals.report.markup import Html, Node, el, join, link, text, to
from redargue.events import (
    Answered,
    ClaimEnded,
    ClaimStarted,
    Decomposed,
    Event,
    EvidenceFound,
    EvidenceKept,
    EvidenceMissing,
    EvidenceRecalled,
    EvidenceRemembered,
    Judged,
    QueryWritten,
    Refereed,
    RoundEnded,
    RoundVoted,
    Scored,
    Spoke,
    Stepped,
    passages_of,
)
from redargue.evidence import Passage, Quote, QuoteStatus, Source
from redargue.methods.dual_position.settings import ROLES, member_name
from redargue.tasks.arguing import STANCES
from redargue.verdicts import Verdict

JUDGE = "judge"
LONGEST = 2000  # characters of a passage or an answer that are shown
STATUS = {
    QuoteStatus.VERIFIED: "found word for word",
    QuoteStatus.REPAIRED: "found, but for typography",
    QuoteStatus.NOT_FOUND: "not found: does not count",
}


class Passages:
    """The passages of one claim, each shown once and pointed to by number.

    Args:
        item: the claim's place.
        traces: all that happened to it, of every contender.
    """

    def __init__(self, item: int, traces: Iterable[Trace]) -> None:
        self.item = item
        self.held: dict[str, Passage] = {}
        self.spans: dict[str, list[tuple[int, int]]] = {}
        for event in (event for trace in traces for event in trace):
            for passage in passages_of(event):
                self.held.setdefault(passage.sha256, passage)
            if isinstance(event, Answered):
                self._mark(event.quotes)
            elif isinstance(event, ClaimEnded):
                self._mark(event.verdict.quotes)
        self.number = {sha: at for at, sha in enumerate(self.held, start=1)}

    def _mark(self, quotes: Iterable[Quote]) -> None:
        for quote in quotes:
            if quote.found:
                self.spans.setdefault(quote.passage, []).append((quote.start, quote.end))

    def reference(self, sha: str, words: str = "") -> Html:
        """A link to a passage; nothing where it is not among these."""
        at = self.number.get(sha)
        return to(f"p-{self.item}-{at}", words or f"[{at}]") if at else Html("")

    def listed(self) -> Html | None:
        """All of them, quoted spans underlined."""
        if not self.held:
            return None
        rows = [
            el("li", source(passage), self._text(sha, passage), id=f"p-{self.item}-{self.number[sha]}")
            for sha, passage in self.held.items()
        ]
        return join(el("h4", "Passages that were read (what was quoted is underlined)"), el("ol", rows, class_="read"))

    def _text(self, sha: str, passage: Passage) -> Html:
        whole, parts, at = passage.text, [], 0
        for start, end in sorted(self.spans.get(sha, ())):
            start = max(start, at)
            if end > start:
                parts += [text(whole[at:start]), el("u", whole[start:end])]
                at = end
        stop = max(LONGEST, at)
        parts.append(text(whole[at:stop]))
        cut = el("span", f" … {len(whole) - stop:,} more characters in the record", class_="dim")
        return el("p", parts, cut if len(whole) > stop else None, dir="auto", class_="prose")


def source(of: Source) -> Html:
    """Where a passage comes from: title, publisher, dates, address."""
    dated = f"published {of.published}" if of.published else "undated"
    known = [of.title or of.document or "untitled", of.publisher, dated]
    if of.timing == "later":
        known.append("after the day as of which the claim is judged")
    if of.tool:
        known.append(f"found by {of.tool}")
    if of.retrieved:
        known.append(f"read {of.retrieved:%Y-%m-%d}")
    words = " · ".join(each for each in known if each)
    return el("p", el("bdi", words), [" · ", link(of.url)] if of.url else None, class_="source")


def quotation(quote: Quote, passages: Passages | None = None) -> Html:
    """A quotation: underlined where found, struck through where not."""
    words = el("u" if quote.found else "s", f"“{quote.text}”", dir="auto")
    where = passages.reference(quote.passage) if passages and quote.found else None
    status = None if quote.status is QuoteStatus.VERIFIED else el("span", f" {STATUS[quote.status]}", class_="dim")
    return join(words, " ", where, status)


def answer(words: str, quotes: Sequence[Quote], passages: Passages) -> Html:
    """An answer with its quotations marked where they stand in it; those that read otherwise there are listed below."""
    words, cut = words[:LONGEST], len(words) - LONGEST
    spans: list[tuple[int, int, Quote]] = []
    for quote in quotes:
        at = words.find(quote.text) if quote.text else -1
        if at >= 0:
            spans.append((at, at + len(quote.text), quote))
    parts: list[Node] = []
    shown: list[Quote] = []
    at = 0
    for start, end, quote in sorted(spans, key=lambda span: span[:2]):
        if start >= at:
            beside = passages.reference(quote.passage) if quote.found else el("span", "(not found)", class_="bad")
            parts += [words[at:start], el("u" if quote.found else "s", words[start:end]), " ", beside]
            shown.append(quote)
            at = end
    parts.append(words[at:])
    if cut > 0:
        parts.append(el("span", f" … {cut:,} more characters in the record", class_="dim"))
    listed = [el("li", quotation(each, passages)) for each in quotes if each not in shown]
    return join(
        el("p", parts, dir="auto", class_="prose"),
        el("ul", listed, class_="quotes") if listed else None,
    )


def debate(trace: Trace, passages: Passages, level: str = "h5") -> Html:
    """All rounds, then the judge."""
    rounds: dict[int, dict[str, list[Event]]] = {}
    ends: dict[int, RoundEnded | RoundVoted] = {}
    judged: Judged | None = None
    for event in trace:
        if isinstance(event, RoundEnded | RoundVoted):
            ends[event.round] = event
        elif isinstance(event, Judged):
            judged = event
        elif not isinstance(event, ClaimStarted | ClaimEnded):
            rounds.setdefault(event.round, {}).setdefault(event.agent, []).append(event)
    parts: list[Node] = []
    steps = any(isinstance(event, Stepped) for event in trace)
    verdict = next((each.verdict for each in trace if isinstance(each, ClaimEnded)), None)
    in_order = verdict is not None and verdict.decided_by == "leader"  # who speaks after whom is part of the method
    before: dict[str, tuple[int, str]] = {}
    for number, agents in sorted(rounds.items()):
        held = number and (len(rounds) > 1 or number in ends)
        parts.append(el(level, f"{'Step' if steps else 'Round'} {number}") if held else None)
        names = list(agents) if in_order else sorted(agents)
        parts.append(_turns({name: _turn(name, agents[name], passages, before) for name in names}))
        if number in ends:
            parts.append(_ended(ends[number]))
    if judged:
        quotes = [each for each in verdict.quotes if each.agent == JUDGE] if verdict else []
        said = el("p", "says: ", el("b", judged.label or "no answer"))
        parts += [el(level, "Judge"), answer(judged.text, quotes, passages), said]
    elif verdict and verdict.reason and not any(isinstance(each, Answered) for each in trace):
        parts.append(answer(verdict.reason, verdict.quotes, passages))  # a method without debaters
    if verdict and verdict.error:
        parts.append(el("p", f"{verdict.error.what} {verdict.error.hint}", class_="bad"))
    return join(parts)


def _turns(turns: Mapping[str, Html]) -> Html:
    """Of a round: side by side; of teams a column each, and below who belongs to none."""
    teams = {team: [turns[name] for role in ROLES if (name := member_name(team, role)) in turns] for team in STANCES}
    members = {member_name(team, role) for team in STANCES for role in ROLES}
    rest = [turn for name, turn in turns.items() if name not in members]
    columns = [el("div", each) for each in teams.values() if each]
    return join(*(el("div", each, class_="turns") for each in (columns, rest) if each))


def _turn(name: str, events: Sequence[Event], passages: Passages, said: dict[str, tuple[int, str]]) -> Html:
    """What one agent did in a round, each line once; what it says again word for word is not printed again."""
    found: dict[Html, None] = {}
    for event in events:
        line = _line(event, passages)
        if isinstance(event, Spoke | Refereed | Answered) and line:
            first, before = said.get(name, (0, ""))
            if line == before:
                line = el("p", f"the same as in round {first}", _conclusion(event), class_="dim")
            else:
                said[name] = event.round, line
        if line:
            found[line] = None
    return el("div", el("p", el("b", name)), list(found), class_="turn")


def _conclusion(event: Spoke | Refereed | Answered) -> Html:
    """What an agent that repeats itself comes to."""
    if isinstance(event, Spoke):
        return Html("")
    return join(": ", el("b", event.vote if isinstance(event, Refereed) else event.label or "no answer"))


@singledispatch
def _line(event: object, passages: Passages) -> Html | None:
    """One event; None for what a person need not see."""
    return None


@_line.register
def _(event: QueryWritten, passages: Passages) -> Html:
    return el("p", "asks: ", el("q", event.query, dir="auto"), " (query kept)" if event.kept else None)


@_line.register
def _(event: Decomposed, passages: Passages) -> Html:
    return join(el("p", "takes the claim apart:"), el("ul", [el("li", each.line) for each in event.triplets]))


@_line.register
def _(event: Stepped, passages: Passages) -> Html:
    return join(
        el("p", event.thought[:LONGEST], dir="auto", class_="prose") if event.answer is None else None,
        el("p", "answers: ", el("b", event.answer)) if event.answer is not None else None,
        el("p", f"calls {event.tool}: ", el("q", _arguments(event), dir="auto")) if event.tool else None,
        el("p", event.problem, class_="bad") if event.problem else None,
    )


@_line.register
def _(event: Spoke, passages: Passages) -> Html:
    return el("p", event.text[:LONGEST], dir="auto", class_="prose")


@_line.register
def _(event: EvidenceFound, passages: Passages) -> Html:
    found = [join(passages.reference(each.sha256), " ") for each in event.passages]
    return el("p", f"{event.tool} finds: ", found or "nothing")


@_line.register
def _(event: EvidenceKept, passages: Passages) -> Html:
    return el("p", f"{event.tool} is not asked again: same query, same documents", class_="dim")


@_line.register
def _(event: EvidenceMissing, passages: Passages) -> Html:
    return el("p", f"{event.tool} failed: {event.why}", class_="bad")


@_line.register
def _(event: EvidenceRecalled, passages: Passages) -> Html:
    found = [join(passages.reference(each.passage.sha256), " ") for each in event.items]
    held = f" ({event.held_back} held back)" if event.held_back else None
    return el("p", "memory holds: ", found or "nothing", held)


@_line.register
def _(event: EvidenceRemembered, passages: Passages) -> Html:
    return el("p", f"memory is given {len(event.passages)}", class_="dim")


@_line.register
def _(event: Answered, passages: Passages) -> Html:
    label = el("p", "says: ", el("b", event.label or "no answer"))
    return join(answer(event.text, event.quotes, passages), label)


@_line.register
def _(event: Scored, passages: Passages) -> Html:
    score = event.score
    value = "undefined: " + score.undefined if score.value is None else f"{score.value:.3f}"
    return el("p", f"{score.metric.replace('_', ' ')}: {value}", class_="dim")


def _arguments(event: Stepped) -> str:
    return "; ".join(f"{name}: {value}" for name, value in event.arguments.items())[:LONGEST]


@_line.register
def _(event: Refereed, passages: Passages) -> Html:
    """A referee's vote, its reasons, the scores of both teams."""
    if event.problem:
        return el("p", f"gives no judgement: {event.problem}", class_="bad")
    scores = "; ".join(
        f"{side}: " + ", ".join(f"{name} {value:.2f}" for name, value in each.items())
        for side, each in event.scores.items()
    )
    return join(
        el("p", event.reason[:LONGEST], dir="auto", class_="prose") if event.reason else None,
        el("p", "votes: ", el("b", event.vote), f" (confidence {event.confidence:.2f})"),
        el("p", scores, class_="dim"),
    )


def _ended(event: RoundEnded | RoundVoted) -> Html:
    if isinstance(event, RoundVoted):
        masses = ", ".join(f"{name} {value:.2f}" for name, value in event.masses.items())
        share = f"{event.consensus:.0%} of the referees' confidence behind it"
        return el("p", f"Outcome: {event.winner}, with {share} (sums: {masses}).", class_="end")
    why = "; ".join(event.why)
    if event.accepted:
        return el("p", why or "All agree, and every score is above its threshold.", class_="end")
    return el("p", "All agree, but: " if event.agreed else "", why or "not accepted", class_="end")


def in_short(verdict: Verdict) -> str:
    """How a verdict came about, in a line."""
    if verdict.error:
        return f"{verdict.error.type}: {verdict.error.what}"
    by = {"consensus": "by consensus of the debaters", "judge": "by the judge", "reader": "by one reader"}
    by |= {"referees": "by the referees", "leader": "by the leader of the last state"}
    by |= {"moderator": "by the moderator", "vote": "by a vote", "summariser": "by the summariser"}
    by |= {"executor": "by the executor", "forced": "by the executor, forced after its last step"}
    unit = "step" if verdict.decided_by in ("executor", "forced") else "round"
    rounds = f" after {verdict.rounds} {unit}{'s' * (verdict.rounds != 1)}" if verdict.rounds else ""
    return (
        f"{by.get(str(verdict.decided_by), '')}{rounds}; {verdict.usage.calls} call{'s' * (verdict.usage.calls != 1)}"
    )
