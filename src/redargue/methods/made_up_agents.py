"""Made-up agents of a dry run, which answer without a model.

A :class:`Course` says how they behave. Nothing here knows a method: a reply follows the schema of its task, and the
fields that decide whether a debate or a search continues are recognised by their names and types.

Made-up search tools and a memory of a dry run, which find passages that can be quoted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from math import inf
from typing import Any, cast

from pydantic import ValidationError

from redargue.backends import PAPER_STABILITY, Call, Output, Reply, Token
from redargue.claims import Claim, Frozen
from redargue.errors import BadReply, problem_of
from redargue.evidence import Omission, Passage, Recalled
from redargue.llm.parsing import passages_in
from redargue.llm.rendering import schema_of
from redargue.memory import Finding, Recall
from redargue.retrieval.tools import Search
from redargue.tasks.base import EXACTLY_ONE, AnyTask, Out, Task
from redargue.tasks.score import (
    CompareTexts,
    InferClaim,
    Inferences,
    Inferred,
    ReaderAnswer,
    ReadPassages,
    Similarities,
)

MOST_FOUND = 100  # passages of a search
RECALLED = 5  # passages in the memory
DAY = datetime(2026, 1, 2, tzinfo=UTC)

# In the first passage of every search, so that whoever has read one can quote it, each time otherwise.
_SOURCE = (
    "The harbour register of Cape Ansel lists for each season which ship came in, who was her master, what cargo she"
    " carried, where it was bound, how many days she lay at the old quay, whose crew unloaded"
).split()
_SOURCE_TEXT = "\n" + " ".join(_SOURCE)
_QUOTED = 8  # words


def quotation(number: int) -> str:
    """A quotation from the first passage of any search: eight words, from the next one on for each number."""
    start = number % (len(_SOURCE) - _QUOTED + 1)
    return " ".join(_SOURCE[start : start + _QUOTED])


class MadeUpTool:
    """Finds other passages for every query, or the same; as all tools on its ``shelf`` do, by default itself alone."""

    revision = ""
    online = False

    def __init__(self, name: str, about: str = "", *, shelf: str = "", finds_all: bool = False) -> None:
        self.name, self.about, self._shelf, self._finds_all = name, about, shelf or name, finds_all

    async def search(self, query: str, k: int, *, search: Search) -> tuple[Passage, ...]:
        query = "" if self._finds_all else query
        return tuple(
            Passage(
                title=f"(title {number})",
                text=f"(passage {number} that {self._shelf} found for: {query})" + _SOURCE_TEXT * (number == 1),
                document=f"{self._shelf} {query} {number}",
                rank=number,
            )
            for number in range(1, min(k, MOST_FOUND) + 1)
        )


class MadeUpAction:
    """A tool that finds passages for arguments, with the parameters of a tool of an MCP server."""

    revision = ""
    online = False

    def __init__(self, tool: MadeUpTool, parameters: Mapping[str, Any]) -> None:
        self.name, self.about, self.parameters, self._tool = tool.name, tool.about, parameters, tool

    async def call(self, arguments: Mapping[str, Any], *, search: Search) -> tuple[Passage, ...]:
        return await self._tool.search(json.dumps(arguments, sort_keys=True), 1, search=search)


class MadeUpMemory:
    """Recalls evidence that ``tool`` found for earlier claims, or nothing."""

    about: dict[str, Any] = {}

    def __init__(self, tool: str, *, knows: bool) -> None:
        self._tool, self._knows = tool, knows

    async def recall(self, entities: Iterable[str], *, claim: Claim, now: datetime, text: str = "") -> Recall:
        if not self._knows:
            return Recall()
        passages = (
            Passage(title="(title)", text=quotation(number), tool=self._tool, query="(its query)", retrieved=DAY)
            for number in range(RECALLED)
        )
        return Recall(
            items=tuple(
                Recalled(passage=passage, length=len(passage.text), number=number)
                for number, passage in enumerate(passages, 1)
            )
        )

    async def remember(
        self, findings: Sequence[Finding], *, entities: Iterable[str], claim: str, run: str, now: datetime
    ) -> dict[Omission, int]:
        return {}


_LONGEST = 60  # characters of a made-up text
_MOST_ITEMS = 20  # of a list without a bound
_QUOTATIONS = 4  # of a reply


@dataclass(frozen=True)
class Course:
    """How a dry run goes: what made-up agents answer, and for how long.

    Attributes:
        differing: answers that an agent gives before its label is that of the others.
        refusing: answers that an agent gives before it is content: says yes, concedes, decides, is sure.
        searching: steps in which an agent asks for more before it answers.
        items: of a list, as far as the task allows as many.
        similarity: of compared texts, in [0, 1].
        recalls: whether the evidence memory knows anything.
        makes_up: whether agents quote words that no passage has.
        shelf: what all search tools search, if it is one thing; empty for a shelf of its own for each.
        finds_all: whether every query finds the same passages.
        logprobs: whether replies have log probabilities; without them some methods draw further samples.
    """

    differing: float
    refusing: float
    searching: float
    items: int
    similarity: float
    recalls: bool = False
    makes_up: bool = False
    shelf: str = ""
    finds_all: bool = False
    logprobs: bool = True


# The lowest cost is that of one of two: all agents agree, are sure, and answer without another step, from what each
# tool finds for each query, or from the same, because all tools find all that there is.
AGREES = Course(differing=0, refusing=0, searching=0, items=1, similarity=1.0)
AGREES_ALIKE = replace(AGREES, shelf="every tool", finds_all=True)
# The likely cost, by judgement: each agent changes its mind once, so that a debate ends in its second round; who works
# in steps takes two of them before it answers; a list has two items; texts are near (above every threshold of
# relevance), and no two of them are the same (below every threshold of repetition).
AGREES_LATER = Course(differing=1, refusing=1, searching=2, items=2, similarity=0.89)
# The highest cost is that of one of three: agents that never agree, that agree and are never content, or that agree and
# have no evidence, because all tools find the same. All always ask for more, so that only a method's own bounds end it.
DISAGREES = Course(differing=inf, refusing=inf, searching=inf, items=20, similarity=0.0, recalls=True, logprobs=False)
DOUBTS = replace(DISAGREES, differing=0)
MAKES_UP = replace(DOUBTS, makes_up=True, shelf="every tool")

# Fields whose names say more than their types.
_ALWAYS = {"relevant": True, "checkworthy": True, "settled": True, "keep": False, "noncommittal": False}
_ASKS_FOR_MORE = "needed"
_LABELS = {"label", "answer", "final_answer", "debate_answer", "factuality"}


def quotations(task: AnyTask, number: int, *, content: bool) -> list[str]:
    """Such a quotation; who is content has others from every passage, and who sees none has further ones."""
    shown = [passage.text.partition("\n")[0] for passage in getattr(task, "passages", ())]
    others = shown * content if shown else [quotation(number + place) for place in range(1, _QUOTATIONS)]
    return [quotation(number), *others[: _QUOTATIONS - 1]]


class MadeUpBackend:
    """Makes up a valid reply to every task, as the course has it."""

    name = model = identity = "made-up"
    supports_attention_weights = False
    english_only = False
    stability = PAPER_STABILITY

    def __init__(self, course: Course) -> None:
        self.course = course
        self._numbers = count(1)  # of made-up texts
        self._answers = Counter[str]()  # by agent: replies that choose something
        self._searches = Counter[str]()  # by agent: replies that ask for another step
        self._quoting = Counter[str]()  # by agent: replies with quotations
        self._speakers: dict[type[Frozen], list[str]] = {}

    def can(self, task: type[AnyTask]) -> bool:
        return True

    def render(self, task: AnyTask) -> str:
        return ""

    async def perform(self, task: Task[Out], call: Call) -> Reply[Out]:
        asked, agent = cast(AnyTask, task), call.agent
        if isinstance(task, (CompareTexts, InferClaim, ReadPassages)):
            return Reply((Output(cast(Out, self._rated(task, agent))),))
        made = [self._made(asked, agent) for _ in range(call.sampling.n)]
        await self.answering(asked)  # an agent's concurrent replies are alike: none of them knows the others
        first, _ = made[0]
        self._answers[agent] += first.chose
        self._searches[agent] += first.searched
        self._quoting[agent] += first.quoted
        return Reply(tuple(output for _, output in made))

    async def answering(self, task: AnyTask) -> None:
        """Waits as long as an answer takes; here no time."""

    def _made(self, task: AnyTask, agent: str) -> tuple[_Reply, Output[Any]]:
        """The first reply that the task accepts."""
        speakers = self._speakers.setdefault(task.answer_type(), [])
        if agent not in speakers:
            speakers.append(agent)
        refused = ""
        for shift in (0, 1, 2):
            reply = _Reply(
                task,
                course=self.course,
                differs=self._answers[agent] < self.course.differing,
                content=self._is_content(agent),
                searches=self._searches[agent] < self.course.searching,
                speaker=speakers.index(agent),
                shift=shift,
                quotes=self._quotations(task, agent),
                numbers=self._numbers,
            )
            text = json.dumps(reply.fields, ensure_ascii=False)
            try:
                answer = task.from_reply(task.reply_type().model_validate_json(text))
            except ValueError as error:
                refused = problem_of(error) if isinstance(error, ValidationError) else str(error)
            else:
                if not self.course.logprobs:
                    return reply, Output(answer, text)
                tokens = (Token("made", -0.1), Token("up", -0.1))
                return reply, Output(answer, text, entropy=0.1, tokens=tokens)
        raise BadReply(f"{task.name()} accepts no made-up reply: {refused}", raw=text, where=agent)

    def _quotations(self, task: AnyTask, agent: str) -> list[str]:
        quoted = quotations(task, self._quoting[agent], content=self._is_content(agent))
        return [f"(made-up) {quote[::-1]}" for quote in quoted] if self.course.makes_up else quoted

    def _is_content(self, agent: str) -> bool:
        return self._answers[agent] >= self.course.refusing

    def _rated(self, task: CompareTexts | InferClaim | ReadPassages, agent: str) -> Frozen:
        """The answer of a small model, which compares or reads texts."""
        if isinstance(task, CompareTexts):
            return Similarities(values=(self.course.similarity,) * len(task.texts))
        if isinstance(task, InferClaim):
            inferred = Inferred(supports=self.course.similarity, refutes=0.0)
            return Inferences(inferences=(inferred,) * len(task.premises))
        sure = self._is_content(agent)
        self._answers[agent] += 1
        label = next(iter(task.claim.labels.names), None)
        quotes = tuple(quotations(task, 0, content=sure)) if task.passages else ()
        probabilities = {label: float(sure)} if label else {}
        return ReaderAnswer(text="", label=label, quotes=quotes, confidence=float(sure), probabilities=probabilities)


@dataclass(eq=False)
class _Reply:
    """A made-up reply in JSON.

    Attributes:
        differs: whether its label is another than the others'.
        content: whether it says yes, decides and is sure.
        searches: whether it asks for another step, where it can.
        speaker: number of its author among those that perform the task: others who differ choose otherwise.
        shift: number of replies that the task refused.
        quotes: its quotations.
        numbers: of made-up texts.
        fields: of the reply.
        chose: whether it chooses a label, says yes or no, or decides.
        searched: whether it asks for another step.
        quoted: whether it quotes.
    """

    task: AnyTask
    course: Course
    differs: bool
    content: bool
    searches: bool
    speaker: int
    shift: int
    quotes: list[str]
    numbers: Iterator[int]
    chose: bool = False
    searched: bool = False
    quoted: bool = False

    def __post_init__(self) -> None:
        task = self.task
        self._schema, self._fixed = schema_of(task), task.fixed_items()
        # a hardened answer is accepted only with a quotation
        quoting = task.profile == "hardened" and "quotes" in self._schema["properties"]
        self._nothing_to_quote = quoting and not passages_in(task)
        self._left_empty = self._not_filled(self._schema.get(EXACTLY_ONE, ()))
        self.fields = self._object(self._schema, 0)

    def _not_filled(self, either: Sequence[str]) -> Sequence[str]:
        """Of a step and an answer, the field that is left empty; both if the agent never comes to an end."""
        if not either:
            return ()
        if self.course.searching == inf and not self.shift:
            return either  # a thought alone, which few tasks accept
        answer = next((name for name in either if name.endswith("answer")), either[0])
        step = next(name for name in either if name != answer)
        possible = any(self._schema["properties"][step].get("enum", ("any",)))
        self.searched = possible and (self.searches or self._nothing_to_quote)
        return (answer if self.searched else step,)

    def _object(self, schema: Mapping[str, Any], place: int) -> dict[str, Any]:
        """Its fields; ``place``: of the list's item that it is, from 0."""
        return {name: self._value(name, field, place) for name, field in schema["properties"].items()}

    def _value(self, name: str, field: Mapping[str, Any], place: int) -> Any:
        field = self._resolved(field)
        if name in self._left_empty:
            return ""
        if "const" in field:
            return field["const"]
        if "enum" in field:
            return self._option(name, field["enum"], place)
        kind = field.get("type")
        if kind == "boolean":
            return self._yes(name)
        if kind in ("integer", "number"):
            return self._number(field, place, whole=kind == "integer")
        if kind == "array":
            return self._items(name, field)
        if kind == "object":
            return self._object(field, place) if "properties" in field else {}
        return self._text(name, field, place)[: field.get("maxLength", _LONGEST)]

    def _resolved(self, field: Mapping[str, Any]) -> Mapping[str, Any]:
        if "anyOf" in field:
            field = field["anyOf"][0]
        if "$ref" in field:
            resolved: Mapping[str, Any] = self._schema["$defs"][field["$ref"].rpartition("/")[2]]
            return resolved
        return field

    def _items(self, name: str, field: Mapping[str, Any]) -> list[Any]:
        item = self._resolved(field["items"])
        if name == "quotes" and item.get("type") == "string":
            self.quoted = not self.searched
            return self.quotes if self.quoted else []
        if name in self._fixed:
            key, values = self._fixed[name]
            return [self._object(item, place) | {key: value} for place, value in enumerate(values)]
        most = max(field.get("minItems", 0), min(self.course.items, field.get("maxItems", _MOST_ITEMS)))
        return [self._value(name, item, place) for place in range(most)]

    def _option(self, name: str, options: Sequence[Any], place: int) -> Any:
        if {str(option).casefold() for option in options} == {"yes", "no"}:
            yes = self._yes(name)
            return next(option for option in options if (option.casefold() == "yes") == yes)
        if name == "agree":
            return options[self._yes(name)]
        if all(isinstance(option, int) for option in options):
            score = float(_ALWAYS[name]) if name in _ALWAYS else self.course.similarity
            return options[round(score * (len(options) - 1))]
        filled = [option for option in options if option != ""]
        if name == "tool":
            return filled[0]
        self.chose = True
        if len(filled) < len(options) and not (self.content or self._left_empty):
            return ""
        own = self.speaker + place if self.differs else 0
        return filled[(own + self.shift) % len(filled)]

    def _yes(self, name: str) -> bool:
        if name in _ALWAYS:
            return _ALWAYS[name]
        if name == _ASKS_FOR_MORE:
            self.searched = self.searches
            return self.searches
        self.chose = True
        if name in _LABELS:
            return not self.differs or self.speaker % 2 == 0
        return self.content

    def _number(self, field: Mapping[str, Any], place: int, *, whole: bool) -> float:
        """A score from 0, or a place in a list from 1."""
        low, high = field.get("minimum"), field.get("maximum")
        if low is None or high is None or low == 1:
            return place + 1
        number = float(low + self.course.similarity * (high - low))
        return round(number) if whole else round(number, 6)

    def _text(self, name: str, field: Mapping[str, Any], place: int) -> str:
        """A new text; where the schema says how an item refers to the first, as in ``{answer_1}``, a later one does."""
        if name in _LABELS:
            self.chose = True
            if not (self.content or self._left_empty) and "empty" in field.get("description", ""):
                return ""
            if not self.differs:
                return "(made-up answer)"
        reference = re.search(r"\{\w+_1\}", field.get("description", "")) if place and self.differs else None
        return f"(made-up text {next(self.numbers)}{f' after {reference.group()}' if reference else ''})"
