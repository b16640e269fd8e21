"""``redargue prompts``: the prompts of a method, without running anything."""

from __future__ import annotations

import json

import pytest

from redargue.cli.app import run
from redargue.estimate import preview
from redargue.methods.base import configure, methods
from redargue.spec import RunSpec

# Asked only about options, about several sentences, about a claim with a context, or after a reply that cannot be read.
NOT_ASKED = {"AnalyseText", "AnswerOption", "CheckRelevance", "MakeSelfContained", "StateStance"}
SHIPPED = [name for name in methods if methods[name].__module__.startswith("redargue.")]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_prompts_of_every_task_of_a_method_are_shown(name: str) -> None:
    for profile in methods[name].profiles:
        shown = {prompt.task for prompt in preview(RunSpec(method=name, profile=profile))}
        tasks = {task.name() for task in configure(name, profile, {}).tasks() if task.charge == "call"}
        # The first query is the claim, unless that is long; MERMAID's last step gives the answer, if it can be read.
        short = {"WriteQuery", "ForceAnswer"} if profile == "hardened" else set()
        assert tasks - shown <= NOT_ASKED | short


def test_the_prompts_are_printed_with_their_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prompts", "show", "single-reader", "--response-format", "json"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("===== AnswerClaim (reader; ")
    assert "--- user" in out
    assert "1 prompt in this example" in err
    assert run(["prompts", "show", "single-reader", "--response-format", "plain", "--json"]) == 0
    (prompt,) = json.loads(capsys.readouterr().out)["prompts"]
    assert prompt["tokens"] > 50
    assert prompt["schema_sent"] is None


def test_one_task_of_a_method_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prompts", "show", "mermaid", "--task", "NextStep", "--all", "--response-format", "tools"]) == 0
    out = capsys.readouterr().out
    assert out.count("===== NextStep (executor; ") == 5
    assert "give_final_answer" in out
    assert run(["prompts", "show", "mermaid", "--task", "NextSteps"]) == 2
    assert "did you mean 'NextStep'" in capsys.readouterr().err


def test_a_schema_is_shown_as_strict_endpoints_are_sent_it() -> None:
    for prompt in preview(RunSpec(method="mermaid")):
        shown = json.dumps(prompt.schema_sent)
        assert '"required"' in shown
        assert not [name for name in ("x-exactly-one", "maxLength") if name in shown]


def test_an_executor_without_search_tools_and_every_round_of_a_debate_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["prompts", "show", "mermaid", "--set", "tools=[]", "--set", "memory=frozen", "--all"]) == 0
    assert "===== NextStep" in capsys.readouterr().out
    assert run(["prompts", "show", "madke", "--all"]) == 0
    assert (
        capsys.readouterr().out.count("===== JudgeConsistency")
        == configure("madke", "hardened", {}).settings.max_rounds
    )


def test_earlier_replies_of_a_chat_have_the_form_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for form in ("plain", "schema"):
        assert run(["prompts", "show", "mad", "--task", "DecideDebateOnEvidence", "--response-format", form]) == 0
        said.append(capsys.readouterr().out.split("--- assistant")[1])
    assert "(its earlier reply" in said[0]
    assert '"candidates"' in said[1]
