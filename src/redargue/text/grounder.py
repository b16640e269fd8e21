"""Checks many answers against the same documents, which stay cut and encoded between them.

An answer can also be checked while it is being written: every sentence once it is complete, however the chunks cut it.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Unpack

from redargue.assembly import RunOptions, for_answers, method_of, read_options
from redargue.claims import Claim, readable
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.files import Closable
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.language import language_of
from redargue.nli.session import Embedder
from redargue.sanitize import counted
from redargue.spec import RunSpec
from redargue.tasks.extract import ExtractClaims, MarkOpinions
from redargue.text import CheckedClaim, Report, build_report
from redargue.text.extract import EXTRACTOR, extract, extract_claims
from redargue.text.segment import MAX_LENGTH, Kind, Sentence, Text, UncheckedSentence, sentences_of, text_of
from redargue.text.verification import (
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
from redargue.verifier import TEXT_CONCURRENCY, Listener, Verifier, require_concurrency


class Grounder(Closable):
    """Documents to check answers against, as :func:`redargue.ground` does; a context manager.

    The documents are split and encoded once. Nothing is recorded; a budget is shared by all answers.

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
        answers = for_answers(spec, parts)
        # Claims that are not of an answer are read alone, unless what is set is the answers' method's.
        self._spec, self._parts = closed(answers if spec.settings or spec.models else spec, parts), parts
        extracting = {EXTRACTOR, ExtractClaims.name(), MarkOpinions.name()}
        self._models = spec.models  # those of the extraction too
        models = {role: model for role, model in spec.models.items() if role not in extracting}
        evidence = shared_evidence(self._spec, self.documents)
        self._verifier = Verifier(self._spec.updated(models=models), parts=replace(parts, evidence=evidence))
        backend = self._verifier.backend
        self._method = method_of(answers)  # of answers
        self._embedder: Embedder | None = None
        self._held: tuple[str, ...] = ()
        if isinstance(backend, EmbeddedBackend):
            self._embedder, read = backend.embedder, backend.reader.encoded_texts
            texts = [text for tool in evidence.values() for text in tool.encoded_texts]
            texts += [text for document in self.documents for text in read(document)]
            self._held = tuple(dict.fromkeys(texts))
            self._embedder.hold(self._held)

    def __repr__(self) -> str:
        return f"<Grounder {counted(len(self.documents), 'document')}, {self._method.name}>"

    async def ground(
        self,
        answer: str | Text,
        *,
        kind: Kind = "text",
        context: str = "",
        concurrency: int | None = None,
        listeners: Sequence[Listener] = (),
        done: Callable[[int, Verdict], None] | None = None,
    ) -> Report:
        """The report on an answer; arguments as for :func:`redargue.ground`.

        Raises:
            UsageError: the answer cannot be checked.
            BadReply, BudgetReached, ProviderError: the extraction of its claims failed.
        """
        require_concurrency(concurrency)
        if outcome := without_check(answer, self.documents, kind=kind, context=context):
            return outcome
        text, verifier = text_of(answer, kind=kind, context=context), self._verifier
        # whose evidence differs by answer or claim, or whose claims are read together
        if text.kind in ("dialogue", "summary") or self._method.kind.reads_ahead:
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
            claims, most = claims_of(extraction.claims, self._spec), concurrency or verifier.text_concurrency
            verdicts = await verifier.verify_all(claims, concurrency=most, listeners=listeners, done=done)
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
        """Releases the memory of the encoded documents."""
        if self._embedder and self._held:
            self._embedder.release(self._held)
        self._held = ()
        self._verifier.close()


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
        verdicts = await verifier.verify_all(claims_of(found, spec), concurrency=verifier.text_concurrency)
    return tuple(_checked(last, verdict) for verdict in verdicts)


def _checked(sentence: Sentence, verdict: Verdict) -> CheckedClaim:
    return CheckedClaim(start=sentence.start, end=sentence.end, stated=sentence.text, verdict=verdict)


async def warm_up() -> None:
    """Loads the models and word lists that the first answer would wait for; takes a second."""
    await asyncio.to_thread(language_of, "Una breve frase en otro idioma para cargar el modelo.")
    await ground("It does not load its two models.", contexts=["It loads its models."], method="single-reader")


LOOK_BACK = 1_000  # characters of a paragraph that are split again with every sentence
REREAD = 4  # sentences, where a paragraph is longer
BEFORE = 8  # sentences before one that say what its pronouns mean

# A sentence is complete when two whole words or a blank line follow it: what follows "Dr." or "3." may belong to it.
_FOLLOWED = re.compile(r"[^\S\n]*\n[ \t\r]*\n|\s+\S+\s+\S+\s")
# A few marks may be between; a row of a thousand, as a model that repeats itself writes it, is not read from each.
_MAY_BE_COMPLETE = re.compile(r"[.!?…][^\w\s]{0,8}+\s+\S+\s+\S+\s|\n")


Chunks = AsyncIterable[str | bytes] | Iterable[str | bytes]
_Check = asyncio.Task[tuple[CheckedClaim, ...]]


class Segmenter:
    """Splits a text that arrives in chunks into the sentences that the whole text has.

    Attributes:
        text: what has arrived, with offsets in characters.
        sentences: the complete ones.
    """

    def __init__(self) -> None:
        self.text = ""
        self.sentences: list[Sentence] = []
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._next = 0  # length of the text from which it is worth splitting again
        self._half = ""  # the first half of a character in UTF-16

    def add(self, chunk: str | bytes) -> list[Sentence]:
        """The sentences that this chunk completes.

        Raises UsageError for what is not UTF-8, control characters, and too long a text.
        """
        where = f"after character {len(self.text)}"
        try:
            decoded = self._decoded(chunk)
            readable(decoded)
        except UnicodeDecodeError as error:
            raise UsageError(f"{error.object[error.start : error.start + 4]!r} is not UTF-8", where=where) from None
        except ValueError as error:
            raise UsageError(f"the text cannot be read: {error}", where=where, hint="remove it") from None
        before = self.text[-2:]
        self.text += decoded
        if len(self.text) > MAX_LENGTH:
            raise UsageError(f"the text has more than {MAX_LENGTH:,} characters", hint="split it into parts")
        start = max(self._checked, len(self.text) - len(decoded) - LOOK_BACK)
        if before == "\n\n" and not decoded.strip("\n"):
            return []  # a blank line more completes nothing
        if len(self.text) < self._next or not _MAY_BE_COMPLETE.search(self.text, start):
            return []
        new, waiting = self._new(ended=False), len(self.text) - self._checked
        self._next = len(self.text) + (0 if new or waiting < LOOK_BACK else waiting // 8)
        return new

    def end(self) -> list[Sentence]:
        """The remaining sentences; raises UsageError where the text ends within a character."""
        if self._half or self._decode.getstate()[0]:
            raise UsageError("the text ends within a character", hint="pass all bytes of the stream")
        return self._new(ended=True)

    @property
    def _checked(self) -> int:
        return self.sentences[-1].end if self.sentences else 0

    def _decoded(self, chunk: str | bytes) -> str:
        if isinstance(chunk, bytes | bytearray):
            return self._decode.decode(chunk)
        if not isinstance(chunk, str):
            hint = "pass text or bytes; of a chunk without text, an empty string"
            raise UsageError(f"a chunk of the text is neither text nor bytes: {chunk!r:.60}", hint=hint)
        text, self._half = self._half + chunk, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return re.sub(r"[\ud800-\udbff][\udc00-\udfff]", _joined, text)

    def _new(self, *, ended: bool) -> list[Sentence]:
        start = self._start_of_reading()
        new = []
        for sentence in sentences_of(self.text[start:]):
            found = self._unseen(start + sentence.start, start + sentence.end)
            if not found:
                continue
            if not (ended or _FOLLOWED.match(self.text, found.end)):
                break
            new.append(found)
        self.sentences += new
        return new

    def _unseen(self, start: int, end: int) -> Sentence | None:
        """What of a span is after the complete sentences: a mark that ends later may join one with what follows it."""
        rest = self.text[max(start, self._checked) : end]
        start = end - len(rest.lstrip())
        text = self.text[start:end]
        return Sentence(start=start, end=end, text=text) if re.search(r"\w", text) else None

    def _start_of_reading(self) -> int:
        """Where the splitting begins again: what is before does not change the sentences after those that are complete.

        Sentences do not cross a blank line. Of a long paragraph, only the last complete sentences are split again:
        otherwise the time would grow with the square of its length.
        """
        blank = self.text.rfind("\n\n", 0, self._checked) + 1
        if self._checked - blank <= LOOK_BACK or len(self.sentences) < REREAD:
            return blank
        return max(blank, self.sentences[-REREAD].start)


def _joined(halves: re.Match[str]) -> str:
    return halves.group().encode("utf-16", "surrogatepass").decode("utf-16")


async def check_stream(
    chunks: Chunks,
    contexts: Grounder | str | Passage | Sequence[str | Passage],
    *,
    spec: RunSpec | None = None,
    **options: Unpack[RunOptions],
) -> AsyncGenerator[CheckedClaim, None]:
    """Verdicts on a text while it is being written, in the order of the text.

    A sentence is judged once it is complete: not at an abbreviation, a decimal point, or the end of a chunk. A sentence
    that states nothing that can be checked has no verdict; one that could not be read has one with ``unchecked``.

    Args:
        chunks: of the text, as a model writes them: strings, or bytes in UTF-8, cut anywhere.
        contexts: the documents to check against, or a :class:`Grounder`, which stays open.
        spec: configuration of the runs.
        options: as for :func:`redargue.verify`.

    Yields:
        Each claim with its verdict; ``start`` and ``end`` are offsets in the whole text, in characters from 0.

    Raises:
        UsageError: an option does not fit, or the text cannot be read.
        BadReply, BudgetReached, ProviderError: the extraction of claims failed.

    Example:
        >>> async for claim in redargue.check_stream(model.stream(question), contexts=documents):
        ...     print(claim.start, claim.end, claim.verdict.label)
    """
    if isinstance(contexts, Grounder):
        if spec is not None or options:
            raise UsageError("a Grounder has its options", hint="give them to Grounder(…) instead")
        opened: Grounder | nullcontext[Grounder] = nullcontext(contexts)
    else:
        opened = await asyncio.to_thread(Grounder, contexts, spec=spec, **options)  # it encodes the documents
    with opened as grounder:
        queue: asyncio.Queue[_Check | None] = asyncio.Queue(TEXT_CONCURRENCY)
        started: set[_Check] = set()  # the checks not yet awaited, and one that waits for a place in the queue
        reading = asyncio.create_task(_read(chunks, grounder, queue, started))
        try:
            while (check := await queue.get()) is not None:
                for claim in await check:
                    yield claim
                started.discard(check)
            await reading  # raises what ended it
        finally:
            reading.cancel()
            while not queue.empty():  # makes room for what `reading` puts last
                queue.get_nowait()
            await asyncio.gather(reading, return_exceptions=True)
            for check in started:
                check.cancel()
            await asyncio.gather(*started, return_exceptions=True)


async def _read(chunks: Chunks, grounder: Grounder, queue: asyncio.Queue[_Check | None], started: set[_Check]) -> None:
    """Starts a check for every complete sentence, in order; None ends the queue."""
    segmenter = Segmenter()

    async def start(new: Sequence[Sentence]) -> None:
        first = len(segmenter.sentences) - len(new)
        for number in range(first, len(segmenter.sentences)):
            sentences = segmenter.sentences[max(0, number - BEFORE) : number + 1]
            check = asyncio.create_task(grounder.check_sentence(sentences))
            started.add(check)
            await queue.put(check)

    try:
        if isinstance(chunks, AsyncIterable):
            async for chunk in chunks:
                await start(segmenter.add(chunk))
        else:
            for chunk in chunks:
                await start(segmenter.add(chunk))
        await start(segmenter.end())
    finally:
        await queue.put(None)
