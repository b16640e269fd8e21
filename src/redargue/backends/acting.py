"""The embedded backend's roles in MERMAID: taking a claim apart, the next step, the last answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend, names_in, play, say, words
from redargue.nli.open_ie import decompose
from redargue.tasks.answer import Answer
from redargue.tasks.decompose import DecomposeClaim, Decomposition
from redargue.tasks.step import ActionTool, ForceAnswer, NextStep, Step, ToolCall

SURE = 0.6  # the probability of a label at which an agent stops asking


@play.register
def _decompose(task: DecomposeClaim, mind: EmbeddedBackend) -> Decomposition:
    """By the sentence's own verbs and prepositions."""
    return decompose(task.claim.text)


@play.register
def _next_step(task: NextStep, mind: EmbeddedBackend) -> Step:
    """Answers once what it has read makes it sure, or nothing is left to ask; else asks the next thing."""
    passages = _read(task)
    answer = say(task.claim, mind.reader.read(task.claim.text, passages), passages, mind)
    decided = answer.label is not None and task.claim.labels.meaning(answer.label) is not Meaning.NOT_ENOUGH
    sure = decided and (answer.confidence is None or answer.confidence >= SURE)
    call = None if sure and passages else next(_untried(task, passages, answer), None)
    if call is not None and task.step < task.last:
        return Step(thought="What was read does not settle the claim yet.", action=call)
    if answer.label is None and call is not None:
        return Step(thought="Nothing that was read speaks for a label.", action=call)
    if answer.label is None:
        return Step(thought=answer.text, action=ToolCall(name="none", reason="nothing is left to ask"))
    return Step(thought=answer.text, answer=answer.label, quotes=answer.quotes, confidence=answer.confidence)


@play.register
def _force_answer(task: ForceAnswer, mind: EmbeddedBackend) -> Answer:
    """Reads all that was found once more."""
    passages = _read(task)
    return say(task.claim, mind.reader.read(task.claim.text, passages), passages, mind)


def _read(task: NextStep | ForceAnswer) -> tuple[Passage, ...]:
    """What was remembered and found, each text once."""
    every = [item.passage for item in task.memory if item.status == "ok"]
    every += [passage for step in task.steps for passage in step.passages]
    return tuple({each.sha256: each for each in every}.values())


def _untried(task: NextStep, passages: tuple[Passage, ...], answer: Answer) -> Iterator[ToolCall]:
    """Calls that were not made: the claim's own words with each tool, then what is open with the names found so far."""
    made = {(step.action.name, step.action.input) for step in task.steps if step.action}
    made |= {(item.passage.tool, item.passage.query) for item in task.memory}
    for reason, query in _queries(task, answer):
        for tool in task.tools:
            wanted = _takes(tool)
            texts = [query] if wanted == "query" else _titles(passages) if wanted == "title" else []
            for text in texts:
                if text and (tool.name, text) not in made:
                    yield ToolCall(name=tool.name, reason=reason, input=text)


def _queries(task: NextStep, answer: Answer) -> Iterator[tuple[str, str]]:
    claim = task.claim.text
    yield "the claim itself", claim[:300]
    said = " ".join(answer.quotes)
    covered = {word.lower() for word in words(said)}
    still_open = [word for word in words(claim) if word.lower() not in covered]
    bridges = [name for name in names_in(said) if name.lower() not in claim.lower()]
    if bridges and still_open:
        yield f"{bridges[0]} may lead on", " ".join([*bridges[:2], *still_open])[:300]
    for entity in task.background.entities if task.background else ():
        yield "a part of the claim", entity[:300]


def _takes(tool: ActionTool) -> str:
    """What the tool's one required text is: a query, a title; empty where it needs something else."""
    required = tool.parameters.get("required", [])
    fields = tool.parameters.get("properties", {})
    if len(required) != 1 or fields.get(required[0], {}).get("type") != "string":
        return ""
    return "title" if re.search("title|page|article", required[0]) else "query"


def _titles(passages: tuple[Passage, ...]) -> list[str]:
    return list(dict.fromkeys(each.title for each in passages if each.title))[:2]
