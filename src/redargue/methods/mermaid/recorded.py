"""Replays the steps of MERMAID's agents as another program recorded them, claim by claim."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import ClassVar, cast

from redargue.backends import PAPER_STABILITY, Call, Output, Reply, backends
from redargue.claims import Frozen, LabelSet
from redargue.errors import BadReply, ProviderError
from redargue.methods.mermaid.tasks import DecomposeClaim, ForceAnswer, NextStep
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.extract import Decomposition
from redargue.tasks.step import Step, label_in


class Recording(Frozen):
    """The agents' steps for one claim.

    Attributes:
        steps: a text is a step that was neither a call nor an answer.
        final_output: of the program, if no step was an answer.
    """

    decomposition: Decomposition | None = None
    steps: tuple[Step | str, ...] = ()
    final_output: str = ""


@backends.register("recorded")
class RecordedBackend:
    """MERMAID's two agents, from recordings in the order of the run's claims.

    A step or a decomposition counts as one call, the program's own output, which replaces the forced answer, as none.
    """

    name = "recorded"
    stability = PAPER_STABILITY
    supports_attention_weights = False
    english_only = False
    tasks: ClassVar[tuple[type[AnyTask], ...]] = (DecomposeClaim, NextStep, ForceAnswer)

    def __init__(self, recordings: Sequence[Recording] = ()) -> None:
        self.recordings = tuple(recordings)
        dumped = "".join(recording.model_dump_json() for recording in recordings)
        self.identity = f"recorded {hashlib.sha256(dumped.encode()).hexdigest()[:16]}"

    def can(self, task: type[AnyTask]) -> bool:
        return bool(self.recordings) and task in self.tasks

    def render(self, task: AnyTask) -> str:
        return ""

    def for_claim(self, item: int) -> RecordedBackend:
        backend = RecordedBackend()
        backend.recordings, backend.identity = self.recordings[item : item + 1], self.identity
        return backend

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        (recording,) = self.recordings
        if isinstance(task, ForceAnswer):
            answer = Answer(text=recording.final_output, label=label_in(task.claim.labels, recording.final_output))
            return Reply((Output(cast(Out, answer), text=recording.final_output),))
        steps = recording.steps[task.step - 1 : task.step] if isinstance(task, NextStep) else ()
        if not steps and (isinstance(task, NextStep) or recording.decomposition is None):
            raise ProviderError(f"the recording has no {task.name()} at this point", where=call.agent)
        async with call.account.request() as receipt:
            receipt.pay()
        recorded = _read(task.claim.labels, steps[0]) if isinstance(task, NextStep) else recording.decomposition
        assert recorded is not None
        return Reply((Output(cast(Out, recorded), text=recorded.model_dump_json()),))


def _read(labels: LabelSet, step: Step | str) -> Step:
    if isinstance(step, str):
        raise BadReply(f"neither a call nor an answer: {step}", raw=step)
    if step.answer is None:
        return step
    label = label_in(labels, step.answer)
    if label is None:
        raise BadReply(f"{step.answer!r} is not one of the labels", raw=f"{step.thought}\n{step.answer}")
    return step.model_copy(update={"answer": label})
