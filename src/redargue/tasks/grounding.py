"""Questions whose answers a search finds, and what they come to (Self-Ask, Press et al. 2022, arXiv 2210.03350).

One after the other, as in the paper, or all before the first search, as FOLK has it (arXiv 2310.05253, Section 4).
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic.config import JsonDict

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import documents
from redargue.tasks.base import Profile, Task, lines, list_bounds, max_length
from redargue.tasks.untrusted import wrap_untrusted

Side = Literal["SUPPORTED", "NOT_SUPPORTED"]
MOST_QUESTIONS = 12
ANSWER_NEXT = ">>>>>>"  # what stands between a question and its reply in these prompts
NEXT_EXAMPLE = "------"
QUOTED = list_bounds(6, 400)


class Grounded(Frozen):
    """A question, and what a search found for it."""

    question: str
    passages: tuple[Passage, ...] = ()


def context(asked: tuple[Grounded, ...], profile: Profile) -> str:
    """Questions with what was found, one after the other; in the paper's form those without an answer are left out."""
    if profile == "paper":
        pairs = (
            (each.question, " ".join(documents(each.passages, profile).split())) for each in asked if each.passages
        )
        return "\n".join(f"{question} {answer}" for question, answer in pairs)
    shown = ((wrap_untrusted(each.question), documents(each.passages, profile)) for each in asked)
    return "\n".join(f"Followup Question: {question}\nFound: {answer}" for question, answer in shown)


def bracketed(text: str) -> Side:
    """The label that the first square brackets hold.

    Raises:
        ValueError: no brackets, or something else in them.
    """
    found = re.search(r"\[(.*?)\]", text)
    if found is None or found.group(1) not in ("SUPPORTED", "NOT_SUPPORTED"):
        held = f"hold {found.group(1)[:60]!r}" if found else "are missing"
        raise ValueError(f"the brackets {held}; [SUPPORTED] or [NOT_SUPPORTED] was asked for")
    return "SUPPORTED" if found.group(1) == "SUPPORTED" else "NOT_SUPPORTED"


def questions_in(text: str) -> tuple[str, ...]:
    """The lines that begin with "Followup Question:", before the mark of a next example.

    Raises:
        ValueError: there is none.
    """
    body = text.partition(NEXT_EXAMPLE)[0]
    found = re.findall(r"(?im)^[ \t]*follow[ -]?up question:[ \t]*(\S.*)$", body)
    if not found:
        raise ValueError('no line begins with "Followup Question:"')
    return tuple(found)


def is_object(text: str) -> bool:
    """Whether a reply is a JSON object, whatever form was asked for."""
    return text.lstrip().startswith("{")


def _some(given: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(text for each in given if (text := " ".join(each.split()))))
    if not 0 < len(found) <= MOST_QUESTIONS:
        raise ValueError(f"{len(found)} questions; 1 to {MOST_QUESTIONS} were asked for")
    return found


Questions = Annotated[tuple[str, ...], AfterValidator(_some)]
SOME_QUESTIONS: JsonDict = {"minItems": 1, **list_bounds(MOST_QUESTIONS, 300)}


class FollowUps(Frozen):
    """The questions that a claim's check needs answers to, at least one."""

    questions: Questions = Field(
        description="what has to be known to check the claim, one question each", json_schema_extra=SOME_QUESTIONS
    )


def in_place(claim: Claim, text: str = "") -> str:
    """The claim, or a text in its stead, and what the claim stands in, if anything."""
    stands_in = f"It stands in this text: {wrap_untrusted(claim.context)}" if claim.context else None
    return lines(text or wrap_untrusted(claim.text, inline=True), stands_in)


def asked_whether(claim: Claim) -> str:
    """The claim as the question that these prompts ask."""
    text = wrap_untrusted(" ".join(claim.text.split()).rstrip("."), inline=True)
    return in_place(claim, f"Question: Is it true that {text}?")


def examples(demonstrations: str) -> str:
    """Demonstrations as a prompt shows them."""
    return f"\n{demonstrations.strip()}\n" if demonstrations else ""


class WriteFollowUps(Task[FollowUps]):
    """All questions before the first search (FOLK's Self-Ask).

    Attributes:
        claim: what is checked.
        demonstrations: claims with their questions; empty for none.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "demonstrations")

    claim: Claim
    demonstrations: str = ""

    def instructions(self) -> str:
        """What is wanted, and the demonstrations."""
        return lines(
            "Say which questions have to be answered in order to verify a claim.",
            "Each is put to a search engine alone, and has to be understood alone.",
        )

    def worked_examples(self) -> str:
        return examples(self.demonstrations)

    def output_format(self) -> str:
        """One line a question."""
        return "Reply with the questions alone, one a line: Followup Question: your question"

    def input_text(self) -> str:
        """The claim."""
        after = f"\n{ANSWER_NEXT}" if self.profile == "paper" else ""
        return f"Claim: {in_place(self.claim)}{after}"

    def template_vars(self) -> dict[str, str]:
        """The claim, the demonstrations."""
        return {"claim": in_place(self.claim), "demonstrations": self.demonstrations}

    def parse_plain(self, text: str) -> FollowUps | None:
        """One line a question."""
        return None if is_object(text) else FollowUps(questions=questions_in(text))


class Aggregate(Frozen):
    """Whether a claim is supported.

    Attributes:
        explanation: why.
        quotes: what it rests on, word for word; checked by code, never believed.
        answer: supported or not.
    """

    explanation: str = Field(description="the reasons, from what was found", json_schema_extra=max_length(1_000))
    quotes: tuple[str, ...] = Field(
        default=(), description="what you rely on, copied word for word from what was found", json_schema_extra=QUOTED
    )
    answer: Side = Field(description="SUPPORTED or NOT_SUPPORTED")


class JudgeAnswers(Task[Aggregate]):
    """The label, from all questions and what was found for them.

    Attributes:
        claim: what is checked.
        asked: the questions with what was found.
        demonstrations: claims with their label; empty for none.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "context", "demonstrations")

    claim: Claim
    asked: tuple[Grounded, ...]
    demonstrations: str = ""

    def instructions(self) -> str:
        """What is wanted, and the demonstrations."""
        return lines(
            "Given a question and a context, answer SUPPORTED or NOT_SUPPORTED, and explain why.",
        )

    def quote_source(self) -> str:
        return "what was found"

    def worked_examples(self) -> str:
        return examples(self.demonstrations)

    def output_format(self) -> str:
        """The label in square brackets, the reasons after it."""
        return "Reply in this form: The claim is [SUPPORTED] or [NOT_SUPPORTED]. Here are the reasons: your reasons"

    def input_text(self) -> str:
        """The claim as a question, the context."""
        after = ANSWER_NEXT if self.profile == "paper" else None
        return lines(f"{asked_whether(self.claim)}\n\nContext:", context(self.asked, self.profile), after)

    def template_vars(self) -> dict[str, str]:
        """The claim, the context, the demonstrations."""
        return {
            "claim": in_place(self.claim),
            "context": context(self.asked, self.profile),
            "demonstrations": self.demonstrations,
        }

    def parse_plain(self, text: str) -> Aggregate | None:
        """The first label in brackets."""
        return None if is_object(text) else Aggregate(explanation=text.strip(), answer=bracketed(text))


class FollowUp(Frozen):
    """The next question, or the answer.

    Attributes:
        needed: whether there is something left to ask.
        question: the next one, where there is.
        explanation: why the claim is supported or not, where there is none.
        quotes: what the answer rests on, word for word; checked by code, never believed.
        answer: supported or not, where there is no question; else it is not read.
    """

    needed: bool = Field(description="whether a follow up question is needed")
    question: str = Field(
        default="", description="the follow up question; empty if none is needed", json_schema_extra=max_length(300)
    )
    explanation: str = Field(default="", description="the reasons for the answer", json_schema_extra=max_length(1_000))
    quotes: tuple[str, ...] = Field(
        default=(), description="what you rely on, copied word for word from what was found", json_schema_extra=QUOTED
    )
    answer: Literal["SUPPORTED", "NOT_SUPPORTED", ""] = Field(
        default="",
        description="SUPPORTED or NOT_SUPPORTED; not read where a question is needed",
        json_schema_extra={"enum": ["SUPPORTED", "NOT_SUPPORTED"]},
    )


_FINAL, _ASKS, _FOUND = "So the final answer is:", "Follow up:", "Intermediate answer:"


class AskFollowUp(Task[FollowUp]):
    """The next follow-up question of Self-Ask, or its final answer.

    Attributes:
        claim: what is checked.
        asked: the questions so far with what was found.
        demonstrations: whole courses of questions and answers; empty for none.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "asked", "demonstrations")

    claim: Claim
    asked: tuple[Grounded, ...] = ()
    demonstrations: str = ""

    def instructions(self) -> str:
        """What is wanted, and the demonstrations."""
        return lines(
            "You answer a question by asking follow up questions, one at a time, which a search engine answers.",
            "Go on where the last text stops; as soon as nothing is left to ask, give the final answer.",
        )

    def quote_source(self) -> str:
        return "what was found"

    def worked_examples(self) -> str:
        return examples(self.demonstrations)

    def output_format(self) -> str:
        """The next line of the text."""
        return lines(
            f"Reply with the next line alone: {_ASKS} your question",
            f"or: {_FINAL} SUPPORTED or NOT_SUPPORTED",
        )

    def input_text(self) -> str:
        """The text so far."""
        return lines(asked_whether(self.claim), self._so_far())

    def template_vars(self) -> dict[str, str]:
        """The claim, the text so far, the demonstrations."""
        return {
            "claim": in_place(self.claim),
            "asked": self._so_far(),
            "demonstrations": self.demonstrations,
        }

    def _so_far(self) -> str:
        needed = "Are follow up questions needed here:"
        if not self.asked:
            return needed
        parts = [f"{needed} Yes."]
        for each in self.asked:
            found = documents(each.passages, self.profile)
            found = " ".join(found.split()) if self.profile == "paper" else found
            parts += [f"{_ASKS} {wrap_untrusted(each.question)}", f"{_FOUND} {found}"]
        return "\n".join(parts)

    def parse_plain(self, text: str) -> FollowUp | None:
        """What comes first: a question or the final answer; what stands after "Intermediate answer:" is made up.

        Raises:
            ValueError: neither is there.
        """
        if is_object(text):
            return None
        own = text.partition(_FOUND)[0]
        found = re.search(rf"({_FINAL}|{_ASKS})[ \t]*([^\n]*)", own)
        if found is None:
            raise ValueError(f"neither {_ASKS!r} nor {_FINAL!r} is there")
        if found.group(1) == _ASKS:
            return FollowUp(needed=True, question=found.group(2).strip())
        return FollowUp(needed=False, answer=_side(found.group(2)), explanation=own.strip())

    def validate_answer(self, answer: FollowUp) -> FollowUp:
        """A question that is one, or a label."""
        question = " ".join(answer.question.split())
        if answer.needed and not question:
            raise ValueError("the follow up question is empty")
        if not answer.needed and not answer.answer:
            raise ValueError("neither a follow up question nor an answer")
        return answer.model_copy(update={"question": question})


def _side(text: str) -> Side:
    plain = text.strip(" .*_`\"'[]").replace(" ", "_").upper()
    if plain not in ("SUPPORTED", "NOT_SUPPORTED"):
        raise ValueError(f"{text.strip()[:60]!r} is neither SUPPORTED nor NOT_SUPPORTED")
    return "SUPPORTED" if plain == "SUPPORTED" else "NOT_SUPPORTED"


class ConcludeAsking(JudgeAnswers):
    """The final answer of Self-Ask once no more questions may be asked: the text so far, ended by its last marker."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "asked", "demonstrations")

    def instructions(self) -> str:
        """As before, but that it has to end here."""
        return self._asking().instructions()

    def worked_examples(self) -> str:
        """The same examples; that the questions are over comes after them."""
        return lines(self._asking().worked_examples(), "No more questions may be asked: give the final answer now.")

    def output_format(self) -> str:
        """The label."""
        return "Reply with the answer alone: SUPPORTED or NOT_SUPPORTED"

    def input_text(self) -> str:
        """The text so far, and its last marker."""
        return lines(self._asking().input_text(), _FINAL if self.profile == "paper" else None)

    def template_vars(self) -> dict[str, str]:
        """The claim, the text so far, the demonstrations."""
        return self._asking().template_vars()

    def parse_plain(self, text: str) -> Aggregate | None:
        """The label that the text ends in."""
        if is_object(text):
            return None
        own = text.strip().removeprefix(_FINAL).strip()
        return Aggregate(explanation=text.strip(), answer=_side(own.partition("\n")[0]))

    def _asking(self) -> AskFollowUp:
        return AskFollowUp(claim=self.claim, asked=self.asked, demonstrations=self.demonstrations, profile=self.profile)
