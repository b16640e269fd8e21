"""MADKE's prompts (Wang et al., arXiv 2312.04854)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.evidence import Passage
from redargue.tasks import answer as answer_task
from redargue.tasks.answer import AnswerClaim, LabelledTask, claim_section
from redargue.tasks.base import Profile, Task, lines, max_length
from redargue.tasks.labels import label_definitions, subject_vars
from redargue.tasks.query import OtherAnswer
from redargue.tasks.untrusted import wrap_untrusted

MOST_PIECES = 3


LARGEST_POOL = 50


BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def bracketed(text: str, labels: LabelSet) -> str | None:
    """The label in the last square brackets; None without brackets, or if they hold something else."""
    contents = BRACKETS.findall(text)
    return labels.single(contents[-1]) if contents else None


def bracketed_names(labels: LabelSet) -> str:
    return ", ".join(f"[{name}]" for name in labels.names)


def numbered(passages: tuple[Passage, ...], profile: Profile) -> str:
    if profile == "paper":
        shown = (" - ".join(passage.text.splitlines()) for passage in passages)
    else:
        shown = (wrap_untrusted(lines(passage.title, passage.shown_text)) for passage in passages)
    return "\n".join(f"[{number}] {text}" for number, text in enumerate(shown, 1))


def answers(replies: tuple[OtherAnswer, ...]) -> str:
    return "\n".join(f"({answer.agent}) {wrap_untrusted(answer.text)}" for answer in replies)


class EvidencePiece(Frozen):
    """A piece of evidence, by its number in the pool."""

    number: int = Field(ge=1, le=LARGEST_POOL, description="the number of a piece of evidence")


class Selection(Frozen):
    """The pieces that help most, if any."""

    pieces: tuple[EvidencePiece, ...] = Field(
        description="the most helpful pieces of evidence, at most 3; none if none helps",
        json_schema_extra={"maxItems": MOST_PIECES},
    )


class SelectEvidence(Task[Selection]):
    """Which pieces of a pool help to answer."""

    claim: Claim
    pool: tuple[Passage, ...]
    own: str = ""

    def parse_plain(self, text: str) -> Selection | None:
        """The numbers in brackets, from the last one back; none where the reply says so."""
        contents = BRACKETS.findall(text)
        if not contents:
            return None
        if "no found" in (content.strip().lower() for content in contents):
            return Selection(pieces=())
        numbers = [int(content) for content in reversed(contents) if content.strip().isdecimal()]
        return Selection(
            pieces=tuple(EvidencePiece(number=number) for number in numbers if 1 <= number <= len(self.pool))
        )

    def validate_answer(self, answer: Selection) -> Selection:
        pieces = dict.fromkeys(piece for piece in answer.pieces if piece.number <= len(self.pool))
        return Selection(pieces=tuple(pieces)[:MOST_PIECES])

    def chosen(self, answer: Selection) -> tuple[Passage, ...]:
        return tuple(self.pool[piece.number - 1] for piece in answer.pieces)

    def template_vars(self) -> Mapping[str, object]:
        return {
            **subject_vars(self.claim.labels),
            "most": MOST_PIECES,
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

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    def parse_plain(self, text: str) -> Consistency | None:
        """The last of [Yes] and [No]: those before it may be answers that the judge repeats (``MADKE-6``)."""
        contents = [content.strip().lower() for content in BRACKETS.findall(text)]
        last = next((word for word in reversed(contents) if word in ("yes", "no")), None)
        return Consistency.model_validate({"reason": text.strip(), "consistent": last}) if last else None

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_section(self.claim), "answers": answers(self.answers)}


class SummariseAnswers(LabelledTask):
    """One answer from those of all agents."""

    answer_fields: ClassVar[tuple[answer_task.Piece, ...]] = ("reasoning", "label")
    marks: ClassVar[tuple[str, str]] = ("[", "]")

    answers: tuple[OtherAnswer, ...]
    swapped: bool = False  # exchanges question and answers, as in the authors' program
    example: str = ""

    @property
    def defines_labels(self) -> bool:
        """The agents' answers end in labels, which are not judged anew."""
        return self.profile == "hardened"

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> Mapping[str, object]:
        texts = claim_section(self.claim), answers(self.answers)
        claim, replies = reversed(texts) if self.swapped else texts
        return {
            "claim": claim,
            "answers": replies,
            "demonstrations": self.example,
            "labels": bracketed_names(self.claim.labels),
        }


class AnswerWithKnowledge(AnswerClaim):
    """An answer from the chosen evidence; from the second round on also from the others' and its own last answer."""

    own: str = ""
    examples: str = ""

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    @property
    def lenient(self) -> bool:
        return True

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> Mapping[str, object]:
        labels = self.claim.labels
        rules = (f"If {label.description or 'this option is right'}, answer [{label.name}]." for label in labels.labels)
        return {
            **subject_vars(labels),
            "claim": claim_section(self.claim),
            "labels": bracketed_names(labels),
            "label_rules": "\n".join(rules),
            "label_definitions": label_definitions(labels),
            "evidence": numbered(self.passages, self.profile),
            "others": answers(self.others),
            "own": wrap_untrusted(self.own),
            "demonstrations": self.examples,
        }
