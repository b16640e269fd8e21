"""How long prompts are, task by task, and how many documents they show.

The embedded backend plays a method, and every task is written as the chat backend would send it; 4 bytes count as a
token. By default Tool-MAD debates the example claims over the starter corpus, which is what ``redargue estimate``
reckons with. ``--frozen`` gives figures per claim over frozen searches instead:

    python -m benchmarks tokens --method dual-position@paper --frozen factcheckbench --half odd --limit 12

``--every-round`` lets Tool-MAD debate every claim to the end, so that each has a judge's prompt.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import pool
from redargue.backends import Call, Reply
from redargue.bench.datasets import Example, load
from redargue.claims import Claim
from redargue.llm.rendering import Renderer
from redargue.methods.one_pass import Answers, ReadClaims
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.nli.session import shared
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import Out, Task
from redargue.tasks.score import CompareTexts
from redargue.verifier import Verifier

CLAIMS = Path(__file__).parent.parent / "examples" / "claims.jsonl"


class Measured(EmbeddedBackend):
    """Plays as ever, and notes what a language model would have been sent: tokens by task, documents by prompt."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, list[int]] = defaultdict(list)
        self.documents: dict[str, set[str]] = defaultdict(set)

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Plays the role."""
        if isinstance(task, CompareTexts):
            size = sum(len(text.encode()) for text in (task.reference, *task.texts))
        else:
            prompt = Renderer().prompt(task)
            size = sum(len(message["content"].encode()) for message in prompt.messages())
            size += len(json.dumps(prompt.schema)) if prompt.schema else 0
        self.sizes[task.name()].append(size // 4)
        claim: Any = getattr(task, "claim", None)
        steps = getattr(task, "steps", ())
        for passage in (*getattr(task, "passages", ()), *(each for step in steps for each in step.passages)):
            document = passage.document or passage.url or passage.title or passage.sha256
            self.documents[getattr(claim, "text", "")].add(document)
        return await super().perform(task, call)


@perform.register
def _read_claims(task: ReadClaims, backend: EmbeddedBackend) -> Answers:
    """What a single reader answers to each claim: the small models do not read claims together."""
    single = (AnswerClaim(claim=claim, passages=task.passages, profile=task.profile) for claim in task.claims)
    return Answers(answers=tuple(perform(each, backend) for each in single))


def main(arguments: list[str]) -> None:
    """Prints the 10th, 50th and 90th percentile of every task; with ``--frozen``, figures per claim as well."""
    parser = argparse.ArgumentParser(prog="benchmarks tokens", description=__doc__)
    parser.add_argument("--method", default="tool-mad", metavar="NAME[@PROFILE]")
    parser.add_argument("--frozen", metavar="SNAPSHOT", help="factcheckbench, factool_qa or bingcheck")
    parser.add_argument("--half", choices=("all", "even", "odd"), default="odd")
    parser.add_argument("--limit", type=int, help="claims; by default all")
    parser.add_argument("--every-round", action="store_true", help="scoring=run_all_rounds (tool-mad)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:  # without the memory of an earlier measurement
        os.environ["REDARGUE_HOME"] = home
        measure(given)


def measure(given: argparse.Namespace) -> None:
    """Prints what :func:`main` says."""
    backend, (method, _, profile) = Measured(), given.method.partition("@")
    if not given.frozen:
        claims = [Claim(text=json.loads(line)["claim"]) for line in CLAIMS.read_text(encoding="utf-8").splitlines()]
        options: dict[str, Any] = {"settings": {"scoring": "run_all_rounds"}} if method == "tool-mad" else {}
        play(backend, claims, method=method, profile=profile or "hardened", store="starter", **options)
        show(backend)
        return
    snapshot = pool.data() / "snapshots" / f"{given.frozen}.jsonl.gz"
    examples = load("snapshots", snapshot, half=given.half, limit=given.limit).examples
    claims = [example.claim for example in examples]
    settings: dict[str, Any] = {"settings": {"scoring": "run_all_rounds"}} if given.every_round else {}
    play(backend, claims, method=method, profile=profile or "hardened", evidence=frozen(examples), **settings)
    show(backend)
    calls = [size for name, sizes in backend.sizes.items() for size in sizes if name != CompareTexts.name()]
    read = Counter({claim.text: len(backend.documents[claim.text]) for claim in claims})
    print(
        json.dumps(
            {
                "method": given.method,
                "claims": len(claims),
                "calls_per_claim": round(len(calls) / len(claims), 2),
                "tokens_per_claim": round(sum(calls) / len(claims)),
                "documents_per_claim": round(read.total() / len(claims), 2),
            }
        )
    )


def play(backend: Measured, claims: Sequence[Claim], **options: Any) -> None:
    """Verifies the claims."""
    with Verifier(backend=backend, claims=claims, **options) as verifier:
        for verdict in asyncio.run(verifier.verify_all(claims)):
            if verdict.error:
                raise SystemExit(f"{verdict.claim.text!r} ended in an error: {verdict.error.what}")


def frozen(examples: Sequence[Example]) -> dict[str, FixedPassages]:
    """The passages of each claim, in place of both tools of the methods' defaults."""
    passages = [example.passages for example in examples]
    return {
        "corpus": FixedPassages(passages, name="corpus", encoder=shared()),
        "keywords": FixedPassages(passages, name="keywords"),
    }


def show(backend: Measured) -> None:
    """A line of JSON per task."""
    for name, sizes in sorted(backend.sizes.items()):
        ordered = sorted(sizes)
        low, likely, high = (ordered[int(share * (len(ordered) - 1))] for share in (0.1, 0.5, 0.9))
        mean = round(sum(sizes) / len(sizes))
        print(json.dumps({"task": name, "prompts": len(sizes), "tokens": [low, likely, high], "mean": mean}))
