"""FIRE: an agent that answers as soon as it is sure, and searches until then.

Xie et al., "FIRE: Fact-checking with Iterative Retrieval and Verification" (arXiv 2411.00784), and the authors' program
(mbzuai-nlp/fire).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from redargue.backends import Output
from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import QueryWritten
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, Method, SearchSettings
from redargue.methods.baselines.grounding import QueryResult, found_in, statement_vars
from redargue.methods.baselines.small_models import MOST_QUOTES, likelier_side, new_queries
from redargue.methods.verdict_parts import sent_back
from redargue.nli.backend import EmbeddedBackend, perform, quotes_of
from redargue.tasks.answer import Answer, Quotations, quotes_field
from redargue.tasks.base import Task, exactly_one, text_field
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.score import CompareTexts
from redargue.verdicts import Verdict


def _bool_to_text(value: object) -> object:
    return str(value) if isinstance(value, bool) else value


_REASONING = text_field("your reasoning, from the knowledge first: at most five sentences", 1_000, default="")


class FinalAnswer(Frozen):
    """Whether a statement is true."""

    reasoning: str = _REASONING
    quotes: Quotations = quotes_field("what you rely on, copied word for word from the knowledge")
    final_answer: Annotated[Literal["True", "False", "Open"], BeforeValidator(_bool_to_text)] = Field(
        description="whether the statement is true"
    )


class Move(Frozen):
    """The answer or the next query; the other one is empty."""

    model_config = exactly_one("final_answer", "search_query")

    reasoning: str = _REASONING
    quotes: Quotations = quotes_field("with an answer: what it rests on, copied word for word from the knowledge")
    final_answer: Annotated[Literal["True", "False", ""], BeforeValidator(_bool_to_text)] = Field(
        default="", description="whether the statement is true; empty with a query"
    )
    search_query: str = text_field("the next query; empty with an answer", LONGEST_QUERY, default="")


class _FromKnowledge(Frozen):
    claim: Claim
    results: tuple[QueryResult, ...] = ()


class GiveFinalAnswer(Task[FinalAnswer], _FromKnowledge):
    """FIRE's forced answer, once it searches no more; hardened, it may leave the statement open (FIRE-4)."""

    @property
    def may_be_open(self) -> bool:
        return self.profile == "hardened" and self.claim.labels.named(Meaning.NOT_ENOUGH) is not None

    def enum_fields(self) -> dict[str, tuple[str, ...]]:
        return {"final_answer": ("True", "False", "Open") if self.may_be_open else ("True", "False")}

    def template_vars(self) -> Mapping[str, object]:
        return {**statement_vars(self.claim, self.results, self.profile), "open": self.may_be_open}

    def validate_answer(self, answer: FinalAnswer) -> FinalAnswer:
        if answer.final_answer == "Open" and not self.may_be_open:
            raise ValueError("the final_answer is True or False")
        return answer


class SearchOrAnswer(Task[Move], _FromKnowledge):
    """FIRE's step: the answer where the agent is sure, else the next query."""

    diverse: bool = False  # asks for a query that differs from those before it
    unquoted: str = ""  # why its last answer was not accepted

    def template_vars(self) -> Mapping[str, object]:
        known = statement_vars(self.claim, self.results, self.profile)
        return {**known, "diverse": self.diverse, "unquoted": self.unquoted}

    def validate_answer(self, answer: Move) -> Move:
        """An answer wins over a query beside it, as in the authors' program."""
        query = "" if answer.final_answer else " ".join(answer.search_query.split())[:LONGEST_QUERY]
        if not query and not answer.final_answer:
            raise ValueError("the reply holds neither a final_answer nor a search_query")
        return answer.model_copy(update={"search_query": query})


CHECKER, COMPARER = "checker", "comparer"


class FireSettings(SearchSettings):
    """Settings of ``fire``; the defaults are the paper's, which uses Google's search."""

    max_steps: int = Field(default=5, ge=1, le=20)  # searches at most
    # consecutive queries, or results, after which the search ends if the newest resembles all others
    tolerance: int = Field(default=2, ge=2, le=20)
    similarity: float = Field(default=0.9, ge=-1, le=1)
    diverse_prompt: bool = False  # from the third step on, ask for a query that differs from those before it
    temperature: float = Field(default=0.5, ge=0, le=2)


class Fire(Method, name="fire", settings=FireSettings):
    """Answers when it is sure, else writes the next query; repetition ends the search (2411.00784)."""

    paper = "Xie et al., FIRE: Fact-checking with Iterative Retrieval and Verification, 2024, 2411.00784"
    graph = "(SearchOrAnswer -> CompareTexts | CompareTexts -> search) x5 -> GiveFinalAnswer"
    roles = {CHECKER: FROM_SETTINGS, COMPARER: None}
    asks = (SearchOrAnswer, CompareTexts, GiveFinalAnswer)

    settings: FireSettings

    async def check(self, claim: Claim, checker: Agent) -> Verdict:
        self.two_sides()
        self.results: list[QueryResult] = []
        self.unquoted = ""
        for step in range(1, self.settings.max_steps + 1):
            self.step = step
            try:
                output = await self.move(checker)
            except BadReply:
                break
            if output.answer.final_answer:
                if self.is_sent_back(output.answer):
                    continue
                return self.conclude(self.read(output), round_=step, decided_by="executor")
            query, self.unquoted = output.answer.search_query, ""
            self.run.emit(QueryWritten(agent=CHECKER, round=step, query=query))
            if await self.repeats(query):
                break
            passages = await checker.search(query, self.settings.top_k, round_=step)
            self.results.append(QueryResult(query=query, passages=passages))
        return await self.force_answer(checker)

    async def move(self, checker: Agent) -> Output[Move]:
        diverse = len(self.results) >= 2 and self.settings.diverse_prompt
        fields = {"results": tuple(self.results), "diverse": diverse, "unquoted": self.unquoted}
        task = self.task(SearchOrAnswer, **fields)
        (output,) = await checker.ask(task, round_=self.step, temperature=self.settings.temperature)
        return output

    def is_sent_back(self, move: Move) -> bool:
        """Whether steps are left for an answer that no quotation carries (hardened); it uses up its step."""
        if self.step == self.settings.max_steps:
            return False
        label = self.side_label(supported=move.final_answer == "True")
        passages = found_in(tuple(self.results))
        why = self.why_not_yet(label, move.quotes, passages)
        self.unquoted = sent_back(move.final_answer, why, can_search=True, has_read=bool(passages)) if why else ""
        return bool(why)

    async def repeats(self, query: str) -> bool:
        """Whether the new query resembles the last ones, or the last result those before it."""
        earlier = self.settings.tolerance - 1
        pairs: list[tuple[str, list[str]]] = []
        if len(self.results) >= earlier:
            pairs.append((query, [result.query for result in self.results[-earlier:]]))
        if len(self.results) > earlier:
            pairs.append((self.results[-1].text, [result.text for result in self.results[-earlier - 1 : -1]]))
        return any(await gather_or_cancel(self.is_like_all(text, others) for text, others in pairs))

    async def is_like_all(self, text: str, others: Sequence[str]) -> bool:
        task = CompareTexts(reference=text, texts=tuple(others), profile=self.settings.profile)
        similarities = await self.agents[COMPARER].perform(task, round_=self.step)
        return all(similarity > self.settings.similarity for similarity in similarities.values)

    async def force_answer(self, checker: Agent) -> Verdict:
        """The forced answer; no label where it cannot be read."""
        task = self.task(GiveFinalAnswer, results=tuple(self.results))
        try:
            (output,) = await checker.ask(task, round_=self.step + 1, temperature=self.settings.temperature)
            answer = self.read(output)
        except BadReply as error:
            answer = Answer(text=error.raw, label=None)
        return self.conclude(answer, round_=self.step + 1, decided_by="forced")

    def read(self, output: Output[Move] | Output[FinalAnswer]) -> Answer:
        reply = output.answer
        label = self.claim.labels.named(Meaning.NOT_ENOUGH)
        if reply.final_answer in ("True", "False"):
            label = self.side_label(supported=reply.final_answer == "True")
        return Answer(text=reply.reasoning or output.text, label=label, quotes=reply.quotes)

    def conclude(self, answer: Answer, *, round_: int, decided_by: str) -> Verdict:
        self.answered(CHECKER, answer, round_=round_, passages=found_in(tuple(self.results)))
        return self.verdict_of(answer, decided_by=decided_by, rounds=self.step)


_SURE = 0.6  # the probability of a side at which nothing more is searched for


@perform.register
def _search_or_answer(task: SearchOrAnswer, backend: EmbeddedBackend) -> Move:
    passages = found_in(task.results)
    reading = backend.reader.read(task.claim.text, passages)
    supports, refutes, _ = reading.probabilities()
    best = reading.best(Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED, MOST_QUOTES)
    query = next(new_queries(task.claim.text, best, {result.query for result in task.results}), None)
    sure = max(supports, refutes) >= _SURE and not task.unquoted
    if passages and (query is None or sure):
        factual, best, text = likelier_side(task.claim.text, passages, backend)
        return Move(reasoning=text, quotes=quotes_of(best), final_answer="True" if factual else "False")
    return Move(reasoning="What was read does not settle the claim yet.", search_query=query or task.claim.text[:300])


@perform.register
def _give_final_answer(task: GiveFinalAnswer, backend: EmbeddedBackend) -> FinalAnswer:
    factual, best, text = likelier_side(task.claim.text, found_in(task.results), backend)
    return FinalAnswer(reasoning=text, quotes=quotes_of(best), final_answer="True" if factual else "False")
