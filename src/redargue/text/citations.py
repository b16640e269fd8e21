"""Checks what a text says against the pages that it cites there: each claim against each of its links alone.

Each page is fetched once and kept in the run folder (``citations.json``), so that a resumed run fetches none again.
What a page said is also in the record of the run, as the evidence of the claim.

Finds the links of a text in Markdown, HTML or plain text, and what it says without their addresses. Links to files are
followed only in a text that the user named as a file, and only inside its folder (``retrieval/web_pages.py``).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Unpack, cast

from redargue.assembly import Parts, RunOptions, method_of, read_options
from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import Claim, Frozen, Meaning
from redargue.errors import RecordError, ToolFailed, UsageError
from redargue.evidence import Passage
from redargue.files import make_folder, open_to_read, replacing
from redargue.net.fetch import PageFetcher
from redargue.nli.claim_filter import is_counted
from redargue.nli.grammar import has_finite_verb
from redargue.retrieval.corpus import Encoder
from redargue.retrieval.corpus.markup import html_with_links
from redargue.retrieval.tools import Search
from redargue.retrieval.tools.corpus import FixedPassages, FixedPassagesTool
from redargue.retrieval.web_pages import SUFFIXES, Fetched, WebPage, is_file_link, read_linked_file, read_pages
from redargue.runs.manifest import Origin
from redargue.spec import RunSpec
from redargue.text import CITATION_WORDS, CheckedClaim, Citation, CitationOutcome, Report
from redargue.text.extract import Extraction
from redargue.text.segment import Text, UncheckedSentence, sentences_of, text_of
from redargue.text.verification import PreparedText, TextOptions, encoder_of, prepare
from redargue.verdicts import Verdict
from redargue.verifier import require_concurrency

_ADDRESS = r"https?://[^\s<>\"`\[\]{}|\\^]+"
_BALANCED = r"https?://(?:[^\s<>\"`\[\]{}|\\^()]|\([^\s<>()]*\))++"  # "https://en.wikipedia.org/wiki/Mercury_(planet)"
_END = rf"\.(?:{'|'.join(SUFFIXES)})(?:\#[^\s<>()\"`\[\]{{}}|\\^]{{0,80}}+)?+(?![\w/-])"
_PATH = r"(?<![^\s<(,;:])(?!\w{1,20}:)[^\s<>()@\"`\[\]{}|\\^]{1,200}?" + _END  # of a document: "sources/report.pdf"
_SPACED_PATH = r"(?!\w{1,20}:)[^\n<>\"`\[\]{}|\\^]{1,200}?" + _END  # between "<" and ">"
_SOURCES = re.compile(  # the heading of a list of sources
    r"^[ \t#*_]*(?:sources?|references?|bibliography|notes|links|literature|works cited)[ \t*_:]*$\n?",
    re.IGNORECASE | re.MULTILINE,
)


class _Patterns(NamedTuple):
    """Where a text defines references, and where it links."""

    link: re.Pattern[str]
    last: re.Pattern[str]  # of a line that ends with an address


def _patterns(*more: str) -> _Patterns:
    """For addresses, and what else may be in their place, except among bare addresses."""
    in_tag = f"(?<=<){_SPACED_PATH}(?=>)" if more else r"(?!)"
    target, shortest = ("|".join((address, *more)) for address in (_ADDRESS, f"{_BALANCED}|{_ADDRESS}?"))
    return _Patterns(
        re.compile(
            rf"!?\[(?P<text>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]"
            rf"\(\s*<?(?P<inline>{in_tag}|{shortest})>?(?:\s+[\"'(][^\n]*?[\"')])?\s*\)"
            r"|\[(?P<referring>[^\[\]\n]+)\]\[\^?(?P<full>[^\]\n]{0,40})\]"
            r"|\[\^?(?P<short>[^\[\]\n]{1,40})\]"
            rf"|<(?P<angle>{target})>"
            rf"|(?P<bare>{_ADDRESS})",
            re.IGNORECASE,
        ),
        re.compile(rf"[^\n]*?<?(?P<url>{in_tag}|{target})>?[ \t]*(?:[\"'(][^\n]*)?\Z"),
    )


_DEFINITION = re.compile(  # "[1]: https://…"
    r"^[ \t]*\[\^?(?P<name>[^\]\n]{1,40})\](?:(?P<certain>:)|(?<=\d\]))[ \t]+(?P<line>[^\n]*)$\n?", re.MULTILINE
)
_NUMBERED = re.compile(  # of a list of sources
    r"^[ \t]*(?P<name>\d{1,3})[.)](?P<certain>)[ \t]+(?P<line>[^\n]*)$\n?", re.MULTILINE
)
_WEB, _WITH_FILES = _patterns(), _patterns(_PATH)
_EMPTY = re.compile(r"[ \t]*\([ \t,;]*\)|[ \t]+(?=[.,;:!?])")
_HTML = re.compile(  # begins with a tag, and closes one
    r"\s*+(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype|[a-z][a-z0-9]*)(?:\s[^<>]*)?/?>.*</[a-z]",
    re.IGNORECASE | re.DOTALL,
)


class _Link(NamedTuple):
    """An address, and where in the plain text it is cited; ``within``: it is the address of words of the text."""

    url: str
    at: int
    within: bool


class LinkedText(NamedTuple):
    """A text without addresses, and its links in order."""

    plain: str
    links: tuple[_Link, ...]


def as_markdown(text: str, *, files: bool = False) -> str:
    """The text; of HTML, its words, with its links in Markdown, with ``files`` those to documents too."""
    if not _HTML.match(text):
        return text
    return html_with_links(text, re.compile(_SPACED_PATH, re.IGNORECASE) if files else None)


def read_links(text: str, *, files: bool = False) -> LinkedText:
    """The links of Markdown (inline, by reference, footnotes), lists of numbered sources, and bare addresses.

    Only http and https count, and with ``files`` paths of documents, except bare ones. Of a Markdown link its words
    stay in the plain text; a line that defines a reference is left out of it, unless it says more than where that is.
    """
    patterns = _WITH_FILES if files else _WEB
    body, definitions = _defined(text.replace("\r\n", "\n"), patterns)
    pieces: list[str] = []
    links: list[_Link] = []
    at = 0
    for part in _parts(body, definitions, patterns.link):
        words, urls = (part, []) if isinstance(part, str) else part
        links += [_Link(url, at, bool(words)) for url in urls]
        pieces.append(words)
        at += len(words)
    return _tidied("".join(pieces), links)


_Definitions = Mapping[str, tuple[str, ...]]  # the addresses of a reference, by its name


def _defined(text: str, patterns: _Patterns) -> tuple[str, _Definitions]:
    """The text without the lines that define references, and the addresses of these lines by name.

    Of two lines that define one name, the first counts, as in CommonMark.
    """
    *_, heading = [None, *_SOURCES.finditer(text)]
    body, sources = (text[: heading.start()], text[heading.end() :]) if heading else (text, "")
    definitions: dict[str, tuple[str, ...]] = {}

    def define(match: re.Match[str]) -> str:
        """What stays of the line in the text."""
        line = match["line"]
        last = patterns.last.match(line)
        linked = _addresses(line, patterns.link) if last or match["certain"] is not None else ()
        at_end = _trimmed(last["url"]) if last else ""  # may be a bare path
        urls = dict.fromkeys([*linked, *([at_end] if at_end and not any(at_end in url for url in linked) else [])])
        if not urls:
            return match[0]
        definitions.setdefault(match["name"].casefold(), tuple(urls))
        return "" if last or not has_finite_verb(patterns.link.sub("", line)) else f"{line}\n"

    body, sources = _DEFINITION.sub(define, body), _DEFINITION.sub(define, sources)
    sources = _NUMBERED.sub(define, sources)
    if heading and (sources.strip() or not definitions):  # other text follows the list, or it is not a list
        body += heading.group() + sources
    return body, definitions


def _addresses(line: str, link_pattern: re.Pattern[str]) -> list[str]:
    found = (match["inline"] or match["angle"] or match["bare"] for match in link_pattern.finditer(line))
    return [_trimmed(url) for url in found if url]


def _parts(
    text: str, definitions: _Definitions, link_pattern: re.Pattern[str]
) -> Iterator[str | tuple[str, list[str]]]:
    """Pieces of the text, and links as their words and addresses."""
    end = at = 0
    while match := link_pattern.search(text, at):
        start, stop = match.span()
        found = match.groupdict()
        if found["bare"]:
            url = _trimmed(found["bare"])
            stop, link = start + len(url), ("", [url])
        elif found["angle"]:
            link = ("", [_trimmed(found["angle"])])
        elif found["inline"]:
            in_brackets = text[max(0, start - 1) : start] + text[stop : stop + 1] == "()"
            mark = in_brackets or _is_mark(found["text"], text[:start], text[stop:])  # "([source](…))", "[[1]](…)"
            link = ("" if mark else found["text"], [] if text[start] == "!" else [found["inline"]])
        else:
            words, names, stop = _reference(match, definitions)
            if any(name not in definitions for name in names):
                at = stop
                continue
            link = (words, [url for name in names for url in definitions[name]])
        yield text[end:start]
        yield link
        end = at = stop
    yield text[end:]


_NUMBERING = re.compile(r"\D*(?:\d{1,3}(?:(?:,\s|\s*[;–-]\s*)\d{1,3})*\D*)?")


def _is_mark(words: str, before: str, after: str) -> bool:
    """Whether the words of a link only number a source, and are no figure of the sentence."""
    if not _NUMBERING.fullmatch(words) or re.search(r"[^\W\d]|[%€$£]", words):
        return False
    figure = words.isdigit() and before[-1:].isspace()
    return not (figure and is_counted(before.rstrip(), after))


_MARK = re.compile(r"\^.+|\d{1,3}|[a-z]")  # in brackets before other brackets: not words that are linked


def _reference(match: re.Match[str], definitions: _Definitions) -> tuple[str, list[str], int]:
    """The words of a reference, the names that it refers to, and its end; of "[1][2]", only "[1]"."""
    words, full = match["referring"] or "", match["full"] or ""
    marks = re.split(r"\s*[,;]\s*", (words or match["short"]).casefold())
    names = [mark.removeprefix("^") for mark in marks]
    if not words:
        return "", names, match.end()
    if full and all(map(_MARK.fullmatch, marks)):
        return "", names, match.end("referring") + 1
    return words, [(full or words).casefold()], match.end()


def _trimmed(url: str) -> str:
    """The address without punctuation of the sentence around it."""
    while url and (url[-1] in ".,;:!?*_'" or (url[-1] == ")" and url.count("(") < url.count(")"))):
        url = url[:-1]
    return url


def _tidied(plain: str, links: list[_Link]) -> LinkedText:
    """Without the brackets and spaces that removed addresses leave."""
    removed = [match.span() for match in _EMPTY.finditer(plain)] if links else []
    starts = [start for start, _ in removed]
    lengths = [0, *accumulate(end - start for start, end in removed)]

    def moved(at: int) -> int:
        before = bisect_left(starts, at)
        inside = max(0, removed[before - 1][1] - at) if before else 0
        return at - lengths[before] + inside

    kept = _EMPTY.sub("", plain) if links else plain
    return LinkedText(kept, tuple(link._replace(at=moved(link.at)) for link in links))


def cited_by(linked: LinkedText) -> dict[tuple[int, int], tuple[str, ...]]:
    """The addresses that each sentence cites, by its span; an address after a sentence belongs to that one."""
    sentences = sentences_of(linked.plain)
    starts = [sentence.start for sentence in sentences]
    cited: dict[tuple[int, int], list[str]] = {}
    for link in linked.links:
        before = bisect_right(starts, link.at) if link.within else bisect_left(starts, link.at)
        sentence = sentences[before - 1] if before else None
        if before < len(sentences) and (sentence is None or "\n" in linked.plain[sentence.end : link.at]):
            sentence = sentences[before]  # an address at the beginning of a paragraph
        if sentence:
            cited.setdefault((sentence.start, sentence.end), []).append(link.url)
    return {span: tuple(dict.fromkeys(urls)) for span, urls in cited.items()}


FILE = "citations.json"  # of a run folder: the pages that its text cites
UNREAD = {Fetched.DEAD: CitationOutcome.DEAD_LINK, Fetched.NOT_FETCHED: CitationOutcome.NOT_FETCHED}
_OUTCOMES = {Meaning.SUPPORTED: CitationOutcome.SUPPORTS, Meaning.REFUTED: CitationOutcome.CONTRADICTS}


class Citations(Frozen):
    """The links of a text: of each claim its address, in order, and the pages."""

    links: tuple[str, ...]
    pages: tuple[WebPage, ...]

    def page(self, item: int) -> WebPage:
        return next(page for page in self.pages if page.url == self.links[item])

    def citation(self, item: int, verdict: Verdict) -> Citation:
        """What the cited page is to a claim with this verdict."""
        page = self.page(item)
        if page.passage is None:
            return Citation(url=page.url, outcome=UNREAD[page.outcome], why=page.why)
        outcome = _OUTCOMES.get(verdict.meaning or Meaning.NOT_ENOUGH, CitationOutcome.DOES_NOT_SUPPORT)
        unchecked = verdict.why_unchecked
        if unchecked:
            outcome = CitationOutcome.NOT_CHECKED
        return Citation(url=page.url, page=page.passage.url or page.url, outcome=outcome, unchecked=unchecked)


def read_citations(folder: Path, claims: int) -> Citations:
    """The citations of a run of so many claims; raises RecordError if they are missing or damaged."""
    try:
        with open_to_read(folder / FILE) as file:
            citations = Citations.model_validate_json(file.read())
    except (OSError, ValueError):
        citations = Citations(links=(), pages=())
    if len(citations.links) != claims or not {page.url for page in citations.pages}.issuperset(citations.links):
        what = f"{str(folder)!r} contains the run of a text, but not the pages that it cites"
        raise RecordError(what, hint="choose another folder")
    return citations


def record_citations(folder: Path, citations: Citations) -> None:
    try:
        make_folder(folder)
        with replacing(folder / FILE) as file:
            file.write(citations.model_dump_json().encode())
    except OSError as error:
        raise RecordError(f"{str(folder / FILE)!r} cannot be written: {error.strerror}") from error


class PreparedCitations(NamedTuple):
    """Claims of a text, one for each link that a claim cites, ready to be verified."""

    prepared: PreparedText
    citations: Citations

    def checked(self, item: int, verdict: Verdict) -> CheckedClaim:
        citation = self.citations.citation(item, verdict)
        return self.prepared.checked(item, verdict).model_copy(update={"citation": citation})

    def report(self, verdicts: Sequence[Verdict]) -> Report:
        claims = tuple(self.checked(item, verdict) for item, verdict in enumerate(verdicts))
        return self.prepared.report(verdicts).model_copy(update={"claims": claims})


async def verify_citations(
    text: str | Text,
    *,
    fetcher: PageFetcher | None = None,
    files: str | Path | None = None,
    **options: Unpack[TextOptions],
) -> Report:
    """Verifies each claim of a text against each page that its sentence links, and nothing else.

    ``claim.citation`` says how the cited page relates to the claim. A claim without a link is listed as not checked.

    Args:
        text: in Markdown, HTML or plain text.
        fetcher: fetches the pages; by default one that opens public addresses only.
        files: the folder of the text, to whose documents it may link; without it, links to files are ignored.
        options: as for :func:`redargue.verify_text`, without documents; ``offline`` fetches nothing.

    Raises:
        UsageError: the text cites no page.
        RedargueError: the extraction failed, or the run could not be started.
    """
    whole = text_of(text, kind=options.pop("kind", "text"), context=options.pop("context", ""))
    concurrency, listeners = options.pop("concurrency", None), options.pop("listeners", ())
    done, folder, given = options.pop("done", None), options.pop("folder", None), options.pop("spec", None)
    require_concurrency(concurrency)
    spec, parts = read_options(cast(RunOptions, options), given)
    fetcher = fetcher or PageFetcher.from_environment(offline=spec.offline)
    folder, files = (Path(each) if each else None for each in (folder, files))
    cited = await prepare_cited(whole, spec, fetcher, parts, folder, files=files)
    with cited.prepared.verifier() as verifier:
        claims, most = cited.prepared.claims, concurrency or verifier.text_concurrency
        verdicts = await verifier.verify_all(claims, concurrency=most, listeners=listeners, done=done)
    return cited.report(verdicts)


async def prepare_cited(
    text: Text,
    spec: RunSpec,
    fetcher: PageFetcher,
    parts: Parts | None = None,
    folder: Path | None = None,
    origin: Origin | None = None,
    *,
    files: Path | None = None,
) -> PreparedCitations:
    """Extracts the claims of a text, and fetches the pages that it cites, or reads the documents in ``files``.

    Raises:
        UsageError: the text cites no page, or the options do not fit.
        RecordError: the folder holds another run.
        BadReply, BudgetReached, ProviderError: the extraction failed.
    """
    linked = read_links(as_markdown(text.text, files=bool(files)), files=bool(files))
    if not linked.links:
        what = "the text cites no page: it has no link that begins with http:// or https://"
        what += ", and none to a document in its folder" if files else ""
        hint = "leave --cited out to search for evidence; links behind the words of a Word or PDF file are not read"
        raise UsageError(what, where="--cited", hint=f"{hint}: save it as HTML or Markdown")
    text = text.model_copy(update={"text": linked.plain})
    nothing = Passage(text="The cited pages are read once the claims are known.")
    prepared = await prepare(text, spec, parts, documents=[nothing], folder=folder, origin=origin, together=False)
    citations = read_citations(folder, len(prepared.claims)) if folder and (folder / "run.json").exists() else None
    if citations is None:
        extraction, links = _cited(prepared.extraction, cited_by(linked))
        known = dict(zip(prepared.extraction.claims, prepared.claims, strict=True))
        claims = tuple(known[located] for located in extraction.claims)
        prepared = prepared._replace(extraction=extraction, claims=claims)
        citations = Citations(links=links, pages=await _pages(links, fetcher, files))
        if folder:
            record_citations(folder, citations)
    names = method_of(prepared.spec).tools()
    evidence = await asyncio.to_thread(_evidence, names, prepared.claims, citations)
    parts = replace(prepared.parts, evidence=evidence)
    return PreparedCitations(prepared._replace(parts=parts), citations)


async def _pages(links: Sequence[str], fetcher: PageFetcher, files: Path | None) -> tuple[WebPage, ...]:
    """The page or document of each link."""
    fetched = await read_pages((link for link in links if not is_file_link(link)), fetcher)
    paths = dict.fromkeys(filter(is_file_link, links)) if files else {}
    read = [await asyncio.to_thread(read_linked_file, link, files) for link in paths if files]
    return (*fetched.values(), *read)


def _cited(extraction: Extraction, cited: dict[tuple[int, int], tuple[str, ...]]) -> tuple[Extraction, tuple[str, ...]]:
    """Each claim once for each of its links, and these links; sentences of claims without one are unchecked."""
    pairs = [(claim, url) for claim in extraction.claims for url in cited.get((claim.start, claim.end), ())]
    without = {(claim.start, claim.end) for claim in extraction.claims} - cited.keys()
    why = Unchecked(reason=UncheckedReason.NO_LINK)
    unchecked = [UncheckedSentence(start=start, end=end, why=why) for start, end in without]
    ordered = sorted([*extraction.unchecked, *unchecked], key=lambda sentence: sentence.start)
    claims = tuple(claim for claim, _ in pairs)
    return Extraction(claims=claims, unchecked=tuple(ordered)), tuple(url for _, url in pairs)


class CitedPages(FixedPassages):
    """The cited page of each claim; a search fails where it could not be read."""

    def __init__(self, pages: Sequence[WebPage], *, name: str, encoder: Encoder | None) -> None:
        passages = [(page.passage,) if page.passage else () for page in pages]
        super().__init__(passages, name=name, about="the page that the text cites for the claim", encoder=encoder)
        self._pages = pages
        failures = "\0".join(f"{page.url} {page.outcome}" for page in pages)
        self.revision = hashlib.sha256(f"{self.revision} {failures}".encode()).hexdigest()[:16]

    def for_claim(self, item: int) -> FixedPassagesTool:
        tool = super().for_claim(item)
        page = self._pages[item]
        return tool if page.passage else _Unread(self, page)


class _Unread(FixedPassagesTool):
    def __init__(self, source: FixedPassages, page: WebPage) -> None:
        super().__init__(source, ())
        self._page = page

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        raise ToolFailed(f"{CITATION_WORDS[UNREAD[self._page.outcome]]}: {self._page.why}")


def _evidence(names: Sequence[str], claims: Sequence[Claim], citations: Citations) -> dict[str, CitedPages]:
    pages = [citations.page(item) for item in range(len(claims))]
    return {name: CitedPages(pages, name=name, encoder=encoder_of(name)) for name in names}
