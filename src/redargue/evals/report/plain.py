"""The reports as Markdown, in which strangers' text is nothing but text: no link, no picture, no HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from redargue.evals.report import facts, notes, rounds
from redargue.evals.report.case import labels_counted
from redargue.evals.report.facts import Link, Table
from redargue.evals.report.gathered import BenchRun, SingleRun
from redargue.evals.report.marked import text_table
from redargue.evals.report.page import run_table
from redargue.evals.report.trace import STATUS, in_short
from redargue.evidence import Quote, Side
from redargue.printing import WORDS, printable
from redargue.verdicts import Verdict

_MARKS = re.compile(r"[\\`*_\[\]<>#|~!&$]")


def plain(words: str) -> str:
    """Text on one line, as it reads, whatever it holds.

    What some renderers turn into links of themselves (``https://…``, ``www.…``, ``name@host``) is broken by a code span
    or an escape, which changes nothing that is read.
    """
    line = re.sub(r"\s+", " ", printable(words, lines=False)).strip()
    line = _MARKS.sub(r"\\\g<0>", line)
    line = re.sub(r"://", r":\\/\\/", line)
    line = re.sub(r"(?i)(www|xmpp|mailto)([.:])", r"\1\\\2", line)
    line = line.replace("@", "`@`")
    return re.sub(
        r"^(\d+(?=[.)](?:\s|$)))?([-+=.)])(?![\d.])", r"\1\\\2", line
    )  # nothing begins a list or underlines a heading


def code(words: str) -> str:
    """Text in a code span that nothing in it can close."""
    line = re.sub(r"\s+", " ", printable(words, lines=False)).strip() or " "
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def block(words: str) -> str:
    """Text in a code block that nothing in it can close."""
    shown = printable(words)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    return f"{fence}\n{shown}\n{fence}"


def table(given: Table) -> str:
    """A table with its caption above and its note below."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [line(plain(each.words if isinstance(each, Link) else each) for each in row) for row in given.rows]
    parts = [
        f"**{plain(given.caption)}**",
        "\n".join([line(map(plain, given.head)), line("---" for _ in given.head), *rows]),
    ]
    return "\n\n".join([*parts, *([plain(given.note)] if given.note else [])])


def bench_text(bench: BenchRun, adjudication: Sequence[Table] = ()) -> str:
    """A bench as Markdown; the debates themselves are in the HTML report and in the run folders."""
    comparison = bench.comparison
    first = facts.results(comparison)
    matrices = [facts.confusion(at, row) for at, row in enumerate(comparison.rows)]
    flips = [facts.flips(comparison, pair, set()) for pair in comparison.pairs if pair.flips]
    pairs = facts.pairs(comparison)
    sections: list[tuple[str, list[str]]] = [
        ("Results", [table(each) for each in first]),
        ("Paired tests", [table(pairs)] if pairs else ["One contender: nothing to compare."]),
        ("Accuracy by round", [table(each) for each in (rounds.rounds(comparison),) if each]),
        ("Labels", [table(each) for each in (*matrices, facts.classes(comparison)) if each]),
        ("Adjudicated", [table(each) for each in adjudication]),
        ("Flips", [table(each) for each in flips]),
        (
            "To repeat it",
            [*map(block, notes.commands(bench)), table(notes.versions(bench)), _list(notes.sample_facts(bench))],
        ),
        ("What is not comparable", [_list(notes.not_comparable(bench))]),
    ]
    title = f"# {len(comparison.rows)} contenders on {plain(comparison.sample['dataset'])}"
    parts = [title, plain(facts.sample_words(comparison.sample)) + "."]
    for name, body in sections:
        if body:
            parts += [f"## {name}", *body]
    return "\n\n".join(parts) + "\n"


def run_text(run: SingleRun) -> str:
    """A run as Markdown: each claim's two sides, then its verdict, then what could not be found."""
    parts = []
    if len(run.verdicts) > 1:
        parts += [f"# {len(run.verdicts)} claims", plain(labels_counted(list(run.verdicts.values()))) + "."]
        parts.append(table(run_table(run, set())))
    if run.text:
        parts += ["## The text", table(text_table(run, *run.text))]
    for verdict in run.verdicts.values():
        parts += _case(verdict)
    told = _list(f"{name}: {value}" for name, value in notes.run_facts(run))
    return "\n\n".join([*parts, "## How it was done", told, *map(block, notes.run_commands(run))]) + "\n"


def _case(verdict: Verdict) -> list[str]:
    parts = [f"## {plain(verdict.claim.text)}"]
    for side, title in ((Side.FOR, "Best case for"), (Side.AGAINST, "Best case against")):
        quotes = verdict.side(side)
        parts += [f"### {title}", "\n".join(map(_quote, quotes)) if quotes else "Nothing was quoted."]
    beside = verdict.side(Side.CONTEXT)
    if beside:
        parts += ["### Quoted for neither side", "\n".join(map(_quote, beside))]
    label = f"Error: {verdict.error.what}" if verdict.error else verdict.label or "No answer was given"
    words = WORDS.get(str(verdict.meaning), "")
    parts += ["### Verdict", f"**{plain(label)}**", *([words] if words else []), plain(in_short(verdict))]
    lost = [
        f"- ~~{plain(each.text)}~~ quoted by {plain(each.agent)}, in no passage"
        for each in verdict.quotes
        if not each.found
    ]
    gaps = [*(f"- {plain(gap)}" for gap in verdict.gaps), *lost]
    return [
        *parts,
        "### What could not be found",
        "\n".join(gaps) or "Every search found something, and no tool failed.",
    ]


def _quote(quote: Quote) -> str:
    of = quote.source
    where = [plain(each) for each in (of.title or of.document, of.publisher, of.published) if each] if of else []
    address = [code(of.url)] if of and of.url else []
    return f"- “{plain(quote.text)}” ({', '.join([*where, *address, STATUS[quote.status]])})"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {plain(each)}" for each in lines)
