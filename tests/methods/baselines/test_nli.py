"""An entailment model as a baseline: premises, the threshold, labels."""

from __future__ import annotations

from typing import Any

import pytest

from redargue import words
from redargue.backends import Call
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import AVERITEC, OPTIONS, TWO, Claim
from redargue.errors import UsageError
from redargue.events import CallFinished
from redargue.evidence import Passage
from redargue.llm.chat import ChatBackend
from redargue.methods.base import configure
from redargue.methods.baselines import nli  # noqa: F401  (registers what the small models perform)
from redargue.net.transport import Service, Transport
from redargue.nli.backend import EmbeddedBackend
from redargue.run import Run
from redargue.tasks.score import InferClaim, Inferences, Inferred
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool

pytestmark = pytest.mark.anyio
SHELF = (Passage(text="Ansel has a light.", title="Cape Ansel"), Passage(text=QUOTE))


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
    assert [words.gap(gap) for gap in verdict.gaps] == [f"corpus found nothing for '{CLAIM.text}'"]


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


# NLI-1


# NLI-2
async def test_support_alone_decides_in_the_paper_profile() -> None:
    task = InferClaim(hypothesis=CLAIM.text, premises=(QUOTE,))
    for alone in (False, True):
        asked = task.model_copy(update={"support_only": alone})
        (output,) = (await EmbeddedBackend().perform(asked, Call(agent="reader"))).outputs
        assert (output.answer.inferences[0].refutes is None) is alone
    assert configure("nli", "paper", {}).settings.support_only


# NLI-1
async def test_passages_are_cut_one_by_one_where_each_is_a_premise() -> None:
    long = Passage(text=f"{'It rains. ' * 300}{QUOTE}")
    _, (joined,) = await inferred((0.7, 0.1), shelf=(long, SHELF[1]))
    _, (each,) = await inferred((0.7, 0.1), (0.7, 0.1), shelf=(long, SHELF[1]), evidence="each")
    assert (len(joined.premises), len(each.premises)) == (1, 2)
