"""The documents that data sets bring along, as a corpus store takes them."""

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
    """The documents of a data set's file.

    Raises:
        UsageError: the data set brings no documents, or there is no such file; while they are read: it is not of the
            data set's form.
    """
    if dataset not in READERS:
        raise UsageError(f"{dataset!r} brings no documents", hint=did_you_mean(dataset, list(READERS)))
    if not path.is_file():
        raise UsageError(f"no file {str(path)!r}")
    return READERS[dataset](path)
