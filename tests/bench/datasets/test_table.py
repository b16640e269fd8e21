"""Anyone's own claims."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from redargue.bench.datasets.files import COLUMN_ROLES, TableFile
from redargue.claims import TWO
from redargue.errors import UsageError
from redargue.inputs.claims import TRUE_FALSE, check_roles, split_mapping

MAPPING = "claim=statement,label=verdict,id=key,context=about,as_of=day"


def test_a_csv_file_is_read_by_its_mapping(samples: Path) -> None:
    first, second = TableFile(mapping=MAPPING).read(samples / "table.csv")
    assert (first.id, first.claim.text, first.gold) == ("x1", "The ferry runs, daily.", "SUPPORTS")
    assert (first.claim.context, first.claim.as_of) == ("Two\nlines.", date(2021, 3, 31))
    assert (second.gold, second.claim.context, second.claim.as_of) == ("NOT ENOUGH INFO", "", None)


def test_a_tsv_file_and_json_lines_need_no_mapping_where_columns_are_called_so(samples: Path) -> None:
    (only,) = TableFile(labels="two").read(samples / "table.tsv")
    assert (only.id, only.gold, only.claim.labels) == ("1", "REFUTES", TWO)
    first, *_ = TableFile(mapping={"claim": "claim", "label": "label", "id": "id"}).read(samples / "fever.jsonl")
    assert (first.id, first.gold) == ("7", "SUPPORTS")


def test_labels_may_be_named_as_a_data_sets_own(samples: Path) -> None:
    examples = list(TableFile(labels="true-false").read(samples / "fire.jsonl"))
    assert [(each.gold, each.claim.labels) for each in examples] == [("true", TRUE_FALSE), ("false", TRUE_FALSE)]
    with pytest.raises(UsageError, match="unknown label set 'three'"):
        TableFile(labels="three")


def test_booleans_yes_and_no_are_read_as_supported_and_refuted_and_own_words_are_mapped(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    cells = [True, "no", "FALSE", "Yes", "supports"]
    file.write_text("".join(json.dumps({"claim": "A b.", "label": cell}) + "\n" for cell in cells))
    golds = [example.gold for example in TableFile().read(file)]
    assert golds == ["SUPPORTS", "REFUTES", "REFUTES", "SUPPORTS", "SUPPORTS"]
    file.write_text("".join(json.dumps({"claim": "A b.", "label": cell}) + "\n" for cell in ("Pants on Fire", "ok")))
    labels = "ok=SUPPORTS,pants on fire=REFUTES"
    assert [example.gold for example in TableFile(labels=labels).read(file)] == ["pants on fire", "ok"]


def test_a_column_of_evidence_becomes_the_passage(samples: Path) -> None:
    first, second = TableFile(mapping="claim=statement,evidence=about").read(samples / "table.csv")
    assert [each.text for each in first.passages] == ["Two\nlines."]
    assert second.passages == ()


def test_without_a_column_for_labels_gold_is_hidden(samples: Path) -> None:
    assert [each.gold for each in TableFile(mapping="claim=statement").read(samples / "table.csv")] == [None, None]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("claim", "'claim' in the mapping"),
        ("claim=", "'claim=' in the mapping"),
        ("claim=a,claim=b", "'claim' appears twice"),
        ("claim=a,lable=b", r"unknown role 'lable'[\s\S]*'label'"),
        ("label=b", "no column for the claim"),
    ],
)
def test_a_wrong_mapping_says_what_is_wrong(mapping: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_roles(split_mapping(mapping), COLUMN_ROLES)


def test_a_column_that_is_not_there_is_named_with_those_that_are(samples: Path) -> None:
    with pytest.raises(UsageError, match="no field text; its fields: key, statement, verdict, about, day"):
        list(TableFile(mapping="claim=text").read(samples / "table.csv"))
    with pytest.raises(UsageError, match="no field extra"):
        list(TableFile(mapping="claim=statement,context=extra").read(samples / "table.csv"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("claim,label\nA b.,PERHAPS\n", r"label: expected one of SUPPORTS, .*, got \"PERHAPS\" \(.*t\.csv, row 1\)"),
        ("claim,label\nA b.\n", r"no field for the column label \(.*row 1\)"),
        ("claim,label\nA b.,SUPPORTS,3\n", r"1 field more than the 2 columns \(.*row 1\)"),
        ("claim,claim\nA b.,SUPPORTS\n", "two columns are called 'claim'"),
        ("claim,label\n", "a header line but no rows"),
        ('claim,label\nA b.,SUPPORTS\n"A,REFUTES\n', r"not a table: .* \(.*row 2\)"),
        ("claim,label\n ,SUPPORTS\n", 'claim: expected text, got " "'),
        ("claim,label,as_of\nA b.,SUPPORTS,March\n", "as_of: expected a date like '2021-03-31'"),
    ],
)
def test_a_wrong_table_says_which_row_and_what_was_expected(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(content, encoding="utf-8")
    mapping = "claim=claim,label=label" + (",as_of=as_of" if "as_of" in content else "")
    with pytest.raises(UsageError, match=message):
        list(TableFile(mapping=mapping).read(file))


def test_words_that_are_no_labels_lead_to_the_option_that_maps_them(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("claim,label\nA b.,unclear\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        list(TableFile().read(tmp_path / "t.csv"))
    assert "--labels true=SUPPORTS,false=REFUTES,unclear=NEI" in caught.value.hint


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"claim,label,about\nA b.,SUPPORTS,{'word ' * 40_000}\n", encoding="utf-8")
    (only,) = TableFile(mapping="claim=claim,context=about").read(file)
    assert len(only.claim.context) == 200_000


def test_numbers_of_json_lines_are_words_of_the_label_column(tmp_path: Path) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text('{"claim": "a", "label": 1}\n{"claim": "b", "label": 0}\n', encoding="utf-8")
    examples = TableFile(labels="1=SUPPORTS,0=REFUTES").read(path)
    assert [example.gold for example in examples] == ["1", "0"]
