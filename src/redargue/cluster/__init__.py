"""Distributed verification: many workers, on one host or a Ray cluster, share one ledger."""
