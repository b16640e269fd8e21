"""A test double that answers from a script."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from redargue.backends import PAPER_STABILITY, Call, Output, Reply, backends
from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.tasks.base import AnyTask, Out, Task

_Line = Any  # an answer, an exception to raise, or a function (task, call) -> answer; may be async
_Part = type[AnyTask] | tuple[type[AnyTask], str]


@backends.register("scripted")
class ScriptedBackend:
    """Answers tasks from a script: ``ScriptedBackend({JudgeDebate: Answer(...), (AnswerClaim, "corpus"): [a, b]})``.

    A key is a task type, or a task type and an agent's name (which takes precedence). A list of lines is used in order;
    a single line (an answer or a function) is used for every call. A task without a line is a ``UsageError``, and so
    is a line or key that was not used when the ``with`` block ends.
    """

    name = "scripted"
    supports_attention_weights = False
    english_only = False
    identity = "scripted"
    stability = PAPER_STABILITY

    def __init__(self, script: Mapping[Any, _Line | Sequence[_Line]] | None = None) -> None:
        self._script = dict(script or {})
        for part, lines in self._script.items():
            self._script[part] = list(lines) if isinstance(lines, list | tuple) else lines
        self._used: set[_Part] = set()
        self.calls: list[tuple[AnyTask, Call]] = []

    def can(self, task: type[AnyTask]) -> bool:
        kinds = (part[0] if isinstance(part, tuple) else part for part in self._script)
        return any(issubclass(task, kind) for kind in kinds)

    def render(self, task: AnyTask) -> str:
        return ""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Answers from the script; raises UsageError for a task that is not in it."""
        async with call.account.request() as receipt:
            receipt.pay()
        self.calls.append((task, call))
        outputs = []
        for _ in range(call.sampling.n):
            line = self._next(task, call)
            if callable(line):
                line = line(task, call)
            if inspect.isawaitable(line):
                line = await line
            if isinstance(line, BaseException):
                raise line
            expected = task.answer_type()
            if not isinstance(line, expected):
                what = f"the script answers {task.name()} with {line!r}, not a {expected.__name__}"
                raise UsageError(what)
            outputs.append(Output(cast(Out, line), text=_text(line)))
        return Reply(tuple(outputs))

    def _next(self, task: AnyTask, call: Call) -> _Line:
        for base in type(task).__mro__:
            for part in ((base, call.agent), base):
                if part not in self._script:
                    continue
                self._used.add(part)
                lines = self._script[part]
                if not isinstance(lines, list):
                    return lines
                if lines:
                    return lines.pop(0)
        raise UsageError(f"the script has no line left for {task.name()} of {call.agent!r}")

    def finish(self) -> None:
        """Raises UsageError if lines or keys are left over."""
        names = [
            part.__name__ if isinstance(part, type) else f"{part[0].__name__} of {part[1]!r}"
            for part, lines in self._script.items()
            if (lines if isinstance(lines, list) else part not in self._used)
        ]
        if names:
            raise UsageError(f"lines left over in the script for {', '.join(names)}")

    def __enter__(self) -> ScriptedBackend:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.finish()


def _text(answer: Frozen) -> str:
    text = getattr(answer, "text", None)
    return text if isinstance(text, str) else answer.model_dump_json()
