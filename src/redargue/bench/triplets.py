"""The audit of triplets (MERMAID): a sample of what the decomposer extracted, with a person's judgements."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Literal

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.events import ClaimStarted, Decomposed
from redargue.runs.record import read_events

_Judgement = Literal["", "right", "wrong"]


class AuditedTriplet(Frozen):
    """A triplet of a claim; ``judgement`` is a person's, empty before it is judged."""

    claim: str
    triplet: str
    judgement: _Judgement = ""


def draw_triplets(run: Path, file: Path, count: int, seed: int) -> Counter[str]:
    """Draws triplets of a run into a file, and counts judgements; a file that exists keeps its sample and judgements.

    Raises:
        UsageError: the run has no triplets, or a row of the file cannot be read.
        RecordError: there is no run.
    """
    if file.exists():
        return Counter(row.judgement or "not judged" for row in _read(file))
    claims: dict[int, str] = {}
    triplets: list[AuditedTriplet] = []
    for event in read_events(run):
        if isinstance(event, ClaimStarted):
            claims[event.item] = event.claim.text
        elif isinstance(event, Decomposed):
            texts = [" | ".join(filter(None, dict(triplet).values())) for triplet in event.triplets]
            triplets += [AuditedTriplet(claim=claims[event.item], triplet=text) for text in texts]
    if not triplets:
        raise UsageError(
            f"{str(run)!r} contains no triplets", hint="name a run of mermaid, which decomposes its claims"
        )
    sample = random.Random(seed).sample(triplets, min(count, len(triplets)))
    file.write_text("".join(row.model_dump_json() + "\n" for row in sample), encoding="utf-8")
    return Counter({"not judged": len(sample)})


def _read(file: Path) -> list[AuditedTriplet]:
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            rows.append(AuditedTriplet.model_validate(json.loads(line)))
        except ValueError as error:
            where = f"{file}, line {number}"
            hint = 'a judgement is "right", "wrong" or ""'
            raise UsageError(f"not a triplet: {line[:80]!r}", where=where, hint=hint) from error
    return rows
