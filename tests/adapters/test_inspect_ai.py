"""The scorer and the solver within Inspect's own evaluation, with its mock model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: pip install inspect-ai")

from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as run_eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

from redargue.adapters.inspect_ai import grounded, verify_claims  # noqa: E402

pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("default")]

BRIDGE = "The bridge at Orvell opened in 1889. It is 330 metres long."
WRONG = "The bridge at Orvell opened in 1889. It is 500 metres long."
QUESTION = "When did the bridge open?"


def evaluate(folder: Path, answers: list[str], metadata: dict[str, Any], *, solver: Any = None) -> Any:
    outputs = [ModelOutput.from_content("mockllm", text) for text in answers]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # counting tokens needs a network
    model = get_model("mockllm/model", custom_outputs=outputs)
    task = Task(
        dataset=[Sample(input=QUESTION, metadata=metadata)],
        solver=[generate(), *([solver] if solver else [])],
        scorer=grounded(),
    )
    (log,) = run_eval(task, model=model, log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    (sample,) = log.samples or []
    return sample


def test_the_scorer_gives_the_share_of_supported_claims(tmp_path: Path) -> None:
    (score,) = evaluate(tmp_path, [WRONG], {"contexts": [BRIDGE]}).scores.values()
    assert score.value == 0.5
    assert score.explanation.startswith("1/2 claims supported\nREFUTES [37:59] It is 500 metres long.")
    assert score.metadata["outcome"] == "non_factual"


@pytest.mark.parametrize(
    ("answer", "metadata", "reason"),
    [
        (BRIDGE, {}, "unchecked: there is no context"),
        ("Hello!", {"contexts": [BRIDGE]}, "no claim found"),
        (BRIDGE, {"contexts": [BRIDGE, {"words": "a"}]}, "contexts[1] is an object with the names words"),
        ("Die Brücke wurde im Jahr 1889 eröffnet.", {"contexts": [BRIDGE]}, "read English only"),
    ],
)
def test_a_sample_that_cannot_be_checked_is_unscored_with_its_reason(
    tmp_path: Path, answer: str, metadata: dict[str, Any], reason: str
) -> None:
    (score,) = evaluate(tmp_path, [answer], metadata).scores.values()
    assert math.isnan(score.value)
    assert reason in score.explanation
    assert score.reason in ("no_context", "no_claim", "language", "checker_failed")


def test_the_solver_lets_the_model_revise_an_unsupported_answer(tmp_path: Path) -> None:
    sample = evaluate(tmp_path, [WRONG, BRIDGE], {"contexts": [BRIDGE]}, solver=verify_claims(revisions=2))
    assert sample.output.completion == BRIDGE
    assert sample.metadata["redargue"]["revisions"] == 1
    assert sample.metadata["redargue"]["outcome"] == "factual"
    assert "It is 500 metres long." in sample.messages[-2].text
