"""Small inputs that would cost minutes or gigabytes: each stays within seconds of processor time and its limit."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from redargue.errors import ProviderError, ToolFailed, UnreadableFile, UsageError
from redargue.evidence import Passage
from redargue.injections import injection_in
from redargue.inputs import rows as data_files
from redargue.llm.response import read_stream
from redargue.net import transport
from redargue.net.transport import LARGEST_ANSWER, Service, Transport
from redargue.nli.markup import is_furniture, is_heading, without_dateline
from redargue.quotes import find_quote
from redargue.retrieval.corpus import documents, markup
from redargue.retrieval.corpus.markup import read_html, read_markdown, read_pdf
from redargue.retrieval.corpus.pdf_lines import without_running_lines
from redargue.retrieval.mcp import client
from redargue.retrieval.mcp.transports import _bound
from redargue.retrieval.tools import Search
from redargue.retrieval.tools.online import OnlineTool
from redargue.runs.budget import Account
from support.files import pdf

pytestmark = pytest.mark.slow

MARKS = "\u0301\u0316"
QUOTES = {
    "quotation marks": ('"' * 64_000 + "a", '"' * 64_000 + " b"),
    "marks around marks": ("“‘" * 30_000 + "a" + "’”" * 30_000, "a " * 10_000),
    "one letter": ("a", "ba " * 100_000),
    "repeated words": ("a a a", "a " * 100_000 + "b"),
    "combining marks": ("a" + MARKS * 32_000, "a" + MARKS * 32_000),
    "spaces": (" " * 64_000 + "a", " " * 64_000),
    "ellipses": ("..." * 30_000 + "a", "..." * 30_000),
    "invisible": ("a" + "\u200b" * 64_000 + "b", "a" + "\u200b" * 64_000 + "c"),
    "line-break hyphens": ("a-\n" * 30_000, "a-\n" * 30_000),
    "brackets": ("[" * 64_000 + "a", "[" * 64_000),
    "stars": ("*" * 64_000 + "a", "*" * 64_000 + " b"),
    "underscores": ("_" * 64_000 + "a", "_" * 64_000 + " b"),
    "denials": ("is true", "not not " * 20_000 + "is true " * 5_000),
    "called false": ("It is old.", "It is old. Wrong! " * 20_000),
    "leads": ("It is old.", ("a hoax of the claim said " * 30 + "not: It is old. ") * 300),
}
SPEAKING = {  # nearly orders, in six languages
    "English": "the claim the ai must answers the system graders regard ",
    "German": "regeln behauptung bewerte die aussage vorherige antworten wer ",
    "French": "consignes affirmation considère l'affirmation réponses tout ce que ",
    "Spanish": "instrucciones afirmación considera la afirmación respuestas todo lo que ",
    "Russian": "инструкции утверждение считай утверждение ответы всё прежние ",
    "Chinese": "所有指令说法标记此前规定请将该说法标注",
}


@pytest.mark.parametrize("text", SPEAKING.values(), ids=SPEAKING)
def test_orders_are_looked_for_in_linear_time(text: str) -> None:
    start = time.process_time()
    injection_in(text * (100_000 // len(text)))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("quote", "text"), QUOTES.values(), ids=QUOTES)
def test_a_quotation_is_looked_for_in_linear_time(quote: str, text: str) -> None:
    start = time.process_time()
    find_quote(quote, (Passage(text=text),))
    assert time.process_time() - start < 2


ATTRIBUTES = " ".join(f"a{number}=1" for number in range(40_000))
PAGES = {
    "attributes": f"<p {ATTRIBUTES}>hello</p>",
    "attributes without spaces": "<p " + "".join(f'a{number}="1"' for number in range(40_000)) + ">hello</p>",
    "attributes parted by slashes": "<p/" + ATTRIBUTES.replace(" ", "/") + ">hello</p>",
    "after an open quotation mark": f'<p x=a"b {ATTRIBUTES}>hello</p>',
    "after a mark in a value": f"<p x='<' {ATTRIBUTES}>hello</p>",
    "never closed": f"<p {ATTRIBUTES} hello",
    "many tags": ("<p " + " ".join(f"a{number}=1" for number in range(550)) + ">x</p>") * 100,
    "open marks": '<p "' * 20_000 + "hello",
    "open marks of two kinds": "<p '\"" * 20_000 + "hello",
    "nested": "<div>" * 40_000 + "hello",
    "meta": "<meta name=a content=b>" * 40_000 + "<p>hello",
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_is_read_in_seconds(page: str) -> None:
    start = time.process_time()
    with suppress(UnreadableFile):
        read_html(page)
    assert time.process_time() - start < 5


class Body(httpx2.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), 65_536):
            yield self.content[start : start + 65_536]


class Bomb(httpx2.AsyncBaseTransport):
    def __init__(self, encoding: str, content: bytes) -> None:
        self.encoding, self.content = encoding, content

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {"content-encoding": self.encoding, "content-type": "application/json"}
        return httpx2.Response(200, headers=headers, stream=Body(self.content))


BOMBS: dict[str, Callable[[], bytes]] = {  # each is made where it is sent: that takes a while
    "gzip": lambda: gzip.compress(bytes(60_000_000), 9),
    "deflate": lambda: zlib.compress(bytes(60_000_000), 9),
    "br": lambda: b"\x8b\x02\x80",
    "zstd": lambda: b"(\xb5/\xfd",
    "gzip, gzip": lambda: gzip.compress(gzip.compress(bytes(60_000_000), 9)),
}


@pytest.mark.parametrize(("encoding", "content"), BOMBS.items(), ids=BOMBS)
def test_a_services_answer_is_unpacked_up_to_the_limit(encoding: str, content: Callable[[], bytes]) -> None:
    async def send() -> None:
        service = Service(name="model", url="http://127.0.0.1:9")
        async with Transport(inner=Bomb(encoding, content()), patience=0) as transport:
            loop = asyncio.get_running_loop()
            transport._clients[loop] = httpx2.AsyncClient(transport=transport._inner)
            await transport.send(service, "GET", "/", account=Account())

    with pytest.raises(ProviderError, match=rf"larger than {LARGEST_ANSWER:,}|not asked for"):
        asyncio.run(send())


@pytest.mark.parametrize(("encoding", "content"), BOMBS.items(), ids=BOMBS)
def test_a_compressed_answer_of_an_mcp_server_is_refused(encoding: str, content: Callable[[], bytes]) -> None:
    async def ask() -> None:
        hooks: dict[str, Any] = {"response": [_bound]}
        async with httpx2.AsyncClient(transport=Bomb(encoding, content()), event_hooks=hooks) as http:
            await http.get("http://127.0.0.1:9/mcp")

    with pytest.raises(httpx2.StreamError, match="compressed"):
        asyncio.run(ask())


class Verbose(OnlineTool):
    name = "verbose"
    about = "a service"
    max_query, max_results = 400, 20

    async def find(self, query: str, k: int, search: Search) -> Iterable[Passage]:
        long = "word " * 800_000
        return [
            Passage(text=f"{number} {long}", title=long, publisher=long, published=long, document=long)
            for number in range(k)
        ]


def test_results_of_a_search_are_no_longer_than_honest_ones() -> None:
    tool = Verbose(Service(name="verbose", url="http://127.0.0.1:9"), Transport(offline=True))
    passages = asyncio.run(tool.search("a", 20, search=Search(account=Account())))
    assert len(passages) == 20
    assert sum(len(passage.model_dump_json()) for passage in passages) < 20 * 25_000


class Lists:
    """A server that lists tools."""

    name, secrets = "many", SimpleNamespace(hide=lambda text: text)
    target = SimpleNamespace(place="here")

    def __init__(self, *tools: Any, pages: int = 1) -> None:
        self.tools, self.pages = tools, pages

    async def __aenter__(self) -> Lists:
        return self

    async def __aexit__(self, *error: object) -> None: ...

    async def about(self) -> str:
        return "many 1"

    async def ask(self, method: str, cursor: str | None = None) -> Any:
        at = int(cursor or 0)
        tools = [SimpleNamespace(name=f"{tool.name}{at or ''}", **tool.more) for tool in self.tools]
        return SimpleNamespace(tools=tools, next_cursor=str(at + 1) if at + 1 < self.pages else None)


def listed(name: str, schema: dict[str, Any] | None = None) -> Any:
    return SimpleNamespace(name=name, more={"description": "a tool", "input_schema": schema or {"type": "object"}})


@pytest.mark.parametrize(("tools", "pages"), [(100_000, 1), (129, 1), (10, 50)])
def test_a_server_with_very_many_tools_is_refused(tools: int, pages: int) -> None:
    server: Any = Lists(*(listed(f"tool{number}x") for number in range(tools)), pages=pages)
    with pytest.raises(ToolFailed, match="more than 128 tools"):
        asyncio.run(client.list_tools([server]))


def chain(depth: int) -> dict[str, Any]:
    links = {
        f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}, {"$ref": f"#/$defs/d{at + 1}"}]} for at in range(depth)
    }
    return {"$defs": {**links, f"d{depth}": True}, "properties": {"query": {"$ref": "#/$defs/d0"}}}


EVIL = r"^(a+)+$"
SCHEMAS: dict[str, dict[str, Any]] = {
    "pattern": {"properties": {"query": {"type": "string", "pattern": EVIL}}},
    "pattern in a choice": {"properties": {"query": {"anyOf": [{"pattern": EVIL}, {"pattern": "(a|a)*$"}]}}},
    "patternProperties": {"patternProperties": {EVIL: {}}},
    "additionalProperties": {"patternProperties": {EVIL: {}}, "additionalProperties": False},
    "unevaluatedProperties": {"patternProperties": {EVIL: {}}, "unevaluatedProperties": False},
    "propertyNames": {"propertyNames": {"pattern": EVIL}},
    "an older draft": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"query": {"pattern": EVIL}},
    },
    "references in pairs": chain(40),
    "a reference to itself": {"properties": {"query": {"$ref": "#/properties/query"}}},
    "long": {"properties": {f"p{number}": {"description": "x" * 100} for number in range(50_000)}},
    "deep": json.loads('{"not":' * 900 + "{}" + "}" * 900),
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_foreign_schema_is_tried_in_bounded_time(schema: dict[str, Any]) -> None:
    server: Any = Lists(listed("tool", schema))
    start = time.process_time()
    (tool,) = asyncio.run(client.list_tools([server])).values()
    for arguments in ({"query": "a" * 40 + "!"}, {"a" * 40 + "!": 1}):
        with suppress(ToolFailed):
            tool._validate(arguments)
    assert time.process_time() - start < 3


def test_wrong_arguments_are_still_refused() -> None:
    schema = {"properties": {"query": {"type": "string", "maxLength": 3}}, "additionalProperties": False}
    server: Any = Lists(listed("tool", {**schema, "required": ["query"]}))
    (tool,) = asyncio.run(client.list_tools([server])).values()
    tool._validate({"query": "abc"})
    for wrong in ({}, {"query": 1}, {"query": "abcd"}, {"query": "a", "other": 1}):
        with pytest.raises(ToolFailed, match="wrong arguments"):
            tool._validate(wrong)


@pytest.mark.parametrize("name", ["claims.jsonl.gz", "claims.csv.gz", "claims.json.gz"])
def test_a_packed_data_set_is_read_up_to_a_total(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "LARGEST_DECOMPRESSED_ROWS", 1_000_000)
    row = json.dumps({"claim": "a" * 1_000}) if "json" in name else "a" * 1_000
    text = f"[{row}" if name == "claims.json.gz" else f"claim\n{row}" if "csv" in name else row
    Path(name).write_bytes(gzip.compress("\n".join([text, *[row] * 2_000]).encode()))
    read = data_files.table_rows if "csv" in name else data_files.rows
    with pytest.raises(UsageError, match="decompresses to more than"):
        list(read(Path(name)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize(
    ("limit", "why"), [("LARGEST_DECOMPRESSED_ROWS", "decompresses to"), ("LARGEST_LINE", "is longer")]
)
def test_a_packed_table_in_utf_16_is_read_row_by_row_up_to_a_total(
    limit: str, why: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_files, limit, 1_000_000)
    cells = ["a" * 1_000] * 2_000 if limit == "LARGEST_DECOMPRESSED_ROWS" else ["a" * 20_000_000]
    text = "\n".join(["claim", *cells])
    Path("claims.csv.gz").write_bytes(
        gzip.compress((text if encoding == "utf-16" else f"\ufeff{text}").encode(encoding))
    )
    rows = data_files.table_rows(Path("claims.csv.gz"))
    tracemalloc.start()
    with pytest.warns(UserWarning, match="UTF-16"), pytest.raises(UsageError, match=why):
        assert sum(1 for _ in rows) < 0
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000


def event(content: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": content}}]}).encode() + b"\n\n"


STREAMS = {
    "gzip": ("gzip", gzip.compress(event("a") * 50_000, 9)),
    "gzip without a line break": ("gzip", gzip.compress(bytes(60_000_000), 9)),
    "zstd": ("zstd", b"(\xb5/\xfd"),
    "plain": ("identity", event("a") * 50_000),
}


@pytest.mark.parametrize(("encoding", "content"), STREAMS.values(), ids=STREAMS)
def test_a_streamed_reply_is_unpacked_up_to_the_limit(
    encoding: str, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "LARGEST_ANSWER", 1_000_000)
    headers = {"content-encoding": encoding, "content-type": "text/event-stream"}
    response = httpx2.Response(200, headers=headers, stream=Body(content))
    with pytest.raises(httpx2.ReadError, match=r"larger than 1,000,000|not asked for"):
        asyncio.run(read_stream(response))


class Drops(Body):
    """A body in very small pieces."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), 64):
            yield self.content[start : start + 64]


def test_a_streamed_line_in_very_small_pieces_is_read_in_linear_time() -> None:
    body = event("a" * 4_000_000) + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Drops(body))
    start = time.process_time()
    assert len(asyncio.run(read_stream(response))) > 4_000_000
    assert time.process_time() - start < 5


def test_a_pdf_is_read_up_to_a_total_of_pages_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is named many times in the list of pages, which costs six bytes each time."""
    assert "1889" in read_pdf(BytesIO(pdf("It opened in 1889.", pages=5)))["text"]
    monkeypatch.setattr(markup, "MOST_PAGES", 100)
    with pytest.raises(UnreadableFile, match="more than 100 pages"):
        read_pdf(BytesIO(pdf("It opened in 1889.", pages=1_000)))
    monkeypatch.setattr(markup, "LONGEST_PDF", 10_000)
    with pytest.raises(UnreadableFile, match="or 10,000 characters"):
        read_pdf(BytesIO(pdf("It opened in 1889. " * 100, pages=50)))


def test_a_line_of_a_packed_data_set_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "LARGEST_LINE", 1_000_000)
    Path("claims.jsonl.gz").write_bytes(gzip.compress(b'{"claim": "' + bytes(50_000_000)))
    with pytest.raises(UsageError, match="is longer than"):
        list(data_files.rows(Path("claims.jsonl.gz")))


def test_one_json_value_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "LARGEST_WHOLE", 1_000_000)
    Path("claims.json").write_text("[\n" + ",\n".join('{"claim": "a"}' for _ in range(100_000)) + "]")
    with pytest.raises(UsageError, match="one JSON value of more than"):
        list(data_files.rows(Path("claims.json")))
    with pytest.raises(UsageError, match="one JSON value of more than"):
        list(data_files.keyed_rows(Path("claims.json")))


LONG_LINES = (
    "A",
    " ",
    "-",
    ":",
    "|",
    "\f",
    "\n",
    "| ",
    "|:-",
    "---\n",
    "a: ",
    "a; ",
    "1 ",
    "12 May ",
    "LONDON ",
    "a@",
    "tel: ",
)


@pytest.mark.parametrize("unit", LONG_LINES)
@pytest.mark.parametrize("before", ["", "A", "---\n"])
def test_a_document_of_one_endless_line_is_read_in_linear_time(before: str, unit: str) -> None:
    began = time.process_time()
    line = f"{before}{unit * (200_000 // len(unit))}x"
    is_furniture(line), is_heading(line), without_dateline(line)
    read_markdown(line)
    without_running_lines([line, line])
    documents._PAGE_START.findall(line), list(documents._rows(line))
    assert time.process_time() - began < 5
