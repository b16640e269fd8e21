"""What holds for a memory on every database."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from pathlib import Path

import pytest

from memory.conftest import CLAIM, NOW, Opened, found, texts
from redargue.claims import Claim
from redargue.errors import UsageError
from redargue.evidence import Omission
from redargue.memory import Finding, RecordFilter
from redargue.memory.memory import Memory, open_memory
from redargue.memory.records import SqliteMemory
from redargue.net.secrets import Secrets
from retrieval.corpus.words import WordEncoder

pytestmark = pytest.mark.anyio

CAPE, REED = ["Cape Ansel"], ["Amos Reed"]


async def keep(
    memory: Memory, *findings: Finding, entities: list[str] | None = None, claim: str = CLAIM
) -> dict[Omission, int]:
    return await memory.remember(findings, entities=entities or CAPE, claim=claim, run="r1", now=NOW)


async def test_what_was_found_is_recalled_under_any_spelling_of_its_entity_with_its_source(opened: Opened) -> None:
    memory = opened()
    url = "https://example.org/ansel"
    assert await keep(memory, found("Lit in 1871.", url=url, title="Ansel")) == {}
    (item,) = (await memory.recall(["the “CAPE ANSEL”"], claim=Claim(text="another"), now=NOW)).items
    assert (item.passage.text, item.passage.url, item.passage.title) == ("Lit in 1871.", url, "Ansel")
    assert (item.passage.tool, item.passage.query, item.passage.retrieved) == ("wikipedia", "Cape Ansel", NOW)
    assert (item.arguments, item.claims) == ({"query": "Cape Ansel"}, (CLAIM,))
    assert (item.entities, item.similarity) == (("cape ansel",), None)
    assert (await memory.recall(["Cape"], claim=Claim(text="another"), now=NOW)).items == ()


async def test_what_stands_under_most_entities_comes_first_then_the_newest(opened: Opened) -> None:
    memory = opened()
    await keep(memory, found("both"), entities=CAPE + REED)
    await keep(memory, found("old"))
    await keep(memory, found("new"), entities=REED)
    assert texts(await memory.recall(CAPE + REED, claim=Claim(text="x"), now=NOW)) == ["both", "new", "old"]


async def test_of_one_call_the_tools_best_result_comes_first(opened: Opened) -> None:
    memory = opened(limit=3)
    await keep(memory, found("old best"), found("old second"))
    await keep(memory, found("best", query="lit"), found("second", query="lit"), found("other", query="red"))
    assert texts(await memory.recall(CAPE, claim=Claim(text="x"), now=NOW)) == ["other", "best", "second"]


async def test_workspaces_never_mix(opened: Opened) -> None:
    one, other = opened(workspace="one", by="both"), opened(workspace="two", by="both")
    await keep(one, found("Lit in 1871."))
    assert (await other.recall(CAPE, claim=Claim(text="Lit in 1871."), now=NOW)).items == ()
    await keep(other, found("Lit in 1871."))
    assert (one.count(), other.count()) == (1, 1)
    assert other.purge(RecordFilter()) == 1
    assert texts(await one.recall(CAPE, claim=Claim(text="Lit in 1871."), now=NOW)) == ["Lit in 1871."]
    with pytest.raises(UsageError, match="invalid workspace name"):
        opened(workspace=" ")


async def test_evidence_is_found_by_meaning_where_no_entity_is_shared(opened: Opened) -> None:
    memory = opened(by="meaning", similarity=0.4)
    await keep(memory, found("The lamp was lit in 1871."), found("Granite is an igneous rock."))
    recall = await memory.recall(["nothing"], claim=Claim(text="when was the lamp lit"), now=NOW)
    assert texts(recall) == ["The lamp was lit in 1871."]
    assert recall.items[0].entities == ()
    assert 0.4 <= (recall.items[0].similarity or 0) <= 1
    assert (await memory.recall(CAPE, claim=Claim(text="x"), now=NOW, text=" ")).items == ()


async def test_both_orders_are_fused(opened: Opened) -> None:
    memory = opened(by="both", similarity=0.4)
    await keep(memory, found("The lamp was lit in 1871."), entities=["lamp"])
    await keep(memory, found("Granite is hard."))
    await keep(memory, found("The lamp was lit by hand."))
    recall = await memory.recall(CAPE, claim=Claim(text="who lit the lamp by hand"), now=NOW)
    assert texts(recall)[0] == "The lamp was lit by hand."
    assert set(texts(recall)) == {"The lamp was lit by hand.", "The lamp was lit in 1871.", "Granite is hard."}


async def test_the_authors_way_finds_entities_that_hold_the_one_asked_for(opened: Opened) -> None:  # MM-3
    memory = opened(by="substring", limit=3, characters=5)
    await keep(memory, found("one two three"), entities=["the 100% lighthouse of Cape Ansel"])
    assert texts(await memory.recall(["cape ansel"], claim=Claim(text="x"), now=NOW)) == ["one t"]
    assert texts(await memory.recall(["100%"], claim=Claim(text="x"), now=NOW)) == ["one t"]
    assert texts(await memory.recall(["1%s"], claim=Claim(text="x"), now=NOW)) == []


async def test_the_same_content_of_a_call_is_one_record_for_both_claims(opened: Opened) -> None:
    memory = opened()
    await keep(memory, found("Lit in 1871."))
    await keep(memory, found("Lit in 1871."), entities=REED, claim="another")
    (record,) = memory.records()
    assert record.entities == ("amos reed", "cape ansel")
    assert record.claims == ((CLAIM, "r1"), ("another", "r1"))


async def test_a_text_that_two_calls_found_is_given_once(opened: Opened) -> None:
    memory = opened()
    await keep(memory, found("Lit in 1871."), found("Lit in 1871.", query="lamp"))
    assert memory.count() == 2
    assert texts(await memory.recall(CAPE, claim=Claim(text="x"), now=NOW)) == ["Lit in 1871."]


async def test_failures_are_never_kept_and_misses_only_where_they_are_wanted(opened: Opened) -> None:
    failed, miss = found("Error: 429", status="error"), found("")
    assert await keep(opened(), failed, miss) == {"empty": 1, "error": 1}
    memory = opened(keep_misses=True)
    assert await keep(memory, failed, miss) == {"error": 1}
    (item,) = (await memory.recall(CAPE, claim=Claim(text="x"), now=NOW)).items
    assert (item.status, item.passage.text, item.passage.query) == ("empty", "", "Cape Ansel")
    assert (await opened().recall(CAPE, claim=Claim(text="x"), now=NOW)).items == ()


async def test_a_result_takes_the_place_of_the_same_calls_miss(opened: Opened) -> None:
    memory = opened(keep_misses=True)
    await keep(memory, found(""))
    await keep(memory, found("Lit in 1871."))
    assert [record.status for record in memory.records()] == ["ok"]


async def test_a_frozen_memory_recalls_and_keeps_nothing(opened: Opened) -> None:
    await keep(opened(), found("Lit in 1871."))
    frozen = opened(mode="frozen")
    assert await keep(frozen, found("Lit in 1872.")) == {"frozen": 1}
    assert texts(await frozen.recall(CAPE, claim=Claim(text="x"), now=NOW)) == ["Lit in 1871."]
    with pytest.raises(UsageError, match="open for reading only"):
        frozen.purge(RecordFilter())


async def test_a_memory_that_is_only_read_is_not_made(opened: Opened) -> None:
    with pytest.raises(UsageError, match="no memory at") as caught:
        opened(mode="frozen")
    assert "redargue check … --method mermaid --memory" in caught.value.hint  # a method that has one


async def test_evidence_of_a_near_duplicate_claim_is_held_back_and_counted(opened: Opened) -> None:
    same = "In 1871 the lighthouse at Cape Ansel was lit"
    guarded, open_ = opened(guard=True), opened()
    await keep(open_, found("Lit in 1871."), found("It stands on granite."))
    await keep(open_, found("Cape Ansel is a headland."), claim="Cape Ansel lies on the west coast.")
    recall = await guarded.recall(CAPE, claim=Claim(text=same), now=NOW)
    assert (texts(recall), recall.held_back) == (["Cape Ansel is a headland."], 2)
    assert len((await open_.recall(CAPE, claim=Claim(text=same), now=NOW)).items) == 3
    await keep(open_, found("It stands on granite."), claim="The reef at Cape Ansel is made of granite.")
    recall = await guarded.recall(CAPE, claim=Claim(text=same), now=NOW)
    assert (len(recall.items), recall.held_back) == (2, 1)  # an unlike claim found it, too


async def test_evidence_expires(opened: Opened) -> None:
    memory = opened(max_age=30)
    await keep(memory, found("old", retrieved=NOW - timedelta(days=31)), found("new"))
    recall = await memory.recall(CAPE, claim=Claim(text="x"), now=NOW)
    assert (texts(recall), recall.left_out) == (["new"], {"expired": 1})
    await keep(memory, found("old"))  # found again today
    assert len((await memory.recall(CAPE, claim=Claim(text="x"), now=NOW)).items) == 2


async def test_what_was_published_later_is_not_recalled_as_of_a_day(opened: Opened) -> None:
    memory = opened()
    day = date(2020, 5, 1)
    await keep(memory, found("a", published="2020-04-30"), found("b", published="2021"), found("c"))
    recall = await memory.recall(CAPE, claim=Claim(text="x", as_of=day), now=NOW)
    assert {each.passage.text: each.passage.timing for each in recall.items} == {"a": "in_time", "c": "undated"}
    assert recall.left_out == {"later": 1}
    strict = await memory.recall(CAPE, claim=Claim(text="x", as_of=day, only_in_time=True), now=NOW)
    assert (texts(strict), strict.left_out) == (["a"], {"later": 1, "undated": 1})


async def test_a_recall_is_capped_in_items_and_characters_and_tells_the_whole_length(opened: Opened) -> None:
    memory = opened(limit=2, characters=10)
    await keep(memory, *(found(f"{number} " + "word " * 9_000) for number in range(3)))
    recall = await memory.recall(CAPE, claim=Claim(text="x"), now=NOW)
    assert [(len(each.passage.text), each.length) for each in recall.items] == [(10, 45_002)] * 2
    assert {len(record.passage.text) for record in memory.records()} == {20_000}


async def test_what_is_purged_is_gone_for_whoever_has_the_memory_open(opened: Opened) -> None:
    memory, other = opened(by="both"), opened(by="meaning", similarity=0.1)
    await keep(memory, found("The lamp was lit."), found("The lamp is red.", tool="tavily"))
    await keep(memory, found("The lamp is old.", retrieved=NOW - timedelta(days=9)), entities=REED)
    assert len((await other.recall([], claim=Claim(text="lamp"), now=NOW)).items) == 3
    assert memory.purge(RecordFilter(tool="tavily")) == 1
    assert memory.purge(RecordFilter(entity="AMOS REED", before=NOW.date())) == 1
    assert memory.purge(RecordFilter(status="gone")) == 0
    assert texts(await other.recall([], claim=Claim(text="lamp"), now=NOW)) == ["The lamp was lit."]
    (record,) = memory.records()
    assert memory.purge(RecordFilter(numbers=(record.number,))) == 1
    await keep(memory, found("The lamp is new."))
    assert memory.records()[0].number > record.number  # no number is given twice
    assert texts(await other.recall([], claim=Claim(text="lamp"), now=NOW)) == ["The lamp is new."]


async def test_no_key_and_nothing_a_database_refuses_is_stored(opened: Opened, where: str) -> None:
    secret = "sk-1234567890abcdefghij"
    memory = Memory(opened()._database, encoder=WordEncoder(), secrets=Secrets([secret]))
    finding = found(f"a\0b {secret}\ud800", url=f"https://example.org/?key={secret}", query=secret)
    sent = finding.model_copy(update={"arguments": {"query": "q", "headers": {"key": secret}}})
    await keep(memory, sent, entities=[secret], claim=f"{secret} is a key")
    (record,) = memory.records()
    assert record.passage.text == "ab [secret]\ufffd"
    assert secret not in record.model_dump_json()


async def test_an_entity_and_a_claim_may_have_any_length(opened: Opened) -> None:
    memory = opened(workspace="ü" * 100, guard=True)
    entity, claim = "cape 界" * 2_000, "The lamp 界 was lit. " * 900
    await keep(memory, found("Lit in 1871."), entities=[entity], claim=claim)
    assert texts(await memory.recall([entity], claim=Claim(text="x"), now=NOW)) == ["Lit in 1871."]
    assert (await memory.recall([entity], claim=Claim(text=claim), now=NOW)).held_back == 1


async def test_a_memory_of_another_embedder_or_a_newer_format_is_refused(opened: Opened, where: str) -> None:
    with opened()._database.write() as db:
        db.execute("UPDATE meta SET value = 'other' WHERE name = 'embedder'")
    with pytest.raises(UsageError, match="holds vectors of 'other', not of 'words'"):
        opened()


async def test_several_claims_may_use_it_at_once(opened: Opened) -> None:
    memory = opened(by="both", similarity=0.1, limit=50)

    async def one(number: int) -> None:
        await keep(memory, found(f"The lamp {number} was lit."), entities=[f"lamp {number}"])
        assert await memory.recall([f"lamp {number}"], claim=Claim(text="lamp"), now=NOW)

    await asyncio.gather(*map(one, range(30)))
    assert len((await memory.recall([], claim=Claim(text="lamp"), now=NOW)).items) == 30


def test_purged_text_is_not_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_memory(path, encoder=WordEncoder()) as memory:
        asyncio.run(keep(memory, found("a remark that somebody regrets")))
        memory.purge(RecordFilter())
    assert b"regrets" not in b"".join(each.read_bytes() for each in tmp_path.glob("memory.db*"))


def test_a_file_that_is_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("notes")
    with pytest.raises(Exception, match="is not a redargue memory"):
        SqliteMemory(path, write=True, embedder="words")
    assert path.read_text() == "notes"
