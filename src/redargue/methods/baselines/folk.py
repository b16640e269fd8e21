"""FOLK: a claim as predicates of first-order logic, grounded by searches, and the truth of each.

Wang & Shu 2023, "Explainable Claim Verification via Knowledge-Grounded Reasoning with Large Language Models"
(arXiv 2310.05253, Section 3). One call takes the claim apart, all questions are searched at once, one call judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import Answered, Spoke
from redargue.evidence import find_quote
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.finding import grounded, passages_of, side_label
from redargue.methods.demonstrating import shown
from redargue.methods.verdict_parts import distinct, gaps, side_of
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.grounding import ANSWER_NEXT, MOST_QUESTIONS, NEXT_EXAMPLE, Grounded
from redargue.tasks.predicates import (
    Prediction,
    VerifyPredicates,
    WritePredicates,
    parse_predicates,
    parse_prediction,
)
from redargue.verdicts import Verdict

DECOMPOSER, REASONER = "decomposer", "reasoner"


class FolkSettings(Frozen):
    """Settings of ``folk``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: each is asked every question; the paper's is a Google search.
        top_k: passages a search; the paper shows one answer or snippet.
        temperature: of both calls.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=1, ge=1, le=50)
    temperature: float = Field(default=0.7, ge=0, le=2)


@methods.register("folk")
class Folk:
    """Predicates, questions, searches, truths.

    The embedded backend plays it on a claim's clauses: each is a predicate, and its own question.
    """

    name: ClassVar[str] = "folk"
    about: ClassVar[str] = "predicates of first-order logic, grounded by searches, judged one by one (FOLK, 2310.05253)"
    options: ClassVar[type[Frozen]] = FolkSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"profile": "paper"}, "hardened": {"top_k": 3}}
    paper: ClassVar[str] = (
        "Wang, Shu: Explainable Claim Verification via Knowledge-Grounded Reasoning with Large Language Models,"
        " Findings of EMNLP 2023 (arXiv 2310.05253)"
    )
    graph: ClassVar[str] = "predicates and questions -> all searches at once -> truths and label"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="FOLK-1",
            original="a reply whose first brackets hold neither label is dropped before the score is taken",
            effect="17 of 100 two-hop claims are not scored; the stored predictions give macro-F1 .6626, .5480, .6035"
            " (HoVer, 2, 3, 4 hops) and .6759 (SciFact) over the rest, as printed",
            here="the reply is asked for once more; then there is no label, which counts as wrong. Reports give the"
            " score with such claims dropped beside it",
        ),
        Behaviour(
            id="FOLK-2",
            original="the label is what the reply says in brackets, whatever its own predicates say",
            effect="a prediction may contradict its explanation",
            here="so in the paper's own form; in the hardened profile code takes the conjunction of the predicates",
            setting="profile=paper",
        ),
        Behaviour(
            id="FOLK-3",
            original="a question for which the search gave nothing is left out of the context",
            effect="the reply judges its predicate without evidence, and is not told so",
            here="so in the paper's own form; the hardened profile says that nothing was found",
            setting="profile=paper",
        ),
        Behaviour(
            id="FOLK-4",
            original="a reply without questions is searched for with a blank; one without predicates ends the program",
            effect="on such claims only",
            here="it cannot be read, and is asked for once more; then there is no label",
        ),
        Behaviour(
            id="FOLK-5",
            original="what is not supported is NOT_SUPPORTED, whether it is refuted or left open",
            effect="on data sets with a label for what the evidence does not settle, which is never given",
            here="the same: such a claim is refuted; with --labels two nothing is lost",
        ),
    )

    def __init__(self, settings: FolkSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Who takes the claim apart, who judges."""
        return (DECOMPOSER, REASONER)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Predicates with questions, and their truth."""
        return (WritePredicates, VerifyPredicates)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """One question; three, as in the demonstrations; the most."""
        return self._plan(1), self._plan(3), self._plan(MOST_QUESTIONS)

    def _plan(self, questions: int) -> Plan:
        return Plan(
            calls={"WritePredicates": 1, "VerifyPredicates": 1},
            searches=dict.fromkeys(self.tools(), questions),
            asked_by={"WritePredicates": (DECOMPOSER,), "VerifyPredicates": (REASONER,)},
            call_depth=2,
            search_depth=1,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Predicates; all searches at once; their truth.

        Raises:
            UsageError: the label set does not say what is supported and what is not.
        """
        require_sides(claim.labels, "predicates, which are true or false,")
        try:
            asked, prediction = await self._predicted(claim, run)
        except BadReply as error:
            unread = {"label": None, "decided_by": "reader", "rounds": 1, "reason": error.what}
            return Verdict(claim=claim, **unread, gaps=gaps(run.events))
        label = side_label(claim.labels, prediction.answer == "SUPPORTED")
        side, passages = side_of(claim.labels, label), passages_of(asked)
        quotes = tuple(find_quote(text, passages, side=side, agent=REASONER) for text in prediction.quotes)
        reason = in_words(prediction)
        run.emit(Answered(agent=REASONER, round=1, text=reason, label=label, quotes=quotes))
        return Verdict(
            claim=claim,
            label=label,
            decided_by="reader",
            rounds=1,
            reason=reason,
            quotes=distinct([*quotes]),
            gaps=gaps(run.events),
        )

    async def _predicted(self, claim: Claim, run: Run) -> tuple[list[Grounded], Prediction]:
        """What was found for each question, and what it says of the predicates."""
        settings, profile = self.settings, self.settings.profile
        first = WritePredicates(claim=claim, demonstrations=predicates_of(profile), profile=profile)
        parts = await Agent(DECOMPOSER, run).perform(first, round_=1, temperature=settings.temperature)
        said = "\n".join([*(each.line for each in parts.predicates), *parts.questions])
        run.emit(Spoke(agent=DECOMPOSER, round=1, text=said))
        asked = await together(
            grounded(run, self.tools(), each, settings.top_k, agent=DECOMPOSER, round_=1, claim=claim)
            for each in parts.questions
        )
        task = VerifyPredicates(
            claim=claim,
            predicates=parts.predicates,
            asked=tuple(asked),
            demonstrations=predictions_of(profile),
            profile=profile,
        )
        return asked, await Agent(REASONER, run).perform(task, round_=1, temperature=settings.temperature)


def in_words(prediction: Prediction) -> str:
    """Each predicate with its truth, and the explanation."""
    truths = (f"{each.predicate} is {each.holds}: {each.reason}" for each in prediction.truths)
    return "\n".join([*truths, prediction.explanation])


def predicates_of(profile: Profile) -> str:
    """Seven claims of our own with their predicates and questions."""
    return _shown("folk_predicates", profile, parse_predicates)


def predictions_of(profile: Profile) -> str:
    """The same claims with what was found for them and the truth of their predicates."""
    return _shown("folk_prediction", profile, lambda text: parse_prediction(text).model_copy(update={"written": None}))


def _shown(name: str, profile: Profile, read: Callable[[str], Frozen]) -> str:
    return shown(name, profile, read, before=f"\n{ANSWER_NEXT}\n", between=f"\n{NEXT_EXAMPLE}\n")
