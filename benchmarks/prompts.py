"""Replies of a small real model to the prompts: read at first, after repair or not, and which labels follow.

Sixty written cases, each a claim with a short document and one obvious answer: twenty supported, twenty refuted, twenty
that the document does not settle. An instruction that confuses a small model is a bad instruction.

    python -m benchmarks prompts --model FILE.gguf [--tasks A,B] [--cases N] [--forms plain,json,schema]

Runs the model with :mod:`benchmarks.real`, or asks the endpoint of ``--url``, for instance a llama-server that was
built for this machine's processor. The hardened prompts are sent as in a run, and an unreadable reply is sent back
once. Decoding is greedy. Replies are kept in the file of ``--replies``: a measurement that was interrupted is resumed,
and counted again without the model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

import redargue.api  # noqa: F401  (loads every task)
from benchmarks.real import KeptReplies, model_file, served
from redargue.backends import Call, Sampling
from redargue.claims import TWO, Claim
from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.methods.base import methods
from redargue.methods.baselines.fire import GiveFinalAnswer, SearchOrAnswer
from redargue.methods.baselines.grounding import QueryResult
from redargue.methods.dual_position.referees import EMPHASES, JudgeTeams
from redargue.methods.dual_position.tasks import Position, SpeakForTeam, Speech, TeamStatement, WriteTeamQueries
from redargue.methods.markov_debate import GiveOpinion
from redargue.methods.mermaid.tasks import DecomposeClaim, ForceAnswer, NextStep
from redargue.methods.one_pass import Answers, ReadClaims
from redargue.methods.tool_mad.tasks import ScoreAnswer
from redargue.methods.verdict_parts import why_unquoted
from redargue.net.transport import Service, Transport
from redargue.retrieval.tools import SearchAction
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.judge import JudgeDebate, Turn
from redargue.tasks.query import OtherAnswer, RewriteQuery, WriteQuery
from redargue.tasks.score import CheckStatements, WriteQuestion, WriteStatements
from redargue.tasks.step import ActionTool, PastStep, ToolCall

CASES = Path(__file__).with_name("prompt_cases.jsonl")
LONGEST_REPLY = 600  # tokens
MAIN = (  # tasks of the main methods; LastStep is MERMAID's NextStep without tools
    "AnswerClaim,RewriteQuery,ScoreAnswer,JudgeDebate,DecomposeClaim,NextStep,LastStep,ForceAnswer,"
    "WriteTeamQueries,SpeakForTeam,JudgeTeams"
)
TIMEOUT = 300.0  # seconds of one reply
SLOTS = 4  # requests that are answered concurrently: one read of the weights serves them all
WORDS = {True: "SUPPORTS", False: "REFUTES"}


class Case(NamedTuple):
    """A claim, the document that settles it or does not, and the label that follows."""

    title: str
    text: str
    claim: str
    label: str

    @property
    def passage(self) -> Passage:
        return Passage(title=self.title, text=self.text)

    def of(self, two: bool = False) -> Claim:
        return Claim(text=self.claim, labels=TWO) if two else Claim(text=self.claim)


class Asked(NamedTuple):
    """How a task is asked about a case, and which label its answer gives; None: no label, ``""``: none is due."""

    task: Callable[[Case], AnyTask]
    label: Callable[[Any], str | None] | None = None
    two: bool = False  # whether it has no label for a claim that is not settled


def _answers(case: Case) -> tuple[Answer, Answer]:
    """The right answer, and a wrong one."""
    labels = case.of().labels.names
    wrong = labels[(labels.index(case.label) + 1) % len(labels)]
    first, second = (
        Answer(text=f"The document is about {case.title}.\n**{label}**", label=label) for label in (case.label, wrong)
    )
    return first, second


def _debate(case: Case) -> AnyTask:
    turns = [
        Turn(agent=agent, round=1, query=case.claim, passages=(case.passage,), answer=answer)
        for agent, answer in zip(("corpus", "keywords"), _answers(case), strict=True)
    ]
    return JudgeDebate(claim=case.of(), history=tuple(turns), scores=())


def _rewritten(case: Case) -> AnyTask:
    right, wrong = _answers(case)
    other = OtherAnswer(agent="keywords", text=wrong.text)
    search: dict[str, Any] = {"tool": "corpus", "about": "a collection of documents", "used": case.claim}
    return RewriteQuery(
        claim=case.of(), others=(other,), found=(case.title,), own=right.text, must_revise=True, **search
    )


def _scored(case: Case) -> AnyTask:
    answer = f"Document 1 says: {case.text}"
    return ScoreAnswer(claim=case.of(), label=case.label, answer=answer, passages=(case.passage,))


def _speech(case: Case, position: Position) -> Speech:
    """What a team says that has read the document: it quotes it, and concedes where it does not carry the view."""
    carries = case.label == {"affirmative": "SUPPORTS", "negative": "REFUTES"}[position]
    said = TeamStatement(text=f'The document says: "{case.text}"', quotes=(case.text,), concedes=not carries)
    return Speech(position=position, round=1, argument=said, verified=(case.passage,))


def _judged(case: Case) -> AnyTask:
    speeches = _speech(case, "affirmative"), _speech(case, "negative")
    return JudgeTeams(claim=case.of(), referee="factual", emphasis=EMPHASES["factual"], speeches=speeches)


def _voted(judgement: Any) -> str | None:
    return {"affirmative": "SUPPORTS", "negative": "REFUTES", "tie": "NOT ENOUGH INFO"}.get(judgement.vote)


def _spoken(case: Case) -> AnyTask:
    return SpeakForTeam(claim=case.of(), position="affirmative", passages=(case.passage,))


def _conceded(statement: Any) -> str:
    return "REFUTES" if statement.concedes else "SUPPORTS"


def _step(case: Case) -> AnyTask:
    about = "a collection of documents"
    tool = ActionTool(name="corpus", about=about, parameters=dict(SearchAction.parameters), built_in=True)
    return NextStep(claim=case.of(), tools=(tool,), steps=_searched(case), step=2)


def _last_step(case: Case) -> AnyTask:
    return NextStep(claim=case.of(), steps=_searched(case), step=5)


def _searched(case: Case) -> tuple[PastStep, ...]:
    call = ToolCall(name="corpus", reason="to read about it", input=case.claim)
    return (PastStep(thought="I search for it.", action=call, passages=(case.passage,)),)


def _results(case: Case) -> tuple[QueryResult, ...]:
    return (QueryResult(query=case.claim, passages=(case.passage,)),)


def _verdict(answer: Any) -> str | None:
    return "SUPPORTS" if all(statement.verdict for statement in answer.statements) else "REFUTES"


@cache
def _cases() -> list[Case]:
    return [Case(**json.loads(line)) for line in CASES.read_text(encoding="utf-8").splitlines()]


def _among_others(case: Case) -> AnyTask:
    """The case as the third of five claims, with the documents of all five."""
    at, known = _cases().index(case), _cases()
    five = [known[(at + step) % len(known)] for step in (-2, -1, 0, 1, 2)]
    return ReadClaims(claims=tuple(each.of() for each in five), passages=tuple(each.passage for each in five))


TASKS: dict[str, Asked] = {
    "ReadClaims": Asked(_among_others, lambda a: a.label),
    "AnswerClaim": Asked(lambda c: AnswerClaim(claim=c.of(), passages=(c.passage,)), lambda a: a.label),
    "NextStep": Asked(_step, lambda a: a.answer),
    "LastStep": Asked(_last_step, lambda a: a.answer),
    "ForceAnswer": Asked(lambda c: ForceAnswer(claim=c.of(), steps=_searched(c)), lambda a: a.label),
    "GiveOpinion": Asked(
        lambda c: GiveOpinion(claim=c.of(), part="judge", passages=(c.passage,)),
        lambda a: WORDS[a.factuality],
        two=True,
    ),
    "JudgeDebate": Asked(_debate, lambda a: a.label),
    "CheckStatements": Asked(lambda c: CheckStatements(context=c.text, statements=(c.claim,)), _verdict, two=True),
    "SearchOrAnswer": Asked(
        lambda c: SearchOrAnswer(claim=c.of(), results=_results(c)),
        lambda a: {"True": "SUPPORTS", "False": "REFUTES"}.get(a.final_answer),
        two=True,
    ),
    "GiveFinalAnswer": Asked(
        lambda c: GiveFinalAnswer(claim=c.of(), results=_results(c)),
        lambda a: {"True": "SUPPORTS", "False": "REFUTES"}[a.final_answer],
        two=True,
    ),
    "WriteQuery": Asked(lambda c: WriteQuery(claim=c.of(), tool="corpus", about="a collection of documents")),
    "DecomposeClaim": Asked(lambda c: DecomposeClaim(claim=c.of())),
    "WriteStatements": Asked(lambda c: WriteStatements(question=c.claim, answer=f"{c.text} So the claim is right.")),
    "WriteQuestion": Asked(lambda c: WriteQuestion(response=c.text)),
    "RewriteQuery": Asked(_rewritten),
    "ScoreAnswer": Asked(_scored),
    "WriteTeamQueries": Asked(lambda c: WriteTeamQueries(claim=c.of(), position="negative")),
    "SpeakForTeam": Asked(_spoken, _conceded, two=True),
    "JudgeTeams": Asked(_judged, _voted),
}


class Counts(NamedTuple):
    """Of one task in one form: replies that were read at first, after repair, and not; labels that follow.

    ``quoting``: replies with quotations; ``located``: those of them with one that the document contains.
    """

    task: str
    form: str
    cases: int
    read: int
    repaired: int
    lost: int
    follow: int | None
    quoting: int
    located: int
    tokens: int
    unread: tuple[str, ...]


async def measure(name: str, form: str, cases: list[Case], transport: Transport, url: str) -> Counts:
    """Asks for one task in one form about all cases."""
    asked, service = TASKS[name], Service(name="model", url=url, timeout=TIMEOUT)
    backend = ChatBackend(transport, service, "real", form=form, max_tokens=LONGEST_REPLY)
    calls = [Call(agent="bench", sampling=Sampling(temperature=0.0, max_tokens=LONGEST_REPLY)) for _ in cases]
    replies: list[Any] = [None] * len(cases)
    read = repaired = lost = follow = quoting = located = 0
    unread = []

    async def ask(place: int) -> None:
        async with slots:
            try:
                replies[place] = await backend.perform(asked.task(cases[place]), calls[place])
            except BadReply as error:
                replies[place] = error

    slots = asyncio.Semaphore(SLOTS)
    await asyncio.gather(*(ask(place) for place in range(len(cases))))
    for case, reply in zip(cases, replies, strict=True):
        if isinstance(reply, BadReply):
            lost += 1
            unread.append(reply.what)
            continue
        read += not reply.rejected
        repaired += bool(reply.rejected)
        unread += [rejected.why for rejected in reply.rejected]
        answer = reply.outputs[0].answer
        if isinstance(answer, Answers):
            answer = answer.answers[2]
        if quotes := getattr(answer, "quotes", ()):
            quoting += 1
            located += not why_unquoted(quotes, (case.passage,))
        label = asked.label(answer) if asked.label else None
        follow += label == case.label or (asked.two and label == "REFUTES" and case.label == "NOT ENOUGH INFO")
    followed = follow if asked.label else None
    tokens = sum(call.account.prompt_tokens for call in calls)
    mean = tokens // len(cases)
    return Counts(name, form, len(cases), read, repaired, lost, followed, quoting, located, mean, tuple(unread))


async def _all(options: argparse.Namespace, cases: list[Case], model: Path | None) -> None:
    with ExitStack() as running:
        url = options.url or "http://127.0.0.1:9/v1"
        if model and not options.url:
            url = running.enter_context(served(model, context=4096, slots=SLOTS))
        inner = httpx2.AsyncHTTPTransport() if model or options.url else None
        asked = options.url or (model.name if model else "")
        async with Transport(inner=KeptReplies(options.replies, inner, model=asked), patience=0.0) as transport:
            for name in options.tasks.split(","):
                for form in options.forms.split(","):
                    counts = await measure(name, form, cases, transport, url)
                    print(json.dumps(counts._asdict()), flush=True)


def main(arguments: list[str]) -> None:
    """Prints a row per task and form."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks prompts")
    parser.add_argument("--model", type=Path, help="GGUF; without it, kept replies are counted again")
    parser.add_argument("--url", help="base URL of an OpenAI-compatible endpoint, which is asked instead")
    parser.add_argument("--tasks", default=MAIN)
    parser.add_argument("--forms", default="plain,json,schema")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--replies", type=Path, default=Path("prompt-replies.jsonl"))
    options = parser.parse_args(arguments)
    model = model_file(options.model)
    if not model and not options.url and not options.replies.is_file():
        print("skipped: name a model in GGUF: --model FILE (pip install xllamacpp)")
        return
    methods.load_builtin()
    asyncio.run(_all(options, _cases()[: options.cases], model))
