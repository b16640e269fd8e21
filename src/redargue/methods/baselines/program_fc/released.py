"""What the authors' program does with replies that it cannot read (profile ``authors``)."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.methods.baselines.program_fc.method import ProgramFC


class ReleasedProgramFC(ProgramFC, when=lambda settings: settings.unreadable == "random"):
    """Draws a random vote, with the run's seed, for an unreadable reply (PFC-1, PFC-2)."""

    def vote_unread(self, *what: object) -> Meaning | None:
        rng = self.rng("program-fc", self.claim.text, *map(str, what))
        return rng.choice((Meaning.SUPPORTED, Meaning.REFUTED))
