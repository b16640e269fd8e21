"""The pages that a text cites, as a run folder keeps them (``citations.json``)."""

from __future__ import annotations

from pathlib import Path

from redargue.claims import Frozen, Meaning
from redargue.errors import RecordError
from redargue.files import make_folder, open_to_read, replacing
from redargue.retrieval.web_pages import Fetched, WebPage
from redargue.text.report import Citation, CitationOutcome, Report
from redargue.verdicts import Verdict

FILE = "citations.json"
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
        return Citation(url=page.url, page=page.passage.url, outcome=outcome, unchecked=unchecked)

    def added_to(self, report: Report) -> Report:
        claims = (
            claim.model_copy(update={"citation": self.citation(item, claim.verdict)})
            for item, claim in enumerate(report.claims)
        )
        return report.model_copy(update={"claims": tuple(claims)})


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
