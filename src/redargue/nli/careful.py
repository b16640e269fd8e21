"""Reads in two steps: small models rank the sentences, a large one reads the few that can decide.

The embedder finds the nearest sentences of each passage, and the small cross-encoder skims them. The large one then
reads the most promising sentence, alone and among its neighbours, promising ones elsewhere, and the best two of
different passages as one text. Where the neighbours lean to a side that no sentence shows, it reads further sentences
there, then two after the one before them. What it reads is quoted whole or not at all, and the neighbours never, so
that a verdict rests on what it shows. Of a claim that joins several facts, each is read like a claim of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from redargue.claims import Meaning
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.nli.aggregation import Weights, log_odds
from redargue.nli.alignment import parsed
from redargue.nli.binding import bind
from redargue.nli.claim_parts import claim_parts
from redargue.nli.facts import is_row
from redargue.nli.holders import BY_ORDER, Twin, claims_of_others, twin
from redargue.nli.reader import (
    CELL,
    SHOWN,
    Candidate,
    Reader,
    Reading,
    ScoredSpan,
    SourcedSentence,
    encoded_alone,
    joined_candidate,
    numbers_had,
    sentences,
    without_support,
)
from redargue.nli.session import CrossEncoder, Embedder, Entailment, EntailmentModel

PACKAGE, MANIFEST, GRAPH = "redargue_reader", "manifest.json", "reader.onnx"
_LONGEST = 192  # tokens of an input, as in training
PICKED = 3  # sentences that the large model may read alone
LONGEST_ABSTRACT = 5000  # characters that tell a text's kind
AS_MUCH = 0.25  # log odds of support by which a claim and that of another holder may differ
DENIED = 0.3  # probability of support up to which no text supports a claim whose holder the source names
SAID = 0.85  # probability of support from which a text says of another what only one can be
REFUTES = 0.7  # probability from which a text that says it in other words has to refute the claim by itself
IN_CONTEXT = 2  # of them, those that it may read after the sentence before
NEIGHBOURS = 700  # characters of a claim and the sentences around one: some 190 tokens of plain English
_PIECES = 180  # of words, seven characters each, and marks; figures and rare names take more tokens
SourceKind = Literal["documents", "abstracts", "web"]
_SIDES = (Meaning.SUPPORTED, Meaning.REFUTED)


class CarefulWeights(NamedTuple):
    """The large cross-encoder of an installed package.

    Attributes:
        sha256: of the file that computes, which names that of the weights.
        weights: of the aggregation, fitted to its readings.
        least: the probability of a side, in [0, 1], below which a claim is left open, for each kind of source.
    """

    folder: Path
    sha256: str
    weights: Weights
    least: tuple[tuple[SourceKind, float], ...]

    def model(self, *, threads: int = 0) -> CrossEncoder:
        return CrossEncoder(threads=threads, folder=self.folder, longest=_LONGEST, graph=GRAPH)


@cache
def careful_weights() -> CarefulWeights | None:
    """The large cross-encoder; None if the package ``redargue-reader`` is not installed."""
    found = find_spec(PACKAGE)
    return read_weights(Path(found.origin).parent) if found and found.origin else None


def read_weights(folder: Path) -> CarefulWeights:
    """The weights that a folder's manifest describes; raises UsageError if it does not."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        weights = Weights(*(tuple(map(float, manifest["aggregation"][side])) for side in Weights._fields))
        least = tuple((kind, float(manifest["least"][kind])) for kind in get_args(SourceKind))
        sha256 = str(manifest["sha256"][GRAPH])
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "reinstall redargue-reader, in the same version as redargue"
        raise UsageError(f"{str(path)!r} cannot be read: {error!r}", hint=hint) from None
    if {len(row) for row in weights} != {len(Weights().supports) + len(_SIDES)}:
        hint = "install redargue-reader in the same version as redargue"
        raise UsageError(f"{str(path)!r} has the weights of another release", hint=hint)
    return CarefulWeights(folder, sha256, weights, least)


class CarefulReader(Reader):
    """Reads passages in two steps.

    Args:
        entailment: the small cross-encoder, which ranks sentences.
        careful: the large one, whose judgements count.
        least: as in :class:`CarefulWeights`.
        options: the others of :class:`Reader`.
    """

    def __init__(
        self,
        embedder: Embedder,
        entailment: EntailmentModel,
        careful: EntailmentModel,
        *,
        least: Mapping[SourceKind, float],
        **options: Any,
    ) -> None:
        super().__init__(embedder, entailment, **options)
        self._careful, self._leasts = careful, least

    def read(self, claim: str, passages: Sequence[Passage]) -> Reading:
        """The reading; of a claim that joins several facts, its parts are read as well."""
        reading, parts = super().read(claim, passages), claim_parts(claim)
        return replace(reading, read_parts=partial(self._parts, parts.texts, passages), complete=parts.complete)

    def _parts(self, texts: Sequence[str], passages: Sequence[Passage]) -> tuple[Reading, ...]:
        return tuple(super(CarefulReader, self).read(text, passages) for text in texts)

    def encoded_texts(self, passage: Passage) -> tuple[str, ...]:
        return encoded_alone(passage)

    def least_for(self, passages: Sequence[Passage]) -> float:
        return self._leasts[source_kind(passages)]

    def _spans(self, claim: str, candidates: Sequence[Candidate]) -> tuple[ScoredSpan, ...]:
        alone = [each for each in candidates if each.kind == "sentence" and not each.before]
        if not alone:
            return ()
        skimmed = self._judged(claim, alone, self._nearness(claim, [each.text for each in alone]), self._entailment)
        promise = [_promise(span) + numbers_had(claim, span.cited[0].quote) for span in skimmed]
        order = [alone[at] for at in sorted(range(len(alone)), key=lambda at: -promise[at])]
        window, joined = _among_neighbours(claim, order[0]), joined_candidate(order)
        beside = [each for each in order[1:PICKED] if _is_within(window, each)]
        texts = [*(each for each in order[:PICKED] if each not in beside), *([joined] if joined else [])]
        if window.text != order[0].text:
            texts.append(window)
        spans = self._read(claim, texts)
        contexts = [text for one in order[:IN_CONTEXT] if (text := _in_context(one, candidates))]
        for more in (beside, contexts):
            if _leans_unshown(spans):
                texts += more
                spans += self._read(claim, more)
        of_others = self._of_sole_holders(claim, texts, spans)
        spans += [replace(span, kind="skimmed") for span in skimmed]
        return tuple(_refuting(span, of_others) for span in spans)

    def _read(self, claim: str, texts: Sequence[Candidate]) -> list[ScoredSpan]:
        """What the large model says about texts."""
        read = self._judged(claim, texts, self._nearness(claim, [each.text for each in texts]), self._careful)
        return self._without_twins(claim, texts, [replace(span, careful=True) for span in read])

    def _without_twins(self, claim: str, texts: Sequence[Candidate], spans: list[ScoredSpan]) -> list[ScoredSpan]:
        """The spans, without support that the text gives to the claim of another holder as well.

        A text that only names another holder lends its claim some support, too; there it has to be as much.
        """
        rivals: dict[int, tuple[Twin, str]] = {}
        for at, (each, span) in enumerate(zip(texts, spans, strict=True)):
            if span.judgement.supports > SHOWN:
                quotes = " ".join(sentence.quote for sentence in each.cited)
                own, text = parsed(claim), parsed(each.text if each.kind == "window" else quotes)
                if BY_ORDER.search(text.text) and bind(own, text).finding != "bound":
                    spans[at] = replace(span, judgement=without_support(span.judgement))
                elif other := twin(own, text):
                    rivals[at] = (other, each.text)
        judgements = self._careful.read([(rival.claim, text) for rival, text in rivals.values()])
        for (at, (rival, _)), of_rival in zip(rivals.items(), judgements, strict=True):
            mine = spans[at].judgement
            as_much = log_odds(mine.supports) - log_odds(of_rival.supports) < AS_MUCH
            if of_rival.supports > SHOWN and (rival.opposed or as_much):
                spans[at] = replace(spans[at], judgement=without_support(mine))
        return spans

    def _of_sole_holders(
        self, claim: str, texts: Sequence[Candidate], spans: Sequence[ScoredSpan]
    ) -> dict[SourcedSentence, Entailment]:
        """The sentences that refute the claim because they say of another what only one can be or have done."""
        refuting: dict[SourcedSentence, Entailment] = {}
        most = max((span.judgement.supports for span in spans), default=0.0)
        for each, span in zip(texts, spans, strict=True):
            if each.kind != "sentence" or most > SHOWN:
                continue
            (sentence,) = each.cited
            passage = sentence.passage
            for other in claims_of_others(claim, sentence.quote, f"{passage.title}\n{passage.text}"):
                if (not other.verbatim and span.judgement.refutes < REFUTES) or (other.named and most > DENIED):
                    continue
                (read,) = self._judged(other.claim, [each], [span.nearness], self._careful)
                if read.judgement.supports > SAID:
                    sure = max(read.judgement.supports, span.judgement.refutes)
                    refuting[sentence] = Entailment(0.0, sure, 1 - sure)
        return refuting


def source_kind(passages: Sequence[Passage]) -> SourceKind:
    """What most passages are: documents, or what says less plainly what a claim asks: research, pages of the web.

    A page that the user gives or the text cites is a document, and so is a page of Wikipedia: with the threshold of
    documents, 95 of 100 decided claims of FEVER's even rows are right.
    """
    most = len(passages) / 2
    if sum(map(_is_research, passages)) > most:
        return "abstracts"
    pages = sum(bool(_PAGE.match(passage.url)) and not passage.named for passage in passages)
    return "web" if pages > most else "documents"


_PAGE = re.compile(r"https?://(?!(?:[a-z-]+\.)?(?:m\.)?wikipedia\.org(?:[:/?#]|\Z))", re.IGNORECASE)


_RESEARCH = re.compile(
    r"\b(?:methods?|results?|conclusions?|objective|background):|\bp ?[<=] ?0?\.\d"
    r"|\b(?:patients?|cohort|in vitro|in vivo|95 ?% CI|confidence interval|mice|cells?|gene expression"
    r"|receptors?|randomi[sz]ed|placebo|significantly"
    r"|we (?:found|show|report|demonstrate|investigated|examined|identified|performed|propose|conclude)"
    r"|(?:was|were) associated with|clinical|mortality|(?:our|these) (?:results|findings|data)|this study"
    r"|meta-analysis|baseline|proteins?|signaling)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def _is_research(passage: Passage) -> bool:
    """Whether a text has two of the terms of research reports; of other texts, two in a thousand have them."""
    return len({term.lower() for term in _RESEARCH.findall(passage.text[:LONGEST_ABSTRACT])}) > 1


def _promise(span: ScoredSpan) -> float:
    """How much a skimmed sentence may say about the claim: what the small model finds, and how near it is."""
    return max(span.relevance, 1 - span.judgement.neither) + span.nearness


def _in_context(sentence: Candidate, candidates: Sequence[Candidate]) -> Candidate | None:
    """The sentence after the one before, both quoted as one text; None if there is none, or a heading is between."""
    for each in candidates:
        if each.kind == "sentence" and each.before and each.cited == sentence.cited:
            both = _together(each.before, each.cited[0])
            return each._replace(cited=(both,), before=None) if both else None
    return None


def _together(before: SourcedSentence, sentence: SourcedSentence) -> SourcedSentence | None:
    text = sentence.passage.text
    start = text.find(before.quote)
    after = start + len(before.quote)
    at = text.find(sentence.quote, after)
    if start < 0 or at < 0 or text[after:at].strip() or len(before.quote.split()) <= CELL:
        return None
    return SourcedSentence(text[start : at + len(sentence.quote)], sentence.passage)


def _among_neighbours(claim: str, sentence: Candidate) -> Candidate:
    """The sentence with those around it, up to the next heading or row of a table, after its title."""
    (cited,) = sentence.cited
    text, title = cited.passage.text, sentence.text.removesuffix(cited.quote)
    others = sentences(text)
    room = NEIGHBOURS - len(claim) - len(title)
    start = text.find(cited.quote)
    if start < 0 or cited.quote not in others or is_row(cited.quote):
        return sentence._replace(kind="window")
    end, first, last = start + len(cited.quote), others.index(cited.quote), others.index(cited.quote)
    grows, pieces = True, _PIECES - _pieces(claim + title)
    while grows and _pieces(text[start:end]) < pieces:
        grows = False
        if first and (before := _adjacent(text, others[first - 1], start, room - (end - start))):
            start, first, grows = start - before, first - 1, True
        if last + 1 < len(others) and (
            after := _adjacent(text, others[last + 1], end, room - (end - start), after=True)
        ):
            end, last, grows = end + after, last + 1, True
    return sentence._replace(kind="window", text=title + text[start:end])


def _adjacent(text: str, sentence: str, at: int, room: int, *, after: bool = False) -> int:
    """The characters from ``at`` to the far end of a sentence that is next to it; 0 if it does not fit."""
    found = text.find(sentence, at) if after else text.rfind(sentence, 0, at)
    gap = text[at:found] if after else text[found + len(sentence) : at]
    length = len(gap) + len(sentence)
    return 0 if found < 0 or gap.strip() or length > room or is_row(sentence) else length


def _pieces(text: str) -> int:
    return sum(1 for _ in re.finditer(r"\w{1,7}|[^\w\s]", text))


def _is_within(window: Candidate, sentence: Candidate) -> bool:
    (one,), (other,) = window.cited, sentence.cited
    return one.passage.sha256 == other.passage.sha256 and other.quote in window.text


def _leans_unshown(spans: Sequence[ScoredSpan]) -> bool:
    """Whether a sentence's neighbours show a side that no quotable text shows."""
    shown = [span for span in spans if span.kind != "window"]
    return any(
        span.strength(side) > SHOWN and all(each.strength(side) <= SHOWN for each in shown)
        for span in spans
        if span.kind == "window"
        for side in _SIDES
    )


def _refuting(span: ScoredSpan, of_others: Mapping[SourcedSentence, Entailment]) -> ScoredSpan:
    """The span as what it has of these sentences says, read alone or among its neighbours."""
    found = of_others.get(span.cited[0]) if span.kind in ("sentence", "skimmed", "window") else None
    return replace(span, judgement=found, differs=True) if found else span
