"""Checks a whole text for routes that have no stream."""

from __future__ import annotations

import uuid

from redargue.evidence import Passage
from redargue.runs.budget import Budget
from redargue.service.proxy.block import CheckBlock, block_of, without_text
from redargue.service.proxy.checker import AnswerCheck, Checked, Checkers
from redargue.service.proxy.settings import Plan
from redargue.service.proxy.tally import ProxyTally


async def check_whole(
    text: str,
    documents: tuple[Passage, ...],
    *,
    checkers: Checkers,
    plan: Plan,
    tally: ProxyTally,
    route: str,
    day: Budget | None = None,
) -> tuple[Checked, CheckBlock]:
    """The check of a text, which is counted."""
    check = f"chk_{uuid.uuid4().hex}"
    async with checkers.open(documents, plan, day) as readers:
        answer = AnswerCheck(readers)
        try:
            answer.add(text)
            checked = await answer.finish(plan.timeout_s)
        finally:
            await answer.cancel()
    block = block_of(checked, plan, check) if text.strip() else without_text(plan, check)
    tally.checked(route, block)
    return checked, block


def first_unchecked(checked: Checked, block: CheckBlock) -> int | None:
    """Where in the text the first sentence begins that may state something and was not checked."""
    starts = [sentence.start for sentence in checked.late]
    starts += [sentence.start for sentence, _ in checked.failed]
    starts += [claim.start for claim in block.claims if claim.unchecked]
    return min(starts, default=None)
