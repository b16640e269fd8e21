"""Self-Check: the model says by itself whether a claim holds a factual error; nothing is searched.

The baseline of FacTool (Chern et al. 2023, arXiv 2307.13528): FacTool's verdict without its evidence, with chain of
thought, after no examples or three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.errors import BadReply
from redargue.events import Answered
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.demonstrating import demonstrations
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile, lines
from redargue.tasks.knowing import SelfCheck
from redargue.verdicts import Verdict

CHECKER = "checker"


class SelfCheckSettings(Frozen):
    """Settings of ``self-check``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        shots: examples before the claim: none or three.
        unparsed: what a reply that cannot be read comes to: no label, or "factual".
        temperature: of sampling.
    """

    profile: Profile = "hardened"
    shots: Literal[0, 3] = 0
    unparsed: Literal["none", "true"] = "none"
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("self-check")
class SelfCheckMethod:
    """One verdict without evidence.

    The embedded backend cannot play it: it reads documents and knows nothing by itself.
    """

    name: ClassVar[str] = "self-check"
    about: ClassVar[str] = "the model looks for factual errors by itself, 0-shot or 3-shot (FacTool's baseline)"
    options: ClassVar[type[Frozen]] = SelfCheckSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "unparsed": "true"},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Chern, Chern, Chen, Yuan, Feng, Zhou, He, Neubig, Liu: FacTool: Factuality Detection in Generative AI, 2023,"
        " arXiv 2307.13528"
    )
    graph: ClassVar[str] = "check"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="SELF-1",
            original="a verdict that cannot be read is None, and None counts as True where a response is judged",
            effect="unreadable replies raise the recall of factual responses",
            here="asked for once more, then no label",
            setting="unparsed=true",
        ),
        Behaviour(
            id="SELF-2",
            original="replies are evaluated as Python, after true and false are capitalised",
            effect="a reply with the word true in its text is changed; a page's text could be run",
            here="read as JSON; nothing is evaluated",
        ),
    )

    def __init__(self, settings: SelfCheckSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """None: nothing is searched."""
        return ()

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """One check."""
        return (SelfCheck,)

    def agents(self) -> tuple[str, ...]:
        """The checker."""
        return (CHECKER,)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same."""
        plan = Plan(calls={"SelfCheck": 1}, searches={}, call_depth=1, search_depth=0)
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Checks.

        Raises:
            UsageError: the label set does not say what is factual and what is not.
        """
        factual, false = require_sides(claim.labels, "a check for factual errors")
        shown = demonstrations("self-check") if self.settings.shots else ""
        task = SelfCheck(claim=claim, demonstrations=shown, profile=self.settings.profile)
        label: str | None
        try:
            found = await Agent(CHECKER, run).perform(task, round_=1, temperature=self.settings.temperature)
        except BadReply as error:
            text, label = error.raw, factual if self.settings.unparsed == "true" else None
        else:
            text = lines(found.reasoning, *(() if found.factuality else (found.error, found.corrected_claim)))
            label = factual if found.factuality else false
        run.emit(Answered(agent=CHECKER, round=1, text=text, label=label))
        return Verdict(claim=claim, label=label, decided_by="reader", rounds=1, reason=text)
