"""How small models perform the tasks of CFMAD."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.methods.baselines.cfmad.prompts import ArgueStance, CriticiseStance, RebutCritic
from redargue.methods.baselines.small_models import OPPOSITE, QUOTES
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, EmbeddedBackend, cite, perform, quotes_of
from redargue.tasks.argue import Argument


@perform.register
def _argue(task: ArgueStance | RebutCritic | CriticiseStance, backend: EmbeddedBackend) -> Argument:
    """Cites what supports the stance or, as its critic, what contradicts it."""
    claim, stance = task.claim, task.stance
    text, meaning = claim.text, claim.labels.meaning(stance)
    if meaning is Meaning.OPTION:  # an option is read as a statement after the question
        text = f"{text} {claim.options[claim.labels.names.index(stance)]}"
        meaning = Meaning.SUPPORTED
    meaning = OPPOSITE[meaning] if isinstance(task, CriticiseStance) else meaning
    reading = backend.reader.read(text, task.passages)
    best = reading.best(meaning, QUOTES) if reading.strongest(meaning) > 0.5 else ()
    opening = {Meaning.SUPPORTED: CORRECT, Meaning.REFUTED: INCORRECT}[meaning] if best else OPEN
    argument = "\n".join([*map(cite, best), opening + " ".join(text.split())])
    return Argument(text=argument, quotes=quotes_of(reading.decisive(best, meaning)))
