"""The manifest of a run (``run.json``): the configuration that its results depend on."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, FiniteFloat, JsonValue, PlainSerializer, ValidationError

from redargue.claims import Claim, Frozen
from redargue.errors import RecordError, UsageError, problem_location, problem_of
from redargue.evidence import UnreadFile
from redargue.files import open_to_read
from redargue.spec import RECORDED, RunSpec

_FORMAT = 3
_LARGEST = 1_000_000_000  # bytes of a description, which has the texts of all claims


class _Entry(Frozen):
    @classmethod
    def of(cls, tool: object) -> Self:
        return cls(**{name: getattr(tool, name) for name in cls.model_fields})


class ToolEntry(_Entry):
    """An evidence tool of a run."""

    name: str = ""
    about: str = ""
    revision: str = ""


class ActionEntry(_Entry):
    """A tool that agents call; a replay needs its description and schema, which are part of prompts."""

    about: str
    revision: str
    parameters: dict[str, JsonValue]


class BackendEntry(Frozen):
    """The backend of a run.

    Attributes:
        stability: thresholds of faithfulness and of answer relevance.
        threshold: the least confidence of its verdicts where the spec names none.
        address: of its models' endpoint; compared, and never contacted.
    """

    identity: str
    stability: tuple[FiniteFloat, FiniteFloat]
    threshold: float = Field(default=0.0, ge=0, le=1)
    address: str = ""


class Origin(Frozen):
    """What a run was given, as far as no verdict depends on it.

    Attributes:
        name: of the file that the text or the claims came from; empty where they came from none.
        unread_files: given as sources, and not read.
    """

    name: str = ""
    unread_files: tuple[UnreadFile, ...] = ()


def _only_recorded(values: object) -> object:
    if isinstance(values, dict) and (others := sorted(map(str, values.keys() - RECORDED))):
        raise ValueError(f"a record does not have {others[0][:40]!r}")
    return values


RecordedSpec = Annotated[
    RunSpec,
    BeforeValidator(_only_recorded),
    PlainSerializer(lambda spec: spec.model_dump(mode="json", include=set(RECORDED))),
]


class RunManifest(Frozen):
    """The resolved description of a run, without what may differ when it is resumed.

    Attributes:
        spec: with all settings of the method, and :data:`~redargue.spec.RECORDED` fields alone.
        prompts: the user's own, by file name.
        text: the source of the claims, and its extraction (:mod:`redargue.text.verification`).
    """

    format: Literal[3] = 3
    run: str = ""
    redargue: str = ""
    origin: Origin = Origin()
    spec: RecordedSpec
    backend: BackendEntry
    priced: bool = False
    prompts: dict[str, str] = Field(default_factory=dict)
    memory: dict[str, JsonValue] | None = None
    tools: dict[str, ToolEntry]
    actions: dict[str, ActionEntry] = Field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    text: dict[str, JsonValue] | None = None

    @property
    def is_local(self) -> bool:
        """Whether the embedded models perform the tasks: their calls and tokens cost nothing unless priced."""
        return self.spec.backend == "embedded"

    @property
    def threshold(self) -> float:
        """The confidence below which a verdict is "not enough evidence"."""
        least = self.spec.min_confidence
        return self.backend.threshold if least is None else least

    def differing(self, other: RunManifest) -> tuple[str, str, str] | None:
        """The first field that differs, with both values reduced to their difference; None if all are equal."""
        mine, theirs = self.facts(), other.facts()
        differing = (name for name in sorted(mine) if mine[name] != theirs[name])
        return next(((name, *_apart(mine[name], theirs[name])) for name in differing), None)

    def facts(self) -> dict[str, object]:
        """As JSON, all fields but the names of the run and of its file; those of spec and backend among them."""
        facts = self.model_dump(mode="json", exclude={"run", "origin", "spec", "backend"})
        facts |= self.origin.model_dump(mode="json", include={"unread_files"})
        facts |= self.backend.model_dump(mode="json")
        return facts | self.spec.model_dump(mode="json", include=set(RECORDED))


def replayed_by(recorded: object) -> str:
    """An error's hint: the release that recorded a run, and so can replay it; empty if it is this one, or not named.

    Anyone may have written the name, so that nothing else than a version is repeated.
    """
    own = version("redargue")
    other = recorded if isinstance(recorded, str) else ""
    if other == own or not re.fullmatch(r"(?a)\d[\w.+!]{0,30}", other):
        return ""
    replays = f"replays it (in an environment of its own, pip install redargue=={other})"
    return f"redargue {other} recorded the run and {replays}; this is redargue {own}"


def read_description(folder: Path) -> Any:
    """The JSON value in a run folder's ``run.json``, which anyone may have written; raises OSError and ValueError."""
    with open_to_read(folder / "run.json") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST:,} bytes")
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def load_manifest(folder: Path) -> RunManifest:
    """The manifest of a run folder; raises RecordError."""
    path = folder / "run.json"
    try:
        values = read_description(folder)
    except FileNotFoundError:
        hint = "a run folder has a run.json"
        raise RecordError(f"{str(folder)!r} contains no run", hint=hint) from None
    except (OSError, ValueError) as error:
        hint = "restore it, or run again"
        raise RecordError(f"{str(path)!r} cannot be read: {error}", hint=hint) from error
    return read_manifest(values, str(path))


def read_manifest(values: object, where: str) -> RunManifest:
    """Reads a manifest; raises RecordError."""
    what, again = f"{where!r} is not a run's description", "restore it, or run again"
    if not isinstance(values, dict):
        raise RecordError(what, hint=again)
    form = values.get("format")
    if form != _FORMAT:
        found = "no format number" if form is None else f"the format {str(form)[:20]!r}"
        raise RecordError(
            f"{where!r} has {found}, and this release reads {_FORMAT}",
            hint=replayed_by(values.get("redargue")) or "use the release that recorded the run",
        )
    try:
        return RunManifest.model_validate(values)
    except ValidationError as error:
        cause = f"{problem_location(error)}: {problem_of(error)}"
        raise RecordError(f"{what}: {cause}", hint=again) from error
    except UsageError as error:
        raise RecordError(f"{what}: {error.where or 'spec'}: {error.what}", hint=again) from error


def _apart(old: Any, new: Any) -> tuple[str, str]:
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{len(old)} of them", str(len(new))
        return next(_apart(*pair) for pair in zip(old, new, strict=True) if pair[0] != pair[1])
    if isinstance(old, dict) and isinstance(new, dict):
        name = next(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))
        first, second = _apart(old.get(name), new.get(name))
        return f"{name} {first}", second
    return f"{old!r:.80}", f"{new!r:.80}"
