"""The embedded backend's roles in methods that take a claim apart before they look for evidence.

A claim's parts are its clauses, where each stands on its own; a part is true where the passages speak for it.
"""

from __future__ import annotations

import re

from redargue.claims import Claim, Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.nli.open_ie import decompose, statements
from redargue.nli.reader import Reading
from redargue.tasks.facts import LONGEST_SPAN, AnswerQuestion, Span, TruthJudgement, VerifyFact
from redargue.tasks.grounding import (
    MOST_QUESTIONS,
    Aggregate,
    AskFollowUp,
    FollowUp,
    FollowUps,
    Grounded,
    JudgeAnswers,
    WriteFollowUps,
)
from redargue.tasks.predicates import (
    Predicate,
    Predicates,
    PredicateTruth,
    Prediction,
    VerifyPredicates,
    WritePredicates,
)
from redargue.tasks.programs import Program, ProgramStep, WriteProgram

QUOTES = 2  # of a part
VERIFY = "Verify that "


def _parts(claim: Claim) -> tuple[str, ...]:
    """The claim's clauses; the whole claim where there are too many for one check."""
    found = statements(claim.text)
    return found if len(found) <= MOST_QUESTIONS else (" ".join(claim.text.split()),)


@perform.register
def _write_program(task: WriteProgram, backend: EmbeddedBackend) -> Program:
    """Verifies each clause; it asks nothing, because it cannot name what it would have to find out."""
    plain = (text.replace("{", "(").replace("}", ")") for text in _parts(task.claim))
    return Program(steps=tuple(ProgramStep(function="Verify", text=each) for each in plain))


@perform.register
def _verify_fact(task: VerifyFact, backend: EmbeddedBackend) -> TruthJudgement:
    """The likeliest of supported, refuted and open."""
    reading = backend.reader.read(task.statement, task.passages)
    meaning = _likeliest(reading)
    verdict = {Meaning.SUPPORTED: "true", Meaning.REFUTED: "false"}.get(meaning, "impossible to say")
    return TruthJudgement.model_validate({"verdict": verdict, "quotes": _quotes(reading, meaning)})


@perform.register
def _answer_question(task: AnswerQuestion, backend: EmbeddedBackend) -> Span:
    """The sentence nearest to the question, whole; a program of this backend's own asks nothing."""
    best = backend.reader.read(task.question, task.passages).best(Meaning.NOT_ENOUGH, 1)
    nearest = best[0].quote if best else ""
    return Span(text=nearest if len(nearest) <= LONGEST_SPAN else "", quotes=(nearest,) if nearest else ())


@perform.register
def _write_predicates(task: WritePredicates, backend: EmbeddedBackend) -> Predicates:
    """Each clause is a predicate of its subject and object, and its own question."""
    found = _parts(task.claim)
    predicates = tuple(Predicate(predicate=_predicate(each), verify=f"{VERIFY}{each}") for each in found)
    return Predicates(predicates=predicates, questions=tuple(map(_question, found)))


def _predicate(statement: str) -> str:
    """A clause as Name(subject, object), after its verb."""
    first = decompose(statement).triplets[0]
    name = re.sub(r"\W+", "_", first.relation).strip("_").capitalize() or "Is"
    return f"{name}({', '.join(re.sub(r'[(),]', '', part) for part in (first.subject, first.object) if part)})"


def _question(statement: str) -> str:
    return f"Is it true that {statement.rstrip(' .?!')}?"


@perform.register
def _verify_predicates(task: VerifyPredicates, backend: EmbeddedBackend) -> Prediction:
    """A predicate holds where all that was found, read together, supports it."""
    found = _found(task.asked)
    truths: list[PredicateTruth] = []
    quotes: list[str] = []
    for each in task.predicates:
        reading = backend.reader.read(each.verify.removeprefix(VERIFY), found)
        meaning = _likeliest(reading)
        best = _quotes(reading, meaning)
        reason = " ".join(f'"{quote}"' for quote in best) or "nothing that was found settles it"
        holds = meaning is Meaning.SUPPORTED
        truths.append(PredicateTruth(predicate=each.predicate, reason=reason, holds=holds))
        quotes += best
    why = f"{sum(each.holds for each in truths)} of {len(truths)} predicates hold."
    return Prediction(truths=tuple(truths), explanation=why, quotes=tuple(dict.fromkeys(quotes)))


@perform.register
def _write_follow_ups(task: WriteFollowUps, backend: EmbeddedBackend) -> FollowUps:
    """Whether each clause is true."""
    return FollowUps(questions=tuple(map(_question, _parts(task.claim))))


@perform.register
def _ask_follow_up(task: AskFollowUp, backend: EmbeddedBackend) -> FollowUp:
    """Whether the next clause is true; once all were asked, the answer."""
    wanted = [_question(each) for each in _parts(task.claim)]
    asked = {each.question for each in task.asked}
    following = next((each for each in wanted if each not in asked), "")
    if following:
        return FollowUp(needed=True, question=following)
    answer = _aggregate(task.claim.text, task.asked, backend)
    return FollowUp(needed=False, explanation=answer.explanation, quotes=answer.quotes, answer=answer.answer)


@perform.register
def _aggregate_answers(task: JudgeAnswers, backend: EmbeddedBackend) -> Aggregate:
    """The claim against all that was found."""
    return _aggregate(task.claim.text, task.asked, backend)


def _aggregate(claim: str, asked: tuple[Grounded, ...], backend: EmbeddedBackend) -> Aggregate:
    reading = backend.reader.read(claim, _found(asked))
    meaning = _likeliest(reading)
    quotes = _quotes(reading, meaning)
    why = " ".join(f'"{quote}"' for quote in quotes) or "Nothing that was found settles the claim."
    return Aggregate(
        explanation=why, quotes=quotes, answer="SUPPORTED" if meaning is Meaning.SUPPORTED else "NOT_SUPPORTED"
    )


def _found(asked: tuple[Grounded, ...]) -> tuple[Passage, ...]:
    return tuple(passage for each in asked for passage in each.passages)


def _likeliest(reading: Reading) -> Meaning:
    supports, refutes, neither = reading.probabilities()
    if neither >= max(supports, refutes):
        return Meaning.NOT_ENOUGH
    return Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED


def _quotes(reading: Reading, meaning: Meaning) -> tuple[str, ...]:
    return tuple(each.quote for each in reading.best(meaning, QUOTES)) if meaning is not Meaning.NOT_ENOUGH else ()
