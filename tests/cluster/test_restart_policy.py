"""Restart policy for crashed workers."""

from __future__ import annotations

import pytest

from redargue.cluster.engines import MAX_DEATHS, RestartPolicy
from redargue.errors import RecordError


@pytest.mark.parametrize(("workers", "most"), [(1, MAX_DEATHS), (4, MAX_DEATHS), (30, 60)])
def test_workers_may_die_while_they_get_on_and_not_for_ever(workers: int, most: int) -> None:
    policy = RestartPolicy(workers)
    for finished in range(3):
        policy.update(finished)
        for _ in range(most):
            policy.update(finished)
            policy.worker_died("no ledger")
    with pytest.raises(RecordError, match=f"{most + 1} workers died without finishing a claim\n.*no ledger"):
        policy.worker_died("no ledger")
