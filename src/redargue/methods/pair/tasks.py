"""The question to a reader who looks for what makes a claim wrong."""

from __future__ import annotations

from redargue.tasks.answer import AnswerClaim


class DoubtClaim(AnswerClaim):
    """:class:`AnswerClaim`, asked of a reader who first looks for what would make the claim wrong.

    The labels mean what they mean for the claim, so that no label has to be turned round.
    """
