"""Published tables by command: the paper's figures as data, ours from runs, and what cannot be compared in words."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from redargue.bench.datasets import Example
from redargue.bench.tables import AgentAnswer, PublishedCell, PublishedRow, find_table, papers, parse
from redargue.bench.tables.comparison import compare_table
from redargue.bench.tables.measures import measure_cell
from redargue.bench.tables.runner import Runner, TableChoice
from redargue.claims import Claim
from redargue.cli.app import run
from redargue.errors import UsageError
from redargue.files import home
from redargue.methods.base import methods
from redargue.retrieval.tools import tools
from redargue.spec import RunSpec
from redargue.verdicts import Metric, Verdict
from support.loopback import Loopback
from support.scripts import agreeing, disagreeing

pytest.importorskip("scipy", reason="needs the extra lab")

PAGES = {
    "Orvell Bridge": "The stone bridge at Orvell was opened in May 1889.",
    "Velt": "Velt is a river in the north of Orvell.",
    "Marta Quill": "Marta Quill was a painter. She was born in Orvell in 1902.",
}
CLAIMS = [
    ("The bridge at Orvell was opened in 1889.", "supports", "Orvell Bridge"),
    ("Marta Quill was a composer.", "refutes", "Marta Quill"),
    ("The Velt is a river.", "supports", "Velt"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with three claims of FEVEROUS' sentence-only form and two of PubMedQA's, written for this test."""
    folder = tmp_path / "data" / "benchmarks"
    rows = [
        {"id": at, "claim": claim, "label": label, "challenge": "Other", "evidence": f"{page}\t{PAGES[page]}"}
        for at, (claim, label, page) in enumerate(CLAIMS)
    ]
    articles = {
        str(100 + at): {
            "QUESTION": f"Does {what} mend bones?",
            "CONTEXTS": [f"Forty patients were given {what}.", f"Bones mended faster with {what}."],
            "LABELS": ["METHODS", "RESULTS"],
            "MESHES": [],
            "YEAR": "2012",
            "final_decision": "yes",
            "LONG_ANSWER": f"We conclude that {what} does.",
        }
        for at, what in enumerate(("singing", "sleeping"))
    }
    abstract = {"doc_id": 7, "title": "Bones", "abstract": ["Bones mend."], "structured": False}
    for name, text in (
        ("feverous/dev.json", json.dumps(rows)),
        ("pubmedqa/ori_pqal.json", json.dumps(articles)),
        ("scifact/corpus.jsonl", json.dumps(abstract) + "\n"),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    return folder.parent


@pytest.fixture
def command(data: Path, tmp_path: Path) -> list[str]:
    common = ["--data", str(data), "--half", "all", "--offline", "-q", "--json", "--out", str(tmp_path / "runs")]
    return ["bench", "table", *common]


def printed(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_every_average_that_is_printed_is_the_mean_of_its_row() -> None:
    for table in (each for paper in papers() for each in paper.tables if each.average):
        for row in table.rows:
            *figures, average = map(float, row.paper or ("0",) * (len(table.sets) + 1))
            assert sum(figures) / len(figures) == pytest.approx(average, abs=0.08), (table.name, row.name)


def test_every_system_of_every_table_can_be_meant_and_names_known_tools() -> None:
    for paper in papers():
        runner = Runner(paper, TableChoice(out=Path("unused")), lambda name, total: pytest.fail(name), pytest.fail)
        for table in paper.tables:
            for row in table.rows:
                for template in (row.method or table.method, row.against):
                    for name in table.sets or tuple(paper.sets)[:1]:
                        if template:
                            spec = runner.spec(template, paper.sets[name])
                            assert spec.partition("@")[0] in methods
        roles = {tool for each in paper.sets.values() for tool in runner.roles(each).values()}
        assert roles - {"frozen", "frozen-words"} <= set(tools)


def test_papers_that_mean_different_data_by_one_name_have_folders_of_their_own() -> None:
    places: dict[tuple[str, str], set[str]] = {}
    for paper in papers():
        for name, each in paper.sets.items():
            places.setdefault((name, each.dataset), set()).add(f"{each.path} {each.files} {each.options}")
    assert [name for name, found in places.items() if len(found) > 1] == []


def test_tables_that_cannot_be_meant_are_refused_and_say_where() -> None:
    head = 'claims = "c"\nmodel = "m"\n[corpora]\n[sets.a]\ntitle = "A"\ndataset = "fever"\npath = "a"\n'
    table = head + '[tables.t]\nlabel = "T"\ntitle = "t"\nsets = ["a"]\nrows = [{name = "r", %s}]\n'
    assert parse(table % 'paper = ["1"]', "x.toml").tables[0].rows[0].paper == ("1",)
    for row, why in (
        ('paper = ["1", "2"]', "2 figures for 1 columns"),
        ('measure = "gain"', "`against` is required for gains"),
        ('measure = "gane"', "rows, 0, measure"),
    ):
        with pytest.raises(UsageError, match=why):
            parse(table % row, "x.toml")
    with pytest.raises(UsageError, match="undefined names: b"):
        parse((table % 'paper = ["1"]').replace('["a"]', '["b"]'), "x.toml")
    with pytest.raises(UsageError, match="not TOML"):
        parse("=", "x.toml")
    with pytest.raises(UsageError, match="did you mean 'tool-mad-table-3'"):
        find_table("tool-mad-tabel-3")


@pytest.mark.slow
def test_ours_stands_beside_the_papers_and_what_is_not_there_is_said(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "tool-mad-table-3"]) == 0
    (table,) = printed(capfd)
    rows = {row["name"]: row for row in table["rows"] if row["figures"]}
    assert {"+ MADKE", "+ Single Agent (ReAct)", "+ Tool-MAD", "One reader, one search a tool (ours)"} <= rows.keys()
    for name in ("One reader of what Tool-MAD read (ours)", "As many answers as Tool-MAD usually has calls (ours)"):
        assert rows[name]["figures"][1]["n"] == 3
    ours = rows["+ Tool-MAD"]
    assert ours["paper"] == ["73.0", "71.5", "77.5", "62.0", "71.0"]
    assert [each is not None for each in ours["figures"]] == [False, True, False, False, True]
    assert ours["figures"][1]["n"] == 3
    assert ours["ours"][4].endswith("(of 1)")
    assert ours["specs"] == ["", "tool-mad@hardened:debaters=corpus+keywords", "", ""]
    ours = {row["name"]: row["ours"] for row in reversed(table["rows"])}
    assert ["not here yet"] not in ours.values()  # every row has its method by now
    assert ours["GPT-4o"] == ["--model with that model"]
    for name in ("GPT-4o-mini", "+ CoT (Zero-shot)", "+ MAD", "No search (ours)"):
        assert ours[name] == ["needs a language model: --model"]
    notes = "\n".join(table["notes"])
    for said in (
        "FEVER: no file 'benchmarks/fever/paper_test.jsonl'",
        "FEVEROUS: 3 claims; RAG is 'corpus', SEARCH 'keywords' in place of Tavily; claims whose evidence",
        "FAVIQ: no file",
        "embedded backend (small models, no language model)",
        "GPT-4o-mini",
        "not comparable with the paper's",
        "'as many answers': the embedded models do not sample",
        "at most 300 claims a data set",
    ):
        assert said in notes


@pytest.mark.slow
def test_a_cell_is_run_once_whatever_tables_show_it(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "tool-mad-figure-9", "--set", "feverous"]) == 0
    (table,) = printed(capfd)
    assert [row["name"] for row in table["rows"]] == ["with", "without", "gain"]
    assert table["rows"][2]["paper"] == ["+2.5"]
    assert table["rows"][2]["figures"][0]["name"] == "gain"
    before = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("events.jsonl")}
    assert len(before) == 2
    more = ["tool-mad-figure-9", "tool-mad-table-4", "tool-mad-figure-3", "tool-mad-figure-11", "--set", "feverous"]
    assert run([*command, *more]) == 0
    assert len(printed(capfd)) == 4
    after = {path: path.read_bytes() for path in (tmp_path / "runs").rglob("events.jsonl")}
    assert after.items() > before.items()
    assert len(after) == 4  # both figures of scores show debates in which they decide (stable_by=scores)
    folder = str(next(iter(after)).parent.parent)
    assert run(["bench", "compare", folder]) == 0
    assert "tool-mad@hardened:debaters=corpus+keywords" in capfd.readouterr().out
    assert run(["report", folder, "-f", "md"]) == 0


@pytest.mark.slow
def test_three_debaters_pairs_and_medical_questions_run(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "tool-mad-acl-table-3", "tool-mad-acl-figure-4", "--set", "feverous"]) == 0
    pairs, judged = printed(capfd)
    assert pairs["rows"][3]["specs"] == ["tool-mad@acl:debaters=corpus+keywords+none"]
    assert all(row["figures"][0]["value"] is not None for row in pairs["rows"])
    assert all(row["figures"][0]["undefined"] for row in judged["rows"])  # the debaters never came to differ
    assert any(note.startswith("FEVEROUS: the judge never decided") for note in judged["notes"])
    assert any("no language model), profile 'acl'; at most" in note for note in judged["notes"])
    assert run([*command, "tool-mad-table-5"]) == 0
    (medical,) = printed(capfd)
    ours = next(row for row in medical["rows"] if row["name"] == "Tool-MAD")
    assert ours["specs"] == ["", "tool-mad@hardened:debaters=corpus+keywords,summarised=keywords"]
    assert ours["figures"][1]["n"] == 2
    (index,) = (home() / "bench-corpora").glob("pubmed-*.db")
    assert not index.with_suffix(".new").exists()


def test_what_each_method_does_is_read_off_its_configuration(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "tool-mad-table-2"]) == 0
    (table,) = printed(capfd)
    ours = {row["name"]: row["ours"] for row in table["rows"]}
    assert ours["CoT (Zero-shot)"] == ["O", "X", "X", "X"]
    assert ours["Tool-MAD"] == ["O", "O", "O", "O"]
    assert ours["Single-Agent (ReAct)"] == ["O", "X", "O", "O"]
    assert ours["One reader (ours)"] == ["O", "X", "O", "X"]


def test_tables_are_listed_and_printed_and_mistakes_are_refused(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "table"]) == 0
    assert "tool-mad-acl-figure-4: ACL Figure 4, The consistency score and the judge (%)" in capfd.readouterr().out
    assert run([*[each for each in command if each != "--json"], "tool-mad-table-3", "--set", "averitec"]) == 0
    assert re.search(r"^\+ Tool-MAD +paper   62\.0$", capfd.readouterr().out, re.MULTILINE)
    for more, why in (
        (["tool-mad-table-3", "--set", "fevr"], "no data set 'fevr'"),
        (["tool-mad-table-3", "--path", "fevr=x"], "no data set 'fevr'"),
        (["tool-mad-table-3", "--tool", "judge=x"], "unknown 'judge'"),
        (["tool-mad-table-3", "--tool", "rag"], "cannot read 'rag'"),
        (["table-3"], "unknown table 'table-3'"),
    ):
        assert run([*command, *more]) == 2
        assert why in capfd.readouterr().err


@pytest.mark.slow
def test_what_is_said_of_one_papers_data_sets_is_no_mistake_beside_another_paper(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    both = [*command, "tool-mad-table-4", "mermaid-table-3"]
    assert run([*both, "--store", "fever=wiki.db"]) == 0
    assert [table["name"] for table in printed(capfd)] == ["tool-mad-table-4", "mermaid-table-3"]
    assert run([*both, "--set", "fever"]) == 0
    assert [table["columns"] for table in printed(capfd)] == [["FEVER"]]
    assert run([*both, "--set", "fevre"]) == 2
    assert "no data set 'fevre'" in capfd.readouterr().err


def test_a_set_that_lies_elsewhere_and_a_corpus_of_ones_own_are_taken(
    data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    claims = tmp_path / "faviq.jsonl"
    row = {"id": "1", "claim": "the velt is a river.", "label": "SUPPORTS"}
    evidence = {"id": "9", "title": "Velt", "text": PAGES["Velt"]}
    claims.write_text(json.dumps({**row, "positive_evidence": evidence, "negative_evidence": evidence}) + "\n")
    store = str(tmp_path / "own.db")
    assert (
        run(["corpus", "add", str(data / "benchmarks/feverous/dev.json"), "--dataset", "feverous", "--store", store])
        == 0
    )
    common = ["--path", f"faviq={claims}", "--half", "all", "--offline", "-q", "--json", "--out", str(tmp_path / "r")]
    capfd.readouterr()
    assert run(["bench", "table", "tool-mad-table-4", "--set", "faviq", *common]) == 0
    assert "nothing to search: --store faviq=CORPUS" in "\n".join(printed(capfd)[0]["notes"])
    assert run(["bench", "table", "tool-mad-table-4", "--set", "faviq", *common, "--store", f"faviq={store}"]) == 0
    (table,) = printed(capfd)
    assert table["rows"][0]["figures"][0]["n"] == 1
    assert any(note.endswith("; user-supplied corpus") for note in table["notes"])
    assert run(["corpus", "add", str(claims), "--dataset", "faviq", "--store", store]) == 2
    assert "unknown data set with documents 'faviq'" in capfd.readouterr().err


@pytest.mark.slow
def test_with_a_model_the_papers_own_setting_runs_live_search_included(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Loopback(agreeing) as server:
        for name in ("OPENAI_API_KEY", "TAVILY_API_KEY"):
            monkeypatch.setenv(name, "loopback-4711-abcdefgh")
        monkeypatch.setenv("REDARGUE_TAVILY_URL", f"{server.url}/tavily")
        endpoint = ["--model", "gpt-4o-mini", "--base-url", f"{server.url}/v1", "--tool", "search=tavily"]
        given = [each for each in command if each != "--offline"]
        monkeypatch.delenv("REDARGUE_OFFLINE")
        assert run([*given, *endpoint, "tool-mad-table-4", "--set", "feverous"]) == 0
        sent = server.counts.requests["chat"]
        (table,) = printed(capfd)
        assert table["rows"][0]["specs"] == ["tool-mad@paper:debaters=corpus+tavily"]
        assert table["rows"][0]["figures"][0]["value"] is not None
        assert any("gpt-4o-mini, profile 'paper'" in note for note in table["notes"])
        assert any(
            note.startswith("FEVEROUS: 3 claims; RAG is 'corpus', SEARCH 'tavily'; claims") for note in table["notes"]
        )
        assert run([*given, *endpoint, "tool-mad-table-4", "--set", "feverous"]) == 0
        assert server.counts.requests["chat"] == sent > 0
        assert run([*given, *endpoint, "tool-mad-table-3", "--set", "feverous"]) == 0
        figures = {row["name"]: row["figures"] for row in reversed(printed(capfd)[-1]["rows"])}
        for name in ("GPT-4o-mini", "+ CoT (Zero-shot)", "+ MAD", "No search (ours)"):
            assert figures[name][0]["value"] == pytest.approx(2 / 3)  # the model says that every claim is right
    assert (tmp_path / "runs" / "gpt-4o-mini").is_dir()


def cell(*debates: tuple[str, str | None, str, list[tuple[str, str | None, float]]]) -> PublishedCell:
    """Debates of two rounds: gold, verdict, who decided, and each debater's name, last label and score."""
    examples, verdicts, answers = [], [], []
    for item, (gold, label, decided, told) in enumerate(debates):
        claim = Claim(text=f"Claim {item} of this test.")
        examples.append(Example(id=str(item), claim=claim, gold=gold, row=item + 1))
        verdicts.append(Verdict(claim=claim, label=label, decided_by=decided))
        for round_ in (1, 2):
            for agent, said, score in told:
                scores = dict.fromkeys((Metric.CONSISTENCY, Metric.FAITHFULNESS, Metric.RELEVANCE), score)
                answers.append(AgentAnswer(item, agent, round_, said, said == gold, scores))
    return PublishedCell(tuple(examples), tuple(verdicts), tuple(answers), Path("unused"))


S, R = "SUPPORTS", "REFUTES"


def test_both_classes_and_whole_responses_are_measured_and_what_has_no_label_is_wrong() -> None:
    found = cell(*((gold, said, "judge", []) for gold, said in ((S, S), (S, R), (R, R), (R, None), (S, S), ("N", S))))
    named = tuple(
        each.model_copy(update={"response": response, "gold": None if each.gold == "N" else each.gold})
        for each, response in zip(found.examples, "aabbcc", strict=True)
    )
    found = found._replace(examples=named)
    expected = {
        "true-f1": 4 / 5,  # three are true, two were called so, both rightly
        "false-f1": 2 / 4,  # two are false, one of two calls is right
        "macro-f1": (4 / 5 + 2 / 4) / 2,
        "two-way": 3 / 5,
        "recall": 2 / 3,
        "precision": 1.0,
        "response-accuracy": 2 / 3,  # a is factual and was not called so, b is not, c is
        "response-recall": 1 / 2,
        "response-f1": 2 / 3,
        "searches": 0.0,
        "positives": 2.0,
        "negatives": 1.0,
    }
    for measure, value in expected.items():
        figure = measure_cell(PublishedRow.model_validate({"name": "x", "measure": measure}), found)
        assert figure.value == pytest.approx(value), measure
    alone = cell((S, S, "judge", []))
    assert "which response" in measure_cell(PublishedRow(name="x", measure="response-f1"), alone).undefined


SEARCHED = {"query": "bridge", "title": "Orvell Bridge", "text": PAGES["Orvell Bridge"], "url": "", "publisher": ""}


@pytest.mark.slow
def test_tables_of_several_figures_a_set_and_a_memory_that_is_lent(
    command: list[str], data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = data / "snapshots"
    folder.mkdir()
    lines = [{"claim": claim, "label": str(gold == "supports").lower()} for claim, gold, _ in CLAIMS[:2]]
    text = "".join(json.dumps(each | {"passages": [SEARCHED]}) + "\n" for each in lines)
    (folder / "factcheckbench.jsonl").write_text(text)
    assert run([*command, "mermaid-proxy-memory"]) == 0
    (proxy,) = printed(capfd)
    assert proxy["columns"] == ["macro-F1", "searches"]
    own, lent, _, first, none = proxy["rows"]
    assert own["figures"][1]["value"] > 0 == lent["figures"][1]["value"] == none["figures"][1]["value"]
    assert lent["paper"] == ["0.65", "–"]
    assert first["figures"][0]["value"] is not None
    (bench,) = (tmp_path / "runs" / "embedded").iterdir()
    memories = sorted(each.name for each in bench.glob("*.memory.db"))
    assert len(memories) == 3  # its own, and a copy for each that was lent one
    assert run([*command, "mermaid-proxy-memory", "--memory-from", "gpt-9"]) == 2  # figures with another's memory
    assert "memory is that of 'embedded" in capfd.readouterr().err
    assert run([*command, "mermaid-proxy-memory", "--memory-from", "embedded"]) == 0
    capfd.readouterr()
    elsewhere = [each if each != str(tmp_path / "runs") else str(tmp_path / "else") for each in command]
    assert run([*elsewhere, "mermaid-proxy-memory", "--memory-from", "gpt-9"]) == 2
    assert "has left no memory" in capfd.readouterr().err
    assert run([*command, "mermaid-table-1", "--set", "factcheck-bench"]) == 0
    (table,) = printed(capfd)
    assert table["columns"] == ["F1 of true", "F1 of false", "macro-F1"]
    assert table["rows"][0]["paper"] == ["0.82", "0.64", "0.73"]


def test_whether_the_judge_follows_the_higher_score_and_whether_that_is_right() -> None:
    found = cell(
        (S, S, "judge", [("a", S, 0.9), ("b", R, 0.2)]),  # follows, right
        (R, S, "judge", [("a", S, 0.9), ("b", R, 0.2)]),  # follows, wrong
        (R, R, "judge", [("a", S, 0.9), ("b", R, 0.2)]),  # does not follow, wrong
        (S, S, "consensus", [("a", S, 0.9), ("b", R, 0.2)]),  # no judge
        (S, S, "judge", [("a", S, 0.9), ("b", S, 0.2)]),  # nothing to choose between
        (S, S, "judge", [("a", S, 0.5), ("b", R, 0.5)]),  # neither score is higher
    )
    for measure, value in (("judge-follows", 2 / 3), ("higher-is-right", 1 / 3)):
        figure = measure_cell(
            PublishedRow.model_validate({"name": "x", "measure": measure, "metric": "consistency"}), found
        )
        assert figure.n == 3
        assert figure.value == pytest.approx(value)


def test_scores_by_rightness_shares_above_and_what_thresholds_settle() -> None:
    found = cell(
        (S, S, "consensus", [("a", S, 0.9), ("b", S, 0.8)]),
        (S, R, "consensus", [("a", R, 0.6), ("b", R, 0.9)]),
        (S, None, "judge", [("a", None, 0.9), ("b", None, 0.9)]),  # no label is no agreement
    )

    def figure(**fields: Any) -> tuple[float | None, int]:
        got = measure_cell(PublishedRow.model_validate({"name": "x", **fields}), found)
        return (None if got.value is None else round(got.value, 3)), got.n

    assert figure(measure="accuracy") == (0.333, 3)
    assert figure(measure="mean", answers="right") == (0.85, 4)
    assert figure(measure="mean", answers="wrong") == (0.825, 8)
    assert figure(measure="mean", answers="last") == (0.833, 6)
    assert figure(measure="quantile", at=0.0) == (0.6, 12)
    assert figure(measure="above", at=0.8) == (0.667, 12)
    assert figure(measure="settled", gate=[0.5, 0.5]) == (0.667, 3)
    assert figure(measure="settled-right", gate=[0.5, 0.5]) == (0.5, 2)
    assert figure(measure="settled", gate=[0.6, 0.6]) == (0.333, 3)  # above, not at
    assert figure(measure="settled-right", gate=[0.9, 0.9]) == (None, 0)
    assert measure_cell(PublishedRow(name="x", measure="gain", against="y"), found, found).value == 0


PAPER = """
claims = "ours"
model = "none"
[corpora]
[sets.long]
title = "Long"
dataset = "table"
path = "long.jsonl"
options = {mapping = "claim=claim,label=label,evidence=evidence"}
rag = "frozen"
search = "frozen-words"
[sets.short]
title = "Short"
dataset = "table"
path = "short.jsonl"
options = {mapping = "claim=claim,label=label,evidence=evidence"}
rag = "frozen"
search = "frozen-words"
[tables.t]
label = "T"
title = "t"
sets = ["long", "short"]
rows = [
    {name = "debate", method = "tool-mad@{profile}:debaters={rag}+{search}"},
    {name = "reader", method = "single-reader@{words}:tools=debated~tool-mad@{profile}:debaters={rag}+{search}"},
]
"""


def test_what_is_refused_on_one_data_set_keeps_its_figures_on_the_others(tmp_path: Path) -> None:
    for name, count in (("long", 3), ("short", 1)):
        rows = [
            {"claim": claim, "label": label.upper(), "evidence": PAGES[page]} for claim, label, page in CLAIMS[:count]
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paper = parse(PAPER, "p.toml")
    choice = TableChoice(out=tmp_path / "runs", data=tmp_path, half="all", spec=RunSpec(offline=True, budget="5calls"))
    runner = Runner(paper, choice, lambda name, total: nullcontext(lambda item, outcome: None), lambda what: None)
    runner.run(paper.tables[0])
    table = compare_table(paper.tables[0], runner)
    assert "BudgetReached" in {error.type for error in table.errors}
    reader = table.rows[1]
    assert reader.ours[0] == "–"
    assert [each.n for each in reader.figures if each] == [1]
    assert any(note.startswith("reader, Long: claims of 'tool-mad") for note in table.notes)


def test_figure_3_of_mermaid_has_claims_of_all_hops_and_the_papers_total() -> None:
    paper, figure = find_table("mermaid-figure-3")
    assert "hops" not in paper.sets["hover"].options
    assert "hover" in figure.sets
    without, with_ = (sum(int(str(value)) for value in row.paper) for row in figure.rows)
    assert (without, with_) == (1840, 1533)
    assert any("1,840" in note and "1,533" in note for note in figure.notes)


@pytest.mark.slow
def test_several_models_are_compared_in_one_table(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [each for each in command if each not in ("--offline", "--json")]
    monkeypatch.delenv("REDARGUE_OFFLINE")
    monkeypatch.setenv("OPENAI_API_KEY", "loopback-4711-abcdefgh")
    with Loopback(disagreeing) as server:
        models = ["--model", "for-m", "--model", "against-m", "--model", "embedded", "--base-url", f"{server.url}/v1"]
        assert run([*given, *models, "tool-mad-table-4", "--set", "feverous", "--json"]) == 0
        (table,) = printed(capfd)
        rows = [(row["model"], bool(row["paper"])) for row in table["rows"]]
        assert rows == [("for-m", True), ("against-m", False), ("embedded", False)]
        favourable, hostile, _ = (row["figures"][0]["value"] for row in table["rows"])
        assert (favourable, hostile) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
        for model in ("for-m, profile 'paper'", "against-m, profile 'paper'", "the embedded backend"):
            assert any(model in note for note in table["notes"])
        sent = server.counts.requests["chat"]
        assert run([*given, *models, "tool-mad-table-4", "--set", "feverous"]) == 0
        assert server.counts.requests["chat"] == sent > 0
    shown = capfd.readouterr().out
    assert [shown.count(f"ours, {model}") for model in ("for-m", "against-m", "embedded")] == [1, 1, 1]
    assert {path.name for path in (tmp_path / "runs").iterdir()} >= {"for-m", "against-m", "embedded"}


@pytest.mark.slow
def test_mermaids_table_is_made_with_its_own_eleven_tools(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = ("Ostermoor is a town on the river Velt.", "The Skarrow Bridge has seven arches.")
    found = {"query": "Ostermoor", "title": "Ostermoor", "url": "", "publisher": "", "text": "Ostermoor is a town."}
    rows = [{"claim": claim, "label": "true", "passages": [found]} for claim in claims]
    file = tmp_path / "snapshots.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    common = ["--path", f"factool-qa={file}", "--set", "factool-qa", "--half", "all", "-q", "--json"]
    servers = [part for name in ("wikipedia", "google", "scholar", "papers") for part in ("--mcp", name)]
    monkeypatch.delenv("REDARGUE_OFFLINE", raising=False)
    with Loopback() as server:
        for name, place in (("WIKIPEDIA", ""), ("ARXIV", ""), ("PUBMED", "/entrez/eutils"), ("SERPER", "/serper")):
            monkeypatch.setenv(f"REDARGUE_{name}_URL", f"{server.url}{place}")
        monkeypatch.setenv("SERPER_API_KEY", "0123456789abcdef0123456789")
        assert run(["bench", "table", "mermaid-table-1", *common, *servers, "--out", str(tmp_path / "runs")]) == 0
        asked = {route for route, count in server.counts.requests.items() if count}
    (table,) = printed(capfd)
    specs = {row["name"]: row["specs"] for row in table["rows"]}
    assert specs["MERMAID, GPT-4o"] == ["mermaid@hardened:tools=,memory=on"]
    (manifest,) = (tmp_path / "runs" / "embedded").glob("*/mermaid*/run.json")
    assert set(json.loads(manifest.read_text())["actions"]) == {
        *("search_wikipedia", "get_article", "get_summary", "get_sections", "summarize_article_section"),
        *("extract_key_facts", "get_related_topics", "search_google", "search_google_scholar"),
        *("search_arxiv", "search_pubmed"),
    }
    assert "mediawiki" in asked


def test_tables_without_the_named_data_set_are_an_error_and_not_an_empty_page(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["bench", "table", "mermaid-table-1", "--set", "hover", "--offline", "-q"]) == 2
    assert "no table here has the data set hover" in capfd.readouterr().err
