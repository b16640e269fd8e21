"""Texts, not only claims: a response is taken apart, its claims are verified at once, and a report says what came out.

A response is not factual if one of its claims is not (FacTool; Sun et al. 2024). Which method verifies the claims, and
over which evidence, is chosen as for single claims; :func:`ground` gives every method the given documents alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from redargue.backends.base import require
from redargue.backends.embedded import EmbeddedBackend
from redargue.claims import FEVER, Claim, LabelSet, Meaning
from redargue.errors import RecordError, UsageError
from redargue.events import CallFailed, CallFinished, Event
from redargue.evidence import Passage
from redargue.methods.base import configure, methods
from redargue.run import Run
from redargue.texts.extract import EXTRACTOR, Extraction, extract, extraction_tasks, recorded
from redargue.texts.nearest import nearest_sentences
from redargue.texts.report import Report, report
from redargue.texts.text import Kind, Text
from redargue.tools.frozen import FrozenEvidence
from redargue.verdicts import Usage, Verdict
from redargue.verifier import Listener, Verifier, cost_of

AT_ONCE = 16  # claims of a text in work at a time; the limiter says how many requests
GIVEN = "the documents that the text has to keep to"
BY_WORDS = "keywords"  # the tool that searches without vectors


class Prepared(NamedTuple):
    """A text taken apart: what a verifier of its claims is made from.

    Attributes:
        text: what is checked.
        extraction: its claims and where they stand.
        claims: the same, as a verifier takes them.
        spent: on the extraction.
        options: of the verifier, its record and claims included.
        calls: what the extraction asked, for the record; empty where it was done before.
    """

    text: Text
    extraction: Extraction
    claims: tuple[Claim, ...]
    spent: Usage
    options: dict[str, Any]
    calls: tuple[Event, ...]

    def verifier(self) -> Verifier:
        """The verifier of the claims; the extraction's calls stand in its record, after the last claim."""
        made = Verifier(**self.options)
        for event in self.calls if made.record else ():
            made.record.write(event.model_copy(update={"item": len(self.claims)}))  # type: ignore[union-attr]
        return made

    def report(self, verdicts: Sequence[Verdict]) -> Report:
        """What the verdicts, one a claim, make of the text."""
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
    *,
    documents: Sequence[Passage] | None = None,
    labels: LabelSet = FEVER,
    as_of: date | None = None,
    only_in_time: bool = False,
    folder: Path | None = None,
    **options: Any,
) -> Prepared:
    """Takes a text apart.

    Args:
        text: what is to be checked.
        documents: what the claims are read against, and nothing else; None to search as for single claims.
        labels: of each claim; the set has to say what supports and what refutes.
        as_of: the day as of which the claims are judged.
        only_in_time: leave out evidence that was not published by then.
        folder: of the run; a text that was taken apart there before is not taken apart again.
        options: of :class:`Verifier`; ``models`` may name a model for the ``extractor`` and its tasks, too.

    Raises:
        UsageError: the text, its kind and the rest do not go together.
        RecordError: the folder holds the run of something else.
        BadReply, BudgetReached, ProviderError: no claims could be had.
    """
    _fitting(text, labels, documents)
    options = options if documents is None else _alone(options)
    roles = {EXTRACTOR, *(task.name() for task in extraction_tasks(text))}
    models = dict(options.pop("models", None) or {})
    own = {role: models.pop(role) for role in [*models] if role in roles}
    method = configure(
        options.get("method", "tool-mad"), options.get("profile", "hardened"), options.get("settings") or {}
    )
    unread = {name: FrozenEvidence(()) for name in method.tools()}  # nothing is searched before there are claims
    with Verifier(**{**options, "evidence": unread, "actions": None}, models=models) as first:
        require(first.backend, f"the extraction of claims from a {text.kind}", extraction_tasks(text))
        extraction, spent, calls = await _taken_apart(text, first, folder, {**models, **own})
    given = {"labels": labels, "as_of": as_of, "only_in_time": only_in_time}
    claims = _claims(extraction, {**given, "context": text.context if text.kind == "dialogue" else ""})
    if documents is not None:
        options["evidence"] = await asyncio.to_thread(_evidence, method.tools(), text, claims, documents)
    about = {name: each for part in (text, extraction) for name, each in part.model_dump(mode="json").items()}
    shared = {"backend": first.backend, "transport": first.transport, "budget": first.budget}
    own_run = {
        "folder": folder,
        "claims": claims,
        "text": {**about, "models": own, "usage": spent.model_dump(mode="json")},
    }
    whole = {**options, **shared, **own_run, "models": models, "model": "", "prompts": None}
    return Prepared(text, extraction, claims, spent, whole, calls)


async def _taken_apart(
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


def _fitting(text: Text, labels: LabelSet, documents: Sequence[Passage] | None) -> None:
    if not {Meaning.SUPPORTED, Meaning.REFUTED} <= {label.meaning for label in labels.labels}:
        raise UsageError(
            f"the labels {labels.name!r} do not say whether a claim is supported or refuted",
            hint="claims of a text need labels that do, like fever or two",
        )
    if documents is None and text.kind == "summary":
        raise UsageError("a summary is checked against its document", hint="redargue ground --context FILE")
    if documents is not None and not any(each.text.strip() for each in documents):
        raise UsageError("there is no document to check the text against", hint="give one: --context FILE")


def _alone(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a verifier whose evidence is the given documents alone: no evidence of other claims, no servers.

    Raises:
        UsageError: something else is to be read, too.
    """
    settings = dict(options.get("settings") or {})
    if options.get("actions") or options.get("memory") or settings.get("memory", "off") != "off":
        raise UsageError(
            "the text has to keep to the given documents: no tools of servers and no memory are read beside them",
            hint="leave them out, or check the text without documents",
        )
    if "memory" in methods[options.get("method", "tool-mad")].settings_class.model_fields:
        settings["memory"] = "off"
    return {**options, "settings": settings}


def _claims(extraction: Extraction, given: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims as a verifier takes them.

    Raises:
        UsageError: one of them is none; says where it stands.
    """
    claims = []
    for each in extraction.claims:
        try:
            claims.append(Claim(text=each.claim, **given))
        except ValidationError as error:
            first = error.errors()[0]
            raise UsageError(
                f"{'.'.join(map(str, first['loc'])) or 'the claim'}: {first['msg']}",
                where=f"the claim at characters {each.start} to {each.end}",
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
) -> dict[str, FrozenEvidence]:
    """The given documents in the place of every tool; what was said before is evidence, too (Sun et al. 2024)."""
    encoder = EmbeddedBackend().embedder
    if text.kind == "summary":
        nearest = nearest_sentences([claim.text for claim in claims], documents, encoder)
        return {name: FrozenEvidence(nearest, name=name, whole=True, about=GIVEN) for name in names}
    before = [Passage(text=text.context, document="context")] if text.kind == "dialogue" and text.context else []
    every = [(*documents, *before)] * len(claims)
    return {
        name: FrozenEvidence(every, name=name, about=GIVEN, encoder=None if name == BY_WORDS else encoder)
        for name in names
    }


async def verify_text(
    text: str | Text,
    *,
    kind: Kind = "text",
    context: str = "",
    at_once: int = AT_ONCE,
    listeners: Sequence[Listener] = (),
    done: Callable[[int, Verdict], None] | None = None,
    **options: Any,
) -> Report:
    """Verifies a text claim by claim; a claim that fails does not stop the others.

    Args:
        text: what is checked.
        kind: ``text``, ``dialogue`` or ``qa``; see :class:`Text`.
        context: what it answers or follows.
        at_once: claims in work at a time.
        listeners: called with every event of every claim.
        done: called with each claim's place and verdict, as they come.
        options: of :func:`prepare` and :class:`Verifier`.

    Raises:
        RedargueError: no claims could be had, or nothing could be started.
    """
    prepared = await prepare(text_of(text, kind=kind, context=context), **options)
    with prepared.verifier() as verifier:
        verdicts = await verifier.verify_all(prepared.claims, at_once=at_once, listeners=listeners, done=done)
    return prepared.report(verdicts)


async def ground(answer: str | Text, *, contexts: Sequence[str | Passage], **options: Any) -> Report:
    """Verifies an answer against given documents and nothing else: no tool sends a request.

    Args:
        answer: what is checked.
        contexts: the documents, in full; a claim of a summary is read against the ten sentences nearest to it.
        options: of :func:`verify_text`; here ``kind`` may be ``summary``.

    Raises:
        RedargueError: as :func:`verify_text`.
    """
    documents = [
        each if isinstance(each, Passage) else Passage(text=each, document=f"context-{number}")
        for number, each in enumerate(contexts, 1)
    ]
    return await verify_text(answer, documents=documents, **options)
