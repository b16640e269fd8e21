"""How often workers are started again."""

from __future__ import annotations

import pytest

from redargue.cluster.restart_policy import DEATHS, Deaths
from redargue.errors import RecordError


@pytest.mark.parametrize(("workers", "most"), [(1, DEATHS), (4, DEATHS), (30, 60)])
def test_workers_may_die_while_they_get_on_and_not_for_ever(workers: int, most: int) -> None:
    deaths = Deaths(workers)
    for finished in range(3):
        deaths.since(finished)
        for _ in range(most):
            deaths.since(finished)
            deaths.one_more("no ledger")
    with pytest.raises(RecordError, match=f"{most + 1} workers died, and nothing was finished\n.*no ledger"):
        deaths.one_more("no ledger")
