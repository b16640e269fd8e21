"""Questions grounded in search results, and a claim judged SUPPORTED or NOT_SUPPORTED: Self-Ask and FOLK."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Generic, Literal

from pydantic import AfterValidator
from pydantic.config import JsonDict

from redargue.claims import Claim, Frozen
from redargue.events import QueryWritten
from redargue.evidence import Passage, distinct_passages
from redargue.methods.agent import Agent
from redargue.methods.base import Method
from redargue.tasks.answer import Answer
from redargue.tasks.base import Out, Profile, Task, lines, list_bounds
from redargue.tasks.query import LONGEST_QUERY
from redargue.tasks.sections import NumberedDocuments, as_of, claim_section, documents
from redargue.tasks.template import read_examples, with_json_replies
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

NOTHING_KNOWN = "N/A"
NOTHING_FOUND = "Nothing was found for this query."


class QueryResult(Frozen):
    """A query and what it found."""

    query: str
    passages: tuple[Passage, ...] = ()

    @property
    def text(self) -> str:
        """The passages as one text, as both programs keep a result."""
        return " ".join(passage.text for passage in self.passages) or NOTHING_FOUND


def found_in(results: Iterable[QueryResult | Grounded]) -> tuple[Passage, ...]:
    return distinct_passages(passage for result in results for passage in result.passages)


def knowledge(results: tuple[QueryResult, ...], profile: Profile) -> str:
    """The results joined by newlines; hardened: the passages, separately fenced."""
    if profile == "paper":
        return "\n".join(result.text for result in results) or NOTHING_KNOWN
    passages = found_in(results)
    return documents(passages, profile) if passages else NOTHING_KNOWN


def statement_vars(claim: Claim, results: tuple[QueryResult, ...], profile: Profile) -> dict[str, object]:
    """The variables of a prompt that shows a statement and what is known about it."""
    return {"statement": claim_section(claim, profile), "knowledge": knowledge(results, profile)}


SupportLabel = Literal["SUPPORTED", "NOT_SUPPORTED"]

MOST_QUESTIONS = 12
REPLY_MARK = ">>>>>>"  # between a question and its reply in these prompts
EXAMPLE_SEPARATOR = "------"


class Grounded(Frozen):
    """A question and its search results."""

    question: str
    passages: tuple[Passage, ...] = ()


def context(asked: tuple[Grounded, ...], profile: Profile) -> str:
    """Questions with their results; the paper's format omits questions without results."""
    if profile == "paper":
        pairs = (
            (question.question, " ".join(documents(question.passages, profile).split()))
            for question in asked
            if question.passages
        )
        return "\n".join(f"{question} {answer}" for question, answer in pairs)
    numbered = NumberedDocuments(profile)
    shown = ((wrap_untrusted(question.question), numbered.shown(question.passages)) for question in asked)
    return "\n".join(f"Followup Question: {question}\nFound: {answer}" for question, answer in shown)


def bracketed_label(text: str) -> SupportLabel:
    """The label in the first square brackets; ValueError if they are missing or contain anything else."""
    match = re.search(r"\[(.*?)\]", text)
    if match is None or match.group(1) not in ("SUPPORTED", "NOT_SUPPORTED"):
        content = f"hold {match.group(1)[:60]!r}" if match else "are missing"
        raise ValueError(f"the brackets {content}; [SUPPORTED] or [NOT_SUPPORTED] was asked for")
    return "SUPPORTED" if match.group(1) == "SUPPORTED" else "NOT_SUPPORTED"


def questions_in(text: str) -> tuple[str, ...]:
    """The lines that begin with "Followup Question:", before the next example; ValueError if there are none."""
    body = text.partition(EXAMPLE_SEPARATOR)[0]
    questions = re.findall(r"(?im)^[ \t]*follow[ -]?up question:[ \t]*(\S.*)$", body)
    if not questions:
        raise ValueError('no line begins with "Followup Question:"')
    return tuple(questions)


def question_lines(questions: Sequence[str]) -> str:
    """Questions as :func:`questions_in` reads them."""
    return "\n".join(f"Followup Question: {question}" for question in questions)


def is_object(text: str) -> bool:
    return text.lstrip().startswith("{")


def _require_questions(raw: tuple[str, ...]) -> tuple[str, ...]:
    questions = tuple(dict.fromkeys(text for question in raw if (text := " ".join(question.split()))))
    if not 0 < len(questions) <= MOST_QUESTIONS:
        raise ValueError(f"{len(questions)} questions; 1 to {MOST_QUESTIONS} were asked for")
    return questions


QuestionTexts = Annotated[tuple[str, ...], AfterValidator(_require_questions)]
QUESTION_BOUNDS: JsonDict = {"minItems": 1, **list_bounds(MOST_QUESTIONS, 300)}


def claim_in_context(claim: Claim, profile: Profile, text: str = "") -> str:
    """The claim or ``text``, followed by the claim's context and date if it has them."""
    surrounding = f"It is from this text: {wrap_untrusted(claim.context)}" if claim.context else None
    return lines(text or wrap_untrusted(claim.text, inline=True), surrounding, as_of(claim, profile))


def claim_as_question(claim: Claim, profile: Profile) -> str:
    text = wrap_untrusted(" ".join(claim.text.split()).rstrip("."), inline=True)
    return claim_in_context(claim, profile, f"Question: Is it true that {text}?")


class QuestionsTask(Task[Out], Generic[Out]):
    """A task that turns a claim into questions."""

    claim: Claim
    demonstrations: str = ""

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_in_context(self.claim, self.profile), "demonstrations": self.demonstrations.strip()}


class GroundingMethod(Method):
    """A method that judges a claim by searching for the answers to questions about it."""

    async def ground(self, agent: Agent, question: str, *, round_: int) -> Grounded:
        """A question with its search results; a query that is too long for a tool is truncated."""
        query = question[:LONGEST_QUERY]
        self.run.emit(QueryWritten(agent=agent.name, round=round_, query=query))
        return Grounded(question=question, passages=await agent.search(query, self.settings.top_k, round_=round_))

    def conclude(self, agent: Agent, answer: Answer, asked: Sequence[Grounded], *, round_: int) -> Verdict:
        self.answered(agent.name, answer, round_=round_, passages=found_in(asked))
        return self.verdict_of(answer, decided_by=agent.name, rounds=round_)


def examples_in(profile: Profile, package: str, name: str, read: Callable[[str], Frozen]) -> str:
    """Examples with their replies in the paper's format, which ``read`` parses, or, hardened, as JSON."""
    text = read_examples(package, name)
    if profile == "paper":
        return text
    return with_json_replies(text, read, before=f"\n{REPLY_MARK}\n", between=f"\n{EXAMPLE_SEPARATOR}\n")
