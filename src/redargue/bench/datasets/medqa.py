"""MedQA-USMLE (Jin et al. 2021): examination questions with four or five options.

Official rows: ``{"question", "answer", "options": {"A": …}, "meta_info": "step1" | "step2&3", "answer_idx", …}``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.claims import OPTIONS, LabelSet
from redargue.inputs.rows import Row, rows

_REST = ("question", "options", "meta_info", "metamap_phrases")


class MedQa(Dataset, name="medqa"):
    """Reads the official JSON lines; a claim's labels are the letters of its options."""

    about = "MedQA-USMLE: examination questions with options (jind11/MedQA)"
    labels = OPTIONS
    metric = "accuracy"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            options = _options(row)
            letters = LabelSet(name=OPTIONS.name, labels=OPTIONS.labels[: len(options)], in_prose=False)
            hidden = row.is_unlabelled(("answer", "answer_idx"), _REST)
            gold = None if hidden else row.label("answer_idx", letters)
            if gold and row.text("answer").strip() != options[letters.names.index(gold)].strip():
                raise row.field_error("answer", f"the text of option {gold}")
            claim = row.claim("question", labels=letters, options=options)
            yield self.example(row, claim=claim, gold=gold, group=row.optional("meta_info"))


def _options(row: Row) -> tuple[str, ...]:
    fields = row.child("options")
    letters = sorted(fields.fields)
    if letters != list(OPTIONS.names[: len(letters)]) or len(letters) < 2:
        raise row.field_error("options", "an object with the keys A, B, … (at most E)")
    return tuple(fields.text(letter) for letter in letters)
