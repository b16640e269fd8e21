"""What tests know of the alone among the baselines: example tasks, a script, the loopback model's replies."""

from __future__ import annotations

import re
from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.methods.baselines.closed_book import (
    AnswerClosedBook,
    AnswerFromReasoning,
    AnswerStepByStep,
    AnswerZeroShot,
    ReasonStepByStep,
    SelfCheck,
    SelfChecked,
)
from redargue.methods.baselines.halueval_few_shot import DetectHallucination
from redargue.tasks.answer import Answer
from redargue.tasks.base import Exchange, Profile, Task
from redargue.tasks.score import InferClaim, Inferences, Inferred, ReaderAnswer, ReadPassages
from redargue.tasks.template import read_examples

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
REASONED = Exchange(prompt_text="Is it?", input_text="Is it?", reply="It was built from 1869 on.")
STATEMENT = "The bridge at Orvell was opened in 1889."


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind, for its golden prompt."""
    return {
        "AnswerClosedBook": AnswerClosedBook(claim=CLAIM, must_answer=True, profile=profile),
        "AnswerZeroShot": AnswerZeroShot(claim=CLAIM, profile=profile),
        "AnswerStepByStep": AnswerStepByStep(claim=CLAIM, profile=profile),
        "ReasonStepByStep": ReasonStepByStep(claim=CLAIM, profile=profile),
        "AnswerFromReasoning": AnswerFromReasoning(claim=CLAIM, reasoning=REASONED, profile=profile),
        "DetectHallucination": DetectHallucination(
            claim=Claim(text="In 1871.", context="When was the lighthouse at Cape Ansel lit?"),
            demonstrations=read_examples("redargue.methods.baselines.halueval_few_shot", "qa"),
            knowledge=(Passage(title="Cape Ansel", text="Its lighthouse was first lit in 1871."),),
            profile=profile,
        ),
        "InferClaim": InferClaim(
            hypothesis=CLAIM.text, premises=("Its lighthouse was first lit in 1871.",), profile=profile
        ),
        "ReadPassages": ReadPassages(
            claim=CLAIM, passages=(Passage(text="Its lighthouse was first lit in 1871."),), profile=profile
        ),
        "SelfCheck": SelfCheck(
            claim=CLAIM,
            demonstrations=read_examples("redargue.methods.baselines.closed_book", "self_check"),
            profile=profile,
        ),
    }


def known(task: AnswerClosedBook, call: Any) -> Answer:
    """The first label, or nothing but reasons."""
    if "label" not in task.answer_fields:
        return Answer(text="I recall it.", label=None)
    label = next(iter(task.choice()), "1871")
    return Answer(text=f"I recall it.\n**{label}**", label=label)


CHECKED = SelfChecked(reasoning="I recall it.", error="None", corrected_claim="None", factuality=True)
SCRIPT: dict[Any, Any] = {  # for ``ScriptedBackend``: a task type and its answer, or a function (task, call) -> answer
    AnswerClosedBook: known,
    SelfCheck: CHECKED,
    InferClaim: lambda task, call: Inferences(inferences=(Inferred(supports=0.9, refutes=0.1),) * len(task.premises)),
    ReadPassages: ReaderAnswer(text="The documents do not settle it.", label=None),
    DetectHallucination: lambda task, call: Answer(text="No", label=task.chosen("No")),
}
SIGNS: dict[str, str] = {  # words in a plain prompt, and the task that has them
    "Let's think step by step.": "ReasonStepByStep",
    "Therefore, the answer": "AnswerFromReasoning",
    "Think step by step before": "AnswerStepByStep",
    "and nothing else.\nClaim:": "AnswerZeroShot",
    "You have no documents": "AnswerClosedBook",
    "#Your Judgement#": "DetectHallucination",
    "contains a factual error": "SelfCheck",
}


def reply(role: str, ask: Any, label: str) -> dict[str, Any] | str | None:
    """The loopback model's reply to a task, in JSON (``ask.schema``) or plainly; None: not one of these tasks."""
    if role == "ReasonStepByStep":
        return {"reasoning": STATEMENT} if ask.schema else STATEMENT
    if role in ("AnswerClosedBook", "AnswerZeroShot", "AnswerStepByStep", "AnswerFromReasoning"):
        return _answer(ask, label)
    if role == "DetectHallucination":
        said = "Yes" if label == "REFUTES" else "No"
        return {"label": said} if ask.schema else f"{said}."
    if role == "SelfCheck":
        return CHECKED.model_dump() | {"factuality": label != "REFUTES"}
    return None


def _answer(ask: Any, label: str) -> dict[str, Any] | str:
    """One of the labels that are offered."""
    if not ask.schema:
        named = re.findall(r"output \*\*(.+?)\*\*", ask.user)
        return f"{STATEMENT}\n**{named[label == 'REFUTES']}**"
    fields = ask.schema["properties"]
    chosen = fields["label"]["enum"][label == "REFUTES"]
    return {"label": chosen} | ({"reasoning": STATEMENT} if "reasoning" in fields else {})
