"""What a debate and its faithfulness score do when 1, 2, 3 or 5 of a claim's ten passages are fluent false copies.

Nobody seems to have measured it. Each claim has ten passages: what FEVER's pool (encyclopedia) or SciFact's abstracts
(science) return for the claim, or the ten of its frozen snapshot (web) that a search ranks first. Copies of what bears
the claim out, with one fact changed (:mod:`benchmarks.falsehoods`), take the places of the last ones, or of any
(``--replace random``). Two debaters then search the ten, one by meaning and words, one by words, three a query; one
reader reads all ten.

Methods: the debate; the same without scoring (it ends on agreement, the judge sees no scores); the same with the
paper's thresholds; one reader. Conditions: copies from one publisher or each from another, and passages of a
publisher counted once or each passage counted. All are compared with themselves without copies, on the same claims. The
embedded debaters do not read ``low_score_alert``: it changes no label here and is not among the methods.

Printed a domain, as JSON lines: what the falsehoods are; for each cell the share of labels that changed (``flipped``)
and that changed from right to the opposite of right (``turned``), accuracy and McNemar's p against no copies; paired
differences between settings; the movement of the faithfulness of the first round's answers, and how well it tells right
labels from false ones (``auc``, 0.5 is chance); how often a false agreement passes the gate. Intervals are 95 %
bootstraps over claims. ``--show 10`` prints claims with their copies instead. A half has some 70 claims of science that
can be falsified and 130 of the web; in the encyclopedia every passage is a document, and so a voice, of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from benchmarks import poison_figures, pool
from benchmarks.falsehoods import Falsehood, falsehood, names_of
from benchmarks.poison_figures import Condition
from benchmarks.sets import SETS, corpus_of
from redargue import Verifier
from redargue.bench.datasets import Example, load
from redargue.bench.datasets.wikipedia import qrels
from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.session import Embedder
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.tools import PerClaim, Search, Tool
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.verdicts import Verdict

PASSAGES = 10  # of a claim
COPIES = (1, 2, 3, 5)
DOMAINS = {
    "encyclopedia": ("fever",),
    "science": ("scifact",),
    "web": ("snapshot-factool-qa", "snapshot-bingcheck", "snapshot-factcheck-bench"),
}
DEBATE = {"debaters": ("frozen", "frozen-words")}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "debate": ("tool-mad", DEBATE),
    "debate, no scoring": ("tool-mad", DEBATE | {"scoring": "label_only_stop", "judge_scores": False}),
    "debate, paper's thresholds": (
        "tool-mad",
        DEBATE | {"faithfulness_threshold": 0.7, "relevance_threshold": 0.8},
    ),
    "reader": ("single-reader", {"tools": ("frozen",)}),
}


class Case(NamedTuple):
    """A claim with its ten passages and its falsehood."""

    example: Example
    passages: tuple[Passage, ...]
    falsehood: Falsehood


def conditions() -> list[Condition]:
    """Without copies first; where each passage counts, and of one copy, it does not matter who publishes it."""
    conditions = [Condition(0, "one", counted) for counted in (True, False)]
    for copies in COPIES:
        conditions += [Condition(copies, "one", True)] + [Condition(copies, "many", True)] * (copies > 1)
        conditions += [Condition(copies, "one", False)]
    return conditions


def main(arguments: list[str]) -> None:
    """Prints the figures of every domain."""
    parser = argparse.ArgumentParser(prog="benchmarks poison", description=__doc__)
    parser.add_argument("--domain", action="append", choices=list(DOMAINS))
    parser.add_argument("--method", action="append", choices=list(METHODS))
    parser.add_argument("--limit", type=int, default=200, help="claims a cell")
    parser.add_argument("--half", choices=("even", "odd", "all"), default="even")
    parser.add_argument("--replace", choices=("bottom", "random"), default="bottom")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, metavar="N")
    given = parser.parse_args(arguments)
    os.environ.setdefault("REDARGUE_CACHE", str(pool.BUILD / "outputs.db"))
    for domain in given.domain or DOMAINS:
        began = time.perf_counter()
        cases, left_out = collect(domain, given.half, given.limit, given.seed)
        if given.show:
            show(cases[: given.show])
            continue
        about = {"domain": domain, "half": given.half, "claims": len(cases), "replaced": given.replace}
        golds = Counter(str(case.example.gold) for case in cases)
        kinds = Counter(case.falsehood.kind for case in cases)
        print(json.dumps(about | {"gold": golds, "falsehoods": kinds, "left out": left_out}), flush=True)
        examples = [case.example for case in cases]
        verdicts = asyncio.run(every(cases, given.replace, given.seed, given.method or METHODS))
        for line in poison_figures.lines(examples, [case.falsehood.kind for case in cases], verdicts):
            print(json.dumps({"domain": domain} | line), flush=True)
        print(json.dumps({"domain": domain, "seconds": round(time.perf_counter() - began)}), flush=True)


def collect(domain: str, half: str, limit: int, seed: int) -> tuple[list[Case], Counter[str]]:
    """The first claims of a domain that can be poisoned, and why others before them cannot."""
    candidates: list[tuple[Example, tuple[Passage, ...], tuple[Passage, ...]]] = []
    left_out: Counter[str] = Counter()
    sources = [_found(name, half) for name in DOMAINS[domain]]
    for entry in (entry for row in zip_longest(*sources) for entry in row if entry):
        example, passages, bearing = entry
        if len(passages) < PASSAGES:
            left_out["fewer than ten passages"] += 1
        elif not bearing:
            left_out["gold not among the ten"] += 1
        else:
            candidates.append((example, passages, bearing))
        if len(candidates) >= 2 * limit:  # some of them cannot be falsified
            break
    names = names_of(chain.from_iterable(passages for _, passages, _ in candidates))
    cases: list[Case] = []
    for example, passages, bearing in candidates:
        false = falsehood(
            example.claim,
            supported=meaning(example) is Meaning.SUPPORTED,
            bearing=bearing,
            others=passages,
            names=names,
            seed=seed,
        )
        if false is None or len(false.passages) < max(COPIES):
            left_out["nothing to falsify"] += 1
            continue
        cases.append(Case(example, passages, false))
        if len(cases) == limit:
            break
    return cases, left_out


def meaning(example: Example) -> Meaning | None:
    """What the gold label says of the claim."""
    return example.claim.labels.meaning(example.gold) if example.gold else None


def _found(name: str, half: str) -> Iterator[tuple[Example, tuple[Passage, ...], tuple[Passage, ...]]]:
    """Each decided claim of a set with its ten passages, and those of them that bear on it by the set's own word."""
    chosen, data = SETS[name], pool.data()
    loaded = load(chosen.dataset, data / chosen.path, half=half, options=chosen.options)
    decided = [example for example in loaded.examples if meaning(example) in (Meaning.SUPPORTED, Meaning.REFUTED)]
    if not chosen.corpus:  # no gold passages: any may bear on the claim
        tools = FixedPassages([example.passages for example in decided], encoder=Embedder())
        for at, example in enumerate(decided):
            passages = asyncio.run(tools.for_claim(at).search(example.claim.text, PASSAGES, search=Search()))
            yield example, passages, passages
        return
    relevant = qrels(data / "benchmarks/fever/qrels.jsonl.gz") if chosen.dataset == "fever" else {}
    with open_corpus(corpus_of(chosen.corpus)) as corpus:
        for example in decided:
            gold = relevant.get(example.id) or {part.document for group in example.evidence for part in group}
            passages = corpus.search(example.claim.text, PASSAGES)
            yield example, passages, tuple(passage for passage in passages if passage.document in gold)


def poisoned(case: Case, condition: Condition, replace: str, seed: int) -> tuple[Passage, ...]:
    """The ten passages with copies in the places of the last ones, or of any."""
    places = list(range(PASSAGES))[PASSAGES - condition.copies :]
    if replace == "random":
        places = random.Random(f"{seed} {case.example.id}").sample(range(PASSAGES), max(COPIES))[: condition.copies]
    passages = list(case.passages)
    for number, (place, copy) in enumerate(zip(places, case.falsehood.passages, strict=False)):
        publisher = "The Daily Copy" if condition.publishers == "one" else f"The Daily Copy {number + 1}"
        passages[place] = copy.model_copy(update={"publisher": publisher, "document": f"copy {number + 1}"})
    if not condition.counted:  # each is of a publisher and a site of its own
        for at, one in enumerate(passages):
            url = one.url.replace("://", f"://{'abcdefghij'[at]}-", 1)
            passages[at] = one.model_copy(update={"publisher": f"Publisher {at}", "url": url})
    return tuple(passages)


async def every(
    cases: Sequence[Case], replace: str, seed: int, names: Iterable[str]
) -> dict[tuple[str, Condition], list[Verdict]]:
    """Methods under all conditions."""
    verdicts_by_condition = {}
    for condition in conditions():
        passages = [poisoned(case, condition, replace, seed) for case in cases]
        backend = EmbeddedBackend()
        for name in names:
            method, settings = METHODS[name]
            evidence: dict[str, Tool | PerClaim] = {
                "frozen": FixedPassages(passages, encoder=backend.embedder, whole=name == "reader"),
                "frozen-words": FixedPassages(passages, name="frozen-words"),
            }
            with Verifier(method=method, settings=settings, backend=backend, evidence=evidence, offline=True) as one:
                verdicts = await one.verify_all([case.example.claim for case in cases])
            if errors := [verdict.error for verdict in verdicts if verdict.error]:
                sys.exit(f"{name}, {condition}: {len(errors)} claims ended in an error, the first in {errors[0]}")
            verdicts_by_condition[name, condition] = verdicts
    return verdicts_by_condition


def show(cases: Sequence[Case]) -> None:
    """Claims, the sentence that bears on them, what is made of it, and the copies."""
    for case in cases:
        print(f"\n{case.example.gold}: {case.example.claim.text}\n  true:  {case.falsehood.true}")
        print(f"  {case.falsehood.kind}: {case.falsehood.false}")
        for passage in case.falsehood.passages:
            print(f"  - {passage.text[:300]}")
