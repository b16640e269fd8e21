"""Prompts of a debating team: gather, analyse, rebut, summarise (Dual-Position Debate, §3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import claim_lines, documents
from redargue.tasks.base import Part, Sections, Task, Weight, lines, max_length, quotes_field
from redargue.tasks.untrusted import split_marked, wrap_untrusted

Position = Literal["affirmative", "negative"]
STANCES: dict[Position, str] = {"affirmative": "The claim is factual.", "negative": "The claim is not factual."}
OPPONENTS: dict[Position, Position] = {"affirmative": "negative", "negative": "affirmative"}


class TeamQueries(Frozen):
    """A gatherer's queries: for its own view, and against the opponent's."""

    support: str = Field(
        min_length=1, description="a query for what supports your view", json_schema_extra=max_length(300)
    )
    refute: str = Field(
        min_length=1, description="a query for what refutes the opponent's view", json_schema_extra=max_length(300)
    )


class Analysis(Frozen):
    """Four checks of a text, and a summary of them."""

    phrases: str = Field(description="sensational or inciting phrases, if any", json_schema_extra=max_length(400))
    common_sense: str = Field(description="whether it agrees with common sense", json_schema_extra=max_length(400))
    bias: str = Field(description="political bias, if any", json_schema_extra=max_length(400))
    language: str = Field(description="mistakes of spelling and grammar, if any", json_schema_extra=max_length(400))
    summary: str = Field(description="the issues found, in short", json_schema_extra=max_length(600))


class Argument(Frozen):
    """A team member's statement, with the quotations that it relies on."""

    text: str = Field(description="your argument", json_schema_extra=max_length(1_000))
    quotes: tuple[str, ...] = quotes_field("what you rely on, copied word for word from the documents")


class _OfATeam(Frozen):
    claim: Claim
    position: Position

    def claim_and_view(self) -> dict[str, str]:
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "view": STANCES[self.position]}


class WriteTeamQueries(Task[TeamQueries], _OfATeam):
    """The gatherer's two queries, once before the debate."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "view", "opposing")

    output_format: ClassVar[str] = 'Reply in JSON: {"support": "a query", "refute": "a query"}'

    @property
    def instructions(self) -> str:
        return lines(
            "You gather information for a team that debates a claim. You search once, before the debate begins.",
            _view(self.position),
            "Write one query for information that supports your team's view, and one for information that refutes the"
            " opponent's view.",
        )

    def input_text(self) -> str:
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        return {**self.claim_and_view(), "opposing": STANCES[OPPONENTS[self.position]]}


class AnalyseText(Task[Analysis], _OfATeam):
    """The analyst's four checks of the original text, once before the debate."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "view")

    output_format: ClassVar[str] = (
        'Reply in JSON: {"phrases": "", "common_sense": "", "bias": "", "language": "", "summary": ""}'
    )

    @property
    def instructions(self) -> str:
        weight = "so it is less likely to be true" if self.profile == "paper" else "which is a note and no evidence"
        return lines(
            "You analyse a text for a team that debates whether it is factual.",
            _view(self.position),
            f"Phrases: are there sensational or inciting phrases, {weight}?",
            "Common sense: do title and content agree with it?",
            f"Bias: is there a biased political stance, {weight}?",
            f"Language: are there mistakes of spelling or grammar, {weight}?",
            "Then summarise the issues that you found.",
        )

    def input_text(self) -> str:
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        return self.claim_and_view()


class Rebut(Task[Argument], _OfATeam):
    """The rebutter's attack on the opponent's last statement; in the first round on its stance (D11)."""

    sections: ClassVar[Sections] = {
        "claim": None,
        "view": None,
        "documents": "Documents: ",
        "analysis": "Your analyst: ",
        "opponent": "The opponent: ",
    }
    quotes_in_text: ClassVar[bool] = True

    opponent: str
    passages: tuple[Passage, ...] = ()
    analysis: str = ""

    quote_source: ClassVar[str] = "the documents"
    output_format: ClassVar[str] = 'Reply in JSON: {"text": "your rebuttal", "quotes": ["word for word"]}'

    @property
    def instructions(self) -> str:
        return lines(
            "You rebut for a team that debates a claim.",
            _view(self.position),
            "Attack what the opponent said last, with what your team has gathered. Look at: the authenticity of its"
            " evidence; the authority of its sources; whether it is consistent with the context; contradictions in what"
            " it says; repetition in its explanations.",
        )

    def input_text(self) -> str:
        return lines(claim_lines(self.claim), *self.section_texts())

    def template_vars(self) -> dict[str, str]:
        return {
            **self.claim_and_view(),
            "opponent": wrap_untrusted(self.opponent),
            "analysis": wrap_untrusted(self.analysis),
            "documents": documents(self.passages, self.profile),
        }


class SummariseTeam(Task[Argument], _OfATeam):
    """One statement from the members' texts, the more certain ones weighing more (D6, D7)."""

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "view", "texts")

    texts: tuple[AgentText, ...]

    hardened_rules: ClassVar[str] = "Keep quotations word for word, in double quotation marks."
    output_format: ClassVar[str] = 'Reply in JSON: {"text": "the statement", "quotes": ["word for word"]}'

    @property
    def instructions(self) -> str:
        return lines(
            "You summarise for a team that debates a claim: one statement from what its members found.",
            _view(self.position),
            LEVELS if any(text.level is not None for text in self.texts) else None,
        )

    def input_text(self) -> str:
        return "".join(part.text for part in self.parts())

    def parts(self) -> tuple[Part, ...]:
        return (Part(text=claim_lines(self.claim) + "\n"), *agent_text_parts(self.texts))

    def template_vars(self) -> dict[str, str]:
        return {**self.claim_and_view(), "texts": "".join(part.text for part in agent_text_parts(self.texts))}


def _view(position: Position) -> str:
    opposing = STANCES[OPPONENTS[position]]
    return f"Your team is the {position} one. Its view: {STANCES[position]} The opponent's view: {opposing}"


LEVELS = (
    "With each text stands its writer's confidence level, from 1 (lowest) to 10 (highest). Give more weight to a text"
    " with a higher level, and do not mention confidence in your reply."
)


class AgentText(Frozen):
    """An agent's text with its writer's confidence, as another agent's prompt shows it (Yoffe et al., "DebUnc", 2024).

    Attributes:
        level: of confidence, 1 to 10, in words; None to state none.
        weight: of attention, for a backend that ``supports_attention_weights``; see :class:`~redargue.tasks.base.Part`.
    """

    agent: str
    text: str
    level: Annotated[int, Field(ge=1, le=10)] | None = None
    weight: Weight = 1.0


def agent_text_parts(texts: Sequence[AgentText]) -> tuple[Part, ...]:
    """The texts in order; only an agent's own words are marked as its part."""
    parts: list[Part] = []
    for written in texts:
        level = "" if written.level is None else f" (confidence level is {written.level})"
        opening, text, closing = split_marked(wrap_untrusted(written.text))
        parts.append(Part(text=f"This is what {written.agent} wrote{level}:\n{opening}"))
        parts.append(Part(text=text, agent=written.agent, weight=written.weight))
        parts.append(Part(text=f"{closing}\n"))
    return tuple(parts)
