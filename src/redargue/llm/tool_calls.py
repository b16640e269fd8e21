"""A step asked for as a call of a function: what is offered, and how what came back is read.

In the paper an agent replies with one JSON object (MERMAID, appendix A.2). Here each of its tools is a function with
its own JSON schema, in the way of OpenAI's endpoint, and one function more gives the answer. What was done before
stands in the message as text, as in the paper: endpoints refuse a conversation with calls in it that are broken, or
that they have not signed.

A step is one action, for Algorithm 1 counts steps and the paper's tables count calls. So endpoints are asked for one
call a reply; where several come all the same, the first is made, and the agent is told of those that were not.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import ValidationError

from redargue.llm.parsing import first_error, one, quoted
from redargue.llm.response import Called, Choice
from redargue.tasks.base import lines, list_bounds, max_length
from redargue.tasks.step import ActionTool, Step, StepTask, ToolCall, label_alone

ANSWER = "give_final_answer"
LONGEST_NAME, LONGEST_ABOUT = 64, 1_024  # characters that OpenAI's endpoint takes


def functions(task: StepTask) -> tuple[dict[str, Any], ...]:
    """The task's tools in their order, and the one that gives the answer."""
    names = {own: name for name, own in names_of(task.tools).items()}
    return (*(_function(names[each.name], each.about, each.parameters) for each in task.tools), _answer_function(task))


def names_of(tools: tuple[ActionTool, ...]) -> dict[str, str]:
    """Tools' own names by those that endpoints take: letters, digits, ``_`` and ``-``, 64 at most, each once."""
    own = list(dict.fromkeys(each.name for each in tools))
    fit = {name: re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:LONGEST_NAME] or "_" for name in own}
    found: dict[str, str] = {}
    for name in sorted(own, key=lambda each: fit[each] != each):  # a name that can be taken stays its tool's
        taken, number = fit[name], 1
        while taken in found or taken == ANSWER:
            number += 1
            taken = f"{fit[name][: LONGEST_NAME - len(str(number)) - 1]}_{number}"
        found[taken] = name
    return found


def words(task: StepTask) -> str:
    """The system message: the task's rules, and what the functions have no room for."""
    names = {own: name for name, own in names_of(task.tools).items()}
    return lines(
        f"Task: {task.name()}.",
        task.rendered(task.rules()).instructions,
        f"Say why in a sentence, and call one function: one of the tools, or {ANSWER}.",
        *(f"{names[each.name]}: {each.about}" for each in task.tools if len(each.about) > LONGEST_ABOUT),
    )


def step_of(task: StepTask, choice: Choice) -> Step:
    """The step that a reply takes.

    Raises:
        ValueError: none, or none that can be read; says what is wrong, as it can be said to the model.
    """
    calls = tuple(dict.fromkeys(choice.calls))
    if not calls:
        return task.validate_answer(_spoken(task, choice.text))
    if any(each.name == ANSWER for each in calls):
        if len(calls) > 1:
            raise ValueError(f"{ANSWER} is called, and something else beside it")
        return task.validate_answer(_answer(calls[0]))
    if not calls[0].name:
        raise ValueError("a function is called that has no name")
    names = names_of(task.tools)
    actions = [ToolCall(name=names.get(each.name, each.name), input=each.arguments) for each in calls]
    first = ToolCall(name=actions[0].name, input=json.dumps(_arguments(calls[0]), ensure_ascii=False, sort_keys=True))
    return task.validate_answer(Step(thought=choice.text.strip(), action=first, unmade=tuple(actions[1:])))


def _function(name: str, about: str, parameters: dict[str, Any]) -> dict[str, Any]:
    shown = about if len(about) <= LONGEST_ABOUT else about[: LONGEST_ABOUT - 1] + "…"
    return {"name": name, "description": shown, "parameters": {"type": "object", "properties": {}} | parameters}


def _answer_function(task: StepTask) -> dict[str, Any]:
    offered = task.answers()
    quotes = "what it rests on, copied word for word from the history"
    properties: dict[str, Any] = {
        "thought": {"type": "string", "description": "your reasoning"} | max_length(1_000),
        "quotes": {"type": "array", "description": quotes} | list_bounds(6, 400),
        "answer": {"type": "string", "description": "your final answer"} | ({"enum": list(offered)} if offered else {}),
    }
    parameters = {"properties": properties, "required": list(properties), "additionalProperties": False}
    return _function(ANSWER, "Gives your final answer to the claim and ends the steps.", parameters)


def _answer(call: Called) -> Step:
    given = _arguments(call)
    if "answer" not in given or given.keys() - {"thought", "quotes", "answer"}:
        raise ValueError(f"{ANSWER} takes thought, quotes and answer, not {', '.join(given) or 'nothing'}")
    try:
        step = Step.model_validate(given)
    except ValidationError as error:
        raise ValueError(f"{ANSWER}: {first_error(error)}") from None
    return step.model_copy(update={"quotes": tuple(dict.fromkeys(text for e in step.quotes if (text := e.strip())))})


def _arguments(call: Called) -> dict[str, Any]:
    """The arguments; whether they fit the tool is for the tool to say."""
    decoder = json.JSONDecoder(strict=False)  # small models break lines inside strings; nothing is ambiguous in that
    try:
        given = decoder.decode(call.arguments.strip() or "{}")
        json.dumps(given, ensure_ascii=False).encode()  # half a surrogate pair can be neither sent nor kept
    except (ValueError, RecursionError):
        raise ValueError(f"the arguments of {call.name} are no JSON: {call.arguments[:60]!r}") from None
    if not isinstance(given, dict):
        raise ValueError(f"the arguments of {call.name} are no JSON object: {call.arguments[:60]!r}")
    return given


def _spoken(task: StepTask, text: str) -> Step:
    """A step in words, where no function was called: in the paper's own form, or an answer alone on the last line.

    Raises:
        ValueError: it is neither.
    """
    labels, said = task.claim.labels, [line.strip() for line in text.splitlines() if line.strip()]
    if said and label_alone(labels, said[-1]):
        return Step(thought="\n".join(said[:-1]), answer=said[-1], quotes=quoted(text))
    try:
        step = one(text, Step, task.rendered().input_text)
    except ValueError as error:
        raise ValueError(f"no function was called ({error})") from None
    assert isinstance(step, Step)
    return step
