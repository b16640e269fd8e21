"""MERMAID: the authors' released runs; what a memory would have saved them; the embedded agents on frozen evidence.

``traces``: every released run is imported and counted from its record: coverage, macro-F1 under the three rules for
non-answers, what tools were called and how that went, and the embedded decomposer's keys beside the recorded ones.
``memory`` and ``snapshots``: see :mod:`benchmarks.recalling` and :mod:`benchmarks.acting`.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import acting, pool, recalling
from redargue.bench.commands.mermaid import ReleasedRun, failure_of, import_runs, read_runs
from redargue.bench.datasets import load
from redargue.bench.metrics.classification import NonAnswers, scores_by_rule
from redargue.claims import Meaning
from redargue.events import ClaimEnded, Event, EvidenceFound, EvidenceMissing, EvidenceRecalled
from redargue.memory import normalize_entity
from redargue.nli.grammar import decompose
from redargue.runs.record import read_events
from redargue.verdicts import Verdict

ALIKE = 0.5  # of the words of two keys, the part that stands in both
SIDES = (Meaning.SUPPORTED, Meaning.REFUTED)


def main(arguments: list[str]) -> None:
    """Prints a line a file."""
    parser = argparse.ArgumentParser(prog="benchmarks mermaid", description=__doc__)
    parser.add_argument("--part", choices=("traces", "memory", "snapshots"), help="all by default")
    parser.add_argument("--half", choices=("even", "odd", "all"), default="even", help="of the claims (snapshots)")
    parser.add_argument("--limit", type=int, help="claims of each set (memory, snapshots)")
    given = parser.parse_args(arguments)
    if given.part in (None, "traces"):
        for file in files():
            print(json.dumps(_told(file)), flush=True)
        for half in ("even", "odd"):
            print(json.dumps(_keys(half)), flush=True)
    if given.part in (None, "memory"):
        for line in recalling.lines(files(), given.limit):
            print(json.dumps(line), flush=True)
    if given.part in (None, "snapshots"):
        acting.main(given.half, given.limit)


def files() -> list[Path]:
    """The released runs, one file a data set and model."""
    return sorted((pool.data() / "traces/mermaid").glob("[!m]*.json.gz"))


def _told(file: Path) -> dict[str, Any]:
    """What a file's runs come to, from the events of their records."""
    with tempfile.TemporaryDirectory() as folder:
        done = import_runs(file, Path(folder) / "out")
        events = list(read_events(Path(folder) / "out" / done.system.slug))
    examples = load("mermaid-runs", file).examples
    verdicts = [event.verdict for event in events if isinstance(event, ClaimEnded)]
    line: dict[str, Any] = {"file": file.name.partition(".json")[0], "rows": len(examples) + done.left_out}
    line |= {"runs": len(examples)} | _scores([example.gold for example in examples], verdicts)
    return line | _profile(events, verdicts)


def _scores(gold: Sequence[str | None], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Coverage and macro-F1; a label of neither side is no answer, as the data sets have two classes."""
    labels = verdicts[0].claim.labels
    sides = [str(labels.named(meaning)) for meaning in SIDES]
    said = [verdict.label if verdict.label in sides else None for verdict in verdicts]
    rules = scores_by_rule([str(label) for label in gold], said, labels=sides, negative=sides[1])
    figures = {str(rule.rule): rule.macro_f1.value for rule in rules}
    order = (NonAnswers.NEGATIVE, NonAnswers.WRONG, NonAnswers.DROPPED)
    return {
        "answered": sum(label is not None for label in said),
        "given_out_without_an_answer": sum(
            verdict.decided_by == "forced" and label is not None for verdict, label in zip(verdicts, said, strict=True)
        ),
        "macro_f1": {rule: None if (value := figures[rule]) is None else round(value, 3) for rule in order},
    }


def _profile(events: Sequence[Event], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Calls by tool, those made before for the same claim, and what went wrong."""
    calls: list[tuple[int, str, str]] = []
    wrong: Counter[str] = Counter()
    recalled = 0
    for event in events:
        if isinstance(event, EvidenceMissing):
            wrong[failure_of(event.why) or "other"] += 1
        elif isinstance(event, EvidenceFound):
            wrong["empty"] += all(failure_of(passage.text) == "empty" for passage in event.passages)
        elif isinstance(event, EvidenceRecalled):
            recalled += len(event.items)
        if isinstance(event, EvidenceFound | EvidenceMissing) and event.requests:
            calls.append((event.item, event.tool, event.query))
    return {
        "calls": len(calls),
        "by_tool": dict(Counter(tool for _, tool, _ in calls).most_common()),
        "repeated": len(calls) - len(set(calls)),
        "claims_with_a_repeat": len({item for (item, _, _), count in Counter(calls).items() if count > 1}),
        "claims_without_a_call": len(verdicts) - len({item for item, _, _ in calls}),
        "most_calls": max(Counter(item for item, _, _ in calls).values(), default=0),
        "went_wrong": dict(wrong.most_common()),
        "recalled": recalled,
    }


def _keys(half: str) -> dict[str, Any]:
    """The embedded decomposer's keys beside those of GPT-4o, over the claims of its three files."""
    asked: Counter[str] = Counter()
    for file in (path for path in files() if path.name.endswith("gpt-4o.json.gz")):
        claims = [example.claim.text for example in load("mermaid-runs", file).examples]
        for claim, run in zip(claims, read_runs(file)[0], strict=True):
            if pool.is_even(claim) == (half == "even"):
                asked.update(_compared(claim, run))
    theirs, ours = asked["theirs"], asked["ours"]
    shares = {
        f"{name}_{way}": round(asked[f"{name} {way}"] / of, 3)
        for way in ("exact", "alike")
        for name, of in (("recall", theirs), ("precision", ours))
    }
    return {"keys": "embedded beside gpt-4o", "half": half, "claims": asked["claims"]} | {
        "theirs": theirs,
        "ours": ours,
        "whole_claims_exact": asked["whole"],
        **shares,
    }


def _compared(claim: str, run: ReleasedRun) -> dict[str, int]:
    assert run.recording.decomposition
    theirs, ours = (
        {key for entity in entities if (key := normalize_entity(entity))}
        for entities in (run.recording.decomposition.entities, decompose(claim).entities)
    )
    return {
        "claims": 1,
        "whole": theirs == ours,
        "theirs": len(theirs),
        "ours": len(ours),
        "recall exact": len(theirs & ours),
        "precision exact": len(theirs & ours),
        "recall alike": sum(any(_alike(key, other) for other in ours) for key in theirs),
        "precision alike": sum(any(_alike(key, other) for other in theirs) for key in ours),
    }


def _alike(one: str, other: str) -> bool:
    first, second = (frozenset(re.findall(r"\w+", text)) for text in (one, other))
    return one == other or len(first & second) >= ALIKE * max(1, len(first | second))
