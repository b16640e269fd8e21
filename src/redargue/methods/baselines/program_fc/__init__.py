"""ProgramFC: a model writes a program of questions and checks for a claim, which is executed line by line.

Pan et al. 2023, "Fact-Checking Complex Claims with Program-Guided Reasoning" (arXiv 2305.12744, Section 3). A program
is data: each line becomes a task, independent lines are executed concurrently, and nothing is run as Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply, UsageError
from redargue.events import Answered, QueryWritten, Spoke
from redargue.evidence import Passage, Quote, Side
from redargue.methods.agent import Agent
from redargue.methods.base import Method, Roles, SearchSettings
from redargue.methods.baselines.program_fc.program import Program, ProgramFunction, ProgramStep, parse_program
from redargue.methods.baselines.small_models import clauses_of, likeliest, quotes_for
from redargue.methods.setting_types import Word
from redargue.methods.verdict_parts import side_of
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.quotes import find_quotes
from redargue.tasks.answer import Quotations, quoted, quotes_field
from redargue.tasks.base import AnyTask, Profile, Task, text_field
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.sections import as_of, documents
from redargue.tasks.template import read_examples, with_json_replies
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

LONGEST_SPAN = 200  # characters of a short answer

Truth = Literal["true", "false", "impossible to say"]


class RecalledTruth(Frozen):
    """Whether a statement is true, without documents to quote."""

    verdict: Truth = Field(description="on the statement")


class TruthJudgement(Frozen):
    """Whether a statement is true."""

    quotes: Quotations = quotes_field("what you rely on, copied word for word")
    verdict: Truth = Field(description="on the statement")


_VERDICTS = {"true": "true", "yes": "true", "false": "false", "no": "false"} | dict.fromkeys(
    ("impossible to say", "it's impossible to say", "it is impossible to say"), "impossible to say"
)


def _answer_and_quotes(task: RecallFact | RecallAnswer, text: str) -> tuple[str, tuple[str, ...]]:
    """Returns a plain reply; if quotations were requested, its last line, and the quotations before it."""
    if not task.with_quotes or task.profile == "paper":
        return text, ()
    before, _, last = text.strip().rpartition("\n")
    return last, quoted(before)


_ANSWER_PREFIX = re.compile(r"^(?:the )?answer(?: is)?\s*:?\s+", re.IGNORECASE)


def _without_prefix(text: str) -> str:
    """Removes "The answer is:" and the marks around a short reply."""
    plain = " ".join(text.replace("’", "'").split()).strip(' *_`"')
    return _ANSWER_PREFIX.sub("", plain).strip(' *_`".')


class RecallFact(Task[TruthJudgement]):
    """Whether a statement is true, from the model's own knowledge (closed book)."""

    with_quotes: ClassVar[bool] = False

    statement: str  # its variables are replaced by answers, which come from untrusted texts

    def template_vars(self) -> Mapping[str, object]:
        statement = self.statement.rstrip(".") if self.profile == "paper" else self.statement
        return {"statement": wrap_untrusted(statement)}

    def requested_type(self) -> type[Frozen]:
        return TruthJudgement if self.with_quotes else RecalledTruth

    def parse_plain(self, text: str) -> TruthJudgement | None:
        if text.lstrip().startswith("{"):
            return None
        answer, quotes = _answer_and_quotes(self, text)
        verdict = _VERDICTS.get(_without_prefix(answer).casefold())
        if verdict is None:
            raise ValueError(f"{answer.strip()[:60]!r} is not one of True, False, impossible to say")
        return TruthJudgement.model_validate({"verdict": verdict, "quotes": quotes})


class VerifyFact(RecallFact):
    """Whether a statement is true, from documents (gold, open book)."""

    passages: tuple[Passage, ...] = ()
    claim: Claim | None = None  # of the program; hardened prompts state its date

    with_quotes: ClassVar[bool] = True

    def template_vars(self) -> Mapping[str, object]:
        return {**super().template_vars(), **_document_vars(self)}


_SPAN = text_field("the answer in a few words; empty if it cannot be said", LONGEST_SPAN)


class RecalledSpan(Frozen):
    """A short answer, without documents to quote."""

    text: str = _SPAN


class ProgramSpan(Frozen):
    """A short answer, such as a name, a date or a number; empty if the documents do not state it."""

    quotes: Quotations = quotes_field("what you rely on, copied word for word")
    text: str = _SPAN

    @field_validator("text")
    @classmethod
    def _require_short(cls, text: str) -> str:
        plain = " ".join(text.split())
        if len(plain) > LONGEST_SPAN:
            raise ValueError(f"an answer of {len(plain)} characters; a few words were asked for")
        return plain


class RecallAnswer(Task[ProgramSpan]):
    """A short answer to a question, from the model's own knowledge (closed book)."""

    with_quotes: ClassVar[bool] = False

    question: str  # its variables are replaced by answers, which come from untrusted texts

    def template_vars(self) -> Mapping[str, object]:
        return {"question": wrap_untrusted(self.question)}

    def requested_type(self) -> type[Frozen]:
        return ProgramSpan if self.with_quotes else RecalledSpan

    def parse_plain(self, text: str) -> ProgramSpan | None:
        if text.lstrip().startswith("{"):
            return None
        last, quotes = _answer_and_quotes(self, text)
        answer = _without_prefix(last)
        if not answer or len(answer) > LONGEST_SPAN:
            raise ValueError(f"{last.strip()[:60]!r} is not an answer in a few words")
        return ProgramSpan(text=answer, quotes=quotes)


class AnswerQuestion(RecallAnswer):
    """A short answer to a question, from documents (gold, open book)."""

    passages: tuple[Passage, ...] = ()
    claim: Claim | None = None  # of the program; hardened prompts state its date

    with_quotes: ClassVar[bool] = True

    def template_vars(self) -> Mapping[str, object]:
        return {**super().template_vars(), **_document_vars(self)}


def _document_vars(task: VerifyFact | AnswerQuestion) -> dict[str, object]:
    day = as_of(task.claim, task.profile) if task.claim else ""
    return {"document": documents(task.passages, task.profile), "as_of": day}


class WriteProgram(Task[Program]):
    """The program for a claim (Section 3.2)."""

    claim: Claim
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        text = " ".join(self.claim.text.split()) if self.profile == "paper" else self.claim.text
        return {
            "claim": wrap_untrusted(text, inline=True),
            "demonstrations": self.demonstrations.strip(),
            "variable": "{answer_1}",
        }

    def plain_example(self, reply: Program) -> str:
        return reply.lines

    def parse_plain(self, text: str) -> Program | None:
        return None if text.lstrip().startswith("{") else parse_program(text)


PROGRAMMER, QUESTIONER, VERIFIER = "programmer", "questioner", "verifier"
_MEANINGS = {"true": Meaning.SUPPORTED, "false": Meaning.REFUTED, "impossible to say": Meaning.NOT_ENOUGH}


class ProgramFCSettings(SearchSettings):
    """Settings of ``program-fc``."""

    # source of the evidence: the claim's context (``gold``), a search for each line (``open-book``), or none
    # (``closed-book``)
    setting: Literal["gold", "open-book", "closed-book"] = "open-book"
    # in the open-book setting, each is searched once per line; the paper uses BM25
    tools: tuple[Word, ...] = Field(default=("keywords",), min_length=1, max_length=8)
    top_k: int = Field(default=5, ge=1, le=50)  # passages per search and tool
    programs: int = Field(default=1, ge=1, le=25)  # programs per claim; the majority decides
    temperature: float = Field(default=0.7, ge=0, le=2)  # for writing several programs; a single one is written at 0
    # what "impossible to say" makes of a fact: false, as in the paper, or open if the label set has such a label
    not_supported: Literal["refuted", "not_enough"] = "not_enough"
    # the vote of a program that cannot be read or executed, and the value of a fact whose reply cannot be read: none,
    # or a random one, drawn with the run's seed
    unparsed: Literal["none", "random"] = "none"


class _Outcome(NamedTuple):
    """A program's vote, if any; ``reason`` is the program with its values, or why it failed."""

    vote: Meaning | None
    reason: str
    quotes: tuple[Quote, ...] = ()


class LineResult(NamedTuple):
    """An executed line.

    Attributes:
        text: the question or statement, with answers in place of variables.
        value: an answer, empty if none was found, or a verdict.
        problem: why the line has no value; empty if it has one.
    """

    name: str
    function: ProgramFunction
    text: str
    value: str
    quotes: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    problem: str = ""

    @property
    def line(self) -> str:
        return f'{self.name} = {self.function}("{self.text}")'


class ProgramFC(Method, name="program-fc", settings=ProgramFCSettings):
    """A program of questions and checks, executed line by line (ProgramFC, 2305.12744).

    Programs are written from the claim's text alone, because the context is the gold evidence in the paper. The small
    models write programs without questions, with one statement for each clause that can be checked alone. They cannot
    perform the closed-book setting.
    """

    profiles = {
        "paper": {"not_supported": "refuted"},
        "authors": {"profile": "paper", "not_supported": "refuted", "unparsed": "random"},
        "hardened": {},
    }
    paper = (
        "Pan, Wu, Lu, Luu, Wang, Kan, Nakov: Fact-Checking Complex Claims with Program-Guided Reasoning, ACL 2023"
        " (arXiv 2305.12744)"
    )
    graph = "each program concurrently: program -> (searches -> questions | facts) xN; then the vote"
    few_shot = True

    settings: ProgramFCSettings

    async def check(self, claim: Claim) -> Verdict:
        self.two_sides()
        if self.settings.setting == "gold" and not claim.context.strip():
            raise UsageError(
                f"no gold evidence: the claim {claim.text[:60]!r} has no context",
                hint="give it one, or search: setting=open-book",
            )
        outcomes = await gather_or_cancel(self.run_program(number) for number in range(1, self.settings.programs + 1))
        winner = majority_meaning([outcome.vote for outcome in outcomes])
        deciding = next((outcome for outcome in outcomes if outcome.vote is winner), outcomes[0])
        self.quotes += (quote for outcome in outcomes for quote in outcome.quotes)
        return self.verdict(
            self.label(winner),
            reason=deciding.reason,
            decided_by="vote" if len(outcomes) > 1 else "program",
            rounds=1,
            round_labels=(tuple(self.label(outcome.vote) for outcome in outcomes),),
        )

    async def run_program(self, number: int) -> _Outcome:
        try:
            program = await self.write_program(number)
        except BadReply as error:
            return _Outcome(self.vote_if_unreadable(number, "program"), f"program {number}: {error.what}")
        self.run.emit(Spoke(agent=PROGRAMMER, round=number, text=program.text))
        return await self.execute(program, number)

    async def write_program(self, number: int) -> Program:
        examples = program_examples(self.settings.profile)
        task = self.task(WriteProgram, demonstrations=examples, sample=number - 1)
        temperature = self.settings.temperature if self.settings.programs > 1 else 0.0
        return await self.agents[PROGRAMMER].perform(task, round_=number, temperature=temperature)

    async def execute(self, program: Program, number: int) -> _Outcome:
        """Executes a program level by level, the lines of a level concurrently (Section 3.3)."""
        values: dict[str, str] = {}
        facts: list[Meaning] = []
        quotes: list[Quote] = []
        for level in program.levels:
            steps = [(program.names[index], program.steps[index]) for index in level]
            results = await gather_or_cancel(self.execute_line(number, name, step, values) for name, step in steps)
            for result in results:
                if result.problem:
                    return _Outcome(self.vote_if_unreadable(number, "line"), result.problem)
                values[result.name] = result.value
                if result.function == "Question":
                    quotes += self.report_answer(number, result)
                else:
                    facts.append(self.meaning(result.value))
                    quotes += self.report_fact(number, result)
        assigned = (f"{name} is {values[name] or 'unknown'}" for name in program.names)
        return _Outcome(conjunction(facts), "\n".join([program.text, *assigned]), tuple(quotes))

    async def execute_line(self, number: int, name: str, step: ProgramStep, values: Mapping[str, str]) -> LineResult:
        """Executes one line; a line that refers to a missing answer is skipped."""
        is_question = step.function == "Question"
        text = " ".join(step.filled(values).split())
        result = LineResult(name, step.function, text, value="" if is_question else "impossible to say")
        if not all(values[reference] for reference in step.references):
            return result
        agent = self.agents[QUESTIONER if is_question else VERIFIER]
        passages = await self.evidence(agent, text, number)
        try:
            answer = await agent.perform(self.line_task(step.function, text, passages), round_=number)
        except BadReply as error:
            vote = None if is_question else self.vote_if_unreadable(number, name)
            if vote is None:
                return result._replace(problem=f"{result.line}: {error.what}")
            return result._replace(value="true" if vote is Meaning.SUPPORTED else "false")
        value = answer.text if isinstance(answer, ProgramSpan) else answer.verdict
        quotes = () if self.settings.setting == "closed-book" else answer.quotes
        return result._replace(value=value, quotes=quotes, passages=passages)

    def line_task(self, function: ProgramFunction, text: str, passages: tuple[Passage, ...]) -> Task[Any]:
        _, question, fact = self.asks_for(self.settings)
        task_type, field = (question, "question") if function == "Question" else (fact, "statement")
        fields: dict[str, object] = {field: text, "profile": self.settings.profile}
        if self.settings.setting != "closed-book":
            fields["passages"] = passages
            if self.settings.profile == "hardened":
                fields["claim"] = self.claim
        return task_type(**fields)

    async def evidence(self, agent: Agent, text: str, number: int) -> tuple[Passage, ...]:
        if self.settings.setting == "closed-book":
            return ()
        if self.settings.setting == "gold":
            return (Passage(text=self.claim.context),)
        query = text[:LONGEST_QUERY]
        self.run.emit(QueryWritten(agent=agent.name, round=number, query=query))
        return await agent.search(query, self.settings.top_k, round_=number)

    def report_answer(self, number: int, result: LineResult) -> tuple[Quote, ...]:
        self.run.emit(Spoke(agent=QUESTIONER, round=number, text=f"{result.line}\n{result.value or 'unknown'}"))
        return self.found(result, QUESTIONER)

    def found(self, result: LineResult, agent: str, side: Side = Side.CONTEXT) -> tuple[Quote, ...]:
        """A line's quotations, looked up in its passages."""
        found = (find_quotes(text, result.passages, side=side, agent=agent) for text in result.quotes)
        return tuple(chain.from_iterable(found))

    def report_fact(self, number: int, result: LineResult) -> tuple[Quote, ...]:
        label = self.label(self.meaning(result.value))
        quotes = self.found(result, VERIFIER, side_of(self.claim.labels, label))
        said = f"{result.line}\n{result.value}"
        self.run.emit(Answered(agent=VERIFIER, round=number, text=said, label=label, quotes=quotes))
        return quotes

    def meaning(self, verdict: str) -> Meaning:
        """What a fact's verdict means for the claim (PFC-6)."""
        meaning = _MEANINGS[verdict]
        can_stay_open = self.settings.not_supported == "not_enough" and self.claim.labels.named(meaning)
        return Meaning.REFUTED if meaning is Meaning.NOT_ENOUGH and not can_stay_open else meaning

    def label(self, meaning: Meaning | None) -> str | None:
        return self.claim.labels.named(meaning) if meaning else None

    def vote_if_unreadable(self, *what: object) -> Meaning | None:
        """Returns the vote for an unreadable reply, identified by ``what``; random in the authors' program (PFC-1)."""
        if self.settings.unparsed != "random":
            return None
        rng = self.rng("program-fc", self.claim.text, *map(str, what))
        return rng.choice((Meaning.SUPPORTED, Meaning.REFUTED))

    @classmethod
    def reads_evidence(cls, settings: ProgramFCSettings) -> bool:
        return settings.setting != "closed-book"

    @classmethod
    def roles_for(cls, settings: ProgramFCSettings) -> Roles:
        tools = settings.tools if settings.setting == "open-book" else None
        return {PROGRAMMER: None, QUESTIONER: tools, VERIFIER: tools}

    @classmethod
    def asks_for(cls, settings: ProgramFCSettings) -> tuple[type[AnyTask], ...]:
        if settings.setting == "closed-book":
            return (WriteProgram, RecallAnswer, RecallFact)
        return (WriteProgram, AnswerQuestion, VerifyFact)


def majority_meaning(votes: Sequence[Meaning | None]) -> Meaning | None:
    """Returns the meaning with the most votes; None without a vote.

    A tie that includes refuted is refuted (PFC-3); a tie of supported and not enough evidence is the latter.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts:
        return None
    if counts[Meaning.SUPPORTED] > max(counts[Meaning.REFUTED], counts[Meaning.NOT_ENOUGH]):
        return Meaning.SUPPORTED
    return Meaning.NOT_ENOUGH if counts[Meaning.NOT_ENOUGH] > counts[Meaning.REFUTED] else Meaning.REFUTED


def conjunction(facts: Collection[Meaning]) -> Meaning:
    """Returns the result of Predict: refuted if any fact is, otherwise open if any is, otherwise supported."""
    worst_first = (Meaning.REFUTED, Meaning.NOT_ENOUGH)
    return next((meaning for meaning in worst_first if meaning in facts), Meaning.SUPPORTED)


def program_examples(profile: Profile) -> str:
    """Returns twelve claims with their programs (the paper shows twenty)."""
    text = read_examples(__package__)
    if profile == "paper":
        return text
    examples = with_json_replies(text, parse_program, before="\ndef program():\n")
    return examples.replace("# The claim is that ", "Claim: ")


@perform.register
def _write_program(task: WriteProgram, backend: EmbeddedBackend) -> Program:
    """Writes a Verify step for each clause, and no questions, because small models cannot word them."""
    statements = (text.replace("{", "(").replace("}", ")") for text in clauses_of(task.claim))
    return Program(steps=tuple(ProgramStep(function="Verify", text=text) for text in statements))


@perform.register
def _verify_fact(task: VerifyFact, backend: EmbeddedBackend) -> TruthJudgement:
    reading = backend.reader.read(task.statement, task.passages)
    meaning = likeliest(reading)
    verdict = {Meaning.SUPPORTED: "true", Meaning.REFUTED: "false"}.get(meaning, "impossible to say")
    return TruthJudgement.model_validate({"verdict": verdict, "quotes": quotes_for(reading, meaning)})


@perform.register
def _answer_question(task: AnswerQuestion, backend: EmbeddedBackend) -> ProgramSpan:
    best = backend.reader.read(task.question, task.passages).best(Meaning.NOT_ENOUGH, 1)
    nearest = best[0].quote if best else ""
    return ProgramSpan(text=nearest if len(nearest) <= LONGEST_SPAN else "", quotes=(nearest,) if nearest else ())
