"""Routes that respond with the result itself: an answer checked against its documents, and the cost of a check."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from redargue.assembly import connect
from redargue.estimate import Estimate, claims_in
from redargue.estimate import estimate as estimate_cost
from redargue.evidence import Passage
from redargue.service.context import Caller, Store
from redargue.service.keys import DayBudgets
from redargue.service.log import note
from redargue.service.pool import Turns
from redargue.service.requests import CONTEXT_LENGTH, CONTEXTS, TEXT_LENGTH, CheckRequest, ContextDocument, RunChoices
from redargue.service.routes import problems
from redargue.service.schemas import OFFSETS
from redargue.text.report import Report
from redargue.text.segment import Kind
from redargue.text.verification import CONCURRENCY, prepare, without_check
from redargue.verifier import Verifier

answers_router = APIRouter(prefix="/v1", tags=["answers"])


class GroundRequest(RunChoices):
    """An answer and the documents that it was made from.

    Attributes:
        question: the question that was answered, or the dialogue before the answer.
    """

    answer: str = Field(max_length=TEXT_LENGTH)
    contexts: tuple[Annotated[str, Field(max_length=CONTEXT_LENGTH)] | ContextDocument, ...] = Field(
        max_length=CONTEXTS
    )
    question: str = Field(default="", max_length=TEXT_LENGTH)
    kind: Kind = "text"

    def as_check(self) -> CheckRequest:
        values = dict(self) | {"contexts": tuple(filter(None, self.contexts))}
        return CheckRequest(text=values.pop("answer"), **values)

    def without_check(self) -> Report | None:
        texts = [each if isinstance(each, str) else each.text for each in self.contexts]
        documents = [Passage(text=text) for text in texts]
        return without_check(self.answer, documents, kind=self.kind, context=self.question)


class GroundAnswer(Report):
    """The report on an answer (text.v2); ``offsets`` is the unit of its offsets."""

    offsets: Literal["code_point"] = OFFSETS


@answers_router.post("/ground", responses=problems(402, 429, 502, 503))
async def ground_answer(request: GroundRequest, http: Request, store: Store, caller: Caller) -> GroundAnswer:
    """Check an answer against given documents only; nothing is stored.

    An answer without words is `not_checkable`; without a context, its sentences are unchecked (`no_context`).
    """
    if report := request.without_check():
        store.rules.spec_for(request)
        note("", str(report.outcome))
        return GroundAnswer(**dict(report))
    check = request.as_check()
    prepared = await store.prepare(check)
    assert prepared.text is not None  # as_check gives a text
    budgets: DayBudgets = http.app.state.budgets
    budgets.require(caller.owner)
    parts = replace(store.parts, budget=budgets.of_check(caller.owner, prepared.spec.budget))
    # The documents are the only evidence: the tools of the service's own spec are not used.
    spec, documents = prepared.spec.updated(tools=None), check.documents or []
    turns: Turns = http.app.state.turns
    async with turns.take():
        text = await prepare(prepared.text, spec, parts, documents=documents)
        with text.verifier() as verifier:
            verdicts = await verifier.verify_all(text.claims, concurrency=CONCURRENCY)
    found = text.report(verdicts)
    note("", str(found.outcome))
    return GroundAnswer(**dict(found))


@answers_router.post("/estimate", responses=problems(429, 502, 503))
async def estimate(request: CheckRequest, store: Store, caller: Caller) -> Estimate:
    """What a check would cost; no model is called."""
    prepared = await store.prepare(request)
    parts = await connect(prepared.spec, store.parts)

    def estimated() -> Estimate:
        claims = [prepared.claim] if prepared.claim else []
        if prepared.text:
            claims = list(claims_in(prepared.text, prepared.spec.labels))
        with Verifier(prepared.spec, parts=parts, claims=claims) as verifier:
            return estimate_cost(verifier, claims, concurrency=CONCURRENCY, text=prepared.text)

    return await store.pool.run(estimated)
