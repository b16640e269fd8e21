"""Settings of MERMAID: the paper's, its ablations, and its open questions (``docs/mermaid.md``)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from redargue.memory.base import MemorySettings
from redargue.methods.base import MethodSettings
from redargue.methods.setting_types import Word

DECOMPOSER, EXECUTOR = "decomposer", "executor"

MERMAID_PROFILES: dict[str, dict[str, Any]] = {
    "paper": {"profile": "paper", "recall_by": "entity", "repeat_calls": True},
    # of unrelated claims, recalled evidence misleads (docs/memory.md)
    "hardened": {"simple_claims": "whole", "memory": "off"},
    # the released program where it differs from the paper
    "authors": {
        "profile": "paper",
        "recall_by": "substring",
        "recall_items": 3,
        "recall_characters": 2000,
        "force_answer": False,
        "non_answer": "true",
        "repeat_calls": True,
    },
}


class MermaidSettings(MethodSettings):
    """Settings of ``mermaid``; the defaults are the paper's, the ablations are fields.

    Attributes:
        decomposer: off: the claim goes to the executor as it is, and no entity recalls anything (Table 3, ``M24``).
        simple_claims: a claim with one relation is decomposed by a model like any other, or by grammar alone: then no
            prompt repeats it as a triplet, and a step needs no reason beside its thought.
        tools: search tools that the executor may call, besides those of MCP servers; with none it has only the memory
            (proxy memory).
        top_k: passages per search.
        repeat_calls: whether a call that was answered may be made again, as in Algorithm 1; one that failed always may.
        max_steps: T_max, steps before the answer is forced (``M9``).
        force_answer: whether an answer is asked for after the last step; the released program does not.
        memory: off (Table 3), on, or frozen: read and never written to (proxy memory).
        memory_lookup: whether the executor may also look up entities in the memory as a tool (``M21``).
        recall_by: evidence under the same entities (the paper's), near in meaning to the claim, or either.
        recall_items: most pieces of evidence recalled (``M7``).
        recall_characters: most characters per piece.
        keep_misses: whether searches without a result are stored and recalled (``M3``).
        guard: whether evidence found for a near-duplicate of the claim is withheld; for benchmarks.
        non_answer: the label of a missing answer: none, or "True", as in the released program.
    """

    decomposer: bool = True
    simple_claims: Literal["decomposed", "whole"] = "decomposed"
    tools: tuple[Word, ...] = ("corpus", "keywords")
    top_k: int = Field(default=3, ge=1, le=50)
    repeat_calls: bool = False
    max_steps: int = Field(default=5, ge=1, le=50)
    force_answer: bool = True
    memory: Literal["off", "on", "frozen"] = "on"
    memory_lookup: bool = False
    recall_by: Literal["entity", "meaning", "both", "substring"] = "both"
    recall_items: int = Field(default=5, ge=1, le=100)
    recall_characters: int = Field(default=2000, ge=1)
    keep_misses: bool = False
    guard: bool = False
    non_answer: Literal["none", "true"] = "none"

    @property
    def remembering(self) -> MemorySettings | None:
        if self.memory == "off":
            return None
        return MemorySettings(
            mode=self.memory,
            by=self.recall_by,
            limit=self.recall_items,
            characters=self.recall_characters,
            keep_misses=self.keep_misses,
            guard=self.guard,
        )
