"""Choosing evidence from a pool, comparing agents' answers, summing them up (MADKE, 2312.04854)."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks import answer as answering
from redargue.tasks.answer import LabelledTask, claim_lines
from redargue.tasks.base import Profile, Task, lines, max_length
from redargue.tasks.query import OtherAnswer
from redargue.tasks.untrusted import wrap_untrusted

MOST_PIECES = 3
LARGEST_POOL = 50
BRACKETS = re.compile(r"\[([^\[\]]*)\]")
STEPS = "Think step by step."


def bracketed(text: str, labels: LabelSet) -> str | None:
    """The label in the last square brackets of a text; None without brackets, or where they hold something else."""
    found = BRACKETS.findall(text)
    return labels.single(found[-1]) if found else None


def numbered(passages: tuple[Passage, ...], profile: Profile) -> str:
    """The pieces of evidence, one a number."""
    shown = ((each.text, each.title) for each in passages)
    return "\n".join(
        f"[{number}] {' - '.join(text.splitlines()) if profile == 'paper' else wrap_untrusted(lines(title, text))}"
        for number, (text, title) in enumerate(shown, 1)
    )


def answers(given: tuple[OtherAnswer, ...]) -> str:
    """Several agents' answers, each with its agent's name."""
    return "\n".join(f"({each.agent}) {wrap_untrusted(each.text)}" for each in given)


class Piece(Frozen):
    """A piece of evidence, by its number in the pool."""

    number: int = Field(ge=1, le=LARGEST_POOL, description="the number of a piece of evidence")


class Selection(Frozen):
    """The pieces that help most; none where none does."""

    pieces: tuple[Piece, ...] = Field(
        description="the most helpful pieces of evidence, at most 3; none if none helps",
        json_schema_extra={"maxItems": MOST_PIECES},
    )


class SelectEvidence(Task[Selection]):
    """Which pieces of a pool help to answer.

    Attributes:
        claim: what is checked.
        pool: the evidence, in its order.
        own: the agent's own last answer; empty in the first round.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "pool", "own")

    claim: Claim
    pool: tuple[Passage, ...]
    own: str = ""

    def system(self) -> str:
        """The persona."""
        return (
            "You are an advanced agent who goes carefully through all evidence that there is. You find the pieces that"
            " help most to build a sound answer, which stands on its own, to a question."
        )

    def instructions(self) -> str:
        """What to choose."""
        return lines(
            f"Choose the pieces of evidence from the pool that help you to answer the question: at most {MOST_PIECES},"
            " those that help most.",
        )

    def output_format(self) -> str:
        """Numbers in square brackets."""
        return (
            "Put each number in square brackets. If the pool does not hold what is needed, write [No Found] at the end."
            f" {STEPS}"
        )

    def input_text(self) -> str:
        """Pool, own last answer, claim; hardened: the claim first."""
        return self.with_claim(
            claim_lines(self.claim),
            f"Evidence: {numbered(self.pool, self.profile)}",
            f"Your last answer: {wrap_untrusted(self.own)}" if self.own else None,
        )

    def parse_plain(self, text: str) -> Selection | None:
        """The numbers in brackets from the last one back; none where the reply says so."""
        found = BRACKETS.findall(text)
        if not found:
            return None
        if "no found" in (each.strip().lower() for each in found):
            return Selection(pieces=())
        numbers = [int(each) for each in reversed(found) if each.strip().isdecimal()]
        return Selection(pieces=tuple(Piece(number=each) for each in numbers if 1 <= each <= len(self.pool)))

    def validate_answer(self, answer: Selection) -> Selection:
        """The first different ones that the pool has."""
        numbers = dict.fromkeys(each.number for each in answer.pieces if each.number <= len(self.pool))
        return Selection(pieces=tuple(Piece(number=each) for each in list(numbers)[:MOST_PIECES]))

    def chosen(self, answer: Selection) -> tuple[Passage, ...]:
        """The pieces themselves."""
        return tuple(self.pool[each.number - 1] for each in answer.pieces)

    def template_vars(self) -> dict[str, str]:
        """Claim, pool, own last answer."""
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
    """Whether all agents of a round gave one answer.

    Attributes:
        claim: what is checked.
        answers: of the round, one an agent.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "answers")

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    def system(self) -> str:
        """The persona."""
        return (
            "You are a judge. You compare the replies of other agents without taking sides, and look at nothing but"
            " whether the answers that they give agree."
        )

    def instructions(self) -> str:
        """What to compare."""
        return lines(
            "The agents put their answers in the form [answer]." if self.profile == "paper" else None,
            "Find each agent's answer, and say whether all of them answer the question correctly and in the same way.",
        )

    def output_format(self) -> str:
        """Yes or No in square brackets."""
        return f"Reply [Yes] if they do, and [No] if their answers differ. {STEPS}"

    def input_text(self) -> str:
        """Claim and answers."""
        return lines(claim_lines(self.claim), f"Replies: {answers(self.answers)}")

    def parse_plain(self, text: str) -> Consistency | None:
        """The last of [Yes] and [No]: those before it may be answers that the judge repeats (``MADKE-6``)."""
        said = [each.strip().lower() for each in BRACKETS.findall(text)]
        last = next((each for each in reversed(said) if each in ("yes", "no")), None)
        return Consistency.model_validate({"reason": text.strip(), "consistent": last}) if last else None

    def template_vars(self) -> dict[str, str]:
        """Claim and answers."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "answers": answers(self.answers),
        }


class SummariseAnswers(LabelledTask):
    """One answer from those of all agents.

    Attributes:
        answers: of the last round, one an agent.
        swapped: whether question and answers stand in each other's place, as in the authors' program.
        example: one of such a summary; empty where the labels have none.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "answers", "demonstrations")
    answer_fields: ClassVar[tuple[answering.Piece, ...]] = ("reasoning", "label")
    marks: ClassVar[tuple[str, str]] = ("[", "]")

    answers: tuple[OtherAnswer, ...]
    swapped: bool = False
    example: str = ""

    def system(self) -> str:
        """The persona."""
        return (
            "You sum up what other agents replied in one short and complete answer. You add nothing of your own: you"
            " condense what they say."
        )

    def instructions(self) -> str:
        """What to sum up."""
        return lines(
            "Sum up the final answer from the answers of all agents.",
        )

    def worked_examples(self) -> str:
        return f"Here is an example:\n{self.example}\n(end of the example)" if self.example else ""

    def output_format(self) -> str:
        """The label in square brackets, last."""
        names = ", ".join(f"[{name}]" for name in self.claim.labels.names)
        return lines(f"Put the final answer in square brackets{f': {names}' if names else ''}. {STEPS}")

    def input_text(self) -> str:
        """Claim and answers, or the other way round."""
        claim, given = claim_lines(self.claim), answers(self.answers)
        if self.swapped:
            return lines(f"Claim: {given}", claim.removeprefix("Claim: "))
        return lines(claim, given)

    def label_of(self, text: str) -> str | None:
        """The last one in square brackets."""
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> dict[str, str]:
        """Claim, answers, an example."""
        claim = claim_lines(self.claim).removeprefix("Claim: ")
        given = answers(self.answers)
        first, second = (given, claim) if self.swapped else (claim, given)
        return {"claim": first, "answers": second, "demonstrations": self.example}
