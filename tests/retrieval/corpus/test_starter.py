"""The starter corpus: its form, and that its articles state only what the pages that they were written from state.

Names, numbers and dates of an article have to stand in the text of the encyclopedia page with the same title, and no
long run of its words may: the articles are written in our own words.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import unicodedata
from collections import Counter, defaultdict
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

COUNT = 60
LENGTH = range(70, 201)  # words
RUN = 9  # this many words in a row, as on the page, are copied
STARTER = Path(str(files("redargue.retrieval.corpus") / "starter"))

MONTHS = frozenset("january february march april may june july august september october november december".split())
# Words that begin sentences and are never names; any other word with a capital is taken for one.
OPENERS = frozenset(
    """
    a about above after all although among an and another as at because before both but by during each few for from he
    her his if in instead into it its just many more most near no nobody not of on one only or other others over she
    since so some such that the their then there these they this those through to two under until up when where while
    with within without
    """.split()
)

_TOKEN = re.compile(r"\d+(?:[.,–]\d+)*[^\W\d_]*|[^\W\d_]+(?:'[^\W\d_]+)*")
_SENTENCE_START = re.compile(r"""(?:^|[.!?]["')]*\s+)["'(]*$""")


class Article(NamedTuple):
    path: Path
    title: str
    body: str


class Word(NamedTuple):
    """A word as it was matched on both sides, and how it stood in the article."""

    folded: str
    written: str
    opens: bool


def _articles() -> list[Article]:
    found = []
    for path in sorted(STARTER.glob("*.md")):
        first, _, body = path.read_text(encoding="utf-8").partition("\n")
        found.append(Article(path, first.removeprefix("# "), body.strip()))
    return found


ARTICLES = _articles()


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'")


def _words(text: str) -> list[Word]:
    """Words and numbers, without punctuation, the parts of hyphenated words apart, ``'s`` left out."""
    plain = _plain(text)
    return [
        Word(
            folded=match.group().casefold().removesuffix("'s"),
            written=match.group(),
            opens=bool(_SENTENCE_START.search(plain[max(0, match.start() - 9) : match.start()])),
        )
        for match in _TOKEN.finditer(plain)
    ]


def _slug(title: str) -> str:
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_title.replace("'", "")).strip("-")


def _variants(word: str) -> set[str]:
    """The word itself, its plural, its singular; a number only itself: 1960 and 1960s are two statements."""
    return {word} if word[0].isdigit() else {word, word + "s", word.removesuffix("s")}


def _dates(words: list[Word]) -> set[frozenset[str]]:
    """A month with the number next to it, whichever comes first."""
    return {
        frozenset((one.folded, two.folded))
        for one, two in pairwise(words)
        if (one.folded in MONTHS and two.folded[0].isdigit()) or (two.folded in MONTHS and one.folded[0].isdigit())
    }


def _runs(words: list[Word]) -> set[tuple[str, ...]]:
    folded = [word.folded for word in words]
    return {tuple(folded[start : start + RUN]) for start in range(len(folded) - RUN + 1)}


@pytest.fixture(scope="module")
def pages() -> dict[str, list[list[Word]]]:
    """The words of the pages with the articles' titles; a title may have several pages."""
    folder = Path(os.environ.get("REDARGUE_DATA", "")) / "corpora"
    if not os.environ.get("REDARGUE_DATA") or not folder.is_dir():
        pytest.skip("REDARGUE_DATA names no folder with corpora: there is nothing to compare the articles with")
    wanted = {article.title for article in ARTICLES}
    found: defaultdict[str, list[list[Word]]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if row["title"] in wanted:
                    found[row["title"]].append(_words(row["text"]))
    return dict(found)


def test_there_are_as_many_articles_as_promised_and_nothing_else() -> None:
    assert len(ARTICLES) == COUNT
    assert {path.name for path in STARTER.iterdir()} == {article.path.name for article in ARTICLES}


def test_an_article_begins_with_its_title_and_an_empty_line() -> None:
    for path in STARTER.glob("*.md"):
        assert re.match(r"# \S[^\n]*\S\n\n\S", path.read_text(encoding="utf-8")), path.name


def test_titles_are_unique_and_give_the_files_their_names() -> None:
    assert [title for title, count in Counter(article.title for article in ARTICLES).items() if count > 1] == []
    assert [article.path.stem for article in ARTICLES] == [_slug(article.title) for article in ARTICLES]


def test_articles_are_short_prose_without_links_or_lists() -> None:
    for title, body in ((article.title, article.body) for article in ARTICLES):
        assert len(body.split()) in LENGTH, title
        assert len(body.split("\n\n")) in range(2, 5), title
        assert not re.search(r"http|www\.|\]\(|\[\d|^\s*(?:[-*#|>]|\d+\.)\s", body, re.MULTILINE), title


@pytest.mark.data
def test_every_title_has_a_page(pages: dict[str, list[list[Word]]]) -> None:
    assert sorted({article.title for article in ARTICLES} - pages.keys()) == []


@pytest.mark.data
def test_names_numbers_and_dates_stand_on_the_page(pages: dict[str, list[list[Word]]]) -> None:
    missing = {}
    for article in ARTICLES:
        words = _words(article.body)
        known = {word.folded for page in (_words(article.title), *pages.get(article.title, [])) for word in page}
        absent = {word.written for word in words if _is_fact(word) and not _variants(word.folded) & known}
        dates = _dates(words) - set().union(*(_dates(page) for page in pages.get(article.title, [])))
        missing[article.title] = sorted(absent | {" ".join(sorted(date)) for date in dates})
    assert not any(missing.values()), _listed(missing)


@pytest.mark.data
def test_no_article_copies_its_page(pages: dict[str, list[list[Word]]]) -> None:
    copied = {}
    for article in ARTICLES:
        runs = _runs(_words(article.body)) & set().union(*(_runs(page) for page in pages.get(article.title, [])))
        copied[article.title] = sorted(" ".join(run) for run in runs)
    assert not any(copied.values()), _listed(copied)


def _is_fact(word: Word) -> bool:
    """Whether it is a number or a name: written with a capital, and no common word that only begins a sentence."""
    if any(character.isdigit() for character in word.written):
        return True
    return word.written[0].isupper() and not (word.opens and word.folded in OPENERS)


def _listed(problems: dict[str, list[str]]) -> str:
    return "\n".join(f"{title}: {', '.join(found)}" for title, found in problems.items() if found)
