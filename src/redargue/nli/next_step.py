"""Chooses the next step of an agent that calls tools, by reading what its searches returned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from redargue.claims import Meaning
from redargue.evidence import Passage, Recalled, distinct_passages
from redargue.nli.backend import EmbeddedBackend, compose_answer, open_words, quotations_of
from redargue.tasks.answer import Answer
from redargue.tasks.query import OtherAnswer
from redargue.tasks.step import ActionTool, PastStep, Step, StepTask, ToolCall

_SURE = 0.6  # probability of a label at which the agent answers
_LONGEST_QUERY = 300  # characters


def next_step(task: StepTask, backend: EmbeddedBackend) -> Step:
    """Answers once the evidence makes it sure or no call is left to make; else makes the next call."""
    passages = passages_read(task.memory, task.steps)
    answer = compose_answer(task.claim, passages, backend)
    decided = answer.label is not None and task.claim.labels.meaning(answer.label) is not Meaning.NOT_ENOUGH
    sent_back = bool(task.steps and task.steps[-1].note)
    sure = decided and not sent_back and (answer.confidence is None or answer.confidence >= _SURE)
    call = None if sure and passages else next(_new_calls(task, passages, answer), None)
    if call is not None and task.step < task.last:
        return Step(thought="What was read does not settle the claim yet.", action=call)
    if answer.label is None and call is not None:
        return Step(thought="Nothing that was read speaks for a label.", action=call)
    if answer.label is None:
        return Step(thought=answer.text, action=ToolCall(name="none", reason="nothing is left to ask"))
    given = {"quotes": answer.quotes, "confidence": answer.confidence, **answer.noted}
    return Step(thought=answer.text, answer=answer.label, **given)


def passages_read(memory: Iterable[Recalled], steps: Iterable[PastStep]) -> tuple[Passage, ...]:
    passages = [item.passage for item in memory if item.status == "ok"]
    passages += [passage for step in steps for passage in step.passages]
    return distinct_passages(passages)


def _new_calls(task: StepTask, passages: tuple[Passage, ...], answer: Answer) -> Iterator[ToolCall]:
    """Calls not made so far: the claim with each tool, then its open words with names found, then its entities."""
    made = {(step.action.name, step.action.input) for step in task.steps if step.action}
    made |= {(item.passage.tool, str(given)) for item in task.memory for given in item.arguments.values()}
    titles = list(dict.fromkeys(passage.title for passage in passages if passage.title))[:2]
    for reason, query in _queries(task, answer):
        for tool in task.tools:
            parameter = _text_parameter(tool)
            texts = [query] if parameter == "query" else titles if parameter == "title" else []
            for text in texts:
                if text and (tool.name, text) not in made:
                    yield ToolCall(name=tool.name, reason=reason, input=text)


def _queries(task: StepTask, answer: Answer) -> Iterator[tuple[str, str]]:
    claim = task.claim.text
    yield "the claim itself", claim[:_LONGEST_QUERY]
    found = " ".join(quotations_of((OtherAnswer(agent="", text=answer.text),)))
    uncovered, new_names = open_words(claim, found)
    if new_names and uncovered:
        yield f"{new_names[0]} may lead on", " ".join([*new_names[:2], *uncovered])[:_LONGEST_QUERY]
    for entity in task.background.entities if task.background else ():
        yield "a part of the claim", entity[:_LONGEST_QUERY]


def _text_parameter(tool: ActionTool) -> str:
    """The meaning of the tool's one required text, "query" or "title"; empty where it takes anything else."""
    required = tool.parameters.get("required", [])
    fields = tool.parameters.get("properties", {})
    if len(required) != 1 or fields.get(required[0], {}).get("type") != "string":
        return ""
    return "title" if re.search("title|page|article", required[0]) else "query"
