"""The embedded backend's roles in methods that take a claim apart."""

from __future__ import annotations

import pytest

import redargue.api  # noqa: F401  (loads every role)
from redargue.backends import Call
from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.methods.baselines.folk import VerifyPredicates, WritePredicates
from redargue.methods.baselines.grounding import Grounded
from redargue.methods.baselines.program_fc import AnswerQuestion, VerifyFact, WriteProgram
from redargue.methods.baselines.self_ask import AskFollowUp, JudgeAnswers
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.grammar import claim_statements

pytestmark = pytest.mark.anyio
BEES = Passage(title="Bees", text="Bees are winged insects. They live in colonies and make honey.")
LIGHT = Passage(title="Cape Ansel", text="The lighthouse was first opened in 1875. It stands on a granite reef.")
TWICE = Claim(text="Bees are insects, and the lighthouse was opened in 1871.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bees are insects.", ["Bees are insects."]),
        (TWICE.text, ["Bees are insects.", "the lighthouse was opened in 1871."]),
        (
            "The film was directed by Ann Lee, and it won the prize, but lost money.",
            ["The film was directed by Ann Lee.", "The film won the prize.", "The film lost money."],
        ),
        ("The bridge that Kessel built was opened in 1889.", ["The bridge that Kessel built was opened in 1889."]),
        ("Curie, who found radium, was born in Warsaw.", ["Curie, who found radium, was born in Warsaw."]),
        ("Both Ann and Bo sang in the choir.", ["Both Ann and Bo sang in the choir."]),
    ],
)
def test_a_claim_falls_into_clauses_only_where_each_stands_alone(text: str, expected: list[str]) -> None:
    assert list(claim_statements(text)) == expected


async def test_a_program_verifies_the_clauses_and_facts_are_read_in_passages() -> None:
    backend = EmbeddedBackend()
    (written,) = (await backend.perform(WriteProgram(claim=TWICE), Call(agent="programmer"))).outputs
    assert [(each.function, each.text) for each in written.answer.steps] == [
        ("Verify", "Bees are insects."),
        ("Verify", "the lighthouse was opened in 1871."),
    ]
    said = []
    for step in written.answer.steps:
        task = VerifyFact(statement=step.text, passages=(BEES, LIGHT))
        (output,) = (await backend.perform(task, Call(agent="verifier"))).outputs
        said.append(output.answer.verdict)
    assert said == ["true", "false"]
    (output,) = (await backend.perform(VerifyFact(statement="Bees are insects."), Call(agent="verifier"))).outputs
    assert (output.answer.verdict, output.answer.quotes) == ("impossible to say", ())


async def test_a_short_answer_is_a_sentence_or_nothing() -> None:
    task = AnswerQuestion(question="What do bees make?", passages=(BEES,))
    (output,) = (await EmbeddedBackend().perform(task, Call(agent="questioner"))).outputs
    assert output.answer.text in ("They live in colonies and make honey.", "Bees are winged insects.")
    (output,) = (await EmbeddedBackend().perform(AnswerQuestion(question="Who?"), Call(agent="questioner"))).outputs
    assert output.answer.text == ""


async def test_predicates_are_clauses_and_hold_where_they_are_supported() -> None:
    backend = EmbeddedBackend()
    (written,) = (await backend.perform(WritePredicates(claim=TWICE), Call(agent="decomposer"))).outputs
    assert [each.predicate for each in written.answer.predicates] == [
        "Are(Bees, insects)",
        "Was_opened_in(the lighthouse, 1871)",
    ]
    asked = tuple(
        Grounded(question=each, passages=(found,))
        for each, found in zip(written.answer.questions, (BEES, LIGHT), strict=True)
    )
    task = VerifyPredicates(claim=TWICE, predicates=written.answer.predicates, asked=asked)
    (output,) = (await backend.perform(task, Call(agent="reasoner"))).outputs
    assert [each.holds for each in output.answer.truths] == [True, False]
    assert output.answer.answer == "NOT_SUPPORTED"


async def test_follow_up_questions_end_with_the_last_clause() -> None:
    backend = EmbeddedBackend()
    asked: tuple[Grounded, ...] = ()
    for found in (BEES, LIGHT):
        (output,) = (await backend.perform(AskFollowUp(claim=TWICE, asked=asked), Call(agent="asker"))).outputs
        assert output.answer.needed
        asked += (Grounded(question=output.answer.question, passages=(found,)),)
    (last,) = (await backend.perform(AskFollowUp(claim=TWICE, asked=asked), Call(agent="asker"))).outputs
    (same,) = (await backend.perform(JudgeAnswers(claim=TWICE, asked=asked), Call(agent="asker"))).outputs
    assert not last.answer.needed
    assert last.answer.answer == same.answer.answer
