"""LangChain: middleware that checks an agent's answer against its system prompt's documents and its tools' results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile
from typing import Any, Literal, Unpack

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from redargue.adapters.grounding import Contexts, Grounding, Reason, check_answer, check_answer_sync, revision_request
from redargue.text.segment import delimited_parts, readable_context
from redargue.text.verification import TextOptions, documents_of

_METADATA = "redargue"  # of a message: its outcome
_PROMPT = "redargue_prompt"  # of a message, until it is checked: the documents in the agent's system prompt

ExitBehavior = Literal["continue", "error", "revise"]


class UngroundedAnswer(Exception):
    """The agent's answer is not supported, or with ``on_unchecked="error"`` was not checked."""

    def __init__(self, grounding: Grounding) -> None:
        super().__init__(grounding.explanation)
        self.grounding = grounding


class GroundingMiddleware(AgentMiddleware[Any, Any, Any]):
    """Checks the final answer of an agent; its outcome is in the message's ``response_metadata["redargue"]``.

    Args:
        contexts: documents besides the results of tools and the delimited parts of system messages, such as
            ``<context>…</context>``; or a function that finds them in the agent's state.
        exit_behavior: what happens to an answer that is not supported: it is kept (``continue``), an
            :class:`UngroundedAnswer` is raised (``error``), or the model writes it again (``revise``).
        max_revisions: how often; the last answer is kept.
        on_unchecked: whether an answer that could not be checked is kept or raises UngroundedAnswer.
        timeout_s: seconds after which an answer counts as unchecked.
        options: as for :func:`redargue.ground`.
    """

    def __init__(
        self,
        contexts: Contexts | Callable[[AgentState[Any]], Contexts] = (),
        *,
        exit_behavior: ExitBehavior = "continue",
        max_revisions: int = 1,
        on_unchecked: Literal["continue", "error"] = "continue",
        timeout_s: float | None = 30.0,
        **options: Unpack[TextOptions],
    ) -> None:
        super().__init__()
        self._contexts, self._exit, self._most = contexts, exit_behavior, max_revisions
        self._on_unchecked, self._timeout_s, self._options = on_unchecked, timeout_s, options

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return _remembering_prompt(request, handler(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return _remembering_prompt(request, await handler(request))

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState[Any], runtime: Any) -> dict[str, object] | None:
        if (answer := final_answer(state["messages"])) is None:
            return None
        documents = self._documents(state)
        grounding = check_answer_sync(_text_of(answer), documents, timeout_s=self._timeout_s, **self._options)
        return self._update(state["messages"], answer, grounding)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: AgentState[Any], runtime: Any) -> dict[str, object] | None:
        if (answer := final_answer(state["messages"])) is None:
            return None
        documents = self._documents(state)
        grounding = await check_answer(_text_of(answer), documents, timeout_s=self._timeout_s, **self._options)
        return self._update(state["messages"], answer, grounding)

    def _documents(self, state: AgentState[Any]) -> Contexts:
        given = self._contexts(state) if callable(self._contexts) else self._contexts
        found: list[str] = []
        for message in state["messages"]:
            if isinstance(message, ToolMessage):
                found.append(readable_context(_text_of(message)))
            elif isinstance(message, SystemMessage):
                found += delimited_parts(_text_of(message))
        found += state["messages"][-1].response_metadata.get(_PROMPT, ())
        return [*documents_of(given), *dict.fromkeys(filter(str.strip, found))]

    def _update(self, messages: Sequence[AnyMessage], answer: AIMessage, grounding: Grounding) -> dict[str, object]:
        failed = not grounding.passes() and grounding.reason is not Reason.NO_CLAIM
        unchecked = grounding.share is None
        if failed and (self._on_unchecked if unchecked else self._exit) == "error":
            raise UngroundedAnswer(grounding)
        metadata = {name: value for name, value in answer.response_metadata.items() if name != _PROMPT}
        metadata[_METADATA] = grounding.model_dump(mode="json")
        checked = answer.model_copy(update={"response_metadata": metadata})
        revised = self._exit == "revise" and failed and not unchecked and _revisions(messages) < self._most
        if not revised or not grounding.report:
            return {"messages": [checked]}
        again = HumanMessage(revision_request(grounding.report), name=_METADATA)
        return {"messages": [checked, again], "jump_to": "model"}


def _remembering_prompt(request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
    """Keeps the documents of the system prompt, which no state of the agent has, with the answer to it."""
    prompt = request.system_message
    answer = final_answer(response.result)
    if answer and prompt and (parts := delimited_parts(_text_of(prompt))):
        answer.response_metadata = {**answer.response_metadata, _PROMPT: parts}
    return response


def final_answer(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """The last message if it answers the user, and calls no tool."""
    last = messages[-1] if messages else None
    return last if isinstance(last, AIMessage) and not last.tool_calls and _text_of(last).strip() else None


def _text_of(message: AnyMessage) -> str:
    return str(message.text)


def _revisions(messages: Sequence[AnyMessage]) -> int:
    """How often the current answer was revised: our requests since the user's last message."""
    names = [message.name for message in reversed(messages) if isinstance(message, HumanMessage)]
    return len(list(takewhile(lambda name: name == _METADATA, names)))
