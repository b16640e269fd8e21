"""The embedded backend's roles in methods that search in turns and call a claim true or false.

Queries are made of the claim's own words, its parts, and names that evidence brings in; what is called true or false
is the likelier side of what was read. Where nothing was read there is no side.
"""

from __future__ import annotations

from typing import Literal

from redargue.methods.baselines.factcheck_gpt.prompts import (
    AskQuestions,
    JudgeWorthiness,
    Questions,
    Stance,
    StateStance,
    Worthiness,
)
from redargue.methods.baselines.small_models import untried
from redargue.nli import claim_filter as checkable
from redargue.nli.backend import EmbeddedBackend, play


@play.register
def _judge_worthiness(task: JudgeWorthiness, mind: EmbeddedBackend) -> Worthiness:
    """By how the claim is put; a question is worth its answer."""
    return Worthiness(checkworthy="Yes" if checkable.statement(task.claim.text.rstrip("? ")) else "No")


@play.register
def _ask_questions(task: AskQuestions, mind: EmbeddedBackend) -> Questions:
    """The claim itself in the first round, its telling words and its parts in the next."""
    every = tuple(untried(task.claim.text, (), ()))
    return Questions(questions=(every[1:] if task.sample and every[1:] else every[:1])[: task.most])


@play.register
def _state_stance(task: StateStance, mind: EmbeddedBackend) -> Stance:
    """The likeliest of the three, of the one text."""
    supports, refutes, neither = mind.reader.read(task.claim.text, (task.passage,)).probabilities()
    side: Literal["support", "refute"] = "support" if supports >= refutes else "refute"
    return Stance(stance=side if max(supports, refutes) > neither else "irrelevant")
