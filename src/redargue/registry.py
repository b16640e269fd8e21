"""Registries of named methods, tools, data sets, backends, commands and more.

An entry is a line ``name = "module:attribute"``; the module is imported when the name is first looked up. Entries of
the core are listed where their registry is. Those of an optional part (``bench``, ``service``, …) are in the file
``entry_points.toml`` of its folder. Another package adds entries through entry points, in the same format::

    [project.entry-points."redargue.methods"]
    my-method = "my_package.method:MyMethod"
"""

from __future__ import annotations

import difflib
import inspect
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import unquote, urlsplit

from redargue.errors import RedargueError, UsageError, problem_location, problem_of

if TYPE_CHECKING:  # loads the email package, which --help does not need
    from importlib.metadata import EntryPoint

_T = TypeVar("_T")

_OPTIONAL = "entry_points.toml"


@cache
def optional_entries() -> Mapping[str, Mapping[str, str]]:
    """The entries of the optional parts that are installed, by group, in the order of their folders."""
    import tomllib

    entries: dict[str, dict[str, str]] = {}
    for folder, folders, files in os.walk(Path(__file__).parent):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        if _OPTIONAL in files:
            text = Path(folder, _OPTIONAL).read_text(encoding="utf-8")
            for group, names in tomllib.loads(text).items():
                entries.setdefault(group, {}).update(names)
    return entries


class ExtensionError(RedargueError):
    """An extension's code raised an error; during a claim, that claim ends, and no other."""

    exit_code = 3


class Registry(Generic[_T]):
    """Maps kebab-case names to entries of one kind.

    Args:
        builtin: entries of the core, in listing order.
        group: of entry points; empty for a registry that other packages cannot add to.
        extra: of the package with further entries, which the hint for an unknown name mentions if it is not installed.
        missing: what an entry of another package lacks, such as "the method 'make'"; empty if it fits.
        page: says what an entry has to be.
    """

    def __init__(
        self,
        kind: str,
        *,
        builtin: Mapping[str, str] | None = None,
        group: str = "",
        extra: str = "",
        missing: Callable[[object], str] = lambda entry: "",
        page: str = "docs/extending.md",
    ) -> None:
        self.kind, self.group, self.extra, self._core = kind, group, extra, dict(builtin or {})
        self._missing, self._page = missing, page
        self._loaded: dict[str, _T] = {}
        self._installed: dict[str, EntryPoint] | None = None
        self._clashes: dict[str, UsageError] = {}

    def register(self, name: str) -> Callable[[_T], _T]:
        def add(entry: _T) -> _T:
            known = self._loaded.get(name)
            names = ("__module__", "__qualname__")
            if all(getattr(known, part, None) == getattr(entry, part, known) for part in names):
                known = None  # a notebook cell was run again
            place = self.place(name)
            if known is not None or (place and not _is_at(place, entry)):
                raise ValueError(f"{self.kind} {name!r} is registered twice: by {known or place}")
            if lacks := self._missing(entry):
                raise TypeError(f"the {self.kind} {name!r} cannot be used: {lacks}; see {self._page}")
            self._loaded[name] = entry
            return entry

        return add

    def __getitem__(self, name: str) -> _T:
        """Raises UsageError for an unknown name, and for an entry whose package cannot be imported."""
        if name not in self._loaded:
            if place := self.place(name):
                self._keep(name, resolve_name(place))
            elif name in self._other_packages():
                self._keep(name, self._load_installed(name))
            else:
                raise UsageError(f"unknown {self.kind} {name!r}", hint=self._hint(name))
        return self._loaded[name]

    @property
    def builtin(self) -> tuple[str, ...]:
        """Names of the core and of its optional parts."""
        return (*self._core, *self._optional())

    def load_builtin(self) -> None:
        for name in self.builtin:
            self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.builtin, *self._loaded, *self._other_packages()]))

    def __contains__(self, name: str) -> bool:
        return name in self._loaded or bool(self.place(name)) or name in self._other_packages()

    def problems(self) -> dict[str, UsageError]:
        """The entries of other packages that cannot be used, by name, with the reason."""
        found: dict[str, UsageError] = {}
        for name in self._other_packages():
            try:
                self[name]
            except UsageError as error:
                found[name] = error
        return found

    def clashes(self) -> Mapping[str, UsageError]:
        """Entries of other packages whose name another entry has, which is used instead."""
        self._other_packages()
        return self._clashes

    def installed(self) -> Mapping[str, str]:
        """The entries of other packages, with the distribution of each."""
        return {name: distribution(point) for name, point in self._other_packages().items()}

    def blamed(self, name: str) -> AbstractContextManager[None]:
        """Errors of an entry's own code name it, and its package: :func:`blamed`."""
        if self.place(name):
            return nullcontext()
        return blamed(f"the {self.kind} {name!r}", self[name], self.installed().get(name, ""))

    def place(self, name: str) -> str:
        """The place of a builtin entry as ``module:attribute``; empty if there is none."""
        return self._core.get(name) or self._optional().get(name, "")

    def _optional(self) -> Mapping[str, str]:
        return optional_entries().get(self.group, {}) if self.group else {}

    def _hint(self, name: str) -> str:
        known = list(self)
        hints = [did_you_mean(name, known)] if known else []
        if self.extra and not self._optional():
            hints.append(f"{'others' if known else 'to install it'}: {install(self.extra)}")
        return "; ".join(hints)

    def _keep(self, name: str, entry: _T) -> None:
        if self._loaded.setdefault(name, entry) is not entry:
            what = f"the {self.kind} {name!r} is defined twice"
            raise UsageError(what, hint="rename one of the two")

    def _other_packages(self) -> dict[str, EntryPoint]:
        """Entry points by name; they never replace a built-in entry, nor one of a package before."""
        if self._installed is None:
            from importlib.metadata import entry_points

            self._installed = {}
            for point in entry_points(group=self.group) if self.group else ():
                known = self._installed.get(point.name)
                if point.name not in self.builtin and known is None:
                    self._installed[point.name] = point
                elif known is None or known.value != point.value:  # else one package twice on the path
                    self._clashes[point.name] = self._clash(point, known)
        return self._installed

    def _clash(self, point: EntryPoint, known: EntryPoint | None) -> UsageError:
        package, other = distribution(point), distribution(known) if known else "redargue"
        what = f"the {self.kind} {point.name!r} of the package {package!r} is left out: {other} has one of that name"
        hint = f"{package} has to rename it, or uninstall one of the two"
        return UsageError(what, where=point.value, hint=hint)

    def _load_installed(self, name: str) -> _T:
        point = self._other_packages()[name]
        package = point.dist.name if point.dist else point.module
        what = f"the {self.kind} {name!r} of the package {package!r}"
        try:
            entry: _T = point.load()
        except (Exception, SystemExit) as error:
            what += f" cannot be loaded: {type(error).__name__}: {error}"
            raise UsageError(what, where=point.value, hint=_hint_for(error, package)) from error
        own = getattr(entry, "name", name) if isinstance(entry, type) else name
        other = f"its 'name' is {own!r}, and not that of the entry" if isinstance(own, str) and own != name else ""
        if lacks := self._missing(entry) or other:
            hint = f"{package} has to correct it: {self._page} says what a {self.kind} is"
            raise UsageError(f"{what} cannot be used: {lacks}", where=point.value, hint=hint)
        return entry


@contextmanager
def blamed(what: str, part: object, package: str = "") -> Iterator[None]:
    """An error of an extension's code becomes an ExtensionError that names ``what`` failed; redargue's own errors pass.

    So does Ctrl-C, but not ``SystemExit``, which would end the process as if all were well. ``package``: of the part;
    default: its module.
    """
    try:
        yield
    except BaseException as error:
        if is_own(part) or isinstance(error, RedargueError) or not _is_fault(error):
            raise
        of = package or getattr(part, "__module__", "") or type(part).__module__
        failed = f"{what} of {of!r}, an extension, failed: {described(error)}"
        raise ExtensionError(failed, hint="report it to its author") from error


def _is_fault(error: BaseException) -> bool:
    """Whether code raised an error by itself; it may also raise that of a cancelled task."""
    asyncio = sys.modules.get("asyncio")  # its import takes long, and without it nothing was cancelled
    if asyncio and isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return not (task and task.cancelling())
    return isinstance(error, Exception | SystemExit)


def described(error: BaseException) -> str:
    """An error of an extension, whose ``__str__`` may fail itself."""
    try:
        if isinstance(error, ValueError) and hasattr(error, "errors"):  # pydantic's, whose text has several lines
            what = f"{problem_location(error)} is {error.errors()[0]['input']!r:.60}: {problem_of(error)}"
            return f"{type(error).__name__}: {what}"
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:
        return type(error).__name__


def distribution(point: EntryPoint) -> str:
    """The package of an entry point, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.module


def is_own(entry: object) -> bool:
    """Whether a class, function or instance is redargue's own and not an extension's."""
    module = getattr(entry, "__module__", "") or type(entry).__module__
    return f"{module}.".startswith("redargue.")


def having(*names: str) -> Callable[[object], str]:
    """For ``missing``: an entry that needs these attributes."""

    def missing(entry: object) -> str:
        lacks = [repr(name) for name in names if not hasattr(entry, name)]
        return f"it has no {' and no '.join(lacks)}" if lacks else ""

    return missing


def a_function(entry: object) -> str:
    """For ``missing``: an entry that is called."""
    if inspect.iscoroutinefunction(entry):
        return "it is async"
    return "" if callable(entry) else f"it is not a function but {type(entry).__name__!r}"


def an_instance(*names: str) -> Callable[[object], str]:
    """For ``missing``: an entry that is used as it is, such as a module, and needs these attributes."""
    return lambda entry: "it is a class; name an instance" if isinstance(entry, type) else having(*names)(entry)


def uncallable(function: object, takes: str, *arguments: object, **named: object) -> str:
    """For ``missing``: why these arguments cannot be given to a coroutine function, which ``takes`` describes."""
    name, bracket, parameters = takes.partition("(")
    if not inspect.isroutine(function):
        return ""
    if not accepts(function, *arguments, **named):
        return f"{name!r} does not take {bracket}{parameters}"
    return "" if inspect.iscoroutinefunction(function) else f"{name!r} is not async"


def accepts(function: Callable[..., Any], *arguments: object, **named: object) -> bool:
    """Whether a function can be called with these arguments; True where its signature is unknown."""
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _hint_for(error: BaseException, package: str) -> str:
    """What to do about an entry that cannot be loaded."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        needed = error.name.partition(".")[0]
        return f"install {needed}, which {package} needs, or uninstall {package}"
    named = isinstance(error, AttributeError | ImportError)
    asked = "does the entry point name a module and an attribute of it?" if named else "the error is in its code"
    return f"update or uninstall {package}; its author: {asked}"


def _is_at(place: str, entry: Any) -> bool:
    """Whether an entry is the attribute of a place ``module:attribute``, or of a module inside it."""
    module, _, attribute = place.partition(":")
    defined_in = str(getattr(entry, "__module__", ""))
    return getattr(entry, "__name__", "") == attribute and f"{defined_in}.".startswith(f"{module}.")


_PARTS = {  # packages of the repository, by the extras that need them
    "lab": "redargue-lab",
    "reader": "redargue-reader",
    **dict.fromkeys(("mcp", "serve"), "redargue-serve"),
    **dict.fromkeys(("milvus", "postgres", "ray", "scale"), "redargue-scale"),
}


def install(extra: str) -> str:
    """The line that installs an extra for the Python that runs.

    From where redargue was installed: a folder of its repository, or the index.
    """
    folder, option = _installed_from()
    if folder is None:
        return f"{_python()} -m pip install 'redargue[{extra}]'"
    parts = [f"{folder}[{extra}]"]
    if extra in _PARTS:
        parts.append(str(folder / "packages" / _PARTS[extra]))
    return f"{_python()} -m pip install {' '.join(option + shlex.quote(part) for part in parts)}"


def _python() -> str:
    """How a shell starts the Python that runs: by name, by a path in the working directory, or by its whole path."""
    path, found = sys.executable, shutil.which("python")
    if not path or (found and os.path.abspath(found) == os.path.abspath(path)):
        return "python"
    try:
        return shlex.quote(str(Path(path).relative_to(Path.cwd())))
    except (ValueError, OSError):  # elsewhere; or the working directory was removed
        return shlex.quote(path)


def _installed_from() -> tuple[Path | None, str]:
    """The folder from which pip installed redargue (PEP 610), if it is there, and the option that keeps it editable."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import distribution as installed

    try:
        origin = json.loads(installed("redargue").read_text("direct_url.json") or "{}")
        folder = Path(unquote(urlsplit(origin["url"]).path))
        if origin["url"].startswith("file://") and (folder / "packages").is_dir():
            return folder, "-e " if origin.get("dir_info", {}).get("editable") else ""
    except (PackageNotFoundError, ValueError, KeyError, OSError):
        pass
    return None, ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """An error's hint: the nearest known names, and all of them."""
    names = list(known)
    lowered = {known_name.lower(): known_name for known_name in names}
    near = difflib.get_close_matches(name.lower(), lowered, n=2, cutoff=0.5)
    guess = f"did you mean {' or '.join(repr(lowered[each]) for each in near)}? " if near else ""
    return f"{guess}known: {', '.join(names)}"
