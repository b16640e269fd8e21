"""promptfoo: the Python assertion ``get_assert``, and what the webhook of the service answers.

A file ``grounded.py`` beside the configuration, named there as ``type: python`` and ``value: file://grounded.py``::

    from redargue.adapters.promptfoo import get_assert
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redargue.adapters.grounding import Grounding, check_answer, completed

VARIABLES = ("contexts", "context", "documents")  # a test's variables that hold its documents, unless one is named
ASSERTION_S = 60.0


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
        min_supported=float(config.get("min_supported", 1.0)),
        method=str(config.get("method", "")),
        timeout_s=float(config.get("timeout_s", ASSERTION_S)),
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
    answer = output if isinstance(output, str) else str(output)
    grounding = await check_answer(answer, contexts_in(variables, variable), timeout_s=timeout_s, **options)
    return grade(grounding, min_supported)


def grade(grounding: Grounding, min_supported: float = 1.0) -> GradingResult:
    passes = grounding.passes(min_supported, max_refuted=0 if min_supported == 1 else grounding.claims)
    return {"pass": passes, "score": grounding.share or 0.0, "reason": grounding.explanation}


def contexts_in(variables: Mapping[str, Any], variable: str = "") -> Sequence[str]:
    """The documents of a test: a text, a list of texts, or a list of objects with a text."""
    value = next((variables[name] for name in ([variable] if variable else VARIABLES) if variables.get(name)), ())
    values = value if isinstance(value, list | tuple) else [value]
    return [text for item in values if (text := _text(item))]


def _text(item: object) -> str:
    if isinstance(item, Mapping):
        item = next((item[name] for name in ("text", "content", "page_content") if item.get(name)), "")
    return item if isinstance(item, str) else ""
