"""Answers without words or documents are outcomes; checks run beside an application's event loop."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import pytest

import redargue
from redargue.caveats import UncheckedReason
from redargue.errors import RedargueError, UsageError
from redargue.text.verification import NO_CONTEXT

ANSWER, DOCUMENT = "It was opened in 1889. It is 330 metres long.", "The bridge was opened in 1889."


@pytest.mark.anyio
@pytest.mark.parametrize("answer", ["", "  \n", "…"])
@pytest.mark.parametrize("contexts", [[DOCUMENT], []])
async def test_an_answer_without_words_is_not_checkable(answer: str, contexts: list[str]) -> None:
    report = await redargue.ground(answer, contexts=contexts)
    assert (report.outcome, report.text, report.claims) == ("not_checkable", answer, ())
    with redargue.Grounder(contexts) as grounder:
        assert await grounder.ground(answer) == report


@pytest.mark.anyio
@pytest.mark.parametrize("contexts", [[], "", ["", " \n"]])
async def test_without_a_document_every_sentence_is_unchecked(contexts: str | list[str]) -> None:
    report = await redargue.ground(ANSWER, contexts=contexts)
    assert (report.outcome, report.not_checked) == ("unchecked", {UncheckedReason.NO_CONTEXT: 2})
    assert [report.text[each.start : each.end] for each in report.unchecked] == [ANSWER[:22], ANSWER[23:]]
    with redargue.Grounder(contexts) as grounder:
        assert await grounder.ground(ANSWER) == report
        streamed = [claim async for claim in redargue.check_stream([ANSWER], grounder)]
    assert [claim.verdict.unchecked for claim in streamed] == [NO_CONTEXT] * 2


@pytest.mark.anyio
@pytest.mark.parametrize("contexts", [None, 5, {"text": DOCUMENT}, b"Bees fly."])
async def test_contexts_that_are_no_list_are_a_usage_error(contexts: Any) -> None:
    with pytest.raises(UsageError, match=f"{re.escape(str(contexts))} is not a list of documents") as refused:
        await redargue.ground(ANSWER, contexts=contexts)
    assert "[] for none" in refused.value.hint


@pytest.mark.anyio
@pytest.mark.parametrize("options", [{"kind": None}, {"context": None}, {"folder": __file__}])
async def test_an_argument_of_another_type_is_named(options: dict[str, Any]) -> None:
    what = {"kind": "None is not a kind", "context": "context is not a string", "folder": "is not a folder"}
    with pytest.raises(RedargueError, match=what[next(iter(options))]):
        await redargue.ground(ANSWER, contexts=[DOCUMENT], **options)


@pytest.mark.anyio
async def test_half_a_character_in_a_document_is_replaced_and_offsets_stay() -> None:
    document = redargue.Passage(text=f"\udcff{DOCUMENT}", title="\ud83d")
    assert (document.text, document.title) == (f"\ufffd{DOCUMENT}", "\ufffd")
    report = await redargue.ground(ANSWER, contexts=[document])
    (quote, *_) = report.claims[0].verdict.quotes
    assert document.text[quote.start : quote.end] == quote.text


@pytest.mark.anyio
async def test_an_option_that_does_not_exist_is_an_error_all_the_same() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        await redargue.ground("", contexts=[], method="nonsense")


@pytest.mark.anyio
async def test_a_check_runs_in_a_thread_beside_the_event_loop() -> None:
    async with redargue.Background() as background:
        report = await background.run(redargue.ground(ANSWER, contexts=[DOCUMENT], method="single-reader"))
        assert report.claims[0].verdict.label == "SUPPORTS"

        async def where() -> tuple[str, str]:
            return threading.current_thread().name, await asyncio.to_thread(lambda: threading.current_thread().name)

        loop, reading = await background.run(where())
        assert loop == "redargue"
        assert reading.startswith("redargue_")


@pytest.mark.anyio
async def test_as_many_checks_run_and_wait_as_may() -> None:
    begun: list[int] = []
    free = threading.Event()

    async def held(number: int) -> int:
        begun.append(number)
        await asyncio.to_thread(free.wait, 120)
        return number

    async with redargue.Background(running=1, waiting=1) as background:
        tasks = [asyncio.create_task(background.run(held(number))) for number in range(2)]
        async with asyncio.timeout(120):
            while not begun:  # noqa: ASYNC110 - another thread does it
                await asyncio.sleep(0)
        with pytest.raises(redargue.Busy, match="1 checks are waiting"):
            await background.run(held(2))
        free.set()
        assert await asyncio.gather(*tasks) == [0, 1] == begun
        assert await background.run(held(3)) == 3
    with pytest.raises(UsageError, match="closed"):  # and not Busy, after which a caller would try again for ever
        await background.run(held(4))


@pytest.mark.parametrize(
    "options", [{"running": 0}, {"running": -1}, {"running": "4"}, {"waiting": -1}, {"threads": 0}, {"running": True}]
)
def test_a_background_that_could_run_nothing_is_refused_and_quotes_the_value(options: dict[str, Any]) -> None:
    ((name, value),) = options.items()
    with pytest.raises(UsageError, match=f"{name}={value!r}"):
        redargue.Background(**options)


@pytest.mark.anyio
async def test_what_is_no_check_is_refused() -> None:
    async with redargue.Background() as background:
        with pytest.raises(UsageError, match="'nonsense' is not a check"):
            await background.run("nonsense")  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_cancelling_ends_a_check_and_closing_ends_all() -> None:
    ended: list[str] = []
    begun = threading.Semaphore(0)

    async def endless(name: str) -> None:
        begun.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async with redargue.Background() as background:
        first = asyncio.create_task(background.run(endless("cancelled")))
        assert await asyncio.to_thread(begun.acquire, timeout=120)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(background.run(endless("closed")))
        assert await asyncio.to_thread(begun.acquire, timeout=120)
        closing = asyncio.create_task(background.close())
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match="was closed"):
            await background.run(endless("late"))
        await closing
    with pytest.raises(asyncio.CancelledError):
        await second
    assert ended == ["cancelled", "closed"]
