"""Compares systems on one sample, and each pair of them on the same claims; computed from records alone.

Two recorded systems can also be computed as a cascade: what it would have cost and said if the second had been asked
only where the first is not sure. No model is called: labels, confidences and costs are those of the records. Both
systems have to have seen the same claims, which are matched by text, and by id if both benches are of one file; a label
of the first that the second's bench lacks counts as its label of the same meaning.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from redargue.bench.datasets import EvidenceDates, Example, count_dates, datasets
from redargue.bench.harness import Bench, ClaimOutcome
from redargue.bench.metrics import MetricValue, undefined
from redargue.bench.metrics.classification import correct_items
from redargue.bench.metrics.evidence import hit_rate, ndcg, recall, reciprocal_rank
from redargue.bench.official_metrics import by_document, by_sentence
from redargue.bench.scoring import Scores, score
from redargue.bench.statistics import (
    DRAWS,
    Interval,
    McNemar,
    PairedDifference,
    PairedFlip,
    PowerAnalysis,
    SeedAgreement,
    flips,
    holm,
    interval,
    macro_f1_difference,
    macro_f1_interval,
    mcnemar,
    paired_difference,
    power_analysis,
    seed_agreement,
)
from redargue.bench.system import System, chosen_system
from redargue.claims import Frozen, Meaning
from redargue.errors import BudgetReached, RecordError, UsageError
from redargue.files import open_to_read, replacing
from redargue.runs.manifest import load_manifest
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
    seconds: float = 0.0  # from the start of the claim to its verdict
    quotes: tuple[int, int] = (0, 0)  # numbers of quotations found and not found


class ComparedSystem(Frozen):
    """One system."""

    spec: str
    slug: str
    model: str = ""  # the models and their weights; empty in results of an earlier release
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
        pairs=_pairs(bench.examples, [next(iter(runs.values())) for runs in by_seed.values()], draws),
        repeats=tuple(_repeats(spec, runs) for spec, runs in by_seed.items() if len(runs) > 1),
    )


def make_row(bench: Bench, system: System, outcomes: Sequence[ClaimOutcome], *, draws: int = DRAWS) -> ComparedSystem:
    """One system's row, with only the parts of its outcomes that tables need, to save memory."""
    dataset, peak = bench.sample["dataset"], bench.peak(system)
    scores = score_outcomes(bench.examples, outcomes, dataset, pages=bench.pages, peak_bytes=peak, draws=draws)
    return ComparedSystem(
        spec=system.spec,
        slug=system.slug,
        model=load_manifest(bench.folder / system.slug).backend.identity,
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
        what = "has no results of this version" if folder.is_dir() else "is not a folder"
        raise UsageError(f"{str(folder)!r} {what}", hint=hint) from error


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


def _by_seed(bench: Bench, rows: Sequence[ComparedSystem]) -> dict[str, dict[int | None, ComparedSystem]]:
    """The first run with each seed of each system, by its spec without a seed."""
    systems = {system.spec: system for system in bench.systems}
    groups: dict[str, dict[int | None, ComparedSystem]] = defaultdict(dict)
    for row in rows:
        system = systems[row.spec]
        seed = bench.sample.get("seed") if system.seed is None else system.seed
        groups[system.unseeded].setdefault(seed, row)
    return groups


def _repeats(spec: str, runs: Mapping[int | None, ComparedSystem]) -> SeedRuns:
    rows = list(runs.values())
    accuracies = tuple(row.scores.figure("accuracy").value for row in rows)
    known = [accuracy for accuracy in accuracies if accuracy is not None]
    return SeedRuns(
        spec=spec,
        seeds=tuple(runs),
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


_THRESHOLDS = (0.0, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.99)


class Paired(Frozen):
    """One claim's recorded predictions; ``label`` is the first's, in the words of the second's label set."""

    claim: str
    gold: str
    label: str | None
    first: Prediction
    then: Prediction


class Rescored(Frozen):
    """A cascade of two recorded systems with one threshold; None never stops."""

    threshold: float | None
    claims: int
    kept: int  # claims that the first decides
    accuracy: Interval
    macro_f1: Interval
    calls: float  # per claim; as ``usd``, of the second only for the claims that reach it
    usd: float | None  # None if a price is unknown
    saved: float  # share of the second's calls that are not made, in [0, 1]


def row_of(comparison: Comparison, spec: str = "", *, where: str = "--method") -> ComparedSystem:
    """A system's row by its spec, or the only one; raises UsageError."""
    rows = {row.spec: row for row in comparison.rows}
    return rows[chosen_system(spec, list(rows), where=where)]


def paired(
    first: Comparison, first_row: ComparedSystem, then: Comparison, then_row: ComparedSystem
) -> tuple[Paired, ...]:
    """The claims with a gold label that both systems have seen; raises UsageError if there are none."""
    first_rows, then_rows = _row_keys(first, then)
    answers = dict(zip(first_rows, first_row.said, strict=True))
    words = {said.meaning: said.label for said in then_row.said if said.label}
    known = {*then_row.scores.labels, *(claim.gold for claim in then.claims), *(said.label for said in then_row.said)}
    pairs = []
    for claim, row, said in zip(then.claims, then_rows, then_row.said, strict=True):
        answer = answers.get(row)
        if claim.gold is None or answer is None:
            continue
        label = answer.label if answer.label in known else words.get(answer.meaning)
        pairs.append(Paired(claim=claim.claim, gold=claim.gold, label=label, first=answer, then=said))
    if not pairs:
        raise UsageError("the two benches have no claim in common", hint="run both on the same claims")
    return tuple(pairs)


def _row_keys(first: Comparison, then: Comparison) -> list[list[tuple[str, str]]]:
    """What identifies a row of the two benches: its text and id, or in two files its text and which of its rows it is.

    Raises UsageError if rows of two files have the same text, and the files do not have them in the same order.
    """
    if (file := first.sample.get("sha256")) and file == then.sample.get("sha256"):
        return [[(claim.claim, claim.id) for claim in each.claims] for each in (first, then)]
    texts = [[claim.claim for claim in each.claims] for each in (first, then)]
    both = set(texts[0]) & set(texts[1])
    orders = [[text for text in of_bench if text in both] for of_bench in texts]
    repeated = [text for order in orders for text, count in Counter(order).items() if count > 1]
    if repeated and orders[0] != orders[1]:
        what = f"several rows have the claim {repeated[0]!r}, and the files of the two benches differ in their order"
        raise UsageError(what, where="--then", hint="run both systems on one file, whose ids tell its rows apart")
    return [_numbered(of_bench) for of_bench in texts]


def _numbered(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Each text with the number of equal ones before it."""
    seen = Counter[str]()
    numbered = []
    for text in texts:
        numbered.append((text, str(seen[text])))
        seen[text] += 1
    return numbered


def stops(pair: Paired, threshold: float | None) -> bool:
    """Whether the first decides: a label with enough confidence and a quotation that was found."""
    if threshold is None or pair.label is None or pair.first.confidence is None:
        return False
    return pair.first.confidence >= threshold and pair.first.quotes[0] > 0


def rescored(pairs: Sequence[Paired], threshold: float | None, *, draws: int = DRAWS) -> Rescored:
    """The cascade with one threshold; macro-F1 over the gold labels, a missing answer being wrong."""
    kept = [stops(pair, threshold) for pair in pairs]
    labels = [pair.label if keep else pair.then.label for pair, keep in zip(pairs, kept, strict=True)]
    gold = [pair.gold for pair in pairs]
    asked = [pair.then for pair, keep in zip(pairs, kept, strict=True) if not keep]
    every = sum(pair.then.calls for pair in pairs)
    prices = [usd for said in (*(pair.first for pair in pairs), *asked) if (usd := said.usd) is not None]
    names = sorted({*gold, *(label for label in labels if label)})
    return Rescored(
        threshold=threshold,
        claims=len(pairs),
        kept=sum(kept),
        accuracy=interval([float(right) for right in correct_items(gold, labels)], draws=draws),
        macro_f1=macro_f1_interval(gold, labels, labels=names, over=sorted(set(gold)), draws=draws),
        calls=(sum(pair.first.calls for pair in pairs) + sum(said.calls for said in asked)) / len(pairs),
        usd=sum(prices) / len(pairs) if len(prices) == len(pairs) + len(asked) else None,
        saved=1 - sum(said.calls for said in asked) / every if every else 0.0,
    )


def frontier(pairs: Sequence[Paired], *, draws: int = DRAWS) -> tuple[Rescored, ...]:
    """The second alone, then the cascade from strict to loose thresholds."""
    return tuple(rescored(pairs, threshold, draws=draws) for threshold in (None, *reversed(_THRESHOLDS)))
