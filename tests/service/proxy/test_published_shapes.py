"""A false sentence in every string field of the published types, through ``block`` with ``closed``."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from redargue.service.proxy.dialect import EventSplitter
from service.proxy.conftest import BRIDGE, FALSE, Start
from service.proxy.test_clients import NODE_MODULES, imported
from service.proxy.test_unread import chat_cases, responses_cases
from support.chat_upstream import (
    STREAM,
    Asked,
    Written,
    chat_stream,
    chat_whole,
    chunk,
    response_object,
    responses_stream,
    sse,
)
from support.published_shapes import filled

pytestmark = [pytest.mark.extra, pytest.mark.slow]

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
SAID = "Yes."  # states nothing, so that only the false sentence could be withheld
HALVES = FALSE[:34], FALSE[34:]
LINE_ENDS = ("\n", "\r", "\r\n")
# Of the lines of an event, and of the blank line after it; "\r" and "\n" would be one line end.
ENDS = tuple(pair for pair in product(LINE_ENDS, LINE_ENDS) if pair != ("\r", "\n"))
LAST = ("response.completed", "response.incomplete", "response.failed")
REPEATS = ("response.queued", "response.in_progress", "response.incomplete", "response.failed")  # have a Response, too
BODY: dict[str, Any] = {"model": "m", "redargue": {"contexts": [BRIDGE], "on_failure": "closed", "mode": "block"}}


class Case(NamedTuple):
    """An answer of the upstream; ``events`` are empty where it is not streamed."""

    place: str
    path: str
    whole: bytes = b""
    events: tuple[bytes, ...] = ()


def whole_cases() -> Iterator[Case]:
    chat, responses = imported("openai.types.chat"), imported("openai.types.responses")
    said = json.loads(chat_whole(SAID))
    for place, value in filled(chat.ChatCompletion, FALSE):
        yield Case(place, CHAT, json.dumps(value).encode())
        yield Case(f"{place} of an answer", CHAT, json.dumps(_over(said, value)).encode())
    for place, value in filled(responses.Response, FALSE):
        yield Case(place, RESPONSES, json.dumps({**response_object(SAID), **_own(value)}).encode())


def streamed_cases() -> Iterator[Case]:
    chat, responses = imported("openai.types.chat"), imported("openai.types.responses")
    begin, *_, end, done = chat_stream(SAID)
    for place, value in filled(chat.ChatCompletionChunk, FALSE):
        yield Case(place, CHAT, events=(begin, chunk(0, {"content": SAID}), sse(value), end, done))
    for halves in zip(*(filled(chat.ChatCompletionChunk, half) for half in HALVES), strict=True):
        parts = [sse(value) for _, value in halves]
        yield Case(f"{halves[0].place} in two", CHAT, events=(begin, *parts, end, done))
    created, *others, completed = responses_stream(SAID)
    for place, value in filled(responses.ResponseStreamEvent, FALSE):
        kind = str(value.get("type"))
        if kind in REPEATS and ".response." in place:
            continue  # the same type as in those that remain
        event = sse(value, kind)
        last = (event,) if kind in LAST else (event, completed)
        yield Case(f"{kind} {place}", RESPONSES, events=(created, *others, *last))
    for halves in zip(*(filled(responses.ResponseStreamEvent, half) for half in HALVES), strict=True):
        if "response" in halves[0].value or "item" in halves[0].value:
            continue
        parts = [sse(value, str(value.get("type"))) for _, value in halves]
        yield Case(f"{halves[0].place} in two", RESPONSES, events=(created, *parts, completed))


def _own(value: dict[str, Any]) -> dict[str, Any]:
    """What a generated response has beside what is required."""
    return {name: inner for name, inner in value.items() if FALSE in json.dumps(inner)}


def _over(said: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """An answer with the field of a generated one."""
    merged = {**said, **_own(value)}
    for choice in merged["choices"]:
        if isinstance(choice, dict) and isinstance(message := choice.get("message"), dict):
            choice["message"] = {**said["choices"][0]["message"], **{k: v for k, v in message.items() if v}}
    return merged


def written(events: tuple[bytes, ...], ends: tuple[str, str], at: int) -> list[bytes]:
    """A stream with other line ends, in two pieces."""
    line, blank = ends
    text = "".join(event.decode().rstrip("\n").replace("\n", line) + line + blank for event in events)
    raw = text.encode()
    at %= len(raw)
    return [piece for piece in (raw[:at], raw[at:]) if piece]


def shown(start: Start, given: list[tuple[Case, list[bytes]]]) -> tuple[list[str], Counter[int]]:
    """The cases of which a client gets the false sentence, and how many answers have which status."""
    now: list[bytes] = []
    kind = ["application/json"]
    running = start(lambda asked: Written(now, content_type=kind[0]))
    found: list[str] = []
    statuses: Counter[int] = Counter()
    with httpx2.Client(timeout=120) as client:
        for case, pieces in given:
            now[:], kind[0] = pieces, STREAM if case.events else "application/json"
            asked: dict[str, Any] = {"messages": []} if case.path == CHAT else {"input": "When?"}
            response = client.post(f"{running.url}{case.path}", json={**BODY, **asked, "stream": bool(case.events)})
            statuses[response.status_code] += 1
            assert response.status_code in (200, 503), (case.place, response.text)
            if response.status_code == 200 and any(part in response.text for part in (FALSE, HALVES[1])):
                found.append(case.place)
    return found, statuses


def test_no_field_of_a_whole_answer_shows_a_false_sentence(start: Start) -> None:
    given = [(case, [case.whole]) for case in whole_cases()]
    found, statuses = shown(start, given)
    assert len(given) > 1_500
    assert statuses[200] > 20  # what is left out leaves the answer
    assert not found, found


def test_no_field_of_a_stream_shows_a_false_sentence_at_any_line_end(start: Start) -> None:
    cases, places = list(streamed_cases()), random.Random(7)
    given = []
    for number, case in enumerate(cases):
        ends = ENDS if "ResponseStreamEvent" not in case.place and case.path == CHAT else (ENDS[number % len(ENDS)],)
        given += [(case, written(case.events, each, places.randrange(1_000_000))) for each in ends]
    found, statuses = shown(start, given)
    assert len(cases) > 4_500
    assert statuses[200] > 100
    assert not found, sorted(set(found))


class _Told(NamedTuple):
    """Answers that a client asks for by the number in ``user``."""

    cases: list[tuple[str, bool, list[bytes]]]  # the path, whether it is streamed, the pieces

    def answer(self, asked: Asked) -> Written:
        _, stream, pieces = self.cases[int(asked.body["user"])]
        return Written(pieces, content_type=STREAM if stream else "application/json")


def told() -> _Told:
    """All shapes of test_unread, and every twentieth of the published ones."""
    known = [
        (path, stream, pieces)
        for stream in (True, False)
        for path, shapes in ((CHAT, chat_cases(stream)), (RESPONSES, responses_cases(stream)))
        for pieces in shapes.values()
    ]
    published = [*whole_cases(), *streamed_cases()][::20]
    return _Told([*known, *((case.path, bool(case.events), [case.whole, *case.events]) for case in published)])


def test_openai_python_shows_no_false_sentence(start: Start) -> None:
    library, given = imported("openai"), told()
    running = start(given.answer)
    statuses: Counter[int] = Counter()
    options = {"extra_body": {"redargue": BODY["redargue"]}, "model": "m"}
    with library.OpenAI(base_url=f"{running.url}/v1", api_key="sk-any", max_retries=0) as client:
        for number, (path, stream, _) in enumerate(given.cases):
            asked = {**options, "stream": stream, "user": str(number)}
            try:
                if path == CHAT:
                    answer = client.chat.completions.create(messages=[], **asked)
                else:
                    answer = client.responses.create(input="When?", **asked)
                parts = [part.to_dict() for part in (answer if stream else [answer])]
            except library.APIStatusError as error:
                statuses[error.status_code] += 1
                continue
            statuses[200] += 1
            assert FALSE not in str(parts), number
    assert statuses[200] > 5
    assert statuses[503] > 300
    assert set(statuses) == {200, 503}


def test_openai_node_shows_no_false_sentence(start: Start) -> None:
    node = shutil.which("node")
    if node is None or not (Path(NODE_MODULES) / "openai").is_dir():
        pytest.skip("needs node and REDARGUE_TEST_NODE_MODULES, a folder with the npm package openai")
    given = told()
    running = start(given.answer)
    cases = [
        {"number": number, "chat": path == CHAT, "stream": stream}
        for number, (path, stream, _) in enumerate(given.cases)
    ]
    asked = {"url": f"{running.url}/v1", "modules": NODE_MODULES, "body": BODY, "cases": cases, "needle": FALSE}
    script = Path(__file__).parent / "shown.mjs"
    command = [node, str(script), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["shown"] == []
    assert set(found["statuses"]) == {"200", "503"}
    assert found["statuses"]["503"] > 300


def test_no_split_and_no_line_end_changes_what_is_read() -> None:
    count = 0
    for number, case in enumerate(streamed_cases()):
        if case.path != CHAT or number % 20:
            continue
        expected = None
        for ends in ENDS:
            raw = b"".join(written(case.events, ends, 1))
            for at in range(1, len(raw)):
                splitter = EventSplitter()
                events = [*splitter.add(raw[:at]), *splitter.add(raw[at:]), *splitter.end()]
                read = [(event.data, event.unreadable) for event in events if event.data is not None]
                expected = expected or read
                assert read == expected, (case.place, ends, at)
                count += 1
    assert count > 40_000
