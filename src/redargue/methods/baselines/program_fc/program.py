"""Programs that check a claim (ProgramFC, Pan et al. 2023, arXiv 2305.12744, Section 3).

A program is parsed by its own grammar and becomes data; it is never run as Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from pydantic import Field, model_validator

from redargue.claims import Frozen
from redargue.tasks.base import text_field

MOST_STEPS = 20
LONGEST_TEXT = 600  # characters of a question or statement

ProgramFunction = Literal["Question", "Verify"]

_REFERENCE = re.compile(r"\{(\w+)\}")
_STEP = re.compile(r"(\w+)\s*=\s*(\w+)\s*\(\s*[fF]?([\"'])(.*)\3\s*\)")
_PREDICT = re.compile(r"\w+\s*=\s*Predict\s*\((.*)\)")
_IGNORED = re.compile(r"#.*|```.*|def\s+\w+\s*\(.*\)\s*:")  # comments, code fences and the function's header


class ProgramStep(Frozen):
    """A line of a program."""

    function: ProgramFunction = Field(description="Question to find something out, Verify to check a statement")
    text: str = text_field(
        "the question or the statement; {answer_1} stands for the answer to the first Question", LONGEST_TEXT
    )

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_REFERENCE.findall(self.text)))

    def filled(self, answers: Mapping[str, str]) -> str:
        """The text with answers instead of references; an answer's own braces are left alone."""
        return _REFERENCE.sub(lambda match: answers[match.group(1)], self.text)


class Program(Frozen):
    """A program: the n-th question's answer is ``answer_n``, the n-th statement ``fact_n``; every fact has to hold."""

    steps: tuple[ProgramStep, ...] = Field(
        description="in order; the facts of all Verify steps have to hold for the claim to be true",
        json_schema_extra={"minItems": 1, "maxItems": MOST_STEPS},
    )

    @model_validator(mode="after")
    def _in_order(self) -> Program:
        if len(self.steps) > MOST_STEPS:
            raise ValueError(f"{len(self.steps)} steps; a program has {MOST_STEPS} at most")
        known: set[str] = set()
        for name, step in zip(self.names, self.steps, strict=True):
            line = _line(name, step)
            if not step.text.strip():
                raise ValueError(f"{line}: the text is empty")
            for reference in step.references:
                if reference not in known:
                    raise ValueError(f"{line}: {{{reference}}} is not the answer of an earlier Question")
            if step.function == "Question":
                known.add(name)
        if all(step.function == "Question" for step in self.steps):
            raise ValueError("no Verify: the program checks nothing")
        return self

    @cached_property
    def names(self) -> tuple[str, ...]:
        return _names([step.function for step in self.steps])

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Indices of steps that do not depend on each other; a level needs those before it."""
        depth: dict[str, int] = {}
        levels: dict[int, list[int]] = {}
        for place, (name, step) in enumerate(zip(self.names, self.steps, strict=True)):
            depth[name] = max((depth[reference] + 1 for reference in step.references), default=0)
            levels.setdefault(depth[name], []).append(place)
        return tuple(map(tuple, levels.values()))

    @property
    def lines(self) -> str:
        """The lines alone, which :func:`parse_program` reads."""
        facts = " and ".join(name for name in self.names if name.startswith("fact"))
        return "\n".join([*map(_line, self.names, self.steps), f"label = Predict({facts})"])

    @property
    def text(self) -> str:
        return "\n".join(["def program():", *(f"    {line}" for line in self.lines.split("\n"))])


def _line(name: str, step: ProgramStep) -> str:
    return f'{name} = {step.function}("{step.text}")'


def _names(functions: list[ProgramFunction]) -> tuple[str, ...]:
    kinds = ["answer" if function == "Question" else "fact" for function in functions]
    return tuple(f"{kind}_{kinds[: place + 1].count(kind)}" for place, kind in enumerate(kinds))


def parse_program(text: str) -> Program:
    """Reads a program in the paper's form.

    Lines assign ``Question("...")`` and ``Verify("...")``; the first ``Predict(a and b)`` ends the program. Variables
    may have any name. Facts that Predict does not join, and answers that none of its facts needs, do not change the
    label and are left out.

    Raises:
        ValueError: names the line that is malformed, calls an unknown function or uses a variable that no line before
            it assigns; or there is no Predict, or nothing to verify.
    """
    written: dict[str, ProgramStep] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or _IGNORED.fullmatch(line):
            continue
        where = f"line {number} ({line[:80]!r})"
        if predict := _PREDICT.fullmatch(line):
            return _joined(written, predict.group(1), where)
        if len(written) == MOST_STEPS:
            raise ValueError(f"{where}: a program has {MOST_STEPS} steps at most")
        variable, step = _read(line, where)
        if variable in written:
            raise ValueError(f"{where}: {variable!r} is assigned twice")
        for reference in step.references:
            if reference not in written:
                raise ValueError(f"{where}: {reference!r} is not assigned on a line before it")
            if written[reference].function == "Verify":
                raise ValueError(f"{where}: {reference!r} is true or false, not a text")
        written[variable] = step
    raise ValueError("no Predict: the program does not end in label = Predict(...)")


def _read(line: str, where: str) -> tuple[str, ProgramStep]:
    match = _STEP.fullmatch(line)
    if match is None:
        raise ValueError(f'{where}: not of the form variable = Question("...") or variable = Verify("...")')
    variable, function, mark, quoted = match.groups()
    text = quoted.replace("\\" + mark, mark).strip()
    if function not in ("Question", "Verify"):
        raise ValueError(f"{where}: {function!r} is not one of the functions Question, Verify, Predict")
    if not text:
        raise ValueError(f"{where}: the text is empty")
    return variable, ProgramStep(function=function, text=text)


def _joined(written: Mapping[str, ProgramStep], argument: str, where: str) -> Program:
    """The steps that a Predict needs, under the names that every program has."""
    facts = re.split(r"\s+and\s+", argument.strip())
    for fact in facts:
        if fact not in written:
            raise ValueError(f"{where}: {fact[:80]!r} is not an earlier variable; Predict joins facts with 'and' alone")
        if written[fact].function == "Question":
            raise ValueError(f"{where}: {fact!r} is the answer to a question, neither true nor false")
    needed = set(facts)
    for variable, step in reversed(list(written.items())):
        if variable in needed:
            needed |= {*step.references}
    steps = {variable: step for variable, step in written.items() if variable in needed}
    names = zip(steps, _names([step.function for step in steps.values()]), strict=True)
    references = {variable: f"{{{name}}}" for variable, name in names}
    filled = (step.model_copy(update={"text": step.filled(references)}) for step in steps.values())
    return Program(steps=tuple(filled))
