"""Plays every role without a language model: retrieval, entailment and the claim's own words.

What it can say is limited on purpose: an answer is a label, sentences quoted from the documents, and the claim itself.
Nothing is generated, so nothing can be made up.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import re
from functools import cache, cached_property, singledispatch
from pathlib import Path
from typing import cast

from redargue.backends.base import Call, Output, Reply, Stability, backends
from redargue.claims import Claim, Frozen, Meaning
from redargue.errors import CannotPlay
from redargue.evidence import Passage
from redargue.evidence import cited as on_one_line
from redargue.nli import claim_filter as checkable
from redargue.nli.embedder import Embedder, shared
from redargue.nli.entailment import CrossEncoder
from redargue.nli.reader import Cited, Reader, Reading, sentences
from redargue.nli.session import WEIGHTS, tally
from redargue.nli.user_nli import Entailer
from redargue.nli.user_reranker import Rater
from redargue.tasks.answer import Answer, AnswerClaim, LabelledTask
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
    RateTexts,
    Similarities,
    Statements,
    WriteQuestion,
    WriteStatements,
)

QUOTES = 2  # an answer gives at most
CONTEXT_SENTENCES = 4  # read together when a statement is checked: wider than an answer reads


@backends.register("embedded")
class EmbeddedBackend:
    """A sentence embedder and a three-way cross-encoder, both in the package.

    Args:
        threads: texts read at once; 0 for one a core.
        publishers_once: passages of one publisher (or site, or document) count as one voice, however many there are;
            off, every passage counts (``python -m benchmarks poison`` shows what that does).
    """

    name = "embedded"
    weighs = False
    stability = Stability(0.7, 0.5)  # chosen with ``python -m benchmarks thresholds`` (docs/models.md)

    def __init__(self, *, threads: int = 0, publishers_once: bool = True) -> None:
        self._threads, self._publishers_once = threads, publishers_once

    @cached_property
    def identity(self) -> str:
        """The backend, the hashes of its weights, and how it counts voices where that is not the default."""
        manifest = json.loads((WEIGHTS / "manifest.json").read_text(encoding="utf-8"))
        parts = [str(manifest["sha256"][name])[:12] for name in sorted(manifest["sha256"])]
        parts += [each.sha256[:12] for each in (self.rater, self.entailer) if each]
        return "embedded:" + ",".join([*parts, *([] if self._publishers_once else ["every passage a voice"])])

    def can(self, task: type[AnyTask]) -> bool:
        """Whether some role is played for that type or one of its bases."""
        return play.dispatch(task) is not play.dispatch(object)

    def render(self, task: AnyTask) -> str:
        """Empty: no prompt is sent."""
        return ""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        """Plays the role, in a thread of its own.

        Raises:
            CannotPlay: the claim's label set is free text.
        """
        counted: list[int] = []

        def work() -> list[Frozen]:
            tally.set(counted)
            return [play(task.model_copy(update={"sample": task.sample + i}), self) for i in range(call.sampling.n)]

        context = contextvars.copy_context()
        async with call.account.request() as receipt:
            answers = await asyncio.get_running_loop().run_in_executor(None, context.run, work)
            receipt.pay(prompt_tokens=sum(counted))
        return Reply(tuple(Output(cast(Out, each), text=getattr(each, "text", "")) for each in answers))

    @cached_property
    def embedder(self) -> Embedder:
        """The sentence embedder."""
        return shared(self._threads)

    @cached_property
    def reader(self) -> Reader:
        """Reads passages with both models."""
        return Reader(self.embedder, self.entailment, publishers_once=self._publishers_once)

    @cached_property
    def rater(self) -> Rater | None:
        """A cross-encoder of the user's own, from the folder that ``REDARGUE_CROSS_ENCODER`` names."""
        folder = os.environ.get("REDARGUE_CROSS_ENCODER")
        return Rater(Path(folder), threads=self._threads) if folder else None

    @cached_property
    def entailer(self) -> Entailer | None:
        """Likewise an entailment model, by ``REDARGUE_ENTAILMENT``."""
        folder = os.environ.get("REDARGUE_ENTAILMENT")
        return Entailer(Path(folder), threads=self._threads) if folder else None

    @cached_property
    def entailment(self) -> CrossEncoder:
        """The cross-encoder."""
        return _entailment(self._threads)


@cache
def _entailment(threads: int) -> CrossEncoder:
    """One copy of the weights a process, however many backends there are."""
    return CrossEncoder(threads=threads)


@singledispatch
def play(task: object, mind: EmbeddedBackend) -> Frozen:
    """Performs one task; a role is a function registered for its task's type."""
    raise CannotPlay(f"the embedded backend does not perform {type(task).__name__}")


@play.register
def _write_query(task: WriteQuery, mind: EmbeddedBackend) -> Query:
    """The claim's own words find what bears on the claim."""
    return Query(text=task.claim.text[:300])


@play.register
def _rewrite_query(task: RewriteQuery, mind: EmbeddedBackend) -> Query:
    """What the others' quotations leave open, asked of the names they bring in."""
    said = " ".join(each.text for each in task.others)
    claim = words(task.claim.text)
    covered = {word.lower() for text in quoted(task.others) for word in words(text)}
    uncovered = [word for word in claim if word.lower() not in covered]
    names = [
        name for text in quoted(task.others) for name in names_in(text) if name.lower() not in task.claim.text.lower()
    ]
    if not covered or not said:
        return _changed(" ".join(claim), task.used)
    if not uncovered:
        return Query(kept=True)
    return _changed(" ".join([*dict.fromkeys(names[:2]), *uncovered]) if names else " ".join(claim), task.used)


def _changed(text: str, used: str) -> Query:
    return Query(kept=True) if not text or words(text) == words(used) else Query(text=text[:300])


@play.register
def _answer(task: AnswerClaim, mind: EmbeddedBackend) -> Answer:
    """Reads its own documents; where they leave the claim open, the sentences that the others quote."""
    reading = mind.reader.read(task.claim.text, task.passages)
    answer = say(task.claim, reading, task.passages, mind)
    undecided = answer.label == task.claim.labels.named(Meaning.NOT_ENOUGH)
    if undecided and not task.passages and task.others:
        heard = tuple(Passage(text=text) for text in quoted(task.others))
        answer = say(task.claim, mind.reader.read(task.claim.text, heard), heard, mind).model_copy(
            update={"quotes": ()}
        )
    return _read_again(task, answer)


@play.register
def _judge(task: JudgeDebate, mind: EmbeddedBackend) -> Answer:
    """Reads every document of the debate again, all together."""
    passages = tuple(passage for turn in task.history for passage in turn.passages)
    passages = passages or tuple(
        Passage(text=text)
        for turn in task.history
        for text in quoted((OtherAnswer(agent=turn.agent, text=turn.answer.text),))
    )
    return _read_again(task, say(task.claim, mind.reader.read(task.claim.text, passages), passages, mind))


def _read_again(task: LabelledTask, answer: Answer) -> Answer:
    """The answer with the label that its own text gives, where labels are read in another way."""
    label = answer.label if task.label_reading == "last_line" else task.label_of(answer.text)
    if label == answer.label:
        return answer
    return answer.model_copy(update={"label": label, "confidence": None})  # what was calibrated is the other label


CORRECT, INCORRECT, OPEN = (
    "The claim is correct: ",
    "The claim is incorrect: ",
    "The documents do not settle the claim: ",
)


def say(claim: Claim, reading: Reading, passages: tuple[Passage, ...], mind: EmbeddedBackend) -> Answer:
    """A label with its reasons: quotations, what they mean for the claim, and the label on the last line."""
    labels = claim.labels
    if labels.free_text:
        raise CannotPlay("the embedded backend gives no free-text answers", hint="choose a label set: --labels")
    if labels.labels[0].meaning is Meaning.OPTION:
        return _choose(claim, passages, mind)
    label = reading.label(labels)
    meaning = labels.meaning(label) if label else Meaning.NOT_ENOUGH
    opening = {Meaning.SUPPORTED: CORRECT, Meaning.REFUTED: INCORRECT}.get(meaning, OPEN)
    best = reading.best(meaning, QUOTES if opening != OPEN else 1)
    last = (f"**{label}**",) if label else ()
    text = "\n".join([*map(cite, best), opening + " ".join(claim.text.split()), *last])
    confidence = reading.confidence(labels, label)
    return Answer(text=text, label=label, quotes=tuple(each.quote for each in best), confidence=confidence)


def cite(sentence: Cited) -> str:
    """A quotation and its source on one line."""
    return on_one_line(sentence.quote, sentence.passage.title)


def _choose(claim: Claim, passages: tuple[Passage, ...], mind: EmbeddedBackend) -> Answer:
    """The option that the documents bear out best, read as a statement after the question."""
    if not claim.options:
        raise CannotPlay("the claim has option labels and no options", hint="give the options' texts")
    readings = [mind.reader.read(f"{claim.text} {option}", passages) for option in claim.options]
    strengths = [reading.strongest(Meaning.SUPPORTED) for reading in readings]
    place = max(range(len(readings)), key=lambda i: strengths[i])
    if not strengths[place]:
        return Answer(text=OPEN + " ".join(claim.text.split()), label=None)
    best, label = readings[place].best(Meaning.SUPPORTED, 1), claim.labels.names[place]
    option = " ".join(claim.options[place].split())
    text = "\n".join([*map(cite, best), CORRECT + option, f"**{label}**"])
    return Answer(text=text, label=label, quotes=tuple(each.quote for each in best))


@play.register
def _write_statements(task: WriteStatements, mind: EmbeddedBackend) -> Statements:
    """The answer's sentences without marks and label; its conclusion as a statement about the claim."""
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


@play.register
def _check_statements(task: CheckStatements, mind: EmbeddedBackend) -> CheckedStatements:
    """Each statement against the whole context, read in runs of sentences wider than an answer's."""
    found = sentences(task.context)
    step = CONTEXT_SENTENCES // 2
    runs = (
        [" ".join(found[i : i + CONTEXT_SENTENCES]) for i in range(0, max(1, len(found) - step), step)] if found else []
    )
    return CheckedStatements(statements=tuple(_check(each, runs, task.context, mind) for each in task.statements))


def _check(statement: str, runs: list[str], context: str, mind: EmbeddedBackend) -> CheckedStatement:
    if statement in context:
        return CheckedStatement(statement=statement, reason="stands in the context", verdict=1)
    plain = statement.removeprefix(NOT).removeprefix(UNSETTLED)
    judged = mind.entailment.read([(plain, run) for run in runs])
    support = max((each.supports for each in judged), default=0.0)
    refute = max((each.refutes for each in judged), default=0.0)
    if statement.startswith(NOT):
        holds = refute > max(support, 0.5)
    elif statement.startswith(UNSETTLED):
        holds = max(support, refute) <= 0.5
    else:
        holds = support > max(refute, 0.5)
    return CheckedStatement(
        statement=statement, reason=f"support {support:.2f}, refutation {refute:.2f}", verdict=int(holds)
    )


@play.register
def _write_question(task: WriteQuestion, mind: EmbeddedBackend) -> Question:
    """Asks whether one of the response's statements is true: its conclusion first, then what it quotes."""
    found = list(dict.fromkeys(_statements(task.response)))
    if not found:
        return Question(question="", noncommittal=1)
    statement = [*found[-1:], *found[:-1]][task.sample % len(found)]
    plain = statement.removeprefix(NOT).removeprefix(UNSETTLED).rstrip(" .")
    evasive = any(each.startswith(UNSETTLED) for each in found)
    return Question(question=f"Is it true that {plain}?", noncommittal=int(evasive))


@play.register
def _compare(task: CompareTexts, mind: EmbeddedBackend) -> Similarities:
    """Cosines of sentence vectors."""
    vectors = mind.embedder.encode([task.reference, *task.texts])
    cosines = (float(vectors[0] @ each) for each in vectors[1:])
    return Similarities(values=tuple(round(max(-1.0, min(1.0, each)), 6) for each in cosines))


@play.register
def _rate(task: RateTexts, mind: EmbeddedBackend) -> Similarities:
    """By the cross-encoder that ``REDARGUE_CROSS_ENCODER`` names, else by the package's own relevance."""
    if mind.rater is not None:
        return Similarities(values=tuple(round(each, 6) for each in mind.rater.rate(task.reference, task.texts)))
    relevant = mind.entailment.relevance([(task.reference, text) for text in task.texts])
    return Similarities(values=tuple(round(each, 6) for each in relevant))


@play.register
def _extract(task: ExtractClaims, mind: EmbeddedBackend) -> ExtractedClaims:
    """The sentences themselves, those that state nothing left out."""
    found = enumerate(checkable.claims(task.sentences, task.before, task.context), 1)
    return ExtractedClaims(claims=tuple(ExtractedClaim(sentence=at, claim=each) for at, each in found if each))


@play.register
def _mark_opinions(task: MarkOpinions, mind: EmbeddedBackend) -> SentenceMarks:
    """By how a sentence is put."""
    marked = ((at, int(checkable.statement(each) is None)) for at, each in enumerate(task.sentences, 1))
    return SentenceMarks(marks=tuple(SentenceMark(sentence=at, subjective=mark) for at, mark in marked))


def _quotations(line: str) -> list[str]:
    """What a line quotes: the whole of it where it is one quotation with its source, as this backend writes them."""
    whole = re.fullmatch(r'"(.+)"(?: \([^"]*\))?', line.strip())
    return [whole.group(1)] if whole else re.findall(r'"([^"]+)"', line)


def quoted(answers: tuple[OtherAnswer, ...]) -> tuple[str, ...]:
    """What answers quote, sentence by sentence; nothing of what they conclude."""
    return tuple(text for each in answers for line in each.text.splitlines() for text in _quotations(line))


def words(text: str) -> list[str]:
    """The words of a text that carry content, once each, in order."""
    return list(
        dict.fromkeys(word for word in re.findall(r"[\w'-]+", text) if word.lower() not in _EMPTY and len(word) > 1)
    )


def names_in(text: str) -> list[str]:
    """Runs of capitalised words that do not merely begin a sentence."""
    return [name.strip() for name in re.findall(r"(?<=[a-z,] )((?:[A-Z][\w'-]+ ?)+)", text)]


_EMPTY = frozenset(
    (
        "a an and are as at be been being but by can could did do does for from had has have he her his in into is it"
        " its of on only or she such than that the their them there these they this those to was were which who whom"
        " whose will with would"
    ).split()
)
