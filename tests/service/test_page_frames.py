"""A page that was watched and one that is loaded again are the same, whatever the method and whenever it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lxml import etree, html  # type: ignore[import-untyped]

from redargue.claims import Claim
from redargue.events import (
    Answered,
    CallFinished,
    ClaimEnded,
    ClaimStarted,
    Decomposed,
    Event,
    EvidenceFound,
    EvidenceMissing,
    Judged,
    QueryWritten,
    Refereed,
    RoundEnded,
    RoundVoted,
    Scored,
    Spoke,
    Stepped,
)
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.methods.base import methods
from redargue.net.transport import Service, Transport
from redargue.reports import SingleRun, load_run
from redargue.runs.budget import Budget
from redargue.runs.manifest import load_manifest
from redargue.runs.record import read_events
from redargue.service.entries import LogReader
from redargue.service.page.batch import BatchFrames, BatchRow, Filter, disagreement, select
from redargue.service.page.frames import ClaimFrames, Frame, FrameLog, Frames, meters
from redargue.service.page.runs import compare_verdicts
from redargue.tasks.extract import Triplet
from redargue.verdicts import Metric, Score, Usage, Verdict
from redargue.verifier import Verifier
from support.loopback import Loopback
from support.reported import R, S, run_of, text_of, written
from support.scripts import agreeing

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")
PASSAGE = Passage(
    document="d", title="Cape Ansel", publisher="A newspaper", published="1990", text="It was lit in 1871."
)


class Browser:
    """What page.js does with frames."""

    def __init__(self, page: Frames) -> None:
        self.body = html.fragment_fromstring(str(page.element()), create_parent="body")
        self.added = self.replaced = 0

    def show(self, frame: Frame) -> None:
        element = html.fragment_fromstring(str(frame.html))
        old = self.body.xpath("//*[@id=$id]", id=element.get("id"))
        if old:
            old[0].getparent().replace(old[0], element)
            self.replaced += 1
        elif frame.event == "append":
            (place,) = self.body.xpath("//*[@id=$id]", id=element.get("data-in"))
            place.append(element)
            self.added += 1

    @property
    def shown(self) -> str:
        return str(etree.tostring(self.body, encoding="unicode"))


def page_of(folder: Path, item: int = 0, budget: Budget | None = None) -> ClaimFrames:
    def finished() -> SingleRun:
        run = load_run(folder)
        assert isinstance(run, SingleRun)
        return run

    return ClaimFrames(load_manifest(folder), item, finished, budget)


def watched(make: Callable[[], Frames], log: Sequence[Event]) -> Iterator[Browser]:
    """The watched page after each event, which has to equal one that is loaded then."""
    page = make()
    browser = Browser(page)
    for event in log:
        for frame in page.feed(event):
            browser.show(frame)
        assert browser.shown == Browser(page).shown
        yield browser


def tool_mad() -> list[Event]:
    def at(round_: int, agent: str) -> list[Event]:
        return [
            CallFinished(agent=agent, round=round_, task="WriteQuery", key=f"{agent}{round_}", outputs=()),
            QueryWritten(agent=agent, round=round_, query="when was it lit"),
            EvidenceFound(agent=agent, round=round_, tool="t", query="q", passages=(PASSAGE,), key=f"e{agent}{round_}"),
            EvidenceMissing(agent=agent, round=round_, tool="web", query="q", why="timed out", key=f"m{agent}{round_}"),
            Answered(agent=agent, round=round_, text="It was lit.", label=S),
            Scored(agent=agent, round=round_, score=Score(metric=Metric.FAITHFULNESS, value=0.5)),
        ]

    return [
        ClaimStarted(claim=CLAIM, method="tool-mad", settings={}, backend="b", seed=0),
        *at(1, "corpus"),
        *at(1, "keywords"),
        RoundEnded(round=1, labels=(S, S), agreed=True, accepted=False, why=("faithfulness is too low",)),
        *at(2, "keywords"),
        *at(2, "corpus"),
        RoundEnded(round=2, labels=(S, S), agreed=True, accepted=True),
        Judged(text="so be it", label=S),
        ClaimEnded(verdict=Verdict(claim=CLAIM, label=S, decided_by="judge", rounds=2)),
    ]


def teams() -> list[Event]:
    return [
        ClaimStarted(claim=CLAIM, method="dual-position", settings={}, backend="b", seed=0),
        Spoke(agent="negative-rebutter", round=1, text="not so"),
        Spoke(agent="affirmative-rebutter", round=1, text="so it is"),
        Refereed(agent="factual-referee", round=1, vote="affirmative", confidence=0.7),
        RoundVoted(round=1, winner="affirmative", consensus=0.7, masses={"affirmative": 0.7}, weights={}),
        ClaimEnded(verdict=Verdict(claim=CLAIM, label=S, decided_by="referees", rounds=1)),
    ]


def chain() -> list[Event]:
    answers = [Answered(agent=name, round=1, text=name, label=S) for name in ("skeptic", "trust", "leader")]
    started = ClaimStarted(claim=CLAIM, method="markov-debate", settings={}, backend="b", seed=0)
    return [started, *answers, ClaimEnded(verdict=Verdict(claim=CLAIM, label=S, decided_by="leader", rounds=1))]


def steps() -> list[Event]:
    triplet = Triplet(subject="lighthouse", relation="was lit in", object="1871")
    return [
        ClaimStarted(claim=CLAIM, method="mermaid", settings={}, backend="b", seed=0),
        Decomposed(agent="decomposer", triplets=(triplet,), topics=(), entities=("lighthouse",)),
        Stepped(agent="executor", round=1, thought="look it up", tool="search", arguments={"query": "lighthouse"}),
        EvidenceFound(agent="executor", round=1, tool="search", query="lighthouse", passages=(PASSAGE,), key="k"),
        Stepped(agent="executor", round=2, answer=S),
        ClaimEnded(verdict=Verdict(claim=CLAIM, label=S, decided_by="executor", rounds=2)),
    ]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (tool_mad(), ["Round 1 has ended: All agree, but: faithfulness is too low.", "Round 2 has ended: All agree."]),
        (steps(), ["Step 1 has begun.", "Step 2 has begun."]),
    ],
    ids=["rounds", "steps"],
)
def test_a_line_is_announced_for_each_round_or_step(tmp_path: Path, log: list[Event], said: list[str]) -> None:
    pages = [page.shown for page in watched(lambda: page_of(written(tmp_path / "run", [CLAIM], log)), log)]
    lines = html.fromstring(pages[-2]).xpath("//ol[@aria-live='polite']/li")
    assert [line.text_content() for line in lines] == said


@pytest.mark.parametrize("log", [tool_mad(), teams(), chain(), steps()], ids=["tool-mad", "teams", "chain", "steps"])
def test_a_page_loaded_again_equals_the_one_that_was_watched(tmp_path: Path, log: list[Event]) -> None:
    folder = written(tmp_path / "run", [CLAIM], log)
    *_, last = watched(lambda: page_of(folder), log)
    assert "finished" in last.shown
    assert len(log) <= last.added + last.replaced + 2


def test_while_they_argue_there_are_sides_sources_failures_and_cost_and_no_verdict(tmp_path: Path) -> None:
    log = tool_mad()
    folder = written(tmp_path / "run", [CLAIM], log, stability=[0.6, 0.2], priced=True)
    pages = [page.shown for page in watched(lambda: page_of(folder, budget=Budget(40)), log)]
    arguing = html.fromstring(pages[-2])
    rounds = arguing.xpath("//section[@class='round']")
    assert [each.xpath("./h3")[0].text_content() for each in rounds] == ["Round 1", "Round 2"]
    assert [name.text_content() for name in rounds[1].xpath(".//div[@class='turn']/p[1]/b")] == ["corpus", "keywords"]
    source = " ".join(arguing.xpath("//ol[@id='c0-sources']")[0].text_content().split())
    assert "Cape Ansel · A newspaper · published 1990" in source
    assert "timed out" in arguing.xpath("//ul[@id='c0-failed']")[0].text_content()
    assert "not above the threshold 0.6" in rounds[0].text_content()
    assert rounds[0].xpath(".//*[@class='limit']/@x1")[0] == "60.0"
    assert "4 calls of 40" in arguing.xpath("//ul[@id='c0-cost']")[0].text_content()
    assert len(arguing.xpath("//ol[@aria-live='polite']/li")) == 2
    assert not arguing.xpath("//*[contains(@class, 'verdict')]")
    assert "so be it" not in pages[-2]
    finished = html.fromstring(pages[-1])
    assert [each.get("class") for each in finished.xpath("//section[contains(@class, 'side')]")] == [
        "side for",
        "side against",
    ]
    assert "redargue replay" in finished.text_content()


def test_a_turn_that_grows_leaves_the_rest_of_its_round_alone(tmp_path: Path) -> None:
    log = tool_mad()
    page = page_of(written(tmp_path / "run", [CLAIM], log))
    for event in log[:9]:
        page.feed(event)
    changed = [html.fragment_fromstring(str(frame.html)).get("class") for frame in page.feed(log[9])]
    assert "round" not in changed


def test_a_claim_that_is_begun_again_is_shown_from_its_beginning(tmp_path: Path) -> None:
    log = tool_mad()
    folder = written(tmp_path / "run", [CLAIM], log)
    again = [*log[:6], *log]
    *_, last = watched(lambda: page_of(folder), again)
    *_, once = watched(lambda: page_of(folder), log)
    assert last.shown == once.shown


def batch_of(folder: Path) -> BatchFrames:
    return BatchFrames(SingleRun(folder, load_manifest(folder), {}))


@pytest.mark.parametrize("make", [run_of, text_of])
def test_a_table_of_claims_changes_row_by_row(tmp_path: Path, make: Callable[[Path, Sequence[str]], Path]) -> None:
    folder = make(tmp_path / "run", ["one here", "two here", "three here"])
    page = batch_of(folder)
    browser = Browser(page)
    counts = []
    for event in read_events(folder):
        for frame in page.feed(event):
            browser.show(frame)
        counts.append(browser.body.xpath("string(//p[@id='progress'])"))
    assert list(dict.fromkeys(counts)) == [f"{done} of 3 claims finished" for done in range(4)]
    rows = {row.get("id"): row.text_content() for row in browser.body.xpath("//tbody[@id='rows']/tr")}
    assert rows == {row.get("id"): row.text_content() for row in Browser(page).body.xpath("//tbody[@id='rows']/tr")}


def test_the_claims_of_a_text_are_shown_by_risk_once_all_have_ended(tmp_path: Path) -> None:
    folder = text_of(tmp_path / "run", ["one here", "two here", "three here"])
    browser, seen = Browser(page := batch_of(folder)), []
    for event in read_events(folder):
        for frame in page.feed(event):
            browser.show(frame)
        seen.append(len(browser.body.xpath("//*[@id='risks']//table")))
    assert (sum(seen), seen[-1]) == (seen.count(1), 1)
    assert seen[0] == 0
    links = browser.body.xpath("//*[@id='risks']//th/a/@href")
    assert sorted(links) == [f"/runs/run/claims/{number}" for number in (1, 2, 3)]
    assert browser.body.xpath("string(//*[@id='risks'])") == Browser(page).body.xpath("string(//*[@id='risks'])")


def test_what_the_bundled_models_spend_is_shown_only_against_a_limit() -> None:
    spent = Usage(calls=3, prompt_tokens=900)
    assert [meter.words for meter in meters(spent, None, local=True)] == ["0 searches"]
    assert [meter.words for meter in meters(spent, Budget(calls=4), local=True)] == ["3 calls of 4", "0 searches"]
    assert "price unknown" in [meter.words for meter in meters(spent, None)]


@pytest.mark.parametrize("after", [0, 3])
def test_a_late_reader_is_sent_the_last_replacement_of_an_element_and_sees_the_same_page(
    tmp_path: Path, after: int
) -> None:
    folder = text_of(tmp_path / "run", ["one here", "two here", "three here"])
    browser, log, lines = Browser(batch_of(folder)), FrameLog(batch_of(folder)), LogReader(folder).read()
    early = [frame for line in lines for frame in log.frames(line)]
    late = [frame for line in lines[after:] for frame in log.frames(line)]
    texts = [sum('<div id="text">' in frame.html for frame in frames) for frames in (early, late)]
    assert texts == [3, 1]
    for frame in [*early[:after], *late]:
        browser.show(frame)
    loaded = Browser(log.page).body
    for element in ("text", "progress", "cost", "c-0", "c-1", "c-2"):
        shown, now = (page.xpath("string(//*[@id=$id])", id=element) for page in (browser.body, loaded))
        assert shown == now


def row(item: int, *rounds: tuple[str | None, ...], **verdict: Any) -> BatchRow:
    given = {"label": S, "meaning": "supported", **verdict}
    return BatchRow(item, f"Claim {item}", Verdict(claim=CLAIM, round_labels=rounds, usage=Usage(calls=1), **given))


def test_a_claim_that_only_one_run_has_finished_has_neither_the_same_labels_nor_different_ones(tmp_path: Path) -> None:
    runs = [
        load_run(run_of(tmp_path / name, claims))
        for name, claims in (("a", ["one here", "two here"]), ("b", ["one here"]))
    ]
    comparison = compare_verdicts([run for run in runs if isinstance(run, SingleRun)])
    assert {claim.claim: claim.labels for claim in comparison.claims} == {"one here": "the same", "two here": "–"}


def test_claims_about_which_agents_disagreed_come_first_then_the_refuted() -> None:
    rows = [
        row(0, (S, S)),
        row(1, (S, R), (S, S)),
        row(2, (S, R)),
        row(3, (S, S), label=R, meaning="refuted"),
        BatchRow(4, "Claim 4", None),
    ]
    assert [row.item for row in select(rows, Filter()).rows] == [2, 1, 3, 0, 4]
    assert [row.item for row in select(rows, Filter(order="number")).rows] == [0, 1, 2, 3, 4]
    assert [row.item for row in select(rows, Filter(disagreed=True)).rows] == [2, 1]
    assert [row.item for row in select(rows, Filter(outcome="unfinished")).rows] == [4]
    assert [row.item for row in select(rows, Filter(words="claim 3")).rows] == [3]
    assert disagreement(row(5, (S, None)).verdict) == 0


def test_the_table_shows_no_confidence_of_a_claim_that_the_embedded_reader_leaves_open() -> None:
    sure = {"backend": "embedded", "confidence": 0.979}
    assert row(0, **sure).numbers[0] == "0.97"
    assert row(1, label="NOT ENOUGH INFO", meaning="not_enough", **sure).numbers[0] == "–"


HARDENED = [name for name in methods if "hardened" in methods[name].profiles]


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback(agreeing) as running:
        yield running


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("name", HARDENED)
async def test_runs_of_every_method_are_shown_alike_live_and_loaded(
    tmp_path: Path, name: str, server: Loopback
) -> None:
    service = Service(name="model", url=f"{server.url}/v1")
    backend = ChatBackend(Transport(), service, "for-model", embedding_model="loopback-embedding")
    with Verifier(method=name, backend=backend, store="starter", folder=tmp_path / "run", claims=[CLAIM]) as verifier:
        await verifier.verify(CLAIM)
    log = list(read_events(tmp_path / "run"))
    *_, last = watched(lambda: page_of(tmp_path / "run"), log)
    assert "finished" in last.shown
