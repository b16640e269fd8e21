"""HaluEval's prompt: after examples of each kind of hallucination, Yes (hallucinated) or No."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Literal

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.tasks.answer import LabelledTask, Piece, documents
from redargue.tasks.untrusted import wrap_untrusted

HaluevalTask = Literal["qa", "dialogue", "summarization"]
ReplyReading = Literal["words", "substrings"]


NAMES: dict[HaluevalTask, tuple[str, str]] = {  # of the judged text, and of the text before it
    "qa": ("Answer", "Question"),
    "dialogue": ("Response", "Dialogue History"),
    "summarization": ("Summary", "Document"),
}


class DetectHallucination(LabelledTask):
    """Whether a text holds anything made up or wrong: Yes or No."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    kind: HaluevalTask = "qa"
    demonstrations: str = ""
    knowledge: tuple[Passage, ...] | None = None
    reading: ReplyReading = "words"  # looks for Yes and No as words or, as the authors do, as any letters of that case

    def template_vars(self) -> Mapping[str, object]:
        judged, before = NAMES[self.kind]
        return {
            "judged": judged.lower(),
            "judged_heading": judged,
            "before": before.lower(),
            "before_heading": before,
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
