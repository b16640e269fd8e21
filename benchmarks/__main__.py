"""Runs the benchmarks that are named, or all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks import entailment, fever, interrupted, models, quotes, ragas, reading, speed, startup, thresholds

EVERY: dict[str, Callable[[list[str]], None]] = {
    "startup": startup.main,
    "quotes": quotes.main,
    "models": models.main,
    "entailment": entailment.main,
    "interrupted": interrupted.main,
    "reading": reading.main,
    "fever": fever.main,
    "thresholds": thresholds.main,
    "ragas": ragas.main,
    "speed": speed.main,
}


def main() -> None:
    """Runs ``NAME [OPTIONS]``, or all with their defaults."""
    name, *options = sys.argv[1:] or [""]
    if name and name not in EVERY:
        sys.exit(f"unknown benchmark {name!r}; known: {', '.join(EVERY)}")
    for each in [name] if name else EVERY:
        print(f"== {each}", flush=True)
        EVERY[each](options)


main()
