"""How small models perform the tasks of ProgramFC."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.methods.baselines.program_fc import tasks
from redargue.methods.baselines.program_fc.program import Program, ProgramStep
from redargue.methods.baselines.small_models import clauses_of, likeliest, quotes_for
from redargue.nli.backend import EmbeddedBackend, perform


@perform.register
def _write_program(task: tasks.WriteProgram, backend: EmbeddedBackend) -> Program:
    """Verifies each clause; asks nothing, because it cannot name what would have to be found out."""
    plain = (text.replace("{", "(").replace("}", ")") for text in clauses_of(task.claim))
    return Program(steps=tuple(ProgramStep(function="Verify", text=text) for text in plain))


@perform.register
def _verify_fact(task: tasks.VerifyFact, backend: EmbeddedBackend) -> tasks.TruthJudgement:
    reading = backend.reader.read(task.statement, task.passages)
    meaning = likeliest(reading)
    verdict = {Meaning.SUPPORTED: "true", Meaning.REFUTED: "false"}.get(meaning, "impossible to say")
    return tasks.TruthJudgement.model_validate({"verdict": verdict, "quotes": quotes_for(reading, meaning)})


@perform.register
def _answer_question(task: tasks.AnswerQuestion, backend: EmbeddedBackend) -> tasks.ProgramSpan:
    best = backend.reader.read(task.question, task.passages).best(Meaning.NOT_ENOUGH, 1)
    nearest = best[0].quote if best else ""
    return tasks.ProgramSpan(
        text=nearest if len(nearest) <= tasks.LONGEST_SPAN else "", quotes=(nearest,) if nearest else ()
    )
