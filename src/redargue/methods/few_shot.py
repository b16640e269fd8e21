"""Few-shot examples in prompts: text files beside a method, in its paper's format, about facts that we invented."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files

from redargue.claims import Frozen


@cache
def read_examples(package: str, name: str = "examples") -> str:
    """The text of ``name``.txt in a method's package."""
    return (files(package) / f"{name}.txt").read_text("utf-8").strip()


def with_json_replies(text: str, read: Callable[[str], Frozen | None], *, before: str, between: str = "\n\n") -> str:
    """Examples with each reply as the JSON object that a hardened prompt asks for.

    Args:
        text: examples in the paper's format.
        read: reads a reply in the paper's format; an example whose reply it cannot read is left out.
        before: separates a question from its reply.
        between: separates two examples.
    """
    pairs = (example.partition(before) for example in text.split(between))
    replies = ((question, read(reply)) for question, _, reply in pairs)
    return "\n\n".join(
        f"{question}\n{reply.model_dump_json(exclude_defaults=True)}" for question, reply in replies if reply
    )
