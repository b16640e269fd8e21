"""FOLK: a claim as predicates of first-order logic, grounded by searches, and the truth of each.

Wang & Shu 2023, "Explainable Claim Verification via Knowledge-Grounded Reasoning with Large Language Models" (arXiv
2310.05253, Section 3). One call decomposes the claim, all questions are searched concurrently, one call judges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic import Field, field_validator
from pydantic.json_schema import SkipJsonSchema

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Spoke
from redargue.methods.agent import Agent
from redargue.methods.base import FROM_SETTINGS, SearchSettings
from redargue.methods.baselines import grounding
from redargue.methods.baselines.grounding import Grounded, GroundingMethod, examples_in, found_in
from redargue.methods.baselines.small_models import clauses_of, is_it_true, likeliest, quotes_for
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.nli.grammar import decompose
from redargue.tasks.answer import Answer, Quotations, quotes_field
from redargue.tasks.base import Profile, Task, text_field
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

MOST_PREDICATES = 12


class Predicate(Frozen):
    """A predicate such as ``Born(Ada Pell, Veshti)``, and "Verify that Ada Pell was born in Veshti"."""

    predicate: str = text_field("Name(argument, argument)", 300)
    verify: str = text_field("what to verify, in words", 300)

    @field_validator("predicate", "verify")
    @classmethod
    def _on_a_line(cls, text: str) -> str:
        plain = " ".join(text.split())
        if not plain:
            raise ValueError("a predicate or what to verify is empty")
        return plain

    @property
    def line(self) -> str:
        return f"{self.predicate} ::: {self.verify}"


class Predicates(Frozen):
    """A claim's predicates and the questions that they lead to."""

    predicates: tuple[Predicate, ...] = Field(
        description="all predicates of the claim", json_schema_extra={"minItems": 1, "maxItems": MOST_PREDICATES}
    )
    questions: grounding.QuestionTexts = Field(
        description="what has to be known to verify them, one question each",
        json_schema_extra=grounding.QUESTION_BOUNDS,
    )

    @field_validator("predicates")
    @classmethod
    def _any(cls, raw: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
        if not 0 < len(raw) <= MOST_PREDICATES:
            raise ValueError(f"{len(raw)} predicates; 1 to {MOST_PREDICATES} were asked for")
        return raw


class WritePredicates(grounding.QuestionsTask[Predicates]):
    """Predicates and questions of a claim (Section 3.1)."""

    def plain_example(self, reply: Predicates) -> str:
        predicates = [predicate.line for predicate in reply.predicates]
        return "\n".join(["Predicates:", *predicates, "", grounding.question_lines(reply.questions)])

    def parse_plain(self, text: str) -> Predicates | None:
        return None if grounding.is_object(text) else parse_predicates(text)


def parse_predicates(text: str) -> Predicates:
    """Reads ``Name(arguments) ::: what to verify`` and ``Followup Question: …``; a ValueError without either."""
    predicates = []
    for line in map(str.strip, text.partition(grounding.EXAMPLE_SEPARATOR)[0].splitlines()):
        predicate, mark, verify = line.partition(":::")
        if not mark:
            continue
        if not re.fullmatch(r"[^()]+\(.+\)", predicate.strip()):
            raise ValueError(f"{line[:80]!r} is not of the form Name(argument, argument) ::: Verify that ...")
        predicates.append(Predicate(predicate=predicate, verify=verify))
    if not predicates:
        raise ValueError("no line is of the form Name(argument, argument) ::: Verify that ...")
    return Predicates(predicates=tuple(predicates), questions=grounding.questions_in(text))


class PredicateTruth(Frozen):
    """Whether a predicate holds, and why."""

    predicate: str = text_field("as it was given", 300)
    reason: str = text_field("why it holds or not, from what was found", 400)
    holds: bool = Field(description="true or false")


class PredicatesVerdict(Frozen):
    """The truth of each predicate, with an explanation."""

    truths: tuple[PredicateTruth, ...] = Field(description="of each predicate, in order")
    explanation: str = text_field("for a person who wants to know why", 1_000)
    quotes: Quotations = quotes_field("what you rely on, copied word for word from what was found")
    # the label in the paper's form; None: the predicates decide
    written: SkipJsonSchema[grounding.SupportLabel | None] = None

    @property
    def answer(self) -> grounding.SupportLabel:
        """The written label; else the conjunction of the predicates."""
        return self.written or ("SUPPORTED" if all(truth.holds for truth in self.truths) else "NOT_SUPPORTED")


_TRUTH = re.compile(r"(?m)^[ \t]*([^()\n]+\([^\n]*?\)) is (True|False)\b(?: because)?[ \t]*([^\n]*)$")


class VerifyPredicates(Task[PredicatesVerdict]):
    """Whether the predicates hold, their conjunction, the label, an explanation (Section 3.3)."""

    claim: Claim
    predicates: tuple[Predicate, ...]
    asked: tuple[grounding.Grounded, ...]
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim_question": grounding.claim_as_question(self.claim, self.profile),
            "predicates": wrap_untrusted("\n".join(predicate.line for predicate in self.predicates)),
            "context": grounding.context(self.asked, self.profile),
            "demonstrations": self.demonstrations.strip(),
        }

    def fixed_items(self) -> dict[str, tuple[str, Sequence[str]]]:
        return {"truths": ("predicate", [predicate.predicate for predicate in self.predicates])}

    def plain_example(self, reply: PredicatesVerdict) -> str:
        truths = [f"{truth.predicate} is {truth.holds} because {truth.reason}" for truth in reply.truths]
        joined = " && ".join(truth.predicate for truth in reply.truths)
        label = f"{joined} is {reply.answer == 'SUPPORTED'}.\nThe claim is [{reply.answer}]."
        return "\n".join(["Prediction:", *truths, label, "", "Explanation:", reply.explanation])

    def parse_plain(self, text: str) -> PredicatesVerdict | None:
        """The first label in brackets, whatever its predicates say (FOLK-2)."""
        return None if grounding.is_object(text) else parse_prediction(text)

    def validate_answer(self, answer: PredicatesVerdict) -> PredicatesVerdict:
        """Every predicate has to be judged; in the paper's form a label is enough (FOLK-2)."""
        written = answer.written if self.profile == "paper" else None
        judged = {truth.predicate for truth in answer.truths}
        expected = {predicate.predicate for predicate in self.predicates}
        if not written and len(judged) != len(expected):
            raise ValueError(f"{len(judged)} predicates were judged, not {len(expected)}")
        return answer.model_copy(update={"written": written})


def parse_prediction(text: str) -> PredicatesVerdict:
    """Reads ``Name(...) is True because …``, explanation and label; a ValueError without a label in brackets."""
    own = text.partition(grounding.EXAMPLE_SEPARATOR)[0]
    judged = [match for match in _TRUTH.findall(own) if "&&" not in match[0]]
    label = grounding.bracketed_label(own)
    truths = {
        name: PredicateTruth(predicate=name.strip(), reason=why.strip(), holds=value == "True")
        for name, value, why in reversed(judged)
    }
    explanation = own.partition("Explanation:")[2].strip() or own.strip()
    return PredicatesVerdict(truths=tuple(reversed(truths.values())), explanation=explanation, written=label)


DECOMPOSER, REASONER = "decomposer", "reasoner"


class FolkSettings(SearchSettings):
    """Settings of ``folk``; the paper uses Google's search."""

    top_k: int = Field(default=1, ge=1, le=50)  # passages per search and tool; the paper shows one answer or snippet
    temperature: float = Field(default=0.7, ge=0, le=2)


class Folk(GroundingMethod, name="folk", settings=FolkSettings):
    """Predicates of first-order logic, grounded by searches, judged one by one (FOLK, 2310.05253).

    The small models perform it on a claim's clauses: each is a predicate and its own question.
    """

    profiles = {"paper": {}, "hardened": {"top_k": 3}}
    paper = (
        "Wang, Shu: Explainable Claim Verification via Knowledge-Grounded Reasoning with Large Language Models,"
        " Findings of EMNLP 2023 (arXiv 2310.05253)"
    )
    graph = "predicates and questions -> all searches concurrently -> truths and label"
    roles = {DECOMPOSER: FROM_SETTINGS, REASONER: None}
    asks = (WritePredicates, VerifyPredicates)
    few_shot = True

    settings: FolkSettings

    async def check(self, claim: Claim, decomposer: Agent, reasoner: Agent) -> Verdict:
        self.two_sides()
        try:
            parts = await self.decompose(decomposer)
            asked = await gather_or_cancel(self.ground(decomposer, question, round_=1) for question in parts.questions)
            prediction = await self.reason(reasoner, parts, tuple(asked))
        except BadReply as error:
            return self.verdict(None, reason=error.what, decided_by=REASONER, rounds=1)
        truths = (f"{truth.predicate} is {truth.holds}: {truth.reason}" for truth in prediction.truths)
        text = "\n".join([*truths, prediction.explanation])
        label = self.side_label(supported=prediction.answer == "SUPPORTED")
        answer = Answer(text=text, label=label, quotes=prediction.quotes)
        return self.conclude(reasoner, answer, asked, round_=1)

    async def decompose(self, decomposer: Agent) -> Predicates:
        """The claim's predicates and follow-up questions (Section 3.1)."""
        examples = predicate_examples(self.settings.profile)
        parts = await self.ask(decomposer, WritePredicates, round_=1, demonstrations=examples)
        lines = [*(predicate.line for predicate in parts.predicates), *parts.questions]
        self.run.emit(Spoke(agent=DECOMPOSER, round=1, text="\n".join(lines)))
        return parts

    async def reason(self, reasoner: Agent, parts: Predicates, asked: tuple[Grounded, ...]) -> PredicatesVerdict:
        """The truth of each predicate, and the label (Section 3.3)."""
        examples = prediction_examples(self.settings.profile)
        fields = {"predicates": parts.predicates, "asked": asked, "demonstrations": examples}
        return await self.ask(reasoner, VerifyPredicates, round_=1, **fields)


def predicate_examples(profile: Profile) -> str:
    return examples_in(profile, __package__, "predicates", parse_predicates)


def prediction_examples(profile: Profile) -> str:
    def read(text: str) -> PredicatesVerdict:
        return parse_prediction(text).model_copy(update={"written": None})

    return examples_in(profile, __package__, "prediction", read)


VERIFY = "Verify that "


@perform.register
def _write_predicates(task: WritePredicates, backend: EmbeddedBackend) -> Predicates:
    """Each clause becomes a predicate of its subject and object, and a question whether it is true."""
    clauses = clauses_of(task.claim)
    predicates = tuple(Predicate(predicate=_predicate(clause), verify=f"{VERIFY}{clause}") for clause in clauses)
    return Predicates(predicates=predicates, questions=tuple(map(is_it_true, clauses)))


def _predicate(statement: str) -> str:
    """A clause as Name(subject, object); the name is its verb."""
    first = decompose(statement).triplets[0]
    name = re.sub(r"\W+", "_", first.relation).strip("_").capitalize() or "Is"
    arguments = [re.sub(r"[(),]", "", part) for part in (first.subject, first.object) if part]
    return f"{name}({', '.join(arguments)})"


@perform.register
def _verify_predicates(task: VerifyPredicates, backend: EmbeddedBackend) -> PredicatesVerdict:
    """A predicate holds if all evidence, read together, supports it."""
    passages = found_in(task.asked)
    truths: list[PredicateTruth] = []
    quotes: list[str] = []
    for predicate in task.predicates:
        reading = backend.reader.read(predicate.verify.removeprefix(VERIFY), passages)
        meaning = likeliest(reading)
        best = quotes_for(reading, meaning)
        reason = " ".join(f'"{quote}"' for quote in best) or "the evidence does not settle it"
        holds = meaning is Meaning.SUPPORTED
        truths.append(PredicateTruth(predicate=predicate.predicate, reason=reason, holds=holds))
        quotes += best
    why = f"{sum(truth.holds for truth in truths)} of {len(truths)} predicates hold."
    return PredicatesVerdict(truths=tuple(truths), explanation=why, quotes=tuple(dict.fromkeys(quotes)))
