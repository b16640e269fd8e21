"""Evidence that was only recalled is read again before it decides, or the verdict says that it was not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memory.conftest import NOW
from redargue import replay, words
from redargue.backends.scripted import ScriptedBackend
from redargue.caveats import Caveat, CaveatKind
from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.memory import Finding, MemorySettings
from redargue.memory.memory import Memory, open_memory
from redargue.memory.recheck import recheck
from redargue.retrieval.web_pages import PageAction
from redargue.tasks.step import Step
from redargue.verdicts import Verdict
from redargue.verifier import Verifier
from retrieval.corpus.words import WordEncoder
from support.debates import CLAIM, CLOCK, QUOTE, TEXT, ShelfTool, script

pytestmark = pytest.mark.anyio

STORED = Passage(
    text=TEXT, title="Cape Ansel", document="ansel", tool="corpus", query='{"query": "lighthouse"}', retrieved=NOW
)
OTHER = Passage(text="Nothing about it.", title="Harbours", document="harbours")
CHANGED = Caveat(kind=CaveatKind.ONLY_CHANGED, answer="SUPPORTS")
NOT_READ_AGAIN = "rests on recalled evidence that was not read again"
WEB: dict[str, Any] = {"tool": "web", "url": "https://ansel.test/light"}


def memory_with(folder: Path) -> Memory:
    return open_memory(folder / "memory.db", encoder=WordEncoder(), settings=MemorySettings(mode="on"))


async def verify(
    folder: Path,
    *found: Passage,
    profile: str = "hardened",
    failing: bool = False,
    online: bool = False,
    lookup: bool = False,
    **stored: Any,
) -> tuple[Verdict, ShelfTool]:
    """MERMAID answers at once, with a quotation of what the memory holds; the corpus now has ``found``."""
    steps = [Step(thought="I remember.", answer="SUPPORTS", quotes=(QUOTE,))]
    backend = ScriptedBackend(script(NextStep=lambda task, call: steps[0]))
    shelf = ShelfTool("corpus", *found, failing=failing)
    shelf.online = online  # type: ignore[attr-defined]
    with memory_with(folder) as memory:
        finding = Finding(passage=STORED.model_copy(update=stored), arguments={"query": "lighthouse"})
        await memory.remember([finding], entities=["lighthouse"], claim="x", run="", now=NOW)
        settings: dict[str, Any] = {"tools": ("corpus",), "memory": "frozen", "recall_by": "entity"}
        options: Any = {"profile": profile, "settings": settings, "evidence": {"corpus": shelf}, "clock": CLOCK}
        folders: Any = {"folder": folder / "run", "claims": [CLAIM]}
        with Verifier(method="mermaid", backend=backend, memory=memory, **options, **folders) as verifier:
            verdict = await verifier.verify(CLAIM)
    assert verdict.error is None, verdict.error
    return verdict, shelf


async def test_recalled_evidence_that_its_source_still_has_decides(tmp_path: Path) -> None:
    verdict, shelf = await verify(tmp_path, OTHER, STORED)
    assert shelf.queries == ["lighthouse"]
    assert (verdict.label, verdict.caveats, verdict.usage.searches) == ("SUPPORTS", (), 1)


async def test_a_source_that_is_cut_otherwise_and_has_the_quotation_decides(tmp_path: Path) -> None:
    verdict, _ = await verify(tmp_path, STORED.model_copy(update={"text": f"Before. {QUOTE} And then something else."}))
    assert (verdict.label, verdict.caveats) == ("SUPPORTS", ())


async def test_recalled_evidence_that_its_source_no_longer_has_decides_nothing(tmp_path: Path) -> None:
    verdict, _ = await verify(tmp_path, STORED.model_copy(update={"text": "The page was corrected and says no more."}))
    assert verdict.meaning is Meaning.NOT_ENOUGH
    assert verdict.caveats == (CHANGED,)


@pytest.mark.parametrize(
    "given", [{"failing": True}, {"tool": "web"}, {"profile": "paper"}], ids=["fails", "no tool", "paper"]
)
async def test_where_it_cannot_be_read_again_the_verdict_says_so_and_where_it_is_from(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    verdict, shelf = await verify(tmp_path, OTHER, **given)
    tool = given.get("tool", "corpus")
    assert verdict.label == "SUPPORTS"
    assert words.caveats(verdict.caveats) == f"{NOT_READ_AGAIN} ({tool}, {NOW:%Y-%m-%d}, Cape Ansel)"
    assert len(shelf.queries) == ("failing" in given)


async def test_a_source_that_the_search_no_longer_finds_was_not_read_again(tmp_path: Path) -> None:
    verdict, _ = await verify(tmp_path, OTHER)
    assert (verdict.label, verdict.caveats[0].kind) == ("SUPPORTS", CaveatKind.NOT_READ_AGAIN)


async def test_a_replay_compares_with_what_was_read_then(tmp_path: Path) -> None:
    for name, passage in (("same", STORED), ("changed", STORED.model_copy(update={"text": "No more."}))):
        (tmp_path / name).mkdir()
        verdict, _ = await verify(tmp_path / name, passage)
        assert await replay(tmp_path / name / "run") == [verdict]


class Page:
    """Reads one address."""

    name, about, revision = "fetch", "reads a page", "1"
    parameters: Mapping[str, Any] = {"type": "object"}

    def __init__(self, text: str) -> None:
        self.text, self.calls = text, list[Mapping[str, Any]]()

    async def call(self, arguments: Mapping[str, Any], *, search: Any) -> tuple[Passage, ...]:
        self.calls.append(arguments)
        return (Passage(text=self.text, url=arguments["url"]),)


@pytest.mark.parametrize(
    ("text", "caveats"),
    [(f"A page. {TEXT} More.", ()), ("Corrected.", (CHANGED,))],
)
async def test_a_page_is_read_again_at_its_address_where_its_tool_is_not_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, caveats: tuple[Caveat, ...]
) -> None:
    page = Page(text)
    monkeypatch.setattr(Verifier, "_page_action", lambda self, run: page)
    verdict, _ = await verify(tmp_path, OTHER, **WEB)
    assert (page.calls, verdict.caveats) == ([{"url": WEB["url"]}], caveats)


@pytest.mark.parametrize("text", [f"A page. {TEXT} More.", "Corrected."])
async def test_a_replay_compares_with_the_page_that_was_read_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    async def read(self: PageAction, arguments: Mapping[str, Any], *, search: Any) -> tuple[Passage, ...]:
        return (Passage(text=text, url=arguments["url"]),)

    monkeypatch.setattr(PageAction, "call", read)
    verdict, _ = await verify(tmp_path, OTHER, online=True, **WEB)
    assert verdict.caveats == (() if TEXT in text else (CHANGED,))
    monkeypatch.setattr(PageAction, "call", None)
    assert await replay(tmp_path / "run") == [verdict]


async def test_a_run_without_a_tool_that_goes_online_reads_no_page_again(tmp_path: Path) -> None:
    verdict, _ = await verify(tmp_path, OTHER, **WEB)
    assert words.caveats(verdict.caveats) == f"{NOT_READ_AGAIN} (web, {NOW:%Y-%m-%d}, {WEB['url']})"


async def test_recheck_searches_with_the_query_of_a_stored_call(tmp_path: Path) -> None:
    shelf = ShelfTool("corpus", STORED)
    with memory_with(tmp_path) as memory:
        await memory.remember([Finding(passage=STORED)], entities=["a"], claim="x", run="", now=NOW)
        results = [result async for result in recheck(memory, memory.records(), {"corpus": shelf}, now=NOW)]
    assert ([result.outcome for result in results], shelf.queries) == (["same"], ["lighthouse"])
