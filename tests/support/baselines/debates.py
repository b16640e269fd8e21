"""What tests know of the debates among the baselines: example tasks, a script, the loopback model's replies."""

from __future__ import annotations

import re
from typing import Any

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.methods.baselines.cfmad import (
    AnswerOption,
    ArgueStance,
    CriticiseStance,
    JudgeStances,
    RebutCritic,
    Thread,
)
from redargue.methods.baselines.mad import (
    Candidates,
    DebateTurn,
    DebateTurnOnEvidence,
    DecideDebate,
    DecideDebateOnEvidence,
    Decision,
    ListCandidates,
    ListCandidatesOnEvidence,
    ModerateRound,
    ModerateRoundOnEvidence,
    Ruling,
)
from redargue.methods.baselines.madke import (
    AnswerWithKnowledge,
    Consistency,
    EvidencePiece,
    JudgeConsistency,
    SelectEvidence,
    Selection,
    SummariseAnswers,
)
from redargue.methods.baselines.multi_agent_debate import SolveWithOthers, SolveWithOthersOnEvidence
from redargue.methods.baselines.reconcile import (
    AnswerSurely,
    AnswerSurelyOnEvidence,
    AnswerWithConfidence,
    Group,
)
from redargue.tasks.answer import Answer, Argument
from redargue.tasks.base import Exchange, Profile, Task
from redargue.tasks.query import OtherAnswer

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
PASSAGE = Passage(title="Cape Ansel", text="The lighthouse at Cape Ansel was first lit in 1871.")
EARLIER = (Exchange(prompt_text="Asked.", input_text="Asked.", reply="Said."),)
FOR, AGAINST = "It was lit in 1871.\n**SUPPORTS**", "It was lit in 1875.\n**REFUTES**"

EXAMPLES = "Question: Bees are birds.\nAnswer: They have six legs. [REFUTES]"
SAMPLE = 'Q: Bees are birds.\nA: {"reasoning": "They have six legs.", "answer": "REFUTES"}'
OTHERS = (OtherAnswer(agent="agent-2", text=FOR), OtherAnswer(agent="agent-3", text=AGAINST))

THREADS = (
    Thread(stance="SUPPORTS", argument="It is.", criticism="It is not.", rebuttal="But it is."),
    Thread(stance="REFUTES", argument="It is not.", criticism="It is.", rebuttal="But it is not."),
)


def sure(label: str, confidence: float, reasoning: str = "It says so.") -> AnswerWithConfidence:
    """An answer with that confidence."""
    return AnswerWithConfidence(reasoning=reasoning, answer=label, confidence_level=confidence)


GROUPS = (
    Group(answer="SUPPORTS", given=(sure("SUPPORTS", 0.9), sure("SUPPORTS", 0.5))),
    Group(answer="REFUTES", given=(sure("REFUTES", 1.0, "It was 1875."),)),
)


def examples(profile: Profile) -> dict[str, Task[Any]]:
    """One task of each kind, for its golden prompt."""
    shown: dict[str, Any] = {"claim": CLAIM, "profile": profile}
    seen: dict[str, Any] = {**shown, "passages": (PASSAGE,)}
    sides = {"affirmative": FOR, "negative": AGAINST}
    return {
        "DebateTurn": DebateTurn(**shown, opponent=FOR),
        "DebateTurnOnEvidence": DebateTurnOnEvidence(**seen),
        "ModerateRound": ModerateRound(**shown, number=1, **sides),
        "ModerateRoundOnEvidence": ModerateRoundOnEvidence(**seen, number=2, before=EARLIER, **sides),
        "ListCandidates": ListCandidates(**shown, **sides),
        "ListCandidatesOnEvidence": ListCandidatesOnEvidence(**seen, **sides),
        "DecideDebate": DecideDebate(**shown, before=EARLIER),
        "DecideDebateOnEvidence": DecideDebateOnEvidence(**seen, before=EARLIER),
        "SolveWithOthers": SolveWithOthers(**shown, before=EARLIER, solutions=OTHERS),
        "SolveWithOthersOnEvidence": SolveWithOthersOnEvidence(**seen),
        "AnswerSurely": AnswerSurely(**shown, samples=SAMPLE),
        "AnswerSurelyOnEvidence": AnswerSurelyOnEvidence(**seen, groups=GROUPS),
        "AnswerOption": AnswerOption(**seen),
        "ArgueStance": ArgueStance(**seen, stance="SUPPORTS"),
        "CriticiseStance": CriticiseStance(**seen, stance="SUPPORTS", argument=FOR),
        "RebutCritic": RebutCritic(**seen, stance="REFUTES", argument=AGAINST, criticism=FOR, asked="REFUTES"),
        "JudgeStances": JudgeStances(**seen, threads=THREADS),
        "SelectEvidence": SelectEvidence(**shown, pool=(PASSAGE, PASSAGE), own=FOR),
        "AnswerWithKnowledge": AnswerWithKnowledge(**seen, others=OTHERS[1:], own=FOR, examples=EXAMPLES),
        "JudgeConsistency": JudgeConsistency(**shown, answers=OTHERS),
        "SummariseAnswers": SummariseAnswers(**shown, answers=OTHERS, example=EXAMPLES),
    }


def said(label: str | None) -> Answer:
    """An answer with that label."""
    return Answer(text=f"I think so.\n**{label}**", label=label)


def ruled(answer: str) -> Ruling:
    """A ruling with that answer; the debate goes on where it is empty."""
    side = {"SUPPORTS": "affirmative", "REFUTES": "negative"}.get(answer, "")
    return Ruling(preference=bool(answer), supported_side=side, reason="They said so.", debate_answer=answer)


def first(task: Any) -> str:
    """The first label of a task's claim."""
    name: str = task.claim.labels.names[0]
    return name


SCRIPT: dict[Any, Any] = {  # for ``ScriptedBackend``: a task type and its answer, or a function (task, call) -> answer
    DebateTurn: lambda task, call: said(first(task)),
    ModerateRound: lambda task, call: ruled(first(task)),
    ListCandidates: Candidates(candidates=("one", "the other")),
    JudgeStances: lambda task, call: said(first(task)),
    SolveWithOthers: lambda task, call: said(first(task)),
    AnswerSurely: lambda task, call: sure(first(task), 0.9),
    ArgueStance: Argument(text="It is as I say.", quotes=()),
    CriticiseStance: Argument(text="It is not as you say.", quotes=()),
    RebutCritic: Argument(text="You are wrong.", quotes=()),
    SelectEvidence: Selection(pieces=(EvidencePiece(number=1),)),
    JudgeConsistency: Consistency(consistent="yes"),
    SummariseAnswers: lambda task, call: said(first(task)),
    DecideDebate: lambda task, call: Decision(reason="The first was right.", debate_answer=first(task)),
}
SIGNS: dict[str, str] = {  # words in a plain prompt, and the task that has them
    "round of the debate has ended": "ModerateRound",
    "Which answers are in question now": "ListCandidates",
    "Sum up your reasons, and give the answer": "DecideDebate",
    "the label alone and in bold": "SolveWithOthers",
    "Choose the pieces of evidence": "SelectEvidence",
    "Put your answer in the form [answer]": "AnswerWithKnowledge",
    "say whether all of them answer the question": "JudgeConsistency",
    "Sum up the final answer": "SummariseAnswers",
    "Also say how sure you are": "AnswerSurely",
    "You have heard both sides": "JudgeStances",
    "Play the part of the fact checker": "RebutCritic",
    "The assistant's answer may be wrong": "CriticiseStance",
    "Understand the evidence and the claim fully": "ArgueStance",
    "Give your own answer, and your reasons": "DebateTurn",
    "Do you agree with that view": "DebateTurn",
    "Which of these is right": "DebateTurn",
}


def reply(role: str, ask: Any, label: str) -> dict[str, Any] | str | None:
    """The loopback model's reply to a task, in JSON (``ask.schema``) or plainly; None: not one of these tasks."""
    chosen = _label(ask, label)
    match role.removesuffix("OnEvidence"):
        case "DebateTurn" | "SolveWithOthers" | "JudgeStances":
            return _answer(ask, chosen)
        case "AnswerWithKnowledge" | "SummariseAnswers":
            named = re.findall(r"\[([A-Za-z][\w /]+)\]", ask.user)
            return _answer(ask, chosen) if ask.schema else f"They say so. [{named[-1 if 'Sum up' in ask.user else 0]}]"
        case "AnswerSurely":
            sureness = {"reasoning": "The evidence says it.", "answer": chosen, "confidence_level": "90%"}
            return {**sureness, "confidence_level": 0.9, "quotes": []} if ask.schema else sureness
        case "ArgueStance" | "CriticiseStance" | "RebutCritic":
            return {"text": "The evidence says it.", "quotes": []} if ask.schema else "The evidence says it."
        case "SelectEvidence":
            return {"pieces": [{"number": 1}]} if ask.schema else "The first piece helps: [1]"
        case "JudgeConsistency":
            return {"reason": "", "consistent": "yes"} if ask.schema else "All say the same. [Yes]"
        case "ModerateRound":
            if ask.schema:
                given = {"preference": True, "supported_side": "affirmative", "reason": "They said so."}
                return {**given, "debate_answer": chosen}
            given = {"Whether there is a preference": "Yes", "Supported Side": "Affirmative", "Reason": "So it is."}
            return {**given, "debate_answer": chosen}
    return None


def _answer(ask: Any, label: str) -> dict[str, Any] | str:
    if ask.schema:
        given = {"reasoning": "The evidence says it.", "quotes": [], "open": "", "label": label}
        return {name: given[name] for name in ask.schema["properties"]}
    return f"The evidence says it.\n**{label}**"


def _label(ask: Any, label: str) -> str:
    """The first label that schema or prompt names, or the second one for a false claim."""
    if ask.schema:
        fields = ask.schema["properties"]
        lists = (fields[name].get("enum") for name in ("label", "debate_answer", "answer") if name in fields)
        named = [each for each in next(lists, None) or () if each]
    else:
        words = "\n".join(str(each["content"]) for each in ask.messages)
        named = re.findall(r"\*\*([\w /]+)\*\* \(", words.rpartition("Which of these is right")[2])
    return str(named[min(label == "REFUTES", len(named) - 1)]) if named else label
