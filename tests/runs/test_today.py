"""The day on which a model is asked is in its prompt and in the record, and not in the key of the call."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime
from pathlib import Path

from redargue import replay
from redargue.assembly import Parts
from redargue.backends import Backend
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.events import CallFinished
from redargue.evidence import Passage
from redargue.runs.record import read_events
from redargue.spec import RunSpec
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.base import AnyTask, Profile
from redargue.verdicts import Verdict
from redargue.verifier import Verifier

CLAIM = Claim(text="The lighthouse at Cape Ansel is lit.")
ANSWER = Answer(text="It is.", label="NOT ENOUGH INFO")


class Day:
    """A clock that stands at noon of a day."""

    def __init__(self, text: str) -> None:
        self._now = datetime.fromisoformat(f"{text}T12:00").replace(tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def elapsed(self) -> float:
        return 0.0


class Asked(ScriptedBackend):
    """Renders prompts as an endpoint gets them."""

    def render(self, task: AnyTask) -> str:
        return task.prompt_text()


class Pages:
    """A search tool with one page."""

    name, about, revision, online = "corpus", "pages", "1", False

    async def search(self, query: str, k: int, *, search: object) -> tuple[Passage, ...]:
        return (Passage(text="The lighthouse at Cape Ansel is lit at dusk.", title="Lights"),)


def check(
    backend: Backend, day: str, claim: Claim = CLAIM, *, profile: Profile = "hardened", folder: Path | None = None
) -> Verdict:
    spec = RunSpec(method="single-reader", profile=profile)
    parts = Parts(backend=backend, evidence={"corpus": Pages()}, clock=Day(day))
    with Verifier(spec, parts=parts, claims=[claim], folder=folder) as verifier:
        return asyncio.run(verifier.verify(claim))


def prompts(backend: ScriptedBackend) -> list[str]:
    return [task.prompt_text() for task, _ in backend.calls]


def test_a_prompt_states_the_day_where_the_claim_has_no_as_of_date() -> None:
    with Asked({AnswerClaim: ANSWER}) as backend:
        check(backend, "2026-03-01")
        check(backend, "2026-03-01", CLAIM.model_copy(update={"as_of": date(2020, 1, 1)}))
        undated, dated = prompts(backend)
    assert "\nToday is 2026-03-01.\nClaim: <data>" in undated
    assert "Today is" not in dated
    assert "Judge it as of 2020-01-01." in dated


def test_the_papers_prompts_state_no_day() -> None:
    with Asked({AnswerClaim: ANSWER}) as backend:
        check(backend, "2026-03-01", profile="paper")
        assert "Today is" not in prompts(backend)[0]


def test_the_day_is_recorded_beside_the_answer_and_the_run_replays_on_another_day(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Asked({AnswerClaim: ANSWER}) as backend:
        verdict = check(backend, "2026-03-01", folder=folder)
    days = [event.today for event in read_events(folder) if isinstance(event, CallFinished)]
    assert days == [date(2026, 3, 1)]
    (again,) = asyncio.run(replay(folder, backend=Asked({})))
    assert (again.label, again.error) == (verdict.label, None)


def test_a_run_that_is_resumed_on_the_next_day_pays_no_call_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Asked({AnswerClaim: ANSWER}) as backend:
        check(backend, "2026-03-01", folder=folder)
    log = folder / "events.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    paid = next(at for at, line in enumerate(lines) if '"call_finished"' in line)
    log.write_text("".join(lines[: paid + 1]))  # as if the process had been killed after the call
    unasked = Asked({AnswerClaim: ANSWER})
    assert check(unasked, "2026-03-02", folder=folder).error is None
    assert unasked.calls == []
