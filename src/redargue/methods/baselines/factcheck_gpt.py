"""Factcheck-GPT: questions about a claim, the best snippets of what each finds, one verdict.

Wang et al., "Factcheck-Bench" (first "Factcheck-GPT", arXiv 2311.09000), and the authors' program
(yuxiaw/Factcheck-GPT). Claims are taken out of a document elsewhere (``redargue.responses``), and a document is true
if all of them are; here is what becomes of one. A page is here a document of which a tool found something.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import Answered, QueryWritten
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.factool import VERIFIER, told
from redargue.methods.baselines.finding import distinct_texts, search_all
from redargue.methods.baselines.snippets import Snippet, best, round_robin, snippets
from redargue.methods.demonstrating import demonstrations
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.factuality import AskQuestions, CheckFactuality, FactualityCheck, JudgeWorthiness, StateStance
from redargue.tasks.querying import LONGEST_QUERY
from redargue.tasks.scoring import CompareTexts, RateTexts
from redargue.verdicts import Verdict

ASKER, SEARCHER = "asker", "searcher"
UNWORTHY = "The claim states no fact that could be checked."


class FactcheckGptSettings(Frozen):
    """Settings of ``factcheck-gpt``; the defaults are the paper's where nothing else is said.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: where the evidence comes from; the paper reads the pages that Google finds.
        check_worthiness: whether claims that are not worth it are left unchecked, without a label; off by default,
            because whoever gives a claim wants it checked.
        rounds: of questions.
        questions: of a round that are read; the paper has no bound.
        question_temperature: of the questions.
        compared_by: what says that two questions are one: cosines of an embedder, or the ratings of a cross-encoder, as
            in the paper; they are of use only with one that was made for questions (``REDARGUE_CROSS_ENCODER``).
        similarity: at which they are one; the paper's figure is .60, of its cross-encoder.
        top_k: documents a question and tool.
        sentences: of a snippet.
        stride: sentences from the beginning of a snippet to that of the next.
        per_page: snippets of a document a question, which do not overlap.
        per_question: snippets a question.
        evidence: snippets that are verified with, taken from the questions in turns.
        unparsed: what a verdict is that cannot be read: none, or what the stances of the single snippets make of it, as
            in the authors' program.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    check_worthiness: bool = False
    rounds: int = Field(default=2, ge=1, le=5)
    questions: int = Field(default=5, ge=1, le=10)
    question_temperature: float = Field(default=0.7, ge=0, le=2)
    compared_by: Literal["embedding", "cross-encoder"] = "embedding"
    similarity: float = Field(default=0.9, ge=-1, le=1)
    top_k: int = Field(default=5, ge=1, le=50)
    sentences: int = Field(default=5, ge=1, le=50)
    stride: int = Field(default=2, ge=1, le=50)
    per_page: int = Field(default=3, ge=1, le=50)
    per_question: int = Field(default=5, ge=1, le=50)
    evidence: int = Field(default=5, ge=1, le=50)
    unparsed: Literal["none", "stance"] = "none"


@methods.register("factcheck-gpt")
class FactcheckGpt:
    """Ask, search, rank, verify."""

    name: ClassVar[str] = "factcheck-gpt"
    about: ClassVar[str] = "questions about the claim, the five best snippets of what they find, a verdict (2311.09000)"
    options: ClassVar[type[Frozen]] = FactcheckGptSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"check_worthiness": True},
        "authors": {"profile": "paper", "check_worthiness": True, "unparsed": "stance"},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Wang et al., Factcheck-Bench: Fine-Grained Evaluation Benchmark for Automatic Fact-checkers, 2023, 2311.09000"
    )
    graph: ClassVar[str] = (
        "[JudgeWorthiness ->] AskQuestions | AskQuestions -> CompareTexts | … -> (search -> RateTexts) | …"
        " -> CheckFactuality [-> StateStance | …]"
    )
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="FCG-1",
            original="a claim whose worthiness cannot be read is worth checking",
            effect="none on labels: it is checked",
            here="the same",
        ),
        Behaviour(
            id="FCG-2",
            original="where three tries give no verdict, it is true if any single snippet supports it, else false",
            effect="labels where no verdict was given, most of them false",
            here="a verdict that cannot be read is sent back once and then is none; the profile 'authors' falls back,"
            " and gives no label where nothing was found or no stance can be read",
            setting="unparsed=stance",
        ),
        Behaviour(
            id="FCG-3",
            original="two questions are one at .60 of a cross-encoder made for duplicate questions",
            effect="how many questions are searched for",
            here="cosines of the embedder, at .9: a cross-encoder made for something else calls all of them one",
            setting="compared_by=cross-encoder,similarity=0.6",
        ),
        Behaviour(
            id="FCG-4",
            original="whole pages are fetched and cut up",
            effect="a snippet may stand where no search engine's excerpt is",
            here="what the tools give is cut up: of a corpus its chunks, of the web excerpts",
        ),
    )

    def __init__(self, settings: FactcheckGptSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings."""
        return tuple(dict.fromkeys(self.settings.tools))

    def agents(self) -> tuple[str, ...]:
        """Who asks, who searches and ranks, who verifies."""
        return (ASKER, SEARCHER, VERIFIER)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """What these settings ask of a backend."""
        worth: tuple[type[AnyTask], ...] = (JudgeWorthiness,) if self.settings.check_worthiness else ()
        stance: tuple[type[AnyTask], ...] = (StateStance,) if self.settings.unparsed == "stance" else ()
        return (*worth, AskQuestions, self._comparing(), RateTexts, CheckFactuality, *stance)

    def _comparing(self) -> type[CompareTexts]:
        return RateTexts if self.settings.compared_by == "cross-encoder" else CompareTexts

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """One question in all rounds, or nothing worth checking; three of four; as many as are read."""
        most = self.settings.rounds * self.settings.questions
        worth = self.settings.check_worthiness
        least = self._plan(1, 1)
        if worth:
            asked_by = {"JudgeWorthiness": (ASKER,)}
            least = Plan(calls={"JudgeWorthiness": 1}, searches={}, asked_by=asked_by, call_depth=1, search_depth=0)
        usual = self._plan(min(4, most), min(3, most))
        fallback = self.settings.evidence if self.settings.unparsed == "stance" else 0
        return least, usual, self._plan(most, most, stances=fallback)

    def _plan(self, written: int, kept: int, *, stances: int = 0) -> Plan:
        compared = written - 1
        calls = {"JudgeWorthiness": 1} if self.settings.check_worthiness else {}
        calls |= {"AskQuestions": self.settings.rounds, "RateTexts": kept, "CheckFactuality": 1}
        calls[self._comparing().name()] = calls.get(self._comparing().name(), 0) + compared
        calls |= {"StateStance": stances} if stances else {}
        return Plan(
            calls=calls,
            searches=dict.fromkeys(self.tools(), kept),
            asked_by=dict.fromkeys(calls, (ASKER,))
            | {"RateTexts": (SEARCHER,), "CheckFactuality": (VERIFIER,), "StateStance": (VERIFIER,)},
            call_depth=2 + int(self.settings.check_worthiness) + int(stances > 0),
            search_depth=1,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Verifies the claim.

        Raises:
            UsageError: the label set does not say what is true and what is not.
        """
        require_sides(claim.labels, "factcheck-gpt")
        return await _Check(self.settings, self.tools(), self._comparing(), claim, run).hold()


class _Check:
    def __init__(
        self,
        settings: FactcheckGptSettings,
        tools: tuple[str, ...],
        comparing: type[CompareTexts],
        claim: Claim,
        run: Run,
    ) -> None:
        self.settings, self.tools, self.comparing, self.claim, self.run = settings, tools, comparing, claim, run
        self.asker, self.searcher, self.verifier = Agent(ASKER, run), Agent(SEARCHER, run), Agent(VERIFIER, run)

    async def hold(self) -> Verdict:
        """From the claim to its verdict."""
        if not await self._worthy():
            self.run.emit(Answered(agent=ASKER, round=0, text=UNWORTHY, label=None))
            return Verdict(claim=self.claim, label=None, decided_by="reader", reason=UNWORTHY)
        questions = await self._distinct(await self._questions())
        for question in questions:
            self.run.emit(QueryWritten(agent=SEARCHER, round=1, query=question))
        ranked = await together(self._ranked(question) for question in questions)
        return await self._verify(round_robin(ranked, self.settings.evidence))

    async def _worthy(self) -> bool:
        if not self.settings.check_worthiness:
            return True
        try:
            judged = await self.asker.perform(JudgeWorthiness(claim=self.claim, profile=self.settings.profile))
        except BadReply:
            return True
        return judged.checkworthy == "Yes"

    async def _questions(self) -> tuple[str, ...]:
        """Of all rounds, each once; the claim itself where none can be read."""
        rounds = await together(self._round(number) for number in range(self.settings.rounds))
        return tuple(dict.fromkeys(each for asked in rounds for each in asked)) or (self.claim.text[:LONGEST_QUERY],)

    async def _round(self, number: int) -> tuple[str, ...]:
        task = AskQuestions(
            claim=self.claim,
            most=self.settings.questions,
            demonstrations=demonstrations("factcheck_gpt"),
            profile=self.settings.profile,
            sample=number,
        )
        try:
            asked = await self.asker.perform(task, temperature=self.settings.question_temperature)
        except BadReply:
            return ()
        return asked.questions

    async def _distinct(self, questions: tuple[str, ...]) -> list[str]:
        """Those that are no other question that is kept."""
        near = await together(
            self._near(question, questions[:place]) for place, question in enumerate(questions) if place
        )
        kept = [0]
        for place, similar in enumerate(near, 1):
            if all(similar[before] < self.settings.similarity for before in kept):
                kept.append(place)
        return [questions[place] for place in kept]

    async def _near(self, question: str, before: tuple[str, ...]) -> tuple[float, ...]:
        task = self.comparing(reference=question, texts=before, profile=self.settings.profile)
        return (await self.asker.perform(task)).values

    async def _ranked(self, question: str) -> list[Snippet]:
        """The best snippets of what a question finds."""
        found = await search_all(
            self.run, self.tools, question, self.settings.top_k, agent=SEARCHER, round_=1, claim=self.claim
        )
        cut = [each for passage in found for each in snippets(passage, self.settings.sentences, self.settings.stride)]
        if not cut:
            return []
        texts = tuple(f"{each.passage.title}. {each.text}" if each.passage.title else each.text for each in cut)
        task = RateTexts(reference=question, texts=texts, profile=self.settings.profile)
        ratings = (await self.searcher.perform(task, round_=1)).values
        return best(cut, ratings, per_page=self.settings.per_page, most=self.settings.per_question)

    async def _verify(self, chosen: tuple[Snippet, ...]) -> Verdict:
        shown = tuple(each.shown() for each in chosen)
        passages = distinct_texts(each.passage for each in chosen)  # quotations stand in what the tools gave
        task = CheckFactuality(claim=self.claim, passages=shown, profile=self.settings.profile)
        try:
            check = await self.verifier.perform(task, round_=1)
        except BadReply as error:
            factual = await self._by_stance(shown) if self.settings.unparsed == "stance" else None
            return told(self.claim, self.run, passages, factual, FactualityCheck(reasoning=error.raw, factuality=False))
        return told(self.claim, self.run, passages, check.factuality, check)

    async def _by_stance(self, shown: tuple[Passage, ...]) -> bool | None:
        """True if any snippet supports the claim, else false; None where no stance can be read."""
        stances = [each for each in await together(map(self._stance, shown)) if each]
        return any(each == "support" for each in stances) if stances else None

    async def _stance(self, passage: Passage) -> str:
        task = StateStance(claim=self.claim, passage=passage, profile=self.settings.profile)
        try:
            return (await self.verifier.perform(task, round_=1)).stance
        except BadReply:
            return ""
