"""WordPiece: token ids equal those of the package ``tokenizers``, which a plain installation lacks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.errors import UsageError
from redargue.nli.session import WEIGHTS_FOLDER, read_tokenizer
from redargue.nli.wordpiece import PAIR_FORMS, WordPiece
from redargue.registry import install

DESCRIPTION: dict[str, Any] = json.loads((WEIGHTS_FOLDER / "tokenizer.json").read_text(encoding="utf-8"))
OLD = st.characters(max_codepoint=0x5FF, exclude_categories=["Cs"])  # characters that every Unicode version knows
TEXTS = st.one_of(
    st.text(OLD, max_size=80),
    st.lists(
        st.sampled_from(
            "Fußball café İstanbul ΣΊΣΥΦΟΣ [SEP] [MASK] 東京 U.S. don't ﬁne e\u0301 😀 x_y “quote”".split()
        ),
        max_size=60,
    ).map(" ".join),
)


def ours(longest: int) -> WordPiece:
    tokenizer = WordPiece.of(DESCRIPTION, longest=longest)
    assert tokenizer is not None
    return tokenizer


@pytest.fixture(scope="module")
def reference() -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(WEIGHTS_FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


@given(text=TEXTS)
def test_token_ids_of_a_text_equal_those_of_tokenizers(reference: Any, text: str) -> None:
    reference.enable_truncation(32)
    expected = reference.encode(text)
    (tokens,) = ours(32).encode_batch([text])
    assert (tokens.ids, tokens.attention_mask, tokens.type_ids) == (
        expected.ids,
        expected.attention_mask,
        expected.type_ids,
    )


@given(first=TEXTS, second=TEXTS)
def test_pairs_are_cut_as_tokenizers_cuts_them(reference: Any, first: str, second: str) -> None:
    reference.enable_truncation(24, strategy="longest_first")
    expected = reference.encode(first, second)
    (tokens,) = ours(24).encode_batch([(first, second)])
    assert (tokens.ids, tokens.type_ids) == (expected.ids, expected.type_ids)


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """MPNet's form of pairs, over the bundled vocabulary."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra tokenizers")
    form = PAIR_FORMS[1]
    ids = {form.start: 1, form.end: 2}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    description = {
        **DESCRIPTION,
        "model": {**DESCRIPTION["model"], "vocab": {**DESCRIPTION["model"]["vocab"], **ids}},
        "added_tokens": [{"id": at, "content": name, **plain} for name, at in {**ids, "[UNK]": 100}.items()],
        "post_processor": {
            "type": "TemplateProcessing",
            "single": form.single,
            "pair": form.pair,
            "special_tokens": {name: {"id": name, "ids": [at], "tokens": [name]} for name, at in ids.items()},
        },
        "padding": None,
    }
    path = tmp_path_factory.mktemp("mpnet") / "tokenizer.json"
    path.write_text(json.dumps(description), encoding="utf-8")
    reference = tokenizers.Tokenizer.from_file(str(path))
    reference.enable_truncation(24, strategy="longest_first")
    return reference, WordPiece.of(description, longest=24)


@given(first=TEXTS, second=TEXTS)
def test_pairs_of_mpnet_have_two_tokens_between_them(mpnet: Any, first: str, second: str) -> None:
    reference, tokenizer = mpnet
    for texts in ((first,), (first, second)):
        expected, tokens = reference.encode(*texts), tokenizer.encode(*texts)
        assert (tokens.ids, tokens.type_ids) == (expected.ids, expected.type_ids)


def test_another_kind_of_tokenizer_is_left_to_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**DESCRIPTION, "pre_tokenizer": {"type": "Whitespace"}}
    assert WordPiece.of(other, longest=8) is None
    (tmp_path / "tokenizer.json").write_text(json.dumps(other), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UsageError) as refused:
        read_tokenizer(tmp_path, 8)
    assert refused.value.hint == install("tokenizers")
