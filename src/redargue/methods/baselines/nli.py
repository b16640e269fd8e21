"""NLI: an entailment model reads the evidence as premise and the claim as hypothesis; a threshold decides.

As DPD runs WeCheck (Wu et al., "WeCheck", ACL 2023, arXiv 2212.10057): a claim is factual where the probability of
entailment is 0.5 or more. Any entailment model will do: ``REDARGUE_ENTAILMENT`` names the folder of one as ONNX (see
``models/entailer.py``); without it the package's own reads, which was trained on single passages and sees 160 tokens of
a pair, not 512: ``evidence=each`` suits it better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.events import Answered
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.finding import search_all
from redargue.methods.verdict_parts import gaps
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.scoring import InferClaim, Inferred
from redargue.verdicts import Verdict

READER = "reader"


class NliSettings(Frozen):
    """Settings of ``nli``.

    Attributes:
        profile: ``paper`` or ``hardened``; no prompt is sent in either.
        tools: each is asked once, with the claim.
        top_k: documents a search.
        evidence: all passages are one premise (``joined``), or ``each`` is one and the most probable support counts.
        threshold: a probability of support that is at or above it is a factual claim.
        sigmoid: the probability is the sigmoid of the model's first output, as WeCheck is trained; else of the outputs
            together. The package's own model is always read in the second way.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    evidence: Literal["joined", "each"] = "joined"
    threshold: float = Field(default=0.5, ge=0, le=1)
    sigmoid: bool = False


@methods.register("nli")
class Nli:
    """Search, infer.

    Small models on this machine play it on every backend, and no call is counted. A claim that is not supported is
    refuted; where the label set has a label for claims that nothing settles, and the model tells contradiction from
    neutrality, refutation needs the threshold, too, and the stronger side wins. Without evidence nothing is inferred:
    that label, or none.
    """

    name: ClassVar[str] = "nli"
    about: ClassVar[str] = "an entailment model: evidence as premise, claim as hypothesis, a threshold (2212.10057)"
    options: ClassVar[type[Frozen]] = NliSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper", "sigmoid": True},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Wu, Li, Xiao, Liu, Li, Lv: WeCheck: Strong Factual Consistency Checker via Weakly Supervised Learning, 2022,"
        " arXiv 2212.10057"
    )
    graph: ClassVar[str] = "searches -> inference"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="NLI-1",
            original="only the premise is cut, at 512 tokens of the pair",
            effect="evidence that stands late among long passages is not read",
            here="the same with a model of the user's own; evidence=each cuts each passage by itself",
        ),
        Behaviour(
            id="NLI-2",
            original="the score is the sigmoid of the first output, though the model it starts from has three",
            effect="of another entailment model the first output may be contradiction",
            here="the outputs are read by their names, and weighed together",
            setting="sigmoid=true",
        ),
    )

    def __init__(self, settings: NliSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """One inference."""
        return (InferClaim,)

    def agents(self) -> tuple[str, ...]:
        """The reader."""
        return (READER,)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same; no call is waited for."""
        plan = Plan(calls={"InferClaim": 1}, searches=dict.fromkeys(self.tools(), 1), call_depth=0, search_depth=1)
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Searches with every tool at once, and infers.

        Raises:
            UsageError: the label set does not say what is factual and what is not.
        """
        require_sides(claim.labels, "entailment")
        top_k = self.settings.top_k
        passages = await search_all(run, self.tools(), claim.text, top_k, agent=READER, round_=1, claim=claim)
        best = await self._infer(claim, passages, Agent(READER, run))
        label = claim.labels.named(Meaning.NOT_ENOUGH) if best is None else self._label(claim, best)
        text = "no evidence was found" if best is None else _told(best)
        run.emit(Answered(agent=READER, round=1, text=text, label=label))
        return Verdict(claim=claim, label=label, decided_by="reader", rounds=1, reason=text, gaps=gaps(run.events))

    async def _infer(self, claim: Claim, passages: tuple[Passage, ...], reader: Agent) -> Inferred | None:
        """What all passages say as one text; or the most that any of them says, on each side."""
        texts = tuple(f"{each.title}. {each.text}" if each.title else each.text for each in passages)
        if not texts:
            return None
        premises = texts if self.settings.evidence == "each" else ("\n".join(texts),)
        task = InferClaim(hypothesis=claim.text, premises=premises, sigmoid=self.settings.sigmoid)
        inferences = (await reader.perform(task, round_=1)).inferences
        refuting = [each.refutes for each in inferences if each.refutes is not None]
        return Inferred(supports=max(each.supports for each in inferences), refutes=max(refuting, default=None))

    def _label(self, claim: Claim, read: Inferred) -> str | None:
        labels, threshold = claim.labels, self.settings.threshold
        correct, incorrect = labels.named(Meaning.SUPPORTED), labels.named(Meaning.REFUTED)
        undecided = labels.named(Meaning.NOT_ENOUGH)
        if undecided is None or read.refutes is None:
            return correct if read.supports >= threshold else incorrect
        if max(read.supports, read.refutes) < threshold:
            return undecided
        return correct if read.supports >= read.refutes else incorrect


def _told(read: Inferred) -> str:
    refuted = "" if read.refutes is None else f", refutation {read.refutes:.3f}"
    return f"support {read.supports:.3f}{refuted}"
