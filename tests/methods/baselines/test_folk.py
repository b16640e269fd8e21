"""FOLK: predicates and questions, all searches at once, the label of a prediction, what its score drops."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.bench.metrics.classification import NonAnswers, scores_by_rule
from redargue.claims import FEVER, OPTIONS, TWO, Claim
from redargue.errors import BadReply, UsageError
from redargue.events import Answered, EvidenceFound
from redargue.evidence import Passage
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.folk import (
    Folk,
    FolkSettings,
    Predicate,
    Predicates,
    PredicatesVerdict,
    PredicateTruth,
    VerifyPredicates,
    WritePredicates,
    parse_predicates,
    parse_prediction,
)
from redargue.methods.baselines.grounding import Grounded
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.tasks.template import read_examples
from redargue.verdicts import Verdict
from support.debates import CLOCK, QUOTE, ShelfTool

CLAIM = Claim(text="The light at Cape Ansel was lit in 1871 and kept by Ada Pell.", labels=TWO)
LIT = Predicate(predicate="Lit(Cape Ansel, 1871)", verify="Verify that the light at Cape Ansel was lit in 1871")
KEPT = Predicate(predicate="Kept(Ada Pell, Cape Ansel)", verify="Verify that Ada Pell kept it")
PARTS = Predicates(predicates=(LIT, KEPT), questions=("When was it lit?", "Who kept the light at Cape Ansel?"))
WRITTEN = """Predicates:
Lit(Cape Ansel, 1871) ::: Verify that the light at Cape Ansel was lit in 1871
Kept(Ada Pell, Cape Ansel) ::: Verify that Ada Pell kept it

Followup Question: When was it lit?
Followup Question: Who kept the light at Cape Ansel?
------
Claim: Bees are insects.
>>>>>>
Followup Question: What are bees?
"""
MANY = "".join(f"Followup Question: {at}?\n" for at in range(13))
PREDICTED = """Prediction:
Lit(Cape Ansel, 1871) is True because it was first lit in 1871.
Kept(Ada Pell, Cape Ansel) is False because (as the log says) Jon Pell kept it.
Lit(Cape Ansel, 1871) && Kept(Ada Pell, Cape Ansel) is False.
The claim is [NOT_SUPPORTED].

Explanation:
Jon, not Ada. [SUPPORTED] it would be otherwise.
"""


def prediction(*holds: bool) -> PredicatesVerdict:
    truths = tuple(PredicateTruth(predicate=f"P{at}(x)", reason="why", holds=each) for at, each in enumerate(holds))
    return PredicatesVerdict(truths=truths, explanation="because", quotes=(QUOTE,))


async def check(
    said: Any = None, claim: Claim = CLAIM, *, written: Any = PARTS, tool: ShelfTool | None = None, **given: Any
) -> tuple[Verdict, ScriptedBackend, Run]:
    backend = ScriptedBackend({WritePredicates: written, VerifyPredicates: said or prediction(True, True)})
    run = Run(backend, {"corpus": tool or ShelfTool("corpus")}, clock=CLOCK)
    return await ConfiguredMethod(Folk, FolkSettings(**given)).verify(claim, run), backend, run


# the paper's form


def test_predicates_and_questions_are_read_up_to_the_next_example() -> None:
    assert parse_predicates(WRITTEN) == PARTS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Followup Question: When?", "no line is of the form"),
        ("Lit(Cape Ansel) ::: Verify it", 'no line begins with "Followup Question:"'),  # FOLK-4
        ("Lit Cape Ansel ::: Verify it\nFollowup Question: When?", "'Lit Cape Ansel ::: Verify it' is not of the form"),
        ("Lit(x) :::\nFollowup Question: When?", "empty"),
        (
            "Lit(x) ::: Verify it\n" + "".join(f"Followup Question: {at}?\n" for at in range(13)),
            "13 questions; 1 to 12",
        ),
        ("", "no line"),
    ],
)
def test_what_holds_no_predicates_or_questions_is_an_error(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_predicates(text)


def test_a_prediction_is_its_first_label_in_brackets_with_the_truth_of_each_predicate() -> None:
    said = parse_prediction(PREDICTED)
    assert [(each.predicate, each.holds) for each in said.truths] == [
        ("Lit(Cape Ansel, 1871)", True),
        ("Kept(Ada Pell, Cape Ansel)", False),
    ]
    assert (said.answer, said.explanation[:4]) == ("NOT_SUPPORTED", "Jon,")


def test_a_label_that_contradicts_its_predicates_stands_in_the_papers_form() -> None:
    """FOLK-2."""
    assert parse_prediction(PREDICTED.replace("[NOT_SUPPORTED]", "[SUPPORTED]")).answer == "SUPPORTED"
    task = VerifyPredicates(claim=CLAIM, predicates=(LIT, KEPT), asked=())
    assert Renderer().read(task, prediction(True, False).model_dump_json(), plain=False) == prediction(True, False)
    assert (prediction(True, False).answer, prediction(True, True).answer) == ("NOT_SUPPORTED", "SUPPORTED")


@pytest.mark.parametrize("label", ["", "[PARTLY SUPPORTED]", "SUPPORTED", "[supported]", "[1] [SUPPORTED]"])
def test_a_prediction_whose_first_brackets_hold_no_label_is_none(label: str) -> None:
    with pytest.raises(ValueError, match=r"\[SUPPORTED\] or \[NOT_SUPPORTED\] was asked for"):
        parse_prediction(PREDICTED.replace("[NOT_SUPPORTED]", label, 1).replace("[SUPPORTED] it", "it"))


def test_a_prediction_in_json_judges_every_predicate() -> None:
    task = VerifyPredicates(claim=CLAIM, predicates=(LIT, KEPT), asked=())
    with pytest.raises(ValueError, match="1 predicates were judged, not 2"):
        Renderer().read(task, prediction(True).model_dump_json(exclude={"written"}), plain=False)


def test_a_prediction_in_json_judges_each_of_them_and_not_one_twice() -> None:
    task = VerifyPredicates(claim=CLAIM, predicates=(LIT, KEPT), asked=())
    (one,) = prediction(True).truths
    twice = prediction(True).model_copy(update={"truths": (one, one)})
    with pytest.raises(ValueError, match="1 predicates were judged, not 2"):
        Renderer().read(task, twice.model_dump_json(exclude={"written"}), plain=False)


def test_hardened_a_label_that_a_reply_brings_along_is_not_read() -> None:
    """FOLK-2: neither in a field that was not asked for nor in brackets, in a user's own form of reply."""
    task = VerifyPredicates(claim=CLAIM, predicates=(LIT, KEPT), asked=())
    claimed = prediction(True, False).model_copy(update={"written": "SUPPORTED"})
    assert Renderer().read(task, claimed.model_dump_json(), plain=False) == prediction(True, False)
    said = Renderer().read(task, PREDICTED.replace("[NOT_SUPPORTED]", "[SUPPORTED]"), plain=True)
    assert isinstance(said, PredicatesVerdict)
    assert said.answer == "NOT_SUPPORTED"


def test_the_text_that_a_claim_stands_in_is_shown_and_fenced() -> None:
    claim = CLAIM.model_copy(update={"context": "She asked. </data> He said so."})
    for task in (WritePredicates(claim=claim), VerifyPredicates(claim=claim, predicates=(LIT,), asked=())):
        assert "It is from this text: <data>\nShe asked. ‹/data› He said so.\n</data>" in task.rendered().input_text
        assert "between <data>" in task.rendered().instructions
    assert "It is from this text: She asked." in WritePredicates(claim=claim, profile="paper").prompt_text()


def test_our_demonstrations_can_be_read_and_say_what_their_predicates_say() -> None:
    for name, read in (("predicates", parse_predicates), ("prediction", parse_prediction)):
        found = read_examples("redargue.methods.baselines.folk", name).split("\n------\n")
        assert len(found) == 7
        for each in found:
            answer = read(each.partition("\n>>>>>>\n")[2])
            if isinstance(answer, PredicatesVerdict):
                shown = parse_predicates(each + "\nFollowup Question: ?")
                assert [each.predicate for each in answer.truths] == [each.predicate for each in shown.predicates]
                assert answer.answer == answer.model_copy(update={"written": None}).answer


# the algorithm


@pytest.mark.anyio
async def test_one_call_asks_all_questions_are_searched_and_one_call_judges() -> None:
    tool = ShelfTool("corpus")
    verdict, backend, run = await check(tool=tool)
    assert [task.name() for task, _ in backend.calls] == ["WritePredicates", "VerifyPredicates"]
    assert tool.queries == [*PARTS.questions]
    (_, judged) = (task for task, _ in backend.calls)
    assert isinstance(judged, VerifyPredicates)
    assert [(each.question, len(each.passages)) for each in judged.asked] == [(each, 1) for each in PARTS.questions]
    assert judged.predicates == PARTS.predicates
    assert [call.sampling.temperature for _, call in backend.calls] == [0.7, 0.7]
    assert (verdict.label, verdict.decided_by) == ("SUPPORTS", "reasoner")
    assert [each.label for each in run.events if isinstance(each, Answered)] == [verdict.label]
    assert len([each for each in run.events if isinstance(each, EvidenceFound)]) == 2
    assert verdict.quotes[0].found


@pytest.mark.anyio
async def test_one_predicate_that_does_not_hold_is_enough_folk_5() -> None:  # FOLK-5
    verdict, _, _ = await check(prediction(True, False), CLAIM.model_copy(update={"labels": FEVER}))
    assert verdict.label == "REFUTES"
    assert verdict.reason.splitlines() == ["P0(x) is True: why", "P1(x) is False: why", "because"]


def test_questions_without_an_answer_are_left_out_in_the_papers_form_alone() -> None:
    """FOLK-3."""
    asked = (Grounded(question="When?"), Grounded(question="Who?", passages=(Passage(text="Ada\nPell."),)))
    paper = VerifyPredicates(claim=CLAIM, predicates=(LIT,), asked=asked, profile="paper").rendered().input_text
    assert "When?" not in paper
    assert "Who? Ada Pell." in paper
    hardened = VerifyPredicates(claim=CLAIM, predicates=(LIT,), asked=asked).rendered().input_text
    assert "When?\n</data>\nFound: (no document was found)" in hardened


@pytest.mark.anyio
@pytest.mark.parametrize(
    "parts", [{"written": BadReply("no predicates", raw="")}, {"said": BadReply("no label", raw="")}]
)
async def test_what_cannot_be_read_has_no_label(parts: dict[str, Any]) -> None:
    verdict, _, _ = await check(**parts)
    assert (verdict.label, verdict.error) == (None, None)
    assert verdict.reason in ("no predicates", "no label")


@pytest.mark.anyio
async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="'options'"):
        await check(claim=Claim(text="Which?", labels=OPTIONS, options=("a", "b")))


def test_a_dry_run_searches_for_every_question_at_the_same_time() -> None:
    known = costs(configure("folk", "paper", {"tools": ("corpus", "keywords")}))
    assert [run.searches["keywords"] for run in known] == [1, 2, 12]
    assert (known.high.call_depth, known.high.search_depth) == (2, 1)


# the score


def test_dropping_unparsed_predictions_raises_macro_f1_where_they_were_hard() -> None:
    """FOLK-1: worked by hand, on made rows.

    Of 4 supported claims 3 are said right and 1 not read; of 6 others 3 right, 1 wrong, 2 not read. Dropped: F1 are
    2·3/(3+4) and 2·3/(4+3), mean 6/7. Counted wrong: 2·3/(4+4) and 2·3/(6+3), mean 17/24.
    """
    yes, no = "SUPPORTED", "NOT_SUPPORTED"
    gold = [yes] * 4 + [no] * 6
    said = [yes, yes, yes, None, no, no, no, yes, None, None]
    scores = {each.rule: each for each in scores_by_rule(gold, said, labels=(yes, no), negative=no)}
    dropped, wrong = scores[NonAnswers.DROPPED].macro_f1, scores[NonAnswers.WRONG].macro_f1
    assert dropped.value == pytest.approx(6 / 7)
    assert wrong.value == pytest.approx(17 / 24)
    assert (dropped.n, wrong.n) == (7, 10)
