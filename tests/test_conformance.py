"""Every method on every backend that can play it ends in a verdict and replays to the same events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.backends import Backend, backends
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import AVERITEC, TWO, YES_NO_MAYBE, Claim
from redargue.errors import UnsupportedTask
from redargue.events import canonical
from redargue.llm.chat import ChatBackend
from redargue.llm.local import TransformersBackend
from redargue.methods.base import configure, methods
from redargue.methods.one_pass import Answers
from redargue.net.transport import Service, Transport
from redargue.runs.record import read_events
from redargue.verifier import Verifier
from support.debates import CLOCK, answer, script
from support.loopback import Loopback
from support.scripts import agreeing
from support.tiny import needs_torch, tiny_llama

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLAIMS = [
    Claim(text="Bees are insects."),
    Claim(text="The Moon is larger than the Earth.", labels=TWO),
    Claim(text="The mayor of a town nobody wrote about owns a red bicycle.", labels=AVERITEC),
    Claim(text="Is water wet?", labels=YES_NO_MAYBE),
]
# Profiles that ask a live service, over the starter corpus instead; methods that ask much, a little.
HERE: dict[str, dict[str, Any]] = {
    "pubmedqa": {"debaters": ("corpus", "keywords"), "summarised": ("keywords",)},
    "self-consistency": {"n": 3},
    "best-of-n": {"n": 3},
}
# A language model on this machine is slow, even the tiniest: it plays one claim.
PLAYED = {"transformers": CLAIMS[:1]}
SHIPPED = [name for name in methods if methods[name].__module__.startswith("redargue.")]
PROFILES = [(name, profile) for name in SHIPPED for profile in methods[name].profiles]


def tiered(pairs: list[tuple[str, str]]) -> list[Any]:
    """Methods and profiles as parameters; the default profile is in the quick tier, the others are not."""
    slow = {True: (), False: (pytest.mark.slow,)}
    return [pytest.param(*pair, marks=slow[pair[1] == "hardened"]) for pair in pairs]


def made(name: str, server: Loopback, folder: Path) -> Backend:
    if name == "scripted":
        read = lambda task, call: Answers(answers=(answer(task.claims[0].labels.names[1]),) * len(task.claims))  # noqa: E731
        parts = script(
            AnswerClaim=lambda task, call: answer(task.claim.labels.names[call.agent == "keywords"]),
            DoubtClaim=lambda task, call: answer(task.claim.labels.names[1]),
            ReadClaims=read,
            DoubtClaims=read,
            JudgeDebate=lambda task, call: answer(task.claim.labels.names[-1]),
        )
        return ScriptedBackend(parts)
    if name == "chat":
        service = Service(name="model", url=f"{server.url}/v1")
        return ChatBackend(Transport(), service, "for-model", embedding_model="loopback-embedding")
    if name == "transformers":
        needs_torch()
        return TransformersBackend(tiny_llama(folder), longest=12, device="cpu")
    backend: Backend = backends[name]()
    return backend


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback(agreeing) as running:
        yield running


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def played() -> list[Any]:
    """Every method and profile on every backend; the default profiles of the papers' methods and of fakes are quick."""
    pairs = []
    papers = ("tool-mad", "mermaid", "dual-position", "pair", "single-reader")
    for name in backends:
        if name == "recorded":  # it plays what another program did, and nothing else
            continue
        for method, profile in PROFILES:
            quick = profile == "hardened" and (name != "embedded" or method in papers)
            marks = [] if quick else [pytest.mark.slow]
            marks += [pytest.mark.extra] * (name == "transformers")
            pairs.append(pytest.param(method, profile, name, marks=marks))
    return pairs


@pytest.mark.parametrize(("method", "profile", "backend"), played())
async def test_a_method_reaches_a_verdict_and_replays(
    method: str, profile: str, backend: str, server: Loopback, models: Path, tmp_path: Path
) -> None:
    folder, claims = tmp_path / "run", PLAYED.get(backend, CLAIMS)
    given = HERE.get(profile, {}) | HERE.get(method, {})
    tasks = configure(method, profile, given).tasks()
    if not all(made(backend, server, models).can(task) for task in tasks):
        assert backend == "embedded"  # it knows nothing of its own: a method without evidence is refused by name
        with pytest.raises(UnsupportedTask, match=f"'embedded' cannot perform '{method}'"):
            Verifier(method=method, profile=profile, backend="embedded", store="starter")
        return
    with Verifier(
        method=method,
        profile=profile,
        settings=given,
        backend=made(backend, server, models),
        store="starter",
        folder=folder,
        claims=claims,
        clock=CLOCK,
    ) as verifier:
        verdicts = await verifier.verify_all(claims)
    for claim, verdict in zip(claims, verdicts, strict=True):
        assert verdict.error is None
        # Two labels cannot say that nothing was found; and random weights may say what no paper's form can read.
        undecided = {None} if claim.labels is TWO or backend == "transformers" else set()
        assert verdict.label in {*claim.labels.names, *undecided}
        assert all(quote.start >= 0 for quote in verdict.quotes if quote.found)
    seen: list[Any] = []
    again = await replay(folder, listeners=[seen.append], backend=made(backend, server, models))
    assert again == verdicts
    assert canonical(seen) == canonical(read_events(folder))


async def test_a_backend_that_cannot_play_a_method_is_refused_by_name_before_it_starts() -> None:
    with pytest.raises(UnsupportedTask, match=r"'scripted' cannot perform 'tool-mad'.*JudgeDebate"):
        Verifier(method="tool-mad", backend=ScriptedBackend({}), store="starter")


UNREADABLE = {"nothing": "", "too much": "word " * 20_000, "null": "null", "no number": '{"confidence": NaN}'}
GUESSED = {"authors"}  # profiles with the published programs' random labels and defaults
ASKED = [pair for pair in PROFILES if pair[1] not in GUESSED and pair[0] != "nli"]  # nli asks no model

# The small reader of a cascade, which may decide, asks no model either.
MUTE: dict[str, dict[str, Any]] = {"mermaid": {"memory": "off"}, "cascade": {"stages": ("single-reader", "debate")}}


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(text, id=name, marks=[] if name in ("null", "no number") else [pytest.mark.slow])
        for name, text in UNREADABLE.items()
    ],
)
@pytest.mark.parametrize(("method", "profile"), tiered(ASKED))
async def test_what_cannot_be_read_never_becomes_a_label(method: str, profile: str, said: str) -> None:
    given = HERE.get(profile, {}) | HERE.get(method, {}) | MUTE.get(method, {})
    with Loopback(lambda ask: said) as mute:
        service = Service(name="model", url=f"{mute.url}/v1")
        backend = ChatBackend(Transport(), service, "for-model", embedding_model="loopback-embedding")
        with Verifier(method=method, profile=profile, settings=given, backend=backend, store="starter") as verifier:
            verdict = await verifier.verify(CLAIMS[0])
    assert verdict.label is None
    assert verdict.error is None or verdict.error.type == "BadReply"
    assert verdict.usage.calls > 0  # it was asked
