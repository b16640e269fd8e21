"""BERT's and MPNet's WordPiece (Devlin et al. 2019), equal to the package ``tokenizers`` (docs/decisions/0015).

Token ids are equal for every character except 503 that Unicode added after the version that ``tokenizers`` implements
(marks of rare scripts, punctuation).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, Self

_NORMALIZER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
_LONGEST_WORD = 100
_CHINESE = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b920-\U0002ceaf"
    "\uf900-\ufaff\U0002f800-\U0002fa1f])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ASCII_PIECES = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")


class _Tokens(NamedTuple):
    """One tokenised text or pair of texts."""

    ids: list[int]
    attention_mask: list[int]
    type_ids: list[int]


class PairForm(NamedTuple):
    """How a model's input is put together from one text or two.

    Attributes:
        start: the special token before the first text.
        end: the one after each text.
        between: how many of them are between two texts: one for BERT, two for MPNet.
        second: the type of the second text and of the token after it.
    """

    start: str
    end: str
    between: int
    second: int

    @property
    def single(self) -> list[_Piece]:
        return [_special(self.start, 0), {"Sequence": {"id": "A", "type_id": 0}}, _special(self.end, 0)]

    @property
    def pair(self) -> list[_Piece]:
        second = {"Sequence": {"id": "B", "type_id": self.second}}
        more = [_special(self.end, 0)] * (self.between - 1)
        return [*self.single, *more, second, _special(self.end, self.second)]


_Piece = dict[str, dict[str, Any]]


def _special(token: str, type_id: int) -> _Piece:
    return {"SpecialToken": {"id": token, "type_id": type_id}}


PAIR_FORMS = (PairForm("[CLS]", "[SEP]", 1, 1), PairForm("<s>", "</s>", 2, 0))


class WordPiece:
    """A tokenizer of lower-case BERT and MPNet models.

    Args:
        longest: tokens of an input, including special ones.
    """

    def __init__(
        self, vocabulary: dict[str, int], special: dict[str, int], *, longest: int, form: PairForm = PAIR_FORMS[0]
    ) -> None:
        self._vocabulary, self.special, self._longest, self._form = vocabulary, special, longest, form
        self._start, self._end = special[form.start], special[form.end]
        self._split = re.compile("(" + "|".join(map(re.escape, special)) + ")")
        self._word = lru_cache(maxsize=65536)(self._pieces)

    @classmethod
    def of(cls, description: dict[str, Any], *, longest: int) -> Self | None:
        """From the content of a ``tokenizer.json``; None if it describes another algorithm."""
        model, normalizer = description.get("model") or {}, description.get("normalizer") or {}
        added = description.get("added_tokens") or []
        processor = description.get("post_processor") or {}
        form = next((form for form in PAIR_FORMS if _is_of(processor, form)), None)
        expected = (
            model.get("type") == "WordPiece"
            and (model.get("unk_token"), model.get("continuing_subword_prefix")) == ("[UNK]", "##")
            and model.get("max_input_chars_per_word") == _LONGEST_WORD
            and {name: value for name, value in normalizer.items() if value is not None} == _NORMALIZER
            and description.get("pre_tokenizer") == {"type": "BertPreTokenizer"}
            and not any(token[name] for token in added for name in ("single_word", "lstrip", "rstrip", "normalized"))
        )
        special = {str(token["content"]): int(token["id"]) for token in added}
        if not expected or form is None or not {form.start, form.end, "[UNK]"} <= special.keys():
            return None
        return cls(model["vocab"], special, longest=longest, form=form)

    def encode_batch(self, texts: Sequence[str | tuple[str, str]]) -> list[_Tokens]:
        """Each text or pair; of a pair that is too long, the longer text is truncated."""
        return [self.encode(text) if isinstance(text, str) else self.encode(*text) for text in texts]

    def encode(self, first: str, second: str | None = None) -> _Tokens:
        one = self._ids(first)
        if second is None:
            ids = [self._start, *one[: self._longest - 2], self._end]
            return _Tokens(ids, [1] * len(ids), [0] * len(ids))
        one, other = self._fit(one, self._ids(second))
        between, type_id = [self._end] * self._form.between, self._form.second
        ids = [self._start, *one, *between, *other, self._end]
        types = [0] * (1 + len(one) + len(between)) + [type_id] * (len(other) + 1)
        return _Tokens(ids, [1] * len(ids), types)

    def _fit(self, one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
        room = self._longest - 2 - self._form.between
        if len(one) + len(other) <= room:
            return one, other
        least = min(len(one), len(other))
        most = least if least > room else max(least, room - least)
        if least + most > room:
            least, most = room // 2, room // 2 + room % 2
        sizes = (least, most) if len(one) <= len(other) else (most, least)
        return one[: sizes[0]], other[: sizes[1]]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = []
        for at, part in enumerate(self._split.split(text)):
            ids += [self.special[part]] if at % 2 else chain.from_iterable(map(self._word, _words(part)))
        return ids

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Greedy longest-match-first pieces; one unknown token if that fails."""
        unknown = (self.special["[UNK]"],)
        if len(word) > _LONGEST_WORD:
            return unknown
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                if (piece := self._vocabulary.get(prefix + word[start:end])) is not None:
                    break
            else:
                return unknown
            pieces.append(piece)
            start = end
        return tuple(pieces)


def _is_of(processor: dict[str, Any], form: PairForm) -> bool:
    expected = {"type": "TemplateProcessing", "single": form.single, "pair": form.pair}
    return all(processor.get(name) == value for name, value in expected.items())


def _words(text: str) -> list[str]:
    """Lower-case words without accents; every punctuation mark is a word."""
    if text.isascii():
        return _ASCII_PIECES.findall(_CONTROL.sub("", text).lower())
    cleaned = "".join(map(_clean, text))
    decomposed = unicodedata.normalize("NFD", _CHINESE.sub(r" \1 ", cleaned))
    lower = "".join(char.lower() for char in decomposed if unicodedata.category(char) != "Mn")
    return "".join(f" {char} " if _is_punctuation(char) else char for char in lower).split()


@lru_cache(maxsize=4096)
def _clean(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    return " " if char.isspace() else char


@lru_cache(maxsize=4096)
def _is_punctuation(char: str) -> bool:
    return (char.isascii() and not char.isalnum() and not char.isspace()) or unicodedata.category(char).startswith("P")
