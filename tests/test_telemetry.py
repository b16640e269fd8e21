"""Spans and log events of a debate, as the SDK's exporters in memory get them."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

import redargue
from redargue.assembly import Parts
from redargue.errors import BadReply
from redargue.registry import install
from redargue.spec import RunSpec
from redargue.verifier import Verifier
from support.debates import ShelfTool, answer, checked, script

pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")
pytestmark = [pytest.mark.anyio, pytest.mark.extra]
CLAIM = "The lighthouse at Cape Ansel was lit in 1871."


async def traced(replies: dict[Any, Any], *, content: bool = False) -> tuple[list[Any], list[Any], redargue.Verdict]:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from redargue.telemetry import Telemetry

    spans, logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
    tracers, loggers = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logs))
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    parts = Parts(backend=redargue.ScriptedBackend(replies), evidence=tools)
    spec = RunSpec(method="tool-mad", settings={"debaters": ("corpus", "keywords")})
    claim = spec.claim(CLAIM)
    listener = Telemetry(content=content, tracer_provider=tracers, logger_provider=loggers)
    with Verifier(spec, parts=parts) as verifier:
        verdict = await verifier.verify(claim, listeners=[listener])
    return list(spans.get_finished_spans()), [data.log_record for data in logs.get_finished_logs()], verdict


async def test_a_claim_is_a_span_with_one_for_each_call_and_search_and_its_verdict_a_log_event() -> None:
    replies = script(AnswerClaim=answer("SUPPORTS"), CheckStatements=checked(0, 0))
    spans, (log,), verdict = await traced(replies)
    (root,) = [span for span in spans if span.parent is None]
    assert (root.name, spans[-1]) == ("invoke_agent tool-mad", root)
    inner = spans[:-1]
    assert {span.parent.span_id for span in inner} == {root.context.span_id}
    kinds = [span.attributes["gen_ai.operation.name"] for span in inner]
    assert kinds.count("execute_tool") == verdict.usage.searches > 0
    assert len(kinds) - kinds.count("execute_tool") == verdict.usage.calls + verdict.usage.embeddings
    assert all(root.start_time <= span.start_time <= span.end_time <= root.end_time for span in inner)
    assert (log.event_name, log.span_id) == ("gen_ai.evaluation.result", root.context.span_id)
    assert log.attributes["gen_ai.evaluation.score.label"] == verdict.label
    said = re.findall(r"lighthouse|Ansel|Cape", str([span.attributes for span in spans]) + str(log.attributes))
    assert not said  # no text without leave


async def test_texts_come_with_leave() -> None:
    replies = script(AnswerClaim=answer("SUPPORTS"), CheckStatements=checked(0, 0))
    spans, (log,), verdict = await traced(replies, content=True)
    assert spans[-1].attributes["redargue.claim"] == CLAIM
    assert log.attributes["gen_ai.evaluation.explanation"] == verdict.reason


async def test_an_error_is_a_kind_and_never_a_label() -> None:
    spans, (log,), verdict = await traced(script(AnswerClaim=BadReply("nothing could be read", raw="a secret reply")))
    assert verdict.error
    assert spans[-1].attributes["error.type"] == log.attributes["error.type"] == verdict.error.type
    assert spans[-1].status.status_code.name == "ERROR"
    assert "gen_ai.evaluation.score.label" not in log.attributes
    assert "secret" not in str([span.attributes for span in spans]) + str(log.attributes)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from redargue.telemetry import Telemetry, export

    for name in ("opentelemetry", "opentelemetry.sdk.resources"):
        monkeypatch.setitem(sys.modules, name, None)
    for made in (Telemetry, export):
        with pytest.raises(redargue.UsageError, match=re.escape(install("otel"))):
            made()
