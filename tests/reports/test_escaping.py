"""Whatever strangers write, a report shows it and obeys nothing of it."""

from __future__ import annotations

import csv
import io
import json
import re
import traceback
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from lxml import etree, html  # type: ignore[import-untyped]
from markdown_it import MarkdownIt
from markupsafe import Markup

from redargue.claims import Claim, Label, LabelSet, Meaning
from redargue.events import ClaimEnded
from redargue.reports.debate import environment, macro
from redargue.reports.markdown import code, plain
from redargue.reports.render import render
from redargue.sanitize import link_address, printable
from redargue.verdicts import Verdict
from support.payloads import ADDRESSES, ALL, DOCUMENTS, FORMULAS, MARKUP, TERMINAL
from support.reported import SIGNATURE, bench_of, run_of, text_of, written

pytest.importorskip("scipy", reason="needs the extra lab")

OURS = set(
    "html head meta title style body main h1 h2 h3 h4 h5 p nav ul ol li a section div table caption thead tbody tr"
    " th td details summary b u s q mark br bdi span pre code blockquote figure figcaption svg desc line text"
    " polyline rect circle g".split()
)
ATTRIBUTES = set(
    "lang charset http-equiv content name class id href rel scope colspan dir open tabindex role aria-label viewbox"
    " points fill x y x1 y1 x2 y2 cx cy r width height text-anchor".split()
)
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module", params=["bench", "run", "one", "text"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("hostile")
    if request.param == "one":
        return run_of(base / "one", ["".join(ALL)])
    return {"bench": bench_of, "run": run_of, "text": text_of}[str(request.param)](base / str(request.param), ALL)


@pytest.mark.slow
def test_a_page_holds_no_element_attribute_script_or_address_of_a_stranger(folder: Path) -> None:
    page = render(folder, "html")
    tree = html.document_fromstring(page)
    assert not list(tree.iter(etree.Comment, etree.ProcessingInstruction))
    for element in tree.iter():
        assert element.tag in OURS
        for name, value in element.attrib.items():
            assert str(name).lower() in ATTRIBUTES, (element.tag, name)
            if name == "href":
                assert re.match(r"#|https?://", str(value))
                assert str(value).startswith("#") or "noopener" in str(element.get("rel"))
    assert not tree.xpath("//@src | //@srcset | //@style | //@action | //link | //script | //img | //base | //form")
    assert len(tree.xpath("//style")) == 1
    assert "url(" not in tree.xpath("string(//style)")
    assert "@import" not in tree.xpath("string(//style)")
    assert not CONTROLS.search(page)


@pytest.mark.parametrize("word", MARKUP + DOCUMENTS + TERMINAL)
def test_labels_settings_and_folder_names_are_strangers_text_too(tmp_path: Path, word: str) -> None:
    label = Label(name=word, meaning=Meaning.SUPPORTED)
    claim = Claim(text="A claim.", labels=LabelSet(name=word, labels=(label, label)))
    event = ClaimEnded(verdict=Verdict(claim=claim, label=word, meaning=label.meaning, decided_by="reader"))
    about = {"method": word, "identity": word, "backend": word, "settings": {word: word}, "models": {word: word}}
    folder = tmp_path / word.replace("/", "∕").replace("\x00", "")
    folder = written(folder, [claim], [event], **about, tools={word: {"revision": word}})
    tree = html.document_fromstring(render(folder))
    assert {element.tag for element in tree.iter()} <= OURS
    assert not CONTROLS.search(render(folder))
    for block in MarkdownIt("commonmark", {"html": True}).parse(render(folder, "md")):
        kinds = {block.type, *(each.type for each in block.children or [])}
        assert not {"html_block", "link_open", "image", "html_inline"} & kinds


def test_a_page_states_a_policy_that_loads_nothing(folder: Path) -> None:
    (policy,) = html.document_fromstring(render(folder, "html")).xpath("//meta[@http-equiv]/@content")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_every_place_in_a_page_is_named_once_and_every_link_leads_to_one(folder: Path) -> None:
    tree = html.document_fromstring(render(folder, "html"))
    names = tree.xpath("//@id")
    assert len(names) == len(set(names))
    assert {str(each)[1:] for each in tree.xpath("//@href") if str(each).startswith("#")} <= set(names)


def test_what_a_stranger_wrote_can_still_be_read_in_the_page(folder: Path) -> None:
    shown = " ".join(html.document_fromstring(render(folder, "html")).text_content().split())
    for word in ALL[:50] if folder.name == "bench" else ALL:  # of claims that do not flip, the first 50 are shown
        assert " ".join(printable(word).split()) in shown


def test_markdown_holds_no_link_image_or_html_of_a_stranger(folder: Path) -> None:
    document = render(folder, "md")
    assert not CONTROLS.search(document)
    for block in MarkdownIt("commonmark", {"html": True}).enable("table").parse(document):
        assert block.type != "html_block"
        spans = block.children or []
        assert not {"link_open", "image", "html_inline"} & {each.type for each in spans}
    prose = re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", document)
    prose = re.sub(r"(?<!`)(`+)(?!`)(?:.*?)(?<!`)\1(?!`)", " ", prose)
    assert not re.search(r"(?i)https?://|www\.[a-z]|mailto:|[\w.]@\w", prose)  # what GitHub makes links of


@pytest.mark.parametrize("format_", ["json", "claimreview"])
def test_data_is_ascii_and_valid(folder: Path, format_: str) -> None:
    made = render(folder, format_, signature=SIGNATURE)
    assert made.isascii()
    assert not CONTROLS.search(made)
    json.loads(made)
    if format_ == "claimreview":
        assert not re.search("[<>&]", made)


def test_a_queue_as_csv_holds_no_formula(tmp_path: Path) -> None:
    bench = bench_of(tmp_path / "b", FORMULAS + TERMINAL)
    rows = list(csv.reader(io.StringIO(render(bench, "adjudication", method="single-reader", csv=True), newline="")))
    assert len(rows) > 4
    for row in rows[1:]:
        assert not [cell for cell in row if cell.lstrip().startswith(tuple("=+-@＝"))]
        assert not [cell for cell in row if CONTROLS.search(cell)]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_may_not_be_a_link_is_text(address: str) -> None:
    assert link_address(address) is None
    assert "<" not in macro("parts.html", "link")(address)


def test_an_address_of_the_web_is_a_link_that_tells_its_target_nothing() -> None:
    made = macro("parts.html", "link")("https://example.org/a?b=1&c=2")
    assert 'href="https://example.org/a?b=1&amp;c=2"' in made
    assert 'rel="noopener noreferrer nofollow"' in made


def test_plain_strings_are_escaped_and_markup_is_not_escaped_twice() -> None:
    template = environment().from_string("{{ text }}{{ markup }}")
    assert template.render(text="<b>&", markup=Markup("<b>{}</b>").format("<i>")) == "&lt;b&gt;&amp;<b>&lt;i&gt;</b>"
    assert environment().from_string("{{ text }}").render(text='"') == "&#34;"


def test_a_template_that_names_something_undefined_fails() -> None:
    with pytest.raises(UndefinedError, match="missing"):
        environment().from_string("{{ missing }}").render()


def test_white_space_between_tags_is_dropped_and_lines_keep_their_numbers() -> None:
    template = environment().from_string("<p>\n  <b>{{ a }}</b>\n  two words\n</p>\n{{ 1 / 0 }}")
    with pytest.raises(ZeroDivisionError) as caught:
        template.render(a="a")
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == 5
    assert environment().from_string("<p>\n  <b>{{ a }}</b>\n</p>").render(a=1) == "<p><b>1</b></p>"


def test_markdown_text_reads_as_it_was_written() -> None:
    for word in ("1. one", "- item", "a_b_c", "0.660 (0.570 to 0.750)", "https://evil.test", "AT&T", "#1", "x|y", "+1"):
        (block,) = (t for t in MarkdownIt("commonmark").parse(plain(word)) if t.type == "inline")
        assert "".join(each.content for each in block.children or []) == word
    assert plain("0.660 (0.570 to 0.750)") == "0.660 (0.570 to 0.750)"
    assert code("a ``` b") == "````a ``` b````"
