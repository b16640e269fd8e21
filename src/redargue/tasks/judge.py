"""Deciding a debate that reached no consensus (Tool-MAD, journal, Fig. 6)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import METRIC_NAMES, Answer, LabelledTask, claim_lines, documents
from redargue.tasks.base import Task, lines, max_length
from redargue.tasks.query import OtherAnswer, others
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Metric


class Turn(Frozen):
    """What one debater did in one round.

    Attributes:
        agent: the debater's name.
        round: from 1.
        query: what it asked its tool; empty for a debater without one.
        kept: whether it stayed with the last round's query, and so with its documents.
        passages: its documents.
        answer: what it said.
    """

    agent: str
    round: int
    query: str = ""
    kept: bool = False
    passages: tuple[Passage, ...] = ()
    answer: Answer


class MeanScore(Frozen):
    """A debater's mean score over the rounds that have one; None where none has."""

    agent: str
    metric: Metric
    value: float | None


class JudgeDebate(LabelledTask):
    """The final answer, from the whole debate and its mean scores (Eq. 7).

    Attributes:
        history: every turn, in order of rounds; within a round in the order of the debaters.
        scores: mean scores; empty where the judge is not shown them (``T17``).
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "history", "scores")

    history: tuple[Turn, ...]
    scores: tuple[MeanScore, ...] = ()

    def instructions(self) -> str:
        """The judge's part, and what the scores mean."""
        return lines(
            "You judge a debate that checks a claim. This was its final round, and the debaters did not settle it:"
            " you determine the correct answer.",
            self._meaning() if self.scores else None,
        )

    def quote_source(self) -> str:
        return "the documents"

    def _meaning(self) -> str:
        if any(score.metric is Metric.CONSISTENCY for score in self.scores):
            return (
                "The consistency score measures how well an answer agrees with the documents it was given. Higher is"
                " better and more reliable."
            )
        return (
            "The faithfulness score measures how far an answer keeps to the documents it was given; the answer"
            " relevance score how well it addresses what was asked. Higher is better and more reliable."
        )

    def output_format(self) -> str:
        """The labels; the answer on the last line."""
        labels = "\n".join(
            f"if {label.description or 'this option is right'}, output **{label.name}**"
            for label in self.claim.labels.labels
        )
        return lines(labels or "Give the correct answer.", "Your final answer must stand on the last line only.")

    def input_text(self) -> str:
        """History, scores, claim, as in Fig. 6; hardened: the claim first."""
        return self.with_claim(claim_lines(self.claim), "Debate history:", self._history(), self._means())

    def template_vars(self) -> dict[str, str]:
        """Claim, its labels, history, scores."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "labels": ", ".join(f"**{name}**" for name in self.claim.labels.names),
            "history": self._history(),
            "scores": self._means(),
        }

    def _history(self) -> str:
        return lines(*(self._turn(turn) for turn in self.history))

    def _means(self) -> str:
        return lines(
            *(
                f"{score.agent}'s {METRIC_NAMES[score.metric]} score: "
                + ("not available" if score.value is None else f"{score.value:.3f}")
                for score in self.scores
            )
        )

    def _turn(self, turn: Turn) -> str:
        return lines(
            f"Round {turn.round}, {turn.agent}:",
            f"Document: {documents(turn.passages, self.profile)}" if turn.query else None,
            f"Answer: {wrap_untrusted(turn.answer.text)}",
        )


class Agreement(Frozen):
    """Whether answers say the same.

    Attributes:
        agree: 1 where they do.
        answer: the answer they share, in short; empty where they differ.
    """

    agree: Literal[0, 1] = Field(description="1 if the answers give the same final answer, 0 if they differ")
    answer: str = Field(
        description="the answer that they share, as short as it can be said; empty if they differ",
        json_schema_extra=max_length(300),
    )


class CheckConsensus(Task[Agreement]):
    """Compares free-text answers, which cannot be compared as labels (Tool-MAD, ACL version, appendix; ``T29``).

    Attributes:
        claim: the question that was asked.
        answers: one a debater, in their order.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "answers")

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    def instructions(self) -> str:
        """What to compare, and what not to."""
        return lines(
            "Several debaters answered the same question. Say whether their final answers are the same answer,"
            " whatever words they use. Do not judge which of them is right.",
        )

    def input_text(self) -> str:
        """Question and answers."""
        return lines(f"Question: {wrap_untrusted(self.claim.text, inline=True)}", f"Answers: {others(self.answers)}")

    def template_vars(self) -> dict[str, str]:
        """Question and answers."""
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "answers": others(self.answers)}
