"""Documents that several tests store."""

from __future__ import annotations

from collections.abc import Iterator

from redargue.retrieval.corpus.documents import Document

TOWER = Document(
    id="tower",
    title="Eiffel Tower",
    text="It opened in 1889. It is 330 metres tall.",
    url="https://example.org/t",
    publisher="Example",
    published="2020-03-04",
    path="/docs/a/tower.txt",
)
BRIDGE = Document(id="bridge", text="The bridge was built in 1894.", path="/docs/bridge.txt")


def many(count: int, words: str = "fact") -> Iterator[Document]:
    return (Document(id=f"d{n}", text=f"Number {n} is a {words}.") for n in range(count))
