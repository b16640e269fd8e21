"""Compares systems on one sample, and each pair of them on the same claims; computed from records alone."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from redargue.bench.datasets.base import Example, datasets
from redargue.bench.evidence_spans import by_document, by_sentence
from redargue.bench.harness import Bench, ClaimOutcome
from redargue.bench.metrics.base import MetricValue, undefined
from redargue.bench.metrics.retrieval import hit_rate, ndcg, recall, reciprocal_rank
from redargue.bench.scoring import Scores, score
from redargue.bench.statistics.bootstrap import (
    DRAWS,
    PairedDifference,
    SeedAgreement,
    macro_f1_difference,
    paired_difference,
    seed_agreement,
)
from redargue.bench.statistics.paired import McNemar, PairedFlip, PowerAnalysis, flips, holm, mcnemar, power_analysis
from redargue.bench.system import System
from redargue.bench.temporal import EvidenceDates, count_dates
from redargue.claims import Frozen, Meaning
from redargue.errors import BudgetReached, RecordError, UsageError
from redargue.files import open_to_read, replacing
from redargue.runs.record import read_events
from redargue.verdicts import Verdict

RESULTS = "results.json"


class Prediction(Frozen):
    """One system's verdict on one claim."""

    label: str | None
    meaning: Meaning | None = None  # of the label; None without one
    error: str = ""
    confidence: float | None = None
    rounds: int = 0
    decided_by: str = ""
    labels: tuple[tuple[str | None, ...], ...] = ()  # of each round, one per debater
    calls: int = 0
    tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0  # since the start of the run
    quotes: tuple[int, int] = (0, 0)  # numbers of quotations found and not found


class ComparedSystem(Frozen):
    """One system."""

    spec: str
    slug: str
    scores: Scores
    errors: int
    retrieval: tuple[MetricValue, ...] = ()  # empty if the data set names no gold documents
    arguments: tuple[str, ...] = ()  # of the command line, besides sample and systems
    timing: EvidenceDates | None = None  # None if no claim has an as-of date
    said: tuple[Prediction, ...]


class Pair(Frozen):
    """Two systems on the same claims."""

    first: str
    second: str
    left_out: int = 0  # claims that the budget stopped in one of the two, which no figure counts
    test: McNemar
    holm: float  # the p-value of the test, corrected for all pairs of the table
    difference: PairedDifference  # of accuracy, first minus second, with its interval
    macro_f1: PairedDifference  # difference of macro-F1; undefined for free text
    sight: PowerAnalysis  # the smallest difference that this many claims can show
    flips: tuple[PairedFlip, ...]


class SeedRuns(Frozen):
    """One system with several seeds; ``spec`` is without a seed, and ``deviation`` is that of a sample (over n - 1)."""

    spec: str
    seeds: tuple[int | None, ...]
    accuracies: tuple[float | None, ...]
    mean: float | None
    deviation: float | None
    stability: SeedAgreement


class SampledClaim(Frozen):
    """A claim of the sample."""

    id: str
    claim: str
    gold: str | None
    group: str = ""
    item: int


class Comparison(Frozen):
    """The content of a report; of a system with several seeds, ``pairs`` compares its first run."""

    schema_version: int = 2
    sample: dict[str, Any]
    claims: tuple[SampledClaim, ...]
    rows: tuple[ComparedSystem, ...]
    pairs: tuple[Pair, ...] = Field(default=())
    repeats: tuple[SeedRuns, ...] = ()


def compare(
    bench: Bench, *, made: Mapping[str, ComparedSystem] = MappingProxyType({}), draws: int = DRAWS
) -> Comparison:
    """Scores every system that has finished, and tests each pair.

    The records of systems whose rows are ``made``, by slug, are not read again. Raises RecordError if no system has
    finished, and UsageError if they did not search the same evidence.
    """
    bench.require_same_sources()
    rows = []
    for system in bench.systems:
        try:
            rows.append(made.get(system.slug) or make_row(bench, system, bench.outcomes(system), draws=draws))
        except RecordError:
            if len(bench.systems) == 1:
                raise
    if not rows:
        raise RecordError(f"no system of {str(bench.folder)!r} has finished", hint="run it with redargue bench run")
    by_seed = _by_seed(bench, rows)
    return Comparison(
        sample=dict(bench.sample),
        claims=tuple(
            SampledClaim(id=example.id, claim=example.claim.text, gold=example.gold, group=example.group, item=item)
            for item, example in enumerate(bench.examples)
        ),
        rows=tuple(rows),
        pairs=_pairs(bench.examples, [runs[0] for runs in by_seed], draws),
        repeats=tuple(_repeats(bench, runs) for runs in by_seed if len(runs) > 1),
    )


def make_row(bench: Bench, system: System, outcomes: Sequence[ClaimOutcome], *, draws: int = DRAWS) -> ComparedSystem:
    """One system's row, with only the parts of its outcomes that tables need, to save memory."""
    dataset, peak = bench.sample["dataset"], bench.peak(system)
    scores = score_outcomes(bench.examples, outcomes, dataset, pages=bench.pages, peak_bytes=peak, draws=draws)
    return ComparedSystem(
        spec=system.spec,
        slug=system.slug,
        scores=scores,
        errors=scores.failed,
        retrieval=_retrieval(bench, system),
        arguments=bench.arguments(system),
        timing=count_dates(read_events(bench.folder / system.slug)),
        said=tuple(_prediction(*outcome) for outcome in outcomes),
    )


def score_outcomes(
    examples: Sequence[Example],
    outcomes: Sequence[ClaimOutcome],
    dataset: str,
    *,
    pages: Path | None = None,
    peak_bytes: int | None = None,
    draws: int = DRAWS,
) -> Scores:
    """One system's scores, with the data set's official metric; ``pages`` as :func:`by_sentence` takes them."""
    verdicts = [outcome.verdict for outcome in outcomes]
    quotes = (quote for verdict in verdicts for quote in verdict.quotes)
    return score(
        examples,
        verdicts,
        metric=datasets[dataset].metric,
        locate=by_sentence(dataset, pages, quotes) if pages else by_document,
        seconds=[outcome.seconds for outcome in outcomes],
        peak_bytes=peak_bytes,
        draws=draws,
    )


def write_results(comparison: Comparison, folder: Path) -> Path:
    path = folder / RESULTS
    with replacing(path) as file:
        file.write((comparison.model_dump_json(indent=1) + "\n").encode())
    return path


def read_results(folder: Path) -> Comparison:
    """The comparison of a bench folder; refuses missing results and those of another version."""
    try:
        with open_to_read(folder / RESULTS) as file:
            return Comparison.model_validate_json(file.read())
    except (OSError, ValueError) as error:
        hint = "create them with redargue bench run, or for a finished bench with redargue bench compare --path"
        raise UsageError(f"{str(folder)!r} has no results of this version", hint=hint) from error


def _prediction(verdict: Verdict, seconds: float) -> Prediction:
    quotes_found = sum(quote.found for quote in verdict.quotes)
    return Prediction(
        label=verdict.label,
        meaning=verdict.meaning,
        error=verdict.error.type if verdict.error else "",
        confidence=verdict.confidence,
        rounds=verdict.rounds,
        decided_by=verdict.decided_by or "",
        labels=verdict.round_labels,
        calls=verdict.usage.calls,
        tokens=verdict.usage.prompt_tokens + verdict.usage.completion_tokens,
        usd=verdict.usage.usd,
        seconds=round(seconds, 4),
        quotes=(quotes_found, len(verdict.quotes) - quotes_found),
    )


def _by_seed(bench: Bench, rows: Sequence[ComparedSystem]) -> list[list[ComparedSystem]]:
    names = {system.spec: system.unseeded for system in bench.systems}
    groups: dict[str, list[ComparedSystem]] = defaultdict(list)
    for row in rows:
        groups[names[row.spec]].append(row)
    return list(groups.values())


def _repeats(bench: Bench, rows: Sequence[ComparedSystem]) -> SeedRuns:
    systems = {system.spec: system for system in bench.systems}
    accuracies = tuple(row.scores.figure("accuracy").value for row in rows)
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    return SeedRuns(
        spec=systems[rows[0].spec].unseeded,
        seeds=tuple(systems[row.spec].seed for row in rows),
        accuracies=accuracies,
        mean=statistics.fmean(known) if known else None,
        deviation=statistics.stdev(known) if len(known) > 1 else None,
        stability=seed_agreement([_labels(row) for row in rows]),
    )


def _labels(row: ComparedSystem) -> list[str | None]:
    return [prediction.label for prediction in row.said]


def _pairs(examples: Sequence[Example], rows: Sequence[ComparedSystem], draws: int) -> tuple[Pair, ...]:
    made = [_pair(examples, first, second, draws) for first, second in itertools.combinations(rows, 2)]
    corrected = holm([pair.test.p_value for pair in made])
    return tuple(pair.model_copy(update={"holm": p_value}) for pair, p_value in zip(made, corrected, strict=True))


def _pair(examples: Sequence[Example], first: ComparedSystem, second: ComparedSystem, draws: int) -> Pair:
    both = zip(first.said, second.said, strict=True)
    reached = [all(said.error != BudgetReached.__name__ for said in pair) for pair in both]
    gold = [example.gold if reached[item] else None for item, example in enumerate(examples)]
    paired = {example.id for example, truth in zip(examples, gold, strict=True) if truth is not None}
    scores = (first.scores, second.scores)
    right = [[hit for name, hit in zip(each.ids, each.right, strict=True) if name in paired] for each in scores]
    test = mcnemar(*right)
    return Pair(
        first=first.spec,
        second=second.spec,
        left_out=reached.count(False),
        test=test,
        holm=test.p_value,
        difference=paired_difference(*right, draws=draws),
        macro_f1=_macro_f1(gold, first, second, draws),
        sight=power_analysis(test),
        flips=tuple(flip for flip in flips(gold, _labels(first), _labels(second)) if reached[flip.item]),
    )


def _retrieval(bench: Bench, system: System) -> tuple[MetricValue, ...]:
    """Retrieved documents against gold ones, from the relevance file or else from gold evidence."""
    if bench.relevant:
        gold = [bench.relevant.get(example.id, frozenset()) for example in bench.examples]
    else:
        parts = [itertools.chain.from_iterable(example.evidence) for example in bench.examples]
        gold = [frozenset(part.document for part in of_claim) for of_claim in parts]
    if not any(gold):
        return ()
    retrieved = [tuple(passage.document for passage in passages) for passages in bench.recorded_passages(system)]
    if not any(map(any, retrieved)):
        return ()
    if not set().union(*retrieved) & frozenset().union(*gold):
        # No overlap at all almost always means that document ids do not match.
        return (undefined("hit", "no retrieved document has the id of a gold document: name gold ids with --qrels"),)
    return (
        *(hit_rate(retrieved, gold, k=k) for k in (1, 3, 10)),
        recall(retrieved, gold, k=10),
        reciprocal_rank(retrieved, gold),
        ndcg(retrieved, [dict.fromkeys(names, 1.0) for names in gold], k=10),
    )


def _macro_f1(
    gold: Sequence[str | None], first: ComparedSystem, second: ComparedSystem, draws: int
) -> PairedDifference:
    """The difference over the claims with a gold label."""
    rows = zip(gold, _labels(first), _labels(second), strict=True)
    known = [(truth, label, other) for truth, label, other in rows if truth is not None]
    truths, labels, others = zip(*known, strict=True) if known else ((), (), ())
    scores = first.scores
    return macro_f1_difference(truths, labels, others, labels=scores.labels, over=scores.averaged, draws=draws)
