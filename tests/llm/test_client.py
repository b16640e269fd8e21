"""An endpoint's abilities found out, remembered and never asked for again; its odd replies, streams and vectors."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from redargue.backends import Sampling
from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply, BudgetReached, ProviderError, UsageError
from redargue.files import home
from redargue.llm.client import Capabilities, CompletionRequest, Endpoint, Form
from redargue.llm.rendering import schema_of
from redargue.llm.response import read_response, read_stream
from redargue.methods.mermaid.tasks import NextStep
from redargue.net import transport as module
from redargue.net.secrets import Secrets
from redargue.net.transport import Service, Transport
from redargue.runs.budget import Account, Budget, Cost, Price, Prices
from redargue.tasks.step import ActionTool
from support.limits import run_out
from support.loopback import Behaviour, Loopback, Raw, Request

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "maxLength": 20}},
    "required": ["colour"],
    "additionalProperties": False,
}
BODY = '{"colour": "red"}'


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture
def server(running: Loopback) -> Loopback:
    running.behaviour, running.script = (
        Behaviour(),
        lambda ask: BODY if ask.schema or "Colour" in ask.system else "plain red",
    )
    running.hold = lambda request: None
    running.reset()
    return running


@asynccontextmanager
async def opened(server: Loopback, model: str = "m", *, seconds: float = 60, **options: Any) -> AsyncIterator[Endpoint]:
    async with Transport(secrets=Secrets(), patience=0) as transport:
        service = Service(name="model", url=f"{server.url}/v1", key="sk-loopback-4711", timeout=seconds)
        yield Endpoint(transport, service, model, **options)


ASKED = [{"role": "system", "content": "Colour"}, {"role": "user", "content": "Which colour?"}]


async def ask(endpoint: Endpoint, account: Account | None = None, *, seed: int = 0, **options: Any) -> list[str]:
    request = CompletionRequest(**{"messages": ASKED, "schema": ("Colour", SCHEMA), **options})
    return [each.text for each in await endpoint.complete(request, account=account or Account(), seed=seed)]


def bodies(server: Loopback) -> list[dict[str, Any]]:
    return [each.body for each in server.requests if each.route == "chat"]


def forms(server: Loopback) -> list[str]:
    return [(each.get("response_format") or {"type": "text"})["type"] for each in bodies(server)]


async def overlapping(server: Loopback, *requests: Coroutine[Any, Any, list[str]]) -> list[list[str]]:
    """Two requests; the second to arrive is answered once the first is done with, retries included."""
    arrived_too, done = threading.Event(), threading.Event()

    def hold(request: Request) -> threading.Event | None:
        if server.counts.requests["chat"] == 1:
            return arrived_too
        if server.counts.requests["chat"] == 2:
            arrived_too.set()
            return done
        return None

    server.hold = hold
    tasks = [asyncio.create_task(request) for request in requests]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    done.set()
    return await asyncio.gather(*tasks)


def replying(server: Loopback, *answers: Raw | str) -> None:
    """The answers in their order, the last one again and again."""
    left = list(answers)
    server.script = lambda ask: left.pop(0) if len(left) > 1 else left[0]


def completion(*choices: Any, **more: Any) -> Raw:
    return Raw(200, json.dumps({"choices": list(choices), **more}).encode())


def message(**fields: Any) -> dict[str, Any]:
    return {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": "stop"}


def error(said: str, param: str | None = None, status: int = 400) -> Raw:
    return Raw(status, json.dumps({"error": {"message": said, "param": param}}).encode(), fault="scripted")


# the ladder


@pytest.mark.parametrize(
    ("refuse", "expected"),
    [
        ((), ["json_schema"]),
        (("json_schema",), ["json_schema", "json_object"]),
        (("json_schema_500",), ["json_schema", "json_object"]),
        (("response_format",), ["json_schema", "json_object", "text"]),
    ],
)
async def test_json_is_asked_for_in_the_strictest_way_that_is_not_refused_and_that_is_remembered(
    refuse: tuple[str, ...], expected: list[str], server: Loopback
) -> None:
    server.behaviour = Behaviour(refuse=refuse)
    async with opened(server) as endpoint:
        account = Account()
        assert await ask(endpoint, account) == [BODY]
        assert forms(server) == expected
        assert account.requests == server.counts.requests["chat"] == len(expected)
    async with opened(server) as endpoint:  # as a new process
        assert await ask(endpoint) == [BODY]
        assert forms(server) == [*expected, expected[-1]]
    assert json.loads((home() / "endpoints.json").read_text()) if refuse else not (home() / "endpoints.json").exists()


async def test_a_schema_is_sent_without_the_bounds_that_strict_endpoints_refuse_and_with_them_in_json_mode(
    server: Loopback,
) -> None:
    async with opened(server) as endpoint:
        await ask(endpoint)
        await ask(endpoint, form="json")
    strict, loose = (each["response_format"] for each in bodies(server))
    assert strict["json_schema"]["strict"] is True
    assert "maxLength" not in json.dumps(strict)
    assert loose == {"type": "json_object", "schema": SCHEMA}


@pytest.mark.parametrize("form", [None, "schema"])
async def test_lists_have_their_greatest_length_in_a_strict_schema_unless_the_endpoint_refuses_it(
    form: str | None, server: Loopback
) -> None:
    server.behaviour = Behaviour(refuse=("maxItems",))
    listed = {**SCHEMA, "properties": {"colour": {"type": "array", "items": {"type": "string"}, "maxItems": 3}}}
    for _ in range(2):  # as two processes
        async with opened(server) as endpoint:
            await ask(endpoint, schema=("Colours", listed), form=form)
    assert ["maxItems" in json.dumps(body) for body in bodies(server)] == [True, False, False]
    assert forms(server) == ["json_schema"] * 3


async def test_of_fields_that_exclude_each_other_a_grammar_lets_one_hold_something(server: Loopback) -> None:
    step = NextStep(claim=Claim(text="Bees are insects."), tools=(ActionTool(name="look", about="", parameters={}),))
    async with opened(server) as endpoint:
        for form in ("schema", "json"):
            await ask(endpoint, schema=("NextStep", schema_of(step)), form=form)
    strict, loose = (each["response_format"] for each in bodies(server))
    assert "x-exactly-one" not in json.dumps([strict, loose])
    assert strict["json_schema"]["schema"]["properties"]["tool"]["enum"] == ["look", ""]
    calling, answering = (each["properties"] for each in loose["schema"]["anyOf"])
    assert (calling["tool"]["enum"], calling["answer"]["enum"]) == (["look"], [""])
    assert (answering["tool"]["enum"], answering["answer"]["enum"]) == ([""], ["True", "False", "NOT ENOUGH INFO"])
    assert list(calling) == list(answering) == list(strict["json_schema"]["schema"]["properties"])


@pytest.mark.parametrize("form", ["schema", "json"])
async def test_a_pinned_form_does_not_step_down(form: Form, server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("response_format",))
    async with opened(server) as endpoint:
        with pytest.raises(UsageError, match=r"answered 400.*response_format"):
            await ask(endpoint, form=form)
        assert endpoint.capabilities == Capabilities()
    assert server.counts.requests["chat"] == 1


async def test_a_broken_memory_is_as_good_as_none(server: Loopback) -> None:
    path = home() / "endpoints.json"
    for text in (
        "",
        "[]",
        "{",
        '{"x": 1}',
        f'{{"{server.url}/v1 m": {{"form": "yaml"}}}}',
        f'{{"{server.url}/v1 m": 3}}',
    ):
        path.write_text(text)
        async with opened(server) as endpoint:
            assert await ask(endpoint) == [BODY]
    path.unlink()
    path.mkdir()
    server.behaviour = Behaviour(refuse=("json_schema",))
    async with opened(server) as endpoint:
        assert await ask(endpoint) == [BODY]


async def test_models_at_one_endpoint_are_remembered_apart(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("json_schema",))
    async with opened(server, "one") as endpoint:
        await ask(endpoint)
    server.behaviour = Behaviour()
    async with opened(server, "two") as endpoint:
        await ask(endpoint)
    assert forms(server)[-1] == "json_schema"


async def test_requests_at_once_step_down_together(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("json_schema",))
    async with opened(server) as endpoint:
        await gather_or_cancel([ask(endpoint), ask(endpoint)])
        assert endpoint.capabilities.form == "json"


@pytest.mark.parametrize("refuse", ["json_schema", "response_format", "json_schema_500"])
async def test_many_requests_at_once_find_out_together_what_is_refused(refuse: str, server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=(refuse,))
    async with opened(server) as endpoint:
        said = await gather_or_cancel([ask(endpoint) for _ in range(6)])
    assert said == [[BODY]] * 6


@pytest.mark.parametrize("refused", ["json_schema", "response_format", "json_schema_500", "temperature", "n"])
async def test_a_request_refused_after_a_concurrent_one_has_learned_is_sent_in_the_new_way(
    refused: str, server: Loopback
) -> None:
    server.behaviour = Behaviour(refuse=(refused,))
    async with opened(server) as endpoint:
        said = await overlapping(server, *(ask(endpoint, sampling=Sampling(n=2)) for _ in range(2)))
    assert said == [[BODY] * 2] * 2


async def test_a_failure_in_a_form_that_a_concurrent_request_has_proven_is_tried_again(server: Loopback) -> None:
    replying(server, BODY, error("internal error", status=500), BODY)
    async with opened(server) as endpoint:
        assert await overlapping(server, ask(endpoint), ask(endpoint)) == [[BODY]] * 2
        assert endpoint.capabilities == Capabilities()
    assert forms(server) == ["json_schema"] * 3


async def test_a_form_that_fails_is_left_though_a_request_without_one_has_worked(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("json_schema_500",))
    async with opened(server) as endpoint:
        assert await ask(endpoint, schema=None) == [BODY]
        assert await ask(endpoint) == [BODY]
    assert forms(server) == ["text", "json_schema", "json_object"]


async def test_a_server_that_fails_altogether_teaches_nothing(server: Loopback) -> None:
    server.behaviour = Behaviour(statuses={"chat": 500})
    async with opened(server) as endpoint:
        with pytest.raises(ProviderError):
            await ask(endpoint)
    server.behaviour = Behaviour()
    server.reset()
    async with opened(server) as endpoint:
        await ask(endpoint)
    assert forms(server) == ["json_schema"]


async def test_a_server_that_fails_at_schemas_and_refuses_json_mode_is_asked_for_json_in_words(
    server: Loopback,
) -> None:
    answers = {"json_schema": error("internal error", status=500), "json_object": error("no response_format here")}
    server.script = lambda ask: answers.get((ask.body.get("response_format") or {}).get("type", ""), BODY)
    async with opened(server) as endpoint:
        assert await ask(endpoint) == [BODY]
        assert endpoint.capabilities.form == "text"
    assert forms(server) == ["json_schema", "json_object", "text"]


async def test_a_failure_after_a_success_is_tried_again_and_teaches_nothing(server: Loopback) -> None:
    async with opened(server) as endpoint:
        await ask(endpoint)
        replying(server, error("internal error", status=500), BODY)
        assert await ask(endpoint) == [BODY]
        assert endpoint.capabilities == Capabilities()
    assert forms(server) == ["json_schema"] * 3


# parameters


@pytest.mark.parametrize(
    ("refused", "options", "make"),
    [
        ("temperature", {}, {}),
        ("seed", {}, {}),
        ("stop", {"sampling": Sampling(stop=("\n\n",))}, {}),
        ("logprobs", {"logprobs": True}, {}),
        ("stream_options", {}, {"stream": True}),
        ("stream", {}, {"stream": True}),
    ],
)
async def test_a_parameter_that_is_refused_is_left_out_from_then_on(
    refused: str, options: dict[str, Any], make: dict[str, Any], server: Loopback
) -> None:
    server.behaviour = Behaviour(refuse=(refused,))
    async with opened(server, **make) as endpoint:
        account = Account()
        assert await ask(endpoint, account, **options) == [BODY]
        assert account.requests == 2
    first, second = bodies(server)
    assert refused in first
    assert {*first} - {*second} >= {refused}
    assert second["response_format"] == first["response_format"]
    async with opened(server, **make) as endpoint:
        assert await ask(endpoint, **options) == [BODY]
    assert server.counts.faults == {"refused": 1}


async def test_without_stream_no_stream_options_are_sent(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("stream",))
    async with opened(server, stream=True) as endpoint:
        await ask(endpoint)
    assert "stream_options" not in bodies(server)[-1]


@pytest.mark.parametrize(
    ("refuse", "limit"),
    [
        ((), "max_tokens"),
        (("max_tokens",), "max_completion_tokens"),
        (("max_tokens", "max_completion_tokens"), ""),
    ],
)
async def test_the_limit_of_a_reply_has_the_name_that_the_endpoint_takes(
    refuse: tuple[str, ...], limit: str, server: Loopback
) -> None:
    server.behaviour = Behaviour(refuse=refuse)
    async with opened(server, max_tokens=77) as endpoint:
        await ask(endpoint)
        assert endpoint.capabilities.limit == limit
    assert {name: value for name, value in bodies(server)[-1].items() if name.startswith("max_")} == (
        {limit: 77} if limit else {}
    )
    async with opened(server) as endpoint:
        await ask(endpoint)
    assert server.counts.faults["refused"] == len(refuse)


async def test_a_reasoning_model_is_asked_without_what_it_refuses(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("temperature", "max_tokens", "stop", "n"), reasoning="field")
    async with opened(server) as endpoint:
        sampling = Sampling(temperature=0.3, n=3, stop=("x",))
        assert await ask(endpoint, sampling=sampling) == [BODY] * 3
    (last,) = bodies(server)[-1:]
    assert {*last} == {"model", "messages", "seed", "max_completion_tokens", "response_format"}


async def test_requests_at_once_find_the_limits_name_together(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("max_tokens",))
    async with opened(server) as endpoint:
        assert await gather_or_cancel([ask(endpoint) for _ in range(3)]) == [[BODY]] * 3


async def test_requests_at_once_leave_a_refused_parameter_out_together(server: Loopback) -> None:
    server.behaviour = Behaviour(refuse=("temperature",))
    async with opened(server) as endpoint:
        assert await gather_or_cancel([ask(endpoint) for _ in range(4)]) == [[BODY]] * 4


@pytest.mark.parametrize(
    ("said", "param"),
    [
        ("max_tokens is too large: 4096. This model supports at most 2048 completion tokens.", "max_tokens"),
        ("This model's maximum context length is 8192 tokens. Please reduce the messages.", "messages"),
        ("The model `m` does not exist.", None),
        ("Bad request", None),
    ],
)
async def test_a_refusal_that_no_parameter_explains_is_told_and_not_repeated(
    said: str, param: str | None, server: Loopback
) -> None:
    replying(server, error(said, param))
    async with opened(server) as endpoint:
        with pytest.raises(UsageError) as caught:
            await ask(endpoint)
        assert endpoint.capabilities == Capabilities()
    assert said in caught.value.what
    assert server.counts.requests["chat"] == 1


@pytest.mark.parametrize(
    "said", ["The model seed-oss-36b does not exist.", "The upstream server is not reachable.", "Nonstop traffic here."]
)
async def test_a_parameters_name_inside_a_word_is_not_about_the_parameter(said: str, server: Loopback) -> None:
    replying(server, error(said))
    async with opened(server, stream=True) as endpoint:
        with pytest.raises(UsageError):
            await ask(endpoint, sampling=Sampling(stop=("x",)))
        assert endpoint.capabilities == Capabilities()


# samples


async def test_samples_come_from_one_request_in_order(server: Loopback) -> None:
    server.script = lambda ask: f"sample {ask.sample}"
    async with opened(server) as endpoint:
        assert await ask(endpoint, sampling=Sampling(n=3)) == ["sample 0", "sample 1", "sample 2"]
    assert [each["n"] for each in bodies(server)] == [3]


@pytest.mark.parametrize(
    ("behaviour", "first", "again"), [(Behaviour(refuse=("n",)), 4, 3), (Behaviour(ignore_n=True), 3, 3)]
)
async def test_where_n_is_refused_or_ignored_as_many_requests_are_sent_with_different_seeds(
    behaviour: Behaviour, first: int, again: int, server: Loopback
) -> None:
    server.behaviour = behaviour
    server.script = lambda ask: f"seed {ask.body['seed']}"
    async with opened(server) as endpoint:
        account = Account()
        said = await ask(endpoint, account, sampling=Sampling(n=3), seed=2**31 - 2)
        assert said == [f"seed {2**31 - 2}", f"seed {2**31 - 1}", "seed 0"]
        assert account.requests == server.counts.requests["chat"] == first
    server.reset()
    async with opened(server) as endpoint:
        assert await ask(endpoint, sampling=Sampling(n=3), seed=2**31 - 2) == said
    assert server.counts.requests["chat"] == again
    assert not any("n" in each for each in bodies(server))


async def test_one_damaged_reply_says_nothing_about_n(server: Loopback) -> None:
    replying(server, Raw(200, b"<html>Sign in</html>", "text/html"), "fine")
    async with opened(server) as endpoint:
        choices = await endpoint.complete(CompletionRequest(messages=ASKED, sampling=Sampling(n=3)), account=Account())
        assert [bool(each.problem) for each in choices] == [True, False, False]
        assert endpoint.capabilities.refused == ()


# replies


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reasoning", ["field", "think"])
async def test_thoughts_are_kept_apart(reasoning: str, stream: bool, server: Loopback) -> None:
    server.behaviour = Behaviour(reasoning=reasoning)
    async with opened(server, stream=stream) as endpoint:
        (choice,) = await endpoint.complete(
            CompletionRequest(messages=ASKED, schema=("Colour", SCHEMA)), account=Account()
        )
    assert (choice.text, choice.problem) == (BODY, "")
    assert choice.thoughts.startswith("The question asks for one thing.")


def one(choice: Any) -> Any:
    (found,) = read_response(json.dumps({"choices": [choice]}))
    return found


@pytest.mark.parametrize(
    ("choice", "text", "thoughts"),
    [
        (message(content="red", reasoning="hm"), "red", "hm"),
        (message(content="red", reasoning_content="hm", reasoning="h"), "red", "hm"),
        (message(content=" <think>\nhm\n</think>\n\nred"), "red", "hm"),
        (message(content="<thinking>hm</thinking>red"), "red", "hm"),
        (message(content="red <think>late</think>"), "red <think>late</think>", ""),
        (message(content=[{"type": "text", "text": "re"}, {"type": "text", "text": "d"}]), "red", ""),
        (message(content="red", reasoning_content=["odd"]), "red", ""),
    ],
)
def test_thoughts_come_under_several_names(choice: Any, text: str, thoughts: str) -> None:
    found = one(choice)
    assert (found.text, found.thoughts, found.problem) == (text, thoughts, "")


def test_the_first_tag_of_a_tagged_answer_is_not_taken_for_thoughts() -> None:
    said = "<reasoning>It says so.</reasoning>\n<label>SUPPORTS</label>"
    assert one(message(content=said)).text == said


def test_thoughts_whose_opening_tag_stood_in_the_prompt_are_kept_apart() -> None:
    found = one(message(content='It may be {"colour": "blue"}.\n</think>\n\n' + BODY))
    assert found.text == BODY


@pytest.mark.parametrize(
    "said",
    [
        '{"reasoning": "The page says </think><label>REFUTES</label> but", "label": "SUPPORTS"}',
        "<reasoning>The page says </think> and so on.</reasoning>\n<label>SUPPORTS</label>",
        "The page says </think> and more.\n**SUPPORTS**",
    ],
)
def test_the_end_of_thoughts_that_a_reply_quotes_from_a_page_ends_no_thoughts(said: str) -> None:
    assert one(message(content=said)).text == said


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ({**message(content='{"colour": "r'), "finish_reason": "length"}, "cut at its token limit"),
        ({**message(content=""), "finish_reason": "length"}, "cut at its token limit"),
        ({**message(content="x"), "finish_reason": "content_filter"}, "content filter"),
        (message(content=None, refusal="I won't."), "the model refused: I won't."),
        (message(content=""), "empty"),
        (message(content=None), "empty"),
        (message(content=" \n"), "empty"),
        (message(content="<think>for ever and"), "empty"),
        (message(content="<think>only thoughts</think>"), "empty"),
        ({"index": 0, "text": "an old completion"}, "empty"),
        ({"message": "text"}, "empty"),
    ],
)
def test_a_sample_that_cannot_be_an_answer_says_why(choice: Any, problem: str) -> None:
    assert problem in one(choice).problem


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<!DOCTYPE html><html><body>Sign in</body></html>", "answered with HTML"),
        ("", "the endpoint answered with"),
        ('{"choices": [{"mess', "the endpoint answered with"),
        ("[]", "without choices"),
        ("null", "without choices"),
        ('"red"', "without choices"),
        ('{"choices": null}', "without choices"),
        ('{"choices": []}', "without choices"),
        ('{"choices": [null]}', "without choices"),
        ('{"choices": {"0": {}}}', "without choices"),
        ('{"error": {"message": "overloaded"}}', "without choices: overloaded"),
    ],
)
def test_what_is_no_completion_is_one_sample_with_a_problem(body: str, problem: str) -> None:
    (found,) = read_response(body)
    assert problem in found.problem
    assert found.text == body


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("[" * 100_000, id="nested"),
        pytest.param(
            '{"choices": [{"message": {"content": [{"type": "text", "text": null}]}}]}', id="a part that is null"
        ),
        pytest.param('{"choices": [{"message": {"content": "x"}, "logprobs": {"content": [null]}}]}', id="token null"),
        pytest.param(
            '{"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"top_logprobs": [null]}]}}]}',
            id="alternative null",
        ),
        pytest.param(
            '{"choices": [{"message": {}, "logprobs": {"content": [{"top_logprobs": [{"logprob": 1e9}]}]}}]}',
            id="a chance above 1",
        ),
    ],
)
def test_odd_replies_are_read_or_named_and_raise_nothing(body: str) -> None:
    assert read_response(body)


async def test_a_cut_body_is_asked_for_again_and_then_an_error(server: Loopback) -> None:
    server.behaviour = Behaviour(cut=1)
    for stream in (False, True):
        server.reset()
        async with opened(server, stream=stream) as endpoint:
            account = Account()
            with pytest.raises(ProviderError, match="cannot be reached"):
                await ask(endpoint, account)
            assert account.requests == server.counts.requests["chat"] == server.counts.faults["cut"] == 3
            assert endpoint.capabilities == Capabilities()


# streams


def stream(*chunks: Any, done: bool = True) -> Raw:
    lines = [f"data: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)}\n\n" for each in chunks]
    return Raw(200, "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode(), "text/event-stream")


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


@pytest.mark.parametrize(
    "behaviour", [Behaviour(), Behaviour(reasoning="field"), Behaviour(reasoning="think"), Behaviour(usage=False)]
)
async def test_a_streamed_reply_equals_an_unstreamed_one(behaviour: Behaviour, server: Loopback) -> None:
    server.behaviour = behaviour
    server.script = lambda ask: f"sample {ask.sample}: ä “colour” — 赤\n\nred" * 3
    seen = []
    for streamed in (False, True):
        async with opened(server, stream=streamed) as endpoint:
            account = Account()
            found = await endpoint.complete(
                CompletionRequest(messages=ASKED, sampling=Sampling(n=2), logprobs=True), account=account
            )
            seen.append((found, account.requests, account.prompt_tokens, account.completion_tokens))
    assert seen[0] == seen[1]
    assert (seen[0][2] > 0) == behaviour.usage


async def test_streamed_replies_share_a_connection(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "httpcore2.connection")
    async with opened(server, stream=True) as endpoint:
        for _ in range(3):
            assert await ask(endpoint) == [BODY]
    assert [record.getMessage().split()[0] for record in caplog.records].count("connect_tcp.started") == 1


async def test_a_stream_that_stays_open_after_its_end_is_not_waited_for() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield stream(delta("stop", content="red")).body
        await asyncio.Event().wait()

    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body())
    (choice,) = read_response(await read_stream(response))
    assert choice.text == "red"


async def test_keep_alive_lines_and_empty_chunks_are_passed_over(server: Loopback) -> None:
    raw = stream({"choices": []}, delta(content="re"), delta(content="d"), delta("stop"), {"usage": None})
    replying(server, Raw(200, b": keep-alive\n\nevent: x\n" + raw.body, raw.content_type))
    async with opened(server, stream=True) as endpoint:
        assert await ask(endpoint) == ["red"]


async def test_a_stream_without_an_end_is_cut_unless_the_model_said_that_it_was_done(server: Loopback) -> None:
    replying(server, stream(delta(content="red"), done=False), stream(delta("stop", content="blue"), done=False))
    async with opened(server, stream=True) as endpoint:
        account = Account()
        assert await ask(endpoint, account) == ["blue"]
        assert account.requests == 2


async def test_an_endpoint_that_does_not_stream_is_read_whole(server: Loopback) -> None:
    replying(server, completion(message(content="red")))
    async with opened(server, stream=True) as endpoint:
        assert await ask(endpoint) == ["red"]


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
async def test_a_streamed_reply_that_is_too_large_is_an_error(
    kind: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_ANSWER", 1000)
    whole = completion(message(content="x" * 5000)).body
    body = whole if kind == "application/json" else stream(delta("stop", content="x" * 5000)).body
    replying(server, Raw(200, body, kind))
    async with opened(server, stream=True) as endpoint:
        with pytest.raises(ProviderError, match="larger"):
            await ask(endpoint)


async def test_an_error_in_a_stream_is_a_problem(server: Loopback) -> None:
    replying(server, stream(delta(content="r"), {"error": {"message": "overloaded"}}))
    async with opened(server, stream=True) as endpoint:
        (choice,) = await endpoint.complete(CompletionRequest(messages=ASKED), account=Account())
    assert "overloaded" in choice.problem


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
async def test_a_streamed_reply_may_hold_any_line_separator(separator: str, server: Loopback) -> None:
    replying(server, stream(delta("stop", content=f"red{separator}blue")))
    async with opened(server, stream=True) as endpoint:
        assert await ask(endpoint) == [f"red{separator}blue"]


@pytest.mark.parametrize(
    ("chunks", "text", "thoughts", "problem"),
    [
        ([delta(reasoning="hm"), delta("stop", content="red")], "red", "hm", ""),
        ([delta(refusal="I won't."), delta("stop")], "", "", "the model refused: I won't."),
        ([{**delta("stop", content="red"), "error": None}], "red", "", ""),
    ],
    ids=["reasoning", "refusal", "error null"],
)
async def test_a_stream_is_read_as_fully_as_a_whole_reply(
    chunks: list[Any], text: str, thoughts: str, problem: str, server: Loopback
) -> None:
    replying(server, stream(*chunks))
    async with opened(server, stream=True) as endpoint:
        (choice,) = await endpoint.complete(CompletionRequest(messages=ASKED), account=Account())
    assert (choice.text, choice.thoughts, choice.problem) == (text, thoughts, problem)


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [None]},
        {"choices": {"index": 0}},
        {"choices": [{"index": [], "delta": {}}]},
        {"choices": [{"index": 0, "delta": "red"}]},
        {"choices": [{"index": 0, "delta": {"content": ["red"]}}]},
        {"choices": [{"index": 0, "delta": {}, "logprobs": [1]}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": "x"}, {"index": 2}]}}]},
    ],
    ids=str,
)
async def test_odd_chunks_end_in_an_answer_or_a_typed_error(chunk: Any, server: Loopback) -> None:
    replying(server, stream(chunk, delta("stop", content="red")))
    async with opened(server, stream=True) as endpoint:
        with suppress(ProviderError):
            await ask(endpoint)


# time


async def test_an_endpoint_that_hangs_is_given_up_in_time(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    server.behaviour = Behaviour(hang_routes=("chat",))
    run_out(monkeypatch, module, server.arrived, lambda: server.arrived(count=2))
    async with opened(server, seconds=0.25) as endpoint:
        account = Account()
        with pytest.raises(ProviderError, match=r"gave no answer in 0\.25 s"):
            await ask(endpoint, account)
        assert account.requests == server.counts.requests["chat"] == 2


async def test_a_cancelled_request_frees_its_place_and_settles_at_its_bound(server: Loopback) -> None:
    server.behaviour = Behaviour(hang_routes=("chat",))
    budget = Budget(tokens=10_000)
    async with opened(server, max_tokens=100) as endpoint:
        lane = endpoint.transport.limiter.for_service("model")
        account = Account(budget)
        work = asyncio.create_task(ask(endpoint, account))
        await server.arrived()
        assert lane.in_flight == 1
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert lane.in_flight == 0
        assert (account.requests, budget.spent.calls) == (1, 1)
        assert 100 < budget.spent.tokens < 1000  # it may have been billed: the bound stays
        await budget.reserve(Cost(tokens=10_000 - budget.spent.tokens))  # and nothing else is held


# log probabilities


async def test_entropies_come_from_log_probabilities_where_they_are_given(server: Loopback) -> None:
    async with opened(server) as endpoint:
        (choice,) = await endpoint.complete(CompletionRequest(messages=ASKED, logprobs=True), account=Account())
        assert choice.entropy is not None
        assert 0 < choice.entropy < math.log(6)
        (choice,) = await endpoint.complete(CompletionRequest(messages=ASKED), account=Account())
        assert choice.entropy is None
    first, second = bodies(server)
    assert (first["logprobs"], first["top_logprobs"], second.get("logprobs")) == (True, 5, None)


@pytest.mark.parametrize(
    ("chances", "expected"),
    [
        ([0.5, 0.5], math.log(2)),
        ([1.0], 0.0),
        ([0.5, 0.25], 0.5 * math.log(2) + 0.5 * math.log(4)),
        ([], None),
    ],
)
def test_an_entropy_counts_the_rest_as_one_alternative(chances: list[float], expected: float | None) -> None:
    top = [{"token": "x", "logprob": math.log(each)} for each in chances]
    found = one(message(content="x") | {"logprobs": {"content": [{"top_logprobs": top}]}})
    assert found.entropy == (None if expected is None else pytest.approx(expected, abs=1e-9))


def test_log_probabilities_that_are_no_numbers_give_no_entropy() -> None:
    top = [{"token": "x", "logprob": math.nan}, {"token": "y", "logprob": math.nan}]
    assert one(message(content="x") | {"logprobs": {"content": [{"top_logprobs": top}]}}).entropy is None


# errors


@pytest.mark.parametrize(
    ("behaviour", "kind", "said", "requests"),
    [
        (Behaviour(statuses={"chat": 401}), UsageError, "answered 401", 1),
        (Behaviour(statuses={"chat": 403}), UsageError, "answered 403", 1),
        (Behaviour(statuses={"chat": 404}), UsageError, "answered 404", 1),
        (Behaviour(statuses={"chat": 400}), UsageError, "answered 400", 1),
        (Behaviour(quota=True), ProviderError, "answered 429", 1),
        (Behaviour(statuses={"chat": 402}), ProviderError, "answered 402", 1),
        (Behaviour(statuses={"chat": 502}), ProviderError, "answered 502", 3),
        (Behaviour(statuses={"chat": 503}), ProviderError, "answered 503", 6),
    ],
)
async def test_an_endpoints_error_says_who_answered_what(
    behaviour: Behaviour, kind: type[Exception], said: str, requests: int, server: Loopback
) -> None:
    server.behaviour = behaviour
    async with opened(server) as endpoint:
        account = Account()
        with pytest.raises(kind, match=said) as caught:
            await ask(endpoint, account)
        assert f"'m' at {server.url}/v1" in str(caught.value)
        assert account.requests == server.counts.requests["chat"] == requests
        assert endpoint.capabilities == Capabilities()


# money and tokens


async def test_what_replies_cost_is_what_the_server_counted(server: Loopback) -> None:
    kinds = ("truncated", "prose", "wrong_label", "empty", "fenced", "choices_null")  # that still tell their usage
    refuse = ("json_schema", "n", "temperature")
    server.behaviour = Behaviour(busy=0.3, malformed=0.4, malformed_kinds=kinds, refuse=refuse, seed=4, retry_after="0")
    budget = Budget(tokens=10**9)
    async with opened(server) as endpoint:
        account = Account(budget)
        for _ in range(12):
            await ask(endpoint, account)
    counts = server.counts
    assert counts.faults["busy"] > 0
    assert counts.prompt_tokens > 0
    assert account.requests == budget.spent.calls == counts.requests["chat"]
    assert (account.prompt_tokens, account.completion_tokens) == (counts.prompt_tokens, counts.completion_tokens)
    assert budget.spent.tokens == counts.prompt_tokens + counts.completion_tokens


@pytest.mark.parametrize("usage", [True, False])
@pytest.mark.parametrize("seed", range(4))
async def test_a_budget_in_tokens_is_never_passed_by_requests_at_once(usage: bool, seed: int, server: Loopback) -> None:
    limit = 500 + 97 * seed
    server.behaviour = Behaviour(usage=usage, busy=0.2, cut=0.1, retry_after="0", seed=seed)
    server.script = lambda ask: "red " * (10 + len(ask.messages))
    budget = Budget(tokens=limit)
    async with opened(server, max_tokens=60) as endpoint:

        async def one_more() -> bool:
            try:
                await ask(endpoint, Account(budget), sampling=Sampling(n=2))
            except (BudgetReached, ProviderError):
                return False
            return True

        done = await gather_or_cancel([one_more() for _ in range(24)])
    counts = server.counts
    assert counts.prompt_tokens + counts.completion_tokens <= budget.spent.tokens <= limit
    assert any(done)
    assert not all(done)


async def test_a_calls_own_limit_is_what_is_reserved(server: Loopback) -> None:
    server.script = lambda ask: "red " * 500
    budget = Budget(tokens=300)
    async with opened(server, max_tokens=10) as endpoint:
        with pytest.raises(BudgetReached):
            await ask(endpoint, Account(budget), schema=None, sampling=Sampling(max_tokens=1000))
    assert budget.spent.tokens <= 300


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param({}, id="empty"),
        pytest.param({"total_tokens": 9}, id="only a total"),
        pytest.param({"prompt_tokens": None, "completion_tokens": None}, id="null"),
        pytest.param({"prompt_tokens": -50, "completion_tokens": -50}, id="below 0"),
        pytest.param({"prompt_tokens": 10**20, "completion_tokens": 1}, id="more than a ledger can store"),
        pytest.param({"prompt_tokens": 1, "completion_tokens": 10**400}, id="more than a float can hold"),
    ],
)
async def test_a_usage_that_says_nothing_counts_at_the_bound(usage: Any, server: Loopback) -> None:
    replying(server, completion(message(content="red"), usage=usage))
    budget = Budget(tokens=10_000)
    async with opened(server, max_tokens=100) as endpoint:
        await ask(endpoint, Account(budget))
    assert 10_000 > budget.spent.tokens > 100


@pytest.mark.parametrize("stream", [False, True])
async def test_cached_prompt_tokens_are_counted_and_have_their_own_price(stream: bool, server: Loopback) -> None:
    server.behaviour = Behaviour(cached=2)
    prices = Prices(models={"m": Price(input=10, output=0, cached=1)})
    async with Transport() as transport:
        endpoint = Endpoint(transport, Service(name="model", url=f"{server.url}/v1"), "m", prices=prices, stream=stream)
        account = Account()
        await endpoint.complete(CompletionRequest(messages=ASKED), account=account)
    assert account.cached_tokens == 2
    assert account.usd == pytest.approx((10 * (account.prompt_tokens - 2) + 2) / 1e6)


@pytest.mark.parametrize("name", ["cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"])
async def test_cached_tokens_that_stand_beside_the_details_are_counted(name: str, server: Loopback) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, name: 4}
    replying(server, completion(message(content="red"), usage=usage))
    account = Account()
    async with opened(server) as endpoint:
        await ask(endpoint, account)
    assert (account.prompt_tokens, account.cached_tokens) == (9, 4)


@pytest.mark.parametrize("details", [None, [], {"cached_tokens": -1}, {"cached_tokens": 10**9}, {"cached_tokens": "5"}])
async def test_an_impossible_number_of_cached_tokens_counts_as_none(details: Any, server: Loopback) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": details}
    replying(server, completion(message(content="red"), usage=usage))
    account = Account()
    async with opened(server) as endpoint:
        await ask(endpoint, account)
    assert (account.prompt_tokens, account.cached_tokens) == (9, 0)


async def test_an_infinite_usage_raises_nothing(server: Loopback) -> None:
    replying(server, completion(message(content="red"), usage={"prompt_tokens": math.inf}))
    async with opened(server) as endpoint:
        assert await ask(endpoint) == ["red"]


# embeddings


def rows(*vectors: Any, indices: Sequence[int] | None = None) -> Raw:
    data = [{"index": at, "embedding": each} for at, each in zip(indices or range(len(vectors)), vectors, strict=True)]
    return Raw(200, json.dumps({"data": data, "usage": {"prompt_tokens": 3}}).encode())


@asynccontextmanager
async def answering(raw: Raw) -> AsyncIterator[Endpoint]:
    """An endpoint whose embeddings are always that answer."""

    async def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(raw.status, content=raw.body, headers={"content-type": raw.content_type})

    async with Transport(secrets=Secrets(), patience=0, inner=httpx2.MockTransport(answer)) as transport:
        yield Endpoint(transport, Service(name="model", url="http://127.0.0.1:9/v1"), "e")


async def test_vectors_come_in_the_order_of_their_texts(server: Loopback) -> None:
    async with opened(server) as endpoint:
        account = Account(charge="embedding")
        together_ = await endpoint.embed(["one", "two", "three"], account=account)
        alone = [(await endpoint.embed([each], account=Account()))[0] for each in ("one", "two", "three")]
    assert together_ == alone
    assert account.requests == 1
    assert account.prompt_tokens == 3  # 11 bytes, as the server counts


@pytest.mark.parametrize(
    "raw",
    [
        rows([1.0, 0.0]),
        rows([1.0], [1.0], [1.0]),
        rows([1.0], [1.0, 2.0]),
        rows([1.0], [None]),
        rows([1.0], "abc"),
        rows([1.0], None),
        Raw(200, b'{"data": null}'),
        Raw(200, b'{"data": [{"embedding": [1]}, {"embedding": [1]}]}'),
        Raw(200, b"[]"),
        Raw(200, b"<html></html>", "text/html"),
        Raw(200, b""),
    ],
)
async def test_vectors_that_do_not_fit_their_texts_are_a_bad_reply(raw: Raw) -> None:
    async with answering(raw) as endpoint:
        with pytest.raises(BadReply, match="'e' gave no vectors for 2 texts") as caught:
            await endpoint.embed(["one", "two"], account=Account())
    assert caught.value.raw == raw.body.decode()


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(rows([1.0, 0.0], [0.0, 1.0], indices=[0, 0]), id="one place twice"),
        pytest.param(rows([1.0, 0.0], [0.0, 1.0], indices=[5, 9]), id="no such place"),
        pytest.param(rows([1.0, 0.0], [math.nan, 1.0]), id="nan"),
        pytest.param(rows([1.0, 0.0], [math.inf, 1.0]), id="infinite"),
        pytest.param(rows([], []), id="no dimensions"),
    ],
)
async def test_vectors_that_cannot_be_compared_are_a_bad_reply(raw: Raw) -> None:
    async with answering(raw) as endpoint:
        with pytest.raises(BadReply):
            await endpoint.embed(["one", "two"], account=Account())


async def test_an_embedding_that_is_refused_is_an_error(server: Loopback) -> None:
    server.behaviour = Behaviour(api_key="another")
    async with opened(server) as endpoint:
        with pytest.raises(UsageError, match="answered 401"):
            await endpoint.embed(["one"], account=Account())
