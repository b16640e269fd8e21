"""What tests know of the searching among the baselines: example tasks, a script, the loopback model's replies."""

from __future__ import annotations

from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.tasks.base import Profile, Task
from redargue.tasks.searching import FinalAnswer, GiveFinalAnswer, Move, SearchOrAnswer, SearchResult

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
LIT = "The lighthouse at Cape Ansel was first lit in 1871."
RESULT = SearchResult(query="Cape Ansel lit", passages=(Passage(title="Cape Ansel", text=LIT),))
STATEMENT = "The bridge at Orvell was opened in 1889."


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind, for its golden prompt."""
    return {
        "SearchOrAnswer": SearchOrAnswer(claim=CLAIM, results=(RESULT,), diverse=True, profile=profile),
        "GiveFinalAnswer": GiveFinalAnswer(claim=CLAIM, results=(RESULT,), profile=profile),
    }


def _move(task: SearchOrAnswer, call: Any) -> Move:
    """A query first, then the answer."""
    return Move(final_answer="True", quotes=(LIT,)) if task.results else Move(search_query="lighthouse lit")


SCRIPT: dict[Any, Any] = {  # for ``ScriptedBackend``: a task type and its answer, or a function (task, call) -> answer
    SearchOrAnswer: _move,
    GiveFinalAnswer: FinalAnswer(final_answer="True", quotes=(LIT,)),
}
SIGNS: dict[str, str] = {  # words in a plain prompt, and the task that has them
    "If you are sure, give your final answer": "SearchOrAnswer",
    "Then you have to decide": "GiveFinalAnswer",
}


def reply(role: str, ask: Any, label: str) -> dict[str, Any] | str | None:
    """The loopback model's reply to a task, in JSON (``ask.schema``) or plainly; None: not one of these tasks."""
    true = "False" if label == "REFUTES" else "True"
    match role:
        case "SearchOrAnswer":
            known = "N/A" not in ask.user
            said = (
                {"final_answer": true, "search_query": ""} if known else {"final_answer": "", "search_query": "Orvell"}
            )
            return {"reasoning": STATEMENT, "quotes": [], **said} if ask.schema else said
        case "GiveFinalAnswer":
            return {"reasoning": STATEMENT, "quotes": [], "final_answer": true}
    return None
