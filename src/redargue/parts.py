"""Objects that a run uses instead of making them from its :class:`~redargue.spec.RunSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from redargue.backends.base import Backend
from redargue.errors import UsageError
from redargue.memory.base import EvidenceMemory
from redargue.net.transport import Transport
from redargue.registry import did_you_mean
from redargue.retrieval.tools.base import Action, PerClaim, Tool
from redargue.runs.budget import Budget, Prices
from redargue.runs.record import Clock
from redargue.spec import RunSpec, SpecOptions


class RunOptions(SpecOptions, total=False):
    """The fields of :class:`RunSpec`, for some of which an object may be given, and those of :class:`Parts`."""

    backend: str | Backend
    memory: str | Path | EvidenceMemory | None
    budget: str | Budget | None
    prices: str | Path | Prices | None
    evidence: Mapping[str, Tool | PerClaim]
    actions: Mapping[str, Action]
    transport: Transport | None
    clock: Clock | None


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Objects that a run uses instead of making them from its :class:`RunSpec`; the caller closes them.

    Attributes:
        evidence: evidence tools by the names in the settings, including tools that differ between claims
            (:class:`~redargue.retrieval.tools.base.PerClaim`); others are made from the configuration.
        actions: tools that agents call with arguments, by name; asynchronous context managers
            (:class:`~redargue.retrieval.mcp.client.McpTool`) are entered while claims are verified. None until
            :func:`redargue.assembly.connect` has listed the tools of the MCP servers.
    """

    backend: Backend | None = None
    memory: EvidenceMemory | None = None
    budget: Budget | None = None
    prices: Prices | None = None
    evidence: Mapping[str, Tool | PerClaim] = field(default_factory=dict)
    actions: Mapping[str, Action] | None = None
    transport: Transport | None = None
    clock: Clock | None = None


OBJECTS = tuple(part.name for part in fields(Parts))


def read_options(options: RunOptions, spec: RunSpec | None = None, parts: Parts | None = None) -> tuple[RunSpec, Parts]:
    values: dict[str, Any] = {}
    objects: dict[str, Any] = {}
    for name, value in options.items():
        known = name in RunSpec.model_fields
        if name in OBJECTS and not (known and isinstance(value, str | Path)):
            if value is not None:
                objects[name] = value
        elif known:
            values[name] = value
        else:
            names = dict.fromkeys([*RunSpec.model_fields, *OBJECTS])
            raise UsageError(f"unknown option {name!r}", hint=did_you_mean(name, names))
    spec = (spec or RunSpec()).updated(**values) if values else spec or RunSpec()
    return spec, replace(parts or Parts(), **objects)
