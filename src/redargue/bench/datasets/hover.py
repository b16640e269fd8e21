"""HoVer (Jiang et al. 2020): claims that take two to four Wikipedia pages.

Official rows, in a JSON list: ``{"uid", "claim", "supporting_facts": [[title, sentence number], …], "label",
"num_hops", "hpqa_id"}``; a test set has neither facts nor labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redargue.bench.datasets.base import Dataset, Example, GoldEvidence
from redargue.inputs.claims import HOVER
from redargue.inputs.rows import Row, rows


class Hover(Dataset, name="hover"):
    """Reads the official JSON list; groups are ``2-hop``, ``3-hop``, ``4-hop``."""

    hops: int = 0  # keeps only claims that take this number of pages; 0 for all
    about = "HoVer: claims over two to four Wikipedia pages (hover-nlp/hover)"
    labels = HOVER
    metric = "hover"

    def read(self, path: Path) -> Iterator[Example]:
        for row in rows(path):
            if self.hops and row.integer("num_hops") != self.hops:
                continue
            hidden = row.is_unlabelled(("label", "supporting_facts"), ("uid", "claim", "num_hops", "hpqa_id"))
            yield self.example(
                row,
                hidden=hidden,
                id=row.key("uid"),
                evidence=() if hidden else (_facts(row),),
                group=f"{row.integer('num_hops')}-hop",
            )


def _facts(row: Row) -> tuple[GoldEvidence, ...]:
    facts = []
    for fact in row.items("supporting_facts"):
        if not isinstance(fact, list) or [type(part) for part in fact] != [str, int]:
            raise row.error(f"supporting_facts: expected [title, sentence number], got {fact}")
        facts.append(GoldEvidence(document=fact[0], element=str(fact[1])))
    return tuple(dict.fromkeys(facts))
