"""What becomes of texts: answers taken apart by the embedded backend, what they are called, the time of forty claims.

FactCheck-Bench's answers, split by their questions: rules were chosen on the even half. The annotators' sentences say
which are worth checking; the web pages that they were given are the documents: each claim of a whole answer is searched
among all of them, and three pieces are read. An answer without any claim, or whose claims were not all settled, is
called nothing, which counts as wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from typing import Any

from benchmarks import pool
from benchmarks.speed import served
from redargue.errors import RedargueError
from redargue.evidence import Passage
from redargue.nli import claim_filter
from redargue.text import Outcome
from redargue.text.segment import sentences_of
from redargue.text.verification import ground, verify_text
from support.debates import ShelfTool

PRONOUNS = ("He", "She", "It", "They", "His", "Her", "Its", "Their")
CALL = 0.3  # seconds


def main(arguments: list[str]) -> None:
    """Prints a line of JSON a figure."""
    parser = argparse.ArgumentParser(prog="benchmarks texts", description=__doc__)
    parser.add_argument("--half", choices=["even", "odd"], default="even")
    parser.add_argument("--methods", nargs="*", default=["single-reader"])
    given = parser.parse_args(arguments)
    rows = [
        row
        for row in pool.rows(pool.data() / "benchmarks/factcheck-bench/benchmark.jsonl.gz")
        if pool.is_even(row["prompt"]) == (given.half == "even")
    ]
    print(json.dumps({"half": given.half, **extraction(rows)}))
    for method in given.methods:
        print(json.dumps({"half": given.half, "method": method, **asyncio.run(answers(rows, method))}), flush=True)
    print(json.dumps(asyncio.run(forty())), flush=True)


def extraction(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Sentence splitting, selection and pronoun resolution, against the annotators."""
    kept: Counter[tuple[bool, bool]] = Counter()
    split = pronouns = resolved = alike = 0
    for row in rows:
        every = [sentence for sentence in row["sentences"].values() if sentence["text"].strip()]
        own = {" ".join(sentence.text.split()) for sentence in sentences_of(row["response"])}
        claims = claim_filter.claims([sentence["text"] for sentence in every])
        for sentence, claim in zip(every, claims, strict=True):
            split += " ".join(sentence["text"].split()) in own
            kept["factual" in sentence["claim_checkworthiness"], claim is not None] += 1
            plain = claim_filter.statement(sentence["text"])
            if claim is None or plain is None or plain.split()[0] not in PRONOUNS:
                continue
            pronouns += 1
            resolved += claim != plain
            alike += claim != plain and claim.split()[:1] == sentence["decontext"].split()[:1]
    return {
        "answers": len(rows),
        "sentences": kept.total(),
        "told apart as the annotators do": round(split / kept.total(), 3),
        "worth checking": kept[True, True] + kept[True, False],
        "of these kept": kept[True, True],
        "not worth checking": kept[False, True] + kept[False, False],
        "of these dropped": kept[False, False],
        "begin with a pronoun": pronouns,
        "of these resolved": resolved,
        "of these as the annotators resolve them": alike,
    }


async def answers(rows: list[dict[str, Any]], method: str) -> dict[str, Any]:
    """Whole answers, factual or not; each claim reads three pieces of the pages retrieved for all of them."""
    said: Counter[tuple[bool, str]] = Counter()
    claims = 0
    began = time.perf_counter()
    for row in rows:
        pages: dict[str, Passage] = {}
        for sentence in row["sentences"].values():
            for texts, urls in zip(sentence["auto_evidence"], sentence["auto_evidence_url"], strict=True):
                pages |= {
                    text: Passage(text=text, url=url) for text, url in zip(texts, urls, strict=True) if text.strip()
                }
        if not pages:
            continue
        try:
            report = await ground(row["response"], contexts=list(pages.values()), method=method, concurrency=4)
        except RedargueError as error:
            said[row["response_factuality"], type(error).__name__] += 1
            continue
        claims += len(report.claims)
        said[row["response_factuality"], report.outcome] += 1
    whole = said.total()
    right = said[True, Outcome.FACTUAL] + said[False, Outcome.NON_FACTUAL]
    called = {name: [said[True, name], said[False, name]] for name in sorted({name for _, name in said})}
    return {
        "answers": whole,
        "claims": claims,
        "called (of true, of false answers)": called,
        "accuracy": round(right / whole, 3),
        "seconds": round(time.perf_counter() - began, 1),
    }


async def forty() -> dict[str, Any]:
    """A text of forty claims with 300 ms a call: two blocks are taken apart at once, then all claims are answered."""
    text = " ".join(f"Bridge number {at} was opened in {1800 + at}." for at in range(1, 41))
    tools = {"corpus": ShelfTool("corpus")}
    best, calls = 1e9, 0
    with served("agreeing") as server:
        server.set_behaviour(chat_ms=1000 * CALL, embedding_ms=50, malformed=0.0, busy=0.0)
        for _ in range(3):
            server.reset()
            began = time.perf_counter()
            report = await verify_text(
                text,
                model="for-m",
                base_url=f"{server.url}/v1",
                evidence=tools,
                method="single-reader",
                concurrency=40,
            )
            best, calls = min(best, time.perf_counter() - began), server.counts().requests["chat"]
            assert [text[claim.start : claim.end] for claim in report.claims] == [
                claim.stated for claim in report.claims
            ]
            assert (len(report.claims), report.outcome) == (40, Outcome.FACTUAL)
    return {"claims": 40, "calls": calls, "seconds": round(best, 2), "floor": 2 * CALL, "in a row": 41 * CALL}
