"""promptfoo: the Python assertion ``get_assert``, and the grades that the service's webhook returns.

Write a file ``grounded.py`` beside the configuration, and add an assertion with ``type: python`` and
``value: file://grounded.py``::

    from redargue.adapters.promptfoo import get_assert
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from redargue.adapters.grounding import Grounding, check_answer_sync
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.text.segment import readable_context
from redargue.text.verification import TextOptions

_VARIABLES = ("contexts", "context", "documents")  # of a test, in which its documents are looked for by default
_TEXTS = ("text", "content", "page_content", "pageContent", "body", "document")  # of an object that is a document
_HINT = 'write each document as {"text": "…"}, and name the variable with the documents if this one has none'
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
    return readable_context(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))


def contexts_in(variables: Mapping[str, Any], variable: str = "") -> list[str | Passage]:
    """Returns the documents in a test's variables, each once; those with a title as passages.

    A document is a text, or an object with one under a name of ``_TEXTS``, and lists may be nested. A text that is
    JSON becomes its values, one per line, so that sentences stay whole.

    Args:
        variables: of the test.
        variable: the one with the documents; by default all of ``_VARIABLES``.

    Raises:
        UsageError: a value without a text that could be read.
    """
    names = [variable] if variable else _VARIABLES
    found = dict.fromkeys(document for name in names for document in _documents(variables.get(name), name))
    return [
        Passage(text=text, title=title, document=f"context-{number}") if title else text
        for number, (text, title) in enumerate(found, 1)
    ]


def _documents(value: object, where: str, title: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Texts with their titles; raises UsageError for what has no text."""
    if isinstance(value, str):
        if value.strip():
            yield readable_context(value), title
    elif depth > _MAX_DEPTH:
        raise UsageError(f"{where:.80} is nested too deeply to be read as documents", where=where, hint=_HINT)
    elif isinstance(value, Mapping):
        yield from _in_object(value, where, title, depth)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _documents(item, f"{where}[{number}]", title, depth + 1)
    elif value is not None:
        raise UsageError(f"{where} is not a document: {value!r:.80}", where=where, hint=_HINT)


def _in_object(value: Mapping[str, Any], where: str, title: str, depth: int) -> Iterator[tuple[str, str]]:
    texts = {name: value[name] for name in _TEXTS if name in value}
    if value and not texts:
        names = ", ".join(map(str, value))
        known = ", ".join(_TEXTS)
        what = f"{where} is an object with the names {names:.80}, and none of {known}, under which a text is looked for"
        raise UsageError(what, where=where, hint=_HINT)
    title = str(value.get("title") or title)
    if all(isinstance(text, str) for text in texts.values()):  # such as a heading and what is under it
        yield from _documents("\n\n".join(map(readable_context, filter(None, texts.values()))), where, title)
    else:
        for name, text in texts.items():
            yield from _documents(text, f"{where}.{name}", title, depth + 1)


def _number(config: Mapping[str, Any], name: str, default: float) -> float:
    value = config.get(name, default)
    try:
        return float(value)
    except (TypeError, ValueError):
        hint = "write a number in the assertion's config"
        raise UsageError(f"{value!r:.40} is not a number", where=f"config.{name}", hint=hint) from None
