"""FactCheck-Bench (Wang et al. 2024): ChatGPT's answers, their sentences' claims, and web evidence with stances.

Official rows: ``{"prompt", "response", "sentences": {"sentence1": {"claims": [text, …], "claims_factuality_label":
[true | false | "unknown", …], "claim_checkworthiness": ["factual" | "opinion", …], "auto_evidence": [[text, …], …],
"auto_evidence_url": [[url, …], …], …}, …}, …}``; the lists are as long as ``claims``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example
from redargue.evidence import Passage
from redargue.inputs.claims import FACTCHECK_BENCH, TRUE_FALSE
from redargue.inputs.rows import Row, printable_value, rows


class FactCheckBench(Dataset, name="factcheck-bench"):
    """Reads the annotated answers: one example per checkworthy claim, with the evidence found for it.

    Opinions have no label and are dropped, as in the official count of 661 claims. A response's id is its row number.
    """

    binary: bool = False  # keeps only true and false claims, as FIRE does
    with_question: bool = False  # the question as context; the papers' methods see the claim alone

    about = "FactCheck-Bench: claims in ChatGPT's answers with web evidence (yuxiaw/Factcheck-GPT)"
    labels = FACTCHECK_BENCH
    metric = "macro-f1"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            context = row.text("prompt") if self.with_question else ""
            sentences = row.child("sentences")
            for name in sentences.fields:
                yield from self._claims(row, sentences.child(name), name, context)

    def _claims(self, row: Row, sentence: Row, name: str, context: str) -> Iterator[Example]:
        labels = TRUE_FALSE if self.binary else FACTCHECK_BENCH
        claims = sentence.texts("claims")
        fields = ("claim_checkworthiness", "claims_factuality_label", "auto_evidence", "auto_evidence_url")
        columns = [sentence.items(field) for field in fields]
        for field, values in zip(fields, columns, strict=True):
            if len(values) != len(claims):
                raise sentence.field_error(field, f"a list of {len(claims)}, one per claim")
        for number, (text, kind, label, texts, urls) in enumerate(zip(claims, *columns, strict=True), 1):
            if kind == "opinion":
                continue
            gold = sentence.as_label(label, FACTCHECK_BENCH)
            if gold is None:
                raise sentence.field_error("claims_factuality_label", "true, false or 'unknown' for each claim")
            if self.binary and gold not in TRUE_FALSE.names:
                continue
            yield self.example(
                row,
                id=f"{row.number}.{name.removeprefix('sentence')}.{number}",
                claim=sentence.claim("claims", text, labels=labels, context=context),
                gold=gold,
                passages=_passages(sentence, texts, urls),
                response=str(row.number),
            )


def _passages(sentence: Row, texts: object, urls: object) -> tuple[Passage, ...]:
    """Search results of one claim; entries without text are dropped."""
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise sentence.field_error("auto_evidence", "a list of texts for each claim")
    if not isinstance(urls, list) or len(urls) != len(texts) or not all(isinstance(url, str) for url in urls):
        raise sentence.field_error("auto_evidence_url", "an address for each text of auto_evidence")
    return tuple(
        Passage(text=printable_value(text), url=url, rank=rank)
        for rank, (text, url) in enumerate(zip(texts, urls, strict=True), 1)
        if text.strip()
    )
