"""Lines of a PDF file's text layer: joins divided words and sentences, and leaves out running titles.

A word can be divided at the end of a line, and a sentence at the end of a page. Running titles and page numbers are
lines at the edges of a document's pages that other pages repeat.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple

from redargue.nli.grammar import has_finite_verb
from redargue.nli.session import WEIGHTS_FOLDER
from redargue.retrieval.corpus.documents import sentence_starts

# A part of a compound may precede or follow: "state-of-" and "the-art".
_DIVIDED = re.compile(
    r"(?<![\w-])(?P<before>(?:[^\W\d_]+-)*)(?P<first>[^\W\d_]+)(?P<mark>[-\u2010\u00ad])[ \t]*\n[ \t]*"
    r"(?P<second>[^\W\d_]+)(?P<after>[^\s]*)[ \t]*(?P<end>\n?)"
)
_SUSPENDED = frozenset({"and", "or", "to", "und", "oder", "bis"})  # "pre- and post-war"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LONGEST = 1000  # characters of a sentence that continues on the next page
_FULL = 0.5  # of a page's longest line: a shorter line does not end where the page does
_GOES_ON = frozenset("the a an of in on at by for to and or with from as than that which between into per".split())


def joined_words(text: str) -> str:
    """The text with each word that a hyphen divides at the end of a line on the first of the two lines.

    The hyphen of a compound ("long-term") stays: where the text has the compound elsewhere, or both parts are words of
    English and what they make together is none.
    """
    if not _DIVIDED.search(text):
        return text
    known = Counter(word.lower() for word in _WORD.findall(text))
    return _DIVIDED.sub(lambda match: _joined(match, known), text)


def _joined(match: re.Match[str], known: Counter[str]) -> str:
    first, second = match["first"], match["second"]
    if second in _SUSPENDED:
        return match[0]
    compound = match["before"] or match["after"].startswith("-") or not second.islower() or len(first) == 1
    hyphen = "" if match["mark"] == "\u00ad" or not (compound or _is_compound(first, second, known)) else "-"
    return f"{match['before']}{first}{hyphen}{second}{match['after']}\n"


def _is_compound(first: str, second: str, known: Counter[str]) -> bool:
    if first.isupper() and len(first) > 1:  # "UK-based"
        return True
    one, two = first.lower(), second.lower()
    if known[one + two] or known[f"{one}-{two}"]:
        return known[f"{one}-{two}"] > known[one + two]
    words = _words()
    return one + two not in words and {one, two} <= words


@cache
def _words() -> frozenset[str]:
    """The words of three letters and more in the vocabulary of the embedded models, which has the common ones."""
    description = json.loads((WEIGHTS_FOLDER / "tokenizer.json").read_text(encoding="utf-8"))
    return frozenset(word for word in description["model"]["vocab"] if len(word) > 2 and word.isalpha())


def with_whole_sentences(pages: Sequence[str]) -> list[str]:
    """The pages, each with the rest of the sentence that it leaves unfinished and the next page begins with."""
    whole = [page.strip() for page in pages]
    for at in range(len(whole) - 1):
        if rest := _rest(whole[at], whole[at + 1]):
            whole[at] = f"{whole[at]}\n{whole[at + 1][:rest].rstrip()}"
            whole[at + 1] = whole[at + 1][rest:].strip()
    return whole


def _rest(page: str, following: str) -> int:
    """The number of characters of the following page that end the last sentence of a page."""
    lines = page.split("\n")
    last, first = lines[-1], following.split("\n", 1)[0]
    if not last.strip() or not first.strip() or re.search(r"[.!?:;…][\"'”’)\]]*$", last):
        return 0
    final = last.split()[-1]
    unfinished = final.lower() in _GOES_ON or final.endswith((",", "-", "\u2010", "\u00ad"))
    goes_on = first.lstrip()[0].islower() or (unfinished and not first.lstrip().startswith(("-", "•")))
    if not goes_on or len(last) < _FULL * max(map(len, lines)):
        return 0
    begin = page[-_LONGEST:] + "\n"
    starts = sentence_starts(begin + following[: 2 * _LONGEST])
    # Without a next sentence, this one is all that is on the page.
    rest = next((start - len(begin) for start in starts if start > len(begin)), len(following))
    return rest if rest <= _LONGEST else 0


_EDGE = 3  # lines at the top and at the bottom of a page
_LETTER = re.compile(r"\w")
_NUMBER = re.compile(r"(\d+|\b[ivxlc]+\b)")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_YEARS = range(1900, 2101)  # these count years sooner than pages
_MOST_NUMBERS = 8  # of a running title; a line with more is a row of a table
_LONGEST_LINE = 120  # characters of a running line


class _Line(NamedTuple):
    """A line at an edge of a page.

    Attributes:
        at: its place among the page's lines.
        shape: its words without numbers.
        numbered: its words, each time with one number as the distance from the page's.
    """

    at: int
    words: str
    shape: str
    numbered: frozenset[str]


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """The pages without lines at their edges that half of the pages have.

    A number may differ only where it counts the pages, of the document or of a chapter: otherwise the lines may be rows
    of a table. A line that states something stays where it is first. One page has no running lines.
    """
    lines_of = [page.splitlines() for page in pages]
    edges_of = [list(_edges(lines, number)) for number, lines in enumerate(lines_of, 1)]
    counts: Counter[str] = Counter()
    for edges in edges_of:
        counts.update({key for line in edges for key in (line.words, *line.numbered)})
    least = max(2, (sum(map(bool, edges_of)) + 1) // 2)
    running = {key for key, count in counts.items() if count >= least} | _numbers_of_chapters(edges_of, least)
    stated: set[str] = set()
    kept = []
    for lines, edges in zip(lines_of, edges_of, strict=True):
        dropped = set()
        for line in edges:
            repeated = line.words in running and line.words in stated
            titled = (line.words in running or line.numbered & running) and not has_finite_verb(lines[line.at])
            if repeated or titled:
                dropped.add(line.at)
            stated.add(line.words)
        kept.append("\n".join(line for at, line in enumerate(lines) if at not in dropped))
    return kept


def _numbers_of_chapters(edges_of: Sequence[Sequence[_Line]], least: int) -> set[str]:
    """The numbered words of lines whose number counts the pages of a chapter: "3-1", "3-2"; "iii", "iv" before "1".

    Such a number has the same distance from the page's number as on a page right before or after (or the next but one,
    where odd and even pages have titles of their own), and half of the pages have lines of that shape.
    """
    pages_of: dict[str, set[int]] = defaultdict(set)
    shapes: dict[str, set[str]] = defaultdict(set)
    for page, edges in enumerate(edges_of):
        for line in edges:
            shapes[line.shape] |= line.numbered
            for key in line.numbered:
                pages_of[key].add(page)
    near = {key: _with_neighbours(pages) for key, pages in pages_of.items()}
    found: set[str] = set()
    for keys in shapes.values():
        if len(set().union(*(near[key] for key in keys))) >= least:
            found |= {key for key in keys if near[key]}
    return found


def _with_neighbours(pages: set[int]) -> set[int]:
    return {page for page in pages if pages & {page - 2, page - 1, page + 1, page + 2}}


def _edges(lines: Sequence[str], page: int) -> Iterator[_Line]:
    """The short lines with a word at the top and the bottom of a page."""
    top = list(islice((at for at in range(len(lines)) if _LETTER.search(lines[at])), _EDGE))
    bottom = list(islice((at for at in reversed(range(len(lines))) if _LETTER.search(lines[at])), _EDGE))
    for at in dict.fromkeys([*top, *reversed(bottom)]):
        if len(lines[at].strip()) <= _LONGEST_LINE:
            words = " ".join(lines[at].casefold().split())
            # A table that continues on the next page has rows at the bottom of one and the top of the other.
            sides = [name for name, places in (("top", top), ("bottom", bottom)) if at in places]
            numbered = frozenset(f"{side} {each}" for each in _numbered(words, page) for side in sides)
            yield _Line(at, words, _NUMBER.sub("#", words), numbered)


def _numbered(words: str, page: int) -> Iterator[str]:
    """The words, each time with another number as its distance from the page's number."""
    pieces = _NUMBER.split(words)
    for at in range(1, len(pieces), 2) if len(pieces) <= 2 * _MOST_NUMBERS + 1 else ():
        number = int(pieces[at]) if pieces[at].isdecimal() else _roman(pieces[at])
        if number not in _YEARS:
            yield "".join([*pieces[:at], f"#{number - page}", *pieces[at + 1 :]])


def _roman(numeral: str) -> int:
    values = [_ROMAN[letter] for letter in numeral]
    smaller = sum(value for value, following in pairwise(values) if value < following)
    return sum(values) - 2 * smaller
