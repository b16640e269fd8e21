"""One table, three writers."""

from __future__ import annotations

from io import StringIO

import pytest
from lxml import html  # type: ignore[import-untyped]

from redargue.bench.metrics import MetricValue, undefined
from redargue.reports import markdown
from redargue.reports.debate import macro
from redargue.reports.markdown import table_markdown
from redargue.reports.table import Column, Link, Table, number

TABLE = Table(
    "Systems | compared",
    (Column("Key", "key"), Column("System", "name"), number("Accuracy", ".3f"), number("Price", ".2f", unit="$")),
    (
        ("A", "tool-mad", MetricValue(name="accuracy", value=0.5, low=0.25, high=0.75, n=4), 1.5),
        ("B", Link("nli", "b"), undefined("accuracy", "no items"), None),
    ),
    ("A dash: not known.",),
)


def test_cells_are_formatted_by_their_columns() -> None:
    assert TABLE.text_rows == (
        ("A", "tool-mad", "0.500 (0.250 to 0.750)", "$1.50"),
        ("B", "nli", "undefined: no items", "–"),
    )
    assert (
        number("Difference", "+.1f").text(MetricValue(name="d", value=0.25, low=-1.0, high=2.0))
        == "+0.2 (-1.0 to +2.0)"
    )
    assert number("Tokens", ",").text(12345) == "12,345"


def test_markdown_aligns_numbers_right_and_escapes_titles() -> None:
    lines = table_markdown(TABLE).splitlines()
    assert lines[0] == r"**Systems \| compared**"
    assert lines[3] == "| --- | --- | ---: | ---: |"
    assert lines[4] == "| A | tool-mad | 0.500 (0.250 to 0.750) | $1.50 |".replace("$", r"\$")
    assert lines[-1] == "A dash: not known."


def test_html_has_scoped_headings_links_and_the_colour_of_a_system() -> None:
    tree = html.fragment_fromstring(macro("parts.html", "table")(TABLE), create_parent=True)
    assert tree.xpath("string(.//caption)") == "Systems | compared"
    assert [cell.text_content() for cell in tree.xpath(".//tbody//th[@scope='row']")] == ["tool-mad", "nli"]
    assert tree.xpath(".//a[@href='#b']/text()") == ["nli"]
    assert tree.xpath(".//b[@class='key k1']/text()") == ["B"]
    assert [cell.get("class") for cell in tree.xpath(".//tbody/tr[2]/td")] == [None, "long", "num"]


def test_a_pipe_gets_the_whole_width_without_trailing_spaces() -> None:
    lines = markdown.table_text(TABLE).splitlines()
    assert lines[1:4] == [
        "Key  System                  Accuracy  Price",
        "A    tool-mad  0.500 (0.250 to 0.750)  $1.50",
        "B    nli          undefined: no items      –",
    ]
    assert "x" * 500 in markdown.table_text(Table("", (Column("Text"),), (("x" * 500,),)))


def test_a_terminal_that_is_too_narrow_gets_prose_below_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    wide = Table("", (Column("1st"), Column("2nd"), Column("Why", "long")), (("A", "B", "word " * 20),))
    screen = Terminal()
    markdown.print_tables([wide], file=screen)
    assert "Why" not in screen.getvalue()
    assert "A B, why word word" in screen.getvalue()


def test_what_a_terminal_would_obey_is_removed() -> None:
    assert "\x1b" not in markdown.table_text(
        Table("\x1b[31m", (Column("\x1b[2J"),), (("\x1b]0;title\x07",),), ("\x1b",))
    )
