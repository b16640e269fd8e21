"""Faithfulness: the share of an answer's statements that its documents support.

Tool-MAD, journal, §III-C; computed as in ragas 0.3.0, which the authors' program calls: the denominator is the number
of verdicts returned, not of statements sent (Es et al. 2023). Where ragas gives NaN, the score is undefined, with a
reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.quotes import content_words
from redargue.tasks.base import Profile
from redargue.tasks.score import CheckedStatement, CheckStatements, WriteStatements
from redargue.verdicts import Metric, Score


async def faithfulness(
    agent: Agent,
    question: str,
    answer: str,
    passages: tuple[Passage, ...],
    *,
    numbers: tuple[int, ...] = (),
    round_: int = 0,
    profile: Profile = "hardened",
) -> Score:
    """Scores an answer against the documents that its author was shown.

    In the ``paper`` profile the whole answer, its label's line included (``T32``), against the documents' joined texts
    (``T33``); in the hardened one its reasoning (:func:`reasoning_of`) against the numbered documents with their
    titles. In [0, 1]; undefined without statements or verdicts, or where a reply could not be read.

    Args:
        numbers: of the documents in the whole claim, in their order; empty: from 1.
    """
    documents: dict[str, object] = {"context": "\n".join(passage.text for passage in passages)}
    if profile == "hardened":
        documents = {"passages": passages, "numbers": numbers}
    try:
        write = WriteStatements(question=question, answer=answer, profile=profile)
        written = await agent.perform(write, round_=round_)
        if not written.statements:
            return share_supported(agent, (), round_)
        check = CheckStatements(**documents, statements=written.statements, profile=profile)
        checked = (await agent.perform(check, round_=round_)).statements
    except BadReply as error:  # an undefined score fails the gate (T13)
        return share_supported(agent, (), round_, why=f"a reply could not be read: {error.what}")
    return share_supported(agent, checked, round_, why="no verdict on any statement came back")


def share_supported(
    agent: Agent,
    checked: Sequence[CheckedStatement],
    round_: int,
    *,
    why: str = "the answer makes no statement",
) -> Score:
    """The share of statements that the documents support; undefined without any, for the reason ``why``."""
    score = Score(metric=Metric.FAITHFULNESS, value=None, undefined=why, agent=agent.name, round=round_)
    if not checked:
        return score
    detail = tuple(f"{item.verdict} {item.statement}" for item in checked)
    value = round(sum(item.verdict for item in checked) / len(checked), 9)
    return score.model_copy(update={"value": value, "undefined": "", "detail": detail})


def without_quotations(answer: str) -> str:
    """An answer without its lines of quotations, whose documents its author still sees."""
    return "\n".join(line for line in answer.splitlines() if not _QUOTATION_LINE.fullmatch(line.strip()))


def reasoning_of(answer: str, claim: str, debaters: Collection[str] = ()) -> str:
    """An answer without its label's line, its lines of quotations, and its remarks about other debaters.

    These say nothing that documents could support or contradict, or (quotations) only what the documents say. A
    sentence with a word of the claim, or one that speaks of a document, is never such a remark. An answer that consists
    of nothing else is returned whole.

    Args:
        claim: whose content words a remark does not have.
        debaters: names by which prompts refer to them, in brackets.
    """
    names = "".join(rf"|\[{re.escape(name)}\]" for name in debaters)
    about_debaters, asked = re.compile(f"{_DEBATER}{names}", re.IGNORECASE), content_words(claim)

    def is_remark(sentence: str) -> bool:
        evidence = _DOCUMENT.search(sentence) or content_words(sentence) & asked
        return bool(about_debaters.search(sentence)) and not evidence

    kept = []
    for line in answer.splitlines():
        if _LABEL_LINE.fullmatch(line.strip()) or _QUOTATION_LINE.fullmatch(line.strip()):
            continue
        sentences = [text for text in _SENTENCE_END.split(line) if not is_remark(text)]
        kept += [" ".join(sentences)] if any(text.strip() for text in sentences) else []
    return "\n".join(kept).strip() or answer


_LABEL_LINE = re.compile(r"(?i)(?:(?:final )?(?:answer|label|verdict)\W*)?\*\*[^*]+\*\*[.!]?")
_QUOTATION_LINE = re.compile(r"""["“][^"”]+["”](?: \([^"]*\))?[.,;]?""")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"“'(\[A-Z])")
_DEBATER = r"\b(?:(?:other|another|opposing|fellow) debaters?|my (?:last|earlier|previous) answer)\b"
_DOCUMENT = re.compile(r"(?i)\[\d+\]|\b(?:documents?|sources?|passages?|evidence)\b")
