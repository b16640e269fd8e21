"""``redargue bench import``, for the runs that MERMAID's authors released, and ``redargue bench triplets``."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer
from pydantic import ValidationError

from redargue.assembly import Parts
from redargue.bench import compare as comparison
from redargue.bench.commands.bench import show_comparison
from redargue.bench.datasets import load
from redargue.bench.datasets.files import MermaidRuns, labels_of_rows, rows_with_runs
from redargue.bench.harness import Bench
from redargue.bench.system import System
from redargue.claims import Frozen, LabelSet, Meaning
from redargue.cli.parameters import AsJson
from redargue.errors import ToolFailed, UsageError, problem_of
from redargue.events import ClaimStarted, Decomposed
from redargue.evidence import Omission, Passage, Recalled
from redargue.files import make_folder
from redargue.inputs.rows import Row, rows
from redargue.memory import Finding, Recall
from redargue.methods.mermaid.recorded import RecordedBackend, Recording
from redargue.retrieval.tools import Search
from redargue.runs.record import Clock, read_events
from redargue.sanitize import printable
from redargue.spec import RunSpec
from redargue.tasks.extract import Decomposition
from redargue.tasks.step import Step, ToolCall


class AuditedTriplet(Frozen):
    """A triplet of a claim; ``judgement`` is empty until a person has judged it."""

    claim: str
    triplet: str
    judgement: Literal["", "right", "wrong"] = ""


def audit_triplets(run: Path, file: Path, count: int, seed: int) -> Counter[str]:
    """Counts the judgements in a file; if it does not exist, first writes a sample of the run's triplets to it.

    Raises UsageError if the run has no triplets or a row of the file cannot be read, RecordError if there is no run.
    """
    if file.exists():
        return Counter(row.judgement or "not judged" for row in _read(file))
    claims: dict[int, str] = {}
    triplets: list[AuditedTriplet] = []
    for event in read_events(run):
        if isinstance(event, ClaimStarted):
            claims[event.item] = event.claim.text
        elif isinstance(event, Decomposed):
            claim = claims[event.item]
            triplets += [AuditedTriplet(claim=claim, triplet=triplet.line) for triplet in event.triplets]
    if not triplets:
        hint = "name a run of mermaid, which decomposes its claims"
        raise UsageError(f"{str(run)!r} contains no triplets", hint=hint)
    sample = random.Random(seed).sample(triplets, min(count, len(triplets)))
    file.write_text("".join(row.model_dump_json() + "\n" for row in sample), encoding="utf-8")
    return Counter({"not judged": len(sample)})


def _read(file: Path) -> list[AuditedTriplet]:
    triplets = []
    for row in rows(file):
        try:
            triplets.append(AuditedTriplet.model_validate(row.fields))
        except ValidationError as error:
            hint = 'a judgement is "right", "wrong" or ""'
            raise row.error(f"not a triplet: {json.dumps(row.fields)[:80]!r}", hint=hint) from error
    return triplets


def import_released(
    file: Annotated[Path, typer.Argument(exists=True, metavar="FILE", help="Runs released by MERMAID's authors.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Bench folder to create.")],
    json: AsJson = False,
) -> None:
    """Import runs released by MERMAID's authors.

    The imported runs can be replayed and reported like any other.
    """
    imported = import_runs(file, out)
    for error in imported.refused:
        typer.echo(printable(f"skipped: {error}"), err=True)
    skipped = f"; skipped {imported.left_out} rows without a run" if imported.left_out else ""
    typer.echo(f"{imported.table.rows[0].scores.n} runs in {out / imported.system.slug}{skipped}", err=True)
    show_comparison(imported.table, json=json)


def judge_triplets(
    run: Annotated[Path, typer.Argument(exists=True, metavar="RUN", help="Run folder of mermaid.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the sample; one that exists keeps its judgements.")],
    count: Annotated[int, typer.Option(min=1, help="Triplets to draw.")] = 200,
    seed: Annotated[int, typer.Option(help="Random seed of the sample.")] = 0,
) -> None:
    """Draw triplets of a run to be judged by a person, or count the judgements.

    Each line of the file is a triplet with its claim; set "judgement" to "right" or "wrong" and run the command again.
    """
    counts = audit_triplets(run, out, count, seed)
    judged = counts["right"] + counts["wrong"]
    share = f"; {counts['right'] / judged:.1%} right" if judged else ""
    typer.echo(f"{counts.total()} triplets in {out}: {judged} judged{share}")
    if judged:
        typer.echo("in the paper, of 200: 1.5 % of subjects, 4 % of relations and 7.3 % of objects wrong (MERMAID)")


_MAX_STEPS = 5  # default of the released program

_CALL = re.compile(r"Used (\S+) with input: (.*)", re.DOTALL)
_UNKNOWN_TOOL = re.compile(r"Tool '([^']*)' not found\b")
_RECALLED = re.compile(r"Previous evidence for '(.*?)': (?=\[)(.*)", re.DOTALL)
_LITERAL = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CONTENT = rf"TextContent\(type='text', text=({_LITERAL})(?:, \w+=None)*\)"
_CONTENTS = re.compile(rf"\[(?:{_CONTENT}(?:, |(?=\])))*\]")

Failure = Literal["", "empty", "arguments", "unknown tool", "error"]


class ObservedCall(NamedTuple):
    """A call and the text that it returned, verbatim; None if the log has no observation."""

    tool: str
    query: str
    text: str | None


class ReleasedRun(NamedTuple):
    """A run from the log."""

    recording: Recording
    calls: tuple[ObservedCall, ...]
    memory: tuple[tuple[str, str], ...]  # recalled items: original query, and text in the log


def text_contents(observation: str) -> tuple[str, ...]:
    """Returns the texts in the ``repr`` of a list of ``TextContent``; anything else is one text."""
    if not _CONTENTS.fullmatch(observation):
        return (observation,)
    return tuple(ast.literal_eval(literal) for literal in re.findall(_CONTENT, observation))


def failure_of(text: str) -> Failure:
    """Returns the kind of failure that a tool's answer reports; empty if it found something."""
    if text.startswith("Input validation error"):
        return "arguments"
    if _UNKNOWN_TOOL.match(text):
        return "unknown tool"
    if text.startswith("Error"):
        return "error"
    if not text.strip():
        return "empty"
    try:
        answer = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    if answer.get("error"):
        return "error"
    return "empty" if answer.get("results") == [] else ""


def read_runs(path: Path) -> tuple[list[ReleasedRun], dict[int, UsageError]]:
    """The runs of a file in order, and the errors of rows that cannot be read; raises UsageError if none can."""
    file_rows = tuple(rows(path))
    labels = labels_of_rows(file_rows)
    runs: list[ReleasedRun] = []
    refused: dict[int, UsageError] = {}
    for row in rows_with_runs(file_rows):
        try:
            runs.append(_run(row, labels))
        except UsageError as error:
            refused[row.number] = error
    if not runs:
        raise next(iter(refused.values()))
    return runs, refused


def _run(row: Row, labels: LabelSet) -> ReleasedRun:
    steps: list[Step | str] = []
    calls: list[ObservedCall] = []
    memory: list[tuple[str, str]] = []
    thought: str | None = None
    for index, line in enumerate(row.texts("react_trace")):
        kind, _, text = line.partition(" ")
        if kind == "Thought:":
            if thought is not None:
                steps.append(thought)
            thought = text
        elif kind == "Observation:" and calls and calls[-1].text is None:
            calls[-1] = calls[-1]._replace(text=text)
        elif kind == "[Memory]" and (item := _RECALLED.fullmatch(text)):
            memory.append((item[1], item[2]))
        elif kind == "Action:":
            call = _parse_call(text)
            if call:
                calls.append(call)
            steps.append(_action_step(thought or "", text, call))
            thought = None
        elif kind == "Answer:":
            steps.append(_answer_step(thought or "", text if text.strip() else row.optional("prediction"), labels))
            thought = None
        else:
            expected = "expected a thought, an action and its observation, an answer or a recalled item"
            raise row.error(f"react_trace[{index}]: {expected}, got {line[:60]!r}")
    if thought is not None:
        steps.append(thought)
    answered = bool(steps) and isinstance(steps[-1], Step) and steps[-1].answer is not None
    prediction = "" if answered else row.optional("prediction")
    recording = Recording(decomposition=_decomposition(row), steps=tuple(steps), final_output=prediction)
    return ReleasedRun(recording, tuple(calls), tuple(memory))


def _parse_call(text: str) -> ObservedCall | None:
    if unknown := _UNKNOWN_TOOL.match(text):
        return ObservedCall(unknown[1], "", text)
    used = _CALL.fullmatch(text)
    return ObservedCall(used[1], used[2], None) if used else None


def _action_step(thought: str, text: str, call: ObservedCall | None) -> Step | str:
    """Returns a call, or text if there is none; the program passed ``query`` to every tool, whatever its parameters."""
    if call is None:
        return f"{thought}\n{text}"
    arguments = json.dumps({"query": call.query} if call.query else {}, ensure_ascii=False)
    return Step(thought=thought, action=ToolCall(name=call.tool, input=arguments))


def _answer_step(thought: str, text: str, labels: LabelSet) -> Step | str:
    if not text.strip():
        return f"{thought}\nAnswer:"
    unsettled = labels.named(Meaning.NOT_ENOUGH) if text.strip().casefold() == "insufficient" else None
    return Step(thought=thought, answer=unsettled or text)


def _decomposition(row: Row) -> Decomposition | None:
    if not row.fields.get("decomposition"):
        return None
    try:
        return Decomposition.model_validate(row.fields["decomposition"])
    except ValidationError as error:
        raise row.error(f"decomposition: {problem_of(error)}") from None


class RecordedAction:
    """A tool that returns recorded observations; ``calls`` are those of all tools for each claim."""

    about = "answers as it did in the recorded run"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }
    online = False

    def __init__(self, name: str, calls: Sequence[Sequence[ObservedCall]]) -> None:
        self.name = name
        self._calls = [[call for call in claim if call.tool == name] for claim in calls]
        self.revision = hashlib.sha256(json.dumps(self._calls).encode()).hexdigest()[:16]

    def for_claim(self, item: int) -> RecordedAction:
        tool = RecordedAction(self.name, [self._calls[item]])
        tool.revision = self.revision
        return tool

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        """Returns the observation of this call; repeated calls return their observations in order."""
        (remaining,) = self._calls
        recorded = next((call for call in remaining if call.query == arguments.get("query", "")), None)
        if recorded is None:
            raise ToolFailed(f"the recording has no further call of {self.name!r} with {dict(arguments)!r:.200}")
        remaining.remove(recorded)
        if recorded.text is None:
            raise ToolFailed("the recording has no observation of this call")
        if failure_of(recorded.text) == "unknown tool":
            raise ToolFailed(recorded.text)
        async with search.account.request() as receipt:
            receipt.pay()
        results = text_contents(recorded.text)
        if failed := next((text for text in results if failure_of(text) in ("arguments", "error")), ""):
            raise ToolFailed(failed)
        return tuple(Passage(text=text, rank=rank) for rank, text in enumerate(results, 1))


class RecordedMemory:
    """A memory that returns the items recalled for each claim of the run, and stores nothing."""

    def __init__(self, recalled: Sequence[Sequence[tuple[str, str]]]) -> None:
        self._recalled = recalled
        self.about = {"mode": "frozen", "recorded": True}

    def for_claim(self, item: int) -> RecordedMemory:
        return RecordedMemory([self._recalled[item]])

    async def recall(self, entities: Iterable[str], **_: Any) -> Recall:
        """Returns the recorded items; an item whose original call failed has the status ``empty``."""
        (recalled,) = self._recalled
        contents = [(query, "\n".join(text_contents(evidence))) for query, evidence in recalled]
        items = (
            Recalled(
                passage=Passage(text=content, query=query, rank=number),
                length=len(content),
                number=number,
                status="empty" if failure_of(content) else "ok",
                arguments={"query": query},
            )
            for number, (query, content) in enumerate(contents, 1)
        )
        return Recall(items=tuple(items))

    async def remember(self, findings: Sequence[Finding], **_: Any) -> dict[Omission, int]:
        return {Omission.FROZEN: len(findings)}


class Imported(NamedTuple):
    """A bench folder of recorded runs."""

    table: comparison.Comparison
    system: System
    left_out: int  # number of rows without a run
    refused: tuple[UsageError, ...]  # an error for each run that cannot be read


def import_runs(path: Path, out: Path, *, clock: Clock | None = None) -> Imported:
    """Makes a bench folder from a file of runs, with gold labels, scores, and a record that can be replayed.

    No model or tool is called. The folder ``out`` must not exist, and is created only when it is complete. ``clock``
    provides the times, which the logs lack. Raises UsageError if the file is missing or in another format, no run can
    be read, or the folder exists or cannot be created.
    """
    if out.exists():
        raise UsageError(f"{str(out)!r} already exists", where="--out", hint="name a new folder")
    runs, refused = read_runs(path)
    options = {"without": "+".join(map(str, refused))} if refused else {}
    examples, sample = load(MermaidRuns.name, path, options=options)
    calls = [run.calls for run in runs]
    names = sorted({call.tool for run in runs for call in run.calls})
    parts = Parts(
        backend=RecordedBackend([run.recording for run in runs]),
        actions={name: RecordedAction(name, calls) for name in names},
        memory=RecordedMemory([run.memory for run in runs]) if any(run.memory for run in runs) else None,
        clock=clock,
    )
    system = System.parse(_spec(runs))
    try:
        make_folder(out.parent)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=out.parent) as temporary:
            folder = Path(temporary) / out.name
            spec = RunSpec(offline=True)
            bench = Bench(folder, examples, [system], sample=sample.model_dump(mode="json"), spec=spec, parts=parts)
            asyncio.run(bench.run(system, concurrency=1))
            table = comparison.compare(bench)
            comparison.write_results(table, folder)
            folder.replace(out)
    except OSError as error:
        raise UsageError(f"cannot create {str(out)!r}: {error.strerror}", where="--out") from error
    left_out = sum(1 for _ in rows(path)) - len(runs) - len(refused)
    return Imported(table, system, left_out, tuple(refused.values()))


def _spec(runs: Sequence[ReleasedRun]) -> str:
    """Returns the spec of MERMAID with the settings of these runs, whose agents could repeat calls."""
    spec = "mermaid@paper:tools=,repeat_calls=true"
    spec += ",memory=frozen" if any(run.memory for run in runs) else ",memory=off"
    if not any(run.recording.decomposition for run in runs):
        spec += ",decomposer=false"
    longest = max(len(run.recording.steps) for run in runs)
    return spec + (f",max_steps={longest}" if longest > _MAX_STEPS else "")
