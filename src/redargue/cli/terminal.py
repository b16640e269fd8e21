"""Strangers' text on a terminal: shown, never obeyed."""

from __future__ import annotations

from redargue.sanitize import printable

__all__ = ["printable"]
