"""How small models perform the tasks of MAD."""

from __future__ import annotations

from typing import Literal

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.methods.baselines.mad import prompts
from redargue.methods.baselines.small_models import OPPOSITE, QUOTES, read_evidence
from redargue.nli.backend import EmbeddedBackend, cite, perform, quotes_of
from redargue.tasks.answer import Answer


@perform.register
def _take_a_turn(task: prompts.DebateTurnOnEvidence, backend: EmbeddedBackend) -> Answer:
    """Answers from the evidence; objects with what contradicts the other side, if there is anything."""
    answer = read_evidence(task.claim, task.passages, backend)
    objecting = bool(task.opponent) and not task.before
    opponent = task.claim.labels.parse(task.opponent) if objecting else None
    if opponent is None or opponent != answer.label:
        return answer
    return _objection(task.claim, opponent, task.passages, backend) or answer


def _objection(claim: Claim, opponent: str, passages: tuple[Passage, ...], backend: EmbeddedBackend) -> Answer | None:
    """The strongest sentences for the opposite label; None where none is strong, or there is no such label."""
    meaning = OPPOSITE.get(claim.labels.meaning(opponent))
    label = claim.labels.named(meaning) if meaning else None
    reading = backend.reader.read(claim.text, passages)
    if meaning is None or label is None or reading.strongest(meaning) <= 0.5:
        return None
    best = reading.best(meaning, QUOTES)
    text = "\n".join([*map(cite, best), f"**{label}**"])
    return Answer(text=text, label=label, quotes=quotes_of(reading.decisive(best, meaning)))


@perform.register
def _moderate(task: prompts.ModerateRoundOnEvidence, backend: EmbeddedBackend) -> prompts.Ruling:
    answer, labels = read_evidence(task.claim, task.passages, backend), task.claim.labels
    side: Literal["affirmative", "negative", ""] = ""
    if answer.label is not None and answer.label == labels.parse(task.affirmative):
        side = "affirmative"
    elif answer.label is not None and answer.label == labels.parse(task.negative):
        side = "negative"
    label = (side and answer.label) or ""
    return prompts.Ruling(preference=bool(side), supported_side=side, reason=answer.text, debate_answer=label)


@perform.register
def _list_candidates(task: prompts.ListCandidatesOnEvidence, backend: EmbeddedBackend) -> prompts.Candidates:
    labels = (task.claim.labels.parse(text) for text in (task.affirmative, task.negative))
    return prompts.Candidates(candidates=tuple(dict.fromkeys(label for label in labels if label)))


@perform.register
def _decide(task: prompts.DecideDebateOnEvidence, backend: EmbeddedBackend) -> prompts.Decision:
    answer = read_evidence(task.claim, task.passages, backend)
    return prompts.Decision(reason=answer.text, debate_answer=answer.label or "")
