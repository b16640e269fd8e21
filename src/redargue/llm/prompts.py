"""User-supplied prompts: files that replace the instructions of tasks.

``DIR/AnswerClaim.txt`` replaces the task's prompt; ``{claim}``, ``{document}`` and so on are filled with its input.
``DIR/AnswerClaim.system.txt`` is its system message. ``DIR/AnswerClaim.first.txt`` is used instead where the task has
that variant (:attr:`~redargue.tasks.base.Task.variant`), with ``AnswerClaim.first.system.txt`` if there is one. Replies
to such prompts are parsed in the papers' form: the label on the last line, the query in brackets.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.tasks.base import AnyTask, every_task

_SLOT = re.compile(r"\{(\w+)\}")


class Prompts:
    """Prompts by task.

    Raises:
        UsageError: an unknown task, a system message alone, no prompt, or a slot that the task does not fill.
    """

    def __init__(self, texts: Mapping[str, str], where: str = "") -> None:
        self.texts, self._where = dict(sorted(texts.items())), where
        tasks = {task.name(): task for task in every_task() if task.template_var_names}
        known = {name: task.template_var_names for name, task in tasks.items()}
        for name, text in self.texts.items():
            task, *parts = name.split(".")
            variants = tasks[task].variants if task in tasks else ()
            file = f"{where}/{name}.txt"
            if task not in known or parts not in [
                [],
                ["system"],
                *([v, *s] for v in variants for s in ([], ["system"])),
            ]:
                hint = f"{did_you_mean(task, sorted(known))}; a system message is NAME.system.txt"
                raise UsageError(
                    f"{name + '.txt'!r} is not named after a task that has a prompt", where=where, hint=hint
                )
            if task not in self.texts:
                raise UsageError(f"{name}.txt needs {task}.txt in the same folder", where=where)
            if not text.strip():
                raise UsageError("the prompt is empty", where=file, hint="write a prompt, or remove the file")
            for slot in _SLOT.findall(text):
                if slot not in known[task]:
                    raise UsageError(
                        f"the prompt has a slot {{{slot}}} that its task does not fill",
                        where=file,
                        hint=did_you_mean(slot, list(known[task])),
                    )
        if not self.texts:
            raise UsageError(f"no prompts in {where!r}", where="--prompts", hint=f"tasks: {', '.join(sorted(known))}")
        self.sha256 = hashlib.sha256(json.dumps(self.texts).encode()).hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Prompts:
        if not folder.is_dir():
            raise UsageError(f"no folder {str(folder)!r}", where="--prompts", hint="name a folder with TASK.txt files")
        texts = {}
        for path in sorted(folder.glob("*.txt")):
            try:
                texts[path.stem] = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{str(path)!r} cannot be read: {error}") from error
        return cls(texts, str(folder))

    def fill(self, task: AnyTask) -> tuple[str, str] | None:
        """System and user message for a task; None if there is no prompt for it."""
        name = task.name()
        if name not in self.texts:
            return None
        variant = f"{name}.{task.variant}"
        values = {name: task.fill(text) for name, text in task.template_vars().items()}
        system = self.texts.get(f"{variant}.system", self.texts.get(f"{name}.system", ""))
        user = self.texts.get(variant, self.texts[name])
        system, user = (_SLOT.sub(lambda match: values[match[1]], text) for text in (system, user))
        return system, user
