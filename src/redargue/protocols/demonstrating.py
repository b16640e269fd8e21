"""Demonstrations that methods show in their prompts: our own, about facts of our own invention."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def demonstrations(name: str) -> str:
    """The text of a file of demonstrations, in the form of the method's paper."""
    folder = files("redargue.protocols.baselines") / "demonstrations"
    return (folder / f"{name}.txt").read_text("utf-8").strip()
