"""What adapters share: an answer is checked against contexts, and what keeps it from being checked becomes a reason."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from enum import StrEnum
from typing import Any, TypeVar, Unpack

from redargue import words
from redargue.assembly import RunOptions
from redargue.caveats import UncheckedReason
from redargue.claims import Frozen, Meaning
from redargue.errors import RedargueError, UsageError
from redargue.evidence import Passage, Side
from redargue.sanitize import shortened
from redargue.spec import RunSpec
from redargue.tasks.untrusted import UNTRUSTED, fence_marked, wrap_untrusted
from redargue.text import Outcome, Report, unchecked_reasons
from redargue.text.verification import TextOptions, documents_of, ground
from redargue.verdicts import Verdict

STATED = 200  # characters of a claim
_QUOTED = 120  # characters of a quotation
_UNCHECKED = "UNCHECKED"


def problem_lines(report: Report) -> list[str]:
    """In the order of the text: claims that are not supported, and sentences that may make one and were not read.

    ``REFUTES [36:58] It is 500 metres long. ← "330 metres" context-1:45``; offsets in code points.
    """
    found = [
        (claim.start, claim.end, claim_label(claim.verdict), because(claim.verdict))
        for claim in report.claims
        if not is_supported(claim.verdict)
    ]
    found += [
        (sentence.start, sentence.end, _UNCHECKED, f" ← {shortened(words.unchecked(sentence.why), STATED)}")
        for sentence in report.unchecked
        if sentence.why.may_state
    ]
    found.sort(key=lambda problem: problem[0])
    return [
        f"{label} [{start}:{end}] {shortened(report.text[start:end], STATED)}{why}" for start, end, label, why in found
    ]


def revision_request(report: Report) -> str:
    """Asks a model for a better answer; what its answer and the documents say is marked as data."""
    lines = [wrap_untrusted(line, inline=True) for line in problem_lines(report)]
    request = (
        "Some statements of your answer are not supported by the documents. Write the answer again without them, and"
        f" add nothing new.\n\n{UNTRUSTED}\n"
    )
    return fence_marked(request + "\n".join(lines))


def is_supported(verdict: Verdict) -> bool:
    return not verdict.why_unchecked and verdict.meaning is Meaning.SUPPORTED


def claim_label(verdict: Verdict) -> str:
    return _UNCHECKED if verdict.why_unchecked else str(verdict.label)


def because(verdict: Verdict) -> str:
    """The quotation that decides, with its document and its offset there, or why the claim was not checked."""
    if verdict.error:
        return f" ← {verdict.error.type}: {shortened(verdict.error.what, STATED)}"
    if why := verdict.why_unchecked:
        return f" ← {shortened(words.unchecked(why), STATED)}"
    quotes = verdict.side(Side.AGAINST)
    if verdict.meaning is not Meaning.REFUTED or not quotes:
        return ""
    quote, source = quotes[0], quotes[0].source
    place = shortened(source.document or source.title or source.url, STATED) if source else ""
    offset = f":{quote.offset}" if quote.offset >= 0 else ""
    return f' ← "{shortened(quote.text, _QUOTED)}" {place}{offset}'.rstrip()


_T = TypeVar("_T")
Contexts = str | Passage | Sequence[str | Passage]


class VerifyOptions(RunOptions, total=False):
    """The keywords of :func:`redargue.verify`."""

    spec: RunSpec | None


class Reason(StrEnum):
    """Why no claim of an answer was checked; empty where one was."""

    NONE = ""
    NO_CONTEXT = "no_context"
    NO_CLAIM = "no_claim"
    LANGUAGE = "language"
    NOT_READ = "not_read"
    FAILED = "checker_failed"
    LATE = "checker_late"


class Grounding(Frozen):
    """An answer's outcome against its contexts.

    Attributes:
        outcome: ``unchecked`` or ``not_checkable`` whenever no claim was checked.
        reason: why no claim was checked, for programs.
        explanation: for people: the outcome, and a line for every claim that is not supported.
        supported: number of claims that the contexts support.
        refuted: number of claims that they contradict.
        claims: number of claims, and of sentences that may make one and were not read.
        report: None where no check was made.
    """

    outcome: Outcome
    reason: Reason = Reason.NONE
    explanation: str
    supported: int = 0
    refuted: int = 0
    claims: int = 0
    report: Report | None = None

    @property
    def share(self) -> float | None:
        """Supported claims among all, in [0, 1]; None where no claim was checked."""
        return None if self.reason else self.supported / self.claims

    def passes(self, min_supported: float = 1.0, max_refuted: int = 0) -> bool:
        """Whether enough claims are supported; what was not checked does not pass.

        Raises UsageError where ``min_supported`` is not in [0, 1].
        """
        if not 0 <= min_supported <= 1:
            what = f"min_supported={min_supported:g} is not a share"
            raise UsageError(what, hint="give one from 0 to 1, such as 0.9")
        return self.share is not None and self.share >= min_supported and self.refuted <= max_refuted


async def check_answer(
    answer: str, contexts: Contexts, *, timeout_s: float | None = None, **options: Unpack[TextOptions]
) -> Grounding:
    """Checks an answer against contexts only; a failed check is an outcome with a reason, not an exception.

    Args:
        answer: text to check; one without words makes no claim.
        contexts: whole documents; blank ones are left out.
        timeout_s: seconds after which the answer counts as unchecked; None to wait.
        options: as for :func:`redargue.ground`.
    """
    try:
        async with asyncio.timeout(timeout_s):
            documents = documents_with_words(contexts)
            if without_check := unanswerable(answer, documents):
                return without_check
            return assessed(await ground(answer, contexts=documents, **options))
    except TimeoutError:
        return _unchecked(Reason.LATE, f"the check took longer than {timeout_s:g} s")
    except RedargueError as error:
        return failed(error)


def check_answer_sync(
    answer: str, contexts: Contexts, *, timeout_s: float | None = None, **options: Unpack[TextOptions]
) -> Grounding:
    """:func:`check_answer` for code that cannot await; within an event loop, it blocks the loop."""
    return completed(check_answer(answer, contexts, timeout_s=timeout_s, **options))


def completed(work: Coroutine[Any, Any, _T]) -> _T:
    """Runs to the end; in a thread of its own where this one has an event loop already."""
    if asyncio._get_running_loop() is None:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, work).result()


def documents_with_words(contexts: Contexts) -> list[Passage]:
    return [document for document in documents_of(contexts) if document.text.strip()]


def unanswerable(answer: str, contexts: Contexts) -> Grounding | None:
    """The outcome of an answer that cannot be checked at all; None for others."""
    if isinstance(answer, str) and not re.search(r"\w", answer):
        return _no_claim("the answer has no words")
    if not documents_with_words(contexts):
        return _unchecked(Reason.NO_CONTEXT, "there is no context to check the answer against")
    return None


def failed(error: RedargueError) -> Grounding:
    """The outcome of an answer whose check an error kept from being made."""
    return _unchecked(Reason.FAILED, f"{type(error).__name__}: {error.what}")


def _unchecked(reason: Reason, why: str, report: Report | None = None) -> Grounding:
    return Grounding(outcome=Outcome.UNCHECKED, reason=reason, explanation=f"unchecked: {why}", report=report)


def _no_claim(why: str, report: Report | None = None) -> Grounding:
    explanation = f"no claim found: {why}"
    return Grounding(outcome=Outcome.NOT_CHECKABLE, reason=Reason.NO_CLAIM, explanation=explanation, report=report)


def assessed(report: Report) -> Grounding:
    """A report's outcome in numbers and words; where every claim ended in an error, nothing was checked."""
    verdicts = [claim.verdict for claim in report.claims]
    unread = unchecked_reasons(report.unchecked)
    if not verdicts and not unread:
        return _no_claim(f"{shortened(report.text)!r} states nothing that can be checked", report)
    if all(verdict.error or verdict.unchecked for verdict in verdicts):
        reasons = [*(verdict.unchecked for verdict in verdicts if verdict.unchecked), *unread]
        english = bool(reasons) and all(why.reason is UncheckedReason.LANGUAGE for why in reasons)
        failed = any(verdict.error for verdict in verdicts)
        reason = Reason.FAILED if failed else Reason.LANGUAGE if english else Reason.NOT_READ
        return _unchecked(reason, "\n".join(["no claim was checked", *problem_lines(report)]), report)
    supported, total = sum(map(is_supported, verdicts)), len(verdicts) + len(unread)
    refuted = sum(verdict.meaning is Meaning.REFUTED and not verdict.why_unchecked for verdict in verdicts)
    return Grounding(
        outcome=report.outcome,
        explanation="\n".join([f"{supported}/{total} claims supported", *problem_lines(report)]),
        supported=supported,
        refuted=refuted,
        claims=total,
        report=report,
    )
