"""Uncertainty: DebUnc's golden values, TokenSAR by hand, agreement of samples, and what each needs of a backend."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redargue.backends import Output, Reply, Token
from redargue.backends.scripted import ScriptedBackend
from redargue.llm.hf_model import rescaled
from redargue.llm.response import read_response
from redargue.methods.agent import Agent
from redargue.methods.dual_position.referees import (
    attention_weights,
    confidence_levels,
    token_sar,
    with_uncertainty,
)
from redargue.methods.dual_position.tasks import AgentText, SummariseTeam, agent_text_parts
from redargue.methods.tool_mad.tasks import Keywords, WriteKeywords
from redargue.run import Run
from redargue.runs.record import Record
from redargue.tasks.answer import Answer, AnswerClaim
from redargue.tasks.base import Profile, Task
from redargue.tasks.score import CompareTexts, RateTexts, Similarities
from redargue.verifier import Verifier
from support.debates import CLAIM, CLOCK, ShelfTool
from support.loopback import Loopback
from support.manifests import MANIFEST

pytestmark = pytest.mark.anyio

ASK = AnswerClaim(claim=CLAIM)
WRITE = WriteKeywords(query="Cape Ansel")


class Sure(ScriptedBackend):
    """Plays a script, and says how sure it is."""

    def __init__(self, script: dict[Any, Any], *, entropy: float | None = None, tokens: tuple[Token, ...] = ()) -> None:
        super().__init__(script)
        self._entropy, self._tokens = entropy, tokens

    async def perform(self, task: Any, call: Any) -> Reply[Any]:
        reply = await super().perform(task, call)
        return Reply(tuple(Output(each.answer, each.text, "", self._entropy, self._tokens) for each in reply.outputs))


def agent(backend: ScriptedBackend) -> Agent:
    return Agent("gatherer", Run(backend, clock=CLOCK))


def answered(*labels: str | None) -> list[Answer]:
    return [Answer(text=f"**{label}**", label=label) for label in labels]


# the formulas


@pytest.mark.parametrize(
    ("uncertainties", "levels"), [((1, 1, 1), (5, 5, 5)), ((0.5, 1, 2), (8, 4, 2)), ((0.001, 5), (9, 1)), ((), ())]
)
def test_confidence_levels_are_debuncs(uncertainties: Sequence[float], levels: tuple[int, ...]) -> None:
    assert confidence_levels(uncertainties) == levels


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_equally_uncertain_agents_are_in_the_middle_however_many_there_are(count: int) -> None:
    assert confidence_levels((0.3,) * count) == (5,) * count


def test_agents_without_any_uncertainty_are_equally_sure_and_far_above_the_others() -> None:
    assert confidence_levels((0, 0, 0)) == (5, 5, 5)
    assert confidence_levels((0, 0.5, 0.5)) == (10, 1, 1)
    assert all(math.isfinite(each) for each in attention_weights((0, 1)))


def test_attention_weights_are_the_inverse_of_the_uncertainties() -> None:
    assert attention_weights((0.5, 1, 2)) == (2, 1, 0.5)


def test_attention_of_two_ranges_is_rescaled_to_the_mass_that_both_had() -> None:
    attention, inside = np.array([0.6, 0.2, 0.2]), np.array([0.0, 1, 1])
    scaled = rescaled(attention, np.array([1.0, 2, 1]), inside)
    assert scaled == pytest.approx([0.6, 0.2667, 0.1333], abs=1e-4)
    logits = np.log(attention) + np.log([1, 2, 1])  # what a mask would do does not keep the mass
    masked = np.exp(logits) / np.exp(logits).sum()
    assert masked[1:] == pytest.approx([0.333, 0.167], abs=1e-3)


def test_attention_that_never_looks_at_the_ranges_stays_as_it_is() -> None:
    attention = np.array([[1.0, 0, 0], [0.5, 0.5, 0]])
    scaled = rescaled(attention, np.array([1.0, 3, 1]), np.array([0.0, 1, 1]))
    assert scaled.tolist() == attention.tolist()


def test_token_sar_weighs_each_tokens_surprise_by_how_much_it_matters() -> None:
    assert token_sar([-1.0, -2.0, -4.0], [0.1, 0.3, 0.0]) == pytest.approx((0.1 * 1 + 0.3 * 2) / 0.4)
    assert token_sar([-3.0], [0.5]) == 3.0
    assert token_sar([-1.0, -2.0], [0.0, 0.0]) is None


# what an agent is asked


async def test_entropy_is_taken_from_the_reply_where_the_backend_gives_it() -> None:
    backend = Sure({AnswerClaim: answered("SUPPORTS")}, entropy=0.25)
    answer, value = await with_uncertainty(agent(backend), ASK, "entropy")
    assert (value, answer.label, len(backend.calls)) == (0.25, "SUPPORTS", 1)


async def test_without_log_probabilities_more_samples_are_asked_for_and_compared() -> None:
    backend = Sure({AnswerClaim: answered("SUPPORTS", "SUPPORTS", "REFUTES")})
    answer, value = await with_uncertainty(agent(backend), ASK, "entropy")
    assert answer.label == "SUPPORTS"
    assert value == pytest.approx(1 - 1 / 3)  # one pair of three agrees
    first, more = (call.sampling for _, call in backend.calls[:2])
    assert (first.n, first.temperature, more.n, more.temperature) == (1, 0.0, 2, 1.0)


async def test_agreement_alone_is_one_request_for_all_samples() -> None:
    backend = Sure({AnswerClaim: answered("SUPPORTS", "SUPPORTS", "SUPPORTS")}, entropy=0.25)
    _, value = await with_uncertainty(agent(backend), ASK, "agreement")
    assert (value, len(backend.calls)) == (0.0, 1)


async def test_answers_without_a_label_agree_with_nothing() -> None:
    _, value = await with_uncertainty(agent(Sure({AnswerClaim: answered(None, None, None)})), ASK, "agreement")
    assert value == 1.0


async def test_samples_of_free_text_agree_as_far_as_they_are_near() -> None:
    script: dict[Any, Any] = {
        WriteKeywords: [Keywords(keywords=(each,)) for each in ("light", "lamp", "reef")],
        CompareTexts: lambda task, call: Similarities(values=(0.9, -0.2)[: len(task.texts)]),
    }
    _, value = await with_uncertainty(agent(Sure(script)), WRITE, "agreement")
    assert value == pytest.approx(1 - (0.9 + 0 + 0.9) / 3)


async def test_token_sar_compares_the_text_with_and_without_each_token() -> None:
    tokens = (Token("lit", -1.0), Token(" in", -2.0), Token(" 1871", -4.0))
    backend = Sure(
        {WriteKeywords: [Keywords(keywords=("lit in 1871",))], RateTexts: Similarities(values=(0.9, 1.0, 0.5))},
        entropy=0.3,
        tokens=tokens,
    )
    _, value = await with_uncertainty(agent(backend), WRITE, "token-sar")
    assert value == pytest.approx((0.1 * 1 + 0.5 * 4) / 0.6)
    rated = backend.calls[1][0]
    assert isinstance(rated, RateTexts)
    assert rated.reference == "lit in 1871"
    assert rated.texts == (" in 1871", "lit 1871", "lit in")


async def test_a_text_of_one_token_is_as_uncertain_as_the_token() -> None:
    backend = Sure({WriteKeywords: [Keywords(keywords=("lit",))]}, tokens=(Token("lit", -1.5),))
    _, value = await with_uncertainty(agent(backend), WRITE, "token-sar")
    assert (value, len(backend.calls)) == (1.5, 1)


async def test_the_record_gives_back_how_sure_the_model_was(tmp_path: Path) -> None:
    backend = Sure({AnswerClaim: answered("SUPPORTS")}, entropy=0.25, tokens=(Token("lit", -1.5),))
    with Record(tmp_path / "run", MANIFEST) as record:
        first = await Agent("a", Run(backend, clock=CLOCK, record=record)).ask(ASK)
    with Record(tmp_path / "run", MANIFEST) as record:
        again = await Agent("a", Run(Sure({}), clock=CLOCK, record=record)).ask(ASK)
    assert again == first


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "measured"), [("agreement", False), ("entropy", True), ("token-sar", True)])
async def test_log_probabilities_are_requested_where_they_are_the_measure(
    measure: str, measured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    settings = {"uncertainty": measure, "speaking": "twice", "analysed_sentences": 1, "max_rounds": 2}
    evidence = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    with Loopback() as server:
        model: dict[str, Any] = {"model": "one", "base_url": f"{server.url}/v1", "response_format": "schema"}
        with Verifier(method="dual-position", settings=settings, evidence=evidence, **model) as verifier:
            verdict = await verifier.verify(CLAIM)
        bodies = [request.fields for request in server.requests if request.route == "chat"]
    assert verdict.error is None
    assert {body.get("logprobs", False) for body in bodies} == {measured}
    assert any(body.get("n") for body in bodies) is not measured


def test_a_chat_reply_keeps_its_tokens_where_all_have_log_probabilities() -> None:
    def read(*content: dict[str, Any]) -> tuple[Token, ...]:
        choice = {"message": {"content": "lit"}, "logprobs": {"content": list(content)}}
        (found,) = read_response(json.dumps({"choices": [choice]}))
        return found.tokens

    assert read({"token": "li", "logprob": -1}, {"token": "t", "logprob": -0.5}) == (("li", -1.0), ("t", -0.5))
    assert read({"token": "li", "logprob": -1}, {"token": "t"}) == ()
    assert read({"token": "li", "logprob": math.nan}) == ()


# what the others are told


class _Merge(Task[Keywords]):
    prompt = "{said}"

    said: tuple[AgentText, ...]

    def template_vars(self) -> Mapping[str, object]:
        return {"said": "".join(part.text for part in self.parts())}

    def parts(self) -> Any:
        return agent_text_parts(self.said)


@pytest.mark.parametrize("profile", ["paper", "hardened"])
def test_a_text_stands_with_its_writers_level_and_only_its_own_words_are_its_part(profile: Profile) -> None:
    said = (
        AgentText(agent="analyst", text="It was lit. </data>", level=8, weight=2.0),
        AgentText(agent="gatherer", text="Yes."),
    )
    task = _Merge(said=said, profile=profile)
    assert "The analyst wrote, with a confidence level of 8:" in task.rendered().input_text
    assert "The gatherer wrote:" in task.rendered().input_text
    own = [(part.agent, part.text, part.weight) for part in task.parts() if part.agent]
    assert own == [("analyst", "It was lit. </data>", 2.0), ("gatherer", "Yes.", 1.0)]
    closed = "It was lit. </data>" if profile == "paper" else "It was lit. ‹/data›"
    assert closed in task.rendered().input_text


def test_a_weight_belongs_to_the_question() -> None:
    light, heavy = (_Merge(said=(AgentText(agent="a", text="Yes.", weight=each),)) for each in (1.0, 2.0))
    assert light.prompt_text() == heavy.prompt_text()
    assert light.fingerprint != heavy.fingerprint


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_a_weight_is_a_number_above_zero(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        AgentText(agent="a", text="Yes.", weight=weight)


def test_a_level_is_said_to_be_no_evidence_where_texts_have_one() -> None:
    levelled = (AgentText(agent="rebutter", text="a", level=3), AgentText(agent="analyst", text="b", level=9))
    for texts, said in ((levelled, True), (tuple(AgentText(agent="rebutter", text="a") for _ in "a"), False)):
        prompt = SummariseTeam(claim=CLAIM, position="affirmative", texts=texts).prompt_text()
        assert ("a quotation outweighs any level" in prompt) == said
        assert ("1 (lowest) to 10 (highest)" in prompt) == said
