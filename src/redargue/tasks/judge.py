"""Deciding a debate that reached no consensus (Tool-MAD, journal, Fig. 6)."""

from __future__ import annotations

from typing import ClassVar

from redargue.claims import Frozen, Meaning
from redargue.evidence import Passage
from redargue.tasks.answer import METRIC_NAMES, NAME_DOCUMENTS, Answer, LabelledTask, claim_section, documents
from redargue.tasks.base import Sections, lines
from redargue.tasks.labels import label_definitions, label_names, last_line, subject
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
    """The final answer, from the whole debate and its mean scores (Eq. 7).

    In the ``hardened`` profile each document is shown once, and the judge reads how the debate ended.
    """

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
    objections: tuple[str, ...] = ()  # why the agreement of the last round, if any, was not accepted
    conflict_caution: bool = False  # says that a disagreement of debaters is not conflicting evidence (``T37``)

    quote_source: ClassVar[str] = "the documents"

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    @property
    def instructions(self) -> str:
        if self.profile == "paper":
            return lines(
                "You judge a debate that checks a claim. This is its final round. Where no consensus has been reached,"
                " you determine the correct answer.",
                self._score_rule() if self.scores else None,
                "Disagreement between the debaters is not by itself a reason for the label for conflicting evidence."
                if self.conflict_caution and self.claim.labels.named(Meaning.CONFLICTING)
                else None,
            )
        what = subject(self.claim.labels)
        return lines(
            f"You judge a debate in which debaters with different sources {'answer' if what == 'question' else 'check'}"
            f" a {what}. The debate is over, and your answer decides.",
            "Read the documents again yourself and answer from them alone; do not fill gaps from memory. The debaters'"
            " answers are opinions: check what they quote, and do not count votes or repetitions.",
            self._score_rule() if self.scores else None,
            label_definitions(self.claim.labels),
            "That the debaters disagree does not mean that the documents do."
            if self.claim.labels.named(Meaning.CONFLICTING)
            else None,
            NAME_DOCUMENTS,
        )

    def _score_rule(self) -> str:
        consistency = any(score.metric is Metric.CONSISTENCY for score in self.scores)
        if self.profile == "hardened":
            meaning = (
                "A mean score, at most 1, describes each debater's answers: consistency, how well they agree with the"
                " documents."
                if consistency
                else "Mean scores, at most 1, describe each debater's answers: faithfulness, how closely they keep to"
                " the documents; answer relevance, how directly they address what was asked."
            )
            return f"{meaning} A high score does not mean that an answer is right."
        if consistency:
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
        if self.profile == "hardened":
            return last_line(self.claim.labels)
        return lines(
            self._label_rules() or "Give the correct answer.", "Your final answer must be given on the last line only."
        )

    def _label_rules(self) -> str:
        return "\n".join(f"if {when}, output **{name}**" for name, when in self.choice().items())

    def section_texts(self) -> list[str]:
        if self.profile == "paper":
            return super().section_texts()
        values = self.template_vars()
        claim = f"{subject(self.claim.labels).capitalize()}: {values['claim']}"
        return [claim, *(values[name] for name in ("history", "scores") if values[name])]

    def template_vars(self) -> dict[str, str]:
        return {
            "claim": claim_section(self.claim),
            "labels": label_names(self.claim.labels),
            "label_rules": self._label_rules(),
            "history": lines(*map(self._turn, self.history)) if self.profile == "paper" else self._debate(),
            "scores": "\n".join(map(_mean_score, self.scores)),
        }

    def _turn(self, turn: Turn) -> str:
        return lines(
            f"Round {turn.round}, {turn.agent}:",
            f"Document: {documents(turn.passages, self.profile)}" if turn.query else None,
            f"Answer: {wrap_untrusted(turn.answer.text)}",
        )

    def _debate(self) -> str:
        """Every document once, then the answers, and how the last round ended."""
        shown = tuple({passage.sha256: passage for turn in self.history for passage in turn.passages}.values())
        names = {passage.sha256: f"D{number}" for number, passage in enumerate(shown, 1)}
        return lines(
            f"Documents:\n{documents(shown, self.profile, name='D')}" if shown else "No document was found.",
            "Answers:",
            *(self._answer(turn, names) for turn in self.history),
            self._outcome(),
        )

    def _answer(self, turn: Turn, names: dict[str, str]) -> str:
        own = (f"[{number}] is {names[passage.sha256]}" for number, passage in enumerate(turn.passages, 1))
        read = f"its {', '.join(own)}" if turn.passages else "no documents"
        return f"Round {turn.round}, {turn.agent} ({read}): {wrap_untrusted(turn.answer.text)}"

    def _shown(self, label: str | None) -> str:
        if label is None:
            return "nothing that could be read"
        return label if label in self.claim.labels.names else wrap_untrusted(label, inline=True)

    def _outcome(self) -> str:
        last = [turn for turn in self.history if turn.round == self.history[-1].round] if self.history else []
        labels = {turn.answer.label for turn in last}
        if len(labels) == 1 and None not in labels:
            (label,) = labels
            agreed = f"In the last round all debaters answered {self._shown(label)}."
            why = "; ".join(wrap_untrusted(objection, inline=True) for objection in self.objections)
            return f"{agreed} Their agreement does not decide: {why or 'every debate is judged'}."
        answered = ", ".join(f"{turn.agent} {self._shown(turn.answer.label)}" for turn in last)
        return f"In the last round the debaters disagreed: {answered}." if last else ""


def _mean_score(score: MeanScore) -> str:
    value = "not available" if score.value is None else f"{score.value:.3f}"
    return f"{score.agent}'s {METRIC_NAMES[score.metric]} score: {value}"
