"""Claims and the label sets of their answers.

Labels are parsed as Tool-MAD's prompts request them (journal, Fig. 5): from the last line. The authors' program takes
the first substring instead, which misreads reasoning that mentions another label before its conclusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from redargue.errors import UsageError
from redargue.registry import ExtensionError, Registry
from redargue.sanitize import shortened

MAX_CLAIM = 20_000  # characters


def detail(default: Any) -> Any:
    """A field that JSON leaves out where it has its default, which is empty."""
    return Field(default=default, exclude_if=lambda value: not value)


class Frozen(BaseModel):
    """Base class of all data: immutable; an unknown field is an error, and so is a number that is not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __str__(self) -> str:
        return repr(self)


class Meaning(StrEnum):
    """What a label says about the claim, independent of the data set's own name for it."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    NOT_ENOUGH = "not_enough"
    CONFLICTING = "conflicting"
    OPTION = "option"


PLAIN = {
    Meaning.SUPPORTED: "Supported",
    Meaning.REFUTED: "Refuted",
    Meaning.NOT_ENOUGH: "Not enough evidence",
    Meaning.CONFLICTING: "Conflicting",
}


class Label(Frozen):
    """One answer of a label set."""

    name: str = Field(min_length=1)
    meaning: Meaning
    aliases: tuple[str, ...] = ()
    description: str = ""


class LabelSet(Frozen):
    """The closed set of answers that a claim may get.

    Attributes:
        name: kebab-case, as on the command line.
        labels: the answers; empty for free text.
        in_prose: whether a label within running text counts as an answer; off where labels are everyday words ("no",
            "A").
    """

    name: str
    labels: tuple[Label, ...] = ()
    in_prose: bool = True

    def __repr__(self) -> str:
        return f"<LabelSet {self.name}: {', '.join(self.names) or 'any text'}>"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(label.name for label in self.labels)

    @property
    def free_text(self) -> bool:
        return not self.labels

    @property
    def has_both_sides(self) -> bool:
        """Whether a claim may be supported or refuted, as the claims of a text have to be."""
        return {Meaning.SUPPORTED, Meaning.REFUTED} <= {label.meaning for label in self.labels}

    @property
    def judges_statements(self) -> bool:
        """Whether it has both sides and does not answer questions, as "yes" and "no" do."""
        return self.in_prose and self.has_both_sides

    def require(self, label: str | None, of: str) -> None:
        """Raises ExtensionError for a label of none of these that ``of``, a backend or method, returned."""
        if label is not None and self.labels and label not in self.names:
            hint = f"its author has to return one of {', '.join(self.names)}"
            raise ExtensionError(f"{of} returned {label!r}, which is not a label of {self.name!r}", hint=hint)

    def named(self, meaning: Meaning) -> str | None:
        return next((label.name for label in self.labels if label.meaning == meaning), None)

    def meaning(self, name: str) -> Meaning:
        for label in self.labels:
            if label.name == name:
                return label.meaning
        hint = f"labels: {', '.join(self.names)}"
        raise UsageError(f"{name!r} is not a label of {self.name!r}", hint=hint)

    def plain(self, name: str) -> str:
        """A label in plain words.

        Its own name is shown where it is an everyday word ("yes"), where several labels share its meaning, and where it
        has another meaning than those of :data:`PLAIN`.
        """
        meanings = {label.name: label.meaning for label in self.labels}
        words = PLAIN.get(meanings[name]) if name in meanings else None
        shared = name in meanings and list(meanings.values()).count(meanings[name]) > 1
        return words if words and self.in_prose and not shared else name

    def parse(self, text: str) -> str | None:
        """The label that an answer's text gives, or None, so that an unclear reply is asked for again.

        The last non-empty line decides, ignoring case where it is the label alone or a conclusion ("the claim is
        refuted"). If it names no label, earlier bold ones do, provided that every label of the text is the same. Labels
        that are denied ("nothing SUPPORTS it"), asked for or ascribed to another debater do not count.
        """
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not lines:
            return None
        if self.free_text:
            return lines[-1].strip("*_ ")
        if whole_line := self._whole(lines[-1]):
            return whole_line
        if len(lines[-1].split()) <= _SHORT and HEDGED_LABEL.search(lines[-1]):
            return None
        if named := self._stated(lines[-1]):
            bold = self._bold(lines[-1]) if len(named) > 1 else named
            return bold.pop() if len(bold) == 1 else None
        named = set[str]().union(*map(self._stated, lines))
        bold = set[str]().union(*(self._bold(line) for line in lines if not _ASCRIBED.search(line)))
        return bold.pop() if len(bold) == 1 and named <= bold else None

    def _stated(self, line: str) -> set[str]:
        """The labels that a line names, or concludes with, outside questions."""
        sentences = [each for each in re.split(r"(?<=[.!?;])\s+", line) if not each.endswith("?")]
        sentences = [each for each in sentences if not self._denied.search(each)]
        concluded = filter(None, map(self._concluded, sentences))
        return {*self._occurrences(" ".join(sentences)), *self._bold(line), *concluded}

    def _bold(self, line: str) -> set[str]:
        matches = re.findall(r"\*\*(.+?)\*\*", line)
        return set(filter(None, (self._by_alias.get(_bare(match)) for match in matches)))

    def _concluded(self, sentence: str) -> str | None:
        """The label of a sentence like "therefore, the claim is refuted by document 1", ignoring case."""
        names, subject = dict(self._by_alias), "answer|label|verdict"
        if self.in_prose:
            subject += "|claim|statement|conclusion|it"
            for meaning, words in _TRUTH.items():
                names |= dict.fromkeys(words, self.named(meaning) or "")
        any_name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        match = re.search(
            rf"\b(?:{subject})\b\W*(?:(?:is|was|must be|should be)\b)?\W*(?:(?:therefore|thus|clearly)\b\W*)?"
            rf"\b({any_name})(?:\W*$|\s+by\b)",
            sentence.replace("_", " "),
            re.IGNORECASE,
        )
        if not match or _HEDGED.search(sentence[: match.start(1)]):
            return None
        return names[_bare(match[1])] or None

    def first_substring(self, text: str) -> str | None:
        """The first label of the set whose name is a substring of the text, as in Tool-MAD's released program.

        An occurrence within another label's name does not count: NOT_SUPPORTED does not contain SUPPORTED. Free text,
        which that program does not have, is the last line.
        """
        if self.free_text:
            return self.parse(text)
        for name in self.names:
            rest = text
            for longer in self.names:
                rest = rest.replace(longer, " ") if name != longer and name in longer else rest
            if name in rest:
                return name
        return None

    def first_mentioned(self, text: str) -> str | None:
        """The label that occurs first in the text, ignoring case except for single letters (Kojima et al., 2022)."""
        if self.free_text:
            return text.strip() or None
        names = sorted(self.names, key=len, reverse=True)
        # "a" is not option A
        cased = (re.escape(name) if len(name) == 1 else f"(?i:{re.escape(name)})" for name in names)
        match = re.search(rf"(?<!\w)(?:{'|'.join(cased)})(?!\w)", text)
        return self._by_alias[_bare(match.group())] if match else None

    def single(self, text: str) -> str | None:
        """The only label that the text names; None where it names none or several."""
        if self.free_text:
            return text.strip() or None
        named = self._whole(text)
        if not named and HEDGED_LABEL.search(text):
            return None
        labels = {named} if named else set(self._occurrences(text))
        return labels.pop() if len(labels) == 1 else None

    def _whole(self, text: str) -> str | None:
        """The label of a text that is its name and nothing else, or plain words for "not enough"."""
        bare = _bare(text)
        if named := self._by_alias.get(bare):
            return named
        return self.named(Meaning.NOT_ENOUGH) if self.in_prose and _OPEN.fullmatch(bare) else None

    @property
    def _aliases(self) -> list[tuple[str, str]]:
        """Each name of a label, with the label."""
        return [(alias, each.name) for each in self.labels for alias in (each.name, *each.aliases)]

    @cached_property
    def _by_alias(self) -> dict[str, str]:
        return {_bare(alias): name for alias, name in self._aliases}

    @cached_property
    def _any_name(self) -> str:
        aliases = sorted((alias for alias, _ in self._aliases), key=len, reverse=True)
        return "|".join(map(re.escape, aliases))

    @cached_property
    def _denied(self) -> re.Pattern[str]:
        """A label up to two words after a denial ("no document SUPPORTS", "not say SUPPORTS"); not "not SUPPORTS"."""
        return re.compile(
            rf"\b(?:(?i:not)(?:\s+\w+){{1,2}}|(?:{_DENIAL})(?:\s+\w+){{0,2}})\s+(?:{self._any_name})(?!\w)"
        )

    def _occurrences(self, text: str) -> list[str]:
        if not self.in_prose:
            return []
        name = self._any_name  # which may itself begin with "not"
        matches = re.findall(rf"(?<!\w)(?:({name})|(?i:not)\s+(?:{name}))(?!\w)", text)
        return [self._by_alias[_bare(match)] for match in matches if match]


_DENIAL = r"(?i:no|none|nothing|never|neither|nor|cannot|whether|if|\w+n['’]t)"
_DOUBT = r"(?i:not|unless|unclear|uncertain|doubts?|may|might|could|would)"
_HEDGED = re.compile(rf"\b(?:{_DENIAL}|{_DOUBT})\b")
_ASCRIBED = re.compile(r"(?i)\b(?:debaters?|opponents?|agents?|others?|they|considered|said)\b")
_SHORT = 8  # words of a last line that is a label and little else
_SIDE = r"(?:true|false|(?:in)?correct|right|wrong|support(?:s|ed)?|refute[sd]?|contradict(?:s|ed)?)"
# "partially true", "most likely refuted", "SUPPORTS (low confidence)": half a label, which is asked for again.
HEDGED_LABEL = re.compile(
    r"(?i)\b(?:partial(?:ly)?|part(?:ly)?|half|most(?:ly)?|largely|mainly|somewhat|broadly|generally|nearly|almost"
    r"|(?:un)?likely|probab(?:ly|le)|possibl[ye]|potentially|perhaps|maybe|may be|might be|could be|plausibl[ye]"
    r"|seem(?:s|ingly)?|appear(?:s|ently)?|apparently|tend(?:s|ing)?|lean(?:s|ing)?|presumably|supposedly|arguably"
    r"|weak(?:ly)?|tentative(?:ly)?|roughly|guess|suspect|close)"
    rf"[\s-]+(?:\w+\s+){{0,2}}{_SIDE}\b"
    rf"|\b{_SIDE}\b[\s*_\"')]*(?:\?|\W*(?:\w+\s+){{0,3}}(?:caveats?|reservations?|qualifications?|tentative(?:ly)?"
    r"|(?:low|little|limited|moderate|some) confidence|in part\b|partly|or at least|probably|likely|perhaps|maybe"
    r"|to (?:some|a certain) (?:extent|degree)))"
)
_OPEN = re.compile(
    r"(?:the )?(?:(?:(?:not|too|in)[ -]?(?:enough|little|sufficient)|no) )(?:info(?:rmation)?|evidence|data)"
    r"|not[ -]enough[ -]info(?:rmation)?"
    r"|(?:the )?(?:evidence|information)(?: is)? (?:insufficient|inconclusive)"
    r"|inconclusive|undetermined|undecided|unverifiable|unverified|unknown|unclear"
    r"|(?:it )?(?:cannot|can not|could not) be (?:determined|decided|verified)"
    r"|neither (?:supported nor refuted|supports nor refutes|true nor false)"
)  # whole answers that name "not enough"
_TRUTH = {
    Meaning.SUPPORTED: ("true", "correct"),
    Meaning.REFUTED: ("false", "incorrect", "wrong", "untrue"),
}  # how a conclusion may say it


def _bare(text: str) -> str:
    return re.sub(r"[\s_]+", " ", text.strip(" \t*_`\"'.,:;!()[]{}<>#-")).casefold()


def _label(name: str, meaning: Meaning, description: str, *aliases: str) -> Label:
    return Label(name=name, meaning=meaning, aliases=aliases, description=description)


label_sets: Registry[LabelSet] = Registry("label set")


def _label_set(name: str, *labels: Label, in_prose: bool = True) -> LabelSet:
    return label_sets.register(name)(LabelSet(name=name, labels=labels, in_prose=in_prose))


_CORRECT, _INCORRECT = "the claim is correct", "the claim is incorrect"
_UNSETTLED = "the evidence does not settle the claim"
_SUPPORTS = _label("SUPPORTS", Meaning.SUPPORTED, _CORRECT, "SUPPORTED", "SUPPORT")
_REFUTES = _label("REFUTES", Meaning.REFUTED, _INCORRECT, "REFUTED", "REFUTE", "CONTRADICT")
_MORE_NAMES = ("NOT ENOUGH INFORMATION", "NEI")
_NEI = _label("NOT ENOUGH INFO", Meaning.NOT_ENOUGH, _UNSETTLED, *_MORE_NAMES)

FEVER = _label_set("fever", _SUPPORTS, _REFUTES, _NEI)
TWO = _label_set("two", _SUPPORTS, _REFUTES)
AVERITEC = _label_set(
    "averitec",
    _label("Supported", Meaning.SUPPORTED, _CORRECT),
    _label("Refuted", Meaning.REFUTED, _INCORRECT),
    _label("Not Enough Evidence", Meaning.NOT_ENOUGH, _UNSETTLED),
    _label(
        "Conflicting Evidence/Cherrypicking",
        Meaning.CONFLICTING,
        "the evidence contradicts itself, or the claim leaves out what matters",
        *("Conflicting Evidence", "Cherrypicking"),
    ),
)
YES_NO_MAYBE = _label_set(
    "yes-no-maybe",
    _label("yes", Meaning.SUPPORTED, "the answer is yes"),
    _label("no", Meaning.REFUTED, "the answer is no"),
    _label("maybe", Meaning.NOT_ENOUGH, "the evidence does not settle the question"),
    in_prose=False,
)
_ALIASES = ("option {}", "answer {}", "({})")
OPTIONS = _label_set(
    "options",
    *(_label(each, Meaning.OPTION, "", *(alias.format(each) for alias in _ALIASES)) for each in "ABCDE"),
    in_prose=False,
)
FREE_TEXT = _label_set("free-text")


def read_labels(text: str) -> LabelSet:
    """A label set by its name, or the user's own words for labels: ``true=SUPPORTS,false=REFUTES``.

    The words become the names of the labels, further words for the same label its aliases. What they stand for is a
    label of FEVER or AVeriTeC or a :class:`Meaning`, in any case.

    Raises:
        UsageError: unknown name, or a word without a label.
    """
    if "=" not in text:
        return label_sets[text]
    known: dict[str, Label] = {}
    for label in (*AVERITEC.labels, *FEVER.labels):
        known |= dict.fromkeys(map(_bare, (label.name, *label.aliases, label.meaning)), label)
    words: dict[Meaning, list[str]] = {}
    meant: dict[Meaning, str] = {}
    for part in text.split(","):
        word, _, name = (each.strip() for each in part.partition("="))
        named = known.get(_bare(name))
        if not word or named is None:
            hint = f"write WORD=LABEL,WORD=LABEL with the labels {', '.join(FEVER.names)} or conflicting"
            what = f"cannot read {part.strip()!r} in the labels {text!r}"
            raise UsageError(what, where="--labels", hint=hint)
        if any(_bare(word) in map(_bare, others) for others in words.values()):
            what = f"the word {word!r} appears twice in the labels {text!r}"
            raise UsageError(what, where="--labels")
        words.setdefault(named.meaning, []).append(word)
        meant.setdefault(named.meaning, named.description)
    labels = (_label(name, each, meant[each], *others) for each, (name, *others) in words.items())
    return LabelSet(name=text, labels=tuple(labels), in_prose=False)


def as_date(value: object) -> date | None:
    """A date, or one that is written as a text; None for an empty text. Raises ValueError for times and numbers."""
    if value is None or isinstance(value, date):
        return value
    with suppress(ValueError):
        if isinstance(value, str):
            return date.fromisoformat(value) if value else None
    raise ValueError("a date is written like 2024-03-31")


AsOf = Annotated[date | None, BeforeValidator(as_date)]


class Claim(Frozen):
    """A statement to verify.

    Attributes:
        text: one statement; control characters other than line breaks and tabs are refused.
        context: the dialogue or document that contains the statement. It is shown to language models; the embedded
            backend reads the text alone.
        options: the texts of options A, B, …, where the label set is ``options``.
        as_of: as-of date; tools that can do so leave out later evidence. None for today.
        only_in_time: leave out, and count, evidence that is later than ``as_of`` or undated; otherwise it is marked.
    """

    text: str
    context: str = ""
    options: tuple[str, ...] = ()
    labels: LabelSet = FEVER
    as_of: AsOf = None
    only_in_time: bool = False

    def __repr__(self) -> str:
        as_of = f", as of {self.as_of}" if self.as_of else ""
        return f"<Claim {shortened(self.text)!r} ({self.labels.name}{as_of})>"

    @field_validator("text")
    @classmethod
    def _checkable(cls, text: str) -> str:
        text = text.strip()
        if not re.search(r"\w", text):
            raise ValueError(f"{text!r} contains no word to check")
        if len(text) > MAX_CLAIM:
            raise ValueError(f"{len(text):,} characters; the limit is {MAX_CLAIM:,}")
        return readable(text)

    @field_validator("context", "options")
    @classmethod
    def _all_readable(cls, value: Any) -> Any:
        for text in (value,) if isinstance(value, str) else value:
            readable(text)
        return value

    @field_validator("labels")
    @classmethod
    def _of_its_options(cls, labels: LabelSet, given: ValidationInfo) -> LabelSet:
        """Without letters that stand for no option."""
        count = len(given.data.get("options", ()))
        if not 0 < count < len(labels.labels) or labels.labels[count].meaning is not Meaning.OPTION:
            return labels
        return LabelSet(name=labels.name, labels=labels.labels[:count], in_prose=labels.in_prose)

    def option(self, line: str) -> str | None:
        """The letter of the option whose text a line is, alone or after its letter; None for any other line."""
        said = _one_line(line)
        for label, text in zip(self.labels.labels, self.options, strict=False):
            marked = rf"(?:\(?{label.name.casefold()} ?[).:,]* )?{re.escape(_one_line(text))}"
            named = rf"(?:(?:the )?(?:final |correct )?answer(?: is)?:? )?(?:option )?{marked}"
            if label.meaning is Meaning.OPTION and re.fullmatch(named, said):
                return label.name
        return None

    @model_validator(mode="after")
    def _answerable(self) -> Claim:
        if self.only_in_time and self.as_of is None:
            raise ValueError("only_in_time needs an as-of date (as_of)")
        options, labels = len(self.options), len(self.labels.labels)
        if options > labels:
            raise ValueError(f"{options} options, but {self.labels.name!r} has {labels} labels")
        return self


def _one_line(text: str) -> str:
    return re.sub(r"[\s*_`]+", " ", text).strip(" .").casefold()


def with_strict_as_of(claims: Iterable[Claim]) -> list[Claim]:
    claims = list(claims)
    for claim in claims:
        if claim.as_of is None:
            what, hint = f"no as-of date for {claim.text[:60]!r}", "give one: --as-of 2024-03-31"
            raise UsageError(what, where="--strict-as-of", hint=hint)
    return [claim.model_copy(update={"only_in_time": True}) for claim in claims]


def readable(text: str) -> str:
    """Returns the text; raises ValueError for a control character or a lone surrogate."""
    if control := re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
        raise ValueError(f"control character {control.group()!r} at position {control.start()}")
    if broken := re.search(r"[\ud800-\udfff]", text):
        raise ValueError(f"a lone surrogate (not UTF-8) at position {broken.start()}")
    return text
