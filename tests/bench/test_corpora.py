"""Indexes of data sets' documents are made once for files of the same content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redargue.bench.tables.runner import CorpusFile, indexed_corpus
from redargue.retrieval.corpus.index import open_corpus


def written(path: Path, *texts: str) -> CorpusFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ({"id": str(number), "text": text} for number, text in enumerate(texts))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return CorpusFile(path)


def test_a_corpus_is_indexed_once_wherever_its_files_are_and_again_for_other_documents(tmp_path: Path) -> None:
    told: list[str] = []
    here = written(tmp_path / "a" / "rows.jsonl", "The bridge at Orvell was opened in 1889.")
    there = written(tmp_path / "b" / "copy.jsonl", "The bridge at Orvell was opened in 1889.")
    first = indexed_corpus("bridges", [here], told.append)
    assert indexed_corpus("bridges", [there], told.append) == first
    assert len(told) == 1
    other = indexed_corpus("bridges", [here, there], told.append)
    assert other != first
    with open_corpus(first) as corpus:
        assert len(corpus.documents()) == 1


def test_an_index_that_was_interrupted_is_not_taken_for_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "rows.jsonl", "The bridge at Orvell was opened in 1889.")

    def interrupted(_: CorpusFile) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CorpusFile, "documents", interrupted)
        with pytest.raises(KeyboardInterrupt):
            indexed_corpus("bridges", [file], lambda _: None)
    with open_corpus(indexed_corpus("bridges", [file], lambda _: None)) as corpus:
        assert [entry.id for entry in corpus.documents()]
