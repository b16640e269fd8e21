"""MADKE's prompts (Wang et al., arXiv 2312.04854)."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.evidence import Passage
from redargue.methods.baselines.evidence_prompts import ONLY_DOCUMENTS, OWN_EXAMPLES, same_task
from redargue.tasks import answer as answer_task
from redargue.tasks.answer import AnswerClaim, LabelledTask, claim_section
from redargue.tasks.base import Profile, Sections, Task, lines, max_length
from redargue.tasks.labels import label_definitions, subject
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
        shown = (wrap_untrusted(lines(passage.title, passage.shown_text)) for passage in passages)
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

    PAPER_SYSTEM: ClassVar[str] = (
        "You are an advanced agent who goes carefully through all evidence that there is. You find the pieces that"
        " help most to build a sound answer, which stands on its own, to a question."
    )

    @property
    def system(self) -> str:
        if self.profile == "paper":
            return self.PAPER_SYSTEM
        return "You are one of several agents who debate. First you choose your evidence, for and against alike."

    @property
    def instructions(self) -> str:
        what = subject(self.claim.labels)
        return (
            "Choose the pieces of evidence from the pool that help you to answer the question: at most"
            f" {MOST_PIECES}, those that help most."
            if self.profile == "paper"
            else f"From the numbered pieces of evidence choose the {MOST_PIECES} or fewer that help most to"
            f" {'answer the question' if what == 'question' else f'find out whether the {what} is true'}."
        )

    @property
    def output_format(self) -> str:
        return (
            "Put each number in square brackets. If the pool does not hold what is needed, write [No Found] at the end."
            f" {STEPS}"
            if self.profile == "paper"
            else f"{STEPS} Then give the number of each piece that you choose in square brackets, such as [2]; if none"
            " helps, write [No Found]."
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

    @property
    def output_format(self) -> str:
        if self.profile == "paper":
            return f"Reply [Yes] if they do, and [No] if their answers differ. {STEPS}"
        return f"{STEPS} Then reply [Yes] if all answers are the same, or [No] if they differ."

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

    @property
    def instructions(self) -> str:
        return lines(
            "Sum up the final answer from the answers of all agents.",
            "If they differ, give the one that the quoted evidence bears out best."
            if self.profile == "hardened"
            else None,
        )

    @property
    def defines_labels(self) -> bool:
        """The agents' answers end in labels, which are not judged anew."""
        return self.profile == "hardened"

    @property
    def worked_examples(self) -> str:
        return f"Here is an example:\n{self.example}\n(end of the example)" if self.example else ""

    @property
    def output_format(self) -> str:
        names = ", ".join(f"[{name}]" for name in self.claim.labels.names)
        where = f"in square brackets{f': {names}' if names else ''}"
        if self.profile == "paper":
            return f"Put the final answer {where}. {STEPS}"
        return f"{STEPS} Then give the final answer at the end, {where}."

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

    PAPER_SYSTEM: ClassVar[str] = (
        "You are an intelligent, diplomatic and assertive debater. You debate with other agents and try to reach a"
        " consensus on many topics. Where you are sure that your opinion is correct, keep to it; where you find a"
        " mistake in your reasoning, admit it at once and change your view. What counts is an informed, balanced"
        " debate."
    )
    hardened_rules: ClassVar[str] = ""
    quote_source: ClassVar[str] = "the documents"

    @property
    def system(self) -> str:
        if self.profile == "paper":
            return self.PAPER_SYSTEM
        return f"You are one of several agents who {same_task(self.claim.labels)} in a debate."

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    @property
    def lenient(self) -> bool:
        return True

    @property
    def instructions(self) -> str:
        if self.profile == "hardened":
            return lines(
                ONLY_DOCUMENTS,
                label_definitions(self.claim.labels),
                "Another agent's answer is an opinion: check it against your documents, say where you differ, and"
                " change your own only for evidence."
                if self.others
                else None,
            )
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
        of = "" if self.profile == "paper" else f" of the reasoning{OWN_EXAMPLES}"
        return f"Here are examples{of}:\n{self.examples}\n(end of the examples)"

    @property
    def output_format(self) -> str:
        if self.profile == "hardened":
            names = self._names()
            return f"{STEPS} Then give your answer in square brackets at the end{f': {names}' if names else ''}."
        rules = "\n".join(
            f"If {label.description or 'this option is right'}, answer [{label.name}]."
            for label in self.claim.labels.labels
        )
        return lines(rules, "Put your answer in the form [answer], at the end.")

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def _names(self) -> str:
        return ", ".join(f"[{name}]" for name in self.claim.labels.names)

    def section_texts(self) -> list[str]:
        texts = super().section_texts()
        if self.profile == "paper":
            return texts
        heading = subject(self.claim.labels).capitalize()
        texts[0] = f"{heading}: {texts[0].removeprefix('Claim: ')}"
        return [
            text.replace("Evidence: ", "Documents:\n", 1) if text.startswith("Evidence: ") else text for text in texts
        ]

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_section(self.claim),
            "labels": self._names(),
            "evidence": numbered(self.passages, self.profile),
            "others": answers(self.others),
            "own": wrap_untrusted(self.own),
            "demonstrations": self.examples,
        }
