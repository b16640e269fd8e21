"""SAFE, the search-augmented factuality evaluator, which searches five times and then rates a statement.

Wei et al., "Long-form factuality in large language models" (arXiv 2403.18802), and the authors' program
(google-deepmind/long-form-factuality, ``eval/safe``). ``redargue.text`` splits a response into statements; this method
rates one statement. Our prompts omit the examples in the first two of the authors' prompts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Generic, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, Label, LabelSet, Meaning, readable
from redargue.errors import BadReply
from redargue.events import QueryWritten
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, Method, SearchSettings
from redargue.methods.baselines.grounding import QueryResult, found_in, statement_vars
from redargue.methods.baselines.small_models import MOST_QUOTES, new_queries, require_passages
from redargue.nli import claim_filter
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, EmbeddedBackend, cite, distinct_words, perform, quotes_of
from redargue.nli.reader import sentences
from redargue.tasks.answer import Answer, LabelledTask
from redargue.tasks.base import AnyTask, Out, Task, text_field
from redargue.tasks.query import LONGEST_QUERY, Query, QueryTask
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

SUPPORTED, NOT_SUPPORTED = "Supported", "Not Supported"
SUPPORT = LabelSet(
    name="support",
    labels=(
        Label(name=SUPPORTED, meaning=Meaning.SUPPORTED, description="the knowledge supports the statement"),
        Label(name=NOT_SUPPORTED, meaning=Meaning.REFUTED, description="the knowledge does not support the statement"),
    ),
)


_CODE_BLOCK = re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL)
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")


def _code_block(text: str) -> str | None:
    """Returns the content of the first code block on one line; None if there is no block."""
    block = _CODE_BLOCK.search(text)
    return " ".join(block.group(1).split()) if block else None


def _bracketed(text: str, *answers: str) -> list[str]:
    """Returns those of the answers that are in square brackets; punctuation in the brackets is ignored."""
    contents = {re.sub(r"[^\w\s]", "", match).strip() for match in _BRACKETS.findall(text)}
    return [answer for answer in answers if answer in contents]


class SelfContained(Frozen):
    """A statement that can be understood alone."""

    statement: str = text_field("the statement, self-contained", 1_000)


class Relevance(Frozen):
    """Whether a statement is relevant to the subject of its response."""

    reasoning: str = text_field("your reasoning", 600, default="")
    relevant: bool = Field(description="true if the statement is relevant")


class _StatementTask(Task[Out], Generic[Out]):
    """A task about a statement of a response."""

    claim: Claim

    def template_vars(self) -> Mapping[str, object]:
        return {
            "response": wrap_untrusted(self.claim.context),
            "statement": wrap_untrusted(self.claim.text, inline=True),
        }


class MakeSelfContained(_StatementTask[SelfContained]):
    """A statement, reworded so that it can be understood alone."""

    def parse_plain(self, text: str) -> SelfContained | None:
        statement = _code_block(text)
        return None if statement is None else SelfContained(statement=statement)

    def validate_answer(self, answer: SelfContained) -> SelfContained:
        if not re.search(r"\w", answer.statement):
            raise ValueError("the statement is empty")
        return SelfContained(statement=readable(answer.statement.strip()))


class CheckRelevance(_StatementTask[Relevance]):
    """Whether a statement is relevant to the subject of its response."""

    def parse_plain(self, text: str) -> Relevance | None:
        yes, no = ("Relevant", "Not Relevant") if self.profile == "hardened" else ("Foo", "Not Foo")
        answers = _bracketed(text, yes, no)
        if len(answers) > 1:
            raise ValueError(f"the reply contains both [{yes}] and [{no}]")
        return Relevance(reasoning=text.strip(), relevant=answers == [yes]) if answers else None


class WriteNextQuery(QueryTask):
    """The next query, for what is still unknown."""

    claim: Claim
    results: tuple[QueryResult, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        return statement_vars(self.claim, self.results, self.profile)

    def parse_plain(self, text: str) -> Query | None:
        """Reads the first code block; without one, the text is read like any other query."""
        query = _code_block(text)
        if query == "":
            raise ValueError("the code block is empty")
        return super().parse_plain(text) if query is None else Query(text=query[:LONGEST_QUERY])


class RateSupport(LabelledTask):
    """Whether the knowledge supports the statement, with the labels of ``SUPPORT``."""

    results: tuple[QueryResult, ...] = ()

    def template_vars(self) -> Mapping[str, object]:
        return statement_vars(self.claim, self.results, self.profile)

    def label_of(self, text: str) -> str | None:
        """Returns the label in square brackets, or on the last line if there is none; None if there are two."""
        rated = _bracketed(text, SUPPORTED, NOT_SUPPORTED)
        if rated:
            return rated[0] if len(rated) == 1 else None
        return self.chosen(text.strip().rpartition("\n")[2])


RATER = "rater"
IRRELEVANT = "The statement is not relevant to the subject of its response."


class SafeSettings(SearchSettings):
    """Settings of ``safe``; the defaults are the paper's for one claim, which uses Google's search."""

    max_steps: int = Field(default=5, ge=1, le=20)  # searches; all are made
    revise: bool = True  # makes a claim with a context self-contained first
    relevance: bool = False  # checks whether a claim is relevant to its context; an irrelevant claim gets no label
    # the claim's label for "Not Supported": the one for false claims, as in the paper's comparisons, or the one for not
    # enough evidence, if the label set has it
    not_supported: Literal["refuted", "not_enough"] = "refuted"
    temperature: float = Field(default=0.1, ge=0, le=2)


class Safe(Method, name="safe", settings=SafeSettings):
    """Always five searches, each for what is still unknown, then a rating as supported or not (2403.18802)."""

    profiles = {"paper": {"relevance": True}, "hardened": {"not_supported": "not_enough"}}
    paper = "Wei et al., Long-form factuality in large language models, 2024, arXiv 2403.18802"
    graph = "[MakeSelfContained -> CheckRelevance ->] (WriteNextQuery -> search) x5 -> RateSupport"
    roles = {RATER: FROM_SETTINGS}

    settings: SafeSettings

    async def check(self, claim: Claim, rater: Agent) -> Verdict:
        self.labels = self.labels_of_ratings()
        self.results: list[QueryResult] = []
        statement = await self.self_contained(rater)
        if not await self.is_relevant(rater, statement):
            return self.conclude(Answer(text=IRRELEVANT, label=None))
        statement = statement.model_copy(update={"labels": SUPPORT})
        for step in range(1, self.settings.max_steps + 1):
            about = {"claim": statement, "results": tuple(self.results)}
            query = await self.try_to_ask(rater, WriteNextQuery, round_=step, **about)
            if query is None:
                break
            self.run.emit(QueryWritten(agent=RATER, round=step, query=query.text))
            passages = await rater.search(query.text, self.settings.top_k, round_=step)
            self.results.append(QueryResult(query=query.text, passages=passages))
        return self.conclude(await self.rate(rater, statement))

    def labels_of_ratings(self) -> tuple[str, str]:
        supported, not_supported = self.two_sides()
        if self.settings.not_supported == "not_enough":
            not_supported = self.claim.labels.named(Meaning.NOT_ENOUGH) or not_supported
        return supported, not_supported

    async def self_contained(self, rater: Agent) -> Claim:
        """The claim reworded without its context; unchanged if it has none, or if the reply cannot be read."""
        if not (self.settings.revise and self.claim.context):
            return self.claim
        revised = await self.try_to_ask(rater, MakeSelfContained)
        return self.claim.model_copy(update={"text": revised.statement, "context": ""}) if revised else self.claim

    async def is_relevant(self, rater: Agent, statement: Claim) -> bool:
        """Whether the statement is relevant to the claim's context; True for a reply that cannot be read (SAFE-3)."""
        if not (self.settings.relevance and self.claim.context):
            return True
        in_context = statement.model_copy(update={"context": self.claim.context})
        checked = await self.try_to_ask(rater, CheckRelevance, claim=in_context)
        return checked is None or checked.relevant

    async def rate(self, rater: Agent, statement: Claim) -> Answer:
        about = {"claim": statement, "results": tuple(self.results)}
        try:
            rating = await self.ask(rater, RateSupport, round_=len(self.results) + 1, **about)
        except BadReply as error:
            return Answer(text=error.raw, label=None)
        supported, not_supported = self.labels
        return rating.model_copy(update={"label": supported if rating.label == SUPPORTED else not_supported})

    def conclude(self, answer: Answer) -> Verdict:
        searches = len(self.results)
        self.answered(RATER, answer, round_=searches + 1, passages=found_in(tuple(self.results)))
        return self.verdict_of(answer, confidence=None, decided_by=RATER, rounds=searches)

    @classmethod
    def asks_for(cls, settings: SafeSettings) -> tuple[type[AnyTask], ...]:
        optional: dict[type[AnyTask], bool] = {MakeSelfContained: settings.revise, CheckRelevance: settings.relevance}
        return (*(task for task, wanted in optional.items() if wanted), WriteNextQuery, RateSupport)


@perform.register
def _make_self_contained(task: MakeSelfContained, backend: EmbeddedBackend) -> SelfContained:
    """Replaces a leading pronoun if the context leaves no doubt about its referent."""
    (statement,) = claim_filter.claims((task.claim.text,), sentences(task.claim.context), embedder=backend.embedder)
    return SelfContained(statement=statement or task.claim.text)


@perform.register
def _check_relevance(task: CheckRelevance, backend: EmbeddedBackend) -> Relevance:
    """A statement is relevant if it shares a content word with the rest of its response."""
    rest = {word.lower() for word in distinct_words(task.claim.context.replace(task.claim.text, ""))}
    shared = [word for word in distinct_words(task.claim.text) if word.lower() in rest]
    return Relevance(reasoning=f"shared: {', '.join(shared) or 'no word'}", relevant=bool(shared))


@perform.register
def _write_next_query(task: WriteNextQuery, backend: EmbeddedBackend) -> Query:
    passages = found_in(task.results)
    best = backend.reader.read(task.claim.text, passages).best(Meaning.SUPPORTED, MOST_QUOTES)
    asked = {result.query for result in task.results}
    return Query(text=next(new_queries(task.claim.text, best, asked), task.claim.text[:300]))


@perform.register
def _rate_support(task: RateSupport, backend: EmbeddedBackend) -> Answer:
    """Supported if that is more probable than the other two together; raises BadReply without evidence."""
    passages = require_passages(found_in(task.results))
    reading = backend.reader.read(task.claim.text, passages)
    supports, refutes, neither = reading.probabilities()
    if supports > refutes + neither:
        meaning, opening = Meaning.SUPPORTED, CORRECT
    elif refutes >= neither:
        meaning, opening = Meaning.REFUTED, INCORRECT
    else:
        meaning, opening = Meaning.NOT_ENOUGH, OPEN
    label = SUPPORTED if meaning is Meaning.SUPPORTED else NOT_SUPPORTED
    best = reading.best(meaning, 1 if meaning is Meaning.NOT_ENOUGH else MOST_QUOTES)
    text = "\n".join([*map(cite, best), opening + " ".join(task.claim.text.split()), f"[{label}]"])
    return Answer(text=text, label=label, quotes=quotes_of(reading.decisive(best, meaning)))
