"""Runs the benchmarks that are named, or all of them."""

from __future__ import annotations

import importlib
import signal
import sys

EVERY = (
    "startup",
    "models",
    "entailment",
    "contrast",
    "crossed",
    "examples",
    "press",
    "grounding",
    "checks",
    "reading",
    "rules",
    "reader",
    "fever",
    "thresholds",
    "relevance",
    "speed",
    "load",
    "faults",
    "texts",
    "claims",
    "extraction",
    "languages",
    "local",
    "tokens",
    "responses",
    "scale",
    "milvus",
    "poison",
    "guarantee",
    "outgoing",
    "frames",
    "injections",
    "prompts",
    "mermaid",
    "methods",
    "leaderboard",
    "cascade",
    "queue",
    "cluster",
    "endurance",
    "chatbot",
    "embedded",
    "proxy",
    "hook",
    "cited",
    "one_pass",
)
BY_NAME = (
    "relay",
    "real",
    "debate",
    "whole_answers",
    "defaults",
    "directions",
    "wheel",
    "size",
    "prices",
)  # they need the data folder, a package index, genai-prices


def main() -> None:
    """Runs ``NAME [OPTIONS]``, or all with their defaults."""
    name, *options = sys.argv[1:] or [""]
    if name and name not in EVERY + BY_NAME:
        sys.exit(f"unknown benchmark {name!r}; known: {', '.join(EVERY + BY_NAME)}")
    # An exit, unlike the signal, ends what was started: ``subprocess.run`` and ``pool.started`` see to that.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for benchmark in [name] if name else EVERY:
        print(f"== {benchmark}", flush=True)
        importlib.import_module(f"benchmarks.{benchmark}").main(options)


main()
