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

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo


class _Harmless:
    """Marks a type whose values are compared or shown only."""


@dataclass(frozen=True)
class SettingsOf:
    """Marks the settings of another method; ``method`` is the setting that names it."""

    method: str


Word = Annotated[str, _Harmless()]  # a name among known ones, or a text that is shown
Facts = Annotated[dict[str, Any], _Harmless()]  # values that others are compared with
# what a reply without a label becomes; a command line's "true" is read as a JSON value
FallbackLabel = Annotated[Literal["none", "true"], BeforeValidator(lambda given: "true" if given is True else given)]
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
