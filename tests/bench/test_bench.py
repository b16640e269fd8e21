"""A bench from the outside: one sample, several systems, one world of evidence; on again, scored again."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from redargue.assembly import Parts
from redargue.bench.compare import ComparedSystem, Comparison, compare, make_row, read_results
from redargue.bench.datasets import GoldEvidence, load
from redargue.bench.harness import Bench, reopen
from redargue.bench.metrics import MetricValue
from redargue.bench.reports.publishing import table_latex
from redargue.bench.reports.tables import print_comparison, results_table
from redargue.bench.scoring import score
from redargue.bench.system import System, chosen_system
from redargue.cli.app import run
from redargue.errors import BadReply, RecordError, UsageError
from redargue.events import canonical, passages_of
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.methods.tool_mad.settings import ToolMadSettings
from redargue.net.transport import Service, Transport
from redargue.reports.table import Column, Table, number
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.runs.record import read_events
from redargue.spec import RunSpec
from redargue.verdicts import ErrorInfo
from redargue.verifier import Verifier
from support.debates import ShelfTool

pytest.importorskip("scipy", reason="needs the extra lab")

pytestmark = pytest.mark.anyio

ROWS = [
    {"claim": "The bridge at Orvell was opened in 1889.", "label": "SUPPORTS"},
    {"claim": "The bridge at Orvell was opened in 1920.", "label": "REFUTES"},
    {"claim": "The mayor of Orvell owns a red bicycle.", "label": "NOT ENOUGH INFO"},
    {"claim": "The bridge at Orvell is made of stone.", "label": "SUPPORTS"},
]
TEXT = "The stone bridge at Orvell was opened in May 1889. It crosses the river Velt and carries one lane of traffic."
MAPPING = "claim=claim,label=label,evidence=evidence"
FROZEN = "tool-mad:debaters=frozen+frozen-words"
READER = "single-reader:tools=frozen"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**row, "evidence": TEXT}) + "\n" for row in ROWS))
    return path


def lengthen(file: Path) -> None:
    file.write_text(file.read_text() + json.dumps({**ROWS[0], "claim": "Another claim.", "evidence": TEXT}) + "\n")


def bench(folder: Path, file: Path, *specs: str) -> Bench:
    loaded = load("table", file, options={"mapping": MAPPING})
    systems = [System.parse(spec) for spec in specs]
    return Bench(folder, loaded.examples, systems, sample=loaded.sample.model_dump(mode="json"))


def printed(comparison: Comparison) -> str:
    text = StringIO()
    print_comparison(comparison, file=text)
    return text.getvalue()


def rows_of(comparison: Comparison, title: str) -> list[dict[str, str]]:
    """The rows of a table by column."""
    (table,) = (table for table in results_table(comparison) if table.title == title)
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row, strict=True)) for row in table.text_rows]


def test_a_system_is_read_and_its_lists_have_a_plus() -> None:
    each = System.parse("tool-mad@paper:debaters=corpus+wikipedia,rounds=1")
    assert (each.method, each.profile) == ("tool-mad", "paper")
    assert ToolMadSettings(**each.settings).debaters == ("corpus", "wikipedia")
    assert each.slug == "tool-mad-paper-debaters-corpus-wikipedia-rounds-1"
    assert System.parse("single-reader:tools=debated").tools == ("debated",)
    assert System.parse("mermaid:tools=,memory=off").tools == ()


def test_a_profile_given_as_a_setting_is_refused_with_the_spelling_of_a_system() -> None:
    with pytest.raises(UsageError, match="use --profile paper, or in redargue bench run folk@paper"):
        System.parse("folk:profile=paper")


def test_a_setting_has_one_spelling_and_other_settings_another_folder() -> None:
    dashed, plain = (System.parse(f"single-reader:tools=frozen,{name}=3#2") for name in ("top-k", "top_k"))
    assert dashed == plain
    assert System.parse(f"single-reader:tools=debated~{FROZEN},top-k=3").reads == f"{FROZEN},top_k=3"
    specs = [f"{FROZEN},relevance_threshold={value}" for value in ("0.2", "-0.2")]
    assert len({System.parse(spec).slug for spec in specs}) == 2


@pytest.mark.parametrize(
    "spec",
    [
        "tool-mda",
        "tool-mad@papr",
        "tool-mad:rounds",
        "tool-mad:rouns=1",
        "tool-mad:rounds=x",
        "single-reader:tools=corpus~mermaid",
    ],
)
def test_a_system_that_cannot_be_meant_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        System.parse(spec)


@pytest.mark.slow
async def test_systems_share_the_sample_and_the_reader_reads_what_the_debate_read(tmp_path: Path, file: Path) -> None:
    each = bench(tmp_path / "b", file, FROZEN, "single-reader:tools=debated")
    debate, reader = each.systems
    with pytest.raises(RecordError, match="never finished"):
        await each.run(reader)
    outcomes = await each.run(debate, concurrency=2)
    assert [verdict.label for verdict, _ in outcomes][:2] == ["SUPPORTS", "REFUTES"]
    assert all(seconds > 0 for _, seconds in outcomes)
    await each.run(reader)
    read_by = each.passages_read(debate)
    found = [event.passages for event in read_events(each.folder / reader.slug) if event.kind == "evidence_found"]
    assert [{passage.sha256 for passage in passages} for passages in read_by] == [
        {passage.sha256 for passage in passages} for passages in found
    ]


async def test_systems_that_searched_another_revision_of_a_corpus_are_not_compared(tmp_path: Path, file: Path) -> None:
    each = bench(tmp_path / "b", file, "single-reader:tools=corpus", "single-reader:tools=keywords")
    each.spec = RunSpec(store=str(store := tmp_path / "corpus.db"))
    with open_corpus(store, write=True) as corpus:
        corpus.add([Document(id="bridge", text=TEXT)])
        await each.run(each.systems[0])
        corpus.add([Document(id="mayor", text="The mayor of Orvell has no bicycle.")])
    await each.run(each.systems[1])
    with pytest.raises(UsageError, match="'corpus' changed between 'single-reader:tools=corpus' and"):
        compare(each)


@pytest.mark.slow
async def test_tools_of_mcp_servers_are_for_the_methods_that_call_them(tmp_path: Path, file: Path) -> None:
    class Search(ShelfTool):
        parameters = {"properties": {"query": {"type": "string"}}, "required": ["query"]}

        async def call(self, arguments: Mapping[str, Any], *, search: Any) -> tuple[Passage, ...]:
            return await self.search(arguments["query"], 3, search=search)

    each = bench(tmp_path / "b", file, "mermaid:memory=off", "single-reader:tools=frozen")
    each.spec = RunSpec(mcp=("wikipedia",))
    shelf = Search("search_wikipedia", Passage(text=TEXT, title="Bridge"))
    each.parts = Parts(actions={"search_wikipedia": shelf})
    for system in each.systems:
        await each.run(system)
    mermaid, reader = (json.loads((each.folder / each_.slug / "run.json").read_text()) for each_ in each.systems)
    assert (list(mermaid["actions"]), list(mermaid["tools"])) == (["search_wikipedia"], [])
    assert list(reader["tools"]) == ["frozen"]
    assert shelf.queries
    assert each.revisions(each.systems[0]) == {}


async def test_a_reader_is_given_what_the_system_it_names_has_read(tmp_path: Path, file: Path) -> None:
    narrow = "single-reader:tools=frozen,top_k=1"
    each = bench(tmp_path / "b", file, "mermaid:tools=,memory=off", narrow, f"single-reader:tools=debated~{narrow}")
    reader = each.systems[2]
    assert (reader.method, reader.reads, reader.tools) == ("single-reader", narrow, ("debated",))
    with pytest.raises(RecordError, match="never finished") as refused:
        await each.run(reader)
    assert refused.value.hint == f"run {narrow!r} first: name it before"  # the same command would not go on
    for system in each.systems:
        await each.run(system)
    texts = [[[passage.text for passage in found] for found in each.passages_read(one)] for one in each.systems]
    assert texts[2] == texts[1] != texts[0]
    lone = bench(tmp_path / "lone", file, FROZEN, reader.spec)
    with pytest.raises(UsageError, match=f"'{narrow}' is not in this bench"):
        await lone.run(lone.systems[1])


@pytest.mark.slow
async def test_a_reader_is_given_what_a_debate_chose_and_not_all_that_it_found(tmp_path: Path, file: Path) -> None:
    loaded = load("table", file, options={"mapping": MAPPING})
    pages = tuple(Passage(text=f"The bridge at Orvell has {number} lamps.", title=str(number)) for number in range(9))
    examples = [example.model_copy(update={"passages": pages}) for example in loaded.examples]
    debate = System.parse("dual-position:tools=frozen+frozen-words,snippets=4")
    each = Bench(tmp_path / "b", examples, [debate], sample=loaded.sample.model_dump(mode="json"))
    await each.run(debate)
    found = {passage.sha256 for event in read_events(each.folder / debate.slug) for passage in passages_of(event)}
    for read in each.passages_read(debate):
        assert len({passage.title for passage in read}) == len(read) == 2
        assert {passage.sha256 for passage in read} < found


async def test_a_reader_is_told_when_what_it_read_was_found_anew(tmp_path: Path, file: Path) -> None:
    each = bench(tmp_path / "b", file, FROZEN, "single-reader:tools=debated")
    debate, reader = each.systems
    await each.run(debate)
    log = each.folder / debate.slug / "events.jsonl"
    whole = [json.loads(line) for line in log.read_text().splitlines()]
    failed = json.loads(ErrorInfo.of(BadReply("cannot be read", raw="")).model_dump_json())
    for event in whole:
        if event["item"] == 0 and event["kind"] == "claim_ended":
            event["verdict"] |= {"label": None, "error": failed}
    kept = [event for event in whole if event["item"] or event["kind"] == "claim_ended"]
    log.write_text("".join(json.dumps(event) + "\n" for event in kept))
    await each.run(reader)
    await each.run(debate)  # the claim in error is tried again, and something is found for it
    with pytest.raises(RecordError, match=r"were retried after.*\n.*remove the folder"):
        await each.run(reader)


async def test_a_bench_goes_on_adds_systems_and_keeps_its_sample(tmp_path: Path, file: Path) -> None:
    first = bench(tmp_path / "b", file, FROZEN)
    await first.run(first.systems[0])
    before = canonical(read_events(first.folder / first.systems[0].slug))
    more = bench(tmp_path / "b", file, FROZEN, "single-reader:tools=frozen")
    seen: list[int] = []
    for system in more.systems:
        await more.run(system, on_outcome=lambda item, outcome: seen.append(item))
    assert canonical(read_events(first.folder / first.systems[0].slug)) == before
    lengthen(file)
    with pytest.raises(
        UsageError, match=r"another sample: sha256: .* there, .* here; rows: 4 there, 5 here; .*labels: SUP"
    ):
        bench(tmp_path / "b", file, FROZEN)
    with pytest.raises(UsageError, match="twice"):
        bench(tmp_path / "c", file, FROZEN, FROZEN)


async def test_a_bench_has_one_run_for_two_spellings_and_refuses_one_folder_for_two_systems(
    tmp_path: Path, file: Path
) -> None:
    spec = "single-reader:tools=frozen,top_k=3"
    first = bench(tmp_path / "b", file, spec)
    await first.run(first.systems[0])
    listed = json.loads((first.folder / "bench.json").read_text())
    dashed = {**listed["contenders"][0], "spec": spec.replace("_", "-")}
    (first.folder / "bench.json").write_text(json.dumps({**listed, "contenders": [dashed, *listed["contenders"]]}))
    again = bench(tmp_path / "b", file, spec.replace("_", "-"))
    await again.run(System.parse(spec.replace("_", "-")))
    assert [row.spec for row in compare(reopen(first.folder, file)).rows] == [spec]
    assert chosen_system(spec.replace("_", "-"), [spec, FROZEN], where="--method") == spec
    one, two = (System(spec=f"nli:tools={tools}", method="nli") for tools in ("a-b", "a+b"))
    with pytest.raises(UsageError, match=r"runs of 'nli:tools=a-b' and 'nli:tools=a\+b' .* folder, 'nli-tools-a-b'"):
        Bench(tmp_path / "c", first.examples, [one, two], sample=first.sample)


async def test_the_comparison_has_every_figure_and_is_kept(tmp_path: Path, file: Path) -> None:
    each = bench(tmp_path / "b", file, FROZEN, "single-reader:tools=frozen")
    with pytest.raises(RecordError, match="no system"):
        compare(each)
    for system in each.systems:
        await each.run(system)
    result = compare(each, draws=100)
    assert [row.spec for row in result.rows] == [FROZEN, "single-reader:tools=frozen"]
    (pair,) = result.pairs
    assert pair.test.n == len(ROWS)
    assert pair.sight.warning
    debate = result.rows[0].said[0]
    assert debate.labels == (("SUPPORTS", "SUPPORTS"),)
    assert debate.quotes[0] > 0
    text = printed(result)
    assert "different models" not in text
    first, second = (row.model_copy(update={"model": f"{row.model}{at}"}) for at, row in enumerate(result.rows))
    told = printed(result.model_copy(update={"rows": (first, second)}))
    assert re.search(
        r"^The systems ran with different models: A embedded:\w.*0; B embedded:\w.*1\.$", told, re.MULTILINE
    )
    assert re.search(rf"^A +{re.escape(FROZEN)} ", text, re.MULTILINE)
    assert re.search(r"^A +B +[+-]\d\.\d{3} \(", text, re.MULTILINE)
    assert pair.sight.warning.split()[0] in text
    assert pair.left_out == 0
    assert "Left out" not in text


async def test_claims_that_the_budget_stopped_are_in_no_figure_of_a_pair_and_are_counted(
    tmp_path: Path, file: Path
) -> None:
    each = bench(tmp_path / "b", file, FROZEN, "single-reader:tools=frozen")
    rows = [make_row(each, system, await each.run(system), draws=100) for system in each.systems]
    stopped = [said.model_copy(update={"label": None, "error": "BudgetReached"}) for said in rows[1].said[1:]]
    scores = rows[1].scores.model_copy(update={"right": (rows[1].scores.right[0], False, False, False)})
    cut = rows[1].model_copy(update={"said": (rows[1].said[0], *stopped), "scores": scores})
    made = {row.slug: row for row in (rows[0], cut)}
    result = compare(each, made=made, draws=100)
    (pair,) = result.pairs
    assert (pair.left_out, pair.test.n, pair.difference.value) == (3, 1, 0)
    assert {flip.item for flip in pair.flips} <= {0}
    text = printed(result)
    assert "Left out" in text.split("Every two systems")[1].splitlines()[1]
    assert "the budget stopped in one of the two systems" in text
    none_left = cut.model_copy(update={"said": (stopped[0], *stopped)})
    (empty,) = compare(each, made=made | {none_left.slug: none_left}, draws=100).pairs
    assert (empty.left_out, empty.test.n, empty.difference.value) == (4, 0, None)


@pytest.mark.slow
async def test_rescoring_tells_other_thresholds_from_the_record_and_counts_what_it_cannot(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redargue.nli.backend.careful_weights", lambda: None)  # with it, a judge would be asked earlier
    each = bench(tmp_path / "b", file, f"{FROZEN},stable_by=scores")
    (debate,) = each.systems
    outcomes = await each.run(debate)
    again, lost = await each.rescore(debate, {})
    assert [verdict and verdict.label for verdict in again] == [outcome.verdict.label for outcome in outcomes]
    assert lost == 0
    strict, lost = await each.rescore(debate, {"faithfulness_threshold": 1.0})
    assert lost > 0  # debates that ended in the first round would have gone on
    assert strict.count(None) == lost
    loose, lost = await each.rescore(debate, {"faithfulness_threshold": 0.0, "relevance_threshold": -1.0})
    assert lost == 0
    assert all(
        verdict and verdict.rounds <= outcome.verdict.rounds for verdict, outcome in zip(loose, outcomes, strict=True)
    )


@pytest.mark.slow
def test_seeds_are_runs_of_their_own_and_their_flips_are_counted(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "b"
    command = ["bench", "run", "--dataset", "table", "--path", str(file), "--map", MAPPING, "--out", str(folder)]
    command += ["--method", FROZEN, "--method", "single-reader:tools=debated", "--seeds", "3", "--seed", "5", "-q"]
    assert run([*command, "--budget", "900calls"]) == 0
    told = capfd.readouterr().out
    assert re.search(rf"^{re.escape(FROZEN)} +5, 6, 7 +\d\.\d{{3}} ", told, re.MULTILINE)
    result = read_results(folder)
    assert [row.spec for row in result.rows[:3]] == [f"{FROZEN}#{seed}" for seed in (5, 6, 7)]
    assert [each.seeds for each in result.repeats] == [(5, 6, 7)] * 2
    assert result.repeats[0].stability.flipped.value == 0.0  # the embedded backend draws nothing
    assert [(pair.first, pair.second) for pair in result.pairs] == [(f"{FROZEN}#5", "single-reader:tools=debated#5")]
    assert json.loads((folder / result.rows[1].slug / "run.json").read_text())["spec"]["seed"] == 6
    assert run(["report", str(folder), "-f", "md"]) == 0
    report = capfd.readouterr().out
    assert "The same system with several seeds" in report
    assert f"--map {MAPPING} --method" in report
    assert "--budget 900calls" in report


async def test_a_run_with_the_seed_of_the_bench_and_one_that_names_it_are_one_seed(tmp_path: Path, file: Path) -> None:
    each = bench(tmp_path / "b", file, READER, f"{READER}#0", f"{READER}#1")
    for system in each.systems[:2]:
        await each.run(system)
    assert compare(each, draws=50).repeats == ()
    await each.run(each.systems[2])
    (repeat,) = compare(each, draws=50).repeats
    assert (repeat.spec, repeat.seeds, len(repeat.accuracies)) == (READER, (0, 1), 2)


@pytest.mark.slow
def test_a_system_that_is_added_leaves_the_others_in_the_table(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "b"
    command = ["bench", "run", "--dataset", "table", "--path", str(file), "--map", MAPPING, "--out", str(folder), "-q"]
    assert run([*command, "--method", FROZEN]) == 0
    assert run([*command, "--method", "single-reader:tools=frozen"]) == 0
    assert [row.spec for row in read_results(folder).rows] == [FROZEN, "single-reader:tools=frozen"]
    assert run([*command, "--method", "single-reader:tools=debated"]) == 0  # what the first system read
    before = (folder / "bench.json").read_text()
    assert run([*command, "--method", "single-reader:tools=debated", "--limit", "2"]) == 2
    assert run([*command, "--method", FROZEN, "--budget", "5"]) == 2
    assert (folder / "bench.json").read_text() == before
    assert all(row.scores.cost.peak_bytes for row in read_results(folder).rows)
    (folder / "results.json").unlink()
    capfd.readouterr()
    assert run(["bench", "compare", str(folder)]) == 2
    assert run(["bench", "compare", str(folder), "--path", str(file)]) == 0
    assert len(read_results(folder).rows) == 3
    capfd.readouterr()
    shutil.rmtree(folder / "single-reader-tools-debated")
    assert run(["bench", "compare", str(folder), "--path", str(file)]) == 0
    left_out = "left out, not finished or its record cannot be read: single-reader:tools=debated"
    assert left_out in capfd.readouterr().err
    assert len(read_results(folder).rows) == 2


@pytest.mark.parametrize("damaged", ["{", "[]", "{}", '{"sample": [], "contenders": []}'])
def test_a_damaged_description_is_an_error_that_says_so(
    tmp_path: Path, file: Path, damaged: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "bench.json").write_text(damaged)
    command = [
        "bench",
        "run",
        "--dataset",
        "table",
        "--path",
        str(file),
        "--map",
        MAPPING,
        "--out",
        str(tmp_path / "b"),
    ]
    rescoring = ["bench", "rescore", str(tmp_path / "b"), "--path", str(file), "--method", FROZEN]
    for each in (command, rescoring):
        assert run(each) == 2
        assert "is damaged" in capfd.readouterr().err


async def test_evidence_that_is_not_there_or_was_cut_off_is_not_read_as_if_it_were(tmp_path: Path, file: Path) -> None:
    loaded = load("table", file, options={"mapping": "claim=claim,label=label"})
    bare = Bench(tmp_path / "c", loaded.examples, [System.parse(FROZEN)], sample=loaded.sample.model_dump())
    with pytest.raises(UsageError, match=r"needs evidence, and .* has none"):
        await bare.run(bare.systems[0])
    assert not (tmp_path / "c").exists()
    each = bench(tmp_path / "b", file, FROZEN, "single-reader:tools=debated")
    each.spec = RunSpec(budget="5calls")
    outcomes = await each.run(each.systems[0])
    assert any(verdict.error for verdict, _ in outcomes)
    with pytest.raises(RecordError, match="ended in BudgetReached"):
        await each.run(each.systems[1])
    each.spec = RunSpec()
    for system in each.systems:
        assert not any(verdict.error for verdict, _ in await each.run(system))


async def test_what_was_never_run_is_not_called_rescored(tmp_path: Path, file: Path) -> None:
    each = bench(tmp_path / "b", file, FROZEN)
    with pytest.raises(RecordError, match="never finished"):
        await each.rescore(each.systems[0], {})


async def test_found_documents_are_compared_with_gold_ones(tmp_path: Path, file: Path) -> None:
    loaded = load("table", file, options={"mapping": MAPPING})
    passages = (Passage(document="d1", text=TEXT), Passage(document="d2", text="A bakery opened in Velt."))
    gold = (GoldEvidence(document="d1", element="0"),)
    examples = [
        each.model_copy(update={"passages": passages, "evidence": (gold,) * (at < 2)})
        for at, each in enumerate(loaded.examples)
    ]
    systems = [System.parse("single-reader:tools=frozen")]
    sample = loaded.sample.model_dump(mode="json")
    each = Bench(tmp_path / "b", examples, systems, sample=sample)
    await each.run(systems[0])
    figures = {figure.name: figure for figure in compare(each, draws=50).rows[0].retrieval}
    assert (figures["hit@1"].value, figures["hit@1"].n) == (1.0, 2)
    named = Bench(tmp_path / "b", examples, systems, sample=sample)
    named.relevant = {examples[3].id: frozenset(("d2",))}
    figures = {figure.name: figure for figure in compare(named, draws=50).rows[0].retrieval}
    assert (figures["hit@1"].value, figures["hit@3"].value, figures["mrr"].value) == (0.0, 1.0, 0.5)
    (cells,) = rows_of(compare(named, draws=50), "Retrieval of gold documents")
    assert cells["hit@1"] == "0.000"
    named.relevant = {examples[3].id: frozenset(("Velt_(town)",))}  # names that the corpus does not use
    (cells,) = rows_of(compare(named, draws=50), "Retrieval of gold documents")
    assert cells["hit"].startswith("undefined: no retrieved document has the id of a gold document")


def test_an_address_is_written_down_without_its_password(tmp_path: Path, file: Path) -> None:
    folder = tmp_path / "b"
    command = ["bench", "run", "--dataset", "table", "--path", str(file), "--map", MAPPING, "--out", str(folder)]
    run([*command, "--method", "single-reader:tools=frozen", "--base-url", "http://me:hunter2hunter2@127.0.0.1:9/v1"])
    kept = (folder / "bench.json").read_text()
    assert "127.0.0.1:9" in kept
    assert "hunter2" not in kept


@pytest.mark.slow
def test_a_bench_does_not_search_other_documents_than_the_data_sets_unasked(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    snapshots = Path(__file__).parent / "datasets" / "samples" / "snapshots.jsonl"
    command = ["bench", "run", "--dataset", "snapshots", "--path", str(snapshots), "-q", "--out", str(tmp_path / "b")]
    assert run([*command, "--method", "dual-position"]) == 2
    assert "dual-position:tools=frozen+frozen-words" in capfd.readouterr().err
    assert run([*command, "--method", "single-reader:tools=corpus"]) == 2
    assert "starter articles" in capfd.readouterr().err
    assert not (tmp_path / "b").exists()
    assert run([*command, "--method", "single-reader:tools=frozen"]) == 0
    table = ["bench", "run", "--dataset", "table", "--path", str(file), "--map", MAPPING, "-q"]
    assert run([*table, "--method", "single-reader", "--out", str(tmp_path / "c")]) == 2
    assert run([*table, "--method", "single-reader", "--out", str(tmp_path / "c"), "--store", "starter"]) == 0


@pytest.mark.slow
def test_the_command_runs_compares_lists_and_scores_again(
    tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "benches" / "one"
    command = ["bench", "run", "--dataset", "table", "--path", str(file), "--map", MAPPING, "--out", str(folder)]
    command += ["--method", FROZEN, "--method", "single-reader:tools=frozen", "-q"]
    assert run(command) == 0
    table = capfd.readouterr().out
    assert "Accuracy of each system" in table
    assert run(command) == 0  # goes on: nothing is left to do
    assert capfd.readouterr().out == table
    assert run(["bench", "compare", str(folder)]) == 0
    assert capfd.readouterr().out == table
    assert json.loads((folder / "results.json").read_text()) == read_results(folder).model_dump(mode="json")
    rescored = ["bench", "rescore", str(folder), "--path", str(file), "--method", FROZEN]
    assert run([*rescored, "--set", "relevance_threshold=-1", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["would_need_calls"] == 0
    assert run([*rescored[:-1], "mermaid"]) == 2
    assert "no system 'mermaid' in this bench" in capfd.readouterr().err
    assert reopen(folder, file).examples[0].claim.text == ROWS[0]["claim"]
    assert run(["bench", "compare", str(tmp_path)]) == 2


def test_a_label_in_brackets_is_not_taken_for_an_option_of_the_row_before_it() -> None:
    made = table_latex(Table("t", (Column("Gold"), number("yes")), (("[no]", 1), ("yes", 2))), "t")
    assert "{}[no] & 1 \\\\\nyes & 2" in made


@pytest.mark.slow
def test_words_for_labels_and_files_for_a_paper(tmp_path: Path, file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.csv"
    words = {"SUPPORTS": "right", "REFUTES": "wrong", "NOT ENOUGH INFO": "open"}
    lines = [f'"{row["claim"]}",{words[row["label"]]},"{TEXT}"' for row in ROWS]
    own.write_text("\n".join(["claim,label,evidence", *lines]) + "\n")
    folder = tmp_path / "bench"
    command = ["bench", "run", "--dataset", "table", "--path", str(own), "--map", MAPPING, "-q", "--out", str(folder)]
    command += ["--method", "single-reader:tools=frozen", "--method", FROZEN]
    assert run(command) == 2
    assert "label: expected one of SUPPORTS, REFUTES" in capfd.readouterr().err
    command += ["--labels", "right=SUPPORTS,wrong=REFUTES,open=NOT ENOUGH INFO"]
    assert run(command) == 0
    assert "Gold labels in the sample: 2 right, 1 wrong, 1 open" in capfd.readouterr().out
    assert run(["bench", "compare", str(folder), "--tables", str(tmp_path / "paper")]) == 0
    table = list(csv.DictReader((tmp_path / "paper" / "accuracy-of-each-system.csv").read_text().splitlines()))
    figure = read_results(folder).rows[0].scores.figure("accuracy")
    assert [float(table[0][name]) for name in ("Accuracy", "Accuracy, low", "Accuracy, high")] == [
        figure.value,
        figure.low,
        figure.high,
    ]
    latex = (tmp_path / "paper" / "accuracy-of-each-system.tex").read_text()
    assert latex.count(r"\\") == 3
    assert r"A & single-reader:tools=frozen & " in latex
    assert r"95 \% bootstrap intervals" in latex
    assert {"every-two-systems-on-the-same-claims.tex", "accuracy-against-cost.csv"} <= {
        path.name for path in (tmp_path / "paper").iterdir()
    }
    (tmp_path / "taken").write_text("")
    assert run(["bench", "compare", str(folder), "--tables", str(tmp_path / "taken")]) == 2
    assert "cannot write tables to" in capfd.readouterr().err


async def test_triplets_are_drawn_once_and_their_judgements_are_kept(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    each = bench(tmp_path / "b", file, "mermaid:tools=frozen,memory=off", "single-reader:tools=frozen")
    for system in each.systems:
        await each.run(system)
    mermaid, reader = (str(each.folder / system.slug) for system in each.systems)
    sample = tmp_path / "triplets.jsonl"
    assert run(["bench", "triplets", mermaid, "-o", str(sample), "--count", "3"]) == 0
    rows = [json.loads(line) for line in sample.read_text().splitlines()]
    assert len(rows) == 3
    assert {row["claim"] for row in rows} <= {row["claim"] for row in ROWS}
    for row, judgement in zip(rows, ("right", "wrong", ""), strict=True):
        row |= {"judgement": judgement, "claim": row["claim"] + "\u2028"}  # a line separator in a claim ends no row
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    sample.write_text("".join(lines), encoding="utf-8")
    assert run(["bench", "triplets", mermaid, "-o", str(sample)]) == 0
    assert "3 triplets" in (out := capsys.readouterr().out)
    assert "2 judged; 50.0% right" in out
    assert run(["bench", "triplets", reader, "-o", str(tmp_path / "none.jsonl")]) == 2


def test_metrics_have_the_names_of_their_data_sets_and_labels_stay_as_they_are() -> None:
    row = ComparedSystem(spec="a", slug="a", scores=score([], []), errors=0, said=())
    names = ("averitec-score-without-wordnet", "hover-score", "f1 NOT_SUPPORTED")
    official = tuple(MetricValue(name=name, value=1.0, n=1) for name in names)
    scored = row.model_copy(update={"scores": row.scores.model_copy(update={"official": official})})
    (shown,) = (t for t in results_table(Comparison(sample={}, claims=(), rows=(scored,))) if "metric" in t.title)
    titles = [column.title for column in shown.columns[2:]]
    assert titles == ["AVeriTeC score without WordNet", "HoVer score", "F1 NOT_SUPPORTED"]


def test_the_passages_of_a_bench_cost_nothing_so_that_a_models_price_is_known(file: Path) -> None:
    service = Service(name="model", url="http://127.0.0.1:9", key="k")
    backend = ChatBackend(Transport(), service, "gpt-4o-mini")
    passages = load("table", file, options={"mapping": MAPPING}).examples[0].passages
    evidence = {name: FixedPassages([passages], name=name) for name in ("frozen", "debated")}
    spec = RunSpec(method="single-reader", budget="0.50usd", settings={"tools": ("frozen", "debated")})
    with Verifier(spec, parts=Parts(backend=backend, evidence=evidence)) as verifier:
        assert verifier.priced
