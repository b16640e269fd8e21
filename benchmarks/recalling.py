"""What an evidence memory would have saved: it begins empty, claims come in the data set's order.

A recorded call counts as answered if something that was recalled for its claim holds an address or a text that the call
returned: what earlier claims left behind, nothing else. An item that holds nothing of what the claim's calls returned
is a wrong recall; of claims without a call nothing can be said. The released runs bring their decompositions and whole
observations (their first 2,000 characters); of frozen evidence a call is a query, its results are single passages,
queries are those of several agents, and the embedded decomposer gives the entities.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import pool
from redargue.bench.commands.mermaid import ObservedCall, ReleasedRun, failure_of, read_runs, text_contents
from redargue.bench.datasets import Example, load
from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.memory import Finding, MemorySettings
from redargue.memory.memory import Memory, open_memory
from redargue.nli.grammar import decompose
from redargue.nli.session import Embedder

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHOWN = 2_000  # characters of an item
LEAST = 20  # characters of a text that tells one observation from another
WAYS = {
    "entity": MemorySettings(by="entity", characters=SHOWN),
    "meaning": MemorySettings(by="meaning", characters=SHOWN),
    "both": MemorySettings(by="both", characters=SHOWN),
    "both, guarded": MemorySettings(by="both", characters=SHOWN, guard=True),
    "released program": MemorySettings(by="substring", limit=3, characters=SHOWN),
}

Marks = frozenset[str]


class Call(NamedTuple):
    """A call as it was recorded, and what it returned; nothing where it failed."""

    tool: str
    query: str
    passages: tuple[Passage, ...]

    @property
    def marks(self) -> Marks:
        """What tells whether something else holds the same."""
        return frozenset().union(*map(marks, self.passages))


class Asked(NamedTuple):
    """A claim with its entities, the calls that were made for it, repeated ones too, and what was recalled before."""

    claim: str
    entities: tuple[str, ...]
    calls: tuple[Call, ...]
    recalled: tuple[Passage, ...] = ()


def lines(files: Sequence[Path], limit: int | None) -> Iterator[dict[str, Any]]:
    """One line a set and way to recall, after a line on what the calls themselves repeat."""
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    for name, asked in sets(files):
        chosen = asked[:limit]
        if not any(claim.calls for claim in chosen):
            continue
        yield {"set": name} | _without(chosen)
        if any(claim.recalled for claim in chosen):
            recorded: Counter[str] = Counter()
            for claim in chosen:
                recorded.update(_judged(claim, claim.recalled))
            yield {"set": name, "by": "as it was recorded"} | _shares(recorded)
        for way, counts in asyncio.run(_recalled(name, chosen)).items():
            yield {"set": name, "by": way} | _shares(counts)


def sets(files: Sequence[Path]) -> Iterator[tuple[str, list[Asked]]]:
    """Released runs, file by file, and frozen evidence."""
    for file in files:
        examples = load("mermaid-runs", file).examples
        yield (
            file.name.partition(".json")[0],
            [_traced(example, run) for example, run in zip(examples, read_runs(file)[0], strict=True)],
        )
    for path in sorted((pool.data() / "snapshots").glob("*.jsonl.gz")):
        examples = load("snapshots", path).examples
        yield f"frozen {path.name.partition('.')[0]}", [_frozen(example) for example in examples]


def _traced(example: Example, run: ReleasedRun) -> Asked:
    entities = run.recording.decomposition.entities if run.recording.decomposition else ()
    made = (call for call in run.calls if failure_of(call.text or "") != "unknown tool")
    recalled = (Passage(text=_plain(text), query=query) for query, text in run.memory)
    return Asked(example.claim.text, entities, tuple(map(_call, made)), tuple(recalled))


def _call(made: ObservedCall) -> Call:
    observed = [_plain(text) for text in text_contents(made.text or "") if not failure_of(text)]
    passages = (Passage(text=text, tool=made.tool, query=made.query) for text in observed)
    return Call(made.tool, made.query, tuple(passages))


def _frozen(example: Example) -> Asked:
    by_query: dict[str, list[Passage]] = {}
    for passage in example.passages:
        by_query.setdefault(passage.query, []).append(passage)
    calls = (Call("search", query, tuple(passages)) for query, passages in by_query.items())
    return Asked(example.claim.text, decompose(example.claim.text).entities, tuple(calls))


def _plain(text: str) -> str:
    """Without what the log's way of writing and the search's highlighting put there, for what reads the meaning.

    An observation may be cut in the middle of its JSON, in the middle of Python's ``repr`` of it: so no parser.
    """
    bare = re.sub(r"^\[TextContent\(type='text', text=['\"]|<[^>]*>|\\+", "", text)
    return html.unescape(bare)


def marks(passage: Passage) -> Marks:
    """Addresses (a page's number in Wikipedia is one) and snippets in a text; the whole text where it has none."""
    plain = passage.text
    marks = {url.rstrip(".,;:)]}") for url in re.findall(r"https?://[^\s\"'<>]+", plain)}
    marks |= {f"page {page}" for page in re.findall(r'"pageid":(\d+)[,}]', plain)}
    marks |= {
        text for snippet in re.findall(r'"snippet":"(.*?)"[,}]', plain) if len(text := _squeezed(snippet)) >= LEAST
    }
    marks |= {passage.url} if passage.url else set()
    if '"results":[' not in plain and len(text := _squeezed(plain)) >= LEAST:
        marks.add(text[:SHOWN])
    return frozenset(marks)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _without(asked: Sequence[Asked]) -> dict[str, Any]:
    """What is saved without a memory: a call that was made before, for the same claim or for an earlier one."""
    every = [(item, call.tool, call.query) for item, claim in enumerate(asked) for call in claim.calls]
    first = dict.fromkeys(every)
    earlier: set[tuple[str, str]] = set()
    known = 0
    for claim in asked:
        made = {(call.tool, call.query) for call in claim.calls}
        known += len(made & earlier)
        earlier |= made
    return {
        "by": "none",
        "claims": len(asked),
        "claims_with_calls": sum(bool(claim.calls) for claim in asked),
        "calls": len(every),
        "repeated_for_the_same_claim": len(every) - len(first),
        "same_call_for_an_earlier_claim": known,
        "calls_that_found_something": sum(bool(call.marks) for claim in asked for call in _once(claim)),
    }


def _once(claim: Asked) -> list[Call]:
    return list({(call.tool, call.query): call for call in reversed(claim.calls)}.values())


async def _recalled(name: str, asked: Sequence[Asked]) -> dict[str, Counter[str]]:
    """Counts by way: each recalls from the same memory, before the claim's own evidence is added to it."""
    folder = pool.BUILD / "recalling"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    where, encoder = folder / f"{name}.db", Embedder()
    counts: dict[str, Counter[str]] = {way: Counter() for way in WAYS}
    with ExitStack() as held:
        kept = held.enter_context(open_memory(where, encoder=encoder))
        ways = {
            way: held.enter_context(open_memory(where, settings=settings, encoder=encoder, write=False))
            for way, settings in WAYS.items()
        }
        for claim in asked:
            for way, memory in ways.items():
                counts[way].update(await _counted(memory, claim))
            findings = [
                Finding(passage=passage.model_copy(update={"tool": call.tool}), arguments={"query": call.query})
                for call in claim.calls
                for passage in call.passages
            ]
            await kept.remember(findings, entities=claim.entities, claim=claim.claim, run=name, now=NOW)
    return counts


async def _counted(memory: Memory, claim: Asked) -> dict[str, int]:
    recall = await memory.recall(claim.entities, claim=Claim(text=claim.claim), now=NOW)
    return _judged(claim, [item.passage for item in recall.items]) | {"held_back": recall.held_back}


def _judged(claim: Asked, recalled: Sequence[Passage]) -> dict[str, int]:
    """What was recalled for a claim beside what its calls returned."""
    held = [marks(passage) for passage in recalled]
    calls = [call.marks for call in _once(claim)]
    returned: Marks = frozenset().union(*calls)
    everything: Marks = frozenset().union(*held)
    relevant = sum(bool(found_marks & returned) for found_marks in held) if calls else 0
    answered = [bool(found_marks & everything) for found_marks in calls]
    return {
        "calls": len(calls),
        "answered": sum(answered),
        "answered_by_text": sum(any(not _address(mark) for mark in found_marks & everything) for found_marks in calls),
        "recalled": len(held),
        "claims_with_a_recall": bool(held),
        "judged": len(held) if calls else 0,
        "relevant": relevant,
        "claims_with_wrong_recalls_alone": bool(calls) and bool(held) and not relevant,
        "claims_all_answered": bool(calls) and all(answered),
    }


def _address(mark: str) -> bool:
    return mark.startswith(("http://", "https://", "page "))


def _shares(counts: Counter[str]) -> dict[str, Any]:
    def share(part: str, of: str) -> float | None:
        return round(counts[part] / counts[of], 3) if counts[of] else None

    return {
        "calls": counts["calls"],
        "calls_saved": share("answered", "calls"),
        "by_text_alone": share("answered_by_text", "calls"),
        "claims_all_answered": counts["claims_all_answered"],
        "claims_with_a_recall": counts["claims_with_a_recall"],
        "recalled": counts["recalled"],
        "relevant": share("relevant", "judged"),
        "wrong": counts["judged"] - counts["relevant"],
        "claims_with_wrong_recalls_alone": counts["claims_with_wrong_recalls_alone"],
        "not_judged": counts["recalled"] - counts["judged"],
        "held_back": counts["held_back"],
    }
