"""Routes that respond with the result itself: an answer checked against its documents, and the cost of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from redargue.adapters.grounding import check_answer, failed
from redargue.adapters.promptfoo import answer_text, contexts_in, grade
from redargue.assembly import Parts, connect, for_answers
from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.estimate import Estimate, claims_in
from redargue.estimate import estimate as estimate_cost
from redargue.evidence import Passage
from redargue.service.context import Budgets, Caller, Settings, Store
from redargue.service.entries import note
from redargue.service.guard import JsonRoute, Turns, left, unless
from redargue.service.problems import without_paths
from redargue.service.proxy.block import ProxyTally
from redargue.service.routes import problems
from redargue.service.rules import (
    CONTEXT_LENGTH,
    CONTEXTS,
    TEXT_LENGTH,
    CheckRequest,
    ContextDocument,
    RunChoices,
)
from redargue.spec import RunSpec
from redargue.text import Report
from redargue.text.segment import Kind, Text
from redargue.text.verification import TextOptions, prepare, with_documents, without_check
from redargue.verifier import Verifier

answers_router = APIRouter(prefix="/v1", tags=["answers"], route_class=JsonRoute)


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
        # An empty context keeps its place, after which the others are called.
        values = dict(self) | {"contexts": tuple(each or " " for each in self.contexts)}
        return CheckRequest(text=values.pop("answer"), **values)

    def without_check(self) -> Report | None:
        documents = [Passage(text=each if isinstance(each, str) else each.text) for each in self.contexts]
        return without_check(self.answer, documents, kind=self.kind, context=self.question)


class GroundAnswer(Report):
    """The report on an answer (text.v2); ``offsets`` is the unit of its offsets."""

    offsets: Literal["code_point"] = "code_point"


@answers_router.post("/ground", responses=problems(402, 429, 502, 503))
async def ground_answer(
    request: GroundRequest, http: Request, store: Store, caller: Caller, budgets: Budgets
) -> GroundAnswer:
    """Check an answer against given documents only; nothing is stored.

    An answer without words is `not_checkable`; without a context, its sentences are unchecked (`no_context`).
    """
    if report := request.without_check():
        store.rules.spec_for(request)
        note("", str(report.outcome))
        return GroundAnswer(**dict(report))
    check = request.as_check()
    try:
        prepared = await store.prepare(check)
    except UsageError as error:
        where = "answer" if error.where == "text" else error.where  # the request's name of it
        raise type(error)(error.what, where=where, hint=error.hint) from None
    assert prepared.text is not None  # as_check gives a text
    with budgets.check(caller.owner, prepared.spec.budget or "", lambda: prepared.most_calls) as budget:
        parts = replace(store.parts, budget=budget)
        work = _ground(prepared.text, prepared.spec, parts, check.documents or [], http.app.state.turns)
        found = await unless(work, left(http.receive))
    if found is None:
        raise HTTPException(408, "the client disconnected")
    note("", str(found[0].outcome))
    return GroundAnswer(**dict(found[0]))


async def _ground(text: Text, spec: RunSpec, parts: Parts, documents: Sequence[Passage], turns: Turns) -> Report:
    async with turns.take():
        prepared = await prepare(text, spec, parts, documents=documents)
        with prepared.verifier() as verifier:
            verdicts = await verifier.verify_all(prepared.claims, concurrency=verifier.text_concurrency)
    return prepared.report(verdicts)


@answers_router.post("/estimate", responses=problems(429, 502, 503))
async def estimate(request: CheckRequest, store: Store, caller: Caller) -> Estimate:
    """What a check would cost; no model is called."""
    prepared, documents = await store.prepare(request), request.documents
    spec, text = prepared.spec, prepared.text
    parts = await connect(spec, store.parts) if documents is None else store.parts

    def estimated() -> Estimate:
        claims = list(claims_in(text, spec.labels)) if text else [prepared.claim] if prepared.claim else []
        given = parts if documents is None else with_documents(spec, [documents], parts)[1]
        with Verifier(spec, parts=given, claims=claims) as verifier:
            together = bool(text and documents)
            return estimate_cost(verifier, claims, concurrency=verifier.text_concurrency, text=text, together=together)

    found = await store.pool.run(estimated)
    return found.model_copy(update={"assumed": tuple(map(without_paths, found.assumed))})


WITHIN_S = 4.5  # promptfoo gives up after 5 s, and then says nothing of why

promptfoo_router = APIRouter(prefix="/v1", tags=["promptfoo"], route_class=JsonRoute)


class PromptfooContext(BaseModel):
    """What promptfoo knows of a test; fields of other releases are ignored."""

    vars: dict[str, object] = Field(default_factory=dict)


class PromptfooRequest(BaseModel):
    """An output and its test; of one that is not a text, the values are checked, a line each."""

    output: Annotated[str, Field(max_length=TEXT_LENGTH)] | dict[str, object] | list[Any]
    context: PromptfooContext = PromptfooContext()


class PromptfooGrade(Frozen):
    """``score`` is the share of supported claims, and 0 for an output that was not checked; ``reason`` says which."""

    passes: bool = Field(alias="pass", serialization_alias="pass")
    score: float = Field(ge=0, le=1)
    reason: str


@promptfoo_router.post("/promptfoo", responses=problems(402))
async def promptfoo(
    request: PromptfooRequest,
    http: Request,
    settings: Settings,
    caller: Caller,
    budgets: Budgets,
    *,
    context: Annotated[str, Query(description="The test's variable with the documents.")] = "",
    method: Annotated[str, Query(max_length=100)] = "",
    min_supported: Annotated[float, Query(ge=0, le=1)] = 1.0,
) -> PromptfooGrade:
    """Check an output against the documents in its test's variables, within the five seconds that promptfoo waits."""
    method = method or for_answers(settings.rules.spec, Parts()).method
    spec = settings.rules.spec_for(RunChoices(method=method))
    shared: Parts = http.app.state.store.parts
    options: TextOptions = {"spec": spec.updated(tools=None), "transport": shared.transport, "prices": shared.prices}
    if shared.backend:
        options["backend"] = shared.backend
    try:  # documents that are refused are an outcome, because promptfoo shows of an error its status alone
        documents = contexts_in(request.context.vars, context)
        if len(documents) > CONTEXTS:
            raise UsageError(f"{len(documents)} documents are more than {CONTEXTS}; join some of them")
    except UsageError as error:
        grounding = failed(error)
    else:
        with budgets.check(caller.owner, spec.budget or "") as options["budget"]:
            grounding = await check_answer(answer_text(request.output), documents, timeout_s=WITHIN_S, **options)
    tally: ProxyTally = http.app.state.tally
    tally.graded("/v1/promptfoo", str(grounding.outcome), str(grounding.reason))
    return PromptfooGrade.model_validate(grade(grounding, min_supported))
