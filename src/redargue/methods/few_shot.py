"""Few-shot examples: text files beside a method, in its paper's format, about invented facts."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from redargue.claims import Frozen, LabelSet, Meaning


@cache
def read_examples(package: str, name: str = "examples") -> str:
    """Reads ``name``.txt in a method's package."""
    return (files(package) / f"{name}.txt").read_text("utf-8").strip()


def with_json_replies(text: str, read: Callable[[str], Frozen | None], *, before: str, between: str = "\n\n") -> str:
    """Examples whose replies become the JSON objects that a hardened prompt asks for.

    Args:
        text: examples in the paper's format.
        read: parses a reply in the paper's format; examples that it cannot parse are left out.
        before: separates a question from its reply.
        between: separates two examples.
    """
    pairs = (example.partition(before) for example in text.split(between))
    replies = ((question, read(reply)) for question, _, reply in pairs)
    return "\n\n".join(
        f"{question}\n{reply.model_dump_json(exclude_defaults=True)}" for question, reply in replies if reply
    )


def with_labels(text: str, labels: LabelSet) -> str:
    """Examples with a set's labels in the slots ``{supported}``, ``{refuted}`` and so on.

    Examples for labels that the set lacks are left out: all of them for options and free text.
    """
    names = {str(meaning): label for meaning in Meaning if (label := labels.named(meaning))}
    examples = [example.strip() for example in text.split("\n\n") if example.strip()]
    fitting = [example for example in examples if set(_SLOT.findall(example)) <= set(names)]
    return "\n\n".join(_SLOT.sub(lambda slot: names[slot.group(1)], example) for example in fitting)


_SLOT = re.compile(r"\{(\w+)\}")
