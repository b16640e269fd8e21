"""What cannot change a debate is not asked for: unchanged debaters, identical questions, further rounds."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.backends import Call, Reply
from redargue.backends.scripted import ScriptedBackend
from redargue.events import CallReused, Event, RoundEnded, TurnKept, canonical
from redargue.methods.tool_mad.tasks import AnswerCheck, ScoreAnswer
from redargue.runs.record import read_events
from redargue.tasks.base import Out, Task
from redargue.tasks.query import Query
from redargue.verdicts import Verdict
from redargue.verifier import Verifier
from support.debates import CLAIM, CLOCK, ShelfTool, answer, checked, script

pytestmark = pytest.mark.anyio

STUBBORN: dict[str, Any] = {  # neither debater changes its mind or its query
    "AnswerClaim": lambda task, call: answer(task.claim.labels.names[call.agent == "keywords"]),
    "RewriteQuery": Query(kept=True),
}


async def debated(
    parts: dict[str, Any], folder: Path | None = None, **options: Any
) -> tuple[Verdict, list[Event], Counter[str]]:
    backend, seen = ScriptedBackend(script(**parts)), list[Event]()
    evidence = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    given: dict[str, Any] = {
        "method": "tool-mad",
        "backend": backend,
        "evidence": evidence,
        "clock": CLOCK,
        "claims": [CLAIM],
        **options,
    }
    with Verifier(folder=folder, **given) as verifier:
        verdict = await verifier.verify(CLAIM, listeners=[seen.append])
    assert verdict.error is None
    return verdict, seen, Counter(task.name() for task, _ in backend.calls)


async def test_debaters_that_nothing_could_move_are_not_asked_again_and_no_further_round_is_held() -> None:
    verdict, seen, asked = await debated(STUBBORN, settings={"rounds": 6})
    whole, _, every = await debated(STUBBORN, settings={"rounds": 6, "keep_unchanged": False})
    assert (verdict.label, verdict.decided_by) == (whole.label, whole.decided_by) == ("REFUTES", "judge")
    assert (whole.rounds, every["AnswerClaim"], every["ScoreAnswer"]) == (6, 12, 12)
    assert (verdict.rounds, asked["AnswerClaim"]) == (3, 4)  # the third round shows that nothing changes
    assert asked["ScoreAnswer"] == 2  # the same answers are scored once
    assert Counter(event.agent for event in seen if isinstance(event, TurnKept)) == {"corpus": 1, "keywords": 1}
    assert [event.not_held for event in seen if isinstance(event, RoundEnded)] == [0, 0, 3]
    assert sum(isinstance(event, CallReused) for event in seen) > 0


async def test_the_judge_reads_rounds_that_were_not_held() -> None:
    """With answers that score better from the second round on, so that the means depend on the number of rounds."""

    def answers(task: Any, call: Any) -> Any:
        said = answer(task.claim.labels.names[call.agent == "keywords"])
        return said if task.others else said.model_copy(update={"text": f"At first. {said.text}"})

    def scores(task: Any, call: Any) -> AnswerCheck:
        strong = "At first" not in task.answer
        return AnswerCheck(statements=checked(int(strong)).statements, questions=("When was it lit?",))

    parts = STUBBORN | {"AnswerClaim": answers, "ScoreAnswer": scores}
    judged: dict[bool, str] = {}
    for keep in (False, True):
        parts["JudgeDebate"] = lambda task, call, keep=keep: (
            judged.setdefault(keep, task.prompt_text()) and answer("REFUTES")
        )
        verdict, _, _ = await debated(parts, settings={"rounds": 6, "keep_unchanged": keep})
        assert verdict.rounds == (4 if keep else 6)
    assert "faithfulness score: 0.833" in judged[True]
    assert judged[True] == judged[False]


async def test_a_debater_is_asked_again_when_its_opponent_changes() -> None:
    def answers(task: Any, call: Any) -> Any:
        moved = call.agent == "keywords" and len(task.others) and "round two" in task.others[0].text
        text = "In round two.\n**SUPPORTS**" if task.others and call.agent == "corpus" else "Because.\n**SUPPORTS**"
        said = answer("REFUTES" if call.agent == "keywords" and not moved else "SUPPORTS")
        return said.model_copy(update={"text": text}) if call.agent == "corpus" else said

    _, seen, asked = await debated({**STUBBORN, "AnswerClaim": answers}, settings={"rounds": 4})
    kept = [(event.agent, event.round) for event in seen if isinstance(event, TurnKept)]
    assert ("keywords", 3) not in kept
    assert asked["AnswerClaim"] >= 5


async def test_agreement_below_the_thresholds_is_scored_once_and_judged(tmp_path: Path) -> None:
    low = AnswerCheck(statements=checked(0, 0).statements, questions=("When was it lit?",))
    parts = {"RewriteQuery": Query(kept=True), "ScoreAnswer": low}
    verdict, seen, asked = await debated(parts, tmp_path / "run", settings={"stable_by": "scores"})
    assert verdict.decided_by == "judge"
    assert asked["ScoreAnswer"] == 2
    again: list[Event] = []
    assert await replay(tmp_path / "run", listeners=[again.append], backend=ScriptedBackend(script())) == [verdict]
    assert canonical(again) == canonical(read_events(tmp_path / "run"))
    assert [event.kind for event in seen].count("judged") == 1


async def test_a_question_of_two_rounds_is_recorded_in_the_first_whichever_is_scored_faster(tmp_path: Path) -> None:
    """The answers of the rounds differ and are scored alone; the questions written from them are compared once."""

    class SlowAtFirst(ScriptedBackend):
        async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
            if isinstance(task, ScoreAnswer) and "At first" in task.answer:
                for _ in range(100):
                    await asyncio.sleep(0)
            return await super().perform(task, call)

    def answers(task: Any, call: Any) -> Any:
        said = answer(task.claim.labels.names[call.agent == "keywords"])
        return said if task.others else said.model_copy(update={"text": f"At first. {said.text}"})

    parts = STUBBORN | {"AnswerClaim": answers}
    folder = tmp_path / "run"
    verdict, seen, _ = await debated(parts, folder, backend=SlowAtFirst(script(**parts)), settings={"rounds": 2})
    assert sum(isinstance(event, CallReused) and event.task == "CompareTexts" for event in seen) == 2
    again: list[Event] = []
    assert await replay(folder, listeners=[again.append], backend=ScriptedBackend(script(**parts))) == [verdict]
    assert canonical(again) == canonical(read_events(folder))


async def test_the_papers_profile_asks_every_round() -> None:
    verdict, seen, asked = await debated(STUBBORN, profile="paper")
    assert (verdict.rounds, asked["AnswerClaim"]) == (3, 6)
    assert not any(isinstance(event, TurnKept | CallReused) for event in seen)
