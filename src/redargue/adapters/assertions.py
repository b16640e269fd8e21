"""Assertions for tests: :func:`redargue.grounded` and :func:`redargue.supported`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from redargue.adapters.grounding import (
    Contexts,
    Grounding,
    VerifyOptions,
    assessed,
    because,
    claim_label,
    completed,
    documents_with_words,
    is_supported,
    unanswerable,
)
from redargue.adapters.session import current
from redargue.api import replay, verify
from redargue.assembly import RunOptions, read_options
from redargue.errors import RecordError, RedargueError, ReplayMiss, UsageError
from redargue.evidence import Passage
from redargue.registry import did_you_mean
from redargue.reports import SingleRun, load_run
from redargue.runs.folders import remove_run
from redargue.spec import RunSpec
from redargue.text import Report, build_report
from redargue.text.segment import Kind, Text, text_of
from redargue.text.verification import verify_text
from redargue.verdicts import Verdict

# Makes the checks of tests, records them, and replays what was recorded.
#
# A check is recorded in a run folder of its own, whose name is a hash of what was checked, against
# what, and with which configuration: a replay of anything else finds no folder.


def check_claim(claim: str, options: VerifyOptions) -> Verdict:
    """Verifies, records or replays a claim."""
    identity = {"claim": claim}
    if folder := _folder(current.replay, identity, options):
        (verdict,) = completed(replay(_recorded(folder)))
        return verdict
    return completed(verify(claim, folder=_emptied(_folder(current.record, identity, options)), **options))


def check_text(text: Text, documents: Sequence[Passage], number: int, options: VerifyOptions) -> Report:
    """Verifies, records or replays a text; ``number`` is added to the seed."""
    about = {
        "text": text.model_dump(mode="json"),
        "documents": [document.model_dump(mode="json") for document in documents],
        "number": number,
    }
    if folder := _folder(current.replay, about, options):
        return _replayed(folder)
    checked: VerifyOptions = {**options, "seed": _config(options).seed + number}
    folder = _emptied(_folder(current.record, about, options))
    return completed(verify_text(text, documents=documents, folder=folder, **checked))


def _config(options: VerifyOptions) -> RunSpec:
    """The configuration that the options describe; objects among them are not part of it."""
    given: RunOptions = {name: value for name, value in options.items() if name != "spec"}  # type: ignore[assignment]
    return read_options(given, options.get("spec"))[0]


def _folder(parent: Path | None, about: dict[str, Any], options: VerifyOptions) -> Path | None:
    """The run folder of a check; None where nothing is recorded or replayed."""
    if parent is None:
        return None
    identity = json.dumps({**about, "spec": _config(options).model_dump(mode="json")}, sort_keys=True)
    words = re.findall(r"[a-z0-9]+", str(about.get("claim") or about["text"]["text"]).lower())
    return parent / "-".join([*words[:4], hashlib.sha256(identity.encode(errors="replace")).hexdigest()[:16]])


def _emptied(folder: Path | None) -> Path | None:
    """A folder without an earlier recording: a recorded run would be resumed."""
    if folder and folder.exists():
        remove_run(folder)
    return folder


def _recorded(folder: Path) -> Path:
    if (folder / "run.json").is_file():
        return folder
    raise ReplayMiss(
        f"the check {folder.name!r} is not recorded",
        where=str(folder.parent),
        hint="its text, contexts or options have changed, or it is new: run the test with --redargue-record",
    )


def _replayed(folder: Path) -> Report:
    verdicts = completed(replay(_recorded(folder)))
    run = load_run(folder)
    if not isinstance(run, SingleRun) or not run.text:
        raise RecordError(f"{str(folder)!r} is not the run of a text", hint="record it again: --redargue-record")
    return build_report(*run.text, verdicts, run.extraction_usage)


class _Limits(NamedTuple):
    """What an answer has to reach; the marker ``factual`` may set them."""

    min_supported: float = 1.0
    max_refuted: int = 0
    repeats: int = 1
    pass_k: int = 1


class CheckFailed(RedargueError):
    """A claim could not be checked because of an error, such as a model that does not answer."""


class NotGrounded(AssertionError):
    """An answer is not supported by its contexts, or was not checked; ``grounding.reason`` says which."""

    def __init__(self, text: str, grounding: Grounding) -> None:
        super().__init__(text)
        self.grounding = grounding


class NotSupported(AssertionError):
    """A claim is not supported, or was not checked."""

    def __init__(self, text: str, verdict: Verdict) -> None:
        super().__init__(text)
        self.verdict = verdict


def grounded(
    answer: str,
    contexts: Contexts,
    *,
    min_supported: float | None = None,
    max_refuted: int | None = None,
    repeats: int | None = None,
    pass_k: int | None = None,
    kind: Kind = "text",
    question: str = "",
    **options: Unpack[VerifyOptions],
) -> Report:
    """Asserts that contexts support an answer's claims; an answer without a checked claim fails.

    Args:
        answer: text to check.
        contexts: whole documents, or one.
        min_supported: smallest accepted share of supported claims, in [0, 1]; default 1.
        max_refuted: largest accepted number of refuted claims; default 0.
        repeats: number of checks, each with another seed; default 1.
        pass_k: how many of them have to pass; default 1.
        kind: what the answer is (:class:`~redargue.text.segment.Text`).
        question: the question or the previous conversation.
        options: as for :func:`redargue.ground`. Keywords of the test's marker ``factual`` are defaults of all these.

    Returns:
        The report of the first check that passed.

    Raises:
        AssertionError: too few claims are supported, no claim was found, or none was checked.
        RedargueError: a check could not be made, which pytest shows as an error.
    """
    __tracebackhide__ = True
    here = dict(zip(_Limits._fields, (min_supported, max_refuted, repeats, pass_k), strict=True))
    given = current.options | {name: value for name, value in here.items() if value is not None}
    limits = _Limits(**{name: given[name] for name in _Limits._fields if name in given})
    with_marker = _with_marker(options)
    with _errors_noted():
        _require_known(options)
        if not 1 <= limits.pass_k <= limits.repeats:
            what = f"of {limits.repeats} checks, {limits.pass_k} cannot pass"
            raise UsageError(what, hint="give numbers with 1 ≤ pass_k ≤ repeats")
    passed: list[Report] = []
    failed: list[Grounding] = []
    for number in range(limits.repeats):
        with _errors_noted():
            grounding = _grounding(answer, contexts, kind, question, number, with_marker)
            passes = grounding.passes(limits.min_supported, limits.max_refuted)
        if grounding.report and passes:
            passed.append(grounding.report)
        else:
            failed.append(grounding)
        if len(passed) == limits.pass_k:
            return passed[0]
    raise NotGrounded(_failure(failed[0], limits, len(passed)), failed[0])


def supported(claim: str, **options: Unpack[VerifyOptions]) -> Verdict:
    """Asserts that evidence supports a claim; one that was not checked fails.

    Args:
        claim: claim to check.
        options: as for :func:`redargue.verify`. The keywords of the test's marker ``factual`` are further defaults.

    Raises:
        AssertionError: the claim is not supported, or was not checked.
        RedargueError: the check could not be made, which pytest shows as an error.
    """
    __tracebackhide__ = True
    with_marker = _with_marker(options)
    with _errors_noted():
        verdict = _checked(check_claim(claim, with_marker))
    if is_supported(verdict):
        return verdict
    raise NotSupported(f"{claim_label(verdict)} {verdict.claim.text}{because(verdict)}", verdict)


def _require_known(options: VerifyOptions) -> None:
    """Raises UsageError for a keyword that neither :func:`grounded` nor the check has."""
    for name in options:
        if name not in VerifyOptions.__annotations__:
            known = [*_Limits._fields, "kind", "question", *VerifyOptions.__annotations__]
            raise UsageError(f"unknown option {name!r}", hint=did_you_mean(name, known))


def _with_marker(options: VerifyOptions) -> VerifyOptions:
    current.checks += 1
    marker = {name: value for name, value in current.options.items() if name not in _Limits._fields}
    merged: VerifyOptions = {**marker, **options}  # type: ignore[typeddict-item]
    return merged


def _grounding(
    answer: str, contexts: Contexts, kind: Kind, question: str, seed: int, options: VerifyOptions
) -> Grounding:
    documents = documents_with_words(contexts)
    if without_check := unanswerable(answer, documents):
        return without_check
    text = text_of(answer, kind=kind, context=question)
    report = check_text(text, documents, seed, options)
    for claim in report.claims:
        _checked(claim.verdict)
    return assessed(report)


def _checked(verdict: Verdict) -> Verdict:
    if error := verdict.error:
        raise CheckFailed(f"{error.type}: {error.what}", where=error.where, hint=error.hint)
    return verdict


@contextmanager
def _errors_noted() -> Iterator[None]:
    """Notes an error of the check, which the pytest plugin distinguishes from any other."""
    try:
        yield
    except RedargueError as error:
        current.error = error
        raise


def _failure(grounding: Grounding, limits: _Limits, passed: int) -> str:
    first, *rest = grounding.explanation.split("\n")
    if not grounding.reason:
        refuted = f", at most {limits.max_refuted} refuted" if grounding.refuted and limits.max_refuted else ""
        first += f" (wanted {limits.min_supported:.0%}{refuted})"
    if limits.repeats > 1:
        first = f"{passed} of {limits.repeats} checks passed (wanted {limits.pass_k}); one that failed:\n{first}"
    return "\n".join([first, *rest])
