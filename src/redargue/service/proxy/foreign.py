"""Shapes of other services' checks: Google's check grounding, and the span classifier of vLLM's Semantic Router."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from redargue.claims import Meaning
from redargue.evidence import Passage, Side
from redargue.service.proxy.block import CheckBlock, ClaimBlock, Reason
from redargue.service.proxy.checker import Checked
from redargue.service.proxy.settings import whole_characters
from redargue.service.proxy.whole import first_unchecked
from redargue.text.report import Outcome


class _Google(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class GoogleFact(_Google):
    """A document."""

    fact_text: str = Field(min_length=1, max_length=1_000_000)
    attributes: dict[str, str] = Field(default_factory=dict)


class GroundingSpec(_Google):
    """Claims of a lower confidence than the threshold have no citations."""

    citation_threshold: float = Field(default=0.0, ge=0, le=1)


class GroundCheckRequest(_Google):
    """A request to Google's check grounding API; field names in camel case, as in JSON, or in snake case."""

    answer_candidate: str = Field(min_length=1, max_length=100_000)
    facts: list[GoogleFact] = Field(min_length=1, max_length=200)
    grounding_spec: GroundingSpec = GroundingSpec()

    def documents(self) -> tuple[Passage, ...]:
        """The facts with words; ``document`` is a fact's number."""
        return tuple(
            Passage(
                text=fact.fact_text,
                document=str(number),
                title=whole_characters(fact.attributes.get("title", "")),
            )
            for number, fact in enumerate(self.facts)
            if re.search(r"\w", fact.fact_text)
        )


class CitedChunk(_Google):
    """``source`` is the number of the fact."""

    chunk_text: str
    source: str


class GroundClaim(_Google):
    """``start_pos`` and ``end_pos`` count bytes of the answer in UTF-8."""

    start_pos: int
    end_pos: int
    claim_text: str
    citation_indices: list[int] = Field(default_factory=list)
    anti_citation_indices: list[int] = Field(default_factory=list)
    grounding_check_required: bool
    score: float | None = None


class GroundCheckNote(BaseModel):
    """What Google's shape has no field for."""

    check: str
    outcome: Outcome
    reason: Reason
    unchecked: dict[str, int]
    offsets: Literal["utf8_byte"] = "utf8_byte"


class GroundCheckResponse(_Google):
    """``support_score`` is the share of the claims to be grounded that are supported; None where there are none."""

    support_score: float | None
    cited_chunks: list[CitedChunk]
    claims: list[GroundClaim]
    redargue: GroundCheckNote


def google_response(checked: Checked, block: CheckBlock, *, threshold: float) -> GroundCheckResponse:
    """A finished check in Google's shape; every sentence has a claim, or several."""
    at = [0, *accumulate(len(char.encode("utf-8", "surrogatepass")) for char in checked.text)]
    chunks: dict[tuple[str, str], int] = {}

    def indices(claim: ClaimBlock, side: Side) -> list[int]:
        if (claim.confidence if claim.confidence is not None else 1.0) < threshold:
            return []
        quotes = [(quote.text, quote.document) for quote in claim.quotes if quote.side is side]
        return [chunks.setdefault(quote, len(chunks)) for quote in dict.fromkeys(quotes)]

    claims: list[GroundClaim] = []
    waiting = {sentence.start for sentence in (*checked.late, *(each for each, _ in checked.failed))}
    for sentence in checked.sentences:
        stated = [claim for claim in block.claims if claim.start == sentence.start]
        start, end = at[sentence.start], at[sentence.end]
        claims += [
            GroundClaim(
                start_pos=start,
                end_pos=end,
                claim_text=sentence.text,
                citation_indices=indices(claim, Side.FOR) if claim.meaning is Meaning.SUPPORTED else [],
                anti_citation_indices=indices(claim, Side.AGAINST),
                grounding_check_required=True,
                score=claim.confidence,
            )
            for claim in stated
        ]
        if not stated:
            claims.append(
                GroundClaim(
                    start_pos=start,
                    end_pos=end,
                    claim_text=sentence.text,
                    grounding_check_required=sentence.start in waiting,
                )
            )
    required = [claim for claim in claims if claim.grounding_check_required]
    supported = sum(claim.meaning is Meaning.SUPPORTED for claim in block.claims)
    return GroundCheckResponse(
        support_score=supported / len(required) if required else None,
        cited_chunks=[CitedChunk(chunk_text=text, source=document) for text, document in chunks],
        claims=claims,
        redargue=GroundCheckNote(
            check=block.check, outcome=block.outcome, reason=block.reason, unchecked=block.unchecked
        ),
    )


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


class Span(BaseModel):
    """Unsupported text; offsets count code points. ``score`` is 1 where the reader gives no confidence."""

    start: int
    end: int
    label: Literal["contradiction", "unsupported_addition"]
    score: float
    text: str


class ClassifyResponse(BaseModel):
    """``truncated_at`` is where the first sentence begins that could not be checked, so that this is not clean."""

    spans: list[Span]
    truncated_at: int | None = None


def spans(checked: Checked, block: CheckBlock) -> ClassifyResponse:
    """The router rejects a response with a span beyond ``truncated_at``, so that there are none."""
    truncated = first_unchecked(checked, block)
    found: dict[tuple[int, int], Span] = {}
    for claim in block.bad:
        if truncated is not None and claim.end > truncated:
            continue
        span = Span(
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
