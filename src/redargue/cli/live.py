"""The debate while it is held: both sides side by side on a terminal, one line an event elsewhere.

No leading verdict is shown while the debaters argue.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from redargue.claims import Claim
from redargue.cli.event_text import MARKS, describe, memory_line, stepped
from redargue.cli.terminal import printable
from redargue.events import (
    Answered,
    CallFailed,
    CallFinished,
    ClaimEnded,
    ClaimStarted,
    Decomposed,
    Event,
    EvidenceFound,
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
)
from redargue.methods.dual_position.prompts import STANCES
from redargue.methods.dual_position.settings import ROLES, member_name
from redargue.methods.tool_mad.settings import ToolMadSettings, debater_names
from redargue.verdicts import Metric, Score
from redargue.verifier import Verifier

BAR = 10
COLUMNS = 4  # more are too narrow to be read


def columns_of(debaters: Sequence[str]) -> dict[str, str]:
    """The head of each agent's column; of two teams their members alone, what referees say stands below."""
    teams = {member_name(side, role): f"{side} team" for side in STANCES for role in ROLES}
    if members := {name: teams[name] for name in teams if name in debaters}:
        return members
    return {name: name if len(debaters) <= COLUMNS else "in the order of speaking" for name in debaters}


class DebateView:
    """One claim's debate as a renderable: a column a debater, filling round by round.

    The members of a team share a column, and so do agents that are too many for columns of their own; an agent that
    says what it said before is not printed again.

    Args:
        claim: what is checked.
        debaters: in order.
        limits: thresholds by metric, to draw beside the bars.
    """

    def __init__(self, claim: str, debaters: Sequence[str], limits: dict[Metric, float]) -> None:
        self.claim, self.limits = claim, limits
        self._column = columns_of(debaters)
        self.columns: dict[str, list[Text]] = {head: [] for head in self._column.values()}
        self._begun: dict[str, str] = {}
        self._said: dict[str, list[Text]] = {}
        self.below: list[Text] = []
        self.calls = 0

    def see(self, event: Event) -> None:
        """Adds what an event shows."""
        if isinstance(event, CallFinished | CallFailed):
            self.calls += event.requests * (event.charge == "call")
        elif isinstance(event, RoundEnded | RoundVoted | Refereed | Judged):
            self.below.append(Text(describe(event), style="dim"))
        elif not isinstance(event, ClaimStarted | ClaimEnded) and event.agent in self._column:
            self.columns[self._column[event.agent]] += [*self._begin(event.agent, event), *self._lines(event)]

    def _begin(self, agent: str, event: Event) -> list[Text]:
        """The round's heading, where an agent opens one in its column."""
        if not isinstance(event, QueryWritten | Spoke | Stepped | Answered) or not event.round:
            return []
        heading = f"{'Step' if isinstance(event, Stepped) else 'Round'} {event.round}"
        if self._begun.get(self._column[agent]) == heading:
            return []
        self._begun[self._column[agent]] = heading
        return [Text(heading, style="bold underline")]

    def _who(self, agent: str) -> str:
        """An agent's name before what it says; nothing where the column is its own."""
        head = self._column[agent]
        return "" if head == agent else f"{agent.rpartition('-')[2]} "

    def _unless_said(self, agent: str, lines: list[Text], before: list[Text]) -> list[Text]:
        """The lines, or what stands for them where they are the agent's last ones."""
        again = self._said.get(agent) == lines
        self._said[agent] = lines
        return before if again else lines

    def _lines(self, event: Event) -> list[Text]:
        match event:
            case QueryWritten():
                kept = " (kept)" if event.kept else ""
                return [Text(f"{self._who(event.agent)}asks: {printable(event.query)}{kept}")]
            case EvidenceFound():
                return [
                    Text(f"  · {printable(each.title or each.text)[:70]}", style="cyan") for each in event.passages
                ] or [Text("  · nothing found", style="yellow")]
            case EvidenceMissing():
                return [Text(f"  · {printable(event.why)}", style="red")]
            case Spoke():
                who = self._who(event.agent)
                said = Text.assemble((who, "bold"), "says: ", printable(event.text)[:400])
                return self._unless_said(event.agent, [said], [Text.assemble((who, "bold"), ("says the same", "dim"))])
            case Decomposed():
                return [Text(f"  · {printable(each.line)}") for each in event.triplets]
            case Stepped():
                return [Text(stepped(event))]
            case EvidenceRecalled() | EvidenceRemembered():
                return [Text(f"  · {memory_line(event)}", style="cyan")]
            case Answered():
                label = Text.assemble(
                    (self._who(event.agent), "bold"), "says: ", (printable(event.label or "(no label)"), "bold")
                )
                quotes = [
                    Text(
                        f"  {MARKS[each.status]} “{printable(each.text)[:160]}”",
                        style="strike dim" if not each.found else "italic",
                    )
                    for each in event.quotes
                ]
                before = [Text.assemble(label, (" (as before)", "dim"))]
                return self._unless_said(event.agent, [label, *quotes], before if quotes else [label])
            case Scored():
                return [Text(f"  {_bar(event.score, self.limits)}")]
        return []

    def __rich__(self) -> RenderableType:
        """The claim, the columns, what the rounds came to."""
        table = Table(expand=True, show_lines=False)
        for name in self.columns:
            table.add_column(name, ratio=1, overflow="fold")
        table.add_row(*(Group(*lines) for lines in self.columns.values()))
        foot = Text(f"{self.calls} calls", style="dim")
        return Group(Panel(Text(printable(self.claim), style="bold")), table, *self.below, foot)


class Viewer:
    """Shows a run on stderr: debates one after the other, or the progress over claims in work at once.

    A context manager. Off a terminal it prints one line an event.

    Args:
        verifier: whose run it is.
        claims: of the run.
        concurrency: number of claims verified at the same time.
        quiet: shows nothing.
    """

    def __init__(self, verifier: Verifier, claims: Sequence[Claim], *, concurrency: int, quiet: bool = False) -> None:
        self._console = Console(file=sys.stderr, highlight=False)
        self._claims, self._quiet = claims, quiet
        self._animated = self._console.is_terminal and not quiet
        settings = verifier.method.settings
        debate = isinstance(settings, ToolMadSettings)
        self._limits = settings.limits(verifier.backend.stability) if debate else {}
        self._debaters = debater_names(settings.debaters) if debate else verifier.method.agents()
        self._view = DebateView(claims[0].text, self._debaters, self._limits)
        self._debates = concurrency == 1 or len(claims) == 1
        self._errors = 0
        self._progress = Progress(
            TextColumn("claims"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[errors]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
        )
        self._task = self._progress.add_task("claims", total=len(claims), errors="")
        shown: RenderableType = self._view if self._debates else self._progress
        self._live = Live(
            shown, console=self._console, refresh_per_second=8, transient=self._debates, vertical_overflow="visible"
        )

    def see(self, event: Event) -> None:
        """Shows one event."""
        if self._animated:
            self._draw(event)
        elif not self._quiet and (text := describe(event)):
            number = f"[{event.item + 1}] " if len(self._claims) > 1 else ""
            self._console.print(Text(number + text), soft_wrap=True)

    def _draw(self, event: Event) -> None:
        if isinstance(event, ClaimStarted):
            self._view = DebateView(event.claim.text, self._debaters, self._limits)
            self._live.update(self._view if self._debates else self._progress)
        self._view.see(event)
        if isinstance(event, ClaimEnded):
            self._errors += event.verdict.error is not None
            self._progress.update(self._task, advance=1, errors=f"{self._errors} errors" if self._errors else "")
            if self._debates:
                self._live.console.print(self._view)  # stays above, while the next debate is drawn below

    def __enter__(self) -> Viewer:
        if self._animated:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._animated:
            self._live.stop()


def _bar(score: Score, limits: dict[Metric, float]) -> str:
    """A score as a small bar with its threshold."""
    limit = limits.get(score.metric)
    if score.value is None:
        return f"{_short(score)} {'·' * BAR} {score.undefined}"
    full = round(max(0.0, min(1.0, score.value)) * BAR)
    bar = "█" * full + "░" * (BAR - full)
    compared = "" if limit is None else f" {'>' if score.value > limit else '≤'} {limit:g}"
    return f"{_short(score)} {bar} {score.value:.2f}{compared}"


def _short(score: Score) -> str:
    return {Metric.FAITHFULNESS: "faithful", Metric.RELEVANCE: "relevant"}.get(score.metric, score.metric)
