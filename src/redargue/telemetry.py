"""Translates the events of claims into OpenTelemetry, by the semantic conventions for generative AI.

Each claim becomes an ``invoke_agent`` span. Within it, each model call becomes a ``chat`` or ``embeddings`` span, and
each search an ``execute_tool`` span. The verdict becomes a ``gen_ai.evaluation.result`` log event.

An event is recorded when a call or search ends; its start is taken to be the end of the same agent's previous event.
A span's duration therefore includes the time that redargue itself spent in between.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

from redargue import words
from redargue.errors import UsageError
from redargue.events import (
    CallFailed,
    CallFinished,
    ClaimEnded,
    ClaimStarted,
    Event,
    EvidenceFound,
    EvidenceMissing,
    passages_of,
)
from redargue.registry import install
from redargue.verdicts import Verdict

NAME = "redargue"
NANOSECONDS = 1_000_000_000
_OPERATIONS = {"call": "chat", "embedding": "embeddings", "search": "execute_tool"}
LAST_SECONDS = 0.4  # for sending what is left; a service has to stop within a second in all


@dataclass
class _Claim:
    """The open span of a claim; times are in nanoseconds."""

    span: Any
    context: Any
    began: int
    text: str
    # by agent, when its last event was, in seconds
    last: dict[str, float] = field(default_factory=dict)

    def at(self, seconds: float) -> int:
        return self.began + round(seconds * NANOSECONDS)


def export() -> None:
    """Sends spans and log events by OTLP over HTTP, as the environment says (``OTEL_EXPORTER_OTLP_ENDPOINT``, …).

    Raises UsageError if the SDK or its exporter is not installed.
    """
    try:
        from opentelemetry import _logs, trace
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        what = f"telemetry needs {error.name}, which is not installed"
        raise UsageError(what, hint=install("otel")) from error
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", NAME)})
    spans = TracerProvider(resource=resource, shutdown_on_exit=False)
    logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    trace.set_tracer_provider(spans)
    _logs.set_logger_provider(logs)
    atexit.register(_send_the_rest, spans.shutdown, logs.shutdown)


def _send_the_rest(*shutdowns: Callable[[], None]) -> None:
    """Sends what is left, for at most ``LAST_SECONDS``: an unreachable collector must not delay the exit."""
    threads = [Thread(target=shutdown, daemon=True) for shutdown in shutdowns]
    for thread in threads:
        thread.start()
    until = time.monotonic() + LAST_SECONDS
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


class Telemetry:
    """A listener for the events of one run: ``verifier.verify(claim, listeners=[Telemetry()])``.

    Attributes hold names, labels, numbers and error types. The texts of claims, queries, replies and reasons are added
    only if ``content`` is true.

    Args:
        content: whether to add texts, which may be confidential.
        tracer_provider: of the OpenTelemetry API; by default the global one.
        logger_provider: of the OpenTelemetry API; by default the global one.

    Raises:
        UsageError: OpenTelemetry is not installed.
    """

    def __init__(self, *, content: bool = False, tracer_provider: Any = None, logger_provider: Any = None) -> None:
        try:
            from opentelemetry import _logs, trace
        except ImportError as error:
            raise UsageError("OpenTelemetry is not installed", hint=install("otel")) from error
        self._trace = trace
        self._tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)
        self._logger = _logs.get_logger(NAME, logger_provider=logger_provider)
        self._content, self._claims = content, dict[int, _Claim]()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ClaimStarted):
            self._start(event)
            return
        claim = self._claims.get(event.item)
        if claim is None:
            return  # the beginning was not seen
        if isinstance(event, ClaimEnded):
            self._end(self._claims.pop(event.item), event)
            return
        if isinstance(event, CallFinished | CallFailed):
            self._call(claim, event)
        elif isinstance(event, EvidenceFound | EvidenceMissing):
            self._search(claim, event)
        if agent := getattr(event, "agent", ""):
            claim.last[agent] = event.at

    def _start(self, event: ClaimStarted) -> None:
        began = time.time_ns() - round(event.at * NANOSECONDS)
        attributes: dict[str, object] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": event.method,
            "gen_ai.provider.name": event.backend,
            "redargue.item": event.item,
        }
        name = f"invoke_agent {event.method}"
        span = self._tracer.start_span(name, start_time=began, attributes=attributes)
        context = self._trace.set_span_in_context(span)
        self._claims[event.item] = _Claim(span, context, began, event.claim.text)

    def _call(self, claim: _Claim, event: CallFinished | CallFailed) -> None:
        attributes: dict[str, object] = {
            "gen_ai.operation.name": _OPERATIONS[event.charge],
            "gen_ai.usage.input_tokens": event.prompt_tokens,
            "gen_ai.usage.output_tokens": event.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": event.cached_tokens,
            "redargue.task": event.task,
            "redargue.requests": event.requests,
            "redargue.usd": event.usd,
        }
        texts = event.outputs if isinstance(event, CallFinished) else ()
        if self._content and texts:
            attributes["redargue.reply"] = str(texts[0].get("text", ""))
        error = event.error.type if isinstance(event, CallFailed) else ""
        name = f"{attributes['gen_ai.operation.name']} {event.task}"
        self._span(claim, name, event, attributes, error)

    def _search(self, claim: _Claim, event: EvidenceFound | EvidenceMissing) -> None:
        attributes: dict[str, object] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "redargue.passages": len(passages_of(event)),
            "redargue.requests": event.requests,
            "redargue.usd": event.usd,
        }
        if self._content:
            attributes["redargue.query"] = event.query
        error = "search_failed" if isinstance(event, EvidenceMissing) else ""
        self._span(claim, f"execute_tool {event.tool}", event, attributes, error)

    def _span(self, claim: _Claim, name: str, event: Any, attributes: dict[str, object], error: str) -> None:
        attributes |= {"gen_ai.agent.name": event.agent, "redargue.round": event.round}
        when = {"context": claim.context, "start_time": claim.at(claim.last.get(event.agent, 0.0))}
        span = self._tracer.start_span(name, attributes=attributes, **when)
        self._fail(span, error)
        span.end(claim.at(event.at))

    def _fail(self, span: Any, error: str) -> None:
        if error:
            span.set_attribute("error.type", error)
            span.set_status(self._trace.StatusCode.ERROR)

    def _end(self, claim: _Claim, event: ClaimEnded) -> None:
        verdict, usage = event.verdict, event.verdict.usage
        totals: dict[str, object] = {
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "redargue.calls": usage.calls,
            "redargue.searches": usage.searches,
        }
        if usage.usd is not None:
            totals["redargue.usd"] = usage.usd
        if self._content:
            totals["redargue.claim"] = claim.text
        claim.span.set_attributes(totals)
        self._fail(claim.span, verdict.error.type if verdict.error else "")
        result: dict[str, object] = {"gen_ai.evaluation.name": verdict.method}
        if verdict.error:
            result["error.type"] = verdict.error.type
        elif verdict.unchecked:
            result["gen_ai.evaluation.score.label"] = "unchecked"
        else:
            result["gen_ai.evaluation.score.label"] = str(verdict.label)
            if verdict.confidence is not None:
                result["gen_ai.evaluation.score.value"] = verdict.confidence
        if self._content:
            result["gen_ai.evaluation.explanation"] = "\n".join(_explanation(verdict))
        where = {"context": claim.context, "timestamp": claim.at(event.at)}
        self._logger.emit(event_name="gen_ai.evaluation.result", attributes=result, **where)
        claim.span.end(claim.at(event.at))


def _explanation(verdict: Verdict) -> tuple[str, ...]:
    if verdict.unchecked:
        return (words.unchecked(verdict.unchecked),)
    return verdict.reason, *words.notes(verdict)
