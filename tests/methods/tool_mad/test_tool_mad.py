"""Algorithm 1 of Tool-MAD, and the resolutions T1 to T35 of what it leaves open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redargue import words
from redargue.assembly import Parts
from redargue.backends.scripted import ScriptedBackend
from redargue.caveats import CaveatKind
from redargue.claims import FEVER, TWO, Claim, LabelSet, Meaning
from redargue.errors import BadReply
from redargue.events import RoundEnded
from redargue.evidence import Passage, QuoteStatus, Side
from redargue.methods.base import configure
from redargue.methods.faithfulness import reasoning_of
from redargue.methods.tool_mad import ToolMad
from redargue.methods.tool_mad.settings import ToolMadSettings, debater_names
from redargue.methods.tool_mad.tasks import SummariseAbstract, Summary
from redargue.quotes import find_quote
from redargue.run import Run
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import Query, RewriteQuery
from redargue.tasks.score import (
    CheckStatements,
    Question,
    Questions,
    Similarities,
    Statements,
    WriteQuestions,
    WriteStatements,
)
from redargue.tasks.sections import documents
from redargue.verdicts import Metric
from redargue.verifier import Verifier
from support.debates import CLAIM, QUOTE, TEXT, Script, ShelfTool, answer, checked, debate, script

pytestmark = pytest.mark.anyio

DISAGREE: Script = {(AnswerClaim, "corpus"): answer("SUPPORTS"), (AnswerClaim, "keywords"): answer("REFUTES")}


def tasks(run: Run, kind: type, agent: str | None = None) -> list[Any]:
    """The tasks of one kind that the scripted backend was asked."""
    calls = run.backend.calls  # type: ignore[attr-defined]
    return [task for task, call in calls if isinstance(task, kind) and (agent is None or call.agent == agent)]


async def test_agreement_above_the_thresholds_ends_the_debate_in_round_one() -> None:
    verdict, run = await debate(script())
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "consensus", 1)
    assert not tasks(run, JudgeDebate)
    assert [quote.text for quote in verdict.side(Side.FOR)] == [QUOTE]


async def test_a_round_makes_ten_calls_and_three_rounds_with_the_judge_thirty_one() -> None:
    _, one = await debate(script())
    assert one.usage.calls == 10
    verdict, run = await debate({**script(), **DISAGREE})
    assert (verdict.decided_by, verdict.label) == ("judge", "REFUTES")
    assert run.usage.calls == 31
    assert run.usage.searches == 6
    _, exact = await debate({**script(), **DISAGREE}, one_request=False)
    assert exact.usage.calls == 43


@pytest.mark.parametrize(
    ("faithfulness", "relevance", "consensus"),
    [(0.7, 0.9, False), (0.8, 0.8, False), (0.75, 0.81, True)],
    ids=["faithfulness at its threshold", "relevance at its threshold", "both above"],
)
async def test_a_score_has_to_be_above_its_threshold(faithfulness: float, relevance: float, consensus: bool) -> None:
    verdicts = checked(*([1] * round(faithfulness * 20) + [0] * (20 - round(faithfulness * 20))))
    parts = script(CheckStatements=verdicts, CompareTexts=Similarities(values=(relevance,) * 3))
    verdict, _ = await debate(parts, rounds=1, profile="paper", faithfulness_threshold=0.7, relevance_threshold=0.8)
    assert verdict.decided_by == ("consensus" if consensus else "judge")


async def test_why_a_round_is_not_accepted_names_a_score_in_words() -> None:
    parts = script(CheckStatements=checked(1), CompareTexts=Similarities(values=(0.5,) * 3))
    _, run = await debate(parts, rounds=1, relevance_threshold=0.8)
    (why, *_) = next(event.why for event in run.events if event.kind == "round_ended")
    assert why.endswith(": answer relevance 0.500 is not above 0.8")


async def test_the_gate_reads_this_rounds_scores_and_no_sum() -> None:
    verdict, _ = await debate(script(CheckStatements=checked(1, 0)), rounds=3)  # 0.5 a round, 1.5 in sum
    assert (verdict.decided_by, verdict.rounds) == ("judge", 3)


async def test_agreement_under_the_thresholds_goes_to_the_judge_after_the_last_round() -> None:
    verdict, run = await debate(script(CheckStatements=checked(0, 0)), rounds=2)
    assert (verdict.decided_by, verdict.label, verdict.rounds) == ("judge", "REFUTES", 2)
    ended = [event for event in run.events if event.kind == "round_ended"]
    assert [(event.agreed, event.accepted) for event in ended] == [(True, False)] * 2
    assert "faithfulness 0.000 is not above 0.7" in ended[0].why[0]


async def test_an_undefined_score_fails_the_gate_and_is_no_number() -> None:
    verdict, run = await debate(script(WriteStatements=Statements(statements=())), rounds=1)
    assert verdict.decided_by == "judge"
    undefined = [score for score in verdict.scores if score.metric is Metric.FAITHFULNESS]
    assert all(score.value is None and score.undefined for score in undefined)
    (task,) = tasks(run, JudgeDebate)
    assert [score.value for score in task.scores if score.metric is Metric.FAITHFULNESS] == [None, None]
    assert "faithfulness score: not available" in task.prompt_text()


async def test_unparsed_never_equals_unparsed() -> None:
    verdict, run = await debate(script(AnswerClaim=answer(None)), rounds=2)
    assert verdict.decided_by == "judge"
    assert not any(event.agreed for event in run.events if event.kind == "round_ended")


async def test_an_unparsed_judge_gives_no_label() -> None:
    verdict, _ = await debate({**script(JudgeDebate=answer(None)), **DISAGREE}, rounds=1)
    assert verdict.label is None
    assert verdict.meaning is None
    assert verdict.decided_by == "judge"


async def test_the_judge_is_given_every_round_and_the_mean_over_rounds() -> None:
    parts: Script = {
        **script(),
        **DISAGREE,
        CheckStatements: [checked(1, 1), checked(0, 1), checked(0, 0), checked(1, 0)],
    }
    _, run = await debate(parts, rounds=2)
    (task,) = tasks(run, JudgeDebate)
    assert [(turn.round, turn.agent) for turn in task.history] == [
        (1, "corpus"),
        (1, "keywords"),
        (2, "corpus"),
        (2, "keywords"),
    ]
    means = {(score.agent, score.metric): score.value for score in task.scores}
    assert means["corpus", Metric.RELEVANCE] == pytest.approx(0.9)
    faithfulness = [means[agent, Metric.FAITHFULNESS] for agent in ("corpus", "keywords")]
    assert sorted(filter(None, faithfulness)) == [0.5, 0.5]  # of 1, .5, 0 and .5: halves, never thirds


async def test_answers_and_queries_come_from_the_last_round_and_the_own_last_query() -> None:
    _, run = await debate({**script(), **DISAGREE}, rounds=3)
    first, second, third = tasks(run, AnswerClaim, "corpus")
    assert first.others == ()
    assert [each.agent for each in second.others] == ["keywords"]
    assert "**REFUTES**" in second.others[0].text
    assert [task.used for task in tasks(run, RewriteQuery, "corpus")] == ["first query", "first query again"]
    assert third.passages


async def test_a_kept_query_keeps_its_documents_and_asks_no_tool() -> None:
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    parts: Script = {**script(), **DISAGREE, RewriteQuery: Query(kept=True)}
    _, run = await debate(parts, rounds=3, tools=tools)
    assert tools["corpus"].queries == ["first query"]
    assert sum(event.kind == "evidence_kept" for event in run.events) == 4
    assert all(task.passages for task in tasks(run, AnswerClaim))


async def test_a_kept_query_whose_search_failed_is_asked_again() -> None:
    tools = {"corpus": ShelfTool("corpus"), "keywords": ShelfTool("keywords", failing=True)}
    parts: Script = {**script(), **DISAGREE, RewriteQuery: Query(kept=True)}
    _, run = await debate(parts, rounds=3, tools=tools)
    assert tools["corpus"].queries == ["first query"]
    assert tools["keywords"].queries == ["first query"] * 3
    assert [event.tool for event in run.events if event.kind == "evidence_kept"] == ["corpus"] * 2
    tools["keywords"].queries.clear()
    await debate(parts, rounds=3, tools=tools, summarised=("keywords",))  # searched with the query's keywords
    assert tools["keywords"].queries == ["lighthouse Ansel"] * 3


async def test_without_query_formulation_the_claim_is_the_query() -> None:
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    parts: Script = {
        part: lines for part, lines in {**script(), **DISAGREE}.items() if "Query" not in getattr(part, "__name__", "")
    }
    _, run = await debate(parts, rounds=2, tools=tools, query_formulation=False)
    assert tools["corpus"].queries == [CLAIM.text]
    assert run.usage.by_task.get("WriteQuery") is None


async def test_without_scoring_agreement_alone_ends_the_debate_or_nothing_does() -> None:
    low = script(CheckStatements=checked(0, 0))
    verdict, run = await debate(low, scoring="label_only_stop")
    assert (verdict.decided_by, verdict.rounds) == ("consensus", 1)
    assert run.usage.calls == 4  # two queries, two answers: no score is paid for that nobody reads
    verdict, run = await debate(low, scoring="run_all_rounds")
    assert (verdict.decided_by, verdict.rounds) == ("judge", 3)
    assert tasks(run, JudgeDebate)[0].scores
    verdict, run = await debate(low, scoring="run_all_rounds", judge_scores=False)
    assert tasks(run, JudgeDebate)[0].scores == ()
    assert run.usage.calls == 13


async def test_a_debater_without_a_tool_has_no_query_and_no_faithfulness() -> None:
    verdict, run = await debate(script(AnswerClaim=answer("SUPPORTS")), debaters=("corpus", "none"), profile="paper")
    assert verdict.decided_by == "consensus"
    (vanilla,) = tasks(run, AnswerClaim, "vanilla")
    assert not vanilla.has_tool
    assert "Document" not in vanilla.prompt_text()
    assert {(score.agent, score.metric) for score in verdict.scores} == {
        ("corpus", Metric.FAITHFULNESS),
        ("corpus", Metric.RELEVANCE),
        ("vanilla", Metric.RELEVANCE),
    }


async def test_three_debaters_must_be_unanimous_and_hear_all_others() -> None:
    parts: Script = {
        **script(),
        (AnswerClaim, "corpus"): answer("SUPPORTS"),
        (AnswerClaim, "keywords"): answer("SUPPORTS"),
        (AnswerClaim, "vanilla"): [answer("REFUTES"), answer("SUPPORTS")],
    }
    verdict, run = await debate(parts, debaters=("corpus", "keywords", "none"), profile="paper")
    assert (verdict.decided_by, verdict.rounds) == ("consensus", 2)
    second = tasks(run, AnswerClaim, "keywords")[1]
    assert [each.agent for each in second.others] == ["corpus", "vanilla"]
    assert "[vanilla]" in second.prompt_text()


def test_debaters_of_a_kind_are_numbered() -> None:
    assert debater_names(("corpus", "corpus", "none")) == ("corpus-1", "corpus-2", "vanilla")


async def test_in_sequence_a_debater_hears_this_rounds_answers_from_the_second_round_on() -> None:
    parts: Script = {
        **script(),
        (AnswerClaim, "corpus"): [answer("SUPPORTS"), answer("NOT ENOUGH INFO")],
        (AnswerClaim, "keywords"): answer("REFUTES"),
    }
    _, run = await debate(parts, rounds=2, order="sequential")
    first, second = tasks(run, AnswerClaim, "keywords")
    assert first.others == ()
    assert "NOT ENOUGH INFO" in second.others[0].text
    assert "**REFUTES**" in tasks(run, AnswerClaim, "corpus")[1].others[0].text


async def test_debaters_and_metrics_overlap_and_a_disagreement_waits_for_no_score() -> None:
    """Both debaters are answering at one moment; round 2 begins while the scores of round 1 hang."""
    answering, both, second_round = 0, asyncio.Event(), asyncio.Event()

    async def slow_answer(task: AnswerClaim, call: Any) -> Any:
        nonlocal answering
        answering += 1
        if answering == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 60)
        if task.others:
            second_round.set()
        return answer("SUPPORTS" if call.agent == "corpus" else "REFUTES")

    async def slow_statements(task: Any, call: Any) -> Any:
        await asyncio.wait_for(second_round.wait(), 60)
        return Statements(statements=("a",))

    verdict, _ = await debate(script(AnswerClaim=slow_answer, WriteStatements=slow_statements), rounds=2)
    assert verdict.decided_by == "judge"


async def test_the_two_metrics_of_two_answers_overlap() -> None:
    """Four scoring tasks wait for one another: none of them may come first."""
    met = asyncio.Barrier(4)

    async def meet(task: Any, call: Any) -> Any:
        await asyncio.wait_for(met.wait(), 60)
        statements = isinstance(task, WriteStatements)
        return Statements(statements=("a",)) if statements else Questions(questions=("q",), noncommittal=1)

    backend = ScriptedBackend(script(WriteStatements=meet, WriteQuestions=meet))
    run = Run(backend, {name: ShelfTool(name) for name in ("corpus", "keywords")})
    verdict = await ToolMad(ToolMadSettings(rounds=1), CLAIM, run).verify()
    assert verdict.decided_by == "judge"


async def test_a_tool_that_fails_gives_no_documents_and_a_gap() -> None:
    tools = {"corpus": ShelfTool("corpus"), "keywords": ShelfTool("keywords", failing=True)}
    verdict, run = await debate(script(), tools=tools, rounds=1)
    (task,) = tasks(run, AnswerClaim, "keywords")
    assert task.passages == ()
    assert "(no document was found)" in task.prompt_text()
    assert "503" not in task.prompt_text()
    assert [words.gap(gap) for gap in verdict.gaps] == ["keywords failed for 'first query': keywords answered 503"]


async def test_hardened_consensus_needs_a_found_quotation_and_the_papers_does_not() -> None:
    made_up = script(AnswerClaim=answer("SUPPORTS", "The lighthouse was lit by three hundred candles."))
    verdict, run = await debate(made_up, rounds=1)
    assert verdict.decided_by == "judge"
    assert {quote.status for quote in verdict.quotes if quote.agent != "judge"} == {QuoteStatus.NOT_FOUND}
    assert not verdict.side(Side.FOR)
    verdict, run = await debate(made_up, rounds=1, profile="paper", faithfulness_threshold=0.7, relevance_threshold=0.8)
    assert verdict.decided_by == "consensus"
    assert "<data>" not in tasks(run, AnswerClaim)[0].prompt_text()


async def test_an_agreed_not_enough_takes_ten_calls_and_the_papers_thirty_one() -> None:
    """Ragas calls every such answer noncommittal, so that no debate could agree on it (``T38``)."""
    parts = script(
        AnswerClaim=answer("NOT ENOUGH INFO"),
        WriteQuestion=Question(question="q", noncommittal=1),
        WriteQuestions=Questions(questions=("q", "r", "s"), noncommittal=1),
        JudgeDebate=answer("NOT ENOUGH INFO"),
    )
    verdict, run = await debate(parts)
    assert (verdict.decided_by, verdict.label, verdict.rounds) == ("consensus", "NOT ENOUGH INFO", 1)
    assert run.usage.calls == 10
    verdict, run = await debate(parts, profile="paper")
    assert (verdict.decided_by, verdict.label, verdict.rounds) == ("judge", "NOT ENOUGH INFO", 3)
    assert run.usage.calls == 31
    assert run.usage.embeddings == 0


async def test_a_not_enough_without_reasons_and_an_evasive_answer_stay_noncommittal() -> None:
    evasive = Questions(questions=("q", "r", "s"), noncommittal=1)
    bare = Answer(text="**NOT ENOUGH INFO**", label="NOT ENOUGH INFO")
    for said in (bare, answer("SUPPORTS")):
        verdict, _ = await debate(script(AnswerClaim=said, WriteQuestions=evasive), rounds=1)
        assert verdict.decided_by == "judge"
        assert {score.value for score in verdict.scores if score.metric is Metric.RELEVANCE} == {0.0}


async def test_the_judge_reads_how_the_debate_ended() -> None:
    _, run = await debate({**script(), **DISAGREE}, rounds=1)
    (task,) = tasks(run, JudgeDebate)
    assert "In the last round the debaters disagreed: Debater A: SUPPORTS, Debater B: REFUTES." in task.prompt_text()
    _, run = await debate(script(CheckStatements=checked(0, 0)), rounds=1)
    (task,) = tasks(run, JudgeDebate)
    words = task.prompt_text()
    assert "all debaters answered SUPPORTS" in words
    for name in ("corpus", "keywords"):
        assert f"{name}: faithfulness 0.000 is not above 0.7" in words
    assert "did not settle" not in words
    _, run = await debate(script(), rounds=1, scoring="run_all_rounds", profile="paper")
    assert "did not settle" not in tasks(run, JudgeDebate)[0].prompt_text()


async def test_the_judge_is_shown_each_document_once() -> None:
    _, run = await debate({**script(), **DISAGREE}, rounds=3)
    (task,) = tasks(run, JudgeDebate)
    assert len(task.history) == 6
    words = task.prompt_text()
    assert words.count(TEXT) == 1
    assert words.count("(read [1])") == 6
    assert task.model_copy(update={"profile": "paper"}).prompt_text().count(TEXT) == 6


async def test_a_debater_sees_its_last_answer_and_keeps_the_documents_that_it_quoted() -> None:
    other = Passage(text="Cape Ansel has a harbour.", title="Harbour")

    class TwoShelves(ShelfTool):
        async def search(self, query: str, k: int, *, search: Any) -> tuple[Passage, ...]:
            found = await super().search(query, k, search=search)
            return found if len(self.queries) == 1 else (other,)

    for profile, texts in (("hardened", [other.text, TEXT]), ("paper", [other.text])):
        tools = {name: TwoShelves(name) for name in ("corpus", "keywords")}
        _, run = await debate({**script(), **DISAGREE}, rounds=3, tools=tools, profile=profile)
        first, second, third = tasks(run, AnswerClaim, "corpus")
        assert first.own == ""
        assert [passage.text for passage in second.passages] == texts
        assert [passage.text for passage in third.passages] == texts
        assert ("Your last answer" in second.prompt_text()) == (profile == "hardened")


async def test_a_verdict_line_quotations_and_remarks_about_other_debaters_are_not_scored() -> None:
    text = (
        "Document [1] says that the light was lit in 1871. The other debater wrote too fast."
        f' I stand by my last answer.\n"{QUOTE}"\n**SUPPORTS**'
    )
    said = Answer(text=text, label="SUPPORTS", quotes=(QUOTE,))
    reasoning = "Document [1] says that the light was lit in 1871."
    _, run = await debate(script(AnswerClaim=said))
    assert {task.answer for task in tasks(run, WriteStatements)} == {reasoning}
    assert {task.response for task in tasks(run, WriteQuestions)} == {reasoning}
    _, run = await debate(script(AnswerClaim=said), profile="paper")
    assert {task.answer for task in tasks(run, WriteStatements)} == {text}
    assert reasoning_of("**SUPPORTS**", CLAIM.text) == "**SUPPORTS**"  # nothing else to score


@pytest.mark.parametrize(
    "kept",
    [
        "The documents do not say who won the debate.",
        "The other side of the coin shows a ship.",
        "I agree: the year is missing.",
        "Unlike the other debater, I find no year in the documents.",
        "The other debater says 1875, which [1] does not.",
        "Another debater, Ann Lee, was elected.",  # in the claim
        "Its agent said so to another agent.",
    ],
)
def test_a_sentence_about_the_claim_or_the_documents_is_scored_whatever_else_it_names(kept: str) -> None:
    assert reasoning_of(f"{kept}\n**SUPPORTS**", "Ann Lee won.") == kept


def test_a_remark_about_a_named_debater_is_not_scored() -> None:
    said = "The year is missing. [keywords] has misread it.\n**REFUTES**"
    assert reasoning_of(said, "Ann Lee won.", ("corpus", "keywords")) == "The year is missing."
    assert reasoning_of(said, "Ann Lee won.") == "The year is missing. [keywords] has misread it."


async def test_answerer_checker_and_quotations_see_the_same_documents() -> None:
    """Number, title and text: a title that is quoted is found, and its statement can be checked."""
    tools = {
        name: ShelfTool(name, Passage(text=TEXT, title="The light of Cape Ansel")) for name in ("corpus", "keywords")
    }
    parts = script(AnswerClaim=answer("SUPPORTS", "[1] The light of Cape Ansel", QUOTE))
    verdict, run = await debate(parts, tools=tools)
    (read, check) = (tasks(run, kind, "corpus")[0] for kind in (AnswerClaim, CheckStatements))
    shown = read.fill(documents(read.passages, "hardened"))
    assert shown in read.rendered().input_text
    assert shown in check.rendered().input_text
    quote, _ = verdict.side(Side.FOR)
    assert (quote.text, quote.part, quote.status) == ("The light of Cape Ansel", "title", QuoteStatus.VERIFIED)
    assert verdict.decided_by == "consensus"
    both = find_quote("[1]\nThe light of Cape Ansel\nThe lighthouse at Cape Ansel", read.passages)
    assert (both.text, both.part, both.start, both.status) == (
        "The lighthouse at Cape Ansel", "text", 0, QuoteStatus.REPAIRED
    )  # fmt: skip


@pytest.mark.parametrize("method", ["tool-mad", "single-reader"])
@pytest.mark.parametrize("labels", [FEVER, TWO])
async def test_no_side_leaves_the_hardened_profile_without_a_verified_quotation(method: str, labels: LabelSet) -> None:
    """Neither as a consensus, nor from a judge, nor from a single reader."""
    made_up = answer("SUPPORTS", "Three hundred candles lit it.")
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    claim = Claim(text=CLAIM.text, labels=labels)
    disagreeing = {(AnswerClaim, "corpus"): made_up, (AnswerClaim, "keywords"): answer("REFUTES", "Not so at all.")}
    invented = script(AnswerClaim=made_up, JudgeDebate=made_up)
    for parts in (invented, {**invented, **disagreeing}):
        made = Verifier(method=method, parts=Parts(backend=ScriptedBackend(parts), evidence=tools))
        with made as verifier:
            verdict = await verifier.verify(claim)
        assert verdict.error is None
        assert verdict.label == labels.named(Meaning.NOT_ENOUGH)
        assert verdict.caveats[0].kind is CaveatKind.UNQUOTED
        assert not any(quote.found for quote in verdict.quotes)


@pytest.mark.parametrize("order", ["simultaneous", "sequential"])
async def test_a_debater_is_told_that_its_quotation_was_not_found_and_nothing_else_of_it(order: str) -> None:
    made_up = answer("SUPPORTS", "Three hundred candles lit it.")
    _, run = await debate(script(AnswerClaim=made_up, JudgeDebate=made_up), rounds=2, order=order)
    later = next(task for task in tasks(run, AnswerClaim, "corpus") if task.own)
    assert (later.ungrounded, later.keeps_quoted) == ("no quotation was found in the documents", False)
    words = later.prompt_text()
    assert "does not count, because no quotation was found in the documents" in words
    assert "still among yours" not in words
    ended = [event.why for event in run.events if isinstance(event, RoundEnded)]
    assert "corpus: no quotation was found in the documents" in ended[0]


async def test_a_debater_keeps_what_it_has_quoted_and_is_told_so() -> None:
    sides = {"corpus": answer("SUPPORTS", QUOTE), "keywords": answer("REFUTES", QUOTE)}
    _, run = await debate(script(AnswerClaim=lambda task, call: sides[call.agent]), rounds=2)
    later = next(task for task in tasks(run, AnswerClaim, "corpus") if task.own)
    assert (later.ungrounded, later.keeps_quoted) == ("", True)
    assert "still among yours" in later.prompt_text()


async def test_the_others_quotations_that_were_found_come_with_their_sources() -> None:
    page = Passage(text=TEXT, title="Cape Ansel", url="https://lights.example/a", published="2019-05-01")
    tools = {name: ShelfTool(name, page) for name in ("corpus", "keywords")}
    sides = {"corpus": answer("SUPPORTS", QUOTE, "Not so at all."), "keywords": answer("REFUTES", QUOTE)}
    given: dict[str, Any] = {"rounds": 2, "tools": tools}
    _, run = await debate(script(AnswerClaim=lambda task, call: sides[call.agent]), **given)
    later = next(task for task in tasks(run, AnswerClaim, "keywords") if task.own)
    (other,) = later.others
    assert other.found == (f'[1] "{QUOTE}" (Cape Ansel, https://lights.example/a, 2019-05-01)',)
    assert f"Quotations found in its documents:\n- <data>{other.found[0]}</data>" in later.prompt_text()
    _, run = await debate(script(AnswerClaim=lambda task, call: sides[call.agent]), profile="paper", **given)
    assert all(heard.found == () for task in tasks(run, AnswerClaim) for heard in task.others)


async def test_a_found_quotation_that_is_too_short_is_not_called_missing() -> None:
    _, run = await debate(script(AnswerClaim=answer("SUPPORTS", "in 1871")), rounds=2)
    ended = [event.why for event in run.events if isinstance(event, RoundEnded)]
    assert "corpus: what is quoted is too short, or only a title" in ended[0]


async def test_a_debater_of_papers_searches_keywords_and_reads_summaries_and_its_quotations_are_of_the_papers() -> None:
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    settings: dict[str, Any] = {"summarised": ("keywords",), "rounds": 1}
    verdict, run = await debate(script(), tools=tools, **settings)
    assert tools["keywords"].queries == ["lighthouse Ansel"]
    assert tools["corpus"].queries == ["first query"]
    (asked,) = tasks(run, SummariseAbstract)
    assert (asked.query, asked.title, asked.abstract) == ("first query", "Cape Ansel", TEXT)
    (read,) = tasks(run, AnswerClaim, "keywords")
    assert [passage.text for passage in read.passages] == ["In short: lit in 1871."]
    assert [(quote.text, quote.status) for quote in verdict.quotes] == [(QUOTE, QuoteStatus.VERIFIED)]
    assert verdict.decided_by == "consensus"
    settled = {name: answer("SUPPORTS", "In short: lit in 1871.") for name in ("corpus", "keywords")}
    parts: Script = {**script(), **{(AnswerClaim, name): said for name, said in settled.items()}}
    verdict, _ = await debate(parts, tools=tools, **settings)
    assert verdict.decided_by == "judge"  # a summary is nobody's words: what is quoted of it stands in no paper
    assert not any(quote.found for quote in verdict.quotes if quote.agent != "judge")


async def test_a_document_with_a_blank_summary_is_read_whole() -> None:
    parts = script(SummariseAbstract=Summary(summary=" \n"))
    _, run = await debate(parts, summarised=("keywords",), rounds=1)
    (read,) = tasks(run, AnswerClaim, "keywords")
    assert [passage.text for passage in read.passages] == [TEXT]


UNREAD = BadReply("the reply cannot be read", raw="I cannot decide.")


async def test_a_debate_without_an_answer_that_can_be_read_is_an_error() -> None:
    with pytest.raises(BadReply, match="cannot be read"):
        await debate(script(AnswerClaim=UNREAD))


@pytest.mark.parametrize("profile", ["paper", "acl", "hardened"])
async def test_an_answer_that_cannot_be_read_agrees_with_nothing_and_the_debate_goes_on(profile: str) -> None:  # TM-3
    settings = configure("tool-mad", profile, {}).settings.model_dump()
    said = [UNREAD, answer("SUPPORTS", TEXT)]  # another quotation than the other debater's
    verdict, run = await debate({**script(), (AnswerClaim, "keywords"): said}, **settings)
    assert (verdict.decided_by, verdict.label, verdict.rounds) == ("consensus", "SUPPORTS", 2)
    assert verdict.round_labels == (("SUPPORTS", None), ("SUPPORTS", "SUPPORTS"))
    assert tasks(run, AnswerClaim, "corpus")[1].others[0].text == "I cannot decide."
    verdict, run = await debate({**script(), (AnswerClaim, "keywords"): UNREAD}, **settings)
    assert (verdict.decided_by, verdict.label) == ("judge", "REFUTES")
    assert len(tasks(run, AnswerClaim, "keywords")) == 3  # asked anew in every round
    assert ("nothing that could be read" in tasks(run, JudgeDebate)[0].prompt_text()) == (profile == "hardened")


async def test_the_claims_own_labels_are_offered() -> None:
    _, run = await debate(script(), claim=Claim(text=CLAIM.text, labels=TWO))
    assert "NOT ENOUGH INFO" not in tasks(run, AnswerClaim)[0].prompt_text()


async def test_faithfulness_is_of_the_whole_answer_against_the_documents_joined() -> None:
    _, run = await debate(script(), profile="paper")
    assert tasks(run, WriteStatements, "corpus")[0].answer.endswith("**SUPPORTS**")
    assert tasks(run, CheckStatements, "corpus")[0].context.startswith("The lighthouse at Cape Ansel")
