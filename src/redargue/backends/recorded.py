"""Plays what agents of another program did, as it was written down: each claim its own steps, nothing made up."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import ClassVar, cast

from redargue.backends.base import PAPER_STABILITY, Call, Output, Reply, backends
from redargue.claims import Frozen, LabelSet
from redargue.errors import BadReply, ProviderError
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.decompose import DecomposeClaim, Decomposition
from redargue.tasks.step import ForceAnswer, NextStep, Step, label_said


class Recording(Frozen):
    """What agents did for one claim.

    Attributes:
        decomposition: of the claim; None where it was not taken apart.
        steps: in their order; a text is a step that was neither a call nor an answer.
        given: what the program gave out in the end, where no step was an answer.
    """

    decomposition: Decomposition | None = None
    steps: tuple[Step | str, ...] = ()
    given: str = ""


@backends.register("recorded")
class RecordedBackend:
    """MERMAID's two agents, from recordings in the order of the run's claims.

    A step, and a decomposition, counts as the one call that it was. What the recorded program gave out without an
    answer of its agent stands in the place of the forced answer, and no call is counted for it.
    """

    name = "recorded"
    stability = PAPER_STABILITY
    weighs = False
    tasks: ClassVar[tuple[type[AnyTask], ...]] = (DecomposeClaim, NextStep, ForceAnswer)

    def __init__(self, recordings: Sequence[Recording] = ()) -> None:
        self.recordings = tuple(recordings)
        digest = hashlib.sha256()
        for each in recordings:
            digest.update(each.model_dump_json().encode())
        self.identity = f"recorded {digest.hexdigest()[:16]}"

    def can(self, task: type[AnyTask]) -> bool:
        """The tasks of MERMAID's agents, where there are recordings."""
        return bool(self.recordings) and task in self.tasks

    def render(self, task: AnyTask) -> str:
        """Empty: what the prompts were is not known."""
        return ""

    def of(self, item: int) -> RecordedBackend:
        """The player of one claim of the run, from 0."""
        player = RecordedBackend()
        player.recordings, player.identity = self.recordings[item : item + 1], self.identity
        return player

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """What was recorded.

        Raises:
            BadReply: what was recorded is none of the answers that the task takes.
            ProviderError: nothing was recorded there.
        """
        (recording,) = self.recordings
        if isinstance(task, ForceAnswer):
            given = Answer(text=recording.given, label=label_said(task.claim.labels, recording.given))
            return Reply((Output(cast(Out, given), text=recording.given),))
        steps = recording.steps[task.step - 1 : task.step] if isinstance(task, NextStep) else ()
        if not steps and (isinstance(task, NextStep) or recording.decomposition is None):
            raise ProviderError(f"the recording holds no {task.name()} here", where=call.agent)
        async with call.account.request() as receipt:
            receipt.pay()
        found = _read(task.claim.labels, steps[0]) if isinstance(task, NextStep) else recording.decomposition
        assert found is not None
        return Reply((Output(cast(Out, found), text=found.model_dump_json()),))


def _read(labels: LabelSet, step: Step | str) -> Step:
    if isinstance(step, str):
        raise BadReply(f"it was neither a call nor an answer: {step}", raw=step)
    if step.answer is None:
        return step
    label = label_said(labels, step.answer)
    if label is None:
        raise BadReply(f"{step.answer!r} is none of the answers", raw=f"{step.thought}\n{step.answer}")
    return step.model_copy(update={"answer": label})
