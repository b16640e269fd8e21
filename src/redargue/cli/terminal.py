"""Strangers' text on a terminal: shown, never obeyed."""

from __future__ import annotations

from redargue.printing import printable

__all__ = ["printable"]
