"""An entailment model as a baseline: premises, the threshold, labels; models of the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redargue.backends.base import Call
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import AVERITEC, OPTIONS, TWO, Claim
from redargue.errors import UsageError
from redargue.events import CallFinished
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.methods.base import configure
from redargue.methods.baselines import nli  # noqa: F401  (registers what the small models play)
from redargue.net.transport import Service, Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.session import WEIGHTS
from redargue.nli.user_nli import UserNli
from redargue.run import Run
from redargue.tasks.score import InferClaim, Inferences, Inferred
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool

pytestmark = pytest.mark.anyio
SHELF = (Passage(text="Ansel has a light.", title="Cape Ansel"), Passage(text=QUOTE))
THREE = {"0": "contradiction", "1": "entailment", "2": "neutral"}


async def inferred(
    *said: tuple[float, float | None], claim: Claim = CLAIM, shelf: tuple[Passage, ...] = SHELF, **given: Any
) -> tuple[Verdict, list[InferClaim]]:
    """The verdict where the model says this of each premise, and what it was asked."""
    asked: list[InferClaim] = []

    def infers(task: InferClaim, call: Any) -> Inferences:
        asked.append(task)
        return Inferences(inferences=tuple(Inferred(supports=each, refutes=other) for each, other in said))

    tool = ShelfTool("corpus")
    tool.passages = shelf
    run = Run(ScriptedBackend({InferClaim: infers}), {"corpus": tool}, clock=CLOCK)
    return await configure("nli", "hardened", given).verify(claim, run), asked


async def test_all_passages_are_one_premise_or_each_is_one_and_the_most_probable_counts() -> None:
    verdict, (task,) = await inferred((0.7, 0.1))
    assert task.premises == (f"Cape Ansel. Ansel has a light.\n{QUOTE}",)
    assert (verdict.label, verdict.reason) == ("SUPPORTS", "support 0.700, refutation 0.100")
    verdict, (task,) = await inferred((0.2, 0.1), (0.8, 0.1), evidence="each")
    assert task.premises == ("Cape Ansel. Ansel has a light.", QUOTE)
    assert verdict.label == "SUPPORTS"


@pytest.mark.parametrize(
    ("said", "labels", "threshold", "label"),
    [
        ((0.5, None), TWO, 0.5, "SUPPORTS"),  # at the threshold
        ((0.49, None), TWO, 0.5, "REFUTES"),
        ((0.49, 0.1), TWO, 0.5, "REFUTES"),
        ((0.49, None), AVERITEC, 0.5, "Refuted"),  # one output cannot say that nothing settles it
        ((0.2, 0.1), AVERITEC, 0.5, "Not Enough Evidence"),
        ((0.2, 0.6), AVERITEC, 0.5, "Refuted"),
        ((0.6, 0.7), AVERITEC, 0.5, "Refuted"),  # of two passages
        ((0.6, 0.1), AVERITEC, 0.7, "Not Enough Evidence"),
    ],
)
async def test_labels(said: tuple[float, float | None], labels: Any, threshold: float, label: str) -> None:
    verdict, _ = await inferred(said, claim=CLAIM.model_copy(update={"labels": labels}), threshold=threshold)
    assert verdict.label == label


@pytest.mark.parametrize(("labels", "label"), [(CLAIM.labels, "NOT ENOUGH INFO"), (TWO, None)])
async def test_without_evidence_nothing_is_inferred(labels: Any, label: str | None) -> None:
    verdict, asked = await inferred(claim=CLAIM.model_copy(update={"labels": labels}), shelf=())
    assert (verdict.label, asked) == (label, [])
    assert verdict.gaps == (f"corpus found nothing for '{CLAIM.text}'",)


async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="nli cannot give the labels 'options'"):
        await inferred((1, 0), claim=Claim(text="Which?", labels=OPTIONS))


async def test_a_small_model_plays_it_beside_a_language_model_and_no_call_is_counted() -> None:
    chat = ChatBackend(Transport(), Service(name="model", url="http://127.0.0.1:9/v1"), "m")
    runs = [Run(backend, {"corpus": ShelfTool("corpus")}, clock=CLOCK) for backend in (EmbeddedBackend(), chat)]
    first, second = [await configure("nli", "hardened", {}).verify(CLAIM, run) for run in runs]
    assert first.label == second.label == "SUPPORTS"
    assert first.reason == second.reason
    assert all((run.usage.calls, run.usage.embeddings) == (0, 1) for run in runs)
    assert not any(each.usd for run in runs for each in run.events if isinstance(each, CallFinished))
    assert chat.render(InferClaim(hypothesis="a", premises=("b",))) == ""


def model(folder: Path, names: dict[str, str] | None = None, *logits: float) -> UserNli:
    """A model of the user's own that gives these numbers."""
    for name, file in (("entailment.onnx", "model.onnx"), ("tokenizer.json", "tokenizer.json")):
        (folder / file).unlink(missing_ok=True)
        (folder / file).symlink_to(WEIGHTS / name)
    (folder / "config.json").write_text(json.dumps({"id2label": names} if names else {}))
    entailer = UserNli(folder)
    if logits:
        fake = type("Fake", (), {"run": lambda self, pairs: [np.array(logits, np.float32) for _ in pairs]})
        entailer.__dict__["_session"] = fake()
    return entailer


def read(entailer: UserNli, **given: bool) -> list[float | None]:
    """What a model says of one pair, to six places."""
    (found,) = entailer.read([("evidence", "claim")], **given)
    return [None if each is None else round(each, 6) for each in found]


def test_outputs_are_read_by_their_names(tmp_path: Path) -> None:
    assert read(model(tmp_path, None, 2.0)) == [0.880797, None]
    assert read(model(tmp_path, THREE, 0.0, 2.0, 1.0)) == [0.665241, 0.090031]
    assert read(model(tmp_path, {"0": "entailment", "1": "not_entailment"}, 1.0, 0.0)) == [0.731059, None]
    for names, logits in ((None, (1.0, 2.0, 3.0)), (THREE, (1.0, 2.0)), ({"0": "a", "1": "b"}, (1.0, 2.0))):
        with pytest.raises(UsageError, match="do not identify entailment"):
            read(model(tmp_path, names, *logits))
    with pytest.raises(UsageError, match=r"gives \[nan\] for a pair"):
        read(model(tmp_path, None, float("nan")))
    (tmp_path / "config.json").write_text('{"id2label": [1]}')
    with pytest.raises(UsageError, match="does not name the model's outputs"):
        _ = UserNli(tmp_path).sha256


# NLI-2
def test_the_first_output_alone_as_wecheck_has_it(tmp_path: Path) -> None:
    assert read(model(tmp_path, THREE, 2.0, 5.0, 5.0), sigmoid=True) == [0.880797, None]
    assert configure("nli", "paper", {}).settings.sigmoid


# NLI-1
def test_only_the_premise_is_cut(tmp_path: Path) -> None:
    entailer = model(tmp_path)
    row = entailer._session.tokenizer.encode("word " * 900, "the claim")
    vocabulary = json.loads((WEIGHTS / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    assert (len(row.ids), row.ids[-3:]) == (UserNli.longest, [vocabulary[token] for token in ("the", "claim", "[SEP]")])
    with pytest.raises(UsageError, match="a claim of more than 512 tokens"):
        entailer.read([("evidence", "word " * 900)])


async def test_a_model_of_the_users_own_is_named_by_its_folder(tmp_path: Path, monkeypatch: Any) -> None:
    plain = EmbeddedBackend().identity
    monkeypatch.setenv("REDARGUE_ENTAILMENT", str(tmp_path))
    with pytest.raises(UsageError, match=r"no file 'model\.onnx'"):
        _ = EmbeddedBackend().user_nli
    model(tmp_path, {"0": "entailment", "1": "contradiction", "2": "neutral", "3": "relevant"})
    backend = EmbeddedBackend()
    assert backend.identity != plain
    task = InferClaim(hypothesis=CLAIM.text, premises=(QUOTE, "It rains."))
    (output,) = (await backend.perform(task, Call(agent="reader"))).outputs
    assert output.answer.inferences[0].supports > output.answer.inferences[1].supports
    server = Service(name="model", url="http://127.0.0.1:9/v1")
    chat = ChatBackend(Transport(), server, "m", embedding_model="e")
    assert backend.user_nli is not None
    assert chat.identity.endswith(f"rated={backend.user_nli.sha256[:12]}")
