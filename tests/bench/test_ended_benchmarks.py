"""Processes that a benchmark starts, when the benchmark is ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEADLINE = 60
# A benchmark in place of ``models``, whose process sleeps.
BENCHMARK = """
import subprocess, sys, types
from benchmarks import pool

CHILD = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(600)"]
sys.modules["benchmarks.models"] = types.SimpleNamespace(main=lambda options: {start})
sys.argv[1:] = ["models"]
import benchmarks.__main__
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", ["subprocess.run(CHILD, check=True)", "pool.started(CHILD).wait()"])
def test_a_terminated_benchmark_leaves_no_process_running(start: str) -> None:
    code = BENCHMARK.format(start=start)
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as benchmark:
        assert benchmark.stdout is not None
        assert [benchmark.stdout.readline(), benchmark.stdout.readline()] == ["== models\n", "begun\n"]
        benchmark.terminate()
        rest, _ = benchmark.communicate(timeout=DEADLINE)  # until nobody holds its end of the pipe any more
    assert (rest, benchmark.returncode) == ("", 143)
