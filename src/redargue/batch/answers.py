"""Answers of a batch, verified claim by claim against the contexts of their rows; each has a run folder of its own."""

from __future__ import annotations

from pathlib import Path

from redargue.claims import Meaning
from redargue.errors import RedargueError
from redargue.inputs.claims import ClaimRow, contexts_as_documents
from redargue.text.report import Report
from redargue.text.verification import ground
from redargue.verdicts import ErrorInfo
from redargue.verifier import Verifier

FOLDER = "answers"


async def check_row(row: ClaimRow, verifier: Verifier, folder: Path, *, concurrency: int) -> Report | ErrorInfo | None:
    """The report on a row's answer, from the batch's budget, or why there is none; None for a row without an answer.

    ``folder`` is the batch's. Labels that do not say whether a claim is supported or refuted have no report either.
    """
    meanings = {label.meaning for label in row.claim.labels.labels}
    if row.answer is None or not {Meaning.SUPPORTED, Meaning.REFUTED} <= meanings:
        return None
    try:
        return await ground(
            row.answer,
            contexts=contexts_as_documents(row),
            spec=verifier.spec.updated(labels=row.claim.labels, as_of=row.claim.as_of),
            folder=folder / FOLDER / f"{row.number:06}",
            concurrency=concurrency,
            backend=verifier.backend,
            budget=verifier.budget,
            prices=verifier.prices,
            transport=verifier.transport,
            clock=verifier.clock,
        )
    except RedargueError as error:
        return ErrorInfo.of(error)
