"""A text to be checked, and its sentences with their offsets.

Documents within prompts and the results of tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, Self, get_args

from pydantic import ValidationError, field_validator, model_validator

from redargue.caveats import Unchecked
from redargue.claims import Claim, Frozen, readable
from redargue.errors import UsageError, problem_of
from redargue.evidence import PAGE_BREAK
from redargue.nli.markup import EMBEDDED_IMAGE, contact_block, has_dateline, is_furniture, is_heading, is_silent
from redargue.registry import did_you_mean
from redargue.retrieval.corpus.documents import as_if_of_newlines, sentence_spans

MAX_LENGTH = 200_000  # characters, about 2,000 sentences

Kind = Literal["text", "dialogue", "summary", "qa"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Text(Frozen):
    """A text to be checked claim by claim.

    Attributes:
        text: offsets count its characters (Unicode code points) from 0.
        kind: ``text``; ``dialogue``, a reply whose pure opinions are excluded first; ``summary``, whose claims are
            checked against the most similar sentences of its document; or ``qa``, an answer that forms one claim
            together with its question.
        context: the question or the previous conversation; required for ``qa``.
    """

    text: str
    kind: Kind = "text"
    context: str = ""

    @field_validator("text")
    @classmethod
    def _checkable(cls, text: str) -> str:
        if not re.search(r"\w", text):
            raise ValueError(f"{text.strip()[:60]!r} contains no words")
        if len(text) > MAX_LENGTH:
            raise ValueError(f"the text has {len(text):,} characters; the limit is {MAX_LENGTH:,}: split it into parts")
        return readable(text)

    _readable = field_validator("context")(readable)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "qa":
            if not self.context.strip():
                raise ValueError("the kind 'qa' needs a question: --question, or context=…")
            Claim(text=self.whole)  # raises ValueError where it cannot be checked
        return self

    @property
    def whole(self) -> str:
        """The question and the answer, joined as one claim (Sun et al. 2024)."""
        return f"{self.context.strip()} {self.text.strip()}"


class LocatedClaim(Frozen):
    """A claim and the span of the sentence that makes it: ``text.text[start:end]``."""

    claim: str
    start: int
    end: int


class UncheckedSentence(Frozen):
    """The span of a sentence without claims, and why."""

    start: int
    end: int
    why: Unchecked


class Sentence(Frozen):
    """A sentence, a heading or a list item."""

    start: int
    end: int
    text: str

    def unchecked(self, why: Unchecked) -> UncheckedSentence:
        return UncheckedSentence(start=self.start, end=self.end, why=why)


_MARKER = r"[ \t]*(?:[-*+•·–]|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|\[\^[\w-]{1,20}\]:)[ \t]+"
_BREAKS = re.compile(rf"\n[ \t\r]*(?=\n)|\n(?={_MARKER}\S)|\n(?=[ \t]*#)|(?<=\n)([ \t]*#[^\n]*)\n|\A([ \t]*#[^\n]*)\n")
_ITEM_START = re.compile(_MARKER)
_BLOCKS = re.compile(  # lines that are not running text, tags of blocks, images that are embedded or have a text
    r"^[ \t>]*(?:\*\*[^*\n]+\*\*|__[^_\n]+__)[ \t]*:?[ \t\r]*$|^[ \t>]*\|[^\n]*$|^[ \t]*(?:`{3}|~{3})[^\n]*$"
    r"|^[ \t]*\[[^\[\]\n]+\]:[ \t][^\n]*$|^[ \t]*:[ \t][^\n]*$"
    r"|(?:</|(?<![\w,;`] )(?<!`)<)(?:blockquote|br|caption|dd|details|div|dl|dt|figcaption|figure|h[1-6r]|img|li|ol|p"
    r"|pre|summary|table|tbody|td|tfoot|th|thead|tr|ul)\b[^<>]*>"
    r"|!\[(?=[^\s\]]{1,60}\s{1,9}[^\s\]]{1,60}\s{1,9}[^\s\]])[^\[\]\n]*(?:\](?:\([^()\n]*\))?)?"
    rf"|{EMBEDDED_IMAGE}",
    re.IGNORECASE | re.MULTILINE,
)
_UNDERLINE = re.compile(r"^[ \t]*(?:=+|-{2,}|[*_]{3,})[ \t\r]*\n", re.MULTILINE)  # of a heading, or a rule
_QUOTED = re.compile(r"(?:(?<=\n)|\A)(?![ \t]*>)[^\n]*\n(?=[ \t]*>)")  # the line before a quotation
_OPEN_TABLE = re.compile(  # whose rows begin with no pipe
    r"^[^|\n]+\|[^\n]*\n[ \t]*:?-+:?[ \t]*\|[ \t:|-]*(?:\n[^|\n]+\|[^\n]*)*", re.MULTILINE
)
_CELL = re.compile(r"(?:^|(?<!\\)\|)(?P<words>(?:\\\||[^|\n])*)", re.MULTILINE)
_LINE = re.compile(r"[^\n]+\n?")
_BROKEN = 40  # characters: a shorter line was not broken to fit
_CELLS_WORDS = 4  # of a cell that is a sentence of its own; shorter ones are read with their row


def sentences_of(whole: str) -> tuple[Sentence, ...]:
    """Splits a text into sentences in order; they do not overlap, and there are no words between them.

    Blank lines, headings, lines that accompany a document (its embargo, dateline, contacts), list items, tags of HTML
    blocks, images with a text, rows of tables and their cells of four words and more end a sentence regardless of
    punctuation; the marker of a list (``1.``, ``-``) or a footnote (``[^1]:``) is not part of a sentence.
    """
    sentences = (Sentence(start=start, end=end, text=whole[start:end]) for start, end in _spans(whole))
    return tuple(sentence for sentence in sentences if re.search(r"\w", sentence.text))


def _spans(whole: str) -> Iterator[tuple[int, int]]:
    whole = as_if_of_newlines(whole)
    cuts = sorted({0, len(whole), *_cuts(whole)})
    for begin, end in pairwise(cuts):
        part = whole[begin:end]
        if is_silent(part):
            continue
        marker = _ITEM_START.match(part)
        offset = begin + (marker.end() if marker and part[marker.end() :].strip() else 0)
        for start, stop in sentence_spans(whole[offset:end]):
            yield offset + start, offset + stop


def _cuts(whole: str) -> Iterator[int]:
    for pattern in (_BREAKS, _UNDERLINE, _QUOTED):
        yield from (match.end() for match in pattern.finditer(whole))
    for block in _BLOCKS.finditer(whole):
        yield from block.span()
        if block[0].lstrip(" \t>").startswith("|"):
            yield from _cell_cuts(whole, *block.span())
    past = 0
    for line in _LINE.finditer(whole):
        if line.start() < past:
            continue
        past = contact_block(whole, line.start())
        if past > line.start():
            yield from (line.start(), past)
        elif line[0].endswith("\n") and is_furniture(line[0]):  # a line that is being written may become a statement
            yield from line.span()
        elif has_dateline(line[0]):
            yield line.start()
        elif len(line[0]) < _BROKEN and is_heading(line[0]) and whole[line.end() : line.end() + 1].isupper():
            yield line.end()
    for table in _OPEN_TABLE.finditer(whole):
        yield from table.span()
        yield from (table.start() + line.end() for line in re.finditer(r"\n", table[0]))
        yield from _cell_cuts(whole, *table.span())


def _cell_cuts(whole: str, begin: int, end: int) -> Iterator[int]:
    for cell in _CELL.finditer(whole, begin, end):
        if len(cell["words"].split()) >= _CELLS_WORDS:
            yield from cell.span()


def text_of(text: str | Text, *, kind: Kind = "text", context: str = "") -> Text:
    """Validates a text; raises UsageError if it cannot be checked."""
    if isinstance(text, Text):
        return text
    if not isinstance(text, str):
        raise UsageError(f"the text is neither a string nor a Text: {text!r:.60}")
    if kind not in KINDS:
        raise UsageError(f"{kind!r} is not a kind of text", where="kind", hint=did_you_mean(str(kind), KINDS))
    if not isinstance(context, str):
        hint = "give the question or the conversation so far as one text; an empty one for none"
        raise UsageError(f"the context is not a string: {context!r:.60}", where="context", hint=hint)
    try:
        return Text(text=text.replace(PAGE_BREAK, "\n"), kind=kind, context=context)  # of a PDF
    except ValidationError as error:
        raise UsageError(f"this text cannot be checked: {problem_of(error)}") from error


_MAY_END_A_SENTENCE = re.compile(r"[.!?…。！？।॥۔؟][^\w\s]*(?=\s|\w)|\n")
_ABBREVIATION = re.compile(r"(?:^\w+|\b\w)\.$")  # "Prof." alone, or an initial


def has_several_sentences(text: str) -> bool:
    """Whether a text has a second sentence, which does not begin inside a quotation or after an abbreviation."""
    if not _MAY_END_A_SENTENCE.search(text.strip()):
        return False
    for first, second in pairwise(sentences_of(text)):
        before = text[: second.start]
        quoted = before.count('"') % 2 or before.count("“") > before.count("”")
        continued = quoted or second.text[0].islower() or _ABBREVIATION.search(first.text)
        if "\n" in text[first.end : second.start] or not continued:
            return True
    return False


_NAMES = (
    "contexts?|documents?|docs?|passages?|sources?|search[_-]results?|results?|references?|retrieved[_-]\\w+|knowledge"
    "|excerpts?|articles?|evidence"
)
# These patterns read prompts of megabytes, so that none may go over the same text again and again.
_DELIMITER = re.compile(rf"<(?P<close>/)?(?P<tag>{_NAMES})\b(?(close)\s*+|[^<>]*+)>", re.IGNORECASE)
_IN_QUOTES = re.compile(r'(?P<mark>"""|\'\'\')(?P<text>.+?)(?P=mark)', re.DOTALL)
_HEADINGS = "contexts?|documents|sources|passages|search results|knowledge base"
_NEXT = r"[ \t]*#{1,6}[ \t]|[ \t]*(?:question|query|answer)s?\b.{0,3}:"
_HEADED = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*|\*\*)?(?:retrieved )?(?:{_HEADINGS})(?:\*\*)?[ \t]*+:?(?:\*\*)?[ \t]*+$\n"
    rf"(?P<text>.+?)(?=^(?:{_NEXT})|\Z)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_TAG = re.compile(r"</?[a-z_][\w-]*(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"(?<![ \t])[ \t]*+\n\s*\n\s*")


def delimited_parts(text: str) -> list[str]:
    """Parts of a prompt that are set off as documents.

    By tags (``<context>…</context>``), triple quotation marks, or a heading on its own line (``Context:``,
    ``### Documents``) up to the next one. Tags within a part separate documents and are left out.
    """
    parts, rest = _tagged(text)
    for pattern in (_IN_QUOTES, _HEADED):
        parts += [match["text"] for match in pattern.finditer(rest)]
        rest = pattern.sub("\n", rest)
    return [document for part in parts for document in _separated(part)]


def _tagged(text: str) -> tuple[list[str], str]:
    """The texts between two tags of a name, each up to the first that closes it, and what is outside of them."""
    closing: dict[str, re.Match[str]] = {}
    pairs: list[tuple[re.Match[str], re.Match[str]]] = []
    for tag in reversed([*_DELIMITER.finditer(text)]):
        name = tag["tag"].lower()
        if tag["close"]:
            closing[name] = tag
        elif name in closing:
            pairs.append((tag, closing[name]))
    parts, rest, at = [], [], 0
    for first, last in reversed(pairs):
        if first.start() >= at:
            parts.append(text[first.end() : last.start()])
            rest.append(text[at : first.start()])
            at = last.end()
    return parts, "\n".join([*rest, text[at:]])


def _separated(part: str) -> list[str]:
    inner, _ = _tagged(part)
    texts = inner if len(inner) > 1 else [part]
    return [clean for text in texts if (clean := _BLANK_LINES.sub("\n\n", _TAG.sub("\n", text)).strip())]


def readable_context(text: str) -> str:
    """A tool's result as prose: JSON becomes its values, a line each, so that sentences stay whole.

    A short value has the names of the objects around it: ``fee, monthly: 5``. JSON that is nested too deeply for this
    stays as it is.
    """
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        lines = [*_lines(json.loads(text))]
    except (ValueError, RecursionError):
        return text
    return "\n".join(lines) or text


_DEEPEST = 100  # lists and objects within each other
_LONGEST_NAME = 200  # characters of the names around a value, which all lines of an object repeat


def _lines(value: object, name: str = "", depth: int = 0) -> Iterator[str]:
    """Raises ValueError where lists and objects are nested too deeply."""
    if isinstance(value, dict | list) and (depth > _DEEPEST or len(name) > _LONGEST_NAME):
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(item, ", ".join(filter(None, (name, key))), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _lines(item, name, depth + 1)
    elif isinstance(value, str) and (len(value.split()) > 3 or not name):
        yield value
    elif value is not None and value != "":
        yield f"{name}: {value}" if name else str(value)
