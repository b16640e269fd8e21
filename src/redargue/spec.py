"""The description of a run: for the command line, ``redargue.toml``, Python, services, workers, benches and records.

:class:`RunSpec` holds values that can be written as JSON. :class:`~redargue.assembly.Parts` holds objects to use
instead of making them from those values (:mod:`redargue.assembly`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict, Unpack, get_args

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from redargue.claims import FEVER, Claim, Frozen, LabelSet, as_date, read_labels
from redargue.errors import UsageError, problem_location, problem_of
from redargue.registry import did_you_mean
from redargue.runs.budget import Budget

ResponseFormat = Literal["auto", "schema", "json", "plain", "tools"]


def _read(kind: type, reader: Callable[[Any], Any]) -> BeforeValidator:
    """Reads values of a kind; others are left as they are."""
    return BeforeValidator(lambda value: reader(value) if isinstance(value, kind) else value)


def read_date(value: object) -> date | None:
    """As :func:`~redargue.claims.as_date`; raises UsageError."""
    try:
        return as_date(value)
    except ValueError:
        hint = "write it like 2024-03-31"
        raise UsageError(f"{value!r:.80} is not a date", where="--as-of", hint=hint) from None


PathText = Annotated[str, _read(Path, str)]
NamedLabels = Annotated[LabelSet, _read(str, read_labels)]
DateText = Annotated[date | None, BeforeValidator(read_date)]


# What a run's results depend on. A record holds these fields alone: where its models, tools, files and budget are
# decided belongs to whoever resumes or replays it, and must not be decided by a folder that anyone may have written.
RECORDED = frozenset(
    "method profile settings backend reader model models embedding_model response_format max_tokens logprobs"
    " min_confidence seed".split()
)


# Chosen by accuracy and calls (docs/choosing.md): no debate is more often right than one reader of the same evidence,
# with any model.
DEFAULT_METHOD = "single-reader"
ANSWER_METHOD = "one-pass"  # of answers with documents, where a language model reads and no method is named
LANGUAGE_MODELS = frozenset({"chat", "transformers"})  # backends


class RunSpec(Frozen):
    """Everything that defines a run, as JSON values.

    Attributes:
        method: its registered name.
        settings: of the method, by field name, where they differ from the profile's.
        tools: evidence tools, one per debater where the method has debaters; None for the profile's.
        backend: registered name; empty for ``chat`` where a model is named, else ``embedded``.
        reader: an added model (``redargue models``) with which the embedded backend reads evidence; ``small`` for the
            bundled one; empty for the large one, or the bundled one where ``redargue-reader`` is not installed.
        base_url: of the models' endpoint; empty for the environment's.
        models: a model for an agent ("judge") or a task ("CheckStatements").
        response_format: how a language model is asked to reply (:class:`~redargue.llm.chat.ChatBackend`).
        prompts: a folder of prompt overrides, one TASK.txt per task, or ``printed:METHOD`` for those of its paper.
        memory: path or URL of the evidence memory; empty for the default one.
        store: path or URI of the corpus, or ``starter``; None for the default one, or the starter corpus without one.
        labels, as_of: of claims that are given as text.
        strict_as_of: leave out evidence that is later than a claim's as-of date, or undated.
        min_confidence: a verdict with a lower confidence, in [0, 1], is "not enough evidence"; None for the backend's
            default. A verdict without a confidence is not affected. The small reader leaves a claim open below 0.63; a
            lower value lets it decide more, and be wrong more often.
        budget: shared by all claims: ``40calls``, ``200ktok``, ``0.50usd``; None for no limit.
        prices: a price table (TOML); None for the default one.

    Raises:
        UsageError: an unknown name, or a value that does not fit; pydantic's error is its cause.
    """

    method: str = DEFAULT_METHOD
    profile: str = "hardened"
    settings: dict[str, object] = Field(default_factory=dict)
    tools: tuple[str, ...] | None = None
    mcp: tuple[str, ...] = ()
    backend: str = ""
    reader: str = ""
    model: str = ""
    models: dict[str, str] = Field(default_factory=dict)
    base_url: str = ""
    embedding_model: str = ""
    response_format: ResponseFormat = "auto"
    max_tokens: int = Field(default=4096, ge=1)
    stream: bool = False
    logprobs: bool = False
    prompts: Path | None = None
    memory: PathText = ""
    workspace: str = "default"
    store: PathText | None = None
    offline: bool = False
    labels: NamedLabels = FEVER
    as_of: DateText = None
    strict_as_of: bool = False
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    budget: str | None = None
    prices: Path | None = None
    seed: int = Field(default=0, ge=0, lt=1 << 53)

    @field_validator("budget")
    @classmethod
    def _readable_budget(cls, value: str | None) -> str | None:
        if value:
            Budget.parse(value)
        return value or None

    @field_validator("method")
    @classmethod
    def _choose_method(cls, value: str) -> str:
        return value or DEFAULT_METHOD

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, values: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            raise _explained(error) from error

    def __repr__(self) -> str:
        """The fields that differ from their defaults, so that it can be written in code."""
        defaults = dict(type(self)())
        changed = (f"{name}={value!r}" for name, value in self if value != defaults[name])
        return f"RunSpec({', '.join(changed)})"

    def updated(self, **changes: Unpack[SpecOptions]) -> RunSpec:
        given = {name: value for name, value in self if name in self.model_fields_set}
        return RunSpec(**{**given, **changes})

    def recorded(self) -> RunSpec:
        """The fields that results depend on; the others have their defaults."""
        return RunSpec(**{name: value for name, value in self if name in RECORDED})

    def claim(self, claim: str | Claim) -> Claim:
        """The claim as data; a text gets this configuration's labels and dates, which a :class:`Claim` must not get."""
        if isinstance(claim, Claim):
            if (self.labels, self.as_of, self.strict_as_of) != (FEVER, None, False):
                raise UsageError(
                    "labels and as_of apply to a claim that is given as text",
                    hint="set them on the Claim: Claim(text=…, labels=…, as_of=…)",
                )
            return claim
        if self.strict_as_of and self.as_of is None:
            hint = 'set one: as_of="2024-03-31"'
            raise UsageError("strict_as_of needs an as-of date", where="as_of", hint=hint)
        dates = {"as_of": self.as_of, "only_in_time": self.strict_as_of}
        try:
            return Claim(text=claim, labels=self.labels, **dates)
        except ValidationError as error:
            raise UsageError(f"this claim cannot be checked: {problem_of(error)}") from error


class SpecOptions(TypedDict, total=False):
    """The fields of :class:`RunSpec` as keywords; ``backend``, ``memory``, ``budget`` and ``prices`` apart."""

    method: str
    profile: str
    settings: Mapping[str, Any]
    tools: Sequence[str] | None
    mcp: Sequence[str]
    reader: str
    model: str
    models: Mapping[str, str]
    base_url: str
    embedding_model: str
    response_format: ResponseFormat
    max_tokens: int
    stream: bool
    logprobs: bool
    prompts: str | Path | None
    workspace: str
    store: str | Path | None
    offline: bool
    labels: str | LabelSet
    as_of: str | date | None
    strict_as_of: bool
    min_confidence: float | None
    seed: int


def _explained(error: ValidationError) -> UsageError:
    first = error.errors()[0]
    name, known = str(first["loc"][0]) if first["loc"] else "", list(RunSpec.model_fields)
    if first["type"] == "extra_forbidden":
        return UsageError(f"unknown option {name!r}", hint=did_you_mean(name, known))
    value = f"{first['input']!r:.200}"
    if name == "response_format":
        hint = did_you_mean(str(first["input"]), list(get_args(ResponseFormat)))
        return UsageError(f"replies cannot be requested as {value}", where=name, hint=hint)
    what = f"{value} does not fit {name!r}: {problem_of(error)}"
    return UsageError(what, where=problem_location(error))
