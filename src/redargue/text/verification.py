"""Verifies texts: extracts their claims, verifies these concurrently, and reports the verdicts together.

The method and the evidence are chosen as for single claims; with given documents, every tool searches only these.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np
from pydantic import ValidationError

from redargue.assembly import Parts, RunOptions, can_remember, connect, for_answers, method_of, read_options
from redargue.backends import require
from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import Claim
from redargue.errors import BadReply, RecordError, UsageError, problem_location, problem_of
from redargue.events import CallFailed, CallFinished, ClaimEnded, EvidenceFound, EvidenceMissing
from redargue.evidence import Passage, distinct_names
from redargue.methods.base import ConfiguredMethod
from redargue.nli.reader import SENTENCES
from redargue.nli.session import shared
from redargue.retrieval.corpus import Encoder
from redargue.retrieval.tools.corpus import FixedPassages, FixedPassagesTool
from redargue.run import Run
from redargue.runs.manifest import Origin, read_description
from redargue.runs.record import DRAFT, Record, read_events, remove_record
from redargue.spec import RunSpec
from redargue.tasks.base import Profile
from redargue.tasks.judge import Openings, openings_of
from redargue.text import CheckedClaim, Outcome, Report, build_report
from redargue.text.extract import EXTRACTOR, Extraction, extract, extraction_tasks, recorded
from redargue.text.segment import Kind, LocatedClaim, Sentence, Text, sentences_of, text_of
from redargue.verdicts import ErrorInfo, Usage, Verdict
from redargue.verifier import Listener, Verifier, cost_of, goes_online, require_concurrency

ABOUT_DOCUMENTS = "the documents that the text has to keep to"
_PAID = CallFinished | CallFailed | EvidenceFound | EvidenceMissing


class PreparedText(NamedTuple):
    """A text whose claims are extracted and ready to be verified."""

    text: Text
    extraction: Extraction
    claims: tuple[Claim, ...]
    spent: Usage  # usage of the extraction and of what was read ahead
    spec: RunSpec
    parts: Parts  # with the backend, transport and budget of the extraction
    folder: Path | None
    models: Mapping[str, str]  # models of the extraction, by role
    openings: Openings = ()  # what was read ahead about each claim
    origin: Origin = Origin()

    def verifier(self) -> Verifier:
        """The verifier of the claims; its record holds the calls of the extraction after the last claim."""
        about = self.text.model_dump(mode="json") | self.extraction.model_dump(mode="json")
        about |= {"models": dict(self.models), "usage": self.spent.model_dump(mode="json")}
        if self.openings:
            about |= {"openings": [[turn.model_dump(mode="json") for turn in turns] for turns in self.openings]}
        verifier = Verifier(
            self.spec, parts=self.parts, folder=self.folder, claims=self.claims, text=about, origin=self.origin
        )
        if self.folder and verifier.record:
            _move_calls(self.folder / DRAFT, verifier.record, item=len(self.claims))
        return verifier

    def checked(self, item: int, verdict: Verdict) -> CheckedClaim:
        span = self.extraction.claims[item]
        stated = self.text.text[span.start : span.end]
        return CheckedClaim(start=span.start, end=span.end, stated=stated, verdict=verdict)

    def report(self, verdicts: Sequence[Verdict]) -> Report:
        return build_report(self.text, self.extraction, verdicts, self.spent, unread_files=self.origin.unread_files)


async def prepare(
    text: Text,
    spec: RunSpec,
    parts: Parts | None = None,
    *,
    documents: Sequence[Passage] | None = None,
    folder: Path | None = None,
    origin: Origin | None = None,
    together: bool = True,
) -> PreparedText:
    """Extracts the claims of a text.

    Args:
        spec: its labels must include a supporting and a refuting one; ``models`` may name a model for the
            ``extractor`` and its tasks.
        documents: the only evidence, of all claims ``together`` unless each has its own; None to search.
        folder, origin: run folder, in which no recorded call is repeated, and what it records of its origin.

    Raises:
        UsageError: the text, its kind and the options are incompatible.
        RecordError: the folder holds another run.
        BadReply, BudgetReached, ProviderError: the extraction failed.
    """
    parts = parts or Parts()
    check_options(text, spec, documents)
    spec = spec if documents is None else closed(for_answers(spec, parts) if together else spec, parts)
    roles = {EXTRACTOR, *(task.name() for task in extraction_tasks(text))}
    models = {role: model for role, model in spec.models.items() if role in roles}
    spec = spec.updated(models={role: model for role, model in spec.models.items() if role not in roles})
    tools = method_of(spec).tools()
    openings: Openings = ()
    # The extraction uses neither evidence nor memory.
    unused = replace(parts, evidence={name: FixedPassages(()) for name in tools}, actions={}, memory=None)
    known = _recorded(folder, text) if folder else None
    draft = folder / DRAFT if folder and not known else None
    about = text.model_dump(mode="json")
    with Verifier(_without_memory(spec).updated(mcp=()), parts=unused, folder=draft, text=about) as first:
        require(first.backend, f"the extraction of claims from a {text.kind}", extraction_tasks(text))
        if known:
            first.budget.recall(cost_of(known.usage, goes_online))
        run = extraction_run(first, {**spec.models, **models})
        async with first.transport:
            extraction = known.extraction if known else await _extracted(text, run, first.method.settings.profile)
            claims = claims_of(extraction.claims, spec, text.context if text.kind == "dialogue" else "")
            if documents is not None:
                evidence = await asyncio.to_thread(_evidence, tools, text, claims, documents)
                parts = replace(parts, evidence=evidence)
                if together:
                    openings = known.openings if known else await _read_ahead(first.method, claims, evidence, run)
    spent = known.usage if known else run.whole_usage()
    parts = replace(parts, backend=first.backend, transport=first.transport, budget=first.budget)
    origin = origin or Origin()
    return PreparedText(text, extraction, claims, spent, spec, parts, folder, models, openings, origin)


async def _extracted(text: Text, run: Run, profile: Profile) -> Extraction:
    """As :func:`extract`; records that an unreadable reply ended it: a resumed run then asks again."""
    try:
        return await extract(text, run, profile=profile)
    except BadReply as error:
        failed = Verdict(claim=Claim(text="the extraction of claims"), label=None, error=ErrorInfo.of(error))
        run.emit(ClaimEnded(verdict=failed))
        raise


def _move_calls(draft: Path, record: Record, *, item: int) -> None:
    """Moves the calls that were made before the claims were known into the record of the run."""
    if draft.is_dir():
        for event in read_events(draft):
            if isinstance(event, _PAID):
                record.write(event.model_copy(update={"item": item}))
        remove_record(draft)


def extraction_run(verifier: Verifier, models: Mapping[str, str]) -> Run:
    """The run of a text before its claims are verified; its models may be others than those of the verifier."""
    return Run(
        verifier.backend,
        seed=verifier.spec.seed,
        budget=verifier.budget,
        clock=verifier.clock,
        record=verifier.record,
        model=verifier.spec.model,
        models=models,
        priced=verifier.priced,
    )


async def _read_ahead(
    method: ConfiguredMethod, claims: Sequence[Claim], evidence: Mapping[str, FixedPassages], run: Run
) -> Openings:
    if not (method.kind.reads_ahead and claims):
        return ()
    texts = [claim.text for claim in claims]
    run.tools = {name: source.for_all(texts) for name, source in evidence.items()}
    return await method.read_ahead(claims, run)


class _Known(NamedTuple):
    """What is recorded about a text before its claims are verified, and its cost."""

    extraction: Extraction
    openings: Openings
    usage: Usage


def check_options(text: Text, spec: RunSpec, documents: Sequence[Passage] | None) -> None:
    labels = spec.labels
    if spec.strict_as_of and spec.as_of is None:
        raise UsageError("the text has no as-of date", where="--strict-as-of", hint="set one: --as-of 2024-03-31")
    if not labels.has_both_sides:
        what = f"the labels {labels.name!r} do not say whether a claim is supported or refuted"
        raise UsageError(what, where="--labels", hint="use labels that do, such as fever or two")
    if documents is None and text.kind == "summary":
        hint = "redargue ground --answer FILE --as summary --context DOCUMENT"
        raise UsageError("a summary is checked against its document", where="--context", hint=hint)
    if documents is not None and not any(document.text.strip() for document in documents):
        hint = "pass one: --context FILE, or contexts=[…]"
        raise UsageError("there is no document to check the text against", where="--context", hint=hint)


def closed(spec: RunSpec, parts: Parts) -> RunSpec:
    """The configuration of a run whose only evidence is the given documents."""
    others = parts.actions or parts.memory or spec.mcp or spec.memory
    if others or spec.settings.get("memory", "off") != "off":
        raise UsageError(
            "MCP tools and a memory cannot be used: the given documents are the only evidence",
            hint="omit them, or check the text without documents",
        )
    return _without_memory(spec)


def _without_memory(spec: RunSpec) -> RunSpec:
    if not can_remember(spec.method):
        return spec
    settings = {**spec.settings, "memory": "off"}
    return spec.model_copy(update={"memory": "", "workspace": "default", "settings": settings})


def claims_of(extracted: Sequence[LocatedClaim], spec: RunSpec, context: str = "") -> tuple[Claim, ...]:
    """Extracted claims with a configuration's labels and dates; raises UsageError for one that cannot be checked."""
    given = {"context": context, "labels": spec.labels, "as_of": spec.as_of, "only_in_time": spec.strict_as_of}
    claims = []
    for located in extracted:
        try:
            claims.append(Claim.model_validate({"text": located.claim, **given}))
        except ValidationError as error:
            where = f"the claim at characters {located.start} to {located.end}"
            what = f"{problem_location(error) or 'the claim'}: {problem_of(error)}"
            raise UsageError(what, where=where) from error
    return tuple(claims)


def _recorded(folder: Path, text: Text) -> _Known | None:
    """What is recorded; None if the folder has no run. Raises RecordError for that of something else."""
    try:
        record = read_description(folder)["text"]
        usage = Usage.model_validate(record["usage"])
        recorded_text, extraction = recorded(record)
        openings = openings_of(record)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise RecordError(f"{str(folder)!r} is not a folder", hint="choose another folder") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise RecordError(f"{str(folder)!r} contains a run, but not of a text", hint="choose another folder") from None
    if recorded_text != text:
        raise RecordError(f"{str(folder)!r} contains the run of another text", hint="choose another folder")
    return _Known(extraction, openings, usage)


def _evidence(
    names: Sequence[str], text: Text, claims: Sequence[Claim], documents: Sequence[Passage]
) -> dict[str, FixedPassages]:
    """Replaces every tool by the documents; a dialogue's context is evidence as well (Sun et al. 2024)."""
    if text.kind == "summary":
        nearest = nearest_sentences([claim.text for claim in claims], documents, shared())
        return {name: FixedPassages(nearest, name=name, whole=True, about=ABOUT_DOCUMENTS) for name in names}
    if text.kind == "dialogue" and text.context:
        given = [(document.document, "") for document in documents]
        *_, name = distinct_names([*given, ("context", text.context)])
        documents = [*documents, Passage(text=text.context, document=name)]
    return _only(names, [tuple(documents)] * len(claims))


def _only(names: Sequence[str], documents: Sequence[Sequence[Passage]]) -> dict[str, FixedPassages]:
    return {
        name: FixedPassages(documents, name=name, about=ABOUT_DOCUMENTS, encoder=encoder_of(name)) for name in names
    }


def encoder_of(tool: str) -> Encoder | None:
    return None if tool == "keywords" else shared()


def shared_evidence(spec: RunSpec, documents: Sequence[Passage]) -> dict[str, FixedPassagesTool]:
    """Search tools over documents that are the only evidence of every claim."""
    return {name: tool.for_claim(0) for name, tool in _only(method_of(spec).tools(), [documents]).items()}


def with_documents(
    spec: RunSpec, documents: Sequence[Sequence[Passage]], parts: Parts | None = None
) -> tuple[RunSpec, Parts]:
    """The configuration and parts of a run in which each claim's own documents are its only evidence.

    Raises UsageError if the run has MCP tools or a memory.
    """
    parts = parts or Parts()
    spec = closed(spec, parts)
    return spec, replace(parts, evidence=_only(method_of(spec).tools(), documents))


class TextOptions(RunOptions, total=False):
    """The keywords that :func:`verify_text` and :func:`ground` share."""

    kind: Kind
    context: str
    concurrency: int | None
    listeners: Sequence[Listener]
    done: Callable[[int, Verdict], None] | None
    spec: RunSpec | None
    folder: str | Path | None


async def verify_text(
    text: str | Text,
    *,
    kind: Kind = "text",
    context: str = "",
    documents: Sequence[Passage] | None = None,
    concurrency: int | None = None,
    listeners: Sequence[Listener] = (),
    done: Callable[[int, Verdict], None] | None = None,
    spec: RunSpec | None = None,
    folder: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> Report:
    """Verifies a text claim by claim; a claim that fails does not stop the others.

    Args:
        text: text to check.
        kind: ``text``, ``dialogue`` or ``qa``; see :class:`Text`.
        context: the question or the previous conversation.
        documents: the only evidence; None to search.
        concurrency: number of claims verified at the same time; by default 16, with an evidence memory one.
        listeners: called with every event of every claim.
        done: called with the index and verdict of each claim when it finishes.
        spec: configuration of the run.
        folder: run folder; None records nothing.
        options: as for :func:`redargue.verify`; ``models`` may name a model for the ``extractor`` and its tasks.

    Raises:
        RedargueError: the extraction failed, or the run could not be started.
    """
    spec, parts = read_options(options, spec)
    require_concurrency(concurrency)  # before the extraction is paid
    if documents is None:
        parts = await connect(spec, parts)
    elif outcome := without_check(text, documents, kind=kind, context=context):
        method_of(for_answers(spec, parts))  # an option that does not fit is an error all the same
        return outcome
    text = text_of(text, kind=kind, context=context)
    prepared = await prepare(text, spec, parts, documents=documents, folder=Path(folder) if folder else None)
    with prepared.verifier() as verifier:
        most = concurrency or verifier.text_concurrency
        verdicts = await verifier.verify_all(prepared.claims, concurrency=most, listeners=listeners, done=done)
    return prepared.report(verdicts)


async def ground(
    answer: str | Text, *, contexts: str | Passage | Sequence[str | Passage], **options: Unpack[TextOptions]
) -> Report:
    """Verifies an answer against given documents only, without search requests.

    An answer without words is ``not_checkable``; without a document, every sentence is unchecked (``no_context``).

    Args:
        answer: text to check; its kind may also be ``summary``.
        contexts: whole documents, or one; a claim of a summary is checked against its ten most similar sentences.
        options: as for :func:`verify_text`; unless ``method`` is given, a language model reads all claims together
            (``one-pass``).
    """
    return await verify_text(answer, documents=documents_of(contexts), **options)


NO_CONTEXT = Unchecked(reason=UncheckedReason.NO_CONTEXT)


def without_check(
    answer: str | Text, documents: Sequence[Passage], *, kind: Kind = "text", context: str = ""
) -> Report | None:
    """The report on an answer without words, or without a document that has any; None for others."""
    if isinstance(answer, str) and not re.search(r"\w", answer):
        return Report(text=answer, kind=kind, context=context, outcome=Outcome.NOT_CHECKABLE, claims=())
    if any(document.text.strip() for document in documents):
        return None
    text = text_of(answer, kind=kind, context=context)
    unchecked = tuple(sentence.unchecked(NO_CONTEXT) for sentence in sentences_of(text.text))
    return build_report(text, Extraction(claims=(), unchecked=unchecked), (), Usage())


_FILE_NAME = re.compile(r"\S+\.(?:pdf|docx?|md|txt|html?|csv|tsv|jsonl?)", re.IGNORECASE)


def documents_of(contexts: str | Passage | Iterable[str | Passage]) -> list[Passage]:
    """The documents that an answer is checked against; raises UsageError for what is not a document."""
    if not isinstance(contexts, Iterable) or isinstance(contexts, Mapping | bytes | bytearray):
        hint = "give a list of documents: contexts=['the text of a document']; [] for none"
        raise UsageError(f"{contexts!r:.60} is not a list of documents", where="contexts", hint=hint)
    given = [contexts] if isinstance(contexts, str | Passage) else contexts
    return [_document(document, number) for number, document in enumerate(given, 1)]


def _document(given: str | Passage, number: int) -> Passage:
    if isinstance(given, Passage):
        return given.model_copy(update={"named": True}) if given.url and not given.named else given
    if not isinstance(given, str):
        what = f"context {number} is neither a text nor a Passage: {given!r:.60}"
        hint = "contexts=['the text of a document', redargue.Passage(text=…, title=…)]"
        raise UsageError(what, where="contexts", hint=hint)
    if _FILE_NAME.fullmatch(given.strip()):
        what = f"context {number} is the name of a file, not its text: {given!r:.60}"
        hint = "read the file and pass its text; redargue ground reads files"
        raise UsageError(what, where="contexts", hint=hint)
    return Passage(text=given, document=f"context-{number}")


def nearest_sentences(
    claims: Sequence[str], documents: Sequence[Passage], encoder: Encoder, *, most: int = 10
) -> list[tuple[Passage, ...]]:
    """For each claim of a summary the most similar sentences, which are its evidence (DPD; Sun et al. 2024).

    In document order; adjacent sentences form one passage, of no more than the reader reads of each. The papers do not
    name their sentence encoder (``D14``).
    """
    sentences = [(document, sentence) for document in documents for sentence in sentences_of(document.text)]
    if not sentences or not claims:
        return [() for _ in claims]
    vectors = encoder.encode([sentence.text for _, sentence in sentences])
    similarities = np.round(encoder.encode(claims) @ vectors.T, 6)
    nearest = np.sort(np.argsort(-similarities, axis=1, kind="stable")[:, :most], axis=1)  # ties: the first sentence
    return [_passages(sentences, row.tolist()) for row in nearest]


def _passages(sentences: Sequence[tuple[Passage, Sentence]], indices: Sequence[int]) -> tuple[Passage, ...]:
    runs: list[list[int]] = []
    for index in indices:
        last = runs[-1] if runs else []
        adjacent = last and index == last[-1] + 1 and sentences[index][0] is sentences[last[0]][0]
        if adjacent and len(last) < SENTENCES:
            last.append(index)
        else:
            runs.append([index])
    spans = [(sentences[run[0]][0], sentences[run[0]][1].start, sentences[run[-1]][1].end) for run in runs]
    return tuple(
        document.model_copy(update={"text": document.text[start:end], "start": start, "rank": rank})
        for rank, (document, start, end) in enumerate(spans, 1)
    )
