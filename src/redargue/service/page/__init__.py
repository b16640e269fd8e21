"""The addresses of the page. A check is started and stopped by forms, so that both work without a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Annotated, ParamSpec
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from redargue.assembly import for_answers
from redargue.claims import LabelSet
from redargue.concurrency import Busy
from redargue.errors import BudgetReached, RecordError, RedargueError, UsageError, problem_location, problem_of
from redargue.methods.base import methods
from redargue.reports import load_run
from redargue.reports.debate import how_done
from redargue.reports.markdown import run_docx
from redargue.reports.render import render
from redargue.retrieval.corpus.index import has_no_corpus
from redargue.retrieval.corpus.ingest import file_types
from redargue.sanitize import counted, shortened
from redargue.service.checks import Check, CheckStore, require_verdict
from redargue.service.context import COOKIE, Caller, CallerInfo, Store, caller_of
from redargue.service.keys import SESSION_SECONDS, Keys
from redargue.service.page.batch import Filter
from redargue.service.page.frames import POLICY, FrameLog, encoded, render_page, script, style
from redargue.service.page.runs import (
    Pages,
    compare_verdicts,
    control,
    is_text,
    manifest_of,
    name_of,
    writes_docx,
)
from redargue.service.page.uploads import LARGEST_FILE, MOST_FILES, Uploads, read_uploads
from redargue.service.problems import UnknownCheck, status_of, without_paths
from redargue.service.routes import MEDIA, REPORT_POLICY
from redargue.service.rules import CLAIM_LENGTH, CONTEXTS, SAMPLE, TEXT_LENGTH, UNREAD_FILES, CheckRequest
from redargue.text.segment import has_several_sentences

_PING = 15.0  # seconds
LOOK = 0.25  # seconds between looks at a check that has not begun, which another process may run
RUNS_COMPARED = 6
_LARGEST_FIELD = 8_000_000  # bytes: a document that an earlier form kept
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_NOTHING_READ = (
    "None of the files could be read, so there is nothing to check against: choose other files, or untick those that "
    "were not read to search the corpus"
)
_NO_FILES = Uploads()
_P = ParamSpec("_P")
_BLANK = dict.fromkeys(("words", "what", "document", "as_of", "budget", "corpus", "name"), "")
LISTED = 50
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with none at all, forms would be sent without their origin
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

page_router = APIRouter(include_in_schema=False)


def shown(html: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(html, status, HEADERS)


def failed(error: RedargueError, *, signed_in: bool = False, is_local: bool = False) -> HTMLResponse:
    """An error as a page; the status is 404 for what is not there. Paths are shown only to a local user."""
    if isinstance(error, UnknownCheck):
        status, title = 404, "Not found"
    else:
        status, title = 409 if isinstance(error, RecordError) else 422, "This cannot be shown"
    problem = str(error) if is_local else without_paths(str(error))
    return shown(render_page("problem.html", title=title, problem=problem, signed_in=signed_in), status)


def no_page(path: str) -> HTMLResponse:
    what, hint = f"there is no page {path[:60]!r}", "the first page lists the checks"
    return failed(UnknownCheck(what, hint=hint), is_local=True)


def _as_page(handler: Callable[_P, Awaitable[Response]]) -> Callable[_P, Awaitable[Response]]:
    """A route whose errors are pages."""

    @wraps(handler)
    async def answered(*args: _P.args, **named: _P.kwargs) -> Response:
        try:
            return await handler(*args, **named)
        except RedargueError as error:
            visitor = named.get("visitor")
            return failed(error, signed_in=isinstance(visitor, CallerInfo) and bool(visitor.owner))

    return answered


def to(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303, HEADERS)


async def _uploaded(request: Request) -> tuple[Mapping[str, str], Uploads]:
    """The fields and the files of the form of the first page."""
    most = {"max_files": MOST_FILES, "max_fields": UNREAD_FILES + 100}
    async with request.form(**most, max_part_size=_LARGEST_FIELD) as form:
        store: CheckStore = request.app.state.store
        read = await store.pool.run(lambda: read_uploads(form))
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        given = {name: value.replace("\r\n", "\n") for name, value in fields.items()}  # as browsers send a new line
        return _BLANK | given, read


def visitor_of(request: Request) -> CallerInfo:
    """Who looks at a page; where the service has keys, one without a session is sent to sign in."""
    try:
        return caller_of(request)
    except HTTPException as error:
        raise HTTPException(303, "sign in", {"Location": "/sign-in"}) from error


Visitor = Annotated[CallerInfo, Depends(visitor_of)]


@page_router.get("/sign-in")
async def sign_in() -> HTMLResponse:
    return shown(_sign_in())


def _sign_in(problem: str = "") -> str:
    return render_page("sign_in.html", title="Sign in", problem=problem)


@page_router.post("/sign-in")
async def begin_session(request: Request, key: Annotated[str, Form()] = "") -> Response:
    """Takes a key for a cookie, because EventSource sends no Authorization header."""
    keys: Keys = request.app.state.keys
    if (found := keys.find(key.strip())) is None:
        return shown(_sign_in("This is not a key of this service."), 401)
    answer, session = to("/"), keys.session(found)
    # A proxy with TLS may be in front of the service.
    secure = request.headers.get("origin", "").startswith("https:")
    answer.set_cookie(COOKIE, session, SESSION_SECONDS, httponly=True, samesite="strict", secure=secure)
    return answer


@page_router.post("/sign-out")
async def end_session(request: Request) -> Response:
    keys: Keys = request.app.state.keys
    await asyncio.to_thread(keys.end_session, request.cookies.get(COOKIE, ""))
    answer = to("/sign-in")
    answer.delete_cookie(COOKIE)
    return answer


@page_router.get("/page/page.css")
async def stylesheet() -> Response:
    return _static(style(), "text/css")


@page_router.get("/page/page.js")
async def module() -> Response:
    return _static(script(), "text/javascript")


def _static(text: str, media_type: str) -> Response:
    return Response(text, 200, {**HEADERS, "cache-control": "max-age=3600"}, media_type)


@page_router.get("/")
async def home(store: Store, visitor: Visitor, cursor: str = "") -> HTMLResponse:
    return shown(await _home(store, visitor.owner, cursor=cursor))


async def _home(
    store: CheckStore,
    owner: str,
    *,
    cursor: str = "",
    given: Mapping[str, str] = _BLANK,
    problems: Sequence[str] = (),
    uploads: Uploads = _NO_FILES,
) -> str:
    listed = await asyncio.to_thread(store.list, owner=owner, cursor=cursor)
    sample = await asyncio.to_thread(has_no_corpus, store.spec.store)
    # The first time, all methods are imported.
    offered = await asyncio.to_thread(lambda: store.rules.methods)
    of_answers = for_answers(store.spec, store.parts).method
    is_another = of_answers != store.spec.method
    return render_page(
        "home.html",
        title="Error: Checks" if problems else "Checks",
        signed_in=bool(owner),
        path="/",
        problems=problems,
        kept=uploads.documents,
        unread=uploads.unread_files,
        given={"method": "" if is_another else store.spec.method, **given},
        default=f"{store.spec.method}; {of_answers} for a text with documents" if is_another else "",
        methods={name: shortened(methods[name].about, 120) for name in offered},
        corpora=tuple(store.rules.corpora),
        sample=sample or store.spec.store == SAMPLE,
        live="" if store.rules.live == "keywords" else store.rules.live,
        types=file_types(),
        largest=LARGEST_FILE // 10**6,
        most=CONTEXTS,
        checks=listed.checks,
        cursor=listed.cursor,
    )


@page_router.post("/checks")
async def start(request: Request, store: Store, visitor: Visitor) -> Response:
    given: Mapping[str, str] = _BLANK
    uploads = _NO_FILES

    async def refused(*problems: str, status: int = 422) -> HTMLResponse:
        """The form again, with what was written and read."""
        page = await _home(store, visitor.owner, given=given, problems=problems, uploads=uploads)
        return shown(page, status)

    try:
        given, uploads = await _uploaded(request)
        if uploads.article and given["words"].strip():
            problem = f"{uploads.name}: write a text or choose its file, not both; the file has to be chosen again"
            return await refused(problem)
        if uploads.article:
            given = {**given, "what": "text", "name": uploads.name, "words": uploads.article}
        kind = given["what"] or _kind_of(given["words"], store.spec.labels)
        if problems := _objections(given, kind, uploads, store.spec.labels):
            return await refused(*problems)
        asked = _request({**given, "what": kind}, uploads)
        check = store.submit(asked, owner=visitor.owner, prepared=await store.prepare(asked))
    except ValidationError as error:
        return await refused(f"{problem_location(error) or 'The form'}: {problem_of(error)}")
    except HTTPException as error:
        hint = "choose fewer files, or add them to a corpus: redargue corpus add FOLDER"
        problem = f"The form cannot be read: {error.detail}; {hint}"
        return await refused(problem, status=error.status_code)
    except (Busy, BudgetReached) as error:
        return await refused(str(error), status=status_of(error))
    except RedargueError as error:
        return await refused(str(error))
    return to(f"/runs/{check.id}")


def _kind_of(words: str, labels: LabelSet) -> str:
    """What a visitor wrote who did not choose: a text where it has several sentences, and labels that a text needs."""
    return "text" if labels.has_both_sides and has_several_sentences(words.strip()) else "claim"


def _objections(given: Mapping[str, str], kind: str, uploads: Uploads, labels: LabelSet) -> Sequence[str]:
    """Why a form is not sent, in the form's words; the rules say the rest."""
    words = given["words"].strip()
    if uploads.problems:
        return uploads.problems
    if uploads.unread_files and not (uploads.documents or given["document"].strip()):
        return (_NOTHING_READ,)
    if not words:
        return ("Write a claim or a text, or choose a file",)
    if not given["what"] and kind == "claim" and labels.judges_statements and words.endswith("?"):
        return ("This is a question, and only a statement is supported or refuted: state it, or choose “one claim”",)
    is_text = kind == "text"
    most = TEXT_LENGTH if is_text else CLAIM_LENGTH
    if len(words) > most:
        instead = "check it in parts" if is_text else "choose “a text”, or shorten it"
        return (f"The {kind} has {len(words):,} characters, and at most {most:,} are possible: {instead}",)
    return ()


def _request(given: Mapping[str, str], uploads: Uploads) -> CheckRequest:
    document, is_text = given["document"].strip(), given["what"] == "text"
    return CheckRequest.model_validate(
        {
            "text" if is_text else "claim": given["words"].strip(),
            "contexts": (*uploads.documents, *filter(None, [document])) or None,
            "unread_files": uploads.unread_files,
            "corpus": given["corpus"],
            "name": given["name"] if is_text else "",
            "method": given.get("method", ""),
            "as_of": given["as_of"] or None,
            "budget": given["budget"].strip(),
        }
    )


@page_router.get("/runs/{id_}")
@_as_page
async def run_page(
    id_: str, store: Store, visitor: Visitor, pages: Pages, filter_: Annotated[Filter, Query()]
) -> Response:
    return shown(await asyncio.to_thread(_run, store.get(id_, owner=visitor.owner), pages, filter_))


def _run(check: Check, pages: Pages, filter_: Filter) -> str:
    manifest = manifest_of(check)
    if manifest is None:
        return render_page(
            "waiting.html",
            title=check.first[:80],
            check=check,
            is_text=is_text(check),
            frames="" if check.ended else f"/runs/{check.id}/frames?waiting=true",
            **control(check),
        )
    if manifest.text is None and len(manifest.claims) == 1:
        return _claim(check, pages, 0)
    element, lines = pages.batch(check, filter_)
    name = name_of(check) or manifest.origin.name
    words = f"{name}:" if name else "A text of" if manifest.text else "A check of"
    return render_page(
        "batch.html",
        title=f"{words} {counted(len(manifest.claims), 'claim')}",
        began=check.created,
        element=element,
        unread_files=manifest.origin.unread_files,
        how=how_done(pages.loaded(check)) if check.ended else None,
        frames="" if check.ended else f"/runs/{check.id}/frames?after={lines}",
        **control(check),
    )


@page_router.get("/runs/{id_}/claims/{number}")
@_as_page
async def claim_page(id_: str, number: int, store: Store, visitor: Visitor, pages: Pages) -> Response:
    check = store.get(id_, owner=visitor.owner)
    return shown(await asyncio.to_thread(_claim, check, pages, number - 1))


def _claim(check: Check, pages: Pages, item: int) -> str:
    manifest = manifest_of(check)
    if manifest is None or not 0 <= item < len(manifest.claims):
        raise UnknownCheck(f"no claim {item + 1} in this check", hint="its page lists its claims")
    claim = manifest.claims[item]
    element, lines, finished = pages.claim(check, item)
    live = not (check.ended or finished)
    return render_page(
        "watch.html",
        title=claim.text[:80],
        claim=claim,
        item=item,
        of=len(manifest.claims),
        unread_files=manifest.origin.unread_files,
        element=element,
        frames=f"/runs/{check.id}/frames?{urlencode({'claim': item, 'after': lines})}" if live else "",
        **control(check),
    )


@page_router.get("/runs/{id_}/frames")
async def frames(
    id_: str,
    request: Request,
    store: Store,
    caller: Caller,
    pages: Pages,
    claim: Annotated[int | None, Query(ge=0)] = None,
    after: Annotated[int, Query(ge=0)] = 0,
    waiting: bool = False,
) -> StreamingResponse:
    """What changes on a page, as server-sent events; ``Last-Event-ID`` resumes after a line of the log."""
    check = store.get(id_, owner=caller.owner)
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdecimal() and len(last) < 12 else after
    # A check is queued before its run is recorded.
    if waiting or (not check.ended and manifest_of(check) is None):
        stream = _waiting(store, id_, caller.owner)
    else:
        log = pages.log(check, claim)  # its errors precede the stream
        stream = _frames(store, id_, caller.owner, pages, log, after)
    headers = {**HEADERS, "x-accel-buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _waiting(store: CheckStore, id_: str, owner: str) -> AsyncIterator[str]:
    """Has the page load itself again as soon as there is something to see."""
    yield "retry: 1000\n\n"
    while not store.closing.is_set():
        check = store.get(id_, owner=owner)
        if check.ended or manifest_of(check) is not None:
            yield "event: reset\ndata:\n\n"
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK):
                await store.closing.wait()
        yield ": wait\n\n"


async def _frames(
    store: CheckStore, id_: str, owner: str, pages: Pages, log: FrameLog, after: int
) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    async for lines in store.follow(id_, owner=owner, after=min(after, log.read), silence=_PING):
        if not lines:
            yield ": ping\n\n"
        for line in lines:
            made = log.frames(line)
            if line.number > after and made:
                *first, last = made
                yield "".join(map(encoded, first)) + encoded(last, line.number)
    if store.closing.is_set():
        return  # the page connects again
    check = store.get(id_, owner=owner)
    yield "".join(map(encoded, pages.ended(check, log.page))) + "event: end\ndata:\n\n"


@page_router.post("/runs/{id_}/stop")
@_as_page
async def stop(id_: str, store: Store, visitor: Visitor) -> Response:
    await store.cancel(id_, owner=visitor.owner)
    return to(f"/runs/{id_}")


@page_router.get("/runs/{id_}/report.{kind}")
@_as_page
async def report(id_: str, kind: str, store: Store, visitor: Visitor) -> Response:
    check = store.get(id_, owner=visitor.owner)
    await asyncio.to_thread(require_verdict, check)
    if kind == "docx" and writes_docx():
        content = await asyncio.to_thread(run_docx, check.folder)
        headers = {**HEADERS, "content-disposition": f'attachment; filename="{quote(id_)}.docx"'}
        return Response(content, media_type=_DOCX, headers=headers)
    if kind not in MEDIA:
        raise UnknownCheck(f"no report {kind[:20]!r}", hint=f"there are {', '.join(MEDIA)}")
    text = await asyncio.to_thread(render, check.folder, kind)
    headers = {**HEADERS, "content-security-policy": REPORT_POLICY}
    return Response(text, media_type=f"{MEDIA[kind]}; charset=utf-8", headers=headers)


@page_router.get("/compare")
async def compare_page(
    store: Store, visitor: Visitor, run: Annotated[list[str] | None, Query()] = None
) -> HTMLResponse:
    chosen, problem, comparison, status = list(dict.fromkeys(run or ())), "", None, 200
    try:
        if len(chosen) > RUNS_COMPARED or len(chosen) == 1:
            raise UsageError(f"Choose from 2 to {RUNS_COMPARED} checks; you chose {len(chosen)}")
        if chosen:
            folders = [store.get(name, owner=visitor.owner).folder for name in chosen]
            comparison = await asyncio.to_thread(lambda: compare_verdicts(list(map(load_run, folders))))
    except RedargueError as error:
        problem, status = str(error), status_of(error)
    listed = await asyncio.to_thread(store.list, owner=visitor.owner, limit=LISTED)
    finished = ("done", "failed", "interrupted")
    page = render_page(
        "compare.html",
        title="Compare checks",
        path="/compare",
        signed_in=bool(visitor.owner),
        problem=problem,
        comparison=comparison,
        checks=[check for check in listed.checks if check.state in finished and check.claims],
        chosen=chosen,
    )
    return shown(page, status)
