"""The embedded backend's roles in a dual-position debate: each team collects the best evidence for its own view.

Referees weigh evidence (how strongly what was quoted speaks for its team), consistency (that it does not speak for the
other) and independence (how many sources say so). Nothing is generated, so that language is always neutral.
"""

from __future__ import annotations

from redargue.methods.dual_position.small_models import write_argument
from redargue.methods.markov_debate.prompts import GiveOpinion, Opinion
from redargue.nli.backend import EmbeddedBackend, play

LEANING = 0.1  # of a probability: what an agent that trusts or doubts grants its side


@play.register
def _opine(task: GiveOpinion, mind: EmbeddedBackend) -> Opinion:
    """What the evidence says; trust and doubt each need less for their own side, the leader as much for both.

    The form has no place for an open claim: one that nothing speaks for or against has an opinion and no quotations.
    """
    reading = mind.reader.read(task.claim.text, task.passages)
    supports, refutes, _ = reading.probabilities()
    leaning = {"trust": LEANING, "skeptic": -LEANING}.get(task.part, 0.0)
    factual = supports + leaning >= refutes
    said = write_argument(task.claim.text, "affirmative" if factual else "negative", reading)
    severity = 0 if factual else min(5, 1 + int(refutes * 5))
    return Opinion(opinion=said.text, factuality=factual, severity=severity, quotes=said.quotes)
