"""Types of settings, by which it is decided who may give them.

A stranger gives settings in the body of a request and in a run folder. Values that open no file and start nothing are
harmless: numbers, booleans, dates, names from a closed list, and texts whose type says so here. A setting of any other
type (``str``, ``Path``, ``Any``) is for the user alone to give, and so is a new one until its type says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from redargue.errors import UsageError
from redargue.methods.base import ConfiguredMethod, methods


class _Harmless:
    """Marks a type whose values are compared or shown only."""


@dataclass(frozen=True)
class SettingsOf:
    """Marks the settings of another method; ``method`` is the setting that names it."""

    method: str


Word = Annotated[str, _Harmless()]  # a name among known ones, or a text that is shown
Facts = Annotated[dict[str, Any], _Harmless()]  # values that others are compared with
LocalFile = str  # read while settings are made, which keep what it says and not its path: no record names a file

_PLAIN: Final = (bool, int, float, NoneType, date)
_COLLECTIONS: Final = (tuple, list, set, frozenset, dict)


def is_harmless(annotation: Any) -> bool:
    """Whether no value of this type can open a file or start anything."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return any(isinstance(mark, _Harmless) for mark in parts[1:]) or is_harmless(parts[0])
    if origin in (Union, UnionType):
        return all(map(is_harmless, parts))
    if origin in _COLLECTIONS:
        values = parts[1:] if origin is dict else parts
        return bool(values) and all(part is Ellipsis or is_harmless(part) for part in values)
    if origin is Literal:
        return True
    if not isinstance(annotation, type):
        return False
    if issubclass(annotation, BaseModel):
        return not any(closed_fields(annotation))
    return annotation in _PLAIN or issubclass(annotation, Enum)


def closed_fields(settings: type[BaseModel]) -> Iterator[str]:
    """The settings that no stranger may give."""
    for name, field in settings.model_fields.items():
        kind = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        if not is_harmless(kind) and settings_of(field) is None:
            yield name


def settings_of(field: FieldInfo) -> str | None:
    """The setting that names the method whose settings this one has; None for any other setting."""
    return next((mark.method for mark in field.metadata if isinstance(mark, SettingsOf)), None)


def named_method(settings: type[BaseModel], given: Mapping[str, Any], setting: str) -> Any:
    """The method whose settings another setting has: the given one, or the default."""
    return given.get(setting, settings.model_fields[setting].default)


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
