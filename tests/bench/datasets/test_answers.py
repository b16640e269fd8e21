"""What language models wrote: FacTool-QA, BingCheck, FactCheck-Bench, HaluEval, FELM; files of FIRE; snapshots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redargue.bench.datasets.files import FireDataset, Snapshots
from redargue.bench.datasets.model_answers import BingCheck, FactCheckBench, FacToolQa, Felm, HaluEval
from redargue.claims import Meaning
from redargue.errors import UsageError
from redargue.inputs.claims import BINGCHECK, FACTCHECK_BENCH, HALLUCINATED, TRUE_FALSE


def test_factool_claims_are_grouped_by_their_answer(samples: Path) -> None:
    examples = list(FacToolQa().read(samples / "factool_qa.jsonl"))
    assert [(each.id, each.gold, each.response, each.row) for each in examples] == [
        ("1.1", "true", "1", 1),
        ("1.2", "false", "1", 1),
        ("2.1", "true", "2", 2),
    ]
    assert {each.claim.context for each in examples} == {""}
    asked = next(FacToolQa(with_question=True).read(samples / "factool_qa.jsonl"))
    assert asked.claim.context == "What runs on the Arn?"


def test_factool_claims_bring_frozen_searches_along_their_own_or_those_of_their_answer(
    samples: Path, tmp_path: Path
) -> None:
    found = tmp_path / "searches.jsonl"
    passage = {"query": "Arn ferry", "title": "Arn", "text": "A ferry crosses the Arn.", "url": "", "publisher": ""}
    found.write_text(json.dumps({"claim": "A ferry runs on the Arn.", "label": "true", "passages": [passage]}) + "\n")
    first, beside, other = FacToolQa(evidence=found).read(samples / "factool_qa.jsonl")
    assert [each.text for each in first.passages] == ["A ferry crosses the Arn."]
    assert beside.passages == first.passages  # of the same answer
    assert other.passages == ()


def test_bingcheck_answers_come_in_order_of_their_numbers_with_whole_pages(samples: Path) -> None:
    examples = list(BingCheck().read(samples / "bingcheck"))
    assert [(each.id, each.gold, each.response, each.row) for each in examples] == [
        ("bbb.1", "supported", "bbb", 1),
        ("bbb.2", "refuted", "bbb", 1),
        ("ccc.1", "partially supported", "ccc", 2),
        ("ccc.2", "not supported", "ccc", 2),
    ]
    assert [(page.title, page.text, page.query, page.rank) for page in examples[1].passages] == [
        ("Ferries", "Ferries run.\nThey� stop.", "query 1", 1),
        ("Mills", "Mills turn.\nPage two.", "query 1", 3),
    ]
    (first, _) = BingCheck().read(samples / "bingcheck" / "10_ccc.json")
    assert (first.id, first.row, first.claim.labels) == ("ccc.1", 1, BINGCHECK)


def test_bingcheck_of_two_labels_drops_what_is_not_supported(samples: Path) -> None:
    for path in (samples / "bingcheck", samples / "bingcheck_list.jsonl"):
        golds = {each.claim.text: (each.gold, each.claim.labels) for each in BingCheck(binary=True).read(path)}
        assert golds == {
            "Ferries run daily.": ("true", TRUE_FALSE),
            "Ferries run on oats.": ("false", TRUE_FALSE),
            "Mills turn slowly.": ("true", TRUE_FALSE),
        }


def test_bingcheck_reads_fires_list_with_four_labels_or_two(samples: Path) -> None:
    golds = [each.gold for each in BingCheck().read(samples / "bingcheck_list.jsonl")]
    assert golds == ["supported", "partially supported", "not supported", "refuted"]
    examples = list(BingCheck().read(samples / "fire.jsonl"))
    assert [(each.gold, each.claim.labels) for each in examples] == [("true", TRUE_FALSE), ("false", TRUE_FALSE)]
    assert list(BingCheck(binary=True).read(samples / "fire.jsonl")) == examples


def test_factcheck_bench_leaves_opinions_out_and_gives_the_evidence_found(samples: Path) -> None:
    examples = list(FactCheckBench().read(samples / "factcheck_bench.jsonl"))
    assert [(each.id, each.gold) for each in examples] == [
        ("1.1.1", "true"),
        ("1.1.2", "false"),
        ("1.1.4", "not_enough_evidence"),
    ]
    assert [(each.text, each.url) for each in examples[0].passages] == [
        ("She sang� for years.", "https://example.org/s")
    ]
    assert {(each.claim.labels, each.response) for each in examples} == {(FACTCHECK_BENCH, "1")}
    binary = list(FactCheckBench(binary=True, with_question=True).read(samples / "factcheck_bench.jsonl"))
    assert [(each.gold, each.claim.labels) for each in binary] == [("true", TRUE_FALSE), ("false", TRUE_FALSE)]
    assert binary[0].claim.context == "Who was Orla Venn?"


@pytest.mark.parametrize(
    ("kind", "context", "passage", "texts"),
    [
        ("qa", "Where was Orla Venn born?", "Orla Venn was born in Lune.", ("Lune", "Orla Venn was born in Arn.")),
        ("dialogue", "[Human]: Is there a ferry?", "The ferry runs daily.", ("Every day.", "Only in May.")),
        (
            "summarization",
            "The ferry of Lune ran for",
            "The ferry of Lune ran for a hundred years before it stopped.",
            ("The ferry ran for a hundred years.", "The ferry never ran."),
        ),
    ],
)
def test_halueval_candidates_are_claims_and_the_knowledge_is_a_passage(
    samples: Path, kind: str, context: str, passage: str, texts: tuple[str, str]
) -> None:
    right, hallucinated = HaluEval().read(samples / f"halueval_{kind}.json")
    assert (right.id, right.gold, right.claim.text) == ("1.right", "no", texts[0])
    assert (hallucinated.id, hallucinated.gold, hallucinated.claim.text) == ("1.hallucinated", "yes", texts[1])
    for each in (right, hallucinated):
        assert each.claim.context.startswith(context)
        assert [found.text for found in each.passages] == [passage]
        assert each.group == kind


def test_halueval_question_can_stand_in_the_claim(samples: Path) -> None:
    right, _ = HaluEval(question_in_claim=True).read(samples / "halueval_qa.json")
    assert (right.claim.text, right.claim.context) == ("Where was Orla Venn born? Lune", "")


def test_halueval_general_has_the_request_as_context(samples: Path) -> None:
    first, second = HaluEval().read(samples / "halueval_general.json")
    assert (first.gold, second.gold, second.id) == ("no", "yes", "2")
    assert (second.claim.text, second.claim.context) == ("It stopped in 3050.", "When did it stop?")
    assert (first.group, first.passages) == ("general", ())


def test_a_hallucinated_text_is_refuted() -> None:
    assert HALLUCINATED.meaning("yes") is Meaning.REFUTED
    assert HALLUCINATED.meaning("no") is Meaning.SUPPORTED


def test_felm_by_segment_or_by_response(samples: Path) -> None:
    segments = list(Felm().read(samples / "felm.jsonl"))
    assert [(each.id, each.gold, each.response, each.group) for each in segments] == [
        ("wk-0.1", "true", "wk-0", "wk"),
        ("wk-0.3", "false", "wk-0", "wk"),
        ("1.1", "true", "1", ""),
    ]
    assert segments[0].claim.context == "Question: What runs on the Arn?\nAnswer: A ferry. --- A mill."
    responses = list(Felm(unit="response").read(samples / "felm.jsonl"))
    assert [(each.id, each.gold, each.claim.text, each.claim.context) for each in responses] == [
        ("wk-0", "false", "A ferry. --- A mill.", ""),
        ("1", "true", "A singer.", ""),
    ]
    with pytest.raises(UsageError, match="'word'"):
        Felm(unit="word")  # type: ignore[arg-type]


def test_fire_takes_booleans_and_their_names(samples: Path) -> None:
    assert [(each.id, each.gold) for each in FireDataset().read(samples / "fire.jsonl")] == [
        ("1", "true"),
        ("2", "false"),
    ]


def test_snapshots_rank_passages_within_their_query(samples: Path) -> None:
    (only,) = Snapshots().read(samples / "snapshots.jsonl")
    assert [(each.query, each.rank, each.title) for each in only.passages] == [
        ("ferry arn", 1, "Ferry"),
        ("ferry arn", 2, "Arn"),
        ("arn traffic", 1, "Traffic"),
    ]
    assert (only.passages[0].publisher, only.passages[1].url) == ("Lune Post", "")


def test_binary_label_sets_mean_what_they_say() -> None:
    assert [label.meaning for label in TRUE_FALSE.labels] == [Meaning.SUPPORTED, Meaning.REFUTED]
    assert BINGCHECK.meaning("partially supported") is Meaning.SUPPORTED
    assert BINGCHECK.meaning("not supported") is Meaning.NOT_ENOUGH
    assert BINGCHECK.parse("The claim is\n**not supported**") == "not supported"
