"""The input forms of entailment models, and the windows in which longer evidence is read.

- ``pair``: evidence and claim are the two texts of a pair (models trained on NLI data sets).
- ``minicheck``: evidence, the separator and the claim are one text, which begins with "predict: " for the
  encoder-decoder (Tang et al., "MiniCheck", EMNLP 2024, arXiv 2404.10774, and the released program).
- ``hhem``: the prompt of Vectara's HHEM-2.1-Open (its ``config.json``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from redargue.nli.cache import Text
from redargue.nli.reader import sentences
from redargue.nli.reader_spec import ReaderSpec

SEPARATORS = ("</s>", "[SEP]")
HHEM = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"


def model_input(spec: ReaderSpec, evidence: str, claim: str, separator: str) -> Text:
    """The text or pair of texts that the model reads."""
    if spec.form == "minicheck":
        return f"{'predict: ' if spec.decoder_start is not None else ''}{evidence}{separator}{claim}"
    return HHEM.format(evidence, claim) if spec.form == "hhem" else (evidence, claim)


def special_tokens(tokenizer: Any) -> tuple[str, ...]:
    """The special tokens of a tokenizer, longest first."""
    if hasattr(tokenizer, "special"):
        names = list(tokenizer.special)
    else:
        names = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
    return tuple(sorted(names, key=len, reverse=True))


def without_marks(text: str, marks: Sequence[str]) -> str:
    """The text without a model's special tokens: evidence must not be able to end itself and begin a claim."""
    return re.sub("|".join(map(re.escape, marks)), " ", text) if marks else text


def windows(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    """The text in parts of at most ``room`` tokens: whole sentences; each part repeats the last sentence before it.

    A sentence that is too long itself is divided at a space.
    """
    if count(text) <= room:
        return [text]
    parts = [piece for sentence in sentences(text) or (text,) for piece in _pieces(sentence, room, count)]
    out, current = list[str](), list[str]()
    for part in parts:
        if current and count(" ".join([*current, part])) > room:
            out.append(" ".join(current))
            current = current[-1:] if count(f"{current[-1]} {part}") <= room else []
        current.append(part)
    return [*out, " ".join(current)]


def _pieces(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    if len(text) < 2 or count(text) <= room:
        return [text]
    middle = len(text) // 2
    space = text.find(" ", middle)
    at = space if space > 0 and space < len(text) - 1 else middle
    return [*_pieces(text[:at].strip(), room, count), *_pieces(text[at:].strip(), room, count)]
