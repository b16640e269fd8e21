"""What a bench report says, as tables and sentences; HTML and Markdown both show these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from redargue.evals.comparison import Comparison, Pair, Row, Said
from redargue.evals.metrics.base import Figure
from redargue.evals.statistics.bootstrap import Difference
from redargue.evals.timing import WHEN

KEY = "Key"
SIDES = ("1st", "2nd")  # columns of a pair: letters, too
SEEN = "Can it be seen?"
FLIPS_SHOWN = 500
CLAIM_SHOWN = 400  # characters in a table
NO_ANSWER = "no answer"


class Link(NamedTuple):
    """A cell that leads to a place in the same file."""

    words: str
    anchor: str


Cell = str | Link


class Table(NamedTuple):
    """A table with a caption.

    Attributes:
        caption: what it shows, in a sentence.
        head: column names; ``Key`` is a contender's letter.
        rows: as many cells each.
        note: what a reader must know to read it; may be empty.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def letter(at: int) -> str:
    """A contender's key in tables and pictures."""
    return chr(ord("A") + at) if at < 26 else str(at + 1)


def named(comparison: Comparison, spec: str) -> str:
    """A contender as tables of pairs name it."""
    at = next(at for at, row in enumerate(comparison.rows) if row.spec == spec)
    return f"{letter(at)} {spec}"


def said(each: Said) -> str:
    """What stands where a label is shown."""
    return each.label or (f"error: {each.error}" if each.error else NO_ANSWER)


def anchor(item: int, row: int) -> str:
    """Of a contender's trace of a claim."""
    return f"t-{item}-{row}"


def number(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def figure(given: Figure | None) -> str:
    """A figure with its interval, or why there is none."""
    if given is None:
        return "–"
    if given.value is None:
        return f"undefined: {given.undefined}"
    bounds = "" if given.low is None or given.high is None else f" ({given.low:.3f} to {given.high:.3f})"
    return f"{given.value:.3f}{bounds}"


def _of(figures: Iterable[Figure], name: str) -> Figure | None:
    return next((each for each in figures if each.name == name), None)


def sample_words(sample: Mapping[str, Any]) -> str:
    """The sample in a sentence."""
    how = {"first": "in the file’s order", "random": "drawn at random", "balanced": "as many of each label"}
    taken = "as many of each group" if sample.get("per_group") else how.get(str(sample["how"]), str(sample["how"]))
    half = "" if sample["half"] == "all" else f", of the {sample['half']} half by the claim’s hash"
    options = "".join(f", {name}={value}" for name, value in sample.get("options") or ())
    day = f"; judged as of {sample['as_of']}" if "as_of" in sample else ""
    return (
        f"{sample['taken']:,} of {sample['rows']:,} claims of {sample['dataset']} ({sample['file']}{options}, sha256 "
        f"{str(sample['sha256'])[:12]}): {taken}{half}, seed {sample['seed']}{day}"
    )


def results(comparison: Comparison) -> tuple[Table, ...]:
    """The tables of contenders that apply."""
    kinds = (official, retrieval, dates, rules, groups, repeats)
    more = (make(comparison) for make in kinds)
    return (outcomes(comparison), costs(comparison), *(each for each in more if each))


def outcomes(comparison: Comparison) -> Table:
    """How often each contender is right."""
    rows = comparison.rows
    shown = ("accuracy", "macro-f1", "coverage")
    extra = list(dict.fromkeys(each.name for row in rows for each in row.scores.figures if each.name not in shown))
    lines: list[tuple[Cell, ...]] = []
    for at, row in enumerate(rows):
        figures = (figure(_of(row.scores.figures, name)) for name in (*shown, *extra))
        lines.append((letter(at), row.spec, *figures, str(row.errors)))
    names = ("Accuracy", "Macro-F1", "Answered", *(name.replace("-", " ").capitalize() for name in extra), "Errors")
    return Table(
        "How often each contender is right",
        (KEY, "Contender", *names),
        tuple(lines),
        "In brackets: 95 % bootstrap intervals over the claims. A claim without an answer counts as wrong.",
    )


def official(comparison: Comparison) -> Table | None:
    """The data set's own metric."""
    rows = comparison.rows
    known = (each.name for row in rows for each in row.scores.official if each.value is not None)
    names = list(dict.fromkeys(name for name in known if name not in ("accuracy", "label-accuracy", "macro-f1")))
    undefined = _undefined(rows).strip()
    if not names and not undefined:
        return None
    lines = tuple(
        (letter(at), row.spec, *(figure(_of(row.scores.official, name)) for name in names))
        for at, row in enumerate(rows)
    )
    head = (KEY, "Contender", *(name.replace("-", " ").capitalize() for name in names))
    return Table(f"The data set’s own metric ({rows[0].scores.metric})", head, lines, undefined)


def retrieval(comparison: Comparison) -> Table | None:
    """How well each contender finds the documents that gold evidence names."""
    if not any(row.retrieval for row in comparison.rows):
        return None
    names = [each.name for each in comparison.rows[0].retrieval]
    lines = tuple(
        (letter(at), row.spec, *(figure(each) for each in row.retrieval)) for at, row in enumerate(comparison.rows)
    )
    note = (
        "Documents in the order in which they were found, over all rounds and tools; claims without gold are left out."
    )
    return Table("How well each contender finds the gold documents", (KEY, "Contender", *names), lines, note)


def dates(comparison: Comparison) -> Table | None:
    """When the evidence was published that each contender read, and what was left out as not in time."""
    found = [(letter(at), row.spec, row.timing) for at, row in enumerate(comparison.rows) if row.timing]
    if not found:
        return None
    lines = tuple((key, spec, *map(str, (*timing.read, *timing.left_out))) for key, spec, timing in found)
    head = (KEY, "Contender", *(f"{what} {when}" for what in ("Read:", "Left out:") for when in WHEN))
    note = "Passages, search by search, against the day as of which each claim is judged."
    return Table("Evidence in time", head, lines, note)


def _undefined(rows: Sequence[Row]) -> str:
    why: dict[str, list[str]] = {}
    for each in (each for row in rows for each in row.scores.official if each.value is None):
        names = why.setdefault(each.undefined, [])
        if each.name not in names:
            names.append(each.name)
    return "".join(f" Not computed: {', '.join(names)} ({reason})." for reason, names in why.items())


def costs(comparison: Comparison) -> Table:
    """What each contender costs a claim."""
    lines: list[tuple[Cell, ...]] = []
    for at, row in enumerate(comparison.rows):
        cost = row.scores.cost
        per = {each.name.removesuffix("-per-item"): each.value for each in cost.per_item()}
        right = next(each.value for each in cost.per_correct() if each.name == "calls-per-correct")
        price = "–" if per["usd"] is None else f"${per['usd']:.4f}"
        tokens = "–" if per["tokens"] is None else f"{per['tokens']:,.0f}"
        numbers = (number(per["calls"], 1), tokens, number(per["searches"], 1), number(per["seconds"], 2))
        memory = "–" if cost.peak_bytes is None else f"{cost.peak_bytes / 2**20:,.0f}"
        lines.append((letter(at), row.spec, *numbers, price, number(right, 1), memory))
    return Table(
        "What each contender costs a claim",
        (KEY, "Contender", "Calls", "Tokens", "Searches", "Seconds", "Price", "Calls a right verdict", "Peak MiB"),
        tuple(lines),
        "A dash: not known. Seconds are wall time with claims in work side by side and caches as they were: later "
        "contenders find more in them. Peak: resident memory of the process while the contender ran.",
    )


def pairs(comparison: Comparison) -> Table | None:
    """Every two contenders on the same claims."""
    lines = tuple(_pair(comparison, pair) for pair in comparison.pairs)
    if not lines:
        return None
    return Table(
        "Every two contenders on the same claims",
        (
            *SIDES,
            "Difference in accuracy",
            "In macro-F1",
            "Only 1st right",
            "Only 2nd right",
            "Both",
            "Neither",
            "p",
            "p (Holm)",
            SEEN,
        ),
        lines,
        "Difference: first minus second, with a paired 95 % bootstrap interval. p: McNemar's exact test; p (Holm): "
        "corrected for all pairs of this table.",
    )


def _pair(comparison: Comparison, pair: Pair) -> tuple[Cell, ...]:
    at = {row.spec: place for place, row in enumerate(comparison.rows)}
    test, gap = pair.test, pair.difference
    counts = (test.first_only, test.second_only, test.both, test.neither)
    return (
        letter(at[pair.first]),
        letter(at[pair.second]),
        _gap(gap),
        _gap(pair.macro_f1),
        *map(str, counts),
        f"{test.p_value:.3g}" if test.n else "–",
        f"{pair.holm:.3g}" if test.n else "–",
        pair.sight.warning or pair.sight.undefined or "yes",
    )


def _gap(gap: Difference) -> str:
    span = "" if gap.low is None or gap.high is None else f" ({gap.low:+.3f} to {gap.high:+.3f})"
    return "–" if gap.value is None else f"{gap.value:+.3f}{span}"


def confusion(at: int, row: Row) -> Table | None:
    """Gold labels against predicted ones."""
    matrix = row.scores.confusion
    if matrix is None:
        return None
    some = any(matrix.unanswered)
    lines = tuple(
        (label, *map(str, counts), *((str(none),) if some else ()))
        for label, counts, none in zip(matrix.labels, matrix.counts, matrix.unanswered, strict=True)
    )
    return Table(f"{letter(at)} {row.spec}", ("Gold", *matrix.labels, *((NO_ANSWER,) if some else ())), lines)


def classes(comparison: Comparison) -> Table | None:
    """Precision, recall and F1 of each class."""
    lines = tuple(
        (
            letter(at),
            row.spec,
            each.label,
            number(each.precision.value),
            number(each.recall.value),
            number(each.f1.value),
            str(each.support),
            str(each.said),
        )
        for at, row in enumerate(comparison.rows)
        for each in row.scores.classes
    )
    head = (KEY, "Contender", "Class", "Precision", "Recall", "F1", "Gold", "Predicted")
    return Table("Each class", head, lines, "A dash: never predicted, or nobody's gold label.") if lines else None


def rules(comparison: Comparison) -> Table | None:
    """The three rules for claims without an answer; only where there are such claims."""
    if all(each.label is not None for row in comparison.rows for each in row.said):
        return None
    lines = tuple(
        (letter(at), row.spec, str(each.rule.value), figure(each.accuracy), figure(each.macro_f1))
        for at, row in enumerate(comparison.rows)
        for each in row.scores.rules
    )
    head = (KEY, "Contender", "No answer counts as", "Accuracy", "Macro-F1")
    return Table("How much the claims without an answer matter", head, lines) if lines else None


def groups(comparison: Comparison) -> Table | None:
    """Each stratum of the data set."""
    lines = tuple(
        (letter(at), row.spec, each.group or "–", figure(each.accuracy), figure(each.coverage), str(each.accuracy.n))
        for at, row in enumerate(comparison.rows)
        for each in row.scores.groups
    )
    return Table("Each group", (KEY, "Contender", "Group", "Accuracy", "Answered", "Claims"), lines) if lines else None


def repeats(comparison: Comparison) -> Table | None:
    """Contenders with several seeds."""
    lines = tuple(
        (
            each.spec,
            ", ".join("the bench’s" if seed is None else str(seed) for seed in each.seeds),
            f"{number(each.mean)} ± {number(each.deviation)}",
            figure(each.stability.flipped),
            figure(each.stability.agreement),
            figure(each.stability.kappa),
        )
        for each in comparison.repeats
    )
    head = ("Contender", "Seeds", "Accuracy", "Labels that flip", "Agreement", "Fleiss’ kappa")
    note = (
        "Accuracy: mean and standard deviation over the runs. Labels that flip: the share of claims that not all runs "
        "label alike. Agreement: the share of pairs of runs that do. Paired tests compare each contender's first run."
    )
    return Table("The same contender with several seeds", head, lines, note) if lines else None


def flips(comparison: Comparison, pair: Pair, kept: set[int]) -> Table:
    """The claims on which two contenders say different things; those in ``kept`` lead to their traces."""
    at = {row.spec: place for place, row in enumerate(comparison.rows)}
    first, second = at[pair.first], at[pair.second]
    kinds = {"gained": letter(second), "lost": letter(first), "changed": "neither"}

    def cell(item: int, row: int, words: str) -> Cell:
        return Link(words, anchor(item, row)) if item in kept else words

    lines = tuple(
        (
            shortened(comparison.claims[flip.item].claim),
            flip.gold or "hidden",
            cell(flip.item, first, said(comparison.rows[first].said[flip.item])),
            cell(flip.item, second, said(comparison.rows[second].said[flip.item])),
            kinds[flip.kind] if flip.gold else "–",
        )
        for flip in pair.flips[:FLIPS_SHOWN]
    )
    left = len(pair.flips) - len(lines)
    both = f"{named(comparison, pair.first)} and {named(comparison, pair.second)}"
    return Table(
        f"{both}: {_claims(len(pair.flips))} with different labels",
        ("Claim", "Gold", letter(first), letter(second), "Who is right"),
        lines,
        f"{left} more are in results.json." if left else "",
    )


def _claims(count: int) -> str:
    return "no claim" if not count else f"{count:,} claim{'s' * (count != 1)}"


def shortened(claim: str) -> str:
    """A claim as tables show it."""
    return claim if len(claim) <= CLAIM_SHOWN else f"{claim[:CLAIM_SHOWN]} …"
