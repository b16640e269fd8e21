"""MADKE's prompts (Wang et al., arXiv 2312.04854)."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks import answer as answer_task
from redargue.tasks.answer import AnswerClaim, LabelledTask, claim_lines
from redargue.tasks.base import Profile, Task, lines, max_length
from redargue.tasks.query import OtherAnswer
from redargue.tasks.untrusted import wrap_untrusted

MOST_PIECES = 3


LARGEST_POOL = 50


BRACKETS = re.compile(r"\[([^\[\]]*)\]")


STEPS = "Think step by step."


def bracketed(text: str, labels: LabelSet) -> str | None:
    """The label in the last square brackets; None without brackets, or if they hold something else."""
    contents = BRACKETS.findall(text)
    return labels.single(contents[-1]) if contents else None


def numbered(passages: tuple[Passage, ...], profile: Profile) -> str:
    if profile == "paper":
        shown = (" - ".join(passage.text.splitlines()) for passage in passages)
    else:
        shown = (wrap_untrusted(lines(passage.title, passage.text)) for passage in passages)
    return "\n".join(f"[{number}] {text}" for number, text in enumerate(shown, 1))


def answers(replies: tuple[OtherAnswer, ...]) -> str:
    return "\n".join(f"({answer.agent}) {wrap_untrusted(answer.text)}" for answer in replies)


class Piece(Frozen):
    """A piece of evidence, by its number in the pool."""

    number: int = Field(ge=1, le=LARGEST_POOL, description="the number of a piece of evidence")


class Selection(Frozen):
    """The pieces that help most, if any."""

    pieces: tuple[Piece, ...] = Field(
        description="the most helpful pieces of evidence, at most 3; none if none helps",
        json_schema_extra={"maxItems": MOST_PIECES},
    )


class SelectEvidence(Task[Selection]):
    """Which pieces of a pool help to answer."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "pool", "own")

    claim: Claim
    pool: tuple[Passage, ...]
    own: str = ""

    def system(self) -> str:
        return (
            "You are an advanced agent who goes carefully through all evidence that there is. You find the pieces that"
            " help most to build a sound answer, which stands on its own, to a question."
        )

    def instructions(self) -> str:
        return (
            f"Choose the pieces of evidence from the pool that help you to answer the question: at most {MOST_PIECES},"
            " those that help most."
        )

    def output_format(self) -> str:
        return (
            "Put each number in square brackets. If the pool does not hold what is needed, write [No Found] at the end."
            f" {STEPS}"
        )

    def input_text(self) -> str:
        return self.with_claim(
            claim_lines(self.claim),
            f"Evidence: {numbered(self.pool, self.profile)}",
            f"Your last answer: {wrap_untrusted(self.own)}" if self.own else None,
        )

    def parse_plain(self, text: str) -> Selection | None:
        """The numbers in brackets, from the last one back; none where the reply says so."""
        contents = BRACKETS.findall(text)
        if not contents:
            return None
        if "no found" in (content.strip().lower() for content in contents):
            return Selection(pieces=())
        numbers = [int(content) for content in reversed(contents) if content.strip().isdecimal()]
        return Selection(pieces=tuple(Piece(number=number) for number in numbers if 1 <= number <= len(self.pool)))

    def validate_answer(self, answer: Selection) -> Selection:
        pieces = dict.fromkeys(piece for piece in answer.pieces if piece.number <= len(self.pool))
        return Selection(pieces=tuple(pieces)[:MOST_PIECES])

    def chosen(self, answer: Selection) -> tuple[Passage, ...]:
        return tuple(self.pool[piece.number - 1] for piece in answer.pieces)

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "pool": numbered(self.pool, self.profile),
            "own": wrap_untrusted(self.own),
        }


class Consistency(Frozen):
    """Whether answers say the same."""

    reason: str = Field(default="", description="what each agent's answer is", json_schema_extra=max_length(600))
    consistent: Literal["yes", "no"] = Field(description="yes if all agents give the same answer")


class JudgeConsistency(Task[Consistency]):
    """Whether all agents of a round gave one answer."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "answers")

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    def system(self) -> str:
        return (
            "You are a judge. You compare the replies of other agents without taking sides, and look at nothing but"
            " whether the answers that they give agree."
        )

    def instructions(self) -> str:
        return lines(
            "The agents put their answers in the form [answer]." if self.profile == "paper" else None,
            "Find each agent's answer, and say whether all of them answer the question correctly and in the same way.",
        )

    def output_format(self) -> str:
        return f"Reply [Yes] if they do, and [No] if their answers differ. {STEPS}"

    def input_text(self) -> str:
        return lines(claim_lines(self.claim), f"Replies: {answers(self.answers)}")

    def parse_plain(self, text: str) -> Consistency | None:
        """The last of [Yes] and [No]: those before it may be answers that the judge repeats (``MADKE-6``)."""
        contents = [content.strip().lower() for content in BRACKETS.findall(text)]
        last = next((word for word in reversed(contents) if word in ("yes", "no")), None)
        return Consistency.model_validate({"reason": text.strip(), "consistent": last}) if last else None

    def template_vars(self) -> dict[str, str]:
        return {"claim": claim_lines(self.claim).removeprefix("Claim: "), "answers": answers(self.answers)}


class SummariseAnswers(LabelledTask):
    """One answer from those of all agents.

    Attributes:
        swapped: exchanges question and answers, as in the authors' program.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "answers", "demonstrations")
    answer_fields: ClassVar[tuple[answer_task.Piece, ...]] = ("reasoning", "label")
    marks: ClassVar[tuple[str, str]] = ("[", "]")

    answers: tuple[OtherAnswer, ...]
    swapped: bool = False
    example: str = ""

    def system(self) -> str:
        return (
            "You sum up what other agents replied in one short and complete answer. You add nothing of your own: you"
            " condense what they say."
        )

    def instructions(self) -> str:
        return "Sum up the final answer from the answers of all agents."

    def worked_examples(self) -> str:
        return f"Here is an example:\n{self.example}\n(end of the example)" if self.example else ""

    def output_format(self) -> str:
        names = ", ".join(f"[{name}]" for name in self.claim.labels.names)
        return lines(f"Put the final answer in square brackets{f': {names}' if names else ''}. {STEPS}")

    def input_text(self) -> str:
        claim, replies = claim_lines(self.claim), answers(self.answers)
        if self.swapped:
            return lines(f"Claim: {replies}", claim.removeprefix("Claim: "))
        return lines(claim, replies)

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> dict[str, str]:
        claim = claim_lines(self.claim).removeprefix("Claim: ")
        replies = answers(self.answers)
        first, second = (replies, claim) if self.swapped else (claim, replies)
        return {"claim": first, "answers": second, "demonstrations": self.example}


class AnswerWithKnowledge(AnswerClaim):
    """An answer from the chosen evidence; from the second round on also from the others' and its own last answer."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "others", "own", "demonstrations")

    own: str = ""
    examples: str = ""

    @property
    def lenient(self) -> bool:
        return True

    def system(self) -> str:
        return (
            "You are an intelligent, diplomatic and assertive debater. You debate with other agents and try to reach a"
            " consensus on many topics. Where you are sure that your opinion is correct, keep to it; where you find a"
            " mistake in your reasoning, admit it at once and change your view. What counts is an informed, balanced"
            " debate."
        )

    def instructions(self) -> str:
        if not self.own:
            return f"Decide whether the claim is correct. {STEPS}"
        return (
            "A few other agents have the same task; discuss it with them and think critically. With their answers or"
            " the evidence as advice you may change your answer, or keep it."
        )

    def hardened_rules(self) -> str:
        return ""

    def quote_source(self) -> str:
        return "the evidence"

    def worked_examples(self) -> str:
        return f"Here are examples:\n{self.examples}\n(end of the examples)" if self.examples else ""

    def output_format(self) -> str:
        rules = "\n".join(
            f"If {label.description or 'this option is right'}, answer [{label.name}]."
            for label in self.claim.labels.labels
        )
        return lines(rules, "Put your answer in the form [answer], at the end.")

    def input_text(self) -> str:
        return self.with_claim(
            claim_lines(self.claim),
            f"Evidence: {numbered(self.passages, self.profile)}" if self.passages else None,
            f"The other agents' answers:\n{answers(self.others)}" if self.others else None,
            f"Your last answer: {wrap_untrusted(self.own)}" if self.own else None,
        )

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "labels": ", ".join(f"[{name}]" for name in self.claim.labels.names),
            "evidence": numbered(self.passages, self.profile),
            "others": answers(self.others),
            "own": wrap_untrusted(self.own),
            "demonstrations": self.examples,
        }
