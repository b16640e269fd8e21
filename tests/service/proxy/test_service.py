from __future__ import annotations

import json
import socket

import httpx2
import pytest

from redargue.service.app import create_app
from redargue.service.context import ServiceSettings
from redargue.service.keys import Keys
from service.proxy.conftest import ANSWER, BRIDGE
from service.proxy.test_failures import GERMAN
from service.proxy.test_stream import GIVEN, QUESTION
from support.chat_upstream import Upstream, chat, chat_whole
from support.quick_server import QuickServer


def test_the_service_has_the_proxy_behind_its_keys_and_in_its_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = Keys().add("chatbot", "")
    with Upstream(chat(ANSWER)) as upstream:
        monkeypatch.setenv("REDARGUE_UPSTREAM_URL", f"{upstream.url}/v1")
        monkeypatch.setenv("REDARGUE_UPSTREAM_API_KEY", "sk-operators-secret-key-0123456789")
        monkeypatch.setenv("REDARGUE_PROXY_TIMEOUT_S", "60")
        with QuickServer(create_app(), lifespan="on") as service:
            url = f"{service.url}/v1/chat/completions"
            refused = httpx2.post(url, json={**QUESTION, **GIVEN}, timeout=120)
            assert refused.status_code == 401
            assert refused.json()["error"]["type"] == "authentication_error"
            assert "send a key" in refused.json()["error"]["message"]
            wrong = httpx2.post(url, json={**QUESTION, **GIVEN}, headers={"Authorization": "Bearer rdg_x"}, timeout=120)
            assert (wrong.status_code, "not one of this service" in wrong.text) == (401, True)
            bearer = {"Authorization": f"Bearer {secret}"}
            message = httpx2.post(url, json={**QUESTION, **GIVEN}, headers=bearer, timeout=120).json()["choices"][0]
            assert message["message"]["redargue"]["outcome"] == "non_factual"
            assert upstream.asked[0].headers["authorization"] == "Bearer sk-operators-secret-key-0123456789"
            assert httpx2.get(f"{service.url}/v1/models", timeout=120).status_code == 401
            listed = httpx2.get(f"{service.url}/v1/models", headers=bearer, timeout=120)
            assert (listed.content, upstream.asked[-1].method) == (chat_whole(ANSWER), "GET")
            other = httpx2.post(f"{service.url}/v1/embeddings", json={"input": "x"}, headers=bearer, timeout=120)
            assert (other.status_code, other.json()["error"]["code"]) == (404, "unknown_url")
            assert "/v1/embeddings; send this request to the model's own address" in other.json()["error"]["message"]
            assert (
                httpx2.get(f"{service.url}/v1/checks/none", headers=bearer, timeout=120).json()["title"]
                == "Unknown check"
            )
            large = httpx2.post(url, content=b"x" * 2_000_001, headers=bearer, timeout=120)
            assert (large.status_code, set(large.json()["error"])) == (413, {"message", "type", "param", "code"})
            grade = {"output": GERMAN, "context": {"vars": {"contexts": BRIDGE}}}
            httpx2.post(f"{service.url}/v1/promptfoo", json=grade, headers=bearer, timeout=120)
            guardrail = {"input_type": "request", "texts": ["When?"], "request_data": {}}
            path = f"{service.url}/beta/litellm_basic_guardrail_api"
            assert httpx2.post(path, json=guardrail, timeout=120).status_code == 401
            assert httpx2.post(path, json=guardrail, headers=bearer, timeout=120).json() == {"action": "NONE"}
            metrics = httpx2.get(f"{service.url}/metrics", headers=bearer, timeout=120).text
    line = 'redargue_proxy_answers_total{mode="annotate",outcome="non_factual",route="/chat/completions"} 1.0'
    assert line in metrics.splitlines()
    assert 'redargue_proxy_upstream_total{status="200"} 2.0' in metrics
    unchecked = [line for line in metrics.splitlines() if line.startswith("redargue_proxy_unchecked_total{")]
    assert any('route="/v1/promptfoo"' in line for line in unchecked)
    assert BRIDGE[:20] not in metrics


def test_a_keys_budget_of_the_day_pays_for_the_checks_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with Upstream(chat(ANSWER)) as upstream:
        monkeypatch.setenv("REDARGUE_UPSTREAM_URL", f"{upstream.url}/v1")
        monkeypatch.setenv("REDARGUE_PROXY_TIMEOUT_S", "60")
        with (
            QuickServer(create_app(ServiceSettings(day_budget="4calls")), lifespan="on") as service,
            httpx2.Client(timeout=120) as client,
        ):
            url, body = f"{service.url}/v1/chat/completions", {**QUESTION, **GIVEN}
            blocks = [client.post(url, json=body).json()["choices"][0]["message"]["redargue"] for _ in range(2)]
            assert [block["reason"] for block in blocks] == ["", "budget"]
            assert blocks[1]["outcome"] == "unchecked"
            fact = {"inputs": ANSWER, "parameters": {"context": BRIDGE}}
            assert client.post(f"{service.url}/classify", json=fact).status_code == 402
            assert len(upstream.asked) == 2
            closed = client.post(url, json={**body, "redargue": {**GIVEN["redargue"], "on_failure": "closed"}})
            assert (closed.status_code, closed.json()["error"]["code"]) == (402, "insufficient_quota")
            assert closed.headers["x-should-retry"] == "false"
            assert len(upstream.asked) == 2  # nothing was sent for it


def _asked(connection: socket.socket, request: bytes) -> tuple[int, bytes]:
    """Status and body of the response to a request that is sent to its end before anything is read."""
    connection.sendall(request)
    with connection.makefile("rb") as answer:
        status = int(answer.readline().split()[1])
        headers = dict(line.lower().split(b": ", 1) for line in iter(answer.readline, b"\r\n"))
        return status, answer.read(int(headers[b"content-length"]))


@pytest.mark.slow
@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_over_the_limit_on_a_kept_connection_is_a_413_that_clients_can_read(
    monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    body = b'{"redargue": {"contexts": ["' + b"x" * 2_100_000 + b'"]}}'
    framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
    with Upstream(chat(ANSWER)) as upstream:
        monkeypatch.setenv("REDARGUE_UPSTREAM_URL", f"{upstream.url}/v1")
        with QuickServer(create_app(), lifespan="on") as service, socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)  # sends as the service reads
            connection.settimeout(120)
            connection.connect(("127.0.0.1", int(service.url.rpartition(":")[2])))
            for _ in range(2):
                assert _asked(connection, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")[0] == 200
                head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n\r\n"
                status, refused = _asked(connection, head + framed)
                assert (status, json.loads(refused)["error"]["type"]) == (413, "invalid_request_error")
