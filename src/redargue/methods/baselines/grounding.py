"""Questions grounded in search results, and a claim judged SUPPORTED or NOT_SUPPORTED: Self-Ask and FOLK."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redargue.claims import Frozen
from redargue.events import QueryWritten
from redargue.methods.agent import Agent
from redargue.methods.base import Method
from redargue.methods.few_shot import read_examples, with_json_replies
from redargue.tasks.answer import Answer
from redargue.tasks.base import Profile
from redargue.tasks.grounding import ANSWER_NEXT, NEXT_EXAMPLE, Grounded, Side
from redargue.tasks.query import LONGEST_QUERY
from redargue.verdicts import Verdict


class GroundingMethod(Method):
    """A method that judges a claim by searching for the answers to questions about it."""

    async def ground(self, agent: Agent, question: str, *, round_: int) -> Grounded:
        """A question with what the agent's tools find for it; the query is cut where it is too long for a tool."""
        query = question[:LONGEST_QUERY]
        self.run.emit(QueryWritten(agent=agent.name, round=round_, query=query))
        return Grounded(question=question, passages=await agent.search(query, self.settings.top_k, round_=round_))

    def label(self, side: Side) -> str:
        """The claim's own label.

        Raises:
            UsageError: the label set lacks a label for correct claims, or one for incorrect claims.
        """
        supported, not_supported = self.two_sides()
        return supported if side == "SUPPORTED" else not_supported

    def conclude(self, agent: Agent, answer: Answer, asked: Sequence[Grounded], *, round_: int) -> Verdict:
        passages = {passage.sha256: passage for grounded in asked for passage in grounded.passages}
        self.answered(agent.name, answer, round_=round_, passages=tuple(passages.values()))
        return self.verdict(answer.label, reason=answer.text, decided_by="reader", rounds=round_)


def examples_in(profile: Profile, package: str, name: str, read: Callable[[str], Frozen]) -> str:
    """Examples with their replies in the paper's format or, hardened, as JSON.

    Args:
        profile: of the prompt.
        package: of the method.
        name: of the text file.
        read: reads a reply in the paper's format.
    """
    text = read_examples(package, name)
    if profile == "paper":
        return text
    return with_json_replies(text, read, before=f"\n{ANSWER_NEXT}\n", between=f"\n{NEXT_EXAMPLE}\n")
