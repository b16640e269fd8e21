"""Quotations: whether the words of one stand in its source, and where."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from redargue.evidence import Passage, Quote, QuoteStatus, Side, publisher_of
from redargue.framing import DENIAL_REACH, denied, framed, negates
from redargue.framing import REACH as FRAME
from redargue.sanitize import INVISIBLE, LIGATURES

_EQUIVALENT = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u0060\u00b4\u2039\u203a", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u300a\u300b\u300c\u300d\u300e\u300f\u301d\u301e\u301f", '"'),
    **dict.fromkeys("\ufe41\ufe42\ufe43\ufe44", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63", "-"),
    **dict.fromkeys(INVISIBLE, ""),
    "\u2026": "...",
    **LIGATURES,
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},  # full-width forms
}
# NFKC as a whole would also turn 10² into 102, another number.

_LINE_BREAK_HYPHEN = re.compile(r"(?<=\w)-[ \t]*\r?\n\s*(?=[a-z])")
# Marks of a page that writers leave out: of list items and block quotes (never before a digit: "- 5 degrees"),
# references (never after a unit: km²), emphasis, code and the addresses of links in Markdown.
_ADDRESS = r"\]\((?:[^()\s]|\([^()\s]{0,100}\)){1,500}(?:\s\"[^\"\n]{0,200}\")?\)"
_MARKUP = re.compile(
    r"(?m:^)[ \t]*(?:[-–—+*·>]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))[ \t]+(?=[^\W\d]|[\"'“‘„«*_(])"
    r"|(?m:^)[ \t]*[•‣◦▪●○■]+[ \t]*"
    r"|\[(?:\d{1,3}(?:\s?[,–-]\s?\d{1,3})*|(?:note|nb|n|fn) ?\d{1,3}|[A-Za-z ]{1,20} needed|edit|sic|who\?|when\?)\]"
    r"|\[[a-z]\](?!\w)|\[\^[\w-]{1,20}\]"
    rf"|!?\[(?=[^\[\]\n]{{1,300}}{_ADDRESS})|{_ADDRESS}|(?<!\w)`+(?=\w)|(?<=\w)`+(?!\w)"
    r"|(?:(?<=[^\W\d_]{4})|(?<=[.,;:!?)\"'”’]))[¹²³⁰⁴-⁹]+"
    r"|[†‡]|(?<!\w)\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?!\w)|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)"
)
_FILLER = "\u00ad"  # takes the place of characters that are left out, so that offsets stay
_NUMBER = re.compile(r"^\s*\[\d{1,3}\]\s*(?=\S)")  # of a document, before its title and text
_INSIDE_WORDS = frozenset("-'.,")
_NUMBER_MARKS = frozenset(".,")
_NESTED = 6  # marks around a quotation, inside each other, that are removed
# a character with its combining marks, which are put in order in quadratic time
_LONGEST_CLUSTER = 32
# places of a text at which a quotation is called false, before the rest is left unread
_MOST_FRAMED = 20
_MOST_INVISIBLE = 64  # in a row; more of them count as part of a word


def find_quote(text: str, passages: tuple[Passage, ...], *, side: Side = Side.CONTEXT, agent: str = "") -> Quote:
    """Finds a quotation in the passages an agent saw: verbatim in any of them, otherwise repaired.

    Agents see each passage after its number and its title. So a quotation may begin with a number in brackets, and be
    found in a title; of one that runs from the title into the text, the part in the text counts.

    A quotation has to begin and end at word boundaries, and what it leaves out beside it must not deny it: the words of
    its own sentence and the sentences around it (:mod:`redargue.framing`).
    """
    text = _NUMBER.sub("", text)
    best: Quote | None = None
    for passage in passages:
        if span := _find(text, passage.text):
            quote = _quote(passage, text, *span)
            if quote.status is QuoteStatus.VERIFIED:
                best = quote
                break
            best = best or quote
    in_titles = (_in_title(text, passage) for passage in passages)
    missing = Quote(text=text, status=QuoteStatus.NOT_FOUND)
    found = best or next(filter(None, in_titles), missing)
    return found.model_copy(update={"side": side, "agent": agent})


def _quote(passage: Passage, given: str, start: int, end: int) -> Quote:
    """The words of a passage at a place, as given there."""
    quoted = passage.text[start:end]
    return Quote(
        text=quoted,
        status=QuoteStatus.VERIFIED if quoted == given.strip() else QuoteStatus.REPAIRED,
        start=start,
        end=end,
        offset=passage.start + start,
        page=passage.page_at(start),
        passage=passage.sha256,
        source=passage.source(),
    )


def _in_title(text: str, passage: Passage) -> Quote | None:
    """A quotation of a passage's title, or of the title and the beginning of the text."""
    title = passage.title.strip()
    # a quotation may include the mark of a cut
    leads = dict.fromkeys(("", passage.lead)) if title else ()
    spans = ((lead, _find(text, f"{title}\n{lead}{passage.text}")) for lead in leads)
    lead, (start, end) = next(((lead, span) for lead, span in spans if span), ("", (-1, -1)))
    if end < 0:
        return None
    before = len(f"{title}\n{lead}")
    if end > before:
        return _quote(passage, "", 0, end - before)
    end = min(end, len(title))
    return Quote(
        text=title[start:end],
        status=QuoteStatus.VERIFIED if title[start:end] == text.strip() else QuoteStatus.REPAIRED,
        part="title",
        start=start,
        end=end,
        passage=passage.sha256,
        source=passage.source(),
    )


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """The place of each character, and the character with its combining marks, composed where that is one letter."""
    if text.isascii():
        yield from enumerate(text)
        return
    index = 0
    while index < len(text):
        stop = index + 1
        while stop < min(len(text), index + _LONGEST_CLUSTER) and _continues(text[stop]):
            stop += 1
        yield index, unicodedata.normalize("NFC", text[index:stop])
        index = stop


def _continues(char: str) -> bool:
    """Whether a character belongs to the one before: a mark, a vowel sign, or a later part of a Korean syllable."""
    return unicodedata.category(char)[0] == "M" or "\u1160" <= char <= "\u11ff"


@lru_cache(maxsize=128)
def _normalised(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and the original offset of each of its characters.

    White space is kept only between two letters or digits (so that "Smith , Inc ." equals "Smith, Inc."), and at a
    point or comma between digits ("1. 5" is not 1.5).
    """
    pairs = [
        (mapped, index)
        for index, cluster in _clusters(text)
        for char in cluster
        for mapped in (" " if char.isspace() else _EQUIVALENT.get(char, char))
    ]
    joined = "".join(char for char, _ in pairs)
    for marks in ("''", "``"):  # the Penn Treebank's quotation marks, which FEVER's pages keep
        joined = joined.replace(marks, '"\0')
    kept: list[tuple[str, int]] = []
    gap = gap_before_last = False
    for char, (_, origin) in zip(joined, pairs, strict=True):
        if char in "\0 ":
            gap = gap or char == " "
            continue
        if kept and char.isalnum():
            last, before = kept[-1][0], kept[-2][0] if len(kept) > 1 else ""
            in_number = last in _NUMBER_MARKS and char.isdigit() and before.isdigit()
            if (gap and last.isalnum()) or (in_number and (gap or gap_before_last)):
                kept.append((" ", origin))
        gap, gap_before_last = False, gap
        kept.append((char, origin))
    return "".join(char for char, _ in kept), [origin for _, origin in kept]


def _find(quote: str, text: str) -> tuple[int, int] | None:
    needles = dict.fromkeys(
        spelling for variant in _variants(quote) for spelling in _spellings(_normalised(variant)[0])
    )
    called_false = 0
    for variant in _variants(text) if needles else ():
        hay, origins = _normalised(variant)
        for needle in needles:
            at = hay.find(needle)
            while at >= 0:
                stop = at + len(needle)
                last = origins[stop - 1] + 1
                whole = stop == len(hay) or origins[stop] != origins[stop - 1]
                while last < len(text) and (_continues if whole else unicodedata.combining)(text[last]):
                    last += 1
                cut = _cuts_word(variant, origins[at]) or _cuts_word(variant, last)
                around = hay[max(0, at - DENIAL_REACH) : at], hay[stop : stop + DENIAL_REACH]
                if not cut and not denied(*around):
                    if not _framed(text, origins[at], last):
                        return origins[at], last
                    called_false += 1
                    if called_false == _MOST_FRAMED:
                        return None
                at = hay.find(needle, at + 1)
    return None


STRUCK = re.compile(r"(?<![~`])~~(?![~\s])[^~\n]+(?<!\s)~~(?![~`])")  # in Markdown: what is struck out is not stated
_LIST = 4_000  # characters of a list or a table that are read before one of its items
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+|[^:;|\n]{1,60}: [^;\n]+; [^:;|\n]{1,60}: ")


def _framed(text: str, start: int, end: int) -> bool:
    """Whether a quotation is said to be false by what is around it, or by what leads in its list or table."""
    quoted, after = text[start:end], text[end : end + FRAME]
    before = text[max(0, start - FRAME - _LIST) : start]
    if _is_struck(text, start, end):
        return True
    return framed(before[-FRAME:], quoted, after) or framed(_before_list(before + quoted)[-FRAME:], quoted, "")


def _is_struck(text: str, start: int, end: int) -> bool:
    """Whether a place is between marks of struck text: "~~The fee is 5 euros.~~"."""
    around = STRUCK.finditer(text, max(0, start - FRAME), end + FRAME) if "~~" in text else ()
    return any(struck.start() <= start and end <= struck.end() for struck in around)


def _before_list(before: str) -> str:
    """What precedes a list or table, of the text before a place in it; empty where the place is in none."""
    lines, first = before.splitlines(keepends=True), None
    for place in range(len(lines) - 1, -1, -1):
        if _ITEM.match(lines[place]):
            first = place
        elif lines[place].strip() or first is None:
            break
    return "" if first is None else "".join(lines[:first])


@lru_cache(maxsize=128)
def _variants(text: str) -> tuple[str, ...]:
    """The text as it is, with words joined that a line break hyphenates, and without marks of the page; as long.

    A hyphen at a line break may belong to the word or to the line, so both readings are tried.
    """
    readings = text, _LINE_BREAK_HYPHEN.sub(_filled, text)
    return tuple(dict.fromkeys((*readings, *(_MARKUP.sub(_filled, each) for each in readings))))


def _filled(match: re.Match[str]) -> str:
    return _FILLER * len(match.group())


@lru_cache(maxsize=128)
def _spellings(needle: str) -> tuple[str, ...]:
    """Variants of a quotation: without marks around it, ellipses or a closing mark; its first letter in either case."""
    forms = [needle]
    for _ in range(_NESTED):
        bare = re.sub(rf"^(?:{_ELLIPSIS})+|(?:{_ELLIPSIS})+[.,;:]*$", "", forms[-1])
        core = bare.rstrip(".,;:")
        if len(core) > 2 and core[0] + core[-1] in _PAIRS:
            bare = core[1:-1]
        if bare == forms[-1]:
            break
        forms.append(bare)
    forms += [form.rstrip(".,;:") for form in forms]
    forms += [form[0].swapcase() + form[1:] for form in forms if form]
    return tuple(form for form in dict.fromkeys(forms) if re.search(r"\w", form))


_ELLIPSIS = r"\[\.\.\.\]|\(\.\.\.\)|\.\.\."
_PAIRS = ('""', "''", "()", "[]")


_SENTENCE_BEGINS = re.compile(r"[A-Z][a-z]+\b")  # "…as it eruptedThe two countries": a page without its line breaks


def _cuts_word(text: str, at: int) -> bool:
    """Whether a word or a number continues across a place in a text; invisible characters do not part a word.

    A function word with a capital letter is not the second part of a name, as the end of "McDonald" is.
    """
    left, beyond_left = _visible(text, at - 1, -1)
    right, beyond_right = _visible(text, at, 1)
    if not left or not right or left.isspace() or right.isspace():
        return False
    mark_left, mark_right = _EQUIVALENT.get(left, left), _EQUIVALENT.get(right, right)
    if (left.isalnum() or _continues(left)) and (right.isalnum() or _continues(right)):
        glued = _SENTENCE_BEGINS.match(text, at) if left.islower() else None
        return not _may_part(left, right) and (glued is None or glued[0].lower() not in _FUNCTION_WORDS)
    if right.isalnum() and mark_left in _INSIDE_WORDS:  # un-|known, -|5, 1.|5, can'|t
        if left in "—―" and not right.isdigit():
            return False
        if mark_left == "-":
            return right.isdigit() or beyond_left.isalnum()
        return beyond_left.isalnum() and (mark_left == "'" or (beyond_left + right).isdigit())
    if left.isalnum() and mark_right in _INSIDE_WORDS:  # well|-known, can|'t, 1|.5
        if right in "—―" and not left.isdigit():
            return False
        return beyond_right.isalnum() and (mark_right in "-'" or (left + beyond_right).isdigit())
    return (left.isdigit() and right in "%‰°") or (left in "$€£¥" and right.isdigit())


_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_ONE_WORD = re.compile(  # digits of a number, a word in katakana, and letters that begin no word
    "[\\d〇零一二三四五六七八九十百千万萬億亿兆两兩半.]{2}|[\u30a0-\u30ff]{2}|.[ぁぃぅぇぉっゃゅょゎんー々]"
)


def _may_part(left: str, right: str) -> bool:
    """Whether a word of Chinese or Japanese, which have no spaces, may end between two characters."""
    return bool(_EAST_ASIAN.search(left + right)) and not _ONE_WORD.fullmatch(left + right)


def _visible(text: str, at: int, step: int) -> tuple[str, str]:
    """The first two visible characters from a place on; empty past the end of the text."""
    seen: list[str] = []
    skipped = 0
    while 0 <= at < len(text) and len(seen) < 2:
        invisible = text[at] in INVISIBLE
        if not invisible or skipped == _MOST_INVISIBLE:
            seen.append("x" if invisible else text[at])
        skipped += invisible
        at += step
    first, second, *_ = (*seen, "", "")
    return first, second


_FUNCTION_WORDS = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each else even every few for from further get gets got had "
    "has have having he her here hers him his how i if in into is it its just let may me might more most must my "
    "no nor not now of off on once only or other our out over own per quite rather same shall she should so some "
    "such than that the their them then there these they this those though through thus to too under until up "
    "upon us very was we were what when where whether which while who whom whose why will with within without "
    "would yes yet you your".split()
)
# Japanese, Chinese, Thai
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
_ENOUGH, _ENOUGH_WHOLE = 3, 2  # content words of a quotation; of one that is a whole sentence
_SENTENCE_ENDS = frozenset(".!?。！？…।؟:;\n")
_LEFT_OUT = re.compile(r"\.\.\.|…")


def can_decide(quote: Quote, passages: Iterable[Passage]) -> bool:
    """Whether a quotation says enough to carry a verdict: three content words, or a whole sentence with two.

    A title never does: it names a text, and a list or a question that is named after a claim does not state it.
    ``passages`` contain the one that the quotation is from.
    """
    if not quote.found or quote.part == "title":
        return False
    count = len(content_words(quote.text))
    if count >= _ENOUGH or count < _ENOUGH_WHOLE:
        return count >= _ENOUGH
    own = (passage for passage in passages if passage.sha256 == quote.passage)
    return any(_is_sentence(quote, passage) for passage in own)


def content_words(text: str) -> frozenset[str]:
    """Distinct words that are not function words; in scripts without spaces, two characters count as a word."""
    words = {word for word in re.findall(r"\w+", text.casefold()) if not _UNSPACED.search(word)}
    characters = _UNSPACED.findall(text)
    pairs = {"".join(characters[index : index + 2]) for index in range(0, len(characters) - 1, 2)}
    return frozenset(words - _FUNCTION_WORDS) | pairs


def _is_sentence(quote: Quote, passage: Passage) -> bool:
    """What stands beyond a cut end, or where a search engine left words out, may be the rest of the sentence."""
    before = passage.text[: quote.start].rstrip(" \t\"'“”‘’()[]*•-")[-3:]
    after = passage.text[quote.end :].lstrip(" \t\"'”’)]*")[:3]
    last = quote.text.rstrip("\"'”’)] ")[-3:]
    begins, ends = not passage.starts_cut, not passage.ends_cut
    if before:
        begins = before[-1] in _SENTENCE_ENDS and not _LEFT_OUT.search(before)
    if last[-1:] in _SENTENCE_ENDS:
        return begins and not _LEFT_OUT.search(last)
    if after:
        ends = after[0] in _SENTENCE_ENDS and not _LEFT_OUT.match(after)
    return begins and ends


_SHORTEST = 3  # words between quotation marks: fewer are a name or a term
_REFERENCE = r"(?:document|doc|source|passage|evidence|excerpt)s?\.?\s*"
_REFERENCE_BEFORE = re.compile(  # a bare number may be part of the quotation
    rf"^\s*(?:(?:{_REFERENCE})?(?:\[D?\d{{1,3}}\]|\(D?\d{{1,3}}\))|(?:{_REFERENCE}D?|D)\d{{1,3}}(?=\s*[:–—]))\s*[:,–—-]*\s*",
    re.IGNORECASE,
)
_REFERENCE_AFTER = re.compile(
    rf"(?:\[(?:{_REFERENCE})?D?\d{{1,3}}\]|\((?:{_REFERENCE})?D?\d{{1,3}}\))[.,;]?$", re.IGNORECASE
)
_QUOTATION_MARK = re.compile('["“”„«»]')
_OMISSION = re.compile(r"(?:\[\s*(?:\.\.\.|…)[^\]\n]{0,60}\]|\(\s*(?:\.\.\.|…)\s*\)|\.\.\.|…)")
_MOST_PIECES = 6
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n")


def find_quotes(
    text: str, passages: tuple[Passage, ...], *, side: Side = Side.CONTEXT, agent: str = ""
) -> tuple[Quote, ...]:
    """The quotations in what an agent gives as one: the text itself, or what is inside where the text is not found.

    So it may name its document (``Document [1]: "…"``, ``Title: "…"``, ``"…" (1)``), contain several quotations in
    quotation marks, or leave words out (``… [...] …``): then one passage has to contain every piece, in their order.
    """
    given = find_quote(text, passages)
    found = [given] if given.found else _inside(text, passages) or [given]
    return tuple(quote.model_copy(update={"side": side, "agent": agent}) for quote in found)


def _inside(text: str, passages: tuple[Passage, ...]) -> list[Quote]:
    """The quotations inside a text that is not found itself, those that are not found after the others."""
    for candidate in dict.fromkeys(_without_reference(text, passages)):
        whole = find_quote(candidate, passages)
        if whole.found:
            return [whole]
        if pieces := _pieces(candidate, passages) or _sentences(candidate, passages):
            return pieces
    parts = _QUOTATION_MARK.split(text)
    between = parts[1:-1:2]  # each pair of marks
    if not _is_most(between, parts):
        return []
    spans = (span.strip() for span in between if len(span.split()) >= _SHORTEST)
    several = [find_quote(span, passages) for span in spans]
    several.sort(key=lambda quote: not quote.found)
    return several if several and several[0].found else []


def _without_reference(text: str, passages: tuple[Passage, ...]) -> Iterator[str]:
    """The text without the number or the title of its document, and what is between its outer quotation marks."""
    marks = [match.start() for match in _QUOTATION_MARK.finditer(text)]
    outer = text[marks[0] + 1 : marks[-1]] if len(marks) > 1 else ""
    if outer and _is_most([outer], [text]):
        yield outer
    plain = _REFERENCE_AFTER.sub("", _REFERENCE_BEFORE.sub("", text.rstrip()))
    yield plain.rstrip()  # the text itself, where it has none
    for passage in passages:
        for name in (publisher_of(passage), passage.title.strip()):  # as prompts show them
            if name and text.casefold().startswith(f"{name.casefold()}:"):
                yield text[len(name) + 1 :].strip()


def _is_most(quoted: Iterable[str], whole: Iterable[str]) -> bool:
    """Whether half the words or more are quoted: else they are a name in a sentence that is not found itself."""
    return 2 * sum(len(part.split()) for part in quoted) >= sum(len(part.split()) for part in whole)


def _pieces(text: str, passages: tuple[Passage, ...]) -> list[Quote]:
    """The pieces between marks of omission, if one passage contains all of them; else nothing."""
    pieces = [piece.strip() for piece in _OMISSION.split(text) if re.search(r"\w", piece)]
    if not 1 < len(pieces) <= _MOST_PIECES:
        return []
    for passage in passages:
        found = [find_quote(piece, (passage,)) for piece in pieces]
        in_text = all(quote.found and quote.part == "text" for quote in found)
        if in_text and _may_be_joined(found, passage.text):
            return found
    return []


def _sentences(text: str, passages: tuple[Passage, ...]) -> list[Quote]:
    """The sentences of a quotation that continues from one excerpt of a document into the next; else nothing."""
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text) if re.search(r"\w", part)]
    if not 1 < len(sentences) <= _MOST_PIECES:
        return []
    found = [find_quote(sentence, passages) for sentence in sentences]
    return found if all(_follows(first, second) for first, second in pairwise(found)) else []


def _follows(first: Quote, second: Quote) -> bool:
    if first.source is None or second.source is None or "title" in (first.part, second.part):
        return False
    between = second.offset - first.offset - len(first.text)
    document = first.source.document
    return document != "" and document == second.source.document and 0 <= between <= 2


def _may_be_joined(pieces: list[Quote], text: str) -> bool:
    """Whether pieces of a text are in its order, and nothing that is left out of a sentence negates it."""
    for first, second in pairwise(pieces):
        if second.start < first.end:
            return False
        left_out = text[first.end : second.start]
        if not _SENTENCE_END.search(left_out) and negates(left_out):
            return False
    return True
