"""A PostgreSQL server, where there is one."""

from __future__ import annotations

from ledger.conftest import ledger_server

__all__ = ["ledger_server"]
