"""Mappings of columns to roles, as the options ``--map`` and ``--option mapping`` give them."""

from __future__ import annotations

from collections.abc import Sequence

from redargue.errors import UsageError
from redargue.registry import did_you_mean

_EXAMPLE = "write it like claim=COLUMN,context=COLUMN"


def split_mapping(text: str) -> dict[str, str]:
    """Columns by role, from ``claim=statement,label=verdict``."""
    mapping: dict[str, str] = {}
    for part in text.split(","):
        role, equals, column = (text.strip() for text in part.partition("="))
        if not equals or not column:
            raise UsageError(f"cannot read {part!r} in the mapping {text!r}", hint=_EXAMPLE)
        if role in mapping:
            raise UsageError(f"two columns for a role: {role!r} appears twice in the mapping {text!r}")
        mapping[role] = column
    return mapping


def check_roles(mapping: dict[str, str], roles: Sequence[str]) -> dict[str, str]:
    for role in mapping:
        if role not in roles:
            raise UsageError(f"unknown role {role!r} in a mapping", hint=did_you_mean(role, list(roles)))
    if "claim" not in mapping:
        raise UsageError("the mapping names no column for the claim", hint=_EXAMPLE)
    return mapping
