"""How long prompts are, task by task: what ``redargue estimate`` reckons with.

The embedded backend debates the example claims over the starter corpus, and every task is written as the chat backend
would send it; 4 bytes count as a token.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from pathlib import Path

from redargue.backends.base import Call, Reply
from redargue.claims import Claim
from redargue.llm.rendering import Renderer
from redargue.nli.backend import EmbeddedBackend
from redargue.tasks.base import Out, Task
from redargue.tasks.score import CompareTexts
from redargue.verifier import Verifier

CLAIMS = Path(__file__).parent.parent / "examples" / "claims.jsonl"


class Measured(EmbeddedBackend):
    """Plays as ever, and notes what a language model would have been sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, list[int]] = defaultdict(list)

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Plays the role."""
        if isinstance(task, CompareTexts):
            size = sum(len(text.encode()) for text in (task.reference, *task.texts))
        else:
            prompt = Renderer().prompt(task)
            size = sum(len(message["content"].encode()) for message in prompt.messages("schema"))
            size += len(json.dumps(prompt.schema))
        self.sizes[task.name()].append(size // 4)
        return await super().perform(task, call)


def main(arguments: list[str]) -> None:
    """Prints the 10th, 50th and 90th percentile of every task."""
    claims = [Claim(text=json.loads(line)["claim"]) for line in CLAIMS.read_text(encoding="utf-8").splitlines()]
    backend = Measured()
    settings = {"scoring": "run_all_rounds"}
    with Verifier(backend=backend, store="starter", settings=settings, claims=claims) as verifier:
        asyncio.run(verifier.verify_all(claims))
    for name, sizes in sorted(backend.sizes.items()):
        ordered = sorted(sizes)
        low, likely, high = (ordered[int(share * (len(ordered) - 1))] for share in (0.1, 0.5, 0.9))
        print(json.dumps({"task": name, "prompts": len(sizes), "tokens": [low, likely, high]}))
