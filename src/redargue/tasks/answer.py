"""Answering a claim from documents (Tool-MAD, journal, Fig. 5).

The quotations of a reply, in the forms in which models give them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from redargue.caveats import Noted
from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.quotes import can_decide, find_quote, find_quotes
from redargue.tasks.base import Task, list_bounds, max_length
from redargue.tasks.documents import claim_section, documents
from redargue.tasks.labels import label_conditions, label_definitions, label_names, subject_vars, takes_sides
from redargue.tasks.query import OtherAnswer, others
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Metric

SHORTEST_QUOTE = 3  # words of a quotation in running text
MOST_LOOKED_UP = 12  # quotations in reasons
_TEXT_FIELDS = ("text", "quote", "quotation", "passage", "sentence", "excerpt", "content")


def _texts(value: Any) -> Any:
    """A list, one text, objects with a text in them, null: what models write where a list of texts is asked for."""
    if value is None:
        return ()
    if isinstance(value, str | Mapping):
        return [_text(value)]
    if isinstance(value, list | tuple):
        return [_text(item) for item in value if item is not None]
    return value


def _text(item: Any) -> Any:
    if isinstance(item, Mapping):
        return next((item[name] for name in _TEXT_FIELDS if isinstance(item.get(name), str)), item)
    return item


Quotations = Annotated[tuple[str, ...], BeforeValidator(_texts)]


def quotes_field(description: str) -> Any:
    """A field of up to six quotations; by default none."""
    return Field(default=(), description=description, json_schema_extra=list_bounds(6, 400))


def quoted(text: str) -> tuple[str, ...]:
    """What is between quotation marks, without single words and names."""
    matches = (first or second for first, second in re.findall(r'"([^"\n]+)"|“([^”\n]+)”', text))
    return tuple(dict.fromkeys(quote.strip() for quote in matches if len(quote.split()) >= SHORTEST_QUOTE))


def with_quoted_reasons(
    given: tuple[str, ...], reasons: Iterable[str], passages: tuple[Passage, ...]
) -> tuple[str, ...]:
    """The quotations, and where none of them can carry a verdict also those of the reasons that the passages contain.

    Reasons may also quote the claim and other agents, so that they come second.
    """
    if not passages or any(_decides(text, passages) for text in given):
        return given
    written = [span for text in reasons for span in quoted(text) if span not in given]
    found = [span for span in written[:MOST_LOOKED_UP] if find_quote(span, passages).found]
    return tuple(dict.fromkeys((*given, *found)))


def _decides(text: str, passages: tuple[Passage, ...]) -> bool:
    return any(can_decide(quote, passages) for quote in find_quotes(text, passages))


METRIC_NAMES = {
    Metric.FAITHFULNESS: "faithfulness",
    Metric.RELEVANCE: "answer relevance",
    Metric.CONSISTENCY: "consistency",
}
LabelReading = Literal["last_line", "first_inside", "first_said"]
Piece = Literal["reasoning", "quotes", "label"]


class Answer(Noted):
    """An agent's answer to a claim."""

    text: str  # the whole answer, the label on its last line
    label: str | None  # None where none could be read
    quotes: tuple[str, ...] = ()  # as the agent gives them; code looks them up
    confidence: float | None = None  # calibrated probability of the label, in [0, 1]; None where nothing was calibrated


class AnswerReply(Frozen):
    """An answer whose reasons come before the label, so that they are not made up for it."""

    reasoning: str = Field(
        description="your explanation, from the documents first: at most five sentences",
        json_schema_extra=max_length(1_000),
    )
    quotes: Quotations = quotes_field("each quotation, copied exactly, without the document's number")
    label: str = Field(description="your final answer")


def _same(name: str) -> Any:
    return AnswerReply.model_fields[name]


class TwoSidedReply(Frozen):
    """An answer of one of two sides, with what the documents leave open."""

    reasoning: str = _same("reasoning")
    quotes: Quotations = _same("quotes")
    open: str = Field(
        default="",
        description="what of the claim the documents leave open; empty if nothing",
        json_schema_extra=max_length(300),
    )
    label: str = _same("label")


class ReasonsReply(Frozen):
    """Reasons for an answer that another task asks for."""

    reasoning: str = Field(
        description="your reasoning, step by step: at most five sentences", json_schema_extra=max_length(1_000)
    )


class ReasonedReply(ReasonsReply):
    """An answer without documents."""

    label: str = Field(description="your final answer")


class LabelReply(Frozen):
    """An answer without reasons."""

    label: str = Field(description="your final answer")


_REPLIES: dict[tuple[Piece, ...], type[Frozen]] = {
    ("reasoning", "quotes", "label"): AnswerReply,
    ("reasoning", "label"): ReasonedReply,
    ("reasoning",): ReasonsReply,
    ("label",): LabelReply,
}


class LabelledTask(Task[Answer]):
    """A task whose answer ends in a label of the claim."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")
    marks: ClassVar[tuple[str, str]] = ("**", "**")  # around the label, in the paper's own form

    claim: Claim
    # for a reply in the paper's own form: the label on the last line (``T11``), the first label of the set that occurs
    # anywhere, or the label that occurs first
    label_reading: LabelReading = "last_line"

    def label_of(self, text: str) -> str | None:
        labels = self.claim.labels
        read = {
            "last_line": labels.parse,
            "first_inside": labels.first_substring,
            "first_said": labels.first_mentioned,
        }
        return read[self.label_reading](text)

    @property
    def lenient(self) -> bool:
        """Whether a reply without a label is an answer without one, and is not asked for again."""
        return self.label_reading != "last_line" or "label" not in self.answer_fields

    @property
    def defines_labels(self) -> bool:
        """Whether its instructions define the labels, so that the schema of its reply need not."""
        return False

    def choice(self) -> dict[str, str]:
        """The words of a closed choice, in order, each with when to choose it; empty where any text is an answer."""
        return {label.name: label.description or "this option is right" for label in self.claim.labels.labels}

    def chosen(self, word: str) -> str | None:
        """The label that a word of the choice means; None for any other word."""
        return self.claim.labels.single(word)

    def reply_type(self) -> type[Frozen]:
        reply = _REPLIES[self.answer_fields]
        two_sided = reply is AnswerReply and self.profile == "hardened" and takes_sides(self.claim.labels)
        return TwoSidedReply if two_sided else reply

    def from_reply(self, reply: Frozen) -> Answer:
        """Reasons, what is open, then the quotations that these do not contain, then the label."""
        fields = reply.model_dump()
        reasoning, label = str(fields.get("reasoning", "")), None
        if still_open := fields.get("open", "").strip():
            reasoning = f"{reasoning}\nOpen: {still_open}"
        if "label" in fields:
            label = self.chosen(fields["label"])
            if label is None:
                raise ValueError(f"{fields['label'][:60]!r} is not one of the labels {', '.join(self.choice())}")
        quotes = tuple(dict.fromkeys(text for quote in fields.get("quotes", ()) if (text := quote.strip())))
        cited = [f'"{quote}"' for quote in quotes if quote not in reasoning]
        last = [f"**{label}**"] if label else []
        return Answer(text="\n".join([reasoning.strip(), *cited, *last]).strip(), label=label, quotes=quotes)


class AnswerClaim(LabelledTask):
    """An answer from the agent's documents and, after the first round, the other debaters' last answers (Eq. 3, 6)."""

    passages: tuple[Passage, ...] = ()
    numbers: tuple[int, ...] = ()  # of their documents in the whole claim; empty: from 1
    has_tool: bool = True  # whether the agent has documents at all (a vanilla debater has none, ``T18``)
    others: tuple[OtherAnswer, ...] = ()
    own: str = ""  # the agent's last answer
    keeps_quoted: bool = False  # whether documents that it has quoted are among ``passages`` (``T36``)
    ungrounded: str = ""  # why its last answer's quotations do not carry it
    alert: tuple[Metric, ...] = ()  # scores of its last answer, too low for the consensus it was part of (``T15``)

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    def reply_type(self) -> type[Frozen]:
        documents_expected = self.has_tool or self.profile == "paper"
        return super().reply_type() if documents_expected else ReasonedReply

    def template_vars(self) -> Mapping[str, object]:
        labels = self.claim.labels
        return {
            **subject_vars(labels),
            "claim": claim_section(self.claim, self.profile),
            "labels": label_names(labels),
            "label_rules": label_conditions(labels),
            "label_definitions": label_definitions(labels, has_documents=self.has_tool),
            "free_text": labels.free_text,
            "others": others(self.others),
            "several_others": len(self.others) > 1,
            "document": documents(self.passages, self.profile, numbers=self.numbers) if self.has_tool else "",
            "has_tool": self.has_tool,
            "own": wrap_untrusted(self.own),
            "keeps_quoted": self.keeps_quoted,
            "ungrounded": self.ungrounded,
            "alert": " and ".join(METRIC_NAMES[metric] for metric in self.alert),
        }


# What an agent of a debate says for its side.


class Argument(Frozen):
    """A statement, with the quotations that it relies on."""

    text: str = Field(description="your argument: at most six sentences", json_schema_extra=max_length(1_000))
    quotes: Quotations = quotes_field("what you rely on, copied word for word from the documents")
