"""FactCheck-Bench (Wang et al. 2024): ChatGPT's answers, their sentences' claims, and web evidence with stances.

Official rows: ``{"prompt", "response", "sentences": {"sentence1": {"claims": [text, …], "claims_factuality_label":
[true | false | "unknown", …], "claim_checkworthiness": ["factual" | "opinion", …], "auto_evidence": [[text, …], …],
"auto_evidence_url": [[url, …], …], …}, …}, …}``; the lists are as long as ``claims``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from redargue.bench.datasets.base import Example, datasets
from redargue.bench.datasets.labels import FACTCHECK_BENCH, TRUE_FALSE
from redargue.bench.datasets.rows import Row, printable, rows
from redargue.claims import LabelSet
from redargue.evidence import Passage


@datasets.register("factcheck-bench")
class FactCheckBench:
    """Reads the annotated answers: one example a claim that is worth checking, with the evidence found for it.

    Opinions have no label and are left out, as in the official count of 661 claims.
    """

    name: ClassVar[str] = "factcheck-bench"
    about: ClassVar[str] = "FactCheck-Bench: claims in ChatGPT's answers with web evidence (yuxiaw/Factcheck-GPT)"
    labels: ClassVar[LabelSet] = FACTCHECK_BENCH
    metric: ClassVar[str] = "macro-f1"

    def __init__(self, *, binary: bool = False, with_question: bool = False) -> None:
        """Sets how claims are given.

        Args:
            binary: only true and false, as FIRE keeps them; claims without enough evidence are left out.
            with_question: puts the question into the context; the papers' methods see the claim alone.
        """
        self.binary, self.with_question = binary, with_question

    def read(self, path: Path) -> Iterator[Example]:
        """The claims of a file, in its order; an answer is named by its row's number."""
        for row in rows(path):
            context = row.text("prompt") if self.with_question else ""
            sentences = row.child("sentences")
            for name in sentences.fields:
                yield from self._claims(row, sentences.child(name), name, context)

    def _claims(self, row: Row, sentence: Row, name: str, context: str) -> Iterator[Example]:
        claims = sentence.texts("claims")
        worth = _beside(sentence, "claim_checkworthiness", len(claims))
        labels = _beside(sentence, "claims_factuality_label", len(claims))
        evidence = _beside(sentence, "auto_evidence", len(claims))
        urls = _beside(sentence, "auto_evidence_url", len(claims))
        for place, text in enumerate(claims):
            if worth[place] == "opinion":
                continue
            gold = sentence.as_label(labels[place], FACTCHECK_BENCH)
            if gold is None:
                raise sentence.wrong("claims_factuality_label", "true, false or 'unknown' for each claim")
            if self.binary and gold not in TRUE_FALSE.names:
                continue
            given = TRUE_FALSE if self.binary else FACTCHECK_BENCH
            yield Example(
                id=f"{row.number}.{name.removeprefix('sentence')}.{place + 1}",
                claim=sentence.claim("claims", text, labels=given, context=context),
                gold=gold,
                passages=_passages(sentence, evidence[place], urls[place]),
                response=str(row.number),
                row=row.number,
            )


def _beside(sentence: Row, field: str, length: int) -> list[object]:
    found = sentence.items(field)
    if len(found) != length:
        raise sentence.wrong(field, f"a list of {length}, one for each claim,")
    return found


def _passages(sentence: Row, texts: object, urls: object) -> tuple[Passage, ...]:
    """What a real search returned for one claim; an entry without text is left out."""
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise sentence.wrong("auto_evidence", "a list of texts for each claim")
    if not isinstance(urls, list) or len(urls) != len(texts) or not all(isinstance(url, str) for url in urls):
        raise sentence.wrong("auto_evidence_url", "an address for each text of auto_evidence")
    return tuple(
        Passage(text=printable(text), url=url, rank=rank)
        for rank, (text, url) in enumerate(zip(texts, urls, strict=True), 1)
        if text.strip()
    )
