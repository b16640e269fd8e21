"""Deciding a debate that reached no consensus (Tool-MAD, journal, Fig. 6)."""

from __future__ import annotations

from typing import ClassVar

from redargue.claims import Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import METRIC_NAMES, Answer, LabelledTask, claim_section, documents, label_names
from redargue.tasks.base import Sections, lines
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Metric


class Turn(Frozen):
    """One debater's turn in one round, counted from 1."""

    agent: str
    round: int
    query: str = ""  # empty for a debater without a tool
    kept: bool = False  # whether it kept the last round's query, and so its documents
    passages: tuple[Passage, ...] = ()
    answer: Answer


class MeanScore(Frozen):
    """Over the rounds that have a score; None where none has."""

    agent: str
    metric: Metric
    value: float | None


class JudgeDebate(LabelledTask):
    """The final answer, from the whole debate and its mean scores (Eq. 7)."""

    sections: ClassVar[Sections] = {
        "claim": "Claim: ",
        "labels": None,
        "label_rules": None,
        "history": "Debate history:\n",
        "scores": "",
    }
    claim_last: ClassVar[bool] = True

    history: tuple[Turn, ...]  # by round; within a round in the order of the debaters
    scores: tuple[MeanScore, ...] = ()  # empty where the judge is not shown them (``T17``)

    quote_source: ClassVar[str] = "the documents"

    @property
    def instructions(self) -> str:
        return lines(
            "You judge a debate that checks a claim. This was its final round, and the debaters did not settle it:"
            " you determine the correct answer.",
            self._score_rule() if self.scores else None,
        )

    def _score_rule(self) -> str:
        if any(score.metric is Metric.CONSISTENCY for score in self.scores):
            return (
                "The consistency score measures how well an answer agrees with the documents it was given. Higher is"
                " better and more reliable."
            )
        return (
            "The faithfulness score measures how far an answer keeps to the documents it was given; the answer"
            " relevance score how well it addresses what was asked. Higher is better and more reliable."
        )

    @property
    def output_format(self) -> str:
        return lines(
            self._label_rules() or "Give the correct answer.", "Your final answer must stand on the last line only."
        )

    def _label_rules(self) -> str:
        return "\n".join(f"if {when}, output **{name}**" for name, when in self.choice().items())

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_section(self.claim),
            "labels": label_names(self.claim.labels),
            "label_rules": self._label_rules(),
            "history": lines(*map(self._turn, self.history)),
            "scores": "\n".join(map(_mean_score, self.scores)),
        }

    def _turn(self, turn: Turn) -> str:
        return lines(
            f"Round {turn.round}, {turn.agent}:",
            f"Document: {documents(turn.passages, self.profile)}" if turn.query else None,
            f"Answer: {wrap_untrusted(turn.answer.text)}",
        )


def _mean_score(score: MeanScore) -> str:
    value = "not available" if score.value is None else f"{score.value:.3f}"
    return f"{score.agent}'s {METRIC_NAMES[score.metric]} score: {value}"
