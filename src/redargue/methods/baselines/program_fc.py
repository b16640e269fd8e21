"""ProgramFC: a claim becomes a program of questions and checks, and the program is executed line by line.

Pan et al. 2023, "Fact-Checking Complex Claims with Program-Guided Reasoning" (arXiv 2305.12744, Section 3). A program
is data: its lines are tasks, those that need nothing of each other are asked at once, and nothing is ever run as
Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import together
from redargue.errors import BadReply, UsageError
from redargue.events import Answered, Spoke
from redargue.evidence import Passage, Quote, find_quote
from redargue.methods.agent import Agent
from redargue.methods.base import Behaviour, Plan, methods, require_sides
from redargue.methods.baselines.finding import searched
from redargue.methods.baselines.sharing import chance
from redargue.methods.demonstrating import shown
from redargue.methods.verdict_parts import distinct, gaps, side_of
from redargue.run import Run
from redargue.tasks.base import AnyTask, Profile
from redargue.tasks.facts import AnswerQuestion, RecallAnswer, RecallFact, Span, TruthJudgement, VerifyFact
from redargue.tasks.programs import MOST_STEPS, Function, Program, WriteProgram, parse_program
from redargue.verdicts import Verdict

PROGRAMMER, QUESTIONER, VERIFIER = "programmer", "questioner", "verifier"
MEANINGS = {"true": Meaning.SUPPORTED, "false": Meaning.REFUTED, "impossible to say": Meaning.NOT_ENOUGH}


class ProgramFCSettings(Frozen):
    """Settings of ``program-fc``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        setting: where the evidence comes from: the claim's own context (``gold``), a search for every line
            (``open-book``), or nowhere (``closed-book``).
        tools: each is asked once a line, in the open-book setting; the paper's is BM25.
        top_k: passages a search.
        programs: how many are written and executed; the label is what most of them come to.
        temperature: at which several programs are written; a single one is written at 0.
        unsettled: what "impossible to say" makes of a fact: it is false, as in the paper, or it leaves the claim open
            where the label set has a label for that.
        unreadable: what becomes of a program that cannot be read or executed: no vote, or chance, drawn from the run's
            seed; so of a fact that is answered with neither yes nor no.
    """

    profile: Profile = "hardened"
    setting: Literal["gold", "open-book", "closed-book"] = "open-book"
    tools: tuple[str, ...] = Field(default=("keywords",), min_length=1, max_length=8)
    top_k: int = Field(default=5, ge=1, le=50)
    programs: int = Field(default=1, ge=1, le=25)
    temperature: float = Field(default=0.7, ge=0, le=2)
    unsettled: Literal["false", "not-enough"] = "not-enough"
    unreadable: Literal["no-vote", "random"] = "no-vote"


@methods.register("program-fc")
class ProgramFC:
    """A program, executed.

    It is written from the claim's text alone: in the paper, what the claim stands in is the gold evidence. The embedded
    backend plays it with programs that only verify: one statement for each clause of the claim that stands on its own.
    It has no short answers, and cannot play the closed-book setting, because it knows nothing by heart.
    """

    name: ClassVar[str] = "program-fc"
    about: ClassVar[str] = "a program of questions and checks, executed line by line (ProgramFC, 2305.12744)"
    options: ClassVar[type[Frozen]] = ProgramFCSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper", "unsettled": "false"},
        "authors": {"profile": "paper", "unsettled": "false", "unreadable": "random"},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Pan, Wu, Lu, Luu, Wang, Kan, Nakov: Fact-Checking Complex Claims with Program-Guided Reasoning, ACL 2023"
        " (arXiv 2305.12744)"
    )
    graph: ClassVar[str] = "each program at once: program -> (searches -> questions | facts) xN; then the vote"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="PFC-1",
            original="a check that is answered with neither true, false, yes nor no counts as true or false by chance",
            effect="labels, and the published figures with them, differ from run to run",
            here="the reply is asked for once more; then the program has no vote",
            setting="unreadable=random",
        ),
        Behaviour(
            id="PFC-2",
            original="a program that cannot be executed gets its label by chance",
            effect="as PFC-1",
            here="it has no vote; where none has one there is no label",
            setting="unreadable=random",
        ),
        Behaviour(
            id="PFC-3",
            original="a tie between several programs refutes the claim",
            effect="an even number of programs leans towards REFUTES",
            here="the same; what is supported as often as it is left open is left open",
        ),
        Behaviour(
            id="PFC-4",
            original="an argument of Predict that is no variable (\"fact_1 or fact_2\", \"not fact_1\") is passed over",
            effect="what it should have said counts as true",
            here="the program cannot be read, and is asked for once more",
        ),
        Behaviour(
            id="PFC-5",
            original="a program without Predict, or with lines after it, has no outcome, which the vote counts for"
            " neither side; alone it refutes",
            effect="an unfinished program lowers the score of SUPPORTS only",
            here="one without Predict cannot be read; what stands after Predict is not read",
        ),
        Behaviour(
            id="PFC-6",
            original="a check that is \"impossible to say\" is false",
            effect="what the evidence leaves open is refuted",
            here="it leaves the claim open where the label set has a label for that; else it is false",
            setting="unsettled=false",
        ),
        Behaviour(
            id="PFC-7",
            original="evidence of a line is cut after so many words (4,096 or 3,000, by version)",
            effect="on a model with a short memory only",
            here="passages are shown whole",
        ),
    )  # fmt: skip

    def __init__(self, settings: ProgramFCSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """Those of the settings, where the book is open."""
        return tuple(dict.fromkeys(self.settings.tools)) if self.settings.setting == "open-book" else ()

    def agents(self) -> tuple[str, ...]:
        """Who writes programs, answers questions, verifies facts."""
        return (PROGRAMMER, QUESTIONER, VERIFIER)

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """The program and its two kinds of lines."""
        if self.settings.setting == "closed-book":
            return (WriteProgram, RecallAnswer, RecallFact)
        return (WriteProgram, AnswerQuestion, VerifyFact)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Programs of one fact; of a question and two facts, one of which waits for it; of the longest chain."""
        return self._plan(0, 1, depth=1), self._plan(1, 2, depth=2), self._plan(MOST_STEPS - 1, 1, depth=MOST_STEPS)

    def _plan(self, questions: int, facts: int, *, depth: int) -> Plan:
        program, question, fact = (task.name() for task in self.tasks())
        each = self.settings.programs
        calls = {program: each, question: each * questions, fact: each * facts}
        return Plan(
            calls={name: count for name, count in calls.items() if count},
            searches=dict.fromkeys(self.tools(), each * (questions + facts)),
            asked_by={program: (PROGRAMMER,), question: (QUESTIONER,), fact: (VERIFIER,)},
            call_depth=1 + depth,
            search_depth=depth if self.tools() else 0,
        )

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Programs, executed; the label that most of them come to.

        Raises:
            UsageError: the label set has no two sides, or the claim no context where that is the evidence.
        """
        require_sides(claim.labels, "programs, which are true or false,")
        if self.settings.setting == "gold" and not claim.context.strip():
            raise UsageError(
                f"no gold evidence: the claim {claim.text[:60]!r} has no context",
                hint="give it one, or search: setting=open-book",
            )
        return await _Checking(self, claim, run).verdict()


def demonstrated(profile: Profile) -> str:
    """Twelve claims of our own with their programs (the paper has twenty)."""
    text = shown("program_fc", profile, parse_program, before="\ndef program():\n")
    return text if profile == "paper" else text.replace("# The claim is that ", "Claim: ")


class Outcome(NamedTuple):
    """What a program came to.

    Attributes:
        vote: what it says of the claim; None for no vote.
        reason: the program with its values, or why there are none.
        quotes: what its lines rest on.
    """

    vote: Meaning | None
    reason: str
    quotes: tuple[Quote, ...] = ()


def majority(votes: Sequence[Meaning | None]) -> Meaning | None:
    """What most votes say; without a vote, nothing.

    A tie with what refutes refutes (PFC-3); what is supported as often as it is left open is left open.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    supported, refuted, neither = (counts[each] for each in (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.NOT_ENOUGH))
    if not counts:
        return None
    if supported > max(refuted, neither):
        return Meaning.SUPPORTED
    return Meaning.NOT_ENOUGH if neither > refuted else Meaning.REFUTED


def conjunction(facts: Collection[Meaning]) -> Meaning:
    """What Predict says: refuted where one fact is; else open where one is; else supported."""
    worst = (Meaning.REFUTED, Meaning.NOT_ENOUGH)
    return next((each for each in worst if each in facts), Meaning.SUPPORTED)


class _Checking:
    """The check of one claim."""

    def __init__(self, method: ProgramFC, claim: Claim, run: Run) -> None:
        self.settings, self.tools, self.claim, self.run = method.settings, method.tools(), claim, run

    async def verdict(self) -> Verdict:
        """All programs at once, and the vote."""
        outcomes = await together(self._outcome(number) for number in range(1, self.settings.programs + 1))
        winner = majority([each.vote for each in outcomes])
        deciding = next((each for each in outcomes if each.vote is winner), outcomes[0])
        labels = [self.label(each.vote) for each in outcomes]
        return Verdict(
            claim=self.claim,
            label=self.label(winner),
            decided_by="executor",
            rounds=len(outcomes),
            round_labels=tuple((label,) for label in labels) if len(labels) > 1 else (),
            reason=deciding.reason,
            quotes=distinct([quote for each in outcomes for quote in each.quotes]),
            gaps=gaps(self.run.events),
        )

    async def _outcome(self, number: int) -> Outcome:
        """One program, written and executed; ``number`` is its round."""
        several = self.settings.programs > 1
        task = WriteProgram(
            claim=self.claim,
            demonstrations=demonstrated(self.settings.profile),
            profile=self.settings.profile,
            sample=number - 1,
        )
        programmer = Agent(PROGRAMMER, self.run)
        try:
            program = await programmer.perform(
                task, round_=number, temperature=self.settings.temperature if several else 0.0
            )
        except BadReply as error:
            return Outcome(self.chance(number, "program"), f"program {number}: {error.what}")
        self.run.emit(Spoke(agent=PROGRAMMER, round=number, text=program.text))
        return await _Execution(self, program, number).outcome()

    def meaning(self, verdict: str) -> Meaning:
        """What the truth of a fact says of the claim."""
        meaning = MEANINGS[verdict]
        if meaning is not Meaning.NOT_ENOUGH:
            return meaning
        left_open = self.settings.unsettled == "not-enough" and self.claim.labels.named(meaning)
        return meaning if left_open else Meaning.REFUTED  # PFC-6

    def label(self, meaning: Meaning | None) -> str | None:
        """The claim's label for what was found."""
        return self.claim.labels.named(meaning) if meaning else None

    def chance(self, *parts: object) -> Meaning | None:
        """What stands for a reply that cannot be read: nothing, or chance (PFC-1, PFC-2)."""
        if self.settings.unreadable == "no-vote":
            return None
        drawn = chance(self.run, "program-fc", self.claim.text, *map(str, parts))
        return drawn.choice((Meaning.SUPPORTED, Meaning.REFUTED))


class _Execution:
    """The execution of one program."""

    def __init__(self, check: _Checking, program: Program, number: int) -> None:
        self.check, self.program, self.number = check, program, number
        self.settings, self.claim, self.run = check.settings, check.claim, check.run
        self.values: dict[str, str] = {}  # of variables: answers and verdicts
        self.facts: list[Meaning] = []
        self.quotes: list[Quote] = []

    async def outcome(self) -> Outcome:
        """Level by level: lines that need nothing of each other are asked at once."""
        for level in self.program.levels:
            for said in await together(self._line(place) for place in level):
                if said.problem:
                    return Outcome(self.check.chance(self.number, "line"), said.problem)
                self._merge(said)
        values = (f"{name} is {self.values[name] or 'unknown'}" for name in self.program.names)
        return Outcome(conjunction(self.facts), "\n".join([self.program.text, *values]), tuple(self.quotes))

    def _merge(self, said: _Said) -> None:
        """Keeps what a line came to."""
        line = f'{said.name} = {said.function}("{said.text}")'
        self.values[said.name] = said.value
        if said.function == "Question":
            self.quotes += (find_quote(text, said.passages, agent=QUESTIONER) for text in said.quotes)
            self.run.emit(Spoke(agent=QUESTIONER, round=self.number, text=f"{line}\n{said.value or 'unknown'}"))
            return
        meaning = self.check.meaning(said.value)
        label = self.check.label(meaning)
        side = side_of(self.claim.labels, label)
        quotes = tuple(find_quote(text, said.passages, side=side, agent=VERIFIER) for text in said.quotes)
        self.quotes += quotes
        self.facts.append(meaning)
        text = f"{line}\n{said.value}"
        self.run.emit(Answered(agent=VERIFIER, round=self.number, text=text, label=label, quotes=quotes))

    async def _line(self, place: int) -> _Said:
        """Executes one line; one that needs an answer that was not found is not asked."""
        name, step = self.program.names[place], self.program.steps[place]
        question = step.function == "Question"
        text = " ".join(step.filled(self.values).split())
        said = _Said(name, step.function, text, value="" if question else "impossible to say")
        if not all(self.values[each] for each in step.references):
            return said
        agent = Agent(QUESTIONER if question else VERIFIER, self.run)
        passages = await self._evidence(agent.name, text)
        try:
            if question:
                span = await agent.perform(self._question(text, passages), round_=self.number)
                return said._replace(value=span.text, quotes=self._quoted(span), passages=passages)
            truth = await agent.perform(self._fact(text, passages), round_=self.number)
            return said._replace(value=truth.verdict, quotes=self._quoted(truth), passages=passages)
        except BadReply as error:
            drawn = None if question else self.check.chance(self.number, name)
            if drawn is None:
                return said._replace(problem=f'{name} = {step.function}("{text}"): {error.what}')
            return said._replace(value="true" if drawn is Meaning.SUPPORTED else "false")  # PFC-1

    def _question(self, text: str, passages: tuple[Passage, ...]) -> RecallAnswer:
        if self.settings.setting == "closed-book":
            return RecallAnswer(question=text, profile=self.settings.profile)
        return AnswerQuestion(question=text, passages=passages, profile=self.settings.profile)

    def _fact(self, text: str, passages: tuple[Passage, ...]) -> RecallFact:
        if self.settings.setting == "closed-book":
            return RecallFact(statement=text, profile=self.settings.profile)
        return VerifyFact(statement=text, passages=passages, profile=self.settings.profile)

    def _quoted(self, answer: Span | TruthJudgement) -> tuple[str, ...]:
        return () if self.settings.setting == "closed-book" else answer.quotes  # nothing was there to be quoted

    async def _evidence(self, agent: str, text: str) -> tuple[Passage, ...]:
        """The claim's context, what the tools find for the line, or nothing."""
        if self.settings.setting == "closed-book":
            return ()
        if self.settings.setting == "gold":
            return (Passage(text=self.claim.context),)
        settings, run = self.settings, self.run
        return await searched(
            run, self.check.tools, text, settings.top_k, agent=agent, round_=self.number, claim=self.claim
        )


class _Said(NamedTuple):
    """What a line came to.

    Attributes:
        name: its variable.
        function: what was done.
        text: with answers in the place of variables.
        value: the answer, empty where none was found; or the verdict.
        quotes: as the agent gave them.
        passages: that it was shown.
        problem: why there is no value.
    """

    name: str
    function: Function
    text: str
    value: str
    quotes: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    problem: str = ""
