"""Documents in prompts are counted as ``python -m benchmarks relay --documents`` says."""

from __future__ import annotations

from benchmarks.shown_documents import Shown, shown

from redargue.claims import Claim
from redargue.evidence import Passage
from redargue.tasks.answer import AnswerClaim

CLAIM = Claim(text="The light was lit in 1871.")


def test_documents_of_a_prompt_are_counted_with_their_copies_and_cuts() -> None:
    one = Passage(text="The light was lit in 1871. It burned", title="Lights", url="https://a.example")
    inside = Passage(text="The light was lit in 1871.", title="Lights", url="https://b.example")
    cut = Passage(text="Rape oil … was burned.", title="Oil", url="https://c.example")
    documents = list(zip("abc", (one, inside, cut), strict=True))
    prompt = AnswerClaim(claim=CLAIM, passages=(one, inside, cut)).rendered().input_text
    counts = shown([prompt, "no documents"])
    assert counts._replace(characters=0) == Shown(1, 3, repeated=1, copies=1, cut=1, unmarked=1)
    assert counts.characters == sum(len(f"{name}.example: {each.title}\n{each.text}") for name, each in documents)
