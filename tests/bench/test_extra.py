"""Without the extra ``lab``, a benchmark is refused before it starts, with the install line."""

from __future__ import annotations

import sys

import pytest

from redargue.bench import bench_extra, require_bench_extra
from redargue.bench.statistics import binomial_p, interval
from redargue.errors import UsageError
from redargue.registry import install


@pytest.fixture(autouse=True)
def _without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("scipy", "nltk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "nltk", None)


def test_a_benchmark_is_refused_with_the_install_line() -> None:
    with pytest.raises(UsageError, match="scipy and nltk") as refused:
        require_bench_extra()
    assert refused.value.hint == install("lab")


def test_a_figure_that_needs_a_missing_library_names_it() -> None:
    for figure in (lambda: interval([0.0, 1.0]), lambda: binomial_p(1, 4)):
        with pytest.raises(UsageError, match="need scipy") as refused:
            figure()
        assert refused.value.hint == install("lab")


def test_what_the_libraries_raise_themselves_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="other"), bench_extra():
        raise ValueError("other")
