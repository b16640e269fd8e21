"""SARIF, JUnit XML and Web Annotation: what the standards ask for, and that no text of a stranger breaks out of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from redargue.claims import Claim
from redargue.errors import UsageError
from redargue.events import ClaimEnded
from redargue.reports import load_run
from redargue.reports.exchange import findings, line_and_column, literal
from redargue.reports.render import render
from redargue.verdicts import ErrorInfo, Verdict
from support.payloads import ALL
from support.reported import N, R, S, bench_of, debated, run_of, text_of, written

TEXT = "The bridge 🌉 opened in 1889.\nIt is red. It is long. Wer weiß das? It hums."


def span(words: str) -> dict[str, Any]:
    return {"claim": words, "start": TEXT.index(words), "end": TEXT.index(words) + len(words)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A text with a supported, a refuted, an open and a failed claim, and a sentence in another language."""
    stated = ("The bridge 🌉 opened in 1889.", "It is red.", "It is long.", "It hums.")
    claims = [Claim(text=words) for words in stated]
    events = [
        event
        for at, (claim, label) in enumerate(zip(claims[:3], (S, R, N), strict=True))
        for event in debated(at, claim, label, "a page", confidence=0.9)
    ]
    error = ErrorInfo(type="BadReply", what="no [answer](https://evil.test) {0}", exit_code=3)
    events.append(ClaimEnded(item=3, verdict=Verdict(claim=claims[3], label=None, error=error)))
    unchecked = [
        {**span("Wer weiß das?"), "why": {"reason": "language"}},
        {**span("It is"), "why": {"reason": "subjective"}},
    ]
    text = {
        "text": TEXT, "kind": "text", "context": "", "claims": [span(words) for words in stated],
        "unchecked": [{name: row[name] for name in ("start", "end", "why")} for row in unchecked],
    }  # fmt: skip
    return written(tmp_path / "run", claims, events, text=text)


def check_sarif(log: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules of SARIF 2.1.0 that concern what redargue writes; the results."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "redargue"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    assert isinstance(run["invocations"][0]["executionSuccessful"], bool)
    for result in run["results"]:
        assert result["level"] in ("none", "note", "warning", "error")
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        assert not re.search(r"(?<!\\)\[|(?<!\{)\{(?!\{)", result["message"]["text"].replace("\\\\", ""))
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        (location,) = result["locations"]
        if place := location.get("physicalLocation"):
            assert 0 <= place["artifactLocation"]["index"] < len(run["artifacts"])
            region = place["region"]
            assert min(region["startLine"], region["startColumn"], region["endColumn"]) >= 1
            assert (region["endLine"], region["endColumn"]) > (region["startLine"], region["startColumn"])
            assert region["charOffset"] >= 0
    for artifact in run["artifacts"]:
        assert re.fullmatch(r"[\w.~%/:-]+", artifact["location"]["uri"], re.A)
    return list(run["results"])


def test_sarif_has_a_result_for_each_claim_that_is_not_supported(folder: Path) -> None:
    results = check_sarif(json.loads(render(folder, "sarif")))
    assert [(result["ruleId"], result["level"]) for result in results] == [
        ("refuted", "error"),
        ("unsupported", "warning"),
        ("unchecked", "note"),
        ("unchecked", "note"),
    ]
    assert results[0]["properties"] == {"confidence": 0.9}
    assert "“a page”" in results[0]["message"]["text"]
    assert results[3]["message"]["text"] == "Not checked: the embedded models read English only."


def test_a_region_of_sarif_is_the_claims_words_by_offset_and_by_line_and_column(folder: Path) -> None:
    log = json.loads(render(folder, "sarif"))
    assert log["runs"][0]["columnKind"] == "unicodeCodePoints"
    assert log["runs"][0]["artifacts"][0]["contents"] == {"text": TEXT}
    lines = TEXT.split("\n")
    for result in check_sarif(log):
        region = result["locations"][0]["physicalLocation"]["region"]
        start = region["charOffset"]
        assert TEXT[start : start + region["charLength"]] == region["snippet"]["text"]
        line = lines[region["startLine"] - 1]
        assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == region["snippet"]["text"]


@pytest.mark.parametrize(("offset", "place"), [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (5, (3, 1))])
def test_lines_and_columns_count_from_one(offset: int, place: tuple[int, int]) -> None:
    assert line_and_column("ab\nc\nd", offset) == place


def test_brackets_and_braces_of_a_message_are_no_links_or_placeholders() -> None:
    assert literal(r"[x](https://evil.test) {0} \[") == r"\[x\](https://evil.test) {{0}} \\\["


def test_a_fingerprint_is_that_of_the_words_wherever_they_are(folder: Path, tmp_path: Path) -> None:
    first = check_sarif(json.loads(render(folder, "sarif")))
    claims = [Claim(text="It is red.")]
    alone = written(tmp_path / "alone", claims, debated(0, claims[0], R, "another page"))
    (second,) = check_sarif(json.loads(render(alone, "sarif")))
    assert second["partialFingerprints"] == first[0]["partialFingerprints"]


def test_a_named_file_is_the_artifact_if_it_is_what_was_checked(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "my answer.md"
    path.write_text(TEXT, encoding="utf-8")
    (artifact,) = json.loads(render(folder, "sarif", file=path))["runs"][0]["artifacts"]
    assert artifact["location"]["uri"].endswith("/my%20answer.md")
    assert "contents" not in artifact
    path.write_text("something else", encoding="utf-8")
    with pytest.raises(UsageError, match="is not the text that the run checked"):
        render(folder, "sarif", file=path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        render(folder, "sarif", file=tmp_path / "none.md")
    with pytest.raises(UsageError, match="html does not name the checked file"):
        render(folder, "html", file=path)


def test_claims_are_found_in_the_file_that_they_came_from(tmp_path: Path) -> None:
    claims = [Claim(text="It is red."), Claim(text="It is long.")]
    events = [event for at, claim in enumerate(claims) for event in debated(at, claim, R, "a page")]
    folder = written(tmp_path / "run", claims, events)
    path = tmp_path / "claims.txt"
    path.write_text("It is red.\nIt is long.\n", encoding="utf-8")
    results = check_sarif(json.loads(render(folder, "sarif", file=path)))
    assert [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results] == [1, 2]
    (page,) = [json.loads(render(folder, "annotation", file=path))["first"]]
    assert [item["target"]["selector"][0]["start"] for item in page["items"]] == [0, 11]
    with pytest.raises(UsageError, match="an annotation needs a text"):
        render(folder, "annotation")


def check_junit(document: str) -> ElementTree.Element:
    """A document that XML parsers read, with counts that agree with its cases."""
    suites = ElementTree.fromstring(document.split("\n", 1)[1])
    assert suites.tag == "testsuites"
    for suite in [suites, *suites.findall("testsuite")]:
        cases = suite.findall(".//testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == len(suite.findall(".//failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall(".//error"))
        assert all(case.attrib["name"] and case.attrib["classname"] for case in cases)
        assert all(len(case) <= 1 for case in cases)
    assert {element.tag for element in suites.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error"}
    return suites


def test_junit_fails_what_is_not_supported_and_never_passes_what_was_not_checked(folder: Path) -> None:
    cases = check_junit(render(folder, "junit")).findall(".//testcase")
    assert [[(child.tag, child.attrib["type"]) for child in case] for case in cases] == [
        [],
        [("failure", "refuted")],
        [("failure", "unsupported")],
        [("error", "unchecked")],
        [("error", "unchecked")],
    ]
    assert cases[1].attrib["name"] == "claim 2: It is red."


def test_a_claim_that_ended_in_an_error_has_no_confidence(folder: Path) -> None:
    (failed,) = [each for each in findings(load_run(folder), None) if each.verdict and each.verdict.error]
    assert "confidence" not in failed.message


def test_junit_counts_claims_that_have_not_finished_as_errors(tmp_path: Path) -> None:
    claims = [Claim(text="It is red."), Claim(text="It is long.")]
    folder = written(tmp_path / "run", claims, debated(0, claims[0], S, "a page"))
    assert check_junit(render(folder, "junit")).attrib["errors"] == "1"
    assert json.loads(render(folder, "sarif"))["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def check_annotations(collection: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The rules of the Web Annotation data model that concern what redargue writes; the annotations."""
    assert collection["@context"] == "http://www.w3.org/ns/anno.jsonld"
    assert collection["type"] == "AnnotationCollection"
    items = collection["first"]["items"]
    assert collection["first"]["type"] == "AnnotationPage"
    assert collection["total"] == len(items)
    ids = [collection["id"], collection["first"]["id"], *(item["id"] for item in items)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", each) for each in ids)
    for item in items:
        assert item["type"] == "Annotation"
        assert item["motivation"] == "assessing"
        for body in item["body"]:
            assert body["type"] in ("TextualBody", "SpecificResource")
            assert body["value"] if body["type"] == "TextualBody" else body["source"].startswith(("http:", "https:"))
        position, quote = item["target"]["selector"]
        assert (position["type"], quote["type"]) == ("TextPositionSelector", "TextQuoteSelector")
        assert text[position["start"] : position["end"]] == quote["exact"]
        assert text[: position["start"]].endswith(quote["prefix"])
        assert text[position["end"] :].startswith(quote["suffix"])
    return list(items)


def test_annotations_select_the_words_by_position_and_by_quotation(folder: Path) -> None:
    collection = json.loads(render(folder, "annotation", url="https://example.org/page"))
    items = check_annotations(collection, TEXT)
    assert [item["body"][0]["value"] for item in items] == [
        "supported",
        "refuted",
        "unsupported",
        "unchecked",
        "unchecked",
    ]
    assert {item["target"]["source"] for item in items} == {"https://example.org/page"}
    with pytest.raises(UsageError, match="is not an address"):
        render(folder, "annotation", url="javascript:alert(1)")


@pytest.mark.slow
def test_whatever_strangers_write_stays_text_in_every_format(tmp_path: Path) -> None:
    folder = text_of(tmp_path / "text", ALL)
    text = json.loads((folder / "run.json").read_text(encoding="utf-8"))["text"]["text"]
    assert check_sarif(json.loads(render(folder, "sarif")))
    assert check_annotations(json.loads(render(folder, "annotation")), text)
    assert len(check_junit(render(folder, "junit")).findall(".//testcase")) == len(ALL)
    claims = run_of(tmp_path / "claims", ALL)
    assert check_sarif(json.loads(render(claims, "sarif")))
    assert check_junit(render(claims, "junit"))
    for format_ in ("sarif", "annotation"):
        assert render(folder, format_).isascii()


def test_a_bench_is_not_written_in_formats_of_one_run(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="needs the extra lab")
    folder = bench_of(tmp_path / "bench", ("a", "b", "c", "d"))
    with pytest.raises(UsageError, match="is a bench, not a run"):
        render(folder, "junit")
    system = next(path.parent for path in folder.glob("*/run.json"))
    assert check_junit(render(system, "junit"))
