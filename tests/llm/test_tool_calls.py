"""Steps as calls of functions: what is offered, what is read and what is sent back, and whole runs that replay."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.backends import Call, Reply
from redargue.claims import FREE_TEXT, TWO, Claim
from redargue.errors import BadReply, UsageError
from redargue.events import CallFinished, Stepped, canonical
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.llm.client import most_tokens
from redargue.llm.parsing import ANSWER, functions, names_of, system_words
from redargue.llm.rendering import Prompts
from redargue.llm.response import read_response
from redargue.methods.mermaid.tasks import NextStep
from redargue.net.secrets import Secrets
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import Search
from redargue.runs.record import read_events
from redargue.tasks.query import WriteQuery
from redargue.tasks.step import ActionTool, Step, ToolCall
from redargue.verifier import Verifier
from support.debates import CLOCK, QUOTE, ShelfTool
from support.loopback import Ask, Behaviour, Calls, Loopback, Raw
from support.scripts import agreeing, plain_fences

pytestmark = pytest.mark.anyio

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.", labels=TWO)
SEARCH = ActionTool(
    name="search",
    about="finds pages",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
TASK = NextStep(claim=CLAIM, tools=(SEARCH,))
ASKED = Calls((("search", {"query": "Cape Ansel"}),))
ANSWERED = Calls(((ANSWER, {"thought": "It says so.", "quotes": [QUOTE, " "], "answer": "True"}),))
STEP = Step(action=ToolCall(name="search", input='{"query": "Cape Ansel"}'))


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture
def server(running: Loopback) -> Loopback:
    running.behaviour, running.script = Behaviour(), lambda ask: ASKED
    running.reset()
    return running


@asynccontextmanager
async def chat(server: Loopback, key: str = "", **options: Any) -> AsyncIterator[ChatBackend]:
    async with Transport(secrets=Secrets(), patience=0) as transport:
        service = Service(name="model", url=f"{server.url}/v1", key=key)
        yield ChatBackend(transport, service, "m", **({"form": "tools"} | options))


def replying(server: Loopback, *answers: Any) -> None:
    """The answers in their order, the last one again and again."""
    left = list(answers)
    server.script = lambda ask: left.pop(0) if len(left) > 1 else left[0]


def bodies(server: Loopback) -> list[dict[str, Any]]:
    return [each.body for each in server.requests if each.route == "chat"]


async def asked(server: Loopback, *answers: Any, task: NextStep = TASK, **options: Any) -> Reply[Step]:
    """What comes of a step where the model says this."""
    replying(server, *answers)
    async with chat(server, **options) as backend:
        return await backend.perform(task, Call(agent="executor"))


async def step(server: Loopback, *answers: Any, **options: Any) -> Step:
    return (await asked(server, *answers, **options)).outputs[0].answer


def raw(**message: Any) -> Raw:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "tool_calls"}
    return Raw(200, json.dumps({"choices": [choice]}).encode())


def streamed(*deltas: Mapping[str, Any]) -> Raw:
    choices: list[dict[str, Any]] = [{"index": 0, "delta": each, "finish_reason": None} for each in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    lines = [f"data: {json.dumps({'choices': [each]})}\n\n" for each in choices]
    return Raw(200, "".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")


# what is offered


async def test_the_tools_are_offered_with_their_own_schemas_and_one_function_for_the_answer(server: Loopback) -> None:
    assert await step(server, ASKED) == STEP
    (body,) = bodies(server)
    search, final = (each["function"] for each in body["tools"])
    assert {each["type"] for each in body["tools"]} == {"function"}
    assert search == {"name": "search", "description": "finds pages", "parameters": SEARCH.parameters}
    assert final["name"] == ANSWER
    assert final["parameters"]["properties"]["answer"]["enum"] == ["True", "False"]
    assert final["parameters"]["required"] == ["thought", "quotes", "answer"]  # the reasons before the answer
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)
    assert "response_format" not in body
    system, user = body["messages"]
    assert system["content"].startswith("You verify a claim in steps")
    assert "Available tools" not in system["content"]
    without = TASK.model_copy(update={"tools": ()})
    assert plain_fences(user["content"]) == without.rendered().input_text


async def test_every_other_task_is_asked_for_as_with_auto(server: Loopback) -> None:
    server.behaviour, task = Behaviour(refuse=("json_schema",)), WriteQuery(claim=CLAIM, tool="corpus", about="d")
    replying(server, '{"query": "Cape Ansel"}')
    said = []
    for model, form in (("one", "tools"), ("two", "auto")):
        server.reset()
        async with chat(server, form=form) as backend:
            await backend.perform(task, Call(agent="a", model=model))
        said.append([{**each, "model": "", "seed": 0} for each in bodies(server)])
    assert said[0] == said[1]
    assert [each["response_format"]["type"] for each in said[0]] == ["json_schema", "json_object"]


@pytest.mark.parametrize("form", ["auto", "schema", "json", "plain"])
async def test_no_other_form_offers_functions(form: str, server: Loopback) -> None:
    reply = {"thought": "t", "tool": "search", "reason": "", "input": "x", "answer": "", "quotes": []}
    plain = '{"action": {"name": "search", "input": "x"}}'
    assert (await step(server, plain if form == "plain" else json.dumps(reply), form=form)).action
    assert not any({"tools", "tool_choice", "parallel_tool_calls"} & {*each} for each in bodies(server))


async def test_a_call_that_nobody_asked_for_is_an_empty_reply(server: Loopback) -> None:
    with pytest.raises(BadReply, match="the reply is empty"):
        await asked(server, ASKED, form="auto")


def test_names_that_endpoints_refuse_are_told_apart() -> None:
    given = ["wiki.search", "wiki_search", "wiki search", ANSWER, "é" * 70, "é" * 80, "", "get-page"]
    tools = tuple(ActionTool(name=each, about="", parameters={}) for each in given)
    found = names_of(tools)
    assert {*found.values()} == {*given}
    assert all(len(name) <= 64 and name.replace("-", "").replace("_", "x").isalnum() for name in found)
    assert found["wiki_search"] == "wiki_search"  # the history shows tools by their own names
    assert found["get-page"] == "get-page"
    assert ANSWER not in found
    offered = [each["name"] for each in functions(NextStep(claim=CLAIM, tools=tools))]
    assert {*offered} == {*found, ANSWER}


@pytest.mark.parametrize("called", ["wiki_search_2", "wiki.search"])
async def test_a_tool_is_called_by_the_name_that_was_offered_or_by_its_own(called: str, server: Loopback) -> None:
    tools = tuple(SEARCH.model_copy(update={"name": each}) for each in ("wiki_search", "wiki.search"))
    found = await step(server, Calls(((called, {"query": "x"}),)), task=TASK.model_copy(update={"tools": tools}))
    assert found.action
    assert found.action.name == "wiki.search"
    assert [each["function"]["name"] for each in bodies(server)[0]["tools"]] == ["wiki_search", "wiki_search_2", ANSWER]


async def test_a_long_description_is_cut_and_goes_into_the_system_message_only_in_the_paper_profile(
    server: Loopback,
) -> None:
    long = SEARCH.model_copy(update={"about": "finds pages " * 100})
    for profile in ("hardened", "paper"):
        server.reset()
        await step(server, ASKED, task=TASK.model_copy(update={"tools": (long,), "profile": profile}))
        (body,) = bodies(server)
        assert body["tools"][0]["function"]["description"].endswith("…")
        assert (f"search: {long.about}" in body["messages"][0]["content"]) == (profile == "paper")
    assert "search:" not in system_words(TASK)


def test_functions_count_against_a_budget() -> None:
    without = {"messages": [{"role": "user", "content": "x"}]}
    offered = json.dumps(list(functions(TASK)))
    assert most_tokens(without | {"tools": functions(TASK)}) >= most_tokens(without) + len(offered)


async def test_a_users_own_words_are_asked_plainly(server: Loopback) -> None:
    prompts = Prompts({"NextStep": "{claim} {history} {tools}"})
    assert (await step(server, '{"answer": "False"}', prompts=prompts)).answer == "REFUTES"
    assert "tools" not in bodies(server)[0]


# what is read


async def test_an_answer_is_read_with_its_quotations(server: Loopback) -> None:
    reply = await asked(server, ANSWERED)
    assert reply.outputs[0].answer == Step(thought="It says so.", answer="SUPPORTS", quotes=(QUOTE,))
    assert json.loads(reply.outputs[0].text)["tool_calls"][0]["name"] == ANSWER
    assert reply.rejected == ()


@pytest.mark.parametrize(("given", "label"), [(False, "REFUTES"), ("false.", "REFUTES"), ("SUPPORTS", "SUPPORTS")])
async def test_an_answer_may_be_spelled_otherwise(given: Any, label: str, server: Loopback) -> None:
    assert (await step(server, Calls(((ANSWER, {"answer": given}),)))).answer == label


async def test_a_free_answer_is_read(server: Loopback) -> None:
    task = NextStep(claim=Claim(text="When was it lit?", labels=FREE_TEXT), tools=(SEARCH,))
    assert (await step(server, Calls(((ANSWER, {"answer": "in 1871"}),)), task=task)).answer == "in 1871"
    assert "enum" not in bodies(server)[0]["tools"][-1]["function"]["parameters"]["properties"]["answer"]
    with pytest.raises(BadReply, match="no function was called"):  # any text would be an answer
        await asked(server, "Let me look.", task=task)


async def test_what_is_said_beside_a_call_is_the_thought_and_thoughts_stay_apart(server: Loopback) -> None:
    function = {"name": "search", "arguments": '{"query": "Cape Ansel"}'}
    calls = [{"id": "c", "type": "function", "function": function}]
    said = raw(content="I have to look.", reasoning_content="Hm.", tool_calls=calls)
    (output,) = (await asked(server, said)).outputs
    assert output.answer == STEP.model_copy(update={"thought": "I have to look."})
    assert output.thoughts == "Hm."


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("", {}), (None, {}), ("{}", {}), ({"query": "a"}, {"query": "a"}), ('{"query": "a\nb"}', {"query": "a\nb"})],
)
async def test_arguments_are_read_as_servers_send_them(arguments: Any, expected: Any, server: Loopback) -> None:
    found = await step(server, raw(content="", tool_calls=[{"function": {"name": "search", "arguments": arguments}}]))
    assert found.action
    assert json.loads(found.action.input) == expected
    assert len(bodies(server)) == 1


async def test_of_several_calls_the_first_is_made_and_the_others_are_told(server: Loopback) -> None:
    twice = Calls((("search", {"query": "a"}), ("search", {"query": "a"}), ("other", {"title": "b"})), "Both.")
    (output,) = (await asked(server, twice)).outputs
    first, other = ToolCall(name="search", input='{"query": "a"}'), ToolCall(name="other", input='{"title": "b"}')
    assert output.answer == Step(thought="Both.", action=first, unmade=(other,))
    assert len(json.loads(output.text)["tool_calls"]) == 3  # verbatim


# what is sent back once


BAD = {
    "arguments that are no JSON": (Calls((("search", '{"query": "Cape'),)), "the arguments of search are no JSON"),
    "arguments that are no object": (Calls((("search", '"Cape Ansel"'),)), "no JSON object"),
    "deep arguments": (Calls((("search", "[" * 100_000),)), "no JSON"),
    "half a character": (Calls((("search", '{"query": "\\ud800"}'),)), "no JSON"),
    "half a character in words": (raw(content="\ud800 or so"), "no function was called"),
    "no name": (raw(content=None, tool_calls=[{"function": {"arguments": "{}"}}]), "no name"),
    "no function": (raw(content=None, tool_calls=[{"id": "c"}, {"function": "search"}]), "no name"),
    "an answer and a call": (Calls((ANSWERED.calls[0], ASKED.calls[0])), "something else beside it"),
    "two answers": (Calls(((ANSWER, {"answer": "True"}), (ANSWER, {"answer": "False"}))), "something else beside it"),
    "an answer twice": (Calls(((ANSWER, '{"answer": "True", "answer": "False"}'),)), "'answer' has different values"),
    "an answer without an answer": (Calls(((ANSWER, {"thought": "Hm."}),)), "takes thought, quotes and answer"),
    "an answer with a tool in it": (Calls(((ANSWER, {"answer": None, "action": {}}),)), "an action or an answer"),
    "no label": (Calls(((ANSWER, {"answer": "perhaps"}),)), "not one of the answers True, False"),
    "quotes that are none": (Calls(((ANSWER, {"answer": "True", "quotes": [1]}),)), "quotes.0"),
    "prose": ("I will look up what supports the claim.", "no function was called"),
    "a label in prose": ("The document SUPPORTS it.\nIt is true, then.", "no function was called"),
    "a call in words": ('{"name": "search", "arguments": {"query": "a"}}', "no function was called"),
    "nothing": ("", "the reply is empty"),
    "too long": (Calls(ASKED.calls, finish="length"), "cut at its token limit"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_reply_is_sent_back_once_with_what_is_wrong_with_it(name: str, server: Loopback) -> None:
    bad, why = BAD[name]
    reply = await asked(server, bad, ASKED)
    assert reply.outputs[0].answer == STEP
    (rejected,) = reply.rejected
    assert why in rejected.why
    first, second = bodies(server)
    assert second["tools"] == first["tools"]
    assert rejected.why in second["messages"][-1]["content"]
    assert all(isinstance(each["content"], str) and "tool_calls" not in each for each in second["messages"])


@pytest.mark.parametrize("name", BAD)
async def test_a_reply_that_stays_bad_is_an_error_that_keeps_it(name: str, server: Loopback) -> None:
    bad, why = BAD[name]
    with pytest.raises(BadReply, match="NextStep") as caught:
        await asked(server, bad)
    assert why in str(caught.value)
    assert len(bodies(server)) == 2
    assert caught.value.raw or name == "nothing"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("True", Step(answer="SUPPORTS")),
        (f'It says "{QUOTE}"\n\n**False**\n', Step(thought=f'It says "{QUOTE}"', answer="REFUTES", quotes=(QUOTE,))),
        ('{"thought": "t", "answer": true}', Step(thought="t", answer="SUPPORTS")),
        ('{"action": {"name": "search", "input": "a"}}', Step(action=ToolCall(name="search", input="a"))),
    ],
)
async def test_a_plain_answer_and_the_papers_own_form_are_read(said: str, expected: Step, server: Loopback) -> None:
    assert await step(server, said) == expected
    assert len(bodies(server)) == 1


async def test_what_a_page_says_is_no_step(server: Loopback) -> None:
    page = '{"thought": "t", "answer": "True"}'
    past = NextStep(claim=CLAIM, tools=(SEARCH,), steps=(_found(page),))
    with pytest.raises(BadReply, match="of the documents was repeated"):
        await asked(server, page, task=past)


def _found(text: str) -> Any:
    return {"action": {"name": "search", "input": "x"}, "passages": (Passage(text=text),)}


# pieces


@pytest.mark.parametrize("made", [ASKED, ANSWERED, Calls((*ASKED.calls, ("other", {"title": "é"})), "Both.")])
async def test_a_call_in_pieces_is_the_call_sent_whole(made: Calls, server: Loopback) -> None:
    whole = (await asked(server, made)).outputs
    assert (await asked(server, made, stream=True)).outputs == whole
    assert bodies(server)[1]["stream"] is True


async def test_pieces_without_an_index_belong_to_the_call_that_was_begun(server: Loopback) -> None:
    pieces = [
        {"id": "a", "function": {"name": "search", "arguments": '{"query"'}},
        {"function": {"arguments": ': "a"}'}},
    ]
    pieces.append({"id": "b", "function": {"name": "other", "arguments": "{}"}})
    found = await step(server, streamed(*({"tool_calls": [each]} for each in pieces)), stream=True)
    assert found.action == ToolCall(name="search", input='{"query": "a"}')
    assert found.unmade == (ToolCall(name="other", input="{}"),)


async def test_a_name_that_comes_with_every_piece_is_one_name(server: Loopback) -> None:
    pieces = [{"index": 0, "function": {"name": "search", "arguments": each}} for each in ("{", "}")]
    found = await step(server, streamed(*({"tool_calls": [each]} for each in pieces)), stream=True)
    assert found.action == ToolCall(name="search", input="{}")


async def test_a_stream_cut_within_a_call_is_asked_for_again(server: Loopback) -> None:
    head = {"tool_calls": [{"index": 0, "function": {"name": "search", "arguments": '{"qu'}}]}
    cut = streamed(head).body.split(b"data: ")[1]
    assert await step(server, Raw(200, b"data: " + cut, "text/event-stream"), ASKED, stream=True) == STEP
    assert len(bodies(server)) == 2


def test_calls_are_read_only_where_functions_were_offered() -> None:
    calls = [{"function": {"name": "search", "arguments": "{}"}}]
    text = json.dumps({"choices": [{"message": {"content": "red", "tool_calls": calls}, "finish_reason": "stop"}]})
    assert (read_response(text)[0].calls, read_response(text)[0].verbatim) == ((), "red")
    assert read_response(text, called=True)[0].calls[0].name == "search"


# what endpoints refuse


@pytest.mark.parametrize("name", ["tool_choice", "parallel_tool_calls"])
async def test_what_is_refused_of_a_call_is_left_out_from_then_on(name: str, server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=(name,))
    assert await step(server, ASKED) == STEP
    assert await step(server, ASKED) == STEP  # as a new process
    assert [name in each for each in bodies(server)] == [True, False, False]
    assert all("tools" in each for each in bodies(server))


@pytest.mark.parametrize(
    "refusal",
    [
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (404, "No endpoints found that support tool use."),
        (500, "tools param requires --jinja flag"),
    ],
)
async def test_an_endpoint_that_takes_no_functions_is_asked_once_and_the_error_says_what_to_do(
    refusal: tuple[int, str], server: Loopback
) -> None:
    status, said = refusal
    answer = Raw(status, json.dumps({"error": {"message": said}}).encode(), fault="scripted")
    with pytest.raises(UsageError, match=r"no tool calls.*--response-format auto") as caught:
        await asked(server, answer)
    assert said[:20] in str(caught.value)
    assert len(bodies(server)) == 1
    assert (await step(server, '{"answer": "True"}', form="plain")).answer  # nothing else is held against it


async def test_keys_stay_hidden_in_refusals_and_in_arguments(server: Loopback) -> None:
    key = "sk-loopback-4711-0815"
    server.behaviour = Behaviour(refuse=("tools",), echo_key=True)
    with pytest.raises(UsageError) as caught:
        await asked(server, ASKED, key=key)
    assert key not in str(caught.value)
    server.behaviour = Behaviour()
    for stream in (False, True):
        (output,) = (await asked(server, Calls((("search", {"query": key}),)), key=key, stream=stream)).outputs
        assert key not in output.text + repr(output.answer)


# whole runs


def verifier(server: Loopback, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Verifier:
    monkeypatch.setenv("REDARGUE_BASE_URL", f"{server.url}/v1")
    return Verifier(
        method="mermaid",
        model="for-m",
        settings={"memory": "off"},
        evidence={"corpus": ShelfTool("corpus")},
        response_format="tools",
        clock=CLOCK,
        folder=folder,
        claims=[CLAIM],
        transport=Transport(secrets=Secrets(), patience=0),
        **options,
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("profile", ["hardened", "paper", "authors"])
async def test_a_whole_verification_calls_functions_and_replays(
    profile: str, stream: bool, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script, folder = agreeing, tmp_path / "run"
    with verifier(server, folder, monkeypatch, profile=profile, stream=stream) as made:
        verdict = await made.verify(CLAIM)
    assert (verdict.label, verdict.decided_by, verdict.rounds, verdict.error) == ("SUPPORTS", "executor", 2, None)
    assert ["tools" in each for each in bodies(server)] == [False, True, True]  # the claim is taken apart first
    seen: list[Any] = []
    assert await replay(folder, listeners=[seen.append]) == [verdict]
    assert canonical(seen) == canonical(read_events(folder))
    assert len(bodies(server)) == 3


class Article:
    """A tool with a name that endpoints refuse."""

    name, about, revision = "wiki.article", "the whole article", "1"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    }

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        return (Passage(text=QUOTE, title=arguments["title"]),)


async def test_the_agent_is_told_of_calls_that_were_not_made_and_of_replies_that_could_not_be_read(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Calls((("wiki_article", {"title": "Cape Ansel"}), ("corpus", {"query": "lighthouse"})))
    turns = iter([both, "Hm.", "Hm.", Calls((("corpus", {"query": "lighthouse"}),)), ANSWERED])

    def playing(ask: Ask) -> Any:
        return next(turns) if ask.role == "NextStep" else agreeing(ask)

    server.script, folder = playing, tmp_path / "run"
    with verifier(server, folder, monkeypatch, actions={"wiki.article": Article()}) as made:
        verdict = await made.verify(CLAIM)
    assert (verdict.label, verdict.rounds, [each.found for each in verdict.quotes]) == ("SUPPORTS", 4, [True])
    told = plain_fences(bodies(server)[-1]["messages"][-1]["content"])
    assert 'Action: corpus with input: {"query": "lighthouse"}\nObservation: This call was not made' in told
    assert "no function was called" in told
    events = list(read_events(folder))
    steps = [(each.round, each.tool, bool(each.problem)) for each in events if isinstance(each, Stepped)]
    assert steps == [
        (1, "wiki.article", False),
        (1, "corpus", True),
        (2, "", True),
        (3, "corpus", False),  # it is no repetition of the call that was not made
        (4, "", False),
    ]
    (first, *_) = [each for each in events if isinstance(each, CallFinished) and each.task == "NextStep"]
    assert len(json.loads(first.outputs[0]["text"])["tool_calls"]) == 2
    assert await replay(folder) == [verdict]
