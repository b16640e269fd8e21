"""Errors as RFC 9457 problem details; a request's values are never part of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic.fields import FieldInfo
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from redargue.claims import Frozen
from redargue.concurrency import Busy
from redargue.errors import (
    BudgetReached,
    CorpusError,
    ProviderError,
    RecordError,
    RedargueError,
    StoreUnavailable,
    UsageError,
    problem_message,
)
from redargue.files import NO_ROOM
from redargue.registry import did_you_mean


class UnknownCheck(RedargueError):
    """There is no such check, or it belongs to another caller, which the answer must not reveal."""


MEDIA_TYPE = "application/problem+json"
STATUS: tuple[tuple[type[RedargueError], int], ...] = (  # the first that fits
    (UnknownCheck, 404),
    (BudgetReached, 402),
    (UsageError, 422),
    (ProviderError, 502),
    (CorpusError, 503),
    (RecordError, 409),
)
OPENAI_PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/models")  # with errors in OpenAI's shape
_NOT_PARSED = "There was an error parsing the body"  # FastAPI's words
_AS_JSON = "send JSON in UTF-8, nested at most a few hundred levels deep"
# A value as its repr, of text or bytes, which may be cut off.
_QUOTED = re.compile(r"""(?<!\w)b?(?:'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z))""", re.DOTALL)
_OF_OURS = ("literal_error", "string_pattern_mismatch")  # kinds of mistakes whose words quote what is expected


# A path of this machine, which is its operator's alone; routes of the service are shown.
_PATH = re.compile(r"(?<![\w/.~-])/(?!v1/)[^\s/'\";,]+/[^\s'\";,]*")


def without_paths(text: str) -> str:
    return _PATH.sub("…", text)


class FieldProblem(Frozen):
    """What is wrong with one value; ``pointer`` is a JSON pointer into the body, or names a parameter."""

    pointer: str
    detail: str


class Problem(Frozen):
    """RFC 9457 problem details.

    Attributes:
        type: ``urn:redargue:error:`` and the error's class, or ``about:blank``.
        hint: what to do next.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    hint: str = ""
    errors: tuple[FieldProblem, ...] = ()

    def response(self, headers: Mapping[str, str] | None = None) -> JSONResponse:
        body = self.model_dump(mode="json", exclude_defaults=True) | {"type": self.type}
        return JSONResponse(body, self.status, dict(headers or {}), MEDIA_TYPE)


def plain_problem(status: int, detail: str = "", hint: str = "") -> Problem:
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, hint=hint)


def refusal(
    path: str, status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as its client reads it; those of OpenAI's API know its shape only."""
    if path not in OPENAI_PATHS:
        return plain_problem(status, detail, hint).response(headers)
    of_a_client = "authentication_error" if status == 401 else "invalid_request_error"
    kind = "server_error" if status >= 500 else of_a_client
    message = "; ".join(filter(None, (detail, hint)))
    return JSONResponse(openai_error(message, kind=kind), status, headers)


def openai_error(
    message: str, *, kind: str, code: str | None = None, param: str | None = None
) -> dict[str, dict[str, object]]:
    """The body of an error as OpenAI's API has it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def status_of(error: RedargueError) -> int:
    match error:
        case Busy(draining=draining):
            return 503 if draining else 429
        case StoreUnavailable(full=True):
            return 507
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def problem_of_error(error: RedargueError) -> Problem:
    status = status_of(error)
    name = type(error).__name__
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().capitalize()
    detail = without_paths(_QUOTED.sub("'…'", error.what) if status < 500 else error.what)
    # A usage error of a request names its field; those of the command line name an option, which is no pointer.
    named = status == 422 and re.fullmatch(r"\w[\w-]{0,59}(\.[\w-]{1,60}){0,9}", error.where)
    place = "/" + error.where.replace(".", "/")
    errors = (FieldProblem(pointer=place, detail=detail),) if named else ()
    kind, hint = f"urn:redargue:error:{name}", without_paths(error.hint)
    return Problem(type=kind, title=title, status=status, detail=detail, hint=hint, errors=errors)


def rate_limit(places: int, free: int) -> dict[str, str]:
    """The RateLimit headers (draft-ietf-httpapi-ratelimit-headers-10) of checks that run or wait at the same time."""
    return {
        "RateLimit-Policy": f'"checks";q={places};qu="concurrent-requests"',
        "RateLimit": f'"checks";r={free}',
    }


def handle_problems(application: FastAPI, no_page: Callable[[str], Response]) -> None:
    """Answers every error with problem details; ``no_page`` shows a browser that there is none at a path."""

    @application.exception_handler(RedargueError)
    async def of_redargue(request: Request, error: RedargueError) -> JSONResponse:
        headers: dict[str, str] = {}
        if isinstance(error, Busy):
            headers["Retry-After"] = str(error.retry_after)
            if not error.draining and request.url.path == "/v1/checks":
                headers |= rate_limit(*application.state.store.places)
        return problem_of_error(error).response(headers)

    @application.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> Response:
        return _refused(request, error, no_page)

    @application.exception_handler(RequestValidationError)
    async def of_validation(request: Request, error: RequestValidationError) -> JSONResponse:
        return _invalid(request, error).response()

    @application.exception_handler(ClientDisconnect)
    async def of_left(request: Request, error: ClientDisconnect) -> JSONResponse:
        return refusal(request.url.path, 400, "the client left before it had sent the body")

    @application.exception_handler(OSError)
    async def of_disk(request: Request, error: OSError) -> JSONResponse:
        if error.errno not in NO_ROOM:
            raise error
        hint = "nothing was stored: make room on it, and send this again"
        return refusal(request.url.path, 507, "the service's disk is full", hint)

    @application.exception_handler(Exception)
    async def of_anything(request: Request, error: Exception) -> JSONResponse:
        return refusal(request.url.path, 500, "the service failed", "its log says why")


def _refused(request: Request, error: HTTPException, no_page: Callable[[str], Response]) -> Response:
    path, is_api = request.url.path, request.url.path.startswith("/v1/")
    if error.detail == _NOT_PARSED:
        return plain_problem(error.status_code, "the body cannot be read as JSON", _AS_JSON).response(error.headers)
    if (error.status_code, error.detail) == (404, HTTPStatus.NOT_FOUND.phrase):  # no route has this path
        if is_api and getattr(request.app.state, "has_upstream", False):
            message = f"the proxy does not serve {path:.60}; send this request to the model's own address"
            return JSONResponse(openai_error(message, kind="invalid_request_error", code="unknown_url"), 404)
        if not is_api and "text/html" in request.headers.get("accept", ""):
            return no_page(path)
    return refusal(path, error.status_code, error.detail, headers=error.headers)


def _invalid(request: Request, error: RequestValidationError) -> Problem:
    if isinstance(error.body, bytes):  # which FastAPI has not read
        hint = "send it with the header Content-Type: application/json"
        return plain_problem(400, "the body was not sent as JSON", hint)
    found = [each for each in error.errors() if not _is_false(each, error.body)] or error.errors()
    form = getattr(request.scope.get("route"), "body_field", None)
    model = form.field_info.annotation if form else None
    errors = tuple(_field_problem(each, error.body, model) for each in found[:20])
    return Problem(title="Unprocessable content", status=422, detail="the request is not valid", errors=errors)


# What pydantic says of a value of one type that it reads as each of several.
_TRIED = {("string_type", dict), ("model_type", str), ("model_attributes_type", str)}


def _is_false(error: Mapping[str, Any], body: object) -> bool:
    """Whether a mistake is of a type that was only tried, or of a list that is short because some values are wrong."""
    for part in error["loc"][1:]:
        if not _holds(body, part):  # it is the name of a type
            return (error["type"], type(error["input"])) in _TRIED
        body = body[part]  # type: ignore[index]
    return error["type"] == "too_short" and isinstance(body, list) and len(body) >= error["ctx"]["min_length"]


def _known_fields(model: Any, place: Sequence[int | str]) -> Iterable[str]:
    """The fields of the object of a request in which a place is."""
    fields: Mapping[str, FieldInfo] = getattr(model, "model_fields", {})
    for part in place[:-1]:
        if part in fields:
            kinds = [kind for kind in _kinds(fields[str(part)].annotation) if hasattr(kind, "model_fields")]
            fields = kinds[0].model_fields if kinds else {}
    return fields


def _kinds(annotation: object) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _kinds(part)


def _field_problem(error: Mapping[str, Any], body: object, model: object) -> FieldProblem:
    kind, *rest = error["loc"]
    if error["type"] == "json_invalid":
        return FieldProblem(pointer="", detail=f"the body is not JSON, from character {rest[0]} on")
    message = problem_message(error)
    detail = message if error["type"] in _OF_OURS else _QUOTED.sub("'…'", message)
    if error["type"] == "extra_forbidden" and (known := _known_fields(model, rest)):
        detail = f"there is no such field; {did_you_mean(str(rest[-1])[:60], known)}"
    if kind == "body":
        pointer = _pointer(rest, body, missing=error["type"] == "missing")
    else:
        pointer = ": ".join(str(part)[:60] for part in error["loc"])
    return FieldProblem(pointer=pointer, detail=detail)


def _pointer(place: Sequence[int | str], body: object, *, missing: bool) -> str:
    """A JSON pointer into the body.

    pydantic's places hold the names of the types it tried too, as in ``/contexts/0/constrained-str``.
    """
    parts = []
    for at, part in enumerate(place):
        if _holds(body, part):
            body = body[part]  # type: ignore[index]
        elif not (missing and at == len(place) - 1):
            continue
        parts.append(str(part))
    return "".join(f"/{shown_name(part)}" for part in parts)


def shown_name(name: str) -> str:
    """The name of a field, which comes from the caller where it is unknown, as far as it is a word."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else "…"


def _holds(body: object, part: int | str) -> bool:
    if isinstance(part, int):
        return isinstance(body, list) and part < len(body)
    return isinstance(body, dict) and part in body
