"""Texts, not only claims: the claims of a response are extracted and verified concurrently, and reported together.

A response is not factual if one of its claims is not (FacTool; Sun et al. 2024). Which method verifies the claims, and
over which evidence, is chosen as for single claims; :func:`ground` gives every method the given documents alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Unpack

from pydantic import ValidationError

from redargue.assembly import connect, method_of
from redargue.backends.base import require
from redargue.claims import Claim, Meaning
from redargue.config import Components, RunConfig, RunOptions, read_options
from redargue.errors import RecordError, UsageError
from redargue.events import CallFailed, CallFinished, Event
from redargue.evidence import Passage
from redargue.methods.base import methods
from redargue.nli.backend import EmbeddedBackend
from redargue.retrieval.tools.fixed_passages import FixedPassages
from redargue.run import Run
from redargue.text.extract import EXTRACTOR, Extraction, extract, extraction_tasks, recorded
from redargue.text.nearest_sentences import nearest_sentences
from redargue.text.report import Report, report
from redargue.text.segment import Kind, Text
from redargue.verdicts import Usage, Verdict
from redargue.verifier import Listener, Verifier, cost_of

CONCURRENCY = 16  # claims of a text verified at the same time; the limiter caps requests
GIVEN = "the documents that the text has to keep to"
BY_WORDS = "keywords"  # the tool that searches without vectors


class Prepared(NamedTuple):
    """A text with its claims, ready to be verified.

    Attributes:
        text: what is checked.
        extraction: its claims and their positions.
        claims: the same, as a verifier takes them.
        spent: on the extraction.
        config: of the verifier.
        components: of the verifier; backend, transport and budget are those of the extraction.
        folder: of the run; None records nothing.
        models: of the extraction alone, by role.
        calls: the extraction's calls, for the record; empty where it was recorded before.
    """

    text: Text
    extraction: Extraction
    claims: tuple[Claim, ...]
    spent: Usage
    config: RunConfig
    components: Components
    folder: Path | None
    models: Mapping[str, str]
    calls: tuple[Event, ...]

    def verifier(self) -> Verifier:
        """The verifier of the claims; its record holds the extraction's calls, too, after the last claim."""
        about = {
            name: value for part in (self.text, self.extraction) for name, value in part.model_dump(mode="json").items()
        }
        about |= {"models": dict(self.models), "usage": self.spent.model_dump(mode="json")}
        made = Verifier(self.config, components=self.components, folder=self.folder, claims=self.claims, text=about)
        for event in self.calls if made.record else ():
            made.record.write(event.model_copy(update={"item": len(self.claims)}))  # type: ignore[union-attr]
        return made

    def report(self, verdicts: Sequence[Verdict]) -> Report:
        """The text's report, from one verdict per claim."""
        return report(self.text, self.extraction, verdicts, self.spent)


def text_of(text: str | Text, *, kind: Kind = "text", context: str = "") -> Text:
    """The text as data.

    Raises:
        UsageError: it is none that could be checked.
    """
    if isinstance(text, Text):
        return text
    try:
        return Text(text=text, kind=kind, context=context)
    except ValidationError as error:
        raise UsageError(f"this text cannot be checked: {error.errors()[0]['msg']}") from error


async def prepare(
    text: Text,
    config: RunConfig,
    components: Components | None = None,
    *,
    documents: Sequence[Passage] | None = None,
    folder: Path | None = None,
) -> Prepared:
    """Extracts the claims of a text.

    Args:
        text: what is checked.
        config: of the run; its labels have to name what supports and what refutes. ``models`` may name a model for the
            ``extractor`` and its tasks, too.
        components: of the run.
        documents: what the claims are read against, and nothing else; None to search as for single claims.
        folder: of the run; a text whose extraction is recorded there is not extracted again.

    Raises:
        UsageError: the text, its kind and the rest do not go together.
        RecordError: the folder holds the run of something else.
        BadReply, BudgetReached, ProviderError: the extraction failed.
    """
    parts = components or Components()
    _fitting(text, config, documents)
    config = config if documents is None else _closed(config, parts)
    roles = {EXTRACTOR, *(task.name() for task in extraction_tasks(text))}
    own = {role: model for role, model in config.models.items() if role in roles}
    config = config.updated(models={role: model for role, model in config.models.items() if role not in roles})
    method = method_of(config)
    unread = {name: FixedPassages(()) for name in method.tools()}  # nothing is searched before there are claims
    alone = _without_memory(config).updated(mcp=())  # the extraction reads neither evidence nor memory
    with Verifier(alone, components=replace(parts, evidence=unread, actions={}, memory=None)) as first:
        require(first.backend, f"the extraction of claims from a {text.kind}", extraction_tasks(text))
        extraction, spent, calls = await _extracted(text, first, folder, {**config.models, **own})
    claims = _claims(extraction, config, text.context if text.kind == "dialogue" else "")
    if documents is not None:
        evidence = await asyncio.to_thread(_evidence, method.tools(), text, claims, documents)
        parts = replace(parts, evidence=evidence)
    parts = replace(parts, backend=first.backend, transport=first.transport, budget=first.budget)
    return Prepared(text, extraction, claims, spent, config, parts, folder, own, calls)


async def _extracted(
    text: Text, verifier: Verifier, folder: Path | None, models: Mapping[str, str]
) -> tuple[Extraction, Usage, tuple[Event, ...]]:
    """The claims of a text, what they cost, and the calls that were made for them now."""
    if folder and (known := _recorded(folder, text)):
        verifier.budget.recall(cost_of(known[1]))
        return *known, ()
    run = Run(
        verifier.backend,
        seed=verifier.seed,
        budget=verifier.budget,
        clock=verifier.clock,
        models=models,
        priced=verifier.priced,
    )
    async with verifier.transport:
        extraction = await extract(text, run, profile=verifier.method.settings.profile)
    return extraction, run.usage, tuple(each for each in run.events if isinstance(each, CallFinished | CallFailed))


def _fitting(text: Text, config: RunConfig, documents: Sequence[Passage] | None) -> None:
    labels = config.labels
    if config.strict_as_of and config.as_of is None:
        raise UsageError("the text has no as-of date", where="--strict-as-of", hint="give one: --as-of 2024-03-31")
    if not {Meaning.SUPPORTED, Meaning.REFUTED} <= {label.meaning for label in labels.labels}:
        raise UsageError(
            f"the labels {labels.name!r} do not say whether a claim is supported or refuted",
            hint="claims of a text need labels that do, like fever or two",
        )
    if documents is None and text.kind == "summary":
        raise UsageError("a summary is checked against its document", hint="redargue ground --context FILE")
    if documents is not None and not any(each.text.strip() for each in documents):
        raise UsageError("there is no document to check the text against", hint="give one: --context FILE")


def _closed(config: RunConfig, components: Components) -> RunConfig:
    """The configuration of a run that reads the given documents alone: no evidence of other claims, no servers.

    Raises:
        UsageError: something else is to be read, too.
    """
    read_too = components.actions or components.memory or config.mcp or config.memory
    if read_too or config.settings.get("memory", "off") != "off":
        raise UsageError(
            "the text has to keep to the given documents: no tools of servers and no memory are read beside them",
            hint="leave them out, or check the text without documents",
        )
    return _without_memory(config)


def _without_memory(config: RunConfig) -> RunConfig:
    if "memory" not in methods[config.method].settings_class.model_fields:
        return config
    settings = {**config.settings, "memory": "off"}
    return config.model_copy(update={"memory": "", "workspace": "default", "settings": settings})


def _claims(extraction: Extraction, config: RunConfig, context: str) -> tuple[Claim, ...]:
    """The claims as a verifier takes them.

    Raises:
        UsageError: one of them cannot be checked; says where it is.
    """
    claims = []
    for located in extraction.claims:
        try:
            claims.append(
                Claim(
                    text=located.claim,
                    context=context,
                    labels=config.labels,
                    as_of=config.as_of,
                    only_in_time=config.strict_as_of,
                )
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise UsageError(
                f"{'.'.join(map(str, first['loc'])) or 'the claim'}: {first['msg']}",
                where=f"the claim at characters {located.start} to {located.end}",
            ) from error
    return tuple(claims)


def _recorded(folder: Path, text: Text) -> tuple[Extraction, Usage] | None:
    """The claims of a text that were found when its run began; None where there is no run yet.

    Raises:
        RecordError: the folder holds the run of something else.
    """
    path = folder / "run.json"
    if not path.exists():
        return None
    try:
        held = json.loads(path.read_text(encoding="utf-8"))["text"]
        usage = Usage.model_validate(held["usage"])
        known, extraction = recorded(held)
    except (OSError, ValueError, KeyError, TypeError):
        raise RecordError(f"{str(folder)!r} holds a run, and not one of a text", hint="take another folder") from None
    if known != text:
        raise RecordError(f"{str(folder)!r} holds the run of another text", hint="take another folder")
    return extraction, usage


def _evidence(
    names: Sequence[str], text: Text, claims: Sequence[Claim], documents: Sequence[Passage]
) -> dict[str, FixedPassages]:
    """The given documents in the place of every tool; what was said before is evidence, too (Sun et al. 2024)."""
    encoder = EmbeddedBackend().embedder
    if text.kind == "summary":
        nearest = nearest_sentences([claim.text for claim in claims], documents, encoder)
        return {name: FixedPassages(nearest, name=name, whole=True, about=GIVEN) for name in names}
    before = [Passage(text=text.context, document="context")] if text.kind == "dialogue" and text.context else []
    every = [(*documents, *before)] * len(claims)
    return {
        name: FixedPassages(every, name=name, about=GIVEN, encoder=None if name == BY_WORDS else encoder)
        for name in names
    }


async def verify_text(
    text: str | Text,
    *,
    kind: Kind = "text",
    context: str = "",
    documents: Sequence[Passage] | None = None,
    concurrency: int = CONCURRENCY,
    listeners: Sequence[Listener] = (),
    done: Callable[[int, Verdict], None] | None = None,
    config: RunConfig | None = None,
    folder: Path | None = None,
    **options: Unpack[RunOptions],
) -> Report:
    """Verifies a text claim by claim; a claim that fails does not stop the others.

    Args:
        text: what is checked.
        kind: ``text``, ``dialogue`` or ``qa``; see :class:`Text`.
        context: what it answers or follows.
        documents: what the claims are read against, and nothing else; None to search.
        concurrency: number of claims verified at the same time.
        listeners: called with every event of every claim.
        done: called with each claim's index and verdict, as they finish.
        config: the configuration.
        folder: of the run; None records nothing.
        options: as of :func:`redargue.verify`; ``models`` may name a model for the ``extractor`` and its tasks, too.

    Raises:
        RedargueError: the extraction failed, or nothing could be started.
    """
    read, components = read_options(options, config)
    checked = text_of(text, kind=kind, context=context)
    if documents is None:
        components = await connect(read, components)
    prepared = await prepare(checked, read, components, documents=documents, folder=folder)
    with prepared.verifier() as verifier:
        verdicts = await verifier.verify_all(prepared.claims, concurrency=concurrency, listeners=listeners, done=done)
    return prepared.report(verdicts)


async def ground(
    answer: str | Text,
    *,
    contexts: Sequence[str | Passage],
    kind: Kind = "text",
    context: str = "",
    concurrency: int = CONCURRENCY,
    listeners: Sequence[Listener] = (),
    done: Callable[[int, Verdict], None] | None = None,
    config: RunConfig | None = None,
    folder: Path | None = None,
    **options: Unpack[RunOptions],
) -> Report:
    """Verifies an answer against given documents and nothing else: no tool sends a request.

    Args:
        answer: what is checked.
        contexts: the documents, in full; a claim of a summary is read against the ten sentences nearest to it.
        kind: ``text``, ``dialogue``, ``qa`` or ``summary``.
        context: what it answers or follows.
        concurrency: number of claims verified at the same time.
        listeners: called with every event of every claim.
        done: called with each claim's index and verdict, as they finish.
        config: the configuration.
        folder: of the run; None records nothing.
        options: as of :func:`verify_text`.

    Raises:
        RedargueError: as :func:`verify_text`.
    """
    documents = [
        document if isinstance(document, Passage) else Passage(text=document, document=f"context-{number}")
        for number, document in enumerate(contexts, 1)
    ]
    return await verify_text(
        answer,
        kind=kind,
        context=context,
        documents=documents,
        concurrency=concurrency,
        listeners=listeners,
        done=done,
        config=config,
        folder=folder,
        **options,
    )
