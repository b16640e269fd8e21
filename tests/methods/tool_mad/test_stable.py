"""What makes an agreement stable in the hardened profile, and which calls are made (TM-10, TM-11, TM-12, TM-13)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import AVERITEC, Claim
from redargue.events import RoundEnded, TurnKept
from redargue.evidence import Passage
from redargue.methods.base import configure
from redargue.methods.dry_run import costs
from redargue.methods.tool_mad.algorithm import NOT_LOOKED_AGAIN
from redargue.methods.tool_mad.tasks import AnswerCheck, ScoreAnswer
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import Query, RewriteQuery, WriteQuery
from redargue.verdicts import Metric, Verdict
from redargue.verifier import Verifier
from support.debates import CLAIM, QUOTE, TEXT, Script, ShelfTool, answer, checked, script

pytestmark = pytest.mark.anyio

SHELVES = {
    "corpus": ShelfTool("corpus", Passage(text=TEXT, title="Cape Ansel", document="a")),
    "keywords": ShelfTool("keywords", Passage(text=f"{QUOTE} So says the log.", title="The log", document="b")),
}


async def held(
    parts: Script, claim: Claim = CLAIM, tools: dict[str, ShelfTool] | None = None, **settings: Any
) -> tuple[Verdict, list[RoundEnded], ScriptedBackend]:
    """A debate with the profile's own settings but for ``settings``."""
    backend, ended = ScriptedBackend(parts), list[RoundEnded]()
    shelves = tools or {name: ShelfTool(name, *shelf.passages) for name, shelf in SHELVES.items()}
    with Verifier(method="tool-mad", backend=backend, evidence=shelves, settings=settings, claims=[claim]) as verifier:
        verdict = await verifier.verify(
            claim, listeners=[lambda event: ended.append(event) if isinstance(event, RoundEnded) else None]
        )
    assert verdict.error is None
    return verdict, ended, backend


def asked(backend: ScriptedBackend) -> dict[str, int]:
    return dict(Counter(task.name() for task, _ in backend.calls))


async def test_an_agreement_with_found_quotations_is_two_calls_and_no_score() -> None:
    verdict, (round_,), backend = await held(script(ScoreAnswer=low()))
    assert (verdict.label, verdict.decided_by, verdict.rounds, verdict.scores) == ("SUPPORTS", "consensus", 1, ())
    assert asked(backend) == {"AnswerClaim": 2}
    assert (round_.accepted, round_.documents) == (True, 2)


async def test_an_agreement_on_one_document_is_stable_and_the_event_counts_one() -> None:
    one = Passage(text=TEXT, title="Cape Ansel", document="a")
    other = Passage(text="Cape Ansel has a harbour.", title="Harbour", document="b")
    tools = {"corpus": ShelfTool("corpus", one), "keywords": ShelfTool("keywords", one, other)}
    _, (round_,), _ = await held(script(), tools=tools)
    assert (round_.accepted, round_.documents) == (True, 1)


async def test_with_scores_the_same_agreement_is_scored_and_judged() -> None:
    verdict, ended, backend = await held(script(ScoreAnswer=low()), stable_by="scores", rounds=1)
    assert verdict.decided_by == "judge"
    assert asked(backend) == {"AnswerClaim": 2, "ScoreAnswer": 2, "CompareTexts": 2, "JudgeDebate": 1}
    assert "faithfulness 0.000" in ended[0].why[0]


async def test_an_agreement_whose_quotations_are_not_found_is_not_stable_whatever_its_scores() -> None:
    made_up = answer("SUPPORTS", "Three hundred candles lit it.")
    verdict, ended, backend = await held(script(AnswerClaim=made_up, JudgeDebate=made_up), rounds=2, judge_scores=False)
    assert verdict.decided_by == "judge"
    assert [round_.why[0] for round_ in ended] == ["corpus: no quotation was found in the documents"] * 2
    assert "ScoreAnswer" not in asked(backend)


async def test_a_not_enough_is_stable_once_the_debaters_have_searched_in_their_own_words() -> None:
    """The second round finds what the claim as a query did not."""
    settles = {"corpus": answer("SUPPORTS"), "keywords": answer("SUPPORTS")}
    said = script(AnswerClaim=lambda task, call: settles[call.agent] if task.own else answer("NOT ENOUGH INFO"))

    class Finding(ShelfTool):
        async def search(self, query: str, k: int, *, search: Any) -> tuple[Passage, ...]:
            found = await super().search(query, k, search=search)
            return found if len(self.queries) > 1 else (Passage(text="Cape Ansel has a harbour."),)

    verdict, ended, _ = await held(said, tools={name: Finding(name) for name in SHELVES})
    assert (verdict.label, verdict.decided_by) == ("SUPPORTS", "consensus")
    assert [round_.why for round_ in ended] == [(NOT_LOOKED_AGAIN,), ()]
    verdict, ended, backend = await held(script(AnswerClaim=answer("NOT ENOUGH INFO")))
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("NOT ENOUGH INFO", "consensus", 2)
    assert asked(backend) == {"AnswerClaim": 2, "RewriteQuery": 2}  # nothing new was found: nobody is asked again


async def test_a_not_enough_needs_no_second_search_where_there_can_be_none() -> None:
    for settings in ({"rounds": 1}, {"query_formulation": False}):
        verdict, _, backend = await held(script(AnswerClaim=answer("NOT ENOUGH INFO")), **settings)
        assert (verdict.decided_by, verdict.rounds) == ("consensus", 1)
        assert asked(backend) == {"AnswerClaim": 2}


async def test_scores_decide_an_agreement_on_no_side_that_quotes_nothing() -> None:
    claim = Claim(text=CLAIM.text, labels=AVERITEC)
    bare = answer("Conflicting Evidence/Cherrypicking", "Not in the documents.")
    verdict, _, backend = await held(script(AnswerClaim=bare), claim)
    assert verdict.decided_by == "consensus"
    assert asked(backend)["ScoreAnswer"] == 2
    verdict, _, _ = await held(script(AnswerClaim=bare, ScoreAnswer=low(), JudgeDebate=bare), claim, rounds=1)
    assert verdict.decided_by == "judge"


async def test_debaters_without_documents_are_held_to_their_scores() -> None:
    bare = answer("SUPPORTS", "I know it.")
    _, _, backend = await held(script(AnswerClaim=bare), debaters=("none", "none"))
    assert asked(backend)["WriteQuestions"] == 2


async def test_the_judge_is_given_the_scores_of_a_disagreement_and_they_are_one_call_an_answer() -> None:
    said = script(AnswerClaim=lambda task, call: answer(task.claim.labels.names[call.agent == "keywords"]))
    verdict, _, backend = await held(said, rounds=2)
    assert verdict.decided_by == "judge"
    assert asked(backend) | {"CompareTexts": 0} == {
        "AnswerClaim": 4,
        "RewriteQuery": 2,
        "ScoreAnswer": 4,
        "JudgeDebate": 1,
        "CompareTexts": 0,
    }
    assert {(score.metric, score.value) for score in verdict.scores} == {
        (Metric.FAITHFULNESS, 1.0),
        (Metric.RELEVANCE, 0.9),
    }
    _, _, apart = await held(said, rounds=2, scored_together=False)
    assert {"WriteStatements", "CheckStatements", "WriteQuestions"} < asked(apart).keys()
    assert "ScoreAnswer" not in asked(apart)


async def test_the_scorer_sees_claim_label_documents_and_reasoning() -> None:
    said = script(AnswerClaim=lambda task, call: answer(task.claim.labels.names[call.agent == "keywords"]))
    _, _, backend = await held(said, rounds=1)
    scored = [task for task, call in backend.calls if isinstance(task, ScoreAnswer) and call.agent == "corpus"]
    words = scored[0].prompt_text()
    assert (scored[0].label, scored[0].answer) == ("SUPPORTS", "Because of the document.")
    for shown in (CLAIM.text, TEXT, "Label: <data>SUPPORTS</data>"):
        assert shown in words


async def test_the_first_query_is_the_claim_and_no_call() -> None:
    tools = {name: ShelfTool(name, *shelf.passages) for name, shelf in SHELVES.items()}
    _, _, backend = await held(script(), tools=tools)
    assert {name: tool.queries for name, tool in tools.items()} == {name: [CLAIM.text] for name in tools}
    _, _, backend = await held(script(), first_query="model")
    assert asked(backend)["WriteQuery"] == 2


async def test_a_claim_too_long_for_a_query_and_a_second_debater_of_a_tool_have_queries_of_their_own() -> None:
    _, _, backend = await held(script(), Claim(text="The lighthouse was lit in 1871. " * 12))
    assert asked(backend)["WriteQuery"] == 2
    _, _, backend = await held(script(), debaters=("corpus", "corpus", "keywords"))
    assert [call.agent for task, call in backend.calls if isinstance(task, WriteQuery)] == ["corpus-2"]


async def test_the_papers_profiles_keep_their_queries_scores_and_calls() -> None:
    backend = ScriptedBackend(script(CheckStatements=checked(0, 0)))
    with Verifier(method="tool-mad", backend=backend, evidence=SHELVES, profile="paper", claims=[CLAIM]) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert verdict.decided_by == "judge"
    assert (asked(backend)["WriteQuery"], asked(backend)["WriteStatements"], asked(backend)["AnswerClaim"]) == (2, 6, 6)


def low() -> AnswerCheck:
    return AnswerCheck(statements=checked(0, 0).statements, questions=("When was it lit?",))


ONE = Passage(text=TEXT, title="Cape Ansel", document="a")
LOG = Passage(text="The log of 1871 names the first keeper of the light at Cape Ansel.", title="The log", document="b")


class Reordered(ShelfTool):
    """Finds the same passages for the first query, in another order, and ``later`` for others."""

    def __init__(self, name: str, *later: Passage) -> None:
        super().__init__(name)
        self.later = later

    async def search(self, query: str, k: int, *, search: Any) -> tuple[Passage, ...]:
        self.queries.append(query)
        both = (ONE, LOG) if self.name == "corpus" else (LOG, ONE)
        return self.later or both if len(self.queries) > 1 else both


async def heard(tools: dict[str, ShelfTool], **parts: Any) -> tuple[Verdict, list[TurnKept], ScriptedBackend]:
    backend, kept = ScriptedBackend(script(**parts)), list[TurnKept]()
    with Verifier(method="tool-mad", backend=backend, evidence=tools, claims=[CLAIM]) as verifier:
        verdict = await verifier.verify(
            CLAIM, listeners=[lambda event: kept.append(event) if isinstance(event, TurnKept) else None]
        )
    return verdict, kept, backend


async def test_a_debater_that_would_read_what_another_reads_writes_a_query_of_its_own() -> None:
    more = Passage(text="A chart of 1880 shows the lighthouse at Cape Ansel.", title="Chart", document="c")
    tools: dict[str, ShelfTool] = {"corpus": Reordered("corpus"), "keywords": Reordered("keywords", more, ONE)}
    verdict, kept, backend = await heard(tools)
    assert asked(backend) == {"WriteQuery": 1, "AnswerClaim": 2}
    assert tools["keywords"].queries == [CLAIM.text, "first query"]
    assert tools["corpus"].queries == [CLAIM.text]
    assert (verdict.decided_by, kept) == ("consensus", [])


async def test_one_reading_of_the_same_passages_is_paid_for_once_and_the_run_says_so() -> None:
    tools: dict[str, ShelfTool] = {name: Reordered(name) for name in ("corpus", "keywords")}
    verdict, kept, backend = await heard(tools)
    assert asked(backend) == {"WriteQuery": 1, "AnswerClaim": 1}
    assert [(event.agent, event.round, event.shared_with) for event in kept] == [("keywords", 1, "corpus")]
    assert (verdict.label, verdict.decided_by) == ("SUPPORTS", "consensus")


async def test_a_shared_answer_is_no_opponent_and_the_judge_reads_whose_it_is() -> None:
    tools: dict[str, ShelfTool] = {name: Reordered(name) for name in ("corpus", "keywords")}
    made_up = answer("SUPPORTS", "Three hundred candles lit it.")
    _, kept, backend = await heard(tools, AnswerClaim=made_up, JudgeDebate=made_up)
    assert {event.shared_with for event in kept if event.agent == "keywords"} == {"corpus"}
    answers = [task for task, _ in backend.calls if isinstance(task, AnswerClaim)]
    assert all(task.others == () for task in answers)
    (judge,) = [task for task, _ in backend.calls if isinstance(task, JudgeDebate)]
    assert "Debater B (found the same documents): as Debater A" in judge.prompt_text()
    assert {score.agent: score.value for score in judge.scores if score.metric is Metric.FAITHFULNESS} == {
        "corpus": 1.0,
        "keywords": 1.0,
    }


async def test_a_shared_reading_that_nothing_could_move_is_not_held_again() -> None:
    tools: dict[str, ShelfTool] = {name: Reordered(name) for name in ("corpus", "keywords")}
    parts = script(ScoreAnswer=low(), RewriteQuery=Query(kept=True))
    verdict, ended, _ = await held(parts, tools=tools, stable_by="scores", rounds=5)
    assert [(event.round, event.not_held) for event in ended] == [(1, 0), (2, 0), (3, 2)]
    assert verdict.decided_by == "judge"


@pytest.mark.parametrize("order", ["simultaneous", "sequential"])
async def test_what_one_reading_lacks_is_said_once_and_no_debater_hears_itself(order: str) -> None:
    tools: dict[str, ShelfTool] = {name: Reordered(name) for name in ("corpus", "keywords")}
    parts = script(ScoreAnswer=low(), RewriteQuery=Query(kept=True))
    _, ended, backend = await held(parts, tools=tools, stable_by="scores", order=order, rounds=2)
    assert ended[0].why == ("corpus: faithfulness 0.000 is not above 0.7",)
    rewriting = [task for task, _ in backend.calls if isinstance(task, RewriteQuery)]
    assert rewriting
    assert all(task.others == () for task in rewriting)


async def test_passages_of_documents_without_a_name_are_never_one_reading() -> None:
    _, kept, backend = await heard({name: ShelfTool(name) for name in ("corpus", "keywords")})
    assert (kept, asked(backend)) == ([], {"AnswerClaim": 2})


@pytest.mark.parametrize("rounds", [1, 3])
async def test_the_highest_cost_is_that_of_debaters_that_first_find_the_same_and_never_agree(rounds: int) -> None:
    more = [Passage(text=f"Page {number} of the log at Cape Ansel.", document=f"p{number}") for number in range(9)]
    pages = iter(more)

    class OfOneStore(Reordered):
        async def search(self, query: str, k: int, *, search: Any) -> tuple[Passage, ...]:
            found = await super().search(query, k, search=search)
            return found if query == CLAIM.text else (next(pages),)

    turns = iter(range(9))

    def disagree(task: AnswerClaim, call: Any) -> Any:
        return answer("SUPPORTS" if call.agent == "corpus" else "REFUTES", f"Nobody said {next(turns)} of this.")

    parts = script(AnswerClaim=disagree, WriteQuery=Query(text="the log"))
    tools: dict[str, ShelfTool] = {name: OfOneStore(name) for name in ("corpus", "keywords")}
    verdict, _, _ = await held(parts, tools=tools, rounds=rounds)
    high = costs(configure("tool-mad", "hardened", {"rounds": rounds})).high
    assert verdict.decided_by == "judge"
    counted = {name: count for name, count in verdict.usage.by_task.items() if name != "CompareTexts"}
    assert counted == {name: count for name, count in high.calls.items() if name != "CompareTexts"}
    assert verdict.usage.searches == high.searches.total()
