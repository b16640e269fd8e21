"""How long the first verdict takes: start, one claim, a text of 5,000 words; with ``--against`` beside other sources.

Each command runs in a process of its own. Seconds of wall time depend on what else runs; processor time is of the
process alone. Of several runs the best counts. The compiled modules are kept in a temporary folder, as after an
installation. ``--against`` names a checkout of another commit: its figures, the ratios, and how many verdicts of the
text differ.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

RUNS = 5
ROOT = Path(__file__).parents[1]
CLAIM = "The Eiffel Tower opened in 1889."
CHECK = ["-m", "redargue.cli.app", "check"]
METHODS = ("tool-mad", "single-reader")
QUIET = ["--store", "starter", "--offline", "-q"]


class Cost(NamedTuple):
    """Seconds of one process: wall time, processor time."""

    wall: float
    processor: float


def main(arguments: list[str]) -> None:
    """Prints a line of JSON a command."""
    parser = argparse.ArgumentParser(prog="benchmarks startup", description=__doc__)
    parser.add_argument("--words", type=int, default=5000, help="of the text; 0 leaves it out")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each command; 0 measures the text alone")
    parser.add_argument("--against", type=Path, help="a checkout of another commit")
    given = parser.parse_args(arguments)
    sources = {"now": ROOT} | ({"before": given.against.absolute()} if given.against else {})
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, command in commands().items() if given.runs else ():
            best = {which: Cost(1e9, 1e9) for which in sources}
            for _ in range(given.runs + 1):  # the first compiles the modules and indexes the starter corpus
                for which, source in sources.items():
                    cost = measured(command, source, place / which)
                    best[which] = Cost(*map(min, cost, best[which])) if _ else best[which]
            print(json.dumps({"command": name} | compared(best)), flush=True)
        if given.words:
            text = place / "text.txt"
            text.write_text(text_of(given.words), encoding="utf-8")
            print(json.dumps(read_text(text, sources, place)), flush=True)


def commands() -> dict[str, list[str]]:
    """Arguments of the interpreter."""
    return {
        "python": ["-c", "pass"],
        "import redargue": ["-c", "import redargue"],
        "redargue.verify": ["-c", "import redargue; redargue.verify"],
        "redargue --help": ["-m", "redargue.cli.app", "--help"],
        "redargue check --help": [*CHECK, "--help"],
        **{f"redargue check CLAIM --method {name}": [*CHECK, CLAIM, *QUIET, "--method", name] for name in METHODS},
    }


def compared(best: dict[str, Cost]) -> dict[str, Any]:
    row: dict[str, Any] = {
        which: {"wall": round(cost.wall, 3), "processor": round(cost.processor, 3)} for which, cost in best.items()
    }
    if "before" in best:
        row["ratio"] = round(best["now"].processor / best["before"].processor, 2)
    return row


def measured(command: list[str], source: Path, home: Path, output: Path | None = None) -> Cost:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables |= {"PYTHONPATH": str(source / "src"), "PYTHONPYCACHEPREFIX": str(home / "compiled")}
    variables |= {"REDARGUE_HOME": str(home / "home")}
    began, before = time.perf_counter(), _children()
    with (output or Path(os.devnull)).open("wb") as file:
        subprocess.run([sys.executable, *command], check=True, stdout=file, env=variables)
    return Cost(time.perf_counter() - began, _children() - before)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read_text(text: Path, sources: dict[str, Path], place: Path) -> dict[str, Any]:
    """Processor time of a text, claim by claim, and the verdicts that differ."""
    costs, labels = {}, {}
    short = place / "short.txt"
    short.write_text(CLAIM, encoding="utf-8")
    for which, source in sources.items():
        output = place / f"{which}.json"
        options = ["--as", "text", *QUIET, "--method", "single-reader", "--json"]
        measured([*CHECK, str(short), *options], source, place / which)  # compiles the modules, indexes the corpus
        costs[which] = measured([*CHECK, str(text), *options], source, place / which, output)
        claims = json.loads(output.read_text(encoding="utf-8"))["claims"]
        labels[which] = [(claim["verdict"]["label"], claim["verdict"]["confidence"]) for claim in claims]
    row = {"text": f"{len(text.read_text(encoding='utf-8').split()):,} words", "claims": len(labels["now"])}
    row |= compared(costs)
    if "before" in labels:
        pairs = list(zip(labels["now"], labels["before"], strict=True))
        row["labels that differ"] = sum(now[0] != before[0] for now, before in pairs)
        row["largest difference of confidence"] = max(abs((now[1] or 0) - (before[1] or 0)) for now, before in pairs)
    return row


def text_of(words: int) -> str:
    """Sentences of the starter corpus, a third as they are, a third shortened, a third with other numbers."""
    from redargue.nli.reader import sentences
    from redargue.retrieval.corpus.index import ARTICLES

    paragraphs: list[str] = []
    count = 0
    for path in sorted(ARTICLES.glob("*.md")):
        own = [sentence for sentence in sentences(path.read_text(encoding="utf-8")) if not sentence.endswith("?")][:7]
        paragraphs.append(" ".join(_changed(sentence, place) for place, sentence in enumerate(own)))
        count += len(paragraphs[-1].split())
        if count >= words:
            break
    return "\n\n".join(paragraphs) + "\n"


def _changed(sentence: str, place: int) -> str:
    if place % 3 == 1 and sentence.count(",") and len(sentence.rpartition(",")[0].split()) > 4:
        return sentence.rpartition(",")[0] + "."
    if place % 3 == 2:
        return re.sub(r"\d+", lambda number: str(int(number.group()) + 3), sentence)
    return sentence
