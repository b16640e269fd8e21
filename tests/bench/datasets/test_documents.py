"""The documents that data sets bring along, as a corpus takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redargue.errors import UsageError
from redargue.retrieval.corpus.documents import dataset_documents, readers


def test_pubmedqas_abstracts_come_without_the_conclusions_that_answer_their_questions(samples: Path) -> None:
    first, *_ = dataset_documents("pubmedqa", samples / "pubmedqa.json")
    assert (first.id, first.published) == ("1001", "2012")
    assert first.text == "Forty invented patients sang.\nTheir bones were counted."


def test_feverous_pages_hold_the_gold_sentences_of_all_claims_each_once(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "claim": "A.", "label": "supports", "evidence": "Velt\tVelt is a [[River|river]].\nOrvell\tA town."},
        {
            "id": 2,
            "claim": "B.",
            "label": "refutes",
            "evidence": "Velt\tVelt is long.\nVelt\tVelt is a [[River|river]].",
        },
    ]
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(rows))
    found = {each.id: (each.title, each.text) for each in dataset_documents("feverous", path)}
    assert found == {"Velt": ("Velt", "Velt is a river. Velt is long."), "Orvell": ("Orvell", "A town.")}
    path.write_text(json.dumps([{**rows[0], "evidence": []}]))
    with pytest.raises(UsageError, match="sentence-only form"):
        list(dataset_documents("feverous", path))


def test_a_data_set_without_documents_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown data set with documents 'medqa'"):
        dataset_documents("medqa", tmp_path)
    for name in readers:
        with pytest.raises(UsageError, match="no file"):
            dataset_documents(name, tmp_path / "x")
