"""Reads in two steps: small models rank the sentences, a large one reads the few that can decide.

The embedder finds the nearest sentences of each passage, and the small cross-encoder skims them. The large one then
reads the most promising sentences, alone and after the sentence before, and the best two of different passages as one
text. A text that it reads is quoted whole or not at all, so that a verdict rests on what it shows. Of a claim that
joins several facts, each is read like a claim of its own as well.
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
from redargue.nli.holders import BY_ORDER, Twin, twin
from redargue.nli.reader import (
    CELL,
    SHOWN,
    Candidate,
    Reader,
    Reading,
    ScoredSpan,
    SourcedSentence,
    joined_candidate,
    numbers_had,
    without_support,
)
from redargue.nli.session import CrossEncoder, Embedder, Entailment, EntailmentModel
from redargue.nli.sole_holders import claims_of_others

PACKAGE, MANIFEST = "redargue_reader", "manifest.json"
_LONGEST = 192  # tokens of an input, as in training
PICKED = 3  # sentences that the large model reads
LONGEST_ABSTRACT = 5000  # characters that tell a text's kind
AS_MUCH = 0.25  # log odds of support by which a claim and that of another holder may differ
SAID = 0.85  # probability of support from which a text says of another what only one can be
REFUTES = 0.7  # probability from which a text that says it in other words has to refute the claim by itself
IN_CONTEXT = 2  # of them, also read after the sentence before
SourceKind = Literal["documents", "abstracts", "web"]
_SIDES = (Meaning.SUPPORTED, Meaning.REFUTED)


class CarefulWeights(NamedTuple):
    """The large cross-encoder of an installed package.

    Attributes:
        sha256: of its file.
        weights: of the aggregation, fitted to its readings.
        least: the probability of a side, in [0, 1], below which a claim is left open, for each kind of source.
    """

    folder: Path
    sha256: str
    weights: Weights
    least: tuple[tuple[SourceKind, float], ...]

    def model(self, *, threads: int = 0) -> CrossEncoder:
        return CrossEncoder(threads=threads, folder=self.folder, longest=_LONGEST)


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
        sha256 = str(manifest["sha256"]["entailment.onnx"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "reinstall redargue-reader, in the same version as redargue"
        raise UsageError(f"{str(path)!r} cannot be read: {error!r}", hint=hint) from None
    if {len(row) for row in weights} != {len(Weights().supports)}:
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
        return tuple(replace(super(CarefulReader, self).read(text, passages), statement=text) for text in texts)

    def least_for(self, passages: Sequence[Passage]) -> float:
        return self._leasts[source_kind(passages)]

    def _spans(self, claim: str, candidates: Sequence[Candidate]) -> tuple[ScoredSpan, ...]:
        alone = [each for each in candidates if each.kind == "sentence" and not each.before]
        if not alone:
            return ()
        skimmed = self._judged(claim, alone, self._nearness(claim, [each.text for each in alone]), self._entailment)
        promise = [_promise(span) + numbers_had(claim, span.cited[0].quote) for span in skimmed]
        order = [alone[at] for at in sorted(range(len(alone)), key=lambda at: -promise[at])]
        picked, joined = order[:PICKED], joined_candidate(order)
        contexts = [text for one in picked[:IN_CONTEXT] if (text := _in_context(one, candidates))]
        texts = [*picked, *contexts, *([joined] if joined else [])]
        read = self._judged(claim, texts, self._nearness(claim, [each.text for each in texts]), self._careful)
        spans = self._without_twins(claim, texts, [replace(span, careful=True) for span in read])
        of_others = self._of_sole_holders(claim, texts, spans)
        spans = [replace(span, judgement=of_others.get(span.cited[0].quote, span.judgement)) for span in spans]
        skimmed = tuple(replace(span, judgement=of_others.get(span.cited[0].quote, span.judgement)) for span in skimmed)
        for place in range(len(picked), len(picked) + len(contexts)):
            quote = texts[place].cited[0].quote
            if any(_repeats(spans[place], spans[at]) for at, one in enumerate(picked) if one.cited[0].quote in quote):
                spans[place] = replace(spans[place], kind="skimmed")
        return (*spans, *(replace(span, kind="skimmed") for span in skimmed))

    def _without_twins(self, claim: str, texts: Sequence[Candidate], spans: list[ScoredSpan]) -> list[ScoredSpan]:
        """The spans, without support that the text gives to the claim of another holder as well.

        A text that only names another holder lends its claim some support, too; there it has to be as much.
        """
        rivals: dict[int, tuple[Twin, str]] = {}
        for at, (each, span) in enumerate(zip(texts, spans, strict=True)):
            if span.judgement.supports > SHOWN:
                own, text = parsed(claim), parsed(" ".join(sentence.quote for sentence in each.cited))
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
    ) -> dict[str, Entailment]:
        """What refutes the claim, by its quotation: it says of another what only one can be or have done."""
        refuting: dict[str, Entailment] = {}
        for each, span in zip(texts, spans, strict=True):
            if each.kind != "sentence" or span.judgement.supports > SHOWN:
                continue
            quote, passage = each.cited[0].quote, each.cited[0].passage
            for other in claims_of_others(claim, quote, f"{passage.title}\n{passage.text}"):
                if not other.verbatim and span.judgement.refutes < REFUTES:
                    continue
                (read,) = self._judged(other.claim, [each], [span.nearness], self._careful)
                if read.judgement.supports > SAID:
                    sure = max(read.judgement.supports, span.judgement.refutes)
                    refuting[quote] = Entailment(0.0, sure, 1 - sure)
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


def _repeats(context: ScoredSpan, alone: ScoredSpan) -> bool:
    """Whether a sentence shows in its context only what it shows alone; then it is quoted alone."""
    return any(min(context.strength(side), alone.strength(side)) > SHOWN for side in _SIDES)
