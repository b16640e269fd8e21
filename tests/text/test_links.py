"""Links are found in the forms in which texts have them, and belong to the sentence that they stand in or after."""

from __future__ import annotations

import time

import pytest

from redargue.text.citations import as_markdown, cited_by, read_links

A, B = "https://a.example/page", "https://b.example/x_(y)"


@pytest.mark.parametrize(
    ("text", "plain", "cited"),
    [
        (f"According to [NASA]({A}), it is so.", "According to NASA, it is so.", {"According to NASA": [A]}),
        (f'It is so ([NASA]({A} "Title")). That is not.', "It is so. That is not.", {"It is so": [A]}),
        (f"It is so [[1]]({A}). That is not.", "It is so. That is not.", {"It is so": [A]}),
        (f'It is [so]({B}) ([s]( {B} "T (x)" )).', "It is so.", {"It is": [B]}),
        (f"It opened in [1998]({A}).", "It opened in 1998.", {"It opened": [A]}),
        (f"It rose to [54]({A})% [2]({B}).", "It rose to 54%.", {"It rose": [A, B]}),
        (f"It costs [€310]({A}), or [5.2%]({A}).", "It costs €310, or 5.2%.", {"It costs": [A]}),
        (f"[He] opened it in 1998: {A}", "[He] opened it in 1998: ", {"[He] opened": [A]}),
        (f"It is so ({A}). That is not.", "It is so. That is not.", {"It is so": [A]}),
        (f"It is so: see {A}. That is not ({B}).", "It is so: see. That is not.", {"It is": [A], "That is": [B]}),
        (f"It is so. {A}\nThat is not.", "It is so. \nThat is not.", {"It is so": [A]}),
        (f"It is so. <{A}> That is not.", "It is so.  That is not.", {"It is so": [A]}),
        (f"It is so.[1] That is not [2].\n\n[1]: {A}\n[2]: <{B}>\n", "", {"It is so": [A], "That is not": [B]}),
        (f"It is so [1].\r\n\r\n[1]: {A}\r\nThat is not.", "It is so.\n\nThat is not.", {"It is so": [A]}),
        (f"It is so.[^a] That is not.\n\n[^a]: Title, {A}\n", "", {"It is so": [A]}),
        (f'[It][1] is so.\n\n[1]: {A} "Title"\n', "", {"It is so": [A]}),
        (f"It is so [1, 2].\n\n## Sources\n\n1. A. {A}\n2. {B}\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"It is so.\n\n1. That is not, see {A}\n", "", {"That is not": [A]}),  # a list of claims
        (f"It is so [1][2].\n\n[1]: {A}\n[2]: {B}\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"It is so.[1][2][1, 2] That is not.\n\n[1]: {A}\n[2]: {B}\n", "", {"It is so": [A, B]}),
        (f"It is so [^1][^b].\n\n[^1]: {A}\n[^b]: {B}\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"It is so [a][b].\n\n[a]: {A}\n[b]: {B}\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"It is so [2][1]({A}).\n\n[2]: {B}\n", "It is so.\n\n", {"It is so": [B, A]}),
        (f"It is so [3][1].\n\n[1]: {A}\n", "It is so [3].\n\n", {"It is so": [A]}),  # nothing defines [3]
        (f"[It][1][2] is so.\n\n[1]: {A}\n[2]: {B}\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"The [report][] is so.\n\n[report]: {A}\n", "The report is so.\n\n", {"The report is so": [A]}),
        (f"In [Rome][1] it is so.\n\n[Rome]: {B}\n[1]: {A}\n", "In Rome it is so.\n\n", {"In Rome it": [A]}),
        (f"In [1998][^1] it is so.\n\n[^1]: {A}\n", "In 1998 it is so.\n\n", {"In 1998": [A]}),
        (f"It is so [1].\n\n[1]: {A}\n[1]: {B}\n", "It is so.\n\n", {"It is so": [A]}),  # as in CommonMark
        (f"It is so [1].\n\nSources\n1. Report, {A} and {B}\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"It is so [1].\n\n[1]: Report, {A} (archived: {B}).\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"It is so.[^1]\n\n[^1]: [Facts]({A}), page 3.\n", "It is so.\n\n", {"It is so": [A]}),
        (f"It is so.[^1]\n\n[^1]: See [A]({A}) and [B]({B}), pp. 4-5.\n", "It is so.\n\n", {"It is so": [A, B]}),
        (f"It is so [1].\n\n## Sources\n\n1. [Facts]({A}), page 3.\n", "It is so.\n\n", {"It is so": [A]}),
        (
            f"It is so.[^1]\n\n[^1]: The city paid a third of it, [it says]({A}), not all.\n",
            "It is so.\n\nThe city paid a third of it, it says, not all.\n",
            {"It is so": [A], "The city paid": [A]},
        ),
        (f"It is so {A} and {B}.", "It is so  and.", {"It is so": [A, B]}),
        ("It is so [1]. ftp://a.example", "It is so [1]. ftp://a.example", {}),
        (f"![A map]({A}) It is so.", "A map It is so.", {}),
    ],
)
def test_a_link_belongs_to_its_sentence(text: str, plain: str, cited: dict[str, list[str]]) -> None:
    linked = read_links(text)
    assert not plain or linked.plain == plain
    assert "a.example/page" not in linked.plain or "ftp" in text
    found = {linked.plain[start:end]: list(urls) for (start, end), urls in cited_by(linked).items()}
    assert len(found) == len(cited)
    for (sentence, urls), (beginning, expected) in zip(sorted(found.items()), sorted(cited.items()), strict=True):
        assert sentence.startswith(beginning), sentence
        assert urls == expected


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("It is so ([notes](sources/notes.md)). It is.", ["sources/notes.md"]),
        ('It is so ([notes](<./notes%20a.txt> "Title")). It is.', ["./notes%20a.txt"]),
        ("It is so.[^1]\n\n[^1]: Letter, <sources/letter.rtf>\n", ["sources/letter.rtf"]),
        ("It is so [2].\n\nSources\n\n[2] Mail of L. N., sources/mail.eml\n", ["sources/mail.eml"]),
        ("It is so [1].\n\n## Sources\n\n1. The report, report.pdf#page-2\n", ["report.pdf#page-2"]),
        ("It is so.[^1]\n\n[^1]: [Notes](notes.pdf), page 3.\n", ["notes.pdf"]),
        ("It is so ([report](sources/report.doc)), [slides](a.ppt).", ["sources/report.doc", "a.ppt"]),
        ("It is so ([a](a.pdf#page=3&zoom=9)), [b](b.pdf#a.b).", ["a.pdf#page=3&zoom=9", "b.pdf#a.b"]),
        ("It is so ([a](<a/the report.pdf>)). It is ([b](<my b.md#c d> 'B')).", ["a/the report.pdf"]),
        ("It is so.[^1]\n\n[^1]: <sources/annual report.pdf#page=3>\n", ["sources/annual report.pdf#page=3"]),
        ("It is so, see notes.md and a/b.txt.", []),  # a bare name is a word of the text
        ("It is so ([key](file:///etc/hosts.txt)), [mail](mailto:a@b.md).", []),
    ],
)
def test_links_to_documents_are_found_where_files_may_be_read(text: str, links: list[str]) -> None:
    assert [link.url for link in read_links(text, files=True).links] == links
    assert not read_links(text).links


@pytest.mark.slow
@pytest.mark.parametrize("files", [False, True])
def test_finding_links_takes_time_in_proportion_to_the_text(files: bool) -> None:
    began = time.process_time()
    hostile = (
        "[",
        "[a](",
        "[1] ",
        "\n1. ",
        "(",
        "sources:\n",
        "https://a.b ",
        "[a](https://a.b) ",
        "( ",
        " . ",
        "[1] a.b,",
        "[a](<a.pdf#",
        "<a b.pdf",
    )
    for part in hostile:
        read_links(part * (150_000 // len(part)) + " https://a.example/b", files=files)
    assert time.process_time() - began < 20


def test_links_of_a_page_to_documents_may_have_spaces_and_places_in_them() -> None:
    page = '<p>It is <a href="a/the report.pdf#page=3">so</a>. It <a href="mailto:a b.pdf">is</a>.</p>'
    assert [link.url for link in read_links(as_markdown(page, files=True), files=True).links] == [
        "a/the report.pdf#page=3"
    ]
