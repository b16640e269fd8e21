"""What the services behind the loopback server answer: made-up pages, Tavily, Serper, Custom Search, MediaWiki, errors.

The shapes are those of the real services, errors included, so that a client that passes here meets nothing new there.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

Headers = tuple[tuple[str, str], ...]
STOP = frozenset("a an and are at by did do does for from in is it of on or that the to was were what when who".split())


@dataclass(frozen=True)
class Raw:
    """One whole HTTP reply; ``fault`` names why it is no good answer, for the counts."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Headers = ()
    fault: str = ""


@dataclass(frozen=True)
class Request:
    """One request as it was seen; ``body`` is its parsed JSON (None where it is none) or, for GET, its query."""

    route: str
    path: str
    headers: Mapping[str, str]
    body: Any
    echo: bool = False

    @property
    def bearer(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def key(self) -> str:
        """The key that was sent, wherever the service expects it."""
        found = (self.headers.get(name) for name in ("x-api-key", "x-goog-api-key"))
        given = (self.fields.get(name) for name in ("key", "api_key"))
        return self.bearer or next((str(key) for key in (*found, *given) if key), "")

    @property
    def fields(self) -> Mapping[str, Any]:
        return self.body if isinstance(self.body, dict) else {}


@dataclass(frozen=True)
class Doc:
    """A made-up page; ``date`` is ISO or empty, a text that starts with ``#REDIRECT [[Title]]`` is a wiki redirect."""

    title: str
    url: str
    text: str
    date: str = ""

    @property
    def target(self) -> str:
        """Where this page redirects to; empty for a page with text."""
        found = re.match(r"#REDIRECT \[\[(.+?)\]\]", self.text)
        return found[1] if found else ""

    @property
    def lead(self) -> str:
        return self.text.split("\n\n==")[0]


DOCUMENTS = (
    Doc(
        "Skarrow Bridge",
        "https://wiki.example/wiki/Skarrow_Bridge",
        "Skarrow Bridge is a stone bridge over the Velt in Ostermoor. It was built between 1884 and 1887 by the "
        "engineer Ilse Tarnow and has seven arches.\n\n== History ==\nThe flood of 1911 took two of its arches, which "
        "were rebuilt in 1913.\n\n== Today ==\nSince 1998 the bridge has been closed to motor traffic.",
        "2014-05-02",
    ),
    Doc(
        "Ostermoor",
        "https://wiki.example/wiki/Ostermoor",
        "Ostermoor is a town on the river Velt with 41,200 inhabitants. Its mayor since 2016 is Jonas Wirral.\n\n"
        "== Economy ==\nThe town lives from paper mills and from visitors of Skarrow Bridge.",
        "2016-09-20",
    ),
    Doc(
        "Ilse Tarnow",
        "https://wiki.example/wiki/Ilse_Tarnow",
        "Ilse Tarnow (1849–1921) was an engineer from Quillhaven. She built eleven bridges, among them Skarrow Bridge, "
        "and never patented her caisson.",
    ),
    Doc(
        "Mayor Wirral opens the new ferry of Quillhaven",
        "https://courier.example/2021/03/ferry",
        "Jonas Wirral opened the electric ferry between Quillhaven and Ostermoor on Wednesday. It carries 180 "
        "passengers and cost 9.4 million crowns.",
        "2021-03-03",
    ),
    Doc(
        "Ferry of Quillhaven stays in harbour",
        "https://courier.example/2022/11/ferry-stays",
        "The electric ferry of Quillhaven did not run in November because its batteries had failed, the company said.",
        "2022-11-17",
    ),
    Doc(
        "Scour at masonry piers: measurements at the Velt",
        "https://papers.example/velt-scour.pdf",
        "We measured scour at the seven-arch bridge of Ostermoor over nine winters. Depth grew by 3.1 cm a year.",
        "2019-07-01",
    ),
    Doc(
        "Quillhaven",
        "https://wiki.example/wiki/Quillhaven",
        "Quillhaven is a harbour town with 12,900 inhabitants. Its lighthouse was lit in 1862.",
    ),
    Doc(
        "Velt (disambiguation)",
        "https://wiki.example/wiki/Velt_(disambiguation)",
        "Velt may refer to: the river Velt; Velt, a village near Ostermoor; Anders Velt, a composer.",
    ),
    Doc("Bridge of Skarrow", "https://wiki.example/wiki/Bridge_of_Skarrow", "#REDIRECT [[Skarrow Bridge]]"),
)


def reply(data: Any, status: int = 200, headers: Headers = (), fault: str = "") -> Raw:
    """A reply of JSON."""
    return Raw(status, json.dumps(data, ensure_ascii=False).encode(), headers=headers, fault=fault)


_OPENAI = {  # by status: type, code, message
    400: ("invalid_request_error", None, "We could not parse the JSON body of your request."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: {key}."),
    403: (
        "invalid_request_error",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests. Please try again later."),
    500: ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
    503: ("server_error", None, "That model is currently overloaded with other requests."),
}
_GOOGLE = {  # by status: status name, reason, message
    400: ("INVALID_ARGUMENT", "badRequest", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "authError", "Request had invalid authentication credentials."),
    403: ("PERMISSION_DENIED", "accessNotConfigured", "Custom Search API has not been used in project 1 before."),
    404: ("NOT_FOUND", "notFound", "Requested entity was not found."),
    429: ("RESOURCE_EXHAUSTED", "rateLimitExceeded", "Quota exceeded for quota metric 'Queries'."),
    500: ("INTERNAL", "backendError", "Internal error encountered."),
    503: ("UNAVAILABLE", "backendError", "The service is currently unavailable."),
}
_TAVILY = {
    400: "Bad request.",
    401: "Unauthorized: missing or invalid API key.",
    403: "Forbidden.",
    429: "Your request has been blocked due to excessive requests.",
    432: "This request exceeds your plan's set usage limit. Please upgrade your plan.",
    433: "This request exceeds the pay-as-you-go limit that you set.",
    500: "Internal Server Error",
}
_SERPER = {400: "Not enough credits", 403: "Unauthorized.", 429: "Too many requests", 500: "Internal server error"}
_NCBI = {400: "API key invalid", 429: "API rate limit exceeded", 500: "Internal Server Error"}
_OPENALEX = {  # by status: error, message
    400: ("Invalid query parameters error.", "The filter is not valid."),
    401: ("Invalid API key", "The API key is not known."),
    403: ("Rate limit exceeded", "Slow down."),
    429: ("Rate limit exceeded", "Daily budget exceeded. Resets at midnight UTC."),
    500: ("Internal Server Error", "Something went wrong."),
}
_WIKI = {403: "Please set a user-agent and respect our robot policy.", 429: "You are making too many requests."}


def failure(
    request: Request, status: int, message: str = "", *, code: str = "", param: str | None = None, headers: Headers = ()
) -> Raw:
    """The service's own error for that status; quotes the key that was sent where the behaviour says so."""
    tail = f" (key: {request.key})" if request.echo else ""
    if request.route in ("chat", "embeddings", "models", "unknown"):
        kind, usual, text = _OPENAI.get(status, ("server_error", None, f"Status {status}."))
        if code == "insufficient_quota":
            kind, text = code, "You exceeded your current quota, please check your plan and billing details."
        text = (message or text.format(key=request.bearer)) + tail
        said: Any = {"error": {"message": text, "type": kind, "param": param, "code": code or usual}}
        if status == 429:
            headers = (*headers, ("x-ratelimit-limit-requests", "60"), ("x-ratelimit-remaining-requests", "0"))
    elif request.route == "tavily":
        said = {"detail": {"error": (message or _TAVILY.get(status, f"Status {status}.")) + tail}}
    elif request.route == "serper":
        said = {"message": (message or _SERPER.get(status, f"Status {status}.")) + tail, "statusCode": status}
    elif request.route == "cse":
        name, reason, text = _GOOGLE.get(status, ("UNKNOWN", "unknown", f"Status {status}."))
        text, reason = (message or text) + tail, code or reason
        errors = [{"message": text, "domain": "global", "reason": reason}]
        said = {"error": {"code": status, "message": text, "errors": errors, "status": name}}
    elif request.route == "pubmed":  # NCBI's front repeats the key by itself
        said = {"error": (message or _NCBI.get(status, f"Status {status}.")) + tail}
        said |= {"api-key": request.key or "127.0.0.1", "count": "4", "limit": "10" if request.key else "3"}
    elif request.route == "openalex":
        name, text = _OPENALEX.get(status, ("Error", f"Status {status}."))
        said = {"error": name + tail, "message": (message or text) + tail}
    elif request.route == "searxng":  # a page of its web framework
        title = f"{status} {HTTPStatus(status).phrase}"
        page = f"<!doctype html>\n<html lang=en>\n<title>{title}</title>\n<h1>{title[4:]}</h1>\n<p>{message}</p>\n"
        return Raw(status, page.encode(), "text/html; charset=utf-8", headers, fault="error")
    elif request.route == "arxiv":
        text = (message or ("Rate exceeded." if status == 429 else f"Status {status}.")) + tail
        return Raw(status, text.encode(), "text/plain; charset=utf-8", headers, fault="error")
    else:  # Wikimedia's front answers in plain text
        text = (message or _WIKI.get(status, "Our servers are currently under maintenance.")) + tail
        return Raw(status, text.encode(), "text/plain; charset=utf-8", headers, fault="error")
    return reply(said, status, headers, fault="error")


@lru_cache(maxsize=4096)
def words(text: str) -> frozenset[str]:
    """What a search compares: words in lower case, without the commonest."""
    return frozenset(re.findall(r"\w+", text.lower())) - STOP


def ranked(docs: Sequence[Doc], query: str, since: str = "", until: str = "") -> list[tuple[int, Doc]]:
    """Shared words and page, best first; dates (ISO) exclude only pages that have one; redirects are never found."""
    asked = words(query)
    found = [
        (len(asked & words(f"{doc.title} {doc.text}")), doc)
        for doc in docs
        if not doc.target and not (doc.date and ((since and doc.date < since) or (until and doc.date > until)))
    ]
    return sorted((pair for pair in found if pair[0]), key=lambda pair: -pair[0])


def tavily(request: Request, docs: Sequence[Doc]) -> Raw:
    """Tavily's search."""
    asked, query = request.fields, request.fields.get("query")
    if not request.bearer.startswith("tvly-"):
        return failure(request, 401)
    most = asked.get("max_results", 5)
    if not isinstance(query, str) or not query.strip():
        return failure(request, 400, "Query is missing.")
    if not isinstance(most, int) or not 0 <= most <= 20:
        return failure(request, 400, "Max results must be between 0 and 20.")
    found = ranked(docs, query, asked.get("start_date") or "", asked.get("end_date") or "")[:most]
    results = []
    for shared, doc in found:
        raw = doc.text if asked.get("include_raw_content") else None
        score = round(shared / (len(words(query)) or 1), 4)
        result: dict[str, Any] = {
            "url": doc.url,
            "title": doc.title,
            "content": doc.lead,
            "score": score,
            "raw_content": raw,
        }
        if asked.get("topic") == "news" and doc.date:
            result["published_date"] = f"{date.fromisoformat(doc.date):%a, %d %b %Y} 00:00:00 GMT"
        results.append(result)
    said: dict[str, Any] = {
        "query": query,
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": results,
    }
    if asked.get("include_answer"):
        said["answer"] = found[0][1].lead if found else ""
    said |= {"response_time": 0.01, "request_id": hashlib.sha1(query.encode()).hexdigest()[:12]}
    if asked.get("include_usage"):
        said["usage"] = {"credits": 2 if asked.get("search_depth") == "advanced" else 1}
    return reply(said)


def serper(request: Request, docs: Sequence[Doc]) -> Raw:
    """Serper's search, scholar and news."""
    asked, query, kind = request.fields, request.fields.get("q"), request.path.rsplit("/", 1)[-1]
    if not request.headers.get("x-api-key"):
        return failure(request, 403)
    count, page, tbs = asked.get("num", 10), asked.get("page", 1), str(asked.get("tbs") or "")
    if not isinstance(query, str) or not query.strip():
        return failure(request, 400, "Missing query parameter")
    if not isinstance(count, int) or not 1 <= count <= 100:
        return failure(request, 400, "Invalid num parameter")
    ends = {end: f"{y}-{m:0>2}-{d:0>2}" for end, m, d, y in re.findall(r"cd_(min|max):(\d+)/(\d+)/(\d+)", tbs)}
    found = ranked(docs, query, ends.get("min", ""), ends.get("max", ""))[count * (page - 1) : count * page]
    results = [_serper_result(kind, doc) | {"position": at} for at, (_, doc) in enumerate(found, 1)]
    said: dict[str, Any] = {"searchParameters": {"q": query, "num": count, "type": kind, "engine": "google"}}
    if kind == "search" and "answerbox" in query.lower() and found:
        best = found[0][1]
        said["answerBox"] = {"title": best.title, "snippet": best.lead, "link": best.url, "snippetHighlighted": []}
    said["news" if kind == "news" else "organic"] = results
    return reply(said | {"credits": 1 if count <= 10 else 2})


def _serper_result(kind: str, doc: Doc) -> dict[str, Any]:
    host = doc.url.split("/")[2]
    result: dict[str, Any] = {"title": doc.title, "link": doc.url, "snippet": doc.lead}
    if kind == "scholar":
        result |= {"publicationInfo": f"I Tarnow - {host}", "citedBy": len(doc.title), "id": doc.title[:8]}
        return result | ({"year": int(doc.date[:4])} if doc.date else {})
    if kind == "news":
        result["source"] = host
    return result | ({"date": _short_date(doc.date)} if doc.date else {})


def _short_date(iso: str) -> str:
    day = date.fromisoformat(iso)
    return f"{day:%b} {day.day}, {day.year}"


def custom_search(request: Request, docs: Sequence[Doc]) -> Raw:
    """Google's Custom Search; ``items`` is absent where nothing is found."""
    asked, query = request.fields, request.fields.get("q", "")
    if not request.key:
        return failure(request, 403, "Method doesn't allow unregistered callers.", code="forbidden")
    count, start = asked.get("num", "10"), asked.get("start", "1")
    if not asked.get("cx") or not query or not (count.isdigit() and start.isdigit()) or not 1 <= int(count) <= 10:
        return failure(request, 400)
    limits = re.search(r"date:r:(\d{8})?:(\d{8})?", asked.get("sort", ""))
    since, until = (f"{d[:4]}-{d[4:6]}-{d[6:]}" if d else "" for d in (limits.groups() if limits else ("", "")))
    every = ranked(docs, query, since, until)
    found = every[int(start) - 1 : int(start) - 1 + int(count)]
    items = []
    for _, doc in found:
        snippet = f"{_short_date(doc.date)} ... {doc.lead}" if doc.date else doc.lead
        item: dict[str, Any] = {"kind": "customsearch#result", "title": doc.title, "htmlTitle": html.escape(doc.title)}
        item |= {"link": doc.url, "formattedUrl": doc.url, "displayLink": doc.url.split("/")[2], "snippet": snippet}
        if doc.date:
            item["pagemap"] = {"metatags": [{"article:published_time": f"{doc.date}T08:00:00Z"}]}
        items.append(item)
    info = {"searchTime": 0.1, "formattedSearchTime": "0.10", "totalResults": str(len(every))}
    said = {"kind": "customsearch#search", "queries": {"request": [{"searchTerms": query, "count": len(items)}]}}
    said |= {"context": {"title": "loopback"}, "searchInformation": info}
    return reply(said | ({"items": items} if items else {}))


def mediawiki(request: Request, docs: Sequence[Doc]) -> Raw:
    """MediaWiki's Action API; its own errors come with HTTP 200."""
    agent = request.headers.get("user-agent", "")
    if not agent or agent.lower().startswith("python-"):
        return failure(request, 403)
    wiki = _Wiki(request.fields, docs)
    try:
        said = wiki.answer()
    except _WikiError as error:
        code, info = error.args
        if request.echo:
            info += f" (key: {request.key})"
        said = {"error": {"code": code, "info": info, ("docref" if wiki.v2 else "*"): "See api.php for usage."}}
        return reply(said | {"servedby": "loopback"}, headers=(("MediaWiki-API-Error", code),), fault="error")
    if request.fields.get("format") != "json":  # what a client gets that forgot to say so
        return Raw(200, f"<pre>{html.escape(json.dumps(said))}</pre>".encode(), "text/html; charset=utf-8")
    return reply(said)


class _WikiError(Exception):
    """The API's code and what it says."""


class _Wiki:
    """One call of the API. A page has two revisions a year apart; the older one holds its lead only."""

    def __init__(self, asked: Mapping[str, Any], docs: Sequence[Doc]) -> None:
        self.asked, self.docs, self.v2 = asked, docs, asked.get("formatversion") == "2"
        self.flag: Any = True if self.v2 else ""
        self.props = [each for each in asked.get("prop", "").split("|") if each]

    def answer(self) -> dict[str, Any]:
        action = self.asked.get("action", "")
        if action == "parse":
            return {"parse": self.parse()}
        if action != "query":
            raise _WikiError("badvalue", f'Unrecognized value for parameter "action": {action}.')
        return {"batchcomplete": self.flag} | (self.search() if self.asked.get("list") == "search" else self.query())

    def number(self, name: str, usual: int) -> int:
        value = self.asked.get(name, str(usual))
        if not value.isdigit() and value != "max":
            raise _WikiError("badinteger", f'Invalid value "{value}" for integer parameter "{name}".')
        return 500 if value == "max" else int(value)

    def found(self, prefix: str) -> list[tuple[int, Doc]]:
        if not self.asked.get(f"{prefix}search"):
            raise _WikiError("missingparam", f'The "{prefix}search" parameter must be set.')
        return ranked(self.docs, self.asked[f"{prefix}search"])

    def search(self) -> dict[str, Any]:
        every, first = self.found("sr"), self.number("sroffset", 0)
        last, hits = first + self.number("srlimit", 10), []
        for _, doc in every[first:last]:
            snippet = html.escape(doc.lead[:150])
            for word in sorted(words(self.asked["srsearch"])):
                snippet = re.sub(
                    rf"(?i)\b({re.escape(word)})\b(?![^<]*>)", r'<span class="searchmatch">\1</span>', snippet
                )
            hit = {"ns": 0, "title": doc.title, "pageid": self.page_id(doc), "size": len(doc.text.encode())}
            hits.append(hit | {"wordcount": len(doc.text.split()), "snippet": snippet, "timestamp": _revisions(doc)[1]})
        said = {"query": {"searchinfo": {"totalhits": len(every)}, "search": hits}}
        return said | ({"continue": {"sroffset": last, "continue": "-||"}} if last < len(every) else {})

    def page_id(self, doc: Doc) -> int:
        return 1001 + self.docs.index(doc)

    def titled(self, title: str) -> Doc | None:
        return next((doc for doc in self.docs if doc.title == title), None)

    def query(self) -> dict[str, Any]:
        said: dict[str, Any] = {}
        if self.asked.get("generator") == "search":
            hits = self.found("gsr")[: self.number("gsrlimit", 10)]
            pages = [self.page(doc) | {"index": at} for at, (_, doc) in enumerate(hits, 1)]
        elif self.asked.get("pageids"):
            pages = [self.by_id(each) for each in self.asked["pageids"].split("|")]
        else:
            pages = [self.by_title(each, said) for each in self.asked.get("titles", "").split("|") if each]
        if not pages:
            return {}
        more = self.extracts(pages) if "extracts" in self.props else {}
        keyed = {str(page.get("pageid", -1 - at)): page for at, page in enumerate(pages)}
        return more | {"query": said | {"pages": list(keyed.values()) if self.v2 else keyed}}

    def by_id(self, number: str) -> dict[str, Any]:
        at = int(number) - 1001 if number.isdigit() else -1
        return self.page(self.docs[at]) if 0 <= at < len(self.docs) else {"pageid": int(number), "missing": self.flag}

    def by_title(self, given: str, said: dict[str, Any]) -> dict[str, Any]:
        """The page of that title; normalisation and redirects are told in ``said``, as the API does."""
        if bad := re.search(r"[\[\]{}<>]", given):
            reason = f'The requested page title contains invalid characters: "{bad[0]}".'
            return {"title": given, "invalidreason": reason, "invalid": self.flag}
        title = re.sub(r"[_ ]+", " ", given).strip()
        title = title[:1].upper() + title[1:]
        if title != given:
            said.setdefault("normalized", []).append({"from": given, "to": title})
        doc = self.titled(title)
        if doc and doc.target and self.asked.get("redirects") is not None:
            said.setdefault("redirects", []).append({"from": title, "to": doc.target})
            title, doc = doc.target, self.titled(doc.target)
        return self.page(doc) if doc else {"ns": 0, "title": title, "missing": self.flag}

    def page(self, doc: Doc) -> dict[str, Any]:
        number, (first, second) = self.page_id(doc), _revisions(doc)
        page: dict[str, Any] = {"pageid": number, "ns": 0, "title": doc.title}
        if "info" in self.props:
            page |= {"pagelanguage": "en", "touched": second, "lastrevid": 2 * number + 1, "length": len(doc.text)}
            if "url" in self.asked.get("inprop", ""):
                page |= {"fullurl": doc.url, "canonicalurl": doc.url, "editurl": f"{doc.url}?action=edit"}
        if "links" in self.props:
            linked = sorted(each.title for each in self.docs if each != doc and each.title in doc.text)
            page["links"] = [{"ns": 0, "title": title} for title in linked[: self.number("pllimit", 10)]]
        if "categories" in self.props:
            page["categories"] = [{"ns": 14, "title": f"Category:Pages of {doc.url.split('/')[2]}"}]
        if "pageprops" in self.props and doc.title.endswith("(disambiguation)"):
            page["pageprops"] = {"disambiguation": ""}
        if "revisions" in self.props:
            start = self.asked.get("rvstart", "now").replace("now", "9")
            known = [(2 * number + 1, 2 * number, second), (2 * number, 0, first)]
            told = [{"revid": now, "parentid": last, "timestamp": at} for now, last, at in known if at <= start]
            if told:
                page["revisions"] = told[: self.number("rvlimit", 1)]
        return page

    def extracts(self, pages: list[dict[str, Any]]) -> dict[str, Any]:
        """Fills in extracts: of one page a call, or of up to 20 where only the lead is asked for."""
        intro, first = self.asked.get("exintro") is not None, self.number("excontinue", 0)
        last = first + min(self.number("exlimit", 20), 20 if intro else 1)
        real = [page for page in pages if "title" in page and self.titled(page["title"])]
        for page in real[first:last]:
            doc = self.docs[page["pageid"] - 1001]
            text = doc.lead if intro else doc.text
            page["extract"] = text if self.asked.get("explaintext") is not None else _html(text)
        return {"continue": {"excontinue": last, "continue": "||"}} if last < len(real) else {}

    def parse(self) -> dict[str, Any]:
        old, title = self.asked.get("oldid"), self.asked.get("page")
        if old is not None:
            at = self.number("oldid", 0) // 2 - 1001
            if not 0 <= at < len(self.docs):
                raise _WikiError("nosuchrevid", f"There is no revision with ID {old}.")
            doc, revision = self.docs[at], int(old)
        elif title is not None:
            page = self.by_title(title, {})
            if "pageid" not in page:
                raise _WikiError("missingtitle", "The page you specified doesn't exist.")
            doc, revision = self.docs[page["pageid"] - 1001], 2 * page["pageid"] + 1
        else:
            raise _WikiError("missingparam", 'The parameters "page", "pageid", "oldid" or "text" are required.')
        text = doc.text if revision % 2 else doc.lead
        said: dict[str, Any] = {"title": doc.title, "pageid": self.page_id(doc), "revid": revision}
        if "text" in self.props:
            said["text"] = _html(text) if self.v2 else {"*": _html(text)}
        if "sections" in self.props:
            heads = list(enumerate(re.finditer(r"(?m)^== (.+) ==$", text), 1))
            said["sections"] = [
                {"toclevel": 1, "level": "2", "line": head[1], "number": str(at), "index": str(at)}
                | {"fromtitle": doc.title.replace(" ", "_"), "byteoffset": head.start(), "anchor": head[1]}
                for at, head in heads
            ]
        return said


def _revisions(doc: Doc) -> tuple[str, str]:
    """When the page got its lead, and when the rest: at its date (2010 where it has none) and a year later."""
    first = datetime.fromisoformat(doc.date or "2010-01-01")
    return f"{first:%Y-%m-%d}T08:00:00Z", f"{first.year + 1}-{first:%m-%d}T08:00:00Z"


def _html(text: str) -> str:
    parts = []
    for part in re.split(r"\n+", text):
        if head := re.fullmatch(r"== (.+) ==", part):
            parts.append(f'<div class="mw-heading mw-heading2"><h2 id="{head[1]}">{head[1]}</h2></div>')
        else:
            parts.append(f"<p>{html.escape(part, quote=False)}\n</p>")
    return f'<div class="mw-content-ltr mw-parser-output" lang="en" dir="ltr">{"".join(parts)}</div>'


def searxng(request: Request, docs: Sequence[Doc]) -> Raw:
    """SearXNG's search with ``format=json``."""
    asked = request.fields
    if asked.get("format") != "json" or not str(asked.get("q", "")).strip():
        return failure(request, 400)
    query = asked["q"]
    results = [
        {
            "url": doc.url,
            "title": doc.title,
            "content": doc.lead,
            "publishedDate": f"{doc.date}T00:00:00" if doc.date else None,
            "thumbnail": "",
            "engine": "brave",
            "template": "default.html",
            "parsed_url": [*urlsplit(doc.url)[:3], "", *urlsplit(doc.url)[3:]],
            "img_src": "",
            "priority": "",
            "engines": ["brave", "duckduckgo"],
            "positions": [place, place],
            "score": round(4 / place, 4),
            "category": "general",
        }
        for place, (_, doc) in enumerate(ranked(docs, query), 1)
    ]
    said = {"query": query, "number_of_results": 0, "results": results, "answers": [], "corrections": []}
    down = [["google", "access denied"], ["qwant", "timeout"]] if query == "engines down" else []
    return reply(said | {"infoboxes": [], "suggestions": [], "unresponsive_engines": down})


SEARCHES: Mapping[str, Callable[[Request, Sequence[Doc]], Raw]] = {
    "tavily": tavily,
    "searxng": searxng,
    "serper": serper,
    "cse": custom_search,
    "mediawiki": mediawiki,
}
