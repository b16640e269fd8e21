"""Deviations of the released program from the paper (profile ``authors``), one setting for each."""

from __future__ import annotations

from typing import Any

from redargue.claims import Meaning
from redargue.methods.mermaid.method import Mermaid
from redargue.tasks.step import Step
from redargue.verdicts import Verdict


class ReleasedMermaid(Mermaid, when=lambda settings: settings.repeat_calls or not settings.force_answer):
    """Algorithm 1 with the deviations that the settings ask for."""

    def repetition(self, number: int, tool: str, arguments: dict[str, Any]) -> str:
        """``repeat_calls``: the program repeats calls that it has made before."""
        return "" if self.settings.repeat_calls else super().repetition(number, tool, arguments)

    async def force_answer(self) -> Verdict:
        """``force_answer=false``: no answer is asked for, and ``non_answer=true`` counts its absence as True."""
        if self.settings.force_answer:
            return await super().force_answer()
        label = self.claim.labels.named(Meaning.SUPPORTED) if self.settings.non_answer == "true" else None
        return self.conclude(self.settings.max_steps, Step(answer=label))
