"""Files of a batch: verdicts as CSV and JSON Lines, and answers verified against the contexts of their rows."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from redargue import words
from redargue.caveats import Caveat, Noted, Unchecked
from redargue.errors import RecordError, RedargueError
from redargue.evidence import Gap, Side
from redargue.files import NO_ROOM, make_folder, open_to_read, open_to_write, replacing
from redargue.inputs.claims import ClaimRow, RefusedRow
from redargue.runs.budget import CountedBudget, cost_of_event
from redargue.runs.record import DRAFT, read_events
from redargue.sanitize import csv_cell
from redargue.text import Report, unchecked_reasons
from redargue.text.verification import ground
from redargue.verdicts import ErrorInfo, Verdict
from redargue.verifier import Verifier

FOLDER = "answers"


async def check_row(row: ClaimRow, verifier: Verifier, folder: Path, *, concurrency: int) -> Report | ErrorInfo | None:
    """The report on a row's answer, from the batch's budget, or why there is none; None for a row without an answer.

    ``folder`` is the batch's; its budget has counted what is recorded there (:func:`count_answers`). Labels that do not
    say whether a claim is supported or refuted have no report either.
    """
    if row.answer is None or not row.claim.labels.has_both_sides:
        return None
    try:
        return await ground(
            row.answer,
            contexts=row.documents,
            spec=verifier.spec.updated(labels=row.claim.labels, as_of=row.claim.as_of),
            folder=_folder_of(row, folder),
            concurrency=concurrency,
            backend=verifier.backend,
            budget=CountedBudget(verifier.budget),
            prices=verifier.prices,
            transport=verifier.transport,
            clock=verifier.clock,
        )
    except RedargueError as error:
        return ErrorInfo.of(error)


def count_answers(rows: Sequence[ClaimRow], verifier: Verifier, folder: Path) -> None:
    """Counts what the recorded answers of a batch have cost, before anything else is paid from its budget."""
    for row in rows if verifier.budget.limits else ():
        answer = _folder_of(row, folder)
        with suppress(RecordError):  # reported when the row is checked
            for event in chain(read_events(answer), read_events(answer / DRAFT)):
                verifier.budget.recall(cost_of_event(event, lambda tool: False))  # contexts are not searched online


def _folder_of(row: ClaimRow, folder: Path) -> Path:
    return folder / FOLDER / f"{row.number:06}"


# Running totals of a batch.


class Tally:
    """Running totals of a batch.

    Attributes:
        outcomes: one entry per verdict, shared by verdicts with the same meaning, sureness and reason for being
            unchecked, to save memory.
        labels: counts of outcomes in plain words, those of unsure verdicts apart.
        stopped: claims that the budget stopped; ``errors`` are the others.
        usd: None if no price is known.
        unread: why sentences of answers were not checked.
    """

    def __init__(self) -> None:
        self.unread: list[Unchecked] = []
        self._shared: dict[tuple[str | None, Unchecked | None, int, bool], Verdict] = {}
        self.outcomes: list[Verdict] = []
        self.labels: Counter[str] = Counter()
        self.errors = self.stopped = self.calls = 0
        self.usd: float | None = None

    def add(self, verdict: Verdict) -> None:
        error, unsure = verdict.error, verdict.unsure is not None
        key = verdict.meaning, verdict.why_unchecked, error.exit_code if error else 0, unsure
        self.outcomes.append(self._shared.setdefault(key, verdict))
        self.labels[verdict.plain_label] += 1
        self.stopped += verdict.stopped
        self.errors += error is not None and not verdict.stopped
        self.calls += verdict.usage.calls
        if verdict.usage.usd is not None:
            self.usd = (self.usd or 0.0) + verdict.usage.usd

    def add_answer(self, row: ClaimRow, answer: Report | ErrorInfo | None) -> None:
        """Adds the claims of a row's answer; a failure counts as one."""
        if isinstance(answer, ErrorInfo):
            self.add(Verdict(claim=row.claim, label=None, error=answer))
        elif answer is not None:
            self.unread += unchecked_reasons(answer.unchecked)
            for claim in answer.claims:
                self.add(claim.verdict)


COLUMNS = tuple(
    "item claim label meaning decided_by rounds quotes_for quotes_against sources gaps reason calls searches"
    " prompt_tokens completion_tokens usd error confidence unsure caveat unchecked id answer_outcome"
    " answer_claims answer_supported answer_refuted answer_not_checked".split()
)


class VerdictFiles:
    """Context manager that writes ``verdicts.jsonl`` and ``verdicts.csv`` of a batch folder, whose record is open.

    It stores the offset of each line, not the verdicts; on exit, unless after an error, it sorts the lines by claim and
    writes the table. Numbers and identifiers are those of ``rows``, if given.
    """

    def __init__(self, folder: Path, rows: Sequence[ClaimRow] = ()) -> None:
        self._rows = rows
        self.lines, self.table = folder / "verdicts.jsonl", folder / "verdicts.csv"
        self._offsets: dict[int, int] = {}
        with self._writing_errors():
            make_folder(folder)
            self._file = open_to_write(self.lines)

    def write(self, item: int, verdict: Verdict, answer: Report | ErrorInfo | None = None) -> str:
        """Appends the verdict on a claim, by its index, immediately and returns its line (:func:`to_json_line`).

        ``answer`` is the report on the row's answer, or why there is none.
        """
        number, row_id = item + 1, ""
        if self._rows:
            number, row_id = self._rows[item].number, self._rows[item].id
        name = "answer_error" if isinstance(answer, ErrorInfo) else "answer"
        return self._append(number, to_json_line(number, row_id, verdict, {name: answer}))

    def refuse(self, row: RefusedRow) -> str:
        return self._append(row.number, refused_line(row))

    def _append(self, number: int, text: str) -> str:
        with self._writing_errors():
            self._offsets[number] = self._file.tell()
            self._file.write(text.encode() + b"\n")
            self._file.flush()
        return text

    def __enter__(self) -> VerdictFiles:
        return self

    def __exit__(self, type_: object, error: BaseException | None, trace: object) -> None:
        with self._writing_errors():
            self._file.close()
        if not isinstance(error, Exception):  # an interrupted batch has its files too
            self._sort()

    def _sort(self) -> None:
        ordered, cells = (path.with_name(f"{path.name}.new") for path in (self.lines, self.table))
        with (
            self._writing_errors(),
            open_to_read(self.lines) as written,
            replacing(self.lines, ordered) as sorted_lines,
            replacing(self.table, cells) as table,
        ):
            table.write(_csv_line(dict(zip(COLUMNS, COLUMNS, strict=True))))
            for _, start in sorted(self._offsets.items()):
                written.seek(start)
                text = written.readline()
                sorted_lines.write(text)
                table.write(_csv_line(_cells(json.loads(text))))

    @contextmanager
    def _writing_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "choose another folder: -o DIR"
            if error.errno in NO_ROOM:
                hint = "free disk space, then run the same command again to resume"
            what = f"{str(self.lines)!r} cannot be written: {error.strerror}"
            raise RecordError(what, hint=hint) from error


def _csv_line(cells: Mapping[str, object]) -> bytes:
    line = StringIO(newline="")
    csv.writer(line).writerow(csv_cell(cells.get(name)) for name in COLUMNS)
    return line.getvalue().encode()


_NOTHING: Mapping[str, None] = MappingProxyType({})


def to_json_line(number: int, row_id: str, result: BaseModel, more: Mapping[str, BaseModel | None] = _NOTHING) -> str:
    """A result as one line of ASCII JSON, with the number, from 1, and the identifier of its item in the input."""
    line = {"item": number, "id": row_id, **result.model_dump(mode="json")}
    line |= {name: model.model_dump(mode="json") for name, model in more.items() if model}
    return json.dumps(line)


def refused_line(row: RefusedRow) -> str:
    line = {"item": row.number, "id": row.id, "claim": None, "label": None}
    return json.dumps(line | {"error": ErrorInfo.of(row.error).model_dump(mode="json")})


def _cells(row: Mapping[str, Any]) -> dict[str, object]:
    if row["claim"] is None:
        return {"item": row["item"], "error": _error(row["error"]), "id": row["id"]}
    found = [quote for quote in row["quotes"] if quote["status"] != "not_found"]
    known = (quote["source"] for quote in found if quote["source"])
    sources = dict.fromkeys(source["url"] or source["title"] for source in known)
    noted = Noted.model_validate({name: row[name] for name in Noted.model_fields})
    usage = ("calls", "searches", "prompt_tokens", "completion_tokens", "usd")
    unchecked = row["unchecked"] and Unchecked.model_validate(row["unchecked"])

    def quoted(side: Side) -> str:
        return " | ".join(quote["text"] for quote in found if quote["side"] == side)

    return {
        **{name: row[name] for name in ("item", "label", "meaning", "decided_by", "rounds", "id")},
        **{name: row["usage"][name] for name in usage},
        "claim": row["claim"]["text"],
        "quotes_for": quoted(Side.FOR),
        "quotes_against": quoted(Side.AGAINST),
        "sources": " | ".join(filter(None, sources)),
        "gaps": " | ".join(words.gap(Gap.model_validate(gap)) for gap in row["gaps"]),
        "reason": "\n".join([row["reason"], *words.notes(noted)]),
        "error": row["error"] and _error(row["error"]),
        "confidence": None if row["unchecked"] else row["confidence"],
        "unsure": row["unsure"] and row["unsure"]["label"],
        "caveat": words.caveats(map(Caveat.model_validate, row["caveats"])),
        "unchecked": unchecked and words.unchecked(unchecked),
        **_answer_cells(row),
    }


def _error(error: Mapping[str, str]) -> str:
    return f"{error['type']}: {error['what']}"


def _answer_cells(row: Mapping[str, Any]) -> dict[str, object]:
    if error := row.get("answer_error"):
        return {"answer_outcome": _error(error)}
    if (answer := row.get("answer")) is None:
        return {}
    meanings = Counter(claim["verdict"]["meaning"] for claim in answer["claims"])
    return {
        "answer_outcome": answer["outcome"],
        "answer_claims": len(answer["claims"]),
        "answer_supported": meanings["supported"],
        "answer_refuted": meanings["refuted"],
        "answer_not_checked": sum(answer["not_checked"].values()),
    }
