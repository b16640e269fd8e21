"""Tables whose texts are taken apart: claims with their own evidence, scores of whole texts, one extraction."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from redargue.bench.datasets import load
from redargue.bench.tables import find_table
from redargue.bench.tables.comparison import compare_table
from redargue.bench.tables.runner import Runner, TableChoice, claims_of_texts
from redargue.spec import RunSpec

pytest.importorskip("scipy", reason="needs the extra lab")

DOCUMENT = " ".join([f"Page {page} of the town's records lists the {page} wells of a street." for page in range(20)])
SUMMARY = {
    "document": f"The stone bridge at Orvell was opened in 1889. It burned in 1911. {DOCUMENT}",
    "right_summary": "The bridge at Orvell was opened in 1889. It burned in 1911.",
    "hallucinated_summary": "The bridge at Orvell was opened in 1889. It burned in 1950.",
}
DIALOGUE = {
    "knowledge": "The stone bridge at Orvell was opened in 1889.",
    "dialogue_history": "[Human]: Do you know Orvell?",
    "right_response": "The bridge at Orvell was opened in 1889. I love it!",
    "hallucinated_response": "The bridge at Orvell was opened in 1950. I love it!",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "benchmarks" / "halueval"
    folder.mkdir(parents=True)
    (folder / "summarization_data.json").write_text(json.dumps(SUMMARY) + "\n")
    (folder / "dialogue_data.json").write_text(json.dumps(DIALOGUE) + "\n")
    return tmp_path / "data"


def test_a_summarys_claims_are_checked_against_the_ten_most_similar_sentences(data: Path, tmp_path: Path) -> None:
    examples = load("halueval", data / "benchmarks/halueval/summarization_data.json").examples
    told: list[str] = []
    path = tmp_path / "claims.jsonl"
    claims = claims_of_texts(examples, "summary", RunSpec(offline=True), path, told.append)
    assert [claim.response for claim in claims] == ["1.right"] * 2 + ["1.hallucinated"] * 2
    assert [claim.gold for claim in claims] == ["no", "no", "yes", "yes"]
    assert claims[0].claim.context == ""
    for claim in claims:
        assert sum(passage.text.count(".") for passage in claim.passages) == 10
        assert any(passage.text.startswith("The stone bridge at Orvell") for passage in claim.passages)
    path.write_text(path.read_text() + '{"text": "cut o')  # the process was killed while it wrote
    assert claims_of_texts(examples, "summary", RunSpec(offline=True), path, told.append) == claims
    assert told == ["taking the claims out of 2 texts"]
    first, _ = path.read_text().split("\n", 1)
    path.write_text(first + '\n{"text": "cut o')  # killed within the second text: it alone is read again
    for _ in range(2):
        assert claims_of_texts(examples, "summary", RunSpec(offline=True), path, told.append) == claims
    assert told[1:] == ["taking the claims out of 1 text"]


def test_a_dialogues_claims_leave_opinions_out_and_read_the_conversation(data: Path, tmp_path: Path) -> None:
    examples = load("halueval", data / "benchmarks/halueval/dialogue_data.json").examples
    claims = claims_of_texts(examples, "dialogue", RunSpec(offline=True), tmp_path / "claims.jsonl", print)
    assert len(claims) == 2
    assert "love" not in claims[0].claim.text
    assert [passage.text for passage in claims[0].passages] == [DIALOGUE["knowledge"], DIALOGUE["dialogue_history"]]


@pytest.mark.slow
def test_a_text_is_factual_if_all_its_claims_are_and_halueval_reads_texts_whole(data: Path, tmp_path: Path) -> None:
    paper, table = find_table("dual-position-table-3")
    rows = tuple(row for row in table.rows if row.name in ("HaluEval (few-shot)", "One reader (ours)"))
    chosen = table.model_copy(update={"rows": rows})
    choice = TableChoice(
        out=tmp_path / "runs", data=data, half="all", sets=("halueval-summarization",), spec=RunSpec(offline=True)
    )
    runner = Runner(paper, choice, lambda name, total: nullcontext(lambda item, outcome: None), print)
    runner.run(chosen)
    (cell,) = runner.cells.values()
    assert len(cell.examples) == 4
    compared = compare_table(chosen, runner)
    (detector, reader) = compared.rows
    assert detector.ours == ("needs a language model: --model",)
    figures = [figure for figure in reader.figures if figure]
    assert [figure.n for figure in figures][:1] == [2]  # texts
    assert any("all its claims are" in note for note in compared.notes)
