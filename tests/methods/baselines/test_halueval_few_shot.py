"""HaluEval's detector: what it is shown, and how Yes and No are read."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.claims import OPTIONS, TWO, Claim
from redargue.errors import BadReply, UsageError
from redargue.inputs.claims import HALLUCINATED
from redargue.llm.rendering import Renderer, schema_of
from redargue.methods.base import configure
from redargue.methods.baselines.halueval_few_shot import NAMES, DetectHallucination
from redargue.run import Run
from redargue.tasks.answer import Answer
from redargue.tasks.template import read_examples
from redargue.verdicts import Verdict
from support.debates import CLOCK, TEXT, ShelfTool

pytestmark = pytest.mark.anyio
CLAIM = Claim(text="In 1871.", context="When was it lit?", labels=HALLUCINATED)


async def judged(says: Any, claim: Claim = CLAIM, profile: str = "hardened", **given: Any) -> tuple[Verdict, Any, Any]:
    backend, shelf = ScriptedBackend({DetectHallucination: says}), ShelfTool("corpus")
    run = Run(backend, {"corpus": shelf}, clock=CLOCK)
    verdict = await configure("halueval-few-shot", profile, given).verify(claim, run)
    return verdict, backend.calls[0][0], shelf


async def test_the_knowledge_is_withheld_unless_it_is_asked_for() -> None:
    said = Answer(text="Yes", label="yes")
    verdict, task, shelf = await judged(said)
    assert (verdict.label, shelf.queries, task.knowledge) == ("yes", [], None)
    assert "#Knowledge#" not in task.prompt_text()
    assert configure("halueval-few-shot", "paper", {}).tools() == ()
    verdict, task, shelf = await judged(said, knowledge=True)
    assert shelf.queries == [CLAIM.text]
    words = task.rendered().input_text
    assert (
        words.index(TEXT) < words.index("When was it lit?") < words.index("In 1871.") < words.index("#Your Judgement#")
    )


@pytest.mark.parametrize("kind", NAMES)
async def test_each_kind_has_its_own_examples_and_names(kind: Any) -> None:
    _, task, _ = await judged(Answer(text="No", label="no"), kind=kind, profile="paper")
    assert task.demonstrations == read_examples("redargue.methods.baselines.halueval_few_shot", kind)
    for name in NAMES[task.kind]:
        assert task.demonstrations.count(f"#{name}#: ") == task.demonstrations.count("#Your Judgement#: ")
        assert f"#{name}#: " in task.rendered().input_text
    found = task.demonstrations.count("Judgement#: Yes"), task.demonstrations.count("Judgement#: No")
    assert found == {"qa": (3, 4), "dialogue": (3, 3), "summarization": (2, 1)}[kind]
    assert "kinds of hallucination to look for follow" in task.prompt_text()
    none = (await judged(Answer(text="No", label="no"), shots=False, profile="paper"))[1]
    assert none.demonstrations == ""
    assert "that follow" not in none.prompt_text()
    assert Renderer().prompt(none).system.startswith("You detect hallucinations")


def read(text: str, reading: Any = "words", claim: Claim = CLAIM) -> str | None:
    task = DetectHallucination(claim=claim, reading=reading, profile="paper")
    answer = Renderer().read(task, text, plain=True)
    assert isinstance(answer, Answer)
    return answer.label


def test_yes_is_hallucinated_whatever_the_labels_are_called() -> None:
    assert (read("Yes."), read("No"), read("**no**")) == ("yes", "no", "no")
    two = Claim(text="In 1871.", labels=TWO)
    assert (read("Yes", claim=two), read("No", claim=two)) == ("REFUTES", "SUPPORTS")
    task = DetectHallucination(claim=two)
    assert schema_of(task)["properties"]["label"]["enum"] == ["Yes", "No"]
    assert Renderer().read(task, '{"label": "No"}', plain=False) == Answer(text="**SUPPORTS**", label="SUPPORTS")


# HALU-1
def test_words_are_read_and_with_the_authors_letters() -> None:
    for text in ("Not sure", "Nobody knows"):
        assert read(text, "substrings") == "no"
        with pytest.raises(ValueError, match="not one of the labels Yes, No"):
            read(text)
    assert read("yes", "substrings") is None
    assert read("yes") == "yes"


# HALU-2
async def test_both_words_or_neither_are_no_label() -> None:
    for text in ("Yes and No", "It may be."):
        assert read(text, "substrings") is None
        with pytest.raises(ValueError):
            read(text)
    verdict, _, _ = await judged(BadReply("both", raw="Yes and no"))
    assert (verdict.label, verdict.error, verdict.reason) == (None, None, "Yes and no")


# HALU-3: the data set gives both texts of a pair: tests/bench/datasets/test_answers.py
# HALU-4
async def test_no_document_is_cut() -> None:
    long = Claim(text="It burned.", context="A house stood there. " * 2_000, labels=HALLUCINATED)
    _, task, _ = await judged(Answer(text="No", label="no"), long, kind="summarization")
    assert long.context.strip() in task.rendered().input_text


async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="'options'"):
        await judged(Answer(text="No", label=None), Claim(text="Which?", labels=OPTIONS))
