"""NLI: an entailment model reads the evidence as premise and the claim as hypothesis; a threshold decides.

As DPD runs WeCheck (Wu et al., "WeCheck", ACL 2023, arXiv 2212.10057): a claim is factual where the probability of
entailment is 0.5 or more. ``REDARGUE_ENTAILMENT`` names the folder of any entailment model in ONNX. The bundled one was
trained on single passages and reads 160 tokens of a pair, not 512: ``evidence=each`` suits it better.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redargue.claims import Claim, Meaning
from redargue.events import Answered
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, CostPlan, CostRange, Method, MethodSettings
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.tasks.score import InferClaim, Inferences, Inferred
from redargue.verdicts import Verdict

READER = "reader"


class NliSettings(MethodSettings):
    """Settings of ``nli``; no prompt is sent in either profile.

    Attributes:
        tools: each is searched once, with the claim.
        evidence: all passages are one premise (``joined``), or each is a premise and the most probable support counts
            (``each``).
        threshold: a claim is factual if the probability of support reaches it.
        sigmoid: takes the sigmoid of the model's first output, as WeCheck is trained, instead of the softmax of all
            outputs; the bundled model is always read with the softmax.
    """

    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    evidence: Literal["joined", "each"] = "joined"
    threshold: float = Field(default=0.5, ge=0, le=1)
    sigmoid: bool = False


class Nli(Method, name="nli", settings=NliSettings):
    """An entailment model: evidence as premise, claim as hypothesis, a threshold (2212.10057).

    The small models play it on every backend, and no call is counted. A claim that is not supported is refuted; where
    the label set has a label for unsettled claims, and the model tells contradiction from neutrality, refutation has to
    reach the threshold too, and the stronger side wins. Without evidence the label is that one, or none.
    """

    profiles = {"paper": {"profile": "paper", "sigmoid": True}, "hardened": {}}
    paper = (
        "Wu, Li, Xiao, Liu, Li, Lv: WeCheck: Strong Factual Consistency Checker via Weakly Supervised Learning, 2022,"
        " arXiv 2212.10057"
    )
    graph = "searches -> inference"
    roles = {READER: FROM_SETTINGS}
    asks = (InferClaim,)

    settings: NliSettings

    async def check(self, claim: Claim, reader: Agent) -> Verdict:
        self.two_sides()
        passages = await reader.search(claim.text, self.settings.top_k, round_=1)
        label, text = claim.labels.named(Meaning.NOT_ENOUGH), "no evidence was found"
        if passages:
            inferred = await self.infer(passages, reader)
            label, text = self.label(inferred), _in_words(inferred)
        self.run.emit(Answered(agent=READER, round=1, text=text, label=label))
        return self.verdict(label, reason=text, rounds=1)

    async def infer(self, passages: tuple[Passage, ...], reader: Agent) -> Inferred:
        """All passages as one premise; or the strongest reading of any of them, on each side."""
        texts = tuple(f"{passage.title}. {passage.text}" if passage.title else passage.text for passage in passages)
        premises = texts if self.settings.evidence == "each" else ("\n".join(texts),)
        task = InferClaim(hypothesis=self.claim.text, premises=premises, sigmoid=self.settings.sigmoid)
        inferences = (await reader.perform(task, round_=1)).inferences
        refuting = [inferred.refutes for inferred in inferences if inferred.refutes is not None]
        return Inferred(supports=max(inferred.supports for inferred in inferences), refutes=max(refuting, default=None))

    def label(self, inferred: Inferred) -> str:
        """The side that reaches the threshold; neither where the label set and the model know a third outcome."""
        (correct, incorrect), threshold = self.two_sides(), self.settings.threshold
        undecided = self.claim.labels.named(Meaning.NOT_ENOUGH)
        if undecided is None or inferred.refutes is None:
            return correct if inferred.supports >= threshold else incorrect
        if max(inferred.supports, inferred.refutes) < threshold:
            return undecided
        return correct if inferred.supports >= inferred.refutes else incorrect

    @classmethod
    def plan_for(cls, settings: NliSettings) -> CostRange:
        searches = dict.fromkeys(settings.tools, 1)
        plan = CostPlan(calls={"InferClaim": 1}, searches=searches, call_depth=0, search_depth=1)
        return CostRange(plan, plan, plan)


def _in_words(inferred: Inferred) -> str:
    refutation = "" if inferred.refutes is None else f", refutation {inferred.refutes:.3f}"
    return f"support {inferred.supports:.3f}{refutation}"


@perform.register
def _infer(task: InferClaim, backend: EmbeddedBackend) -> Inferences:
    """Reads with the model that ``REDARGUE_ENTAILMENT`` names, else with the bundled one, which has three outputs."""
    if backend.user_nli is None:
        read = backend.entailment.read([(task.hypothesis, premise) for premise in task.premises])
        pairs = [(pair.supports, None if task.sigmoid else pair.refutes) for pair in read]
    else:
        pairs = backend.user_nli.read([(premise, task.hypothesis) for premise in task.premises], sigmoid=task.sigmoid)
    found = (Inferred(supports=_share(supports), refutes=_share(refutes)) for supports, refutes in pairs)
    return Inferences(inferences=tuple(found))


def _share(value: float | None) -> float | None:
    return None if value is None else round(min(1.0, max(0.0, value)), 6)
