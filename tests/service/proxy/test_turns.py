from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redargue.evidence import Passage
from redargue.service.guard import Turns
from redargue.service.proxy import checker
from redargue.service.proxy.settings import CheckOptions, ProxySettings, plan


class Readings:
    """Readers whose readings end one by one, when the test says so."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.end = asyncio.Semaphore(0)

    async def check_sentence(self, sentences: Any) -> tuple[()]:
        self.begun.append(sentences[-1].text)
        await self.end.acquire()
        return ()

    def close(self) -> None: ...


async def until_idle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.anyio
async def test_readings_of_all_answers_take_turns_and_the_oldest_answer_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings = Readings()
    made = checker.Readers(readings)  # type: ignore[arg-type]  # nothing is debated
    monkeypatch.setattr(checker.Checkers, "_readers", lambda *_: made)
    settings = ProxySettings(running=2)
    checkers, decided = checker.Checkers(settings), plan(settings, CheckOptions())
    documents = (Passage(text="It rains."),)
    async with checkers.open(documents, decided) as old, checkers.open(documents, decided) as new:
        first, second = checker.AnswerCheck(old), checker.AnswerCheck(new)
        await asyncio.gather(old, new)
        first.add("One was old. Five was old. Six")
        second.add("Two was new. Three was new. Four was new. ")
        await until_idle()
        assert readings.begun == ["One was old.", "Two was new."]
        first.add(" was old. Seven")
        await until_idle()
        for _ in range(2):
            readings.end.release()
            await until_idle()
        assert readings.begun[2:] == ["Five was old.", "Three was new."]
        for _ in range(5):
            readings.end.release()
        await asyncio.gather(first.finish(300), second.finish(300))
    await checkers.close()


@pytest.mark.anyio
async def test_a_turn_that_is_given_up_goes_to_the_next() -> None:
    turns, log = Turns(1), list[int]()
    go_on = asyncio.Event()

    async def take(number: int) -> None:
        async with turns.take(number):
            log.append(number)
            await go_on.wait()

    tasks = [asyncio.create_task(take(number)) for number in (5, 3, 1, 2)]
    await until_idle()
    tasks[2].cancel()  # waits
    await until_idle()
    tasks[0].cancel()  # has its turn
    await until_idle()
    assert log == [5, 2]
    go_on.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with turns.take(9):
        assert log == [5, 2, 3]
