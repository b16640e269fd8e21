"""The embedded backend's roles in methods that search in turns and call a claim true or false.

Queries are made of the claim's own words, its parts, and names that evidence brings in; what is called true or false
is the likelier side of what was read. Where nothing was read there is no side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from redargue.claims import Meaning
from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.nli import claim_filter as checkable
from redargue.nli.aggregation import HEARD
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, EmbeddedBackend, cite, names_in, play, words
from redargue.nli.open_ie import decompose
from redargue.nli.reader import Cited, sentences
from redargue.tasks.answer import Answer
from redargue.tasks.factuality import (
    AskQuestions,
    CheckFactuality,
    FactualityCheck,
    JudgeWorthiness,
    Queries,
    Questions,
    Stance,
    StateStance,
    Worthiness,
    WriteScepticalQueries,
)
from redargue.tasks.query import Query
from redargue.tasks.searching import FinalAnswer, GiveFinalAnswer, Move, SearchOrAnswer, found_in
from redargue.tasks.supporting import (
    NOT_SUPPORTED,
    SUPPORTED,
    CheckRelevance,
    MakeSelfContained,
    RateSupport,
    Relevance,
    SelfContained,
    WriteNextQuery,
)

QUOTES = 2  # an answer gives at most
SURE = 0.6  # the probability of a side at which nothing more is searched for


@play.register
def _search_or_answer(task: SearchOrAnswer, mind: EmbeddedBackend) -> Move:
    """Answers once what was read makes it sure, or nothing is left to ask; else asks the next thing."""
    passages = found_in(task.results)
    reading = mind.reader.read(task.claim.text, passages)
    supports, refutes, _ = reading.probabilities()
    best = reading.best(Meaning.SUPPORTED if supports >= refutes else Meaning.REFUTED, QUOTES)
    query = next(untried(task.claim.text, best, {each.query for each in task.results}), None)
    if passages and (query is None or max(supports, refutes) >= SURE):
        factual, best, text = sided(task.claim.text, passages, mind)
        return Move(reasoning=text, quotes=_quoted(best), final_answer="True" if factual else "False")
    return Move(reasoning="What was read does not settle the claim yet.", search_query=query or task.claim.text[:300])


@play.register
def _give_final_answer(task: GiveFinalAnswer, mind: EmbeddedBackend) -> FinalAnswer:
    """The likelier side."""
    factual, best, text = sided(task.claim.text, found_in(task.results), mind)
    return FinalAnswer(reasoning=text, quotes=_quoted(best), final_answer="True" if factual else "False")


@play.register
def _make_self_contained(task: MakeSelfContained, mind: EmbeddedBackend) -> SelfContained:
    """The statement with a leading pronoun replaced, where the text around it leaves no doubt; else as it stands."""
    (found,) = checkable.claims((task.claim.text,), sentences(task.claim.context))
    return SelfContained(statement=found or task.claim.text)


@play.register
def _check_relevance(task: CheckRelevance, mind: EmbeddedBackend) -> Relevance:
    """A statement is about the same thing where it shares a telling word with the text."""
    around = {word.lower() for word in words(task.claim.context.replace(task.claim.text, ""))}
    shared = [word for word in words(task.claim.text) if word.lower() in around]
    return Relevance(reasoning=f"shared: {', '.join(shared) or 'no word'}", relevant=bool(shared))


@play.register
def _write_next_query(task: WriteNextQuery, mind: EmbeddedBackend) -> Query:
    """What was not asked yet; the claim again where nothing is left to ask."""
    passages = found_in(task.results)
    best = mind.reader.read(task.claim.text, passages).best(Meaning.SUPPORTED, QUOTES)
    asked = {each.query for each in task.results}
    return Query(text=next(untried(task.claim.text, best, asked), task.claim.text[:300]))


@play.register
def _rate_support(task: RateSupport, mind: EmbeddedBackend) -> Answer:
    """Supported where that is likelier than both of the others together: silence is no support.

    Raises:
        BadReply: nothing was read.
    """
    passages = _something(found_in(task.results))
    reading = mind.reader.read(task.claim.text, passages)
    supports, refutes, neither = reading.probabilities()
    if supports > refutes + neither:
        label, meaning, opening = SUPPORTED, Meaning.SUPPORTED, CORRECT
    else:
        label = NOT_SUPPORTED
        meaning, opening = (Meaning.REFUTED, INCORRECT) if refutes >= neither else (Meaning.NOT_ENOUGH, OPEN)
    best = reading.best(meaning, QUOTES if opening != OPEN else 1)
    text = "\n".join([*map(cite, best), opening + " ".join(task.claim.text.split()), f"[{label}]"])
    return Answer(text=text, label=label, quotes=_quoted(best))


@play.register
def _write_sceptical_queries(task: WriteScepticalQueries, mind: EmbeddedBackend) -> Queries:
    """The claim, and its telling words alone."""
    return Queries(queries=tuple(untried(task.claim.text, (), ()))[: task.count])


@play.register
def _check_factuality(task: CheckFactuality, mind: EmbeddedBackend) -> FactualityCheck:
    """The likelier side; the error is what stands against the claim, and nothing is put right."""
    factual, best, text = sided(task.claim.text, task.passages, mind)
    error = "" if factual else " ".join(each.quote for each in best[:1])
    return FactualityCheck(reasoning=text, error=error, quotes=_quoted(best), factuality=factual)


@play.register
def _judge_worthiness(task: JudgeWorthiness, mind: EmbeddedBackend) -> Worthiness:
    """By how the claim is put; a question is worth its answer."""
    return Worthiness(checkworthy="Yes" if checkable.statement(task.claim.text.rstrip("? ")) else "No")


@play.register
def _ask_questions(task: AskQuestions, mind: EmbeddedBackend) -> Questions:
    """The claim itself in the first round, its telling words and its parts in the next."""
    every = tuple(untried(task.claim.text, (), ()))
    return Questions(questions=(every[1:] if task.sample and every[1:] else every[:1])[: task.most])


@play.register
def _state_stance(task: StateStance, mind: EmbeddedBackend) -> Stance:
    """The likeliest of the three, of the one text."""
    supports, refutes, neither = mind.reader.read(task.claim.text, (task.passage,)).probabilities()
    side: Literal["support", "refute"] = "support" if supports >= refutes else "refute"
    return Stance(stance=side if max(supports, refutes) > neither else "irrelevant")


def _something(passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    if not passages:
        raise BadReply("nothing was found that could be read", raw="", hint="give it a corpus that holds something")
    return passages


def sided(claim: str, passages: tuple[Passage, ...], mind: EmbeddedBackend) -> tuple[bool, tuple[Cited, ...], str]:
    """Whether a claim is likelier true than false, what speaks for that, and both as a text.

    Where nothing speaks for the likelier side, nothing is quoted, and the text says that it is open.

    Raises:
        BadReply: nothing was read.
    """
    reading = mind.reader.read(claim, _something(passages))
    supports, refutes, _ = reading.probabilities()
    factual = supports >= refutes
    meaning = Meaning.SUPPORTED if factual else Meaning.REFUTED
    heard = reading.strongest(meaning) > HEARD
    best = reading.best(meaning, QUOTES) if heard else ()
    opening = (CORRECT if factual else INCORRECT) if heard else OPEN
    return factual, best, "\n".join([*map(cite, best), opening + " ".join(claim.split())])


def untried(claim: str, best: tuple[Cited, ...], asked: Collection[str]) -> Iterator[str]:
    """Queries that were not asked: the claim, its telling words, what is open with names found so far, its parts."""
    said = " ".join(each.quote for each in best)
    covered = {word.lower() for word in words(said)}
    still_open = [word for word in words(claim) if word.lower() not in covered]
    bridges = [name for name in names_in(said) if name.lower() not in claim.lower()]
    every = [claim]
    every += [" ".join([*bridges[:2], *still_open])] if bridges and still_open else []
    every += [" ".join(words(claim)), *decompose(claim).entities]
    seen = set(asked)
    for query in (each[:300] for each in every):
        if query and query not in seen:
            seen.add(query)
            yield query


def _quoted(best: tuple[Cited, ...]) -> tuple[str, ...]:
    return tuple(each.quote for each in best)
