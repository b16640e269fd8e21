"""The embedded backend's roles in the baselines' debates, where these rest on evidence.

It reads the same passages whoever it plays, so that its debaters differ only where the evidence has two sides.
"""

from __future__ import annotations

from redargue.backends.embedded import EmbeddedBackend, cite, play, say
from redargue.claims import Claim, Meaning
from redargue.evidence import Passage
from redargue.tasks.answering import Answer
from redargue.tasks.moderating import (
    Candidates,
    DebateTurnOnEvidence,
    DecideDebateOnEvidence,
    Decision,
    ListCandidatesOnEvidence,
    ModerateRoundOnEvidence,
    Ruling,
)

QUOTES = 2  # an objection gives at most
OPPOSITE = {Meaning.SUPPORTED: Meaning.REFUTED, Meaning.REFUTED: Meaning.SUPPORTED}


def _read(claim: Claim, passages: tuple[Passage, ...], mind: EmbeddedBackend) -> Answer:
    return say(claim, mind.reader.read(claim.text, passages), passages, mind)


@play.register
def _take_a_turn(task: DebateTurnOnEvidence, mind: EmbeddedBackend) -> Answer:
    """What the evidence says; to object, what speaks against the other side, where anything does."""
    answer = _read(task.claim, task.passages, mind)
    objecting = bool(task.opponent) and not task.before
    heard = task.claim.labels.parse(task.opponent) if objecting else None
    if heard is None or heard != answer.label:
        return answer
    return _objection(task.claim, heard, task.passages, mind) or answer


def _objection(claim: Claim, heard: str, passages: tuple[Passage, ...], mind: EmbeddedBackend) -> Answer | None:
    """The strongest sentences for the opposite label; None where none is strong, or there is no such label."""
    meaning = OPPOSITE.get(claim.labels.meaning(heard))
    label = claim.labels.named(meaning) if meaning else None
    reading = mind.reader.read(claim.text, passages)
    if meaning is None or label is None or reading.strongest(meaning) <= 0.5:
        return None
    best = reading.best(meaning, QUOTES)
    text = "\n".join([*map(cite, best), f"**{label}**"])
    return Answer(text=text, label=label, quotes=tuple(each.quote for each in best))


@play.register
def _moderate(task: ModerateRoundOnEvidence, mind: EmbeddedBackend) -> Ruling:
    """For the side whose label the evidence bears out; without one the debate goes on."""
    answer, labels = _read(task.claim, task.passages, mind), task.claim.labels
    if answer.label is not None and answer.label == labels.parse(task.affirmative):
        return Ruling(preference=True, supported_side="affirmative", reason=answer.text, debate_answer=answer.label)
    if answer.label is not None and answer.label == labels.parse(task.negative):
        return Ruling(preference=True, supported_side="negative", reason=answer.text, debate_answer=answer.label)
    return Ruling(preference=False, supported_side="", reason=answer.text, debate_answer="")


@play.register
def _list_candidates(task: ListCandidatesOnEvidence, mind: EmbeddedBackend) -> Candidates:
    """The labels that the sides gave."""
    labels = (task.claim.labels.parse(each) for each in (task.affirmative, task.negative))
    return Candidates(candidates=tuple(dict.fromkeys(each for each in labels if each)))


@play.register
def _decide(task: DecideDebateOnEvidence, mind: EmbeddedBackend) -> Decision:
    """What the evidence says."""
    answer = _read(task.claim, task.passages, mind)
    return Decision(reason=answer.text, debate_answer=answer.label or "")
