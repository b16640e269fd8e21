"""Self-consistency: one search, several sampled answers, and the label that most of them give.

Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (ICLR 2023, arXiv 2203.11171),
over the prompt of ``single-reader``. The settings ``like`` and ``calls`` match the number of answers to the calls of
another method, so that both cost the same.
"""

from __future__ import annotations

from redargue.claims import Claim
from redargue.methods.baselines.sampling import SamplingMethod, SamplingSettings, majority
from redargue.tasks.answer import AnswerClaim
from redargue.verdicts import Verdict


class SelfConsistency(SamplingMethod, name="self-consistency", settings=SamplingSettings):
    """One search, n sampled answers, the most frequent label (2203.11171); n can match another method's calls."""

    profiles = {"paper": {"profile": "paper"}, "hardened": {}}
    paper = (
        "Wang, Wei, Schuurmans, Le, Chi, Narang, Chowdhery, Zhou: Self-Consistency Improves Chain of Thought Reasoning"
        " in Language Models, 2022, arXiv 2203.11171"
    )
    graph = "searches -> answer xN -> majority"
    asks = (AnswerClaim,)

    async def check(self, claim: Claim) -> Verdict:
        answers = await self.sample()
        labels = tuple(answer.label for answer in answers)
        label = majority(labels)
        chosen = [index for index, answer in enumerate(answers) if answer.label == label]
        self.keep_quotes_of(chosen, answers)
        first = answers[chosen[0]]
        return self.verdict(
            label,
            reason=first.text,
            confidence=first.confidence,
            decided_by="vote",
            rounds=1,
            round_labels=(labels,),
        )
