"""Writing the query that an agent puts to its evidence tool (Tool-MAD, journal, Fig. 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.tasks.base import Task, lines, text_field
from redargue.tasks.sections import as_of, subject_vars
from redargue.tasks.untrusted import wrap_untrusted

LONGEST_QUERY = 300  # characters


class Query(Frozen):
    """A query, or the decision to keep the last one (``kept``)."""

    text: str = ""
    kept: bool = False


class QueryReply(Frozen):
    """A first query."""

    query: str = text_field("the query", LONGEST_QUERY)


class RequeryReply(Frozen):
    """A later query."""

    keep: bool = Field(default=False, description="whether you keep your last query")
    query: str = text_field("the new query; empty if you keep the last", LONGEST_QUERY, default="")


class OtherAnswer(Frozen):
    """Another debater's answer of the last round.

    Attributes:
        found: its quotations that its documents contain, after the numbers of their documents, with their sources.
    """

    agent: str
    text: str
    found: tuple[str, ...] = ()


def others(answers: tuple[OtherAnswer, ...]) -> str:
    """Other debaters' answers for a prompt; with names where there are several."""
    texts = [lines(wrap_untrusted(_without_found(answer)), _found(answer)) for answer in answers]
    if len(answers) == 1:
        return texts[0]
    named = zip(answers, texts, strict=True)
    return "\n".join(f"[{answer.agent}]\n{text}" for answer, text in named)


def _without_found(answer: OtherAnswer) -> str:
    """The answer without the lines that only repeat quotations of ``found``, which come with their sources."""

    def is_found(line: str) -> bool:
        is_quoted = line.startswith('"') and line.endswith('"')
        return is_quoted and any(f"{line} (" in text for text in answer.found)

    kept = [line for line in answer.text.splitlines() if not is_found(line.strip())]
    return "\n".join(kept) or answer.text


def _found(answer: OtherAnswer) -> str:
    return lines("Quotations found in its documents:", _items(answer.found)) if answer.found else ""


def _items(texts: Iterable[str]) -> str:
    return "\n".join(f"- {wrap_untrusted(text, inline=True)}" for text in texts)


class QueryTask(Task[Query]):
    """A task whose answer is a query."""

    can_keep: ClassVar[bool] = False  # whether the answer may be the last query

    def reply_type(self) -> type[Frozen]:
        return RequeryReply if self.can_keep else QueryReply

    def from_reply(self, reply: Frozen) -> Query:
        if isinstance(reply, RequeryReply) and reply.keep:
            return Query(kept=True)
        assert isinstance(reply, QueryReply | RequeryReply)
        text = " ".join(reply.query.split())
        # the paper's own brackets around the whole
        if text.startswith("[") and text.find("]") == len(text) - 1:
            text = text[1:-1].strip()
        text = _PREFIX.sub("", text)
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

    claim: Claim
    tool: str
    about: str  # what the tool finds, in a few words

    def template_vars(self) -> Mapping[str, object]:
        text, day = wrap_untrusted(self.claim.text, inline=True), as_of(self.claim, self.profile)
        return {
            **subject_vars(self.claim.labels),
            "claim": lines(text, day),
            "tool": self.tool,
            "about": self.about,
        }


class RewriteQuery(WriteQuery):
    """A later query, from the claim, the other debaters' last answers and the agent's last query (Eq. 4, Fig. 4)."""

    can_keep: ClassVar[bool] = True

    others: tuple[OtherAnswer, ...]
    used: str  # the agent's own last query, not all of them (``T6``)
    # titles of the agent's documents, which may be empty, after their numbers
    found: tuple[str, ...] = ()
    own: str = ""  # the agent's own last answer
    # what it quotes that the agent's documents contain, as in ``OtherAnswer.found``
    quoted: tuple[str, ...] = ()
    # says that a contradicted or insufficient query has to change (``T34``)
    must_revise: bool = False

    def template_vars(self) -> Mapping[str, object]:
        return {
            **super().template_vars(),
            "others": others(self.others),
            "several_others": len(self.others) > 1,
            "used": wrap_untrusted(self.used, inline=True),
            "found": wrap_untrusted("; ".join(self.found), inline=True),
            "own": wrap_untrusted(self.own),
            "quoted": _items(self.quoted),
            "must_revise": self.must_revise,
        }


def parse_query(reply: str) -> Query | None:
    """Reads a query (``T8``): the text in the first square brackets, else the whole reply if it is short, else None.

    Where the text is empty or says "Continue", alone or with a reason, the last query is kept; a query may have the
    word.
    """
    bracket = re.search(r"\[\[(.*?)\]\]|\[(.*?)\]", reply, re.DOTALL)
    given = ((bracket.group(1) or bracket.group(2) or "") if bracket else reply).strip()
    text, first_line = " ".join(given.split()), given.partition("\n")[0].strip()
    if _KEEPS.fullmatch(text) or _KEEPS.fullmatch(first_line) or _WITH_REASON.match(text):
        return Query(kept=True)
    if not text:
        return Query(kept=True) if bracket else None
    text = _PREFIX.sub("", text) or text
    if not bracket and len(text) > LONGEST_QUERY:
        return None
    return Query(text=text[:LONGEST_QUERY])


_PREFIX = re.compile(r"^(?:(?:my |the |new |next )*(?:search )?query)\s*:\s*", re.IGNORECASE)
_KEEPS = re.compile(
    r"\W*(?:I(?: will|'ll|’ll)? )?(?:continue|keep|stay)(?:(?: with)?(?: (?:the|my))?"
    r"(?: (?:same|last|previous|old|earlier))?(?: query| one)?\W*| (?:with|using) [\"“'‘].*)",
    re.IGNORECASE,
)
_WITH_REASON = re.compile(
    r"\W*(?:I(?: will|'ll|’ll)? )?(?:continue[:;.,–—]\s|(?:continue|keep|stay)(?: (?:with|using))? (?:the|my)"
    r" (?:same|last|previous|old|earlier|current) (?:query|one)\b)",
    re.IGNORECASE,
)
