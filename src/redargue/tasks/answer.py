"""Answers to a claim from documents (Tool-MAD, journal, Fig. 5), and the quotations in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from redargue.caveats import Noted
from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.quotes import can_decide, find_quote, find_quotes
from redargue.tasks.base import Task, list_field, same_field, text_field
from redargue.tasks.query import OtherAnswer, others
from redargue.tasks.sections import (
    claim_section,
    documents,
    label_conditions,
    label_definitions,
    label_names,
    subject_vars,
    takes_sides,
)
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Metric

_MIN_WORDS = 3  # of a quotation in running text; fewer are a name or a term
_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]|«([^«»\n]+)»|»([^«»\n]+)«')  # as in several languages
_MAX_LOOKUPS = 12  # quotations in the reasons of a reply
_TEXT_FIELDS = ("text", "quote", "quotation", "passage", "sentence", "excerpt", "content")


def _as_texts(value: Any) -> Any:
    """Reads what models write instead of a list of texts: a single text, objects that contain a text, or null."""
    if value is None:
        return ()
    if isinstance(value, str | Mapping):
        return [_as_text(value)]
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value if item is not None]
    return value


def _as_text(item: Any) -> Any:
    if isinstance(item, Mapping):
        return next((item[name] for name in _TEXT_FIELDS if isinstance(item.get(name), str)), item)
    return item


Quotations = Annotated[tuple[str, ...], BeforeValidator(_as_texts)]


def quotes_field(description: str) -> Any:
    """Returns a field for at most six quotations, by default none."""
    return list_field(description, 6, 400, default=())


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns the texts in their order, without blank and repeated ones, and without the space around them."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, texts))))


def quoted(text: str) -> tuple[str, ...]:
    """Returns the texts between quotation marks, except those of fewer than three words."""
    matches = (match[match.lastindex or 0] for match in _QUOTED.finditer(text))
    return distinct(quote for quote in matches if len(quote.split()) >= _MIN_WORDS)


def with_quoted_reasons(
    given: tuple[str, ...], reasons: Iterable[str], passages: tuple[Passage, ...]
) -> tuple[str, ...]:
    """Returns the given quotations; if none of them can decide, adds those in the reasons that the passages contain.

    Reasons are a second choice because they may also quote the claim and other agents.
    """
    found_given = (quote for text in given for quote in find_quotes(text, passages))
    if not passages or any(can_decide(quote, passages) for quote in found_given):
        return given
    candidates = [quote for text in reasons for quote in quoted(text) if quote not in given]
    found = [quote for quote in candidates[:_MAX_LOOKUPS] if find_quote(quote, passages).found]
    return tuple(dict.fromkeys((*given, *found)))


METRIC_NAMES = {
    Metric.FAITHFULNESS: "faithfulness",
    Metric.RELEVANCE: "answer relevance",
    Metric.CONSISTENCY: "consistency",
}
LabelReading = Literal["last_line", "first_inside", "first_said"]
Piece = Literal["reasoning", "quotes", "label"]


class Answer(Noted):
    """An agent's answer to a claim."""

    text: str  # the whole answer, with the label on its last line
    label: str | None  # None if it could not be read
    quotes: tuple[str, ...] = ()  # as the agent gives them; code looks them up
    # calibrated probability of the label; None without a calibration
    confidence: float | None = Field(default=None, ge=0, le=1)


class AnswerReply(Frozen):
    """An answer with its reasons before the label, so that they are not invented to justify it."""

    reasoning: str = text_field("your explanation, from the documents first: at most five sentences", 1_000)
    quotes: Quotations = quotes_field("each quotation, copied exactly, without the document's number")
    label: str = Field(description="your final answer")


class TwoSidedReply(Frozen):
    """An answer for or against a claim, with what the documents leave open."""

    reasoning: str = same_field(AnswerReply, "reasoning")
    quotes: Quotations = same_field(AnswerReply, "quotes")
    open: str = text_field("what of the claim the documents leave open; empty if nothing", 300, default="")
    label: str = same_field(AnswerReply, "label")


class ReasonsReply(Frozen):
    """Reasons alone, for a label that another task asks for."""

    reasoning: str = text_field("your reasoning, step by step: at most five sentences", 1_000)


class ReasonedReply(ReasonsReply):
    """An answer without documents."""

    label: str = Field(description="your final answer")


class LabelReply(Frozen):
    """An answer without reasons."""

    label: str = Field(description="your final answer")


_KINDS: tuple[type[Frozen], ...] = (AnswerReply, ReasonedReply, ReasonsReply, LabelReply)
_REPLIES = {tuple(reply.model_fields): reply for reply in _KINDS}


class LabelledTask(Task[Answer]):
    """A task whose answer ends in a label of the claim."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")
    marks: ClassVar[tuple[str, str]] = ("**", "**")  # around the label in a plain reply

    claim: Claim
    # which label of a plain reply counts: the one on the last line (``T11``), the first label of the set that occurs
    # anywhere, or the label that occurs first
    label_reading: LabelReading = "last_line"

    def label_of(self, text: str) -> str | None:
        labels, ends = self.claim.labels, text.strip().splitlines()[-2:]
        options = list(map(self.claim.option, ends))  # two in a row are the list of options
        if self.label_reading == "last_line" and any(options[-1:]) and not any(options[:-1]):
            return options[-1]
        read = {
            "last_line": labels.parse,
            "first_inside": labels.first_substring,
            "first_said": labels.first_mentioned,
        }
        return read[self.label_reading](text)

    @property
    def lenient(self) -> bool:
        """Whether a plain reply without a label is accepted; otherwise it is sent back."""
        return self.label_reading != "last_line" or "label" not in self.answer_fields

    @property
    def defines_labels(self) -> bool:
        """Whether the instructions define the labels, so that the schema of the reply need not."""
        return False

    def choice(self) -> dict[str, str]:
        """Returns the possible answers in order, each with its meaning; empty if any text is an answer."""
        labels = self.claim.labels.labels
        return {label.name: label.description or "this option is right" for label in labels}

    def chosen(self, word: str) -> str | None:
        """Returns the label that one of the possible answers means; None for any other text."""
        return self.claim.option(word) or self.claim.labels.single(word)

    def reply_type(self) -> type[Frozen]:
        reply = _REPLIES[self.answer_fields]
        if reply is AnswerReply and self.profile == "hardened" and takes_sides(self.claim.labels):
            return TwoSidedReply
        return reply

    def from_reply(self, reply: Frozen) -> Answer:
        """Joins the reasons, what is open, the quotations that neither contains, and the label, one per line."""
        fields = reply.model_dump()
        label = None
        if "label" in fields:
            label = self.chosen(fields["label"])
            if label is None:
                shown, known = fields["label"][:60], ", ".join(self.choice())
                raise ValueError(f"{shown!r} is not one of the labels {known}")
        reasons = str(fields.get("reasoning", ""))
        if left_open := fields.get("open", "").strip():
            reasons = f"{reasons}\nOpen: {left_open}"
        quotes = distinct(fields.get("quotes", ()))
        uncited = [f'"{quote}"' for quote in quotes if quote not in reasons]
        last = [f"**{label}**"] if label else []
        text = "\n".join([reasons.strip(), *uncited, *last]).strip()
        return Answer(text=text, label=label, quotes=quotes)


class AnswerClaim(LabelledTask):
    """An answer from the agent's documents and, after the first round, the other debaters' last answers (Eq. 3, 6)."""

    passages: tuple[Passage, ...] = ()
    # numbers of their documents in the debate; if empty, they are counted from 1
    numbers: tuple[int, ...] = ()
    has_tool: bool = True  # whether the agent has documents (a vanilla debater has none, ``T18``)
    others: tuple[OtherAnswer, ...] = ()
    own: str = ""  # the agent's last answer
    # whether ``passages`` include documents that it has quoted (``T36``)
    keeps_quoted: bool = False
    ungrounded: str = ""  # why the quotations of its last answer do not support it
    # scores of its last answer that were too low to accept a consensus (``T15``)
    alert: tuple[Metric, ...] = ()

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    def reply_type(self) -> type[Frozen]:
        documents_expected = self.has_tool or self.profile == "paper"
        return super().reply_type() if documents_expected else ReasonedReply

    def template_vars(self) -> Mapping[str, object]:
        labels, shown = self.claim.labels, ""
        if self.has_tool:
            shown = documents(self.passages, self.profile, numbers=self.numbers)
        return {
            **subject_vars(labels),
            "claim": claim_section(self.claim, self.profile),
            "labels": label_names(labels),
            "label_rules": label_conditions(labels),
            "label_definitions": label_definitions(labels, has_documents=self.has_tool),
            "free_text": labels.free_text,
            "others": others(self.others),
            "several_others": len(self.others) > 1,
            "document": shown,
            "has_tool": self.has_tool,
            "own": wrap_untrusted(self.own),
            "keeps_quoted": self.keeps_quoted,
            "ungrounded": self.ungrounded,
            "alert": " and ".join(METRIC_NAMES[metric] for metric in self.alert),
        }


class Argument(Frozen):
    """What an agent of a debate says for its side, with the quotations that it relies on."""

    text: str = text_field("your argument: at most six sentences", 1_000)
    quotes: Quotations = quotes_field("what you rely on, copied word for word from the documents")
