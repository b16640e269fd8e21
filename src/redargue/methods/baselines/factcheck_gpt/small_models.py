"""How small models perform the tasks of Factcheck-GPT."""

from __future__ import annotations

from typing import Literal

from redargue.methods.baselines.factcheck_gpt import method
from redargue.methods.baselines.small_models import new_queries
from redargue.nli import claim_filter
from redargue.nli.backend import EmbeddedBackend, perform


@perform.register
def _judge_worthiness(task: method.JudgeWorthiness, backend: EmbeddedBackend) -> method.Worthiness:
    """A question, which some label sets answer, is worth checking; of other sentences the claim filter decides."""
    text = task.claim.text.strip()
    worthy = text.endswith("?") or claim_filter.statement(text, backend.embedder) is not None
    return method.Worthiness(checkworthy="Yes" if worthy else "No")


@perform.register
def _ask_questions(task: method.AskQuestions, backend: EmbeddedBackend) -> method.CheckingQuestions:
    """The claim itself in the first round, its content words and its parts in the next."""
    every = tuple(new_queries(task.claim.text, (), ()))
    return method.CheckingQuestions(questions=(every[1:] if task.sample and every[1:] else every[:1])[: task.most])


@perform.register
def _state_stance(task: method.StateStance, backend: EmbeddedBackend) -> method.Stance:
    supports, refutes, neither = backend.reader.read(task.claim.text, (task.passage,)).probabilities()
    side: Literal["support", "refute"] = "support" if supports >= refutes else "refute"
    return method.Stance(stance=side if max(supports, refutes) > neither else "irrelevant")
