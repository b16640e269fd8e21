"""HaluEval's detector: after examples of each kind of hallucination a model says Yes (hallucinated) or No.

Li et al., "HaluEval" (EMNLP 2023, arXiv 2305.11747), as ``evaluation/evaluate.py`` has it: the question, dialogue or
document is the claim's context, the text that is judged is the claim, and the knowledge behind it is withheld.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen, Meaning
from redargue.errors import BadReply
from redargue.events import Answered
from redargue.evidence import Passage
from redargue.protocols.base import Behaviour, Plan, methods, require_sides
from redargue.protocols.baselines.finding import search_all
from redargue.protocols.demonstrating import demonstrations
from redargue.protocols.quoting import gaps
from redargue.run import Run
from redargue.tasks.answering import Answer, LabelledTask, Piece, documents
from redargue.tasks.base import AnyTask, Profile, lines
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

DETECTOR = "detector"
Kind = Literal["qa", "dialogue", "summarization"]
Reading = Literal["words", "substrings"]


class Names(NamedTuple):
    """What a kind calls the text that is judged, and what stands before it."""

    judged: str
    before: str


NAMES: dict[Kind, Names] = {
    "qa": Names("Answer", "Question"),
    "dialogue": Names("Response", "Dialogue History"),
    "summarization": Names("Summary", "Document"),
}


class DetectHallucination(LabelledTask):
    """Whether a text holds what is made up or wrong: Yes or No.

    Attributes:
        kind: of text.
        demonstrations: the kinds of hallucination, each with examples.
        knowledge: shown before the text; None where it is withheld.
        reading: whether Yes and No are looked for as words or, as the authors do, as any letters of that case.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("demonstrations", "knowledge", "context", "claim")
    answer_fields: ClassVar[tuple[Piece, ...]] = ("label",)

    kind: Kind = "qa"
    demonstrations: str = ""
    knowledge: tuple[Passage, ...] | None = None
    reading: Reading = "words"

    def system(self) -> str:
        """The detector's part."""
        judged = NAMES[self.kind].judged.lower()
        return (
            f"You detect hallucinations: you say whether the {judged} that you are given holds information that is made"
            ' up or wrong, "Yes" or "No".'
        )

    def instructions(self) -> str:
        """What to judge, and the examples."""
        judged, before = (name.lower() for name in NAMES[self.kind])
        return lines(
            f"Given the {before} and the {judged}, find out whether the {judged} holds information that is made up or"
            " wrong, by what you know of the world.",
            "Go by the kinds of hallucination that follow." if self.demonstrations else None,
        )

    def worked_examples(self) -> str:
        return f"\n{self.demonstrations}\n" if self.demonstrations else ""

    def output_format(self) -> str:
        """One of two words."""
        judged = NAMES[self.kind].judged.lower()
        return f'Does the {judged} hold information that is made up or wrong? Your judgement must be "Yes" or "No".\n'

    def input_text(self) -> str:
        """Knowledge where it is shown, what stands before, the text."""
        judged, before = NAMES[self.kind]
        return lines(
            f"#Knowledge#: {self._knowledge()}" if self.knowledge is not None else None,
            f"#{before}#: {wrap_untrusted(self.claim.context)}" if self.claim.context else None,
            f"#{judged}#: {wrap_untrusted(self.claim.text, inline=True)}",
            "#Your Judgement#:",
        )

    def template_vars(self) -> dict[str, str]:
        """Examples, knowledge, what stands before, the text."""
        return {
            "demonstrations": self.demonstrations,
            "knowledge": self._knowledge(),
            "context": wrap_untrusted(self.claim.context),
            "claim": wrap_untrusted(self.claim.text, inline=True),
        }

    def _knowledge(self) -> str:
        return documents(self.knowledge or (), self.profile) if self.knowledge is not None else ""

    def choice(self) -> dict[str, str]:
        """Yes and No, whatever the claim's labels are called."""
        return {"Yes": "it holds something made up or wrong", "No": "it does not"}

    def chosen(self, word: str) -> str | None:
        """Yes is what is refuted."""
        meanings = {"yes": Meaning.REFUTED, "no": Meaning.SUPPORTED}
        meaning = meanings.get(word.strip(" .").lower())
        return self.claim.labels.named(meaning) if meaning else None

    def label_of(self, text: str) -> str | None:
        """Of the one word that stands there; None of both or neither."""
        if self.reading == "substrings":
            found = {word for word in ("Yes", "No") if word in text.replace(".", "")}
        else:
            found = {word.lower() for word in re.findall(r"\b(?:yes|no)\b", text, re.IGNORECASE)}
        return self.chosen(found.pop()) if len(found) == 1 else None

    @property
    def lenient(self) -> bool:
        """The authors ask once."""
        return self.reading == "substrings"


class HaluEvalSettings(Frozen):
    """Settings of ``halueval-few-shot``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        kind: of text; the claim's context is the question, the dialogue or the document.
        shots: whether examples are shown.
        knowledge: whether what the tools find for the claim is shown; the paper withholds it, and shows it in one
            experiment (§4.3).
        tools: where knowledge comes from.
        top_k: documents a search.
        reading: of a plain reply: Yes and No as words, or as any letters.
        temperature: of sampling.
    """

    profile: Profile = "hardened"
    kind: Kind = "qa"
    shots: bool = True
    knowledge: bool = False
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    reading: Reading = "words"
    temperature: float = Field(default=0.0, ge=0, le=2)


@methods.register("halueval-few-shot")
class HaluEvalFewShot:
    """One judgement, Yes or No.

    The embedded backend cannot play it: without knowledge it has nothing to read, and it learns from no examples.
    """

    name: ClassVar[str] = "halueval-few-shot"
    about: ClassVar[str] = "the model says whether a text is hallucinated, after examples of each kind (2305.11747)"
    options: ClassVar[type[Frozen]] = HaluEvalSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "reading": "substrings"},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Li, Cheng, Zhao, Nie, Wen: HaluEval: A Large-Scale Hallucination Evaluation Benchmark for Large Language"
        " Models, 2023, arXiv 2305.11747"
    )
    graph: ClassVar[str] = "judgement"
    demonstrations: ClassVar[bool] = True
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="HALU-1",
            original='Yes and No are looked for as letters, in that case: "Not sure", "None", "Nobody" hold a No',
            effect='evasive replies count as No, which is right for half of the texts; "yes" counts as a failure',
            here="as words, in any case",
            setting="reading=substrings",
        ),
        Behaviour(
            id="HALU-2",
            original="a reply with both words or neither is a failure, counted wrong, and not asked for again",
            effect="lowers the accuracy of models that explain themselves",
            here="asked for once more, then no label",
            setting="reading=substrings",
        ),
        Behaviour(
            id="HALU-3",
            original="a coin decides which text of a pair, the right one or the hallucinated, is judged",
            effect="no two runs judge the same texts, and the published ones are not known",
            here="the data set gives both, each as a claim",
        ),
        Behaviour(
            id="HALU-4",
            original="for davinci the document is cut, word by word, until a summary's prompt has 2,033 tokens",
            effect="davinci judges summaries of documents that it did not see whole",
            here="nothing is cut",
        ),
    )

    def __init__(self, settings: HaluEvalSettings) -> None:
        self.settings = settings

    def tools(self) -> tuple[str, ...]:
        """None where knowledge is withheld."""
        return tuple(dict.fromkeys(self.settings.tools)) if self.settings.knowledge else ()

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """One judgement."""
        return (DetectHallucination,)

    def agents(self) -> tuple[str, ...]:
        """The detector."""
        return (DETECTOR,)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same."""
        searches = dict.fromkeys(self.tools(), 1)
        plan = Plan(
            calls={"DetectHallucination": 1}, searches=searches, call_depth=1, search_depth=min(1, len(searches))
        )
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Judges; a reply that says both or neither is no label.

        Raises:
            UsageError: the label set does not say what is factual and what is not.
        """
        require_sides(claim.labels, "a judgement of Yes or No")
        settings = self.settings
        task = DetectHallucination(
            claim=claim,
            kind=settings.kind,
            demonstrations=demonstrations(f"{self.name}-{settings.kind}") if settings.shots else "",
            knowledge=await self._knowledge(claim, run) if settings.knowledge else None,
            reading=settings.reading,
            profile=settings.profile,
        )
        try:
            answer = await Agent(DETECTOR, run).perform(task, round_=1, temperature=settings.temperature)
        except BadReply as error:
            answer = Answer(text=error.raw, label=None)
        run.emit(Answered(agent=DETECTOR, round=1, text=answer.text, label=answer.label))
        return Verdict(
            claim=claim,
            label=answer.label,
            decided_by="reader",
            rounds=1,
            reason=answer.text,
            gaps=gaps(run.events),
        )

    async def _knowledge(self, claim: Claim, run: Run) -> tuple[Passage, ...]:
        top_k = self.settings.top_k
        return await search_all(run, self.tools(), claim.text, top_k, agent=DETECTOR, round_=1, claim=claim)
