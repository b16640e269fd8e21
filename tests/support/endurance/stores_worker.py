"""One of the processes of :mod:`support.endurance.stores`: ``MEMORY CORPUS NUMBER COUNT``; reports as JSON."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from redargue.claims import Claim
from redargue.errors import StoreUnavailable
from redargue.evidence import Passage
from redargue.memory import Finding
from redargue.memory.memory import Memory, open_memory
from redargue.retrieval.corpus import Corpus
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.index import open_corpus
from support.endurance.stores import KEPT


class Worker:
    """Does random operations, and keeps what it was told."""

    def __init__(self, memory: Memory, corpus: Corpus, number: int) -> None:
        self._memory, self._corpus, self._number = memory, corpus, number
        self._chance = random.Random(number)
        self.done, self.failures, self.busy = Counter[str](), list[str](), 0
        self.remembered, self.documents = set[str](), list[str]()

    async def work(self, count: int) -> None:
        for turn in range(count):
            kind = self._chance.choice(("remember", "recall", "add", "search", "remove"))
            try:
                await getattr(self, kind)(turn)
            except StoreUnavailable:
                self.busy += 1
            self.done[kind] += 1

    async def remember(self, turn: int) -> None:
        now = datetime.now(UTC)
        own = f"Note {turn} of process {self._number} says that bees are insects."
        shared = f"Note {turn % 50} says that honey is sweet."  # both processes store it
        findings = [Finding(passage=Passage(text=text, tool="corpus", query="bees")) for text in (own, shared)]
        entities = [f"process {self._number}", f"turn {self._number} {turn}"]
        await self._memory.remember(findings, entities=entities, claim=own, run="endurance", now=now)
        self.remembered |= {own, shared}

    async def recall(self, turn: int) -> None:
        claim = Claim(text="Bees are insects.")
        found = await self._memory.recall([f"process {self._number}"], claim=claim, now=datetime.now(UTC))
        if self.remembered and not found.items:
            self.failures.append(f"nothing is recalled in turn {turn}")

    async def add(self, turn: int) -> None:
        name = f"{self._number}-{turn}.txt"
        text = f"Document {turn} of process {self._number}. Bees are insects, and honey is sweet."
        added = self._corpus.add([Document(id=name, title=name, path=name, text=text)])
        if added.added != 1:
            self.failures.append(f"{name} was not added: {added}")
        self.documents.append(name)
        if len(self.documents) > KEPT:
            await self.remove(turn)

    async def search(self, turn: int) -> None:
        found = self._corpus.search("bees insects", 5)
        if self.documents and not found:
            self.failures.append(f"nothing is found in turn {turn}")

    async def remove(self, turn: int) -> None:
        if self.documents:
            name = self.documents.pop(self._chance.randrange(len(self.documents)))
            if self._corpus.remove([name]) != 1:
                self.failures.append(f"{name} was not removed in turn {turn}")


def main() -> None:
    where, corpus, number, count = sys.argv[1:]
    with open_memory(where) as memory:
        opened = open_corpus(corpus, write=True)
        worker = Worker(memory, opened, int(number))
        asyncio.run(worker.work(int(count)))
        opened.close()
    report: dict[str, Any] = {"done": worker.done, "failures": worker.failures, "busy": worker.busy}
    report |= {"remembered": sorted(worker.remembered), "documents": worker.documents}
    print(json.dumps(report))  # noqa: T201


if __name__ == "__main__":
    main()
