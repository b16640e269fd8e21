"""The documents shipped with data sets, in the form that a corpus indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from redargue.bench.datasets import feverous, pubmedqa, scifact
from redargue.errors import UsageError
from redargue.registry import did_you_mean
from redargue.retrieval.corpus.documents import Document

READERS: dict[str, Callable[[Path], Iterator[Document]]] = {
    "feverous": feverous.documents,
    "pubmedqa": pubmedqa.documents,
    "scifact": scifact.documents,
}


def documents(dataset: str, path: Path) -> Iterator[Document]:
    if dataset not in READERS:
        raise UsageError(f"{dataset!r} has no documents", hint=did_you_mean(dataset, list(READERS)))
    if not path.is_file():
        raise UsageError(f"no file {str(path)!r}")
    return READERS[dataset](path)
