"""A text with its claims marked where they stand, as HTML and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from redargue.evals.report.facts import NO_ANSWER, Cell, Table, shortened
from redargue.evals.report.gathered import SingleRun
from redargue.evals.report.markup import Html, Node, details, el, join, to
from redargue.printing import OUTCOMES
from redargue.texts.extract import Extraction
from redargue.texts.report import outcome
from redargue.texts.text import Text
from redargue.verdicts import Verdict

WORST_FIRST = ("refuted", "error", "conflicting", "not_enough", "supported")


def said(verdict: Verdict | None) -> str:
    """What became of a claim, in a word or two."""
    if verdict is None:
        return "not ended"
    return f"error: {verdict.error.type}" if verdict.error else verdict.label or NO_ANSWER


def told(run: SingleRun) -> str:
    """What the claims make of their text; not before all have ended."""
    if run.unfinished:
        claims = f"{run.unfinished} claim{'s have' if run.unfinished > 1 else ' has'} not ended"
        return f"{claims}: nothing is said of the text yet."
    return OUTCOMES[outcome(list(run.verdicts.values()))]


def marked_text(run: SingleRun, text: Text, extraction: Extraction, kept: set[int]) -> Html:
    """The text, every sentence that makes a claim underlined and followed by what became of its claims.

    Args:
        run: of the claims.
        text: they were taken from.
        extraction: where they stand.
        kept: the claims that are shown in full on the same page.
    """
    spans: dict[tuple[int, int], list[int]] = {}
    for item, each in enumerate(extraction.claims):
        spans.setdefault((each.start, each.end), []).append(item)
    parts: list[Node] = []
    at = 0
    for (start, end), items in sorted(spans.items()):
        start = max(start, at)
        words = el("mark", text.text[start:end], class_=_worst([run.verdicts.get(item) for item in items]))
        parts += [text.text[at:start], words, [_note(run, item, kept) for item in items]]
        at = end
    shown = el("p", parts, text.text[at:], class_="prose", dir="auto")
    context = details("What it answers or follows", el("p", text.context, class_="prose", dir="auto"))
    return join(el("p", el("b", told(run))), context if text.context else None, shown)


def _note(run: SingleRun, item: int, kept: set[int]) -> Html:
    words = f"{item + 1}: {said(run.verdicts.get(item))}"
    return join(" ", el("span", "[", to(f"c-{item}", words) if item in kept else words, "]", class_="dim"))


def _worst(verdicts: Sequence[Verdict | None]) -> str | None:
    names = {"error" if each.error else str(each.meaning) for each in verdicts if each}
    return next((name for name in WORST_FIRST if name in names), None)


def text_table(run: SingleRun, text: Text, extraction: Extraction) -> Table:
    """One line a claim: where it stands and what became of it."""
    lines: list[tuple[Cell, ...]] = []
    for item, each in enumerate(extraction.claims):
        words = (shortened(text.text[each.start : each.end]), shortened(each.claim))
        lines.append((f"{each.start}–{each.end}", *words, said(run.verdicts.get(item))))
    return Table(
        "Claims where they stand", ("Characters", "The text says", "Claim", "Verdict"), tuple(lines), told(run)
    )
