"""Factcheck-GPT: questions about a claim, the best snippets that each question finds, one verdict.

Wang et al., "Factcheck-Bench" (first "Factcheck-GPT", arXiv 2311.09000), and the authors' program
(yuxiaw/Factcheck-GPT). Claims are extracted from a document by ``redargue.text``; a document is true if all of its
claims are. What the original calls a page is a document in a tool's results.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redargue.claims import Claim
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import QueryWritten
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, SearchSettings
from redargue.methods.baselines.factcheck_gpt.snippets import Snippet, best, round_robin, snippets
from redargue.methods.baselines.factcheck_gpt.tasks import AskQuestions, JudgeWorthiness, StateStance
from redargue.methods.baselines.factuality import VERIFIER, CheckFactuality, FactualityMethod
from redargue.methods.few_shot import read_examples
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.score import CompareTexts, RateTexts
from redargue.verdicts import Verdict

ASKER, SEARCHER = "asker", "searcher"
UNWORTHY = "The claim states no fact that could be checked."


class FactcheckGptSettings(SearchSettings):
    """Settings of ``factcheck-gpt``; defaults are the paper's unless stated otherwise; it reads what Google finds."""

    # gives claims that are not worth checking no label; off by default, because a submitted claim is meant to be
    # checked
    check_worthiness: bool = False
    rounds: int = Field(default=2, ge=1, le=5)  # of questions
    questions: int = Field(default=5, ge=1, le=10)  # read per round; the paper has no limit
    question_temperature: float = Field(default=0.7, ge=0, le=2)
    # finds duplicate questions by cosines of an embedder, or by the ratings of a cross-encoder, as in the paper
    compared_by: Literal["embedding", "cross-encoder"] = "embedding"
    # at or above it two questions are duplicates; the paper uses .60, with its cross-encoder
    similarity: float = Field(default=0.9, ge=-1, le=1)
    top_k: int = Field(default=5, ge=1, le=50)  # documents per question and tool
    sentences: int = Field(default=5, ge=1, le=50)  # per snippet
    stride: int = Field(default=2, ge=1, le=50)  # sentences from the start of one snippet to the start of the next
    per_page: int = Field(default=3, ge=1, le=50)  # non-overlapping snippets per document and question
    per_question: int = Field(default=5, ge=1, le=50)  # snippets per question
    evidence: int = Field(default=5, ge=1, le=50)  # snippets shown to the verifier, taken from the questions in turns
    # the outcome of a verdict that cannot be read: no label, or what the stances of single snippets amount to, as in
    # the authors' program
    unparsed: Literal["none", "stance"] = "none"

    @property
    def comparison(self) -> type[CompareTexts]:
        return RateTexts if self.compared_by == "cross-encoder" else CompareTexts


class FactcheckGpt(FactualityMethod, name="factcheck-gpt", settings=FactcheckGptSettings):
    """Questions about the claim, the five best snippets of what they find, a verdict (2311.09000)."""

    profiles = {
        "paper": {"check_worthiness": True},
        "authors": {"profile": "paper", "check_worthiness": True, "unparsed": "stance"},
        "hardened": {},
    }
    paper = (
        "Wang et al., Factcheck-Bench: Fine-Grained Evaluation Benchmark for Automatic Fact-checkers, 2023, 2311.09000"
    )
    graph = (
        "[JudgeWorthiness ->] AskQuestions | AskQuestions -> CompareTexts | … -> (search -> RateTexts) | …"
        " -> CheckFactuality [-> StateStance | …]"
    )
    roles = {ASKER: None, SEARCHER: FROM_SETTINGS, VERIFIER: None}
    few_shot = True

    settings: FactcheckGptSettings

    async def check(self, claim: Claim, asker: Agent, searcher: Agent, verifier: Agent) -> Verdict:
        self.two_sides()
        if self.settings.check_worthiness and not await self.is_checkworthy(asker):
            self.answered(ASKER, Answer(text=UNWORTHY, label=None))
            return self.verdict(None, reason=UNWORTHY, decided_by="reader")
        questions = await self.without_duplicates(asker, await self.write_questions(asker))
        for question in questions:
            self.run.emit(QueryWritten(agent=SEARCHER, round=1, query=question))
        ranked = await gather_or_cancel(self.best_snippets(searcher, question) for question in questions)
        evidence = round_robin(ranked, self.settings.evidence)
        # Quotations are looked up in what the tools returned, not in the snippets.
        passages = tuple({snippet.passage.sha256: snippet.passage for snippet in evidence}.values())
        return self.conclude(await self.rate(verifier, tuple(map(Snippet.as_passage, evidence))), passages)

    async def is_checkworthy(self, asker: Agent) -> bool:
        """Whether the claim is worth checking; an unreadable reply counts as yes (FCG-1)."""
        try:
            judged = await asker.perform(JudgeWorthiness(claim=self.claim, profile=self.settings.profile))
        except BadReply:
            return True
        return judged.checkworthy == "Yes"

    async def write_questions(self, asker: Agent) -> tuple[str, ...]:
        """The questions of all rounds, each once; the claim itself where none can be read."""
        rounds = await gather_or_cancel(
            self.questions_of_round(asker, number) for number in range(self.settings.rounds)
        )
        questions = dict.fromkeys(question for questions in rounds for question in questions)
        return tuple(questions) or (self.claim.text[:LONGEST_QUERY],)

    async def questions_of_round(self, asker: Agent, number: int) -> tuple[str, ...]:
        task = AskQuestions(
            claim=self.claim,
            most=self.settings.questions,
            demonstrations=read_examples(__package__),
            profile=self.settings.profile,
            sample=number,
        )
        try:
            return (await asker.perform(task, temperature=self.settings.question_temperature)).questions
        except BadReply:
            return ()

    async def without_duplicates(self, asker: Agent, questions: tuple[str, ...]) -> list[str]:
        similarities = await gather_or_cancel(
            self.similarities(asker, question, questions[:place]) for place, question in enumerate(questions) if place
        )
        kept = [0]
        for place, similar in enumerate(similarities, 1):
            if all(similar[earlier] < self.settings.similarity for earlier in kept):
                kept.append(place)
        return [questions[place] for place in kept]

    async def similarities(self, asker: Agent, question: str, earlier: tuple[str, ...]) -> tuple[float, ...]:
        task = self.settings.comparison(reference=question, texts=earlier, profile=self.settings.profile)
        return (await asker.perform(task)).values

    async def best_snippets(self, searcher: Agent, question: str) -> list[Snippet]:
        settings = self.settings
        passages = await searcher.search(question, settings.top_k, round_=1)
        cut = [snippet for passage in passages for snippet in snippets(passage, settings.sentences, settings.stride)]
        if not cut:
            return []
        texts = tuple(snippet.titled_text for snippet in cut)
        task = RateTexts(reference=question, texts=texts, profile=settings.profile)
        ratings = (await searcher.perform(task, round_=1)).values
        return best(cut, ratings, per_page=settings.per_page, most=settings.per_question)

    async def rate(self, verifier: Agent, evidence: tuple[Passage, ...]) -> Answer:
        task = CheckFactuality(claim=self.claim, passages=evidence, profile=self.settings.profile)
        try:
            return self.read(await verifier.perform(task, round_=1))
        except BadReply as error:
            return Answer(text=error.raw, label=await self.label_unread(verifier, evidence))

    async def label_unread(self, verifier: Agent, evidence: tuple[Passage, ...]) -> str | None:
        """In the authors' program, correct if the stance of any snippet supports the claim, else incorrect (FCG-2)."""
        if self.settings.unparsed != "stance":
            return None
        stances = await gather_or_cancel(self.stance(verifier, passage) for passage in evidence)
        return self.label("support" in stances) if any(stances) else None

    async def stance(self, verifier: Agent, passage: Passage) -> str:
        """``support``, ``refute`` or ``irrelevant``; empty where the reply cannot be read."""
        task = StateStance(claim=self.claim, passage=passage, profile=self.settings.profile)
        try:
            return (await verifier.perform(task, round_=1)).stance
        except BadReply:
            return ""

    @classmethod
    def asks_for(cls, settings: FactcheckGptSettings) -> tuple[type[AnyTask], ...]:
        worthiness: tuple[type[AnyTask], ...] = (JudgeWorthiness,) if settings.check_worthiness else ()
        stance: tuple[type[AnyTask], ...] = (StateStance,) if settings.unparsed == "stance" else ()
        return (*worthiness, AskQuestions, settings.comparison, RateTexts, CheckFactuality, *stance)
