"""Answering a claim from documents (Tool-MAD, journal, Fig. 5)."""

from __future__ import annotations

from typing import ClassVar, Literal

from redargue.claims import Claim, Frozen, LabelSet, Meaning
from redargue.evidence import Passage
from redargue.tasks.base import Profile, Task, lines
from redargue.tasks.query import OtherAnswer, others
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Metric

METRIC_NAMES = {
    Metric.FAITHFULNESS: "faithfulness",
    Metric.RELEVANCE: "answer relevance",
    Metric.CONSISTENCY: "consistency",
}


STYLE_IS_NO_EVIDENCE = "How something is written is no evidence for or against it."


class Answer(Frozen):
    """What an agent says about a claim.

    Attributes:
        text: the whole answer, the label on its last line.
        label: of the claim's label set; None where none could be read.
        quotes: what the agent says its documents say, word for word; checked by code, never believed.
        confidence: calibrated probability of the label, in [0, 1]; None where nothing was calibrated.
    """

    text: str
    label: str | None
    quotes: tuple[str, ...] = ()
    confidence: float | None = None


def label_rules(labels: LabelSet) -> str:
    """One line a label: when to give it, and that the explanation comes first."""
    if labels.free_text:
        return "Explain from the document first, then give your answer on the last line."
    when = {
        Meaning.SUPPORTED: "If the claim is correct, first explain from the document why it is correct",
        Meaning.REFUTED: "If the claim is incorrect, first explain from the document why it is incorrect",
        Meaning.NOT_ENOUGH: "If the evidence is unclear or inconsistent, first explain what is uncertain",
        Meaning.CONFLICTING: "If the evidence contradicts itself or the claim leaves out what matters, explain how",
        Meaning.OPTION: "If this option is right, first explain from the document why",
    }
    rules = [f"{when[label.meaning]}, then output **{label.name}**." for label in labels.labels]
    every = ", ".join(f"**{name}**" for name in labels.names)
    return "\n".join([*rules, f"Your final answer ({every}) must stand on the last line only, after your reasoning."])


def claim_lines(claim: Claim) -> str:
    """The claim with its options and context as they stand in a prompt."""
    options = "\n".join(
        f"{label}) {wrap_untrusted(text, inline=True)}"
        for label, text in zip(claim.labels.names, claim.options, strict=False)
    )
    context = f"Context: {wrap_untrusted(claim.context)}" if claim.context else None
    return lines(f"Claim: {wrap_untrusted(claim.text, inline=True)}", options, context)


def documents(passages: tuple[Passage, ...], profile: Profile) -> str:
    """The documents as they stand in a prompt; says so where there are none."""
    if not passages:
        return "(no document was found)"
    if profile == "paper":
        return "\n".join(passage.text for passage in passages)
    shown = (wrap_untrusted(lines(passage.title, passage.text)) for passage in passages)  # a title is a stranger's, too
    return "\n".join(f"[{number}]\n{text}" for number, text in enumerate(shown, 1))


LabelReading = Literal["last_line", "first_inside", "first_said"]
Piece = Literal["reasoning", "quotes", "label"]


class LabelledTask(Task[Answer]):
    """A task whose answer ends in a label of the claim.

    Attributes:
        wanted: what a reply holds: reasons, quotations of documents, the label.
        claim: what is checked.
        label_reading: of a reply in the paper's own form: the label on the last line (``T11``), the first label of the
            set that stands anywhere, or the label that is named first.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ()  # of those that are asked
    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")
    quotes_in_text: ClassVar[bool] = True
    marks: ClassVar[tuple[str, str]] = ("**", "**")  # around the label, in the paper's own form

    claim: Claim
    label_reading: LabelReading = "last_line"

    def label_of(self, text: str) -> str | None:
        """The label that an answer's text gives."""
        labels = self.claim.labels
        match self.label_reading:
            case "last_line":
                return labels.parse(text)
            case "first_inside":
                return labels.first_inside(text)
            case "first_said":
                return labels.first_said(text)

    @property
    def lenient(self) -> bool:
        """Whether a reply without a label is an answer without one, and is not asked for again."""
        return self.label_reading != "last_line" or "label" not in self.answer_fields

    def choice(self) -> dict[str, str]:
        """The words of a closed choice, in order, each with when to choose it; empty where any text is an answer."""
        return {each.name: each.description or "this option is right" for each in self.claim.labels.labels}

    def chosen(self, word: str) -> str | None:
        """The label that a word of the choice stands for; None where it is none of them."""
        return self.claim.labels.single(word)


class AnswerClaim(LabelledTask):
    """An answer from the agent's documents and, from the second round on, the other debaters' last answers (Eq. 3, 6).

    Attributes:
        passages: the agent's documents of this round.
        has_tool: whether the agent has documents at all (a vanilla debater has none, ``T18``).
        others: the other debaters' answers of the last round; empty in the first.
        alert: which scores of the agent's own last answer were too low for the consensus that it was part of (``T15``).
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "others", "document")

    passages: tuple[Passage, ...] = ()
    has_tool: bool = True
    others: tuple[OtherAnswer, ...] = ()
    alert: tuple[Metric, ...] = ()

    def instructions(self) -> str:
        """The alert, if there is one."""
        low = " and ".join(METRIC_NAMES[metric] for metric in self.alert)
        return f"My last answer's {low} was too low. I will revise it." if low else ""

    def hardened_rules(self) -> str:
        return STYLE_IS_NO_EVIDENCE if self.has_tool or self.others else ""

    def quote_source(self) -> str:
        return "the document" if self.has_tool else ""

    def output_format(self) -> str:
        """The labels; explanation first, label on the last line."""
        return label_rules(self.claim.labels)

    def input_text(self) -> str:
        """Claim, other answers, document: the paper's order."""
        return lines(
            claim_lines(self.claim),
            f"Other debaters' answer: {others(self.others)}" if self.others else None,
            f"Document: {documents(self.passages, self.profile)}" if self.has_tool else None,
        )

    def template_vars(self) -> dict[str, str]:
        """Claim, its labels, the others' answers, the document."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "labels": ", ".join(f"**{name}**" for name in self.claim.labels.names),
            "others": others(self.others) if self.others else "",
            "document": documents(self.passages, self.profile) if self.has_tool else "",
        }
