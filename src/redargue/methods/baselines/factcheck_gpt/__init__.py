"""Factcheck-GPT: questions about a claim, the best snippets that each question finds, one verdict.

Wang et al., "Factcheck-Bench" (first "Factcheck-GPT", arXiv 2311.09000), and the authors' program
(yuxiaw/Factcheck-GPT). Claims are extracted from a document by ``redargue.text``; a document is true if all of its
claims are. What the original calls a page is a document in a tool's results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import QueryWritten
from redargue.evidence import Passage, distinct_passages
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, SearchSettings
from redargue.methods.baselines.factuality import VERIFIER, CheckFactuality, FactualityMethod, plain_texts
from redargue.methods.baselines.small_models import new_queries
from redargue.methods.gathering import merged
from redargue.nli import claim_filter
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.retrieval.corpus.documents import sentence_spans
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask, Task, list_bounds, text_field
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.score import CompareTexts, RateTexts
from redargue.tasks.sections import claim_section
from redargue.tasks.template import read_examples
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


class CheckingQuestions(Frozen):
    """What to ask in order to check a claim."""

    questions: tuple[str, ...] = Field(description="the questions", json_schema_extra=list_bounds(10, LONGEST_QUERY))


class Worthiness(Frozen):
    """Whether a claim is worth checking."""

    reasoning: str = text_field("your reasoning", 400, default="")
    checkworthy: Literal["Yes", "No"] = Field(description="Yes if it states a fact that can be checked")


class Stance(Frozen):
    """The relation of one piece of evidence to a claim."""

    reasoning: str = text_field("your reasoning", 400, default="")
    stance: Literal["support", "refute", "irrelevant"] = Field(description="how the evidence bears on the claim")


class JudgeWorthiness(Task[Worthiness]):
    """Factcheck-GPT: whether a claim is worth checking."""

    claim: Claim

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_section(self.claim, self.profile)}


class AskQuestions(Task[CheckingQuestions]):
    """Factcheck-GPT: questions that check a claim; asked repeatedly, each time as a new sample."""

    claim: Claim
    most: int = 5  # questions of the reply that are used
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_section(self.claim, self.profile), "demonstrations": self.demonstrations}

    def validate_answer(self, answer: CheckingQuestions) -> CheckingQuestions:
        return CheckingQuestions(questions=plain_texts(answer.questions, self.most))


class StateStance(Task[Stance]):
    """Factcheck-GPT: the stance of one piece of evidence; asked if the verdict on all evidence is unreadable."""

    claim: Claim
    passage: Passage

    def template_vars(self) -> Mapping[str, object]:
        evidence = self.passage.text if self.profile == "paper" else self.passage.shown_text
        return {"claim": claim_section(self.claim, self.profile), "evidence": wrap_untrusted(evidence)}


# Snippets: runs of sentences, the best of each document, taken from several questions in turns.


class Snippet(NamedTuple):
    """A part of a passage: ``text == passage.text[start:end]``."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def titled_text(self) -> str:
        return f"{self.passage.title}. {self.text}" if self.passage.title else self.text

    @property
    def page(self) -> str:
        return self.passage.document or self.passage.url or self.passage.sha256

    def overlaps(self, other: Snippet) -> bool:
        apart = other.passage.start - self.passage.start
        return self.page == other.page and self.start < apart + other.end and apart + other.start < self.end

    def as_passage(self) -> Passage:
        """The snippet as a passage with its own place in the document."""
        return self.passage.part(self.start, self.end)


def snippets(passage: Passage, sentences: int, stride: int) -> Iterator[Snippet]:
    """Runs of ``sentences`` sentences, one every ``stride``; the last one ends where the passage does."""
    spans = list(sentence_spans(passage.text))
    for first in range(0, len(spans), stride):
        run = spans[first : first + sentences]
        yield Snippet(passage, run[0][0], run[-1][1])
        if first + sentences >= len(spans):
            return


def best(cut: Sequence[Snippet], ratings: Sequence[float], *, per_page: int, most: int) -> list[Snippet]:
    """The ``most`` best rated, at most ``per_page`` per document, without overlaps; among equals the first."""
    kept: list[Snippet] = []
    pages: Counter[str] = Counter()
    for place in sorted(range(len(cut)), key=lambda place: -ratings[place]):
        snippet = cut[place]
        if pages[snippet.page] < per_page and not any(map(snippet.overlaps, kept)):
            kept.append(snippet)
            pages[snippet.page] += 1
    return kept[:most]


def round_robin(ranked: Sequence[Sequence[Snippet]], most: int) -> tuple[Snippet, ...]:
    """The first of each question, then the second, and so on, each text once."""
    chosen: dict[str, Snippet] = {}
    for snippet in merged(ranked):
        chosen.setdefault(snippet.text, snippet)
    return tuple(chosen.values())[:most]


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
            return self.verdict(None, reason=UNWORTHY, decided_by=ASKER)
        questions = await self.without_duplicates(asker, await self.write_questions(asker))
        for question in questions:
            self.run.emit(QueryWritten(agent=SEARCHER, round=1, query=question))
        ranked = await gather_or_cancel(self.best_snippets(searcher, question) for question in questions)
        evidence = round_robin(ranked, self.settings.evidence)
        # Quotations are looked up in what the tools returned, not in the snippets.
        passages = distinct_passages(snippet.passage for snippet in evidence)
        return self.conclude(await self.rate(verifier, tuple(map(Snippet.as_passage, evidence))), passages)

    async def is_checkworthy(self, asker: Agent) -> bool:
        """Whether the claim is worth checking; an unreadable reply counts as yes (FCG-1)."""
        judged = await self.try_to_ask(asker, JudgeWorthiness)
        return judged is None or judged.checkworthy == "Yes"

    async def write_questions(self, asker: Agent) -> tuple[str, ...]:
        """The questions of all rounds, each once; the claim itself where none can be read."""
        rounds = await gather_or_cancel(
            self.questions_of_round(asker, number) for number in range(self.settings.rounds)
        )
        questions = dict.fromkeys(question for questions in rounds for question in questions)
        return tuple(questions) or (self.claim.text[:LONGEST_QUERY],)

    async def questions_of_round(self, asker: Agent, number: int) -> tuple[str, ...]:
        fields = {"most": self.settings.questions, "demonstrations": read_examples(__package__), "sample": number}
        task = self.task(AskQuestions, **fields)
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

    async def label_unread(self, verifier: Agent, passages: tuple[Passage, ...]) -> str | None:
        """In the authors' program, correct if the stance of any snippet supports the claim, else incorrect (FCG-2)."""
        if self.settings.unparsed != "stance":
            return None
        asking = (self.try_to_ask(verifier, StateStance, round_=1, passage=passage) for passage in passages)
        stances = [stated.stance for stated in await gather_or_cancel(asking) if stated]
        return self.side_label(supported="support" in stances) if stances else None

    @classmethod
    def asks_for(cls, settings: FactcheckGptSettings) -> tuple[type[AnyTask], ...]:
        worthiness: tuple[type[AnyTask], ...] = (JudgeWorthiness,) if settings.check_worthiness else ()
        stance: tuple[type[AnyTask], ...] = (StateStance,) if settings.unparsed == "stance" else ()
        return (*worthiness, AskQuestions, settings.comparison, RateTexts, CheckFactuality, *stance)


@perform.register
def _judge_worthiness(task: JudgeWorthiness, backend: EmbeddedBackend) -> Worthiness:
    """A question, which some label sets answer, is worth checking; of other sentences the claim filter decides."""
    text = task.claim.text.strip()
    worthy = text.endswith("?") or claim_filter.statement(text, backend.embedder) is not None
    return Worthiness(checkworthy="Yes" if worthy else "No")


@perform.register
def _ask_questions(task: AskQuestions, backend: EmbeddedBackend) -> CheckingQuestions:
    """The claim itself in the first round, its content words and its parts in the next."""
    every = tuple(new_queries(task.claim.text, (), ()))
    return CheckingQuestions(questions=(every[1:] if task.sample and every[1:] else every[:1])[: task.most])


@perform.register
def _state_stance(task: StateStance, backend: EmbeddedBackend) -> Stance:
    supports, refutes, neither = backend.reader.read(task.claim.text, (task.passage,)).probabilities()
    side: Literal["support", "refute"] = "support" if supports >= refutes else "refute"
    return Stance(stance=side if max(supports, refutes) > neither else "irrelevant")
