"""Verifies the claims of recorded runs again and counts the requests that the recorded model was sent word for word.

``python -m benchmarks relay`` reads ``relay`` of the data folder: runs of four methods with a strong language model,
and its replies. Tools answer as recorded, the model answers the requests that it knows, and a claim ends at the first
request that it does not know. A change that must not change prompts leaves ``unknown`` at 0 and every label equal;
after one that does, ``unknown`` counts the requests that are new, of which a claim may send several concurrently, and
``equal`` the claims that still have the recorded label.

``--steps`` counts what a claim costs now: each step gets the recorded reply of that agent, task and round, whatever its
prompt, and the recorded evidence, so that the course of each debate is the recorded one as far as it is still held.
Tokens are characters / 4. A claim is "agreed", "disagreed" or "open" by the labels of the first round of Tool-MAD, else
"open" or "decided" by the recorded verdict.

``--documents`` compares the documents in the prompts that were sent, by task, with those of the prompts that the same
course has now: how many there are, how many twice, how long they are, and how many are cut off. The evidence is the
recorded one, so that what tools find differently now does not show.

Whatever the prompts, every recorded reply has to be read, with its label: the last line counts the replies, those that
are read, and among those with a label the ones that have it still.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import httpx2

from benchmarks.shown_documents import shown
from redargue.assembly import Parts
from redargue.backends import Call, Output, Reply, Stability
from redargue.claims import FEVER, Claim, Label, LabelSet, Meaning
from redargue.errors import ToolFailed
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.llm.rendering import Renderer
from redargue.memory.memory import open_memory
from redargue.methods.base import configure
from redargue.methods.dual_position.referees import JudgeTeams
from redargue.methods.dual_position.tasks import Rebut, SummariseTeam, WriteTeamQueries
from redargue.methods.mermaid.tasks import DecomposeClaim, NextStep
from redargue.methods.tool_mad.tasks import ScoreAnswer
from redargue.net.transport import Service, Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.retrieval.tools import Search
from redargue.spec import RunSpec
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import RewriteQuery, WriteQuery
from redargue.tasks.score import CheckStatements, WriteQuestions, WriteStatements
from redargue.tasks.step import ActionTool, label_words
from redargue.verifier import Verifier

_WORD = re.compile(r"<(/?)data-[a-z]{10}>")  # a fence with its word, which every installation has for itself
_TODAY = re.compile(r"Today is \d{4}-\d\d-\d\d\.\\n")  # in JSON; the recorded requests have none
MOST_STATEMENTS = 20  # that a reply may have a verdict on
_PASSAGE = Passage.model_fields.keys() - {"timing", "retrieved"}  # which the run sets


def main(arguments: list[str]) -> None:
    """Prints a line for each run, and one for all."""
    parser = argparse.ArgumentParser(prog="benchmarks relay", description=__doc__)
    parser.add_argument("--method", help="only the runs of one method, such as tool-mad")
    parser.add_argument("--steps", action="store_true", help="calls and tokens of a claim, from the recorded steps")
    parser.add_argument("--documents", action="store_true", help="compare the documents in the prompts")
    given = parser.parse_args(arguments)
    folder = Path(os.environ["REDARGUE_DATA"]) / "relay"
    if given.documents:
        count_documents(folder, given.method)
        return
    if given.steps:
        count_steps(folder, given.method)
        return
    replies = read_replies(folder / "replies.jsonl.gz")
    total: Counter[str] = Counter()
    for path in sorted(folder.glob("*/*/*/*/run.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        if given.method in (None, about["method"]):
            counts = asyncio.run(verify_again(about, path.with_name("events.jsonl"), replies))
            total.update(counts)
            print(json.dumps({"run": str(path.parent.relative_to(folder)), **counts}), flush=True)
    print(json.dumps({"run": "all", **total}))
    print(json.dumps({"run": "replies", **read_again(folder / "replies.jsonl.gz")}))


def read_replies(path: Path) -> dict[str, list[str]]:
    """The replies to each request, in the order of their samples."""
    replies: dict[str, list[str]] = defaultdict(list)
    for row in sorted(_rows(path), key=lambda row: int(row["sample"])):
        replies[_key(row["messages"])].append(row["reply"])
    return dict(replies)


def read_again(path: Path) -> dict[str, int]:
    """How many recorded replies there are and are read, and how many labels there are and are as recorded."""
    counts = Counter(replies=0, read=0, labels=0, equal=0)
    for row in _rows(path):
        asked = row["response_format"]["json_schema"]
        task = _task(asked["name"], asked["schema"]["properties"])
        given = json.loads(row["reply"])
        word = given.get("label") or given.get("answer")
        counts["replies"] += 1
        counts["labels"] += bool(word)
        try:
            answer = Renderer().read(task, row["reply"], plain=False)
        except ValueError as error:
            print(json.dumps({"unread": task.name(), "why": str(error), "reply": row["reply"][:300]}))
            continue
        counts["read"] += 1
        label = getattr(answer, "label", None) or getattr(answer, "answer", None)
        counts["equal"] += bool(word) and label == _names(task)[word]
    return dict(counts)


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


_MEANINGS = (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.NOT_ENOUGH)


def _task(name: str, fields: Mapping[str, Any]) -> AnyTask:
    """A task of that name that accepts the same labels; its other inputs do not matter for a reply."""
    words = [word for word in fields.get("label", fields.get("answer", {})).get("enum", ()) if word]
    labels = tuple(Label(name=word, meaning=meaning) for word, meaning in zip(words, _MEANINGS, strict=False))
    claim = Claim(text="It was so.", labels=LabelSet(name="recorded", labels=labels) if labels else FEVER)
    tools = [word for word in fields.get("tool", {}).get("enum", ()) if word]
    described = tuple(ActionTool(name=tool, about=tool, parameters={}) for tool in tools)
    search: dict[str, Any] = {"claim": claim, "tool": "corpus", "about": "documents"}
    team: dict[str, Any] = {"claim": claim, "position": "affirmative"}
    made: dict[str, AnyTask] = {
        "AnswerClaim": AnswerClaim(claim=claim),
        "JudgeDebate": JudgeDebate(claim=claim, history=()),
        "NextStep": NextStep(claim=claim, tools=described),
        "DecomposeClaim": DecomposeClaim(claim=claim),
        "WriteQuery": WriteQuery(**search),
        "RewriteQuery": RewriteQuery(**search, others=(), used="x"),
        "WriteStatements": WriteStatements(question="q", answer="a"),
        "CheckStatements": CheckStatements(statements=("s",) * MOST_STATEMENTS),
        "WriteQuestions": WriteQuestions(response="r"),
        "WriteTeamQueries": WriteTeamQueries(**team),
        "Rebut": Rebut(**team),
        "SummariseTeam": SummariseTeam(**team, texts=()),
        "JudgeTeams": JudgeTeams(claim=claim, referee="factual", emphasis="", speeches=()),
    }
    return made[name]


def _names(task: AnyTask) -> dict[str, str]:
    """The labels by the words that a reply has for them."""
    labels = getattr(task, "claim").labels  # noqa: B009 (only tasks with a claim have labels)
    return {name: name for name in labels.names} | (label_words(labels) if isinstance(task, NextStep) else {})


def _key(messages: Sequence[Mapping[str, str]]) -> str:
    words = json.dumps([[each["role"], each["content"]] for each in messages])
    return _TODAY.sub("", _WORD.sub(r"<\1data>", words))


async def verify_again(about: Mapping[str, Any], log: Path, replies: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many requests were known and unknown, and how many claims have the recorded label."""
    found, labels = _recorded(log)
    model = _RecordedModel(replies, _texts(log))
    transport = Transport(inner=httpx2.MockTransport(model.answer), patience=0.0)
    spec = RunSpec(method=about["method"], settings=about["settings"], seed=about["seed"])
    method = configure(spec.method, spec.profile, spec.settings)
    tools = {name: _RecordedTool(name, entry, found) for name, entry in about["tools"].items()}
    equal = 0
    with tempfile.TemporaryDirectory() as home:
        remembering = getattr(method.settings, "remembering", None)
        memory = open_memory(Path(home) / "memory.db", settings=remembering, write=True) if remembering else None
        service = Service(name="model", url="http://localhost/v1")
        backend = ChatBackend(transport, service, "recorded", form=about["response_format"])
        parts = Parts(backend=backend, evidence=tools, memory=memory, transport=transport)
        with Verifier(spec, parts=parts) as verifier:
            for item, claim in enumerate(about["claims"]):
                for tool in tools.values():
                    tool.item = item
                verdict = await verifier.verify(Claim.model_validate(claim), item=item)
                equal += verdict.label == labels[item]
        if memory:
            memory.close()
    return {"known": model.known, "unknown": model.unknown, "claims": len(about["claims"]), "equal": equal}


def _recorded(log: Path) -> tuple[dict[tuple[int, str, str], dict[str, Any]], dict[int, str | None]]:
    """The recorded answer to each query of each claim, by tool, and the label of each claim."""
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    labels: dict[int, str | None] = {}
    for event in _events(log):
        if event["kind"] in ("evidence_found", "evidence_missing"):
            query = event["query"]
            if query.startswith("{"):  # the arguments of an action
                query = json.loads(query).get("query", query)
            found.setdefault((event["item"], event["tool"], query), event)
        elif event["kind"] == "claim_ended":
            labels[event["item"]] = event["verdict"]["label"]
    return found, labels


def _texts(log: Path) -> set[str]:
    """The replies that a run was sent."""
    calls = (event for event in _events(log) if event["kind"] == "call_finished")
    return {output["text"] for call in calls for output in call["outputs"]}


def _events(log: Path) -> Iterator[dict[str, Any]]:
    with log.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


class _RecordedModel:
    """Answers the requests that it knows; others are refused.

    Several runs sent the same request: the replies to this run come first.
    """

    def __init__(self, replies: Mapping[str, Sequence[str]], texts: set[str]) -> None:
        self._replies, self._texts, self.known, self.unknown = replies, texts, 0, 0

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        replies = self._replies.get(_key(body["messages"]))
        if replies is None:
            self.unknown += 1
            return httpx2.Response(422, json={"error": {"message": "this request was not recorded"}})
        self.known += 1
        replies = sorted(replies, key=lambda reply: reply not in self._texts)
        choices = [
            {"index": n, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
            for n, reply in enumerate(replies[: body.get("n", 1)])
        ]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "x", "object": "chat.completion", "model": "recorded", "choices": choices, "usage": usage}
        return httpx2.Response(200, json=answer)


class _RecordedTool:
    """A search tool whose answers are recorded, for the claim that is being verified."""

    online = False

    def __init__(
        self,
        name: str,
        entry: Mapping[str, str],
        found: Mapping[tuple[int, str, str], Mapping[str, Any]],
        *,
        in_order: bool = False,
    ) -> None:
        self.name, self.about, self.revision = entry["name"], entry["about"], entry["revision"]
        self._recorded_name, self._found, self.item = name, found, 0
        self._in_order, self._searches = in_order, Counter[int]()

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        event = self._found.get((self.item, self._recorded_name, query))
        if event is None and self._in_order:  # another query has the answer that was recorded at its place
            all_of_it = [each for key, each in self._found.items() if key[:2] == (self.item, self._recorded_name)]
            event = all_of_it[min(self._searches[self.item], len(all_of_it) - 1)]
        self._searches[self.item] += 1
        if event is None or "passages" not in event:
            raise ToolFailed("this search was not recorded, or failed")
        known = [{name: each[name] for name in _PASSAGE if name in each} for each in event["passages"]]
        return tuple(map(Passage.model_validate, known))


def count_steps(folder: Path, method: str | None) -> None:
    """Prints, for each method and kind of claim, the means of calls, tokens and searches, and equal labels."""
    rows: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for path in sorted(folder.glob("*/*/*/*/run.json")):
        about, log = json.loads(path.read_text(encoding="utf-8")), path.with_name("events.jsonl")
        if method in (None, about["method"]):
            for kind, row in asyncio.run(_stepped(about, log)):
                rows[about["method"], kind].append(row)
                rows[about["method"], "all"].append(row)
    for (name, kind), counts in sorted(rows.items()):
        means = {each: round(sum(row[each] for row in counts) / len(counts), 2) for each in counts[0]}
        print(json.dumps({"method": name, "kind": kind, "claims": len(counts), **means}))


def count_documents(folder: Path, method: str | None) -> None:
    """Prints, for each task, the documents of the distinct prompts that were sent, and of those that are made now."""
    before, now = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for row in _rows(folder / "replies.jsonl.gz") if method is None else ():
        before[row["response_format"]["json_schema"]["name"]].add(
            _WORD.sub(r"<\1data>", row["messages"][-1]["content"])
        )
    for path in sorted(folder.glob("*/*/*/*/run.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        if method in (None, about["method"]):
            asyncio.run(_stepped(about, path.with_name("events.jsonl"), now))
    for prompts, when in ((before, "sent"), (now, "now")):
        for task in (*sorted(prompts), "all"):
            texts = set[str]().union(*prompts.values()) if task == "all" else prompts[task]
            counts = shown(sorted(texts))
            if counts.prompts:
                print(json.dumps({"prompts of": when, "task": task, **counts._asdict()}))


async def _stepped(
    about: Mapping[str, Any], log: Path, prompts: dict[str, set[str]] | None = None
) -> list[tuple[str, dict[str, float]]]:
    """The costs of each claim with its kind; ``prompts`` gets the messages that are made, by task."""
    found, labels = _recorded(log)
    backend, kinds = _RecordedSteps(log), _kinds(log, labels)
    backend.prompts = prompts if prompts is not None else defaultdict(set)
    tools = {name: _RecordedTool(name, entry, found, in_order=True) for name, entry in about["tools"].items()}
    settings = {name: about["settings"][name] for name in ("debaters", "tools") if name in about["settings"]}
    rows = []
    with tempfile.TemporaryDirectory() as home:
        remembering = getattr(configure(about["method"], "hardened", settings).settings, "remembering", None)
        memory = open_memory(Path(home) / "memory.db", settings=remembering, write=True) if remembering else None
        spec = RunSpec(method=about["method"], settings=settings, seed=about["seed"])
        with Verifier(spec, parts=Parts(backend=backend, evidence=tools, memory=memory)) as verifier:
            for item, given in enumerate(about["claims"]):
                backend.item, backend.counts = item, Counter()
                for tool in tools.values():
                    tool.item = item
                verdict = await verifier.verify(Claim.model_validate(given), item=item)
                counts = {name: backend.counts[name] for name in ("calls", "prompt", "reply")}
                equal = {"equal": float(verdict.label == labels[item]), "searches": verdict.usage.searches}
                rows.append((kinds[item], {**counts, **equal}))
        if memory:
            memory.close()
    return rows


def _kinds(log: Path, labels: Mapping[int, str | None]) -> dict[int, str]:
    kinds: dict[int, str] = {}
    for event in _events(log):
        if event["kind"] == "round_ended" and event["round"] == 1:
            first, *others = event["labels"]
            agreed = "open" if str(first).startswith("NOT") else "agreed"
            kinds[event["item"]] = agreed if {*others} == {first} else "disagreed"
    return {item: "open" if str(label).startswith("NOT") else "decided" for item, label in labels.items()} | kinds


class _RecordedSteps:
    """Performs each task with the recorded reply of the same agent, task and round, or else of an earlier one."""

    name = identity = "recorded steps"
    supports_attention_weights = english_only = False
    stability = Stability(0.7, 0.6)  # of the recorded runs
    _same: ClassVar = {"SpeakForTeam": "SummariseTeam"}

    def __init__(self, log: Path) -> None:
        self._replies: dict[tuple[int, str, str], list[dict[str, Any]]] = defaultdict(list)
        for event in _events(log):
            if event["kind"] == "call_finished":
                self._replies[event["item"], event["task"], event["agent"]].append(event["outputs"][0])
        self._given: Counter[tuple[int, str, str]] = Counter()
        self._small = EmbeddedBackend()
        self.item, self.counts = 0, Counter[str]()
        self.prompts: dict[str, set[str]] = defaultdict(set)

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        return ""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        if task.charge == "embedding":
            return await self._small.perform(task, call)
        text = self._reply(cast(AnyTask, task), call.agent)
        messages = Renderer().prompt(task).messages()
        self.prompts[task.name()].add(messages[-1]["content"])
        words = sum(len(each["content"]) for each in messages)
        self.counts.update({"calls": 1, "prompt": words / 4, "reply": len(text) / 4})
        async with call.account.request() as receipt:
            receipt.pay()
        return Reply((Output(cast(Out, Renderer().read(task, text, plain=False)), text),))

    def _reply(self, task: AnyTask, agent: str) -> str:
        if isinstance(task, ScoreAnswer):
            checked, asked = (self._next(name, agent) for name in ("CheckStatements", "WriteQuestions"))
            return json.dumps({"statements": checked["answer"]["statements"], **asked["answer"]})
        known = self._next(self._same.get(task.name(), task.name()), agent)
        return str(known["text"]) if known else json.dumps({"keep": True, "query": ""})  # a round that was not held

    def _next(self, task: str, agent: str) -> dict[str, Any]:
        key = self.item, task, agent
        known = self._replies[key]
        self._given[key] += 1
        return known[min(self._given[key], len(known)) - 1] if known else {}
