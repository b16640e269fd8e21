"""HaluEval's detector: after examples of each kind of hallucination a model says Yes (hallucinated) or No.

Li et al., "HaluEval" (EMNLP 2023, arXiv 2305.11747), as in ``evaluation/evaluate.py``: the question, dialogue or
document is the claim's context, the text to be judged is the claim, and the knowledge behind it is withheld.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from redargue.claims import Meaning
from redargue.evidence import Passage
from redargue.methods.agent import Agent
from redargue.methods.base import Roles, SearchSettings
from redargue.methods.baselines.factuality import ClosedBook
from redargue.tasks.answer import Answer, LabelledTask, Piece
from redargue.tasks.sections import documents
from redargue.tasks.template import read_examples
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
            "knowledge": "" if self.knowledge is None else documents(self.knowledge, self.profile),
            "context": wrap_untrusted(self.claim.context),
            "claim": wrap_untrusted(self.claim.text, inline=True),
        }

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


class HaluEvalSettings(SearchSettings):
    """Settings of ``halueval-few-shot``; ``tools`` are the sources of ``knowledge``."""

    kind: HaluevalTask = "qa"  # of text; the claim's context is the question, the dialogue or the document
    shots: bool = True  # shows examples
    # shows what the tools find for the claim; the paper withholds it, and shows it in one experiment (§4.3)
    knowledge: bool = False
    reading: ReplyReading = "words"  # of a plain reply: Yes and No as words, or as any letters
    temperature: float = Field(default=0.0, ge=0, le=2)


class HaluEvalFewShot(ClosedBook, name="halueval-few-shot", settings=HaluEvalSettings):
    """The model says whether a text is hallucinated, after examples of each kind (2305.11747).

    The small models cannot perform it: they cannot learn from examples, and without knowledge have nothing to read.
    """

    profiles = {"paper": {}, "authors": {"profile": "paper", "reading": "substrings"}, "hardened": {}}
    paper = (
        "Li, Cheng, Zhao, Nie, Wen: HaluEval: A Large-Scale Hallucination Evaluation Benchmark for Large Language"
        " Models, 2023, arXiv 2305.11747"
    )
    graph = "judgement"
    few_shot = True
    asks = (DetectHallucination,)

    async def answer(self, agent: Agent) -> Answer:
        self.two_sides()
        settings: HaluEvalSettings = self.settings
        knowledge = await agent.search(self.claim.text, settings.top_k, round_=1) if settings.knowledge else None
        examples = read_examples(__package__, settings.kind) if settings.shots else ""
        asked = {"kind": settings.kind, "knowledge": knowledge, "reading": settings.reading}
        return await self.ask(agent, DetectHallucination, round_=1, demonstrations=examples, **asked)

    @classmethod
    def roles_for(cls, settings: HaluEvalSettings) -> Roles:
        return {"detector": settings.tools if settings.knowledge else None}
