"""A system under comparison: a method with its profile, settings and seed, as written on the command line."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, get_origin

from pydantic import field_validator

from redargue.assembly import tools_setting
from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.methods.base import configure, methods
from redargue.registry import did_you_mean
from redargue.retrieval.corpus.index import has_no_corpus
from redargue.retrieval.tools import tools
from redargue.sanitize import counted
from redargue.spec import RunSpec

DEBATED = "debated"
READS = "~"  # before the spec of the system whose passages are read
FROZEN, FROZEN_WORDS = "frozen", "frozen-words"
BENCH_TOOLS = (FROZEN, FROZEN_WORDS, DEBATED)  # made from the examples of a bench
_OF_CORPUS = ("corpus", "keywords", "reranked")
_SEED = re.compile(r"#\d+$")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9._/@:=,+~#-]|[=+,]-")  # capitals, a minus sign and others, which a slug lacks


class System(Frozen):
    """One row of a table; ``settings`` are those that differ from the profile's."""

    spec: str  # ``METHOD[@PROFILE][:SETTING=VALUE,…][~OTHER][#SEED]``
    method: str
    profile: str = "hardened"
    settings: dict[str, Any] = {}  # noqa: RUF012  (pydantic copies it)
    seed: int | None = None  # of the run; None for the bench's
    reads: str = ""  # spec of the system whose passages ``debated`` provides; empty for the first

    @field_validator("spec", "reads")
    @classmethod
    def _spell_settings(cls, spec: str) -> str:
        return normalized(spec)

    @classmethod
    def parse(cls, spec: str) -> System:
        """Reads ``tool-mad@paper:rounds=1,debaters=corpus+wikipedia#7`` and ``single-reader:tools=debated~mermaid``."""
        plain, sign, number = spec.rpartition("#") if _SEED.search(spec) else (spec, "", "")
        plain, _, reads = plain.partition(READS)
        name, _, rest = plain.partition(":")
        method, _, profile = name.partition("@")
        settings: dict[str, object] = {}
        fields = methods[method].settings_class.model_fields
        for pair in rest.split(",") if rest else ():
            key, equals, value = pair.partition("=")
            if not equals or not key.strip():
                raise UsageError(f"cannot read {pair!r}", where=spec, hint="write it like tool-mad:rounds=1,top_k=5")
            name, value = _setting(key), value.strip()
            is_list = name in fields and get_origin(fields[name].annotation) is tuple
            settings[name] = [item for item in value.split("+") if item] if is_list else _json_or_text(value)
        for tool in configure(method, profile or "hardened", settings).tools():
            if tool not in BENCH_TOOLS and tool not in tools:
                raise UsageError(f"unknown tool {tool!r}", where=spec, hint=did_you_mean(tool, [*BENCH_TOOLS, *tools]))
        seed = int(number) if sign else None
        system = cls(spec=spec, method=method, profile=profile or "hardened", settings=settings, seed=seed, reads=reads)
        if reads and DEBATED not in system.tools:
            what = f"~{reads} needs the tool {DEBATED!r}, which is not used"
            raise UsageError(what, where=spec, hint="add tools=debated")
        return system

    def applied(self, spec: RunSpec) -> RunSpec:
        """A bench's configuration with the method, profile, settings and seed of this row."""
        spec = spec.updated(method=self.method, profile=self.profile, settings=self.settings, tools=None)
        return spec if self.seed is None else spec.updated(seed=self.seed)

    def seeded(self, seed: int) -> System:
        return self.model_copy(update={"spec": f"{self.unseeded}#{seed}", "seed": seed})

    @property
    def unseeded(self) -> str:
        return self.spec if self.seed is None else self.spec.rpartition("#")[0]

    @property
    def slug(self) -> str:
        """The name of the run folder."""
        plain = re.sub(r"[^a-z0-9.]+", "-", self.spec.lower()).strip("-")
        if len(plain) <= 60 and not _NOT_IN_SLUG.search(self.spec):
            return plain
        return f"{plain[:50]}-{hashlib.sha256(self.spec.encode()).hexdigest()[:8]}"

    @property
    def tools(self) -> tuple[str, ...]:
        return configure(self.method, self.profile, self.settings).tools()


def normalized(spec: str) -> str:
    """A spec with one spelling of each setting's name (``top_k``), also in the system whose passages are read."""
    return READS.join(map(_normalized, spec.split(READS)))


def _normalized(spec: str) -> str:
    method, colon, rest = spec.partition(":")
    pairs = [pair.partition("=") for pair in rest.split(",")]
    return method + colon + ",".join(f"{_setting(name)}{equals}{value.strip()}" for name, equals, value in pairs)


def _setting(name: str) -> str:
    return name.strip().replace("-", "_")


def chosen_system(spec: str, known: Sequence[str], *, where: str) -> str:
    """The spec of one of the systems of a bench; if it is empty, that of the only one. Raises UsageError."""
    if not spec and len(known) == 1:
        return known[0]
    spec = spec if spec in known else normalized(spec)
    if spec not in known:
        what = f"no system {spec!r} in this bench" if spec else f"this bench has {counted(len(known), 'system')}"
        raise UsageError(what, where=where, hint=f"name one of them: {', '.join(known)}")
    return spec


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def require_evidence(
    systems: Sequence[System], dataset: str, *, frozen: bool, store: str | None = None, mcp: bool = False
) -> None:
    """Raises UsageError for a system that would search other documents than the data set's, and was not asked to.

    ``frozen``: the examples have passages, which are the data set's own evidence. ``store`` is the corpus that was
    named. ``mcp``: agents that call tools have those of servers instead.
    """
    for system in systems:
        searched = [tool for tool in system.tools if tool in _OF_CORPUS]
        if not searched or store is not None or (mcp and methods[system.method].calls_actions):
            continue
        setting = tools_setting(system.method)
        if frozen and setting not in system.settings:
            what = f"{system.spec!r} would search {', '.join(searched)}, and not the evidence of {dataset!r}"
            named = f"--method {system.method}:{setting}={FROZEN}+{FROZEN_WORDS}"
            raise UsageError(what, where="--method", hint=f"{named}, or --store CORPUS to search another")
        if dataset != "table" and has_no_corpus(store):
            what = f"{system.spec!r} would search the bundled starter articles about the claims of {dataset!r}"
            raise UsageError(what, where="--method", hint="--store CORPUS; --store starter, if that is meant")
