"""CFMAD: two agents argue for preset stances and rebut their critics, and a judge reads both threads.

Fang et al., "Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs" (arXiv 2406.11514).
For a question with options, the first stance is the option of a plain answer, and the second is drawn from the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from redargue.claims import Claim, Frozen, Meaning
from redargue.concurrency import gather_or_cancel
from redargue.errors import UsageError
from redargue.events import Judged, Spoke
from redargue.evidence import Passage
from redargue.methods.base import Roles, SearchSettings
from redargue.methods.baselines.evidence_pool import SEARCHER, EvidencePool, label_question
from redargue.tasks.answer import AnswerClaim, Argument, LabelledTask
from redargue.tasks.base import Task, lines
from redargue.tasks.sections import claim_section, documents, label_definitions, subject_vars
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict


def _stance_vars(claim: Claim, stance: str) -> dict[str, object]:
    """The stance as an option, and as what it says of the claim."""
    meaning = claim.labels.meaning(stance)
    truth = "true" if meaning is Meaning.SUPPORTED else "false"
    return {"stance": stance, "option": meaning is Meaning.OPTION, "truth": truth}


class _StanceInputs(Frozen):
    """Fields that precede those of :class:`Task`: their order is part of the fingerprints in records."""

    claim: Claim
    stance: str
    passages: tuple[Passage, ...] = ()


class _StanceTask(Task[Argument], _StanceInputs):
    """A task of a stance's speaker or critic."""

    def template_vars(self) -> Mapping[str, object]:
        return {
            "claim": claim_section(self.claim, self.profile),
            "evidence": documents(self.passages, self.profile),
            **_stance_vars(self.claim, self.stance),
        }

    def parse_plain(self, text: str) -> Argument | None:
        plain = text.strip()
        return Argument(text=plain) if plain and not plain.startswith("{") else None


class ArgueStance(_StanceTask):
    """Why the preset stance is right."""


class CriticiseStance(_StanceTask):
    """Why the argument for a stance may be wrong."""

    argument: str

    def template_vars(self) -> Mapping[str, object]:
        opposite = {Meaning.SUPPORTED: "false", Meaning.REFUTED: "true"}
        return {
            **super().template_vars(),
            "argument": wrap_untrusted(self.argument),
            "opposite": opposite.get(self.claim.labels.meaning(self.stance), ""),
        }


class RebutCritic(_StanceTask):
    """The defence of a stance against its critic."""

    argument: str
    criticism: str
    asked: str  # the label in the opening question; the stance, except with ``asks_why_true``

    def template_vars(self) -> Mapping[str, object]:
        return {
            **super().template_vars(),
            **_stance_vars(self.claim, self.asked),
            "argument": wrap_untrusted(self.argument),
            "criticism": wrap_untrusted(self.criticism),
        }


class Thread(Frozen):
    """What was said for a stance, against it, and in its defence."""

    stance: str
    argument: str
    criticism: str
    rebuttal: str


class JudgeStances(LabelledTask):
    """Which stance is right, after both threads."""

    passages: tuple[Passage, ...] = ()
    threads: tuple[Thread, ...] = ()

    @property
    def defines_labels(self) -> bool:
        """Whether the prompt defines the labels; ``label_question`` does so in both profiles."""
        return True

    def _threads(self) -> str:
        sides = {Meaning.SUPPORTED: "Positive side", Meaning.REFUTED: "Negative side"}
        meaning = self.claim.labels.meaning
        names = (sides.get(meaning(thread.stance), f"Option {thread.stance}") for thread in self.threads)
        return "\n".join(
            lines(
                f"{name}: {wrap_untrusted(thread.argument)}",
                f"Critic: {wrap_untrusted(thread.criticism)}",
                f"{name}: {wrap_untrusted(thread.rebuttal)}",
            )
            for name, thread in zip(names, self.threads, strict=True)
        )

    def template_vars(self) -> Mapping[str, object]:
        return {
            **subject_vars(self.claim.labels),
            "label_definitions": label_definitions(self.claim.labels),
            "claim": claim_section(self.claim, self.profile),
            "evidence": documents(self.passages, self.profile),
            "label_question": label_question(self.claim.labels),
            "threads": self._threads(),
        }


class AnswerOption(AnswerClaim):
    """A plain answer to a question with options; the chosen option becomes the first stance."""


_SIDES = ("positive", "negative")
_FIRST_READER, JUDGE = "first-reader", "judge"


class CfmadSettings(SearchSettings):
    """Settings of ``cfmad``; all agents read the same evidence, which the paper takes from the data set."""

    # the negative thread's critic and rebuttal see the first prompt instead of the reply to it (``CFMAD-1``)
    prompt_for_reply: bool = False
    # the negative thread's rebuttal is asked first why the claim is true (``CFMAD-2``)
    asks_why_true: bool = False
    temperature: float = Field(default=0.0, ge=0, le=2)  # of all replies; the authors' later scripts use 0.2


class Cfmad(EvidencePool, name="cfmad", settings=CfmadSettings):
    """Two preset stances, each with a critic and a rebuttal, then one judge (2406.11514)."""

    profiles = {
        "paper": {},
        "authors": {"profile": "paper", "prompt_for_reply": True, "asks_why_true": True},
        "hardened": {},
    }
    paper = (
        "Fang et al., Counterfactual Debating with Preset Stances for Hallucination Elimination of LLMs, 2025,"
        " arXiv 2406.11514"
    )
    graph = "search -> (stance -> critic -> rebuttal | stance -> critic -> rebuttal) -> judge"
    asks = (AnswerOption, ArgueStance, CriticiseStance, RebutCritic, JudgeStances)

    settings: CfmadSettings

    async def check(self, claim: Claim) -> Verdict:
        self.require_stances()
        await self.fill_pool(self.settings.top_k)
        stances = await self.preset_stances()
        if not stances:
            return self.verdict(None, reason="No option was given as the first answer.", decided_by=JUDGE)
        threads = await gather_or_cancel(self.argue(side, stance) for side, stance in zip(_SIDES, stances, strict=True))
        return await self.judge(threads)

    def require_stances(self) -> None:
        """Raises UsageError if the label set has neither two sides nor options, or the claim fewer than two options."""
        if Meaning.OPTION not in {label.meaning for label in self.claim.labels.labels}:
            self.two_sides()
        elif len(self.claim.options) < 2:
            raise UsageError(
                f"a debate needs two options, and the claim has {len(self.claim.options)}",
                hint="give it at least two",
            )

    async def preset_stances(self) -> tuple[str, ...]:
        """Returns the labels of the stances; for options, empty if the plain answer gives none."""
        labels = self.claim.labels
        supported, refuted = labels.named(Meaning.SUPPORTED), labels.named(Meaning.REFUTED)
        if supported and refuted:
            return supported, refuted
        answer = await self.ask(self.agents[_FIRST_READER], AnswerOption, passages=self.passages)
        self.answered(_FIRST_READER, answer, passages=self.passages)
        options = labels.names[: len(self.claim.options)]
        if answer.label not in options:
            return ()
        others = [name for name in options if name != answer.label]
        return answer.label, self.rng("cfmad", self.claim.text).choice(others)

    async def argue(self, side: str, stance: str) -> Thread:
        fields = {"stance": stance, "passages": self.passages}
        opening = self.task(ArgueStance, **fields)
        argument = (await self.speak(side, opening, 1, stance)).text
        shown, asked = argument, stance
        if self.claim.labels.meaning(stance) is Meaning.REFUTED:
            if self.settings.prompt_for_reply:
                shown = opening.prompt_text()
            if self.settings.asks_why_true:
                asked = self.side_label(supported=True)
        critic = self.task(CriticiseStance, **fields, argument=shown)
        criticism = (await self.speak(f"{side}-critic", critic, 2, None)).text
        defence = self.task(RebutCritic, **fields, argument=shown, criticism=criticism, asked=asked)
        rebuttal = (await self.speak(side, defence, 3, stance)).text
        return Thread(stance=stance, argument=argument, criticism=criticism, rebuttal=rebuttal)

    async def speak(self, agent: str, task: Task[Argument], round_: int, stance: str | None) -> Argument:
        """Performs a task; its quotations are evidence for ``stance``, a critic's (None) for neither side."""
        argument = await self.agents[agent].perform(task, round_=round_, temperature=self.settings.temperature)
        self.cite(argument.quotes, label=stance, agent=agent, passages=self.passages)
        self.run.emit(Spoke(agent=agent, round=round_, text=argument.text))
        return argument

    async def judge(self, threads: list[Thread]) -> Verdict:
        judge = self.agents[JUDGE]
        answer = await self.ask(judge, JudgeStances, passages=self.passages, threads=tuple(threads))
        self.cite(answer.quotes, label=answer.label, agent=JUDGE, passages=self.passages)
        self.run.emit(Judged(text=answer.text, label=answer.label))
        return self.verdict_of(answer, decided_by=JUDGE, rounds=3)

    @classmethod
    def roles_for(cls, settings: CfmadSettings) -> Roles:
        speakers = [name for side in _SIDES for name in (side, f"{side}-critic")]
        return {SEARCHER: settings.tools} | dict.fromkeys([_FIRST_READER, *speakers, JUDGE])
