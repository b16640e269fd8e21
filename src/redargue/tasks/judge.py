"""Deciding a debate that reached no consensus (Tool-MAD, journal, Fig. 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from pydantic import TypeAdapter, ValidationError

from redargue.claims import Frozen, Meaning
from redargue.errors import RecordError
from redargue.evidence import Passage
from redargue.tasks.answer import METRIC_NAMES, Answer, LabelledTask, ReasonedReply
from redargue.tasks.base import lines
from redargue.tasks.sections import (
    claim_section,
    document_key,
    document_numbers,
    documents,
    label_definitions,
    label_names,
    numbers_of,
    subject_vars,
)
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Metric


class Turn(Frozen):
    """One debater's turn in one round, counted from 1."""

    agent: str
    round: int
    query: str = ""  # empty for a debater without a tool
    kept: bool = False  # whether it kept the last round's query, and so its documents
    passages: tuple[Passage, ...] = ()
    numbers: tuple[int, ...] = ()  # of their documents in the whole claim; empty: from 1
    answer: Answer
    # the debater that read the same passages, whose answer this is; empty for its own
    shared_with: str = ""

    @property
    def numbered(self) -> dict[str, int]:
        """The numbers of its documents, by document."""
        counted = document_numbers(self.passages)
        return dict(zip(counted, self.numbers or counted.values(), strict=True))

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of its documents that have one, after their numbers."""
        titled = {document_key(each): each.title for each in self.passages if each.title}
        return tuple(f"[{self.numbered[document]}] {title}" for document, title in titled.items())

    @property
    def reader(self) -> str:
        return self.shared_with or self.agent


Openings = tuple[tuple[Turn, ...], ...]  # the first rounds of the claims of a text, which were held together
_OPENINGS = TypeAdapter(Openings)


def openings_of(record: Mapping[str, Any]) -> Openings:
    """What the ``run.json`` of a text says was read ahead; raises RecordError if it says that otherwise."""
    try:
        return _OPENINGS.validate_python(record.get("openings", ()))
    except ValidationError:
        what = "the readings of a text in its run.json have another form"
        raise RecordError(what, hint="check the text again, in a new folder") from None


def mean_confidence(turns: Sequence[Turn]) -> float | None:
    """The mean confidence of the answers, in [0, 1]; None unless all of them are calibrated."""
    given = [turn.answer.confidence for turn in turns if turn.answer.confidence is not None]
    return sum(given) / len(given) if len(given) == len(turns) else None


class MeanScore(Frozen):
    """Over the rounds that have a score; None where none has."""

    agent: str
    metric: Metric
    value: float | None


class JudgeDebate(LabelledTask):
    """The final answer, from the whole debate and its mean scores (Eq. 7).

    In the ``hardened`` profile each document is shown once, and the judge reads how the debate ended.
    """

    history: tuple[Turn, ...]  # by round; within a round in the order of the debaters
    scores: tuple[MeanScore, ...] = ()  # empty where the judge is not shown them (``T17``)
    # why the agreement of the last round, if any, was not accepted
    objections: tuple[str, ...] = ()
    # says that a disagreement of debaters is not conflicting evidence (``T37``)
    conflict_caution: bool = False

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    @property
    def has_documents(self) -> bool:
        """Whether a debater has a source of documents; otherwise all answered from memory, and so does the judge."""
        return not self.history or any(turn.query for turn in self.history)

    def reply_type(self) -> type[Frozen]:
        return super().reply_type() if self.has_documents or self.profile == "paper" else ReasonedReply

    def template_vars(self) -> Mapping[str, object]:
        labels, choice = self.claim.labels, self.choice().items()
        return {
            **subject_vars(labels),
            "claim": claim_section(self.claim, self.profile),
            "labels": label_names(labels),
            "label_rules": "\n".join(f"if {when}, output **{name}**" for name, when in choice),
            "label_definitions": label_definitions(labels, has_documents=self.has_documents),
            "has_documents": self.has_documents,
            "free_text": labels.free_text,
            "conflicting": labels.named(Meaning.CONFLICTING) or "",
            "conflict_caution": self.conflict_caution,
            "history": lines(*map(self._turn, self.history)) if self.profile == "paper" else self._debate(),
            "scores": "\n".join(map(self._mean_score, self.scores)),
            "consistency": any(score.metric is Metric.CONSISTENCY for score in self.scores),
        }

    def _turn(self, turn: Turn) -> str:
        return lines(
            f"Round {turn.round}, {turn.agent}:",
            f"Document: {documents(turn.passages, self.profile)}" if turn.query else None,
            f"Answer: {wrap_untrusted(turn.answer.text)}",
        )

    def _debate(self) -> str:
        """Every document once, then the answers, and how the last round ended.

        Documents with the same text stay apart: debaters read them under numbers of their own.
        """
        read = (passage for turn in self.history for passage in turn.passages)
        shown = tuple({(document_key(passage), passage.content): passage for passage in read}.values())
        found = f"Documents:\n{documents(shown, self.profile)}" if shown else "No document was found."
        found = found if self.has_documents else ""
        numbers, answers = document_numbers(shown), []
        first: dict[tuple[str, str], int] = {}  # round in which a debater first gave an answer
        for turn in self.history:
            since = first.setdefault((turn.agent, turn.answer.text), turn.round)
            answers.append(self._answer(turn, numbers, since))
        return lines(self._debaters(), found, "Answers:", *answers, self._outcome())

    def _answer(self, turn: Turn, numbers: dict[str, int], first: int) -> str:
        if turn.shared_with:
            reader = self._named(turn.shared_with)
            return f"Round {turn.round}, {self._named(turn.agent)} (found the same documents): as {reader}"
        own = ", ".join(f"[{number}]" for number in numbers_of(turn.passages, numbers))
        read = f"read {own or 'no document'}"
        said = wrap_untrusted(turn.answer.text) if first == turn.round else f"as in round {first}"
        return f"Round {turn.round}, {self._named(turn.agent)} ({read}): {said}"

    @property
    def _agents(self) -> list[str]:
        return list(dict.fromkeys(turn.agent for turn in self.history))

    def _named(self, agent: str) -> str:
        """A debater's letter; in the paper it is called by its tool."""
        agents = self._agents
        if self.profile == "paper" or agent not in agents or len(agents) > len(ascii_uppercase):
            return agent
        return f"Debater {ascii_uppercase[agents.index(agent)]}"

    def _debaters(self) -> str:
        named = ", ".join(f"{self._named(agent)} ({agent})" for agent in self._agents)
        return f"The debaters: {named}." if named else ""

    def _mean_score(self, score: MeanScore) -> str:
        value = "not available" if score.value is None else f"{score.value:.3f}"
        return f"{self._named(score.agent)}'s {METRIC_NAMES[score.metric]} score: {value}"

    def _shown(self, label: str | None) -> str:
        if label is None:
            return "nothing that could be read"
        return label if label in self.claim.labels.names else wrap_untrusted(label, inline=True)

    def _outcome(self) -> str:
        if not self.history:
            return ""
        last = [turn for turn in self.history if turn.round == self.history[-1].round]
        labels = {turn.answer.label for turn in last}
        if self.objections or (len(labels) == 1 and None not in labels):  # free text may agree in other words
            agreed = f"In the last round all debaters answered {self._shown(last[0].answer.label)}."
            why = "; ".join(self.objections) or "every debate is judged"
            return f"{agreed} Their agreement does not decide: {why}."
        answered = (f"{self._named(turn.agent)}: {self._shown(turn.answer.label)}" for turn in last)
        return f"In the last round the debaters disagreed: {', '.join(answered)}."
