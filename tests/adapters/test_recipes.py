"""The recipes of docs/adapters.md, each within its framework, where that is installed."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import pytest

from support.pages import DOCS, blocks

pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("default")]

BRIDGE = "The bridge at Orvell opened in 1889. It is 330 metres long."
WRONG = BRIDGE.replace("330", "500")


def recipe(package: str) -> dict[str, Any]:
    """What the recipe for a package defines; it has at most 20 lines of code."""
    (block,) = (block for block in blocks(DOCS / "adapters.md") if block.reason == f"needs {package}")
    lines = [line for line in block.text.splitlines() if line.strip()]
    assert len(lines) <= 20
    module = {"llama-index-core": "llama_index.core", "haystack-ai": "haystack"}.get(package, package)
    try:
        importlib.import_module(module)
    except ImportError:
        pytest.skip(f"{package} is not installed: pip install {package}")
    names: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(block.text, block.where, "exec"), names)
    return names


@pytest.mark.parametrize(
    ("answer", "score", "words"), [(BRIDGE, 1.0, "2/2"), (WRONG, 0.5, "1/2"), ("Hi!", 0.0, "no claim")]
)
def test_deepeval(answer: str, score: float, words: str) -> None:
    metric = recipe("deepeval")["Grounded"]()
    case = importlib.import_module("deepeval.test_case").LLMTestCase(
        input="When?", actual_output=answer, retrieval_context=[BRIDGE]
    )
    assert metric.measure(case) == score
    assert (metric.is_successful(), words in metric.reason) == (score == 1.0, True)


@pytest.mark.parametrize(
    ("answer", "passing", "invalid"), [(BRIDGE, True, False), (WRONG, False, False), ("Hi!", False, True)]
)
def test_llama_index(answer: str, passing: bool, invalid: bool) -> None:
    evaluator = recipe("llama-index-core")["GroundedEvaluator"]()
    result = asyncio.run(evaluator.aevaluate(query="When?", response=answer, contexts=[BRIDGE]))
    assert (result.passing, result.invalid_result) == (passing, invalid)
    assert evaluator.evaluate(query="When?", response=answer, contexts=[BRIDGE]).score == result.score


def test_haystack() -> None:
    checker = recipe("haystack-ai")["GroundingChecker"]()
    haystack = importlib.import_module("haystack")
    pipeline = haystack.Pipeline()
    pipeline.add_component("grounding", checker)
    documents = [haystack.Document(content=BRIDGE)]
    result = pipeline.run({"grounding": {"replies": [BRIDGE, WRONG, "Hi!"], "documents": documents}})
    outcomes = [found["outcome"] for found in result["grounding"]["groundings"]]
    assert outcomes == ["factual", "non_factual", "not_checkable"]


def test_dspy() -> None:
    metric = recipe("dspy")["grounded"]
    dspy = importlib.import_module("dspy")
    example = dspy.Example(context=[BRIDGE], question="When?").with_inputs("question")
    evaluate = dspy.Evaluate(devset=[example], metric=metric, display_progress=False, num_threads=1)
    answer = dspy.Prediction(answer=WRONG)
    assert evaluate(lambda question: answer).score == 50.0
    assert "REFUTES" in metric(example, answer).feedback
    assert metric(example, answer, trace=[]) is False
