"""The webhook of promptfoo's assertion ``type: webhook``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from redargue.adapters.grounding import check_answer
from redargue.adapters.promptfoo import answer_text, contexts_in, grade
from redargue.claims import Frozen
from redargue.parts import Parts
from redargue.service.context import Caller, Settings
from redargue.service.keys import DayBudgets
from redargue.service.proxy.tally import ProxyTally
from redargue.service.requests import CONTEXTS, TEXT_LENGTH, RunChoices
from redargue.service.routes import problems
from redargue.spec import DEFAULT_METHOD
from redargue.text.verification import TextOptions

WITHIN_S = 4.5  # promptfoo gives up after 5 s, and then says nothing of why

promptfoo_router = APIRouter(prefix="/v1", tags=["promptfoo"])


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
    *,
    context: Annotated[str, Query(description="The test's variable with the documents.")] = "",
    method: Annotated[str, Query(max_length=100)] = DEFAULT_METHOD,
    min_supported: Annotated[float, Query(ge=0, le=1)] = 1.0,
) -> PromptfooGrade:
    """Check an output against the documents in its test's variables, within the five seconds that promptfoo waits."""
    documents = contexts_in(request.context.vars, context)[:CONTEXTS]
    spec = settings.rules.spec_for(RunChoices(method=method))
    budgets: DayBudgets = http.app.state.budgets
    budgets.require(caller.owner)
    shared: Parts = http.app.state.store.parts
    options: TextOptions = {
        "spec": spec.updated(tools=None),
        "budget": budgets.of_check(caller.owner, spec.budget),
        "transport": shared.transport,
        "prices": shared.prices,
    }
    if shared.backend:
        options["backend"] = shared.backend
    grounding = await check_answer(answer_text(request.output), documents, timeout_s=WITHIN_S, **options)
    tally: ProxyTally = http.app.state.tally
    tally.graded("/v1/promptfoo", str(grounding.outcome), str(grounding.reason))
    return PromptfooGrade.model_validate(grade(grounding, min_supported))
