"""What tests know of the searching among the baselines: example tasks, a script, the loopback model's replies."""

from __future__ import annotations

from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.methods.baselines.factcheck_gpt import (
    AskQuestions,
    CheckingQuestions,
    JudgeWorthiness,
    Stance,
    StateStance,
    Worthiness,
)
from redargue.methods.baselines.factuality import CheckFactuality, FactualityCheck
from redargue.methods.baselines.fire import FinalAnswer, GiveFinalAnswer, Move, SearchOrAnswer
from redargue.methods.baselines.grounding import QueryResult
from redargue.methods.baselines.react import ChooseAction, ThinkAndAct
from redargue.methods.baselines.safe import (
    SUPPORT,
    SUPPORTED,
    CheckRelevance,
    MakeSelfContained,
    RateSupport,
    Relevance,
    SelfContained,
    WriteNextQuery,
)
from redargue.methods.baselines.sceptical_queries import Queries, WriteScepticalQueries
from redargue.tasks.answer import Answer
from redargue.tasks.base import Profile, Task
from redargue.tasks.query import Query
from redargue.tasks.step import PastStep, Step, ToolCall

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
LIT = "The lighthouse at Cape Ansel was first lit in 1871."
RESULT = QueryResult(query="Cape Ansel lit", passages=(Passage(title="Cape Ansel", text=LIT),))
STEP = PastStep(
    thought="When was it lit?",
    action=ToolCall(name="search", input="Cape Ansel"),
    passages=(Passage(title="Cape Ansel", text=LIT),),
)
SHOT = "Claim: Velt is a river.\nThought 1: What is Velt?\nAction 1: search[Velt]"
INSIDE = Claim(text="It was lit in 1871.", context="Cape Ansel has a lighthouse. It was lit in 1871.")
ASKED = "Claim: Velt is a river.\nReply: what was asked about it"
STATEMENT = "The bridge at Orvell was opened in 1889."


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind, for its golden prompt."""
    acting: dict[str, Any] = {"claim": CLAIM, "steps": (STEP,), "step": 2, "demonstrations": SHOT, "profile": profile}
    return {
        "ThinkAndAct": ThinkAndAct(**acting),
        "ChooseAction": ChooseAction(**acting, thought="Was it lit in 1871?"),
        "MakeSelfContained": MakeSelfContained(claim=INSIDE, profile=profile),
        "CheckRelevance": CheckRelevance(claim=INSIDE, profile=profile),
        "WriteNextQuery": WriteNextQuery(claim=CLAIM, profile=profile),
        "RateSupport": RateSupport(
            claim=CLAIM.model_copy(update={"labels": SUPPORT}), results=(RESULT,), profile=profile
        ),
        "WriteScepticalQueries": WriteScepticalQueries(claim=CLAIM, demonstrations=ASKED, profile=profile),
        "CheckFactuality": CheckFactuality(claim=CLAIM, passages=RESULT.passages, profile=profile),
        "JudgeWorthiness": JudgeWorthiness(claim=CLAIM, profile=profile),
        "AskQuestions": AskQuestions(claim=CLAIM, demonstrations=ASKED, profile=profile),
        "StateStance": StateStance(claim=CLAIM, passage=RESULT.passages[0], profile=profile),
        "SearchOrAnswer": SearchOrAnswer(claim=CLAIM, results=(RESULT,), diverse=True, profile=profile),
        "GiveFinalAnswer": GiveFinalAnswer(claim=CLAIM, results=(RESULT,), profile=profile),
    }


def _move(task: SearchOrAnswer, call: Any) -> Move:
    """A query first, then the answer."""
    return Move(final_answer="True", quotes=(LIT,)) if task.results else Move(search_query="lighthouse lit")


def _step(task: ThinkAndAct, call: Any) -> Step:
    """A search first, then the first label."""
    if task.steps:
        return Step(thought="It says so.", answer=task.claim.labels.names[0], quotes=(LIT,))
    return Step(thought="I have to look.", action=ToolCall(name="search", input="lighthouse"))


SCRIPT: dict[Any, Any] = {  # for ``ScriptedBackend``: a task type and its answer, or a function (task, call) -> answer
    ThinkAndAct: _step,
    MakeSelfContained: SelfContained(statement=CLAIM.text),
    CheckRelevance: Relevance(relevant=True),
    WriteNextQuery: Query(text="lighthouse lit"),
    RateSupport: Answer(text="It says so. [Supported]", label=SUPPORTED, quotes=(LIT,)),
    WriteScepticalQueries: Queries(queries=("lighthouse lit", "Cape Ansel 1871")),
    CheckFactuality: FactualityCheck(reasoning="It says so.", quotes=(LIT,), factuality=True),
    JudgeWorthiness: Worthiness(checkworthy="Yes"),
    AskQuestions: lambda task, call: CheckingQuestions(questions=("When was it lit?", f"Question {task.sample}?")),
    StateStance: Stance(stance="support"),
    SearchOrAnswer: _move,
    GiveFinalAnswer: FinalAnswer(final_answer="True", quotes=(LIT,)),
}
SIGNS: dict[str, str] = {  # words in a plain prompt, and the task that has them
    "so that it can be understood without it": "MakeSelfContained",
    "Two subjects are 'Foo'": "CheckRelevance",
    "You want to find out whether a STATEMENT": "WriteNextQuery",
    "You rate whether a STATEMENT": "RateSupport",
    "You are sceptical": "WriteScepticalQueries",
    "whether anything in it is factually wrong": "CheckFactuality",
    "Decide whether a statement is worth checking": "JudgeWorthiness",
    "Write the questions that you would look up": "AskQuestions",
    "Does the EVIDENCE support the claim": "StateStance",
    "The next thought is there": "ChooseAction",
    "Write the next thought and the next action": "ThinkAndAct",
    "If you are sure, give your final answer": "SearchOrAnswer",
    "Then you have to decide": "GiveFinalAnswer",
}


def reply(role: str, ask: Any, label: str) -> dict[str, Any] | str | None:
    """The loopback model's reply to a task, in JSON (``ask.schema``) or plainly; None: not one of these tasks."""
    true = "False" if label == "REFUTES" else "True"
    if role in ("MakeSelfContained", "CheckRelevance", "WriteNextQuery", "RateSupport"):
        return _supporting(role, ask, true == "True")
    if role in (factual := _factual(true == "True")):
        return factual[role]
    match role:
        case "ThinkAndAct":
            return _acting(ask, true)
        case "SearchOrAnswer":
            known = "N/A" not in ask.user
            said = (
                {"final_answer": true, "search_query": ""}
                if known
                else {"final_answer": "", "search_query": "bridge Orvell opened"}
            )
            return {"reasoning": STATEMENT, "quotes": [], **said} if ask.schema else said
        case "GiveFinalAnswer":
            return {"reasoning": STATEMENT, "quotes": [], "final_answer": true}
    return None


def _acting(ask: Any, true: str) -> dict[str, Any] | str:
    """A search, then the first label, or the second."""
    seen = "Observation 1:" in ask.user.rpartition("Claim: ")[2]
    if ask.schema:
        empty = {"thought": STATEMENT, "tool": "", "reason": "", "input": "", "answer": "", "quotes": []}
        offered = ask.schema["properties"]["answer"]["enum"]
        answer = offered[true == "False"]
        return empty | ({"answer": answer} if seen else {"tool": "search", "input": "bridge Orvell"})
    return f"Thought: {STATEMENT}\nAction: " + (f"finish[{true}]" if seen else "search[bridge Orvell]")


def _supporting(role: str, ask: Any, true: bool) -> dict[str, Any] | str:
    """SAFE's replies: JSON, or a code block, or square brackets."""
    rating = SUPPORTED if true else "Not Supported"
    fields: dict[str, dict[str, Any]] = {
        "MakeSelfContained": {"statement": STATEMENT},
        "CheckRelevance": {"reasoning": STATEMENT, "relevant": True},
        "WriteNextQuery": {"query": "bridge Orvell"},
        "RateSupport": {"reasoning": STATEMENT, "quotes": [], "label": rating},
    }
    plain = {
        "MakeSelfContained": f"Nothing is vague.\n```\n{STATEMENT}\n```",
        "CheckRelevance": "They are bridges. [Foo]",
        "WriteNextQuery": "The year is missing.\n```\nbridge Orvell\n```",
        "RateSupport": f"{STATEMENT} [{rating}]",
    }
    return fields[role] if ask.schema else plain[role]


def _factual(true: bool) -> dict[str, dict[str, Any]]:
    """What FacTool's and Factcheck-GPT's tasks are answered with, in JSON."""
    check = {"reasoning": STATEMENT, "error": "None", "correction": "None", "quotes": [], "factuality": true}
    return {
        "WriteScepticalQueries": {"queries": ["bridge Orvell", "bridge 1889"]},
        "CheckFactuality": check,
        "JudgeWorthiness": {"reasoning": "", "checkworthy": "Yes"},
        "AskQuestions": {"questions": ["When was it opened?", "Where is the bridge?"]},
        "StateStance": {"reasoning": "", "stance": "support" if true else "refute"},
    }
