"""Answers of an earlier recording find their questions by position, and nothing is guessed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from redargue.backends.base import Backend, Call, Output, Reply, Stability
from redargue.concurrency import gather_or_cancel
from redargue.errors import RecordError, ReplayMiss
from redargue.events import CallFinished, Event, EvidenceFound, Spoke
from redargue.evidence import Passage
from redargue.playback import replay_claim
from redargue.run import Run
from redargue.runs import earlier
from redargue.runs.earlier import align
from redargue.runs.record import CallRecord, Record, read_events
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.query import Query
from support.debates import CLAIM, ShelfTool
from support.manifests import MANIFEST

pytestmark = pytest.mark.anyio

Course = Callable[[Run], Awaitable[Any]]


class Find(Task[Query]):
    """A question whose words depend on the release."""

    about: str = ""
    release: int = 1

    def input_text(self) -> str:
        return f"{self.about} {self.release}"


class Look(Find):
    """What a later release calls the same task."""


class Released:
    """Answers a question with what it is about, in a given order of questions."""

    name, identity, stability = "released", "released", Stability(0.7, 0.5)
    supports_attention_weights = english_only = False

    def __init__(self, order: Sequence[str] = ()) -> None:
        self._arrived = {about: asyncio.Event() for about in order}
        self._order = list(order)

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        return ""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        assert isinstance(task, Find)
        if task.about in self._order:
            for before in self._order[: self._order.index(task.about)]:
                await self._arrived[before].wait()
                await asyncio.sleep(0)
            for _ in range(10):  # what was answered before is used before
                await asyncio.sleep(0)
            self._arrived[task.about].set()
        answer: Any = Query(text=f"answer to {task.about}")
        return Reply((Output(answer),))


class Never(Released):
    """Is never asked."""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        raise AssertionError("a replay asked the backend")


def tools() -> dict[str, ShelfTool]:
    return {"corpus": ShelfTool("corpus", Passage(text="It stands on a reef."))}


async def recorded(folder: Path, course: Course, backend: Backend | None = None, *, current: bool = False) -> Path:
    """A recording of a course, of an earlier format by default."""
    with Record(folder, MANIFEST.model_copy(update={"claims": (CLAIM,)})) as record:
        await course(Run(backend or Released(), tools(), record=record))
    if not current:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        about.pop("format", None)
        (folder / "run.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


async def replayed(folder: Path, course: Course) -> tuple[Any, Record]:
    """What a course comes to with recorded answers alone."""
    record = Record(folder, mode="replay")

    async def attempt(calls: CallRecord, listener: Callable[[Event], None]) -> None:
        await course(Run(Never(), tools(), record=calls, listeners=[listener]))

    await align(record, 0, attempt)
    return await course(Run(Never(), tools(), record=record)), record


def asking(*abouts: str, release: int = 1, kind: type[Find] = Find) -> Course:
    """A course that asks one question after another, at one position."""

    async def course(run: Run) -> list[str]:
        answers = [await run.perform(kind(about=about, release=release), agent="reader") for about in abouts]
        return [answer.text for (answer,) in answers]

    return course


def concurrent(*abouts: str, release: int = 1, told: bool = True) -> Course:
    """A course that asks all questions at once and then, if told, emits each answer with its question."""

    async def one(run: Run, about: str) -> str:
        (answer,) = await run.perform(Find(about=about, release=release), agent="reader")
        if told:
            run.emit(Spoke(agent=about, round=0, text=answer.text))
        return answer.text

    return lambda run: gather_or_cancel(one(run, about) for about in abouts)


async def test_questions_asked_one_after_the_other_get_their_answers_in_that_order(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", asking("a", "b", "c"))
    answers, record = await replayed(folder, asking("a", "b", "c", release=2))
    assert answers == ["answer to a", "answer to b", "answer to c"]
    assert record.matched == {0: 3}


async def test_unchanged_questions_are_matched_by_their_keys(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", concurrent("a", "b", "c"), Released("cab"))
    answers, record = await replayed(folder, concurrent("a", "b", "c"))
    assert answers == ["answer to a", "answer to b", "answer to c"]
    assert record.matched == {0: 0}


async def test_an_answer_with_the_exact_key_goes_to_no_other_question(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", concurrent("a", "b"), Released("ba"))

    async def half_changed(run: Run) -> list[str]:
        tasks = Find(about="a", release=2), Find(about="b")
        answers = await gather_or_cancel(run.perform(task, agent="reader") for task in tasks)
        return [answer.text for (answer,) in answers]

    answers, record = await replayed(folder, half_changed)
    assert answers == ["answer to a", "answer to b"]
    assert record.matched == {0: 1}


async def test_an_answer_is_used_once(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", asking("a"))
    with pytest.raises(ReplayMiss, match="does not contain Find of 'reader'"):
        await replayed(folder, asking("a", "a", release=2))


async def test_a_question_of_another_agent_round_or_task_has_no_answer(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", asking("a"))
    with pytest.raises(ReplayMiss):
        await replayed(folder, asking("a", release=2, kind=Look))
    with pytest.raises(ReplayMiss):
        await replayed(folder, lambda run: run.perform(Find(about="a"), agent="other"))
    with pytest.raises(ReplayMiss):
        await replayed(folder, lambda run: run.perform(Find(about="a"), agent="reader", round_=2))


@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
async def test_concurrent_answers_go_where_the_recorded_events_agree(tmp_path: Path, order: str) -> None:
    folder = await recorded(tmp_path / "run", concurrent("a", "b", "c"), Released(order))
    answers, _ = await replayed(folder, concurrent("a", "b", "c", release=2))
    assert answers == ["answer to a", "answer to b", "answer to c"]


async def test_where_no_order_agrees_with_the_recorded_events_the_replay_is_refused(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", concurrent("a", "b", told=False), Released("ba"))
    with pytest.raises(ReplayMiss, match="several recorded answers fit Find of 'reader' in round 0"):
        await replayed(folder, concurrent("a", "b", release=2))


async def test_orders_that_all_agree_are_taken_for_one_another_but_not_with_other_settings(tmp_path: Path) -> None:
    course = concurrent("a", "b", told=False)
    folder = await recorded(tmp_path / "run", course, Released("ba"))
    answers, record = await replayed(folder, concurrent("a", "b", release=2, told=False))
    assert sorted(answers) == ["answer to a", "answer to b"]
    with pytest.raises(ReplayMiss, match="which of several recorded answers"):
        await replay_claim(record, 0, settings={"rounds": 1})


async def test_equal_answers_need_no_choice(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", concurrent("a", "a", told=False))
    answers, _ = await replayed(folder, concurrent("a", "a", release=2))
    assert answers == ["answer to a", "answer to a"]


@pytest.mark.parametrize("order", [["a1", "a2", "b1", "b2"], ["b1", "b2", "a1", "a2"], ["a1", "b1", "b2", "a2"]])
async def test_two_chains_of_questions_at_one_position_are_kept_apart(tmp_path: Path, order: list[str]) -> None:
    def course(release: int) -> Course:
        async def chain(run: Run, name: str) -> list[str]:
            texts = []
            for step in ("1", "2"):
                (answer,) = await run.perform(Find(about=name + step, release=release), agent="reader")
                run.emit(Spoke(agent=name, round=int(step), text=answer.text))
                texts.append(answer.text)
            return texts

        return lambda run: gather_or_cancel([chain(run, "a"), chain(run, "b")])

    folder = await recorded(tmp_path / "run", course(1), Released(order))
    answers, _ = await replayed(folder, course(2))
    assert answers == [["answer to a1", "answer to a2"], ["answer to b1", "answer to b2"]]


async def test_a_search_is_matched_by_its_tool_and_query_though_the_corpus_has_changed(tmp_path: Path) -> None:
    async def course(run: Run) -> list[int]:
        queries = ("reef", "lamp", "reef")
        return [len(await run.search("corpus", query, 3, agent="reader")) for query in queries]

    folder = await recorded(tmp_path / "run", course)

    async def changed(run: Run) -> list[int]:
        run.tools["corpus"].revision = "2"  # type: ignore[misc]
        return await course(run)

    counts, record = await replayed(folder, changed)
    assert counts == [1, 1, 1]
    assert record.matched == {0: 3}
    assert sum(isinstance(event, EvidenceFound) for event in read_events(folder)) == 3


async def test_a_renamed_task_with_renamed_answer_fields_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await recorded(tmp_path / "run", asking("a"))
    log = folder / "events.jsonl"
    log.write_text(log.read_text(encoding="utf-8").replace('"text":"answer to', '"words":"answer to'), encoding="utf-8")
    monkeypatch.setattr(earlier, "TASKS", {"Find": "Look"})
    monkeypatch.setattr(earlier, "ANSWERS", {"Look": lambda old: {"text": old["words"], "kept": old["kept"]}})
    answers, record = await replayed(folder, asking("a", release=2, kind=Look))
    assert answers == ["answer to a"]
    assert record.matched == {0: 1}


async def test_a_current_recording_is_replayed_by_exact_keys_alone(tmp_path: Path) -> None:
    folder = await recorded(tmp_path / "run", asking("a"), current=True)
    answers, record = await replayed(folder, asking("a"))
    assert (answers, record.matched) == (["answer to a"], {})
    with pytest.raises(ReplayMiss):
        await replayed(folder, asking("a", release=2))


@pytest.mark.parametrize("number", [3, 0, "x", None, [2]])
async def test_a_format_that_this_release_does_not_know_is_an_error(tmp_path: Path, number: Any) -> None:
    folder = await recorded(tmp_path / "run", asking("a"))
    about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps(about | {"format": number}), encoding="utf-8")
    with pytest.raises(RecordError, match="this release reads 1 to 2"):
        Record(folder, mode="replay")


async def test_a_resumed_recording_is_replayed_too(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    await recorded(folder, asking("a", "b"))
    await recorded(folder, asking("a", "b", "c", "d"))  # resumes: the first two are not asked again
    assert sum(isinstance(event, CallFinished) for event in read_events(folder)) == 4
    answers, _ = await replayed(folder, asking("a", "b", "c", "d", release=2))
    assert answers == [f"answer to {about}" for about in "abcd"]
