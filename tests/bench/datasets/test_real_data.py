"""Every real file loads whole, with the class counts of ``INDEX.tsv``."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redargue.bench.datasets import averitec, half_of, load
from redargue.bench.datasets.medicine import abstracts, scifact_documents, scifact_qrels
from redargue.bench.datasets.model_answers import answer_files
from redargue.bench.datasets.wikipedia import qrels
from redargue.inputs.rows import rows

pytestmark = pytest.mark.data

WORDS = {"supports": "SUPPORTS", "refutes": "REFUTES", "True": "true", "False": "false"}

LABELLED: list[tuple[str, str, dict[str, Any]]] = [
    ("fever", "benchmarks/fever/paper_dev.jsonl.gz", {}),
    ("fever", "benchmarks/fever/paper_test.jsonl.gz", {}),
    ("pubmedqa", "benchmarks/pubmedqa/ori_pqal.json.gz", {}),
    ("medqa", "benchmarks/medqa/test.jsonl.gz", {}),
    ("averitec", "benchmarks/averitec/dev.json.gz", {}),
    ("averitec", "benchmarks/averitec/train.json.gz", {}),
    ("feverous", "benchmarks/feverous/dev.json.gz", {}),
    ("hover", "benchmarks/hover/dev.json.gz", {}),
    ("halueval", "benchmarks/halueval/general.jsonl.gz", {}),
    ("fire", "benchmarks/fire/factool_qa.jsonl.gz", {}),
    ("fire", "benchmarks/fire/bingcheck.jsonl.gz", {}),
    ("bingcheck", "benchmarks/fire/bingcheck.jsonl.gz", {}),
    ("fire", "benchmarks/fire/factcheckbench.jsonl.gz", {}),
    ("fire", "benchmarks/fire/felm_wk.jsonl.gz", {}),
]


def indexed(data: Path) -> dict[str, tuple[int, Counter[str]]]:
    """Rows and class counts of each file, as ``INDEX.tsv`` has them, under the loaders' label names."""
    found = {}
    with (data / "INDEX.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            counts: Counter[str] = Counter()
            name = ""
            for part in row["classes"].split():
                name = f"{name} {part}".strip()
                if "=" in part:
                    label, _, count = name.partition("=")
                    counts[WORDS.get(label, label)], name = int(count), ""
            found[row["file"]] = (int(row["rows"]), counts)
    return found


@pytest.mark.parametrize(("name", "file", "options"), LABELLED)
def test_class_counts_equal_the_index(data: Path, name: str, file: str, options: dict[str, Any]) -> None:
    examples, sample = load(name, data / file, options=options)
    number, counts = indexed(data)[file]
    assert len(examples) == sample.rows == number
    assert Counter(each.gold for each in examples) == counts
    assert {label: count for label, count in sample.labels if count} == counts


def test_every_benchmark_file_is_loaded_by_a_test_here(data: Path) -> None:
    tested = {file for _, file, _ in LABELLED} | {
        "benchmarks/fever/corpus.jsonl.gz",
        "benchmarks/fever/qrels.jsonl.gz",
        "benchmarks/scifact/claims_train.jsonl.gz",
        "benchmarks/scifact/claims_dev.jsonl.gz",
        "benchmarks/scifact/corpus.jsonl.gz",
        "benchmarks/averitec/dev_sentences.jsonl.gz",
        "benchmarks/halueval/qa_one-turn.jsonl.gz",
        "benchmarks/halueval/qa_multi-turn.jsonl.gz",
        "benchmarks/factcheck-bench/benchmark.jsonl.gz",
        "benchmarks/factool-qa/knowledge_qa.jsonl.gz",
        "benchmarks/bingcheck/*.json.gz",
    }
    assert {file for file in indexed(data) if file.startswith("benchmarks/")} == tested


def test_fever_qrels_name_claims_and_passages_that_are_there(data: Path) -> None:
    folder = data / "benchmarks" / "fever"
    gold = qrels(folder / "qrels.jsonl.gz")
    assert sum(len(passages) for passages in gold.values()) == indexed(data)["benchmarks/fever/qrels.jsonl.gz"][0]
    labels = {}
    for half in ("paper_dev", "paper_test"):
        examples, _ = load("fever", folder / f"{half}.jsonl.gz")
        labels.update({each.id: each.gold for each in examples})
    assert gold.keys() <= labels.keys()
    found = Counter(labels[claim] for claim, passages in gold.items() for _ in passages)
    assert found == indexed(data)["benchmarks/fever/qrels.jsonl.gz"][1]


def test_scifact_claims_and_corpus_belong_together(data: Path) -> None:
    folder = data / "benchmarks" / "scifact"
    sentences = abstracts(folder / "corpus.jsonl.gz")
    assert len(sentences) == indexed(data)["benchmarks/scifact/corpus.jsonl.gz"][0]
    assert sum(1 for _ in scifact_documents(folder / "corpus.jsonl.gz")) == len(sentences)
    counts = {
        "dev": {"SUPPORT": 124, "CONTRADICT": 64, "NOT ENOUGH INFO": 112},
        "train": {"SUPPORT": 332, "CONTRADICT": 173, "NOT ENOUGH INFO": 304},
    }
    for half, expected in counts.items():
        file = f"benchmarks/scifact/claims_{half}.jsonl.gz"
        examples, _ = load("scifact", data / file)
        assert len(examples) == indexed(data)[file][0]
        assert Counter(each.gold for each in examples) == expected
        for each in examples:
            for group in each.evidence:
                assert all(int(part.element) < len(sentences[part.document]) for part in group)
        assert set().union(*scifact_qrels(data / file).values()) <= sentences.keys()


def test_averitec_dev_has_sentences_for_each_claim(data: Path) -> None:
    folder = data / "benchmarks" / "averitec"
    examples, _ = load("averitec", folder / "dev.json.gz", options={"sentences": folder / "dev_sentences.jsonl.gz"})
    assert min(len(each.passages) for each in examples) >= 10
    assert all(each.claim.as_of for each in examples)
    assert all(each.answers for each in examples)
    assert len(averitec.web_sentences(folder / "dev_sentences.jsonl.gz")) == 491  # texts in 500 rows


@pytest.mark.parametrize("turns", ["one", "multi"])
def test_halueval_qa_has_both_candidates_of_each_row(data: Path, turns: str) -> None:
    file = f"benchmarks/halueval/qa_{turns}-turn.jsonl.gz"
    examples, _ = load("halueval", data / file)
    number = indexed(data)[file][0]
    assert Counter(each.gold for each in examples) == {"yes": number, "no": number}


def test_answers_have_their_claims(data: Path) -> None:
    file = "benchmarks/factcheck-bench/benchmark.jsonl.gz"
    examples, _ = load("factcheck-bench", data / file)
    assert sum(1 for _ in rows(data / file)) == indexed(data)[file][0]
    assert len({each.response for each in examples}) == 50  # one answer makes no claim
    assert Counter(each.gold for each in examples) == {"true": 265, "false": 91, "not_enough_evidence": 22}
    fire, _ = load("fire", data / "benchmarks/fire/factcheckbench.jsonl.gz")
    labels = {each.claim.text: each.gold for each in fire}
    shared = [each for each in examples if each.claim.text in labels]
    assert len(shared) == 174
    assert [each for each in shared if labels[each.claim.text] != each.gold] == []
    file = "benchmarks/factool-qa/knowledge_qa.jsonl.gz"
    examples, _ = load("factool-qa", data / file)
    assert len({each.response for each in examples}) == indexed(data)[file][0]
    assert Counter(each.gold for each in examples) == {"true": 98, "false": 44}


def test_bingcheck_answers_have_pages_for_each_claim(data: Path) -> None:
    folder = data / "benchmarks" / "bingcheck"
    assert len(answer_files(folder)) == indexed(data)["benchmarks/bingcheck/*.json.gz"][0]
    examples, _ = load("bingcheck", folder)
    assert len({each.response for each in examples}) == len(answer_files(folder))
    counts = {"supported": 143, "partially supported": 51, "not supported": 17, "refuted": 3}
    assert Counter(each.gold for each in examples) == counts
    assert not any("\0" in page.text for each in examples for page in each.passages)


@pytest.mark.parametrize(
    ("name", "number", "true", "false"),
    [("factool_qa", 93, 76, 17), ("bingcheck", 70, 53, 17), ("factcheckbench", 281, 210, 71)],
)
def test_snapshots_have_passages_for_each_claim(data: Path, name: str, number: int, true: int, false: int) -> None:
    examples, _ = load("snapshots", data / "snapshots" / f"{name}.jsonl.gz")
    assert len(examples) == number
    assert Counter(each.gold for each in examples) == {"true": true, "false": false}
    assert min(len(each.passages) for each in examples) >= 2


def test_pairs_of_claims_and_evidence_load_as_a_table(data: Path) -> None:
    for file, (number, counts) in indexed(data).items():
        if file.startswith("dev/"):
            examples, _ = load("table", data / file, options={"mapping": "claim=claim,label=label,evidence=evidence"})
            named = Counter({("NOT ENOUGH INFO" if label == "NEI" else label): n for label, n in counts.items()})
            assert sum(len(each.passages) for each in examples) == len(examples) == number
            assert Counter(each.gold for each in examples) == named
            assert {half_of(each.claim.text) for each in examples} == {"even", "odd"}
