"""promptfoo: the Python assertion ``get_assert``, and the grades that the service's webhook returns.

Write a file ``grounded.py`` beside the configuration, and add an assertion with ``type: python`` and
``value: file://grounded.py``::

    from redargue.adapters.promptfoo import get_assert
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redargue.adapters.grounding import Grounding, check_answer_sync
from redargue.errors import UsageError
from redargue.text.segment import readable_context
from redargue.text.verification import TextOptions

_VARIABLES = ("contexts", "context", "documents")  # of a test, in which its documents are looked for by default
_MAX_DEPTH = 5  # lists and objects within each other


GradingResult = dict[str, bool | float | str]
"""``pass``, ``score`` in [0, 1] and ``reason``, as promptfoo expects them of an assertion."""


def get_assert(output: str, context: Mapping[str, Any]) -> GradingResult:
    """Checks an output against the documents in the test's variables.

    The assertion's ``config`` may have ``context`` (a variable's name), ``min_supported``, ``method``, ``timeout_s``.
    """
    config = dict(context.get("config") or {})
    min_supported = _number(config, "min_supported", 1.0)
    timeout_s = _number(config, "timeout_s", 60.0)
    documents = contexts_in(context.get("vars") or {}, str(config.get("context", "")))
    options: TextOptions = {"method": str(config["method"])} if config.get("method") else {}
    return grade(check_answer_sync(answer_text(output), documents, timeout_s=timeout_s, **options), min_supported)


def grade(grounding: Grounding, min_supported: float = 1.0) -> GradingResult:
    """Grades a checked answer; one that could not be checked does not pass, and its reason says why."""
    passes = grounding.passes(min_supported, max_refuted=0 if min_supported == 1 else grounding.claims)
    return {"pass": passes, "score": grounding.share or 0.0, "reason": grounding.explanation}


def answer_text(output: object) -> str:
    """Returns an output as text; one that is JSON becomes its values, one per line."""
    return output if isinstance(output, str) else readable_context(json.dumps(output, ensure_ascii=False))


def contexts_in(variables: Mapping[str, Any], variable: str = "") -> Sequence[str]:
    """Returns the documents in a test's variable: a text, or a nested list of texts and of objects with a text.

    A text that is JSON becomes its values, one per line, so that sentences stay whole.
    """
    names = [variable] if variable else _VARIABLES
    value = next((variables[name] for name in names if variables.get(name)), ())
    return [readable_context(text) for text in _texts(value) if text.strip()]


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        text = next((value[name] for name in ("text", "content", "page_content") if value.get(name)), ())
        yield from _texts(text, depth + 1)
    elif isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        for item in value:
            yield from _texts(item, depth + 1)


def _number(config: Mapping[str, Any], name: str, default: float) -> float:
    value = config.get(name, default)
    try:
        return float(value)
    except (TypeError, ValueError):
        hint = "write a number in the assertion's config"
        raise UsageError(f"{value!r:.40} is not a number", where=f"config.{name}", hint=hint) from None
