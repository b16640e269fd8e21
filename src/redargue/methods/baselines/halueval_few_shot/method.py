"""HaluEval's detector: after examples of each kind of hallucination a model says Yes (hallucinated) or No.

Li et al., "HaluEval" (EMNLP 2023, arXiv 2305.11747), as in ``evaluation/evaluate.py``: the question, dialogue or
document is the claim's context, the text to be judged is the claim, and the knowledge behind it is withheld.
"""

from __future__ import annotations

from pydantic import Field

from redargue.claims import Claim
from redargue.errors import BadReply
from redargue.methods.agent import Agent
from redargue.methods.base import CostPlan, CostRange, Method, MethodSettings, Roles
from redargue.methods.baselines.halueval_few_shot.prompts import DetectHallucination, Kind, Reading
from redargue.methods.few_shot import read_examples
from redargue.tasks.answer import Answer
from redargue.verdicts import Verdict

DETECTOR = "detector"


class HaluEvalSettings(MethodSettings):
    """Settings of ``halueval-few-shot``.

    Attributes:
        kind: of text; the claim's context is the question, the dialogue or the document.
        shots: shows examples.
        knowledge: shows what the tools find for the claim; the paper withholds it, and shows it in one experiment
            (§4.3).
        tools: sources of that knowledge.
        reading: of a plain reply: Yes and No as words, or as any letters.
    """

    kind: Kind = "qa"
    shots: bool = True
    knowledge: bool = False
    tools: tuple[str, ...] = Field(default=("corpus",), min_length=1, max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    reading: Reading = "words"
    temperature: float = Field(default=0.0, ge=0, le=2)


class HaluEvalFewShot(Method, name="halueval-few-shot", settings=HaluEvalSettings):
    """The model says whether a text is hallucinated, after examples of each kind (2305.11747).

    The small models cannot play it: they cannot learn from examples, and without knowledge have nothing to read.
    """

    profiles = {
        "paper": {"profile": "paper"},
        "authors": {"profile": "paper", "reading": "substrings"},
        "hardened": {},
    }
    paper = (
        "Li, Cheng, Zhao, Nie, Wen: HaluEval: A Large-Scale Hallucination Evaluation Benchmark for Large Language"
        " Models, 2023, arXiv 2305.11747"
    )
    graph = "judgement"
    few_shot = True
    asks = (DetectHallucination,)

    settings: HaluEvalSettings

    async def check(self, claim: Claim, detector: Agent) -> Verdict:
        self.two_sides()
        settings = self.settings
        knowledge = await detector.search(claim.text, settings.top_k, round_=1) if settings.knowledge else None
        task = DetectHallucination(
            claim=claim,
            kind=settings.kind,
            demonstrations=read_examples(__package__, settings.kind) if settings.shots else "",
            knowledge=knowledge,
            reading=settings.reading,
            profile=settings.profile,
        )
        try:
            answer = await detector.perform(task, round_=1, temperature=settings.temperature)
        except BadReply as error:
            answer = Answer(text=error.raw, label=None)
        self.answered(DETECTOR, answer.model_copy(update={"quotes": ()}), round_=1)
        return self.verdict(answer.label, reason=answer.text, decided_by="reader", rounds=1)

    @classmethod
    def roles_for(cls, settings: HaluEvalSettings) -> Roles:
        return {DETECTOR: settings.tools if settings.knowledge else None}

    @classmethod
    def plan_for(cls, settings: HaluEvalSettings) -> CostRange:
        searches = dict.fromkeys(settings.tools, 1) if settings.knowledge else {}
        plan = CostPlan(
            calls={"DetectHallucination": 1}, searches=searches, call_depth=1, search_depth=min(1, len(searches))
        )
        return CostRange(plan, plan, plan)
