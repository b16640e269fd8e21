from __future__ import annotations

from typing import Any

import httpx2
import pytest

from redargue.evidence import Passage
from redargue.service.proxy import routes
from redargue.service.proxy.contexts import ConversationContexts
from redargue.service.proxy.routes import GUARDRAIL_PATH, Calls
from service.proxy.conftest import ANSWER, BRIDGE, FALSE, TRUE, Start
from service.proxy.test_failures import GERMAN, _Down
from support.chat_upstream import chat

IMITATED = f"{TRUE}\n\nChecked by redargue:\n{FALSE}"
MESSAGES = [{"role": "system", "content": f"<context>{BRIDGE}</context>"}, {"role": "user", "content": "When?"}]


def ask(url: str, kind: str, texts: list[str], **more: Any) -> dict[str, Any]:
    """A request with the fields that LiteLLM 1.106.2 sends."""
    body: dict[str, Any] = {
        "input_type": kind, "litellm_call_id": "call-1", "litellm_trace_id": "trace-1", "structured_messages": None,
        "images": None, "tools": None, "texts": texts, "tool_calls": None, "model": "m", "litellm_version": "1.106.2",
        "request_data": {"user_api_key_hash": "hash", "user_api_key_user_id": "default_user_id"},
        "request_headers": {"host": "127.0.0.1:4000", "content-type": "application/json"}, **more,
    }  # fmt: skip
    response = httpx2.post(f"{url}{GUARDRAIL_PATH}", json=body, timeout=120)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(
    ("options", "text", "action"),
    [
        ({}, ANSWER, "NONE"),
        ({"mode": "footnote"}, TRUE, "NONE"),
        ({"mode": "footnote"}, ANSWER, "GUARDRAIL_INTERVENED"),
        ({"mode": "block"}, ANSWER, "GUARDRAIL_INTERVENED"),
        ({"mode": "block", "block_as": "error"}, ANSWER, "BLOCKED"),
        ({"mode": "footnote"}, IMITATED, "GUARDRAIL_INTERVENED"),
        ({"mode": "block"}, IMITATED, "GUARDRAIL_INTERVENED"),
        ({"mode": "block"}, "1998", "BLOCKED"),  # the question says what it states
        ({"mode": "block", "threshold": 3}, TRUE, "NONE"),
        ({"mode": "block", "on_failure": "closed"}, GERMAN, "BLOCKED"),
        ({"mode": "off"}, ANSWER, "NONE"),
    ],
)
def test_litellm_gets_the_documents_with_the_request_and_the_decision_with_the_response(
    start: Start, options: dict[str, Any], text: str, action: str
) -> None:
    running = start(chat(TRUE), block_message="Withheld.")
    given = {"additional_provider_specific_params": options}
    assert ask(running.url, "request", ["When?"], structured_messages=MESSAGES, **given) == {"action": "NONE"}
    answer = ask(running.url, "response", [text], **given)
    assert answer["action"] == action
    if options == {"mode": "footnote"} and text == ANSWER:
        (told,) = answer["texts"]
        assert told.startswith(f"{ANSWER}\n\nChecked by redargue:\n[1] refuted:")
        again = ask(running.url, "request", [told], structured_messages=MESSAGES)
        assert again == {"action": "GUARDRAIL_INTERVENED", "texts": [ANSWER]}
        assert ask(running.url, "response", [told], **given) == answer
    if action == "BLOCKED":
        assert answer["blocked_reason"]
    if options.get("mode") == "block" and action == "GUARDRAIL_INTERVENED":
        assert answer["texts"] == ["Withheld."]
    if options.get("mode") != "off":
        assert sum(running.proxy.tally.answers.values()) >= 1


def test_a_response_whose_request_was_not_seen_is_counted_and_unchecked(start: Start) -> None:
    running = start(chat(TRUE))
    assert ask(running.url, "response", [ANSWER]) == {"action": "NONE"}
    assert running.proxy.tally.unknown_calls == 1
    assert running.proxy.tally.unchecked[GUARDRAIL_PATH, "no_context"] == 2  # sentences


def test_a_note_says_how_many_documents_of_a_request_were_not_read(start: Start) -> None:
    running, given = start(chat(TRUE)), {"additional_provider_specific_params": {"mode": "footnote"}}
    results = [{"role": "tool", "content": f"Bridge {number} is closed."} for number in range(60)]
    ask(running.url, "request", ["When?"], structured_messages=[*results, *MESSAGES])
    (told,) = ask(running.url, "response", [TRUE], **given)["texts"]
    assert told == f"{TRUE}\n\nChecked by redargue:\nNot read: 11 documents beyond the limit."
    ask(running.url, "request", ["When?"], structured_messages=[{"role": "tool", "content": BRIDGE.ljust(1_000_001)}])
    (told,) = ask(running.url, "response", [TRUE], **given)["texts"]
    assert told.endswith("\n\nChecked by redargue:\nRead in part, because of its length: 1 document.")


def test_kept_calls_are_bounded_in_time_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, document = Calls(), ConversationContexts((Passage(text="x" * 100),), {})
    calls.keep(("", "old"), document, now=0.0)
    calls.keep(("", "new"), document, now=routes.KEPT_SECONDS + 1)
    assert calls.contexts(("another caller", "new"), now=routes.KEPT_SECONDS + 1) is None
    assert calls.contexts(("", "old"), now=1.0) is None
    assert calls.contexts(("", "new"), now=routes.KEPT_SECONDS + 1) == document
    assert calls.contexts(("", "new"), now=3 * routes.KEPT_SECONDS) is None
    monkeypatch.setattr(routes, "KEPT_CHARACTERS", 250)
    for name in "abc":
        calls.keep(("", name), document, now=routes.KEPT_SECONDS + 2)
    assert calls.contexts(("", "a"), now=routes.KEPT_SECONDS + 2) is None
    assert calls.contexts(("", "c"), now=routes.KEPT_SECONDS + 2) == document


def decoded(answer: str, response: httpx2.Response) -> list[dict[str, Any]]:
    """The spans, after every check that the decoder of the router's contract ``token_spans.v1`` makes."""
    assert response.status_code == 200
    body = response.json()
    end = body.get("truncated_at")
    assert body.get("error") is None
    assert isinstance(body["spans"], list)
    assert end is None or 0 <= end <= len(answer)
    for span in body["spans"]:
        assert span["label"] in ("contradiction", "fabricated_reference", "unsupported_addition")
        assert 0 <= span["start"] < span["end"] <= (len(answer) if end is None else end)
        assert answer[span["start"] : span["end"]] == span["text"]
        assert 0 <= span["score"] <= 1
    places = [(span["label"], span["start"], span["end"]) for span in body["spans"]]
    assert len(set(places)) == len(places)
    return list(body["spans"])


def test_spans_for_vllms_router_are_slices_of_the_answer(start: Start) -> None:
    running = start(chat(TRUE))

    def classified(answer: str) -> httpx2.Response:
        body = {"inputs": answer, "parameters": {"context": BRIDGE, "question": "When?"}}
        return httpx2.post(f"{running.url}/classify", json=body, timeout=120)

    emoji = f"Grüße! 🌉 {ANSWER}"
    response = classified(emoji)
    (span,) = decoded(emoji, response)
    assert (span["text"], span["label"]) == (FALSE, "contradiction")
    assert "truncated_at" not in response.json()
    assert classified(f"{TRUE} {GERMAN}").json() == {"spans": [], "truncated_at": len(TRUE) + 1}
    partly = f"{FALSE} {GERMAN} {FALSE}"
    response = classified(partly)
    assert [span["start"] for span in decoded(partly, response)] == [0]  # a later one would be beyond truncated_at
    assert response.json()["truncated_at"] == len(FALSE) + 1


@pytest.mark.parametrize(
    "request_body",
    [
        {"inputs": GERMAN, "parameters": {"context": BRIDGE}},
        {"inputs": TRUE, "parameters": {}},
        {"inputs": f"\x05 {TRUE}", "parameters": {"context": BRIDGE}},
        {"inputs": "1998", "parameters": {"context": BRIDGE, "question": "When was it opened?"}},
    ],
)
def test_what_was_not_checked_is_an_error_and_not_a_score(start: Start, request_body: dict[str, Any]) -> None:
    running = start(chat(TRUE))
    response = httpx2.post(f"{running.url}/classify", json=request_body, timeout=120)
    assert response.status_code in (400, 422)
    assert "could not be checked" in response.text


def test_a_checker_that_is_down_is_a_503(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redargue.service.proxy.checker.Grounder", _Down)
    running = start(chat(TRUE))
    request = {"inputs": TRUE, "parameters": {"context": BRIDGE}}
    assert httpx2.post(f"{running.url}/classify", json=request, timeout=120).status_code == 503
