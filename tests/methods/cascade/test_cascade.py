"""A cascade stops where a stage may decide, goes on where it may not, and says why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.backends import PAPER_STABILITY
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FREE_TEXT, Claim
from redargue.cli.live import describe
from redargue.errors import UsageError
from redargue.events import Event, StageEnded, canonical
from redargue.evidence import Passage
from redargue.methods.base import configure
from redargue.methods.cascade import WITH_MODEL
from redargue.methods.dry_run import costs
from redargue.runs.record import read_events
from redargue.tasks.answer import Answer
from redargue.tasks.score import ReaderAnswer
from redargue.verdicts import Metric, Verdict
from redargue.verifier import Verifier
from support.debates import CLAIM, CLOCK, QUOTE, TEXT, ShelfTool, answer, script

pytestmark = pytest.mark.anyio

AGAINST = "Its lamp stayed dark until the autumn of 1902."
SURE = ReaderAnswer(
    text=QUOTE,
    label="SUPPORTS",
    quotes=(QUOTE,),
    confidence=0.97,
    probabilities={"SUPPORTS": 0.97, "REFUTES": 0.02, "NOT ENOUGH INFO": 0.01},
)
UNSURE = SURE.model_copy(
    update={"confidence": 0.6, "probabilities": {"SUPPORTS": 0.6, "REFUTES": 0.3, "NOT ENOUGH INFO": 0.1}}
)


async def held(
    reads: ReaderAnswer | list[ReaderAnswer],
    *,
    claim: Claim = CLAIM,
    passages: Sequence[Passage] = (),
    answers: Answer | None = None,
    **settings: Any,
) -> tuple[Verdict, list[StageEnded], Counter[str]]:
    """The verdict, the stages, and how often each task was asked."""
    backend = ScriptedBackend(script(ReadPassages=reads, **({"AnswerClaim": answers} if answers else {})))
    evidence = {name: ShelfTool(name, *passages) for name in ("corpus", "keywords")}
    seen: list[Event] = []
    with Verifier(backend=backend, evidence=evidence, method="cascade", settings=settings, clock=CLOCK) as verifier:
        verdict = await verifier.verify(claim, listeners=[seen.append])
    assert verdict.error is None
    stages = [event for event in seen if isinstance(event, StageEnded)]
    return verdict, stages, Counter(task.name() for task, _ in backend.calls)


async def test_a_sure_reader_decides_without_a_call() -> None:
    verdict, stages, asked = await held(SURE)
    assert (verdict.label, verdict.confidence, verdict.decided_by) == ("SUPPORTS", 0.97, "reader")
    assert asked == {"ReadPassages": 1}
    assert verdict.usage.calls == 0
    (stage,) = stages
    assert stage.stopped
    assert stage.why == ("confidence 0.97 reaches 0.95", "quotations on one side only")
    assert verdict.reason.startswith(
        "Decided by the reader: confidence 0.97 reaches 0.95; quotations on one side only."
    )
    assert "stops: confidence 0.97" in describe(stage, claim_labels())


def claim_labels() -> Any:
    return CLAIM.labels


async def test_an_unsure_reader_passes_on_and_the_next_answer_is_scored_by_the_small_reader() -> None:
    verdict, stages, asked = await held([UNSURE, SURE])
    assert (verdict.decided_by, asked["AnswerClaim"], asked["JudgeDebate"]) == ("single-reader", 1, 0)
    assert [(stage.stage, stage.stopped, stage.score) for stage in stages] == [
        ("reader", False, 0.6),
        ("single-reader", True, 0.97),
    ]
    assert stages[0].why == ("confidence 0.60 is below 0.95",)
    assert verdict.confidence is None  # the small reader's probability is not the language model's


@pytest.mark.parametrize(
    ("reads", "settings", "why"),
    [
        (SURE.model_copy(update={"opposing": (AGAINST,)}), {}, "quotations on both sides"),
        (
            SURE.model_copy(update={"quotes": ("It was lit by hand in 1640.",)}),
            {},
            "no quotation was found in the evidence",
        ),
        (SURE, {"min_sources": 2}, "1 source of at least 2 quoted"),
        (SURE, {"thresholds": ("never", "never")}, "never stops"),
        (SURE.model_copy(update={"confidence": None}), {}, "no calibrated confidence"),
        (SURE.model_copy(update={"label": None}), {}, "no label"),
    ],
)
async def test_what_a_stage_lacks_takes_the_claim_to_the_debate(
    reads: ReaderAnswer, settings: dict[str, Any], why: str
) -> None:
    passages = [Passage(text=f"{TEXT} {AGAINST}", title="Cape Ansel", document="d1")]
    unscored = reads.model_copy(update={"probabilities": {}})  # the single reader's answer has no score either
    verdict, stages, asked = await held([reads, unscored], passages=passages, **settings)
    assert why in "; ".join(stages[0].why)
    assert [stage.stopped for stage in stages] == [False, False, True]
    assert stages[-1].why == ("last stage",)
    # both tools find the one passage: a single answer counts for both debaters
    assert (verdict.decided_by, asked["AnswerClaim"]) == ("consensus", 2)


async def test_two_documents_are_two_sources() -> None:
    other = "Records agree that the lighthouse at Cape Ansel was first lit in 1871."
    passages = [Passage(text=TEXT, document="d1"), Passage(text=other, document="d2")]
    reads = SURE.model_copy(update={"quotes": (QUOTE, other)})
    verdict, stages, _ = await held(reads, passages=passages, min_sources=2)
    assert (verdict.decided_by, len(stages)) == ("reader", 1)


@pytest.mark.parametrize("debate", ["tool-mad", "mermaid", "dual-position"])
async def test_any_of_three_systems_debates_and_the_run_replays(debate: str, tmp_path: Path) -> None:
    settings = {"debate": debate, "debate_settings": {"memory": "off"} if debate == "mermaid" else {}}
    evidence = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    backend = ScriptedBackend(script())
    options: dict[str, Any] = {"method": "cascade", "settings": settings, "clock": CLOCK}
    with Verifier(backend=backend, evidence=evidence, folder=tmp_path / "run", claims=[CLAIM], **options) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert verdict.error is None
    alone = configure(debate, "hardened", settings["debate_settings"]).tasks()  # type: ignore[arg-type]
    assert set(alone) & {type(task) for task, _ in backend.calls}
    seen: list[Event] = []
    assert await replay(tmp_path / "run", listeners=[seen.append], backend=ScriptedBackend(script())) == [verdict]
    assert canonical(seen) == canonical(read_events(tmp_path / "run"))


@pytest.mark.parametrize(
    ("claim", "passages"),
    [
        (Claim(text="Wann wurde der Leuchtturm am Kap Ansel zum ersten Mal angezündet und von wem?"), ()),
        (CLAIM, (Passage(text="Der Leuchtturm wurde im Jahr 1871 zum ersten Mal angezündet, und er steht noch."),)),
        (Claim(text="When was it lit?", labels=FREE_TEXT), ()),
    ],
)
async def test_what_the_small_reader_cannot_read_goes_to_the_language_model(
    claim: Claim, passages: tuple[Passage, ...]
) -> None:
    _, stages, asked = await held(SURE, claim=claim, passages=passages, stages=("reader", "single-reader"))
    assert asked == {"AnswerClaim": 1}
    assert "no label" in stages[0].why
    assert stages[-1].stage == "single-reader"


async def test_an_answer_in_free_text_ends_the_cascade_of_a_language_model() -> None:
    claim = Claim(text="When was the lighthouse at Cape Ansel lit?", labels=FREE_TEXT)
    verdict, stages, asked = await held(SURE, claim=claim, answers=answer("in 1871"), **WITH_MODEL)
    assert (verdict.label, verdict.decided_by) == ("in 1871", "single-reader")
    assert [(stage.stopped, stage.why) for stage in stages] == [(True, ("no confidence is asked of this stage",))]
    assert asked == {"AnswerClaim": 1}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer("SUPPORTS"), ""),
        (answer("NOT ENOUGH INFO"), "the evidence settles nothing"),
        (answer("SUPPORTS", "It was lit by hand in 1640."), "no quotation was found in the evidence"),
    ],
)
async def test_with_a_model_the_first_answer_decides_where_it_takes_a_side_and_is_quoted(
    said: Answer, why: str
) -> None:
    settings = WITH_MODEL | {"debate": "mermaid", "debate_settings": {"max_steps": 1}}
    _, stages, asked = await held(SURE, answers=said, **settings)
    assert asked["ReadPassages"] == 0
    assert [stage.stopped for stage in stages] == ([False, True] if why else [True])
    assert why in "; ".join(stages[0].why)
    assert bool(asked["NextStep"]) == bool(why)


@pytest.mark.slow
async def test_a_dry_run_counts_the_stages() -> None:
    low, likely, high = costs(configure("cascade", "hardened", WITH_MODEL | {"debate": "mermaid"}))
    assert (low.calls, likely.calls) == ({"AnswerClaim": 1}, {"AnswerClaim": 1})
    assert high.calls == {**costs(configure("mermaid", "hardened", {})).high.calls, "AnswerClaim": 1}
    low, likely, high = costs(configure("cascade", "hardened", {}))
    assert low.calls == {"ReadPassages": 1}
    assert likely.calls == {"ReadPassages": 2, "AnswerClaim": 1}
    debate = costs(configure("tool-mad", "hardened", {})).high
    assert high.calls == {**debate.calls, "ReadPassages": 2, "AnswerClaim": debate.calls["AnswerClaim"] + 1}
    assert high.call_depth == debate.call_depth + 1
    never = configure("cascade", "hardened", {"thresholds": ("never", 0.9)})
    assert costs(never).low.calls == {"ReadPassages": 2, "AnswerClaim": 1}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stages": ("debate", "reader")}, "in this order"),
        ({"thresholds": (0.9,)}, "one for each but the last"),
        ({"thresholds": (0.9, 1.5)}, "thresholds"),
        ({"budget_per_claim": "2calls"}, "needs thresholds that were fitted"),
        ({"debate_settings": {"round": 2}}, "has no setting 'round'"),
        ({"fitted": "nowhere.json"}, "cannot read 'nowhere.json'"),
        ({"target_risk": 0.2, "thresholds": (0.9, 0.9)}, "thresholds and target_risk were given"),
        ({"fitted": "fit.json", "thresholds": (0.9, 0.9)}, "thresholds and fitted were given"),
        ({"target_risk": 0.2, "target_loss": 0.1}, "target_loss and target_risk were given"),
        ({"target_risk": 0.2, "budget_per_claim": "2calls"}, "budget_per_claim and target_risk were given"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        configure("cascade", "hardened", settings)


async def test_a_judge_decides_a_debate_without_consensus() -> None:
    parts = script(AnswerClaim=lambda task, call: answer(task.claim.labels.names[call.agent == "keywords"]))
    evidence = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    with Verifier(backend=ScriptedBackend(parts), evidence=evidence, method="cascade", clock=CLOCK) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert (verdict.decided_by, verdict.label, verdict.rounds) == ("judge", "REFUTES", 3)


def fitted(folder: Path) -> str:
    """The path of a fit of scripted models that quoted two sources."""
    right = {"label": "SUPPORTS", "right": True, "may_decide": True, "tokens": 0, "usd": None, "seconds": 0.0}
    rows = [[right | {"score": 1.0, "calls": number} for number in range(3)]] * 200
    made_for = {"backend": "scripted", "settings": {"min_sources": 2}}
    about = {"redargue": "0", "stages": ("reader", "single-reader", "debate"), "debate": "tool-mad", "sample": {}}
    path = folder / "fit.json"
    path.write_text(json.dumps(about | made_for | {"rows": rows}))
    return str(path)


def test_thresholds_hold_for_the_settings_of_their_fit(tmp_path: Path) -> None:
    given = {"fitted": fitted(tmp_path), "min_sources": 2}
    settings = configure("cascade", "hardened", given).settings.model_dump(mode="json")
    assert settings["guarantee"].startswith("of the claims that end before the last stage, at most 0.05")
    assert configure("cascade", "hardened", settings).settings.model_dump(mode="json") == settings  # as recorded
    with pytest.raises(UsageError, match="were fitted with min_sources=2, not 1"):
        configure("cascade", "hardened", {**given, "min_sources": 1})
    with pytest.raises(UsageError, match="other thresholds than those of the fit"):
        configure("cascade", "hardened", {**settings, "thresholds": (0.1, 0.1)})


def test_thresholds_that_were_fitted_for_another_model_are_refused(tmp_path: Path) -> None:
    settings = {"fitted": fitted(tmp_path), "min_sources": 2}
    with pytest.raises(UsageError, match="were fitted with backend 'scripted', not 'embedded"):
        Verifier(method="cascade", settings=settings, store="starter")


def test_the_scores_of_its_debate_have_the_debates_thresholds() -> None:
    debate = configure("tool-mad", "hardened", {}).limits(PAPER_STABILITY)
    assert configure("cascade", "hardened", {"stages": ("debate",)}).limits(PAPER_STABILITY) == debate
    assert debate[Metric.RELEVANCE] == PAPER_STABILITY.relevance
    assert configure("cascade", "hardened", {"stages": ("reader",)}).limits(PAPER_STABILITY) == {}
    own = {"stages": ("debate",), "debate_settings": {"faithfulness_threshold": 0.9}}
    assert configure("cascade", "hardened", own).limits(PAPER_STABILITY)[Metric.FAITHFULNESS] == 0.9
