"""A table of contenders on one sample, and each pair of them on the same claims; computed from records alone."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from redargue.bench.datasets.base import Example, datasets
from redargue.bench.evidence_spans import by_document, by_sentence
from redargue.bench.harness import Bench, Outcome
from redargue.bench.metrics.base import Figure, undefined
from redargue.bench.metrics.retrieval import hit, ndcg, recall, reciprocal_rank
from redargue.bench.scoring import Scores, score
from redargue.bench.statistics.bootstrap import Difference, macro_f1_difference, paired_difference
from redargue.bench.statistics.corrections import holm
from redargue.bench.statistics.paired import Flip, McNemar, flips, mcnemar
from redargue.bench.statistics.power import Sight, sight
from redargue.bench.statistics.seeds import Stability, stability
from redargue.bench.system import Contender
from redargue.bench.temporal import Timing, counted
from redargue.claims import Frozen
from redargue.errors import RecordError, UsageError
from redargue.runs.record import read_events
from redargue.verdicts import Verdict

RESULTS = "results.json"


class Said(Frozen):
    """One contender's verdict on one claim, as much of it as tables and pictures need.

    Attributes:
        label: None for no answer.
        error: its type, where an error ended the claim.
        confidence: None where it was not calibrated.
        rounds: held.
        decided_by: consensus, judge or reader.
        labels: of each round, one a debater; empty where there were no rounds.
        calls: requests to a mind.
        usd: None where a price is unknown.
        seconds: when it was reached.
        quotes: found; and not found.
    """

    label: str | None
    error: str = ""
    confidence: float | None = None
    rounds: int = 0
    decided_by: str = ""
    labels: tuple[tuple[str | None, ...], ...] = ()
    calls: int = 0
    usd: float | None = None
    seconds: float = 0.0
    quotes: tuple[int, int] = (0, 0)


class Row(Frozen):
    """One contender.

    Attributes:
        spec: as it was given.
        slug: its run folder in the bench folder.
        scores: every figure.
        errors: claims that an error ended.
        said: one a claim.
        retrieval: how well it found gold documents; empty where the data set names none.
        arguments: of the command line that ran it, besides sample and contenders.
        timing: when its evidence was published; None where no claim is judged as of a day.
    """

    spec: str
    slug: str
    scores: Scores
    errors: int
    retrieval: tuple[Figure, ...] = ()
    arguments: tuple[str, ...] = ()
    timing: Timing | None = None
    said: tuple[Said, ...]


class Pair(Frozen):
    """Two contenders on the same claims.

    Attributes:
        first: spec of one.
        second: spec of the other.
        test: McNemar's exact test.
        holm: its p value, corrected for all pairs of the table.
        difference: of accuracy, first minus second, with a paired bootstrap interval.
        macro_f1: likewise of macro-F1; undefined for free text.
        sight: the smallest difference that this many claims could show.
        flips: claims that one has right and the other wrong.
    """

    first: str
    second: str
    test: McNemar
    holm: float
    difference: Difference
    macro_f1: Difference
    sight: Sight
    flips: tuple[Flip, ...]


class Repeats(Frozen):
    """One contender under several seeds.

    Attributes:
        spec: without a seed.
        seeds: of its rows; None for the bench's own.
        accuracies: of each; None where undefined.
        mean: of the accuracies.
        deviation: their standard deviation (of a sample: over n - 1).
        stability: how far the runs give the same labels.
    """

    spec: str
    seeds: tuple[int | None, ...]
    accuracies: tuple[float | None, ...]
    mean: float | None
    deviation: float | None
    stability: Stability


class Asked(Frozen):
    """A claim of the sample."""

    id: str
    claim: str
    gold: str | None
    group: str = ""
    item: int


class Comparison(Frozen):
    """Everything that a report shows.

    Attributes:
        sample: how the claims were taken.
        claims: all of them.
        rows: one a contender, in their order.
        pairs: every two of them; of a contender with several seeds, its first.
        repeats: contenders with several seeds.
    """

    schema_version: int = 2
    sample: dict[str, Any]
    claims: tuple[Asked, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...] = Field(default=())
    repeats: tuple[Repeats, ...] = ()


def compare(bench: Bench, *, made: Mapping[str, Row] = MappingProxyType({}), draws: int = 2000) -> Comparison:
    """Scores every contender that has finished, and tests every two of them.

    Args:
        bench: whose records are read.
        made: rows by slug, of contenders whose records need not be read again.
        draws: of the bootstraps.

    Raises:
        RecordError: none has finished.
    """
    rows = []
    for contender in bench.contenders:
        try:
            rows.append(made.get(contender.slug) or row(bench, contender, bench.outcomes(contender), draws=draws))
        except RecordError:
            if len(bench.contenders) == 1:
                raise
    if not rows:
        raise RecordError(f"no contender of {str(bench.folder)!r} has finished", hint="run it: redargue bench run")
    return Comparison(
        sample=dict(bench.sample),
        claims=tuple(
            Asked(id=each.id, claim=each.claim.text, gold=each.gold, group=each.group, item=item)
            for item, each in enumerate(bench.examples)
        ),
        rows=tuple(rows),
        pairs=_pairs(bench.examples, [each[0] for each in _by_seed(bench, rows)], draws),
        repeats=tuple(_repeats(bench, each) for each in _by_seed(bench, rows) if len(each) > 1),
    )


def row(bench: Bench, contender: Contender, outcomes: Sequence[Outcome], *, draws: int = 2000) -> Row:
    """One contender's scores, and as much of its outcomes as tables need: outcomes of all would fill the memory."""
    scores = scored(
        bench.examples,
        outcomes,
        bench.sample["dataset"],
        pages=bench.pages,
        peak_bytes=bench.peak(contender),
        draws=draws,
    )
    return Row(
        spec=contender.spec,
        slug=contender.slug,
        scores=scores,
        errors=scores.failed,
        retrieval=_retrieval(bench, contender),
        arguments=bench.arguments(contender),
        timing=counted(read_events(bench.folder / contender.slug)),
        said=tuple(_said(*each) for each in outcomes),
    )


def scored(
    examples: Sequence[Example],
    outcomes: Sequence[Outcome],
    dataset: str,
    *,
    pages: Path | None = None,
    peak_bytes: int | None = None,
    draws: int = 2000,
) -> Scores:
    """One contender's scores, with the data set's official metric; ``pages`` as :func:`by_sentence` takes them."""
    verdicts = [each.verdict for each in outcomes]
    quotes = (quote for verdict in verdicts for quote in verdict.quotes)
    return score(
        examples,
        verdicts,
        metric=datasets[dataset].metric,
        locate=by_sentence(dataset, pages, quotes) if pages else by_document,
        seconds=[each.seconds for each in outcomes],
        peak_bytes=peak_bytes,
        draws=draws,
    )


def keep(comparison: Comparison, folder: Path) -> Path:
    """Writes the comparison into its bench folder."""
    path = folder / RESULTS
    path.write_text(comparison.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path


def read(folder: Path) -> Comparison:
    """The comparison of a bench folder.

    Raises:
        UsageError: there is none.
    """
    try:
        return Comparison.model_validate_json((folder / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "make them: redargue bench run, or of a bench that was run redargue bench compare --path"
        raise UsageError(f"{str(folder)!r} holds no results of this version", hint=hint) from error


def _said(verdict: Verdict, seconds: float) -> Said:
    found = sum(quote.found for quote in verdict.quotes)
    return Said(
        label=verdict.label,
        error=verdict.error.type if verdict.error else "",
        confidence=verdict.confidence,
        rounds=verdict.rounds,
        decided_by=verdict.decided_by or "",
        labels=verdict.round_labels,
        calls=verdict.usage.calls,
        usd=verdict.usage.usd,
        seconds=round(seconds, 4),
        quotes=(found, len(verdict.quotes) - found),
    )


def _by_seed(bench: Bench, rows: Sequence[Row]) -> list[list[Row]]:
    """The rows, those together that differ in their seed alone."""
    names = {each.spec: each.unseeded for each in bench.contenders}
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(names[row.spec], []).append(row)
    return list(found.values())


def _repeats(bench: Bench, rows: Sequence[Row]) -> Repeats:
    contenders = {each.spec: each for each in bench.contenders}
    accuracies = tuple(row.scores.figure("accuracy").value for row in rows)
    known = [each for each in accuracies if each is not None]
    return Repeats(
        spec=contenders[rows[0].spec].unseeded,
        seeds=tuple(contenders[row.spec].seed for row in rows),
        accuracies=accuracies,
        mean=statistics.fmean(known) if known else None,
        deviation=statistics.stdev(known) if len(known) > 1 else None,
        stability=stability([[each.label for each in row.said] for row in rows]),
    )


def _pairs(examples: Sequence[Example], rows: Sequence[Row], draws: int) -> tuple[Pair, ...]:
    gold = [example.gold for example in examples]
    every = list(itertools.combinations(rows, 2))
    tests = [mcnemar(first.scores.right, second.scores.right) for first, second in every]
    corrected = holm([test.p_value for test in tests])
    return tuple(
        Pair(
            first=first.spec,
            second=second.spec,
            test=test,
            holm=p_value,
            difference=paired_difference(first.scores.right, second.scores.right, draws=draws),
            macro_f1=_macro_f1(examples, first, second, draws),
            sight=sight(test),
            flips=flips(gold, [each.label for each in first.said], [each.label for each in second.said]),
        )
        for (first, second), test, p_value in zip(every, tests, corrected, strict=True)
    )


def _retrieval(bench: Bench, contender: Contender) -> tuple[Figure, ...]:
    """Found documents against gold ones: those of the relevance file, else those that gold evidence names."""
    gold = [
        bench.relevant.get(each.id, frozenset())
        if bench.relevant
        else frozenset(part.document for group in each.evidence for part in group)
        for each in bench.examples
    ]
    if not any(gold):
        return ()
    found = [tuple(passage.document for passage in each) for each in bench.found(contender)]
    if not any(any(each) for each in found):
        return ()
    if not {name for each in found for name in each} & frozenset().union(*gold):
        # That not one was found is less likely than that the corpus calls its documents otherwise.
        return (undefined("hit", "nothing that was found is called as the gold documents are: --qrels says what is"),)
    return (
        *(hit(found, gold, k=k) for k in (1, 3, 10)),
        recall(found, gold, k=10),
        reciprocal_rank(found, gold),
        ndcg(found, [dict.fromkeys(each, 1.0) for each in gold], k=10),
    )


def _macro_f1(examples: Sequence[Example], first: Row, second: Row, draws: int) -> Difference:
    places = [at for at, example in enumerate(examples) if example.gold is not None]
    return macro_f1_difference(
        [examples[at].gold or "" for at in places],
        [first.said[at].label for at in places],
        [second.said[at].label for at in places],
        labels=first.scores.labels,
        over=first.scores.averaged,
        draws=draws,
    )
