"""What is checked, and the closed set of answers it may get.

Labels are parsed as Tool-MAD's prompts demand them (journal, Fig. 5: the last line), never by first substring, which
is what the authors' program does and what misreads reasoning that names another label on its way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from redargue.errors import UsageError
from redargue.registry import Registry


class Frozen(BaseModel):
    """Base of all data: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Meaning(StrEnum):
    """What a label says about the claim, whatever a data set calls it."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    NOT_ENOUGH = "not_enough"
    CONFLICTING = "conflicting"
    OPTION = "option"


class Label(Frozen):
    """One answer of a label set."""

    name: str = Field(min_length=1)
    meaning: Meaning
    aliases: tuple[str, ...] = ()
    description: str = ""


class LabelSet(Frozen):
    """The closed set of answers that a data set or a user wants.

    Attributes:
        name: kebab-case, as on the command line.
        labels: the answers; empty for free text.
        in_prose: whether a label standing in running text counts as an answer. Off where the labels are everyday
            words ("no", "A"), which running text holds by chance.
    """

    name: str
    labels: tuple[Label, ...] = ()
    in_prose: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The labels' own names, in order."""
        return tuple(label.name for label in self.labels)

    @property
    def free_text(self) -> bool:
        """Whether any text is an answer."""
        return not self.labels

    def named(self, meaning: Meaning) -> str | None:
        """The first label with that meaning, or None where the set has none."""
        return next((label.name for label in self.labels if label.meaning == meaning), None)

    def meaning(self, name: str) -> Meaning:
        """What the label called ``name`` says.

        Raises:
            UsageError: the set has no such label.
        """
        for label in self.labels:
            if label.name == name:
                return label.meaning
        raise UsageError(f"{name!r} is not a label of {self.name!r}", hint=f"labels: {', '.join(self.names)}")

    def parse(self, text: str) -> str | None:
        """The label that an answer's text gives, or None; None is no answer and equals nothing.

        The last non-empty line decides; where it names no label or several, the last bold label; then the last label
        anywhere. An occurrence after "not" is no occurrence (unless it belongs to the label).
        """
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not lines:
            return None
        if self.free_text:
            return lines[-1].strip("*_ ")
        whole = self._by_alias.get(_bare(lines[-1]))
        if whole:
            return whole
        found = self._occurrences(lines[-1])
        if len(set(found)) == 1:
            return found[0]
        bold = [self._by_alias.get(_bare(match)) for match in re.findall(r"\*\*(.+?)\*\*", text)]
        named = [label for label in bold if label]
        if named:
            return named[-1]
        found = self._occurrences(text)
        return found[-1] if found else None

    def first_inside(self, text: str) -> str | None:
        """The first label of the set whose name stands anywhere in a text, as the authors of Tool-MAD read answers.

        An answer that weighs "SUPPORTS" before it concludes otherwise is misread; None where no name stands there.
        """
        return next((label.name for label in self.labels if label.name in text), None)

    def first_said(self, text: str) -> str | None:
        """The label whose name comes first in a text, in any case but for single letters; None where none stands there.

        So Kojima et al. (2022) read short replies: of several candidates the first, without a look at what is said of
        it.
        """
        if self.free_text:
            return text.strip() or None
        names = sorted((label.name for label in self.labels), key=len, reverse=True)
        # "a" is no option A
        cased = (re.escape(name) if len(name) == 1 else f"(?i:{re.escape(name)})" for name in names)
        found = re.search(rf"(?<!\w)(?:{'|'.join(cased)})(?!\w)", text)
        return self._by_alias[_bare(found.group())] if found else None

    def single(self, text: str) -> str | None:
        """The one label that a text of nothing but a label names; None where it names none or several."""
        if self.free_text:
            return text.strip() or None
        named = self._by_alias.get(_bare(text))
        found = {named} if named else set(self._occurrences(text))
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _by_alias(self) -> dict[str, str]:
        return {_bare(alias): label.name for label in self.labels for alias in (label.name, *label.aliases)}

    def _occurrences(self, text: str) -> list[str]:
        if not self.in_prose:
            return []
        names = sorted(
            (alias for label in self.labels for alias in (label.name, *label.aliases)), key=len, reverse=True
        )
        some = "|".join(map(re.escape, names))
        said = re.findall(rf"(?<!\w)(?:({some})|(?i:not)\s+(?:{some}))(?!\w)", text)  # a label may begin with "not"
        return [self._by_alias[_bare(name)] for name in said if name]


def _bare(text: str) -> str:
    """A label as it is compared: no decoration, no case, single spaces."""
    return re.sub(r"[\s_]+", " ", text.strip(" \t*_`\"'.,:;!()[]{}<>#-")).casefold()


def _label(name: str, meaning: Meaning, *aliases: str, description: str = "") -> Label:
    return Label(name=name, meaning=meaning, aliases=aliases, description=description)


label_sets: Registry[LabelSet] = Registry("label set")

_SUPPORTS = _label("SUPPORTS", Meaning.SUPPORTED, "SUPPORTED", "SUPPORT", description="the claim is correct")
_REFUTES = _label("REFUTES", Meaning.REFUTED, "REFUTED", "REFUTE", "CONTRADICT", description="the claim is incorrect")
_NEI = _label(
    "NOT ENOUGH INFO",
    Meaning.NOT_ENOUGH,
    "NOT ENOUGH INFORMATION",
    "NEI",
    description="the evidence does not settle the claim",
)

FEVER = label_sets.register("fever")(LabelSet(name="fever", labels=(_SUPPORTS, _REFUTES, _NEI)))
TWO = label_sets.register("two")(LabelSet(name="two", labels=(_SUPPORTS, _REFUTES)))
AVERITEC = label_sets.register("averitec")(
    LabelSet(
        name="averitec",
        labels=(
            _label("Supported", Meaning.SUPPORTED, description="the claim is correct"),
            _label("Refuted", Meaning.REFUTED, description="the claim is incorrect"),
            _label("Not Enough Evidence", Meaning.NOT_ENOUGH, description="the evidence does not settle the claim"),
            _label(
                "Conflicting Evidence/Cherrypicking",
                Meaning.CONFLICTING,
                "Conflicting Evidence",
                "Cherrypicking",
                description="the evidence contradicts itself, or the claim leaves out what matters",
            ),
        ),
    )
)
YES_NO_MAYBE = label_sets.register("yes-no-maybe")(
    LabelSet(
        name="yes-no-maybe",
        in_prose=False,
        labels=(
            _label("yes", Meaning.SUPPORTED, description="the answer is yes"),
            _label("no", Meaning.REFUTED, description="the answer is no"),
            _label("maybe", Meaning.NOT_ENOUGH, description="the evidence does not settle the question"),
        ),
    )
)
OPTIONS = label_sets.register("options")(
    LabelSet(
        name="options",
        in_prose=False,
        labels=tuple(
            _label(letter, Meaning.OPTION, f"option {letter}", f"answer {letter}", f"({letter})") for letter in "ABCDE"
        ),
    )
)
FREE_TEXT = label_sets.register("free-text")(LabelSet(name="free-text"))


class Claim(Frozen):
    """The text to check.

    Attributes:
        text: one statement; control characters other than line breaks and tabs are refused.
        context: what the statement stands in (a dialogue, a document); may be empty. A language model is shown it; the
            embedded backend reads the text alone.
        options: the texts of options A, B, …, where the label set is ``options``.
        labels: the closed set of answers.
        as_of: the day on which the claim is to be judged; tools that can leave out what came later. None for today.
        only_in_time: evidence that was published after that day, or says nowhere when, is left out and counted; else it
            is marked.
    """

    text: str
    context: str = ""
    options: tuple[str, ...] = ()
    labels: LabelSet = FEVER
    as_of: date | None = None
    only_in_time: bool = False

    @field_validator("text")
    @classmethod
    def _checkable(cls, text: str) -> str:
        text = text.strip()
        if not re.search(r"\w", text):
            raise ValueError(f"{text!r} holds no word to check")
        if len(text) > MAX_CLAIM:
            raise ValueError(f"a claim of {len(text):,} characters; the limit is {MAX_CLAIM:,}")
        return readable(text)

    @field_validator("context", "options")
    @classmethod
    def _all_readable(cls, given: Any) -> Any:
        for text in (given,) if isinstance(given, str) else given:
            readable(text)
        return given

    @model_validator(mode="after")
    def _answerable(self) -> Claim:
        if self.only_in_time and self.as_of is None:
            raise ValueError("evidence in time needs a day as of which the claim is judged (as_of)")
        if len(self.options) > len(self.labels.labels) and self.options:
            raise ValueError(
                f"{len(self.options)} options, but {self.labels.name!r} has {len(self.labels.labels)} labels"
            )
        return self


def in_time(claims: Iterable[Claim]) -> list[Claim]:
    """The claims, with evidence wanted that was published by each one's day.

    Raises:
        UsageError: a claim has no day.
    """
    found = []
    for claim in claims:
        if claim.as_of is None:
            raise UsageError(
                f"no as-of date for {claim.text[:60]!r}", where="--strict-as-of", hint="give one: --as-of 2024-03-31"
            )
        found.append(claim.model_copy(update={"only_in_time": True}))
    return found


def readable(text: str) -> str:
    """The text itself.

    Raises:
        ValueError: it holds a control character, or what is no character.
    """
    if control := re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
        raise ValueError(f"control character {control.group()!r} at position {control.start()}")
    if broken := re.search(r"[\ud800-\udfff]", text):
        raise ValueError(f"no text, but a byte that is not UTF-8, at position {broken.start()}")
    return text


MAX_CLAIM = 20_000
