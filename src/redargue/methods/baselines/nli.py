"""NLI: an entailment model reads the evidence as premise and the claim as hypothesis; a threshold decides.

As DPD runs WeCheck (Wu et al., "WeCheck", ACL 2023, arXiv 2212.10057): a claim is factual where the probability of
entailment is 0.5 or more. An added reader reads in place of the bundled model on the embedded backend. The bundled one
was trained on single passages and reads 160 tokens of a pair, not 512: ``evidence=each`` suits it better.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redargue.claims import Claim, Meaning
from redargue.events import Answered
from redargue.evidence import Passage, Quote
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, Method, SearchSettings
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.tasks.score import InferClaim, Inferences, Inferred
from redargue.verdicts import Verdict

_READER = "reader"


class NliSettings(SearchSettings):
    """Settings of ``nli``; no prompt is sent in either profile."""

    # all passages are one premise (``joined``), or each is a premise and the most probable support counts (``each``)
    evidence: Literal["joined", "each"] = "joined"
    threshold: float = Field(default=0.5, ge=0, le=1)  # a claim is factual if the probability of support reaches it
    # only the probability of support decides, as WeCheck is trained; that of refutation is not considered
    support_only: bool = False


class Nli(Method, name="nli", settings=NliSettings):
    """An entailment model: evidence as premise, claim as hypothesis, a threshold (2212.10057).

    The small models perform it on every backend, and no call is counted. A claim that is not supported is refuted;
    where the label set has a label for unsettled claims, and the model distinguishes contradiction and neutrality,
    refutation has to reach the threshold too, and the stronger side wins. Without evidence the label is that one, or
    none. Hardened, the passages of a premise that reaches the threshold are quoted whole.
    """

    profiles = {"paper": {"support_only": True}, "hardened": {}}
    paper = (
        "Wu, Li, Xiao, Liu, Li, Lv: WeCheck: Strong Factual Consistency Checker via Weakly Supervised Learning, 2022,"
        " arXiv 2212.10057"
    )
    graph = "searches -> inference"
    roles = {_READER: FROM_SETTINGS}
    asks = (InferClaim,)

    settings: NliSettings

    async def check(self, claim: Claim, reader: Agent) -> Verdict:
        self.two_sides()
        passages = await reader.search(claim.text, self.settings.top_k, round_=1)
        label, text = claim.labels.named(Meaning.NOT_ENOUGH), "no evidence was found"
        quotes: tuple[Quote, ...] = ()
        if passages:
            inferences = await self.infer(passages, reader)
            inferred = strongest(inferences)
            label, text = self.label(inferred), _in_words(inferred)
            if self.settings.profile == "hardened":
                quotes = self.cite(self.deciding(passages, inferences, label), label=label, passages=passages)
        self.run.emit(Answered(agent=_READER, round=1, text=text, label=label, quotes=quotes))
        return self.verdict(label, reason=text, rounds=1)

    async def infer(self, passages: tuple[Passage, ...], reader: Agent) -> tuple[Inferred, ...]:
        """Reads all passages as one premise, or each as one."""
        texts = tuple(f"{passage.title}. {passage.text}" if passage.title else passage.text for passage in passages)
        premises = texts if self.settings.evidence == "each" else ("\n".join(texts),)
        task = InferClaim(hypothesis=self.claim.text, premises=premises, support_only=self.settings.support_only)
        return (await reader.perform(task, round_=1)).inferences

    def deciding(self, passages: tuple[Passage, ...], inferences: tuple[Inferred, ...], label: str) -> tuple[str, ...]:
        """The texts of the premises that reach the threshold on the label's side."""
        sides = self.two_sides()
        if label not in sides:
            return ()
        scores = [inferred.supports if label == sides[0] else inferred.refutes or 0.0 for inferred in inferences]
        scores = scores if self.settings.evidence == "each" else scores * len(passages)
        pairs = zip(passages, scores, strict=True)
        return tuple(passage.text for passage, score in pairs if score >= self.settings.threshold)

    def label(self, inferred: Inferred) -> str:
        """The side that reaches the threshold; neither where the label set and the model know a third outcome."""
        (correct, incorrect), threshold = self.two_sides(), self.settings.threshold
        undecided = self.claim.labels.named(Meaning.NOT_ENOUGH)
        if undecided is None or inferred.refutes is None:
            return correct if inferred.supports >= threshold else incorrect
        if max(inferred.supports, inferred.refutes) < threshold:
            return undecided
        return correct if inferred.supports >= inferred.refutes else incorrect


def strongest(inferences: tuple[Inferred, ...]) -> Inferred:
    """The strongest reading of any premise, on each side."""
    refuting = [inferred.refutes for inferred in inferences if inferred.refutes is not None]
    return Inferred(supports=max(inferred.supports for inferred in inferences), refutes=max(refuting, default=None))


def _in_words(inferred: Inferred) -> str:
    refutation = "" if inferred.refutes is None else f", refutation {inferred.refutes:.3f}"
    return f"support {inferred.supports:.3f}{refutation}"


@perform.register
def _infer(task: InferClaim, backend: EmbeddedBackend) -> Inferences:
    inferences = []
    for pair in backend.entailment.read([(task.hypothesis, premise) for premise in task.premises]):
        refutes = None if task.support_only else _share(pair.refutes)
        inferences.append(Inferred(supports=_share(pair.supports), refutes=refutes))
    return Inferences(inferences=tuple(inferences))


def _share(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 6)
