"""One verdict as HTML: both sides' case at equal size, the verdict in words, what is missing, how it was done."""

from __future__ import annotations

from collections.abc import Sequence

from redargue.claims import Meaning
from redargue.evals.report.gathered import Trace
from redargue.evals.report.markup import Html, Node, details, el, join, link
from redargue.evals.report.trace import LONGEST, STATUS, Passages, debate, in_short, quotation, source
from redargue.events import Answered
from redargue.evidence import Quote, Side
from redargue.printing import WORDS
from redargue.verdicts import Verdict

QUOTES_A_SIDE = 5
ARGUMENT = 700  # characters

SIDES = (
    (Side.FOR, Meaning.SUPPORTED, "Best case for"),
    (Side.AGAINST, Meaning.REFUTED, "Best case against"),
)


def case(item: int, verdict: Verdict, trace: Trace, level: int = 2) -> Html:
    """The whole of one claim's report but for its heading."""
    passages = Passages(item, [trace])
    head = f"h{level}"
    done: list[Node] = [debate(trace, passages, f"h{level + 1}"), passages.listed()]
    return join(
        _before(verdict),
        el("div", [_side(verdict, trace, passages, *each, level + 1) for each in SIDES], class_="sides"),
        _beside(verdict, passages),
        _decision(verdict),
        el(head, "What could not be found"),
        _gaps(verdict),
        el(head, "Evidence"),
        _evidence(verdict, passages),
        el(head, "How it came about"),
        el("p", in_short(verdict), class_="note"),
        details("The debate: queries, passages, answers, scores", done, open_=level == 2),
    )


def _before(verdict: Verdict) -> Html:
    claim = verdict.claim
    parts: list[Node] = []
    if claim.as_of:
        parts.append(el("p", f"Judged as of {claim.as_of:%Y-%m-%d}."))
    if claim.context:
        parts.append(details("What the claim stands in", el("p", claim.context[:LONGEST], class_="prose", dir="auto")))
    if claim.options:
        options = (f"{chr(65 + at)}: {option}" for at, option in enumerate(claim.options))
        parts.append(el("ul", [el("li", option, dir="auto") for option in options]))
    return join(parts)


def _side(verdict: Verdict, trace: Trace, passages: Passages, side: Side, meaning: Meaning, title: str, h: int) -> Html:
    quotes = verdict.side(side)
    parts: list[Node] = [el(f"h{h}", title)]
    for quote in quotes[:QUOTES_A_SIDE]:
        cited = source(quote.source) if quote.source else None
        parts.append(el("blockquote", el("p", quotation(quote, passages)), cited))
    if len(quotes) > QUOTES_A_SIDE:
        parts.append(el("p", f"{len(quotes) - QUOTES_A_SIDE} more in the table below.", class_="dim"))
    if not quotes:
        word = "for" if side is Side.FOR else "against"
        parts.append(el("p", f"Nothing was quoted {word} the claim.", class_="dim"))
    argument = _argument(verdict, trace, meaning)
    if argument:
        cut = " …" if len(argument.text) > ARGUMENT else ""
        told = f"Last argued by {argument.agent} (round {argument.round})"
        parts.append(details(told, el("p", argument.text[:ARGUMENT] + cut, class_="prose", dir="auto")))
    return el("section", parts, class_=f"side {side.value}")


def _argument(verdict: Verdict, trace: Trace, meaning: Meaning) -> Answered | None:
    """The last answer whose label has that meaning."""
    label = verdict.claim.labels.named(meaning)
    said = [each for each in trace if isinstance(each, Answered) and label is not None and each.label == label]
    return said[-1] if said else None


def _beside(verdict: Verdict, passages: Passages) -> Html | None:
    beside = verdict.side(Side.CONTEXT)
    if not beside:
        return None
    listed = [el("li", quotation(each, passages)) for each in beside]
    return details(f"Quoted for neither side ({len(beside)})", el("ul", listed, class_="quotes"))


def _decision(verdict: Verdict) -> Html:
    if verdict.error:
        hint = el("p", f"→ {verdict.error.hint}") if verdict.error.hint else None
        return el("div", el("p", f"No verdict: {verdict.error.what}", class_="label bad"), hint, class_="verdict")
    sure = "Not calibrated for this method and model: no confidence is given."
    if verdict.confidence is not None:
        sure = f"Confidence {verdict.confidence:.0%}."
    return el(
        "div",
        el("p", verdict.label or "No answer was given", class_="label", dir="auto"),
        el("p", WORDS.get(str(verdict.meaning), "")),
        el("p", sure, class_="dim"),
        class_="verdict",
        role="note",
        aria_label="Verdict",
    )


def _gaps(verdict: Verdict) -> Html:
    lost = [each for each in verdict.quotes if not each.found]
    parts: list[Node] = []
    if verdict.gaps:
        parts.append(el("ul", [el("li", gap, dir="auto") for gap in verdict.gaps]))
    else:
        parts.append(el("p", "Every search found something, and no tool failed."))
    if lost:
        parts.append(el("p", "Quoted by an agent, but in none of its passages; this does not count:"))
        parts.append(el("ul", [el("li", quotation(each), f" ({each.agent})") for each in lost]))
    return join(parts)


def _evidence(verdict: Verdict, passages: Passages) -> Html:
    quotes = [each for each in verdict.quotes if each.found]
    if not quotes:
        return el("p", "No quotation was found in a passage that was read.")
    names = ("Quotation", "Speaks", "Source", "Published", "Read", "Address", "Quoted by", "Check")
    head = el("tr", [el("th", name, scope="col") for name in names])
    caption = el("caption", "Every quotation that was found, and where it stands")
    body = [_evidence_row(each, passages) for each in quotes]
    table = el("table", caption, el("thead", head), el("tbody", body))
    return el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Evidence")


def _evidence_row(quote: Quote, passages: Passages) -> Html:
    of = quote.source
    read = f"{of.retrieved:%Y-%m-%d}" if of and of.retrieved else "–"
    sides = {Side.FOR: "for", Side.AGAINST: "against", Side.CONTEXT: "neither"}
    return el(
        "tr",
        el("th", el("u", quote.text, dir="auto"), " ", passages.reference(quote.passage), scope="row", class_="long"),
        el("td", sides[quote.side]),
        el("td", el("bdi", _cited(of.title or of.document, of.publisher) if of else "–")),
        el("td", (of.published if of else "") or "undated", class_="date"),
        el("td", read, class_="date"),
        el("td", link(of.url) if of and of.url else "–"),
        el("td", quote.agent),
        el("td", STATUS[quote.status]),
    )


def _cited(*parts: str) -> str:
    return ", ".join(each for each in parts if each) or "–"


def labels_counted(verdicts: Sequence[Verdict]) -> str:
    """How many claims got which label."""
    counts: dict[str, int] = {}
    for verdict in verdicts:
        name = f"error ({verdict.error.type})" if verdict.error else verdict.label or "no answer"
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
