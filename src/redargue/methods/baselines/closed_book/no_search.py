"""No search: what a method that reads evidence would say without any.

FIRE (Xie et al., arXiv 2411.00784, "without search") asks its last prompt, which must be answered, without knowledge;
with GPT-4o it beats published methods that search on some data sets, so a table without this row does not say what
searching is worth. It differs from ``zero-shot-cot`` in its purpose: its words are those of ``single-reader``'s
question, label rules and order, less the documents, so that the difference between the two rows is the evidence and
nothing else; and it must decide, so that it shows what the model believes where a cautious one would say that nothing
settles the claim. Gold labels that decide nothing are therefore out of its reach: ``must_answer=false`` offers them.
"""

from __future__ import annotations

from redargue.methods.baselines.closed_book.prompts import AnswerClosedBook
from redargue.methods.baselines.closed_book.zero_shot import ClosedBook, ClosedBookSettings


class NoSearchSettings(ClosedBookSettings):
    """Settings of ``no-search``: those of a method that asks a model what it knows; it must decide."""

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
