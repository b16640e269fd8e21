"""What every method is: a name, its settings and profiles, the tasks and tools it needs, and one coroutine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from pydantic import Field, ValidationError

from redargue.claims import Claim, Frozen, LabelSet, Meaning
from redargue.errors import UsageError
from redargue.registry import Registry, did_you_mean
from redargue.run import Run
from redargue.tasks.base import AnyTask
from redargue.verdicts import Verdict


class Plan(Frozen):
    """What a claim asks for.

    Attributes:
        calls: how often each task is asked, by task name.
        samples: answers wanted from one request, where there are more than one; an endpoint that gives one a request
            is asked as often.
        asked_by: the agents that ask a task, in equal parts, where it is not all of them.
        searches: how often each tool is asked.
        call_depth: calls that wait for one another, at the longest.
        search_depth: searches on that longest path.
    """

    calls: dict[str, int]
    searches: dict[str, int]
    samples: dict[str, int] = Field(default_factory=dict)
    asked_by: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    call_depth: int
    search_depth: int


class Behaviour(Frozen):
    """Something that the original does and that a reader of its paper would not expect, or that its code has otherwise.

    Attributes:
        id: as tests cite it: ``MAD-1``.
        original: what the paper or its program does.
        effect: on labels or on published numbers.
        here: what happens by default.
        setting: what brings the original's behaviour back: ``unparsed=true``; empty where nothing does.
    """

    id: str
    original: str
    effect: str
    here: str
    setting: str = ""


class Method(Protocol):
    """A published way to reach a verdict.

    Attributes:
        name: registered name.
        about: one line: what happens, and the paper.
        options: the class of its settings.
        profiles: for each profile the settings that differ from the defaults.
        calls_actions: optional; whether its agents call tools by name, with arguments of their choice.
        paper: optional; authors, title, year, identifier.
        graph: optional; its calls on a line: what waits for what (``->``), what runs at once (``|``).
        behaviours: optional; what the original does otherwise.
        demonstrations: optional; whether its prompts hold examples, which are our own and not the paper's.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    options: ClassVar[type[Frozen]]
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]]
    settings: Any

    def __init__(self, settings: Any) -> None: ...

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """What a backend must be able to perform for these settings."""
        ...

    def tools(self) -> tuple[str, ...]:
        """The evidence tools that these settings name."""
        ...

    def agents(self) -> tuple[str, ...]:
        """The names of those who take part, as in events; each may be given a model of its own."""
        ...

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """What a claim costs at least, as a rule and at most, before any call is made."""
        ...

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Reaches a verdict; the caller adds method, profile, backend and usage to it."""
        ...


methods: Registry[type[Method]] = Registry("method")


def require_sides(labels: LabelSet, how: str) -> tuple[str, str]:
    """The label of what is correct and that of what is not.

    Raises:
        UsageError: the set lacks one; says that ``how`` cannot give its labels.
    """
    correct, incorrect = labels.named(Meaning.SUPPORTED), labels.named(Meaning.REFUTED)
    if correct is None or incorrect is None:
        raise UsageError(
            f"{how} cannot give the labels {labels.name!r}",
            hint="a label set with one label for what is correct and one for what is not: --labels two",
        )
    return correct, incorrect


def configure(name: str, profile: str, overrides: Mapping[str, Any]) -> Method:
    """The method called ``name``, with a profile's settings and the caller's on top.

    Raises:
        UnknownName: no such method or profile.
        UsageError: a setting that the method does not have, or a value that it does not take.
    """
    method = methods[name]
    if profile not in method.profiles:
        raise UsageError(f"{name!r} has no profile {profile!r}", hint=did_you_mean(profile, list(method.profiles)))
    fields = method.options.model_fields
    words = method.profiles[profile].get("profile", profile)  # whose words the profile uses
    if "profile" in overrides and overrides["profile"] != words:
        raise UsageError("the profile is no setting", hint=f"choose it as such: --profile {overrides['profile']}")
    for option in overrides:
        if option not in fields:
            raise UsageError(f"{name!r} has no setting {option!r}", hint=did_you_mean(option, list(fields)))
    try:
        settings = method.options(**{"profile": words, **method.profiles[profile], **overrides})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"{first['input']!r} does not fit the setting {'.'.join(map(str, first['loc']))!r} of {name!r}: "
            f"{first['msg']}"
        ) from error
    return method(settings)


def usual_calls(name: str) -> int:
    """How many calls a claim costs as a rule with the method called ``name`` as it is by default; vectors are none.

    Raises:
        UnknownName: no such method.
    """
    method = configure(name, "hardened", {})
    free = {task.name() for task in method.tasks() if task.charge == "embedding"}
    return sum(count for task, count in method.plan()[1].calls.items() if task not in free)
