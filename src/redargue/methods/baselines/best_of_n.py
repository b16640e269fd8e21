"""Best of n: one search, several sampled answers, and the one that its documents bear out best.

No publication of its own over claims: best-of-n sampling as in Stiennon et al. (2020, arXiv 2009.01325), with
faithfulness (Es et al. 2023, as in Tool-MAD) in the place of a trained reward. It is what Tool-MAD's score is worth
without its debate; with ``like`` or ``calls`` at as many calls as another method, of which each answer takes three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.events import Scored
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods
from redargue.methods.baselines.self_consistency import SamplingSettings, SelfConsistency
from redargue.methods.faithfulness import faithfulness
from redargue.methods.verdict_parts import distinct, gaps
from redargue.run import Run
from redargue.tasks.answering import AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.scoring import CheckStatements, WriteStatements
from redargue.verdicts import Score, Verdict

CALLS = 3  # of an answer: itself, its statements, their check


class BestOfNSettings(SamplingSettings):
    """Settings of ``best-of-n``: those of a method that samples answers.

    Attributes:
        n: answers; each takes three calls.
    """

    n: int = Field(default=10, ge=1, le=200)


@methods.register("best-of-n")
class BestOfN(SelfConsistency):
    """Search, sample, score, keep the best.

    The embedded backend draws no words: all its answers and scores are the same, and the verdict is ``one-reader``'s.
    """

    name: ClassVar[str] = "best-of-n"
    about: ClassVar[str] = "one search, n sampled answers, the most faithful kept, at any method's calls (baseline)"
    options: ClassVar[type[Frozen]] = BestOfNSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"profile": "paper"}, "hardened": {}}
    paper: ClassVar[str] = (
        "Stiennon, Ouyang, Wu, Ziegler, Lowe, Voss, Radford, Amodei, Christiano: Learning to Summarize from Human"
        " Feedback, 2020, arXiv 2009.01325"
    )
    graph: ClassVar[str] = "searches -> (answer -> statements -> check) xN -> best"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="BEST-1",
            original="a reward model that was trained on people's preferences scores the samples",
            effect="figures of the paper are about other tasks",
            here="the share of an answer's statements that its documents bear out; of equals the first sample",
        ),
    )

    def _samples(self, calls: int) -> int:
        return max(1, calls // CALLS)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Answers, and the two questions of faithfulness."""
        return (AnswerClaim, WriteStatements, CheckStatements)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Without statements to check; with; the same."""
        asked = [task.name() for task in self.tasks()]
        plan = Plan(
            calls=dict.fromkeys(asked, self.n),
            searches=dict.fromkeys(self.tools(), 1),
            asked_by=dict.fromkeys(asked, self.readers),
            call_depth=CALLS,
            search_depth=1,
        )
        least = plan.model_copy(update={"calls": dict.fromkeys(asked[:-1], self.n), "call_depth": CALLS - 1})
        return least, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Searches, samples answers at once, scores those with a label at once, and keeps the best."""
        passages = await self.search(claim, run)
        answers = await self.sample(claim, run, passages)
        contexts = tuple(each.text for each in passages)
        labelled = [at for at, each in enumerate(answers) if each.label is not None]
        scores: dict[int, Score] = dict(
            zip(
                labelled,
                await together(
                    faithfulness(
                        Agent(self.readers[at], run),
                        claim.text,
                        answers[at].text,
                        contexts,
                        round_=1,
                        profile=self.settings.profile,
                    )
                    for at in labelled
                ),
                strict=True,
            )
        )
        for score in scores.values():
            run.emit(Scored(agent=score.agent, round=1, score=score))
        best = max(labelled, key=lambda at: _worth(scores[at]), default=0)  # of equals the first
        kept = answers[best]
        return Verdict(
            claim=claim,
            label=kept.label,
            confidence=kept.confidence,
            decided_by="reader",
            rounds=1,
            round_labels=(tuple(each.label for each in answers),),
            reason=kept.text,
            quotes=distinct(list(self.quoted(claim, kept, passages, self.readers[best]))),
            gaps=gaps(run.events),
            scores=tuple(scores.values()),
        )


def _worth(score: Score) -> float:
    """A score to compare; an undefined one is worth less than any."""
    return -1.0 if score.value is None else score.value
