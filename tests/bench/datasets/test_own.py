"""A data set of another package is refused before any claim where it lacks something."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue.bench.datasets import Dataset, Example, load
from redargue.bench.harness import Bench
from redargue.bench.system import System
from redargue.claims import FEVER, Claim
from redargue.errors import UsageError
from redargue.registry import ExtensionError

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("own_registrations")]
EXAMPLE = Example(id="1", claim=Claim(text="Lyon is in France."), gold="SUPPORTS", row=1)


def test_a_data_set_without_a_metric_cannot_be_defined() -> None:
    with pytest.raises(TypeError, match="it has no 'metric'"):

        class Own(Dataset, name="own"):
            about, labels = "one claim", FEVER

            def read(self, path: Path) -> Iterator[Example]:
                yield EXAMPLE


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (None, "it has no method read"),
        (lambda self: (), "it has no method read"),
        (
            lambda self, path: [None],
            "the data set 'odd' of .*, an extension, failed: TypeError: 'read' gives None, not",
        ),
        (lambda self, path: None, "the data set 'odd' of .*, an extension, failed: TypeError"),
        (lambda self, path: sys.exit(), "the data set 'odd' of .*, an extension, failed: SystemExit"),
    ],
)
def test_a_data_set_that_does_not_read_examples_is_named(read: Callable[..., Any] | None, said: str) -> None:
    parts = {"about": "one claim", "labels": FEVER, "metric": "accuracy", **({"read": read} if read else {})}

    def used() -> None:
        type("Odd", (Dataset,), parts, name="odd")
        load("odd", Path(__file__))

    with pytest.raises((TypeError, ExtensionError), match=said):
        used()


async def test_a_metric_that_nobody_knows_is_refused_before_any_claim(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="needs the extra lab")

    class Own(Dataset, name="own"):
        about, labels, metric = "one claim", FEVER, "acuracy"

        def read(self, path: Path) -> Iterator[Example]:
            yield EXAMPLE

    system = System.parse("single-reader")
    bench = Bench(tmp_path / "b", [EXAMPLE], [system], sample={"dataset": Own.name})
    with pytest.raises(UsageError, match="unknown metric 'acuracy' of the data set 'own'"):
        await bench.run(system)
    assert not (tmp_path / "b").exists()
