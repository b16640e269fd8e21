"""Writing the query that an agent puts to its evidence tool (Tool-MAD, journal, Fig. 4)."""

from __future__ import annotations

import re
from typing import ClassVar

from redargue.claims import Claim, Frozen
from redargue.tasks.base import Task, lines
from redargue.tasks.untrusted import wrap_untrusted

LONGEST_QUERY = 300
MUST_REVISE = (
    "Where the answer to your query was contradicted, or left a part of the claim open, you have to change it."
)


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


def others(answers: tuple[OtherAnswer, ...]) -> str:
    """Other debaters' answers as they stand in a prompt; with names where there are several."""
    texts = [wrap_untrusted(each.text) for each in answers]
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

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "tool", "about")

    claim: Claim
    tool: str
    about: str

    def instructions(self) -> str:
        """Part in the debate, tool, what to write."""
        return lines(
            "You take part in a debate that checks a claim; the aim is to agree on a correct answer.",
            f"Your own source of evidence is {self.tool}: {self.about}.",
            self._wanted(),
        )

    def _wanted(self) -> str:
        return "Write the query that will find the evidence you need first."

    def output_format(self) -> str:
        """Square brackets."""
        return "Reply with the query alone, in square brackets, like this: [your query]."

    def input_text(self) -> str:
        """The claim."""
        return f"Claim: {wrap_untrusted(self.claim.text, inline=True)}"

    def template_vars(self) -> dict[str, str]:
        """The claim, the tool and what it finds."""
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "tool": self.tool, "about": self.about}


class RewriteQuery(WriteQuery):
    """A later query, from the claim, the other debaters' last answers and the agent's own last query (Eq. 4, Fig. 4).

    Attributes:
        others: the other debaters' answers of the last round.
        used: the agent's own last query, not all of them (``T6``).
        must_revise: whether it is told that a query that was contradicted, or left something open, has to change (T34).
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "tool", "about", "others", "used")

    others: tuple[OtherAnswer, ...]
    used: str
    must_revise: bool = False

    def _wanted(self) -> str:
        return lines(self._choice(), MUST_REVISE if self.must_revise else None)

    def _choice(self) -> str:
        return (
            "You are choosing your query for the next round: change it, or stay with the one you used where nothing"
            " better could be asked."
        )

    def output_format(self) -> str:
        """Square brackets; "Continue" stays with the last query."""
        return lines(
            "Reply with the query alone, in square brackets, like this: [your query].",
            "Reply [Continue] to stay with the query you used before.",
        )

    def input_text(self) -> str:
        """Other answers, own last query, claim, as in Fig. 4; hardened: the claim, which does not change, first."""
        return self.with_claim(
            super().input_text(),
            f"Other debaters' answer: {others(self.others)}",
            f"The query you used before: {wrap_untrusted(self.used, inline=True)}",
        )

    def template_vars(self) -> dict[str, str]:
        """Also the others' answers and the query used before."""
        return {
            **super().template_vars(),
            "others": others(self.others),
            "used": wrap_untrusted(self.used, inline=True),
        }


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
