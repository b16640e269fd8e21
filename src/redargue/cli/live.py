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
from redargue.cli.terminal import printable
from redargue.cli.told import MARKS, describe, memory_line, stepped
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
    RoundEnded,
    Scored,
    Stepped,
)
from redargue.protocols.tool_mad_settings import ToolMadSettings, debater_names
from redargue.verdicts import Metric, Score
from redargue.verifier import Verifier

BAR = 10


class DebateView:
    """One claim's debate as a renderable: a column a debater, filling round by round.

    Args:
        claim: what is checked.
        debaters: the columns' heads, in order.
        limits: thresholds by metric, to draw beside the bars.
    """

    def __init__(self, claim: str, debaters: Sequence[str], limits: dict[Metric, float]) -> None:
        self.claim, self.limits = claim, limits
        self.columns: dict[str, list[Text]] = {name: [] for name in debaters}
        self.below: list[Text] = []
        self.calls = 0

    def see(self, event: Event) -> None:
        """Adds what an event shows."""
        if isinstance(event, CallFinished | CallFailed):
            self.calls += event.requests * (event.charge == "call")
        elif isinstance(event, RoundEnded | Judged):
            self.below.append(Text(describe(event), style="dim"))
        elif not isinstance(event, ClaimStarted | ClaimEnded) and event.agent in self.columns:
            self.columns[event.agent] += self._lines(event)

    def _lines(self, event: Event) -> list[Text]:
        match event:
            case QueryWritten():
                kept = " (kept)" if event.kept else ""
                return [
                    Text(f"Round {event.round}", style="bold underline"),
                    Text(f"asks: {printable(event.query)}{kept}"),
                ]
            case EvidenceFound():
                return [
                    Text(f"  · {printable(each.title or each.text)[:70]}", style="cyan") for each in event.passages
                ] or [Text("  · nothing found", style="yellow")]
            case EvidenceMissing():
                return [Text(f"  · {printable(event.why)}", style="red")]
            case Decomposed():
                return [Text(f"  · {printable(each.line)}") for each in event.triplets]
            case Stepped():
                return [Text(f"Step {event.round}", style="bold underline"), Text(stepped(event))]
            case EvidenceRecalled() | EvidenceRemembered():
                return [Text(f"  · {memory_line(event)}", style="cyan")]
            case Answered():
                quotes = [
                    Text(
                        f"  {MARKS[each.status]} “{printable(each.text)[:160]}”",
                        style="strike dim" if not each.found else "italic",
                    )
                    for each in event.quotes
                ]
                return [Text.assemble("says: ", (printable(event.label or "(no label)"), "bold")), *quotes]
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
        at_once: claims in work at a time.
        quiet: shows nothing.
    """

    def __init__(self, verifier: Verifier, claims: Sequence[Claim], *, at_once: int, quiet: bool = False) -> None:
        self._console = Console(file=sys.stderr, highlight=False)
        self._claims, self._quiet = claims, quiet
        self._animated = self._console.is_terminal and not quiet
        settings = verifier.method.settings
        debate = isinstance(settings, ToolMadSettings)
        self._limits = settings.limits(verifier.backend.stability) if debate else {}
        self._debaters = debater_names(settings.debaters) if debate else verifier.method.agents()
        self._view = DebateView(claims[0].text, self._debaters, self._limits)
        self._debates = at_once == 1 or len(claims) == 1
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
