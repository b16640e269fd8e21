"""Tool-MAD: debaters with different evidence tools, a stability score, consensus or a judge.

Jeong et al., "Tool-MAD", arXiv 2601.04742, Algorithm 1. ``T1`` … ``T38`` resolve what the paper leaves open; they are
listed in ``docs/tool-mad.md``. In the ``hardened`` profile a consensus also needs a quotation from each deciding
debater's documents that can carry a verdict. The algorithm is in
``algorithm.py``; here are the deviations of the authors' program (profile ``authors``), one setting for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from redargue.claims import Meaning
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.methods.tool_mad.algorithm import Agreement, Algorithm1
from redargue.methods.tool_mad.settings import ToolMadSettings
from redargue.tasks.answer import Answer
from redargue.tasks.base import Out, Task
from redargue.tasks.judge import JudgeDebate, Turn
from redargue.verdicts import Score


class ToolMad(Algorithm1, name="tool-mad", settings=ToolMadSettings):
    """Debaters with different evidence tools, scored for faithfulness and relevance; consensus or judge (2601.04742).

    With the default settings it is the paper's algorithm.
    """

    async def ask(self, agent: Agent, kind: Callable[..., Task[Out]], /, *, round_: int = 0, **fields: Any) -> Out:
        """``unread_is_conflicting``: an unreadable judgement gets the label for conflicting evidence (``T22``)."""
        conflicting = self.claim.labels.named(Meaning.CONFLICTING) if self.settings.unread_is_conflicting else None
        try:
            answer = await super().ask(agent, kind, round_=round_, **fields)
        except BadReply as error:
            if kind is not JudgeDebate or not conflicting:
                raise
            answer = cast(Out, Answer(text=error.raw, label=None))
        if kind is JudgeDebate and conflicting and isinstance(answer, Answer) and answer.label is None:
            return answer.model_copy(update={"label": conflicting, "confidence": None})
        return answer

    async def play_round(self, round_: int) -> tuple[Turn, ...]:
        """``order=sequential``: from the second round on, a debater hears those before it in this round (``T5``)."""
        if self.settings.order != "sequential" or not self.history:
            return await super().play_round(round_)
        last = {turn.agent: turn for turn in self.history[-1]}
        found = self.numbered(await self.gather(round_, last))
        spoken: list[Turn] = []
        for debater in self.debaters:
            others = self.heard_by(debater.name, last | {turn.agent: turn for turn in spoken})
            spoken.append(await self.respond(round_, debater, found[debater], others, last.get(debater.name)))
        return tuple(spoken)

    async def agreement(self, turns: tuple[Turn, ...]) -> Agreement:
        """``empty_equals_empty``: answers without a label agree (``T12``)."""
        self.alerts = {}  # those of the last round have been delivered
        if self.settings.empty_equals_empty and all(turn.answer.label is None for turn in turns):
            return Agreement(True)
        return await super().agreement(turns)

    def is_stable(self, score: Score) -> bool:
        """``undefined_passes``: the program compares NaN with the threshold, which never fails (``T13``)."""
        if score.value is None and self.settings.undefined_passes:
            return True
        return super().is_stable(score)

    async def gate_scores(self, turns: tuple[Turn, ...]) -> tuple[Score, ...]:
        """``low_score_alert``: an agreeing debater with a low score is warned in the next round (``T15``)."""
        scores = await super().gate_scores(turns)
        if self.settings.low_score_alert == "off":
            return scores
        for turn in turns:
            low = tuple(score.metric for score in scores if score.agent == turn.reader and not self.is_stable(score))
            if low and (self.settings.low_score_alert == "all" or not self.alerts):
                self.alerts[turn.agent] = low
        return scores

    def judged_rounds(self) -> list[tuple[Turn, ...]]:
        """``judge_sees_last_round=false``: the judge reads all rounds but the last (``T4``)."""
        rounds = super().judged_rounds()
        return rounds if self.settings.judge_sees_last_round else rounds[:-1]

    def mean(self, values: list[float]) -> float | None:
        """``judge_divisor=three`` divides the sum by three; one undefined score leaves no mean (``T3``, ``T13``)."""
        if not values or (self.settings.undefined_passes and len(values) < self.settings.rounds):
            return None
        return sum(values) / (len(values) if self.settings.judge_divisor == "rounds" else 3)
