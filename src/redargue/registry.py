"""Registries of named methods, tools, data sets and backends.

A built-in entry is a line ``name: "module:attribute"``; the module is imported when the name is first looked up.
Another package adds entries through an entry point::

    [project.entry-points."redargue.methods"]
    my-method = "my_package.method:MyMethod"
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from redargue.errors import UnknownName, UsageError

if TYPE_CHECKING:  # loads the email package, which --help does not need
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """Maps kebab-case names to entries of one kind; ``builtin`` is in listing order."""

    def __init__(self, kind: str, *, builtin: Mapping[str, str] | None = None, group: str = "") -> None:
        self.kind, self.group, self._builtin = kind, group, dict(builtin or {})
        self._loaded: dict[str, T] = {}
        self._installed: dict[str, EntryPoint] | None = None

    def register(self, name: str) -> Callable[[T], T]:
        def add(entry: T) -> T:
            known = self._loaded.get(name)
            names = ("__module__", "__qualname__")
            if all(getattr(known, part, None) == getattr(entry, part, known) for part in names):
                known = None  # a notebook cell was run again
            if known is not None or (name in self._builtin and not self._is_builtin(name, entry)):
                raise ValueError(f"{self.kind} {name!r} is registered twice: by {known or self._builtin[name]}")
            self._loaded[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        """Raises UnknownName, or UsageError if the package that provides the entry cannot be imported."""
        if name not in self._loaded:
            if name in self._builtin:
                self._keep(name, resolve_name(self._builtin[name]))
            elif name in self._other_packages():
                self._keep(name, self._load_installed(name))
            else:
                raise UnknownName(f"unknown {self.kind} {name!r}", hint=did_you_mean(name, list(self)))
        return self._loaded[name]

    def load_builtin(self) -> None:
        for name in self._builtin:
            self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._builtin, *self._loaded, *self._other_packages()]))

    def __contains__(self, name: str) -> bool:
        return name in set(self)

    def _keep(self, name: str, entry: T) -> None:
        if self._loaded.setdefault(name, entry) is not entry:
            raise UsageError(f"the {self.kind} {name!r} is defined twice", hint="rename one of the two")

    def _other_packages(self) -> dict[str, EntryPoint]:
        """Entry points by name; they never replace a built-in entry."""
        if self._installed is None:
            from importlib.metadata import entry_points

            points = entry_points(group=self.group) if self.group else ()
            self._installed = {point.name: point for point in points if point.name not in self._builtin}
        return self._installed

    def _load_installed(self, name: str) -> T:
        point = self._other_packages()[name]
        try:
            entry: T = point.load()
        except Exception as error:
            package = point.dist.name if point.dist else point.module
            raise UsageError(
                f"the {self.kind} {name!r} of the package {package!r} cannot be loaded:"
                f" {type(error).__name__}: {error}",
                where=point.value,
                hint=f"update or uninstall {package}",
            ) from error
        return entry

    def _is_builtin(self, name: str, entry: Any) -> bool:
        module, _, attribute = self._builtin[name].partition(":")
        defined_in = str(getattr(entry, "__module__", ""))
        return getattr(entry, "__name__", "") == attribute and f"{defined_in}.".startswith(f"{module}.")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """An error's hint: the nearest known names, and all of them."""
    names = list(known)
    lowered = {known_name.lower(): known_name for known_name in names}
    near = [lowered[match] for match in difflib.get_close_matches(name.lower(), lowered, n=2, cutoff=0.5)]
    guess = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"{guess}known: {', '.join(names)}"
