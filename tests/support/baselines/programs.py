"""What tests know of the programs among the baselines: example tasks, a script, the loopback model's replies."""

from __future__ import annotations

from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.methods.baselines.folk import (
    Predicate,
    Predicates,
    PredicatesVerdict,
    PredicateTruth,
    VerifyPredicates,
    WritePredicates,
    predicate_examples,
    prediction_examples,
)
from redargue.methods.baselines.grounding import Grounded
from redargue.methods.baselines.program_fc import (
    AnswerQuestion,
    ProgramSpan,
    RecallAnswer,
    RecallFact,
    TruthJudgement,
    VerifyFact,
    WriteProgram,
    program_examples,
)
from redargue.methods.baselines.program_fc.program import Program, ProgramStep
from redargue.methods.baselines.self_ask import (
    Aggregate,
    AskFollowUp,
    ConcludeAsking,
    FollowUp,
    FollowUps,
    JudgeAnswers,
    WriteFollowUps,
    aggregate_examples,
    question_examples,
)
from redargue.tasks.base import Profile, Task
from redargue.tasks.template import read_examples

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
PASSAGE = Passage(title="Cape Ansel", text="The lighthouse at Cape Ansel was first lit in 1871.")
KEEPER, LIT = "Who was the first keeper at Cape Ansel?", "The lighthouse at Cape Ansel was lit in 1871."
QUOTE = "The lighthouse at Cape Ansel was first lit in 1871."


PREDICATE = Predicate(predicate="Lit(Cape Ansel, 1871)", verify=f"Verify that {LIT}")
ASKED = (
    Grounded(question=KEEPER),
    Grounded(question="When was the lighthouse at Cape Ansel lit?", passages=(PASSAGE,)),
)


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind, for its golden prompt."""
    courses = read_examples("redargue.methods.baselines.self_ask")
    return {
        "WriteProgram": WriteProgram(claim=CLAIM, demonstrations=program_examples(profile), profile=profile),
        "RecallAnswer": RecallAnswer(question=KEEPER, profile=profile),
        "RecallFact": RecallFact(statement=LIT, profile=profile),
        "AnswerQuestion": AnswerQuestion(question=KEEPER, passages=(PASSAGE,), profile=profile),
        "WritePredicates": WritePredicates(claim=CLAIM, demonstrations=predicate_examples(profile), profile=profile),
        "VerifyPredicates": VerifyPredicates(
            claim=CLAIM,
            predicates=(PREDICATE,),
            asked=ASKED,
            demonstrations=prediction_examples(profile),
            profile=profile,
        ),
        "AskFollowUp": AskFollowUp(claim=CLAIM, asked=ASKED, demonstrations=courses, profile=profile),
        "ConcludeAsking": ConcludeAsking(claim=CLAIM, asked=ASKED, demonstrations=courses, profile=profile),
        "WriteFollowUps": WriteFollowUps(claim=CLAIM, demonstrations=question_examples(profile), profile=profile),
        "JudgeAnswers": JudgeAnswers(
            claim=CLAIM, asked=ASKED, demonstrations=aggregate_examples(profile), profile=profile
        ),
        "VerifyFact": VerifyFact(statement=LIT, passages=(PASSAGE,), profile=profile),
    }


def step(function: str, text: str) -> ProgramStep:
    return ProgramStep.model_validate({"function": function, "text": text})


SCRIPT: dict[Any, Any] = {  # for ``ScriptedBackend``: a task type and its answer, or a function (task, call) -> answer
    WriteProgram: Program(steps=(step("Question", KEEPER), step("Verify", "{answer_1} lit it."), step("Verify", LIT))),
    RecallAnswer: ProgramSpan(text="Ada Pell", quotes=(QUOTE,)),
    RecallFact: TruthJudgement(verdict="true", quotes=(QUOTE,)),
    WritePredicates: Predicates(predicates=(PREDICATE,), questions=(KEEPER, LIT)),
    VerifyPredicates: PredicatesVerdict(
        truths=(PredicateTruth(predicate=PREDICATE.predicate, reason="it says so", holds=True),),
        explanation="It was lit in that year.",
        quotes=(QUOTE,),
    ),
    AskFollowUp: lambda task, call: (
        FollowUp(needed=False, explanation="It says so.", quotes=(QUOTE,), answer="SUPPORTED")
        if task.asked
        else FollowUp(needed=True, question=KEEPER)
    ),
    WriteFollowUps: FollowUps(questions=(KEEPER, LIT)),
    JudgeAnswers: Aggregate(explanation="It says so.", quotes=(QUOTE,), answer="SUPPORTED"),
}
SIGNS: dict[str, str] = {  # words in a plain prompt, and the task that has them
    "You write a program whose steps": "WriteProgram",
    "From these documents: is it true": "VerifyFact",
    "True or false? The answer is:": "RecallFact",
    "Give the answer alone, in a few words": "RecallAnswer",
    "You take a claim apart in first-order logic": "WritePredicates",
    "of predicates and follow-up questions": "VerifyPredicates",
    "No more questions may be asked": "ConcludeAsking",
    "by asking follow up questions": "AskFollowUp",
    "Say which questions have to be answered": "WriteFollowUps",
    "answer SUPPORTED or NOT_SUPPORTED, and explain": "JudgeAnswers",
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
    return _grounded(role, ask, "NOT_SUPPORTED" if label == "REFUTES" else "SUPPORTED")


OPENED = "When was the bridge at Orvell opened?"
SHOWN = "Opened(the bridge at Orvell, 1889)"


def _grounded(role: str, ask: Any, side: str) -> dict[str, Any] | str | None:
    """One question, one predicate, and the side."""
    plain = not ask.schema
    why = {"explanation": "It says so.", "quotes": []}
    match role:
        case "WritePredicates":
            verify = "Verify that the bridge at Orvell was opened in 1889"
            written = f"Predicates:\n{SHOWN} ::: {verify}\n\nFollowup Question: {OPENED}"
            return written if plain else {"predicates": [{"predicate": SHOWN, "verify": verify}], "questions": [OPENED]}
        case "VerifyPredicates":
            truth = {"predicate": SHOWN, "reason": "it says so", "holds": side == "SUPPORTED"}
            written = f"Prediction:\n{SHOWN} is {truth['holds']} because it says so\nThe claim is [{side}].\n"
            return f"{written}\nExplanation:\nIt says so." if plain else {"truths": [truth], **why}
        case "WriteFollowUps":
            return f"Followup Question: {OPENED}" if plain else {"questions": [OPENED]}
        case "JudgeAnswers" | "ConcludeAsking":
            return f"The claim is [{side}]. Here are the reasons: it says so." if plain else {**why, "answer": side}
        case "AskFollowUp":
            return _asking(ask, side)
    return None


def _asking(ask: Any, side: str) -> dict[str, Any] | str:
    """A question; once it was asked, the final answer."""
    asked = OPENED in ask.user
    if not ask.schema:
        return f"So the final answer is: {side}" if asked else f"Yes.\nFollow up: {OPENED}\nIntermediate answer: 1890"
    question = "" if asked else OPENED
    return {"needed": not asked, "question": question, "explanation": "It says so.", "quotes": [], "answer": side}


def _program(*, plain: bool) -> dict[str, Any] | str:
    if not plain:
        asked = {"function": "Question", "text": "When was the bridge at Orvell opened?"}
        facts = ("The bridge was opened in {answer_1}.", "There is a bridge at Orvell.")
        return {"steps": [asked, *({"function": "Verify", "text": each} for each in facts)]}
    return """answer_1 = Question("When was the bridge at Orvell opened?")
    fact_1 = Verify("The bridge was opened in {answer_1}.")
    fact_2 = Verify("There is a bridge at Orvell.")
    label = Predict(fact_1 and fact_2)"""
