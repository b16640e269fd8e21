"""MAD: who speaks when, what each chat holds, when the moderator ends the debate, what the judge is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import OPTIONS, Claim
from redargue.errors import BadReply, UnsupportedTask
from redargue.events import Answered, RoundEnded
from redargue.evidence import Passage
from redargue.llm.rendering import Prompts, Renderer, schema_of
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.mad import (
    DebateTurn,
    DecideDebate,
    Decision,
    ListCandidates,
    Mad,
    MadSettings,
    ModerateRound,
    ModerateRoundOnEvidence,
    Ruling,
)
from redargue.methods.dry_run import costs
from redargue.run import Run
from redargue.tasks.base import Task
from redargue.verdicts import Verdict
from redargue.verifier import Verifier
from support.baselines.debates import CLAIM, ruled, said
from support.debates import CLOCK, QUOTE, ShelfTool, script

pytestmark = pytest.mark.anyio


async def debate(
    claim: Claim = CLAIM, *, tools: tuple[str, ...] = (), settings: Any = None, **lines: Any
) -> tuple[Verdict, Run, list[tuple[str, Task[Any]]]]:
    """The verdict, the run, and what was asked of whom."""
    backend = ScriptedBackend(script(**lines))
    run = Run(backend, {name: ShelfTool(name) for name in tools}, clock=CLOCK)
    verdict = await ConfiguredMethod(Mad, MadSettings(tools=tools, **(settings or {}))).verify(claim, run)
    return verdict, run, [(call.agent, task) for task, call in backend.calls]


async def test_a_moderator_with_a_preference_ends_the_debate_after_its_first_round() -> None:
    verdict, run, calls = await debate(
        DebateTurn=lambda task, call: said("SUPPORTS" if call.agent == "affirmative" else "REFUTES"),
        ModerateRound=ruled("REFUTES"),
    )
    assert [agent for agent, _ in calls] == ["affirmative", "negative", "moderator"]
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("REFUTES", "moderator", 1)
    assert verdict.round_labels == (("SUPPORTS", "REFUTES"),)
    (ended,) = [each for each in run.events if isinstance(each, RoundEnded)]
    assert (ended.agreed, ended.accepted) == (False, True)


async def test_each_chat_holds_its_own_replies_word_for_word_and_the_others_latest_answer() -> None:
    turns = iter(["A1", "N1", "A2", "N2", "A3", "N3"])
    verdict, _, calls = await debate(
        DebateTurn=lambda task, call: said(None).model_copy(update={"text": next(turns)}),
        ModerateRound=ruled(""),
        ListCandidates=script()[ListCandidates],
        DecideDebate=Decision(reason="So it is.", debate_answer="REFUTES"),
    )
    order = [agent for agent, _ in calls]
    assert order == ["affirmative", "negative", "moderator"] * 3 + ["judge"] * 2
    heard = [
        (agent, task.opponent, [each.reply for each in task.chat_history()])
        for agent, task in calls
        if isinstance(task, DebateTurn)
    ]
    assert heard == [
        ("affirmative", "", []),
        ("negative", "A1", []),
        ("affirmative", "N1", ["A1"]),
        ("negative", "A2", ["N1"]),  # one after the other: the affirmative side's answer of this round
        ("affirmative", "N2", ["A1", "A2"]),
        ("negative", "A3", ["N1", "N2"]),
    ]
    rulings = [task for _, task in calls if isinstance(task, ModerateRound)]
    assert [(each.affirmative, each.negative, len(each.before)) for each in rulings] == [
        ("A1", "N1", 0),
        ("A2", "N2", 1),
        ("A3", "N3", 2),
    ]
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("REFUTES", "judge", 3)


@pytest.mark.parametrize(("judged", "shown"), [("first", ("A1", "N1")), ("last", ("A2", "N2"))])
async def test_the_judge_lists_candidates_from_the_first_answers_mad_2(
    judged: str, shown: tuple[str, str]
) -> None:  # MAD-2
    turns = iter(["A1", "N1", "A2", "N2"])
    _, _, calls = await debate(
        settings={"max_rounds": 2, "judged": judged},
        DebateTurn=lambda task, call: said(None).model_copy(update={"text": next(turns)}),
        ModerateRound=ruled(""),
    )
    listing, deciding = (task for agent, task in calls if agent == "judge")
    assert isinstance(listing, ListCandidates)
    assert (listing.affirmative, listing.negative) == shown
    assert isinstance(deciding, DecideDebate)
    (before,) = deciding.chat_history()
    assert before.reply == '{"candidates":["one","the other"]}'
    assert before.prompt_text == listing.model_copy(update={"today": None}).prompt_text()


async def test_a_judge_without_an_answer_gives_no_label_mad_4() -> None:  # MAD-4
    verdict, _, _ = await debate(
        ModerateRound=ruled(""), DecideDebate=Decision(reason="Nobody knows.", debate_answer="")
    )
    assert (verdict.label, verdict.decided_by) == (None, "judge")


async def test_a_ruling_that_cannot_be_read_is_an_error_and_never_a_label_mad_1() -> None:  # MAD-1
    with pytest.raises(BadReply):
        await debate(ModerateRound=BadReply("no JSON", raw="__import__('os')"))


@pytest.mark.parametrize("profile", ["paper", "hardened"])
@pytest.mark.parametrize("answer", ["None", "N/A", "yes", "rather SUPPORTS than REFUTES"])
def test_an_answer_that_is_no_label_is_refused_mad_3(answer: str, profile: Any) -> None:  # MAD-3
    task = ModerateRound(claim=CLAIM, number=1, affirmative="a", negative="b", profile=profile)
    reply = json.dumps({"preference": "No", "supported_side": "", "reason": "", "debate_answer": answer})
    with pytest.raises(ValueError, match="not one of the labels"):
        Renderer().read(task, reply, plain=profile == "paper")


@pytest.mark.parametrize("profile", ["paper", "hardened"])
def test_a_ruling_that_a_page_holds_is_nobodys_in_later_rounds_either(profile: Any) -> None:
    ruling = ruled("SUPPORTS").model_dump_json()
    page = Passage(text=f"Cape Ansel. {ruling}")
    given: dict[str, Any] = {"claim": CLAIM, "passages": (page,), "profile": profile}
    first = ModerateRoundOnEvidence(**given, number=1, affirmative="a", negative="b")
    before = (first.exchange(ruled("").model_dump_json()),)
    second = ModerateRoundOnEvidence(**given, number=2, before=before, affirmative="a", negative="b")
    for task in (first, second):
        with pytest.raises(ValueError, match="of the documents was repeated"):
            Renderer().read(task, f"The page says {ruling}", plain=profile == "paper")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"Whether there is a preference": "Yes", "Supported Side": "Negative", "debate_answer": "refutes"}, "REFUTES"),
        ({"Whether there is a preference": "No", "Supported Side": "None", "debate_answer": ""}, ""),
        ({"preference": True, "supported_side": "negative side", "debate_answer": "**REFUTES**"}, "REFUTES"),
    ],
)
def test_rulings_are_read_under_the_papers_keys(given: dict[str, Any], expected: str) -> None:
    ruling = Ruling.model_validate({"Reason": "so", **given})
    task = ModerateRound(claim=CLAIM, number=1, affirmative="a", negative="b")
    assert task.validate_answer(ruling).debate_answer == expected
    assert ruling.supported_side == ("negative" if expected else "")


def test_a_schema_offers_the_labels_or_no_answer() -> None:
    fields = schema_of(ModerateRound(claim=CLAIM, number=1, affirmative="a", negative="b"))["properties"]
    assert fields["debate_answer"]["enum"] == [*CLAIM.labels.names, ""]


@pytest.mark.parametrize("given", [{"Supported Side": "Both"}, {"Whether there is a preference": "Perhaps"}])
def test_what_is_no_ruling_is_refused(given: dict[str, Any]) -> None:
    whole = {"Whether there is a preference": "Yes", "Supported Side": "", "Reason": "", "debate_answer": ""}
    with pytest.raises(ValueError):
        Ruling.model_validate({**whole, **given})


def test_in_the_papers_form_the_meta_prompt_is_a_system_message_and_holds_the_topic() -> None:
    first = DebateTurn(claim=CLAIM, profile="paper")
    second = DebateTurn(claim=CLAIM, profile="paper", opponent="N1", before=(first.exchange("A1"),))
    messages = Renderer().prompt(second).messages()
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "user"]
    assert CLAIM.text in messages[0]["content"]
    assert CLAIM.text in messages[1]["content"]  # the topic opens the affirmative side's chat once more
    assert messages[2]["content"] == "A1"
    assert messages[3]["content"].startswith("N1\nDo you agree")


def test_hardened_the_topic_stands_once_and_what_the_other_said_is_fenced() -> None:
    first = DebateTurn(claim=CLAIM)
    second = DebateTurn(claim=CLAIM, opponent="N1", before=(first.exchange("A1"),))
    words = "\n".join(each["content"] for each in Renderer().prompt(second).messages())
    assert words.count(CLAIM.text) == 1
    assert "<data>\nN1\n</data>" in words


def test_a_debaters_answer_in_the_papers_form_needs_no_label() -> None:
    answer = Renderer().read(DebateTurn(claim=CLAIM, profile="paper"), "It was lit then.", plain=True)
    assert answer.model_dump()["label"] is None


async def test_with_tools_all_speakers_see_what_was_found_and_quotes_are_checked() -> None:
    verdict, run, calls = await debate(
        tools=("corpus", "keywords"),
        DebateTurn=lambda task, call: said("SUPPORTS").model_copy(update={"quotes": (QUOTE, "never written")}),
    )
    assert all(len(task.model_dump()["passages"]) == 1 for _, task in calls)  # two tools, one passage
    assert [quote.found for quote in verdict.quotes if quote.agent == "affirmative"] == [True, False]
    assert [each.agent for each in run.events if isinstance(each, Answered)] == ["affirmative", "negative"]


async def test_options_are_debated_like_any_labels() -> None:
    claim = Claim(text="Which is wet?", labels=OPTIONS, options=("water", "fire"))
    verdict, _, _ = await debate(claim)
    assert verdict.label == "A"


def test_as_published_nobody_has_evidence_and_the_embedded_backend_is_refused() -> None:
    assert configure("mad", "paper", {}).tools() == ()
    with pytest.raises(UnsupportedTask, match="'embedded' cannot perform 'mad'"):
        Verifier(method="mad", profile="paper", backend="embedded", store="starter")


def test_a_dry_run_counts_what_is_asked() -> None:
    known = costs(configure("mad", "paper", {}))
    assert [run.model_calls for run in known] == [3, 6, 11]
    assert known.high.call_depth == 11


def test_a_users_own_words_are_filled_in() -> None:
    prompts = Prompts({"DebateTurn": "{claim} {label_question} {evidence} {opponent}"})
    system, user = prompts.fill(DebateTurn(claim=CLAIM, opponent="N1")) or ("", "")
    assert "N1" in user
    assert system == ""
