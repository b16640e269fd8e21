"""A run asks the memory, and its record answers where it was asked before."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.conftest import NOW, found
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.errors import ReplayMiss, UsageError
from redargue.events import (
    ClaimEnded,
    ClaimStarted,
    Event,
    EvidenceRecalled,
    EvidenceRemembered,
    canonical,
    passages_of,
)
from redargue.memory.memory import Memory, open_memory
from redargue.run import Run
from redargue.runs.record import Record
from redargue.spec import RunSpec
from redargue.text.grounder import Grounder
from redargue.text.verification import verify_text
from redargue.verifier import Verifier
from retrieval.corpus.words import WordEncoder
from support.debates import CLOCK
from support.manifests import MANIFEST

pytestmark = pytest.mark.anyio

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")


def memory_at(folder: Path) -> Memory:
    return open_memory(folder / "memory.db", encoder=WordEncoder())


async def verify(run: Run) -> list[str]:
    """What MERMAID does with its memory: recall, act, update."""
    recall = await run.recall(["Cape Ansel"], agent="executor", claim=CLAIM)
    await run.remember([found("Lit in 1871."), found("")], entities=["Cape Ansel"], agent="executor", claim=CLAIM)
    return [each.passage.text for each in recall.items]


async def test_a_recall_is_recorded_and_replayed_without_a_memory(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with memory_at(tmp_path) as memory:
        await memory.remember([found("An older text.")], entities=["Cape Ansel"], claim="x", run="", now=NOW)
        with Record(folder, MANIFEST) as record:
            run = Run(ScriptedBackend({}), clock=CLOCK, record=record, memory=memory)
            assert await verify(run) == ["An older text."]
        recalled, remembered = run.events
        assert isinstance(recalled, EvidenceRecalled)
        assert passages_of(recalled)[0].text == "An older text."
        assert isinstance(remembered, EvidenceRemembered)
        assert (remembered.entities, remembered.dropped) == (("Cape Ansel",), {"empty": 1})
        assert (len(remembered.passages), remembered.stored) == (2, 1)
        assert memory.records()[0].claims == ((CLAIM.text, "run"),)
    again = Run(ScriptedBackend({}), clock=CLOCK, record=Record(folder, mode="replay"))
    assert await verify(again) == ["An older text."]
    assert canonical(again.events) == canonical(run.events)


async def test_a_resumed_claim_recalls_what_it_did_and_does_not_remember_twice(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory:
        for _ in range(2):
            with Record(tmp_path / "run", MANIFEST) as record:
                run = Run(ScriptedBackend({}), clock=CLOCK, record=record, memory=memory)
                assert await verify(run) == []  # by now the memory holds what the first attempt found
        assert memory.count() == 1


async def test_a_replay_that_asks_for_another_recall_is_a_miss(tmp_path: Path) -> None:
    with memory_at(tmp_path) as memory, Record(tmp_path / "run", MANIFEST) as record:
        await verify(Run(ScriptedBackend({}), clock=CLOCK, record=record, memory=memory))
    run = Run(ScriptedBackend({}), clock=CLOCK, record=Record(tmp_path / "run", mode="replay"))
    with pytest.raises(ReplayMiss, match="a recall of 'Amos Reed'"):
        await run.recall(["Amos Reed"], agent="executor", claim=CLAIM)


async def test_a_run_without_a_memory_says_so() -> None:
    with pytest.raises(UsageError, match="this run has no memory"):
        await Run(ScriptedBackend({})).recall(["x"], agent="executor", claim=CLAIM)


async def test_with_a_memory_claims_are_verified_in_their_order_by_default(tmp_path: Path) -> None:  # M16
    given = {"method": "mermaid", "store": "starter", "offline": True}
    claims = [Claim(text=f"The Eiffel Tower was opened in {year}.") for year in (1889, 1931)]
    with Verifier(RunSpec(**given)) as verifier:
        assert verifier.concurrency == 2
    with Verifier(RunSpec(**given, memory=str(tmp_path / "memory.db"))) as verifier:
        assert verifier.concurrency == 1
        seen: list[Event] = []
        await verifier.verify_all(claims, listeners=[seen.append])
    order = [event.item for event in seen if isinstance(event, ClaimStarted | ClaimEnded)]
    assert order == [0, 0, 1, 1]
    recalled = {event.item: passages_of(event) for event in seen if isinstance(event, EvidenceRecalled)}
    assert recalled[1]


async def test_the_claims_of_a_text_are_verified_in_their_order_with_a_memory(tmp_path: Path) -> None:  # M16
    text = " ".join(f"The Eiffel Tower was opened in {year}." for year in (1889, 1931, 1950))
    given = {"method": "mermaid", "store": "starter", "offline": True, "memory": str(tmp_path / "memory.db")}
    seen: list[Event] = []
    await verify_text(text, spec=RunSpec(**given), listeners=[seen.append])
    order = [event.item for event in seen if isinstance(event, ClaimStarted | ClaimEnded)]
    assert order == [0, 0, 1, 1, 2, 2]


async def test_a_text_is_not_verified_with_no_claim_at_a_time() -> None:
    with pytest.raises(UsageError, match="0 claims at a time"):
        await verify_text("The Eiffel Tower was opened in 1889.", concurrency=0)
    with Grounder("It was opened in 1889.") as grounder, pytest.raises(UsageError, match="0 claims at a time"):
        await grounder.ground("It was opened in 1889.", concurrency=0)
