"""How the small reader performs its task, on every backend."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.nli.backend import EmbeddedBackend, answer_from, compose_answer, perform, quotes_of
from redargue.nli.reader import Reading
from redargue.tasks.score import ReaderAnswer, ReadPassages

SPEAKS = 0.5  # strength from which a sentence speaks for a side
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
    if other is None or reading.copy or reading.contradiction or reading.strongest(other) <= SPEAKS:
        return ()
    return quotes_of(reading.best(other, 1))
