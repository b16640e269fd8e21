"""MERMAID's released runs as records: every line of a log is in an event, and the record replays and reports."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.bench.commands.mermaid import Imported, audit_triplets, failure_of, import_runs, text_contents
from redargue.cli.app import run
from redargue.errors import UsageError
from redargue.events import (
    CallFailed,
    ClaimEnded,
    Event,
    EvidenceFound,
    EvidenceMissing,
    EvidenceRecalled,
    Judged,
    Stepped,
    canonical,
)
from redargue.inputs.rows import rows
from redargue.memory import MemorySettings
from redargue.memory.memory import default_memory, open_memory
from redargue.reports.render import render
from redargue.runs.record import read_events
from support.debates import CLOCK

pytest.importorskip("scipy", reason="needs the extra lab")

FOUND = '{"query":"Cape Ansel","results":[{"title":"Cape Ansel","snippet":"a \\"granite\\" reef"}]}'
INVALID = "Input validation error: 'title' is a required property"
MISSED = '{"query":"Ansel light","results":[],"status":"no_results","count":0}'


def content(*parts: str) -> str:
    """As a client of MCP writes what a server returned."""
    return (
        "[" + ", ".join(f"TextContent(type='text', text={each!r}, annotations=None, meta=None)" for each in parts) + "]"
    )


def row(*trace: str, prediction: str = "True", **more: Any) -> dict[str, Any]:
    triplets = [{"subject": "The lighthouse", "relation": "stands at", "object": "Cape Ansel"}]
    taken_apart = {"triplets": triplets, "topic": "Lighthouses; Capes"}
    fields = {"claim": f"The lighthouse at Cape Ansel was lit in {1871 + len(trace)}.", "label": "true"}
    return {**fields, "decomposition": taken_apart, "prediction": prediction, "react_trace": list(trace), **more}


def call(text: str, observation: str, tool: str = "search_wikipedia") -> tuple[str, str, str]:
    return f"Thought: {text}?", f"Action: Used {tool} with input: {text}", f"Observation: {observation}"


SETTLED = row(*call("Cape Ansel", content(FOUND)), "Thought: It says so.", "Answer: True")
REPEATED = row(
    *call("Cape Ansel", content(FOUND)),
    *call("Cape Ansel", content(FOUND)[:60]),
    *call("Ansel light", content(MISSED)),
    *call("Cape Ansel", content(INVALID), "get_article"),
    *call("Cape Ansel", content("first", "second")),
    prediction="History: Observation: nothing was settled",
)
RECALLED = row(
    f"[Memory] Previous evidence for 'Cape Ansel': {content(FOUND)}",
    f"[Memory] Previous evidence for 'Ansel's light: when?': {content(INVALID)}",
    "Thought: The memory says so.",
    "Answer: False",
    prediction="False",
    label="false",
)
ASTRAY = row(
    "Thought: I call a tool that there is not.",
    "Action: Tool 'thought' not found. Available: search_wikipedia",
    "Thought: I think on.",
    "Thought: I know.",
    "Answer: True",
)


def made(folder: Path, *given: dict[str, Any]) -> tuple[Imported, Path, list[Event]]:
    """The import of a file with these rows, its run folder and its events."""
    file = folder / "runs.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    done = import_runs(file, folder / "out", clock=CLOCK)
    record = folder / "out" / done.system.slug
    return done, record, list(read_events(record))


def lines_of(given: list[dict[str, Any]]) -> Counter[str]:
    """What the logs say, line by line: answers as such, observations without the marks of Python."""
    found: Counter[str] = Counter()
    for line in (line for each in given for line in each.get("react_trace") or ()):
        kind, _, text = line.partition(" ")
        if kind == "Observation:":
            text = "\n".join(text_contents(text))
        elif kind == "[Memory]":
            query, _, evidence = text.partition("': [")
            text = f"{query.removeprefix('Previous evidence for ')[1:]}: " + "\n".join(text_contents(f"[{evidence}"))
        elif text.startswith("Tool '"):
            text = text.split("'")[1]
        found[kind if kind == "Answer:" else f"{kind} {text.removeprefix('Used ')}"] += 1
    return found


def told_by(events: list[Event]) -> Counter[str]:
    """The same, as events tell it; a step that was none stands in the reply that was rejected."""
    found: list[str] = []
    for event in events:
        if isinstance(event, Stepped):
            found += [f"Thought: {event.thought}"] if event.thought else []
            found += ["Answer:"] if event.answer is not None else []
            asked = "".join(f" with input: {each}" for each in event.arguments.values())
            found += [f"Action: {event.tool}{asked}"] if event.tool else []
        elif isinstance(event, CallFailed):
            found.append(f"Thought: {event.raw}")
        elif isinstance(event, EvidenceFound):
            found.append("Observation: " + "\n".join(each.text for each in event.passages))
        elif isinstance(event, EvidenceMissing) and event.requests:
            found.append(f"Observation: {event.why}")
        elif isinstance(event, EvidenceRecalled):
            found += [f"[Memory] {each.passage.query}: {each.passage.text}" for each in event.items]
    return Counter(found)


def test_every_line_of_the_logs_is_in_an_event(tmp_path: Path) -> None:
    given = [SETTLED, REPEATED, RECALLED, ASTRAY]
    _, _, events = made(tmp_path, *given)
    assert told_by(events) == lines_of(given)


def test_a_record_replays_to_the_same_events(tmp_path: Path) -> None:
    done, record, events = made(tmp_path, SETTLED, REPEATED, RECALLED, ASTRAY)
    seen: list[Event] = []
    verdicts = asyncio.run(replay(record, listeners=[seen.append]))
    assert canonical(seen) == canonical(events)
    assert [each.error for each in verdicts] == [None] * 4
    assert [each.label for each in verdicts] == ["true", None, "false", "true"]
    assert done.table.rows[0].scores.figure("coverage").value == 0.75


def test_a_call_made_again_is_answered_with_what_it_returned_that_time(tmp_path: Path) -> None:
    _, _, events = made(tmp_path, REPEATED)
    found = [[each.text for each in event.passages] for event in events if isinstance(event, EvidenceFound)]
    assert found == [[FOUND], [content(FOUND)[:60]], [MISSED], ["first", "second"]]
    (failed,) = (each for each in events if isinstance(each, EvidenceMissing))
    assert (failed.tool, failed.why) == ("get_article", INVALID)


def test_calls_and_requests_are_counted_as_they_were(tmp_path: Path) -> None:
    _, _, events = made(tmp_path, REPEATED, ASTRAY)
    first, second = (event.verdict.usage for event in events if isinstance(event, ClaimEnded))
    assert (first.calls, first.searches) == (6, 5)  # what was given out without an answer was no call
    assert first.by_tool == {"get_article": 1, "search_wikipedia": 4}
    assert (second.calls, second.searches) == (4, 0)


def test_what_a_program_gave_out_without_an_answer_is_kept_and_is_no_label(tmp_path: Path) -> None:
    _, _, events = made(tmp_path, REPEATED)
    (given,) = (each for each in events if isinstance(each, Judged))
    assert (given.text, given.label) == (REPEATED["prediction"], None)
    (ended,) = (each.verdict for each in events if isinstance(each, ClaimEnded))
    assert (ended.label, ended.decided_by) == (None, "forced")


def test_a_label_that_a_program_gave_out_without_an_answer_is_told_from_an_answer(tmp_path: Path) -> None:
    _, _, events = made(tmp_path, {**REPEATED, "prediction": "True"})
    (ended,) = (each.verdict for each in events if isinstance(each, ClaimEnded))
    assert (ended.label, ended.decided_by) == ("true", "forced")


def test_what_was_recalled_keeps_its_query_and_an_earlier_failure_is_no_evidence(tmp_path: Path) -> None:
    _, _, events = made(tmp_path, RECALLED)
    (recall,) = (each for each in events if isinstance(each, EvidenceRecalled))
    assert [each.passage.query for each in recall.items] == ["Cape Ansel", "Ansel's light: when?"]
    assert [each.passage.text for each in recall.items] == [FOUND, INVALID]
    assert [each.status for each in recall.items] == ["ok", "empty"]


def test_a_tool_that_there_was_not_is_told_in_the_words_of_the_log(tmp_path: Path) -> None:
    _, _, events = made(tmp_path, ASTRAY)
    (missing,) = (each for each in events if isinstance(each, EvidenceMissing))
    assert (missing.tool, missing.why) == ("thought", "Tool 'thought' not found. Available: search_wikipedia")


def test_an_answer_of_scifact_that_settles_nothing_has_its_own_label_and_rows_without_a_run_are_counted(
    tmp_path: Path,
) -> None:
    unsettled = row("Thought: ?", "Answer: INSUFFICIENT", uid=7, label="SUPPORT", prediction="INSUFFICIENT")
    absent = {"uid": 9, "claim": "Foghorns carry further at night.", "label": "CONTRADICT"}
    done, _, events = made(tmp_path, unsettled, absent)
    (ended,) = (each.verdict for each in events if isinstance(each, ClaimEnded))
    assert (ended.label, done.left_out) == ("NOT ENOUGH INFO", 1)


def test_an_answer_that_is_no_label_is_an_error_of_its_claim_and_no_label(tmp_path: Path) -> None:
    _, _, events = made(tmp_path, row("Thought: ?", "Answer: perhaps"), SETTLED)
    first, second = (each.verdict for each in events if isinstance(each, ClaimEnded))
    assert (first.label, second.label) == (None, "true")
    assert first.error is not None
    (failed,) = (each for each in events if isinstance(each, CallFailed))
    assert failed.error.what == "'perhaps' is not one of the labels"


def test_a_report_reads_like_the_case_study_of_the_paper(tmp_path: Path) -> None:
    _, record, _ = made(tmp_path, RECALLED, SETTLED)
    page = render(record, "html")
    for words in ("splits the claim", "memory contains", "It says so.", "calls search_wikipedia", "executor"):
        assert words in page


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        (content("it's", 'a "reef"', "two\nlines"), ("it's", 'a "reef"', "two\nlines")),
        ("[]", ()),
        (content("cut here")[:30], (content("cut here")[:30],)),
        ("[TextContent(type='text', text=__import__('os').name, annotations=None, meta=None)]",) * 2,
        ("plain words", ("plain words",)),
    ],
)
def test_texts_are_read_from_string_literals_alone(observation: str, expected: tuple[str, ...] | str) -> None:
    assert text_contents(observation) == ((expected,) if isinstance(expected, str) else expected)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (FOUND, ""),
        ("An article.", ""),
        ("", "empty"),
        (MISSED, "empty"),
        (INVALID, "arguments"),
        ('{"error":"Search request timed out","results":[]}', "error"),
        ("Tool 'x' not found. Available: y", "unknown tool"),
    ],
)
def test_what_went_wrong_is_read_from_the_answer(text: str, kind: str) -> None:
    assert failure_of(text) == kind


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (row("Guess: True"), r"react_trace\[0\].*got 'Guess: True' \(.*row 1"),
        (row("Observation: of nothing"), r"react_trace\[0\].*'Observation: of nothing'"),
        (row("Thought: ?", decomposition={"triplets": []}), "decomposition: "),
        (row("Thought: ?", label="maybe"), 'label: .* got "maybe"'),
        (row(react_trace=None), "react_trace: expected a run in at least one row"),
    ],
)
def test_a_line_that_no_log_holds_is_named_with_its_row(wrong: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        made(tmp_path, wrong)
    assert not (tmp_path / "out").exists()


def test_the_command_makes_a_bench_folder_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([SETTLED, RECALLED]), encoding="utf-8")
    command = ["bench", "import", str(file), "-o", str(tmp_path / "out")]
    assert run(command) == 0
    told = capsys.readouterr()
    assert "Macro-F1" in told.out
    assert "2 runs in" in told.err
    assert run(["bench", "compare", str(tmp_path / "out"), "--path", str(file)]) == 0
    assert run(command) == 2
    assert "already exists" in capsys.readouterr().err


@pytest.mark.data
def test_nothing_of_the_released_runs_is_lost_and_each_replays(tmp_path: Path) -> None:
    data = os.environ.get("REDARGUE_DATA")
    files = sorted(Path(data, "traces/mermaid").glob("[!m]*.json.gz")) if data else []
    if not files:
        pytest.skip("REDARGUE_DATA names no folder with traces/mermaid: there are no released runs to read")
    for file in files:
        out = tmp_path / file.name
        done = import_runs(file, out, clock=CLOCK)
        record = out / done.system.slug
        events = list(read_events(record))
        given: list[dict[str, Any]] = [dict(each.fields) for each in rows(file)]
        assert told_by(events) == lines_of(given), file.name
        assert done.left_out == sum(each.get("react_trace") is None for each in given)
        seen: list[Event] = []
        verdicts = asyncio.run(replay(record, listeners=[seen.append]))
        assert canonical(seen) == canonical(events), file.name
        assert not any(each.error for each in verdicts)


@pytest.mark.slow
def test_a_bench_keeps_a_memory_of_its_own_and_never_touches_the_users(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = [{"claim": "Bees are insects.", "label": "SUPPORTS"}, {"claim": "Bees are fish.", "label": "REFUTES"}]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))
    given = ["--dataset", "table", "--path", str(file), "--map", "claim=claim,label=label", "--store", "starter"]
    out = tmp_path / "bench"
    assert run(["bench", "run", *given, "--offline", "-q", "--method", "mermaid:memory=on", "--out", str(out)]) == 0
    (kept,) = out.glob("*.memory.db")
    with open_memory(kept, settings=MemorySettings(mode="frozen")) as memory:
        assert memory.count() > 0
    assert not default_memory().exists()


def test_a_row_that_cannot_be_read_is_skipped_by_name_and_an_empty_answer_is_the_programs_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    empty = row("Thought: t", "Answer: True", decomposition={"triplets": [[]], "topic": "Capes"})
    silent = row("Thought: t", "Answer: ", prediction="False", label="false")
    file = tmp_path / "runs.json"
    file.write_text(json.dumps([row("Thought: t", "Thought: u", "Answer: True"), empty, silent]))
    assert run(["bench", "import", str(file), "-o", str(tmp_path / "out"), "--json"]) == 0
    printed = capfd.readouterr()
    assert "row 2" in printed.err
    assert "decomposition: " in printed.err
    sample = json.loads(printed.out)["sample"]
    assert (sample["taken"], sample["options"], sample["labels"]) == (
        2,
        [["without", "2"]],
        [["true", 1], ["false", 1]],
    )
    assert run(["bench", "compare", str(tmp_path / "out"), "--path", str(file), "--json"]) == 0
    assert capfd.readouterr().out == printed.out
    ended = [event.verdict.label for event in events_of(tmp_path / "out") if isinstance(event, ClaimEnded)]
    assert ended == ["true", "false"]
    file.write_text(json.dumps([empty]))
    assert run(["bench", "import", str(file), "-o", str(tmp_path / "none")]) == 2
    assert "row 1" in capfd.readouterr().err


def events_of(folder: Path) -> list[Event]:
    return [event for record in sorted(folder.glob("*/run.json")) for event in read_events(record.parent)]


def test_judged_triplets_are_read_as_an_editor_saves_them(tmp_path: Path) -> None:
    judged = tmp_path / "judged.jsonl"
    line = '{"claim": "c", "triplet": "a | b | c", "judgement": "right"}\r\n'
    judged.write_bytes(b"\xef\xbb\xbf" + line.encode() + b"\r\n")
    assert audit_triplets(tmp_path, judged, 1, 0) == {"right": 1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"claim": "caf\xe9", "triplet": "", "judgement": ""}', "not UTF-8"),
        (b'{"claim": "c", "triplet": "t", "judgement": "yes"}', "not a triplet"),
    ],
)
def test_a_file_of_triplets_that_cannot_be_read_is_named(content: bytes, words: str, tmp_path: Path) -> None:
    judged = tmp_path / "judged.jsonl"
    judged.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        audit_triplets(tmp_path, judged, 1, 0)
