"""What the two APIs have in common: which texts of an answer are checked, and where their verdicts are put."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redargue.service.proxy.block import CheckBlock
from redargue.service.proxy.sse import SseEvent

Key = tuple[int, ...]  # the index of a choice, or those of an output and its part
Payload = dict[str, Any]


def as_list(value: object) -> list[Any]:
    """The value, if it is a list: servers send null and odder things."""
    return value if isinstance(value, list) else []


class Step(NamedTuple):
    """What an event adds: text of some answers, and answers that it ends or that have content that is not read."""

    added: tuple[tuple[Key, str], ...] = ()
    ended: tuple[Key, ...] = ()
    unread: tuple[Key, ...] = ()


@dataclass
class Dialect(ABC):
    """One response in one API.

    Attributes:
        blocks: of the answers that have been checked.
        replaced: texts in place of answers.
        appended: texts after answers.
        ended: answers whose text is complete.
    """

    blocks: dict[Key, CheckBlock] = field(default_factory=dict)
    replaced: dict[Key, str] = field(default_factory=dict)
    appended: dict[Key, str] = field(default_factory=dict)
    ended: set[Key] = field(default_factory=set)

    @abstractmethod
    def knows(self, payload: Payload) -> bool:
        """Whether a whole response has the API's shape."""

    @abstractmethod
    def texts(self, payload: Payload) -> dict[Key, str]:
        """The answers of a whole response; an answer without text, such as a call, is empty."""

    @abstractmethod
    def unread(self, payload: Payload) -> set[Key]:
        """The answers of a whole response with content that is not read: refusals, images, sound."""

    @abstractmethod
    def annotate(self, payload: Payload) -> None:
        """Puts blocks and texts into a whole response."""

    @abstractmethod
    def split(self, event: SseEvent) -> Iterable[SseEvent]:
        """The event, or several that say the same, so that each waits for one check at most."""

    @abstractmethod
    def read(self, payload: Payload) -> Step: ...

    @abstractmethod
    def without(self, payload: Payload, keys: Collection[Key]) -> Payload:
        """An event without the text that it adds to some answers."""

    @abstractmethod
    def waits(self, event: SseEvent, pending: Iterable[Key]) -> bool:
        """Whether an event may only be sent after some of the pending checks."""

    @abstractmethod
    def write(self, event: SseEvent) -> list[bytes]:
        """The event as it is sent, with what belongs before it."""

    @abstractmethod
    def rest(self) -> list[bytes]:
        """The verdicts on answers that the stream did not end properly."""

    @abstractmethod
    def revision(self, body: Mapping[str, Any], messages: list[dict[str, str]]) -> Payload:
        """The request for another draft, which is not streamed."""

    def text_of(self, key: Key, text: str) -> str:
        return self.replaced.get(key, text) + self.appended.get(key, "")
