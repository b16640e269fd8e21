"""The scripted backend is strict both ways."""

from __future__ import annotations

import pytest

from redargue.backends import Call, Sampling
from redargue.backends.scripted import ScriptedBackend
from redargue.errors import UsageError
from redargue.tasks.answer import AnswerClaim
from redargue.tasks.query import Query, RewriteQuery, WriteQuery
from support.debates import CLAIM, answer

pytestmark = pytest.mark.anyio

TASK = AnswerClaim(claim=CLAIM)


async def test_lines_are_used_in_order_and_each_once() -> None:
    with ScriptedBackend({AnswerClaim: [answer("SUPPORTS"), answer("REFUTES")]}) as backend:
        for expected in ("SUPPORTS", "REFUTES"):
            reply = await backend.perform(TASK, Call(agent="a"))
            assert reply.outputs[0].answer.label == expected
        with pytest.raises(UsageError, match="no line left for AnswerClaim of 'a'"):
            await backend.perform(TASK, Call(agent="a"))


async def test_a_line_left_over_and_a_part_never_played_are_errors() -> None:
    with (
        pytest.raises(UsageError, match="left over in the script for AnswerClaim"),
        ScriptedBackend({AnswerClaim: [answer("SUPPORTS")]}),
    ):
        pass
    with pytest.raises(UsageError, match="AnswerClaim of 'b'"):
        ScriptedBackend({(AnswerClaim, "b"): answer("SUPPORTS")}).finish()


async def test_a_task_outside_the_script_and_an_answer_of_the_wrong_kind_are_errors() -> None:
    with pytest.raises(UsageError, match="WriteQuery"):
        await ScriptedBackend({AnswerClaim: answer("SUPPORTS")}).perform(
            WriteQuery(claim=CLAIM, tool="t", about="a"), Call(agent="a")
        )
    with pytest.raises(UsageError, match="not a Answer"):
        await ScriptedBackend({AnswerClaim: "SUPPORTS"}).perform(TASK, Call(agent="a"))


async def test_an_agents_own_part_goes_first_and_a_base_class_stands_for_its_subclasses() -> None:
    backend = ScriptedBackend({WriteQuery: Query(text="any"), (WriteQuery, "b"): Query(text="of b")})
    task = RewriteQuery(claim=CLAIM, tool="t", about="a", others=(), used="u")
    assert backend.can(RewriteQuery)
    assert (await backend.perform(task, Call(agent="a"))).outputs[0].answer.text == "any"
    assert (await backend.perform(task, Call(agent="b"))).outputs[0].answer.text == "of b"


async def test_as_many_outputs_come_as_were_asked_for_and_exceptions_are_raised() -> None:
    backend = ScriptedBackend({AnswerClaim: [answer("SUPPORTS"), answer("REFUTES"), TimeoutError("slow")]})
    reply = await backend.perform(TASK, Call(agent="a", sampling=Sampling(n=2)))
    assert [each.answer.label for each in reply.outputs] == ["SUPPORTS", "REFUTES"]
    with pytest.raises(TimeoutError):
        await backend.perform(TASK, Call(agent="a"))
