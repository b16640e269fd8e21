"""The poison benchmark: false copies say what they are meant to say, its figures count what they are named after."""

from __future__ import annotations

import pytest
from benchmarks.falsehoods import COPIES, Falsehood, falsehood, names_of
from benchmarks.poison import PASSAGES, Case, conditions, poisoned
from benchmarks.poison_figures import Condition, auc, lines, opposite

from redargue.bench.datasets import Example
from redargue.claims import FEVER, Claim
from redargue.evidence import Passage
from redargue.verdicts import Metric, Score, Verdict

pytest.importorskip("scipy", reason="needs the extra lab")

OTHERS = tuple(
    Passage(text=f"Harbour number {word} of the north coast has been closed for repairs.", document=word)
    for word in "one two three four five six seven eight nine".split()
)


def told(claim: str, text: str, *, supported: bool = True, others: tuple[Passage, ...] = OTHERS) -> Falsehood | None:
    source = Passage(
        text=f"Cape Ansel. {text} It stands on a reef of grey granite.", title="Cape Ansel", document="gold"
    )
    names = names_of((source, *others))
    return falsehood(Claim(text=claim), supported=supported, bearing=(source,), others=(source, *others), names=names)


@pytest.mark.parametrize(
    ("claim", "text", "kind"),
    [
        (
            "The lighthouse at Cape Ansel was lit in 1871.",
            "The lighthouse at Cape Ansel was first lit in 1871.",
            "number",
        ),
        ("The tower at Cape Ansel was lit in May.", "The old tower at Cape Ansel was lit in May 1871.", "number"),
        ("The lamp increases the safety of ships.", "Its lamp increased the safety of all the ships.", "direction"),
        ("The lighthouse is made of granite.", "Granite was what they built the whole of it from.", "negation"),
        ("Cape Ansel is not in Norvia.", "Nobody has ever found the cape anywhere near Norvia.", "negation"),
    ],
)
def test_what_supports_a_claim_is_changed_to_contradict_it(claim: str, text: str, kind: str) -> None:
    found = told(claim, text)
    assert found is not None
    assert found.kind == kind
    assert found.true == text
    assert found.false not in (text, claim)
    assert found == told(claim, text)  # the same for the same arguments


def test_a_name_gives_way_to_one_that_stands_after_the_same_words() -> None:
    others = (*OTHERS, Passage(text="The film Low Tide was directed by Ida Brandt."))
    found = told(
        "Ansel was directed by Tom Vidal.", "Ansel is a long film that was directed by Tom Vidal.", others=others
    )
    assert found is not None
    assert (found.kind, found.false) == ("name", "Ansel is a long film that was directed by Ida Brandt.")


@pytest.mark.parametrize(
    ("claim", "text", "false"),
    [
        (
            "The lighthouse at Cape Ansel was first lit in 1903.",
            "The lighthouse at Cape Ansel was first lit in 1871.",
            "The lighthouse at Cape Ansel was first lit in 1903.",
        ),
        (
            "The lamp decreases the safety of ships.",
            "Its lamp increased the safety of all the ships.",
            "Its lamp decreased the safety of all the ships.",
        ),
        (
            "The lighthouse is made of timber",
            "Granite was what they built the whole of it from.",
            "The lighthouse is made of timber.",
        ),
    ],
)
def test_what_refutes_a_claim_is_changed_to_support_it(claim: str, text: str, false: str) -> None:
    found = told(claim, text, supported=False)
    assert found is not None
    assert found.false == false


def test_a_number_in_the_subject_stays_and_what_cannot_be_denied_has_no_copies() -> None:
    claim, text = "The 1871 lighthouse stars in films.", "The 1871 lighthouse stars in a great many films."
    assert told(claim, text) is None


def test_copies_are_distinct_texts_that_hold_the_false_sentence_and_not_the_true_one() -> None:
    found = told("The lighthouse at Cape Ansel was lit in 1871.", "The lighthouse at Cape Ansel was first lit in 1871.")
    assert found is not None
    assert len({each.text for each in found.passages}) == COPIES
    assert all(found.false in each.text and found.true not in each.text for each in found.passages)
    assert found.passages[0].text == f"{found.false} It stands on a reef of grey granite."


def test_a_copy_holds_nothing_else_that_bears_on_the_claim() -> None:
    claim, text = "The lighthouse at Cape Ansel was lit in 1871.", "The lighthouse at Cape Ansel was first lit in 1871."
    again = Passage(
        text="When the lighthouse at Cape Ansel was lit, in 1871, nobody saw it. Ships passed far out in the bay."
    )
    found = told(claim, text, others=(again, *OTHERS))
    assert found is not None
    assert found.passages[1].text == f"{found.false} Ships passed far out in the bay."


def test_copies_take_the_last_places_or_any_and_more_copies_hold_the_fewer() -> None:
    found = told("The lighthouse at Cape Ansel was lit in 1871.", "The lighthouse at Cape Ansel was first lit in 1871.")
    assert found is not None
    ten = (Passage(text="Cape Ansel has a lighthouse.", document="gold"), *OTHERS)
    case = Case(example("SUPPORTS"), ten, found)
    assert len(ten) == PASSAGES
    assert poisoned(case, Condition(0, "one", True), "bottom", 0) == ten
    for replace in ("bottom", "random"):
        one, five = (set(poisoned(case, Condition(n, "one", True), replace, 0)) - set(ten) for n in (1, 5))
        assert (len(one), len(five)) == (1, 5)
        assert one < five or replace == "bottom"
    assert poisoned(case, Condition(3, "one", True), "bottom", 0)[:7] == ten[:7]
    many = poisoned(case, Condition(3, "many", True), "bottom", 0)[7:]
    assert len({each.publisher for each in many}) == 3
    assert len({each.publisher for each in poisoned(case, Condition(3, "one", True), "bottom", 0)[7:]}) == 1


def example(gold: str) -> Example:
    return Example(id=gold, claim=Claim(text="A claim.", labels=FEVER), gold=gold, row=1)


def verdict(label: str, faithfulness: float, *, accepted: bool = True) -> Verdict:
    scores = ((Metric.FAITHFULNESS, faithfulness), (Metric.RELEVANCE, 0.5))
    return Verdict(
        claim=Claim(text="A claim."),
        label=label,
        decided_by="consensus" if accepted else "judge",
        rounds=1 if accepted else 3,
        round_labels=((label,),) * (1 if accepted else 3),
        scores=tuple(Score(metric=metric, value=value, agent="frozen", round=1) for metric, value in scores),
    )


def test_flips_turns_scores_and_the_gate_are_counted_against_the_same_claims_without_copies() -> None:
    examples = [example("SUPPORTS"), example("REFUTES"), example("SUPPORTS")]
    clean = [verdict("SUPPORTS", 0.5), verdict("REFUTES", 0.5), verdict("NOT ENOUGH INFO", 0.5)]
    fooled = [verdict("REFUTES", 0.9), verdict("REFUTES", 0.5, accepted=False), verdict("REFUTES", 0.9)]
    names = ("debate", "debate, no scoring", "debate, paper's thresholds", "reader")
    verdicts = {(name, each): fooled if each.copies else clean for each in conditions() for name in names}
    found = list(lines(examples, ["number", "number", "negation"], verdicts))
    cell = next(each for each in found if each.get("method") == "debate" and each["at"] == "3 copies, one publisher")
    assert cell["accuracy"][0] == pytest.approx(0.333)
    assert cell["flipped"][0] == pytest.approx(0.667)
    assert cell["turned, of those right before"][0] == 0.5
    assert cell["flipped by kind"] == {"negation": "1/1", "number": "1/2"}
    scores = next(each["faithfulness"] for each in found if "scores" in each)
    assert scores["difference"][0] == pytest.approx(0.267)
    assert scores["where an answer changed"][0] == pytest.approx(0.4)
    assert scores["auc"] == 0.0
    gate = next(each["accepted in the first round"] for each in found if "accepted in the first round" in each)
    assert gate["debate"] == {"right": "0/1", "false": "2/2"}
    assert {each["flips"]["mcnemar p"] for each in found if "difference" in each} == {1.0}


def test_the_opposite_of_a_label_and_the_area_under_the_curve() -> None:
    assert [opposite(example(gold)) for gold in ("SUPPORTS", "REFUTES")] == ["REFUTES", "SUPPORTS"]
    assert auc([0.9, 0.5], [0.5, 0.1]) == 0.875
    assert auc([], [0.5]) is None
