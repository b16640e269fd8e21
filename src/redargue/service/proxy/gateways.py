"""Routes for other gateways: vLLM's Semantic Router and LiteLLM's guardrails."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from functools import partial
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from redargue.claims import Meaning
from redargue.concurrency import gather_or_cancel
from redargue.evidence import Passage
from redargue.service.keys import DayBudget
from redargue.service.proxy.block import CheckBlock, footnotes, without_footnotes
from redargue.service.proxy.checker import Checked
from redargue.service.proxy.contexts import contexts_of
from redargue.service.proxy.proxy import Proxy, Withheld, objection, require_checked
from redargue.service.proxy.settings import CheckOptions, Plan, plan, read_check_options, whole_characters


class ClassifyParameters(BaseModel):
    """The documents of an answer, and its question."""

    context: str | list[str] = ""
    question: str = ""


class ClassifyRequest(BaseModel):
    """What the router's ``http_classify`` adapter sends; ``inputs`` is the answer."""

    inputs: str = Field(min_length=1, max_length=100_000)
    parameters: ClassifyParameters = ClassifyParameters()

    def documents(self) -> tuple[Passage, ...]:
        given = self.parameters.context
        texts = enumerate(map(whole_characters, [given] if isinstance(given, str) else given), 1)
        return tuple(Passage(text=text, document=f"context-{at}") for at, text in texts if re.search(r"\w", text))


class UnsupportedSpan(BaseModel):
    """Unsupported text; offsets count code points. ``score`` is 1 where the reader gives no confidence."""

    start: int
    end: int
    label: Literal["contradiction", "unsupported_addition"]
    score: float
    text: str


class ClassifyResponse(BaseModel):
    """``truncated_at`` is the start of the first sentence that was not checked; absent if all were checked."""

    spans: list[UnsupportedSpan]
    truncated_at: int | None = None


def spans(checked: Checked, block: CheckBlock) -> ClassifyResponse:
    """Leaves out spans that end after ``truncated_at``: the router would reject the response."""
    unread = [*checked.late, *(sentence for sentence, _ in checked.failed)]
    starts = [sentence.start for sentence in unread] + [claim.start for claim in block.claims if claim.unchecked]
    truncated = min(starts, default=None)
    found: dict[tuple[int, int], UnsupportedSpan] = {}
    for claim in block.bad:
        if truncated is not None and claim.end > truncated:
            continue
        span = UnsupportedSpan(
            start=claim.start,
            end=claim.end,
            label="contradiction" if claim.meaning is Meaning.REFUTED else "unsupported_addition",
            score=1.0 if claim.confidence is None else claim.confidence,
            text=checked.text[claim.start : claim.end],
        )
        known = found.get((claim.start, claim.end))
        if known is None or (span.label == "contradiction" and known.label != span.label):
            found[claim.start, claim.end] = span
    return ClassifyResponse(spans=list(found.values()), truncated_at=truncated)


# LiteLLM's Generic Guardrail API: checks the answers of a LiteLLM gateway without redargue's proxy.
# LiteLLM sends the messages only with the request; ``litellm_call_id`` assigns the response to it.
GUARDRAIL_PATH = "/beta/litellm_basic_guardrail_api"
_Call = tuple[str, str]  # caller and call id
KEPT_SECONDS, KEPT_CALLS, KEPT_CHARACTERS = 300.0, 1000, 20_000_000


class GuardrailRequest(BaseModel):
    """What LiteLLM sends; fields that are not needed here are ignored."""

    input_type: Literal["request", "response"]
    texts: list[str] | None = None
    structured_messages: list[dict[str, object]] | None = None
    litellm_call_id: str | None = None
    additional_provider_specific_params: dict[str, object] | None = None


class GuardrailResponse(BaseModel):
    """``texts`` only with ``GUARDRAIL_INTERVENED``, ``blocked_reason`` only with ``BLOCKED``."""

    action: Literal["NONE", "GUARDRAIL_INTERVENED", "BLOCKED"] = "NONE"
    blocked_reason: str | None = None
    texts: list[str] | None = None


class _Kept(NamedTuple):
    since: float
    documents: tuple[Passage, ...]
    size: int  # characters


class Calls:
    """The documents of requests, kept for their responses; bounded in time, number and size.

    The key contains the caller: no answer is checked against the documents of another caller.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[_Call, _Kept] = OrderedDict()

    def keep(self, call: _Call, documents: tuple[Passage, ...], now: float | None = None) -> None:
        now = time.monotonic() if now is None else now
        self._calls.pop(call, None)
        self._calls[call] = _Kept(now, documents, sum(len(document.text) for document in documents))
        size = sum(kept.size for kept in self._calls.values())
        for oldest, kept in list(self._calls.items()):
            if len(self._calls) <= KEPT_CALLS and size <= KEPT_CHARACTERS and kept.since >= now - KEPT_SECONDS:
                break
            del self._calls[oldest]
            size -= kept.size

    def documents(self, call: _Call, now: float | None = None) -> tuple[Passage, ...] | None:
        """None for an unknown or expired call."""
        kept = self._calls.get(call)
        now = time.monotonic() if now is None else now
        return kept.documents if kept and kept.since >= now - KEPT_SECONDS else None


class Guardrail:
    """Answers LiteLLM's requests."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy, self._calls = proxy, Calls()

    async def apply(
        self, request: GuardrailRequest, day: DayBudget | None = None, *, owner: str = ""
    ) -> GuardrailResponse:
        """Raises UsageError for invalid parameters; ``day`` is the budget of the caller, ``owner``."""
        settings = self._proxy.checkers.settings
        given = request.additional_provider_specific_params or {}
        options = read_check_options({name: given[name] for name in CheckOptions.model_fields if name in given})
        chosen = plan(settings, options)
        texts = [without_footnotes(whole_characters(text)) for text in request.texts or []]
        call = (owner, request.litellm_call_id or "")
        if request.input_type == "request":
            messages = request.structured_messages or []
            contexts = contexts_of({"messages": messages}, options.contexts, roles=settings.context_roles)
            if request.litellm_call_id:
                self._calls.keep(call, contexts.documents)
            # The model does not receive the footnotes of earlier answers.
            return _changed(request.texts or [], texts)
        known = self._calls.documents(call)
        self._proxy.tally.unknown_calls += known is None
        documents = contexts_of({}, options.contexts).documents if known is None else known
        if chosen.mode == "off":
            return GuardrailResponse()
        check = partial(self._proxy.check_whole, documents=documents, plan=chosen, route=GUARDRAIL_PATH, day=day)
        blocks = [block for _, block in await gather_or_cancel(map(check, texts))]
        return self._response(texts, blocks, chosen)

    def _response(self, texts: list[str], blocks: list[CheckBlock], chosen: Plan) -> GuardrailResponse:
        message, withheld = self._proxy.checkers.settings.block_message, self._proxy.tally.withheld
        try:
            for block in blocks:
                require_checked(block, chosen)
        except Withheld as error:
            withheld[GUARDRAIL_PATH, error.code] += 1
            return GuardrailResponse(action="BLOCKED", blocked_reason=error.what)
        objections = [objection(block, chosen) for block in blocks]
        if chosen.mode == "block" and any(objections):
            withheld[GUARDRAIL_PATH, next(filter(None, objections))] += 1
            if chosen.block_as == "error":
                return GuardrailResponse(action="BLOCKED", blocked_reason=message)
            sent = [message if why else text for text, why in zip(texts, objections, strict=True)]
            return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=sent)
        if chosen.mode in ("footnote", "revise"):  # a guardrail cannot ask the model again
            return _changed(texts, [text + footnotes(block, text) for text, block in zip(texts, blocks, strict=True)])
        return GuardrailResponse()


def _changed(texts: list[str], sent: list[str]) -> GuardrailResponse:
    """Sends other texts than LiteLLM gave, if they differ."""
    return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=sent) if sent != texts else GuardrailResponse()
