from __future__ import annotations

import httpx2
import pytest

from redargue.service.app import create_app
from redargue.service.keys import Keys
from service.proxy.conftest import ANSWER, BRIDGE
from service.proxy.test_stream import GIVEN, QUESTION
from support.chat_upstream import Served, Upstream, chat


def test_the_service_has_the_proxy_behind_its_keys_and_in_its_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = Keys().add("chatbot", "")
    with Upstream(chat(ANSWER)) as upstream:
        monkeypatch.setenv("REDARGUE_UPSTREAM_URL", f"{upstream.url}/v1")
        monkeypatch.setenv("REDARGUE_UPSTREAM_API_KEY", "sk-operators-secret-key-0123456789")
        monkeypatch.setenv("REDARGUE_PROXY_TIMEOUT_S", "60")
        with Served(create_app()) as service:
            url = f"{service.url}/v1/chat/completions"
            refused = httpx2.post(url, json={**QUESTION, **GIVEN}, timeout=120)
            assert refused.status_code == 401
            assert refused.json()["error"]["type"] == "authentication_error"
            bearer = {"Authorization": f"Bearer {secret}"}
            message = httpx2.post(url, json={**QUESTION, **GIVEN}, headers=bearer, timeout=120).json()["choices"][0]
            assert message["message"]["redargue"]["outcome"] == "non_factual"
            assert upstream.asked[0].headers["authorization"] == "Bearer sk-operators-secret-key-0123456789"
            guardrail = {"input_type": "request", "texts": ["When?"], "request_data": {}}
            path = f"{service.url}/beta/litellm_basic_guardrail_api"
            assert httpx2.post(path, json=guardrail, timeout=120).status_code == 401
            assert httpx2.post(path, json=guardrail, headers=bearer, timeout=120).json() == {"action": "NONE"}
            metrics = httpx2.get(f"{service.url}/metrics", headers=bearer, timeout=120).text
    line = 'redargue_proxy_answers_total{door="/chat/completions",mode="annotate",outcome="non_factual"} 1.0'
    assert line in metrics.splitlines()
    assert 'redargue_proxy_upstream_total{status="200"} 1.0' in metrics
    assert BRIDGE[:20] not in metrics
