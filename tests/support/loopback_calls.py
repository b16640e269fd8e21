"""Calls of functions as OpenAI's chat endpoint sends them, whole and in pieces, and which functions it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32


@dataclass(frozen=True)
class Calls:
    """What a script gives where a model calls functions.

    Attributes:
        calls: names, with their arguments as an object, or as the very text that is sent.
        content: what is said beside them.
        finish: why the reply ends.
    """

    calls: tuple[tuple[str, Mapping[str, Any] | str], ...]
    content: str | None = None
    finish: str = "tool_calls"


def called(made: Calls) -> list[dict[str, Any]]:
    """The field ``tool_calls`` of a message."""
    rows = []
    for at, (name, given) in enumerate(made.calls):
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        number = f"call_{crc32(f'{at} {name} {arguments}'.encode()):08x}"
        rows.append({"id": number, "type": "function", "function": {"name": name, "arguments": arguments}})
    return rows


def in_pieces(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The deltas of such a field: first a call's name with no arguments yet, then these, five characters at a time."""
    for at, row in enumerate(rows):
        text = row["function"]["arguments"]
        head = {**row, "index": at, "function": {"name": row["function"]["name"], "arguments": ""}}
        yield {"tool_calls": [head]}
        for start in range(0, len(text), 5):
            yield {"tool_calls": [{"index": at, "function": {"arguments": text[start : start + 5]}}]}


def wrong_with(body: Mapping[str, Any]) -> tuple[str, str] | None:
    """What OpenAI's endpoint says of functions that it does not take, and the parameter that it names."""
    tools = body.get("tools")
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls"):
            if name in body:
                return f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.", name
        return None
    if not tools:
        return "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array.", "tools"
    for at, tool in enumerate(tools):
        name, about = tool["function"]["name"], tool["function"].get("description", "")
        where = f"tools[{at}].function"
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            said = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            return f"Invalid '{where}.name': {said}", f"{where}.name"
        if len(about) > 1024:
            said = "string too long. Expected a string with maximum length 1024"
            said += f", but got a string with length {len(about)} instead."
            return f"Invalid '{where}.description': {said}", f"{where}.description"
        if tool["type"] != "function" or tool["function"]["parameters"].get("type") != "object":
            said = f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'."
            return said, f"{where}.parameters"
    return None
