"""How small models perform the tasks of Dual-Position Debate: each team collects the best evidence for its own view.

Referees weigh evidence (how strongly the quotations support the team), consistency (that they do not support the other)
and independence (the number of sources). Nothing is generated, so the language is always neutral.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.methods.dual_position.referees import Judgement, JudgeTeams, Vote
from redargue.methods.dual_position.tasks import (
    AnalyseText,
    Analysis,
    Position,
    Rebut,
    SpeakForTeam,
    Speech,
    SummariseTeam,
    TeamQueries,
    TeamStatement,
    WriteTeamQueries,
)
from redargue.nli.aggregation import NO_SIGNAL, source_scores
from redargue.nli.backend import QUOTES, EmbeddedBackend, cite, distinct_words, perform, quotations_of, write_argument
from redargue.nli.reader import Reading
from redargue.tasks.answer import Argument
from redargue.tasks.query import OtherAnswer

_MEANINGS: dict[Position, Meaning] = {"affirmative": Meaning.SUPPORTED, "negative": Meaning.REFUTED}
SOURCES = 3  # independent ones that make a case complete
_LOUD = re.compile(
    r"\b(?:shocking|unbelievable|outrageous|scandal\w*|disgusting|horrifying|explosive|bombshell|miracle|secret)\b|!{2,}",
    re.IGNORECASE,
)


@perform.register
def _write_team_queries(task: WriteTeamQueries, backend: EmbeddedBackend) -> TeamQueries:
    text = task.claim.text[:300]
    return TeamQueries(support=text, refute=" ".join(distinct_words(task.claim.text))[:300] or text)


@perform.register
def _analyse(task: AnalyseText, backend: EmbeddedBackend) -> Analysis:
    text = f"{task.claim.context} {task.claim.text}"
    loud = list(dict.fromkeys(match.group() for match in _LOUD.finditer(text)))
    shouted = [word for word in re.findall(r"\b[A-Z]{4,}\b", text) if len(text.split()) > 4]
    marked = ", ".join([*loud, *shouted[:3]])
    unjudged = "not judged without a language model"
    phrases = f"loud words: {marked}" if marked else "no loud words"
    summary = f"Style: {phrases}. The rest is not judged without a language model."
    return Analysis(phrases=phrases, common_sense=unjudged, bias=unjudged, language=unjudged, summary=summary)


@perform.register
def _rebut(task: Rebut, backend: EmbeddedBackend) -> Argument:
    reading = backend.reader.read(task.claim.text, task.passages)
    return write_argument(task.claim.text, _MEANINGS[task.position], reading)


@perform.register
def _speak(task: SpeakForTeam, backend: EmbeddedBackend) -> TeamStatement:
    reading = backend.reader.read(task.claim.text, task.passages)
    argument = write_argument(task.claim.text, _MEANINGS[task.position], reading)
    return TeamStatement(text=argument.text, quotes=argument.quotes, concedes=not argument.quotes)


@perform.register
def _summarise(task: SummariseTeam, backend: EmbeddedBackend) -> TeamStatement:
    order = sorted(task.texts, key=lambda text: -(text.level or 5))
    answers = (OtherAnswer(agent=member.agent, text=member.text) for member in order)
    quotations = dict.fromkeys(text for answer in answers for text in quotations_of((answer,)))
    passages = tuple(Passage(text=text) for text in quotations)
    argument = write_argument(task.claim.text, _MEANINGS[task.position], backend.reader.read(task.claim.text, passages))
    return TeamStatement(text=argument.text, quotes=argument.quotes, concedes=not argument.quotes)


@perform.register
def _judge(task: JudgeTeams, backend: EmbeddedBackend) -> Judgement:
    claim = task.claim.text
    evidence = {position: task.passages or _evidence(task.speeches, position) for position in _MEANINGS}
    both = backend.reader.read(claim, (*evidence["affirmative"], *evidence["negative"]))
    own = {position: backend.reader.read(claim, passages) for position, passages in evidence.items()}
    scores: dict[str, float] = {}
    for position, meaning in _MEANINGS.items():
        against = _MEANINGS["negative" if position == "affirmative" else "affirmative"]
        scores[f"{position}_evidence"] = own[position].strongest(meaning)
        scores[f"{position}_logic"] = 1 - own[position].strongest(against) if evidence[position] else 0.0
        scores[f"{position}_neutrality"] = 1.0
        sources = len(source_scores((passage, NO_SIGNAL) for passage in evidence[position]))
        scores[f"{position}_persuasiveness"] = min(1.0, sources / SOURCES) * scores[f"{position}_evidence"]
    rounded = {name: round(min(1.0, max(0.0, value)), 6) for name, value in scores.items()}
    vote, sure = _vote(task.referee, both, rounded)
    meaning = Meaning.NOT_ENOUGH if vote == "tie" else _MEANINGS[vote]
    reason = "\n".join(map(cite, both.best(meaning, QUOTES)))
    return Judgement(reason=reason, vote=vote, confidence=round(sure, 6), **rounded)


def _evidence(speeches: Sequence[Speech], position: Position) -> tuple[Passage, ...]:
    passages = (passage for speech in speeches if speech.position == position for passage in speech.verified)
    return tuple({passage.text: passage for passage in passages}.values())


def _vote(referee: str, both: Reading, scores: dict[str, float]) -> tuple[Vote, float]:
    if referee in ("logical", "rhetorical"):
        name = "logic" if referee == "logical" else "persuasiveness"
        sides = {side: scores[f"{side}_evidence"] * scores[f"{side}_{name}"] for side in _MEANINGS}
        difference = sides["affirmative"] - sides["negative"]
        if abs(difference) <= 0.05:
            return "tie", 0.5
        return ("affirmative" if difference > 0 else "negative"), min(1.0, abs(difference))
    supports, refutes, neither = both.probabilities()
    shares: dict[Vote, float] = {"affirmative": supports, "negative": refutes, "tie": neither}
    vote = max(shares, key=shares.__getitem__)
    return vote, shares[vote]
