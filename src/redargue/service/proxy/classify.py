"""The span classifier of vLLM's Semantic Router."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, Field

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.service.proxy.block import CheckBlock
from redargue.service.proxy.checker import Checked
from redargue.service.proxy.settings import whole_characters
from redargue.service.proxy.whole import first_unchecked


class ClassifyParameters(BaseModel):
    """The documents of an answer, and its question."""

    context: str | list[str] = ""
    question: str = ""


class ClassifyRequest(BaseModel):
    """What the router's ``http_classify`` adapter sends; ``inputs`` is the answer."""

    inputs: str = Field(min_length=1, max_length=100_000)
    parameters: ClassifyParameters = ClassifyParameters()

    def documents(self) -> tuple[Passage, ...]:
        given = self.parameters.context
        texts = [given] if isinstance(given, str) else given
        whole = [whole_characters(text) for text in texts]
        return tuple(
            Passage(text=text, document=f"context-{number}")
            for number, text in enumerate(whole, 1)
            if re.search(r"\w", text)
        )


class UnsupportedSpan(BaseModel):
    """Unsupported text; offsets count code points. ``score`` is 1 where the reader gives no confidence."""

    start: int
    end: int
    label: Literal["contradiction", "unsupported_addition"]
    score: float
    text: str


class ClassifyResponse(BaseModel):
    """``truncated_at`` is where the first sentence begins that could not be checked, so that this is not clean."""

    spans: list[UnsupportedSpan]
    truncated_at: int | None = None


def spans(checked: Checked, block: CheckBlock) -> ClassifyResponse:
    """The router rejects a response with a span beyond ``truncated_at``, so that there are none."""
    truncated = first_unchecked(checked, block)
    found: dict[tuple[int, int], UnsupportedSpan] = {}
    for claim in block.bad:
        if truncated is not None and claim.end > truncated:
            continue
        span = UnsupportedSpan(
            start=claim.start,
            end=claim.end,
            label="contradiction" if claim.meaning is Meaning.REFUTED else "unsupported_addition",
            score=1.0 if claim.confidence is None else claim.confidence,
            text=checked.text[claim.start : claim.end],
        )
        known = found.get((claim.start, claim.end))
        if known is None or (span.label == "contradiction" and known.label != span.label):
            found[claim.start, claim.end] = span
    return ClassifyResponse(spans=list(found.values()), truncated_at=truncated)
