"""Real client libraries through the proxy: verdicts where they can be read, and nothing broken."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest

from redargue.service.proxy.settings import Mode
from service.proxy.conftest import ANSWER, BRIDGE, FALSE, TRUE, Start
from service.proxy.test_stream import items_stream
from support.chat_upstream import STREAM, Asked, Written, chat, chat_stream, chunk, sse

pytestmark = [pytest.mark.extra, pytest.mark.slow]
NODE_MODULES = os.environ.get(
    "REDARGUE_TEST_NODE_MODULES", ""
)  # a folder with openai, ai and @ai-sdk/openai-compatible
CONTEXT = {"text": BRIDGE, "url": "https://bridges.example/millau", "title": "Bridges"}
URL = "https://bridges.example/millau"
MESSAGES: Any = [{"role": "user", "content": "When was it opened?"}]


def imported(name: str) -> Any:
    """A client library, which the extra ``clients`` installs; the stub-less Any keeps mypy the same without it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their own imports'
        return pytest.importorskip(name, reason=f"needs {name}: pip install 'redargue[clients]'")


def options(mode: Mode = "annotate") -> dict[str, Any]:
    return {"redargue": {"contexts": [CONTEXT], "mode": mode}}


def outcome(block: Any) -> str:
    assert isinstance(block, dict)
    assert [claim["meaning"] for claim in block["claims"]] == ["supported", "refuted"]
    return str(block["outcome"])


def client(url: str) -> Any:
    return imported("openai").OpenAI(base_url=f"{url}/v1", api_key="sk-any", max_retries=0)


def test_openai_python_reads_verdicts_and_citations_of_a_whole_answer(start: Start) -> None:
    with client(start(chat(ANSWER)).url) as openai:
        message = openai.chat.completions.create(model="m", messages=MESSAGES, extra_body=options()).choices[0].message
    assert message.content == ANSWER
    assert outcome(message.redargue) == "non_factual"
    assert {citation.url_citation.url for citation in message.annotations} == {URL}


@pytest.mark.parametrize("n", [1, 2])
def test_openai_python_reads_them_from_a_raw_stream(start: Start, n: int) -> None:
    with client(start(chat(*[ANSWER] * n)).url) as openai:
        stream = openai.chat.completions.create(
            model="m", messages=MESSAGES, n=n, stream=True, stream_options={"include_usage": True}, extra_body=options()
        )
        texts: list[str] = [""] * n
        usage: Any = None
        blocks: dict[int, tuple[str, str]] = {}
        for part in stream:
            usage = part.usage or usage
            for choice in part.choices:
                texts[choice.index] += choice.delta.content or ""
                if block := getattr(choice.delta, "redargue", None):
                    blocks[choice.index] = (outcome(block), choice.finish_reason)
    assert texts == [ANSWER] * n
    assert blocks == dict.fromkeys(range(n), ("non_factual", "stop"))
    assert usage.total_tokens == 46


@pytest.mark.parametrize("mode", ["annotate", "footnote", "block", "revise", "off"])
def test_openai_pythons_stream_helper_accumulates_every_mode(start: Start, mode: Mode) -> None:
    with (
        client(start(chat(ANSWER)).url) as openai,
        openai.chat.completions.stream(model="m", messages=MESSAGES, extra_body=options(mode)) as stream,
    ):
        for _ in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "stop"
    assert (choice.message.content == ANSWER) == (mode in ("annotate", "revise", "off"))
    assert hasattr(choice.message, "redargue") == (mode != "off")
    if mode != "off":
        assert outcome(choice.message.redargue) == "non_factual"
        assert {citation.url_citation.url for citation in choice.message.annotations} == {URL}


def test_openai_pythons_stream_helper_keeps_calls_of_tools(start: Start) -> None:
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    pieces = [
        chunk(0, {"role": "assistant", "content": None, "tool_calls": [call]}),
        chunk(0, {}, "tool_calls"),
        sse("[DONE]"),
    ]
    with (
        client(start(lambda asked: Written(pieces, content_type=STREAM)).url) as openai,
        openai.chat.completions.stream(model="m", messages=MESSAGES, extra_body=options()) as stream,
    ):
        message = stream.get_final_completion().choices[0].message
    assert message.tool_calls[0].function.name == "look_up"
    assert message.redargue["reason"] == "no_text"


@pytest.mark.parametrize("mode", ["annotate", "footnote", "block"])
@pytest.mark.parametrize("streamed", [True, False])
def test_openai_python_reads_them_from_responses(start: Start, mode: Mode, streamed: bool) -> None:
    with client(start(chat(ANSWER)).url) as openai:
        if streamed:
            with openai.responses.stream(model="m", input="When?", extra_body=options(mode)) as stream:
                for _ in stream:
                    pass
                response = stream.get_final_response()
        else:
            response = openai.responses.create(model="m", input="When?", extra_body=options(mode))
    part = response.output[0].content[0]
    assert part.text == response.output_text
    assert part.text.startswith(ANSWER) == (mode != "block")
    assert outcome(part.redargue) == "non_factual"
    assert {annotation.url for annotation in part.annotations} == {URL}


@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_openai_pythons_responses_helper_reads_reasoning_and_calls(start: Start, mode: Mode) -> None:
    running = start(lambda asked: Written(items_stream(ANSWER), content_type=STREAM))
    with (
        client(running.url) as openai,
        openai.responses.stream(model="m", input="When?", extra_body=options(mode)) as stream,
    ):
        for _ in stream:
            pass
        response = stream.get_final_response()
    assert [item.type for item in response.output] == ["reasoning", "function_call", "message"]
    assert outcome(response.output[2].content[0].redargue) == "non_factual"
    assert (ANSWER in str(response)) == (mode == "annotate")


OPEN = "The Millau Viaduct is painted green every seven years."


@pytest.mark.parametrize(
    ("given", "asked", "withheld"),
    [
        ({}, {}, True),
        ({}, {"undecided": "pass"}, False),
        ({"undecided": "pass"}, {}, False),
        ({"undecided": "pass"}, {"undecided": "block"}, True),
        ({"mode": "block"}, {"undecided": "pass"}, True),
        ({"undecided": "block"}, {"undecided": "pass"}, True),
    ],
)
def test_block_withholds_an_answer_that_could_not_be_confirmed_unless_it_may_pass(
    start: Start, given: dict[str, Any], asked: dict[str, Any], withheld: bool
) -> None:
    body = options("block")
    body["redargue"] |= asked
    with client(start(chat(f"{TRUE} {OPEN}"), **given).url) as openai:
        raw = openai.chat.completions.with_raw_response.create(model="m", messages=MESSAGES, extra_body=body)
    message = raw.parse().choices[0].message
    assert (OPEN not in message.content) == withheld
    assert message.redargue.get("withheld", "") == ("unsupported" if withheld else "")
    assert ("withheld=unsupported; sentences=2" in raw.headers["x-redargue-check"]) == withheld


@pytest.mark.parametrize("mode", ["annotate", "block"])
def test_an_application_learns_which_sentence_withheld_an_answer_and_may_ask_for_its_words(
    start: Start, mode: Mode
) -> None:
    body = options("block")
    with client(start(chat(ANSWER), mode=mode).url) as openai:
        plain = openai.chat.completions.create(model="m", messages=MESSAGES, extra_body=body)
        body["redargue"]["show_withheld"] = True
        shown = openai.chat.completions.create(model="m", messages=MESSAGES, extra_body=body)
    assert [(each["sentence"], each["claim"]) for each in plain.choices[0].message.redargue["claims"]][1] == (2, "")
    if mode == "block":  # the operator withholds what the answer said from everyone
        assert FALSE not in str(shown)
        return
    claims = shown.choices[0].message.redargue["claims"]
    assert [(each["sentence"], each["claim"]) for each in claims] == [(2, FALSE)]
    assert [(each["start"], each["end"]) for each in claims] == [(0, 0)]  # not those of a text that was not sent
    assert FALSE not in shown.choices[0].message.content


def test_openai_python_raises_typed_errors_for_withheld_answers_and_broken_streams(start: Start) -> None:
    library = imported("openai")
    running = start(chat(ANSWER), block_as="error")
    with client(running.url) as openai, pytest.raises(library.BadRequestError) as caught:
        openai.chat.completions.create(model="m", messages=MESSAGES, extra_body=options("block"))
    assert caught.value.code == "refuted"
    assert caught.value.response.headers["x-redargue-check"].endswith(
        "outcome=non_factual; withheld=refuted; sentences=2"
    )
    assert [(each["sentence"], each["claim"]) for each in caught.value.body["redargue"]["claims"]][1] == (2, "")
    assert FALSE not in str(caught.value.body)
    asked = options("block")
    asked["redargue"]["show_withheld"] = True
    with client(running.url) as openai, pytest.raises(library.BadRequestError) as caught:
        openai.chat.completions.create(model="m", messages=MESSAGES, extra_body=asked)
    assert [each["claim"] for each in caught.value.body["redargue"]["claims"]] == [FALSE]
    cut = start(lambda asked: Written(chat_stream(ANSWER)[:3], content_type=STREAM, cut=True))
    with client(cut.url) as openai, pytest.raises(library.APIError, match="broke off"):
        for _ in openai.chat.completions.create(model="m", messages=MESSAGES, stream=True, extra_body=options()):
            pass


def test_openai_python_retries_a_busy_upstream_by_itself(start: Start) -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> Written:
        asked.append(request)
        if len(asked) < 3:
            return Written([b'{"error": {"message": "busy"}}'], status=503, headers={"retry-after-ms": "1"})
        return chat(ANSWER)(request)

    with imported("openai").OpenAI(base_url=f"{start(answer).url}/v1", api_key="sk-any", max_retries=2) as openai:
        message = openai.chat.completions.create(model="m", messages=MESSAGES, extra_body=options()).choices[0].message
    assert outcome(message.redargue) == "non_factual"
    assert len(asked) == 3


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("streamed", [True, False])
def test_openai_agents_finish_and_show_footnotes(
    start: Start, api: str, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    agents = imported("agents")
    running = start(chat(ANSWER), mode="footnote")

    async def run() -> Any:
        async with imported("openai").AsyncOpenAI(base_url=f"{running.url}/v1", api_key="sk-any") as openai:
            kind = agents.OpenAIChatCompletionsModel if api == "chat" else agents.OpenAIResponsesModel
            agent = agents.Agent(
                name="bridge",
                instructions=f"<context>{BRIDGE}</context>",
                model=kind(model="m", openai_client=openai),
            )
            if not streamed:
                return await agents.Runner.run(agent, "When was it opened?")
            result = agents.Runner.run_streamed(agent, "When was it opened?")
            async for _ in result.stream_events():
                pass
            return result

    output = str(asyncio.run(run()).final_output)
    assert output.startswith(ANSWER)
    assert "[1] refuted:" in output


@pytest.mark.parametrize("streamed", [True, False])
def test_langchain_shows_footnotes_and_the_header(start: Start, streamed: bool) -> None:
    library = imported("langchain_openai")
    running = start(chat(ANSWER))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = library.ChatOpenAI(
            model="m", base_url=f"{running.url}/v1", api_key="sk-any", extra_body=options("footnote"),
            include_response_headers=True, max_retries=0, stream_usage=True,
        )  # fmt: skip
        messages = [("human", "When was it opened?")]
        if streamed:
            parts = list(model.stream(messages))
            text, metadata = "".join(str(part.content) for part in parts), parts[0].response_metadata
        else:
            message = model.invoke(messages)
            text, metadata = str(message.content), message.response_metadata
    assert text.startswith(ANSWER)
    assert "[1] refuted:" in text
    assert metadata["headers"]["x-redargue-check"].startswith("chk_")


def test_node_clients_read_verdicts(start: Start) -> None:
    node, modules = shutil.which("node"), NODE_MODULES
    if node is None:
        pytest.skip("needs node")
    if not (Path(modules) / "openai").is_dir():
        pytest.skip(
            "needs REDARGUE_TEST_NODE_MODULES, a folder with the npm packages openai, ai, @ai-sdk/openai-compatible"
        )
    running = start(chat(ANSWER))
    script = Path(__file__).parent / "clients.mjs"
    given = {"url": f"{running.url}/v1", "modules": modules, "redargue": options()["redargue"]}
    done = subprocess.run(
        [node, str(script), json.dumps(given)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    for name in ("openai whole", "openai stream", "openai helper"):
        assert told[name] == {"text": ANSWER, "outcome": "non_factual"}, name
    assert told["ai whole"] == told["ai stream"] == {"text": ANSWER, "outcome": "non_factual"}
