"""Frames by line of a run's log, made once for all readers of a page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from markupsafe import Markup

from redargue.sanitize import printable
from redargue.service.log import EventLine
from redargue.service.page.frames import Frame, Frames

_KEPT = 32  # pages whose frames are kept


class FrameLog:
    """The frames of a page, one tuple for each line that was read."""

    def __init__(self, page: Frames) -> None:
        self.page = page
        self._lines: list[tuple[Frame, ...]] = []
        self._replaced: dict[str, int] = {}  # the index of the last line that replaced an element
        self._lock = Lock()  # pages are rendered in threads

    @property
    def read(self) -> int:
        """Number of lines that were read."""
        return len(self._lines)

    def frames(self, line: EventLine) -> tuple[Frame, ...]:
        """Those of a line; every line before it has been read."""
        with self._lock:
            if line.number == self.read + 1:
                self._add(tuple(self.page.feed(line.event)))
            return self._lines[line.number - 1]

    def _add(self, frames: tuple[Frame, ...]) -> None:
        """Of a page that only replaces, keeps an element's last frame: a text is rendered with each of its claims."""
        for frame in frames if self.page.only_replaces else ():
            if (last := self._replaced.get(frame.id)) is not None:
                self._lines[last] = tuple(old for old in self._lines[last] if old.id != frame.id)
            self._replaced[frame.id] = self.read
        self._lines.append(frames)

    def element(self) -> tuple[Markup, int]:
        """The page as it is now, and the number of lines that were read for it."""
        with self._lock:
            return self.page.element(), self.read


class PageKey(NamedTuple):
    """A page that changes: a run, and one of its claims or, with None, all of them."""

    run: str
    item: int | None


class FrameLogs:
    """The frame logs of the pages that were read last."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept, self._logs = kept, OrderedDict[PageKey, FrameLog]()
        self._lock = Lock()

    def get(self, key: PageKey, make: Callable[[], Frames]) -> FrameLog:
        with self._lock:
            if key not in self._logs:
                self._logs[key] = FrameLog(make())
            self._logs.move_to_end(key)
            while len(self._logs) > self._kept:
                self._logs.popitem(last=False)
            return self._logs[key]


def encoded(frame: Frame, id_: int | None = None) -> str:
    """A frame as a server-sent event; ``id_`` is the line that it completes."""
    data = "".join(f"data: {line}\n" for line in printable(str(frame.html)).split("\n"))
    return f"event: {frame.event}\n{'' if id_ is None else f'id: {id_}' + chr(10)}{data}\n"
