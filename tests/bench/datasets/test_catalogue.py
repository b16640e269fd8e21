"""The registry, and one call that reads and samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from redargue.bench.datasets import datasets, load, make
from redargue.errors import UsageError


def test_every_data_set_is_registered_under_its_name_with_its_labels() -> None:
    assert sorted(datasets) == [
        "averitec",
        "bingcheck",
        "factcheck-bench",
        "factool-qa",
        "faviq",
        "felm",
        "fever",
        "feverous",
        "fire",
        "halueval",
        "hover",
        "medqa",
        "mermaid-runs",
        "pubmedqa",
        "scifact",
        "snapshots",
        "table",
    ]
    for name in datasets:
        kind = datasets[name]
        assert kind.name == name
        assert kind.about
        assert kind.metric
        assert kind.labels.names


def test_loading_gives_examples_and_what_a_run_writes_down(samples: Path) -> None:
    examples, sample = load("hover", samples / "hover.json", limit=1, take="group")
    assert [each.id for each in examples] == ["u-1", "u-2"]
    assert (sample.dataset, sample.file, sample.rows, sample.taken) == ("hover", "hover.json", 2, 2)
    assert dict(sample.groups) == {"2-hop": 1, "3-hop": 1}
    again = load("hover", samples / "hover.json", limit=1, take="group")
    assert (again.examples, again.sample) == (examples, sample)
    assert (sample.how, sample.per_group, sample.limit) == ("random", True, 1)


def test_a_wrong_way_to_sample_is_named_with_the_right_ones(samples: Path) -> None:
    file = samples / "hover.json"
    with pytest.raises(UsageError, match=r"unknown way to take a sample 'randm'\n  → did you mean 'random'"):
        load("hover", file, take="randm")
    with pytest.raises(UsageError, match=r"unknown half 'left'\n  → known: all, even, odd"):
        load("hover", file, half="left")
    with pytest.raises(UsageError, match="expected a limit of at least 1, got 0"):
        load("hover", file, limit=0)


def test_options_reach_the_reader_and_the_record(samples: Path) -> None:
    examples, sample = load("pubmedqa", samples / "pubmedqa.json", options={"with_evidence": True})
    assert examples[0].passages
    assert sample.options == (("with_evidence", "True"),)
    _, sample = load("table", samples / "table.csv", options={"mapping": "claim=statement"})
    assert sample.options == (("mapping", "claim=statement"),)


@pytest.mark.parametrize("value", ["no", "nope", 3, "1"])
def test_an_option_of_the_wrong_kind_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"invalid value.*\(pubmedqa, with_evidence\)"):
        make("pubmedqa", with_evidence=value)
    with pytest.raises(UsageError, match="invalid value"):
        make("averitec", sentences=5)


def test_true_and_false_are_read_in_any_case(samples: Path) -> None:
    examples, _ = load("pubmedqa", samples / "pubmedqa.json", options={"with_evidence": "False"})
    assert not examples[0].passages


def test_an_unknown_data_set_or_option_is_named_with_the_known_ones(samples: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown data set 'fevr'\n  → did you mean 'fever'"):
        make("fevr")
    with pytest.raises(UsageError, match=r"'pubmedqa' has no option 'with_evidnce'\n  → did you mean 'with_evidence'"):
        make("pubmedqa", with_evidnce=True)
    with pytest.raises(UsageError, match="'fire' has no option 'binary'\n  → it has no options"):
        make("fire", binary=True)


def test_two_rows_with_one_id_are_refused(samples: Path, tmp_path: Path) -> None:
    file = tmp_path / "twice.jsonl"
    text = (samples / "fever.jsonl").read_text(encoding="utf-8")
    file.write_text(text + text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"the id '7' is taken by row 1 \(.*twice\.jsonl, row 4\)"):
        load("fever", file)
