"""Best of n: one search, several sampled answers, and the one that its documents support best.

Best-of-n sampling as in Stiennon et al. (2020, arXiv 2009.01325), with faithfulness (Es et al. 2023, as in Tool-MAD)
instead of a trained reward; it has not been published for claims. It shows what Tool-MAD's score is worth
without its debate; with ``like`` or ``calls`` it makes as many calls as another method, three for each answer.
"""

from __future__ import annotations

from pydantic import Field

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.events import Scored
from redargue.methods.baselines.sampling import SamplingMethod, SamplingSettings
from redargue.methods.faithfulness import faithfulness, reasoning_of
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.score import CheckStatements, WriteStatements
from redargue.verdicts import Verdict


class BestOfNSettings(SamplingSettings):
    """Settings of ``best-of-n``: those of a method that samples answers."""

    n: int = Field(default=10, ge=1, le=200)  # answers; each takes three calls


class BestOfN(SamplingMethod, name="best-of-n", settings=BestOfNSettings):
    """One search, n sampled answers, the most faithful kept; may match any method's calls (baseline)."""

    profiles = {"paper": {"profile": "paper"}, "hardened": {}}
    paper = (
        "Stiennon, Ouyang, Wu, Ziegler, Lowe, Voss, Radford, Amodei, Christiano: Learning to Summarize from Human"
        " Feedback, 2020, arXiv 2009.01325"
    )
    graph = "searches -> (answer -> statements -> check) xN -> best"
    asks = (AnswerClaim, WriteStatements, CheckStatements)
    calls_per_answer = 3  # the answer, its statements, their check

    def scored_text(self, answer: Answer) -> str:
        return answer.text if self.settings.profile == "paper" else reasoning_of(answer.text, self.claim.text)

    async def check(self, claim: Claim) -> Verdict:
        """Scores the answers that have a label and keeps the best; among equals the first."""
        answers = await self.sample()
        labelled = [place for place, answer in enumerate(answers) if answer.label is not None]
        results = await gather_or_cancel(
            faithfulness(
                self.readers[place],
                claim.text,
                self.scored_text(answers[place]),
                self.passages,
                round_=1,
                profile=self.settings.profile,
            )
            for place in labelled
        )
        scores = dict(zip(labelled, results, strict=True))
        for score in results:
            self.run.emit(Scored(agent=score.agent, round=1, score=score))
        best = max(labelled, key=lambda place: -1.0 if (value := scores[place].value) is None else value, default=0)
        self.keep_quotes_of([best], answers)
        kept = answers[best]
        labels = tuple(answer.label for answer in answers)
        return self.verdict_of(kept, decided_by="reader", rounds=1, round_labels=(labels,), scores=results)
