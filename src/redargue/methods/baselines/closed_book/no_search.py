"""No search: what a method that reads evidence would answer without any.

FIRE (Xie et al., arXiv 2411.00784, "without search") asks its last prompt, which must be answered, without knowledge;
with GPT-4o it beats published methods that search on some data sets, so a table needs this row to show what searching
is worth. Its words are those of ``single-reader``'s question, label rules and order without the documents, so that the
two rows differ in the evidence alone. It must decide, so that it shows what the model believes where a cautious one
would abstain: gold labels that decide nothing are out of reach unless ``must_answer=false``.
"""

from __future__ import annotations

from redargue.methods.baselines.closed_book.tasks import AnswerClosedBook
from redargue.methods.baselines.factuality import ClosedBook, ClosedBookSettings


class NoSearchSettings(ClosedBookSettings):
    """Settings of ``no-search``, which must decide by default."""

    must_answer: bool = True


class NoSearch(ClosedBook, name="no-search", settings=NoSearchSettings):
    """The single reader's question without documents; it must decide (FIRE without search, 2411.00784)."""

    profiles = {"paper": {"profile": "paper"}, "hardened": {}}
    paper = (
        "Xie, Xing, Wang, Geng, Iqbal, Sahnan, Gurevych, Nakov: FIRE: Fact-checking with Iterative Retrieval and"
        " Verification, 2024, arXiv 2411.00784"
    )
    graph = "answer"
    asks = (AnswerClosedBook,)
