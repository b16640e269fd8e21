"""Deciding a debate that reached no consensus (Tool-MAD, journal, Fig. 6)."""

from __future__ import annotations

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answering import Answer, claim_lines, documents
from redargue.tasks.base import UNTRUSTED, Task, data, lines
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


_METRICS = {Metric.FAITHFULNESS: "faithfulness", Metric.RELEVANCE: "answer relevance"}


class JudgeDebate(Task[Answer]):
    """The final answer, from the whole debate and its mean scores (Eq. 7).

    Attributes:
        claim: what was checked.
        history: every turn, in order of rounds; within a round in the order of the debaters.
        scores: mean scores; empty where the judge is not shown them (``T17``).
    """

    claim: Claim
    history: tuple[Turn, ...]
    scores: tuple[MeanScore, ...] = ()

    def instruction(self) -> str:
        """Role, meaning of the scores, labels, history, scores, claim: the paper's order."""
        means = [
            f"{score.agent}'s {_METRICS[score.metric]} score: "
            + ("not available" if score.value is None else f"{score.value:.3f}")
            for score in self.scores
        ]
        labels = "\n".join(
            f"if {label.description or 'this option is right'}, output **{label.name}**"
            for label in self.claim.labels.labels
        )
        return lines(
            "You judge a debate that checks a claim. This was its final round, and the debaters did not settle it:"
            " you determine the correct answer.",
            "The faithfulness score measures how far an answer keeps to the documents it was given; the answer"
            " relevance score how well it addresses what was asked. Higher is better and more reliable."
            if means
            else None,
            "Quote the documents word for word, in double quotation marks, for every fact you rely on.\n" + UNTRUSTED
            if self.profile == "hardened"
            else None,
            labels or "Give the correct answer.",
            "Your final answer must stand on the last line only.",
            "Debate history:",
            *(self._turn(turn) for turn in self.history),
            *means,
            claim_lines(self.claim, self.profile),
        )

    def _turn(self, turn: Turn) -> str:
        return lines(
            f"Round {turn.round}, {turn.agent}:",
            f"Document: {documents(turn.passages, self.profile)}" if turn.query else None,
            f"Answer: {data(turn.answer.text, self.profile)}",
        )
