"""How the small models perform tasks that several baselines share.

They hold no debates whose agents read the same passages: they read these in the same way in every role, so that the
answer would be that of one reader (``experiments/LOG.md``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from redargue.claims import Claim, Meaning
from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.methods.baselines.factuality import CheckFactuality, FactualityCheck
from redargue.methods.baselines.grounding import MOST_QUESTIONS
from redargue.nli.aggregation import MIN_SIGNAL
from redargue.nli.backend import (
    CORRECT,
    INCORRECT,
    OPEN,
    EmbeddedBackend,
    cite,
    distinct_words,
    open_words,
    perform,
    quotes_of,
)
from redargue.nli.grammar import claim_statements, decompose
from redargue.nli.reader import Reading, SourcedSentence

MOST_QUOTES = 2  # per answer


@perform.register
def _check_factuality(task: CheckFactuality, backend: EmbeddedBackend) -> FactualityCheck:
    """The error is the sentence that contradicts the claim most, without a correction."""
    factual, best, text = likelier_side(task.claim.text, task.passages, backend)
    error = "" if factual else " ".join(sentence.quote for sentence in best[:1])
    return FactualityCheck(reasoning=text, error=error, quotes=quotes_of(best), factuality=factual)


def require_passages(passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    if not passages:
        raise BadReply("the searches returned no text", raw="", hint="add documents: redargue corpus add")
    return passages


def likelier_side(
    claim: str, passages: tuple[Passage, ...], backend: EmbeddedBackend
) -> tuple[bool, tuple[SourcedSentence, ...], str]:
    """Whether a claim is more probably true than false, the sentences that show it, and an answer as a text.

    If no sentence supports the likelier side, nothing is quoted and the answer leaves the claim open.

    Raises:
        BadReply: there are no passages.
    """
    reading = backend.reader.read(claim, require_passages(passages))
    supports, refutes, _ = reading.probabilities()
    factual = supports >= refutes
    meaning = Meaning.SUPPORTED if factual else Meaning.REFUTED
    decided = reading.strongest(meaning) > MIN_SIGNAL
    best = reading.best(meaning, MOST_QUOTES) if decided else ()
    opening = OPEN if not decided else CORRECT if factual else INCORRECT
    text = "\n".join([*map(cite, best), opening + " ".join(claim.split())])
    return factual, reading.decisive(best, meaning), text


def new_queries(claim: str, best: tuple[SourcedSentence, ...], asked: Collection[str]) -> Iterator[str]:
    """Yields the queries that were not asked yet, of at most 300 characters.

    They are the claim, its words that the evidence lacks with names from the evidence, its content words, and its
    subjects and objects.
    """
    uncovered, bridges = open_words(claim, " ".join(quotes_of(best)))
    bridging = " ".join([*bridges[:2], *uncovered]) if bridges and uncovered else ""
    queries = (claim, bridging, " ".join(distinct_words(claim)), *decompose(claim).entities)
    yield from (query for query in dict.fromkeys(query[:300] for query in queries) if query and query not in asked)


def clauses_of(claim: Claim) -> tuple[str, ...]:
    """The claim's clauses; the whole claim if there are more than one check may ask about."""
    clauses = claim_statements(claim.text)
    return clauses if len(clauses) <= MOST_QUESTIONS else (" ".join(claim.text.split()),)


def is_it_true(statement: str) -> str:
    return f"Is it true that {statement.rstrip(' .?!')}?"


def likeliest(reading: Reading) -> Meaning:
    supports, refutes, neither = reading.probabilities()
    if neither >= max(supports, refutes):
        return Meaning.NOT_ENOUGH
    return Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED


def quotes_for(reading: Reading, meaning: Meaning) -> tuple[str, ...]:
    if meaning is Meaning.NOT_ENOUGH:
        return ()
    return quotes_of(reading.decisive(reading.best(meaning, MOST_QUOTES), meaning))
