"""A line of the log for each request, for programs; and what it never says."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from redargue.cli.output import log_to_stderr
from redargue.errors import UsageError
from redargue.service.app import create_app
from redargue.service.keys import Keys
from service.test_http import NEEDS_MCP, client, done
from support.serving import service_parts, settings

pytestmark = pytest.mark.anyio
TEXT = "The lighthouse at Cape Ansel was lit in 1871."


@pytest.fixture(autouse=True)
def loggers_as_before() -> Iterator[None]:
    names = ("redargue", "redargue.requests", "uvicorn")
    before = {name: (logger.handlers, logger.propagate, logger.level) for name in names if (logger := _logger(name))}
    yield
    for name, (handlers, propagate, level) in before.items():
        logger = _logger(name)
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(name)


@pytest.mark.slow
async def test_a_request_is_a_line_with_its_check_outcome_and_time_and_nothing_of_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, key = Keys().add("editor")
    log_to_stderr("info", structured=True)
    async with client(key=key) as http:
        check = await done(http)
        await http.post("/v1/ground", json={"answer": TEXT, "contexts": []})
        await http.post("/v1/checks", json={"claim": ""})
        await http.get(f"/v1/checks/{TEXT}?after=1&secret={TEXT}")
        await http.get(f"/{TEXT}")
    err = capsys.readouterr().err
    lines = [json.loads(line) for line in err.splitlines()]
    requests = [line for line in lines if line["logger"] == "redargue.requests"]
    assert [(line["method"], line["route"], line["status"]) for line in requests] == [
        ("POST", "/v1/checks", 200),
        ("POST", "/v1/ground", 200),
        ("POST", "/v1/checks", 422),
        ("GET", "/v1/checks/{id}", 404),
        ("GET", "", 404),
    ]
    assert requests[0]["check"] == check["id"]
    assert requests[0]["outcome"] == check["outcome"] == "refuted"
    assert requests[1]["outcome"] == "unchecked"
    assert all(line["ms"] >= 0 for line in requests)
    assert [line["check"] for line in lines if line["logger"] == "redargue.service"] == [check["id"]]
    assert "lighthouse" not in err
    assert key not in err


async def test_a_body_that_is_refused_before_it_is_read_has_its_route(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("info", structured=True)
    async with client(max_body=1_000) as http:
        for path in ("/v1/chat/completions", "/v1/ground", f"/{TEXT}"):
            assert (await http.post(path, content=b"x" * 1_001)).status_code == 413
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["route"] for line in lines] == ["/v1/chat/completions", "/v1/ground", ""]


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/responses", "/v1/checks", pytest.param("/mcp", marks=NEEDS_MCP)]
)
async def test_a_client_that_leaves_within_its_body_is_a_line_and_no_failure(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr("info", structured=True)
    application = create_app(settings(), service_parts())
    messages = iter([{"type": "http.request", "body": b'{"model"', "more_body": True}])

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        pass  # nobody reads it

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"1000")]
    scope = {"type": "http", "path": path, "method": "POST", "headers": headers, "query_string": b""}
    async with application.router.lifespan_context(application):
        await application(scope, receive, send)
    (line,) = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (line["logger"], line["route"], line["status"]) == ("redargue.requests", path, 400)


async def test_without_the_option_no_request_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("warning")
    async with client() as http:
        await done(http)
    assert capsys.readouterr().err == ""


def test_lines_for_people_have_their_time_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("warning")
    logging.getLogger("redargue.cluster").warning("worker %s died (exit code %d)", "a", -9)
    logging.getLogger("redargue.cluster").info("not shown")
    assert capsys.readouterr().err.endswith(" warning: worker a died (exit code -9)\n")


def test_an_unknown_level_names_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="unknown level 'verbose'"):
        log_to_stderr("verbose")
