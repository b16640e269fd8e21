"""Evidence that stands still: per claim, ranked, whole; and searches that are shared."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.errors import RecordError, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.nli.session import Embedder, Floats
from redargue.retrieval.tools import CachedTool, PerClaim, Search, tools
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.run import Run
from support.debates import ShelfTool

pytestmark = pytest.mark.anyio

BRIDGE = Passage(text="The bridge at Orvell was opened in 1889.", title="Bridge", url="https://a.example/1")
LIGHT = Passage(text="A lighthouse stands at Cape Ansel, north of the harbour.", title="Light")


@pytest.mark.parametrize("encoder", [None, Embedder()])
async def test_each_claim_searches_its_own_passages_the_best_first(encoder: Embedder | None) -> None:
    evidence = FixedPassages([(LIGHT, BRIDGE, BRIDGE), ()], encoder=encoder)
    assert isinstance(evidence, PerClaim)
    first, *rest = await evidence.for_claim(0).search("when was the bridge opened", 3, search=Search())
    assert (first.text, first.rank, first.url) == (BRIDGE.text, 1, BRIDGE.url)
    assert [each.text for each in rest] == ([LIGHT.text] if encoder else [])
    assert await evidence.for_claim(1).search("bridge", 3, search=Search()) == ()
    assert await evidence.for_claim(0).search("bridge", 0, search=Search()) == ()


async def test_short_passages_are_whole_and_a_piece_of_another_takes_no_place() -> None:
    abstract = Passage(title="A", text=" ".join(f"Sentence {number} is about the bridge." for number in range(40)))
    assert 1_000 < len(abstract.text) <= 2_000
    piece = abstract.model_copy(update={"text": abstract.text[:300]})
    other = Passage(title="B", text="The bridge was painted in 1920.")
    found = await FixedPassages([(piece, abstract, other)]).for_claim(0).search("bridge", 2, search=Search())
    assert {passage.text for passage in found} == {abstract.text, other.text}


@pytest.mark.parametrize("encoder", [None, Embedder()])
async def test_one_text_under_two_titles_is_two_passages(encoder: Embedder | None) -> None:
    plans = [Passage(text="The monthly fee is 5 euros.", title=f"{name} plan") for name in ("Basic", "Family")]
    tool = FixedPassages([(*plans, plans[0])], encoder=encoder).for_claim(0)
    found = await tool.search("monthly fee of the Family plan", 3, search=Search())
    assert [each.title for each in found] == ["Family plan", "Basic plan"]


class Medical:
    """Knows which texts are about medicine."""

    name = "medical"

    def __init__(self) -> None:
        self.most = 0  # texts of one call

    def encode(self, texts: Sequence[str]) -> Floats:
        self.most = max(self.most, len(texts))
        medical = [bool(re.search("doctor|physician", text.lower())) for text in texts]
        return np.array([[float(yes), float(not yes)] for yes in medical], np.float32)


@pytest.mark.parametrize("count", [120, 1_100])
async def test_a_paraphrase_is_found_behind_many_other_passages(count: int) -> None:
    others = [f"The lamp in street {number} was repaired by the council." for number in range(count)]
    meant = [f"Physician {number} prescribes aspirin after a heart attack." for number in range(3)]
    encoder = Medical()
    passages = [Passage(text=text) for text in (*others, *meant)]
    tool = FixedPassages([passages], encoder=encoder).for_claim(0)
    found = await tool.search("doctors medicate cardiac arrest", 3, search=Search())
    assert found[0].text in meant
    assert encoder.most <= 1 + 1_000


@pytest.mark.slow
async def test_the_row_with_the_name_of_a_query_is_found_among_many_of_one_meaning() -> None:
    rows = [f"station: Station {'ABCDEFG'[row % 7]}{row}; year: 2025; passengers: {row * 37}." for row in range(3000)]
    rows[2990] = "station: Station H7; year: 2025; passengers: 95573."
    tool = FixedPassages([[Passage(text="\n".join(rows), title="t.csv")]], encoder=Embedder()).for_claim(0)
    found = await tool.search("Station H7 had 95,573 passengers in 2025.", 3, search=Search())
    assert "Station H7;" in found[0].text


async def test_a_part_of_a_passage_is_marked_as_cut_and_keeps_the_marks_of_the_passage() -> None:
    sentences = [f"Sentence {number} is about the {'bridge' if number == 40 else 'reef'}." for number in range(90)]
    page = Passage(title="A", text=" ".join(sentences))
    (middle, *_) = await FixedPassages([(page,)]).for_claim(0).search("bridge", 1, search=Search())
    assert middle.cut == "both"
    assert middle.shown_text == f"… {middle.text} …"
    snippet = BRIDGE.model_copy(update={"cut": "end"})
    (found,) = await FixedPassages([(snippet,)]).for_claim(0).search("bridge", 1, search=Search())
    assert found.cut == "end"


async def test_whole_evidence_is_given_whatever_is_asked() -> None:
    evidence = FixedPassages([(LIGHT, BRIDGE)], whole=True)
    found = await evidence.for_claim(0).search("nothing of this", 1, search=Search())
    assert [(each.rank, each.text) for each in found] == [(1, LIGHT.text), (2, BRIDGE.text)]


@pytest.mark.parametrize("next_results", [False, True])
async def test_an_agent_reads_all_of_whole_evidence_each_time_it_searches(next_results: bool) -> None:
    shelf = [Passage(text=f"Bridge {number} was opened in 1889.") for number in range(7)]
    run = Run(ScriptedBackend({}), {"whole": FixedPassages([shelf], name="whole", whole=True).for_claim(0)})
    agent = Agent("reader", run, tools=("whole",), next_results=next_results)
    for query in ("bridge", "bridge", "another query"):
        assert len(await agent.search(query, 3, round_=1)) == 7


async def test_only_whole_evidence_in_time_is_read_and_all_of_it() -> None:
    dated = [
        Passage(text=f"Bridge {year} opened.", document=str(year), published=str(year)) for year in range(1880, 1900)
    ]
    run = Run(ScriptedBackend({}), {"whole": FixedPassages([dated], name="whole", whole=True).for_claim(0)})
    claim = Claim(text="A bridge was opened.", as_of=date(1895, 1, 1), only_in_time=True)
    found = await run.search("whole", "bridge", 3, agent="reader", claim=claim)
    assert [each.published for each in found] == [str(year) for year in range(1880, 1895)]


def test_other_passages_are_another_revision() -> None:
    one, other = FixedPassages([(LIGHT,), (BRIDGE,)]), FixedPassages([(LIGHT, BRIDGE), ()])
    assert one.revision == FixedPassages([(LIGHT,), (BRIDGE,)]).revision != other.revision


async def test_a_shared_search_is_made_once_also_by_another_process(tmp_path: Path) -> None:
    shelf, path = ShelfTool("wikipedia"), tmp_path / "searches.jsonl"
    first = CachedTool(shelf, path)
    found = await first.search("a", 2, search=Search())
    assert await first.search("a", 2, search=Search()) == found
    assert await CachedTool(shelf, path).search("a", 2, search=Search()) == found
    assert shelf.queries == ["a"]
    await first.search("a", 3, search=Search())
    assert shelf.queries == ["a", "a"]


async def test_a_shared_search_that_cannot_be_kept_is_an_error_of_the_record(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"searches\.jsonl' cannot be written: No such file"):
        await CachedTool(ShelfTool("w"), tmp_path / "gone" / "searches.jsonl").search("a", 1, search=Search())


async def test_a_failed_search_is_not_kept_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "searches.jsonl"
    with pytest.raises(ToolFailed):
        await CachedTool(ShelfTool("w", failing=True), path).search("a", 1, search=Search())
    await CachedTool(ShelfTool("w"), path).search("a", 1, search=Search())
    path.write_text(path.read_text() + '{"tool": "w", "rev')
    again = CachedTool(ShelfTool("w"), path)
    assert await again.search("a", 1, search=Search())
    await again.search("b", 1, search=Search())  # stands on a line of its own
    assert [json.loads(line)["query"] for line in path.read_text().splitlines()] == ["a", "b"]
    path.write_text(json.dumps({"not": "a search"}) + "\n" + path.read_text())
    with pytest.raises(UsageError, match="line 1"):
        CachedTool(ShelfTool("w"), path)


def test_no_two_tools_of_a_debate_are_described_alike_and_one_says_what_it_is_good_for() -> None:
    shipped = [tools[name].about for name in tools if isinstance(getattr(tools[name], "about", None), str)]
    both, words = FixedPassages([()], encoder=Embedder()).about, FixedPassages([()], name="frozen-words").about
    assert len(shipped) > 3
    assert len({*shipped, both, words}) == len(shipped) + 2
    assert "good for names and numbers" in words


class Careless:
    """A tool that returns more than it is asked for."""

    name, about, revision = "careless", "everything", "1"

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        return tuple(Passage(text=f"Bridge {number} was opened.") for number in range(1_000))


async def test_a_tool_that_returns_more_than_requested_is_cut_to_it() -> None:
    agent = Agent("reader", Run(ScriptedBackend({}), {"careless": Careless()}), tools=("careless",))
    assert len(await agent.search("bridge", 3, round_=1)) == 3
