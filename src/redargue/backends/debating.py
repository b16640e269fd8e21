"""The embedded backend's roles in a dual-position debate: each team collects the best evidence for its own view.

Referees weigh evidence (how strongly what was quoted speaks for its team), consistency (that it does not speak for the
other) and independence (how many sources say so). Nothing is generated, so that language is always neutral.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.nli.aggregation import SILENT, voices_of
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, EmbeddedBackend, cite, play, quoted, words
from redargue.nli.reader import Reading
from redargue.tasks.arguing import (
    AnalyseText,
    Analysis,
    Argument,
    Position,
    Rebut,
    SummariseTeam,
    TeamQueries,
    WriteTeamQueries,
)
from redargue.tasks.confidence import AgentText
from redargue.tasks.opining import GiveOpinion, Opinion
from redargue.tasks.query import OtherAnswer
from redargue.tasks.refereeing import Judgement, JudgeTeams, Speech, Vote

QUOTES = 2  # a rebuttal gives at most
MEANINGS: dict[Position, Meaning] = {"affirmative": Meaning.SUPPORTED, "negative": Meaning.REFUTED}
OPENINGS: dict[Position, str] = {"affirmative": CORRECT, "negative": INCORRECT}
LEANING = 0.1  # of a probability: what an agent that trusts or doubts grants its side
SOURCES = 3  # independent ones that make a case complete
_LOUD = re.compile(
    r"\b(?:shocking|unbelievable|outrageous|scandal\w*|disgusting|horrifying|explosive|bombshell|miracle|secret)\b|!{2,}",
    re.IGNORECASE,
)


@play.register
def _write_team_queries(task: WriteTeamQueries, mind: EmbeddedBackend) -> TeamQueries:
    """The claim finds what bears on it; its telling words alone find the rest."""
    text = task.claim.text[:300]
    return TeamQueries(support=text, refute=" ".join(words(task.claim.text))[:300] or text)


@play.register
def _analyse(task: AnalyseText, mind: EmbeddedBackend) -> Analysis:
    """Loud words and shouting, which code can see; what it cannot judge it says so."""
    text = f"{task.claim.context} {task.claim.text}"
    loud = list(dict.fromkeys(each.group() for each in _LOUD.finditer(text)))
    shouted = [word for word in re.findall(r"\b[A-Z]{4,}\b", text) if len(text.split()) > 4]
    found = ", ".join([*loud, *shouted[:3]])
    unjudged = "not judged without a language model"
    phrases = f"loud words: {found}" if found else "no loud words"
    summary = f"Style: {phrases}. The rest is not judged without a language model."
    return Analysis(phrases=phrases, common_sense=unjudged, bias=unjudged, language=unjudged, summary=summary)


@play.register
def _rebut(task: Rebut, mind: EmbeddedBackend) -> Argument:
    """The sentences that speak most strongly for the own view, or that none does."""
    reading = mind.reader.read(task.claim.text, task.passages)
    return _argued(task.claim.text, task.position, reading)


def _argued(claim: str, position: Position, reading: Reading) -> Argument:
    meaning = MEANINGS[position]
    best = reading.best(meaning, QUOTES) if reading.strongest(meaning) > 0.5 else ()
    opening = OPENINGS[position] if best else OPEN
    text = "\n".join([*map(cite, best), opening + " ".join(claim.split())])
    return Argument(text=text, quotes=tuple(each.quote for each in best))


@play.register
def _summarise(task: SummariseTeam, mind: EmbeddedBackend) -> Argument:
    """What the members quote, the surest member's first, as far as it speaks for the team."""
    order = sorted(task.texts, key=lambda each: -(each.level or 5))
    passages = tuple(Passage(text=text) for each in order for text in quoted((_as_answer(each),)))
    passages = tuple({each.text: each for each in passages}.values())
    return _argued(task.claim.text, task.position, mind.reader.read(task.claim.text, passages))


def _as_answer(text: AgentText) -> OtherAnswer:
    return OtherAnswer(agent=text.agent, text=text.text)


@play.register
def _judge(task: JudgeTeams, mind: EmbeddedBackend) -> Judgement:
    """Scores from what each team could quote; a vote by what this referee looks at."""
    claim = task.claim.text
    evidence = {position: _evidence(task.speeches, position) for position in MEANINGS}
    if task.passages:
        evidence = dict.fromkeys(MEANINGS, task.passages)
    both = mind.reader.read(claim, (*evidence["affirmative"], *evidence["negative"]))
    own = {position: mind.reader.read(claim, passages) for position, passages in evidence.items()}
    scores: dict[str, float] = {}
    for position, meaning in MEANINGS.items():
        against = MEANINGS["negative" if position == "affirmative" else "affirmative"]
        scores[f"{position}_evidence"] = own[position].strongest(meaning)
        scores[f"{position}_logic"] = 1 - own[position].strongest(against) if evidence[position] else 0.0
        scores[f"{position}_neutrality"] = 1.0
        sources = len(voices_of((each, SILENT) for each in evidence[position]))
        scores[f"{position}_persuasiveness"] = min(1.0, sources / SOURCES) * scores[f"{position}_evidence"]
    rounded = {name: round(min(1.0, max(0.0, value)), 6) for name, value in scores.items()}
    vote, sure = _vote(task.referee, both, rounded)
    return Judgement(reason=_reason(both, vote), vote=vote, confidence=round(sure, 6), **rounded)


def _evidence(speeches: Sequence[Speech], position: Position) -> tuple[Passage, ...]:
    """What a team quoted and code found, each once."""
    found = (each for speech in speeches if speech.position == position for each in speech.verified)
    return tuple({each.text: each for each in found}.values())


def _vote(referee: str, both: Reading, scores: dict[str, float]) -> tuple[Vote, float]:
    """By all evidence read together; the logical and the rhetorical referee by their own dimensions."""
    if referee in ("logical", "rhetorical"):
        name = "logic" if referee == "logical" else "persuasiveness"
        sides = {side: scores[f"{side}_evidence"] * scores[f"{side}_{name}"] for side in MEANINGS}
        difference = sides["affirmative"] - sides["negative"]
        if abs(difference) <= 0.05:
            return "tie", 0.5
        return ("affirmative" if difference > 0 else "negative"), min(1.0, abs(difference))
    supports, refutes, neither = both.probabilities()
    shares: dict[Vote, float] = {"affirmative": supports, "negative": refutes, "tie": neither}
    vote = max(shares, key=lambda each: shares[each])
    return vote, shares[vote]


@play.register
def _opine(task: GiveOpinion, mind: EmbeddedBackend) -> Opinion:
    """What the evidence says; trust and doubt each need less for their own side, the leader as much for both.

    The form has no place for an open claim: one that nothing speaks for or against has an opinion and no quotations.
    """
    reading = mind.reader.read(task.claim.text, task.passages)
    supports, refutes, _ = reading.probabilities()
    leaning = {"trust": LEANING, "skeptic": -LEANING}.get(task.part, 0.0)
    factual = supports + leaning >= refutes
    said = _argued(task.claim.text, "affirmative" if factual else "negative", reading)
    severity = 0 if factual else min(5, 1 + int(refutes * 5))
    return Opinion(opinion=said.text, factuality=factual, severity=severity, quotes=said.quotes)


def _reason(reading: Reading, vote: Vote) -> str:
    meaning = MEANINGS.get(vote, Meaning.NOT_ENOUGH) if vote != "tie" else Meaning.NOT_ENOUGH
    return "\n".join(map(cite, reading.best(meaning, QUOTES)))
