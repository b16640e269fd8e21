"""Two recorded runs side by side: what was set otherwise, which labels flipped, and the first call that differs.

Prompts are not recorded. They are written again by replaying both records, as far as the records answer; nothing is
asked and nothing is written.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from redargue.api import renderer, replay_claim
from redargue.backends.base import Backend, Call, Reply
from redargue.claims import Frozen
from redargue.errors import RedargueError, ReplayMiss
from redargue.events import CallFailed, CallFinished, Event, EvidenceFound, EvidenceKept, EvidenceMissing
from redargue.runs.manifest import RunManifest
from redargue.runs.record import Record, read_events
from redargue.tasks.base import AnyTask, Out, Task
from redargue.verdicts import Verdict

AROUND = 2  # lines of a difference's surroundings

Lane = tuple[str, str, int, str]  # call or search, agent, round, task or tool
Where = tuple[Lane, int]  # and which of several
Came = dict[Where, tuple[list[str], str]]  # what came back, and the key of the question
Asked = dict[str, tuple[str, str]]  # by key: the prompt as it is rendered, and the task in its own words
Recorded = CallFinished | CallFailed | EvidenceFound | EvidenceKept | EvidenceMissing


class Setting(Frozen):
    """What the two runs were asked to do otherwise.

    Attributes:
        name: in ``run.json``, dotted: ``settings.rounds``.
        first: as JSON; None also where it is not set.
        second: likewise.
    """

    name: str
    first: Any
    second: Any


class Flip(Frozen):
    """A claim with another outcome.

    Attributes:
        claim: its text.
        items: its place in each run, from 0.
        first: the label, ``error TYPE`` or ``no answer``.
        second: likewise.
    """

    claim: str
    items: tuple[int, int]
    first: str
    second: str


class Step(Frozen):
    """A call or a search that differs.

    Attributes:
        kind: a call to a mind, or a search.
        name: the task or the tool.
        agent: whose.
        round: 0 outside of rounds.
        missing: the run that has no such step.
        prompt: a unified diff of what was asked, line by line; empty where it is the same, or could not be told.
        outcome: a unified diff of what came back; empty where it is the same.
    """

    kind: Literal["call", "search"]
    name: str
    agent: str
    round: int
    missing: Literal["", "first", "second"] = ""
    prompt: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()


class Difference(Frozen):
    """Where one claim's verification parts.

    Attributes:
        claim: its text.
        items: its place in each run, from 0.
        before: searches that differ before the first call that does.
        call: the first call that was asked or answered otherwise; None where none was.
        reply: the first call that was answered otherwise, where that is a later one.
        note: why prompts are missing, or nothing differs.
    """

    claim: str
    items: tuple[int, int]
    before: tuple[Step, ...] = ()
    call: Step | None = None
    reply: Step | None = None
    note: str = ""


class RunDiff(Frozen):
    """Two runs compared, on the claims whose texts both have.

    Attributes:
        first: folder.
        second: folder.
        claims: in both, finished in both.
        only_first: claims that the second has not, or not finished.
        only_second: the other way round.
        settings: that differ.
        moves: how often which outcome became which.
        flips: claim by claim.
        differing: claims of which any call or search differs.
        details: where they part: flips first, as many as were wanted.
    """

    schema_version: Literal[1] = 1
    first: str
    second: str
    claims: int
    only_first: int
    only_second: int
    settings: tuple[Setting, ...]
    moves: dict[str, int]
    flips: tuple[Flip, ...]
    differing: int
    details: tuple[Difference, ...]


async def differ(first: Path, second: Path, *, most: int = 10) -> RunDiff:
    """Compares two run folders.

    Args:
        first: of ``check``, ``batch`` or a system of a bench.
        second: likewise.
        most: claims whose first differing call is looked for.

    Raises:
        RecordError: a folder holds no run, or a damaged one.
    """
    records = Record(first, mode="replay"), Record(second, mode="replay")
    places = [_places(each) for each in records]
    shared = {text: (item, places[1][text]) for text, item in places[0].items() if text in places[1]}
    verdicts = [each.verdicts() for each in records]
    flips = []
    for (text, _), (one, other) in shared.items():
        outcomes = _outcome(verdicts[0][one]), _outcome(verdicts[1][other])
        if outcomes[0] != outcomes[1]:
            flips.append(Flip(claim=text, items=(one, other), first=outcomes[0], second=outcomes[1]))
    digests = [_digests(each) for each in (first, second)]
    differing = [each for each in shared.values() if digests[0][each[0]] != digests[1][each[1]]]
    wanted = list(dict.fromkeys([*(each.items for each in flips), *differing]))[: max(0, most)]
    return RunDiff(
        first=str(first),
        second=str(second),
        claims=len(shared),
        only_first=len(places[0]) - len(shared),
        only_second=len(places[1]) - len(shared),
        settings=_settings(records[0].manifest, records[1].manifest),
        moves=dict(Counter(f"{each.first} → {each.second}" for each in flips).most_common()),
        flips=tuple(flips),
        differing=len(differing),
        details=await _details(records, wanted),
    )


def _places(record: Record) -> dict[tuple[str, int], int]:
    """The finished claims: by text, and how many with that text came before."""
    ended, seen = record.verdicts(), Counter[str]()
    found = {}
    for item, claim in enumerate(record.manifest.claims):
        text = claim.text
        if item in ended:
            found[text, seen[text]] = item
        seen[text] += 1
    return found


def _outcome(verdict: Verdict) -> str:
    return f"error {verdict.error.type}" if verdict.error else verdict.label or "no answer"


def _settings(first: RunManifest, second: RunManifest) -> tuple[Setting, ...]:
    """The differences between the two ``run.json``, the claims and the run's name apart."""
    flat = [_flat(manifest.model_dump(mode="json", exclude={"run", "claims"})) for manifest in (first, second)]
    names = [name for name in {**flat[0], **flat[1]} if flat[0].get(name) != flat[1].get(name)]
    return tuple(Setting(name=name, first=flat[0].get(name), second=flat[1].get(name)) for name in names)


def _flat(value: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, each in value.items():
        found |= _flat(each, f"{at}{name}.") if isinstance(each, dict) else {f"{at}{name}": each}
    return found


def _digests(folder: Path) -> dict[int, int]:
    """For each claim a number made of its calls and searches, whatever order they were written in."""
    sums: dict[int, int] = defaultdict(int)
    for event in read_events(folder):
        if isinstance(event, Recorded):
            text = json.dumps([_lane(event), _came(event)])
            sums[event.item] += int.from_bytes(hashlib.sha256(text.encode()).digest()[:12])
    return sums


async def _details(records: tuple[Record, Record], wanted: Sequence[tuple[int, int]]) -> tuple[Difference, ...]:
    first, second = (_steps(record.folder, {items[place] for items in wanted}) for place, record in enumerate(records))
    words = records[0].manifest.backend != records[1].manifest.backend  # then prompts would differ in every line
    found = []
    for items in wanted:
        asked, note = await _prompts(records[0], items[0])
        asked_second, note_second = await _prompts(records[1], items[1])
        parted = _part(first[items[0]], second[items[1]], _texts(asked, words), _texts(asked_second, words))
        notes = [note, note_second]
        if not parted["before"] and not parted["call"]:
            notes.insert(0, "every call and search is the same: the settings decide")
        claim = records[0].manifest.claims[items[0]].text
        note = "; ".join(dict.fromkeys(each for each in notes if each))
        found.append(Difference(claim=claim, items=items, note=note, **parted))
    return tuple(found)


def _texts(asked: Asked, words: bool) -> dict[str, str]:
    """What was asked, as text: the backend's prompt, or the task's own words where it sends none."""
    return {key: task if words or not prompt else prompt for key, (prompt, task) in asked.items()}


def _part(first: Came, second: Came, asked: Mapping[str, str], asked_second: Mapping[str, str]) -> dict[str, Any]:
    """The searches that differ before the first call that does, that call, and the first with another reply."""
    before: list[Step] = []
    call = reply = None
    for where in _merged(list(first), list(second)):
        (kind, agent, round_, name), _ = where
        came, key = first.get(where, ([], ""))
        came_second, key_second = second.get(where, ([], ""))
        missing: Literal["", "first", "second"] = "first" if not key else "" if key_second else "second"
        prompt: tuple[str, ...] = ()
        if key in asked and key_second in asked_second:
            prompt = _diff(asked[key].splitlines(), asked_second[key_second].splitlines())
        outcome = _diff(came, came_second)
        if not (missing or prompt or outcome):
            continue
        about = {"name": name, "agent": agent, "round": round_, "missing": missing}
        step = Step(kind="call" if kind == "call" else "search", prompt=prompt, outcome=outcome, **about)
        if kind == "search":
            before += [step] if call is None else []
        elif call is None:
            call = step
        if kind == "call" and (missing or outcome):
            reply = step if step is not call else None
            break
    return {"before": tuple(before), "call": call, "reply": reply}


def _merged(first: Sequence[Where], second: Sequence[Where]) -> list[Where]:
    """The steps of both in the first's order; those of the second alone stand before what follows them there."""
    shared, order, waiting = set(first) & set(second), list[Where](), list[Where]()
    ahead: dict[Where, list[Where]] = {}
    for where in second:
        if where in shared:
            ahead[where], waiting = waiting, []
        else:
            waiting.append(where)
    for where in first:
        order += [*ahead.get(where, ()), where]
    return order + waiting


def _steps(folder: Path, items: set[int]) -> dict[int, Came]:
    """Every call and search of some claims, in the order of their happening.

    Of several calls of one kind at once, which was answered first is chance: they are taken in the order of what they
    were answered.
    """
    rows: dict[int, list[tuple[Lane, list[str], str]]] = {item: [] for item in items}
    for event in read_events(folder):
        if event.item in items and isinstance(event, Recorded):
            key = "kept" if isinstance(event, EvidenceKept) else event.key
            rows[event.item].append((_lane(event), _came(event), key))
    found: dict[int, Came] = {}
    for item, some in rows.items():
        lanes: dict[Lane, list[tuple[list[str], str]]] = defaultdict(list)
        for lane, came, key in some:
            lanes[lane].append((came, key))
        for each in lanes.values():
            each.sort()
        seen: Counter[Lane] = Counter()
        found[item] = {}
        for lane, _, _ in some:
            found[item][lane, seen[lane]] = lanes[lane][seen[lane]]
            seen[lane] += 1
    return found


def _lane(event: Recorded) -> Lane:
    if isinstance(event, CallFinished | CallFailed):
        return "call", event.agent, event.round, event.task
    return "search", event.agent, event.round, event.tool


def _came(event: Recorded) -> list[str]:
    """What came back, line by line."""
    match event:
        case CallFinished():
            return [line for output in event.outputs for line in _told(output["answer"])]
        case CallFailed():
            return [f"error: {event.error.what}"]
        case EvidenceMissing():
            return [f"query: {event.query}", f"no answer: {event.why}"]
        case EvidenceKept():
            return [f"query: {event.query} (kept)"]
    found = [f"{each.rank}. {each.title or each.document}: {' '.join(each.text.split())}" for each in event.passages]
    return [f"query: {event.query}", *(found or ["nothing found"])]


def _told(value: Any, name: str = "") -> list[str]:
    """A JSON value in lines of plain text."""
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in _told(each, f"{name}.{key}" if name else key)]
    if isinstance(value, list):
        return [line for place, each in enumerate(value, 1) for line in _told(each, f"{name} {place}".strip())]
    text = value if isinstance(value, str) else json.dumps(value)
    return [f"{name}: {line}" if name else line for line in text.splitlines() or [""]]


def _diff(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    if first == second:
        return ()
    return tuple(difflib.unified_diff(first, second, "first", "second", n=AROUND, lineterm=""))


async def _prompts(record: Record, item: int) -> tuple[Asked, str]:
    """What every call was asked, and why some are missing."""
    found: Asked = {}
    try:
        backend = _Listening(renderer(record.manifest))
    except RedargueError as error:
        return {}, f"no prompts of {record.folder}: {error.what}"

    def see(event: Event) -> None:
        # In a replay a call is rendered, recalled and told without a pause: the last prompt belongs to the event.
        if isinstance(event, CallFinished | CallFailed):
            found[event.key] = backend.last

    try:
        await replay_claim(record, item, backend=backend, listeners=[see])
    except RedargueError as error:
        return found, f"not every prompt of {record.folder} could be written again: {error.what}"
    return found, ""


class _Listening:
    """A backend's way to render prompts, with the last one kept."""

    def __init__(self, inner: Backend) -> None:
        self.name, self.identity, self.stability = inner.name, inner.identity, inner.stability
        self._inner, self.weighs = inner, inner.weighs
        self.last = ("", "")

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        text = self._inner.render(task)
        self.last = text.replace("\0", "\n"), task.prompt_text()
        return text

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        raise ReplayMiss(f"the record does not hold {task.name()} of {call.agent!r}")
