"""CFMAD's prompts."""

from __future__ import annotations

from redargue.tasks.answer import AnswerClaim
from redargue.tasks.base import lines


class AnswerOption(AnswerClaim):
    """A plain answer to a question with options, whose option becomes the first stance."""

    def instructions(self) -> str:
        """To think first."""
        return lines("Think step by step.", super().instructions())
