"""Keys come out nowhere: not in answers, errors, tracebacks, logs or what is printed of a service."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import httpx2
import pytest

from redargue.backends import Call
from redargue.claims import Claim
from redargue.errors import RedargueError, UsageError
from redargue.llm.chat import ChatBackend
from redargue.net.secrets import HIDDEN, Secrets, display_url
from redargue.net.services import limiter, services
from redargue.net.transport import Service, Transport
from redargue.runs.budget import Account
from redargue.tasks.query import WriteQuery
from support.growth import grows_with_the_square
from support.loopback import Behaviour, Loopback, Raw

KEY = "sk-Loop-4711/Ab+Cd=Ef&Gh"
PASSWORD = "pa55-word/with+all=of&it"
CODE = "c0de-in-the-query-99"
TASK = WriteQuery(claim=Claim(text="Bees are insects."), tool="corpus", about="documents")


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture
def server(running: Loopback) -> Loopback:
    running.behaviour, running.script = Behaviour(echo_key=True), lambda ask: '{"query": "bees"}'
    running.reset()
    return running


def shown(error: BaseException) -> str:
    """Everything that is ever printed of an error."""
    return "".join([*traceback.format_exception(error), repr(error), str(error), *map(str, vars(error).values())])


def spelled(key: str) -> set[str]:
    """The key as it stands in texts, addresses and JSON."""
    return {key, quote(key, safe=""), quote_plus(key), quote(key), json.dumps(key)[1:-1]}


def leaked(text: str, *keys: str) -> list[str]:
    return [form for key in keys for form in spelled(key) if form in text]


async def failing(server: Loopback, address: str = "", **options: Any) -> str:
    """What is shown of the error in which a call ends."""
    given = {"key": KEY, **options}
    async with Transport(secrets=Secrets(), patience=0) as transport:
        backend = ChatBackend(
            transport, Service(name="model", url=address or f"{server.url}/v1", timeout=60, **given), "m"
        )
        with pytest.raises(RedargueError) as caught:
            await backend.perform(TASK, Call(agent="corpus"))
    return shown(caught.value)


# what is a secret


@pytest.mark.parametrize(
    "value", ["", "none", "ollama", "secret", "EMPTY", "12345678", "changeme", "sk-1", "no key here"]
)
def test_short_and_plain_words_are_not_blotted_out(value: str) -> None:
    assert Secrets([value]).hide(f"it says {value} here") == f"it says {value} here"


@pytest.mark.parametrize("value", ["abcd1234", "tvly-dev-1", "x" * 20, "sk-ant-api03", f"  {KEY}\n"])
def test_what_looks_like_a_key_is_hidden(value: str) -> None:
    assert Secrets([value]).hide(f"it says {value.strip()} here") == f"it says {HIDDEN} here"


def test_a_longer_key_is_hidden_whole_where_a_shorter_one_begins_it() -> None:
    secrets = Secrets(["abcd1234", "abcd1234-and-more"])
    assert secrets.hide("abcd1234-and-more abcd1234") == f"{HIDDEN} {HIDDEN}"


@pytest.mark.parametrize(
    "form",
    [
        str,
        lambda key: quote(key, safe=""),
        lambda key: json.dumps(key)[1:-1],
        lambda key: json.dumps({"message": f"wrong key {key}"}),
        lambda key: repr({"key": key}),
        lambda key: str(httpx2.URL("http://127.0.0.1", params={"key": key})),
    ],
)
@pytest.mark.parametrize("key", [KEY, PASSWORD, 'quo"te\\d-5ecret-77', "schlüssel-4711-abcdefgh"])
def test_a_key_is_hidden_in_every_spelling(key: str, form: Callable[[str], str]) -> None:
    secrets = Secrets([key])
    assert not leaked(secrets.hide(form(key)), key)


@pytest.mark.parametrize(
    ("key", "spelling"),
    [
        pytest.param("a b c d 1 2 3 4 e f", quote_plus("a b c d 1 2 3 4 e f"), id="+ for a space"),
        pytest.param(
            KEY,
            quote(KEY, safe="").lower().replace("sk-loop", "sk-Loop").replace("ab%2bcd%3def%26gh", "Ab%2bCd%3dEf%26Gh"),
            id="%2b",
        ),
        pytest.param(KEY, quote(KEY, safe="/"), id="/ as it is, the rest quoted"),
        pytest.param(KEY, KEY.replace("/", "\\/"), id="PHP's JSON"),
        pytest.param(KEY, KEY.replace("&", "\\u0026"), id="Go's JSON"),
        pytest.param(KEY, KEY.replace("=", "\\u003d"), id="Gson"),
        pytest.param(KEY, KEY.replace("&", "&amp;"), id="HTML"),
        pytest.param(KEY, KEY.upper(), id="capitals"),
        pytest.param(KEY, base64.b64encode(KEY.encode()).decode(), id="base64"),
        pytest.param(KEY, base64.b64encode(KEY.encode()).decode().lower(), id="base64 in small letters"),
        pytest.param(
            "~~~?4711abcdefgh~~", base64.urlsafe_b64encode(b"~~~?4711abcdefgh~~").decode(), id="base64 for URLs"
        ),
        pytest.param(KEY, json.dumps(json.dumps(KEY.replace("/", '"')))[3:-3], id="JSON in JSON"),
    ],
)
def test_a_key_is_hidden_in_the_spellings_of_other_programs(key: str, spelling: str) -> None:
    given = KEY.replace("/", '"') if '\\"' in spelling else key
    assert Secrets([given]).hide(spelling) == HIDDEN


def test_long_runs_of_what_a_key_may_begin_with_are_searched_at_once() -> None:
    secrets = Secrets(["/abcd-1234/efgh", "&abcd-1234&efgh", "%abcd1234%"])
    for text in ("\\" * 6_000, "&#" + "0" * 30_000, "%25" * 10_000, "&#x0" * 8_000):
        assert secrets.hide(text) == text
        assert not grows_with_the_square(secrets.hide, text)


def test_the_environments_keys_are_secret_by_their_names_and_in_addresses() -> None:
    secrets = Secrets.from_environment(
        {
            "OPENAI_API_KEY": "sk-1234-abcd",
            "MY_PASSWORD": "hunter2hunter2",
            "PATH": "/usr/local/bin:/usr/bin",
            "REDARGUE_BASE_URL": f"https://user:{PASSWORD.replace('/', '%2F')}@example.org/v1?code={CODE}",
            "ODD": "http://[::1",
        }
    )
    text = secrets.hide(f"sk-1234-abcd hunter2hunter2 /usr/local/bin:/usr/bin {PASSWORD} {CODE}")
    assert text == f"{HIDDEN} {HIDDEN} /usr/local/bin:/usr/bin {HIDDEN} {HIDDEN}"


def test_a_quoted_value_does_not_blot_out_spaces() -> None:
    text = "a list:\n" + " " * 8 + "indented"
    assert Secrets(["%20" * 7]).hide(text) == text


def test_a_place_shows_neither_user_nor_password_nor_query() -> None:
    assert display_url(f"https://user:{PASSWORD.replace('/', '%2F')}@h.example:8443/v1/?code={CODE}#x") == (
        "https://h.example:8443/v1"
    )
    for path in ("field.db", "/srv/field.db", "milvus:field.db", "starter"):
        assert display_url(path) == path
    assert display_url(f"user:{PASSWORD}@host/path") == "an invalid address"


# what is printed of a service


def test_a_services_key_is_not_printed() -> None:
    assert not leaked(repr(Service(name="model", url="http://localhost", key=KEY)), KEY)
    assert not leaked(repr(services(environment={"OPENAI_API_KEY": KEY})), KEY)


def test_an_addresss_secrets_are_not_printed() -> None:
    printed = repr(Service(name="model", url=f"http://user:{CODE}@localhost/v1?code={CODE}x"))
    assert CODE not in printed


@pytest.mark.parametrize("as_option", [True, False])
def test_an_address_that_is_none_is_told_without_its_secrets(as_option: bool) -> None:
    url = f"user:{CODE}@api.example.org/v1?code={CODE}"
    with pytest.raises(UsageError) as caught:
        services(url if as_option else "", {} if as_option else {"REDARGUE_BASE_URL": url})
    assert CODE not in shown(caught.value)


@pytest.mark.parametrize("key", ["sk-schlüssel-4711", "sk-4711\nabcdefgh", "sk-4711\x00abcdefgh"])
def test_a_key_that_cannot_be_sent_is_named_and_not_shown(key: str) -> None:
    with pytest.raises(UsageError, match="SERPER_API_KEY contains characters") as caught:
        services(environment={"SERPER_API_KEY": key})
    assert "4711" not in shown(caught.value)


# what comes back from a service


@pytest.mark.anyio
@pytest.mark.parametrize(
    "wrong",
    [
        {"statuses": {"chat": 401}},
        {"statuses": {"chat": 400}},
        {"statuses": {"chat": 403}},
        {"statuses": {"chat": 404}},
        {"statuses": {"chat": 500}},
        {"statuses": {"chat": 503}},
        {"quota": True},
        {"api_key": "another"},
    ],
)
async def test_an_error_that_repeats_the_key_is_shown_without_it(wrong: dict[str, Any], server: Loopback) -> None:
    server.behaviour = Behaviour(echo_key=True, **wrong)
    text = await failing(server)
    assert "m" in text
    assert not leaked(text, KEY)
    assert HIDDEN in text  # the server did repeat it


@pytest.mark.anyio
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("form", [str, lambda key: quote(key, safe=""), lambda key: json.dumps(key)])
async def test_a_body_that_repeats_the_key_in_any_form_is_kept_without_it(
    form: Callable[[str], str], status: int, server: Loopback
) -> None:
    server.script = lambda ask: Raw(status, f"<html>wrong key {form(KEY)}</html>".encode(), "text/html")
    assert not leaked(await failing(server), KEY)


@pytest.mark.anyio
@pytest.mark.parametrize("escaped", [KEY.replace("/", "\\/"), KEY.replace("&", "\\u0026"), KEY.replace("=", "\\u003d")])
async def test_a_key_that_only_reading_json_brings_out_is_hidden(escaped: str, server: Loopback) -> None:
    body = f'{{"error": {{"message": "wrong key {escaped}"}}}}'
    server.script = lambda ask: Raw(400, body.encode())
    assert not leaked(await failing(server), KEY)


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_that_says_the_key_is_recorded_without_it(stream: bool, server: Loopback) -> None:
    server.script = lambda ask: json.dumps({"query": f"what {KEY} is"})
    async with Transport(secrets=Secrets(), patience=0) as transport:
        service = Service(name="model", url=f"{server.url}/v1", key=KEY)
        reply = await ChatBackend(transport, service, "m", stream=stream).perform(TASK, Call(agent="corpus"))
    (output,) = reply.outputs
    assert output.answer.text == f"what {HIDDEN} is"
    assert not leaked(repr(reply), KEY)


# addresses


@pytest.mark.anyio
@pytest.mark.parametrize("status", [0, 401, 500])
async def test_secrets_in_an_address_do_not_come_out_of_errors(status: int, server: Loopback) -> None:
    server.behaviour = Behaviour(echo_key=True, statuses={"chat": status} if status else {})
    server.script = lambda ask: Raw(200, f"<html>{PASSWORD} {CODE}</html>".encode(), "text/html")
    host = server.url.removeprefix("http://")
    text = await failing(server, f"http://user:{quote(PASSWORD, safe='')}@{host}/v1?code={CODE}", key="")
    assert not leaked(text, PASSWORD, CODE)


@pytest.mark.anyio
async def test_a_basic_authorization_that_is_repeated_is_hidden(server: Loopback) -> None:
    server.behaviour = Behaviour(echo_key=True, statuses={"chat": 401})
    host = server.url.removeprefix("http://")
    text = await failing(server, f"http://user:{CODE}@{host}/v1", key="")
    assert base64.b64encode(f"user:{CODE}".encode()).decode() not in text


@pytest.mark.anyio
async def test_a_key_is_sent_though_the_address_has_a_user(server: Loopback) -> None:
    host = server.url.removeprefix("http://")
    async with Transport(secrets=Secrets(), patience=0) as transport:
        service = Service(name="model", url=f"http://user:{CODE}@{host}/v1", key=KEY)
        await ChatBackend(transport, service, "m").perform(TASK, Call(agent="corpus"))
    assert server.requests[0].bearer == KEY


@pytest.mark.anyio
@pytest.mark.parametrize(
    "url",
    [f"http://user:{CODE}@127.0.0.1:9/v1?code={CODE}", f"http://user:{CODE}@exa mple.org/v1", f"ftp://{CODE}@h/v1"],
)
async def test_secrets_in_an_address_that_cannot_be_reached_do_not_come_out(url: str, server: Loopback) -> None:
    text = await failing(server, url, key=KEY)
    assert CODE not in text
    assert not leaked(text, KEY)


@pytest.mark.anyio
async def test_a_header_that_cannot_be_sent_is_not_shown(server: Loopback) -> None:
    for key in ("sk-4711-abcd\nefgh-ijkl", "sk-4711-äöü-abcdefgh"):
        text = await failing(server, key=key)
        assert not any(part in text for part in ("sk-", "abcd", "efgh"))  # digits alone may be those of a port


# logs


@pytest.mark.anyio
async def test_what_httpx2_logs_holds_no_key(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    host = server.url.removeprefix("http://")
    async with Transport(secrets=Secrets(), patience=0) as transport:
        service = Service(name="google-cse", url=f"http://user:{quote(PASSWORD, safe='')}@{host}/customsearch")
        params = {"key": CODE, "cx": "c", "q": "bees"}
        transport.secrets.add(CODE, KEY)
        await transport.send(
            service, "GET", "/v1", account=Account(), headers={"Authorization": f"Bearer {KEY}"}, params=params
        )
    logged = caplog.text + "".join(f"{each.getMessage()} {each.args} {each.msg}" for each in caplog.records)
    assert "HTTP Request: GET" in logged
    assert not leaked(logged, CODE, KEY, PASSWORD)


@pytest.mark.anyio
async def test_what_httpcore2_logs_of_an_answers_headers_holds_no_key(
    server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    where = f"https://elsewhere.example/v1?key={CODE}"
    server.script = lambda ask: Raw(200, b"{}", headers=(("location", where),))
    async with Transport(secrets=Secrets([CODE]), patience=0) as transport:
        service = Service(name="model", url=f"{server.url}/v1")
        await transport.send(service, "POST", "/chat/completions", account=Account(), json={"messages": [{}]})
    assert CODE not in caplog.text


def test_watching_logs_again_and_again_keeps_one_filter() -> None:
    secrets = Secrets()
    secrets.redact_logs()
    before = len(logging.getLogger("httpx2").filters)
    secrets.redact_logs()
    assert len(logging.getLogger("httpx2").filters) == before


def test_transports_that_are_gone_leave_no_filter_behind() -> None:
    before = len(logging.getLogger("httpx2").filters)
    for _ in range(3):
        Transport(secrets=Secrets())
    assert len(logging.getLogger("httpx2").filters) <= before + 1


# settings


def settings(environment: dict[str, str]) -> None:
    """Reads everything that the environment sets of services."""
    limiter(environment)
    services(environment=environment)


def test_services_take_address_key_and_limits_from_the_environment() -> None:
    found = services(
        environment={
            "OPENAI_BASE_URL": "http://localhost:1/v1",
            "OPENAI_API_KEY": "sk-second",
            "REDARGUE_API_KEY": " sk-first\n",
            "REDARGUE_MODEL_TIMEOUT": "7.5",
            "REDARGUE_WIKIPEDIA_LANGUAGE": "de",
        }
    )
    assert (found["model"].url, found["model"].key, found["model"].timeout) == (
        "http://localhost:1/v1",
        "sk-first",
        7.5,
    )
    assert found["wikipedia"].url == "https://de.wikipedia.org"
    assert services("http://localhost:2/v1", {"REDARGUE_BASE_URL": "http://localhost:1"})["model"].url.endswith(":2/v1")
    rate = (
        limiter({"REDARGUE_MODEL_IN_FLIGHT": "3", "REDARGUE_MODEL_TOKENS_PER_MINUTE": "90000"})
        .for_service("model")
        .rate
    )
    assert (rate.in_flight, rate.requests_per_minute, rate.tokens_per_minute) == (3, None, 90000)


@pytest.mark.parametrize("value", ["many", "-1"])
@pytest.mark.parametrize(
    "name", ["REDARGUE_MODEL_IN_FLIGHT", "REDARGUE_MODEL_REQUESTS_PER_MINUTE", "REDARGUE_MODEL_TIMEOUT"]
)
def test_a_limit_that_is_no_number_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"expected a positive number, got '{value}'") as caught:
        settings({name: value})
    assert caught.value.where == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDARGUE_MODEL_IN_FLIGHT", "0.5"),
        ("REDARGUE_MODEL_IN_FLIGHT", "nan"),
        ("REDARGUE_MODEL_IN_FLIGHT", "inf"),
        ("REDARGUE_MODEL_IN_FLIGHT", "0"),
        ("REDARGUE_MODEL_REQUESTS_PER_MINUTE", "0"),
        ("REDARGUE_MODEL_REQUESTS_PER_MINUTE", "nan"),
        ("REDARGUE_MODEL_TIMEOUT", "0"),
        ("REDARGUE_MODEL_TIMEOUT", "nan"),
    ],
)
def test_a_limit_that_allows_nothing_or_is_no_limit_is_refused(name: str, value: str) -> None:
    with pytest.raises(UsageError):
        settings({name: value})
