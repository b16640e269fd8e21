"""Writing the query that an agent puts to its evidence tool (Tool-MAD, journal, Fig. 4)."""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.tasks.base import Sections, Task, lines, max_length
from redargue.tasks.labels import subject
from redargue.tasks.untrusted import wrap_untrusted

LONGEST_QUERY = 300  # characters
MUST_REVISE = (
    "Where the answer to your query was contradicted, or left a part of the claim open, you have to change it."
)


class Query(Frozen):
    """A query, or the decision to keep the last one (``kept``)."""

    text: str = ""
    kept: bool = False


class QueryReply(Frozen):
    """A first query."""

    query: str = Field(description="the query", json_schema_extra=max_length(LONGEST_QUERY))


class RequeryReply(Frozen):
    """A later query."""

    keep: bool = Field(description="whether you keep your last query")
    query: str = Field(
        description="the new query; empty if you keep the last", json_schema_extra=max_length(LONGEST_QUERY)
    )


class OtherAnswer(Frozen):
    """Another debater's answer of the last round."""

    agent: str
    text: str


def others(answers: tuple[OtherAnswer, ...]) -> str:
    """Other debaters' answers for a prompt; with names where there are several."""
    texts = [wrap_untrusted(answer.text) for answer in answers]
    if len(answers) == 1:
        return texts[0]
    return "\n".join(f"[{answer.agent}]\n{text}" for answer, text in zip(answers, texts, strict=True))


class QueryTask(Task[Query]):
    """A task whose answer is a query."""

    template_var_names: ClassVar[tuple[str, ...]] = ()
    can_keep: ClassVar[bool] = False  # whether the answer may be the last query

    def reply_type(self) -> type[Frozen]:
        return RequeryReply if self.can_keep else QueryReply

    def from_reply(self, reply: Frozen) -> Query:
        if isinstance(reply, RequeryReply) and reply.keep:
            return Query(kept=True)
        assert isinstance(reply, QueryReply | RequeryReply)
        text = " ".join(reply.query.split())
        if text.startswith("[") and text.find("]") == len(text) - 1:  # the paper's own brackets around the whole
            text = text[1:-1].strip()
        if not text:
            raise ValueError("the query is empty")
        return Query(text=text[:LONGEST_QUERY])

    def parse_plain(self, text: str) -> Query | None:
        query = parse_query(text)
        if query is None or (query.kept and not self.can_keep):
            raise ValueError("no query in square brackets was found")
        return query


class WriteQuery(QueryTask):
    """The first query, from the claim alone; its parts are those of the authors' program, as the paper prints none."""

    sections: ClassVar[Sections] = {"claim": "Claim: ", "tool": None, "about": None}

    claim: Claim
    tool: str
    about: str  # what the tool finds, in a few words

    @property
    def instructions(self) -> str:
        hardened, what = self.profile == "hardened", subject(self.claim.labels)
        role = (
            f"You {'answer' if what == 'question' else 'check'} a {what} in a debate whose debaters search different"
            " sources."
            if hardened
            else "You take part in a debate that checks a claim; the aim is to agree on a correct answer."
        )
        whose = "Your" if hardened else "Your own"
        return lines(role, f"{whose} source of evidence is {self.tool}: {self.about}.", self._request())

    def _heading(self) -> str:
        return f"{subject(self.claim.labels).capitalize()}: "

    def section_texts(self) -> list[str]:
        if self.profile == "paper":
            return super().section_texts()
        return [self._heading() + self.template_vars()["claim"]]

    def _request(self) -> str:
        if self.profile == "hardened":
            what = subject(self.claim.labels)
            shown = "answer the question" if what == "question" else f"show the {what} to be right or wrong"
            return f"Write one query with which this source finds documents that {shown}."
        return "Write the query that will find the evidence you need first."

    @property
    def output_format(self) -> str:
        return "Reply with the query alone, in square brackets, like this: [your query]."

    def template_vars(self) -> dict[str, str]:
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "tool": self.tool, "about": self.about}


class RewriteQuery(WriteQuery):
    """A later query, from the claim, the other debaters' last answers and the agent's last query (Eq. 4, Fig. 4)."""

    sections: ClassVar[Sections] = {
        **WriteQuery.sections,
        "others": "Other debaters' answer: ",
        "used": "The query you used before: ",
        "found": None,
    }
    claim_last: ClassVar[bool] = True
    can_keep: ClassVar[bool] = True

    others: tuple[OtherAnswer, ...]
    used: str  # the agent's own last query, not all of them (``T6``)
    found: tuple[str, ...] = ()  # titles of the documents that the last query found, which may be empty
    must_revise: bool = False  # says that a contradicted or insufficient query has to change (``T34``)

    def _request(self) -> str:
        if self.profile == "hardened":
            what = subject(self.claim.labels)
            return lines(
                f"Choose your next query: a new one, in other words, where the last missed a part of the {what} or"
                " another debater's answer names something to look up; else keep the last.",
                MUST_REVISE if self.must_revise else None,
            )
        return lines(
            "You are choosing your query for the next round: change it, or stay with the one you used where nothing"
            " better could be asked.",
            MUST_REVISE if self.must_revise else None,
        )

    @property
    def output_format(self) -> str:
        keep = "keep your last query" if self.profile == "hardened" else "stay with the query you used before"
        return lines(super().output_format, f"Reply [Continue] to {keep}.")

    def template_vars(self) -> dict[str, str]:
        return {
            **super().template_vars(),
            "others": others(self.others),
            "used": wrap_untrusted(self.used, inline=True),
            "found": wrap_untrusted("; ".join(self.found), inline=True),
        }

    def section_texts(self) -> list[str]:
        if self.profile == "paper":
            return super().section_texts()
        values = self.template_vars()
        whose = "The other debaters' answers" if len(self.others) > 1 else "The other debater's answer"
        headings = {
            "claim": self._heading(),
            "used": "Your last query: ",
            "found": "Titles that it found: ",
            "others": f"{whose}: ",
        }
        return [heading + values[name] for name, heading in headings.items() if values[name]]


def parse_query(reply: str) -> Query | None:
    """Reads a query (``T8``): the text in the first square brackets, else the whole reply if it is short, else None.

    Where the text is empty or says "Continue" and nothing else, the last query is kept.
    """
    bracket = re.search(r"\[\[(.*?)\]\]|\[(.*?)\]", reply, re.DOTALL)
    text = " ".join(((bracket.group(1) or bracket.group(2) or "") if bracket else reply).split())
    if _KEEPS.fullmatch(text):
        return Query(kept=True)
    if not text:
        return Query(kept=True) if bracket else None
    if not bracket and len(text) > LONGEST_QUERY:
        return None
    return Query(text=text[:LONGEST_QUERY])


_KEEPS = re.compile(
    r"\W*(?:I(?: will|'ll|’ll)? )?(?:continue|keep|stay)(?: with)?(?: (?:the|my))?"
    r"(?: (?:same|last|previous|old|earlier))?(?: query| one)?\W*",
    re.IGNORECASE,
)
