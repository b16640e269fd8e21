"""Overviews of a run: the claims of a text by risk, the table of claims, and how to reproduce the run.

By risk is for an editor: each claim is beside its nearest sentence and what differs between them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from redargue import words
from redargue.caveats import Difference, UncheckedReason
from redargue.claims import Meaning
from redargue.evidence import Quote, Side
from redargue.nli.alignment import Parsed, compare_quantities, parsed
from redargue.nli.consistency import LONGEST, MOST_NUMBERS
from redargue.nli.edits import edit_of
from redargue.nli.facts import with_units
from redargue.nli.quantities import Quantity
from redargue.quotes import content_words
from redargue.reports import SingleRun
from redargue.reports.annotated_text import readable_text
from redargue.reports.phrases import citation_text, cost, label_counts, label_of, names_file, place_of, why_unsure
from redargue.reports.table import Cell, Column, Link, Table, cut, number
from redargue.runs.folders import runs_folder
from redargue.runs.manifest import RunManifest
from redargue.sanitize import counted, printable
from redargue.text import Citation, Report
from redargue.text.segment import UncheckedSentence
from redargue.verdicts import Verdict, total_usage


class Risk(StrEnum):
    """What a claim would cost if it were printed, worst first."""

    REFUTED = "refuted"
    CONFLICTING = "conflicting"
    DIFFERS = "differs"
    OPEN = "open"
    UNCHECKED = "unchecked"
    SUPPORTED = "supported"


TITLES = {
    Risk.REFUTED: "Refuted",
    Risk.CONFLICTING: "Conflicting",
    Risk.DIFFERS: "Not enough evidence, and the nearest sentence differs",
    Risk.OPEN: "Not enough evidence",
    Risk.UNCHECKED: "Not checked",
    Risk.SUPPORTED: "Supported",
}
_SIDES = {
    Risk.REFUTED: (Side.AGAINST, Side.CONTEXT, Side.FOR),
    Risk.SUPPORTED: (Side.FOR, Side.CONTEXT, Side.AGAINST),
}
_OPEN_SIDES = (Side.AGAINST, Side.CONTEXT, Side.FOR)


class RiskRow(NamedTuple):
    """A claim, or a sentence without one that may state something.

    Attributes:
        number: of the claim, from 1; 0 for a sentence without a claim.
        quote: the nearest sentence of the sources; None where nothing was quoted.
        place: its file and page, or its title and publisher.
        differences: between the claim and ``quote``.
        lacking: figures of the claim that ``quote`` does not have.
        notes: why it was not checked, to which side it leans, what its verdict does not rest on, failed searches, and
            what the page that it cites is to it, in lines.
        leaning: of an open claim, the label to which it leans; None without one.
    """

    risk: Risk
    number: int
    claim: str
    quote: Quote | None = None
    place: str = ""
    differences: tuple[Difference, ...] = ()
    lacking: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    leaning: Meaning | None = None

    @property
    def sentence(self) -> str:
        return _shortened(self.quote) if self.quote else ""

    @property
    def said(self) -> tuple[str, ...]:
        """What differs, in lines."""
        lines = [words.difference(each) for each in self.differences]
        if self.lacking:
            lines.append(f"not in the sentence: {', '.join(self.lacking)}")
        return (*lines, *self.notes)


def _shortened(quote: Quote) -> str:
    return cut(" ".join(quote.text.split()), 600, " …")


def title_of(run: SingleRun) -> str:
    """``press-release.docx: 20 claims``; without a file's name ``A text of 20 claims``, or ``20 claims``."""
    claims = counted(len(run.verdicts) + run.unfinished, "claim")
    if name := printable(run.manifest.origin.name, lines=False):
        return f"{name}: {claims}"
    return f"A text of {claims}" if run.text else claims


def date_text(run: SingleRun) -> str:
    """``Checked on 2026-11-25``; empty where the day is not known."""
    return f"Checked on {run.checked_on}" if run.checked_on else ""


def counts_text(run: SingleRun) -> str:
    """How many claims have which outcome, of a text by its groups; how many have none yet; its other sentences."""
    counts = risk_counts(run_rows(run)) if run.text else label_counts(run.verdicts.values())
    others = words.without_claims(each.why for each in run.text[1].unchecked) if run.text else ""
    claims = counted(len(run.manifest.claims), "claim")
    unfinished = f"{run.unfinished:,} of {claims} have not finished" if run.unfinished else ""
    return " ".join(f"{said}." for said in (counts or "No claims", unfinished, others) if said)


def report_rows(report: Report) -> tuple[RiskRow, ...]:
    claims = {number: (claim.verdict, claim.citation) for number, claim in enumerate(report.claims, 1)}
    return risk_rows(report.text, claims, report.unchecked)


def run_rows(run: SingleRun) -> tuple[RiskRow, ...]:
    """Of the finished claims of a run's text; empty for a run without a text."""
    if run.text is None:
        return ()
    (text, extraction), citations = run.text, run.citations
    claims = {item + 1: (verdict, citations.get(item)) for item, verdict in run.verdicts.items()}
    return risk_rows(text.text, claims, extraction.unchecked)


def risk_rows(
    text: str, claims: Mapping[int, tuple[Verdict, Citation | None]], unread: Iterable[UncheckedSentence]
) -> tuple[RiskRow, ...]:
    """The rows, worst first: of open claims, those that lean to refuted; otherwise in the order of the text.

    Args:
        claims: verdict and cited page by the claim's number, from 1.
    """
    quotes = {number: nearest_quote(verdict) for number, (verdict, _) in claims.items()}
    names = _names(filter(None, quotes.values()))
    rows = [_row(at, verdict, quotes[at], names, page) for at, (verdict, page) in claims.items()]
    for sentence in unread:
        if sentence.why.may_state:
            stated = shortened_cell(" ".join(readable_text(text[sentence.start : sentence.end]).split()))
            rows.append(RiskRow(Risk.UNCHECKED, 0, stated, notes=(words.unchecked(sentence.why),)))
    order = list(Risk)
    return tuple(sorted(rows, key=lambda row: (order.index(row.risk), row.leaning is not Meaning.REFUTED)))


def _row(
    number: int, verdict: Verdict, quote: Quote | None, names: dict[str, str], citation: Citation | None
) -> RiskRow:
    found = list(verdict.differences)
    lacking: tuple[str, ...] = ()
    if quote and (not found or verdict.meaning is not Meaning.REFUTED):
        compared, lacking = _compared(verdict, quote)
        found += [each for each in compared if each not in found]
    also: list[str] = []
    if quote and lacking:
        beside = [each for each in verdict.side(quote.side) if each != quote]
        found_in = {each: set(lacking).difference(_compared(verdict, each)[1]) for each in beside}
        also = [f"also: “{_shortened(each)}”" for each, figures in found_in.items() if figures]
        elsewhere = frozenset().union(*found_in.values())
        lacking = tuple(each for each in lacking if each not in elsewhere)
    place = ", ".join(filter(None, _places(quote, names))) if quote else ""
    unsure, named = verdict.unsure, verdict.claim.labels.meaning
    doubted = unsure is not None and named(unsure.label) is Meaning.REFUTED
    against = quote is not None and quote.side is Side.AGAINST
    risk = _risk(verdict, differs=bool(found) or doubted or against)
    claim = " ".join(verdict.claim.text.split())
    notes = (*also, *_notes(verdict, citation))
    return RiskRow(risk, number, claim, quote, place, tuple(found), lacking, notes, _leaning(verdict))


def _compared(verdict: Verdict, quote: Quote) -> tuple[tuple[Difference, ...], tuple[str, ...]]:
    return compared_words(verdict.claim.text, " ".join(quote.text.split()))


def _leaning(verdict: Verdict) -> Meaning | None:
    """The side to which an open claim leans, if one is more probable than the other."""
    noted, decided = verdict.leaning, verdict.meaning in (Meaning.SUPPORTED, Meaning.REFUTED)
    if noted is None or verdict.why_unchecked or decided or noted.supports == noted.refutes:
        return None
    return Meaning.REFUTED if noted.refutes > noted.supports else Meaning.SUPPORTED


def _notes(verdict: Verdict, citation: Citation | None) -> Iterator[str]:
    if verdict.error:
        yield f"error: {verdict.error.what}" + (f" → {verdict.error.hint}" if verdict.error.hint else "")
    elif verdict.why_unchecked and not (citation and verdict.why_unchecked.reason is UncheckedReason.SEARCH_FAILED):
        yield words.unchecked(verdict.why_unchecked)
    elif verdict.caveats:
        yield words.caveats(verdict.caveats)
    if side := _leaning(verdict):
        yield words.leans(side)
    if verdict.parts:
        yield words.in_parts(verdict.parts)
    if verdict.unsure and not verdict.unchecked:
        yield f"{why_unsure(verdict)}: it would have answered {verdict.claim.labels.plain(verdict.unsure.label)}"
    if verdict.meaning is Meaning.CONFLICTING:
        yield words.meaning(verdict.meaning)
    if unread := words.unread_languages(verdict.gaps):
        yield unread
    if citation:
        yield f"cites {citation.url}: {citation_text(citation)}"
    else:
        yield from map(words.gap, verdict.failed_searches)


def _risk(verdict: Verdict, *, differs: bool) -> Risk:
    if verdict.why_unchecked:
        return Risk.UNCHECKED
    if verdict.meaning in (Meaning.REFUTED, Meaning.SUPPORTED, Meaning.CONFLICTING):
        return Risk(verdict.meaning)
    return Risk.DIFFERS if differs else Risk.OPEN


def nearest_quote(verdict: Verdict) -> Quote | None:
    """Of the quotations on the verdict's side, or else on any, the one that differs or shares the most words."""
    sides = _SIDES.get(_risk(verdict, differs=False), _OPEN_SIDES)
    quotes = next((found for side in sides if (found := verdict.side(side))), ())
    own = content_words(verdict.claim.text)
    given = frozenset().union(*(content_words(each.evidence) for each in verdict.differences))

    def nearness(quote: Quote) -> tuple[int, int]:
        said = content_words(quote.text)
        return len(given & said), len(own & said)

    return max(quotes, key=nearness, default=None)


def compared_words(claim: str, sentence: str) -> tuple[tuple[Difference, ...], tuple[str, ...]]:
    """The figures and opposites in which a sentence differs from a claim, and the claim's figures that it lacks.

    Figures that count different things are not compared.
    """
    for text in (claim, sentence):
        if len(text) > LONGEST or len(re.findall(r"\d+", text)) > MOST_NUMBERS:
            return (), ()
    ours, theirs = parsed(claim), parsed(with_units(sentence))
    own = content_words(claim)
    share = len(own & content_words(sentence)) / max(1, len(own))
    differences = []
    for one, other, kind in edit_of(ours, theirs).pairs:
        same_measure = share >= 1 / 4 and _comparable(one.quantity, other.quantity)
        if kind == "opposite" or (kind == "number" and same_measure):
            stated, said = one.text.rstrip(".,;"), other.text.rstrip(".,;")
            differences.append(Difference(kind=kind, claim=stated, evidence=said))
    compared = compare_quantities(ours, theirs)
    if share >= 1 / 2:
        for mine, found in compared.unequal:
            if _comparable(mine, found) and _alone(mine, ours) and _alone(found, theirs):
                differences.append(Difference(kind="number", claim=_figure(claim, mine), evidence=found.text))
    named = {each.claim for each in differences}
    absent = sorted({*compared.missing, *(one for one, _ in compared.unequal)}, key=lambda each: each.start)
    lacking = (figure for each in absent if (figure := _figure(claim, each)) not in named)
    return tuple(dict.fromkeys(differences)), tuple(dict.fromkeys(lacking))


def _figure(text: str, quantity: Quantity) -> str:
    return text[quantity.start : quantity.end].strip(" .,;")


def _alone(quantity: Quantity, text: Parsed) -> bool:
    """Whether a text has no other figure of the same measure, which could be meant instead."""
    return sum(each.dimension == quantity.dimension for each in text.quantities) == 1


def _comparable(one: Quantity | None, other: Quantity | None) -> bool:
    """Whether two figures measure the same; counts do where they count the same things."""
    if one is None or other is None:
        return False
    return one.dimension not in ("count", "ordinal") or bool(one.nouns & other.nouns)


def _document(quote: Quote) -> str:
    return quote.source.document or quote.source.title or quote.source.url if quote.source else ""


def _names(quotes: Iterable[Quote]) -> dict[str, str]:
    """A short name for each document: of a file its name, with its folder where two files have the same."""
    documents = map(_document, quotes)
    paths = {document: Path(document) for document in documents if names_file(document)}
    count = Counter(path.name for path in paths.values())
    return {
        document: path.name if count[path.name] == 1 else str(Path(path.parent.name) / path.name)
        for document, path in paths.items()
    }


def _places(quote: Quote, names: Mapping[str, str]) -> tuple[str, ...]:
    """Where it is, with the short name of a file."""
    if name := names.get(_document(quote)):
        return name, f"page {quote.page}" if quote.page else ""
    return place_of(quote)


def by_risk(rows: Iterable[RiskRow]) -> list[tuple[Risk, str, list[RiskRow]]]:
    """The rows in their groups, worst first, each with its title."""
    return [(risk, TITLES[risk], list(group)) for risk, group in groupby(rows, lambda row: row.risk)]


def risk_counts(rows: Sequence[RiskRow]) -> str:
    """How many claims each group has, in the words and the order of the groups; empty without claims."""
    claims = by_risk(row for row in rows if row.number)
    return "; ".join(f"{title}: {len(group)}" for _, title, group in claims)


def risk_tables(rows: Sequence[RiskRow]) -> tuple[Table, ...]:
    titles = ("Claim", "Nearest sentence", "What differs")
    columns = (number("No."), *(Column(title, "long") for title in titles))
    found = []
    for _, title, group in by_risk(rows):
        cells = []
        for row in group:
            place = f" ({row.place})" if row.place else ""
            sentence = f"“{row.sentence}”{place}" if row.sentence else ""
            cells.append((row.number or None, row.claim, sentence, "; ".join(row.said)))
        found.append(Table(f"{title} ({len(cells)})", columns, tuple(cells)))
    return tuple(found)


def summarize_identity(manifest: RunManifest) -> tuple[str, ...]:
    models = (f"{role}: {name}" for role, name in manifest.spec.models.items())
    tools = (f"{name} {tool.revision}".strip() for name, tool in manifest.tools.items())
    return (
        manifest.redargue or "unknown",
        f"{manifest.spec.method} ({manifest.spec.profile})",
        manifest.spec.backend,
        "; ".join(filter(None, (_without_empty(manifest.backend.identity), *models))),
        str(manifest.spec.seed),
        "; ".join(tools) or "none",
    )


def _without_empty(identity: str) -> str:
    """The identity of a backend without settings that are empty (``prompts=``)."""
    return re.sub(r" \w+=(?=\s|$)", "", identity)


def settings(manifest: RunManifest) -> str:
    return json.dumps(manifest.spec.settings, indent=1, ensure_ascii=False)


def replay_command(run: SingleRun) -> str:
    # The name is enough of a run in redargue's home, and does not disclose a local path.
    in_home = run.folder.parent == runs_folder()
    return shlex.join(["redargue", "replay", run.folder.name if in_home else str(run.folder)])


def _confidence_of_run(run: SingleRun) -> str:
    """Returns the range of the verdicts' confidences, and the threshold below which claims are left open."""
    shown = [verdict.shown_confidence for verdict in run.verdicts.values()]
    confidences = [value for value in shown if value is not None]
    if confidences:
        text = " to ".join(dict.fromkeys(f"{end(confidences):.2f}" for end in (min, max)))
        if len(confidences) < len(run.verdicts):
            text += f", of {len(confidences)} of {counted(len(run.verdicts), 'claim')}"
    elif all(verdict.unchecked for verdict in run.verdicts.values()):
        text = "none, as no claim was checked"
    elif any(verdict.confidence is not None for verdict in run.verdicts.values()):
        text = "none, as no claim was decided"
    else:
        text = "not calibrated for this method and model"
    threshold = run.manifest.threshold
    return text + (f"; below {threshold:g} a claim is left open" if threshold else "")


def run_facts(run: SingleRun) -> tuple[tuple[str, str], ...]:
    version, method, backend, identity, seed, tools = summarize_identity(run.manifest)
    usage = total_usage(run.usages)
    unpriced = usage.usd is None and not run.manifest.is_local
    return (
        ("Method", method),
        ("Backend", backend),
        ("Model and weights", identity),
        ("Tools and data revisions", tools),
        ("Confidence", _confidence_of_run(run)),
        ("Seed", seed),
        ("redargue", version),
        ("Cost", cost(usage) + (", price unknown" if unpriced else "")),
    )


def shortened_cell(claim: str) -> str:
    return cut(claim, 400, " …")


def run_table(run: SingleRun, shown: Collection[int]) -> Table:
    """Returns a row for each claim; the label of a claim in ``shown`` links to its section of the page."""
    rows: list[tuple[Cell, ...]] = []
    for item, verdict in run.verdicts.items():
        label = label_of(verdict)
        sides = Counter(quote.side for quote in verdict.quotes if quote.found)
        claim, sure = shortened_cell(verdict.claim.text), verdict.shown_confidence
        cell = Link(label, f"c-{item}") if item in shown else label
        counts = (sides[Side.FOR], sides[Side.AGAINST], len(verdict.gaps), verdict.usage.calls)
        rows.append((item + 1, claim, cell, sure, *counts))
    counted_columns = (number(title, ",") for title in ("Quotes for", "Quotes against", "Gaps", "Calls"))
    texts = (Column("Claim", "long"), Column("Verdict"))
    columns = (number("No."), *texts, number("Confidence", ".2f"), *counted_columns)
    note = "“Not enough evidence” does not mean that a claim is partly true."
    return Table("What was found for each claim", columns, tuple(rows), (note,))
