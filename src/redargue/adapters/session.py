"""What the pytest plugin says to the assertions that tests call: where to record, and the marker's options.

Nothing is imported here: every pytest of an environment with redargue loads this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(kw_only=True)
class TestSession:
    """State of the test that is running.

    Attributes:
        record: folder in which checks are recorded.
        replay: folder from which checks are replayed.
        options: keywords of the test's marker ``factual``: defaults of its assertions.
        checks: assertions that the test made.
        error: what ended its last assertion, other than a failure.
    """

    __test__ = False

    record: Path | None = None
    replay: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)
    checks: int = 0
    error: Exception | None = None


current = TestSession()
