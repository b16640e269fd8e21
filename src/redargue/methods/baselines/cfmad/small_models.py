"""What the small models play of CFMAD."""

from __future__ import annotations

from redargue.claims import Claim, Meaning
from redargue.evidence import Passage
from redargue.methods.baselines.cfmad.prompts import ArgueStance, CriticiseStance, RebutCritic
from redargue.methods.baselines.small_models import OPPOSITE, QUOTES
from redargue.methods.dual_position.prompts import Argument
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, EmbeddedBackend, cite, perform


@perform.register
def _argue_stance(task: ArgueStance | RebutCritic, backend: EmbeddedBackend) -> Argument:
    return _argued(task.claim, task.stance, task.passages, backend, against=False)


@perform.register
def _criticise(task: CriticiseStance, backend: EmbeddedBackend) -> Argument:
    return _argued(task.claim, task.stance, task.passages, backend, against=True)


def _argued(
    claim: Claim, stance: str, passages: tuple[Passage, ...], backend: EmbeddedBackend, *, against: bool
) -> Argument:
    text, meaning = claim.text, claim.labels.meaning(stance)
    if meaning is Meaning.OPTION:  # an option is read as a statement after the question
        text = f"{text} {claim.options[claim.labels.names.index(stance)]}"
        meaning = Meaning.SUPPORTED
    meaning = OPPOSITE[meaning] if against else meaning
    reading = backend.reader.read(text, passages)
    best = reading.best(meaning, QUOTES) if reading.strongest(meaning) > 0.5 else ()
    opening = {Meaning.SUPPORTED: CORRECT, Meaning.REFUTED: INCORRECT}[meaning] if best else OPEN
    said = "\n".join([*map(cite, best), opening + " ".join(text.split())])
    return Argument(text=said, quotes=tuple(sentence.quote for sentence in best))
