"""User-supplied prompts: files that replace the prompts of tasks.

``DIR/AnswerClaim.txt`` replaces the task's prompt. It is a text like the shipped ones (:mod:`redargue.tasks.template`):
``{claim}``, ``{document}`` and so on are filled with the task's input, and a part ``[system]`` is the system message;
all others are the user's message, in their order. Replies are parsed in the papers' form: the label on the last line,
the query in brackets.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.tasks.base import AnyTask, every_task
from redargue.tasks.template import Template


class Prompts:
    """Prompts by task; raises UsageError for an unknown task, no prompt, or a slot that the task does not fill."""

    def __init__(self, texts: Mapping[str, str], where: str = "") -> None:
        self.texts = dict(sorted(texts.items()))
        tasks = {task.name(): task for task in every_task() if task.slots() is not None}
        if not self.texts:
            hint = f"tasks: {', '.join(sorted(tasks))}"
            raise UsageError(f"no prompts in {where!r}", where="--prompts", hint=hint)
        self._templates: dict[str, Template] = {}
        for name, text in self.texts.items():
            if name not in tasks:
                raise UsageError(
                    f"{name + '.txt'!r} is not named after a task that has a prompt",
                    where=where,
                    hint=f"{did_you_mean(name, sorted(tasks))}; a system message is the part [system] of TASK.txt",
                )
            self._templates[name] = _template(text, tasks[name], f"{where}/{name}.txt")
        self.sha256 = hashlib.sha256(json.dumps(self.texts).encode()).hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Prompts:
        if not folder.is_dir():
            hint = "name a folder with TASK.txt files"
            raise UsageError(f"no folder {str(folder)!r}", where="--prompts", hint=hint)
        texts = {}
        for path in sorted(folder.glob("*.txt")):
            try:
                texts[path.stem] = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{str(path)!r} cannot be read: {error}") from error
        return cls(texts, str(folder))

    def fill(self, task: AnyTask) -> tuple[str, str] | None:
        """System and user message for a task; None if there is no prompt for it."""
        template = self._templates.get(task.name())
        if template is None:
            return None
        values = task.template_vars().items()
        parts = template.fill({name: task.fill(value) if isinstance(value, str) else value for name, value in values})
        system = "\n".join(text for name, text in parts if name == "system")
        user = "\n".join(text for name, text in parts if name != "system")
        return system, user


def _template(text: str, task: type[AnyTask], file: str) -> Template:
    if not text.strip():
        hint = "write a prompt, or remove the file"
        raise UsageError("the prompt is empty", where=file, hint=hint)
    template, known = Template(text), task.slots() or ()
    for slot in template.slots:
        if slot not in known:
            what = f"the prompt has a slot {{{slot}}} that its task does not fill"
            raise UsageError(what, where=file, hint=did_you_mean(slot, known))
    return template
