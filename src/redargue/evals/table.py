"""A comparison as text: a row a contender, a line a pair."""

from __future__ import annotations

from collections import Counter
from typing import Any

from redargue.evals.comparison import Comparison
from redargue.evals.scoring import Scores


def render(comparison: Comparison) -> str:
    """The table, as it is printed."""
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
