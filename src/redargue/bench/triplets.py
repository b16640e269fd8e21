"""The audit of triplets (MERMAID): a person judges a sample of what the decomposer extracted."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Literal

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.events import ClaimStarted, Decomposed
from redargue.runs.record import read_events


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
            for fields in map(dict, event.triplets):
                text = " | ".join(filter(None, fields.values()))
                triplets.append(AuditedTriplet(claim=claims[event.item], triplet=text))
    if not triplets:
        hint = "name a run of mermaid, which decomposes its claims"
        raise UsageError(f"{str(run)!r} contains no triplets", hint=hint)
    sample = random.Random(seed).sample(triplets, min(count, len(triplets)))
    file.write_text("".join(row.model_dump_json() + "\n" for row in sample), encoding="utf-8")
    return Counter({"not judged": len(sample)})


def _read(file: Path) -> list[AuditedTriplet]:
    rows = []
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                rows.append(AuditedTriplet.model_validate_json(line))
            except ValueError as error:
                where = f"{file}, line {number}"
                hint = 'a judgement is "right", "wrong" or ""'
                raise UsageError(f"not a triplet: {line.rstrip()[:80]!r}", where=where, hint=hint) from error
    return rows
