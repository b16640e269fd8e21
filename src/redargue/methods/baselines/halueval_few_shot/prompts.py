"""HaluEval's prompt: after examples of each kind of hallucination, Yes (hallucinated) or No."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.tasks.answer import LabelledTask, Piece, documents
from redargue.tasks.base import lines
from redargue.tasks.untrusted import wrap_untrusted

Kind = Literal["qa", "dialogue", "summarization"]
Reading = Literal["words", "substrings"]


NAMES: dict[Kind, tuple[str, str]] = {  # of the judged text, and of the text before it
    "qa": ("Answer", "Question"),
    "dialogue": ("Response", "Dialogue History"),
    "summarization": ("Summary", "Document"),
}


class DetectHallucination(LabelledTask):
    """Whether a text holds anything made up or wrong: Yes or No."""

    template_var_names: ClassVar[tuple[str, ...]] = ("demonstrations", "knowledge", "context", "claim")
    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    kind: Kind = "qa"
    demonstrations: str = ""
    knowledge: tuple[Passage, ...] | None = None
    reading: Reading = "words"  # looks for Yes and No as words or, as the authors do, as any letters of that case

    @property
    def system(self) -> str:
        judged = NAMES[self.kind][0].lower()
        return (
            f"You detect hallucinations: you say whether the {judged} that you are given contains information that is"
            ' made up or wrong, "Yes" or "No".'
        )

    @property
    def instructions(self) -> str:
        judged, before = (name.lower() for name in NAMES[self.kind])
        return lines(
            f"Given the {before} and the {judged}, find out whether the {judged} contains information that is made up"
            " or wrong, by what you know of the world.",
            "The kinds of hallucination to look for follow, with examples." if self.demonstrations else None,
        )

    @property
    def worked_examples(self) -> str:
        return f"\n{self.demonstrations}\n" if self.demonstrations else ""

    @property
    def output_format(self) -> str:
        judged = NAMES[self.kind][0].lower()
        return (
            f'Does the {judged} contain information that is made up or wrong? Your judgement must be "Yes" or "No".\n'
        )

    def input_text(self) -> str:
        judged, before = NAMES[self.kind]
        return lines(
            f"#Knowledge#: {self._knowledge()}" if self.knowledge is not None else None,
            f"#{before}#: {wrap_untrusted(self.claim.context)}" if self.claim.context else None,
            f"#{judged}#: {wrap_untrusted(self.claim.text, inline=True)}",
            "#Your Judgement#:",
        )

    def template_vars(self) -> dict[str, str]:
        return {
            "demonstrations": self.demonstrations,
            "knowledge": self._knowledge(),
            "context": wrap_untrusted(self.claim.context),
            "claim": wrap_untrusted(self.claim.text, inline=True),
        }

    def _knowledge(self) -> str:
        return documents(self.knowledge or (), self.profile) if self.knowledge is not None else ""

    def choice(self) -> dict[str, str]:
        return {"Yes": "it holds something made up or wrong", "No": "it does not"}

    def chosen(self, word: str) -> str | None:
        """Yes means refuted."""
        meanings = {"yes": Meaning.REFUTED, "no": Meaning.SUPPORTED}
        meaning = meanings.get(word.strip(" .").lower())
        return self.claim.labels.named(meaning) if meaning else None

    def label_of(self, text: str) -> str | None:
        """The one word that occurs; None for both or neither."""
        if self.reading == "substrings":
            answers = {word for word in ("Yes", "No") if word in text.replace(".", "")}
        else:
            answers = {word.lower() for word in re.findall(r"\b(?:yes|no)\b", text, re.IGNORECASE)}
        return self.chosen(answers.pop()) if len(answers) == 1 else None

    @property
    def lenient(self) -> bool:
        """The authors ask once."""
        return self.reading == "substrings"
