"""FacTool: two queries at once, ten pieces of evidence, one verdict under its four keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import OPTIONS, Claim
from redargue.errors import BadReply, UsageError
from redargue.evidence import Passage
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.factool import FacTool, FacToolSettings
from redargue.methods.baselines.factuality import CheckFactuality, FactualityCheck
from redargue.methods.baselines.sceptical_queries import Queries, WriteScepticalQueries
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool

pytestmark = pytest.mark.anyio
TWO_QUERIES = Queries(queries=("a", "b"))
UNREADABLE = BadReply("no JSON object was found", raw="Hm.")
FALSE = FactualityCheck(
    reasoning="It was later.", error="the year", correction="Lit in 1875.", quotes=(QUOTE,), factuality=False
)


async def check(
    says: Any, *, queries: Any = TWO_QUERIES, tool: ShelfTool | None = None, claim: Claim = CLAIM, **settings: Any
) -> tuple[Verdict, ScriptedBackend]:
    backend = ScriptedBackend({WriteScepticalQueries: queries, CheckFactuality: says})
    run = Run(backend, {"corpus": tool or ShelfTool("corpus")}, clock=CLOCK)
    return await ConfiguredMethod(FacTool, FacToolSettings(**settings)).verify(claim, run), backend


async def test_two_queries_bring_ten_pieces_of_evidence_for_one_verdict() -> None:
    class Numbered(ShelfTool):
        async def search(self, query: str, k: int, *, search: Any) -> tuple[Passage, ...]:
            await super().search(query, k, search=search)
            return tuple(Passage(text=f"{query} {number}") for number in range(k))

    tool = Numbered("corpus")
    verdict, backend = await check(FALSE.model_copy(update={"quotes": ("b 4",)}), tool=tool)
    assert tool.queries == ["a", "b"]
    asked = backend.calls[1][0]
    assert isinstance(asked, CheckFactuality)
    assert [each.text for each in asked.passages] == [f"{query} {number}" for query in "ab" for number in range(5)]
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("REFUTES", "verifier", 1)
    assert verdict.reason == "It was later.\nError: the year\nCorrection: Lit in 1875."
    assert [quote.found for quote in verdict.quotes] == [True]
    assert [call.agent for _, call in backend.calls] == ["searcher", "verifier"]
    likely = costs(ConfiguredMethod(FacTool, FacToolSettings())).likely
    assert (likely.call_depth, likely.search_depth, likely.searches) == (2, 1, {"corpus": 2})


async def test_nothing_is_said_of_an_error_where_there_is_none() -> None:
    none = FactualityCheck(reasoning="So it is.", error="None", correction="none.", factuality=True)
    verdict, _ = await check(none)
    assert (verdict.label, verdict.reason) == ("SUPPORTS", "So it is.")


async def test_the_claim_is_the_query_where_none_can_be_read() -> None:
    tool = ShelfTool("corpus")
    await check(FALSE, queries=UNREADABLE, tool=tool)
    assert tool.queries == [CLAIM.text]


async def test_factool_1_a_verdict_that_cannot_be_read_is_none_or_true_as_in_the_program() -> None:  # FACTOOL-1
    verdict, _ = await check(UNREADABLE)
    assert (verdict.label, verdict.reason) == (None, "Hm.")
    verdict, _ = await check(UNREADABLE, unparsed="true")
    assert verdict.label == "SUPPORTS"
    assert configure("factool", "authors", {}).settings.unparsed == "true"


async def test_factool_2_every_result_of_a_query_is_read() -> None:  # FACTOOL-2
    box, other = Passage(text="1871", title="answer box"), Passage(text="It was lit in 1875.")
    _, backend = await check(FALSE, tool=ShelfTool("corpus", box, other))
    asked = backend.calls[1][0]
    assert isinstance(asked, CheckFactuality)
    assert asked.passages[0].text == "1871"
    assert len(asked.passages) == 2


async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="factool cannot give the labels 'options'"):
        await check(FALSE, claim=Claim(text="Which?", labels=OPTIONS, options=("a", "b")))


@pytest.mark.parametrize("word", [True, "True", "true"])
def test_the_verdict_is_read_under_the_papers_keys(word: Any) -> None:
    reply = json.dumps({"reasoning": "r", "error": None, "correction": "None", "factuality": word})
    read = Renderer().read(CheckFactuality(claim=CLAIM, profile="paper"), reply, plain=True)
    assert read == FactualityCheck(reasoning="r", correction="None", factuality=True)


@pytest.mark.parametrize(
    "reply",
    [
        '{"reasoning": "r", "error": "None", "correction": "None"}',
        '{"reasoning": "r", "factuality": "perhaps"}',
        "{'reasoning': 'r', 'error': 'None', 'correction': 'None', 'factuality': True}",
    ],
)
def test_factool_3_what_is_no_json_or_no_verdict_is_refused_and_nothing_is_evaluated(reply: str) -> None:  # FACTOOL-3
    with pytest.raises(ValueError):
        Renderer().read(CheckFactuality(claim=CLAIM, profile="paper"), reply, plain=True)


def test_queries_are_as_many_as_were_wanted_and_none_is_empty() -> None:
    task = WriteScepticalQueries(claim=CLAIM)
    assert task.validate_answer(Queries(queries=(" a\nb ", "", "a b", "c", "d"))).queries == ("a b", "c")
    with pytest.raises(ValueError, match="empty"):
        task.validate_answer(Queries(queries=(" ",)))
