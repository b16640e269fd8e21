"""Arguments that the embedded reader composes: the sentences that show a side, and what they say of the claim."""

from __future__ import annotations

from redargue.claims import Meaning
from redargue.nli.backend import CORRECT, INCORRECT, OPEN, cite, quotes_of
from redargue.nli.reader import SHOWN, Reading
from redargue.tasks.answer import Argument

QUOTES = 2  # an argument gives at most


def write_argument(claim: str, meaning: Meaning, reading: Reading) -> Argument:
    """The best sentences for the claim (``Meaning.SUPPORTED``) or against it, and what follows from them."""
    best = reading.best(meaning, QUOTES) if reading.strongest(meaning) > SHOWN else ()
    opening = (CORRECT if meaning is Meaning.SUPPORTED else INCORRECT) if best else OPEN
    text = "\n".join([*map(cite, best), opening + " ".join(claim.split())])
    return Argument(text=text, quotes=quotes_of(best))
