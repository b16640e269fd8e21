"""Tokens with which chat templates mark roles, turns and tool calls.

A server may read them in a message's text, too; a page that contains them would then end its message. Unlike a local
model's, an endpoint's special tokens are not known, so those of all common templates are disarmed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

DISARMED = str.maketrans("<>[]|｜", "‹›⟦⟧¦¦")

_TOKENS = re.compile(
    r"<[|｜][^<>|｜\n]{1,40}[|｜]>"  # ChatML, Llama 3, Phi, Command R, DeepSeek, Harmony
    r"|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|ARGS|CALL_ID|THINK|IMG|PREFIX"
    r"|SUFFIX|MIDDLE)\]"  # Mistral
    r"|<</?SYS>>"  # Llama 2
    r"|</?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|start_of_image|think|thinking|tools?|tool_calls?"
    r"|tool_responses?|tool_results?|function_calls?|extra_id_\d+)>"  # SentencePiece, Gemma, Qwen, Hermes
)


def disarm(text: str) -> str:
    """The text, as long as before, with other brackets around tokens of chat templates."""
    return _TOKENS.sub(lambda token: token.group().translate(DISARMED), text)


def disarm_messages(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    return [{**message, "content": disarm(message["content"])} for message in messages]


def disarm_values(value: Any) -> Any:
    """JSON with every text disarmed, names included."""
    if isinstance(value, str):
        return disarm(value)
    if isinstance(value, Mapping):
        return {disarm(str(name)): disarm_values(item) for name, item in value.items()}
    return [disarm_values(item) for item in value] if isinstance(value, list | tuple) else value
