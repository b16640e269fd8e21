"""promptfoo: the Python assertion ``get_assert``, and what the webhook of the service answers.

A file ``grounded.py`` beside the configuration, named there as ``type: python`` and ``value: file://grounded.py``::

    from redargue.adapters.promptfoo import get_assert
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redargue.adapters.grounding import Grounding, check_answer, completed
from redargue.errors import UsageError
from redargue.text.segment import readable_context

VARIABLES = ("contexts", "context", "documents")  # a test's variables that hold its documents, unless one is named
ASSERTION_S = 60.0
NESTED = 5  # lists within lists


GradingResult = dict[str, bool | float | str]
"""``pass``, ``score`` in [0, 1] and ``reason``, as promptfoo expects them of an assertion."""


def get_assert(output: str, context: Mapping[str, Any]) -> GradingResult:
    """Checks an output against the documents in the test's variables.

    The assertion's ``config`` may have ``context`` (a variable's name), ``min_supported``, ``method``, ``timeout_s``.
    """
    config = dict(context.get("config") or {})
    work = graded(
        output,
        context.get("vars") or {},
        variable=str(config.get("context", "")),
        min_supported=_number(config, "min_supported", 1.0),
        method=str(config.get("method", "")),
        timeout_s=_number(config, "timeout_s", ASSERTION_S),
    )
    return completed(work)


async def graded(
    output: object,
    variables: Mapping[str, Any],
    *,
    variable: str = "",
    min_supported: float = 1.0,
    method: str = "",
    timeout_s: float,
) -> GradingResult:
    """The grade of an output; one that was not checked does not pass, and its reason says why."""
    options: dict[str, Any] = {"method": method} if method else {}
    grounding = await check_answer(
        answer_text(output), contexts_in(variables, variable), timeout_s=timeout_s, **options
    )
    return grade(grounding, min_supported)


def grade(grounding: Grounding, min_supported: float = 1.0) -> GradingResult:
    passes = grounding.passes(min_supported, max_refuted=0 if min_supported == 1 else grounding.claims)
    return {"pass": passes, "score": grounding.share or 0.0, "reason": grounding.explanation}


def answer_text(output: object) -> str:
    """An output as prose: of one that is not a text, its values, a line each."""
    return output if isinstance(output, str) else readable_context(json.dumps(output, ensure_ascii=False))


def contexts_in(variables: Mapping[str, Any], variable: str = "") -> Sequence[str]:
    """The documents of a test: a text, or a list, which may be nested, of texts and of objects with a text.

    A text that is JSON becomes its values, a line each, so that sentences stay whole.
    """
    names = [variable] if variable else VARIABLES
    value = next((variables[name] for name in names if variables.get(name)), ())
    return [readable_context(text) for text in _texts(value) if text.strip()]


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(next((value[name] for name in ("text", "content", "page_content") if value.get(name)), ()))
    elif isinstance(value, list | tuple) and depth < NESTED:
        for item in value:
            yield from _texts(item, depth + 1)


def _number(config: Mapping[str, Any], name: str, default: float) -> float:
    value = config.get(name, default)
    try:
        return float(value)
    except (TypeError, ValueError):
        hint = "write a number in the assertion's config"
        raise UsageError(f"{value!r:.40} is not a number", where=f"config.{name}", hint=hint) from None
