"""Named things (methods, tools, backends), with "did you mean" for a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from redargue.errors import UnknownName

T = TypeVar("T")


class Registry(Generic[T]):
    """Maps kebab-case names to things of one kind, in order of registration."""

    def __init__(self, kind: str) -> None:
        """Args: kind: what the names stand for, as it reads in an error ("method")."""
        self.kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """A decorator that adds its object under ``name``.

        Raises:
            ValueError: the name is taken.
        """

        def add(entry: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._entries[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        """The entry called ``name``.

        Raises:
            UnknownName: no entry has that name; the message lists near ones, then all.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownName(f"unknown {self.kind} {name!r}", hint=did_you_mean(name, self._entries)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries


def did_you_mean(name: str, known: dict[str, T] | list[str]) -> str:
    """The end of an error message: the nearest known names, and all of them."""
    names = list(known)
    lowered = {each.lower(): each for each in names}
    near = [lowered[each] for each in difflib.get_close_matches(name.lower(), lowered, n=2, cutoff=0.5)]
    guess = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"{guess}known: {', '.join(names)}"
