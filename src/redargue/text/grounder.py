"""Checks many answers against the same documents, which stay cut and encoded between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Self, Unpack

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.language import language_of
from redargue.nli.reader import encoded_texts
from redargue.parts import RunOptions, read_options
from redargue.sanitize import counted
from redargue.spec import RunSpec
from redargue.tasks.extract import ExtractClaims, MarkOpinions
from redargue.text.extract import EXTRACTOR, extract, extract_claims
from redargue.text.report import CheckedClaim, Report, build_report
from redargue.text.segment import Kind, Sentence, Text, UncheckedSentence, text_of
from redargue.text.verification import (
    CONCURRENCY,
    NO_CONTEXT,
    check_options,
    claims_of,
    closed,
    documents_of,
    extraction_run,
    ground,
    shared_evidence,
    without_check,
)
from redargue.verdicts import Verdict
from redargue.verifier import Listener, Verifier


class Grounder:
    """Documents to check answers against, as :func:`redargue.ground` does; a context manager.

    The documents are cut and encoded once, when it is made. Nothing is recorded, and a budget is that of all answers.

    Args:
        contexts: whole documents, or one.
        spec: configuration of the runs.
        options: as for :func:`redargue.verify`.

    Raises:
        UsageError: an option does not fit.

    Example:
        >>> with redargue.Grounder(["Bees are insects. They have six legs."], method="single-reader") as grounder:
        ...     report = await grounder.ground("Bees have eight legs.")
    """

    def __init__(
        self,
        contexts: str | Passage | Sequence[str | Passage],
        *,
        spec: RunSpec | None = None,
        **options: Unpack[RunOptions],
    ) -> None:
        self.documents = tuple(documents_of(contexts))
        spec, parts = read_options(options, spec)
        self._no_context = not any(document.text.strip() for document in self.documents)
        check_options(Text(text="any text"), spec, None if self._no_context else self.documents)
        self._spec, self._parts = closed(spec, parts), parts
        extracting = {EXTRACTOR, ExtractClaims.name(), MarkOpinions.name()}
        self._models = spec.models  # those of the extraction too
        models = {role: model for role, model in spec.models.items() if role not in extracting}
        evidence = shared_evidence(self._spec, self.documents)
        self._verifier = Verifier(self._spec.updated(models=models), parts=replace(parts, evidence=evidence))
        backend = self._verifier.backend
        self._embedder = backend.embedder if isinstance(backend, EmbeddedBackend) else None
        texts = [text for tool in evidence.values() for text in tool.encoded_texts]
        texts += [text for document in self.documents for text in encoded_texts(document)]
        self._held = tuple(dict.fromkeys(texts))
        if self._embedder:
            self._embedder.hold(self._held)

    def __repr__(self) -> str:
        return f"<Grounder {counted(len(self.documents), 'document')}, {self._verifier.method.name}>"

    async def ground(
        self,
        answer: str | Text,
        *,
        kind: Kind = "text",
        context: str = "",
        concurrency: int = CONCURRENCY,
        listeners: Sequence[Listener] = (),
        done: Callable[[int, Verdict], None] | None = None,
    ) -> Report:
        """The report on an answer; arguments as for :func:`redargue.ground`.

        Raises:
            UsageError: the answer cannot be checked.
            BadReply, BudgetReached, ProviderError: the extraction of its claims failed.
        """
        if outcome := without_check(answer, self.documents, kind=kind, context=context):
            return outcome
        text, verifier = text_of(answer, kind=kind, context=context), self._verifier
        # whose evidence differs by answer or claim, or whose claims are read together
        if text.kind in ("dialogue", "summary") or verifier.method.kind.reads_ahead:
            given = {name: getattr(self._parts, name) for name in ("backend", "prices", "transport", "clock")}
            return await ground(
                text,
                contexts=self.documents,
                spec=self._spec.updated(models=self._models),
                concurrency=concurrency,
                listeners=listeners,
                done=done,
                budget=self._parts.budget or verifier.budget,
                **given,
            )
        run = extraction_run(verifier, self._models)
        async with verifier.transport:
            extraction = await extract(text, run, profile=verifier.method.settings.profile)
            claims = claims_of(extraction.claims, self._spec)
            verdicts = await verifier.verify_all(claims, concurrency=concurrency, listeners=listeners, done=done)
        return build_report(text, extraction, verdicts, run.usage)

    async def check_sentence(self, sentences: Sequence[Sentence]) -> tuple[CheckedClaim, ...]:
        """The verdicts on the claims of the last of some consecutive sentences of a text.

        A sentence that may state something and could not be read has a verdict that says so; one that states nothing
        has none.
        """
        if self._no_context:
            return (_checked(sentences[-1], await self.verify(self._spec.claim(sentences[-1].text))),)
        return await check_sentence(sentences, self._verifier, self._models)

    async def verify(self, claim: Claim) -> Verdict:
        """The verdict on one claim, which need not be one of a text."""
        if self._no_context:
            return Verdict(claim=claim, label=None, unchecked=NO_CONTEXT)
        return await self._verifier.verify(claim)

    def close(self) -> None:
        """Gives the memory of the encoded documents back."""
        if self._embedder and self._held:
            self._embedder.release(self._held)
        self._held = ()
        self._verifier.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


async def check_sentence(
    sentences: Sequence[Sentence], verifier: Verifier, models: Mapping[str, str]
) -> tuple[CheckedClaim, ...]:
    """The verdicts on the claims of the last of some consecutive sentences; ``models``: of their extraction."""
    last, spec, run = sentences[-1], verifier.spec, extraction_run(verifier, models)
    async with verifier.transport:
        found = await extract_claims(sentences, run, verifier.method.settings.profile)
        if isinstance(found, UncheckedSentence):
            unread = Verdict(claim=spec.claim(last.text), label=None, unchecked=found.why)
            return (_checked(last, unread),) if found.why.may_state else ()
        verdicts = await verifier.verify_all(claims_of(found, spec), concurrency=CONCURRENCY)
    return tuple(_checked(last, verdict) for verdict in verdicts)


def _checked(sentence: Sentence, verdict: Verdict) -> CheckedClaim:
    return CheckedClaim(start=sentence.start, end=sentence.end, stated=sentence.text, verdict=verdict)


async def warm_up() -> None:
    """Loads the models and word lists that the first answer would wait for; takes a second."""
    await asyncio.to_thread(language_of, "Una breve frase en otro idioma para cargar el modelo.")
    await ground("It does not load its two models.", contexts=["It loads its models."], method="single-reader")
