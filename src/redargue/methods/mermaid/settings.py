"""The settings of MERMAID: the paper's, its ablations, and what it leaves open (``docs/mermaid.md``)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from redargue.memory.base import MemorySettings
from redargue.methods.base import CostPlan, MethodSettings

DECOMPOSER, EXECUTOR = "decomposer", "executor"

PROFILES: dict[str, dict[str, Any]] = {
    "paper": {"profile": "paper", "recall_by": "entity"},
    "hardened": {},
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
        tools: search tools of redargue's own that the executor may call, beside those of servers (``--mcp``); none: it
            has the memory alone (proxy memory).
        top_k: passages a search returns.
        repeat_calls: whether a call that was made before is made again, as in the released program.
        max_steps: T_max, steps before the answer is forced (``M9``).
        force_answer: whether an answer is asked for once the steps are used up; the released program does not.
        memory: off (Table 3), on, or frozen: read and never written to (proxy memory).
        memory_lookup: whether the memory is a tool, too, that the executor may ask for an entity (``M21``).
        recall_by: evidence under the same entities (the paper's), near in meaning to the claim, or either.
        recall_items: pieces of evidence that are recalled (``M7``).
        recall_characters: of each.
        keep_misses: whether searches without a result are kept and recalled (``M3``).
        guard: whether evidence is held back that was found for a near-duplicate of the claim alone; for benchmarks.
        non_answer: what stands for an answer where there is none: nothing, or "True", as in the released program.
    """

    decomposer: bool = True
    tools: tuple[str, ...] = ("corpus", "keywords")
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
        """How the memory is used; None without one."""
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

    def plan(self, steps: int, *, forced: bool) -> CostPlan:
        """What a verification of that many steps asks for; all but an answering step call a tool."""
        searches = steps if forced or steps == self.max_steps else steps - 1
        calls = {"DecomposeClaim": int(self.decomposer), "NextStep": steps, "ForceAnswer": int(forced)}
        return CostPlan(
            calls={name: count for name, count in calls.items() if count},
            searches={self.tools[0]: searches} if self.tools and searches else {},
            asked_by={"DecomposeClaim": (DECOMPOSER,), "NextStep": (EXECUTOR,), "ForceAnswer": (EXECUTOR,)},
            call_depth=sum(calls.values()),
            search_depth=searches,
        )
