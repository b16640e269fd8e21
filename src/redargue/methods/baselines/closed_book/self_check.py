"""Self-Check: the model judges by itself whether a claim holds a factual error; nothing is searched.

The baseline of FacTool (Chern et al. 2023, arXiv 2307.13528): its verdict without its evidence, with chain of thought,
after no examples or three.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redargue.claims import Claim
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.methods.base import CostPlan, CostRange, Method, MethodSettings
from redargue.methods.baselines.closed_book.prompts import SelfCheck
from redargue.methods.few_shot import read_examples
from redargue.tasks.answer import Answer
from redargue.tasks.base import lines
from redargue.verdicts import Verdict

CHECKER = "checker"


class SelfCheckSettings(MethodSettings):
    """Settings of ``self-check``.

    Attributes:
        unparsed: the outcome of a reply that cannot be read: no label, or "factual".
    """

    shots: Literal[0, 3] = 0
    unparsed: Literal["none", "true"] = "none"
    temperature: float = Field(default=0.0, ge=0, le=2)


class SelfCheckMethod(Method, name="self-check", settings=SelfCheckSettings):
    """The model looks for factual errors by itself, 0-shot or 3-shot (FacTool's baseline)."""

    profiles = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "unparsed": "true"},
        "hardened": {},
    }
    paper = (
        "Chern, Chern, Chen, Yuan, Feng, Zhou, He, Neubig, Liu: FacTool: Factuality Detection in Generative AI, 2023,"
        " arXiv 2307.13528"
    )
    graph = "check"
    few_shot = True
    roles = {CHECKER: None}
    asks = (SelfCheck,)

    settings: SelfCheckSettings

    async def check(self, claim: Claim, checker: Agent) -> Verdict:
        factual, false = self.two_sides()
        shown = read_examples(__package__, "self_check") if self.settings.shots else ""
        task = SelfCheck(claim=claim, demonstrations=shown, profile=self.settings.profile)
        label: str | None
        try:
            check = await checker.perform(task, round_=1, temperature=self.settings.temperature)
        except BadReply as error:
            text, label = error.raw, factual if self.settings.unparsed == "true" else None
        else:
            text = lines(check.reasoning, *(() if check.factuality else (check.error, check.corrected_claim)))
            label = factual if check.factuality else false
        self.answered(CHECKER, Answer(text=text, label=label), round_=1)
        return self.verdict(label, reason=text, decided_by="reader", rounds=1)

    @classmethod
    def plan_for(cls, settings: SelfCheckSettings) -> CostRange:
        plan = CostPlan(calls={"SelfCheck": 1}, searches={}, call_depth=1, search_depth=0)
        return CostRange(plan, plan, plan)
