"""A run folder's manifest, where a test needs one and does not read it."""

from __future__ import annotations

from redargue.runs.manifest import RunManifest

MANIFEST = RunManifest(
    method="tool-mad",
    profile="hardened",
    settings={},
    backend="scripted",
    identity="scripted",
    stability=(0.5, 0.5),
    tools={},
    seed=0,
)
