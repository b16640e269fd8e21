"""A table of contenders on one sample, and each pair of them on the same claims; computed from records alone."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from redargue.claims import Frozen
from redargue.errors import RecordError, UsageError
from redargue.evals.datasets.base import Example, datasets
from redargue.evals.harness import Bench, Contender, Outcome
from redargue.evals.metrics.base import Figure
from redargue.evals.metrics.retrieval import hit, ndcg, recall, reciprocal_rank
from redargue.evals.places import by_document, by_sentence
from redargue.evals.scoring import Scores, score
from redargue.evals.statistics.bootstrap import Difference, macro_f1_difference, paired_difference
from redargue.evals.statistics.multiple import holm
from redargue.evals.statistics.paired import Flip, McNemar, flips, mcnemar
from redargue.evals.statistics.power import Sight, sight
from redargue.evals.statistics.seeds import Stability, stability
from redargue.evals.timing import Timing, counted
from redargue.ledger.record import read_events

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
        timing: when its evidence was published; None where no claim is judged as of a day.
    """

    spec: str
    slug: str
    scores: Scores
    errors: int
    retrieval: tuple[Figure, ...] = ()
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
        arguments: of the command line, besides sample and contenders.
    """

    schema_version: int = 1
    sample: dict[str, Any]
    claims: tuple[Asked, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...] = Field(default=())
    repeats: tuple[Repeats, ...] = ()
    arguments: tuple[str, ...] = ()


def compare(bench: Bench, *, draws: int = 2000) -> Comparison:
    """Scores every contender that has finished, and tests every two of them.

    Raises:
        RecordError: none has finished.
    """
    rows = []
    for contender in bench.contenders:
        try:
            outcomes = bench.outcomes(contender)
        except RecordError:
            if len(bench.contenders) == 1:
                raise
            continue
        dataset = bench.sample["dataset"]
        scores = scored(
            bench.examples, outcomes, dataset, pages=bench.pages, peak_bytes=bench.peak(contender), draws=draws
        )
        timing = counted(read_events(bench.folder / contender.slug))
        more = {"retrieval": _retrieval(bench, contender), "timing": timing}
        rows.append(_row(contender, scores, outcomes).model_copy(update=more))
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
        arguments=bench.arguments,
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
        raise UsageError(f"{str(folder)!r} holds no results", hint="make them: redargue bench run") from error


def _row(contender: Contender, scores: Scores, outcomes: Sequence[Outcome]) -> Row:
    said = []
    for verdict, seconds in outcomes:
        found = sum(quote.found for quote in verdict.quotes)
        said.append(
            Said(
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
        )
    return Row(spec=contender.spec, slug=contender.slug, scores=scores, errors=scores.failed, said=tuple(said))


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
    found = [tuple(passage.document for passage in each) for each in bench.found(contender)]
    if not any(gold) or not any(any(each) for each in found):
        return ()
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


def render(comparison: Comparison) -> str:
    """The comparison as text: a row a contender, a line a pair."""
    sample, wide = comparison.sample, max(len(row.spec) for row in comparison.rows)
    how = "group" if sample["per_group"] else sample["how"]
    lines = [
        f"{sample['dataset']} ({sample['file']}): {sample['taken']} of {sample['rows']} claims, {how},"
        f" half {sample['half']}, seed {sample['seed']}",
        f"gold labels: {', '.join(f'{count} {name}' for name, count in sample['labels'] if name) or 'none'}",
        f"{'':{wide}} {'accuracy':>20} {'macro-F1':>20} {'answered':>9} {'calls':>7} {'s':>7} {'price':>9}  errors",
    ]
    for row in comparison.rows:
        cost, n = row.scores.cost, row.scores.n
        price = "-" if cost.usage.usd is None else f"${cost.usage.usd / n:.4f}"
        seconds = "-" if cost.seconds is None else f"{cost.seconds / n:.2f}"
        calls = f"{cost.usage.calls / n:.1f}"
        figures = f"{_figure(row.scores, 'accuracy'):>20} {_figure(row.scores, 'macro-f1'):>20}"
        covered = _figure(row.scores, "coverage")
        lines.append(f"{row.spec:{wide}} {figures} {covered:>9} {calls:>7} {seconds:>7} {price:>9} {row.errors:>7}")
        if row.errors:
            kinds = Counter(each.error for each in row.said if each.error)
            lines.append("  errors: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
        if row.retrieval:
            lines.append("  gold documents: " + ", ".join(f"{each.name} {_value(each)}" for each in row.retrieval))
        if row.timing:
            lines.append(f"  evidence by its date, search by search: {row.timing}")
        shown = ("accuracy", "macro-f1", "label-accuracy")
        # By whole documents they only say something where the corpus names documents as the data set does.
        own = (
            each
            for each in row.scores.official
            if each.value is not None and each.name not in shown and not each.name.endswith("-by-document")
        )
        lines += [f"  {figure.name}: {_value(figure)}" for figure in own]
    for pair in comparison.pairs:
        test, diff = pair.test, pair.difference
        if diff.value is None:
            lines.append(f"{pair.first} against {pair.second}: undefined ({diff.undefined})")
            continue
        span = "" if diff.low is None else f" ({diff.low:+.3f} to {diff.high:+.3f})"
        lines.append(
            f"{pair.first} against {pair.second}: {diff.value:+.3f}{span}, {test.first_only} to {test.second_only}"
            f" claims, p {test.p_value:.3g}, corrected {pair.holm:.3g}"
        )
        if pair.macro_f1.value is not None:
            bounds = "" if pair.macro_f1.low is None else f" ({pair.macro_f1.low:+.3f} to {pair.macro_f1.high:+.3f})"
            lines.append(f"  macro-F1 {pair.macro_f1.value:+.3f}{bounds}")
        if pair.sight.warning:
            lines.append(f"  {pair.sight.warning}")
    for each in comparison.repeats:
        flipped, kappa = each.stability.flipped.value or 0.0, _value(each.stability.kappa)
        spread = "" if each.deviation is None else f" ± {each.deviation:.3f}"
        lines.append(
            f"{each.spec} with {len(each.seeds)} seeds: accuracy {each.mean or 0:.3f}{spread},"
            f" labels that flip {100 * flipped:.1f} %, Fleiss' kappa {kappa}"
        )
    return "\n".join(lines)


def _figure(scores: Scores, name: str) -> str:
    return next((_value(each) for each in scores.figures if each.name == name), "-")


def _value(figure: Any) -> str:
    if figure.value is None:
        return f"undefined ({figure.undefined})"
    bounds = "" if figure.low is None else f" ({figure.low:.3f}–{figure.high:.3f})"
    return f"{figure.value:.3f}{bounds}"
