"""What is compared: a method with its profile, settings and seed, as one is named on a command line."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, get_origin

from redargue.claims import Frozen
from redargue.config import RunConfig
from redargue.errors import UnknownName, UsageError
from redargue.methods.base import configure, methods
from redargue.registry import did_you_mean
from redargue.retrieval.tools.base import tools

DEBATED = "debated"
READS = "~"
FROZEN, FROZEN_WORDS = "frozen", "frozen-words"
OWN = (FROZEN, FROZEN_WORDS, DEBATED)  # tools that a bench makes of its examples, beside those that are registered
_SEED = re.compile(r"#\d+$")


class Contender(Frozen):
    """One row of a table.

    Attributes:
        spec: as it was given: ``METHOD[@PROFILE][:SETTING=VALUE,…][~OTHER][#SEED]``.
        method: registered name.
        profile: of the method.
        settings: that differ from the profile's.
        seed: of the run; None for the bench's.
        reads: the other contender whose passages the tool ``debated`` gives; empty for the first of the bench.
    """

    spec: str
    method: str
    profile: str = "hardened"
    settings: dict[str, Any] = {}  # noqa: RUF012  (pydantic copies it)
    seed: int | None = None
    reads: str = ""

    @classmethod
    def parse(cls, spec: str) -> Contender:
        """Reads ``tool-mad@paper:rounds=1,debaters=corpus+wikipedia#7`` and ``single-reader:tools=debated~mermaid``.

        Raises:
            UsageError: a setting without a value; an unknown method, profile, setting or tool; another contender whose
                passages no tool asks for.
        """
        plain, sign, number = spec.rpartition("#") if _SEED.search(spec) else (spec, "", "")
        plain, _, reads = plain.partition(READS)
        name, _, rest = plain.partition(":")
        method, _, profile = name.partition("@")
        settings: dict[str, Any] = {}
        for pair in rest.split(",") if rest else ():
            key, equals, value = pair.partition("=")
            if not equals or not key.strip():
                raise UsageError(f"cannot read {pair!r}", where=spec, hint="write it like tool-mad:rounds=1,top_k=5")
            name = key.strip().replace("-", "_")
            values = [each for each in value.strip().split("+") if each]
            settings[name] = values if name in _lists(method) else _value(value.strip())
        for tool in configure(method, profile or "hardened", settings).tools():
            if tool not in OWN and tool not in tools:
                raise UnknownName(f"unknown tool {tool!r}", where=spec, hint=did_you_mean(tool, [*OWN, *tools]))
        seed = int(number) if sign else None
        found = cls(spec=spec, method=method, profile=profile or "hardened", settings=settings, seed=seed, reads=reads)
        if reads and DEBATED not in found.tools:
            raise UsageError(
                f"{reads!r} is what the tool {DEBATED!r} reads of, and it is not asked",
                where=spec,
                hint="tools=debated",
            )
        return found

    def applied(self, config: RunConfig) -> RunConfig:
        """A bench's configuration with the method, profile, settings and seed of this row."""
        config = config.updated(method=self.method, profile=self.profile, settings=self.settings, tools=None)
        return config if self.seed is None else config.updated(seed=self.seed)

    def seeded(self, seed: int) -> Contender:
        """The same method with another seed."""
        return self.model_copy(update={"spec": f"{self.unseeded}#{seed}", "seed": seed})

    @property
    def unseeded(self) -> str:
        """What contenders that differ in their seed alone have in common."""
        return self.spec if self.seed is None else self.spec.rpartition("#")[0]

    @property
    def slug(self) -> str:
        """Its folder's name."""
        plain = re.sub(r"[^a-z0-9.]+", "-", self.spec.lower()).strip("-")
        return plain if len(plain) <= 60 else f"{plain[:50]}-{hashlib.sha256(self.spec.encode()).hexdigest()[:8]}"

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it asks."""
        return configure(self.method, self.profile, self.settings).tools()


def _lists(method: str) -> set[str]:
    """The settings of a method that are lists, written with a plus between their items."""
    fields = methods[method].settings_class.model_fields
    return {name for name, field in fields.items() if get_origin(field.annotation) is tuple}


def _value(text: str) -> Any:
    """A setting's value: JSON where it is JSON, else text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
