"""Prompts of a debating team: gather, analyse, rebut, summarise (Dual-Position Debate, §3.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from redargue.claims import Claim, Frozen
from redargue.evidence import Passage
from redargue.tasks.answer import Argument, Quotations, quotes_field
from redargue.tasks.base import Part, Profile, Task, Weight, lines, max_length, text_field
from redargue.tasks.sections import claim_section, documents, sourced
from redargue.tasks.untrusted import split_marked, wrap_untrusted

Position = Literal["affirmative", "negative"]
STANCES: dict[Position, str] = {"affirmative": "The claim is factual.", "negative": "The claim is not factual."}
OPPONENTS: dict[Position, Position] = {"affirmative": "negative", "negative": "affirmative"}
_MEANINGS: dict[Position, str] = {
    "affirmative": "that the claim is factual: every part of it is true",
    "negative": "that the claim is not factual: at least one part of it is false",
}


_Query = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), Field(json_schema_extra=max_length(300))
]


class TeamQueries(Frozen):
    """A gatherer's queries: for its own view, and against the opponent's."""

    support: _Query = Field(description="for what would have to be documented if your team's view were right")
    refute: _Query = Field(description="for what would have to be documented if your team's view were wrong")


class Analysis(Frozen):
    """Four checks of a text, and a summary of them."""

    phrases: str = text_field("sensational or inciting wording, quoted; or none", 400)
    common_sense: str = text_field("whether the claim agrees with common sense, and where it does not", 400)
    bias: str = text_field("a political bias, with the words that show it; or none", 400)
    language: str = text_field("mistakes of spelling and grammar; or none", 400)
    summary: str = text_field("the issues found, and what the claim leaves undefined, in short", 600)


class TeamStatement(Argument):
    """A team's statement in a round.

    Attributes:
        concedes: whether the team no longer stands by its view; only the ``hardened`` profile asks.
    """

    quotes: Quotations = quotes_field("each quotation in it, word for word")
    concedes: bool = Field(default=False, description="true if your documents do not bear out your team's view")


class Speech(Frozen):
    """A team's statement in a round, after its quotations were looked up in the team's documents.

    Attributes:
        verified: the quotations that were found, with their sources.
        numbers: of their documents in the whole claim, in their order; empty where documents have none.
        unfound: the others, as the team gave them.
    """

    position: Position
    round: int
    argument: TeamStatement
    verified: tuple[Passage, ...] = ()
    numbers: tuple[int, ...] = ()
    unfound: tuple[str, ...] = ()


class _OfATeam(Frozen):
    claim: Claim
    position: Position

    def team_vars(self, profile: Profile) -> dict[str, object]:
        opponent = OPPONENTS[self.position]
        return {
            "claim": claim_section(self.claim, profile),
            "position": self.position,
            "view": STANCES[self.position],
            "opposing": STANCES[opponent],
            "team": (
                f"Your team, the {self.position} one, holds {_MEANINGS[self.position]}."
                f" The {opponent} team holds {_MEANINGS[opponent]}."
            ),
        }


class WriteTeamQueries(Task[TeamQueries], _OfATeam):
    """The gatherer's two queries, once before the debate."""

    def template_vars(self) -> Mapping[str, object]:
        return self.team_vars(self.profile)


class AnalyseText(Task[Analysis], _OfATeam):
    """The analyst's four checks of the original text, once before the debate."""

    def template_vars(self) -> Mapping[str, object]:
        fields = {name: field.description for name, field in Analysis.model_fields.items()}
        return {**self.team_vars(self.profile), "fields": json.dumps(fields)}


class _Answering(_OfATeam):
    """An answer to the opponent's last statement; in the first round to its stance (D11).

    Attributes:
        opponent: what the other team said last; None in the first round, when it has said nothing.
        numbers: of the documents of ``passages`` in the whole claim; empty: from 1.
    """

    opponent: Speech | None = None
    passages: tuple[Passage, ...] = ()
    numbers: tuple[int, ...] = ()
    analysis: str = ""

    def answering_vars(self, profile: Profile) -> dict[str, object]:
        return {
            **self.team_vars(profile),
            "documents": documents(self.passages, profile, numbers=self.numbers),
            "analysis": wrap_untrusted(self.analysis),
            "opponent": self._opponent(profile),
        }

    def _opponent(self, profile: Profile) -> str:
        if self.opponent:
            return lines(wrap_untrusted(self.opponent.argument.text), evidence_of(self.opponent, profile))
        return STANCES[OPPONENTS[self.position]] if profile == "paper" else ""


class Rebut(Task[Argument], _Answering):
    """The rebutter's answer, of which the summariser then writes the team's statement."""

    def template_vars(self) -> Mapping[str, object]:
        return self.answering_vars(self.profile)


class SpeakForTeam(Task[TeamStatement], _Answering):
    """The team's statement, which is its rebuttal, too: one call instead of two (``hardened``)."""

    def template_vars(self) -> Mapping[str, object]:
        return self.answering_vars(self.profile)


class SummariseTeam(Task[TeamStatement], _OfATeam):
    """One statement from the members' texts, the more certain ones weighing more (D6, D7)."""

    texts: tuple[AgentText, ...]

    def requested_type(self) -> type[Frozen]:
        return Argument if self.profile == "paper" else TeamStatement

    def parts(self) -> tuple[Part, ...]:
        return agent_text_parts(self.texts)

    def template_vars(self) -> Mapping[str, object]:
        return {
            **self.team_vars(self.profile),
            "texts": "".join(part.text for part in self.parts()),
            "levels": any(text.level is not None for text in self.texts),
        }


def evidence_of(speech: Speech, profile: Profile, shown: dict[str, int] | None = None) -> str:
    """A statement's quotations for a prompt: those that were found, with their sources, and those that were not.

    Each comes after the number of its document; in the ``paper`` profile, which has none, after its own. Of a quotation
    that appears in the statement, only the first words are shown.

    Args:
        shown: quotations that the prompt has so far, numbered, to which new ones are added; one of them is not shown
            again. None: the prompt has only this statement.
    """
    numbers = speech.numbers or (None,) * len(speech.verified)
    found = [
        _sourced(passage, number, speech.argument.text, profile, shown)
        for passage, number in zip(speech.verified, numbers, strict=True)
    ]
    missing = "; ".join(wrap_untrusted(f'"{_line(quote)}"', inline=True) for quote in speech.unfound)
    return lines(
        "\n".join(["Quotations found in its documents:", *found]) if found else None,
        f"Quotations not found: {missing}" if missing else None,
        None if found or missing else "(It quotes nothing.)",
    )


def _sourced(
    passage: Passage, number: int | None, statement: str, profile: Profile, shown: dict[str, int] | None
) -> str:
    text = _line(passage.text)
    known_by = passage if profile == "hardened" else Passage(text="", title=passage.title, url=passage.url)
    words = _first_words(text) if text in _line(statement) else text
    cited = wrap_untrusted(sourced(words, known_by), inline=True)
    before = len(shown or ())
    own = before + 1 if shown is None else shown.setdefault(sourced(text, known_by), before + 1)
    if profile == "paper":
        mark = "-" if shown is None else f"[{own}]"
        return f"{mark} {cited}" if own > before else f"{mark}, as above"
    mark = f"[{number}]" if number else "-"
    again = wrap_untrusted(f'"{_first_words(text)}"', inline=True)
    return f"{mark} {cited}" if own > before else f"{mark} {again}, as above"


def _line(text: str) -> str:
    return " ".join(text.split())


def _first_words(text: str) -> str:
    words = text.split()
    return " ".join(words[:8]) + (" …" if len(words) > 8 else "")


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
        level = "" if written.level is None else f", with a confidence level of {written.level}"
        opening, text, closing = split_marked(wrap_untrusted(written.text))
        parts.append(Part(text=f"The {written.agent} wrote{level}:\n{opening}"))
        parts.append(Part(text=text, agent=written.agent, weight=written.weight))
        parts.append(Part(text=f"{closing}\n"))
    return tuple(parts)
