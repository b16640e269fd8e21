"""What PubMed (E-utilities), OpenAlex and arXiv answer behind the loopback server, over the same made-up pages.

A page is a paper: its text is the abstract, each ``== Heading ==`` in it the label of a part, its host the journal. A
page without text has no abstract, one without date came out in 2010.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from support.loopback_services import Doc, Raw, Request, failure, ranked, reply

FIRST = 30_000_001  # PMID of the first page
UNKNOWN = "2010-01-01"


class Eutils:
    """NCBI's esearch (JSON) and efetch (XML) of PubMed."""

    def __init__(self, request: Request, docs: Sequence[Doc]) -> None:
        self.request, self.asked, self.docs = request, request.fields, docs

    def answer(self) -> Raw:
        if self.asked.get("db") != "pubmed":
            return self.search_error(f"Invalid db name specified: {self.asked.get('db', '')}")
        return self.search() if self.request.path.endswith("esearch.fcgi") else self.fetch()

    def search_error(self, words: str) -> Raw:
        """Its own errors come with HTTP 200."""
        said = {"header": {"type": "esearch", "version": "0.3"}, "esearchresult": {"ERROR": words}}
        return reply(said, fault="error")

    def search(self) -> Raw:
        term, most = self.asked.get("term", ""), self.asked.get("retmax", "20")
        if not term.strip():
            return self.search_error("Empty term and query_key - nothing todo")
        if self.asked.get("retmode") != "json" or not most.isdigit() or int(most) > 10_000:
            return failure(self.request, 400, "Invalid retmode or retmax")
        ends = [self.asked.get(name, "").replace("/", "-") for name in ("mindate", "maxdate")]
        if not all(ends) or self.asked.get("datetype") != "pdat":
            ends = ["", ""]  # one end alone is passed over without a word
        wanted = re.sub(r"\bhasabstract\b|\bAND\b", " ", term)
        every = [doc for _, doc in ranked(self.docs, wanted) if doc.text or "hasabstract" not in term]
        every = [doc for doc in every if not ends[1] or ends[0] <= (doc.date or UNKNOWN) <= ends[1]]
        found = every[: int(most)]
        result: dict[str, Any] = {"count": str(len(every)), "retmax": str(len(found)), "retstart": "0"}
        result["idlist"] = [str(FIRST + self.docs.index(doc)) for doc in found]
        result |= {"translationset": [], "querytranslation": term}
        if not found:
            nothing = {"phrasesignored": [], "quotedphrasesnotfound": [], "outputmessages": ["No items found."]}
            result |= {"errorlist": {"phrasesnotfound": [], "fieldsnotfound": []}, "warninglist": nothing}
        return reply({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result})

    def fetch(self) -> Raw:
        numbers = [each for each in self.asked.get("id", "").split(",") if each.isdigit()]
        if not numbers or self.asked.get("retmode") != "xml":
            return failure(self.request, 400, "ID list is empty! Possibly it has no correct IDs.")
        known = {str(FIRST + at): doc for at, doc in enumerate(self.docs)}
        # In the order of the numbers: a client that wants the search's order has to keep it.
        records = [article(each, known[each]) for each in sorted(set(numbers)) if each in known]
        return Raw(200, article_set(*records).encode(), "text/xml; charset=UTF-8")


def article_set(*records: str) -> str:
    """An answer of efetch."""
    head = (
        '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" '
    )
    head += '"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n'
    return f"{head}<PubmedArticleSet>\n{''.join(records)}</PubmedArticleSet>"


def article(number: str, doc: Doc) -> str:
    """A record of PubMed with all its usual parts."""
    day = date.fromisoformat(doc.date or UNKNOWN)
    host, slug = doc.url.split("/")[2], doc.url.rpartition("/")[2]
    pieces = re.split(r"\n\n== (.+) ==\n", doc.text)
    parts = [("Background" if len(pieces) > 1 else "", pieces[0]), *zip(pieces[1::2], pieces[2::2], strict=True)]
    labelled = {label: f' Label="{label.upper()}" NlmCategory="UNASSIGNED"' if label else "" for label, _ in parts}
    texts = "".join(f"<AbstractText{labelled[label]}>{html.escape(text)}</AbstractText>" for label, text in parts)
    return (
        '<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM" IndexingMethod="Automated">'
        f'<PMID Version="1">{number}</PMID><DateCompleted><Year>2024</Year><Month>01</Month><Day>02</Day>'
        '</DateCompleted><Article PubModel="Print"><Journal><ISSN IssnType="Print">1234-5678</ISSN>'
        f'<JournalIssue CitedMedium="Print"><Volume>7</Volume><PubDate><Year>{day.year}</Year><Month>{day:%b}</Month>'
        f"<Day>{day.day:02}</Day></PubDate></JournalIssue><Title>Annals of {host}</Title>"
        f"<ISOAbbreviation>Ann {host}</ISOAbbreviation></Journal><ArticleTitle>{html.escape(doc.title)}.</ArticleTitle>"
        f'<ELocationID EIdType="doi" ValidYN="Y">10.5555/{slug}</ELocationID>'
        + (f"<Abstract>{texts}<CopyrightInformation>© {host}</CopyrightInformation></Abstract>" if doc.text else "")
        + '<AuthorList CompleteYN="Y"><Author ValidYN="Y"><LastName>Tarnow</LastName><ForeName>Ilse</ForeName>'
        "<Initials>I</Initials></Author></AuthorList><Language>eng</Language></Article></MedlineCitation><PubmedData>"
        f'<PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">{number}'
        f'</ArticleId><ArticleId IdType="doi">10.5555/{slug}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>\n'
    )


class OpenAlex:
    """OpenAlex' search of works."""

    def __init__(self, request: Request, docs: Sequence[Doc]) -> None:
        self.request, self.asked, self.docs = request, request.fields, docs

    def answer(self) -> Raw:
        query, most = self.asked.get("search", ""), self.asked.get("per-page") or self.asked.get("per_page") or "25"
        if re.search(r"[*?~]", query):
            return failure(self.request, 400, "Wildcards are not supported in this search.")
        if not most.isdigit() or not 1 <= int(most) <= 200:
            return failure(self.request, 400, "per-page parameter must be between 1 and 200")
        filters = dict(each.partition(":")[::2] for each in self.asked.get("filter", "").split(",") if each)
        if unknown := sorted({*filters} - {"has_abstract", "to_publication_date"}):
            return failure(self.request, 400, f"{unknown[0]} is not a valid field.")
        until = filters.get("to_publication_date", "9999")
        every = [
            (shared, doc)
            for shared, doc in ranked(self.docs, query)
            if (doc.text or filters.get("has_abstract") != "true") and (doc.date or UNKNOWN) <= until
        ]
        meta = {"count": len(every), "db_response_time_ms": 9, "page": 1, "per_page": int(most), "groups_count": None}
        works = [self.work(doc, shared) for shared, doc in every[: int(most)]]
        return reply({"meta": meta, "results": works, "group_by": []})

    def work(self, doc: Doc, shared: int) -> dict[str, Any]:
        day, at = doc.date or UNKNOWN, self.docs.index(doc)
        number, doi = f"https://openalex.org/W{4_000_000 + at}", f"https://doi.org/10.5555/{doc.url.rpartition('/')[2]}"
        source = {
            "id": "https://openalex.org/S7",
            "display_name": f"Annals of {doc.url.split('/')[2]}",
            "type": "journal",
        }
        place = {"is_oa": True, "landing_page_url": doc.url, "pdf_url": None, "source": source, "version": None}
        return {
            "id": number,
            "doi": doi,
            "title": doc.title,
            "display_name": doc.title,
            "relevance_score": shared * 10.5,
            "publication_year": int(day[:4]),
            "publication_date": day,
            "ids": {"openalex": number, "doi": doi},
            "language": "en",
            "primary_location": place,
            "type": "article",
            "authorships": [{"author_position": "first", "author": {"id": "A7", "display_name": "Ilse Tarnow"}}],
            "open_access": {"is_oa": True, "oa_url": doc.url},
            "cited_by_count": 4,
            "abstract_inverted_index": inverted(doc.text) if doc.text else None,
        }


def inverted(text: str) -> dict[str, list[int]]:
    """The inverted index of a text."""
    index: dict[str, list[int]] = {}
    for at, word in enumerate(text.split()):
        index.setdefault(word, []).append(at)
    return index


class Arxiv:
    """arXiv's export API: an Atom feed whose titles and abstracts are broken into lines; errors are a feed, too."""

    def __init__(self, request: Request, docs: Sequence[Doc]) -> None:
        self.request, self.asked, self.docs = request, request.fields, docs

    def answer(self) -> Raw:
        query, most = self.asked.get("search_query", ""), self.asked.get("max_results", "10")
        if self.asked.get("sortBy", "relevance") not in ("relevance", "lastUpdatedDate", "submittedDate"):
            return self.error("sortBy must be in: relevance, lastUpdatedDate, submittedDate", 400)
        if not most.isdigit() or int(most) > 2000:
            return self.error("max_results must be non-negative and at most 2000", 400)
        if query.count('"') % 2:
            return self.error("malformed query: a quotation mark is missing", 200)  # as it was answered for years
        found = [doc for _, doc in ranked(self.docs, re.sub(r"\b(all|ti|au|abs|cat):|\bAND\b", " ", query)) if doc.text]
        if self.asked.get("sortBy") == "submittedDate":
            found.sort(key=lambda doc: doc.date or UNKNOWN, reverse=self.asked.get("sortOrder") != "ascending")
        shown = [] if "emptypage" in query else found[: int(most)]
        return self.feed(len(found), "".join(map(self.entry, shown)))

    def error(self, words: str, status: int) -> Raw:
        number = "http://arxiv.org/api/errors#" + words.split()[0]
        entry = f"<entry><id>{number}</id><title>Error</title><summary>{html.escape(words)}</summary></entry>"
        return replace(self.feed(1, entry), status=status, fault="error")

    def feed(self, total: int, entries: str) -> Raw:
        said = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
            "<title>arXiv Query</title><id>http://arxiv.org/api/x</id><updated>2026-01-02T00:00:00-05:00</updated>"
            f'<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{total}'
            f"</opensearch:totalResults>{entries}</feed>"
        )
        return Raw(200, said.encode(), "application/atom+xml; charset=UTF-8")

    def entry(self, doc: Doc) -> str:
        at, day = self.docs.index(doc), doc.date or UNKNOWN
        number, title = f"{day[2:4]}01.{at:05}v2", html.escape(doc.title).replace(" ", "\n  ", 1)
        return (
            f"<entry><id>http://arxiv.org/abs/{number}</id><updated>{day}T09:00:00Z</updated>"
            f"<published>{day}T08:00:00Z</published><title>{title}</title>"
            f"<summary>  {html.escape(doc.text)}\n</summary>"
            "<author><name>Ilse Tarnow</name></author><author><name>Jonas Wirral</name></author>"
            f'<link href="http://arxiv.org/abs/{number}" rel="alternate" type="text/html"/>'
            f'<link title="pdf" href="http://arxiv.org/pdf/{number}" rel="related" type="application/pdf"/>'
            '<arxiv:primary_category xmlns:arxiv="http://arxiv.org/schemas/atom" term="physics.geo-ph"/>'
            '<category term="physics.geo-ph" scheme="http://arxiv.org/schemas/atom"/><category term="cs.CE"/>'
            '<arxiv:comment xmlns:arxiv="http://arxiv.org/schemas/atom">7 pages</arxiv:comment>'
            f'<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.5555/{at}</arxiv:doi></entry>'
        )


PAPERS: Mapping[str, Callable[[Request, Sequence[Doc]], Raw]] = {
    "pubmed": lambda request, docs: Eutils(request, docs).answer(),
    "openalex": lambda request, docs: OpenAlex(request, docs).answer(),
    "arxiv": lambda request, docs: Arxiv(request, docs).answer(),
}
