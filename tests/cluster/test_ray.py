"""A batch as tasks of a Ray cluster, one of whose two nodes dies."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue.cli.app import run
from redargue.cluster.commands import run_on_node
from redargue.cluster.queue import find_batch, progress
from redargue.cluster.store import open_ledger
from redargue.errors import RecordError, UsageError
from redargue.registry import install
from redargue.runs.record import read_events

OPTIONS = ["--store", "starter", "--method", "tool-mad", "--rounds", "1", "-q", "--concurrency", "2"]
DEADLINE = 240.0


def test_without_ray_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from redargue.cluster.engines import ray_workers

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=re.escape(install("ray"))), ray_workers(print, "", ""):
        pytest.fail("there is no ray")


def test_a_batch_gives_ray_a_function_and_says_what_its_tasks_may_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ray makes tasks of functions and of nothing else that can be called, such as a partial."""
    tasks: list[tuple[Any, ...]] = []

    class Ray(types.SimpleNamespace):
        def remote(self, **options: Any) -> Any:
            def made(function: Any) -> Any:
                assert inspect.isfunction(function)
                return types.SimpleNamespace(remote=lambda *arguments: tasks.append((function, *arguments)))

            return made

        def wait(self, running: list[Any], **options: Any) -> tuple[list[Any], list[Any]]:
            return running, []

    fake = Ray(
        is_initialized=lambda: True, get=lambda task: None, exceptions=types.SimpleNamespace(RayTaskError=OSError)
    )
    monkeypatch.setitem(sys.modules, "ray", fake)
    file = tmp_path / "claims.jsonl"
    file.write_text(json.dumps({"claim": "Bees are birds."}) + "\n")
    command = ["batch", str(file), "-o", str(tmp_path / "run"), *OPTIONS, "--engine", "ray", "--workers", "1"]
    command += ["--ledger", str(tmp_path / "ledger.db")]
    assert run(command) == 2  # the task ends at once, and the claim is left
    ((function, ledger, batch, allowed, wait),) = tasks
    assert (function, bool(ledger), len(batch)) == (run_on_node, True, 64)
    assert isinstance(allowed, dict)
    assert wait > 0


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes of two CPUs each, on this host."""
    if not importlib.util.find_spec("ray"):  # and no import yet: ray reads what follows when it is imported
        pytest.skip("needs pip install 'redargue[ray]'")
    for name, value in (("RAY_USAGE_STATS_ENABLED", "0"), ("RAY_AUTH_MODE", "token"), ("RAY_AUTH_TOKEN", "a" * 64)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    monkeypatch.setenv("RAY_ADDRESS", made.address)
    made.second = made.add_node(num_cpus=2)
    yield made
    made.shutdown()


def unreachable(where: str, batch: str) -> None:
    """A worker whose node does not reach the ledger."""
    raise RecordError(f"the ledger {where!r} does not answer")


@pytest.mark.filterwarnings("ignore")  # ray's own
@pytest.mark.extra
def test_nodes_that_do_not_reach_the_ledger_are_given_up_and_say_why(cluster: Any) -> None:
    from redargue.cluster.engines import ray_workers

    def tended() -> None:
        deadline = time.monotonic() + DEADLINE
        with ray_workers(unreachable, "elsewhere", "", count=2) as workers:
            while time.monotonic() < deadline:
                assert workers.supervise(finished=0)
                time.sleep(0.05)

    with pytest.raises(RecordError, match=r"11 workers died without(.|\n)*'elsewhere' does not answer"):
        tended()


@pytest.mark.extra
@pytest.mark.filterwarnings("ignore")  # ray's own
def test_a_node_lost_in_the_middle_loses_and_repeats_nothing(cluster: Any, tmp_path: Path) -> None:
    texts = ["The Ritz in London opened in 1926.", "Fred Perry was left-handed.", "Bees are birds."]
    file, where, out = tmp_path / "claims.jsonl", str(tmp_path / "ledger.db"), tmp_path / "run"
    file.write_text("".join(json.dumps({"claim": f"{place}: {text}"}) + "\n" for place, text in enumerate(texts * 6)))

    def lose_a_node() -> None:
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if not Path(where).exists():
                continue
            ledger = open_ledger(where)
            try:
                done, _ = progress(ledger, find_batch(ledger).number)
            except Exception:
                continue
            finally:
                ledger.close()
            if done.done >= 3:
                cluster.remove_node(cluster.second, allow_graceful=False)
                return

    killer = threading.Thread(target=lose_a_node)
    killer.start()
    command = ["batch", str(file), *OPTIONS, "-o", str(out), "--engine", "ray", "--ledger", where]
    assert run(command) == 0
    killer.join()
    assert len(cluster.list_all_nodes()) == 1
    found = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    assert [each["item"] for each in found] == list(range(1, 19))
    calls = Counter((each.item, each.key) for each in read_events(out) if each.kind == "call_finished")
    assert set(calls.values()) == {1}
