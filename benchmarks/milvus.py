"""FEVER's pool in SQLite, Milvus Lite and, where one is named, a Milvus server: time, memory, disk space, results.

Each store is filled and asked by a process of its own. Sentence vectors are kept between the stores (``REDARGUE_CACHE``
of this benchmark's own), so that a store's time is its own: cutting, writing, and reading vectors from that file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pool
from redargue.errors import UnreadableFile
from redargue.retrieval.corpus import Corpus
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.corpus.ingest import read_documents

FOLDER = pool.BUILD / "milvus"
WARM = 10  # first questions, which are not timed
STARTING = 60  # seconds in which all readers are up


def main(arguments: list[str]) -> None:
    """Prints a line a store, and what each finds compared with SQLite."""
    parser = argparse.ArgumentParser(prog="benchmarks milvus", description=__doc__)
    parser.add_argument("--uri", help="of a Milvus server; its collections bench_texts and bench_chunks are replaced")
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--documents", type=int, default=0, help="the first so many; 0 for all")
    parser.add_argument("--readers", type=int, default=1, help="then so many processes that ask the server at once")
    parser.add_argument("--store", help=argparse.SUPPRESS)
    parser.add_argument("--begin", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.begin:
        print(json.dumps(asked_from(given.store, given.claims, given.begin)))
        return
    if given.store:
        print(json.dumps(measure(given.store, given.claims, given.documents)))
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    stores = [f"sqlite:{FOLDER / 'fever.db'}", f"milvus:{FOLDER / 'lite.db'}"]
    stores += [f"milvus:{given.uri}?collection=bench"] if given.uri else []
    results = {}
    for store in ["sqlite:" + str(FOLDER / "warm.db"), *stores]:  # the first fills the cache of vectors
        results[store] = _in_a_process(store, given)
        if store in stores:
            shown = {name: value for name, value in results[store].items() if name != "found"}
            print(json.dumps({"store": store, **shown}), flush=True)
    for store in stores[1:]:
        print(json.dumps({"store": store, **compared(results[stores[0]]["found"], results[store]["found"])}))
    if given.readers > 1:
        for count in (1, given.readers):
            answers = _readers(stores[-1], count, given)
            same = all(result["found"] == results[stores[-1]]["found"] for result in answers)
            asked = sum(len(ids) for result in answers for ids in result["found"].values())
            rate = asked / max(result["seconds"] for result in answers)
            print(json.dumps({"readers": count, "searches_a_second": round(rate, 1), "all_find_the_same": same}))


def _readers(store: str, count: int, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Results and seconds of several processes that query one store concurrently."""
    command = [sys.executable, "-m", "benchmarks", "milvus", "--store", store, "--claims", str(given.claims)]
    command += ["--begin", str(time.time() + STARTING)]
    environment = {**os.environ, "REDARGUE_CACHE": str(pool.BUILD / "milvus-vectors.db")}
    started = [pool.started(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(count)]
    return [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]


def asked_from(store: str, claims: int, begin: float) -> dict[str, Any]:
    """Asks from a moment on, by the wall clock, that other processes go by, too."""
    with open_corpus(store) as corpus:
        texts = [row["claim"] for row in _claims(claims)]
        asking(corpus, texts[:WARM])
        late = time.time() - begin
        if late > 0:
            sys.exit(f"{late:.0f} s too late: a larger STARTING")
        time.sleep(-late)
        began = time.perf_counter()
        _, ids = asking(corpus, texts)
        return {"seconds": time.perf_counter() - began, "found": ids}


def _claims(count: int) -> list[dict[str, Any]]:
    """Even claims that have gold passages."""
    gold = gold_passages()
    return [row for row in pool.claims("even", 10**6) if str(row["id"]) in gold][:count]


def _in_a_process(store: str, given: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", "milvus", "--store", store, "--claims", str(given.claims)]
    command += ["--documents", str(given.documents)]
    environment = {**os.environ, "REDARGUE_CACHE": str(pool.BUILD / "milvus-vectors.db")}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(store: str, claims: int, documents: int) -> dict[str, Any]:
    """Fills an empty store with the pool and asks it."""
    gold, asked = gold_passages(), _claims(claims)
    with open_corpus(store, write=True) as corpus:
        corpus.clear()
        began = time.perf_counter()
        every = (document for document in read_documents(source()) if not isinstance(document, UnreadableFile))
        added = corpus.add(document for place, document in enumerate(every) if not documents or place < documents)
        seconds = time.perf_counter() - began
        filling = _peak()
    began = time.perf_counter()
    with open_corpus(store) as corpus:
        opened = time.perf_counter() - began
        times, results = asking(corpus, [row["claim"] for row in asked])
    hits = [bool(set(ids) & gold[str(row["id"])]) for row, ids in zip(asked, results["search"], strict=True)]
    worded = [bool(set(ids) & gold[str(row["id"])]) for row, ids in zip(asked, results["search_keywords"], strict=True)]
    path = Path(store.partition(":")[2])
    return {
        "documents": added.documents,
        "chunks": added.chunks,
        "index_s": round(seconds, 1),
        "open_s": round(opened, 2),
        "ms": times,
        "claims": len(asked),
        "hit_at_3": round(float(np.mean(hits)), 4),
        "keywords_hit_at_3": round(float(np.mean(worded)), 4),
        "peak_mb_filling": filling,
        "peak_mb": _peak(),
        "disk_mb": _room(path) if path.exists() else None,
        "found": results,
    }


def asking(corpus: Corpus, claims: list[str]) -> tuple[dict[str, dict[str, float]], dict[str, list[list[str]]]]:
    """Milliseconds of both searches, and the ids of the three passages that they find for each claim."""
    times, results = {}, {}
    for name in ("search", "search_keywords"):
        taken, ids = [], []
        for claim in claims:
            began = time.perf_counter()
            passages = getattr(corpus, name)(claim, 3)
            taken.append(1000 * (time.perf_counter() - began))
            ids.append([passage.document for passage in passages])
        timed = taken[WARM:] or taken
        times[name] = {"first": round(taken[0], 1)} | {
            f"p{part}": round(float(np.percentile(timed, part)), 2) for part in (50, 95)
        }
        results[name] = ids
    return times, results


def compared(sqlite: dict[str, list[list[str]]], other: dict[str, list[list[str]]]) -> dict[str, float]:
    """Of all claims, the part for which a store finds what SQLite finds: in the same order, and in any."""
    figures: dict[str, float] = {}
    for name in sqlite:
        pairs = list(zip(sqlite[name], other[name], strict=True))
        figures[f"{name}_same"] = round(float(np.mean([one == two for one, two in pairs])), 4)
        figures[f"{name}_same_set"] = round(float(np.mean([set(one) == set(two) for one, two in pairs])), 4)
    return figures


def source() -> Path:
    """The pool's file."""
    return pool.data() / "benchmarks" / "fever" / "corpus.jsonl.gz"


def gold_passages() -> dict[str, set[str]]:
    """The ids of the gold passages of each claim that has any."""
    gold: dict[str, set[str]] = {}
    for row in pool.rows(source().with_name("qrels.jsonl.gz")):
        gold.setdefault(row["fever_id"], set()).add(row["passage_id"])
    return gold


def _peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _room(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return round(sum(file.stat().st_size for file in files) / 1e6, 1)
