"""Verdicts against examples: what applies is computed, what does not says why."""

from __future__ import annotations

import pytest

from redargue.bench.datasets import Example, GoldEvidence
from redargue.bench.metrics.evidence import installed_meteor
from redargue.bench.scoring import Scores, score
from redargue.claims import AVERITEC, FEVER, FREE_TEXT, OPTIONS, TWO, Claim, LabelSet
from redargue.errors import UsageError
from redargue.evidence import Quote, QuoteStatus, Source
from redargue.verdicts import ErrorInfo, Usage, Verdict, apply_threshold

pytest.importorskip("scipy", reason="needs the extra lab")

S, R, N = FEVER.names


def example(
    number: int,
    gold: str | None,
    *,
    labels: LabelSet = FEVER,
    options: tuple[str, ...] = (),
    evidence: tuple[tuple[GoldEvidence, ...], ...] = (),
    answers: tuple[tuple[str, str], ...] = (),
    group: str = "",
    response: str = "",
) -> Example:
    claim = Claim(text=f"claim {number}", labels=labels, options=options)
    return Example(
        id=str(number),
        claim=claim,
        gold=gold,
        evidence=evidence,
        answers=answers,
        group=group,
        response=response,
        row=number,
    )


def quote(document: str, text: str = "words", *, found: bool = True) -> Quote:
    if not found:
        return Quote(text=text, status=QuoteStatus.NOT_FOUND)
    return Quote(text=text, status=QuoteStatus.VERIFIED, start=0, end=len(text), source=Source(document=document))


def verdict(
    of: Example, label: str | None, *quotes: Quote, confidence: float | None = None, error: ErrorInfo | None = None
) -> Verdict:
    usage = Usage(calls=4, searches=2)
    return Verdict(claim=of.claim, label=label, quotes=quotes, confidence=confidence, usage=usage, error=error)


def value(scores: Scores, name: str) -> float | None:
    return scores.figure(name).value


def test_labels_are_scored_with_intervals_rules_classes_and_cost() -> None:
    rows = [example(at, gold) for at, gold in enumerate((S, S, R, N), start=1)]
    broken = ErrorInfo(type="BadReply", what="no label", exit_code=3)
    given = [verdict(rows[0], S), verdict(rows[1], R), verdict(rows[2], R), verdict(rows[3], None, error=broken)]
    scores = score(rows, given, seconds=[1.0] * 4, draws=100)
    accuracy = scores.figure("accuracy")
    assert accuracy.value == 0.5
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.low <= 0.5 <= accuracy.high
    assert value(scores, "macro-f1") == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert value(scores, "coverage") == 0.75
    assert [rule.accuracy.value for rule in scores.rules] == [0.5, pytest.approx(2 / 3), 0.5]
    assert scores.confusion is not None
    assert scores.confusion.unanswered == (0, 0, 1)
    assert [each.label for each in scores.classes] == list(FEVER.names)
    assert (scores.failed, scores.right) == (1, (True, False, True, False))
    assert scores.cost.usage.calls == 16
    assert scores.cost.per_correct()[0].value == 8
    assert scores == score(rows, given, seconds=[1.0] * 4, draws=100)
    assert Scores.model_validate_json(scores.model_dump_json()) == scores


def test_hidden_gold_labels_count_in_coverage_and_cost_alone() -> None:
    rows = [example(1, S), example(2, None)]
    scores = score(rows, [verdict(rows[0], S), verdict(rows[1], None)])
    assert (scores.hidden, scores.ids) == (1, ("1",))
    assert value(scores, "accuracy") == 1.0
    assert value(scores, "coverage") == 0.5
    assert scores.cost.per_correct()[0].undefined == "no gold labels"


def test_without_gold_labels_every_figure_says_so() -> None:
    rows = [example(1, None)]
    scores = score(rows, [verdict(rows[0], S)], metric="fever")
    assert scores.figure("accuracy").undefined == "no items"
    assert scores.confusion is None
    assert score([], []).figure("coverage").undefined == "no items"


def test_verdicts_of_other_claims_are_refused() -> None:
    rows = [example(1, S), example(2, S)]
    with pytest.raises(UsageError, match=r"the verdict is about 'claim 2' .example '1'"):
        score(rows, [verdict(rows[1], S), verdict(rows[0], S)])
    with pytest.raises(UsageError, match="examples 2, verdicts 1"):
        score(rows, [verdict(rows[0], S)])
    with pytest.raises(UsageError, match="did you mean 'fever'"):
        score(rows, [verdict(row, S) for row in rows], metric="fevr")
    with pytest.raises(UsageError, match="no figure 'f7'"):
        score(rows, [verdict(row, S) for row in rows]).figure("f7")


def test_confidences_are_scored_where_verdicts_have_them() -> None:
    rows = [example(at, S) for at in (1, 2, 3)]
    scores = score(
        rows,
        [
            verdict(rows[0], S, confidence=0.9),
            verdict(rows[1], R, confidence=0.9),
            verdict(rows[2], None, confidence=1),
        ],
    )
    assert value(scores, "calibration-error") == pytest.approx(0.4)
    assert scores.figure("brier").n == 2
    assert scores.risk[-1].risk == 0.5


@pytest.mark.parametrize("labels", [FEVER, TWO])
def test_the_confidence_of_an_unsure_verdict_is_scored_with_the_label_that_it_is_of(labels: LabelSet) -> None:
    rows = [example(at, S, labels=labels) for at in (1, 2)]
    verdicts = [verdict(row, label, confidence=0.4) for row, label in zip(rows, (S, R), strict=True)]
    decided = [each.model_copy(update={"meaning": labels.meaning(str(each.label))}) for each in verdicts]
    scores = score(rows, [apply_threshold(each, 0.6) for each in decided])
    assert scores.right == (False, False)
    assert value(scores, "brier") == pytest.approx((0.6**2 + 0.4**2) / 2)


def test_sentence_metrics_are_undefined_for_documents_and_stand_beside_document_figures() -> None:
    gold = ((GoldEvidence(document="p", element="0"), GoldEvidence(document="q", element="3")),)
    rows = [example(1, S, evidence=gold), example(2, N)]
    given = [verdict(rows[0], S, quote("q"), quote("p"), quote("x", found=False)), verdict(rows[1], N)]
    for metric in ("fever", "feverous", "hover"):
        scores = score(rows, given, metric=metric)
        assert "--pages" in scores.figure(f"{metric}-score").undefined
        assert value(scores, f"{metric}-score-by-document") in (0.5, 1.0)
    assert value(score(rows, given, metric="fever"), "fever-score-by-document") == 1.0


def test_a_locator_makes_sentence_metrics_official() -> None:
    gold = ((GoldEvidence(document="p", element="2"),),)
    rows = [example(1, S, evidence=gold), example(2, S, evidence=gold)]
    given = [verdict(rows[0], S, quote("p", "2")), verdict(rows[1], S, quote("p", "1"), quote("p", "2", found=False))]

    def locate(each: Quote) -> tuple[GoldEvidence, ...]:
        return (GoldEvidence(document="p", element=each.text),)

    scores = score(rows, given, metric="fever", locate=locate)
    assert value(scores, "fever-score") == 0.5
    assert scores.official[0].low == 0.0
    assert value(scores, "evidence-precision") == 0.5
    assert value(score(rows, given, metric="hover", locate=locate), "hover-score") == 0.5


def test_scifact_takes_the_verdicts_label_for_each_quoted_abstract() -> None:
    gold = ((GoldEvidence(document="7", element="0"),), (GoldEvidence(document="8", element="1"),))
    rows = [example(1, S, evidence=gold), example(2, N), example(3, R, evidence=gold[:1])]
    given = [verdict(rows[0], S, quote("7")), verdict(rows[1], S, quote("9")), verdict(rows[2], N, quote("7"))]
    scores = score(rows, given, metric="scifact")
    assert value(scores, "abstract-label-only-f1") == pytest.approx(2 * 1 / (2 + 3))
    assert "--pages" in scores.figure("sentence-label-f1").undefined

    def locate(each: Quote) -> tuple[GoldEvidence, ...]:
        return (GoldEvidence(document=each.source.document if each.source else "", element="0"),)

    whole = score(rows, given, metric="scifact", locate=locate)
    assert value(whole, "abstract-rationalized-f1") == pytest.approx(2 / 5)
    assert value(whole, "sentence-label-f1") == pytest.approx(2 * 1 / (2 + 3))


def test_averitec_takes_quotations_for_evidence() -> None:
    label = AVERITEC.names[0]
    rows = [example(1, label, labels=AVERITEC, answers=(("Who wrote it?", "Ann wrote it in 1990"),))]
    given = [
        verdict(
            rows[0],
            label,
            quote("d", "Ann wrote it in 1990"),
            quote("d", "Who wrote it? Ann wrote it in 1990", found=False),
        )
    ]
    scores = score(rows, given, metric="averitec")
    meteor = installed_meteor()
    expected = meteor.score("Ann wrote it in 1990", "Who wrote it? Ann wrote it in 1990")
    assert value(scores, f"averitec-score{meteor.suffix}") == 1.0
    assert value(scores, f"hungarian-meteor{meteor.suffix}") == pytest.approx(expected)


def test_strata_and_responses_are_scored_apart() -> None:
    rows = [
        example(1, "SUPPORTS", labels=TWO, group="2-hop", response="x"),
        example(2, "REFUTES", labels=TWO, group="3-hop", response="x"),
        example(3, "SUPPORTS", labels=TWO, group="3-hop", response="y"),
    ]
    scores = score(rows, [verdict(rows[0], S), verdict(rows[1], S), verdict(rows[2], S)])
    assert [(each.group, each.accuracy.value) for each in scores.groups] == [("2-hop", 1.0), ("3-hop", 0.5)]
    assert value(scores, "response-accuracy") == 0.5
    assert value(scores, "response-factuality-accuracy") == 0.5


def test_options_are_averaged_over_those_that_stand_to_choice_and_have_no_negative() -> None:
    rows = [example(1, "A", labels=OPTIONS, options=("x", "y")), example(2, "B", labels=OPTIONS, options=("x", "y"))]
    scores = score(rows, [verdict(rows[0], "A"), verdict(rows[1], "B")], metric="macro-f1")
    assert scores.labels == ("A", "B")
    assert value(scores, "macro-f1") == 1.0
    assert "negative" in scores.rules[2].accuracy.undefined


def test_a_class_that_no_example_has_is_not_averaged_but_predicting_it_is_wrong() -> None:
    rows = [example(1, S), example(2, R), example(3, R)]
    perfect = score(rows, [verdict(row, row.gold) for row in rows], metric="macro-f1")
    assert (perfect.labels, perfect.averaged) == ((S, R, N), (S, R))
    assert value(perfect, "macro-f1") == perfect.rules[0].macro_f1.value == 1.0
    off = score(rows, [verdict(rows[0], S), verdict(rows[1], R), verdict(rows[2], N)], metric="macro-f1")
    assert value(off, "macro-f1") == pytest.approx((1 + 2 / 3) / 2)
    assert [figure.name for figure in off.official] == ["macro-f1", f"f1 {S}", f"f1 {R}"]
    assert off.figure("macro-f1").high == 1.0


def test_gold_evidence_that_names_pages_alone_is_compared_as_pages() -> None:
    rows = [example(1, S, evidence=((GoldEvidence(document="p"),),))]
    given = [verdict(rows[0], S, quote("p"))]
    scores = score(rows, given, metric="feverous", locate=lambda _: (GoldEvidence(document="p", element="1"),))
    assert scores.figure("feverous-score").undefined == "gold evidence names documents, not their parts"
    assert value(scores, "feverous-score-by-document") == 1.0


def test_free_text_is_compared_as_text() -> None:
    rows = [example(1, "Paris", labels=FREE_TEXT)]
    scores = score(rows, [verdict(rows[0], "paris.")])
    assert value(scores, "exact-match") == 1.0
    assert value(scores, "accuracy") == 0.0
    assert scores.labels == ()
