"""Self-Check: the model judges by itself whether a claim holds a factual error; nothing is searched.

The baseline of FacTool (Chern et al. 2023, arXiv 2307.13528): its verdict without its evidence, with chain of thought,
after no examples or three.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redargue.methods.agent import Agent
from redargue.methods.base import MethodSettings
from redargue.methods.baselines.closed_book.tasks import SelfCheck
from redargue.methods.baselines.factuality import ClosedBook
from redargue.methods.few_shot import read_examples
from redargue.tasks.answer import Answer
from redargue.tasks.base import lines


class SelfCheckSettings(MethodSettings):
    """Settings of ``self-check``."""

    shots: Literal[0, 3] = 0
    unparsed: Literal["none", "true"] = "none"  # the outcome of a reply that cannot be read: no label, or "factual"
    temperature: float = Field(default=0.0, ge=0, le=2)


class SelfCheckMethod(ClosedBook, name="self-check", settings=SelfCheckSettings):
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
    roles = {"checker": None}
    asks = (SelfCheck,)

    async def answer(self, agent: Agent) -> Answer:
        self.two_sides()
        shown = read_examples(__package__, "self_check") if self.settings.shots else ""
        check = await self.ask(agent, SelfCheck, round_=1, demonstrations=shown)
        text = lines(check.reasoning, *(() if check.factuality else (check.error, check.corrected_claim)))
        return Answer(text=text, label=self.side_label(supported=check.factuality))

    def unread_label(self) -> str | None:
        return self.side_label(supported=True) if self.settings.unparsed == "true" else None
