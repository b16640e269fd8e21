"""Documents: what makes two the same, and what cannot be stored."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from redargue.retrieval.corpus.documents import Document


def test_the_hash_is_of_the_content_and_not_of_where_it_is_kept() -> None:
    document = Document(id="a", text="t", title="x")
    assert document.sha256 == Document(id="b", text="t", title="x", path="/f").sha256
    for other in ({"text": "u"}, {"title": "y"}, {"url": "u"}, {"publisher": "p"}, {"published": "2020"}):
        assert document.model_copy(update=other).sha256 != document.sha256
    assert Document(id="a", title="ab", text="c").sha256 != Document(id="a", title="a", text="bc").sha256


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": "a", "text": " \n"}, "must not be blank"),
        ({"id": "a", "text": "x\0"}, "NUL character at position 1"),
        ({"id": "a", "text": "x", "title": "\ud800"}, "unpaired surrogate at position 0"),
        ({"id": "", "text": "x"}, "at least 1 character"),
    ],
)
def test_what_cannot_be_stored_is_refused(fields: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Document(**fields)
