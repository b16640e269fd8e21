"""What Python users see of a result: one line, or small HTML in which no text from elsewhere is more than text."""

from __future__ import annotations

import ast
import inspect

import pytest
from lxml import html  # type: ignore[import-untyped]

import redargue
from redargue import errors
from redargue.caveats import Unchecked, UncheckedReason
from redargue.evidence import Gap, GapKind, Quote, QuoteStatus, Side, Source
from redargue.text import CheckedClaim, Outcome, Report
from redargue.text.segment import UncheckedSentence
from redargue.verdicts import Usage, Verdict
from support.payloads import FORMULAS, TERMINAL

EVIL = "<script>alert(1)</script>\n\x1b[31m\u202eend"
RITZ = redargue.Claim(text="The Ritz in London opened in 1926.")


def refuted(text: str = "César Ritz opened it in 1906.", url: str = "", title: str = "The Ritz") -> Verdict:
    source = Source(title=title, url=url)
    quote = Quote(text=text, status=QuoteStatus.VERIFIED, side=Side.AGAINST, source=source)
    failed = Gap(kind=GapKind.FAILED, tool="wikipedia", query="x", why="503")
    gaps = (failed, Gap(kind=GapKind.EMPTY, tool="corpus", query="y"))
    return Verdict(claim=RITZ, label="REFUTES", meaning="refuted", confidence=0.756, quotes=(quote,), gaps=gaps)


def report(*verdicts: Verdict) -> Report:
    claims = (CheckedClaim(start=0, end=34, stated=verdict.claim.text, verdict=verdict) for verdict in verdicts)
    unchecked = (UncheckedSentence(start=35, end=40, why=Unchecked(reason=UncheckedReason.LANGUAGE)),)
    values = {"text": "t", "kind": "text", "outcome": Outcome.NON_FACTUAL, "not_checked": {"subjective": 2}}
    return Report.model_validate({**values, "claims": tuple(claims), "unchecked": unchecked})


def test_results_are_one_line_each() -> None:
    with redargue.Grounder(["Bees are insects.", "Bees fly."], method="single-reader") as grounder:
        shown = {
            repr(RITZ): "<Claim 'The Ritz in London opened in 1926.' (fever)>",
            repr(refuted()): "<Verdict Refuted (0.75): The Ritz in London opened in 1926.>",
            repr(report(refuted())): "<Report non_factual: 1 Refuted, 1 sentence not read>",
            repr(report(refuted()).claims[0]): "<CheckedClaim 0–34 Refuted: The Ritz in London opened in 1926.>",
            repr(refuted().quotes[0]): "<Quote against, verified: 'César Ritz opened it in 1906.' (The Ritz)>",
            repr(redargue.Passage(text="a\nb", title="T")): "<Passage 'a b' (T)>",
            repr(Usage(calls=1, searches=2, prompt_tokens=1500, usd=0.25)): (
                "<Usage 1 call, 2 searches, 1,500 tokens, $0.2500>"
            ),
            repr(grounder): "<Grounder 2 documents, single-reader>",
            repr(redargue.RunSpec(method="nli", seed=3)): "RunSpec(method='nli', seed=3)",
            repr(RITZ.labels): "<LabelSet fever: SUPPORTS, REFUTES, NOT ENOUGH INFO>",
        }
    assert list(shown) == list(shown.values())


def test_a_representation_has_no_line_break_control_character_or_great_length() -> None:
    for value in (redargue.Passage(text=EVIL * 99, title=EVIL), refuted(EVIL * 99, title=EVIL * 99).quotes[0]):
        assert len(repr(value)) < 250
        assert repr(value).isprintable()


def test_a_verdict_in_a_notebook_has_its_label_quotations_and_gaps() -> None:
    tree = html.fromstring(refuted(url="https://example.org/ritz")._repr_html_())
    words = " ".join(tree.text_content().split())
    assert words.startswith("The Ritz in London opened in 1926.Refuted 0.75")
    for part in (
        "Against“César Ritz opened it in 1906.” — The Ritz",
        "Searches that failed",
        "without a usable result",
    ):
        assert part in words
    assert tree.xpath("//a/@href") == ["https://example.org/ritz"]


def test_a_report_in_a_notebook_has_a_row_for_every_claim() -> None:
    tree = html.fromstring(report(refuted(), refuted())._repr_html_())
    rows = [[cell.text_content() for cell in row.xpath("./td")] for row in tree.xpath("//tbody/tr")]
    assert [row[:3] for row in rows] == [[str(n), RITZ.text, "Refuted"] for n in (1, 2)]
    assert "subjective: 2" in tree.text_content()


@pytest.mark.parametrize("evil", [EVIL, *FORMULAS, *TERMINAL, "<img src=x onerror=alert(1)>", '"><svg/onload=x>'])
def test_nothing_from_elsewhere_is_more_than_text(evil: str) -> None:
    verdict = refuted(evil, url=f"javascript:{evil}", title=evil)
    for shown in (verdict._repr_html_(), report(verdict)._repr_html_()):
        tree = html.fromstring(shown)
        tags = {element.tag for element in tree.iter()}
        assert tags <= {"div", "p", "span", "br", "ul", "li", "a", "table", "thead", "tbody", "tr", "th", "td"}
        assert not tree.xpath("//@href | //@src | //@onerror | //@onload")
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_every_error_class_is_exported_with_a_description() -> None:
    classes = [
        value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.RedargueError) and not name.startswith("_")
    ]
    assert len(classes) == 12
    for error in classes:
        assert getattr(redargue, error.__name__) is error
        assert error.__doc__


def test_what_users_touch_is_documented() -> None:
    for name in redargue.__all__:
        thing = getattr(redargue, name)
        assert thing.__doc__, name
        if not inspect.isclass(thing):
            continue
        source = ast.parse(inspect.getsource(thing).lstrip())
        methods = [node for node in ast.walk(source) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        public = [node for node in methods if not node.name.startswith("_") and len(node.body) > 4]
        missing = [f"{name}.{node.name}" for node in public if not ast.get_docstring(node)]
        assert missing == []
