"""How small models perform the tasks of Self-Ask."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.methods.baselines.grounding import Grounded
from redargue.methods.baselines.self_ask import method
from redargue.methods.baselines.small_models import clauses_of, is_it_true, likeliest, passages_of_questions, quotes_for
from redargue.nli.backend import EmbeddedBackend, perform


@perform.register
def _write_follow_ups(task: method.WriteFollowUps, backend: EmbeddedBackend) -> method.FollowUps:
    return method.FollowUps(questions=tuple(map(is_it_true, clauses_of(task.claim))))


@perform.register
def _ask_follow_up(task: method.AskFollowUp, backend: EmbeddedBackend) -> method.FollowUp:
    questions = [is_it_true(clause) for clause in clauses_of(task.claim)]
    asked = {question.question for question in task.asked}
    following = next((question for question in questions if question not in asked), "")
    if following:
        return method.FollowUp(needed=True, question=following)
    answer = _aggregate(task.claim.text, task.asked, backend)
    return method.FollowUp(needed=False, explanation=answer.explanation, quotes=answer.quotes, answer=answer.answer)


@perform.register
def _aggregate_answers(task: method.JudgeAnswers, backend: EmbeddedBackend) -> method.Aggregate:
    return _aggregate(task.claim.text, task.asked, backend)


def _aggregate(claim: str, asked: tuple[Grounded, ...], backend: EmbeddedBackend) -> method.Aggregate:
    reading = backend.reader.read(claim, passages_of_questions(asked))
    meaning = likeliest(reading)
    quotes = quotes_for(reading, meaning)
    why = " ".join(f'"{quote}"' for quote in quotes) or "Nothing that was found settles the claim."
    return method.Aggregate(
        explanation=why, quotes=quotes, answer="SUPPORTED" if meaning is Meaning.SUPPORTED else "NOT_SUPPORTED"
    )
