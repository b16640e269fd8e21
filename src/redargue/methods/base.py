"""The base class of methods: roles, tasks, one instance per claim, and the assembly of verdicts.

A method declares its agents (``roles``: agent name → search tools) and their tasks (``asks``), and implements
:meth:`Method.check`. The base class derives from these what a run needs before it starts, enforces them at run time,
and assembles the verdict: it looks up every quotation in the passages, lists the gaps, and records who decided.
"""

from __future__ import annotations

import hashlib
import inspect
import random
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from typing import Any, ClassVar, NamedTuple, TypeVar, final, get_args, get_origin

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from redargue.backends import Stability, require
from redargue.caveats import NOTHING_NOTED, Noted
from redargue.claims import Claim, Frozen, Meaning
from redargue.errors import BadReply, UsageError, problem_location, problem_of
from redargue.events import Answered, EvidenceFound, EvidenceMissing
from redargue.evidence import Passage, Quote, Side
from redargue.methods.agent import Agent
from redargue.methods.setting_types import Word
from redargue.methods.verdict_parts import distinct, gaps, side_of, why_unquoted
from redargue.quotes import find_quotes
from redargue.registry import ExtensionError, Registry, blamed, did_you_mean
from redargue.run import Run
from redargue.tasks.answer import Answer
from redargue.tasks.base import AnyTask, Out, Profile, Task
from redargue.tasks.judge import Turn
from redargue.verdicts import Metric, Score, Verdict

METHODS = {
    "tool-mad": "redargue.methods.tool_mad:ToolMad",
    "mermaid": "redargue.methods.mermaid:Mermaid",
    "dual-position": "redargue.methods.dual_position:DualPosition",
    "cascade": "redargue.methods.cascade:Cascade",
    "pair": "redargue.methods.pair:Pair",
    "one-pass": "redargue.methods.one_pass:OnePass",
    "single-reader": "redargue.methods.single_reader:SingleReader",
}


Tools = str | tuple[str, ...] | None
Roles = Mapping[str, Tools]
Made = TypeVar("Made", bound=AnyTask)
FROM_SETTINGS = "settings.tools"  # in ``roles``: the tools that the method's setting ``tools`` names


class Deviation(Frozen):
    """An unexpected behaviour of the original publication or program, from ``deviations.toml``.

    Attributes:
        id: ``MAD-1``.
        original: what the paper or its program does.
        effect: on labels or on published figures.
        here: what redargue does by default.
        setting: restores the original (``unparsed=true``); empty where nothing does.
    """

    id: str
    original: str
    effect: str
    here: str
    setting: str = ""


class Layout(NamedTuple):
    """How views arrange what agents say.

    Attributes:
        columns: agents by the heading of their column; the others have none.
        chained: whether each agent answers the one before it, so that their order matters.
    """

    columns: Mapping[str, tuple[str, ...]]
    chained: bool = False


class MethodSettings(Frozen):
    """``profile``: prompts with the paper's structure alone, or hardened against hostile text."""

    profile: Profile = "hardened"

    @field_validator("*", mode="before")
    @classmethod
    def _number(cls, value: object, field: ValidationInfo) -> object:
        kind = cls.model_fields[str(field.field_name)].annotation
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            raise ValueError("give a number")  # and not 1 for true
        return value


class SearchSettings(MethodSettings):
    """``tools`` that are searched, and ``top_k`` passages per search and tool."""

    tools: tuple[Word, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)


class Method:
    """A published way to reach a verdict; one instance verifies one claim.

    Class keywords:
        name: registered name, kebab-case. A class without one is an abstract base and is not registered.
        settings: class of the method's settings; inherited by default.

    Attributes:
        roles: search tools by agent: one, several, ``FROM_SETTINGS``, or None.
        asks: types of the tasks that its agents perform.
        may_ask: types of further tasks, which only some claims need; see :meth:`require`.
        about: one line for lists; by default the first line of the docstring.
        profiles: for each profile the settings that differ from the defaults.
        paper: authors, title, year, identifier.
        graph: its calls on one line: ``->`` waits for, ``|`` runs concurrently.
        calls_actions: whether its agents call tools of MCP servers, with arguments of their choice.
        few_shot: whether its prompts contain examples, which are ours and not the paper's.
        reads_ahead: whether :meth:`read_ahead` reads the claims of a text together.
        quotes: cited so far.
        opening: the turns of a first round that was held before, from which a debate that can do so continues.
        objected: why the agreement of that round, if any, was not accepted.
    """

    name: ClassVar[str] = ""
    settings_class: ClassVar[type[MethodSettings]] = MethodSettings
    roles: ClassVar[Roles] = {}
    asks: ClassVar[tuple[type[AnyTask], ...]] = ()
    may_ask: ClassVar[tuple[type[AnyTask], ...]] = ()
    about: ClassVar[str] = ""
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "hardened": {}}
    paper: ClassVar[str] = ""
    graph: ClassVar[str] = ""
    calls_actions: ClassVar[bool] = False
    few_shot: ClassVar[bool] = False
    reads_ahead: ClassVar[bool] = False

    settings: Any
    opening: tuple[Turn, ...] = ()
    objected: tuple[str, ...] = ()

    def __init_subclass__(
        cls,
        *,
        name: str = "",
        settings: type[MethodSettings] | None = None,
        **keywords: Any,
    ) -> None:
        super().__init_subclass__(**keywords)
        if settings is not None:
            cls.settings_class = settings
        if not name:
            return
        cls.name = name
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            raise TypeError(f"{cls.__qualname__}: the name {name!r} is not kebab-case, like 'single-reader'")
        cls.about = cls.__dict__.get("about") or (cls.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        methods.register(name)(cls)

    def __init__(self, settings: Any, claim: Claim, run: Run) -> None:
        self.settings, self.claim, self.run = settings, claim, run
        declared = frozenset((*self.asks_for(settings), *self.may_ask))
        hardened = settings.profile == "hardened"
        options = {"next_results": hardened, "asks_once": hardened and getattr(settings, "keep_unchanged", False)}
        self.agents = {
            agent: Agent(agent, run, claim=claim, tools=_tuple(tools), tasks=declared, **options)
            for agent, tools in self.roles_for(settings).items()
        }
        self.quotes: list[Quote] = []

    @classmethod
    def roles_for(cls, settings: Any) -> Roles:
        """``roles`` under these settings; override where they depend on settings."""
        return {agent: settings.tools if tools == FROM_SETTINGS else tools for agent, tools in cls.roles.items()}

    @classmethod
    def asks_for(cls, settings: Any) -> tuple[type[AnyTask], ...]:
        """Override where ``asks`` depend on settings."""
        return cls.asks

    @classmethod
    async def read_ahead(cls, settings: Any, claims: Sequence[Claim], run: Run) -> tuple[tuple[Turn, ...], ...]:
        """What is read about the claims of a text before each is verified: for each the turns of a first round.

        A claim's own run has it as ``opening``. ``run`` is that of the whole text; its tools search all documents.
        """
        return ((),) * len(claims)

    @classmethod
    def reads_evidence(cls, settings: Any) -> bool:
        """Whether its agents read evidence; otherwise they answer from memory, which the verdict says."""
        return cls.calls_actions or any(cls.roles_for(settings).values())

    @classmethod
    def layout(cls, settings: Any) -> Layout:
        """A column for each agent; override for teams, and where some agents have no column."""
        return Layout({agent: (agent,) for agent in cls.roles_for(settings)})

    @classmethod
    def limits(cls, settings: Any, stability: Stability) -> Mapping[Metric, float]:
        """The thresholds that scores are shown with; ``stability``: the backend's own."""
        return {}

    @classmethod
    def defaults_for(cls, backend: str, given: Collection[str]) -> Mapping[str, Any]:
        """Settings whose default depends on the backend; ``given`` are those that the user has set."""
        return {}

    @classmethod
    def require_for(cls, settings: Any, run: Mapping[str, Any]) -> None:
        """Raises UsageError for settings made for another ``backend`` (identity), ``models`` or ``min_confidence``."""

    @classmethod
    def note_for(cls, settings: Any) -> str:
        """What is said before its verdicts on the terminal; empty for nothing."""
        return ""

    @classmethod
    def deviations(cls) -> tuple[Deviation, ...]:
        """From ``deviations.toml`` beside the method, under headings like ``[cfmad.CFMAD-1]``."""
        path = files(sys.modules[cls.__module__].__package__ or "") / "deviations.toml"
        rows = tomllib.loads(path.read_text("utf-8")).get(cls.name, {}) if path.is_file() else {}
        return tuple(Deviation(id=id_, **row) for id_, row in rows.items())

    async def check(self, *args: Any, **keywords: Any) -> Answer | Verdict:
        """Verifies the claim.

        Implementations take the claim, then any of their agents by role name: ``async def check(self, claim, reader)``.
        They return the result of :meth:`verdict`, or an agent's answer, whose quotations are then looked up in the
        passages that the agents have read.

        Raises:
            RedargueError: becomes the verdict's ``error``.
        """
        raise NotImplementedError

    @final
    async def verify(self) -> Verdict:
        """Runs :meth:`check` and assembles the verdict; the caller adds profile, backend and usage."""
        roles = list(inspect.signature(self.check).parameters)[1:]
        agents = {role: self.agent(role if role in self.agents else role.replace("_", "-")) for role in roles}
        outcome = await self.check(self.claim, **agents)
        if not isinstance(outcome, Answer | Verdict):
            what = f"check of the method {self.name!r} returned {outcome!r:.100}, neither an answer nor a verdict"
            raise ExtensionError(what, hint="return an agent's answer, or self.verdict(…): docs/extending.md")
        self.claim.labels.require(outcome.label, f"check of the method {self.name!r}")
        if isinstance(outcome, Verdict):
            return outcome
        author = next((a.name for a in self.agents.values() if any(outcome is answer for answer in a.answers)), "")
        if not any(isinstance(event, Answered) for event in self.run.events):
            self.answered(author or next(iter(self.agents)), outcome)
        return self.verdict_of(outcome, decided_by=author)

    def agent(self, name: str) -> Agent:
        """The agent of a role; UsageError where ``roles`` lacks it."""
        if name not in self.agents:
            raise UsageError(f"the method {self.name!r} has no role {name!r}", hint=did_you_mean(name, self.agents))
        return self.agents[name]

    def task(self, kind: Callable[..., Made], /, **fields: Any) -> Made:
        """A task about the claim, or another that is given as a field, in the profile of the settings."""
        return kind(**{"claim": self.claim, "profile": self.settings.profile, **fields})

    async def ask(self, agent: Agent, kind: Callable[..., Task[Out]], /, *, round_: int = 0, **fields: Any) -> Out:
        """An agent's answer to a task about the claim, at the temperature of the settings, or 0 if they have none."""
        temperature = getattr(self.settings, "temperature", 0.0)
        return await agent.perform(self.task(kind, **fields), round_=round_, temperature=temperature)

    async def try_to_ask(
        self, agent: Agent, kind: Callable[..., Task[Out]], /, *, round_: int = 0, **fields: Any
    ) -> Out | None:
        """As :meth:`ask`; None where the reply cannot be read."""
        try:
            return await self.ask(agent, kind, round_=round_, **fields)
        except BadReply:
            return None

    def cite(
        self, texts: Iterable[str], *, label: str | None, agent: str = "", passages: Sequence[Passage] | None = None
    ) -> tuple[Quote, ...]:
        """Looks up quotations in the passages, word for word, and keeps them for the verdict.

        Args:
            texts: quotations as an agent gives them.
            label: of the answer that quotes them; decides which side they are on.
            agent: who quotes; by default the first agent.
            passages: where to look; by default everything that the agents have read.
        """
        agent = agent or next(iter(self.agents), "")
        if passages is None:
            passages = [passage for reader in self.agents.values() for passage in reader.passages]
        side, shown = side_of(self.claim.labels, label), tuple(passages)
        found = (find_quotes(text, shown, side=side, agent=agent) for text in texts if text.strip())
        quotes = tuple(chain.from_iterable(found))
        self.quotes += quotes
        return quotes

    def has_evidence(self, texts: Iterable[str], passages: Sequence[Passage]) -> bool:
        """Whether one of the texts is a quotation of the passages that can carry a verdict."""
        return not why_unquoted(texts, passages)

    def why_not_yet(self, label: str | None, texts: Iterable[str], passages: Sequence[Passage]) -> str:
        """Hardened only: what an answer for or against the claim lacks that no quotation carries; else empty."""
        if self.settings.profile != "hardened" or side_of(self.claim.labels, label) is Side.CONTEXT:
            return ""
        return why_unquoted(texts, passages)

    def why_unsearched(self, passages: Sequence[Passage]) -> str:
        """Hardened only: that an answer comes before anything was read or searched; else empty."""
        searched = any(isinstance(event, EvidenceFound | EvidenceMissing) for event in self.run.events)
        return "" if self.settings.profile != "hardened" or passages or searched else "nothing was searched"

    def answered(
        self, agent: str, answer: Answer, *, round_: int = 0, passages: Sequence[Passage] | None = None
    ) -> tuple[Quote, ...]:
        """Emits an agent's answer as an event, with its quotations (:meth:`cite`)."""
        quotes = self.cite(answer.quotes, label=answer.label, agent=agent, passages=passages)
        said = {"text": answer.text, "label": answer.label, **answer.noted}
        self.run.emit(Answered(agent=agent, round=round_, quotes=quotes, **said))
        return quotes

    def verdict(
        self,
        label: str | None,
        *,
        reason: str = "",
        confidence: float | None = None,
        decided_by: str = "",
        rounds: int = 0,
        round_labels: Sequence[tuple[str | None, ...]] = (),
        scores: Iterable[Score] = (),
        noted: Noted = NOTHING_NOTED,
    ) -> Verdict:
        """The verdict, with all cited quotations and all gaps of the run, decided by default by the first agent."""
        return Verdict(
            claim=self.claim,
            label=label,
            confidence=confidence,
            decided_by=decided_by or next(iter(self.agents), ""),
            rounds=rounds,
            round_labels=tuple(round_labels),
            reason=reason,
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
            scores=tuple(scores),
            **noted.noted,
        )

    def verdict_of(self, answer: Answer, **more: Any) -> Verdict:
        """The verdict with an answer's label, text, confidence and notes; ``more``: as :meth:`verdict` has it."""
        said = {"reason": answer.text, "confidence": answer.confidence, "noted": answer}
        return self.verdict(answer.label, **said | more)

    def require(self, *tasks: type[AnyTask]) -> None:
        """Raises UnsupportedTask for a backend that cannot perform tasks which only this claim needs."""
        require(self.run.backend, self.name, tasks)

    def rng(self, *parts: str) -> random.Random:
        """Random numbers that depend only on the run's seed and their purpose."""
        return random.Random(hashlib.sha256("\0".join([str(self.run.seed), *parts]).encode()).digest())

    def two_sides(self) -> tuple[str, str]:
        """The claim's labels for correct and for incorrect; a UsageError where the label set lacks one of them."""
        labels = self.claim.labels
        correct, incorrect = labels.named(Meaning.SUPPORTED), labels.named(Meaning.REFUTED)
        if correct is None or incorrect is None:
            raise UsageError(
                f"{self.name} cannot give the labels {labels.name!r}",
                hint="choose a label set with one label for correct claims and one for incorrect ones: --labels two",
            )
        return correct, incorrect

    def side_label(self, *, supported: bool) -> str:
        """The claim's label for correct or for incorrect; raises as :meth:`two_sides`."""
        correct, incorrect = self.two_sides()
        return correct if supported else incorrect


def _missing(entry: object) -> str:
    if not (isinstance(entry, type) and issubclass(entry, Method)):
        return "it is not a subclass of Method"
    if not inspect.iscoroutinefunction(entry.check) or len(inspect.signature(entry.check).parameters) < 2:
        return "it needs a coroutine method `check`: async def check(self, claim)"
    if not isinstance(entry.roles, Mapping):
        return f"its 'roles' are {entry.roles!r:.60}, not a mapping of agents to tools"
    for name in ("asks", "may_ask"):
        types = getattr(entry, name)
        if not (isinstance(types, tuple) and all(isinstance(each, type) and issubclass(each, Task) for each in types)):
            return f"its {name!r} is {types!r:.60}, not a tuple of tasks"
    fits = isinstance(entry.settings_class, type) and issubclass(entry.settings_class, MethodSettings)
    return "" if fits else f"its settings, {entry.settings_class!r:.60}, are no subclass of MethodSettings"


methods: Registry[type[Method]] = Registry(
    "method", builtin=METHODS, group="redargue.methods", extra="lab", missing=_missing
)


def rounds_setting(name: str) -> str:
    """The setting of a method that bounds its rounds, or its steps; ``rounds`` where there is none."""
    fields = methods[name].settings_class.model_fields
    return next((setting for setting in ("rounds", "max_rounds", "max_steps") if setting in fields), "rounds")


@dataclass(frozen=True)
class ConfiguredMethod:
    """A method with its settings, before there is a claim."""

    kind: type[Method]
    settings: Any

    @property
    def name(self) -> str:
        return self.kind.name

    def tools(self) -> tuple[str, ...]:
        roles = self.kind.roles_for(self.settings)
        return tuple(dict.fromkeys(tool for tools in roles.values() for tool in _tuple(tools)))

    def agents(self) -> tuple[str, ...]:
        return tuple(self.kind.roles_for(self.settings))

    def tasks(self) -> tuple[type[AnyTask], ...]:
        return self.kind.asks_for(self.settings)

    def reads_evidence(self) -> bool:
        return self.kind.reads_evidence(self.settings)

    def layout(self) -> Layout:
        return self.kind.layout(self.settings)

    def limits(self, stability: Stability) -> Mapping[Metric, float]:
        return self.kind.limits(self.settings, stability)

    def for_claim(self, claim: Claim, run: Run) -> Method:
        return self.kind(self.settings, claim, run)

    async def read_ahead(self, claims: Sequence[Claim], run: Run) -> tuple[tuple[Turn, ...], ...]:
        with blamed(f"the method {self.name!r}", self.kind):
            return await self.kind.read_ahead(self.settings, claims, run)

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        with blamed(f"the method {self.name!r}", self.kind):
            return await self.for_claim(claim, run).verify()


def require_profile(name: str, profile: str) -> None:
    """Raises UsageError for a profile that a method does not have."""
    profiles = methods[name].profiles
    if profile not in profiles:
        raise UsageError(f"{name!r} has no profile {profile!r}", hint=did_you_mean(profile, profiles))


def configure(name: str, profile: str, overrides: Mapping[str, Any]) -> ConfiguredMethod:
    """A method with a profile's settings and ``overrides`` on top; UsageError for what does not fit."""
    method = methods[name]
    require_profile(name, profile)
    fields = method.settings_class.model_fields
    words = method.profiles[profile].get("profile", profile)  # whose prompts the profile uses
    if "profile" in overrides and overrides["profile"] != words:
        hint = f"use --profile {overrides['profile']}, or in redargue bench run {name}@{overrides['profile']}"
        raise UsageError("`profile` is not a setting", hint=hint)
    for setting in overrides:
        if setting not in fields:
            hint = did_you_mean(setting, fields) + _methods_with(setting)
            raise UsageError(f"{name!r} has no setting {setting!r}", where=setting, hint=hint)
    lists = {setting: value for setting, value in overrides.items() if get_origin(fields[setting].annotation) is tuple}
    split = {setting: _parts(value) for setting, value in lists.items() if isinstance(value, str)}
    try:
        settings = method.settings_class(**{"profile": words, **method.profiles[profile], **overrides, **split})
    except ValidationError as error:
        setting = problem_location(error)
        message = (
            f"{error.errors()[0]['input']!r} does not fit the setting {setting!r} of {name!r}: {problem_of(error)}"
        )
        if not setting:  # each value is possible, and they contradict each other
            message = f"the settings of {name!r} do not fit together: {problem_of(error)}"
        raise UsageError(message, where=setting) from error
    return ConfiguredMethod(method, settings)


def _methods_with(setting: str) -> str:
    """The end of a hint: which methods have a setting, since the user may have left the choice of one to redargue."""
    having = [name for name in methods.builtin if setting in methods[name].settings_class.model_fields]
    return f"; methods with {setting!r}: {', '.join(having)}; choose one with --method" if having else ""


def _parts(text: str) -> list[str]:
    """The items of a list that is written as ``corpus+keywords``."""
    return [item for item in text.split("+") if item]


def _tuple(tools: Tools) -> tuple[str, ...]:
    return (tools,) if isinstance(tools, str) else tools or ()
