"""What the members of a debating team do: gather, analyse, rebut, summarise (Dual-Position Debate, §3.2)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import claim_lines, documents
from redargue.tasks.base import Part, Task, lines, list_bounds, max_length
from redargue.tasks.confidence import LEVELS, AgentText, agent_text_parts
from redargue.tasks.untrusted import wrap_untrusted

Position = Literal["affirmative", "negative"]
STANCES: dict[Position, str] = {"affirmative": "The claim is factual.", "negative": "The claim is not factual."}
OPPONENTS: dict[Position, Position] = {"affirmative": "negative", "negative": "affirmative"}


class TeamQueries(Frozen):
    """What a gatherer asks: for its own view, and against the opponent's."""

    support: str = Field(
        min_length=1, description="a query for what supports your view", json_schema_extra=max_length(300)
    )
    refute: str = Field(
        min_length=1, description="a query for what refutes the opponent's view", json_schema_extra=max_length(300)
    )


class Analysis(Frozen):
    """Four checks of a text, and what they come to."""

    phrases: str = Field(description="sensational or inciting phrases, if any", json_schema_extra=max_length(400))
    common_sense: str = Field(description="whether it agrees with common sense", json_schema_extra=max_length(400))
    bias: str = Field(description="political bias, if any", json_schema_extra=max_length(400))
    language: str = Field(description="mistakes of spelling and grammar, if any", json_schema_extra=max_length(400))
    summary: str = Field(description="the issues found, in short", json_schema_extra=max_length(600))


class Argument(Frozen):
    """What a team member says.

    Attributes:
        text: the argument; empty where there is nothing to say.
        quotes: what it says its documents say, word for word; checked by code, never believed.
    """

    text: str = Field(description="your argument", json_schema_extra=max_length(1_000))
    quotes: tuple[str, ...] = Field(
        default=(),
        description="what you rely on, copied word for word from the documents",
        json_schema_extra=list_bounds(6, 400),
    )


class _OfATeam(Frozen):
    claim: Claim
    position: Position


class WriteTeamQueries(Task[TeamQueries], _OfATeam):
    """The gatherer's two queries, once at the beginning.

    Attributes:
        claim: what is debated.
        position: the team's.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "view", "opposing")

    def instructions(self) -> str:
        """The gatherer's part."""
        return lines(
            "You gather information for a team that debates a claim. You search once, before the debate begins.",
            _view(self.position),
            "Write one query for information that supports your team's view, and one for information that refutes the"
            " opponent's view.",
        )

    def output_format(self) -> str:
        """JSON."""
        return 'Reply in JSON: {"support": "a query", "refute": "a query"}'

    def input_text(self) -> str:
        """The claim."""
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        """The claim and both views."""
        return {
            "claim": wrap_untrusted(self.claim.text, inline=True),
            "view": STANCES[self.position],
            "opposing": STANCES[OPPONENTS[self.position]],
        }


class AnalyseText(Task[Analysis], _OfATeam):
    """The analyst's four checks of the original text, once at the beginning.

    Attributes:
        claim: what is debated; its context may hold a title.
        position: the team's.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "view")

    def instructions(self) -> str:
        """The four checks."""
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

    def output_format(self) -> str:
        """JSON."""
        return 'Reply in JSON: {"phrases": "", "common_sense": "", "bias": "", "language": "", "summary": ""}'

    def input_text(self) -> str:
        """The text."""
        return claim_lines(self.claim)

    def template_vars(self) -> dict[str, str]:
        """The claim and the team's view."""
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "view": STANCES[self.position]}


class Rebut(Task[Argument], _OfATeam):
    """The rebutter's attack on the opponent's last statement; in the first round on its stance (D11).

    Attributes:
        claim: what is debated.
        position: the team's.
        opponent: what the opponent said last.
        passages: of the team's records, those nearest to that.
        analysis: the team's analyst's summary; empty without an analyst.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "view", "opponent", "analysis", "documents")

    quotes_in_text: ClassVar[bool] = True

    opponent: str
    passages: tuple[Passage, ...] = ()
    analysis: str = ""

    def instructions(self) -> str:
        """The rebutter's part and its five angles."""
        return lines(
            "You rebut for a team that debates a claim.",
            _view(self.position),
            "Attack what the opponent said last, with what your team has gathered. Look at: the authenticity of its"
            " evidence; the authority of its sources; whether it is consistent with the context; contradictions in what"
            " it says; repetition in its explanations.",
        )

    def quote_source(self) -> str:
        return "the documents"

    def output_format(self) -> str:
        """JSON."""
        return 'Reply in JSON: {"text": "your rebuttal", "quotes": ["word for word"]}'

    def input_text(self) -> str:
        """Claim, documents, analysis, the opponent's statement."""
        return lines(
            claim_lines(self.claim),
            f"Documents: {documents(self.passages, self.profile)}",
            f"Your analyst: {wrap_untrusted(self.analysis)}" if self.analysis else None,
            f"The opponent: {wrap_untrusted(self.opponent)}",
        )

    def template_vars(self) -> dict[str, str]:
        """Claim, view, the opponent's statement, analysis, documents."""
        return {
            "claim": wrap_untrusted(self.claim.text, inline=True),
            "view": STANCES[self.position],
            "opponent": wrap_untrusted(self.opponent),
            "analysis": wrap_untrusted(self.analysis),
            "documents": documents(self.passages, self.profile),
        }


class SummariseTeam(Task[Argument], _OfATeam):
    """One statement out of the team's texts, the surer ones weighing more (D6, D7).

    Attributes:
        claim: what is debated.
        position: the team's.
        texts: of the team's members, with how sure each was: in words, or by the attention that they get.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "view", "texts")

    texts: tuple[AgentText, ...]

    def instructions(self) -> str:
        """The summariser's part, and what the levels mean."""
        return lines(
            "You summarise for a team that debates a claim: one statement from what its members found.",
            _view(self.position),
            LEVELS if any(each.level is not None for each in self.texts) else None,
        )

    def hardened_rules(self) -> str:
        return "Keep quotations word for word, in double quotation marks."

    def output_format(self) -> str:
        """JSON."""
        return 'Reply in JSON: {"text": "the statement", "quotes": ["word for word"]}'

    def input_text(self) -> str:
        """Claim and texts."""
        return "".join(part.text for part in self.parts())

    def parts(self) -> tuple[Part, ...]:
        """The material, cut where a member's text begins and ends."""
        return (Part(text=claim_lines(self.claim) + "\n"), *agent_text_parts(self.texts))

    def template_vars(self) -> dict[str, str]:
        """Claim, view, texts."""
        texts = "".join(part.text for part in agent_text_parts(self.texts))
        return {"claim": wrap_untrusted(self.claim.text, inline=True), "view": STANCES[self.position], "texts": texts}


def _view(position: Position) -> str:
    return (
        f"Your team is the {position} one. Its view: {STANCES[position]} The opponent's view: "
        + (STANCES[OPPONENTS[position]])
    )
