"""What the proxy does with a checked answer in each mode."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from redargue.errors import RedargueError
from redargue.service.proxy.block import CheckBlock
from redargue.service.proxy.settings import Plan
from redargue.tasks.untrusted import UNTRUSTED, fence_marked, wrap_untrusted
from redargue.text.report import Outcome
from redargue.text.segment import sentences_of

TEMPORARY = ("checker_down", "checker_late", "search_failed")  # reasons for which a client may ask again


class Withheld(RedargueError):
    """An answer that is not sent; ``status`` is that of the response, ``code`` the word for why."""

    def __init__(self, what: str, *, status: int, code: str, block: CheckBlock | None = None) -> None:
        super().__init__(what)
        self.status, self.code, self.block = status, code, block


def objection(block: CheckBlock, plan: Plan) -> str:
    """Why an answer may not be sent as it is: ``refuted``, ``unsupported``; empty where it may."""
    if block.outcome is Outcome.NON_FACTUAL:
        return "refuted"
    if plan.mode == "block" and plan.undecided == "block" and block.bad:
        return "unsupported"
    return "unsupported" if block.supported < plan.min_supported else ""


def require_checked(block: CheckBlock, plan: Plan, place: str = "") -> None:
    """Raises Withheld for an answer that was not checked, where the operator or the client wants that.

    An answer that ``block`` withholds anyhow, because it is refuted, is not sent, whatever else of it was not checked.
    ``place``: of the first field that was not read.
    """
    if plan.mode == "block" and objection(block, plan) == "refuted":
        return
    if plan.on_failure == "closed" and block.reason not in ("", "no_text"):
        where = f" ({place})" if place and block.reason == "not_read" else ""
        raise Withheld(f"the answer could not be checked: {block.reason}{where}", status=503, code=block.reason)


def revision_messages(draft: str, block: CheckBlock) -> list[dict[str, str]]:
    """The messages that ask a model for a better draft; what documents and the draft say is marked as data."""
    lines = []
    for number, claim in enumerate(block.bad, 1):
        lines.append(f"{number}. {wrap_untrusted(draft[claim.start : claim.end], inline=True)}")
        lines += [f"   The documents say: {wrap_untrusted(quote.text, inline=True)}" for quote in claim.quotes]
    instructions = (
        "These sentences of your last reply were checked, and the documents do not support them:\n\n"
        + "\n".join(lines)
        + f"\n\n{UNTRUSTED}\n\nWrite the whole reply again. Correct these sentences by the documents or leave them out,"
        " keep the others as they are, and do not mention this check."
    )
    return [{"role": "assistant", "content": draft}, {"role": "user", "content": fence_marked(instructions)}]


def draft_difference(draft: str, final: str) -> str:
    """A unified diff, a line a sentence."""
    before, after = ([" ".join(each.text.split()) for each in sentences_of(text)] for text in (draft, final))
    return "\n".join(difflib.unified_diff(before, after, fromfile="draft", tofile="answer", lineterm="", n=0))


def added(first: Mapping[str, int], usage: object) -> dict[str, int]:
    """The sum of the numbers of two usages."""
    more = usage if isinstance(usage, dict) else {}
    counts = {name: count for name, count in more.items() if isinstance(count, int)}
    return {name: first.get(name, 0) + counts.get(name, 0) for name in {**first, **counts}}
