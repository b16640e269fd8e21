"""Faithfulness and answer relevance beside ragas' own, which an environment of its own computes on the same cases.

Both sides get the same replies and vectors; what differs is who asks and computes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks import ragas_cases
from benchmarks.ragas_cases import Case
from redargue.backends.base import Call
from redargue.backends.scripted import ScriptedBackend
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.faithfulness import faithfulness
from redargue.methods.tool_mad.scores import relevance
from redargue.methods.tool_mad.settings import Asked, Noncommittal
from redargue.run import Run
from redargue.tasks.score import (
    CheckedStatements,
    CheckStatements,
    CompareTexts,
    Question,
    Similarities,
    Statements,
    WriteQuestion,
    WriteStatements,
)

PYTHON = "REDARGUE_RAGAS_PYTHON"
HOW = (
    f"skipped: {PYTHON} names no Python that has ragas; make one with `python3 -m venv build/ragas && "
    "build/ragas/bin/pip install ragas==0.3.0 pillow 'langchain<0.4' 'openai<2'` and set it to build/ragas/bin/python"
)
INPUTS: dict[type, set[str]] = {
    WriteStatements: {"question", "answer"},
    CheckStatements: {"context", "statements"},
    WriteQuestion: {"response"},
}
ROUNDING = 5.1e-10  # redargue rounds its scores to nine places
RULES: tuple[Noncommittal, ...] = get_args(Noncommittal)
ASKED: tuple[Asked, ...] = ("samples", "requests")


def main(arguments: list[str]) -> None:
    """Prints, for each metric and rule, the largest difference and the cases that only one side leaves undefined."""
    parser = argparse.ArgumentParser(prog="benchmarks ragas", description=__doc__)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--generated", type=int, default=200, help="cases by chance, beside those by hand")
    given = parser.parse_args(arguments)
    python = os.environ.get(PYTHON)
    if not python:
        print(HOW)
        return
    cases = ragas_cases.every(given.seed, given.generated)
    version, theirs = reference(python, cases)
    ours = asyncio.run(scores(cases))
    otherwise = [
        case.name
        for case, mine, other in zip(cases, ours, theirs, strict=True)
        if _distinct(mine["inputs"]) != _distinct(other["inputs"])
    ]
    print(json.dumps({"ragas": version, "cases": len(cases), "asked otherwise": otherwise}))
    for metric, rule in [("faithfulness", None), *(("relevance", rule) for rule in RULES)]:
        line = compare(cases, [mine[rule or metric] for mine in ours], [other[metric] for other in theirs])
        print(json.dumps({"metric": metric, **({"noncommittal": rule} if rule else {}), **line}), flush=True)


def reference(python: str, cases: list[Case]) -> tuple[str, list[dict[str, Any]]]:
    """The version of ragas, and its scores."""
    script = Path(__file__).with_name("ragas_scores.py")
    said = subprocess.run(
        [python, "-I", str(script)],
        input=json.dumps([asdict(case) for case in cases]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    read = json.loads(said.stdout)
    return read["version"], read["scores"]


async def scores(cases: list[Case]) -> list[dict[str, Any]]:
    """Our scores of each case: faithfulness, relevance by rule (of one request and of three), the inputs."""
    out = []
    for case in cases:
        backend = scripted(case)
        contexts = tuple(Passage(text=text) for text in case.contexts)
        scored = await faithfulness(_agent(backend), case.question, case.answer, contexts, profile="paper")
        row: dict[str, Any] = {"faithfulness": [scored.value], "inputs": inputs(backend)}
        for rule in RULES:
            row[rule] = []
            for asked in ASKED:
                backend = scripted(case)
                scored = await relevance(
                    _agent(backend), case.question, case.answer, noncommittal=rule, asked=asked, profile="paper"
                )
                row[rule].append(scored.value)
                row["inputs"] += inputs(backend)
        out.append(row)
    return out


def scripted(case: Case) -> ScriptedBackend:
    """A backend that replies as the case says, with cosines of the case's vectors."""

    def cosines(task: CompareTexts, call: Call) -> Similarities:
        claim = np.array(case.vectors[task.reference], np.float64)
        texts = np.array([case.vectors[text] for text in task.texts], np.float64)
        values = texts @ claim / (np.linalg.norm(texts, axis=1) * np.linalg.norm(claim))
        return Similarities(values=tuple(values.tolist()))

    checked = [{"statement": text, "verdict": verdict} for text, verdict in case.verdicts]
    return ScriptedBackend(
        {
            WriteStatements: Statements(statements=case.statements),
            CheckStatements: CheckedStatements.model_validate({"statements": checked}),
            WriteQuestion: [
                Question.model_validate({"question": text, "noncommittal": flag}) for text, flag in case.questions
            ],
            CompareTexts: cosines,
        }
    )


def inputs(backend: ScriptedBackend) -> list[dict[str, Any]]:
    """What the language model was given, in ragas' form."""
    return [
        task.model_dump(mode="json", include=INPUTS[type(task)]) for task, _ in backend.calls if type(task) in INPUTS
    ]


def compare(cases: list[Case], ours: list[list[float | None]], theirs: list[float | None]) -> dict[str, Any]:
    """How far two columns of scores are apart; ``ours`` holds several a case where there are several ways to ask."""
    pairs = [(case.name, value, other) for case, mine, other in zip(cases, ours, theirs, strict=True) for value in mine]
    apart = [(abs(value - other), name) for name, value, other in pairs if value is not None and other is not None]
    return {
        "scores": len(pairs),
        "both undefined": sum(value is None and other is None for _, value, other in pairs),
        "max difference": max(apart)[0],
        "cases apart": len({name for difference, name in apart if difference > ROUNDING}),
        "cases undefined on one side": sorted(
            {name for name, value, other in pairs if (value is None) != (other is None)}
        ),
    }


def _agent(backend: ScriptedBackend) -> Agent:
    return Agent("scored", Run(backend))


def _distinct(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [case for i, case in enumerate(given) if case not in given[:i]]
