"""MADKE's prompts (Wang et al., arXiv 2312.04854)."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks import answer as answer_task
from redargue.tasks.answer import AnswerClaim, LabelledTask, claim_section
from redargue.tasks.base import Profile, Sections, Task, lines, max_length
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

    sections: ClassVar[Sections] = {"claim": "Claim: ", "pool": "Evidence: ", "own": "Your last answer: "}
    claim_last: ClassVar[bool] = True

    claim: Claim
    pool: tuple[Passage, ...]
    own: str = ""

    system: ClassVar[str] = (
        "You are an advanced agent who goes carefully through all evidence that there is. You find the pieces that"
        " help most to build a sound answer, which stands on its own, to a question."
    )
    instructions: ClassVar[str] = (
        f"Choose the pieces of evidence from the pool that help you to answer the question: at most {MOST_PIECES},"
        " those that help most."
    )
    output_format: ClassVar[str] = (
        "Put each number in square brackets. If the pool does not hold what is needed, write [No Found] at the end."
        f" {STEPS}"
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
            "claim": claim_section(self.claim),
            "pool": numbered(self.pool, self.profile),
            "own": wrap_untrusted(self.own),
        }


class Consistency(Frozen):
    """Whether answers say the same."""

    reason: str = Field(default="", description="what each agent's answer is", json_schema_extra=max_length(600))
    consistent: Literal["yes", "no"] = Field(description="yes if all agents give the same answer")


class JudgeConsistency(Task[Consistency]):
    """Whether all agents of a round gave one answer."""

    sections: ClassVar[Sections] = {"claim": "Claim: ", "answers": "Replies: "}

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    system: ClassVar[str] = (
        "You are a judge. You compare the replies of other agents without taking sides, and look at nothing but"
        " whether the answers that they give agree."
    )
    output_format: ClassVar[str] = f"Reply [Yes] if they do, and [No] if their answers differ. {STEPS}"

    @property
    def instructions(self) -> str:
        return lines(
            "The agents put their answers in the form [answer]." if self.profile == "paper" else None,
            "Find each agent's answer, and say whether all of them answer the question correctly and in the same way."
            if self.profile == "paper"
            else "Find each agent's answer, and say whether all of them are the same. Whether they are right does not"
            " matter.",
        )

    def parse_plain(self, text: str) -> Consistency | None:
        """The last of [Yes] and [No]: those before it may be answers that the judge repeats (``MADKE-6``)."""
        contents = [content.strip().lower() for content in BRACKETS.findall(text)]
        last = next((word for word in reversed(contents) if word in ("yes", "no")), None)
        return Consistency.model_validate({"reason": text.strip(), "consistent": last}) if last else None

    def template_vars(self) -> dict[str, str]:
        return {"claim": claim_section(self.claim), "answers": answers(self.answers)}


class SummariseAnswers(LabelledTask):
    """One answer from those of all agents."""

    sections: ClassVar[Sections] = {"claim": "Claim: ", "answers": "", "demonstrations": None}
    answer_fields: ClassVar[tuple[answer_task.Piece, ...]] = ("reasoning", "label")
    marks: ClassVar[tuple[str, str]] = ("[", "]")

    answers: tuple[OtherAnswer, ...]
    swapped: bool = False  # exchanges question and answers, as in the authors' program
    example: str = ""

    system: ClassVar[str] = (
        "You sum up what other agents replied in one short and complete answer. You add nothing of your own: you"
        " condense what they say."
    )
    instructions: ClassVar[str] = "Sum up the final answer from the answers of all agents."

    @property
    def worked_examples(self) -> str:
        return f"Here is an example:\n{self.example}\n(end of the example)" if self.example else ""

    @property
    def output_format(self) -> str:
        names = ", ".join(f"[{name}]" for name in self.claim.labels.names)
        return lines(f"Put the final answer in square brackets{f': {names}' if names else ''}. {STEPS}")

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> dict[str, str]:
        texts = claim_section(self.claim), answers(self.answers)
        claim, replies = reversed(texts) if self.swapped else texts
        return {"claim": claim, "answers": replies, "demonstrations": self.example}


class AnswerWithKnowledge(AnswerClaim):
    """An answer from the chosen evidence; from the second round on also from the others' and its own last answer."""

    sections: ClassVar[Sections] = {
        "claim": "Claim: ",
        "labels": None,
        "evidence": "Evidence: ",
        "others": "The other agents' answers:\n",
        "own": "Your last answer: ",
        "demonstrations": None,
    }
    claim_last: ClassVar[bool] = True
    own_prompt: ClassVar[bool] = True

    own: str = ""
    examples: str = ""

    system: ClassVar[str] = (
        "You are an intelligent, diplomatic and assertive debater. You debate with other agents and try to reach a"
        " consensus on many topics. Where you are sure that your opinion is correct, keep to it; where you find a"
        " mistake in your reasoning, admit it at once and change your view. What counts is an informed, balanced"
        " debate."
    )
    hardened_rules: ClassVar[str] = ""
    quote_source: ClassVar[str] = "the evidence"

    @property
    def lenient(self) -> bool:
        return True

    @property
    def instructions(self) -> str:
        if not self.own:
            return f"Decide whether the claim is correct. {STEPS}"
        return (
            "A few other agents have the same task; discuss it with them and think critically. With their answers or"
            " the evidence as advice you may change your answer, or keep it."
        )

    @property
    def worked_examples(self) -> str:
        if not self.examples:
            return ""
        of = "" if self.profile == "paper" else " of the reasoning; the form of your reply is described below"
        return f"Here are examples{of}:\n{self.examples}\n(end of the examples)"

    @property
    def output_format(self) -> str:
        rules = "\n".join(
            f"If {label.description or 'this option is right'}, answer [{label.name}]."
            for label in self.claim.labels.labels
        )
        return lines(rules, "Put your answer in the form [answer], at the end.")

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_section(self.claim),
            "labels": ", ".join(f"[{name}]" for name in self.claim.labels.names),
            "evidence": numbered(self.passages, self.profile),
            "others": answers(self.others),
            "own": wrap_untrusted(self.own),
            "demonstrations": self.examples,
        }
