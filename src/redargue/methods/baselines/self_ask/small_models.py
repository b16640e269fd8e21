"""What the small models play of Self-Ask."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.methods.baselines.grounding import Grounded
from redargue.methods.baselines.self_ask.prompts import (
    Aggregate,
    AskFollowUp,
    FollowUp,
    FollowUps,
    JudgeAnswers,
    WriteFollowUps,
)
from redargue.methods.baselines.small_models import clauses_of, is_it_true, likeliest, passages_of, quotes_for
from redargue.nli.backend import EmbeddedBackend, play


@play.register
def _write_follow_ups(task: WriteFollowUps, backend: EmbeddedBackend) -> FollowUps:
    return FollowUps(questions=tuple(map(is_it_true, clauses_of(task.claim))))


@play.register
def _ask_follow_up(task: AskFollowUp, backend: EmbeddedBackend) -> FollowUp:
    """Asks whether the next clause is true; after the last one, answers."""
    questions = [is_it_true(clause) for clause in clauses_of(task.claim)]
    asked = {question.question for question in task.asked}
    following = next((question for question in questions if question not in asked), "")
    if following:
        return FollowUp(needed=True, question=following)
    answer = _aggregate(task.claim.text, task.asked, backend)
    return FollowUp(needed=False, explanation=answer.explanation, quotes=answer.quotes, answer=answer.answer)


@play.register
def _aggregate_answers(task: JudgeAnswers, backend: EmbeddedBackend) -> Aggregate:
    return _aggregate(task.claim.text, task.asked, backend)


def _aggregate(claim: str, asked: tuple[Grounded, ...], backend: EmbeddedBackend) -> Aggregate:
    reading = backend.reader.read(claim, passages_of(asked))
    meaning = likeliest(reading)
    quotes = quotes_for(reading, meaning)
    why = " ".join(f'"{quote}"' for quote in quotes) or "Nothing that was found settles the claim."
    return Aggregate(
        explanation=why, quotes=quotes, answer="SUPPORTED" if meaning is Meaning.SUPPORTED else "NOT_SUPPORTED"
    )
