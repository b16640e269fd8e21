"""What the check of extracted claims refuses: FactCheck-Bench's own claims, and the same turned into their denial.

Of the three forms of denial a list of words knows the first two; the third is left to the cross-encoder.
Also how many of its sentences that have no claim, as people say, the claim filter would report as left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks import pool
from redargue.inputs.rows import rows
from redargue.nli.claim_filter import statements
from redargue.text.extract import CandidateClaim, contradicted, is_contained


def main(arguments: list[str]) -> None:
    """Prints a line for each kind of claim."""
    sentences = list(_sentences())
    made = [claim for _, claims in sentences for claim in claims]
    denied = {
        opening: [claim._replace(text=f"{opening} {claim.text[0].lower()}{claim.text[1:]}") for claim in made]
        for opening in ("It is false that", "It is not the case that", "There is no truth in it that")
    }
    for name, claims in {"as extracted by people": made, **denied}.items():
        refused = contradicted(claims)
        words = sum(not is_contained(claim.text, claim.sentence, " ".join(claim.before)) for claim in claims)
        entailment = sum(claim in refused for claim in claims)
        print(json.dumps({"claims": name, "count": len(claims), "not contained": words, "denied": entailment}))
    silent = [sentence for sentence, claims in sentences if not claims]
    left_out = sum(statement is not None for statement in statements(silent))
    print(json.dumps({"sentences without a claim": len(silent), "reported as left out": left_out}))


def _sentences() -> Iterator[tuple[str, list[CandidateClaim]]]:
    for row in rows(pool.data() / "benchmarks/factcheck-bench/benchmark.jsonl.gz"):
        before: tuple[str, ...] = (str(row.fields["prompt"]),)
        fields: dict[str, Any] = row.fields["sentences"]
        for sentence in fields.values():
            text = str(sentence["text"])
            claims = [str(claim).strip() for claim in sentence.get("claims") or [] if str(claim or "").strip()]
            yield text, [CandidateClaim(claim, text, before) for claim in claims]
            before = (*before, text)
