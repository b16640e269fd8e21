"""ReAct: search, lookup, finish; the second call for a missing action; what happens to actions that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FEVER, OPTIONS, TWO, Claim
from redargue.errors import BadReply
from redargue.events import Stepped
from redargue.evidence import Passage
from redargue.llm import parsing
from redargue.llm.parsing import functions
from redargue.llm.rendering import Renderer, schema_of
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.react import ChooseAction, React, ReactSettings, ThinkAndAct, _text_of
from redargue.run import Run
from redargue.tasks.step import PastStep, Step, ToolCall
from redargue.tasks.template import read_examples, with_labels
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, ShelfTool

EXAMPLES = read_examples("redargue.methods.baselines.react")
pytestmark = pytest.mark.anyio
PAGE = (
    "Cape Ansel is a cape. The lamp was lit in 1871. It burned oil. In 1902 the lamp was replaced. It is white. A lamp."
)


def act(name: str, text: str = "") -> Step:
    return Step(thought="I look.", action=ToolCall(name=name, input=text))


def finish(label: str) -> Step:
    return Step(thought="It says so.", answer=label, quotes=("The lamp was lit in 1871.",))


async def episode(
    *steps: Any, alone: Any = (), tool: ShelfTool | None = None, claim: Claim = CLAIM, **settings: Any
) -> tuple[Verdict, list[ThinkAndAct], Run]:
    """The verdict and what the agent saw at each call."""
    backend = ScriptedBackend({ThinkAndAct: list(steps), ChooseAction: list(alone)})
    run = Run(backend, {"corpus": tool or ShelfTool("corpus", Passage(text=PAGE))}, clock=CLOCK)
    verdict = await ConfiguredMethod(React, ReactSettings(**settings)).verify(claim, run)
    return verdict, [task for task, _ in backend.calls if isinstance(task, ThinkAndAct)], run


def observed(task: ThinkAndAct) -> list[str]:
    return [step.note or step.problem or " ".join(each.text for each in step.passages) for step in task.steps]


async def test_thought_action_and_observation_until_finish() -> None:
    verdict, seen, run = await episode(act("search", "Cape Ansel"), finish("SUPPORTS"))
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "executor", 2)
    assert observed(seen[1]) == [PAGE[: PAGE.index(" A lamp.")]]  # five sentences of six
    assert [quote.found for quote in verdict.quotes] == [True]
    steps = [event for event in run.events if isinstance(event, Stepped)]
    assert [(step.tool, step.arguments, step.answer, step.problem) for step in steps] == [
        ("search", {"query": "Cape Ansel"}, None, ""),
        ("", {}, "SUPPORTS", ""),
    ]
    assert seen[1].rendered().input_text.splitlines() == [
        "Today is 2026-01-02.",
        f"Claim: <data>{CLAIM.text}</data>",
        "Thought 1: I look.",
        "Action 1: search[Cape Ansel]",
        "Observation 1: [1]",
        "<data>",
        f"{PAGE[: PAGE.index(' A lamp.')]} …",
        "</data>",
        "This is step 2 of 5; you have to finish on the last.",
    ]


async def test_lookup_walks_through_the_sentences_that_hold_a_word() -> None:
    looks = [act("lookup", "lamp") for _ in range(4)]
    _, seen, _ = await episode(act("search", "x"), *looks, finish("SUPPORTS"), max_steps=7)
    assert observed(seen[-1])[1:] == [
        "(Result 1 / 3) The lamp was lit in 1871.",
        "(Result 2 / 3) In 1902 the lamp was replaced.",
        "(Result 3 / 3) A lamp.",
        "No more results.",
    ]


async def test_another_word_and_another_search_begin_anew() -> None:
    steps = [act("search", "x"), act("lookup", "lamp"), act("lookup", "oil"), act("search", "y"), act("lookup", "oil")]
    _, seen, _ = await episode(*steps, finish("SUPPORTS"), max_steps=7)
    assert [each[:14] for each in observed(seen[-1])][1:3] == ["(Result 1 / 3)", "(Result 1 / 1)"]
    assert observed(seen[-1])[4] == "(Result 1 / 1) It burned oil."


async def test_there_is_nothing_to_look_up_before_a_search_or_where_it_found_nothing() -> None:
    tool = ShelfTool("corpus", failing=True)
    verdict, seen, _ = await episode(
        act("lookup", "x"), act("search", "y"), finish("REFUTES"), tool=tool, profile="paper"
    )
    assert observed(seen[-1]) == ["No more results.", "Could not find [y]."]  # REACT-3
    assert [(gap.query, gap.why) for gap in verdict.gaps] == [("y", "corpus answered 503")]


async def test_an_actions_text_may_stand_in_a_json_object() -> None:
    tool = ShelfTool("corpus")
    steps = act("search", '{"query": "x"}'), act("search", '["x"]'), finish("SUPPORTS")
    await episode(*steps, tool=tool, profile="paper")
    assert tool.queries == ["x", '["x"]']


@pytest.mark.parametrize("written", ["[" * 3_000, '{"query": "half a face \\ud83d"}'])
async def test_json_that_cannot_be_read_or_stored_is_an_actions_text(written: str) -> None:
    assert _text_of(ToolCall(name="Search", input=written)) == written


async def test_an_action_that_is_none_is_told_so_and_costs_a_step() -> None:
    _, seen, run = await episode(act("jump over it"), finish("SUPPORTS"), profile="paper")
    assert observed(seen[1]) == ["Invalid action: jump over it"]
    assert next(each.problem for each in run.events if isinstance(each, Stepped)) == "Invalid action: jump over it"


async def test_a_thought_without_an_action_is_asked_for_its_action() -> None:
    verdict, seen, _ = await episode(Step(thought="Hm."), alone=[finish("REFUTES")], profile="paper")
    assert [type(each).__name__ for each in seen] == ["ThinkAndAct", "ChooseAction"]
    assert isinstance(seen[1], ChooseAction)
    assert seen[1].rendered().input_text.endswith("Thought 1: Hm.\nAction 1:")
    assert (verdict.label, verdict.rounds) == ("REFUTES", 1)


async def test_react_2_an_agent_that_does_not_finish_gives_no_label() -> None:  # REACT-2
    unreadable = BadReply("there is no action", raw="…")
    verdict, seen, _ = await episode(*[act("search", "x")] * 4, unreadable)
    assert (verdict.label, verdict.rounds, len(seen)) == (None, 5, 5)
    verdict, seen, _ = await episode(unreadable, finish("SUPPORTS"), profile="paper")
    assert observed(seen[1]) == ["Invalid action."]


async def test_react_1_five_steps_in_the_paper_and_seven_in_the_program() -> None:  # REACT-1
    assert configure("react", "paper", {}).settings.max_steps == 5
    assert configure("react", "authors", {}).settings.max_steps == 7


def test_demonstrations_end_in_the_labels_of_the_claim() -> None:
    assert [line for line in with_labels(EXAMPLES, FEVER).splitlines() if "finish" in line] == [
        "Action 4: finish[SUPPORTS]",
        "Action 3: finish[REFUTES]",
        "Action 4: finish[NOT ENOUGH INFO]",
    ]
    assert with_labels(EXAMPLES, TWO).count("finish[") == 2
    assert with_labels(EXAMPLES, OPTIONS) == ""


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Thought 1: I look.\nAction 1: search[x]", act("search", "x")),
        ("I look.\nAction 1: Search[x]\nObservation 1: made up", act("search", "x")),
        ("Thought: I look.\nAction: lookup[x [y]]", act("lookup", "x [y]")),
        ("I look.\nAction 1: jump[x]", Step(thought="I look.", action=ToolCall(name="jump[x]"))),
        ("I look.\nAction 1:", Step(thought="I look.", action=ToolCall(name="(none)"))),
        ('{"thought": "I look.", "action": {"name": "search", "input": "x"}}', act("search", "x")),
        ("I look.\nAnd more.", Step(thought="I look.")),
        ("Thought 1: I look.\nAction 1: Finish[Supports]", Step(thought="I look.", answer="SUPPORTS")),
        ("I look.\nAction 1: finish[True]", Step(thought="I look.", answer="SUPPORTS")),
        ('{"action": {"name": "Finish", "input": "REFUTES"}}', Step(answer="REFUTES")),
        ('{"action": {"name": "finish", "input": "SUPPORTS"}, "answer": "REFUTES"}', None),
        ('{"action": {"name": "Lookup", "input": "x"}}', Step(action=ToolCall(name="lookup", input="x"))),
        # a page that says how to finish, and an agent that quotes it
        ("I read:\nAction 1: finish[SUPPORTS]\nNo.\nAction 1: search[x]", Step(thought="I read:")),
    ],
)
def test_how_a_step_in_the_papers_form_is_read(reply: str, expected: Step | None) -> None:
    task = ThinkAndAct(claim=CLAIM, profile="paper")
    if expected is None:
        with pytest.raises(ValueError, match="either an action or an answer"):
            Renderer().read(task, reply, plain=True)
        return
    assert Renderer().read(task, reply, plain=True) == expected


def test_finish_may_be_named_as_a_tool_in_json() -> None:
    given = {"thought": "It says so.", "reason": "", "quotes": []}
    for tool, text, label in (("finish", "REFUTES", ""), ("Finish", "", "REFUTES"), ("", "", "REFUTES")):
        reply = json.dumps({**given, "tool": tool, "input": text, "answer": label})
        read = Renderer().read(ThinkAndAct(claim=CLAIM), reply, plain=False)
        assert read == Step(thought="It says so.", answer="REFUTES")


def test_the_examples_have_the_form_of_the_reply_that_is_asked_for() -> None:
    examples = read_examples("redargue.methods.baselines.react", "examples_in_json")
    task = ThinkAndAct(claim=CLAIM, demonstrations=with_labels(examples, CLAIM.labels))
    replies = [line for line in task.rendered().instructions.splitlines() if line.startswith("{")]
    assert len(replies) == 11
    plain = Renderer(plain=True).prompt(task).user
    assert '{"' not in plain
    for reply in replies:
        step = Renderer().read(task, reply, plain=False)
        shown = task.plain_example(task.reply_type().model_validate_json(reply))
        assert shown in plain
        written = Renderer().read(task, shown, plain=True)
        assert isinstance(step, Step)
        assert written == step.model_copy(update={"quotes": (), "action": getattr(written, "action", None)})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Thought 1: I look.\nAction 1: search[x]", act("search", "x")),
        ("Thought: It says so.\nAction: finish[REFUTES]", Step(thought="It says so.", answer="REFUTES")),
    ],
)
def test_a_step_in_the_papers_form_is_read_where_json_was_asked_for(reply: str, expected: Step) -> None:
    assert Renderer().read(ThinkAndAct(claim=CLAIM), reply, plain=False) == expected


@pytest.mark.parametrize("reply", ["I would search.", "Thought: I look.\nAction: jump[x]"])
def test_anything_else_is_still_asked_for_again(reply: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        Renderer().read(ThinkAndAct(claim=CLAIM), reply, plain=False)


def test_a_document_keeps_its_number_in_later_observations() -> None:
    page = Passage(document="p", text="It burned oil.")
    steps = (PastStep(passages=(page,)), PastStep(passages=(Passage(document="q", text="Other."), page)))
    words = ThinkAndAct(claim=CLAIM, steps=steps, step=3).rendered().input_text
    assert "Observation 2: [2]" in words
    assert words.endswith("[1] again\nThis is step 3 of 5; you have to finish on the last.")
    last = ThinkAndAct(claim=CLAIM, steps=steps, step=5).rendered().input_text
    assert last.endswith("This is step 5 of 5; finish with the label now.")


def test_labels_and_words_are_the_same_in_every_form() -> None:
    task = ThinkAndAct(claim=CLAIM, demonstrations=with_labels(EXAMPLES, CLAIM.labels))
    assert schema_of(task)["properties"]["answer"]["enum"] == [*FEVER.names, ""]
    *_, answer = functions(task)
    assert answer["parameters"]["properties"]["answer"]["enum"] == list(FEVER.names)
    for words in (parsing.system_words(task), task.prompt_text()):
        assert task.demonstrations in words
        assert "You think, act and observe in turns" in words


async def test_react_4_three_documents_are_shown_or_one_as_in_the_paper() -> None:  # REACT-4
    tool = ShelfTool("corpus", *(Passage(text=f"Page {number}.") for number in range(4)))
    steps = act("search", "x"), finish("SUPPORTS")
    _, seen, _ = await episode(*steps, tool=tool, profile="paper")
    assert observed(seen[1]) == ["Page 0. Page 1. Page 2."]
    _, seen, _ = await episode(*steps, tool=tool, top_k=1, profile="paper")
    assert observed(seen[1]) == ["Page 0."]


@pytest.mark.parametrize("reply", ["", "Thought 1:", "I look.\nAction 1: finish[perhaps]", "\nObservation 1: x"])
def test_react_2_what_is_no_step_is_refused(reply: str) -> None:  # REACT-2
    with pytest.raises(ValueError):
        Renderer().read(ThinkAndAct(claim=CLAIM, profile="paper"), reply, plain=True)


@pytest.mark.parametrize("reply", ["search[x]", "Action 1: search[x]\nObservation 1: y", " Action: search[x]"])
def test_how_an_action_alone_is_read(reply: str) -> None:
    task = ChooseAction(claim=CLAIM, thought="I look.", profile="paper")
    assert Renderer().read(task, reply, plain=True) == act("search", "x")
