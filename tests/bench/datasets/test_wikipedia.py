"""FEVER, FEVEROUS, FAVIQ and HoVer."""

from __future__ import annotations

from pathlib import Path

from redargue.bench.datasets import GoldEvidence
from redargue.bench.datasets.wikipedia import Faviq, Fever, Feverous, Hover, qrels
from redargue.claims import FEVER, TWO, Meaning
from redargue.inputs.claims import HOVER


def gold(document: str, element: str = "") -> GoldEvidence:
    return GoldEvidence(document=document, element=element)


def test_fever_keeps_each_gold_group_once_with_page_and_line(samples: Path) -> None:
    first, second, third = Fever().read(samples / "fever.jsonl")
    assert first.evidence == (
        (gold("Harbour_of_Lune", "4"),),
        (gold("Harbour_of_Lune", "6"), gold("Lighthouse_-LRB-Lune-RRB-", "0")),
    )
    assert (first.id, first.gold, first.row, first.claim.labels) == ("7", "SUPPORTS", 1, FEVER)
    assert (second.gold, second.claim.text) == ("REFUTES", "Orla Venn was born in 1901.")
    assert (third.gold, third.evidence) == ("NOT ENOUGH INFO", ())


def test_fever_test_rows_have_no_gold(samples: Path) -> None:
    (only,) = Fever().read(samples / "fever_test.jsonl")
    assert (only.id, only.gold, only.evidence) == ("11", None, ())


def test_fever_qrels_name_the_gold_passages_of_each_claim(samples: Path) -> None:
    assert qrels(samples / "fever_qrels.jsonl") == {"7": {"p1", "p4"}, "8": {"p1"}}


def test_feverous_leaves_its_dummy_row_out_and_names_cells_as_the_scorer_does(samples: Path) -> None:
    first, second = Feverous().read(samples / "feverous.jsonl")
    assert first.evidence == (
        (
            gold("Mill Bridge", "sentence_0"),
            gold("List of bridges", "cell_0_2_1"),
            gold("List of bridges", "header_cell_0_0_1"),
            gold("List of bridges", "table_caption_0"),
        ),
        (gold("Bridge_sentence_1 (song)", "item_0_3"),),
    )
    assert (first.id, first.gold, first.group, first.row) == ("21", "SUPPORTS", "Numerical Reasoning", 2)
    assert (second.gold, second.evidence) == ("NOT ENOUGH INFO", ((gold("Toll Bridge", "section_2"),),))


def test_feverous_sentences_are_given_only_when_asked_for(samples: Path) -> None:
    first, second = Feverous().read(samples / "feverous_sentences.json")
    assert (first.gold, second.gold) == ("SUPPORTS", "REFUTES")
    assert first.evidence == ((gold("Mill Bridge"), gold("River Arn")),)
    assert first.passages == ()
    first, _ = Feverous(with_evidence=True).read(samples / "feverous_sentences.json")
    assert [(each.title, each.text, each.rank) for each in first.passages] == [
        ("Mill Bridge", "Mill Bridge spans the Arn.", 1),
        ("River Arn", "It has bridges.", 2),
    ]


def test_faviq_has_the_positive_passage_as_gold_and_gives_it_only_when_asked_for(samples: Path) -> None:
    first, second = Faviq().read(samples / "faviq.jsonl")
    assert (first.gold, first.evidence, first.passages) == ("SUPPORTS", ((gold("501"),),), ())
    assert (second.gold, second.claim.labels) == ("REFUTES", TWO)
    first, _ = Faviq(with_evidence=True).read(samples / "faviq.jsonl")
    assert [(each.document, each.title, each.text) for each in first.passages] == [
        ("501", "Orla Venn", "Orla Venn wrote the harbour's song.")
    ]
    (hidden,) = Faviq().read(samples / "faviq_test.jsonl")
    assert (hidden.gold, hidden.evidence) == (None, ())


def test_hover_groups_by_hops_and_needs_all_facts_together(samples: Path) -> None:
    first, second = Hover().read(samples / "hover.json")
    assert first.evidence == ((gold("Song of the Harbour", "0"), gold("Orla Venn", "2")),)
    assert (first.id, first.gold, first.group) == ("u-1", "SUPPORTED", "2-hop")
    assert (second.gold, second.group, len(second.evidence[0])) == ("NOT_SUPPORTED", "3-hop", 3)
    assert HOVER.meaning("NOT_SUPPORTED") is Meaning.REFUTED
    assert [each.id for each in Hover(hops=3).read(samples / "hover.json")] == [second.id]
    (hidden,) = Hover().read(samples / "hover_test.json")
    assert (hidden.gold, hidden.group) == (None, "4-hop")
