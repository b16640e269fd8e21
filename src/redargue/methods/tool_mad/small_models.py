"""How the small models perform the tasks that only Tool-MAD has."""

from __future__ import annotations

from typing import cast

from redargue.methods.tool_mad.tasks import (
    AnswerCheck,
    Keywords,
    ScoreAnswer,
    SummariseAbstract,
    Summary,
    WriteKeywords,
)
from redargue.nli.backend import EmbeddedBackend, distinct_words, perform
from redargue.nli.reader import sentences
from redargue.tasks.score import (
    CheckedStatements,
    CheckStatements,
    Questions,
    Statements,
    WriteQuestions,
    WriteStatements,
)


@perform.register
def _score_answer(task: ScoreAnswer, backend: EmbeddedBackend) -> AnswerCheck:
    written = perform(WriteStatements(question=task.claim.text, answer=task.answer), backend)
    statements = cast(Statements, written).statements
    checked = perform(CheckStatements(passages=task.passages, statements=statements), backend) if statements else None
    asked = cast(Questions, perform(WriteQuestions(response=task.answer), backend))
    return AnswerCheck(
        statements=cast(CheckedStatements, checked).statements if checked else (),
        questions=asked.questions,
        noncommittal=asked.noncommittal,
    )


@perform.register
def _write_keywords(task: WriteKeywords, backend: EmbeddedBackend) -> Keywords:
    return Keywords(keywords=tuple(distinct_words(task.query)[: task.most]))


@perform.register
def _summarise(task: SummariseAbstract, backend: EmbeddedBackend) -> Summary:
    extract = sentences(task.abstract)
    if len(extract) > task.sentences:
        vectors = backend.embedder.encode([task.query, *extract])
        cosines = [round(float(vectors[0] @ vector), 6) for vector in vectors[1:]]
        nearest = sorted(range(len(extract)), key=lambda index: -cosines[index])[: task.sentences]
        extract = tuple(extract[index] for index in sorted(nearest))
    return Summary(summary=" ".join(extract))
