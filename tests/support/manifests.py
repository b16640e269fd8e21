"""Manifests of run folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redargue.runs.manifest import BackendEntry, RunManifest
from redargue.spec import RECORDED, RunSpec

MANIFEST = RunManifest(
    spec=RunSpec(backend="scripted"),
    backend=BackendEntry(identity="scripted", stability=(0.5, 0.5)),
    tools={},
)  # for tests that need one and do not read it


def altered(manifest: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest in JSON with other values for fields of its spec, of its backend, or of its own."""
    new = dict(manifest)
    for name, value in change.items():
        if name in RECORDED:
            new["spec"] = {**new["spec"], name: value}
        elif name in BackendEntry.model_fields:
            new["backend"] = {**new["backend"], name: value}
        else:
            new[name] = value
    return new
