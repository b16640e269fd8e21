"""How many honest requests the check of outgoing text refuses: the released runs of MERMAID, call by call.

Each call of an agent is checked against what the run had observed before it, as :class:`redargue.run.Run` does. The
logs hold an observation's first 2,000 characters; its complete results count with their addresses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from benchmarks.mermaid import files
from redargue.bench.commands.mermaid import ReleasedRun, read_runs, text_contents
from redargue.bench.datasets.files import rows_with_runs
from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.injections import ADDRESS_FIELDS, reason_to_refuse
from redargue.inputs.rows import rows


def main(arguments: list[str]) -> None:
    """Prints every refusal, and the counts of each file and of all."""
    total = {"calls": 0, "after an observation": 0, "refused": 0}
    for file in files():
        counts = dict.fromkeys(total, 0)
        claims = (Claim(text=row.text("claim")) for row in rows_with_runs(tuple(rows(file))))
        for claim, run in zip(claims, read_runs(file)[0], strict=True):
            for query, why, observed in _calls(claim, run):
                counts["calls"] += 1
                counts["after an observation"] += observed
                counts["refused"] += bool(why)
                if why:
                    print(json.dumps({"refused": query[:120], "why": why}, ensure_ascii=False), flush=True)
        total = {name: total[name] + count for name, count in counts.items()}
        print(json.dumps({"file": file.name, **counts}), flush=True)
    print(json.dumps({"total": total, "share": round(total["refused"] / total["after an observation"], 4)}), flush=True)


def _calls(claim: Claim, run: ReleasedRun) -> Iterator[tuple[str, str, bool]]:
    """Each call's text, why it would be refused, and whether anything was observed before."""
    passages = [Passage(text="\n".join(text_contents(evidence))) for _, evidence in run.memory]
    sent: list[str] = []
    for call in run.calls:
        yield call.query, reason_to_refuse(call.query, claim, passages, sent), bool(passages)
        if call.text is not None:
            sent.append(call.query)
            for text in text_contents(call.text):
                passages += [Passage(text=text), *(Passage(text="", url=url) for url in _addresses(text))]


def _addresses(text: str) -> list[str]:
    """The addresses of the complete results in a truncated answer."""
    results = []
    for match in re.finditer(r'\{"(?:title|id|url|link)"', text):
        try:
            results.append(json.JSONDecoder().raw_decode(text[match.start() :])[0])
        except ValueError:
            continue
    return [url for result in results for name in ADDRESS_FIELDS if isinstance(url := result.get(name), str) and url]
