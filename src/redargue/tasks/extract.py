"""Taking a text apart: which of its sentences are mere opinion, and which claims the others make.

Source: FacTool's claim extraction (under 15 words, no pronouns) and the removal of the subjective parts of a dialogue
(Sun et al. 2024; DPD's gatherer). A model is shown sentences by number and names the sentence that makes a claim: code
knows where sentences stand, so the offsets of claims are exact whatever a model writes.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, ValidationError

from redargue.claims import Claim, Frozen
from redargue.tasks.base import Profile, Task, json_schema, lines, max_length
from redargue.tasks.untrusted import wrap_untrusted

BLOCK = 20  # sentences of a task at most: what a reply can hold without being cut
LONGEST = 400  # characters of a claim


class SentenceMark(Frozen):
    """Whether a sentence is mere opinion."""

    sentence: int = Field(description="the number of the sentence")
    subjective: Literal[0, 1] = Field(description="1 if it states nothing but opinion, feeling or courtesy, 0 if not")


class SentenceMarks(Frozen):
    """One mark a sentence."""

    marks: tuple[SentenceMark, ...] = Field(
        description="one item a sentence, in their order", json_schema_extra={"maxItems": BLOCK}
    )


class ExtractedClaim(Frozen):
    """A claim that can be understood and checked without the text, and the sentence that makes it."""

    sentence: int = Field(description="the number of the sentence that makes the claim")
    claim: str = Field(description="the claim, understandable without the text", json_schema_extra=max_length(LONGEST))


class ExtractedClaims(Frozen):
    """The claims of a text, in its order; none where it states nothing that can be checked."""

    claims: tuple[ExtractedClaim, ...] = Field(
        description="the claims, in the order of their sentences", json_schema_extra={"maxItems": 3 * BLOCK}
    )


def numbered(sentences: tuple[str, ...], profile: Profile) -> str:
    """Sentences as they stand in a prompt: one a line, with its number."""
    shown = (f"[{number}] {' '.join(text.split())}" for number, text in enumerate(sentences, 1))
    return wrap_untrusted("\n".join(shown))


class MarkOpinions(Task[SentenceMarks]):
    """Tells which sentences of a dialogue are mere opinion (Sun et al. 2024, preprocessing of dialogues).

    Attributes:
        sentences: of what was said, in order.
        context: what was said before; may be empty.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("context", "sentences")

    sentences: tuple[str, ...]
    context: str = ""

    def instructions(self) -> str:
        """What to tell apart."""
        return lines(
            "These are the sentences of a reply in a conversation. For each of them say whether it is subjective: 1 if"
            " it holds nothing but opinion, feeling, taste, courtesy or a question, 0 if it states something about the"
            " world that can be checked, right or wrong.",
        )

    def output_format(self) -> str:
        """JSON."""
        return f"Reply with one JSON object that follows this schema: {json_schema(SentenceMarks)}"

    def input_text(self) -> str:
        """What was said before, and the sentences."""
        return lines(
            f"Said before: {wrap_untrusted(self.context)}" if self.context else None,
            f"Sentences: {numbered(self.sentences, self.profile)}",
        )

    def template_vars(self) -> dict[str, str]:
        """What was said before, and the sentences."""
        return {"context": wrap_untrusted(self.context), "sentences": numbered(self.sentences, self.profile)}

    def validate_answer(self, answer: SentenceMarks) -> SentenceMarks:
        """Wants every sentence marked once."""
        marked = sorted(each.sentence for each in answer.marks)
        if marked != list(range(1, len(self.sentences) + 1)):
            raise ValueError(f"marks: each of the sentences 1 to {len(self.sentences)} needs one mark, not {marked}")
        return answer


class ExtractClaims(Task[ExtractedClaims]):
    """Takes the claims out of a text (FacTool, claim extraction).

    Attributes:
        sentences: of the text, in order; the numbers of an answer count from 1.
        before: the sentences before them, which say what pronouns stand for; no claim is wanted from them.
        context: what the text answers or follows: a question, a dialogue; may be empty.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("context", "before", "sentences")

    sentences: tuple[str, ...]
    before: tuple[str, ...] = ()
    context: str = ""

    def instructions(self) -> str:
        """What a claim is."""
        return lines(
            "Extract every claim that the sentences make and that can be checked against evidence: one fact each, in"
            " fewer than 15 words where that is possible, in the order of the sentences, each with the number of the"
            " sentence that makes it.",
            "A claim must be understood without the text: put names in the place of pronouns, and say what and when is"
            " meant. Keep what the text says, also where it is wrong: correct nothing and add nothing.",
            "Leave out opinions, questions, advice, courtesies and what the text says about itself. A sentence may make"
            " several claims, or none.",
        )

    def output_format(self) -> str:
        """JSON."""
        return f"Reply with one JSON object that follows this schema: {json_schema(ExtractedClaims)}"

    def input_text(self) -> str:
        """What the text answers, what stands before, the sentences."""
        before = wrap_untrusted(" ".join(self.before)) if self.before else None
        return lines(
            f"The text answers or follows: {wrap_untrusted(self.context)}" if self.context else None,
            f"Before these sentences stands: {before}" if before else None,
            f"Sentences: {numbered(self.sentences, self.profile)}",
        )

    def template_vars(self) -> dict[str, str]:
        """What the text answers, what stands before, the sentences."""
        return {
            "context": wrap_untrusted(self.context),
            "before": wrap_untrusted(" ".join(self.before)),
            "sentences": numbered(self.sentences, self.profile),
        }

    def validate_answer(self, answer: ExtractedClaims) -> ExtractedClaims:
        """Wants sentences that are there, and claims that can be checked."""
        for each in answer.claims:
            if not 1 <= each.sentence <= len(self.sentences):
                raise ValueError(f"claims: there is no sentence {each.sentence}, only 1 to {len(self.sentences)}")
            try:
                Claim(text=each.claim)
            except ValidationError as error:
                raise ValueError(f"claims: {each.claim[:60]!r} is no claim: {error.errors()[0]['msg']}") from None
        return answer
