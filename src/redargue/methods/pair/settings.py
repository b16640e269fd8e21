"""Settings of ``pair``: how its readers differ, and the debate that follows where they do not agree."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redargue.methods.base import ConfiguredMethod, SearchSettings, configure
from redargue.methods.setting_types import Word

FIRST, SECOND = "first", "second"


class PairSettings(SearchSettings):
    """Settings of ``pair``.

    Attributes:
        tools: each is searched for both sides; in a debate the first reader searches with the first of them, the second
            reader with the next one.
        top_k: passages per tool and query.
        differ: how the second reader differs from the first: another ``model`` answers the same question; the same
            model is asked to look for what makes the claim wrong (``question``); ``auto``: a model where the two
            readers have different ones, else the question.
        rounds: most rounds with the readings, which are the first; the judge decides after the last.
        small_reader: whether the small reader reads what they quote; where it reads the other side, there is a debate.
            Replayed on 36 claims it cost a call a claim and mended none (``python -m benchmarks defaults``).
    """

    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    differ: Literal["auto", "model", "question"] = "auto"
    rounds: int = Field(default=2, ge=1, le=20)
    small_reader: bool = False

    @property
    def debater(self) -> ConfiguredMethod:
        """Tool-MAD between the readers, without scores: an agreement of theirs needs quotations instead."""
        tools = (self.tools * 2)[:2]
        given = {"debaters": tools, "names": (FIRST, SECOND), "rounds": self.rounds, "top_k": self.top_k}
        return configure("tool-mad", self.profile, given | {"scoring": "label_only_stop", "judge_scores": False})
