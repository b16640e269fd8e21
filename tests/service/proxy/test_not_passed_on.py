"""Neither the upstream's own verdicts nor the operator's key reach a client."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from redargue.service.proxy.shapes import read_object, without_ours
from service.proxy.conftest import TRUE, Start
from service.proxy.test_unread import CHAT, DONE, END, ask
from support.chat_upstream import HEAD, STREAM, Asked, Written, chat_whole, chunk, sse


def test_our_field_is_removed_at_every_level_also_where_it_is_escaped_or_the_body_cannot_be_read() -> None:
    value, cleaned = read_object(
        '{"a": [{"redargue": 1, "b": {"\\u0072edargue": {"outcome": "factual"}}}], "redargue": 0}'
    )
    assert (value, cleaned) == ({"a": [{"b": {}}]}, True)
    cut = b'{"redargue" : 1, "\\u0072edargu\\u0065":'
    assert without_ours(cut) == b'{"upstream_redargue" : 1, "upstream_redargue":'


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("readable", [True, False])
def test_the_upstreams_own_verdicts_pass_at_no_level(start: Start, stream: bool, readable: bool) -> None:
    fake = {"redargue": {"outcome": "fictional"}}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": {"content": [], **fake}, **fake}
    told = {"delta" if stream else "message": {"content": TRUE, **fake}}
    payload = json.dumps({**HEAD, "choices": [{**choice, **told}], "usage": {**fake}, **fake})
    payload = payload if readable else payload.replace('"id"', '"id": 1, "id"')
    pieces = [sse(payload), DONE] if stream else [payload.encode()]
    running = start(lambda asked: Written(pieces, content_type=STREAM if stream else "application/json"))
    response = ask(running.url, CHAT, stream=stream, mode="annotate", closed=False)
    assert ("fictional" in response.text) != readable
    assert '"redargue": {"outcome"' not in response.text
    assert '"redargue":{"outcome":"fictional' not in response.text


KEY = "sk-operators-secret-key-0123456789"


@pytest.mark.parametrize("mode", ["off", "annotate", "block"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_operators_key_is_in_no_header_and_no_body(start: Start, stream: bool, mode: str) -> None:
    escaped = KEY.replace("s", "\\u0073")
    pieces = [chunk(0, {"content": f"{TRUE} {KEY}"}), sse(f'{{"id": "{escaped}", "choices": []}}'), *END]
    whole = b"".join(pieces) if stream else chat_whole(f"{TRUE} {KEY}")
    cuts = sorted({0, len(whole), *range(whole.index(KEY.encode()), whole.index(KEY.encode()) + len(KEY), 5)})
    sent = [whole[first:last] for first, last in pairwise(cuts)]
    headers = {"x-request-id": f"for {KEY}", "x-debug": "a", "authorization": f"Bearer {KEY}", "retry-after": "1\t2"}
    kind = STREAM if stream else "application/json"
    running = start(lambda asked: Written(sent, content_type=kind, headers=headers), key=KEY)
    response = ask(running.url, CHAT, stream=stream, mode=mode, closed=False)
    assert response.status_code == 200
    assert KEY not in response.text
    assert "[secret]" in response.text
    assert "Millau" in response.text
    assert KEY not in str(response.headers)
    assert response.headers["x-request-id"] == "for [secret]"
    assert not {"x-debug", "authorization"} & {*response.headers}


@pytest.mark.slow
def test_a_word_that_servers_without_keys_are_given_stays_in_answers(start: Start) -> None:
    text = f"{TRUE} ollama"

    def answer(asked: Asked) -> Written:
        return Written([chat_whole(text)])

    response = ask(start(answer, key="ollama").url, CHAT, stream=False, mode="annotate", closed=False)
    assert response.json()["choices"][0]["message"]["content"] == text
