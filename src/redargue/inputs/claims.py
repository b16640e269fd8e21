"""Claims and labels as users write them: files, lines, and columns of other names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from redargue.claims import Claim, Label, LabelSet, Meaning, label_sets, read_labels
from redargue.errors import UsageError, problem_of
from redargue.evidence import Passage
from redargue.inputs.rows import Row, rows, table_rows, unpacked_suffix
from redargue.registry import did_you_mean
from redargue.text.segment import Text


def _label(name: str, meaning: Meaning, description: str, *aliases: str) -> Label:
    return Label(name=name, meaning=meaning, aliases=aliases, description=description)


def _label_set(name: str, *labels: Label, in_prose: bool = True) -> LabelSet:
    return LabelSet(name=name, labels=labels, in_prose=in_prose)


TRUE_FALSE = _label_set(
    "true-false",
    _label("true", Meaning.SUPPORTED, "the claim is correct"),
    _label("false", Meaning.REFUTED, "the claim is incorrect"),
    in_prose=False,
)
"""FacTool-QA, FELM, and the claim files of FIRE and MERMAID."""

FACTCHECK_BENCH = _label_set(
    "factcheck-bench",
    *TRUE_FALSE.labels,
    _label("not_enough_evidence", Meaning.NOT_ENOUGH, "the evidence does not settle the claim", "unknown"),
    in_prose=False,
)

BINGCHECK = _label_set(
    "bingcheck",
    _label("supported", Meaning.SUPPORTED, "the evidence supports the claim"),
    _label("partially supported", Meaning.SUPPORTED, "the evidence supports part of the claim"),
    _label("not supported", Meaning.NOT_ENOUGH, "the evidence does not settle the claim"),
    _label("refuted", Meaning.REFUTED, "the evidence contradicts the claim"),
)

HOVER = _label_set(
    "hover",
    _label("SUPPORTED", Meaning.SUPPORTED, "the claim is correct"),
    _label("NOT_SUPPORTED", Meaning.REFUTED, "the claim is incorrect, or nothing settles it", "NOT SUPPORTED"),
)

_CONTRADICT = ("CONTRADICTS", "CONTRADICTED", "REFUTE", "REFUTES", "REFUTED")
SCIFACT = _label_set(
    "scifact",
    _label("SUPPORT", Meaning.SUPPORTED, "the abstracts support the claim", "SUPPORTS", "SUPPORTED"),
    _label("CONTRADICT", Meaning.REFUTED, "the abstracts contradict the claim", *_CONTRADICT),
    _label("NOT ENOUGH INFO", Meaning.NOT_ENOUGH, "no abstract settles the claim", "NEI"),
)

SCIFACT_DECIDED = _label_set("scifact-decided", *SCIFACT.labels[:2])
"""Of the claims that an abstract supports or contradicts, as in FOLK's and MERMAID's samples."""

HALLUCINATED = _label_set(
    "hallucinated",
    _label("yes", Meaning.REFUTED, "the text holds something made up or wrong"),
    _label("no", Meaning.SUPPORTED, "the text is right"),
    in_prose=False,
)
"""HaluEval asks whether a text is hallucinated, so *yes* means refuted."""

_ALL = (TRUE_FALSE, FACTCHECK_BENCH, BINGCHECK, HOVER, SCIFACT, SCIFACT_DECIDED, HALLUCINATED)
BY_NAME = {labels.name: labels for labels in _ALL}


def label_set(name: str) -> LabelSet:
    """A registered label set, one of those above, or words for labels (:func:`redargue.claims.read_labels`)."""
    if "=" in name:
        return read_labels(name)
    known = {**{registered: label_sets[registered] for registered in label_sets}, **BY_NAME}
    if name not in known:
        raise UsageError(f"unknown label set {name!r}", hint=did_you_mean(name, known))
    return known[name]


_EXAMPLE = "write it like claim=COLUMN,context=COLUMN"


def split_mapping(text: str) -> dict[str, str]:
    """Columns by role, from ``claim=statement,label=verdict`` (``--map``, ``--option mapping``)."""
    mapping: dict[str, str] = {}
    for part in text.split(","):
        role, equals, column = (text.strip() for text in part.partition("="))
        if not equals or not column:
            raise UsageError(f"cannot read {part!r} in the mapping {text!r}", hint=_EXAMPLE)
        if role in mapping:
            raise UsageError(f"two columns for a role: {role!r} appears twice in the mapping {text!r}")
        mapping[role] = column
    return mapping


def check_roles(mapping: dict[str, str], roles: Sequence[str]) -> dict[str, str]:
    for role in mapping:
        if role not in roles:
            raise UsageError(f"unknown role {role!r} in a mapping", hint=did_you_mean(role, list(roles)))
    if "claim" not in mapping:
        raise UsageError("the mapping names no column for the claim", hint=_EXAMPLE)
    return mapping


_ROLES = ("claim", "id", "context", "options", "labels", "as_of", "contexts", "question", "answer")


class ClaimRow(NamedTuple):
    """A claim of an input.

    Attributes:
        number: of its row among the rows of the input, from 1.
        id: the input's own identifier; empty where it has none.
        contexts: the only evidence; None to search.
        answer: the answer of a row with contexts, which is also verified claim by claim; None for a row with a claim.
    """

    number: int
    claim: Claim
    id: str = ""
    contexts: tuple[str, ...] | None = None
    answer: Text | None = None

    @property
    def documents(self) -> list[Passage]:
        return [Passage(text=text, document=f"context-{number}") for number, text in enumerate(self.contexts or (), 1)]


class RefusedRow(NamedTuple):
    """A row that cannot be verified, such as one with an empty cell."""

    number: int
    error: UsageError
    id: str = ""


def read_mapping(texts: Sequence[str]) -> dict[str, str]:
    """Columns by role, from ``claim=statement,context=dialogue``; the column of the claim defaults to ``claim``."""
    return check_roles({"claim": "claim", **(split_mapping(",".join(texts)) if texts else {})}, _ROLES)


def read_rows(
    path: Path, mapping: Mapping[str, str], *, labels: LabelSet, as_of: date | None = None
) -> Iterator[ClaimRow | RefusedRow]:
    """The claims of a CSV, TSV, JSON or JSON-lines file, gzipped or not, in its order.

    Columns without a mapping are read by role name if they exist (``claim``, ``id``, ``context``, ``contexts``,
    ``options``, ``as_of``), but ``labels`` only with a mapping, because in a data set that column may contain the
    answers. The claim of a row without one, but with an ``answer``, is the whole answer, after its ``question`` if it
    has one.
    ``labels`` and ``as_of`` are the defaults of rows without them. A cell that cannot be used refuses its row.

    Raises:
        UsageError: the file cannot be read, or has no column for the claims.
    """
    suffix = unpacked_suffix(path)
    if suffix not in (".csv", ".tsv", ".json", ".jsonl"):
        what = f"{str(path)!r} is not a .csv, .tsv, .json or .jsonl file"
        raise UsageError(what, hint="check a .txt file or a text with redargue check")
    for number, row in enumerate(table_rows(path) if suffix in (".csv", ".tsv") else rows(path), 1):
        yield read_row(row, number, mapping, labels=labels, as_of=as_of)


def read_row(
    row: Row, number: int, mapping: Mapping[str, str], *, labels: LabelSet, as_of: date | None = None
) -> ClaimRow | RefusedRow:
    """The claim of one row, as :func:`read_rows` reads it; ``number`` is its place among the rows, from 1.

    Raises UsageError if the row has no column for the claim.
    """
    column = mapping.get("claim", "claim")
    fields = {role: mapping.get(role, role) for role in _ROLES if role in mapping or role in row.fields}
    if column not in row.fields and fields.get("answer") not in row.fields:
        hint = f"name the column of the claims: redargue estimate {row.path} --map claim=COLUMN sends nothing"
        raise row.error(f"no field {column}; its fields: {', '.join(list(row.fields)[:12]) or 'none'}", hint=hint)
    row_id = ""
    try:
        row_id = row.cell(fields["id"]) if "id" in fields else ""
        contexts = _contexts(row, fields["contexts"]) if "contexts" in fields else None
        claim = _claim(row, fields, mapping, labels, as_of)
        answer = _answer(row, fields) if contexts and column not in row.fields else None
        return ClaimRow(number, claim, row_id, contexts, answer)
    except UsageError as error:
        return RefusedRow(number, error, row_id)


def _claim(
    row: Row, fields: Mapping[str, str], mapping: Mapping[str, str], labels: LabelSet, as_of: date | None
) -> Claim:
    attributes: dict[str, Any] = {"labels": labels, "as_of": as_of}
    if "labels" in mapping and (name := row.optional(mapping["labels"])):
        try:
            attributes["labels"] = label_set(name)
        except UsageError as error:
            raise row.field_error(mapping["labels"], f"a label set ({error.hint})") from None
    if "context" in fields:
        attributes["context"] = row.cell(fields["context"])
    if "options" in mapping or isinstance(row.fields.get("options"), list):
        attributes["options"] = _texts(row, fields["options"])
    if "as_of" in fields:
        attributes["as_of"] = row.iso_date(fields["as_of"]) or as_of
    if fields.get("claim", "claim") in row.fields:
        return row.claim(fields["claim"], **attributes)
    answer = _answer(row, fields)
    return row.claim(fields["answer"], f"{answer.context} {answer.text}".strip(), **attributes)


def _answer(row: Row, fields: Mapping[str, str]) -> Text:
    question, answer = row.cell(fields["question"]) if "question" in fields else "", row.text(fields["answer"])
    try:
        return Text(text=answer.strip(), context=question.strip())
    except ValidationError as error:
        raise row.error(f"{fields['answer']}: {problem_of(error)}") from error


def _texts(row: Row, field: str) -> tuple[str, ...]:
    """The texts of a list, which a table has as JSON."""
    cell = row.fields.get(field)
    if not cell:
        return ()
    if isinstance(cell, str):
        try:
            row = Row(row.path, row.number, {**row.fields, field: json.loads(cell)})
        except (ValueError, RecursionError):
            raise row.field_error(field, "a JSON list of texts") from None
    return row.texts(field)


def _contexts(row: Row, field: str) -> tuple[str, ...]:
    """The documents of a row: a list of texts, or one text that is not a JSON list."""
    cell = row.fields.get(field)
    one = isinstance(cell, str) and not cell.lstrip().startswith("[")
    texts = (str(cell),) if one else _texts(row, field)
    if not any(text.strip() for text in texts):
        raise row.field_error(field, "a text or a list of texts, which is the only evidence")
    return texts
