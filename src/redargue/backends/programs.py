"""The embedded backend's roles in methods that take a claim apart before they look for evidence.

A claim's parts are its clauses, where each stands on its own; a part is true where the passages speak for it.
"""

from __future__ import annotations

from redargue.backends.clauses import statements
from redargue.backends.embedded import EmbeddedBackend, play
from redargue.backends.reading import Reading
from redargue.claims import Meaning
from redargue.tasks.facts import LONGEST_SPAN, AnswerQuestion, Span, Truth, VerifyFact
from redargue.tasks.programs import Program, ProgramStep, WriteProgram

QUOTES = 2  # of a part


@play.register
def _write_program(task: WriteProgram, mind: EmbeddedBackend) -> Program:
    """Verifies each clause; it asks nothing, because it cannot name what it would have to find out."""
    plain = (text.replace("{", "(").replace("}", ")") for text in statements(task.claim.text))
    return Program(steps=tuple(ProgramStep(function="Verify", text=each) for each in plain))


@play.register
def _verify_fact(task: VerifyFact, mind: EmbeddedBackend) -> Truth:
    """The likeliest of supported, refuted and open."""
    reading = mind.reader.read(task.statement, task.passages)
    meaning = _likeliest(reading)
    verdict = {Meaning.SUPPORTED: "true", Meaning.REFUTED: "false"}.get(meaning, "impossible to say")
    return Truth.model_validate({"verdict": verdict, "quotes": _quotes(reading, meaning)})


@play.register
def _answer_question(task: AnswerQuestion, mind: EmbeddedBackend) -> Span:
    """The sentence nearest to the question, whole; a program of this backend's own asks nothing."""
    best = mind.reader.read(task.question, task.passages).best(Meaning.NOT_ENOUGH, 1)
    nearest = best[0].quote if best else ""
    return Span(text=nearest if len(nearest) <= LONGEST_SPAN else "", quotes=(nearest,) if nearest else ())


def _likeliest(reading: Reading) -> Meaning:
    supports, refutes, neither = reading.probabilities()
    if neither >= max(supports, refutes):
        return Meaning.NOT_ENOUGH
    return Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED


def _quotes(reading: Reading, meaning: Meaning) -> tuple[str, ...]:
    return tuple(each.quote for each in reading.best(meaning, QUOTES)) if meaning is not Meaning.NOT_ENOUGH else ()
