"""The values of options and arguments that a shell completes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Complete = Callable[[str], list[str]]


def _beginning(names: Callable[[], Iterable[str]]) -> Complete:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _methods() -> Iterable[str]:
    from redargue.methods.base import methods

    return methods


def _tools() -> Iterable[str]:
    from redargue.retrieval.tools.base import tools

    return (*tools, "none")


def _backends() -> Iterable[str]:
    from redargue.backends.base import backends

    return backends


def _labels() -> Iterable[str]:
    from redargue.claims import label_sets

    return label_sets


def _runs() -> Iterable[str]:
    from redargue.runs.folders import LAST, run_folders

    return (LAST, *(folder.name for folder in run_folders()))


complete_method, complete_tool = _beginning(_methods), _beginning(_tools)
complete_backend, complete_labels, complete_run = _beginning(_backends), _beginning(_labels), _beginning(_runs)
