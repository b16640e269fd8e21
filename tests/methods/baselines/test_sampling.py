"""Self-consistency and best of n: sampled answers, their majority or the most faithful; as many calls as another."""

from __future__ import annotations

from typing import Any

import pytest

from redargue.backends.scripted import ScriptedBackend
from redargue.errors import BadReply, UsageError
from redargue.events import Answered, Scored
from redargue.methods.base import configure
from redargue.methods.baselines.sampling import BestOfN, SelfConsistency
from redargue.methods.dry_run import costs, usual_calls
from redargue.methods.verdict_parts import majority
from redargue.nli.backend import EmbeddedBackend
from redargue.run import Run
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.score import CheckStatements, Statements, WriteStatements
from redargue.verdicts import Verdict
from support.debates import CLAIM, CLOCK, QUOTE, ShelfTool, answer, checked

pytestmark = pytest.mark.anyio
BAD = BadReply("no label", raw="Hm.")


async def sampled(method: str, script: Any, **given: Any) -> tuple[Verdict, Run, ScriptedBackend]:
    backend, shelf = ScriptedBackend(script), ShelfTool("corpus")
    run = Run(backend, {"corpus": shelf}, clock=CLOCK)
    verdict = await configure(method, "hardened", given).verify(CLAIM, run)
    assert shelf.queries == [CLAIM.text]  # one search, however many answers
    backend.finish()
    return verdict, run, backend


async def test_the_label_of_most_samples_is_the_verdict() -> None:
    says = [answer("REFUTES"), answer("SUPPORTS"), answer("SUPPORTS")]
    verdict, run, backend = await sampled("self-consistency", {AnswerClaim: says}, n=3)
    assert (verdict.label, verdict.decided_by) == ("SUPPORTS", "vote")
    assert verdict.round_labels == (("REFUTES", "SUPPORTS", "SUPPORTS"),)
    assert [call.sampling.temperature for _, call in backend.calls] == [0.7] * 3
    assert len({task.fingerprint for task, _ in backend.calls}) == 3
    assert [each.agent for each in run.events if isinstance(each, Answered)] == ["reader-1", "reader-2", "reader-3"]
    assert [(quote.text, quote.side, quote.agent) for quote in verdict.quotes] == [(QUOTE, "for", "reader-2")]


# CONSISTENT-1
@pytest.mark.parametrize(("labels", "label"), [("ABBA", "A"), ("BABA", "B"), ("ABB", "B"), ("A", "A"), ("", None)])
def test_of_labels_with_as_many_votes_the_first_sampled_wins(labels: str, label: str | None) -> None:
    assert majority(list(labels)) == label


# CONSISTENT-2
async def test_a_sample_that_cannot_be_read_has_no_vote() -> None:
    verdict, _, _ = await sampled("self-consistency", {AnswerClaim: [BAD, BAD, answer("REFUTES")]}, n=3)
    assert (verdict.label, verdict.round_labels) == ("REFUTES", ((None, None, "REFUTES"),))
    for method in ("self-consistency", "best-of-n"):
        verdict, _, _ = await sampled(method, {AnswerClaim: [BAD, BAD]}, n=2)
        assert (verdict.label, verdict.error, verdict.reason) == (None, None, "Hm.")


# CONSISTENT-3: the prompt is single-reader's
def test_samples_are_asked_what_one_reader_is_asked() -> None:
    tasks = [configure(method, "paper", {}).tasks() for method in ("single-reader", "self-consistency")]
    assert tasks == [(AnswerClaim,)] * 2
    assert costs(configure("self-consistency", "paper", {})).likely.calls == {"AnswerClaim": 40}


# BEST-1
async def test_the_most_faithful_sample_is_kept_and_of_equals_the_first() -> None:
    labels = ("REFUTES", "SUPPORTS", "NOT ENOUGH INFO", "SUPPORTS")
    script = {
        AnswerClaim: [answer(labels[0]), BAD, answer(labels[1]), answer(labels[2])],
        WriteStatements: Statements(statements=("a", "b")),
        (CheckStatements, "reader-1"): checked(1, 0),
        (CheckStatements, "reader-3"): checked(1, 1),
        (CheckStatements, "reader-4"): checked(1, 1),
    }
    verdict, run, _ = await sampled("best-of-n", script, n=4)
    assert (verdict.label, verdict.decided_by) == ("SUPPORTS", "reader")
    assert [score.value for score in verdict.scores] == [0.5, 1.0, 1.0]
    assert [each.agent for each in run.events if isinstance(each, Scored)] == ["reader-1", "reader-3", "reader-4"]
    assert {quote.agent for quote in verdict.quotes} == {"reader-3"}


async def test_a_score_without_a_value_is_the_lowest() -> None:
    script = {
        AnswerClaim: [answer("REFUTES"), answer("SUPPORTS")],
        (WriteStatements, "reader-1"): Statements(statements=()),
        (WriteStatements, "reader-2"): Statements(statements=("a",)),
        CheckStatements: checked(0),
    }
    assert (await sampled("best-of-n", script, n=2))[0].label == "SUPPORTS"


@pytest.mark.slow
def test_as_many_calls_as_another_method_usually_has() -> None:
    for name in ("tool-mad", "markov-debate", "mermaid"):
        calls = usual_calls(name)
        many, best = (configure(each, "hardened", {"like": name}) for each in ("self-consistency", "best-of-n"))
        assert costs(many).likely.model_calls == calls > 3
        assert calls - 3 < costs(best).likely.model_calls <= calls
    tool_mad = costs(configure("tool-mad", "hardened", {})).likely.calls
    assert usual_calls("tool-mad") == sum(tool_mad.values()) - tool_mad.get("CompareTexts", 0)
    best = configure("best-of-n", "hardened", {"like": "single-reader"})
    assert best.kind is BestOfN
    assert (len(best.agents()) - 1, costs(best).low.call_depth) == (1, 3)
    with pytest.raises(UsageError, match="did you mean 'tool-mad'"):
        configure("self-consistency", "hardened", {"like": "tool-mda"})
    many, best = (configure(each, "hardened", {"calls": 37}) for each in ("self-consistency", "best-of-n"))
    assert costs(many).likely.model_calls == 37
    assert 35 <= costs(best).likely.model_calls <= 37  # each answer takes three
    with pytest.raises(UsageError, match=r"calls=37 and like=tool-mad.*use one"):
        configure("self-consistency", "hardened", {"calls": 37, "like": "tool-mad"})


async def test_without_chance_both_are_one_reader() -> None:
    verdicts = []
    for method, given in (("single-reader", {}), ("self-consistency", {"n": 3}), ("best-of-n", {"n": 3})):
        run = Run(EmbeddedBackend(), {"corpus": ShelfTool("corpus")}, clock=CLOCK)
        verdicts.append(await configure(method, "hardened", given).verify(CLAIM, run))
    reader, *others = ((each.label, each.confidence, each.reason, len(each.quotes)) for each in verdicts)
    assert others == [reader, reader]
    assert configure("self-consistency", "hardened", {}).kind is SelfConsistency
