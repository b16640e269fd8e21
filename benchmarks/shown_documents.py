"""The documents in the text of a prompt: how many, how many twice, how long, how many cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_FENCED = re.compile(r"^(?:\w+: )?\[D?\d+\](?: \([^\n]*\))?\n<data[^>\n]*>\n(.*?)\n</data", re.MULTILINE | re.DOTALL)
_CUT = re.compile(r"…|\.\.\.|\[\.\.\.\]")
_ENDED = re.compile(r"[.!?)\]\"”’':;…]\W*$")


class Shown(NamedTuple):
    """Sums over prompts that show documents.

    Attributes:
        repeated: documents whose title, their first line, an earlier document of the prompt has.
        copies: documents whose text lies inside another one of the prompt.
        cut: documents with a mark where something is left out.
        unmarked: documents that end within a sentence without such a mark.
    """

    prompts: int = 0
    documents: int = 0
    repeated: int = 0
    copies: int = 0
    characters: int = 0
    cut: int = 0
    unmarked: int = 0


def shown(prompts: Iterable[str]) -> Shown:
    """The sums; a prompt without documents does not count."""
    counts = [_in_one(texts) for prompt in prompts if (texts := _FENCED.findall(prompt))]
    return Shown(*map(sum, zip(*counts, strict=True))) if counts else Shown()


def _in_one(documents: list[str]) -> Shown:
    headings = [text.partition("\n")[0] for text in documents]
    titles = [heading.partition(": ")[2] or heading for heading in headings]  # without the publisher
    bodies = [" ".join((text.partition("\n")[2] or text).split()) for text in documents]
    inside = sum(
        any(body in other and (body != other or place > at) for at, other in enumerate(bodies) if at != place)
        for place, body in enumerate(bodies)
    )
    marked = [bool(_CUT.search(body)) for body in bodies]
    return Shown(
        prompts=1,
        documents=len(documents),
        repeated=len(titles) - len(set(titles)),
        copies=inside,
        characters=sum(map(len, documents)),
        cut=sum(marked),
        unmarked=sum(not mark and not _ENDED.search(body) for mark, body in zip(marked, bodies, strict=True)),
    )
