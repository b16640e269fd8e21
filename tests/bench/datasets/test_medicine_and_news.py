"""MedQA, PubMedQA, SciFact and AVeriTeC."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from redargue.bench.datasets import GoldEvidence
from redargue.bench.datasets.averitec import NO_CLAIM, Averitec, web_sentences
from redargue.bench.datasets.medicine import MedQa, PubMedQa, SciFact, abstracts, scifact_documents, scifact_qrels
from redargue.claims import Meaning
from redargue.inputs.claims import SCIFACT


def test_medqa_offers_as_many_letters_as_options(samples: Path) -> None:
    first, second = MedQa().read(samples / "medqa.jsonl")
    assert first.claim.options == ("Salve A", "Syrup B", "Rest", "Tea")
    assert (first.gold, first.group, first.claim.labels.names) == ("B", "step1", ("A", "B", "C", "D"))
    assert (second.gold, second.claim.labels.names) == ("E", ("A", "B", "C", "D", "E"))


def test_pubmedqa_withholds_its_contexts_unless_asked_for(samples: Path) -> None:
    first, second = PubMedQa().read(samples / "pubmedqa.json")
    assert (first.id, first.gold, first.passages) == ("1001", "maybe", ())
    assert first.claim.text == "Does singing mend invented bones?"
    assert (first.claim.context, second.gold, second.row) == ("", "yes", 2)
    first, second = PubMedQa(with_evidence=True).read(samples / "pubmedqa.json")
    assert [(each.document, each.published, each.text, each.rank) for each in first.passages] == [
        ("1001", "2012", "Forty invented patients sang.", 1),
        ("1001", "2012", "Their bones were counted.", 2),
    ]
    assert second.passages[0].published == ""


def test_scifact_rationales_are_gold_groups_and_a_claim_without_any_has_not_enough_info(samples: Path) -> None:
    first, second, third = SciFact().read(samples / "scifact.jsonl")
    assert first.evidence == (
        (GoldEvidence(document="44", element="1"), GoldEvidence(document="44", element="2")),
        (GoldEvidence(document="44", element="0"),),
        (GoldEvidence(document="45", element="3"),),
    )
    assert [each.gold for each in (first, second, third)] == ["SUPPORT", "CONTRADICT", "NOT ENOUGH INFO"]
    assert third.evidence == ()
    decided = [each.id for each in SciFact(decided=True).read(samples / "scifact.jsonl")]
    both = {each.claim.labels.names for each in SciFact(decided=True).read(samples / "scifact.jsonl")}
    assert both == {("SUPPORT", "CONTRADICT")}  # MERMAID, Table 2
    assert decided == [each.id for each in (first, second, third) if each.evidence]
    assert 0 < len(decided) < 3
    (hidden,) = SciFact().read(samples / "scifact_test.jsonl")
    assert hidden.gold is None
    assert SCIFACT.parse("REFUTE") == "CONTRADICT"


def test_scifact_corpus_gives_sentences_documents_and_what_to_retrieve(samples: Path) -> None:
    assert abstracts(samples / "scifact_corpus.jsonl")["45"] == ("One.", "Two.", "Three.", "They divide.")
    first, _ = scifact_documents(samples / "scifact_corpus.jsonl")
    assert (first.id, first.title) == ("44", "Cells at night")
    assert first.text == "We watched cells. They divided at night. They did not sing."
    assert scifact_qrels(samples / "scifact.jsonl") == {"1": {"44", "45"}, "2": {"44"}, "3": {"45"}}


def test_averitec_is_judged_as_of_its_day_and_says_who_said_it(samples: Path) -> None:
    first, second = Averitec().read(samples / "averitec.json")
    assert first.claim.as_of == date(2020, 11, 5)
    assert first.claim.context == "Speaker: Orla Venn\nSource: Facebook"
    assert first.gold == "Conflicting Evidence/Cherrypicking"
    assert (second.claim.as_of, second.claim.context, second.gold) == (None, "", "Not Enough Evidence")
    (hidden,) = Averitec().read(samples / "averitec_test.json")
    assert (hidden.id, hidden.gold, hidden.claim.context) == ("4", None, "Source: Radio")


def test_averitec_answers_are_as_its_metric_joins_them(samples: Path) -> None:
    first, second = Averitec().read(samples / "averitec.json")
    assert first.answers == (
        ("Who runs the ferry?", "The town."),
        ("Who runs the ferry?", "No. The state does."),
        ("When was it closed?", "No answer could be found."),
    )
    assert second.answers == (("Are they?", "No answer could be found."),)


def test_averitec_gives_retrieved_sentences_of_all_rows_of_a_claim(samples: Path) -> None:
    file = samples / "averitec_sentences.jsonl"
    first, second = Averitec(sentences=file).read(samples / "averitec.json")
    assert [(each.text, each.url, each.rank) for each in first.passages] == [
        ("The ferry stopped on Monday.", "https://example.org/1", 1),
        ("The mayor spoke.", "https://example.org/2", 2),
    ]
    assert [each.text for each in second.passages] == ["A ticket costs two crowns.", "Children� ride free."]
    assert len(web_sentences(file)) == 2


def test_an_averitec_row_with_an_empty_claim_says_so_and_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    file.write_text('[{"claim": "", "label": "Supported", "questions": []}]', encoding="utf-8")
    (only,) = Averitec().read(file)
    assert (only.claim.text, only.gold) == (NO_CLAIM, "Supported")


def test_scifact_labels_mean_what_they_say() -> None:
    assert [SCIFACT.named(meaning) for meaning in (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.NOT_ENOUGH)] == [
        "SUPPORT",
        "CONTRADICT",
        "NOT ENOUGH INFO",
    ]
