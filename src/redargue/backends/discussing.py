"""The embedded backend's roles in the baselines' debates, where these rest on evidence.

It reads the same passages in the same way whoever it plays: its debaters differ only where the evidence has two sides,
or where they chose other pieces of it, and a debate is mostly one reader's answer (``experiments/LOG.md``).
"""

from __future__ import annotations

from redargue.claims import Claim, Meaning
from redargue.evidence import Passage
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, EmbeddedBackend, cite, play, say
from redargue.tasks.answer import Answer
from redargue.tasks.arguing import Argument
from redargue.tasks.base import lines
from redargue.tasks.moderating import (
    Candidates,
    DebateTurnOnEvidence,
    DecideDebateOnEvidence,
    Decision,
    ListCandidatesOnEvidence,
    ModerateRoundOnEvidence,
    Ruling,
)
from redargue.tasks.preset import ArgueStance, CriticiseStance, RebutCritic
from redargue.tasks.reconciling import AnswerSurelyOnEvidence, AnswerWithConfidence
from redargue.tasks.selecting import (
    MOST_PIECES,
    Consistency,
    JudgeConsistency,
    Piece,
    SelectEvidence,
    Selection,
    SummariseAnswers,
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


@play.register
def _select(task: SelectEvidence, mind: EmbeddedBackend) -> Selection:
    """The most relevant pieces of those that say anything of the claim."""
    relevant = mind.entailment.relevance([(task.claim.text, lines(each.title, each.text)) for each in task.pool])
    order = sorted(range(len(task.pool)), key=lambda place: -round(float(relevant[place]), 6))
    return Selection(pieces=tuple(Piece(number=place + 1) for place in order[:MOST_PIECES]))


@play.register
def _judge_consistency(task: JudgeConsistency, mind: EmbeddedBackend) -> Consistency:
    """By the labels that the answers give."""
    labels = [task.claim.labels.parse(each.text) for each in task.answers]
    same = None not in labels and len(set(labels)) == 1
    return Consistency(reason=", ".join(each or "no label" for each in labels), consistent="yes" if same else "no")


@play.register
def _sum_up(task: SummariseAnswers, mind: EmbeddedBackend) -> Answer:
    """The answer whose label most agents give, the first of them on ties."""
    labels = [task.claim.labels.parse(each.text) for each in task.answers]
    given = [each for each in labels if each is not None]
    if not given:
        return Answer(text="No agent gives a label.", label=None)
    label = max(dict.fromkeys(given), key=given.count)
    return Answer(text=task.answers[labels.index(label)].text, label=label)


@play.register
def _answer_surely(task: AnswerSurelyOnEvidence, mind: EmbeddedBackend) -> AnswerWithConfidence:
    """What the evidence says, as sure as its reading is calibrated; not sure at all where nothing was calibrated."""
    answer = _read(task.claim, task.passages, mind)
    return AnswerWithConfidence(
        reasoning=answer.text,
        answer=answer.label or "",
        confidence_level=answer.confidence or 0.0,
        quotes=answer.quotes,
    )


@play.register
def _argue_stance(task: ArgueStance | RebutCritic, mind: EmbeddedBackend) -> Argument:
    """The strongest sentences for the stance, or that there are none."""
    return _argued(task.claim, task.stance, task.passages, mind, against=False)


@play.register
def _criticise(task: CriticiseStance, mind: EmbeddedBackend) -> Argument:
    """The strongest sentences against the stance, or that there are none."""
    return _argued(task.claim, task.stance, task.passages, mind, against=True)


def _argued(
    claim: Claim, stance: str, passages: tuple[Passage, ...], mind: EmbeddedBackend, *, against: bool
) -> Argument:
    text, meaning = claim.text, claim.labels.meaning(stance)
    if meaning is Meaning.OPTION:  # an option is read as a statement after the question
        text = f"{text} {claim.options[claim.labels.names.index(stance)]}"
        meaning = Meaning.SUPPORTED
    meaning = OPPOSITE[meaning] if against else meaning
    reading = mind.reader.read(text, passages)
    best = reading.best(meaning, QUOTES) if reading.strongest(meaning) > 0.5 else ()
    opening = {Meaning.SUPPORTED: CORRECT, Meaning.REFUTED: INCORRECT}[meaning] if best else OPEN
    said = "\n".join([*map(cite, best), opening + " ".join(text.split())])
    return Argument(text=said, quotes=tuple(each.quote for each in best))
