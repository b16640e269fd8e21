"""How small models perform the tasks of SAFE."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.methods.baselines.grounding import found_in
from redargue.methods.baselines.safe import method
from redargue.methods.baselines.small_models import MOST_QUOTES, new_queries, not_empty
from redargue.nli import claim_filter
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, EmbeddedBackend, cite, distinct_words, perform, quotes_of
from redargue.nli.reader import sentences
from redargue.tasks.answer import Answer
from redargue.tasks.query import Query


@perform.register
def _make_self_contained(task: method.MakeSelfContained, backend: EmbeddedBackend) -> method.SelfContained:
    """Replaces a leading pronoun where the text around it leaves no doubt."""
    (statement,) = claim_filter.claims((task.claim.text,), sentences(task.claim.context), embedder=backend.embedder)
    return method.SelfContained(statement=statement or task.claim.text)


@perform.register
def _check_relevance(task: method.CheckRelevance, backend: EmbeddedBackend) -> method.Relevance:
    """A statement is relevant where it shares a content word with the text."""
    around = {word.lower() for word in distinct_words(task.claim.context.replace(task.claim.text, ""))}
    shared = [word for word in distinct_words(task.claim.text) if word.lower() in around]
    return method.Relevance(reasoning=f"shared: {', '.join(shared) or 'no word'}", relevant=bool(shared))


@perform.register
def _write_next_query(task: method.WriteNextQuery, backend: EmbeddedBackend) -> Query:
    passages = found_in(task.results)
    best = backend.reader.read(task.claim.text, passages).best(Meaning.SUPPORTED, MOST_QUOTES)
    asked = {result.query for result in task.results}
    return Query(text=next(new_queries(task.claim.text, best, asked), task.claim.text[:300]))


@perform.register
def _rate_support(task: method.RateSupport, backend: EmbeddedBackend) -> Answer:
    """Supported where that is more probable than the other two together; BadReply where there is no evidence."""
    passages = not_empty(found_in(task.results))
    reading = backend.reader.read(task.claim.text, passages)
    supports, refutes, neither = reading.probabilities()
    if supports > refutes + neither:
        label, meaning, opening = method.SUPPORTED, Meaning.SUPPORTED, CORRECT
    else:
        label = method.NOT_SUPPORTED
        meaning, opening = (Meaning.REFUTED, INCORRECT) if refutes >= neither else (Meaning.NOT_ENOUGH, OPEN)
    best = reading.best(meaning, MOST_QUOTES if opening != OPEN else 1)
    text = "\n".join([*map(cite, best), opening + " ".join(task.claim.text.split()), f"[{label}]"])
    return Answer(text=text, label=label, quotes=quotes_of(reading.decisive(best, meaning)))
