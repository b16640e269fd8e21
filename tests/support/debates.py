"""Scripts and tools for debates that tests hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim
from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.methods.base import ConfiguredMethod
from redargue.methods.dual_position.referees import SCORE_DIMENSIONS, Judgement, JudgeTeams
from redargue.methods.dual_position.tasks import (
    AnalyseText,
    Analysis,
    Rebut,
    SpeakForTeam,
    SummariseTeam,
    TeamQueries,
    TeamStatement,
    WriteTeamQueries,
)
from redargue.methods.markov_debate import GiveOpinion, Opinion
from redargue.methods.mermaid.tasks import DecomposeClaim, ForceAnswer, NextStep
from redargue.methods.one_pass import Answers, DoubtClaims, ReadClaims
from redargue.methods.pair import DoubtClaim
from redargue.methods.tool_mad import ToolMad
from redargue.methods.tool_mad.settings import ToolMadSettings
from redargue.methods.tool_mad.tasks import (
    AnswerCheck,
    Keywords,
    ScoreAnswer,
    SummariseAbstract,
    Summary,
    WriteKeywords,
)
from redargue.retrieval.tools import Search, Tool
from redargue.run import Run
from redargue.tasks.answer import Answer, AnswerClaim, Argument
from redargue.tasks.extract import Decomposition, Triplet
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import Query, RewriteQuery, WriteQuery
from redargue.tasks.score import (
    CheckedStatement,
    CheckedStatements,
    CheckStatements,
    CompareTexts,
    Question,
    Questions,
    RateTexts,
    Similarities,
    Statements,
    WriteQuestion,
    WriteQuestions,
    WriteStatements,
)
from redargue.tasks.step import Step, ToolCall
from redargue.verdicts import Verdict
from support import baselines

CLAIM = Claim(text="The lighthouse at Cape Ansel was lit in 1871.")


class FixedClock:
    """A clock that does not advance."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment

    def elapsed(self) -> float:
        return 0.0


CLOCK = FixedClock(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
TEXT = "The lighthouse at Cape Ansel was first lit in 1871. It stands on a granite reef."
QUOTE = "The lighthouse at Cape Ansel was first lit in 1871."


Script = dict[Any, Any]
JUDGED = Judgement(
    vote="affirmative",
    confidence=0.9,
    **{f"{side}_{each}": 0.5 for side in ("affirmative", "negative") for each in SCORE_DIMENSIONS},
)


class ShelfTool:
    """A tool with one shelf of passages; it fails where ``failing``."""

    revision = "1"

    def __init__(self, name: str, *passages: Passage, failing: bool = False) -> None:
        self.name, self.about = name, f"what {name} holds"
        self.passages, self.failing = passages or (Passage(text=TEXT, title="Cape Ansel"),), failing
        self.queries: list[str] = []
        self.searches: list[Search] = []

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        self.queries.append(query)
        self.searches.append(search)
        if self.failing:
            raise ToolFailed(f"{self.name} answered 503")
        return self.passages[:k]


class EmptyTool(ShelfTool):
    """A tool that finds nothing."""

    async def search(self, query: str, k: int, **given: Any) -> tuple[Passage, ...]:
        return ()


def answer(label: str | None, *quotes: str) -> Answer:
    """An answer with that label on its last line."""
    return Answer(text=f"Because of the document.\n**{label}**", label=label, quotes=quotes or (QUOTE,))


def script(**lines: Any) -> Script:
    """A script in which all agree at once with high scores; ``lines`` replaces parts by their task's name."""
    parts: Script = {
        WriteQuery: Query(text="first query"),
        RewriteQuery: lambda task, call: Query(text=f"{task.used} again"),
        AnswerClaim: answer("SUPPORTS"),
        DoubtClaim: answer("SUPPORTS"),
        **dict.fromkeys(
            (ReadClaims, DoubtClaims), lambda task, call: Answers(answers=(answer("SUPPORTS"),) * len(task.claims))
        ),
        WriteStatements: Statements(statements=("a", "b")),
        CheckStatements: checked(1, 1),
        WriteQuestion: Question(question="When was it lit?", noncommittal=0),
        WriteQuestions: Questions(
            questions=("When was it lit?", "Was it lit in 1871?", "What was lit?"), noncommittal=0
        ),
        CompareTexts: lambda task, call: Similarities(values=(0.9,) * len(task.texts)),
        RateTexts: lambda task, call: Similarities(values=(0.9,) * len(task.texts)),
        ScoreAnswer: AnswerCheck(
            statements=checked(1, 1).statements,
            questions=("When was it lit?", "Was it lit in 1871?", "What was lit?"),
        ),
        JudgeDebate: answer("REFUTES"),
        WriteKeywords: Keywords(keywords=("lighthouse", "Ansel")),
        SummariseAbstract: Summary(summary="In short: lit in 1871."),
        DecomposeClaim: Decomposition(
            triplets=(Triplet(subject="the lighthouse", relation="was lit in", object="1871"),)
        ),
        NextStep: lambda task, call: act("corpus", "lighthouse") if not task.steps else say_label(task, QUOTE),
        ForceAnswer: answer("REFUTES"),
        WriteTeamQueries: lambda task, call: TeamQueries(support="lighthouse lit", refute=f"{task.position} lit"),
        AnalyseText: Analysis(phrases="", common_sense="", bias="", language="", summary="plain words"),
        Rebut: Argument(text="They have no document.", quotes=(QUOTE,)),
        SummariseTeam: TeamStatement(text="We have a document.", quotes=(QUOTE,)),
        SpeakForTeam: TeamStatement(text="We have a document.", quotes=(QUOTE,)),
        JudgeTeams: JUDGED,
        GiveOpinion: Opinion(opinion="It says so.", factuality=True, severity=0, quotes=(QUOTE,)),
        **baselines.SCRIPT,
    }
    named = {part.__name__: part for part in parts}
    return {**parts, **{named[name]: line for name, line in lines.items()}}


def act(tool: str, text: str) -> Step:
    """A call of a tool."""
    return Step(thought="I have to look.", action=ToolCall(name=tool, reason="to read", input=text))


def say_label(task: NextStep, *quotes: str) -> Step:
    """The first label as an answer, with what every shelf has where nothing else is quoted."""
    return Step(thought="It says so.", answer=task.claim.labels.names[0], quotes=quotes or (QUOTE,))


def checked(*verdicts: int) -> CheckedStatements:
    """Verdicts on as many statements."""
    return CheckedStatements(
        statements=tuple(CheckedStatement(statement=f"s{i}", verdict=each) for i, each in enumerate(verdicts))
    )


async def debate(
    parts: Script, *, claim: Claim = CLAIM, tools: Mapping[str, ShelfTool] | None = None, **settings: Any
) -> tuple[Verdict, Run]:
    """Holds one debate with a scripted backend."""
    evidence: Mapping[str, Tool] = tools or {name: ShelfTool(name) for name in ("corpus", "keywords")}
    run = Run(ScriptedBackend(parts), evidence, clock=CLOCK)
    verdict = await ConfiguredMethod(ToolMad, ToolMadSettings(**settings)).verify(claim, run)
    return verdict, run
