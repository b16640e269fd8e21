"""Performs tasks without a language model: with an embedder, a cross-encoder and the claim's words.

An answer consists of a label, sentences quoted from the documents, and the claim. Nothing is generated, so nothing can
be made up.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
from collections.abc import Sequence
from functools import cache, cached_property, singledispatch
from threading import Lock
from typing import TYPE_CHECKING, Any

from redargue.backends import Call, Output, Reply, Stability, backends
from redargue.caveats import ClaimPart, Leaning, Noted
from redargue.claims import Claim, Frozen, Meaning
from redargue.errors import UnsupportedTask
from redargue.evidence import Passage, cited
from redargue.nli import claim_filter
from redargue.nli.aggregation import MIN_CONFIDENCE, WEIGHTS
from redargue.nli.careful import CarefulReader, CarefulWeights, careful_weights
from redargue.nli.consistency import check_consistency
from redargue.nli.grammar import word_set
from redargue.nli.loop_bridge import in_thread
from redargue.nli.questions import EndpointSpec
from redargue.nli.reader import SHOWN, Reader, Reading, SourcedSentence, sentences
from redargue.nli.session import WEIGHTS_FOLDER as BUNDLED
from redargue.nli.session import CrossEncoder, Embedder, EntailmentModel, shared, tally
from redargue.tasks.answer import Answer, AnswerClaim, Argument, LabelledTask
from redargue.tasks.base import AnyTask, Out, Task
from redargue.tasks.extract import (
    ExtractClaims,
    ExtractedClaim,
    ExtractedClaims,
    MarkOpinions,
    SentenceMark,
    SentenceMarks,
)
from redargue.tasks.judge import JudgeDebate
from redargue.tasks.query import OtherAnswer, Query, RewriteQuery, WriteQuery
from redargue.tasks.score import (
    CheckedStatement,
    CheckedStatements,
    CheckStatements,
    CompareTexts,
    Question,
    Questions,
    RateTexts,
    ReaderAnswer,
    ReadPassages,
    Similarities,
    Statements,
    WriteQuestion,
    WriteQuestions,
    WriteStatements,
)

if TYPE_CHECKING:
    from redargue.nli.user_reader import UserReader

LEANS = 0.6  # probability of a side from which an open claim leans: two in three are right, below hardly more than half
_QUOTES = 2  # at most, per answer
CONTEXT_SENTENCES = 4  # read as one text when a statement is checked


@backends.register("embedded")
class EmbeddedBackend:
    """The bundled sentence embedder and three-way cross-encoder.

    Args:
        threads: texts read concurrently; 0: one per core.
        reader: an added model (``redargue models``) that reads evidence instead of the bundled cross-encoder.
        careful: whether the large cross-encoder reads what the small one finds, where the package ``redargue-reader``
            is installed; an added reader reads alone.
        least: probability of a side, in [0, 1], below which a claim is left open, where it is lower than the reader's
            own for that kind of source.
    """

    name = "embedded"
    supports_attention_weights = False
    english_only = True
    stability = Stability(0.7, 0.5)  # chosen with ``python -m benchmarks thresholds`` (docs/models.md)

    def __init__(
        self,
        *,
        threads: int = 0,
        reader: UserReader | None = None,
        careful: bool = True,
        least: float | None = None,
    ) -> None:
        self._threads, self._user_reader = threads, reader
        self._careful = careful_weights() if careful and not reader else None
        own = max(dict(self._careful.least).values()) if self._careful else MIN_CONFIDENCE
        self._least = least if least is not None and least < own else None

    @cached_property
    def identity(self) -> str:
        manifest = json.loads((BUNDLED / "manifest.json").read_text(encoding="utf-8"))
        parts = [str(manifest["sha256"][name])[:12] for name in sorted(manifest["sha256"])]
        if self._user_reader:
            parts.append(f"reader {self._user_reader.sha256[:12]}")
        if self._careful:
            parts.append(f"careful {self._careful.sha256[:12]}")
        if self._least is not None:
            parts.append(f"decides from {self._least:g}")
        return "embedded:" + ",".join(parts)

    def can(self, task: type[AnyTask]) -> bool:
        return perform.dispatch(task) is not perform.dispatch(object)

    def render(self, task: AnyTask) -> str:
        return ""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Performs the task in a separate thread; raises UnsupportedTask if the claim's label set is free text.

        With a reader at an endpoint, the cost is that of its requests alone.
        """
        token_counts: list[int] = []

        def work() -> list[Frozen]:
            tally.set(token_counts)
            return [perform(task.model_copy(update={"sample": task.sample + i}), self) for i in range(call.sampling.n)]

        if self._user_reader and self._user_reader.at_endpoint:
            return _reply(await in_thread(work, call.account))
        context = contextvars.copy_context()
        async with call.account.request() as receipt:
            answers = await asyncio.get_running_loop().run_in_executor(None, context.run, work)
            receipt.pay(prompt_tokens=sum(token_counts))
        return _reply(answers)

    @property
    def paid_models(self) -> tuple[str, ...]:
        """The model of a reader at an endpoint, whose requests may cost money."""
        reader = self._user_reader
        return (reader.spec.model,) if reader and isinstance(reader.spec, EndpointSpec) else ()

    @property
    def uncalibrated(self) -> bool:
        """Whether the reader gives no probabilities, so that answers have no confidence."""
        return self._user_reader is not None and self._user_reader.uncalibrated

    @cached_property
    def embedder(self) -> Embedder:
        return shared(self._threads)

    @cached_property
    def reader(self) -> Reader:
        if self._careful:
            own = dict(self._careful.least)
            large = _cross_encoder(self._careful, self._threads)  # first, as it takes longest to load
            return CarefulReader(
                self.embedder,
                self.entailment,
                large,
                weights=self._careful.weights,
                least={kind: min(least, least if self._least is None else self._least) for kind, least in own.items()},
            )
        return Reader(
            self.embedder,
            self.entailment,
            weights=self._user_reader.weights if self._user_reader else WEIGHTS,
            least=MIN_CONFIDENCE if self._least is None else self._least,
        )

    @cached_property
    def entailment(self) -> EntailmentModel:
        return self._user_reader or _cross_encoder(None, self._threads)


def _reply(answers: Sequence[Frozen]) -> Reply[Any]:
    return Reply(tuple(Output(answer, text=getattr(answer, "text", "")) for answer in answers))


_loading = Lock()  # several threads may ask for the model first


def _cross_encoder(weights: CarefulWeights | None, threads: int) -> CrossEncoder:
    with _loading:
        return _loaded(weights, threads)


@cache
def _loaded(weights: CarefulWeights | None, threads: int) -> CrossEncoder:
    return weights.model(threads=threads) if weights else CrossEncoder(threads=threads)


@singledispatch
def perform(task: object, backend: EmbeddedBackend) -> Frozen:
    raise UnsupportedTask(f"the embedded backend does not perform {type(task).__name__}")


@perform.register
def _write_query(task: WriteQuery, backend: EmbeddedBackend) -> Query:
    return Query(text=task.claim.text[:300])


@perform.register
def _rewrite_query(task: RewriteQuery, backend: EmbeddedBackend) -> Query:
    """The words that the others' quotations leave open, with the names that these introduce."""
    uncovered, names = open_words(task.claim.text, *quotations_of(task.others))
    words = [*dict.fromkeys(names[:2]), *uncovered] if names else distinct_words(task.claim.text)
    text = " ".join(words)
    if not uncovered or distinct_words(text) == distinct_words(task.used):
        return Query(kept=True)
    return Query(text=text[:300])


@perform.register
def _answer(task: AnswerClaim, backend: EmbeddedBackend) -> Answer:
    """Reads its documents; if they leave the claim open, the sentences that the others quote."""
    answer = compose_answer(task.claim, task.passages, backend)
    undecided = answer.label == task.claim.labels.named(Meaning.NOT_ENOUGH)
    if undecided and not task.passages and task.others:
        answer = compose_answer(task.claim, _quoted(task.others), backend).model_copy(update={"quotes": ()})
    return _read_again(task, answer)


@perform.register
def _judge(task: JudgeDebate, backend: EmbeddedBackend) -> Answer:
    passages = tuple(passage for turn in task.history for passage in turn.passages)
    answers = tuple(OtherAnswer(agent=turn.agent, text=turn.answer.text) for turn in task.history)
    return _read_again(task, compose_answer(task.claim, passages or _quoted(answers), backend))


def _quoted(answers: tuple[OtherAnswer, ...]) -> tuple[Passage, ...]:
    return tuple(Passage(text=text) for text in quotations_of(answers))


def _read_again(task: LabelledTask, answer: Answer) -> Answer:
    """The answer with the label that its text gives, if labels are not read from the last line."""
    label = answer.label if task.label_reading == "last_line" else task.label_of(answer.text)
    if label == answer.label:
        return answer
    return answer.model_copy(update={"label": label, "confidence": None})  # calibrated for the other label


CORRECT, INCORRECT = "The claim is correct: ", "The claim is incorrect: "
OPEN = "The documents do not settle the claim: "


def compose_answer(claim: Claim, passages: tuple[Passage, ...], backend: EmbeddedBackend) -> Answer:
    """Quotations, the conclusion, and the label on the last line."""
    labels = claim.labels
    if labels.free_text:
        raise UnsupportedTask(
            "the embedded backend does not give free-text answers", hint="choose a label set: --labels"
        )
    if labels.labels[0].meaning is Meaning.OPTION:
        return _choose(claim, passages, backend)
    answer = answer_from(backend.reader.read(claim.text, passages), claim)
    return answer.model_copy(update={"confidence": None}) if backend.uncalibrated else answer


def answer_from(reading: Reading, claim: Claim) -> Answer:
    """The answer that a reading gives; not for options and free text."""
    labels = claim.labels
    label = reading.label(labels)
    meaning = labels.meaning(label) if label else Meaning.NOT_ENOUGH
    opening = {Meaning.SUPPORTED: CORRECT, Meaning.REFUTED: INCORRECT}.get(meaning, OPEN)
    best = reading.best(meaning, _QUOTES if opening != OPEN else 1)
    last = (f"**{label}**",) if label else ()
    text = "\n".join([*map(cite, best), opening + " ".join(claim.text.split()), *last])
    confidence = reading.confidence(labels, label)
    quotes = quotes_of(reading.decisive(best, meaning))
    return Answer(text=text, label=label, quotes=quotes, confidence=confidence, **_noted(reading, meaning).noted)


def _noted(reading: Reading, meaning: Meaning) -> Noted:
    """Where a sentence contradicts the claim; what its parts are; the probabilities of the sides of an open claim."""
    if meaning is Meaning.SUPPORTED:
        return Noted()
    parts: tuple[ClaimPart, ...] = ()
    readings = (reading, *reading.parts)
    differences = next((each.contradiction.differences for each in readings if each.contradiction), ())
    if any(said in _OTHER for said in reading.said_of_parts):
        named = zip(reading.parts, reading.said_of_parts, strict=True)
        parts = tuple(ClaimPart(text=part.statement, meaning=said) for part, said in named)
    supports, refutes, _ = reading.probabilities()
    leans = meaning is Meaning.NOT_ENOUGH and max(supports, refutes) >= LEANS
    leaning = Leaning(supports=round(supports, 6), refutes=round(refutes, 6)) if leans else None
    return Noted(differences=differences, leaning=leaning, parts=parts)


def quotes_of(sentences: Sequence[SourcedSentence]) -> tuple[str, ...]:
    return tuple(sentence.quote for sentence in sentences)


def cite(sentence: SourcedSentence) -> str:
    return cited(sentence.quote, sentence.passage.title)


def _choose(claim: Claim, passages: tuple[Passage, ...], backend: EmbeddedBackend) -> Answer:
    """The option that the documents support most strongly, read as a statement after the question."""
    if not claim.options:
        raise UnsupportedTask("the claim has option labels but no options", hint="set the claim's options")
    readings = [backend.reader.read(f"{claim.text} {option}", passages) for option in claim.options]
    strengths = [reading.strongest(Meaning.SUPPORTED) for reading in readings]
    place = max(range(len(readings)), key=lambda i: strengths[i])
    if not strengths[place]:
        return Answer(text=OPEN + " ".join(claim.text.split()), label=None)
    best, label = readings[place].best(Meaning.SUPPORTED, 1), claim.labels.names[place]
    option = " ".join(claim.options[place].split())
    text = "\n".join([*map(cite, best), CORRECT + option, f"**{label}**"])
    return Answer(text=text, label=label, quotes=quotes_of(best))


@perform.register
def _write_statements(task: WriteStatements, backend: EmbeddedBackend) -> Statements:
    return Statements(statements=tuple(dict.fromkeys(_statements(task.answer))))


def _statements(answer: str) -> list[str]:
    out: list[str] = []
    for line in answer.splitlines():
        line = line.strip()
        if re.fullmatch(r"\*\*[^*]+\*\*", line):
            continue
        for opening, prefix in ((CORRECT, ""), (INCORRECT, NOT), (OPEN, UNSETTLED)):
            if line.startswith(opening):
                out.append(prefix + line.removeprefix(opening))
                break
        else:
            out += [part for text in (_quotations(line) or [line]) for part in sentences(text)]
    return out


NOT, UNSETTLED = "It is not the case that ", "It remains open whether "


@perform.register
def _check_statements(task: CheckStatements, backend: EmbeddedBackend) -> CheckedStatements:
    """Each statement against overlapping windows of the context."""
    read = task.context or "\n".join(passage.text for passage in task.passages)
    context, step = sentences(read), CONTEXT_SENTENCES // 2
    starts = range(0, max(1, len(context) - step), step) if context else ()
    windows = [" ".join(context[i : i + CONTEXT_SENTENCES]) for i in starts]
    titles = tuple(passage.title for passage in task.passages)
    checked = tuple(
        CheckedStatement(statement=statement, reason="a title", verdict=1)
        if statement in titles
        else _check(statement, windows, read, backend)
        for statement in task.statements
    )
    return CheckedStatements(statements=checked)


def _check(statement: str, windows: list[str], context: str, backend: EmbeddedBackend) -> CheckedStatement:
    if statement in context:
        return CheckedStatement(statement=statement, reason="part of the context", verdict=1)
    plain = statement.removeprefix(NOT).removeprefix(UNSETTLED)
    judgements = backend.entailment.read([(plain, window) for window in windows])
    compared = check_consistency(plain, sentences(context)).verdict
    if compared in ("supported", "contradicted"):
        support, refute = float(compared == "supported"), float(compared == "contradicted")
    else:
        support = max((judgement.supports for judgement in judgements), default=0.0)
        refute = max((judgement.refutes for judgement in judgements), default=0.0)
    if statement.startswith(NOT):
        holds = refute > max(support, 0.5)
    elif statement.startswith(UNSETTLED):
        holds = max(support, refute) <= 0.5
    else:
        holds = support > max(refute, 0.5)
    reason = f"support {support:.2f}, refutation {refute:.2f}"
    return CheckedStatement(statement=statement, reason=reason, verdict=int(holds))


@perform.register
def _write_question(task: WriteQuestion, backend: EmbeddedBackend) -> Question:
    """Asks whether one of the response's statements is true: its conclusion first, then its quotations."""
    statements = list(dict.fromkeys(_statements(task.response)))
    if not statements:
        return Question(question="", noncommittal=1)
    statement = [*statements[-1:], *statements[:-1]][task.sample % len(statements)]
    plain = statement.removeprefix(NOT).removeprefix(UNSETTLED).rstrip(" .")
    evasive = any(statement.startswith(UNSETTLED) for statement in statements)
    return Question(question=f"Is it true that {plain}?", noncommittal=int(evasive))


@perform.register
def _write_questions(task: WriteQuestions, backend: EmbeddedBackend) -> Questions:
    """The questions that three samples of :class:`WriteQuestion` would give."""
    written = [_write_question(WriteQuestion(response=task.response, sample=at), backend) for at in range(3)]
    texts = (question.question for question in written)
    return Questions(questions=tuple(filter(None, texts)), noncommittal=written[0].noncommittal)


@perform.register
def _compare(task: CompareTexts, backend: EmbeddedBackend) -> Similarities:
    vectors = backend.embedder.encode([task.reference, *task.texts])
    cosines = (float(vectors[0] @ vector) for vector in vectors[1:])
    return Similarities(values=tuple(round(max(-1.0, min(1.0, cosine)), 6) for cosine in cosines))


@perform.register
def _rate(task: RateTexts, backend: EmbeddedBackend) -> Similarities:
    scores = backend.entailment.relevance([(task.reference, text) for text in task.texts])
    return Similarities(values=tuple(round(score, 6) for score in scores))


@perform.register
def _extract(task: ExtractClaims, backend: EmbeddedBackend) -> ExtractedClaims:
    claims = enumerate(claim_filter.claims(task.sentences, task.before, task.context, backend.embedder), 1)
    return ExtractedClaims(claims=tuple(ExtractedClaim(sentence=at, claim=claim) for at, claim in claims if claim))


@perform.register
def _mark_opinions(task: MarkOpinions, backend: EmbeddedBackend) -> SentenceMarks:
    statements = claim_filter.statements(task.sentences, backend.embedder)
    marks = tuple(SentenceMark(sentence=at, subjective=int(text is None)) for at, text in enumerate(statements, 1))
    return SentenceMarks(marks=marks)


def _quotations(line: str) -> list[str]:
    """The quotations in a line; the whole line if it is a quotation with its source, as this backend writes them."""
    whole = re.fullmatch(r'(?:\[\d+\] )?"(.+)"(?: \([^"]*\))?', line.strip())
    return [whole.group(1)] if whole else re.findall(r'"([^"]+)"', line)


def quotations_of(answers: tuple[OtherAnswer, ...]) -> tuple[str, ...]:
    return tuple(text for answer in answers for line in answer.text.splitlines() for text in _quotations(line))


def distinct_words(text: str) -> list[str]:
    """The distinct content words of a text, in order."""
    content = (word for word in re.findall(r"[\w'-]+", text) if word.lower() not in _STOP_WORDS and len(word) > 1)
    return list(dict.fromkeys(content))


def open_words(claim: str, *evidence: str) -> tuple[list[str], list[str]]:
    """The claim's content words that no text of the evidence has, and the names that only the evidence has.

    A name is a run of capitalised words that does not begin a sentence.
    """
    covered = {word.lower() for text in evidence for word in distinct_words(text)}
    found = (name.strip() for text in evidence for name in re.findall(r"(?<=[a-z,] )((?:[A-Z][\w'-]+ ?)+)", text))
    names = [name for name in found if name.lower() not in claim.lower()]
    return [word for word in distinct_words(claim) if word.lower() not in covered], names


_STOP_WORDS = word_set(
    "a an and are as at be been being but by can could did do does for from had has have he her his in into is it"
    " its of on only or she such than that the their them there these they this those to was were which who whom"
    " whose will with would"
)


_OTHER = {Meaning.SUPPORTED: Meaning.REFUTED, Meaning.REFUTED: Meaning.SUPPORTED}


@perform.register
def _read_passages(task: ReadPassages, backend: EmbeddedBackend) -> ReaderAnswer:
    labels = task.claim.labels
    if labels.free_text or labels.labels[0].meaning is Meaning.OPTION:
        return ReaderAnswer(**dict(compose_answer(task.claim, task.passages, backend)))
    reading = backend.reader.read(task.claim.text, task.passages)
    answer = answer_from(reading, task.claim)
    probabilities = {name: reading.confidence(labels, name) for name in labels.names}
    known = {name: probability for name, probability in probabilities.items() if probability is not None}
    decided = labels.meaning(answer.label) if answer.label else Meaning.NOT_ENOUGH
    return ReaderAnswer(**dict(answer), opposing=_opposing(reading, decided), probabilities=known)


def _opposing(reading: Reading, decided: Meaning) -> tuple[str, ...]:
    """The strongest sentence of the other side; none for an open claim, or one that a sentence repeats or denies."""
    other = _OTHER.get(decided)
    if other is None or reading.copy or reading.contradiction or reading.strongest(other) <= SHOWN:
        return ()
    return quotes_of(reading.best(other, 1))


QUOTES = 2  # an argument gives at most


def write_argument(claim: str, meaning: Meaning, reading: Reading) -> Argument:
    """The best sentences for the claim (``Meaning.SUPPORTED``) or against it, and what follows from them."""
    best = reading.best(meaning, QUOTES) if reading.strongest(meaning) > SHOWN else ()
    opening = (CORRECT if meaning is Meaning.SUPPORTED else INCORRECT) if best else OPEN
    text = "\n".join([*map(cite, best), opening + " ".join(claim.split())])
    return Argument(text=text, quotes=quotes_of(best))
