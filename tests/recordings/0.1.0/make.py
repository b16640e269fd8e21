"""Makes the recordings of redargue 0.1.0: a run of every method and profile, made by that release itself.

From a checkout of the release, in an environment where it is installed:
``PYTHONPATH=tests python make.py FOLDER``. The imports are those of 0.1.0; do not adapt them to later releases.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import tarfile
import tempfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

from redargue.backends.base import Backend, Call, Reply
from redargue.backends.chat import ChatBackend
from redargue.backends.embedded import EmbeddedBackend
from redargue.claims import Claim
from redargue.protocols.base import configure, methods
from redargue.responses import verify_text
from redargue.tasks.base import Out, Task
from redargue.transport import Service, Transport
from redargue.verifier import Verifier
from support.loopback import Ask, Loopback
from support.scripts import agreeing

CLAIM = Claim(text="The Moon is larger than the Earth, and light is faster than sound.")
DELAYS = Random(7)  # answers arrive in another order than that of the questions, as from a real endpoint
OFFLINE: dict[str, dict[str, Any]] = {  # what asks a live service asks the starter corpus; few samples
    "pubmedqa": {"debaters": ("corpus", "keywords"), "summarised": ("keywords",)},
    "self-consistency": {"n": 3},
    "best-of-n": {"n": 3},
}
MARKED = ("reasoning", "text", "opinion", "summary", "reason", "question", "thought")
TEXT = "Bees are insects. The Moon is larger than the Earth. Light is faster than sound."
LOVED = "honey bread milk rain snow wind song tea salt wool oak fern moss sand clay jazz ink silk rye figs".split()
TEXTS: dict[Any, str] = {
    "text": TEXT,
    "dialogue": " ".join(f"I love {name}." for name in LOVED) + f" {TEXT}",  # two requests for opinions
}


def distinct(ask: Ask) -> Any:
    """As the tests' model replies, with a mark of the question in its prose: no two answers are alike."""
    reply = agreeing(ask)
    mark = sha256(f"{ask.user}{ask.sample}".encode()).hexdigest()[:6]
    if isinstance(reply, dict):
        return {name: f"{value} (note {mark})" if name in MARKED and value else value for name, value in reply.items()}
    return reply


def unreadable(ask: Ask) -> str:
    """Nothing that can be read."""
    return ""


class Delayed:
    """Waits up to 30 ms before and after each answer."""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        await asyncio.sleep(DELAYS.random() * 0.03)
        reply: Reply[Out] = await super().perform(task, call)  # type: ignore[misc]
        await asyncio.sleep(DELAYS.random() * 0.03)
        return reply


class DelayedEmbedded(Delayed, EmbeddedBackend):
    pass


class DelayedChat(Delayed, ChatBackend):
    pass


def backend_for(name: str, server: Loopback) -> Backend:
    if name == "embedded":
        return DelayedEmbedded()
    service = Service(name="model", url=f"{server.url}/v1")
    return DelayedChat(Transport(), service, "for-model", embedding_model="loopback-embedding")


async def record(folder: Path, backend: Backend, method: str, profile: str, settings: dict[str, Any]) -> None:
    with Verifier(
        method=method,
        profile=profile,
        settings=settings,
        backend=backend,
        store="starter",
        folder=folder,
        claims=[CLAIM],
    ) as verifier:
        verdict = await verifier.verify(CLAIM)
    print(folder.name, verdict.label, verdict.error.type if verdict.error else "", flush=True)


def pack(folder: Path, archive: Path) -> None:
    """Writes run.json and events.jsonl without times, owners and modes, so that the same run gives the same bytes."""
    with tarfile.open(archive, "w:xz") as packed:
        for name in ("run.json", "events.jsonl"):
            content = (folder / name).read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, BytesIO(content))


async def make(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, Loopback(distinct) as server, Loopback(unreadable) as mute:
        os.environ["REDARGUE_HOME"] = home
        runs = Path(home) / "recordings"
        for method in methods:
            for profile in methods[method].profiles:
                settings = OFFLINE.get(profile, {}) | OFFLINE.get(method, {})
                for name in ("embedded", "chat"):
                    backend = backend_for(name, server)
                    tasks = configure(method, profile, settings).tasks()
                    if all(map(backend.can, tasks)) and not (name == "chat" and method == "nli"):
                        await record(runs / f"{method}-{profile}-{name}", backend, method, profile, settings)
        settings = {"uncertainty": "agreement"}
        await record(
            runs / "dual-position-samples-chat", backend_for("chat", server), "dual-position", "hardened", settings
        )
        await record(runs / "failed-claim-chat", backend_for("chat", mute), "one-reader", "hardened", {})
        for name, (kind, text) in itertools.product(("embedded", "chat"), TEXTS.items()):
            await verify_text(
                text,
                kind=kind,
                method="one-reader",
                backend=backend_for(name, server),
                store="starter",
                folder=runs / f"{kind}-{name}",
            )
        for folder in sorted(runs.iterdir()):
            pack(folder, target / f"{folder.name}.tar.xz")
        print(json.dumps({"recordings": len(list(runs.iterdir()))}))


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1])))
