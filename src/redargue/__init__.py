"""redargue verifies claims against evidence with published multi-agent protocols.

``redargue.verify("…")`` returns a verdict whose every quotation was found in the text that an agent saw.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redargue.adapters.assertions import grounded as grounded
    from redargue.adapters.assertions import supported as supported
    from redargue.api import replay as replay
    from redargue.api import verify as verify
    from redargue.api import verify_sync as verify_sync
    from redargue.api import watch as watch
    from redargue.backends.scripted import ScriptedBackend as ScriptedBackend
    from redargue.caveats import Caveat as Caveat
    from redargue.caveats import Unchecked as Unchecked
    from redargue.claims import Claim as Claim
    from redargue.claims import Label as Label
    from redargue.claims import LabelSet as LabelSet
    from redargue.claims import Meaning as Meaning
    from redargue.concurrency import Background as Background
    from redargue.concurrency import Busy as Busy
    from redargue.errors import BadReply as BadReply
    from redargue.errors import BudgetReached as BudgetReached
    from redargue.errors import CorpusError as CorpusError
    from redargue.errors import ProviderError as ProviderError
    from redargue.errors import RecordError as RecordError
    from redargue.errors import RedargueError as RedargueError
    from redargue.errors import ReplayMiss as ReplayMiss
    from redargue.errors import StoreUnavailable as StoreUnavailable
    from redargue.errors import ToolFailed as ToolFailed
    from redargue.errors import UnreadableFile as UnreadableFile
    from redargue.errors import UnsupportedTask as UnsupportedTask
    from redargue.errors import UsageError as UsageError
    from redargue.evidence import Gap as Gap
    from redargue.evidence import Passage as Passage
    from redargue.evidence import Quote as Quote
    from redargue.evidence import QuoteStatus as QuoteStatus
    from redargue.evidence import Side as Side
    from redargue.registry import ExtensionError as ExtensionError
    from redargue.runs.budget import Budget as Budget
    from redargue.spec import RunSpec as RunSpec
    from redargue.text import CheckedClaim as CheckedClaim
    from redargue.text import Citation as Citation
    from redargue.text import CitationOutcome as CitationOutcome
    from redargue.text import Outcome as Outcome
    from redargue.text import Report as Report
    from redargue.text.citations import verify_citations as verify_citations
    from redargue.text.grounder import Grounder as Grounder
    from redargue.text.grounder import check_stream as check_stream
    from redargue.text.grounder import warm_up as warm_up
    from redargue.text.verification import ground as ground
    from redargue.text.verification import verify_text as verify_text
    from redargue.verdicts import Score as Score
    from redargue.verdicts import Usage as Usage
    from redargue.verdicts import Verdict as Verdict
    from redargue.verifier import Verifier as Verifier

# Loaded when they are first used: `redargue --help` needs none of them.
_HOMES = {
    "adapters.assertions": "grounded supported",
    "api": "replay verify verify_sync watch",
    "backends.scripted": "ScriptedBackend",
    "caveats": "Caveat Unchecked",
    "claims": "Claim Label LabelSet Meaning",
    "concurrency": "Background Busy",
    "registry": "ExtensionError",
    "spec": "RunSpec",
    "errors": "BadReply BudgetReached CorpusError ProviderError RecordError RedargueError ReplayMiss"
    " StoreUnavailable ToolFailed UnreadableFile UnsupportedTask UsageError",
    "evidence": "Gap Passage Quote QuoteStatus Side",
    "runs.budget": "Budget",
    "text.citations": "verify_citations",
    "text.grounder": "Grounder check_stream warm_up",
    "text.verification": "ground verify_text",
    "text": "CheckedClaim Citation CitationOutcome Outcome Report",
    "verdicts": "Score Usage Verdict",
    "verifier": "Verifier",
}
_HOME = {name: f"redargue.{module}" for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)
__version__: str


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("redargue")
    if name not in _HOME:
        raise AttributeError(f"module 'redargue' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
