"""Debates of the baselines: one pool of evidence for all agents, which differ only in their models."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any, Protocol

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.concurrency import gather_or_cancel
from redargue.events import QueryWritten, RoundEnded
from redargue.evidence import Passage, distinct_passages
from redargue.methods.base import Method, Roles, SearchSettings
from redargue.methods.setting_types import Word
from redargue.run import Run
from redargue.tasks.base import Profile
from redargue.tasks.sections import claim_section, documents, label_definitions, subject_vars

SEARCHER = "searcher"


class PoolSettings(SearchSettings):
    """Settings of a debate over a pool: every tool is searched once; without tools, as in the papers, none."""

    tools: tuple[Word, ...] = Field(default=("corpus",), max_length=8)


class EvidencePool(Method):
    """A debate whose agents read the same passages; without ``tools`` there is no evidence, as published.

    Attributes:
        labels: of the debaters, by round.
    """

    passages: tuple[Passage, ...] = ()

    def __init__(self, settings: Any, claim: Claim, run: Run) -> None:
        super().__init__(settings, claim, run)
        self.labels: list[tuple[str | None, ...]] = []

    async def fill_pool(self, *counts: int) -> None:
        """Searches for the claim with every tool; ``counts``: passages per tool, the last one for all further tools."""
        tools = dict.fromkeys(self.settings.tools)
        if not tools:
            return
        self.run.emit(QueryWritten(agent=SEARCHER, round=0, query=self.claim.text))
        searcher, requested = self.agents[SEARCHER], zip(tools, chain(counts, repeat(counts[-1])), strict=False)
        results = await gather_or_cancel(
            searcher.search(self.claim.text, count, tool=tool) for tool, count in requested
        )
        self.passages = distinct_passages(chain.from_iterable(results))

    @property
    def seen(self) -> dict[str, tuple[Passage, ...]]:
        """The field of a task that shows evidence (:class:`OnEvidence`); none without tools."""
        return {"passages": self.passages} if self.settings.tools else {}

    def end_round(self, round_: int, labels: tuple[str | None, ...], *, accepted: bool, why: str) -> None:
        """Keeps and emits the labels of a round; ``accepted`` where the debate ends with it."""
        self.labels.append(labels)
        agreed = None not in labels and len(set(labels)) == 1
        self.run.emit(RoundEnded(round=round_, labels=labels, agreed=agreed, accepted=accepted, why=(why,)))

    @classmethod
    def debaters_for(cls, settings: Any) -> tuple[str, ...]:
        """``agent-1`` and so on, which differ only in their models."""
        return tuple(f"agent-{place}" for place in range(1, settings.agents + 1))

    @property
    def debaters(self) -> tuple[str, ...]:
        return self.debaters_for(self.settings)

    @classmethod
    def roles_for(cls, settings: Any) -> Roles:
        searching = {SEARCHER: settings.tools} if settings.tools else {}
        return dict.fromkeys(cls.debaters_for(settings)) | searching


class OnEvidence(Frozen):
    """A task that shows evidence, the same to every agent."""

    passages: tuple[Passage, ...] = ()


class _OfAClaim(Protocol):
    @property
    def claim(self) -> Claim: ...
    @property
    def profile(self) -> Profile: ...


class DebatePrompt:
    """What a debater's prompts share; a plain class without fields, so it goes first."""

    @property
    def defines_labels(self: _OfAClaim) -> bool:
        return self.profile == "hardened"

    def topic_vars(self: _OfAClaim) -> dict[str, object]:
        """The claim, the evidence, and which labels there are."""
        labels, has_documents = self.claim.labels, isinstance(self, OnEvidence)
        return {
            **subject_vars(labels),
            "claim": claim_section(self.claim, self.profile),
            "evidence": documents(self.passages, self.profile) if isinstance(self, OnEvidence) else "",
            "label_question": label_question(labels),
            "label_definitions": label_definitions(labels, has_documents=has_documents),
            "free_text": labels.free_text,
        }


def label_question(labels: LabelSet) -> str:
    if labels.free_text:
        return "What is the answer?"
    meanings = ", ".join(f"**{label.name}** ({label.description or 'this option is right'})" for label in labels.labels)
    return f"Which of these is right: {meanings}?"


def stated_label(text: str, labels: LabelSet) -> str:
    """The label that an agent names; a ValueError for another text, or several labels."""
    label = labels.single(text)
    if label is None:
        raise ValueError(f"{text[:60]!r} is not one of the labels {', '.join(labels.names)}")
    return label
