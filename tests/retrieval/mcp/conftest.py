"""On a busy machine a server process takes longer to start than a user would wait."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def patient_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redargue.retrieval.mcp.START", 240.0)
