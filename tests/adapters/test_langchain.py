"""The middleware within LangChain's agent, with a model that says what the test wants."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed: pip install langchain")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langchain_core.tools import tool

from redargue.adapters.langchain import GroundingMiddleware, UngroundedAnswer

pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("default")]

BRIDGE = "The bridge at Orvell opened in 1889. It is 330 metres long."
WRONG = BRIDGE.replace("330", "500")
QUESTION = {"messages": [HumanMessage("Tell me about the bridge.")]}


def look_up(name: str) -> str:
    """Look a bridge up."""
    return BRIDGE


# A class and a decorator that type checkers do not know where LangChain is not installed.
Model: Any = type("Model", (GenericFakeChatModel,), {"bind_tools": lambda self, tools, **options: self})
TOOLS = [tool(look_up)]


def search() -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name="look_up", args={"name": "Orvell"}, id="1")])


def agent(middleware: GroundingMiddleware, *answers: AIMessage | str) -> Any:
    messages = [AIMessage(answer) if isinstance(answer, str) else answer for answer in answers]
    return create_agent(Model(messages=iter(messages)), tools=TOOLS, middleware=[middleware])


def test_an_answer_is_checked_against_the_results_of_tools() -> None:
    *_, last = agent(GroundingMiddleware(timeout_s=None), search(), WRONG).invoke(QUESTION)["messages"]
    found = last.response_metadata["redargue"]
    assert (last.text, found["outcome"], found["supported"], found["claims"]) == (WRONG, "non_factual", 1, 2)
    assert "REFUTES [37:59]" in found["explanation"]


@pytest.mark.parametrize("ask", [lambda made: made.invoke(QUESTION), lambda made: asyncio.run(made.ainvoke(QUESTION))])
def test_an_answer_is_checked_against_the_delimited_parts_of_the_system_prompt(ask: Any) -> None:
    prompt = f"Answer from these documents.\n<documents>{BRIDGE}</documents>"
    model = Model(messages=iter([AIMessage(WRONG)]))
    made = create_agent(model, tools=[], system_prompt=prompt, middleware=[GroundingMiddleware(timeout_s=None)])
    *_, last = ask(made)["messages"]
    assert set(last.response_metadata) == {"redargue"}
    assert (last.response_metadata["redargue"]["outcome"], last.response_metadata["redargue"]["claims"]) == (
        "non_factual", 2
    )  # fmt: skip


def test_an_unsupported_answer_is_written_again_and_the_number_of_times_is_bounded() -> None:
    middleware = GroundingMiddleware(exit_behavior="revise", max_revisions=1, timeout_s=None)
    messages = agent(middleware, search(), WRONG, BRIDGE).invoke(QUESTION)["messages"]
    assert messages[-1].text == BRIDGE
    assert messages[-1].response_metadata["redargue"]["outcome"] == "factual"
    assert "It is 500 metres long." in messages[-2].text.split("<data>")[-1]  # a document's words are not orders
    messages = agent(middleware, search(), WRONG, WRONG, BRIDGE).invoke(QUESTION)["messages"]
    assert messages[-1].text == WRONG
    assert [message.name for message in messages].count("redargue") == 1


def test_an_unsupported_answer_is_an_error_where_that_is_wanted() -> None:
    middleware = GroundingMiddleware(exit_behavior="error", timeout_s=None)
    with pytest.raises(UngroundedAnswer, match="1/2 claims supported"):
        agent(middleware, search(), WRONG).invoke(QUESTION)
    assert agent(middleware, search(), BRIDGE).invoke(QUESTION)["messages"][-1].text == BRIDGE


@pytest.mark.parametrize(
    ("answer", "contexts", "reason"),
    [
        (BRIDGE, [], "no_context"),
        ("Hello!", [BRIDGE], "no_claim"),
        ("Die Brücke wurde 1889 eröffnet.", [BRIDGE], "language"),
    ],
)
def test_an_answer_that_was_not_checked_says_why(answer: str, contexts: list[str], reason: str) -> None:
    lenient = GroundingMiddleware(contexts, exit_behavior="revise", timeout_s=None)
    *_, last = agent(lenient, answer).invoke(QUESTION)["messages"]
    assert last.response_metadata["redargue"]["reason"] == reason
    strict = GroundingMiddleware(lambda state: contexts, on_unchecked="error", timeout_s=None)
    if reason == "no_claim":
        agent(strict, answer).invoke(QUESTION)
    else:
        with pytest.raises(UngroundedAnswer):
            agent(strict, answer).invoke(QUESTION)


def test_it_works_in_async_agents() -> None:
    work = agent(GroundingMiddleware(timeout_s=None), search(), BRIDGE).ainvoke(QUESTION)
    assert asyncio.run(work)["messages"][-1].response_metadata["redargue"]["outcome"] == "factual"
