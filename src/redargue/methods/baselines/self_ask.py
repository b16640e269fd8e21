"""Self-Ask: follow-up questions that a search engine answers, until nothing is left to ask.

Press et al. 2022, "Measuring and Narrowing the Compositionality Gap in Language Models" (arXiv 2210.03350, Section 3).
The original interleaves questions and answers in one growing text; FOLK's comparison (Wang & Shu 2023, arXiv
2310.05253) asks all questions first and aggregates what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import Answered, Spoke
from redargue.evidence import find_quote
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.finding import grounded, passages_of, side_label
from redargue.methods.demonstrating import demonstrations, shown
from redargue.methods.verdict_parts import distinct, gaps, side_of
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.grounding import (
    ANSWER_NEXT,
    MOST_QUESTIONS,
    NEXT_EXAMPLE,
    Aggregate,
    AskFollowUp,
    ConcludeAsking,
    FollowUps,
    Grounded,
    JudgeAnswers,
    WriteFollowUps,
    bracketed,
    questions_in,
)
from redargue.verdicts import Verdict

ASKER = "asker"


class SelfAskSettings(Frozen):
    """Settings of ``self-ask``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        variant: ``interleaved``: each question knows the answers before it; ``decomposed``: all questions at once, and
            one call that reads what was found (FOLK's).
        tools: each is asked every question; the paper's is a Google search.
        top_k: passages a search; the paper shows one answer or snippet.
        most_questions: after which the interleaved variant asks for the final answer; the paper gives no number.
        temperature: of all calls.
    """

    profile: Profile = "hardened"
    variant: Literal["interleaved", "decomposed"] = "interleaved"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=1, ge=1, le=50)
    most_questions: int = Field(default=5, ge=1, le=MOST_QUESTIONS)
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("self-ask")
class SelfAsk:
    """Questions, searches, an answer.

    The embedded backend plays it on a claim's clauses: it asks whether each is true, and reads all that was found.
    """

    name: ClassVar[str] = "self-ask"
    about: ClassVar[str] = "follow-up questions that a search engine answers (Self-Ask, 2210.03350)"
    options: ClassVar[type[Frozen]] = SelfAskSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper"},
        "folk": {"profile": "paper", "variant": "decomposed", "temperature": 0.7},
        "hardened": {"top_k": 3},
    }
    paper: ClassVar[str] = (
        "Press, Zhang, Min, Schmidt, Smith, Lewis: Measuring and Narrowing the Compositionality Gap in Language Models,"
        " Findings of EMNLP 2023 (arXiv 2210.03350)"
    )
    graph: ClassVar[str] = "(question -> search) xN -> answer; decomposed: questions -> all searches at once -> answer"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="SA-1",
            original="where the search gives nothing the model writes the intermediate answer itself",
            effect="the answer may rest on what nobody found",
            here="the text says that nothing was found",
        ),
        Behaviour(
            id="SA-2",
            original="FOLK drops a reply whose first brackets hold neither label before it takes the score",
            effect="its macro-F1 of .5423, .4887, .5176 (HoVer, 2, 3, 4 hops) and .6094 (SciFact) are over the rest",
            here="the reply is asked for once more; then there is no label, which counts as wrong. Reports give the"
            " score with such claims dropped beside it",
        ),
        Behaviour(
            id="SA-3",
            original="FOLK's program aggregates, on HoVer, what was found for FOLK's own questions, and leaves the"
            " questions out of the context that its demonstrations show them in",
            effect="its rows compare the ways to aggregate, not the ways to ask",
            here="Self-Ask's own questions, shown with what was found for them",
        ),
        Behaviour(
            id="SA-4",
            original="FOLK's program knows SUPPORTED and NOT_SUPPORTED only",
            effect="on data sets with a label for what the evidence does not settle, which is never given",
            here="the same in both variants: such a claim is refuted; with --labels two nothing is lost",
        ),
    )

    def __init__(self, settings: SelfAskSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Who asks itself."""
        return (ASKER,)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Question by question, or all at once."""
        if self.settings.variant == "decomposed":
            return (WriteFollowUps, JudgeAnswers)
        return (AskFollowUp, ConcludeAsking)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """No question (decomposed: one); two; the most."""
        if self.settings.variant == "decomposed":
            return self._decomposed(1), self._decomposed(2), self._decomposed(MOST_QUESTIONS)
        most = self.settings.most_questions
        return self._interleaved(0), self._interleaved(min(2, most)), self._interleaved(most)

    def _interleaved(self, questions: int) -> Plan:
        last = questions == self.settings.most_questions
        calls = {"AskFollowUp": questions + (not last)} | ({"ConcludeAsking": 1} if last else {})
        return Plan(
            calls=calls,
            searches=dict.fromkeys(self.tools(), questions),
            call_depth=questions + 1,
            search_depth=questions,
        )

    def _decomposed(self, questions: int) -> Plan:
        return Plan(
            calls={"WriteFollowUps": 1, "JudgeAnswers": 1},
            searches=dict.fromkeys(self.tools(), questions),
            call_depth=2,
            search_depth=1,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Questions and searches, one after the other or all at once; the answer.

        Raises:
            UsageError: the label set does not say what is supported and what is not.
        """
        require_sides(claim.labels, "answers of SUPPORTED or NOT_SUPPORTED")
        asking = _Asking(self.settings, self.tools(), claim, run)
        try:
            answer = await (asking.decomposed() if self.settings.variant == "decomposed" else asking.interleaved())
        except BadReply as error:
            return asking.verdict(None, error.what)
        return asking.verdict(answer, answer.explanation)


class _Asking:
    """The questions of one claim."""

    def __init__(self, settings: SelfAskSettings, tools: tuple[str, ...], claim: Claim, run: Run) -> None:
        self.settings, self.tools, self.claim, self.run = settings, tools, claim, run
        self.asker = Agent(ASKER, run)
        self.asked: tuple[Grounded, ...] = ()
        self.round = 1

    async def interleaved(self) -> Aggregate:
        """One question after the other; each knows what was found for those before it."""
        settings = self.settings
        known = {"claim": self.claim, "demonstrations": demonstrations("self_ask"), "profile": settings.profile}
        while len(self.asked) < settings.most_questions:
            task = AskFollowUp(asked=self.asked, **known)
            said = await self.asker.perform(task, round_=self.round, temperature=settings.temperature)
            if not said.needed and said.answer:
                return Aggregate(explanation=said.explanation, quotes=said.quotes, answer=said.answer)
            self.run.emit(Spoke(agent=ASKER, round=self.round, text=said.question))
            self.asked += (await self._ground(said.question),)
            self.round += 1
        last = ConcludeAsking(asked=self.asked, **known)
        return await self.asker.perform(last, round_=self.round, temperature=settings.temperature)

    async def decomposed(self) -> Aggregate:
        """All questions, all searches at once, and what they come to."""
        profile, temperature = self.settings.profile, self.settings.temperature
        first = WriteFollowUps(claim=self.claim, demonstrations=questions_of(profile), profile=profile)
        wanted = await self.asker.perform(first, round_=1, temperature=temperature)
        self.run.emit(Spoke(agent=ASKER, round=1, text="\n".join(wanted.questions)))
        self.asked = tuple(await together(self._ground(each) for each in wanted.questions))
        task = JudgeAnswers(claim=self.claim, asked=self.asked, demonstrations=aggregates_of(profile), profile=profile)
        return await self.asker.perform(task, round_=1, temperature=temperature)

    async def _ground(self, question: str) -> Grounded:
        return await grounded(
            self.run, self.tools, question, self.settings.top_k, agent=ASKER, round_=self.round, claim=self.claim
        )

    def verdict(self, answer: Aggregate | None, reason: str) -> Verdict:
        """The verdict for an answer; without one it has no label."""
        label = side_label(self.claim.labels, answer.answer == "SUPPORTED") if answer else None
        side, passages = side_of(self.claim.labels, label), passages_of(self.asked)
        quotes = [find_quote(text, passages, side=side, agent=ASKER) for text in (answer.quotes if answer else ())]
        if answer:
            said = Answered(agent=ASKER, round=self.round, text=reason, label=label, quotes=tuple(quotes))
            self.run.emit(said)
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="reader",
            rounds=self.round,
            reason=reason,
            quotes=distinct(quotes),
            gaps=gaps(self.run.events),
        )


def questions_of(profile: Profile) -> str:
    """Four claims of our own with their questions."""
    return _shown("self_ask_questions", profile, lambda text: FollowUps(questions=questions_in(text)))


def aggregates_of(profile: Profile) -> str:
    """Four claims of our own with what was found for them, and their label."""
    return _shown("self_ask_aggregate", profile, _aggregate)


def _aggregate(text: str) -> Aggregate:
    return Aggregate(explanation=text.partition("reasons: ")[2], answer=bracketed(text))


def _shown(name: str, profile: Profile, read: Callable[[str], Frozen]) -> str:
    return shown(name, profile, read, before=f"\n{ANSWER_NEXT}\n", between=f"\n{NEXT_EXAMPLE}\n")
