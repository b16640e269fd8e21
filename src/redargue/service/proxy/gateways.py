"""Routes for other gateways: vLLM's Semantic Router and LiteLLM's guardrails."""

from __future__ import annotations

import re
import time
import uuid
from collections import OrderedDict
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from redargue.claims import Meaning
from redargue.concurrency import gather_or_cancel
from redargue.evidence import Passage
from redargue.service.keys import DayBudget
from redargue.service.proxy.block import CheckBlock, block_of, footnotes, without_footnotes, without_text
from redargue.service.proxy.checker import AnswerCheck, Checked, Checkers
from redargue.service.proxy.contexts import contexts_of
from redargue.service.proxy.modes import Withheld, objection, require_checked
from redargue.service.proxy.settings import CheckOptions, Plan, plan, read_check_options, whole_characters
from redargue.service.proxy.tally import ProxyTally

# Checks a whole text for routes that have no stream.


async def check_whole(
    text: str,
    documents: tuple[Passage, ...],
    *,
    checkers: Checkers,
    plan: Plan,
    tally: ProxyTally,
    route: str,
    day: DayBudget | None = None,
) -> tuple[Checked, CheckBlock]:
    """The check of a text, which is counted."""
    check = f"chk_{uuid.uuid4().hex}"
    async with checkers.open(documents, plan, day) as readers:
        answer = AnswerCheck(readers)
        try:
            answer.add(text)
            checked = await answer.finish(plan.timeout_s)
        finally:
            await answer.cancel()
    block = block_of(checked, plan, check) if text.strip() else without_text(plan, check)
    tally.checked(route, block)
    return checked, block


def first_unchecked(checked: Checked, block: CheckBlock) -> int | None:
    """Where in the text the first sentence begins that may state something and was not checked."""
    starts = [sentence.start for sentence in checked.late]
    starts += [sentence.start for sentence, _ in checked.failed]
    starts += [claim.start for claim in block.claims if claim.unchecked]
    return min(starts, default=None)


# The span classifier of vLLM's Semantic Router.


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
        texts = [given] if isinstance(given, str) else given
        whole = [whole_characters(text) for text in texts]
        return tuple(
            Passage(text=text, document=f"context-{number}")
            for number, text in enumerate(whole, 1)
            if re.search(r"\w", text)
        )


class UnsupportedSpan(BaseModel):
    """Unsupported text; offsets count code points. ``score`` is 1 where the reader gives no confidence."""

    start: int
    end: int
    label: Literal["contradiction", "unsupported_addition"]
    score: float
    text: str


class ClassifyResponse(BaseModel):
    """``truncated_at`` is where the first sentence begins that could not be checked, so that this is not clean."""

    spans: list[UnsupportedSpan]
    truncated_at: int | None = None


def spans(checked: Checked, block: CheckBlock) -> ClassifyResponse:
    """The router rejects a response with a span beyond ``truncated_at``, so that there are none."""
    truncated = first_unchecked(checked, block)
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


# LiteLLM's Generic Guardrail API: checks answers of a LiteLLM gateway without a proxy of our
# own in between.
#
# LiteLLM sends the messages with the request only, but one ``litellm_call_id`` with both, so
# that they are joined.

GUARDRAIL_PATH = "/beta/litellm_basic_guardrail_api"
_Call = tuple[str, str]  # its caller and its id
KEPT_SECONDS, KEPT_CALLS, KEPT_CHARACTERS = 300.0, 1000, 20_000_000


class GuardrailRequest(BaseModel):
    """What LiteLLM sends; fields that are not needed here are ignored."""

    model_config = ConfigDict(extra="ignore")

    input_type: Literal["request", "response"]
    texts: list[str] | None = None
    structured_messages: list[dict[str, Any]] | None = None
    litellm_call_id: str | None = None
    additional_provider_specific_params: dict[str, Any] | None = None


class GuardrailResponse(BaseModel):
    """``texts`` only with ``GUARDRAIL_INTERVENED``, ``blocked_reason`` only with ``BLOCKED``."""

    action: Literal["NONE", "GUARDRAIL_INTERVENED", "BLOCKED"] = "NONE"
    blocked_reason: str | None = None
    texts: list[str] | None = None


class Calls:
    """The documents of requests, until their responses come; bounded in time, number and size.

    A call is known by its caller and its id, so that no caller's answer is checked against the documents of another.
    """

    def __init__(self) -> None:
        self._calls: OrderedDict[_Call, tuple[float, tuple[Passage, ...], int]] = OrderedDict()
        self._size = 0

    def keep(self, call: _Call, documents: tuple[Passage, ...], now: float | None = None) -> None:
        now = time.monotonic() if now is None else now
        self._forget(call)
        size = sum(len(document.text) for document in documents)
        self._calls[call] = (now, documents, size)
        self._size += size
        while self._calls and (
            len(self._calls) > KEPT_CALLS
            or self._size > KEPT_CHARACTERS
            or next(iter(self._calls.values()))[0] < now - KEPT_SECONDS
        ):
            self._forget(next(iter(self._calls)))

    def documents(self, call: _Call, now: float | None = None) -> tuple[Passage, ...] | None:
        """None for a call that is not known, or no longer."""
        kept = self._calls.get(call)
        now = time.monotonic() if now is None else now
        return kept[1] if kept and kept[0] >= now - KEPT_SECONDS else None

    def _forget(self, call: _Call) -> None:
        if kept := self._calls.pop(call, None):
            self._size -= kept[2]


class Guardrail:
    """The answers to LiteLLM."""

    def __init__(self, checkers: Checkers, tally: ProxyTally) -> None:
        self._checkers, self._tally, self._calls = checkers, tally, Calls()

    async def apply(
        self, request: GuardrailRequest, day: DayBudget | None = None, *, owner: str = ""
    ) -> GuardrailResponse:
        """Raises UsageError for parameters that do not fit; ``day`` is the day's budget of ``owner``, the caller."""
        settings = self._checkers.settings
        given = request.additional_provider_specific_params or {}
        options = read_check_options(
            {name: value for name, value in given.items() if name in CheckOptions.model_fields}
        )
        decided = plan(settings, options)
        texts = [without_footnotes(whole_characters(text)) for text in request.texts or []]
        call = (owner, request.litellm_call_id or "")
        if request.input_type == "request":
            messages = request.structured_messages or []
            documents = contexts_of({"messages": messages}, options.contexts, roles=settings.context_roles)
            if request.litellm_call_id:
                self._calls.keep(call, documents)
            # What this service added to earlier answers is not for the model.
            changed = texts != (request.texts or [])
            return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=texts) if changed else GuardrailResponse()
        known = self._calls.documents(call)
        self._tally.unknown_calls += known is None
        documents = contexts_of({}, options.contexts) if known is None else known
        if decided.mode == "off":
            return GuardrailResponse()
        check = partial(
            check_whole, checkers=self._checkers, plan=decided, tally=self._tally, route=GUARDRAIL_PATH, day=day
        )
        blocks = [block for _, block in await gather_or_cancel(check(text, documents) for text in texts)]
        return self._decided(texts, blocks, decided)

    def _decided(self, texts: list[str], blocks: list[CheckBlock], decided: Plan) -> GuardrailResponse:
        settings = self._checkers.settings
        try:
            for block in blocks:
                require_checked(block, decided)
        except Withheld as error:
            self._tally.withheld(GUARDRAIL_PATH, error.code)
            return GuardrailResponse(action="BLOCKED", blocked_reason=error.what)
        objections = [objection(block, decided) for block in blocks]
        if decided.mode == "block" and any(objections):
            self._tally.withheld(GUARDRAIL_PATH, next(filter(None, objections)))
            if decided.block_as == "error":
                return GuardrailResponse(action="BLOCKED", blocked_reason=settings.block_message)
            texts_sent = [settings.block_message if why else text for text, why in zip(texts, objections, strict=True)]
            return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=texts_sent)
        if decided.mode in ("footnote", "revise"):  # a guardrail cannot ask the model again
            texts_sent = [text + footnotes(block, text) for text, block in zip(texts, blocks, strict=True)]
            if texts_sent != texts:
                return GuardrailResponse(action="GUARDRAIL_INTERVENED", texts=texts_sent)
        return GuardrailResponse()
