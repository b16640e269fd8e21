"""Each data set's file with one thing wrong: the error names field and row, what stands there, what was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redargue.bench.datasets import datasets, load, make
from redargue.errors import UsageError

ABSENT = object()
CHECKING = "fact-checking"


def spoilt(source: Path, folder: Path, at: tuple[str | int, ...], value: object) -> Path:
    """A copy of a sample in which the value at a place is another, or absent."""
    text = source.read_text(encoding="utf-8")
    whole = source.suffix == ".json" and text.startswith(("[\n", "{\n"))
    content: Any = json.loads(text) if whole else [json.loads(line) for line in text.splitlines()]
    inside = content
    for step in at[:-1]:
        inside = inside[step]
    if value is ABSENT:
        del inside[at[-1]]
    else:
        inside[at[-1]] = value
    copy = folder / source.name
    copy.write_text(json.dumps(content) if whole else "\n".join(map(json.dumps, content)), encoding="utf-8")
    return copy


WRONG = [
    ("fever", "fever.jsonl", (1, "claim"), ABSENT, r"no field claim; its fields: id, verifiable, label, evidence"),
    (
        "fever",
        "fever.jsonl",
        (1, "label"),
        "TRUE",
        r"label: expected one of SUPPORTS, REFUTES, .* got \"TRUE\" \(.*row 2\)",
    ),
    ("fever", "fever.jsonl", (1, "label"), ABSENT, r"no field label"),
    ("fever", "fever.jsonl", (1, "id"), 1.5, r"id: expected an identifier .* got 1.5"),
    ("fever", "fever.jsonl", (1, "evidence"), "x", r"evidence: expected a list, got \"x\""),
    (
        "fever",
        "fever.jsonl",
        (1, "evidence"),
        [[["p", 1]]],
        r"evidence\[0\]: expected a list of \[annotation, .* \[\['p', 1\]\]",
    ),
    ("fever", "fever.jsonl", (1, "evidence"), [[[1, 2, "p", "4"]]], r"a line number, got \['p', '4'\]"),
    (
        "feverous",
        "feverous.jsonl",
        (1, "evidence", 0, "content"),
        ["Page 3"],
        r"evidence\[0\]\.content: expected a page and its",
    ),
    ("feverous", "feverous.jsonl", (1, "evidence", 1), [], r"evidence: expected a list of objects, .*row 2"),
    (
        "feverous",
        "feverous_sentences.json",
        (1, "evidence"),
        "no tab",
        r"expected a line 'page<tab>sentence', got 'no tab'",
    ),
    ("feverous", "feverous_sentences.json", (1, "label"), None, r"label: expected one of .* got null \(.*row 2\)"),
    ("faviq", "faviq.jsonl", (0, "label"), "NOT ENOUGH INFO", r"label: expected one of SUPPORTS, REFUTES, got"),
    ("faviq", "faviq.jsonl", (0, "positive_evidence", "text"), ABSENT, r"no field positive_evidence\.text"),
    (
        "averitec",
        "averitec.json",
        (0, "claim_date"),
        "2020-11-05",
        r"claim_date: expected a date like .* got \"2020-11-05\"",
    ),
    ("averitec", "averitec.json", (0, "claim_date"), "31-2-2020", r"claim_date: expected a date like .*row 1"),
    (
        "averitec",
        "averitec.json",
        (0, "questions", 0, "answers", 1, "boolean_explanation"),
        ABSENT,
        r"answers\[1\]\.bool",
    ),
    ("averitec", "averitec.json", (1, "questions"), ABSENT, r"no field questions"),
    ("averitec", "averitec.json", (1, "speaker"), 5, r"speaker: expected text or null, got 5 \(.*row 2\)"),
    ("medqa", "medqa.jsonl", (0, "answer_idx"), "E", r"answer_idx: expected one of A, B, C, D, got \"E\""),
    ("medqa", "medqa.jsonl", (0, "answer"), "Tea", r"answer: expected the text of option B, got \"Tea\""),
    ("medqa", "medqa.jsonl", (0, "options"), {"A": "x", "C": "y"}, r"options: expected an object with the keys A, B"),
    ("medqa", "medqa.jsonl", (1, "options"), ["x", "y"], r"options: expected an object, .*row 2"),
    ("pubmedqa", "pubmedqa.json", ("1002", "final_decision"), "unclear", r"one of yes, no, maybe, .*row 2 \(1002\)"),
    ("pubmedqa", "pubmedqa.json", ("1002", "CONTEXTS"), "text", r"CONTEXTS: expected a list"),
    (
        "factool-qa",
        "factool_qa.jsonl",
        (0, "claims", 1, "label"),
        "perhaps",
        r"claims\[1\]\.label: expected one of true, false",
    ),
    ("factool-qa", "factool_qa.jsonl", (0, "label"), True, r"label: expected true if all its claims are true"),
    (
        "bingcheck",
        "bingcheck/2_bbb.json",
        ("bbb", CHECKING, "subclaims"),
        4,
        r"fact-checking\.subclaims: expected a list",
    ),
    (
        "bingcheck",
        "bingcheck/2_bbb.json",
        ("bbb", CHECKING, "subconclusions", "Ferries run daily."),
        "true",
        r"subconclusions\.Ferries run daily\.: expected one of supported, .* got \"true\" \(.*row 1 \(bbb\)\)",
    ),
    ("bingcheck", "bingcheck_list.jsonl", (3, "label"), "wrong", r"label: expected one of supported, .*row 4"),
    (
        "factcheck-bench",
        "factcheck_bench.jsonl",
        (0, "sentences", "sentence1", "claims_factuality_label"),
        [True],
        r"sentences\.sentence1\.claims_factuality_label: expected a list of 4, one per claim",
    ),
    (
        "factcheck-bench",
        "factcheck_bench.jsonl",
        (0, "sentences", "sentence1", "claims_factuality_label", 0),
        "NA",
        r"claims_factuality_label: expected true, false or 'unknown'",
    ),
    (
        "factcheck-bench",
        "factcheck_bench.jsonl",
        (0, "sentences", "sentence1", "auto_evidence_url", 0),
        [],
        r"auto_evidence_url: expected an address for each text",
    ),
    ("hover", "hover.json", (0, "label"), "REFUTED", r"label: expected one of SUPPORTED, NOT_SUPPORTED"),
    ("hover", "hover.json", (1, "supporting_facts", 0), ["T"], r"expected \[title, sentence number\], got \['T'\]"),
    ("hover", "hover.json", (1, "num_hops"), "2", r"num_hops: expected a whole number, got \"2\" \(.*row 2\)"),
    (
        "scifact",
        "scifact.jsonl",
        (1, "evidence", "44", 0, "label"),
        "NEI",
        r"label: expected SUPPORT or CONTRADICT",
    ),
    (
        "scifact",
        "scifact.jsonl",
        (1, "evidence", "44", 0, "sentences"),
        [],
        r"evidence\.44\[0\]\.sentences: expected a list of",
    ),
    ("scifact", "scifact.jsonl", (0, "evidence", "45", 0, "label"), "CONTRADICT", r"both support and contradict"),
    ("halueval", "halueval_qa.json", (0, "hallucinated_answer"), ABSENT, r"no field hallucinated_answer"),
    (
        "halueval",
        "halueval_general.json",
        (0, "chatgpt_response"),
        ABSENT,
        r"expected the fields of a HaluEval row",
    ),
    (
        "halueval",
        "halueval_general.json",
        (1, "hallucination"),
        "maybe",
        r"hallucination: expected one of yes, no, .*row 2",
    ),
    ("felm", "felm.jsonl", (0, "labels"), [True], r"labels: expected true or false for each of the 3 segments"),
    ("felm", "felm.jsonl", (0, "labels", 1), None, r"labels: expected true or false for each"),
    ("fire", "fire.jsonl", (1, "label"), 0, r"label: expected one of true, false, got 0 \(.*row 2\)"),
    (
        "mermaid-runs",
        "mermaid_runs.json",
        (0, "label"),
        "maybe",
        r"label: expected one of true, false, got \"maybe\"",
    ),
    ("mermaid-runs", "mermaid_runs.json", (0, "react_trace"), None, r"react_trace: expected a run in at least one row"),
    ("snapshots", "snapshots.jsonl", (0, "passages", 1, "text"), "", r"passages\[1\]\.text: expected text"),
    ("table", "fever.jsonl", (2, "label"), "", r"label: expected one of SUPPORTS, .* got \"\" \(.*row 3\)"),
]


@pytest.mark.parametrize(("name", "sample", "at", "value", "message"), WRONG)
def test_one_wrong_thing_is_named(
    name: str,
    sample: str,
    at: tuple[str | int, ...],
    value: object,
    message: str,
    samples: Path,
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match=message):
        list(make(name).read(spoilt(samples / sample, tmp_path, at, value)))


def test_each_data_set_has_a_wrong_file_here() -> None:
    assert {case[0] for case in WRONG} == set(datasets)


@pytest.mark.parametrize("name", [name for name in datasets if name != "bingcheck"])
def test_each_data_set_refuses_an_empty_file_a_folder_and_another_data_sets_file(name: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(UsageError, match="the file is empty"):
        list(make(name).read(empty))
    with pytest.raises(UsageError, match="expected a file, got a folder"):
        list(make(name).read(tmp_path))
    other = tmp_path / "other.json"
    other.write_text('{"1": {"title": "A recipe", "steps": []}}', encoding="utf-8")
    with pytest.raises(UsageError, match=r"no field|HaluEval row"):
        list(make(name).read(other))


def test_bingcheck_refuses_a_folder_without_answers_and_another_file(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no \.json or \.json\.gz file"):
        list(make("bingcheck").read(tmp_path))
    with pytest.raises(UsageError, match="no field fact-checking; its fields: QUESTION"):
        list(make("bingcheck").read(samples / "pubmedqa.json"))


def test_averitec_refuses_sentences_of_other_claims(samples: Path, tmp_path: Path) -> None:
    file = spoilt(samples / "averitec_sentences.jsonl", tmp_path, (0, "claim"), "Another claim.")
    with pytest.raises(UsageError, match=r"no sentences for 'The mayor of Lune"):
        list(make("averitec", sentences=file).read(samples / "averitec.json"))


def test_a_key_that_stands_twice_would_lose_a_row(tmp_path: Path) -> None:
    row = '{"QUESTION": "Q?", "CONTEXTS": ["c"], "final_decision": "yes", "LONG_ANSWER": "a"}'
    (tmp_path / "twice.json").write_text(f'{{"1": {row}, "1": {row}}}')
    with pytest.raises(UsageError, match="the key '1' appears 2 times"):
        load("pubmedqa", tmp_path / "twice.json")


def test_a_file_of_another_set_that_has_claim_and_label_too_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hover.json").write_text('[{"claim": "c", "label": "NOT_SUPPORTED", "uid": "1", "num_hops": 2}]')
    with pytest.raises(UsageError, match="expected only claim and label, got also num_hops, uid"):
        load("bingcheck", tmp_path / "hover.json")


def test_one_class_cannot_be_balanced(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("claim,label\nOne claim.,REFUTES\nAnother claim.,REFUTES\n")
    with pytest.raises(UsageError, match="nothing to balance"):
        load("table", tmp_path / "one.csv", take="balanced")
