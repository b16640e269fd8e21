"""Zero-shot: the claim and its labels; the reply is the label alone.

The baseline of Kojima et al., "Large Language Models are Zero-Shot Reasoners" (2022, arXiv 2205.11916), over claims;
published tables show it as a model's own row.
"""

from __future__ import annotations

from redargue.methods.baselines.closed_book.tasks import AnswerZeroShot
from redargue.methods.baselines.factuality import ClosedBook, ClosedBookSettings


class ZeroShot(ClosedBook, name="zero-shot", settings=ClosedBookSettings):
    """Asks for the label alone, without searching or reasoning (2205.11916)."""

    profiles = {"paper": {"profile": "paper", "label_reading": "first_said"}, "hardened": {}}
    paper = "Kojima, Gu, Reid, Matsuo, Iwasawa: Large Language Models are Zero-Shot Reasoners, 2022, arXiv 2205.11916"
    graph = "answer"
    asks = (AnswerZeroShot,)
