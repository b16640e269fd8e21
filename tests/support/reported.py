"""Finished benches and runs, written as records, whose every text is a stranger's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from redargue.bench.compare import compare, write_results
from redargue.bench.datasets import Example
from redargue.bench.harness import Bench
from redargue.bench.system import System
from redargue.claims import FEVER, Claim
from redargue.events import (
    Answered,
    ClaimEnded,
    ClaimStarted,
    Event,
    EvidenceFound,
    EvidenceMissing,
    Judged,
    QueryWritten,
    RoundEnded,
    Scored,
)
from redargue.evidence import Gap, GapKind, Passage, Quote, QuoteStatus, Side
from redargue.reports.exchange import Signature
from redargue.verdicts import ErrorInfo, Metric, Score, Usage, Verdict
from support.manifests import altered

S, R, N = FEVER.names
SIGNATURE = Signature("A newsroom", "https://example.org/review", date(2026, 11, 22))
WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def written(folder: Path, claims: Sequence[Claim], events: Sequence[Event], **about: object) -> Path:
    """A run folder with those events."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "format": 3,
        "run": folder.name,
        "redargue": "0.3.0",
        "spec": {"method": "tool-mad", "settings": {"rounds": 2}, "backend": "embedded"},
        "backend": {"identity": "embedded:abc", "stability": [0.0, 0.0]},
        "tools": {"corpus": {"name": "corpus", "revision": "r1"}},
        "claims": [claim.model_dump(mode="json") for claim in claims],
    }
    (folder / "run.json").write_text(json.dumps(altered(manifest, about)), encoding="utf-8")
    (folder / "events.jsonl").write_text("".join(e.model_dump_json() + "\n" for e in events), encoding="utf-8")
    return folder


def debated(item: int, claim: Claim, label: str | None, word: str, **verdict: object) -> list[Event]:
    """A debate of one round and a judge, in which everything reads ``word``."""
    passage = Passage(
        document=word, title=word, url=word, publisher=word, published=word, tool="corpus", text=f"{word} stands here",
        query=word, retrieved=WHEN,
    )  # fmt: skip
    good = Quote(
        text=word, status=QuoteStatus.VERIFIED, start=0, end=len(word), passage=passage.sha256,
        source=passage.source(), side=Side.FOR, agent=word,
    )  # fmt: skip
    lost = Quote(text=f"{word} never said", status=QuoteStatus.NOT_FOUND, agent=word)
    score = Score(metric=Metric.FAITHFULNESS, value=None, undefined=word, agent=word, round=1)
    said = f"{word}\n{word} never said\n**{label}**"
    whole = {
        "claim": claim, "label": label, "meaning": FEVER.meaning(label) if label else None, "decided_by": "judge",
        "rounds": 1, "round_labels": ((label, S),), "reason": word, "quotes": (good, lost),
        "gaps": (Gap(kind=GapKind.EMPTY, tool=word, query=word),),
        "usage": Usage(calls=4), "method": "tool-mad", "profile": "hardened", "backend": "embedded",
    }  # fmt: skip
    events: tuple[Event, ...] = (
        ClaimStarted(item=item, claim=claim, method="tool-mad", settings={}, backend="embedded", seed=0),
        QueryWritten(item=item, agent=word, round=1, query=word),
        EvidenceFound(item=item, agent=word, round=1, tool="corpus", query=word, passages=(passage,), key="k"),
        EvidenceMissing(item=item, agent=word, round=1, tool=word, query=word, why=word, key="m"),
        Answered(item=item, agent=word, round=1, text=said, label=label, quotes=(good, lost)),
        Scored(item=item, agent=word, round=1, score=score),
        RoundEnded(item=item, round=1, labels=(label, S), agreed=False, accepted=False, why=(word,)),
        Judged(item=item, text=said, label=label),
        ClaimEnded(item=item, at=0.5, verdict=Verdict.model_validate({**whole, **verdict})),
    )
    return [each.model_copy(update={"seq": seq}) for seq, each in enumerate(events)]


def claimed(word: str) -> Claim:
    """A claim that holds a stranger's text, as far as claims may."""
    kept = "".join(char for char in word if char in "\n\t" or not (ord(char) < 32 or ord(char) == 127))
    return Claim(text=kept if any(map(str.isalnum, kept)) else f"claim {kept}")


def run_of(folder: Path, words: Sequence[str]) -> Path:
    """A run over claims of those texts."""
    claims = [claimed(word) for word in words]
    events = [
        event
        for at, (claim, word) in enumerate(zip(claims, words, strict=True))
        for event in debated(at, claim, (S, R, N)[at % 3], word)
    ]
    return written(folder, claims, events)


def text_of(folder: Path, words: Sequence[str], *unchecked: object, **about: object) -> Path:
    """A run over the claims of one text, which are its paragraphs; what stands between two of them is dropped.

    ``unchecked`` are sentences without a claim.
    """
    claims = [claimed(word) for word in words]
    parts = [each.text for each in claims]
    starts = [sum(len(part) + 2 for part in parts[:at]) for at in range(len(parts))]
    located = [
        {"claim": part, "start": start, "end": start + len(part)} for part, start in zip(parts, starts, strict=True)
    ]
    said, context = "\n\n".join(parts) or "Oje.", "".join(parts[:1])
    text = {"text": said, "kind": "text", "context": context, "claims": located, "unchecked": unchecked}
    spent = Usage(calls=4).model_dump()
    events = [event for at, claim in enumerate(claims) for event in debated(at, claim, (S, R, N)[at % 3], words[at])]
    return written(folder, claims, events, text={**text, "usage": spent}, **about)


def stopped(folder: Path, verdicts: int) -> Path:
    """A run that was stopped after so many verdicts, which are those of its first claims."""
    log = folder / "events.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = (line for line in lines if json.loads(line)["item"] < verdicts)
    log.write_text("".join(kept), encoding="utf-8")
    return folder


def bench_of(folder: Path, words: Sequence[str], *, confident: bool = False) -> Path:
    """A bench of two systems that differ on every third claim; on the fourth the second ends in an error."""
    examples = [
        Example(id=f"={at}", claim=claimed(word), gold=(S, R, N)[at % 3], row=at + 1) for at, word in enumerate(words)
    ]
    systems = [System.parse("tool-mad"), System.parse("single-reader")]
    sample = {
        "limit": None, "how": "first", "per_group": False, "half": "all", "seed": 0, "dataset": "fever", "options": [],
        "file": f"{words[0]}.jsonl", "sha256": "a" * 64, "rows": len(words), "taken": len(words),
        "labels": [[S, len(words)]], "groups": [],
    }  # fmt: skip
    bench = Bench(folder, examples, systems, sample=sample)
    for place, system in enumerate(systems):
        events: list[Event] = []
        for at, (example, word) in enumerate(zip(examples, words, strict=True)):
            label = example.gold if place == 0 and at % 2 else S
            more: dict[str, object] = {"confidence": 0.1 + 0.8 * (at % 2)} if confident else {}
            if place and at == 3:
                error = ErrorInfo(type="BadReply", what=word, hint=word, exit_code=3)
                label, more = None, {"error": error, "decided_by": None}
            events += debated(at, example.claim, label, word, **more)
        written(folder / system.slug, [each.claim for each in examples], events, method=system.method)
    write_results(compare(bench, draws=50), folder)
    return folder
