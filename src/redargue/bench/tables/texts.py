"""Texts of a data set taken apart into claims, which systems verify one by one (Dual-Position Debate, §4.1).

A summary's claim has the ten most similar sentences of the document as evidence, a dialogue's claim the data set's
knowledge and the conversation. Every claim has its text's gold label, so only scores of whole texts are meaningful.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from redargue.assembly import method_of
from redargue.bench.datasets.base import Example
from redargue.claims import Claim
from redargue.errors import BadReply
from redargue.evidence import Passage
from redargue.files import make_folder, open_to_write, replacing
from redargue.nli.session import shared
from redargue.parts import Parts
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.run import Run
from redargue.sanitize import counted
from redargue.spec import RunSpec
from redargue.text.extract import extract
from redargue.text.segment import Kind, Text
from redargue.text.verification import nearest_sentences
from redargue.verifier import Verifier


def claims_of_texts(
    examples: Sequence[Example], kind: Kind, spec: RunSpec, path: Path, tell: Callable[[str], None]
) -> tuple[Example, ...]:
    """The claims of all texts, each with its text's id as ``response``.

    A text from which no claim can be taken is verified whole, as one claim. The file ``path`` keeps the claims, a line
    per text, so that a resumed bench has the same ones.
    """
    known = _read(path)
    if missing := [example for example in examples if example.id not in known]:
        tell(f"taking the claims out of {counted(len(missing), 'text')}")
        make_folder(path.parent)
        with replacing(path) as file:  # without a line that was cut off
            file.write("".join(map(_line, known.items())).encode())
        known |= asyncio.run(_extracted(missing, kind, spec, path))
    return tuple(claim for example in examples for claim in _examples(example, kind, known[example.id]))


def _read(path: Path) -> dict[str, list[str]]:
    if not path.exists():
        return {}
    rows = path.read_text(encoding="utf-8").split("\n")[:-1]  # the last may be cut off
    return {row["text"]: row["claims"] for row in map(json.loads, rows)}


def _line(row: tuple[str, list[str]]) -> str:
    text, claims = row
    return json.dumps({"text": text, "claims": claims}, ensure_ascii=False) + "\n"


async def _extracted(examples: Sequence[Example], kind: Kind, spec: RunSpec, path: Path) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    unused = Parts(evidence={name: FixedPassages(()) for name in method_of(spec).tools()})
    with Verifier(spec, parts=unused) as verifier, open_to_write(path, append=True) as lines:
        async with verifier.transport:
            for example in examples:
                context = example.claim.context if kind == "dialogue" else ""
                text = Text(text=example.claim.text, kind=kind, context=context)
                run = Run(
                    verifier.backend,
                    seed=spec.seed,
                    budget=verifier.budget,
                    models=spec.models,
                    priced=verifier.priced,
                )
                try:
                    extraction = await extract(text, run, profile=verifier.method.settings.profile)
                    found = [located.claim for located in extraction.claims]
                except BadReply:
                    found = []
                claims[example.id] = found
                lines.write(_line((example.id, found)).encode())
                lines.flush()
    return claims


def _examples(example: Example, kind: Kind, claims: Sequence[str]) -> list[Example]:
    if not claims:
        return [example.model_copy(update={"response": example.id})]
    context = example.claim.context if kind == "dialogue" else ""
    if kind == "summary":
        passages = nearest_sentences(claims, example.passages, shared())
    else:
        conversation = (Passage(text=context, title="The conversation"),) if context else ()
        passages = [(*example.passages, *conversation)] * len(claims)
    return [
        example.model_copy(
            update={
                "id": f"{example.id}.{number}",
                "claim": Claim(text=text, context=context, labels=example.claim.labels),
                "passages": read,
                "response": example.id,
            }
        )
        for number, (text, read) in enumerate(zip(claims, passages, strict=True), 1)
    ]
