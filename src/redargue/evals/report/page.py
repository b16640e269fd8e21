"""The reports as one HTML file each: no script, nothing loaded, readable in light and dark, narrow and on paper."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redargue.evals.report import charts, facts, notes, rounds
from redargue.evals.report.case import case, labels_counted
from redargue.evals.report.facts import KEY, Cell, Link, Table, letter
from redargue.evals.report.gathered import CLAIMS_SHOWN, OTHERS_SHOWN, BenchRun, SingleRun, Trace, traces
from redargue.evals.report.marked import marked_text, said
from redargue.evals.report.markup import Html, Node, details, el, join, raw, to
from redargue.evals.report.style import CSS
from redargue.evals.report.trace import Passages, debate, in_short

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
TRACES_BYTES = 4_000_000  # of all debates in one file; what would pass it is left out, and named

_NUMBER = re.compile(r"^[-+−$]?[\d.,]+(e-\d+)?( \([-+\d. to]+\))?%?$|^–$")
KEYS = frozenset({KEY, *facts.SIDES})
_LONG = frozenset({"Claim", "Quotation", facts.SEEN, "Tools and data revisions", "Model and weights"})


def document(title: str, *body: Node) -> str:
    """A whole page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="generator", content="redargue"),
        el("title", title),
        el("style", raw(CSS)),
    )
    return "<!DOCTYPE html>\n" + el("html", head, el("body", el("main", *body)), lang="en") + "\n"


def table(given: Table) -> Html:
    """A table that scrolls where the page is narrow."""
    numeric = [
        bool(given.rows) and all(isinstance(row[at], str) and _NUMBER.match(str(row[at])) for row in given.rows)
        for at in range(len(given.head))
    ]

    def kind(at: int) -> str | None:
        if numeric[at]:
            return "num"
        return "long" if given.head[at] in _LONG else "name" if given.head[at] == "Contender" else None

    head = el("tr", [el("th", name, scope="col", class_=kind(at)) for at, name in enumerate(given.head)])
    first = 1 if given.head[0] == KEY else 0

    def line(row: Sequence[Cell]) -> Html:
        cells = []
        for at, cell in enumerate(row):
            shown: Node = to(cell.anchor, cell.words) if isinstance(cell, Link) else cell
            if given.head[at] in KEYS:
                shown = _key(str(cell))
            tag, scope = ("th", "row") if at == first else ("td", None)
            cells.append(el(tag, shown, scope=scope, class_=kind(at), dir="auto" if kind(at) == "long" else None))
        return el("tr", cells)

    whole = el("table", el("caption", given.caption), el("thead", head), el("tbody", [line(row) for row in given.rows]))
    scrolls = el("div", whole, class_="scroll", tabindex=0, role="region", aria_label=given.caption)
    return join(scrolls, el("p", given.note, class_="note") if given.note else None)


def _key(name: str) -> Html:
    at = ord(name) - ord("A") if len(name) == 1 and name.isalpha() else int(name) - 1
    return el("b", name, class_=f"key k{at % 6}")


def _section(anchor: str, title: str, *nodes: Node) -> Html:
    return el("section", el("h2", title, id=anchor), *nodes)


def _contents(*entries: tuple[str, str]) -> Html:
    return el("nav", el("ul", [el("li", to(anchor, words)) for anchor, words in entries]), aria_label="Contents")


def bench_page(bench: BenchRun, adjudication: Sequence[Table] = ()) -> str:
    """A bench as a page."""
    comparison = bench.comparison
    told, kept = _debates(bench)
    title = f"{len(comparison.rows)} contenders on {comparison.sample['dataset']}"
    pairs = facts.pairs(comparison)
    sections: list[tuple[str, str, Node]] = [
        ("results", "Results", [table(each) for each in facts.results(comparison)]),
        (
            "pairs",
            "Paired tests",
            [_legend(bench), table(pairs)] if pairs else el("p", "One contender: nothing to compare."),
        ),
        ("pictures", "Pictures", _pictures(bench)),
        ("labels", "Labels", _labels(bench)),
        *([("adjudicated", "Adjudicated", [table(each) for each in adjudication])] if adjudication else []),
        ("flips", "Flips", _flips(bench, kept)),
        ("debates", "Debates", told),
        ("repeat", "To repeat it", _repeat(bench)),
        ("limits", "What is not comparable", el("ul", [el("li", each) for each in notes.not_comparable(bench)])),
    ]
    return document(
        f"{title} – redargue",
        el("h1", title),
        el("p", facts.sample_words(comparison.sample), "."),
        _contents(*((anchor, words) for anchor, words, _ in sections)),
        [_section(anchor, words, body) for anchor, words, body in sections],
    )


def _legend(bench: BenchRun) -> Html:
    rows = bench.comparison.rows
    return el("ul", [el("li", _key(letter(at)), f" {row.spec}") for at, row in enumerate(rows)], class_="legend")


def _pictures(bench: BenchRun) -> Html:
    rows = bench.comparison.rows
    shown = [(at, row, row.scores.figure("accuracy")) for at, row in enumerate(rows)]
    scored = [(at, row, each) for at, row, each in shown if each.value is not None]
    figures: list[Node] = []
    for unit, dollars in (("calls a claim", False), ("dollars a claim", True)):
        points = [
            charts.Point(at, spent / row.scores.n, each.value or 0.0, each.low, each.high)
            for at, row, each in scored
            if (spent := row.scores.cost.usage.usd if dollars else row.scores.cost.usage.calls) is not None
        ]
        if points:
            note = "Bars: 95 % intervals. Markers that would cover one another stand side by side."
            figures.append(
                _figure(charts.scatter(points, f"Accuracy against {unit}", unit=unit, dollars=dollars), note)
            )
    lines = [
        (at, [r.right for r in rounds.by_round(bench.comparison, row)], each.value or 0.0) for at, row, each in scored
    ]
    lines = [line for line in lines if line[1]]
    if lines:
        figures.append(_figure(charts.curves(lines, "Accuracy by round"), rounds.BY_ROUND))
    figures += [
        _figure(
            charts.reliability(row.scores.reliability, f"Calibration of {row.spec}", at),
            "Of the answers whose confidence lies in a tenth, the share that is right; above each bar, how many. On "
            "the diagonal confidences mean what they say.",
        )
        for at, row in enumerate(rows)
        if row.scores.reliability
    ]
    without = [letter(at) for at, row in enumerate(rows) if not row.scores.reliability]
    none = f"No verdict of {', '.join(without)} has a confidence: there is no calibration to show." if without else None
    by_round = rounds.rounds(bench.comparison)
    unpriced = all(row.scores.cost.usage.usd is None for row in rows)
    return join(
        _legend(bench),
        el("div", figures, class_="charts"),
        el("p", none, class_="note") if none else None,
        el("p", "No contender has a known price: there is no picture in dollars.", class_="note") if unpriced else None,
        details("Accuracy by round in figures", table(by_round)) if by_round else None,
    )


def _figure(picture: Html, caption: str) -> Html:
    name = re.search(r"<title>(.*?)</title>", picture)
    return el("figure", picture, el("figcaption", el("b", Html(name.group(1) if name else "")), ". ", caption))


def _labels(bench: BenchRun) -> Html:
    matrices = [facts.confusion(at, row) for at, row in enumerate(bench.comparison.rows)]
    classes = facts.classes(bench.comparison)
    shown = [table(each) for each in matrices if each]
    return join(
        el("p", "How many claims of a gold label (row) got which label (column):") if shown else None,
        el("div", shown, class_="grid") if shown else el("p", "Free text: no labels to confuse."),
        table(classes) if classes else None,
    )


def _flips(bench: BenchRun, kept: set[int]) -> Html:
    parts: list[Node] = [el("p", "A label leads to the debate that it came from.", class_="note")]
    for at, pair in enumerate(bench.comparison.pairs):
        shown = facts.flips(bench.comparison, pair, kept)
        if pair.flips:
            parts.append(details(shown.caption, table(shown._replace(caption="Claim by claim")), open_=at == 0))
        else:
            parts.append(el("p", f"{shown.caption}.", class_="note"))
    return join(parts)


def _debates(bench: BenchRun) -> tuple[Html, set[int]]:
    """The claims' debates, as many as there is room for; and which claims these are."""
    comparison, wanted = bench.comparison, bench.shown()
    every = [traces(bench.folder / row.slug, wanted) for row in comparison.rows]
    made: dict[int, Html] = {}
    size = 0
    for item in wanted:
        one = _claim(bench, item, [each[item] for each in every])
        size += len(one.encode())
        if size > TRACES_BYTES:
            break
        made[item] = one
    flipping, n = bench.flipping, len(comparison.claims)
    others = sum(item not in flipping for item in made)
    told = (
        f"Here are the debates on {len(made)} of {n} claims: {sum(item in flipping for item in made)} of the "
        f"{len(flipping)} on which contenders differ, and the first {others} others (at most {OTHERS_SHOWN}, and "
        f"{TRACES_BYTES // 1_000_000} MB in all). The rest is in the run folders."
    )
    return join(el("p", told, class_="note"), [made[item] for item in sorted(made)]), set(made)


def _claim(bench: BenchRun, item: int, every: Sequence[Trace]) -> Html:
    ask = bench.comparison.claims[item]
    passages = Passages(item, every)
    summary: list[Node] = [el("b", ask.claim, dir="auto"), el("br"), f"gold {ask.gold or 'hidden'}"]
    told: list[Node] = []
    for at, (row, trace) in enumerate(zip(bench.comparison.rows, every, strict=True)):
        each = row.said[item]
        hit = "" if ask.gold is None else " ✓" if each.label == ask.gold else " ✗"
        summary += [" · ", _key(letter(at)), f" {facts.said(each)}{hit}"]
        verdict = next((event.verdict for event in trace if event.kind == "claim_ended"), None)
        short = in_short(verdict) if verdict else ""
        mark = "" if ask.gold is None else " (right)" if each.label == ask.gold else " (wrong)"
        head = el("h4", _key(letter(at)), f" {row.spec}: {facts.said(each)}{mark}", id=facts.anchor(item, at))
        told += [head, el("p", short, class_="dim"), debate(trace, passages)]
    return details(summary, told, passages.listed(), id=f"claim-{item}")


def _repeat(bench: BenchRun) -> Html:
    rows = zip(bench.comparison.rows, bench.abouts, strict=True)
    return join(
        [el("pre", el("code", each)) for each in notes.commands(bench)],
        table(notes.versions(bench)),
        el("ul", [el("li", each) for each in notes.sample_facts(bench)]),
        [details(f"Settings of {row.spec}", el("pre", el("code", notes.settings(about)))) for row, about in rows],
    )


def run_page(run: SingleRun) -> str:
    """A run as a page: one claim in full, or a table of claims with each in full below."""
    shown = list(run.verdicts)[:CLAIMS_SHOWN]
    found = traces(run.folder, shown)
    if len(run.verdicts) == 1 and not run.unfinished and run.text is None:
        ((item, verdict),) = run.verdicts.items()
        return document(
            f"{verdict.claim.text[:80]} – redargue",
            el("p", "Claim", class_="dim"),
            el("h1", verdict.claim.text, dir="auto"),
            case(item, verdict, found[item]),
            el("h2", "To repeat it", id="repeat"),
            _done(run),
        )
    made: dict[int, Html] = {}
    size = 0
    for item in shown:
        verdict = run.verdicts[item]
        summary = [el("b", verdict.claim.text, dir="auto"), " · ", said(verdict)]
        one = details(summary, el("div", case(item, verdict, found[item], 3), id=f"c-{item}"), class_="case")
        size += len(one.encode())
        if size > TRACES_BYTES:
            break
        made[item] = one
    counted = labels_counted(list(run.verdicts.values()))
    unfinished = f" {run.unfinished} of {len(run.about['claims'])} claims have not ended." if run.unfinished else ""
    kept = f"{len(made)} of {len(run.verdicts)} claims are shown in full; the rest is in the run folder."
    kept = kept if len(made) < len(run.verdicts) else "All claims are shown in full."
    whole = _section("text", "The text", marked_text(run, *run.text, set(made))) if run.text else None
    title = f"{'A text of ' if run.text else ''}{len(run.verdicts)} claim{'s' * (len(run.verdicts) != 1)}"
    return document(
        f"{title} – redargue",
        el("h1", title),
        el("p", f"{counted or 'No claims'}.{unfinished}"),
        _contents(
            *([("text", "The text")] if run.text else []),
            *(("claims", "Claims"), ("cases", "Each claim"), ("repeat", "To repeat it")),
        ),
        whole,
        _section("claims", "Claims", table(run_table(run, set(made)))),
        _section("cases", "Each claim", el("p", kept, class_="note"), list(made.values())),
        _section("repeat", "To repeat it", _done(run)),
    )


def run_table(run: SingleRun, kept: set[int]) -> Table:
    """One line a claim."""
    lines: list[tuple[Cell, ...]] = []
    for item, verdict in run.verdicts.items():
        name = said(verdict)
        sides = (str(sum(q.found and q.side == side for q in verdict.quotes)) for side in ("for", "against"))
        cell: Cell = Link(name, f"c-{item}") if item in kept else name
        counts = (*sides, str(len(verdict.gaps)), str(verdict.usage.calls))
        lines.append((facts.shortened(verdict.claim.text), cell, *counts))
    head = ("Claim", "Verdict", "Quotes for", "Quotes against", "Gaps", "Calls")
    note = "“Not enough” does not mean that a claim is partly true."
    return Table("What was found for each claim", head, tuple(lines), note)


def _done(run: SingleRun) -> Html:
    rows = [el("tr", el("th", name, scope="row"), el("td", value)) for name, value in notes.run_facts(run)]
    whole = el("table", el("caption", "How it was done"), el("tbody", rows))
    return join(
        [el("pre", el("code", each)) for each in notes.run_commands(run)],
        el("p", "Replays the record, call for call, without a network.", class_="note"),
        el("div", whole, class_="scroll", tabindex=0, role="region", aria_label="How it was done"),
        details("Settings", el("pre", el("code", notes.settings(run.about)))),
    )
