"""A grounder gives what ``ground`` gives, and keeps its documents encoded."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syntok import segmenter

import redargue
from redargue.assembly import SMALL
from redargue.caveats import UncheckedReason
from redargue.errors import UsageError
from redargue.evidence import without_retrieval_times
from redargue.nli import reader
from redargue.nli.careful import careful_weights
from redargue.nli.session import Floats, Session, shared
from redargue.retrieval.corpus import documents
from redargue.spec import RunSpec

DOCUMENTS: list[str | redargue.Passage] = [
    "The bridge at Orvell was opened in 1889. It is 3.5 km long. Its architect was Amélie Vidal.",
    redargue.Passage(
        text="The lighthouse at Cape Ansel was first lit in 1871. It stands on a reef.", title="Cape Ansel"
    ),
]
ANSWERS = ("The bridge at Orvell was opened in 1931.", "It was built. The lighthouse was lit in 1871. It is red.")


def without_times(report: redargue.Report) -> object:
    return without_retrieval_times(report.model_dump(mode="json"))


@pytest.mark.anyio
@pytest.mark.parametrize("method", ["single-reader", "tool-mad"])
async def test_a_grounder_reports_what_ground_reports(method: str) -> None:
    with redargue.Grounder(DOCUMENTS, method=method) as grounder:
        for answer in (*ANSWERS, ANSWERS[0]):
            wanted = await redargue.ground(answer, contexts=DOCUMENTS, method=method)
            assert without_times(await grounder.ground(answer)) == without_times(wanted)


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "context"), [("qa", "When?"), ("dialogue", "When was it opened?"), ("summary", "")])
async def test_every_kind_of_answer_can_be_grounded(kind: str, context: str) -> None:
    given = {"kind": kind, "context": context}
    with redargue.Grounder(DOCUMENTS, method="single-reader") as grounder:
        found = await grounder.ground(ANSWERS[0], **given)  # type: ignore[arg-type]
    wanted = await redargue.ground(ANSWERS[0], contexts=DOCUMENTS, method="single-reader", **given)  # type: ignore
    assert without_times(found) == without_times(wanted)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("small", [False, True])
async def test_documents_are_encoded_once_and_stay_encoded(monkeypatch: pytest.MonkeyPatch, small: bool) -> None:
    embedder = shared(0)
    held = dict(embedder._session._held)  # a check that another test left behind may still be running
    monkeypatch.setattr(embedder._session, "_kept", 0)  # nothing else is kept between calls
    read: list[int] = []
    output = Session._output

    def counted(session: Session, row: Any) -> Floats:
        read.append(len(row.ids))
        return output(session, row)

    monkeypatch.setattr(Session, "_output", counted)
    documents = [" ".join(f"Sentence number {n} is about the bridge of Orvell and its {n} lamps." for n in range(30))]
    spec = RunSpec(method="single-reader", reader=SMALL if small else "")
    with redargue.Grounder(documents, spec=spec) as grounder:
        made = len(read)
        await grounder.ground("The bridge of Orvell has 7 lamps.")
        answered = len(read) - made
    # the large reader reads hardly any sentence together with the one before
    with_windows = small or not careful_weights()
    assert made >= 60 if with_windows else 30 <= made < 60
    assert answered < 25  # the claim, what was put together for it, and the pairs
    assert embedder._session._held.keys() <= held.keys()


@pytest.mark.anyio
async def test_two_grounders_with_one_document_do_not_take_it_from_each_other() -> None:
    others = set(shared(0)._session._held)
    first, second = (redargue.Grounder(DOCUMENTS, method="single-reader") for _ in range(2))
    held = dict(shared(0)._session._held)
    first.close()
    assert shared(0)._session._held.keys() == held.keys()
    first.close()  # twice is once
    assert (await second.ground(ANSWERS[0])).outcome is redargue.Outcome.NON_FACTUAL
    second.close()
    assert shared(0)._session._held.keys() <= others


def test_a_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the only evidence"):
        redargue.Grounder(DOCUMENTS, method="mermaid", memory=str(tmp_path / "m.db"))


@pytest.mark.anyio
async def test_a_budget_is_that_of_all_answers() -> None:
    with redargue.Grounder(DOCUMENTS, method="single-reader", budget="3calls") as grounder:
        assert (await grounder.ground(ANSWERS[0])).claims[0].verdict.error is None
        second = await grounder.ground(ANSWERS[1])
    errors = [claim.verdict.error.type for claim in second.claims if claim.verdict.error]
    assert errors
    assert set(errors) == {"BudgetReached"}
    assert second.not_checked[UncheckedReason.BUDGET] == len(errors)
    assert UncheckedReason.ERROR not in second.not_checked


def test_a_document_is_split_into_sentences_once(monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[str] = []

    def analyze(text: str) -> Any:
        split.append(text)
        return segmenter.analyze(text)

    monkeypatch.setattr(documents, "segmenter", SimpleNamespace(analyze=analyze))
    monkeypatch.setattr(reader, "segmenter", SimpleNamespace(analyze=analyze), raising=False)
    document = "This document is new to every cache. " + "Bees are insects. They have six legs. " * 60
    with redargue.Grounder([document], method="single-reader"):
        assert split.count(document.strip()) + split.count(document) == 1


@pytest.mark.anyio
async def test_the_front_matter_of_an_answer_is_neither_a_claim_nor_unchecked() -> None:
    answer = "---\ntitle: Trains return after 58 years\ndate: 2026-05-12\n---\n\nThe Vasa sank in 1628.\n"
    report = await redargue.ground(answer, contexts=["The Vasa sank in 1628."], method="single-reader")
    assert [claim.stated for claim in report.claims] == ["The Vasa sank in 1628."]
    assert report.unchecked == ()
    assert report.text == answer
