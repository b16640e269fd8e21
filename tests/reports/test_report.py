"""Reports of benches and runs: what they show, what they leave out and say so, and adjudication read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from lxml import html  # type: ignore[import-untyped]
from markupsafe import Markup

from redargue.bench.compare import Comparison, read_results
from redargue.bench.reports import load_bench, page
from redargue.bench.reports.adjudication import neutral
from redargue.bench.reports.tables import by_round, majority_label
from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import Claim
from redargue.errors import RecordError, UsageError
from redargue.events import ClaimEnded, ClaimStarted
from redargue.evidence import Passage, Quote, QuoteStatus, Side
from redargue.reports import debate
from redargue.reports.exchange import claim_review, read_signature
from redargue.reports.render import render
from redargue.verdicts import ErrorInfo, Verdict
from support.reported import SIGNATURE, N, R, S, bench_of, debated, run_of, text_of, written

pytest.importorskip("scipy", reason="needs the extra lab")

WORDS = tuple(f"statement {at}" for at in range(12))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bench_of(tmp_path_factory.mktemp("bench") / "b", WORDS)


@pytest.fixture(scope="module")
def comparison(bench: Path) -> Comparison:
    return read_results(bench)


def tables(document: str) -> dict[str, list[list[str]]]:
    """The rows of each table, by caption."""
    found = {}
    for table in html.document_fromstring(document).xpath("//table"):
        cells = [[cell.text_content() for cell in row] for row in table.xpath(".//tr")]
        found[str(table.xpath("string(caption)"))] = cells
    return found


def test_a_bench_page_has_every_table_with_a_caption_and_scoped_heads(bench: Path) -> None:
    document = render(bench)
    shown = tables(document)
    assert {
        "Accuracy of each system",
        "Cost per claim",
        "Every two systems on the same claims",
        "A tool-mad",
        "B single-reader",
        "Each class",
        "Effect of the claims without an answer",
        "Claim by claim",
        "What was run",
    } <= set(shown)
    assert "" not in shown
    assert not html.document_fromstring(document).xpath("//th[not(@scope)]")
    assert html.document_fromstring(document).xpath("//div[@class='scroll'][@tabindex='0'][@role='region']")


def test_figures_of_a_page_are_those_of_the_comparison(bench: Path, comparison: Comparison) -> None:
    shown = tables(render(bench))
    for line, row in zip(shown["Accuracy of each system"][1:], comparison.rows, strict=True):
        figure = row.scores.figure("accuracy")
        assert line[2] == f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})"
        assert line[-1] == str(row.errors)
    (pair,) = comparison.pairs
    line = shown["Every two systems on the same claims"][1]
    assert line[4:6] == [str(pair.test.first_only), str(pair.test.second_only)]
    assert line[8:10] == [f"{pair.test.p_value:.3g}", f"{pair.holm:.3g}"]
    assert line[10] == (pair.sight.warning or "yes")


def test_each_flip_leads_to_both_debates(bench: Path, comparison: Comparison) -> None:
    tree = html.document_fromstring(render(bench))
    flips = comparison.pairs[0].flips
    assert len(flips) > 3
    for flip in flips:
        for row in (0, 1):
            assert tree.xpath(f"//a[@href='#t-{flip.item}-{row}']")
            assert tree.xpath(f"//details[@id='claim-{flip.item}']//h4[@id='t-{flip.item}-{row}']")


def test_a_found_quotation_is_underlined_and_one_not_found_is_struck_through(bench: Path) -> None:
    claim = html.document_fromstring(render(bench)).get_element_by_id("claim-1")
    assert "statement 1" in claim.xpath(".//u/text()")
    assert "statement 1 never said" in claim.xpath(".//s/text()")
    assert not claim.xpath(".//u[contains(., 'never said')]")


def test_pictures_are_drawn_with_a_title_and_their_figures_in_words(bench: Path) -> None:
    tree = html.document_fromstring(render(bench))
    names = tree.xpath("//svg/title/text()")
    assert names == ["Accuracy against calls per claim", "Accuracy by round"]
    assert all("A: " in told for told in tree.xpath("//svg/desc/text()"))
    assert "there is no calibration to show" in tree.text_content()
    assert "there is no chart in dollars" in tree.text_content()


def test_calibration_is_drawn_where_there_are_confidences(tmp_path: Path) -> None:
    document = render(bench_of(tmp_path / "b", WORDS, confident=True))
    assert "Calibration of tool-mad" in document
    assert "no calibration to show" not in document


def test_accuracy_by_round_takes_majorities_and_keeps_ended_debates(comparison: Comparison) -> None:
    row = comparison.rows[0]
    said = [
        each.model_copy(update={"labels": labels})
        for each, labels in zip(row.said, [((S, S),), ((R, S), (R, R)), *([((N, S), (N, R))] * 10)], strict=True)
    ]
    found = by_round(comparison, row.model_copy(update={"said": tuple(said)}))
    assert [(each.round, each.debating) for each in found] == [(1, 12), (2, 11)]
    assert [each.agreed for each in found] == [pytest.approx(1 / 12), pytest.approx(2 / 12)]
    assert [each.right for each in found] == [pytest.approx(1 / 12), pytest.approx(2 / 12)]
    assert majority_label([(S, S, R)]) == S
    assert majority_label([(S, R)]) is None
    assert majority_label([(None, None)]) is None


def test_debates_beyond_the_bound_are_left_out_and_the_page_says_so(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redargue.bench.reports.OTHERS_SHOWN", 2)
    whole = render(bench)
    flipping = load_bench(bench).flipping
    assert f"This page has the debates on {len(flipping) + 2} of 12 claims" in whole
    monkeypatch.setattr(debate, "DEBATES_BYTES", 12_000)
    cut = render(bench)
    assert len(cut) < len(whole)
    tree = html.document_fromstring(cut)
    places = set(tree.xpath("//@id"))
    assert {str(each)[1:] for each in tree.xpath("//a/@href[starts-with(., '#')]")} <= places


def test_what_is_needed_to_repeat_a_bench_is_there(bench: Path) -> None:
    document = html.document_fromstring(render(bench)).text_content()
    for part in ("redargue bench run --dataset fever", "--method single-reader", "embedded:abc", "a" * 64, "corpus r1"):
        assert part in document
    assert "Claims that ended in an error count as wrong: B 1" in document


def test_a_run_shows_both_sides_then_the_verdict_then_what_is_missing(tmp_path: Path) -> None:
    tree = html.document_fromstring(render(run_of(tmp_path / "r", ["one statement"])))
    order = [str(each) for each in tree.xpath("//h1/text() | //h2/text() | //h3/text() | //p[@class='label']/text()")]
    wanted = ["one statement", "Best case for", "Best case against", "Supported", "What could not be found", "Evidence"]
    assert [each for each in order if each in wanted] == wanted
    sides = [side.xpath(".//blockquote//u/text()") for side in tree.xpath("//div[@class='sides']/section")]
    assert sides == [["“one statement”"], []]
    assert "Nothing was quoted against the claim." in tree.text_content()
    assert f"redargue replay {tmp_path / 'r'}" in tree.text_content()


@pytest.mark.parametrize("kind", [run_of, text_of])
@pytest.mark.parametrize("words", [["one"], ["one", "two"]])
def test_headings_skip_no_level_and_regions_have_names_of_their_own(
    tmp_path: Path, kind: Callable[[Path, list[str]], Path], words: list[str]
) -> None:
    page = html.document_fromstring(render(kind(tmp_path / "r", words)))
    levels = [int(each.tag[1]) for each in page.xpath("//h1 | //h2 | //h3 | //h4 | //h5")]
    assert all(below <= above + 1 for above, below in pairwise(levels))
    regions = page.xpath("//*[@role='region']/@aria-label")
    assert len(regions) == len(set(regions))


def test_a_claim_without_any_step_has_no_fold_for_them(tmp_path: Path) -> None:
    claim = Claim(text="القاهرة هي عاصمة مصر.")
    unread = Unchecked(reason=UncheckedReason.LANGUAGE, languages=("ar",))
    begun = ClaimStarted(claim=claim, method="m", settings={}, backend="b", seed=0)
    folder = written(
        tmp_path / "r", [claim], [begun, ClaimEnded(verdict=Verdict(claim=claim, label=None, unchecked=unread))]
    )
    assert not html.document_fromstring(render(folder)).xpath("//details[@class='transcript']")


def test_not_enough_evidence_does_not_mean_partly_true(tmp_path: Path) -> None:
    claim = Claim(text="A claim.")
    folder = written(tmp_path / "r", [claim], debated(0, claim, N, "word"))
    for format_ in ("html", "md"):
        assert "does not mean that it is partly true" in render(folder, format_)


def test_a_claim_that_ended_in_an_error_has_no_verdict_and_no_rating(tmp_path: Path) -> None:
    claim = Claim(text="A claim.")
    error = ErrorInfo(type="BadReply", what="unreadable", hint="ask again", exit_code=3)
    events = debated(0, claim, None, "word", error=error, decided_by=None)
    folder = written(tmp_path / "r", [claim], events)
    assert "**No verdict: unreadable**\n\n→ ask again\n" in render(folder, "md")
    assert "No verdict: unreadable" in render(folder)
    assert "BadReply" not in render(folder) + render(folder, "md")
    (review,) = json.loads(render(folder, "claimreview", signature=SIGNATURE))
    assert "reviewRating" not in review


def test_a_claim_review_holds_what_is_known_and_invents_no_address(tmp_path: Path) -> None:
    first, second, _ = json.loads(render(run_of(tmp_path / "r", WORDS[:3]), "claimreview", signature=SIGNATURE))
    assert first["@type"] == "ClaimReview"
    assert first["claimReviewed"] == first["itemReviewed"]["text"] == "statement 0"
    assert first["reviewRating"] == {"@type": "Rating", "alternateName": "Supported"}
    assert second["reviewRating"]["alternateName"] == "Refuted"
    assert first["author"] == {"@type": "Organization", "name": "A newsroom"}
    assert (first["url"], first["datePublished"]) == ("https://example.org/review", "2026-11-22")
    assert "url" not in first["citation"][0]


def test_a_claim_review_names_a_file_without_its_folders() -> None:
    passage = Passage(text="It opened in 1998.", document="/home/ann/desk/report.pdf")
    quote = Quote(
        text=passage.text, status=QuoteStatus.VERIFIED, start=0, end=18, passage=passage.sha256,
        source=passage.source(), side=Side.FOR, agent="reader",
    )  # fmt: skip
    review = claim_review(Verdict(claim=Claim(text=passage.text), label=S, quotes=(quote,)), SIGNATURE)
    assert review["citation"] == [{"@type": "CreativeWork", "name": "report.pdf"}]


@pytest.mark.parametrize(
    ("published", "written"),
    [
        ("2021-03", "2021-03"),
        ("2021-03-04T05:06:07Z", "2021-03-04T05:06:07Z"),
        ("yesterday", None),
        ("4 May 2021", None),
    ],
)
def test_a_claim_review_has_only_dates_that_schema_org_reads(published: str, written: str | None) -> None:
    passage = Passage(text="It opened in 1998.", title="A page", published=published)
    quote = Quote(
        text=passage.text, status=QuoteStatus.VERIFIED, start=0, end=18, passage=passage.sha256,
        source=passage.source(), side=Side.FOR, agent="reader",
    )  # fmt: skip
    review = claim_review(Verdict(claim=Claim(text=passage.text), label=S, quotes=(quote,)), SIGNATURE)
    (work,) = cast("list[dict[str, str]]", review["citation"])
    assert work.get("datePublished") == written


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("", "https://example.org", "2026-11-22"), "--author is missing"),
        (("A", "", ""), "--url, --date are missing"),
        (("A", "javascript:x", "2026-11-22"), "is not an address"),
        (("A", "https://example.org", "22.11.2026"), "is not a date"),
    ],
)
def test_a_claim_review_without_a_signature_is_refused(given: tuple[str, str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_signature(*given)


def test_no_claim_review_is_written_unsigned(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is signed"):
        render(run_of(tmp_path / "r", WORDS[:1]), "claimreview")


def test_a_run_that_goes_on_says_how_many_claims_have_not_ended(tmp_path: Path) -> None:
    claims = [Claim(text="one"), Claim(text="two")]
    folder = written(tmp_path / "r", claims, debated(0, claims[0], S, "word"))
    assert render(folder).count("1 of 2 claims have not finished.") == 1
    assert "\nSupported: 1. 1 of 2 claims have not finished.\n" in render(folder, "md")
    assert json.loads(render(folder, "json"))["unfinished"] == 1


def test_a_texts_claims_are_marked_where_they_stand_and_lead_to_their_debates(tmp_path: Path) -> None:
    folder = text_of(tmp_path / "r", ["The first claim.", "The second claim."])
    tree = html.document_fromstring(render(folder))
    assert [(each.text_content(), each.get("class")) for each in tree.xpath("//mark")] == [
        ("The first claim.", "supported"),
        ("The second claim.", "refuted"),
    ]
    (prose,) = tree.xpath("//section[h2[@id='text']]/details/p[@class='prose']")
    assert prose.text_content() == "The first claim. [1: Supported]\n\nThe second claim. [2: Refuted]"
    assert [each.get("href") for each in prose.xpath(".//a")] == ["#c-0", "#c-1"]
    told = "Not factual: 1 of 2 claims is refuted."
    assert told in tree.text_content()
    markdown = render(folder, "md")
    assert told in markdown
    assert "**Refuted (1)**" in markdown
    assert json.loads(render(folder, "json"))["run"]["text"]["claims"][1]["start"] == 18


def test_a_report_begins_with_the_name_of_the_file_and_the_day_of_the_check(tmp_path: Path) -> None:
    named = text_of(tmp_path / "20260304-101112-00000a", ["one.", "two."], origin={"name": "<release>.docx"})
    page, text = html.fromstring(render(named)), render(named, "md")
    assert page.xpath("string(//h1)") == "<release>.docx: 2 claims"
    assert "Checked on 2026-03-04" in page.text_content()
    assert "Refuted: 1; Supported: 1." in page.text_content()
    assert text.startswith("# \\<release\\>.docx: 2 claims\n\nChecked on 2026-03-04\n\nRefuted: 1; Supported: 1.\n")
    unnamed = render(text_of(tmp_path / "r", ["one.", "two."]), "md")
    assert unnamed.startswith("# A text of 2 claims\n\nChecked on 2026-01-02\n")  # the day of its evidence


def test_the_cost_of_a_text_includes_the_extraction_of_its_claims(tmp_path: Path) -> None:
    folder = text_of(tmp_path / "r", ["The first claim.", "The second claim."])
    cost = {row[0]: row[1] for row in tables(render(folder))["How it was done"]}["Cost"]
    assert cost.startswith("12 calls")  # four a claim, four for the text
    about = json.loads((folder / "run.json").read_text())
    about["text"]["usage"] = {"calls": "many"}
    (folder / "run.json").write_text(json.dumps(about))
    with pytest.raises(RecordError, match="no valid usage for its text"):
        render(folder)


def test_a_text_whose_claims_have_not_all_ended_is_called_nothing(tmp_path: Path) -> None:
    folder = text_of(tmp_path / "r", ["The first claim.", "The second claim."])
    events = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join(each for each in events if '"item":0' in each))
    assert "1 claim has not finished: there is no result for the text yet." in render(folder)
    (folder / "events.jsonl").write_text("")
    with pytest.raises(RecordError, match="no verdict yet"):
        render(folder)


def test_what_was_not_checked_has_no_confidence_anywhere(tmp_path: Path) -> None:
    claim = Claim(text="It opened in 1871.")
    unchecked = Unchecked(reason=UncheckedReason.SEARCH_FAILED)
    verdict = Verdict(claim=claim, label=N, confidence=0.99, unchecked=unchecked)
    begun = ClaimStarted(claim=claim, method="m", settings={}, backend="b", seed=0)
    folder = written(tmp_path / "r", [claim], [begun, ClaimEnded(verdict=verdict)])
    for format_ in ("html", "md", "sarif", "junit"):
        assert "0.99" not in render(folder, format_), format_
    assert "none, as no claim was checked" in render(folder)


def test_a_text_that_states_nothing_has_a_report_and_a_broken_one_none(tmp_path: Path) -> None:
    nothing = {"text": "Who?", "kind": "text", "context": "", "claims": [], "unchecked": []}
    for format_ in ("html", "md"):
        assert "states nothing that can be checked" in render(written(tmp_path / "n", [], [], text=nothing), format_)
    with pytest.raises(RecordError, match="describes no text"):
        render(written(tmp_path / "b", [], [], text={"text": "Who?"}))


def test_a_folder_that_is_neither_or_not_finished_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no report"):
        render(tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "bench.json").write_text("{}")
    with pytest.raises(UsageError, match="has no results"):
        render(tmp_path / "b")
    claim = Claim(text="one")
    with pytest.raises(RecordError, match="no verdict yet"):
        render(written(tmp_path / "r", [claim], debated(0, claim, S, "word")[:3]))
    with pytest.raises(UsageError, match="no format 'htm'"):
        render(tmp_path, "htm")


def filled(bench: Path, path: Path, *marks: tuple[str, str], as_csv: bool = False) -> Path:
    """A queue of the second system with the first rows filled in."""
    made = render(bench, "adjudication", method="single-reader", csv=as_csv)
    rows = (
        list(csv.DictReader(io.StringIO(made, newline="")))
        if as_csv
        else [json.loads(line) for line in made.splitlines()]
    )
    for row, (verdict, why) in zip(rows, marks, strict=False):
        row |= {"verdict": verdict, "why": why}
    with path.open("w", encoding="utf-8", newline="") as file:
        if as_csv:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def test_a_queue_has_one_open_row_a_disagreement_with_its_evidence(bench: Path, comparison: Comparison) -> None:
    rows = [json.loads(line) for line in render(bench, "adjudication", method="single-reader").splitlines()]
    wrong = [
        ask for ask, each in zip(comparison.claims, comparison.rows[1].said, strict=True) if each.label != ask.gold
    ]
    assert [row["item"] for row in rows] == [ask.item + 1 for ask in wrong]
    assert {row["verdict"] + row["why"] for row in rows} == {""}
    assert rows[0]["evidence"][0]["text"] == rows[0]["claim"]
    assert len(render(bench, "adjudication").splitlines()) < len(rows)  # the first system by default


@pytest.mark.parametrize("as_csv", [False, True])
def test_a_filled_queue_is_counted_and_replaces_gold(bench: Path, tmp_path: Path, *, as_csv: bool) -> None:
    marks = (("True", "wrong label"), ("false", "Temporal"), ("uncertain", "claim_quality"), ("true", ""))
    path = filled(bench, tmp_path / ("q.csv" if as_csv else "q.jsonl"), *marks, as_csv=as_csv)
    shown = tables(render(bench, "html", adjudicated=path))
    counts = shown["Disagreements of single-reader with gold, adjudicated"]
    assert counts[1] == ["wrong label", "1", "0", "0", "1"]
    assert counts[-1] == ["All", "2", "1", "1", "4"]
    directions = shown["Who was right, by the direction of the disagreement"][1:]
    assert [row[0] for row in directions] == ["gold false, predicted true", "gold true, predicted false"]
    assert 0 < sum(int(row[1]) for row in directions) <= 4
    after = shown["Accuracy with the adjudicated label instead of gold"]
    before, then = (float(after[2][at]) for at in (2, 3))
    assert then == pytest.approx(before + 2 / 12, abs=1e-3)  # it said SUPPORTS, and two of its claims are true
    assert "adjudicated" in render(bench, "md", adjudicated=path)
    assert json.loads(render(bench, "json", adjudicated=path))["adjudicated"]["rows"][0]["verdict"] == "true"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, r"verdict is 'maybe' .*row 2"),
        ({"verdict": "true", "why": "tired"}, r"why is 'tired' .*row 2"),
        ({"why": "temporal"}, r"the verdict is empty .*row 2"),
        ({"item": 99}, r"'99' is not an item .*row 2"),
        ({"item": "x"}, r"'x' is not an item .*row 2"),
        ({"claim": "another"}, r"has another text .*row 2"),
        ({"method": "nobody"}, r"no system 'nobody' .*row 2"),
        ({"method": "tool-mad"}, "rows of several systems"),
    ],
)
def test_a_bad_value_in_a_filled_queue_is_refused_with_its_row(
    bench: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = filled(bench, tmp_path / "q.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | change)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        render(bench, "html", adjudicated=path)


def test_files_that_are_no_filled_queue_are_refused(bench: Path, tmp_path: Path) -> None:
    twice = filled(bench, tmp_path / "q.jsonl")
    twice.write_text(twice.read_text() * 2)
    with pytest.raises(UsageError, match="appears twice"):
        render(bench, adjudicated=twice)
    for name, content, said in (
        ("a.jsonl", "{", "not JSON"),
        ("b.jsonl", "[]", "an empty list"),
        ("c.jsonl", "3", "expected a JSON object"),
        ("d.csv", "item,claim\n0,x\n", "no field 'verdict'"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(UsageError, match=said):
            render(bench, adjudicated=tmp_path / name)
    with pytest.raises(UsageError, match="no file"):
        render(bench, adjudicated=tmp_path / "missing.jsonl")


def test_options_that_do_not_fit_are_refused(bench: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no system 'x'"):
        render(bench, "claimreview", method="x", signature=SIGNATURE)
    with pytest.raises(UsageError, match="shows all systems"):
        render(bench, "html", method="tool-mad")
    run = run_of(tmp_path / "r", WORDS[:1])
    with pytest.raises(UsageError, match="is a run, not a bench"):
        render(run, "adjudication")


def test_negative_numbers_and_plain_words_stay_readable_in_csv() -> None:
    assert neutral("plain words") == "plain words"
    assert neutral("=1+1") == "'=1+1"


@pytest.mark.slow
def test_a_page_of_a_large_bench_stays_below_five_megabytes(
    bench: Path, monkeypatch: pytest.MonkeyPatch, comparison: Comparison
) -> None:
    loaded = load_bench(bench)
    long = Markup("<p>{}</p>").format("x" * 400_000)
    monkeypatch.setattr(page, "_claim", lambda *_: long)
    assert len(page.bench_page(loaded).encode()) < 5_000_000


def test_a_markdown_report_of_one_claim_begins_with_the_claim_as_its_only_title(tmp_path: Path) -> None:
    lines = render(run_of(tmp_path / "r", ["red"]), "md").splitlines()
    titles = [line for line in lines if line.startswith("#")]
    assert lines[0] == titles[0] == "# red"
    assert (titles[1], titles[-1]) == ("## Best case for", "## How it was done")
    assert all(title.startswith("## ") for title in titles[1:])
    several = render(run_of(tmp_path / "s", ["red", "blue"]), "md").splitlines()
    assert [line[:5] for line in several if line.startswith(("# ", "## "))] == ["# 2 c", "## 1.", "## 2.", "## Ho"]
