"""Trials of the installed command, a few times each; ``python -m benchmarks endurance`` runs them at full count."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.endurance import clock, disk, endpoint, kills, pages, resident, stores

LINUX = "limits and counts of another process are those of Linux"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason=LINUX)]


def test_a_process_that_can_write_no_file_answers_typed_loses_nothing_and_recovers(tmp_path: Path) -> None:
    with disk.limited(tmp_path) as limited:
        assert disk.trial(limited, 1).failures == ()


def test_clock_jumps_double_no_verdict_and_give_no_budget_twice(tmp_path: Path) -> None:
    assert clock.trial(tmp_path, 3).failures == ()


def test_readers_who_take_nothing_cost_little_and_hold_nobody_up(tmp_path: Path) -> None:
    assert resident.stalled(tmp_path, readers=30, seconds=3).failures == ()


def test_memory_settles_over_many_checks(tmp_path: Path) -> None:
    outcome, _ = resident.curve(tmp_path, 60, every=20)
    assert outcome.failures == ()


def test_two_processes_on_a_memory_and_a_corpus_lose_nothing(tmp_path: Path) -> None:
    assert stores.trial(tmp_path, 120).failures == ()


def test_a_check_that_is_killed_at_random_points_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    assert kills.checks(tmp_path, 3, 3).failures == ()


def test_a_batch_of_a_killed_service_ends_with_each_verdict_once(tmp_path: Path) -> None:
    assert kills.batches(tmp_path, 2, 20).failures == ()


QUICK = [name for name in endpoint.FAULTS if not name.startswith(("status 408", "429", "sends", "a length of ten"))]


def test_what_a_misbehaving_endpoint_sends_is_never_an_answer_and_errors_have_a_type(tmp_path: Path) -> None:
    assert endpoint.trial(tmp_path, len(QUICK), QUICK).failures == ()


@pytest.mark.anyio
async def test_a_page_that_is_broken_off_by_either_side_leaves_nothing_open() -> None:
    assert (await pages.trial(30)).failures == ()
