"""Pair ends with two quoted answers that agree, and debates where anything speaks against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import AVERITEC, FREE_TEXT, TWO, Claim
from redargue.errors import UsageError
from redargue.events import Event, EvidenceFound, RoundEnded, canonical
from redargue.llm.chat import ChatBackend
from redargue.methods.base import configure
from redargue.methods.dry_run import costs
from redargue.methods.gathering import open_query
from redargue.methods.tool_mad.tasks import CheckConsensus, ConsensusReply
from redargue.net.transport import Service, Transport
from redargue.runs.record import read_events
from redargue.tasks.answer import Answer
from redargue.tasks.score import ReaderAnswer
from redargue.verdicts import Verdict
from redargue.verifier import Verifier
from support.debates import CLAIM, CLOCK, ShelfTool, answer, script
from support.loopback import Loopback
from support.scripts import agreeing

pytestmark = pytest.mark.anyio

OPEN = "NOT ENOUGH INFO"
READS = ReaderAnswer(text="", label="SUPPORTS")


async def held(
    first: Answer,
    second: Answer | None = None,
    *,
    reads: ReaderAnswer = READS,
    claim: Claim = CLAIM,
    folder: Path | None = None,
    models: Mapping[str, str] | None = None,
    **settings: Any,
) -> tuple[Verdict, RoundEnded, Counter[tuple[str, str]], list[Event]]:
    """The verdict, how the readings ended, who was asked what, and the events."""
    backend = scripted(first, second or first, reads)
    evidence = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    seen: list[Event] = []
    with Verifier(
        backend=backend,
        evidence=evidence,
        method="pair",
        settings=settings,
        models=models or {},
        clock=CLOCK,
        folder=folder,
        claims=[claim],
    ) as verifier:
        verdict = await verifier.verify(claim, listeners=[seen.append])
    readings = next(event for event in seen if isinstance(event, RoundEnded))
    return verdict, readings, Counter((task.name(), call.agent) for task, call in backend.calls), seen


def scripted(first: Answer, second: Answer, reads: ReaderAnswer) -> ScriptedBackend:
    by_agent = {"first": first, "second": second}
    said = lambda task, call: by_agent[call.agent]  # noqa: E731
    parts = script(AnswerClaim=said, DoubtClaim=said, ReadPassages=reads, JudgeDebate=second)
    differ = ConsensusReply(agree=0, answer="")
    return ScriptedBackend({**parts, CheckConsensus: differ})


async def test_two_quoted_answers_that_agree_end_a_claim_after_two_calls() -> None:
    verdict, readings, asked, seen = await held(answer("SUPPORTS"))
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "consensus", 1)
    assert (readings.accepted, readings.why) == (True, ())
    assert asked == {("AnswerClaim", "first"): 1, ("DoubtClaim", "second"): 1}
    assert verdict.usage.calls == 2
    assert [quote.found for quote in verdict.quotes] == [True]
    queries = {event.query for event in seen if isinstance(event, EvidenceFound)}
    assert queries == {CLAIM.text, open_query(CLAIM.text)}


@pytest.mark.parametrize(
    ("first", "second", "reads", "why"),
    [
        (answer("SUPPORTS"), answer("REFUTES"), READS, "the readers disagree"),
        (answer(OPEN), answer(OPEN), READS, "the evidence settles nothing"),
        (
            answer("SUPPORTS"),
            answer("SUPPORTS", "It was lit by hand in 1640."),
            READS,
            "second: no quotation was found",
        ),
        (
            answer("SUPPORTS"),
            answer("SUPPORTS"),
            READS.model_copy(update={"label": "REFUTES"}),
            "the small reader reads the other side",
        ),
    ],
)
async def test_what_speaks_against_an_agreement_takes_it_to_a_debate(
    first: Answer, second: Answer, reads: ReaderAnswer, why: str
) -> None:
    verdict, readings, asked, seen = await held(first, second, reads=reads, small_reader=True)
    assert verdict.error is None
    assert not readings.accepted
    assert why in "; ".join(readings.why)
    rounds = [event.round for event in seen if isinstance(event, RoundEnded)]
    assert rounds == [1, 2]  # the readings are the debate's first round
    assert verdict.round_labels[0] == (first.label, second.label)
    assert asked["DoubtClaim", "second"] == 1
    assert asked["RewriteQuery", "first"] == asked["RewriteQuery", "second"] == 1
    assert not [name for name, _ in asked if name == "ScoreAnswer"]
    assert verdict.usage.calls <= 7


async def test_a_debate_that_does_not_agree_is_judged() -> None:
    verdict, _, asked, _ = await held(answer("SUPPORTS"), answer("REFUTES"))
    assert verdict.decided_by == "judge"
    assert asked["JudgeDebate", "judge"] == 1


async def test_two_models_answer_the_same_question() -> None:
    with Loopback(agreeing) as server:
        service = Service(name="model", url=f"{server.url}/v1")
        backend = ChatBackend(Transport(), service, "one")
        with Verifier(method="pair", backend=backend, models={"second": "two"}, store="starter") as verifier:
            verdict = await verifier.verify(Claim(text="Bees are insects."))
        chats = [request.body for request in server.requests if request.route == "chat"]
    assert verdict.error is None
    assert {"one", "two"} == {body["model"] for body in chats}
    assert not any("what would make the claim wrong" in str(body) for body in chats)


async def test_the_run_s_model_named_for_a_reader_is_not_another_one() -> None:
    with Loopback(agreeing) as server:
        options: dict[str, Any] = {"base_url": f"{server.url}/v1", "model": "one", "models": {"second": "one"}}
        with Verifier(method="pair", store="starter", **options) as verifier:
            await verifier.verify(Claim(text="Bees are insects."))
        assert any("what would make the claim wrong" in str(request.body) for request in server.requests)
        with Verifier(method="pair", settings={"differ": "model"}, store="starter", **options) as verifier:
            verdict = await verifier.verify(Claim(text="Bees are insects."))
    assert verdict.error is not None
    assert verdict.error.what == "both readers of pair have the model 'one'"


async def test_one_model_where_two_are_asked_for_is_an_error_that_says_what_to_do() -> None:
    backend = scripted(answer("SUPPORTS"), answer("SUPPORTS"), READS)
    evidence = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    with Verifier(backend=backend, evidence=evidence, method="pair", settings={"differ": "model"}) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert verdict.error is not None
    assert "both readers of pair have the model" in verdict.error.what
    assert "--model second=NAME" in verdict.error.hint
    assert not backend.calls


@pytest.mark.parametrize("labels", [TWO, AVERITEC, FREE_TEXT])
async def test_any_label_set_and_a_disagreement_replay(labels: Any, tmp_path: Path) -> None:
    names = labels.names or ("1871", "1902")
    first, second = answer(names[0]), answer(names[1])
    claim = CLAIM.model_copy(update={"labels": labels})
    verdict, *_ = await held(first, second, claim=claim, folder=tmp_path / "run")
    assert verdict.error is None
    again: list[Event] = []
    assert await replay(tmp_path / "run", listeners=[again.append], backend=scripted(first, second, READS)) == [verdict]
    assert canonical(again) == canonical(read_events(tmp_path / "run"))


def test_the_query_for_the_other_side_hides_values_and_negations() -> None:
    assert open_query("The Eiffel Tower opened in 1889.") == "The Eiffel Tower opened in"
    assert open_query("Aspirin does not lower fever.") == "Aspirin does lower fever"
    assert open_query("Bees are insects.") == "Bees are insects."
    assert open_query("x" * 400_000) == "x" * 400_000  # which took time with its square
    assert open_query("It is 3.") == "It is 3."


def test_a_dry_run_counts_two_calls_or_a_debate_of_one_round() -> None:
    low, _, high = costs(configure("pair", "hardened", {}))
    assert (low.model_calls, high.model_calls) == (2, 7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"differ": "claim"}, "differ"), ({"rounds": 0}, "rounds")],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        configure("pair", "hardened", settings)


def test_the_names_of_debaters_fit_their_number() -> None:
    with pytest.raises(UsageError, match="2 debaters need as many names"):
        configure("tool-mad", "hardened", {"names": ("one", "judge")})


async def test_a_run_that_stopped_between_the_readings_and_the_debate_resumes_without_asking_again(
    tmp_path: Path,
) -> None:
    said = answer("SUPPORTS"), answer("REFUTES")
    evidence = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    shared: dict[str, Any] = {"evidence": evidence, "method": "pair", "clock": CLOCK, "claims": [CLAIM]}
    stopped = tmp_path / "run"
    with Verifier(backend=scripted(*said, READS), folder=stopped, budget="3calls", **shared) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert verdict.error is not None
    assert verdict.error.type == "BudgetReached"
    backend = scripted(*said, READS)
    with Verifier(backend=backend, folder=stopped, **shared) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert (verdict.error, verdict.decided_by) == (None, "judge")
    assert not [task for task, _ in backend.calls if task.name() == "DoubtClaim"]
