"""redargue verifies claims against evidence with published multi-agent protocols.

``redargue.verify("…")`` returns a verdict whose every quotation was found in the text that an agent saw.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redargue.api import verify, verify_sync, watch
    from redargue.backends.scripted import ScriptedBackend
    from redargue.claims import Claim, Label, LabelSet, Meaning
    from redargue.config import RunConfig
    from redargue.errors import RedargueError
    from redargue.evidence import Passage, Quote, QuoteStatus, Side
    from redargue.playback import replay
    from redargue.runs.budget import Budget
    from redargue.text.report import Report
    from redargue.text.verification import ground, verify_text
    from redargue.verdicts import Score, Usage, Verdict
    from redargue.verifier import Verifier

# Loaded when they are first used: `redargue --help` needs none of them.
_HOMES = {
    "redargue.api": ("verify", "verify_sync", "watch"),
    "redargue.backends.scripted": ("ScriptedBackend",),
    "redargue.claims": ("Claim", "Label", "LabelSet", "Meaning"),
    "redargue.config": ("RunConfig",),
    "redargue.errors": ("RedargueError",),
    "redargue.evidence": ("Passage", "Quote", "QuoteStatus", "Side"),
    "redargue.playback": ("replay",),
    "redargue.runs.budget": ("Budget",),
    "redargue.text.verification": ("ground", "verify_text"),
    "redargue.text.report": ("Report",),
    "redargue.verdicts": ("Score", "Usage", "Verdict"),
    "redargue.verifier": ("Verifier",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Budget",
    "Claim",
    "Label",
    "LabelSet",
    "Meaning",
    "Passage",
    "Quote",
    "QuoteStatus",
    "RedargueError",
    "Report",
    "RunConfig",
    "Score",
    "ScriptedBackend",
    "Side",
    "Usage",
    "Verdict",
    "Verifier",
    "ground",
    "replay",
    "verify",
    "verify_sync",
    "verify_text",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'redargue' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
