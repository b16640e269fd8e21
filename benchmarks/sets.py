"""Files of the data sets in the data folder, and the corpus searched for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import pool
from redargue.bench.datasets import Example, load
from redargue.retrieval.corpus.documents import dataset_documents
from redargue.retrieval.corpus.index import open_corpus


class Set(NamedTuple):
    """A data set as it lies in the data folder."""

    dataset: str
    path: str
    options: dict[str, Any]
    corpus: str = ""


SETS = {
    "fever": Set("fever", "benchmarks/fever/paper_test.jsonl.gz", {}, "fever"),
    "scifact": Set("scifact", "benchmarks/scifact/claims_dev.jsonl.gz", {}, "scifact"),
    "pubmedqa": Set("pubmedqa", "benchmarks/pubmedqa/ori_pqal.json.gz", {"with_evidence": True}),
    "feverous": Set("feverous", "benchmarks/feverous/dev.json.gz", {"with_evidence": True}),
    "halueval-qa": Set("halueval", "benchmarks/halueval/qa_one-turn.jsonl.gz", {"question_in_claim": True}),
    "averitec": Set(
        "averitec", "benchmarks/averitec/dev.json.gz", {"sentences": "benchmarks/averitec/dev_sentences.jsonl.gz"}
    ),
    "snapshot-factool-qa": Set("snapshots", "snapshots/factool_qa.jsonl.gz", {}),
    "snapshot-bingcheck": Set("snapshots", "snapshots/bingcheck.jsonl.gz", {}),
    "snapshot-factcheck-bench": Set("snapshots", "snapshots/factcheckbench.jsonl.gz", {}),
}
QUESTIONS = {"medqa": Set("medqa", "benchmarks/medqa/test.jsonl.gz", {}, "pubmed")}
DOCUMENTS = {
    "scifact": (("scifact", "benchmarks/scifact/corpus.jsonl.gz"),),
    "pubmed": (
        ("pubmedqa", "benchmarks/pubmedqa/ori_pqal.json.gz"),
        ("scifact", "benchmarks/scifact/corpus.jsonl.gz"),
    ),
}


def taken(chosen: Set, **how: Any) -> tuple[tuple[Example, ...], dict[str, Any]]:
    """Examples of a data set, and how they were taken as a bench writes it down.

    Args:
        chosen: the data set.
        how: ``limit``, ``half``, ``take``, as ``load`` takes them.
    """
    data = pool.data()
    options: Any = {key: str(data / value) if key == "sentences" else value for key, value in chosen.options.items()}
    loaded = load(chosen.dataset, data / chosen.path, options=options, **how)
    # What is written down names the file of sentences, not where it lies.
    named = {"options": [[key, str(chosen.options[key])] for key in options]}
    return loaded.examples, loaded.sample.model_dump(mode="json") | named


def corpus_of(name: str) -> Path:
    """The index of a corpus, made once."""
    if name == "fever":
        return pool.store()[0]
    path = pool.BUILD / f"{name}.db"
    if not path.exists():
        beside = path.with_suffix(".part.db")
        with open_corpus(beside, write=True) as corpus:
            for dataset, file in DOCUMENTS[name]:
                corpus.add(dataset_documents(dataset, pool.data() / file))
        beside.rename(path)
    return path
