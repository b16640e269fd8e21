"""What each rule of the embedded reader earns: claims read without it, with the weights and thresholds kept.

Even contrast documents, held-out documents of the training data's authors, FEVER's pool, claims that cross two facts,
the examples of other tools, and press releases against their sources. Printed for each rule: how many more claims are
decided rightly and wrongly without it. ``neighbours``, ``parts`` and ``two texts joined`` are steps of the large
reader; ``small reader first`` lets the small one choose the sentences that the large one reads.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

from benchmarks import crossed, examples, markdown, pool, press, reading
from benchmarks.answers import GOLD, Question, answered, outcome
from redargue.claims import Meaning
from redargue.cli.app import run
from redargue.evidence import Passage
from redargue.nli.claim_parts import ClaimParts
from redargue.retrieval.corpus.index import open_corpus

Asked = tuple[Question, Meaning]  # with its gold answer
SETS = ("contrast", "held-out contrast")
SAID = ("right", "wrong")


def _constant(value: object) -> Callable[..., object]:
    return lambda *_, **__: value


_NOTHING, _NEVER = _constant(None), _constant(False)
_READER, _CAREFUL = "redargue.nli.reader.", "redargue.nli.careful."
RULES: Mapping[str, Mapping[str, Callable[..., object]]] = {
    "copies, named differences": {_READER + "_compared": _NOTHING},
    "what a text asserts": {_READER + "asserted_text": lambda _, text: text},
    "only framed": {_READER + "only_framed": _NEVER},
    "only planned": {_READER + "only_planned": _NEVER},
    "of another thing": {_READER + "is_of_another": _NEVER},
    "rows of others": {_READER + "rows_of_others": _constant(frozenset())},
    "rival subject": {_READER + "rival_subject": _NOTHING},
    "counts something else": {_READER + "counts_something_else": _NEVER},
    "restated": {_READER + "restated": _NEVER},
    "turned round": {_READER + "turned": _NEVER},
    "denies the opposite": {_READER + "denies_opposite": _NEVER},
    "misplaced value": {_READER + "misplaced": _NEVER},
    "another value": {_READER + "gives_another_value": _NEVER},
    "of somebody else": {_READER + "is_of_somebody_else": _NEVER},
    "exchanged phrases": {_READER + "exchanges_phrases": _NEVER},
    "limits another": {_READER + "limits_another": _NEVER},
    "values in the text's terms": {_READER + "in_terms_of": lambda _, claim, *__: claim},
    "numbers rank": {_READER + "numbers_had": _constant(0.0), _CAREFUL + "numbers_had": _constant(0.0)},
    "other holders": {_CAREFUL + "twin": _NOTHING},
    "sole holders": {_CAREFUL + "claims_of_others": _constant(())},
    "small reader first": {_CAREFUL + "_promise": lambda span: span.nearness},
    "neighbours": {_CAREFUL + "_among_neighbours": lambda _, sentence: sentence._replace(kind="window")},
    "two texts joined": {_CAREFUL + "joined_candidate": _NOTHING},
    "parts": {_CAREFUL + "claim_parts": _constant(ClaimParts())},
}


def main(arguments: list[str]) -> None:
    """Prints a line for the whole reader and one for each rule left out, and a table of the differences."""
    parser = argparse.ArgumentParser(prog="benchmarks rules", description=__doc__)
    parser.add_argument("--rows", type=int, default=280, help="of each set of documents, and of FEVER")
    parser.add_argument("--only", nargs="+", default=(), choices=RULES, metavar="RULE")
    given = parser.parse_args(arguments)
    sets = _sets(given.rows)
    whole = measured(sets)
    print(json.dumps({"without": None} | whole), flush=True)
    rows = []
    for name in given.only or RULES:
        with contextlib.ExitStack() as stack:
            for target, replacement in RULES[name].items():
                stack.enter_context(patch(target, replacement))
            without = measured(sets)
        print(json.dumps({"without": name} | without), flush=True)
        rows.append([name, *(_more(without[part], whole[part]) for part in whole)])
    print(markdown.table(["without", *whole], rows))


def measured(sets: Mapping[str, Sequence[Asked]]) -> dict[str, dict[str, int]]:
    """How many claims of each set are decided rightly and wrongly; a claim whose gold is open is wrong if decided."""
    found = {}
    for name, rows in sets.items():
        answers = answered([question for question, _ in rows])
        said = [(gold, answer.meaning) for (_, gold), answer in zip(rows, answers, strict=True)]
        outcomes: list[str] = [outcome(*each) for each in said if each != (Meaning.NOT_ENOUGH, Meaning.NOT_ENOUGH)]
        found[name] = {each: outcomes.count(each) for each in SAID}
    reads = [read for name in press.RELEASES for read in press.compared(press.gold(name), _grounded(name))]
    outcomes = [read.outcome for read in reads if read.gold.is_decidable]
    return found | {"press": {each: outcomes.count(each) for each in SAID}}


def _more(without: Mapping[str, int], whole: Mapping[str, int]) -> str:
    """The differences of both counts, "0" for none."""
    return ", ".join(f"{difference:+d}" if (difference := without[each] - whole[each]) else "0" for each in SAID)


def _sets(most: int) -> dict[str, list[Asked]]:
    sets: dict[str, list[Asked]] = {
        name: [
            ((row["claim"], (Passage(text=row["evidence"], title=row["title"]),)), GOLD[row["label"]]) for row in rows
        ]
        for name, rows in reading.document_claims(most).items()
        if name in SETS
    }
    claims = pool.claims("even", pool.REPORTED + most)[pool.REPORTED :]
    gold = (Meaning.SUPPORTED, Meaning.REFUTED, Meaning.NOT_ENOUGH)
    with open_corpus(pool.store()[0]) as corpus:
        found = [(*corpus.search(row["claim"], 3), *corpus.search_keywords(row["claim"], 3)) for row in claims]
    sets["FEVER"] = [
        ((row["claim"], passages), gold[reading.CODES[row["label"]]])
        for row, passages in zip(claims, found, strict=True)
    ]
    pairings = crossed.pairings()
    for kind, meaning in (("true", Meaning.SUPPORTED), ("crossed", Meaning.REFUTED)):
        sets[f"{kind} pairs"] = [
            ((each.claim, (Passage(text=each.text),)), meaning) for each in pairings if each.kind == kind
        ]
    sets["examples"] = [
        ((row["claim"], tuple(Passage(text=text) for text in row["context"])), GOLD[row["label"]])
        for row in examples.examples()
    ]
    return sets


def _grounded(name: str) -> list[dict[str, Any]]:
    """The claims of a release as :func:`benchmarks.press.grounded` has them, in this process."""
    release, sources = press.built(name)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        run([*press.COMMAND, "--answer", str(release), "--context", str(sources)])
    claims: list[dict[str, Any]] = json.loads(shown.getvalue())["claims"]
    return claims
