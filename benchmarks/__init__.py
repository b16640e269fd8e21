"""Measurements; each prints its figures. ``python -m benchmarks`` runs all, ``python -m benchmarks NAME`` one."""
