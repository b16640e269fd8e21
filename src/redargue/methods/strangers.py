"""Settings that a stranger gives: what only the user may give is refused (:mod:`redargue.methods.setting_types`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from redargue.errors import UsageError
from redargue.methods.base import ConfiguredMethod, methods
from redargue.methods.setting_types import closed_fields, named_method, settings_of


def refuse_closed(method: str, given: Mapping[str, Any], *, hint: str, where: str = "settings") -> None:
    """Raises UsageError for the first setting with another value than its default that no stranger may give."""
    for path in closed_in(method, given, where):
        if method not in methods.builtin:
            hint += "; the method's author: annotate the setting as redargue.methods.Word if it names no file"
        raise UsageError(f"the setting {path.rpartition('.')[2]} may name a file", where=path, hint=hint)


def closed_in(method: str, given: Mapping[str, Any], where: str = "settings") -> Iterator[str]:
    """Where ``given`` sets what no stranger may set; an unknown name is left to whoever makes the settings."""
    if not isinstance(method, str) or method not in methods:
        return
    kind = methods[method].settings_class
    closed = frozenset(closed_fields(kind))
    for name, value in given.items():
        field = kind.model_fields.get(name)
        if field is None:
            continue
        default = field.get_default(call_default_factory=True)
        if name in closed and value not in (default, to_jsonable_python(default, fallback=str)):
            yield f"{where}.{name}"
        elif (named_by := settings_of(field)) and isinstance(value, Mapping):
            yield from closed_in(named_method(kind, given, named_by), value, f"{where}.{name}")


def recorded_method(name: str, settings: Mapping[str, Any]) -> ConfiguredMethod | None:
    """The method of a recorded run; None where it is not installed, or its settings are not of this release.

    Settings that no stranger may give are not read either.
    """
    if name not in methods or any(closed_in(name, settings)):
        return None
    try:
        return ConfiguredMethod(methods[name], methods[name].settings_class.model_validate(settings))
    except ValidationError:
        return None
