"""Measuring: data sets, metrics, statistics, runs, reports; needs the extra ``lab`` (scipy and nltk)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from redargue.errors import UsageError
from redargue.registry import install

_LIBRARIES = ("scipy", "nltk")


@contextmanager
def bench_extra() -> Iterator[None]:
    """Raises :class:`UsageError` if a library imported inside is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"benchmarks need {error.name}, which is not installed", hint=install("lab")) from None


def require_bench_extra() -> None:
    """Raises :class:`UsageError` before a long run if a library is missing; imports none of them."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise UsageError(f"benchmarks need {' and '.join(missing)}, which are not installed", hint=install("lab"))
