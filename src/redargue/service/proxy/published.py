"""The shapes of answers as the two APIs publish them, and what widely used servers add to them."""

from __future__ import annotations

from redargue.service.proxy.shapes import Shape, ValueKind

_READ, _NAME, _ECHO, _CALL, _BESIDE = ValueKind.READ, ValueKind.NAME, ValueKind.ECHO, ValueKind.CALL, ValueKind.BESIDE
Fields = dict[str, Shape | ValueKind]

_FUNCTION = Shape({"name": _NAME, "arguments": _CALL})
_TOOL_CALLS = Shape(
    {
        "id": _NAME,
        "type": _NAME,
        "function": _FUNCTION,
        "custom": Shape({"name": _NAME, "input": _CALL}),
        "extra_content": _NAME,  # Gemini's signature of a thought
    },
    many=True,
)
_CHAT_PART = Shape({"type": _NAME, "text": _READ, "thinking": _BESIDE, "signature": _NAME}, many=True, bare=True)
MESSAGE = Shape(
    {
        "role": _NAME,
        "content": _CHAT_PART,
        "tool_calls": _TOOL_CALLS,
        "function_call": _FUNCTION,
        **dict.fromkeys(("annotations", "reasoning", "reasoning_content", "reasoning_details"), _BESIDE),
        "thinking_blocks": _BESIDE,  # LiteLLM
    }
)
_CHOICE: Fields = {
    "finish_reason": _NAME,
    "native_finish_reason": _NAME,  # OpenRouter
    "stop_reason": _ECHO,  # vLLM
    "matched_stop": _ECHO,  # SGLang
    "content_filter_results": _NAME,  # Azure
    "logprobs": _BESIDE,
}
CHOICE = Shape({**_CHOICE, "message": MESSAGE})
CHUNK_CHOICE = Shape({**_CHOICE, "delta": MESSAGE})
CHAT = Shape(
    {
        **dict.fromkeys(("id", "object", "system_fingerprint", "service_tier", "usage", "obfuscation"), _NAME),
        "choices": ValueKind.APART,
        "model": _ECHO,
        "metadata": _ECHO,
        "prompt_filter_results": _NAME,  # Azure
        "x_groq": _NAME,
        **dict.fromkeys(("provider", "citations", "search_results"), _BESIDE),  # OpenRouter, Perplexity
    }
)

_PART: Fields = {"type": _NAME, "annotations": _BESIDE, "logprobs": _BESIDE}
_REASONING_PARTS: dict[str, Fields] = {name: {"text": _BESIDE} for name in ("reasoning_text", "summary_text")}
_WHOLE_PART: dict[str, Fields] = {"output_text": {"text": _READ}, **_REASONING_PARTS}
_ACTION = Shape(
    {
        "type": _NAME,
        "url": _NAME,
        **dict.fromkeys(("query", "queries", "pattern"), _CALL),
        "sources": _BESIDE,
    }
)
_OF_A_CALL: Fields = dict.fromkeys(("call_id", "name", "namespace", "server_label", "approval_request_id"), _NAME)


def _items(parts: dict[str, Fields]) -> Shape:
    """Items of an output; the texts of their parts are read where ``parts`` says so."""
    calls: dict[str, Fields] = {
        name: {**_OF_A_CALL, "arguments": _CALL} for name in ("function_call", "mcp_call", "mcp_approval_request")
    }
    return Shape(
        dict.fromkeys(("id", "type", "status", "role", "phase"), _NAME),
        {
            **calls,
            "message": {"content": Shape(_PART, parts, many=True)},
            "reasoning": {"summary": _BESIDE, "content": _BESIDE, "encrypted_content": _NAME},
            "custom_tool_call": {**_OF_A_CALL, "input": _CALL},
            "web_search_call": {"action": _ACTION},
            "file_search_call": {"queries": _CALL},
            "code_interpreter_call": {"container_id": _NAME, "code": _CALL},
            "mcp_list_tools": {**_OF_A_CALL, "tools": _BESIDE},
        },
        default="message",
    )


_NAMED = (
    *("id", "object", "status", "service_tier", "truncation", "previous_response_id", "usage", "billing"),
    *("conversation", "incomplete_details", "content_filters"),
)
_ECHOED = (
    *("model", "instructions", "metadata", "text", "tools", "tool_choice", "reasoning", "prompt", "include", "user"),
    *("prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
)


def _response(parts: dict[str, Fields]) -> Shape:
    items = _items(parts)
    return Shape(
        {
            **dict.fromkeys(_NAMED, _NAME),
            **dict.fromkeys(_ECHOED, _ECHO),
            "output": Shape(items.fields, items.kinds, items.default, many=True),
            "output_text": _BESIDE,
        }
    )


RESPONSE = _response(_WHOLE_PART)
_BEGUN: Fields = {"response": _response(_REASONING_PARTS)}
_ENDED: Fields = {"response": RESPONSE}
_ARGUMENTS: Fields = {"delta": _CALL, "arguments": _CALL, "name": _NAME}
_REASONING: Fields = dict.fromkeys(("delta", "text", "part"), _BESIDE)
STREAM_EVENT = Shape(
    dict.fromkeys(("type", "item_id", "obfuscation", "response_id", "call_id"), _NAME),
    {
        **{f"response.{name}": _BEGUN for name in ("created", "queued", "in_progress")},
        **{f"response.{name}": _ENDED for name in ("completed", "incomplete", "failed")},
        "response.output_item.added": {"item": _items(_REASONING_PARTS)},
        "response.output_item.done": {"item": _items(_WHOLE_PART)},
        "response.content_part.added": {"part": Shape(_PART, _REASONING_PARTS)},
        "response.content_part.done": {"part": Shape(_PART, _WHOLE_PART)},
        "response.output_text.delta": {"delta": _READ, "logprobs": _BESIDE},
        "response.output_text.done": {"text": _READ, "logprobs": _BESIDE},
        "response.output_text.annotation.added": {"annotation": _BESIDE},
        "response.function_call_arguments.delta": _ARGUMENTS,
        "response.function_call_arguments.done": _ARGUMENTS,
        "response.mcp_call_arguments.delta": _ARGUMENTS,
        "response.mcp_call_arguments.done": _ARGUMENTS,
        "response.custom_tool_call_input.delta": {"delta": _CALL},
        "response.custom_tool_call_input.done": {"input": _CALL},
        "response.code_interpreter_call_code.delta": {"delta": _CALL},
        "response.code_interpreter_call_code.done": {"code": _CALL},
        **{
            f"response.reasoning_{name}": _REASONING
            for name in (
                *("text.delta", "text.done", "summary_text.delta", "summary_text.done"),
                *("summary_part.added", "summary_part.done"),
            )
        },
    },
)
