"""No search: what a method that reads evidence would say without any.

FIRE (Xie et al., arXiv 2411.00784, "without search") asks its last prompt, which must be answered, without knowledge;
with GPT-4o it beats published methods that search on some data sets, so a table without this row does not say what
searching is worth. It differs from ``zero-shot-cot`` in what it is for: its words are those of ``one-reader``'s
question, label rules and order, less the documents, so that the difference between the two rows is the evidence and
nothing else; and it must decide, so that it tells what the model believes where a cautious one would say that nothing
settles the claim. Gold labels that decide nothing are therefore out of its reach: ``must_answer=false`` offers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from redargue.claims import Frozen
from redargue.methods.base import Behaviour, methods
from redargue.methods.baselines.zero_shot import ClosedBookSettings, ZeroShot
from redargue.tasks.knowing import AnswerClosedBook


class NoSearchSettings(ClosedBookSettings):
    """Settings of ``no-search``: those of a method that asks a model what it knows; it must decide."""

    must_answer: bool = True


@methods.register("no-search")
class NoSearch(ZeroShot):
    """The reader's question without documents.

    The embedded backend cannot play it: it reads documents and knows nothing by itself.
    """

    name: ClassVar[str] = "no-search"
    about: ClassVar[str] = "one-reader's question without documents; it must decide (FIRE without search, 2411.00784)"
    options: ClassVar[type[Frozen]] = NoSearchSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"profile": "paper"}, "hardened": {}}
    paper: ClassVar[str] = (
        "Xie, Xing, Wang, Geng, Iqbal, Sahnan, Gurevych, Nakov: FIRE: Fact-checking with Iterative Retrieval and"
        " Verification, 2024, arXiv 2411.00784"
    )
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="NOSEARCH-1",
            original="only True and False are answers",
            effect="claims whose gold label is neither are left out of FIRE's tables",
            here="only labels that decide are offered; a claim with another gold label counts wrong",
            setting="must_answer=false",
        ),
        Behaviour(
            id="NOSEARCH-2",
            original="asked up to 11 times until the reply can be read; then no answer, which the metric leaves out",
            effect="precision and recall are over the answers that there were",
            here="asked twice, then no label; tables give all three rules for non-answers",
        ),
    )
    asked: ClassVar[type[AnswerClosedBook]] = AnswerClosedBook
