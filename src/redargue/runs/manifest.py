"""What a run folder is made for, as ``run.json`` holds it: another manifest is another run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError

from redargue.claims import Claim, Frozen
from redargue.errors import RecordError
from redargue.verdicts import MethodName

FORMAT = 2  # 1: redargue 0.1.0, which wrote no number


class ToolEntry(Frozen):
    """An evidence tool of a run; its answers are in the events."""

    name: str = ""
    about: str = ""
    revision: str = ""


class ActionEntry(Frozen):
    """A tool that agents call with arguments; prompts hold its description and schema, so a replay needs them."""

    about: str
    revision: str
    parameters: dict[str, JsonValue]


class RunManifest(Frozen):
    """The resolved configuration of a run: what its results depend on, and nothing that may differ on resuming.

    Attributes:
        format: version of this file.
        run: the run's name, which it keeps when its folder is moved.
        redargue: the version that verified the claims.
        settings: all settings of the method.
        backend: registered name.
        identity: which models, weights and parameters the backend has.
        stability: thresholds of faithfulness and relevance that belong to the backend.
        models: of single roles.
        priced: whether costs are known in dollars.
        response_format: of a backend that asks language models; empty for others.
        prompts: prompt overrides, by task.
        memory: how the evidence memory is used; None without one.
        tools: evidence tools by the names that the settings use.
        actions: tools that agents call, in the order of the prompts.
        text: the text that the claims were extracted from; None where they were given as claims.
    """

    format: Literal[2] = 2
    run: str = ""
    redargue: str = ""
    method: MethodName
    profile: str
    settings: dict[str, JsonValue]
    backend: str
    identity: str
    stability: tuple[float, float]
    models: dict[str, str] = Field(default_factory=dict)
    priced: bool = False
    response_format: str = ""
    prompts: dict[str, str] = Field(default_factory=dict)
    memory: dict[str, JsonValue] | None = None
    tools: dict[str, ToolEntry]
    actions: dict[str, ActionEntry] = Field(default_factory=dict)
    seed: int
    claims: tuple[Claim, ...] = ()
    text: dict[str, JsonValue] | None = None

    def differing(self, other: RunManifest) -> tuple[str, str, str] | None:
        """The first field in which two manifests differ, with both values cut down to where they do; None for none."""
        if self.model_copy(update={"run": ""}) == other.model_copy(update={"run": ""}):
            return None
        mine, theirs = (each.model_dump(mode="json", exclude={"run"}) for each in (self, other))
        name = next(name for name in sorted(mine) if mine[name] != theirs[name])
        return name, *_apart(mine[name], theirs[name])


def read_manifest(values: object, where: str) -> RunManifest:
    """A manifest from JSON, in this format or that of redargue 0.1.0.

    Args:
        values: the parsed JSON.
        where: the file, for errors.

    Raises:
        RecordError: it is damaged, or written by a later version.
    """
    if not isinstance(values, dict):
        raise RecordError(f"{where!r} is not a run's description", hint="restore it, or run again")
    version = values.get("format", 1)
    if version not in range(1, FORMAT + 1):
        raise RecordError(
            f"{where!r} has the format {str(version)[:20]!r}, and this release reads 1 to {FORMAT}",
            hint="use the release that recorded the run, or a later one",
        )
    try:
        return RunManifest.model_validate(_of_0_1(values) if version == 1 else values)
    except ValidationError as error:
        first = error.errors()[0]
        raise RecordError(
            f"{where!r} is not a run's description: {'.'.join(map(str, first['loc']))}: {first['msg']}",
            hint="restore it, or run again",
        ) from error


def _of_0_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """Format 1 had no number, named the response format ``form``, and left out fields that did not apply."""
    kept = {name: value for name, value in values.items() if name != "form"}
    return {**kept, "format": FORMAT, "response_format": values.get("form", "")}


def _apart(old: Any, new: Any) -> tuple[str, str]:
    """Two values, cut down to where they differ."""
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return f"{len(old)} of them", str(len(new))
        place = next(at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other)
        return _apart(old[place], new[place])
    if isinstance(old, dict) and isinstance(new, dict):
        name = next(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))
        first, second = _apart(old.get(name), new.get(name))
        return f"{name} {first}", second
    return f"{old!r:.80}", f"{new!r:.80}"
