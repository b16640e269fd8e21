"""Demonstrations that methods show in their prompts: our own, about facts of our own invention."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files

from redargue.claims import Frozen
from redargue.tasks.base import Profile


@cache
def demonstrations(name: str) -> str:
    """The text of a file of demonstrations, in the form of the method's paper."""
    folder = files("redargue.methods.baselines") / "demonstrations"
    return (folder / f"{name}.txt").read_text("utf-8").strip()


def shown(
    name: str, profile: Profile, read: Callable[[str], Frozen | None], *, before: str, between: str = "\n\n"
) -> str:
    """Demonstrations as a prompt shows them: in the paper's own form, or with each reply as the JSON that is asked for.

    Args:
        name: of the file.
        profile: whose form replies have.
        read: reads a reply in the paper's form.
        before: what stands between a question and its reply.
        between: what stands between two demonstrations.
    """
    text = demonstrations(name)
    if profile == "paper":
        return text
    pairs = (each.partition(before) for each in text.split(between))
    replies = ((question, read(reply)) for question, _, reply in pairs)
    return "\n\n".join(
        f"{question}\n{reply.model_dump_json(exclude_defaults=True)}" for question, reply in replies if reply
    )
