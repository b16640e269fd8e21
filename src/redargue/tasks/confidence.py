"""What agents wrote and how sure each was, as it stands in another agent's prompt.

Yoffe et al., "DebUnc" (2024): each response is fenced, introduced as one agent's, and carries a confidence level from 1
to 10; the prompt explains the scale and wants the levels kept out of the answer. The same texts are the ranges whose
attention a backend scales that ``supports_attention_weights``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from redargue.claims import Frozen
from redargue.tasks.base import Part, Weight
from redargue.tasks.untrusted import split_marked, wrap_untrusted

LEVELS = (
    "With each text stands its writer's confidence level, from 1 (lowest) to 10 (highest). Give more weight to a text"
    " with a higher level, and do not mention confidence in your reply."
)


class AgentText(Frozen):
    """What an agent wrote, and how sure it was: in words, by weight, both or neither.

    Attributes:
        agent: its writer.
        text: the whole of it.
        level: of confidence, 1 to 10; None where the prompt says nothing of it.
        weight: of the attention it gets; see :class:`~redargue.tasks.base.Part`.
    """

    agent: str
    text: str
    level: Annotated[int, Field(ge=1, le=10)] | None = None
    weight: Weight = 1.0


def agent_text_parts(texts: Sequence[AgentText]) -> tuple[Part, ...]:
    """The texts one after the other; of each only its own words are its writer's part."""
    parts: list[Part] = []
    for each in texts:
        level = "" if each.level is None else f" (confidence level is {each.level})"
        opening, text, closing = split_marked(wrap_untrusted(each.text))
        parts.append(Part(text=f"This is what {each.agent} wrote{level}:\n{opening}"))
        parts.append(Part(text=text, agent=each.agent, weight=each.weight))
        parts.append(Part(text=f"{closing}\n"))
    return tuple(parts)
