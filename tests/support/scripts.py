"""What the loopback server's models say: debates whose course is known beforehand.

The model's name says who speaks: ``for-…`` finds the claim right, ``against-…`` wrong; anybody else is for it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from support import baselines
from support.loopback import Ask, Calls

Said = dict[str, Any] | str | Calls | None
STATEMENT = "The bridge at Orvell was opened in 1889."


def agreeing(ask: Ask) -> Said:
    """Every debater says the same, and everything it says is borne out."""
    return _reply(ask, label="SUPPORTS", verdict=1)


def doubtful(ask: Ask) -> Said:
    """Every debater says the same, and nothing of it is borne out: no round passes the thresholds."""
    return _reply(ask, label="SUPPORTS", verdict=0)


def disagreeing(ask: Ask) -> Said:
    """The debaters contradict each other to the end."""
    return _reply(ask, label="REFUTES" if ask.model.startswith("against") else "SUPPORTS", verdict=1)


ALWAYS: dict[str, dict[str, Any]] = {
    "WriteTeamQueries": {"support": "bridge Orvell opened", "refute": "bridge Orvell 1889"},
    "AnalyseText": dict.fromkeys(("phrases", "common_sense", "bias", "language", "summary"), "nothing to say"),
    "WriteStatements": {"statements": [STATEMENT]},
    "WriteQuestion": {"question": STATEMENT, "noncommittal": 0},
    "WriteQuestions": {"questions": [STATEMENT], "noncommittal": 0},
    "WriteKeywords": {"keywords": ["bridge", "Orvell"]},
    "SummariseAbstract": {"summary": STATEMENT},
}


def _reply(ask: Ask, *, label: str, verdict: int) -> Said:
    role = ask.role or _opening(ask.system) or _role(ask.user)
    match role:
        case "WriteQuery":
            return {"query": "bridge Orvell opened"} if ask.schema else "[bridge Orvell opened]"
        case "RewriteQuery":  # a new query in each round, so that every round searches
            query = f"bridge Orvell opened {len(ask.user)}"
            return {"keep": False, "query": query} if ask.schema else f"[{query}]"
        case "AnswerClaim" | "DoubtClaim" | "JudgeDebate" | "ForceAnswer":
            named = _labels(ask)
            chosen = named[min(label == "REFUTES", len(named) - 1)]
            if not ask.schema:
                return f"The document says it. {STATEMENT}\n**{chosen}**"
            return {"reasoning": f"The document says it. {STATEMENT}", "quotes": _quotes(ask.user), "label": chosen}
        case "ReadClaims" | "DoubtClaims":
            return _read(ask, label)
        case "CheckStatements" | "ScoreAnswer":
            return _scored(role, ask, verdict)
        case "CheckConsensus":
            return {"agree": verdict, "answer": "1889" if verdict else ""}
        case "DecomposeClaim" | "NextStep":
            return _acting(ask, label)
        case "Rebut" | "SummariseTeam" | "SpeakForTeam" | "JudgeTeams" | "GiveOpinion":
            return _arguing(role, ask, label)
    said = ALWAYS.get(role) or baselines.reply(role, ask, label) or _of_sentences(role, ask.user)
    if isinstance(said, dict) and said.get("quotes") == []:
        return said | {"quotes": _quotes(ask.user)}
    return said


def _read(ask: Ask, label: str) -> dict[str, Any]:
    """The same of each claim."""
    items = ask.schema["properties"]["readings"]["items"] if ask.schema else {}
    item = (ask.schema or {}).get("$defs", {}).get("ClaimReading", items)
    named = item["properties"]["label"]["enum"]
    chosen = named[min(label == "REFUTES", len(named) - 1)]
    reading = {"document": 1, "quotes": _quotes(ask.user), "comparison": "The document says it.", "label": chosen}
    claims = re.findall(r"(?m)^\[(\d+)\]", ask.user.rpartition("Claims:")[2])
    return {"readings": [{"claim": int(number), **reading} for number in claims]}


def _scored(role: str, ask: Ask, verdict: int) -> dict[str, Any]:
    item = {"statement": STATEMENT, "reason": "it says so", "verdict": verdict}
    if role == "ScoreAnswer":
        return {"statements": [item], "questions": [STATEMENT], "noncommittal": 0}
    if '"verdicts"' in ask.system + ask.user or "verdicts" in (ask.schema or {}).get("properties", {}):
        return {"verdicts": [{"number": 1, "reason": "it says so", "verdict": verdict}]}
    return {"statements": [item]}


def _arguing(role: str, ask: Ask, label: str) -> dict[str, Any]:
    """What a team says, a referee's judgement, or an opinion."""
    if role == "JudgeTeams":
        scores = {f"{side}_{each}": 0.5 for side in ("affirmative", "negative") for each in DIMENSIONS}
        vote = "negative" if label == "REFUTES" else "affirmative"
        return {"reason": STATEMENT, **scores, "vote": vote, "confidence": 0.9}
    if role == "GiveOpinion":
        said: dict[str, Any] = {"opinion": STATEMENT, "factuality": label != "REFUTES", "severity": 0}
        return said | {"quotes": _quotes(ask.user)}
    spoken = {"concedes": False} if role == "SpeakForTeam" else {}
    return {"text": STATEMENT, "quotes": _quotes(ask.user), **spoken}


def _acting(ask: Ask, label: str) -> dict[str, Any] | Calls:
    """A triplet; a search, and an answer once the history holds an observation."""
    if "knowledge triplets" in ask.system + ask.user:
        triplet = {"subject": "bridge", "relation": "opened in", "object": "1889", "attributes": ""}
        return {"triplets": [triplet], "topics": ["bridges"]}
    answer = "False" if label == "REFUTES" else "True"
    seen = "Observation:" in ask.user
    if functions := [each["function"] for each in ask.body.get("tools", ())]:
        return _calling(functions, answer if seen else "", ask.user)
    if not ask.schema:
        action = {"name": "corpus", "reason": "to read", "input": "bridge Orvell opened"}
        return {"thought": STATEMENT} | ({"answer": answer} if seen else {"action": action})
    reply = {"thought": STATEMENT, "tool": "", "reason": "", "input": "", "answer": "", "quotes": []}
    if not seen:
        return reply | {"tool": ask.schema["properties"]["tool"]["enum"][0], "input": "bridge Orvell opened"}
    offered = ask.schema["properties"]["answer"]["enum"]
    return reply | {"answer": answer if answer in offered else offered[0], "quotes": _quotes(ask.user)}


def _calling(offered: list[dict[str, Any]], answer: str, user: str) -> Calls:
    """A call of the first function, or, with an answer, of the last."""
    if not answer:
        return Calls(((offered[0]["name"], {"query": "bridge Orvell opened"}),))
    words = offered[-1]["parameters"]["properties"]["answer"]["enum"]
    answer = answer if answer in words else words[0]
    return Calls(((offered[-1]["name"], {"thought": STATEMENT, "quotes": _quotes(user), "answer": answer}),))


DIMENSIONS = ("evidence", "logic", "neutrality", "persuasiveness")
SIGNS = {  # of prompts in the papers' own form, which name no task
    "stay with the query": "RewriteQuery",
    "keep your last query": "RewriteQuery",
    "Write one query with which": "WriteQuery",
    "You are choosing your query: ": "RewriteQuery",  # as printed:tool-mad has it
    "You are choosing your first query": "WriteQuery",
    "extract the knowledge triplets": "DecomposeClaim",
    "You verify a claim in steps": "NextStep",
    "You verified a claim in steps": "ForceAnswer",
    "You gather information for a team": "WriteTeamQueries",
    "You analyse a text for a team": "AnalyseText",
    "You rebut for a team": "Rebut",
    "You speak for one of two teams that debate a claim, and": "SpeakForTeam",
    "You summarise for a team": "SummariseTeam",
    "You referee a debate": "JudgeTeams",
    "how grave its error is": "GiveOpinion",
    "Extract the keywords": "WriteKeywords",
    "Summarise a paper": "SummariseAbstract",
    "Write the query": "WriteQuery",
    "You judge a debate": "JudgeDebate",
    "must be given on the last line": "AnswerClaim",
    "irst explain from the document": "AnswerClaim",
    "name documents by their numbers": "AnswerClaim",
    "Break each sentence": "WriteStatements",
    "Break an answer about": "WriteStatements",
    "For each statement": "CheckStatements",
    "Check an answer about a claim": "ScoreAnswer",
    "Write three different questions": "WriteQuestions",
    "Write a question": "WriteQuestion",
    "answered the same question": "CheckConsensus",
    "Extract every claim": "ExtractClaims",
    "sentences of a reply": "MarkOpinions",
}


GOLDEN = Path(__file__).parents[1] / "llm" / "golden"


@cache
def _instructions() -> dict[str, list[tuple[str, frozenset[str]]]]:
    """By the first line of their instructions, the tasks and all lines that they may have."""
    known: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for path in sorted(GOLDEN.glob("*.*.txt")):
        lines = path.read_text(encoding="utf-8").partition("\n--- user ---")[0].split("\n")[1:]
        known.setdefault(lines[0], []).append((path.name.partition(".")[0], frozenset(lines)))
    return known


def _opening(system: str) -> str:
    """The task of a prompt that asks for JSON without a schema, by its instructions; empty for any other."""
    if not re.search(r"(?m)^Reply with one JSON object and nothing else", system):
        return ""
    lines = system.split("\n")
    candidates = _instructions().get(lines[0], [("", frozenset())])
    return max(candidates, key=lambda known: len(known[1].intersection(lines)))[0]


def _role(prompt: str) -> str:
    return next((role for sign, role in (baselines.SIGNS | SIGNS).items() if sign in prompt), "")


def _of_sentences(role: str, prompt: str) -> dict[str, Any] | None:
    """Every sentence is a claim; what is loved is opinion."""
    numbered = re.findall(r"(?m)^\[(\d+)\] (.+)$", prompt.partition("Sentences: ")[2])
    if role == "ExtractClaims":
        return {"claims": [{"sentence": int(at), "claim": text} for at, text in numbered]}
    if role == "MarkOpinions":
        return {"marks": [{"sentence": int(at), "subjective": int("love" in text)} for at, text in numbered]}
    return None


def _labels(ask: Ask) -> list[str]:
    """The labels that may be given, in their order."""
    if ask.schema:
        field = ask.schema["properties"]["label"]
        return list(field.get("enum", ["1889"]))
    last_line = re.search(r"alone on the last line(?:, in bold)?: (.+)", ask.user)
    named = re.findall(r"\*\*(.+?)\*\*", last_line[1] if last_line else "")
    return named or re.findall(r"output \*\*(.+?)\*\*", ask.user) or ["1889"]


def _quotes(prompt: str) -> list[str]:
    """The first sentence of the first document in a prompt."""
    first = re.search(r"\[D?1\](?: \([^)\n]*\))?\n<data>\n(.*?)</data>", plain_fences(prompt), re.DOTALL)
    lines = [line for line in first[1].splitlines() if line.strip()] if first else []
    return [lines[-1].split(". ")[0].rstrip(".") + "."] if lines else []


def plain_fences(text: str) -> str:
    """A request's text with the fences of the rendered prompt: without the word that only this request has."""
    rule = ("<data-WORD> and </data-WORD>, with one WORD for the whole message,", "<data> and </data>")
    return re.sub(r"<(/?)data-[a-z]{10}>", r"<\1data>", text.replace(*rule))
