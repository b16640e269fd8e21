"""What an endpoint supports: learned from its refusals and stored in ``endpoints.json`` in redargue's home."""

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
from redargue.files import make_folder, replacing
from redargue.llm.response import error_message
from redargue.net.transport import HttpAnswer

Form = Literal["schema", "json", "text"]
FORMS: tuple[Form, ...] = ("schema", "json", "text")  # ``text``: JSON is requested in words only
# Without the last two a model decides whether and how often to call.
OPTIONAL = "temperature top_p seed stop n logprobs stream_options stream tool_choice parallel_tool_calls".split()
LIMITS: Mapping[str, Any] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": ""}
DEPENDENT = {"logprobs": ("top_logprobs",), "stream": ("stream_options",)}
# Names that may be words of a message must be quoted in it.
UNMISTAKABLE = [*LIMITS, *(name for name in OPTIONAL if name not in ("seed", "stop", "n", "stream"))]


class Capabilities(Frozen):
    """What a model at an endpoint is known to support; ``limit`` is its parameter for the length of a reply."""

    form: Form = "schema"
    limit: Literal["max_tokens", "max_completion_tokens", ""] = "max_tokens"
    refused: tuple[str, ...] = ()


class CapabilityStore:
    """Capabilities in a JSON file; a file that cannot be read or written is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def recall(self, place: str, model: str) -> Capabilities:
        try:
            return Capabilities.model_validate(self._all().get(f"{place} {model}", {}))
        except ValidationError:
            return Capabilities()

    def keep(self, place: str, model: str, capabilities: Capabilities) -> None:
        content = {**self._all(), f"{place} {model}": capabilities.model_dump(mode="json")}
        with contextlib.suppress(OSError):  # it will be learned again next time
            make_folder(self._path.parent)
            with replacing(self._path, self._path.with_suffix(f".{os.getpid()}.new")) as file:
                file.write(json.dumps(content, indent=1, sort_keys=True).encode())

    def _all(self) -> dict[str, object]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def refuses_form(body: Mapping[str, Any], answer: HttpAnswer) -> bool:
    """Whether a refusal is about the response format."""
    about = r"response_format|json_schema|json_object|grammar"
    return "response_format" in body and re.search(about, answer.text.lower()) is not None


def refuses_tools(body: Mapping[str, Any], answer: HttpAnswer) -> bool:
    """Whether a refusal is about the functions offered; llama.cpp's server refuses with 500."""
    about = re.search(r"\btools?\b|\btool_c|function.?call", answer.text.lower())
    return "tools" in body and answer.status in (400, 404, 422, 500, 501) and about is not None


def refused_parameters(text: str) -> frozenset[str]:
    """The parameter that an error declares in ``param``, or those that its message names."""
    try:
        error = json.loads(text).get("error")
        if isinstance(error, dict) and error.get("param"):
            return frozenset({str(error["param"]).split(".")[0]})
    except (ValueError, AttributeError, RecursionError):
        pass
    message = error_message(text).lower()
    names = r"['\"`]([a-z_]+)['\"`]|(?:parameter|argument|field)s?:? ([a-z_]+)"
    quoted = (match[1] or match[2] for match in re.finditer(names, message))
    plain = (name for name in UNMISTAKABLE if re.search(rf"(?<![\w-]){name}(?![\w-])", message))
    return frozenset([*quoted, *plain])
