"""What a client learns about an answer: the block ``redargue`` of a message, and annotations that clients know."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector
from pydantic import ConfigDict, Field

from redargue.caveats import UncheckedReason
from redargue.claims import Frozen, Meaning
from redargue.evidence import Quote, Side
from redargue.reports import markdown
from redargue.sanitize import counted, link_address, printable, shortened
from redargue.service.entries import note
from redargue.service.proxy.checker import Checked
from redargue.service.proxy.settings import Plan, UnreadContexts
from redargue.text import CheckedClaim, Outcome, outcome
from redargue.text.extract import may_answer
from redargue.verdicts import Usage, Verdict, total_usage

_LISTED = 50  # sentences in a header
_QUOTES = 3  # of one side of a claim, at most
FOOTNOTES = "Checked by redargue:"
BlockReason = Literal[
    "no_context",
    "checker_down",
    "too_long",
    "unreadable_answer",
    "checker_late",
    "budget",
    "search_failed",
    "language",
    "no_answer",
    "fragment",
    "structured",
    "not_read",
    "no_text",
    "",
]
REASONS: tuple[BlockReason, ...] = get_args(BlockReason)  # the first that applies is that of the answer
_UNCHECKED: dict[UncheckedReason, BlockReason] = {
    UncheckedReason.LANGUAGE: "language",
    UncheckedReason.SEARCH_FAILED: "search_failed",
    UncheckedReason.FRAGMENT: "fragment",
    UncheckedReason.UNSURE: "",  # it has a verdict: that the evidence does not suffice
}
_ERRORS: dict[str, BlockReason] = {"BudgetReached": "budget", "BadReply": "no_answer", "ToolFailed": "search_failed"}


class ClaimQuote(Frozen):
    """A quotation that was found in its source; ``side``: ``for`` or ``against`` the claim."""

    text: str
    side: Side
    document: str = ""
    title: str = ""
    url: str = ""


class ClaimBlock(Frozen):
    """A claim of an answer.

    Attributes:
        sentence: number of its sentence in the answer, from 1.
        start: offset of its sentence in the answer, in code points from 0.
        end: one past its last.
            Both are 0 where the answer was withheld: its text is not sent.
        claim: empty where the answer was withheld and the request does not ask for it.
        label: of the label set; None where the claim was not checked.
        unchecked: why it was not; empty where it was.
    """

    sentence: int = 0
    start: int
    end: int
    claim: str
    label: str | None
    meaning: Meaning | None = None
    confidence: float | None = None
    unchecked: BlockReason = ""
    method: str = ""
    quotes: tuple[ClaimQuote, ...] = ()


class Revision(Frozen):
    """What the mode ``revise`` did: the first draft, and a unified diff of it and the answer, by sentence."""

    draft: str
    diff: str
    rounds: int
    upstream_usage: dict[str, int] = Field(default_factory=dict)


class CheckBlock(Frozen):
    """The verdicts on an answer.

    Attributes:
        check: identifies the check, as the header ``X-Redargue-Check``.
        outcome: as of :class:`redargue.Report`; ``unchecked`` is never ``factual``.
        reason: why the answer, or a part of it, was not checked; empty where all of it was.
        offsets: the unit of ``start`` and ``end``.
        unchecked: sentences that may state something and were not checked, by reason.
        unread_contexts: how many documents of the request were not read (``left_out``) or read in part (``cut``).
        ms: between the end of the answer and that of its check.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_: Literal["redargue.answer.v1"] = Field(default="redargue.answer.v1", alias="schema")
    check: str
    mode: str
    outcome: Outcome
    reason: BlockReason = ""
    offsets: Literal["code_point"] = "code_point"
    claims: tuple[ClaimBlock, ...] = ()
    unchecked: dict[str, int] = Field(default_factory=dict)
    unread_contexts: UnreadContexts = Field(default_factory=dict)
    withheld: str = ""
    revision: Revision | None = None
    usage: Usage = Usage()
    ms: float = 0.0

    def payload(self) -> dict[str, object]:
        left_out = {name for name in ("unread_contexts", "withheld", "revision") if not getattr(self, name)}
        return self.model_dump(mode="json", by_alias=True, exclude=left_out)

    def of_withheld(self, why: str, plan: Plan) -> CheckBlock:
        """The block without what the answer said, unless the application asks for the claims that withheld it.

        No offset is left: they would be read as those of the text in its place.
        """
        hidden = {"start": 0, "end": 0} if plan.show_withheld else {"start": 0, "end": 0, "claim": ""}
        shown = self.bad if plan.show_withheld else self.claims
        claims = tuple(claim.model_copy(update=hidden) for claim in shown)
        return self.model_copy(update={"withheld": why, "claims": claims})

    @property
    def supported(self) -> float:
        """Share of the claims that are supported, in [0, 1]; 1 without claims."""
        labels = [claim.meaning for claim in self.claims]
        return labels.count(Meaning.SUPPORTED) / len(labels) if labels else 1.0

    @property
    def bad(self) -> tuple[ClaimBlock, ...]:
        """The claims that were checked and are not supported."""
        return tuple(claim for claim in self.claims if not claim.unchecked and claim.meaning != Meaning.SUPPORTED)


def block_of(checked: Checked, plan: Plan, check: str) -> CheckBlock:
    """The block of a finished check."""
    starts = [sentence.start for sentence in checked.sentences]
    claims = tuple(_claim(claim, bisect_right(starts, claim.start)) for claim in checked.claims)
    reasons = Counter[BlockReason](claim.unchecked for claim in claims if claim.unchecked)
    reasons["checker_late"] += len(checked.late)
    reasons["structured"] += checked.structured
    reasons.update(_ERRORS.get(name, "checker_down") for _, name in checked.failed)
    reasons = +reasons  # those that occur
    problem = next((reason for reason in REASONS if reason == checked.problem), None)
    if problem:
        reasons[problem] += max(1, len(checked.sentences) - len(claims))
    elif plan.question and not (claims or reasons):
        reasons.update("fragment" for each in checked.sentences if may_answer(each.text, plan.question))
    verdicts = [claim.verdict for claim in checked.claims]
    return CheckBlock(
        check=check,
        mode=plan.mode,
        outcome=Outcome.UNCHECKED if problem else outcome(verdicts, unread=bool(reasons)),
        reason=next((reason for reason in REASONS if reason in reasons), ""),
        claims=claims,
        unchecked=dict(reasons),
        unread_contexts=plan.unread_contexts,
        usage=total_usage([verdict.usage for verdict in verdicts]),
        ms=round(checked.ms, 1),
    )


def block_without_check(plan: Plan, check: str, reason: BlockReason = "no_text") -> CheckBlock:
    """The block of an answer that was not checked; ``no_text``: there is none, as in a call of a tool."""
    if reason == "no_text":
        return CheckBlock(check=check, mode=plan.mode, outcome=Outcome.NOT_CHECKABLE, reason=reason)
    found = {"unchecked": {reason: 1}, "unread_contexts": plan.unread_contexts}
    return CheckBlock(check=check, mode=plan.mode, outcome=Outcome.UNCHECKED, reason=reason, **found)


def _claim(claim: CheckedClaim, sentence: int) -> ClaimBlock:
    verdict = claim.verdict
    why = _block_reason(verdict)
    sides = () if why else (Side.FOR, Side.AGAINST)
    return ClaimBlock(
        sentence=sentence,
        start=claim.start,
        end=claim.end,
        claim=verdict.claim.text,
        label=None if why else verdict.label,
        meaning=None if why else verdict.meaning,
        confidence=None if why else verdict.confidence,
        unchecked=why,
        method=verdict.method,
        quotes=tuple(_quote(quote) for side in sides for quote in verdict.side(side)[:_QUOTES]),
    )


def _block_reason(verdict: Verdict) -> BlockReason:
    """Why a claim was not checked, as a word; empty where it was."""
    if verdict.error:
        return _ERRORS.get(verdict.error.type, "checker_down")
    why = verdict.why_unchecked
    return _UNCHECKED.get(why.reason, "no_answer") if why else ""


def _quote(quote: Quote) -> ClaimQuote:
    source = quote.source
    return ClaimQuote(
        text=printable(quote.text),
        side=quote.side,
        document=source.document if source else "",
        title=source.title if source else "",
        url=(link_address(source.url) or "") if source else "",
    )


def citations(block: CheckBlock) -> list[dict[str, int | str]]:
    """Each source on the web that a claim's verdict quotes, with the names of OpenAI's annotations."""
    found = dict.fromkeys(
        (claim.start, claim.end, shortened(quote.title or quote.document or quote.url), quote.url)
        for claim in block.claims
        for quote in claim.quotes
        if quote.url
    )
    names = ("start_index", "end_index", "title", "url")
    return [dict(zip(names, values, strict=True)) for values in found]


_OPEN = "could not be confirmed"
_WORDS = {Meaning.REFUTED: "refuted", Meaning.CONFLICTING: "conflicting evidence", Meaning.NOT_ENOUGH: _OPEN}
_REASON_WORDS: dict[str, str] = {
    "no_context": "there was no document to check it against",
    "language": "only English is read",
    "checker_down": "the checker failed",
    "checker_late": "the check took too long",
    "budget": "the budget of the check is spent",
    "search_failed": "the search failed",
    "no_answer": "the reader gave no answer",
    "fragment": "headings, labels or fragments that may state something",
    "structured": "values of a JSON answer that are not text",
    "too_long": "the answer is too long",
    "unreadable_answer": "the answer could not be read",
    "not_read": "a part of the answer is not text",
}


def footnotes(block: CheckBlock, text: str) -> str:
    """What the mode ``footnote`` adds to an answer, as Markdown in which quoted text is only text; may be empty."""
    lines = []
    for number, claim in enumerate(block.bad, 1):
        stated = markdown.plain(shortened(text[claim.start : claim.end], 120))
        line = f"[{number}] {_WORDS.get(claim.meaning or Meaning.NOT_ENOUGH, _OPEN)}: “{stated}”"
        against = [quote for quote in claim.quotes if quote.side is Side.AGAINST]
        if against:
            source = against[0].title or against[0].document
            line += f" — “{markdown.plain(shortened(against[0].text, 160))}”"
            line += f" ({markdown.plain(source)})" if source else ""
        lines.append(line)
    if unread := sum(block.unchecked.values()):
        words = _REASON_WORDS.get(block.reason, block.reason)
        lines.append(f"Not checked: {counted(unread, 'sentence')} ({words}).")
    if left_out := block.unread_contexts.get("left_out"):
        lines.append(f"Not read: {counted(left_out, 'document')} beyond the limit.")
    if cut := block.unread_contexts.get("cut"):
        lines.append(f"Read in part, because of its length: {counted(cut, 'document')}.")
    return "\n".join([f"\n\n{FOOTNOTES}", *lines]) if lines else ""


def without_footnotes(text: str) -> str:
    """A text without what :func:`footnotes` added to it."""
    return text.partition(f"\n\n{FOOTNOTES}\n")[0]


def header(blocks: Sequence[CheckBlock]) -> str:
    """The outcomes, for programs that read headers: ``chk_1; outcome=non_factual; withheld=refuted; sentences=2,4``."""
    parts = [blocks[0].check] if blocks else []
    for block in blocks:
        parts.append(f"outcome={block.outcome}")
        if block.withheld:
            numbers = sorted({claim.sentence for claim in block.bad})
            parts += [f"withheld={block.withheld}", f"sentences={','.join(map(str, numbers[:_LISTED]))}"]
    return "; ".join(parts)


@dataclass(eq=False)  # a registry keeps it in a dictionary
class ProxyTally(Collector):
    """Counts of one service, for its metrics."""

    answers: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # route, mode, outcome
    unchecked: Counter[tuple[str, str]] = field(default_factory=Counter)  # route, reason
    withheld: Counter[tuple[str, str]] = field(default_factory=Counter)  # route, reason
    upstream: Counter[str] = field(default_factory=Counter)  # responses, by status, or "unreachable" or "cut"
    unknown_calls: int = 0  # responses of LiteLLM whose request was not seen

    def checked(self, route: str, block: CheckBlock) -> None:
        note(block.check, str(block.outcome))
        self.answers[route, block.mode, str(block.outcome)] += 1
        for reason, count in block.unchecked.items():
            self.unchecked[route, reason] += count

    def graded(self, route: str, outcome: str, reason: str) -> None:
        """An answer that an adapter's check graded; ``reason`` where none of it was checked."""
        note("", outcome)
        self.answers[route, "grade", outcome] += 1
        if outcome == "unchecked":
            self.unchecked[route, reason] += 1

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield _family("answers", "Answers that were checked.", ["route", "mode", "outcome"], self.answers.items())
        yield _family("unchecked", "Sentences that were not checked.", ["route", "reason"], self.unchecked.items())
        yield _family("withheld", "Answers that were not sent.", ["route", "reason"], self.withheld.items())
        upstream = [((status,), count) for status, count in self.upstream.items()]
        yield _family("upstream", "Responses of the upstream.", ["status"], upstream)
        about = "LiteLLM's responses without a known request."
        yield _family("unknown_calls", about, [], [((), self.unknown_calls)])


def _family(
    name: str, about: str, labels: list[str], counts: Iterable[tuple[tuple[str, ...], int]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"redargue_proxy_{name}", about, labels=labels)
    for values, count in counts:
        family.add_metric(list(values), count)
    return family
