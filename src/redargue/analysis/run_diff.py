"""Compares two recorded runs: settings, labels, and the first call of each claim that differs.

Prompts are not recorded; they are rendered again by replaying both records as far as possible. No requests are sent and
nothing is written.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from redargue.api import renderer, replay_claim, require_no_files
from redargue.backends import Backend, Call, Reply
from redargue.claims import Frozen
from redargue.errors import RedargueError, ReplayMiss
from redargue.events import CallFailed, CallFinished, Event, EvidenceFound, EvidenceKept, EvidenceMissing, passages_of
from redargue.runs.manifest import RunManifest
from redargue.runs.record import Record, last_attempts, read_events
from redargue.tasks.base import AnyTask, Out, Task
from redargue.verdicts import Verdict

Slot = tuple[Literal["call", "search"], str, int, str]  # agent, round, task or tool
StepId = tuple[Slot, int]  # and the index among the steps of the slot
Steps = dict[StepId, tuple[list[str], str]]  # lines of the outcome, key of the call or search
Items = tuple[int, int]  # the index of a claim in each run
RecordedStep = CallFinished | CallFailed | EvidenceFound | EvidenceKept | EvidenceMissing


class SettingDiff(Frozen):
    """A setting that differs, by its dotted path in ``run.json`` (``settings.rounds``); None if it is not set."""

    name: str
    first: Any
    second: Any


class Flip(Frozen):
    """A claim whose outcome (label, ``error TYPE``, ``not checked`` or ``no answer``) differs.

    Attributes:
        items: number of the claim in each run, from 1.
    """

    claim: str
    items: tuple[int, int]
    first: str
    second: str


class StepDiff(Frozen):
    """A call or search that differs.

    Attributes:
        name: task or tool.
        round: 0 outside of rounds.
        missing: the run that has no such step.
        prompt: unified diff; empty if the prompts are equal or unknown.
        outcome: unified diff of answers or results.
    """

    kind: Literal["call", "search"]
    name: str
    agent: str
    round: int
    missing: Literal["", "first", "second"] = ""
    prompt: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()


class ClaimDiff(Frozen):
    """The first differences in the verification of a claim.

    Attributes:
        items: number of the claim in each run, from 1.
        before: searches that differ before the first call that differs.
        call: first call whose prompt or answer differs, if any.
        reply: first call whose answer differs, if it is a later one.
        note: why prompts are missing, or that no step differs.
    """

    claim: str
    items: tuple[int, int]
    before: tuple[StepDiff, ...] = ()
    call: StepDiff | None = None
    reply: StepDiff | None = None
    note: str = ""


class RunDiff(Frozen):
    """Differences between two runs, for the claims with equal texts.

    Attributes:
        claims: number of claims that both runs finished.
        only_first: number of claims that only the first run finished.
        moves: number of claims per change, such as ``SUPPORTS → REFUTES``.
        differing: number of claims with a call or search that differs.
        details: claims whose label differs first; as many as requested.
    """

    schema_version: Literal[1] = 1
    first: str
    second: str
    claims: int
    only_first: int
    only_second: int
    settings: tuple[SettingDiff, ...]
    moves: dict[str, int]
    flips: tuple[Flip, ...]
    differing: int
    details: tuple[ClaimDiff, ...]


async def compare_runs(first: Path, second: Path, *, most: int = 10) -> RunDiff:
    """Compares two run folders, with details for at most ``most`` claims."""
    records = Record(first, mode="replay"), Record(second, mode="replay")
    for record in records:
        require_no_files(record.manifest)
    before, after = (record.verdicts() for record in records)
    shared = [(one, other) for one, other in _paired_items(records) if one in before and other in after]
    flips: dict[Items, Flip] = {}
    for one, other in shared:
        outcome, changed = _outcome(before[one]), _outcome(after[other])
        if outcome != changed:
            text = records[0].manifest.claims[one].text
            flips[one, other] = Flip(claim=text, items=(one + 1, other + 1), first=outcome, second=changed)
    first_sums, second_sums = _digests(first), _digests(second)
    differing = [items for items in shared if first_sums[items[0]] != second_sums[items[1]]]
    selected = list(dict.fromkeys([*flips, *differing]))[: max(0, most)]
    return RunDiff(
        first=str(first),
        second=str(second),
        claims=len(shared),
        only_first=len(before) - len(shared),
        only_second=len(after) - len(shared),
        settings=_compare_settings(records[0].manifest, records[1].manifest),
        moves=dict(Counter(f"{flip.first} → {flip.second}" for flip in flips.values()).most_common()),
        flips=tuple(flips.values()),
        differing=len(differing),
        details=await _compare_claims(records, selected),
    )


def _paired_items(records: tuple[Record, Record]) -> list[Items]:
    """Claims of the same text; of several, first those with the same context and passages, then the others in order."""
    pairs = _equal(*map(_identified, records))
    rest = _numbered(records[0], set(pairs)), _numbered(records[1], set(pairs.values()))
    return sorted([*pairs.items(), *_equal(*rest).items()])


def _identified(record: Record) -> dict[int, Hashable]:
    """Text, context and passages of each claim by its index."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    for event in read_events(record.folder):
        found[event.item].update(passage.sha256 for passage in passages_of(event))
    return {
        item: (claim.text, claim.context, frozenset(found[item])) for item, claim in enumerate(record.manifest.claims)
    }


def _numbered(record: Record, without: Collection[int]) -> dict[int, Hashable]:
    """The text of each claim by its index, with the number of earlier claims of this text."""
    seen = Counter[str]()
    numbered: dict[int, Hashable] = {}
    for item, claim in enumerate(record.manifest.claims):
        if item not in without:
            numbered[item] = claim.text, seen[claim.text]
            seen[claim.text] += 1
    return numbered


def _equal(first: Mapping[int, Hashable], second: Mapping[int, Hashable]) -> dict[int, int]:
    """The items whose key occurs once in each run."""
    counts = Counter(first.values()), Counter(second.values())
    places = {key: item for item, key in second.items()}
    return {item: places[key] for item, key in first.items() if counts[0][key] == counts[1][key] == 1}


def _outcome(verdict: Verdict) -> str:
    if verdict.error:
        return f"error {verdict.error.type}"
    return "not checked" if verdict.unchecked else verdict.label or "no answer"


def _compare_settings(*manifests: RunManifest) -> tuple[SettingDiff, ...]:
    first, second = (_flat(manifest.facts()) for manifest in manifests)
    pairs = {name: (first.get(name), second.get(name)) for name in first | second if name != "claims"}
    differing = ((name, one, other) for name, (one, other) in pairs.items() if one != other)
    return tuple(SettingDiff(name=name, first=one, second=other) for name, one, other in differing)


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, field in value.items():
        path = prefix + name
        flat |= _flat(field, f"{path}.") if isinstance(field, dict) else {path: field}
    return flat


def _digests(folder: Path) -> Counter[int]:
    """The sum of the hashes of each claim's calls and searches, which does not depend on their order."""
    sums = Counter[int]()
    for event in last_attempts(folder):
        if isinstance(event, RecordedStep):
            sums[event.item] += hash((_slot(event), *_lines(event)))
    return sums


async def _compare_claims(records: tuple[Record, Record], selected: Sequence[Items]) -> tuple[ClaimDiff, ...]:
    first, second = records
    first_steps = _steps(first.folder, {one for one, _ in selected})
    second_steps = _steps(second.folder, {other for _, other in selected})
    # The prompts of different backends would differ in every line.
    without_backend = first.manifest.spec.backend != second.manifest.spec.backend
    diffs = []
    for one, other in selected:
        first_prompts, first_note = await _prompts(first, one, without_backend)
        second_prompts, second_note = await _prompts(second, other, without_backend)
        steps = _compare_steps(first_steps[one], second_steps[other], first_prompts, second_prompts)
        notes = [first_note, second_note]
        if not steps["before"] and not steps["call"]:
            notes.insert(0, "every call and search is the same: the settings decide")
        note = "; ".join(dict.fromkeys(filter(None, notes)))
        claim = first.manifest.claims[one].text
        diffs.append(ClaimDiff(claim=claim, items=(one + 1, other + 1), note=note, **steps))
    return tuple(diffs)


def _compare_steps(
    first: Steps, second: Steps, first_prompts: Mapping[str, str], second_prompts: Mapping[str, str]
) -> dict[str, object]:
    """The fields ``before``, ``call`` and ``reply`` of a :class:`ClaimDiff`."""
    before: list[StepDiff] = []
    call = reply = None
    for step_id in _merge(list(first), list(second)):
        (kind, agent, round_, name), _ = step_id
        first_lines, first_key = first.get(step_id, ([], ""))
        second_lines, second_key = second.get(step_id, ([], ""))
        missing: Literal["", "first", "second"] = "" if second_key else "second"
        if not first_key:
            missing = "first"
        prompt: tuple[str, ...] = ()
        if first_key in first_prompts and second_key in second_prompts:
            prompt = _diff(first_prompts[first_key].splitlines(), second_prompts[second_key].splitlines())
        outcome = _diff(first_lines, second_lines)
        if not (missing or prompt or outcome):
            continue
        where = {"kind": kind, "name": name, "agent": agent, "round": round_}
        step = StepDiff(missing=missing, prompt=prompt, outcome=outcome, **where)
        if kind == "search":
            before += [step] if call is None else []
            continue
        call = call or step
        if missing or outcome:
            reply = step if step is not call else None
            break
    return {"before": tuple(before), "call": call, "reply": reply}


def _merge(first: Sequence[StepId], second: Sequence[StepId]) -> list[StepId]:
    """The steps of both runs in the order of the first; each step of only the second precedes its next shared step."""
    shared, merged, only_second = set(first) & set(second), list[StepId](), list[StepId]()
    preceding: dict[StepId, list[StepId]] = {}
    for step_id in second:
        if step_id in shared:
            preceding[step_id], only_second = only_second, []
        else:
            only_second.append(step_id)
    for step_id in first:
        merged += [*preceding.get(step_id, ()), step_id]
    return merged + only_second


def _steps(folder: Path, items: set[int]) -> dict[int, Steps]:
    """The calls and searches of some claims in recorded order.

    The order in which concurrent steps of a slot finish is random, so they are sorted by their outcome.
    """
    recorded: dict[int, list[tuple[Slot, list[str], str]]] = {item: [] for item in items}
    for event in last_attempts(folder):
        if event.item in items and isinstance(event, RecordedStep):
            key = "kept" if isinstance(event, EvidenceKept) else event.key
            recorded[event.item].append((_slot(event), _lines(event), key))
    steps: dict[int, Steps] = {item: {} for item in items}
    for item, rows in recorded.items():
        outcomes: dict[Slot, list[tuple[list[str], str]]] = defaultdict(list)
        for slot, lines, key in sorted(rows, key=lambda row: row[1:]):
            outcomes[slot].append((lines, key))
        seen: Counter[Slot] = Counter()
        for slot, _, _ in rows:
            steps[item][slot, seen[slot]] = outcomes[slot][seen[slot]]
            seen[slot] += 1
    return steps


def _slot(event: RecordedStep) -> Slot:
    if isinstance(event, CallFinished | CallFailed):
        return "call", event.agent, event.round, event.task
    return "search", event.agent, event.round, event.tool


def _lines(event: RecordedStep) -> list[str]:
    match event:
        case CallFinished():
            return [line for output in event.outputs for line in _json_lines(output.get("answer"))]
        case CallFailed():
            return [f"error: {event.error.what}"]
        case EvidenceMissing():
            return [f"query: {event.query}", f"no answer: {event.why}"]
        case EvidenceKept():
            return [f"query: {event.query} (kept)"]
    passages = [
        f"{passage.rank}. {passage.title or passage.document}: {' '.join(passage.text.split())}"
        for passage in event.passages
    ]
    return [f"query: {event.query}", *(passages or ["nothing found"])]


def _json_lines(value: Any, name: str = "") -> list[str]:
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value, 1)
        dot = "." if isinstance(value, dict) else " "
        inner = ((f"{name}{dot}{key}" if name else str(key), field) for key, field in named)
        return [line for path, field in inner for line in _json_lines(field, path)]
    text = value if isinstance(value, str) else json.dumps(value)
    return [f"{name}: {line}" if name else line for line in text.splitlines() or [""]]


def _diff(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    if first == second:
        return ()
    return tuple(difflib.unified_diff(first, second, "first", "second", n=2, lineterm=""))


async def _prompts(record: Record, item: int, without_backend: bool) -> tuple[dict[str, str], str]:
    """The prompt of each call by key (``without_backend``: the text of its task), and why some are missing."""
    prompts: dict[str, str] = {}
    try:
        backend = _PromptCapture(renderer(record.manifest))
    except RedargueError as error:
        return {}, f"no prompts of {record.folder}: {error.what}"

    def capture(event: Event) -> None:
        # A replay renders a call immediately before its event: the last prompt is that of the event.
        if isinstance(event, CallFinished | CallFailed):
            prompt, task_text = backend.last
            prompts[event.key] = task_text if without_backend else prompt or task_text

    try:
        await replay_claim(record, item, backend=backend, listeners=[capture])
    except RedargueError as error:
        return prompts, f"not every prompt of {record.folder} could be rendered again: {error.what}"
    return prompts, ""


class _PromptCapture:
    """A backend that renders prompts and keeps the last one."""

    def __init__(self, inner: Backend) -> None:
        self.name, self.identity, self.stability = inner.name, inner.identity, inner.stability
        self._inner, self.supports_attention_weights = inner, getattr(inner, "supports_attention_weights", False)
        self.english_only = getattr(inner, "english_only", False)
        self.last = ("", "")

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        text = self._inner.render(task)
        self.last = text.replace("\0", "\n"), task.prompt_text()
        return text

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        raise ReplayMiss(f"the record has no call of {task.name()} by {call.agent!r}")
