"""What tests know of the programs among the baselines: example tasks, a script, the loopback model's replies."""

from __future__ import annotations

from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.protocols.baselines import program_fc
from redargue.tasks.base import Profile, Task
from redargue.tasks.facts import AnswerQuestion, RecallAnswer, RecallFact, Span, Truth, VerifyFact
from redargue.tasks.programs import Program, ProgramStep, WriteProgram

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
PASSAGE = Passage(title="Cape Ansel", text="The lighthouse at Cape Ansel was first lit in 1871.")
KEEPER, LIT = "Who was the first keeper at Cape Ansel?", "The lighthouse at Cape Ansel was lit in 1871."
QUOTE = "The lighthouse at Cape Ansel was first lit in 1871."


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind, for its golden prompt."""
    return {
        "WriteProgram": WriteProgram(claim=CLAIM, demonstrations=program_fc.demonstrated(profile), profile=profile),
        "RecallAnswer": RecallAnswer(question=KEEPER, profile=profile),
        "RecallFact": RecallFact(statement=LIT, profile=profile),
        "AnswerQuestion": AnswerQuestion(question=KEEPER, passages=(PASSAGE,), profile=profile),
        "VerifyFact": VerifyFact(statement=LIT, passages=(PASSAGE,), profile=profile),
    }


def step(function: str, text: str) -> ProgramStep:
    return ProgramStep.model_validate({"function": function, "text": text})


SCRIPT: dict[Any, Any] = {  # for ``ScriptedBackend``: a task type and its answer, or a function (task, call) -> answer
    WriteProgram: Program(steps=(step("Question", KEEPER), step("Verify", "{answer_1} lit it."), step("Verify", LIT))),
    RecallAnswer: Span(text="Ada Pell", quotes=(QUOTE,)),
    RecallFact: Truth(verdict="true", quotes=(QUOTE,)),
}
SIGNS: dict[str, str] = {  # words in a plain prompt, and the task that has them
    "You write a program whose steps": "WriteProgram",
    "From these documents: is it true": "VerifyFact",
    "Is it true that": "RecallFact",
    "Give the answer alone, in a few words": "RecallAnswer",
}


def reply(role: str, ask: Any, label: str) -> dict[str, Any] | str | None:
    """The loopback model's reply to a task, in JSON (``ask.schema``) or plainly; None: not one of these tasks."""
    match role:
        case "WriteProgram":
            return _program(plain=not ask.schema)
        case "VerifyFact" | "RecallFact":
            true = label != "REFUTES"
            return {"quotes": [], "verdict": "true" if true else "false"} if ask.schema else str(true)
        case "AnswerQuestion" | "RecallAnswer":
            return {"quotes": [], "text": "in 1889"} if ask.schema else "1889"
    return None


def _program(*, plain: bool) -> dict[str, Any] | str:
    if not plain:
        asked = {"function": "Question", "text": "When was the bridge at Orvell opened?"}
        return {"steps": [asked, {"function": "Verify", "text": "The bridge was opened in {answer_1}."}]}
    return """answer_1 = Question("When was the bridge at Orvell opened?")
    fact_1 = Verify("The bridge was opened in {answer_1}.")
    label = Predict(fact_1)"""
