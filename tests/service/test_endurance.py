"""Trials of the installed command, a few times each; ``python -m benchmarks endurance`` runs them at full count."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.endurance import disk

LINUX = "limits and counts of another process are those of Linux"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason=LINUX)]


def test_a_process_that_can_write_no_file_answers_typed_loses_nothing_and_recovers(tmp_path: Path) -> None:
    with disk.limited(tmp_path) as limited:
        assert disk.trial(limited, 1).failures == ()
