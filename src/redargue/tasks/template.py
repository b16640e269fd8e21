"""Prompts as texts, and the few-shot examples in them.

A line of a text is a line of the prompt. ``{slot}`` is filled with the task's variable of that name. ``{name?}`` at the
beginning of a line keeps the line only if the variable is not empty, ``{name!}`` only if it is empty. A backslash at
the end of a line joins the next one to it; guards of a joined line apply to that piece alone. A line that becomes
empty because its slots are empty is left out.

Where both profiles have nearly the same text, it is one: a line that begins with ``{hardened?}`` is of the hardened
profile alone, one with ``{hardened!}`` of the paper's.

``[system]``, ``[instructions]``, ``[examples]``, ``[reply]`` and ``[input]``, alone on a line, begin a part. A text
without them is one whole message: its only part is the input.

Few-shot examples are text files beside a method, in its paper's format, about invented facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, cast, get_args

from redargue.claims import Frozen, LabelSet, Meaning

PartName = Literal["system", "instructions", "examples", "reply", "input"]

_MARK = re.compile(rf"\[({'|'.join(get_args(PartName))})\]")
_GUARD = re.compile(r"\{(\w+)([?!])\}")
_SLOT = re.compile(r"\{(\w+)\}")


_PROFILE = re.compile(r"\{hardened([?!])\}")


def of_profile(text: str, *, hardened: bool) -> str:
    """The lines of one profile, of a text that both may have."""
    lines = ((line, _PROFILE.match(line)) for line in text.split("\n"))
    kept = (line[mark.end() :] if mark else line for line, mark in lines if not mark or (mark[1] == "?") == hardened)
    return "\n".join(kept)


class _Piece(NamedTuple):
    """A line, or a part of one that has guards of its own."""

    guards: tuple[tuple[str, bool], ...]  # variables, each with whether it must have a value
    texts: tuple[str, ...]  # words and slots by turns, words first

    def fill(self, values: Mapping[str, object]) -> str | None:
        """The words; None where a guard drops them."""
        if any(bool(values[name]) is not wanted for name, wanted in self.guards):
            return None
        return "".join(str(values[text]) if place % 2 else text for place, text in enumerate(self.texts))


class Template:
    """The text of a prompt; ``slots``: the variables that it uses, in its order, guards included."""

    def __init__(self, text: str) -> None:
        self._parts = [(name, [tuple(map(_piece, row)) for row in rows]) for name, rows in _parts(text)]
        pieces = [piece for _, rows in self._parts for row in rows for piece in row]
        used = [name for piece in pieces for name in (*dict(piece.guards), *piece.texts[1::2])]
        self.slots = tuple(dict.fromkeys(used))

    def fill(self, values: Mapping[str, object]) -> list[tuple[PartName, str]]:
        """The parts that are not empty, in order; a KeyError for a slot without a variable."""
        filled = []
        for name, rows in self._parts:
            texts = [text for row in rows if (text := _filled(row, values)) is not None]
            if texts:
                filled.append((name, "\n".join(texts)))
        return filled


def _filled(row: tuple[_Piece, ...], values: Mapping[str, object]) -> str | None:
    """A line of the prompt; None where it is left out."""
    first, *joined = row
    text = first.fill(values)
    if text is None:
        return None
    text += "".join(piece.fill(values) or "" for piece in joined)
    blank = not joined and first.texts == ("",)
    return text if text or blank else None


def _parts(text: str) -> Iterator[tuple[PartName, list[list[str]]]]:
    """Each part with its lines, a line as its pieces."""
    name: PartName = "input"
    rows: list[list[str]] = []
    joined = False
    for line in text.removesuffix("\n").split("\n"):
        if mark := _MARK.fullmatch(line.rstrip()):
            if rows:
                yield name, rows
            name, rows, joined = cast(PartName, mark[1]), [], False
            continue
        piece = line.removesuffix("\\")
        if joined:
            rows[-1].append(piece)
        else:
            rows.append([piece])
        joined = piece != line
    if rows:
        yield name, rows


def _piece(text: str) -> _Piece:
    guards = []
    at = 0  # not a shorter text for each guard: a record may hold a line of a million
    while guard := _GUARD.match(text, at):
        guards.append((guard[1], guard[2] == "?"))
        at = guard.end()
    return _Piece(tuple(guards), tuple(_SLOT.split(text[at:])))


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
    fitting = [example for example in examples if set(_LABEL_SLOT.findall(example)) <= set(names)]
    return "\n\n".join(_LABEL_SLOT.sub(lambda slot: names[slot.group(1)], example) for example in fitting)


_LABEL_SLOT = re.compile(r"\{(\w+)\}")
