"""Writing the query that an agent puts to its evidence tool (Tool-MAD, journal, Fig. 4)."""

from __future__ import annotations

import re

from redargue.claims import Claim, Frozen
from redargue.tasks.base import UNTRUSTED, Profile, Task, data, lines

LONGEST_QUERY = 300


class Query(Frozen):
    """What to ask the tool.

    Attributes:
        text: the query; empty only where ``kept``.
        kept: the agent stays with its last query.
    """

    text: str = ""
    kept: bool = False


class OtherAnswer(Frozen):
    """What another debater said in the last round."""

    agent: str
    text: str


def others(answers: tuple[OtherAnswer, ...], profile: Profile) -> str:
    """Other debaters' answers as they stand in a prompt; with names where there are several."""
    texts = [data(each.text, profile) for each in answers]
    if len(answers) == 1:
        return texts[0]
    return "\n".join(f"[{each.agent}]\n{text}" for each, text in zip(answers, texts, strict=True))


class WriteQuery(Task[Query]):
    """The first query, from the claim alone; the paper prints no prompt for it, the authors' program has its parts.

    Attributes:
        claim: what is checked.
        tool: the name of the agent's tool.
        about: what the tool finds, in a few words.
    """

    claim: Claim
    tool: str
    about: str

    def instruction(self) -> str:
        """Role, tool, form of the reply, claim."""
        return lines(
            "You take part in a debate that checks a claim; the aim is to agree on a correct answer.",
            f"Your own source of evidence is {self.tool}: {self.about}.",
            "Write the query that will find the evidence you need first.",
            UNTRUSTED if self.profile == "hardened" else None,
            "Reply with the query alone, in square brackets, like this: [your query].",
            f"Claim: {self.claim.text}",
        )


class RewriteQuery(WriteQuery):
    """A later query, from the claim, the other debaters' last answers and the agent's own last query (Eq. 4, Fig. 4).

    Attributes:
        others: the other debaters' answers of the last round.
        used: the agent's own last query, not all of them (``T6``).
    """

    others: tuple[OtherAnswer, ...]
    used: str

    def instruction(self) -> str:
        """Role, choice, form of the reply, other answers, own last query, claim."""
        return lines(
            "You take part in a debate that checks a claim; the aim is to agree on a correct answer.",
            f"Your own source of evidence is {self.tool}: {self.about}.",
            "You are choosing your query: change it, or reply [Continue] to stay with the one you used.",
            UNTRUSTED if self.profile == "hardened" else None,
            "Reply with the query alone, in square brackets, like this: [your query].",
            f"Other debaters' answer: {others(self.others, self.profile)}",
            f"The query you used before: {self.used}",
            f"Claim: {self.claim.text}",
        )


def parse_query(reply: str) -> Query | None:
    """Reads a query out of a reply, as ``T8`` resolves it.

    Returns:
        What stands in the first square brackets; without brackets the whole reply if it is short. Where that is empty
        or says "Continue", the last query is kept. None where nothing of this applies.
    """
    bracket = re.search(r"\[(.*?)\]", reply, re.DOTALL)
    text = " ".join((bracket.group(1) if bracket else reply).split())
    if re.search(r"\bcontinue\b", text, re.IGNORECASE) and len(text) < 40:
        return Query(kept=True)
    if not text:
        return Query(kept=True) if bracket else None
    if not bracket and len(text) > LONGEST_QUERY:
        return None
    return Query(text=text[:LONGEST_QUERY])
