"""Self-Check: a verdict without evidence, after no examples or three."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import OPTIONS, Claim
from redargue.errors import BadReply, UsageError
from redargue.llm.rendering import Renderer
from redargue.methods.base import configure
from redargue.methods.baselines.closed_book import SelfCheck, SelfChecked
from redargue.run import Run
from redargue.tasks.template import read_examples
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK

pytestmark = pytest.mark.anyio
WRONG = SelfChecked(reasoning="Lit later.", error="The year.", corrected_claim="It was lit in 1875.", factuality=False)


async def checked(
    says: Any, claim: Claim = CLAIM, profile: str = "hardened", **given: Any
) -> tuple[Verdict, list[Any]]:
    backend = ScriptedBackend({SelfCheck: says})
    verdict = await configure("self-check", profile, given).verify(claim, Run(backend, clock=CLOCK))
    return verdict, backend.calls


async def test_the_verdict_is_the_models_own() -> None:
    verdict, calls = await checked(WRONG)
    assert (verdict.label, verdict.reason) == ("REFUTES", "Lit later.\nThe year.\nIt was lit in 1875.")
    right = WRONG.model_copy(update={"error": "None", "corrected_claim": "None", "factuality": True})
    assert (await checked(right))[0].label == "SUPPORTS"
    ((task, call),) = calls
    assert (task.demonstrations, call.sampling.temperature) == ("", 0.0)
    _, ((task, _),) = await checked(right, shots=3)
    assert task.demonstrations.count("[claim]: ") == 3


# SELF-1
@pytest.mark.parametrize(("profile", "label"), [("paper", None), ("hardened", None), ("authors", "SUPPORTS")])
async def test_what_cannot_be_read_is_no_label_and_counts_as_factual_with_the_authors(
    profile: str, label: str | None
) -> None:
    verdict, _ = await checked(BadReply("no JSON", raw="No idea."), profile=profile)
    assert (verdict.label, verdict.reason) == (label, "No idea.")


# SELF-2
def test_a_reply_is_json_and_python_is_not_evaluated() -> None:
    task, read = SelfCheck(claim=CLAIM, profile="paper"), Renderer().read
    said = '{"reasoning": "it is true", "error": null, "corrected_claim": "None", "factuality": "True"}'
    assert read(task, said, plain=True) == SelfChecked(
        reasoning="it is true", error="None", corrected_claim="None", factuality=True
    )
    for bad in (said.replace('"True"', "True"), said.replace('"True"', "1 == 1"), said.replace('"True"', "null")):
        with pytest.raises(ValueError):
            read(task, bad, plain=True)


def test_without_examples_the_claim_comes_before_the_form_and_with_them_after() -> None:
    none, three = (SelfCheck(claim=CLAIM, demonstrations=shown, profile="paper") for shown in ("", "[claim]: x"))
    assert none.prompt_text().index(CLAIM.text) < none.prompt_text().index("begin with {")
    words = three.prompt_text()
    assert words.index("begin with {") < words.index("[claim]: x") < words.index(CLAIM.text)


def test_each_example_is_a_reply_that_can_be_read() -> None:
    blocks = read_examples("redargue.methods.baselines.closed_book", "self_check").split("\n\n")
    found = [
        Renderer().read(SelfCheck(claim=CLAIM), block.partition("[response]: ")[2], plain=True) for block in blocks
    ]
    assert [each.factuality for each in found if isinstance(each, SelfChecked)] == [False, True, False]


async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="self-check cannot give the labels 'options'"):
        await checked(WRONG, Claim(text="Which?", labels=OPTIONS))
