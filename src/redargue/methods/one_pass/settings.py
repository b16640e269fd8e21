"""Settings of ``one-pass``: how much is read at once, and the pair of readers that follows."""

from __future__ import annotations

from pydantic import Field

from redargue.methods.base import ConfiguredMethod, SearchSettings, configure
from redargue.methods.setting_types import Word
from redargue.tasks.extract import BLOCK


class OnePassSettings(SearchSettings):
    """Settings of ``one-pass``.

    Attributes:
        tools: each is searched for every claim.
        top_k: passages per claim and tool.
        claims: most claims of one reading.
        characters: of the passages of one reading; the best of each claim come first.
        small_reader: whether the small reader reads each claim too; what it contradicts goes on to the pair.
        least_support: the small reader's probability, in [0, 1], below which it finds no support in what is quoted. At
            0.1, beside the nearest sentence of their documents, go on 6 of 100 true claims, 21 false and 43 open ones
            (written contrast claims, even half).
        rounds: of the pair and its debate.
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    claims: int = Field(default=BLOCK, ge=1, le=BLOCK)
    characters: int = Field(default=24_000, ge=1_000, le=400_000)
    small_reader: bool = True
    least_support: float = Field(default=0.1, ge=0, le=1)
    rounds: int = Field(default=2, ge=1, le=20)

    @property
    def pair(self) -> ConfiguredMethod:
        return configure("pair", self.profile, {"tools": self.tools, "top_k": self.top_k, "rounds": self.rounds})
