"""Answers of a chatbot against their documents: which wrong sentences are found, and which right ones flagged.

100 answers of three sentences, written for this benchmark (``chatbot_answers.jsonl``): 50 that their documents support,
and the same with one sentence changed to a false one. Each is checked sentence by sentence, as the proxy checks it.
Printed: how many true and false sentences are supported, refuted, not supported, unchecked or without a claim. An
answer is flagged if one of its sentences, whichever, is refuted. With ``--forms``, the same for every form in which
chatbots write a sentence.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.service.proxy.block import block_of
from redargue.service.proxy.checker import AnswerCheck, Checkers
from redargue.service.proxy.settings import FIRST_READER, LONGEST_TIMEOUT, CheckOptions, ProxySettings, plan
from redargue.spec import RunSpec

ANSWERS = Path(__file__).parent / "chatbot_answers.jsonl"

FORMS = (
    "{}.",
    "According to the provided context, {}.",
    "{}, according to the provided context.",
    "The document states that {}.",
    "In the document, it is stated that {}.",
    "According to Document 1, {}.",
    "{} [1].",
    "{}. [Document 1]",
    "{} (Source: Document 1).",
    "{}【1†source】.",
    "* {}.",
    "**Answer:** {}.",
    "Sure 😀! {}.",
)


def main(arguments: list[str]) -> None:
    """Prints a line of JSON, and with ``--verbose`` the sentences that were judged wrongly."""
    parser = argparse.ArgumentParser(prog="benchmarks chatbot", description=__doc__)
    parser.add_argument("--method", default=FIRST_READER, help="debates what the first reader does not find supported")
    parser.add_argument("--forms", action="store_true", help="every sentence in the forms in which chatbots write one")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    for form in FORMS if given.forms else FORMS[:1]:
        rows = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()][: given.limit]
        for row in rows:
            row["sentences"] = [form.format(sentence[:-1]) for sentence in row["sentences"]]
        found = asyncio.run(_run(rows, given.method, verbose=given.verbose))
        print(json.dumps({"form": form, **found}, ensure_ascii=False), flush=True)


async def _run(rows: list[dict[str, Any]], method: str, *, verbose: bool) -> dict[str, object]:
    settings = ProxySettings(method=method, timeout_s=LONGEST_TIMEOUT, spec=RunSpec(method=method))
    checkers, counts = Checkers(settings), Counter[str]()
    decided = plan(settings, CheckOptions())
    for row in rows:
        sentences, false = list(row["sentences"]), row["false"]
        documents = (Passage(text=str(row["context"]), document="context-1"),)
        async with checkers.open(documents, decided) as readers:
            answer = AnswerCheck(readers)
            answer.add(" ".join(sentences))
            block = block_of(await answer.finish(LONGEST_TIMEOUT), decided, "chk")
        at, wrong = 0, False
        for number, sentence in enumerate(sentences):
            end = at + len(sentence)
            claims = [claim for claim in block.claims if at <= claim.start < end]
            found = _judged([claim.meaning for claim in claims])
            kind = "false" if number == false else "true"
            counts[f"{kind} {found}"] += 1
            wrong |= found == "refuted"
            if verbose and ((kind == "false") != (found == "refuted")):
                print(json.dumps({"sentence": sentence, "is": kind, "found": found}, ensure_ascii=False))
            at = end + 1
        counts[f"answer {'false' if false is not None else 'true'} {'flagged' if wrong else 'passed'}"] += 1
    await checkers.close()
    return {"method": method, "answers": len(rows), **dict(sorted(counts.items()))}


def _judged(meanings: list[Meaning | None]) -> str:
    if not meanings:
        return "no claim"
    if Meaning.REFUTED in meanings:
        return "refuted"
    if None in meanings:
        return "unchecked"
    return "supported" if set(meanings) == {Meaning.SUPPORTED} else "not supported"
