"""Shows a running debate on stderr: in columns on a terminal, else as one line per claim, or per event if verbose.

No provisional verdict is shown while the debaters argue.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from redargue import events, words
from redargue.claims import Claim, LabelSet
from redargue.cli.parameters import OutputParameters
from redargue.cli.progress import ProgressRate, duration, progress_bar
from redargue.evidence import Passage, QuoteStatus
from redargue.reports.phrases import label_of
from redargue.retrieval.corpus.index import ARTICLES, has_no_corpus
from redargue.sanitize import counted, printable
from redargue.verdicts import Metric, Score, Verdict
from redargue.verifier import Verifier

MARKS = {QuoteStatus.VERIFIED: "✓", QuoteStatus.REPAIRED: "≈", QuoteStatus.NOT_FOUND: "✗"}


def describe(event: events.Event, labels: LabelSet) -> str:
    """The event in a line of words, for a terminal; empty for one that a person does not need to see.

    ``labels`` are those of the event's claim, which are then shown in plain words.
    """
    # Agents and tools have names from servers and folders, too.
    return printable(_described(event, labels))


def _described(event: events.Event, labels: LabelSet) -> str:
    match event:
        case events.ClaimStarted():
            return f"claim: {printable(event.claim.text)}"
        case events.Decomposed():
            triplets = "; ".join(printable(triplet.line) for triplet in event.triplets)
            return f"{event.agent} decomposes the claim: {triplets}"
        case events.EvidenceRecalled() | events.EvidenceRemembered():
            return f"{event.agent} {_memory_text(event)}"
        case events.StageEnded():
            ends = "stops" if event.stopped else "continues"
            outcome = f"{_label_text(event.label, labels)}; {ends}: {'; '.join(event.why)}"
            return f"stage {event.number} of {event.of}, {event.stage}: {outcome}"
        case events.RoundEnded():
            agreed = "agreement" if event.agreed else "no agreement"
            outcome = "accepted" if event.accepted else f"not accepted: {'; '.join(event.why)}"
            further = counted(event.not_held, "further round")
            saved = f"; {further} not held: nothing changes" if event.not_held else ""
            return f"round {event.round} ends: {agreed}; {outcome}{saved}"
        case events.RoundVoted():
            return f"round {event.round} ends: {event.winner}, with {event.consensus:.2f} of the confidence"
        case events.Judged():
            return f"the judge decides: {_label_text(event.label, labels)}"
        case events.CallFailed():
            return f"{event.agent}, {event.task}: {printable(event.error.what)}"
        case events.Stepped():
            return f"step {event.round}, {event.agent} {_step_text(event, labels)}"
        case events.ClaimEnded():
            return ""
    text = _turn_text(event, labels)
    return f"round {event.round}, {event.agent} {text}" if text else ""


def _label_text(label: str | None, labels: LabelSet) -> str:
    return printable(labels.plain(label)) if label else "(no label)"


def _turn_text(event: events.Event, labels: LabelSet) -> str:
    match event:
        case events.QueryWritten():
            return f"searches for: {printable(event.query)}{' (unchanged)' if event.kept else ''}"
        case events.EvidenceFound():
            return f"finds: {_titles(event.passages)}"
        case events.EvidenceMissing():
            return f"cannot search: {printable(event.why)}"
        case events.Answered():
            quotes = (f"{MARKS[quote.status]} “{printable(quote.text)[:200]}”" for quote in event.quotes)
            return "\n    ".join((f"answers: {_label_text(event.label, labels)}", *quotes))
        case events.TurnKept():
            shared = event.shared_with
            why = f"the passages are {shared}'s" if shared else "nothing has changed"
            return f"is not asked again, as {why}: {_label_text(event.label, labels)}"
        case events.Scored():
            score = event.score
            value = f"undefined ({score.undefined})" if score.value is None else f"{score.value:.3f}"
            return f"scores: {score.metric} {value}"
        case events.Spoke():
            return f"says: {printable(event.text)[:300]}"
        case events.Refereed():
            if event.problem:
                return f"does not vote: {printable(event.problem)}"
            return f"votes: {event.vote} ({event.confidence:.2f})"
    return ""


def _memory_text(event: events.EvidenceRecalled | events.EvidenceRemembered) -> str:
    if isinstance(event, events.EvidenceRemembered):
        said = f"stores in the memory: {counted(event.stored, 'passage')}"
        return ", ".join(filter(None, (said, words.omissions(event.dropped))))
    said = f"recalls: {_titles(item.passage for item in event.items)}"
    held_back = f"{event.held_back} held back" if event.held_back else ""
    return ", ".join(filter(None, (said, held_back, words.omissions(event.left_out))))


def _step_text(event: events.Stepped, labels: LabelSet) -> str:
    if event.answer is not None:
        return f"answers: {printable(labels.plain(event.answer))}"
    if not event.tool:
        return printable(event.problem)
    thought = f"thinks: {printable(event.thought)[:200]}; " if event.thought else ""
    arguments = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items())
    note = f" (not called: {event.problem})" if event.problem else ""
    return f"{thought}calls {printable(event.tool)}({printable(arguments)[:200]}){note}"


def _titles(passages: Iterable[Passage]) -> str:
    titles = (printable(passage.title or passage.text)[:50] for passage in passages)
    return "; ".join(titles) or "nothing"


def headings_of(columns: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The heading of each agent's column; one for all where more than four columns would be too narrow."""
    heading_of = {agent: heading for heading, agents in columns.items() for agent in agents}
    if len(columns) > 4:
        return dict.fromkeys(heading_of, "in the order of speaking")
    return heading_of


_STARTS = (events.QueryWritten, events.Spoke, events.Stepped, events.Answered)
_ENDS = (events.StageEnded, events.RoundEnded, events.RoundVoted, events.Refereed, events.Judged)


class DebateView:
    """One claim's debate as a renderable: a column per debater or team, which fills round by round."""

    def __init__(self, claim: Claim, columns: Mapping[str, tuple[str, ...]], limits: Mapping[Metric, float]) -> None:
        self.claim, self.limits, self.labels = claim.text, limits, claim.labels
        self.titled = True
        self._heading_of = headings_of(columns)
        self.columns: dict[str, list[Text]] = {heading: [] for heading in self._heading_of.values()}
        self._rounds: dict[str, str] = {}
        self._last: dict[str, list[Text]] = {}
        self.below: list[Text] = []
        self.calls = 0

    def see(self, event: events.Event) -> None:
        if isinstance(event, events.CallFinished | events.CallFailed):
            self.calls += event.requests * (event.charge == "call")
        elif isinstance(event, _ENDS):
            self.below.append(Text(describe(event, self.labels), style="dim"))
        elif not isinstance(event, events.ClaimStarted | events.ClaimEnded):
            column = self._heading_of.get(event.agent)
            if column:
                self.columns[column] += [*self._round_heading(column, event), *self._lines(event)]

    def _round_heading(self, column: str, event: events.Event) -> list[Text]:
        if not isinstance(event, _STARTS) or not event.round:
            return []
        heading = f"{'Step' if isinstance(event, events.Stepped) else 'Round'} {event.round}"
        if self._rounds.get(column) == heading:
            return []
        self._rounds[column] = heading
        return [Text(heading, style="bold underline")]

    def _speaker(self, agent: str) -> str:
        if self._heading_of[agent] == agent:
            return ""
        return f"{printable(agent.rpartition('-')[2], lines=False)} "

    def _unless_repeated(self, agent: str, lines: list[Text], repeated: list[Text]) -> list[Text]:
        again = self._last.get(agent) == lines
        self._last[agent] = lines
        return repeated if again else lines

    def _lines(self, event: events.Event) -> list[Text]:
        match event:
            case events.QueryWritten():
                return [Text(f"{self._speaker(event.agent)}{_turn_text(event, self.labels)}")]
            case events.EvidenceFound():
                titles = [passage.title or passage.text for passage in event.passages]
                nothing = Text("  · nothing found", style="yellow")
                return [Text(f"  · {printable(title)[:70]}", style="cyan") for title in titles] or [nothing]
            case events.EvidenceMissing():
                return [Text(f"  · {printable(event.why)}", style="red")]
            case events.Spoke():
                speaker = (self._speaker(event.agent), "bold")
                statement = Text.assemble(speaker, "says: ", printable(event.text)[:400])
                repeated = Text.assemble(speaker, ("repeats its statement", "dim"))
                return self._unless_repeated(event.agent, [statement], [repeated])
            case events.Decomposed():
                return [Text(f"  · {printable(triplet.line)}") for triplet in event.triplets]
            case events.Stepped():
                return [Text(_step_text(event, self.labels))]
            case events.EvidenceRecalled() | events.EvidenceRemembered():
                return [Text(f"  · {_memory_text(event)}", style="cyan")]
            case events.Answered():
                label = (_label_text(event.label, self.labels), "bold")
                answer = Text.assemble((self._speaker(event.agent), "bold"), "answers: ", label)
                quotes = []
                for quote in event.quotes:
                    shown = f"  {MARKS[quote.status]} “{printable(quote.text)[:160]}”"
                    quotes.append(Text(shown, style="italic" if quote.found else "strike dim"))
                repeated = Text.assemble(answer, (" (as before)", "dim")) if quotes else answer
                return self._unless_repeated(event.agent, [answer, *quotes], [repeated])
            case events.Scored():
                return [Text(f"  {_bar(event.score, self.limits)}")]
        return []

    def __rich__(self) -> RenderableType:
        table = Table(expand=True, show_lines=False)
        for heading in self.columns:
            table.add_column(heading, ratio=1, overflow="fold")
        table.add_row(*(Group(*lines) for lines in self.columns.values()))
        calls = Text(counted(self.calls, "call"), style="dim")
        title = [Panel(Text(printable(self.claim), style="bold"))] if self.titled else []
        return Group(*title, table, *self.below, calls)


class Viewer:
    """Shows a run: one debate after another, or a progress bar where claims are verified concurrently.

    A context manager. Off a terminal it prints one line per claim, where there are several; if verbose, one per event.
    The line has the words of the claim if ``named``.
    """

    def __init__(
        self,
        verifier: Verifier,
        claims: Sequence[Claim],
        *,
        concurrency: int,
        output: OutputParameters,
        named: bool = True,
    ) -> None:
        self._console = Console(file=sys.stderr, highlight=False)
        self._claims, self._output, self._named = claims, output, named
        for note in () if output.quiet else (verifier.method.note(), _what_is_searched(verifier)):
            if note:
                self._console.print(Text(note), soft_wrap=True)
        self._animated = self._console.is_terminal and not output.quiet
        self._limits = verifier.method.limits(verifier.backend.stability)
        self._columns = verifier.method.layout().columns
        self._view = DebateView(claims[0], self._columns, self._limits)
        self._debates = concurrency == 1 or len(claims) == 1
        self._errors = self._done = 0
        self._clock = verifier.clock
        self._rate = ProgressRate(self._clock.elapsed())
        self._progress = progress_bar(self._console)
        self._task = self._progress.add_task("claims", total=len(claims), note="", left="")
        self._live = Live(
            self._view if self._debates else self._progress,
            console=self._console,
            refresh_per_second=8,
            transient=self._debates,
            vertical_overflow="visible",
        )

    def see(self, event: events.Event) -> None:
        several, text = len(self._claims) > 1, ""
        if self._animated:
            self._draw(event)
        elif self._output.verbose:
            text = describe(event, self._claims[event.item].labels)
        elif several and isinstance(event, events.ClaimEnded):
            text = outcome_line(event.verdict, named=self._named)
        if text and not self._output.quiet:
            number = f"[{event.item + 1}] " if several else ""
            self._console.print(Text(number + text), soft_wrap=True)

    def _draw(self, event: events.Event) -> None:
        if isinstance(event, events.ClaimStarted):
            self._view = DebateView(event.claim, self._columns, self._limits)
            self._live.update(self._view if self._debates else self._progress)
        self._view.see(event)
        if isinstance(event, events.ClaimEnded):
            self._errors += event.verdict.error is not None
            self._done += 1
            now, left = self._clock.elapsed(), len(self._claims) - self._done
            self._rate.finished(now)
            seconds = self._rate.seconds_left(now, left)
            words = f"{duration(seconds)} left" if left and seconds is not None else ""
            note = counted(self._errors, "error") if self._errors else ""
            self._progress.update(self._task, advance=1, note=note, left=words)
            if self._debates:
                # It stays on the screen while the next debate, or the verdict with the claim, is drawn below it.
                self._view.titled = len(self._claims) > 1
                self._live.console.print(self._view)

    def __enter__(self) -> Viewer:
        if self._animated:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._animated:
            self._live.stop()


def _what_is_searched(verifier: Verifier) -> str:
    """For a user without a corpus: what is searched, and how to search more."""
    if verifier.corpus is None or not has_no_corpus(verifier.spec.store):
        return ""
    articles = len(list(ARTICLES.glob("*.md")))
    return f"the corpus is {articles} sample articles; for your own documents: redargue corpus add FOLDER"


def outcome_line(verdict: Verdict, *, named: bool = True) -> str:
    """``Refuted (0.75): The Ritz opened in 1926.``."""
    sure = "" if verdict.shown_confidence is None else f" ({verdict.shown_confidence:.2f})"
    claim = f": {verdict.claim.text}" if named else ""
    return printable(f"{label_of(verdict)}{sure}{claim}", lines=False)


def _bar(score: Score, limits: Mapping[Metric, float]) -> str:
    names = {Metric.FAITHFULNESS: "faithful", Metric.RELEVANCE: "relevant"}
    name = names.get(score.metric, score.metric)
    if score.value is None:
        return f"{name} {'·' * 10} {score.undefined}"
    full = round(max(0.0, min(1.0, score.value)) * 10)
    bar = "█" * full + "░" * (10 - full)
    limit = limits.get(score.metric)
    compared = "" if limit is None else f" {'>' if score.value > limit else '≤'} {limit:g}"
    return f"{name} {bar} {score.value:.2f}{compared}"
