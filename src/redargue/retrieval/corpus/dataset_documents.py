"""The documents shipped with data sets, in the form that a corpus indexes.

Another package adds a data set's documents through an entry point::

    [project.entry-points."redargue.documents"]
    my-set = "my_package:documents"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from redargue.errors import UsageError
from redargue.registry import Registry
from redargue.retrieval.corpus.documents import Document

readers: Registry[Callable[[Path], Iterator[Document]]] = Registry(
    "data set with documents", group="redargue.documents", extra="lab"
)


def documents(dataset: str, path: Path) -> Iterator[Document]:
    read = readers[dataset]
    if not path.is_file():
        raise UsageError(f"no file {str(path)!r}")
    return read(path)
