"""Texts verified claim by claim: offsets, what they come to, many at once, failures, going on."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.backends.scripted import ScriptedBackend
from redargue.caveats import UncheckedReason
from redargue.claims import FREE_TEXT
from redargue.errors import BadReply, BudgetReached, ProviderError, RecordError, ReplayMiss, UsageError
from redargue.events import CallFinished, canonical
from redargue.evidence import Passage
from redargue.runs.budget import Budget
from redargue.runs.record import DRAFT, read_events
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.extract import ExtractClaims, ExtractedClaim, ExtractedClaims, MarkOpinions, SentenceMark
from redargue.tasks.extract import SentenceMarks as Marks
from redargue.text import Outcome
from redargue.text.segment import KINDS, Kind
from redargue.text.verification import ground, verify_text
from support.debates import CLOCK, ShelfTool, answer
from support.growth import grows_with_the_square
from support.loopback import Ask, Loopback
from support.scripts import agreeing

pytestmark = pytest.mark.anyio

TEXT = "The bridge was opened in 1889.  I love it!\n\n- It is 250 metres long.\n"
PLAIN: dict[str, Any] = {"method": "single-reader", "clock": CLOCK}


def claimed(*claims: tuple[int, str]) -> ExtractedClaims:
    return ExtractedClaims(claims=tuple(ExtractedClaim(sentence=at, claim=text) for at, text in claims))


def scripted(labels: dict[str, Any], *extracted: Any, **parts: Any) -> ScriptedBackend:
    """Says of each claim what ``labels`` has for it; an exception is raised."""

    def said(task: AnswerClaim, call: Any) -> Any:
        found = labels[task.claim.text]
        return found if isinstance(found, Exception) else answer(found)

    marks = {MarkOpinions: parts["marks"]} if parts else {}
    return ScriptedBackend({ExtractClaims: list(extracted) or claimed(), AnswerClaim: said, **marks})


def options(backend: ScriptedBackend, **more: Any) -> dict[str, Any]:
    return {**PLAIN, "backend": backend, "evidence": {"corpus": ShelfTool("corpus")}, **more}


async def test_claims_stand_where_the_text_makes_them_and_the_rest_is_named() -> None:
    found = claimed((3, "The bridge is 250 metres long."), (1, "The bridge was opened."), (1, "It was 1889."))
    labels = {
        "The bridge is 250 metres long.": "SUPPORTS",
        "The bridge was opened.": "SUPPORTS",
        "It was 1889.": "REFUTES",
    }
    report = await verify_text(TEXT, **options(scripted(labels, found)))
    assert [(each.stated, each.verdict.claim.text, each.verdict.label) for each in report.claims] == [
        ("The bridge was opened in 1889.", "The bridge was opened.", "SUPPORTS"),
        ("The bridge was opened in 1889.", "It was 1889.", "REFUTES"),
        ("It is 250 metres long.", "The bridge is 250 metres long.", "SUPPORTS"),
    ]
    assert all(TEXT[each.start : each.end] == each.stated for each in report.claims)
    assert [TEXT[each.start : each.end] for each in report.unchecked] == ["I love it!"]
    assert report.outcome is Outcome.NON_FACTUAL
    assert (report.usage.calls, report.usage.by_task["ExtractClaims"]) == (4, 1)


@pytest.mark.parametrize(
    ("labels", "outcome"),
    [
        (("SUPPORTS", "SUPPORTS"), "factual"),
        (("SUPPORTS", "REFUTES"), "non_factual"),
        (("NOT ENOUGH INFO", "REFUTES"), "non_factual"),
        (("SUPPORTS", "NOT ENOUGH INFO"), "undecided"),
        (("SUPPORTS", BadReply("prose", raw="")), "undecided"),
        ((BadReply("prose", raw=""), "REFUTES"), "non_factual"),
        ((BadReply("prose", raw=""), BadReply("prose", raw="")), "unchecked"),
        ((), "unchecked"),
    ],
)
async def test_a_text_is_not_factual_if_one_of_its_claims_is_not(labels: tuple[Any, ...], outcome: str) -> None:
    claims = [(1, f"The bridge was opened{when}.") for when, _ in zip(("", " in 1889"), labels, strict=False)]
    backend = scripted({text: label for (_, text), label in zip(claims, labels, strict=True)}, claimed(*claims))
    report = await verify_text(TEXT.partition("- ")[0], **options(backend))
    assert report.outcome == outcome
    assert [each.verdict.error is None for each in report.claims] == [isinstance(label, str) for label in labels]


async def test_a_text_that_states_nothing_is_not_checkable() -> None:
    report = await verify_text("I love it! What a day!", **options(scripted({})))
    assert (report.outcome, report.claims) == ("not_checkable", ())


async def test_a_sentence_that_the_model_leaves_out_keeps_a_text_from_being_factual() -> None:
    report = await verify_text(TEXT, **options(scripted({"It was 1889.": "SUPPORTS"}, claimed((1, "It was 1889.")))))
    assert (report.outcome, report.not_checked) == ("undecided", {"left_out": 1, "not_a_claim": 1})


@pytest.mark.parametrize(
    ("kind", "answer", "question", "outcome"),
    [
        ("text", "1899", "When was it opened?", "unchecked"),
        ("text", "Smith and sons.", "Who built it?", "unchecked"),
        ("dialogue", "Yes.", "Was it opened in 1889?", "unchecked"),
        ("text", "I am not sure.", "When was it opened?", "not_checkable"),
        ("text", "1899", "I asked when it was opened.", "not_checkable"),
    ],
)
async def test_a_short_answer_to_a_question_may_state_something(
    kind: Kind, answer: str, question: str, outcome: str
) -> None:
    found = await ground(
        answer, contexts=["It was opened in 1889."], kind=kind, context=question, method="single-reader"
    )
    assert found.outcome == outcome


async def test_opinions_of_a_dialogue_go_before_its_claims_are_asked_for() -> None:
    marks = Marks(marks=tuple(SentenceMark(sentence=at, subjective=int(at == 2)) for at in (1, 2, 3)))
    found = claimed((2, "The bridge is 250 metres long."))
    backend = scripted({"The bridge is 250 metres long.": "SUPPORTS"}, found, marks=marks)
    report = await verify_text(TEXT, kind="dialogue", context="What about the bridge?", **options(backend))
    (asked,) = [task for task, _ in backend.calls if isinstance(task, ExtractClaims)]
    assert asked.sentences == ("The bridge was opened in 1889.", "It is 250 metres long.")
    assert [each.stated for each in report.claims] == ["It is 250 metres long."]
    assert report.claims[0].verdict.claim.context == "What about the bridge?"
    assert [each.why.reason for each in report.unchecked] == ["left_out", "subjective"]


async def test_question_and_answer_are_one_claim_without_asking_for_any() -> None:
    whole = "What does the bridge cross? The Sund."
    backend = scripted({whole: "SUPPORTS"})
    report = await verify_text(" The Sund.\n", kind="qa", context="What does the bridge cross? ", **options(backend))
    assert [(each.start, each.end, each.verdict.claim.text) for each in report.claims] == [(1, 10, whole)]
    assert report.usage.calls == 1


async def test_a_long_text_is_taken_apart_in_blocks_that_see_what_stands_before() -> None:
    text = " ".join(f"Number {at} is a number." for at in range(45))
    backend = scripted(
        {f"Number {at} is one.": "SUPPORTS" for at in (4, 24, 44)},
        *(claimed((5, f"Number {at} is one.")) for at in (4, 24, 44)),
    )
    report = await verify_text(text, **options(backend))
    asked = sorted(
        (task for task, _ in backend.calls if isinstance(task, ExtractClaims)), key=lambda each: len(each.before)
    )
    assert [len(each.sentences) for each in asked] == [20, 20, 5]
    assert [len(each.before) for each in asked] == [0, 8, 8]
    assert [each.stated for each in report.claims] == [f"Number {at} is a number." for at in (4, 24, 44)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback(agreeing) as running:
        monkeypatch.setenv("REDARGUE_BASE_URL", f"{running.url}/v1")
        yield running


def said(ask: Ask) -> str:
    """All that was said so far; in a second try the task is not the last thing."""
    return "\n".join(str(each["content"]) for each in ask.messages)


FORTY = " ".join(f"Bridge number {at} was opened in {1800 + at}." for at in range(1, 41))


async def test_forty_claims_run_at_once_under_one_limiter_and_a_failed_one_does_not_lose_the_rest(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(ask: Ask) -> Any:
        return "I would rather not." if ask.role == "AnswerClaim" and "number 7 was" in said(ask) else agreeing(ask)

    server.script = failing
    server.hold_until_in_flight(5, matching="AnswerClaim")
    monkeypatch.setenv("REDARGUE_MODEL_IN_FLIGHT", "5")
    report = await verify_text(FORTY, model="for-m", evidence={"corpus": ShelfTool("corpus")}, **PLAIN)
    assert len(report.claims) == 40
    assert [each.stated for each in report.claims] == [f"{part}." for part in FORTY.rstrip(".").split(". ")]
    assert [FORTY[each.start : each.end] for each in report.claims] == [each.stated for each in report.claims]
    failed = [each for each in report.claims if each.verdict.error]
    assert [(each.verdict.claim.text, each.verdict.error.type) for each in failed if each.verdict.error] == [
        ("Bridge number 7 was opened in 1807.", "BadReply")
    ]
    assert all(each.verdict.label == "SUPPORTS" for each in report.claims if each not in failed)
    assert report.outcome is Outcome.UNDECIDED
    assert server.counts.most_in_flight == 5
    assert report.usage.calls == server.counts.requests["chat"] == 2 + 40 + 1  # two blocks, the claims, one repair


@pytest.mark.parametrize("kind", KINDS)
async def test_a_language_model_grounds_every_kind_of_text(kind: Any, server: Loopback) -> None:
    report = await ground(
        "The bridge was opened in 1889. I love it.", contexts=["It was opened in 1889."], kind=kind, model="for-m",
        context="When was it opened?", **PLAIN
    )  # fmt: skip
    stated = {"dialogue": 1, "qa": 1}.get(kind, 2)
    assert [each.verdict.label for each in report.claims] == ["SUPPORTS"] * stated
    assert {quote.source.document for each in report.claims for quote in each.verdict.quotes if quote.source} == {
        "context-1"
    }


async def test_a_dialogue_and_a_document_of_the_same_name_are_two_sources() -> None:
    claim, denial = "The Skerry bridge opened in 1998.", "The Skerry bridge did not open in 1998."
    documents = [Passage(text=denial, document="context")]
    given: dict[str, Any] = {"kind": "dialogue", "context": claim, "method": "single-reader", "labels": "averitec"}
    report = await ground(claim, contexts=documents, **given)
    assert [each.verdict.label for each in report.claims] == ["Conflicting Evidence/Cherrypicking"]


async def test_a_reply_about_a_sentence_that_is_not_there_is_asked_for_again_and_then_an_error(
    server: Loopback,
) -> None:
    bad = {"claims": [{"sentence": 9, "claim": "The bridge is old."}]}
    good = {"claims": [{"sentence": 3, "claim": "The bridge is long."}]}
    tries = iter([bad, good])
    server.script = lambda ask: next(tries) if ask.role == "ExtractClaims" else agreeing(ask)
    report = await verify_text(TEXT, model="for-m", evidence={"corpus": ShelfTool("corpus")}, **PLAIN)
    assert [each.verdict.claim.text for each in report.claims] == ["The bridge is long."]
    server.script = lambda ask: bad
    with pytest.raises(BadReply, match="there is no sentence 9, only 1 to 3"):
        await verify_text(TEXT, model="for-m", evidence={"corpus": ShelfTool("corpus")}, **PLAIN)


async def test_a_run_goes_on_without_asking_for_the_claims_again(server: Loopback, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    given: dict[str, Any] = {"model": "for-m", "folder": folder, "evidence": {"corpus": ShelfTool("corpus")}, **PLAIN}
    server.script = lambda ask: {} if "250" in said(ask) and ask.role == "AnswerClaim" else agreeing(ask)
    first = await verify_text(TEXT, **given)
    assert [each.verdict.error is None for each in first.claims] == [True, True, False]
    server.script = agreeing
    server.reset()
    again = await verify_text(TEXT, **given)
    assert again.outcome is Outcome.FACTUAL
    asked = [ask.body["response_format"]["json_schema"]["name"] for ask in server.requests]
    assert asked == ["AnswerClaim"]
    assert again.claims[:2] == first.claims[:2]
    assert await replay(folder) == [each.verdict for each in again.claims]


async def test_an_extraction_that_failed_keeps_what_it_was_answered(tmp_path: Path) -> None:
    text, folder = " ".join(f"Number {at} is a number." for at in range(25)), tmp_path / "run"
    labels = {f"Number {at} is one.": "SUPPORTS" for at in (4, 24)}
    first, second = (claimed((5, f"Number {at} is one.")) for at in (4, 24))
    with pytest.raises(ProviderError):
        await verify_text(text, folder=folder, **options(scripted(labels, first, ProviderError("no answer"))))
    backend = scripted(labels, second)
    with pytest.raises(RecordError, match="already holds a run whose settings differ"):
        await verify_text(text, folder=folder, settings={"top_k": 1}, **options(backend))
    report = await verify_text(text, folder=folder, **options(backend))
    assert [each.verdict.label for each in report.claims] == ["SUPPORTS", "SUPPORTS"]
    assert [len(task.sentences) for task, _ in backend.calls if isinstance(task, ExtractClaims)] == [5]
    assert await replay(folder) == [each.verdict for each in report.claims]


async def test_a_call_that_cannot_be_right_costs_nothing(server: Loopback) -> None:
    given: dict[str, Any] = {"model": "for-m", "evidence": {"corpus": ShelfTool("corpus")}, **PLAIN}
    with pytest.raises(UsageError, match="0 claims at a time"):
        await verify_text(TEXT, concurrency=0, **given)
    with pytest.raises(UsageError, match="'answer' is not a kind of text"):
        await verify_text(TEXT, kind="answer", **given)  # type: ignore[arg-type]
    assert server.counts.requests["chat"] == 0


async def test_an_unreadable_extraction_is_asked_for_again(server: Loopback, tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": "for-m", "folder": tmp_path / "run", **PLAIN}
    server.script = lambda ask: "I would rather not."
    for _ in range(2):
        server.reset()
        with pytest.raises(BadReply):
            await verify_text(TEXT, evidence={"corpus": ShelfTool("corpus")}, **given)
        assert server.counts.requests["chat"] == 2  # with a repair
    server.script = agreeing
    assert (await verify_text(TEXT, evidence={"corpus": ShelfTool("corpus")}, **given)).outcome is Outcome.FACTUAL


async def test_an_unreadable_reply_to_an_extraction_repeats_no_other(tmp_path: Path) -> None:
    text, folder = " ".join(f"Number {at} is a number." for at in range(25)), tmp_path / "run"
    labels = {f"Number {at} is one.": "SUPPORTS" for at in (4, 24)}
    first, second = (claimed((5, f"Number {at} is one.")) for at in (4, 24))
    unreadable = BadReply("prose", raw="")
    with pytest.raises(BadReply):
        await verify_text(text, folder=folder, **options(scripted(labels, first, unreadable)))
    backend = scripted(labels, second)
    report = await verify_text(text, folder=folder, **options(backend))
    assert [each.verdict.label for each in report.claims] == ["SUPPORTS", "SUPPORTS"]
    assert [len(task.sentences) for task, _ in backend.calls if isinstance(task, ExtractClaims)] == [5]
    assert report.usage.by_task["ExtractClaims"] == 3
    assert await replay(folder) == [each.verdict for each in report.claims]


async def test_other_files_in_a_run_folder_stay(tmp_path: Path) -> None:
    others = [tmp_path / "text" / "notes.txt", tmp_path / DRAFT / "notes.txt"]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_text("mine")
    report = await verify_text(TEXT, folder=tmp_path, **options(scripted({"It is old.": "SUPPORTS"}, claimed())))
    assert report.claims == ()
    assert [other.read_text() for other in others] == ["mine", "mine"]
    assert sorted(os.listdir(tmp_path / DRAFT)) == ["notes.txt"]


async def test_the_extraction_stands_in_the_record_and_the_claims_replay(server: Loopback, tmp_path: Path) -> None:
    folder, seen = tmp_path / "run", list[Any]()
    evidence = {"corpus": ShelfTool("corpus")}
    report = await verify_text(
        TEXT, model="for-m", models={"extractor": "cheap"}, folder=folder, evidence=evidence, **PLAIN
    )
    assert await replay(folder, listeners=[seen.append]) == [each.verdict for each in report.claims]
    assert canonical(seen) == canonical(each for each in read_events(folder) if each.item < 3)
    (extraction,) = [each for each in read_events(folder) if each.item == 3]
    assert isinstance(extraction, CallFinished)
    assert (extraction.task, extraction.agent) == ("ExtractClaims", "extractor")
    about = (folder / "run.json").read_text()
    (folder / "run.json").write_text(about.replace('"start": 0', '"start": 1'))
    with pytest.raises(RecordError, match="yields claims that differ"):
        await replay(folder)
    (folder / "run.json").write_text(about.replace("1889.  I love it!", "1889.  I love her!"))
    with pytest.raises(ReplayMiss, match="ExtractClaims of 'extractor'"):
        await replay(folder)


async def test_a_folder_of_another_text_is_refused_before_anything_is_asked(server: Loopback, tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": "for-m", "evidence": {"corpus": ShelfTool("corpus")}, **PLAIN}
    await verify_text(TEXT, folder=tmp_path / "run", **given)
    server.reset()
    with pytest.raises(RecordError, match="the run of another text"):
        await verify_text("Bees are insects.", folder=tmp_path / "run", **given)
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    del about["text"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    with pytest.raises(RecordError, match="but not of a text"):
        await verify_text(TEXT, folder=tmp_path / "run", **given)
    assert server.counts.requests["chat"] == 0


async def test_the_claims_and_their_extraction_are_paid_from_one_budget() -> None:
    labels = {"One bridge.": "SUPPORTS", "Two bridges.": "SUPPORTS"}
    found = claimed((1, "One bridge."), (1, "Two bridges."))
    report = await verify_text(TEXT, concurrency=1, budget=Budget(2), **options(scripted(labels, found)))
    assert [each.verdict.error is None for each in report.claims] == [True, False]
    with pytest.raises(BudgetReached):
        await verify_text(TEXT * 20, budget=Budget(1), **options(scripted(labels, found, found, found)))


async def test_a_model_may_be_named_for_the_extraction(server: Loopback) -> None:
    evidence = {"corpus": ShelfTool("corpus")}
    await verify_text(TEXT, model="for-m", models={"extractor": "cheap"}, evidence=evidence, **PLAIN)
    assert [ask.body["model"] for ask in server.requests] == ["cheap", "for-m", "for-m", "for-m"]
    with pytest.raises(UsageError, match="no role 'extracter'"):
        await verify_text(TEXT, model="for-m", models={"extracter": "cheap"}, evidence=evidence, **PLAIN)


def homes() -> list[str]:
    """What lies in the user's folder."""
    return os.listdir(os.environ["REDARGUE_HOME"])


async def test_ground_reads_no_memory_and_no_tools_of_servers(server: Loopback) -> None:
    given: dict[str, Any] = {"contexts": ["It was opened in 1889."], "method": "mermaid", "model": "for-m"}
    report = await ground("The bridge was opened in 1889.", **given)
    assert [each.verdict.error for each in report.claims] == [None]
    assert report.claims[0].verdict.usage.by_tool.keys() <= {"corpus", "keywords"}
    assert not [name for name in homes() if "memory" in name]
    for more in ({"settings": {"memory": "on"}}, {"actions": {"search": object()}}):
        with pytest.raises(UsageError, match="MCP tools and a memory cannot be used"):
            await ground("The bridge was opened in 1889.", **given, **more)


async def test_ground_reads_nothing_but_the_given_documents_and_tells_where() -> None:
    document = "The bridge at Orvell was opened in 1889. It crosses the Sund."
    for method in ("tool-mad", "single-reader"):
        report = await ground(
            "The bridge at Orvell was opened in 1889. It was opened in 1950.", contexts=[document], method=method
        )
        quotes = [quote for each in report.claims for quote in each.verdict.quotes]
        assert quotes
        assert all(document[quote.offset : quote.offset + len(quote.text)] == quote.text for quote in quotes)
        assert report.claims[0].verdict.label == "SUPPORTS"
        assert report.usage.by_tool.keys() <= {"corpus", "keywords"}


async def test_a_claim_of_a_summary_is_read_beside_all_its_nearest_sentences() -> None:
    apart = " ".join(f"The pier of Lund {number} is long. It rained for {number} days." for number in range(8))
    document = f"{apart} The bridge at Orvell was opened in 1889."
    summary = "The bridge at Orvell was opened in 1889."
    report = await ground(summary, contexts=[document], kind="summary", method="single-reader")
    assert report.claims[0].verdict.label == "SUPPORTS"
    assert [quote.text for quote in report.claims[0].verdict.quotes] == [summary]


async def test_a_sentence_that_is_too_long_is_unchecked_and_the_others_are_checked() -> None:
    long = "The bridge was built in 1871 " + "and repaired in 1872 " * 1_000 + "again."
    said = "The bridge at Orvell was opened in 1889."
    report = await ground(f"{said} {long}", contexts=[said], method="single-reader")
    assert [(claim.verdict.claim.text, claim.verdict.label) for claim in report.claims] == [(said, "SUPPORTS")]
    assert report.not_checked == {UncheckedReason.TOO_LONG: 1}


def test_looking_for_the_question_of_a_reply_takes_time_in_proportion_to_the_text() -> None:
    def grounded(text: str) -> None:
        asyncio.run(ground(text, contexts=["The bridge was opened in 1889."], method="single-reader"))

    grounded("Yes.")  # loads the models
    assert not grows_with_the_square(grounded, "Yes.\n\n" * 4_000)


async def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(UsageError, match="do not say whether a claim is supported"):
        await verify_text(TEXT, labels=FREE_TEXT, **options(scripted({})))
    with pytest.raises(UsageError, match="against its document"):
        await verify_text(TEXT, kind="summary", **options(scripted({})))
    with pytest.raises(UsageError, match="this text cannot be checked"):
        await verify_text("…", **options(scripted({})))
