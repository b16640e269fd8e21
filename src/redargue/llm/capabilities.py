"""What an endpoint takes: read from its refusals, and remembered in a file of the user's."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from redargue.claims import Frozen
from redargue.llm.response import error_message
from redargue.net.transport import Answer

Form = Literal["schema", "json", "text"]
FORMS: tuple[Form, ...] = ("schema", "json", "text")
CALLING = ("tool_choice", "parallel_tool_calls")  # left out, a model chooses whether it calls, and how often
OPTIONAL = ("temperature", "top_p", "seed", "stop", "n", "logprobs", "stream_options", "stream", *CALLING)
LIMITS: Mapping[str, Any] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": ""}
FOLLOWERS = {"logprobs": ("top_logprobs",), "stream": ("stream_options",)}


class Capabilities(Frozen):
    """What is known of a model at an endpoint.

    Attributes:
        form: the strictest way to ask for JSON that was not refused.
        limit: the name under which it takes the most tokens; empty where it takes none.
        refused: parameters that it does not take.
    """

    form: Form = "schema"
    limit: Literal["max_tokens", "max_completion_tokens", ""] = "max_tokens"
    refused: tuple[str, ...] = ()


class Memory:
    """What was found out about endpoints, in a file of the user's.

    Args:
        path: of the file; one that cannot be read or written is as good as none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def recall(self, place: str, model: str) -> Capabilities:
        """What is known, or what to try first."""
        try:
            return Capabilities.model_validate(self._all().get(f"{place} {model}", {}))
        except ValidationError:
            return Capabilities()

    def keep(self, place: str, model: str, abilities: Capabilities) -> None:
        """Writes it down."""
        everything = {**self._all(), f"{place} {model}": abilities.model_dump(mode="json")}
        with contextlib.suppress(OSError):  # else it is found out again next time
            self._path.parent.mkdir(parents=True, exist_ok=True)
            beside = self._path.with_suffix(f".{os.getpid()}.new")
            beside.write_text(json.dumps(everything, indent=1, sort_keys=True), encoding="utf-8")
            beside.replace(self._path)

    def _all(self) -> dict[str, Any]:
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


def about_form(body: Mapping[str, Any], answer: Answer) -> bool:
    """Whether a refusal is about the way in which JSON was asked for."""
    words = re.search(r"response_format|json_schema|json_object|grammar", answer.text.lower())
    return "response_format" in body and words is not None


def refuses_tools(body: Mapping[str, Any], answer: Answer) -> bool:
    """Whether a refusal is about the functions that were offered; llama.cpp's server refuses with 500."""
    about = re.search(r"\btools?\b|\btool_c|function.?call", answer.text.lower())
    return "tools" in body and answer.status in (400, 404, 422, 500, 501) and about is not None


def names_in(text: str) -> frozenset[str]:
    """The parameters that an error is about: the one it gives as such, or those it names in its message."""
    try:
        error = json.loads(text).get("error")
        if isinstance(error, dict) and error.get("param"):
            return frozenset({str(error["param"]).split(".")[0]})
    except (ValueError, AttributeError, RecursionError):
        pass
    said = error_message(text).lower()
    quoted = re.findall(r"['\"`]([a-z_]+)['\"`]|(?:parameter|argument|field)s?:? ([a-z_]+)", said)
    plain = [name for name in UNMISTAKABLE if re.search(rf"(?<![\w-]){name}(?![\w-])", said)]
    return frozenset([*(name for pair in quoted for name in pair if name), *plain])


# Names that stand in no prose; "stop", "seed" and "stream" do, and have to be quoted.
UNMISTAKABLE = ("temperature", "top_p", "logprobs", "stream_options", *CALLING, *LIMITS)
