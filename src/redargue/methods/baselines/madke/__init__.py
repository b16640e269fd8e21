"""MADKE: debaters choose evidence from one pool in every round; a judge of consistency, then a summariser.

Wang et al., "Apollo's Oracle: Retrieval-Augmented Reasoning in Multi-Agent Debates" (arXiv 2312.04854). The pool is
fixed before the debate. Agents have no chat: each round shows an agent its own last answer and the others'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from redargue.claims import Claim, Frozen, LabelSet
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply
from redargue.events import Judged, Spoke
from redargue.evidence import Passage
from redargue.methods.base import MethodSettings, Roles
from redargue.methods.baselines.evidence_pool import SEARCHER, EvidencePool
from redargue.methods.setting_types import Word
from redargue.nli.backend import EmbeddedBackend, perform
from redargue.tasks import answer as answer_task
from redargue.tasks.answer import Answer, AnswerClaim, LabelledTask
from redargue.tasks.base import AnyTask, Profile, Task, lines, text_field
from redargue.tasks.query import OtherAnswer
from redargue.tasks.sections import claim_section, document, label_definitions, subject_vars
from redargue.tasks.template import read_examples, with_json_replies, with_labels
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

MOST_PIECES = 3
LARGEST_POOL = 50
BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def bracketed(text: str, labels: LabelSet) -> str | None:
    """The label in the last square brackets; None without brackets, or if they hold something else."""
    contents = BRACKETS.findall(text)
    return labels.single(contents[-1]) if contents else None


def bracketed_names(labels: LabelSet) -> str:
    return ", ".join(f"[{name}]" for name in labels.names)


def numbered(passages: tuple[Passage, ...], profile: Profile) -> str:
    if profile == "paper":
        shown = (" - ".join(passage.text.splitlines()) for passage in passages)
        return "\n".join(f"[{number}] {text}" for number, text in enumerate(shown, 1))
    return "\n".join(document((passage,), number) for number, passage in enumerate(passages, 1))


def answers(replies: tuple[OtherAnswer, ...]) -> str:
    return "\n".join(f"({answer.agent}) {wrap_untrusted(answer.text)}" for answer in replies)


class EvidencePiece(Frozen):
    """A piece of evidence, by its number in the pool."""

    number: int = Field(ge=1, le=LARGEST_POOL, description="the number of a piece of evidence")


class Selection(Frozen):
    """The pieces that help most, if any."""

    pieces: tuple[EvidencePiece, ...] = Field(
        description="the most helpful pieces of evidence, at most 3; none if none helps",
        json_schema_extra={"maxItems": MOST_PIECES},
    )


class SelectEvidence(Task[Selection]):
    """Which pieces of a pool help to answer."""

    claim: Claim
    pool: tuple[Passage, ...]
    own: str = ""

    def parse_plain(self, text: str) -> Selection | None:
        """The numbers in brackets, from the last one back; none where the reply says so."""
        contents = BRACKETS.findall(text)
        if not contents:
            return None
        if "no found" in (content.strip().lower() for content in contents):
            return Selection(pieces=())
        numbers = [int(content) for content in reversed(contents) if content.strip().isdecimal()]
        pieces = (EvidencePiece(number=number) for number in numbers if 1 <= number <= len(self.pool))
        return Selection(pieces=tuple(pieces))

    def validate_answer(self, answer: Selection) -> Selection:
        pieces = dict.fromkeys(piece for piece in answer.pieces if piece.number <= len(self.pool))
        return Selection(pieces=tuple(pieces)[:MOST_PIECES])

    def template_vars(self) -> Mapping[str, object]:
        return {
            **subject_vars(self.claim.labels),
            "most": MOST_PIECES,
            "claim": claim_section(self.claim, self.profile),
            "pool": numbered(self.pool, self.profile),
            "own": wrap_untrusted(self.own),
        }


class Consistency(Frozen):
    """Whether answers say the same."""

    reason: str = text_field("what each agent's answer is", 600, default="")
    consistent: Literal["yes", "no"] = Field(description="yes if all agents give the same answer")


class JudgeConsistency(Task[Consistency]):
    """Whether all agents of a round gave one answer."""

    claim: Claim
    answers: tuple[OtherAnswer, ...]

    def parse_plain(self, text: str) -> Consistency | None:
        """The last of [Yes] and [No]: those before it may be answers that the judge repeats (``MADKE-6``)."""
        contents = [content.strip().lower() for content in BRACKETS.findall(text)]
        last = next((word for word in reversed(contents) if word in ("yes", "no")), None)
        return Consistency.model_validate({"reason": text.strip(), "consistent": last}) if last else None

    def template_vars(self) -> Mapping[str, object]:
        return {"claim": claim_section(self.claim, self.profile), "answers": answers(self.answers)}


class _AnswersInBrackets:
    """How a worked example ends in a plain reply. A plain class without fields, so it goes first."""

    def plain_example(self, reply: answer_task.ReasonedReply | answer_task.AnswerReply) -> str:
        return f"Let us think step by step. {reply.reasoning} So the answer is [{reply.label}]."


class SummariseAnswers(_AnswersInBrackets, LabelledTask):
    """One answer from those of all agents."""

    answer_fields: ClassVar[tuple[answer_task.Piece, ...]] = ("reasoning", "label")
    marks: ClassVar[tuple[str, str]] = ("[", "]")

    answers: tuple[OtherAnswer, ...]
    swapped: bool = False  # exchanges question and answers, as in the authors' program
    example: str = ""

    @property
    def defines_labels(self) -> bool:
        """The agents' answers end in labels, which are not judged anew."""
        return self.profile == "hardened"

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> Mapping[str, object]:
        texts = claim_section(self.claim, self.profile), answers(self.answers)
        claim, replies = reversed(texts) if self.swapped else texts
        return {
            "claim": claim,
            "answers": replies,
            "demonstrations": _demonstrations(self.example, self.profile),
            "labels": bracketed_names(self.claim.labels),
        }


class AnswerWithKnowledge(_AnswersInBrackets, AnswerClaim):
    """An answer from the chosen evidence; from the second round on also from the others' and its own last answer."""

    own: str = ""
    examples: str = ""

    @property
    def defines_labels(self) -> bool:
        return self.profile == "hardened"

    @property
    def lenient(self) -> bool:
        return True

    def label_of(self, text: str) -> str | None:
        return bracketed(text, self.claim.labels)

    def template_vars(self) -> Mapping[str, object]:
        labels = self.claim.labels
        rules = (f"If {label.description or 'this option is right'}, answer [{label.name}]." for label in labels.labels)
        return {
            **subject_vars(labels),
            "claim": claim_section(self.claim, self.profile),
            "labels": bracketed_names(labels),
            "label_rules": "\n".join(rules),
            "label_definitions": label_definitions(labels),
            "evidence": numbered(self.passages, self.profile),
            "others": answers(self.others),
            "own": wrap_untrusted(self.own),
            "demonstrations": _demonstrations(self.examples, self.profile),
        }


def _demonstrations(examples: str, profile: Profile) -> str:
    """The examples, hardened with replies in the form that is asked for."""
    return examples if profile == "paper" else with_json_replies(examples, _read_example, before="\nAnswer: ")


_EXAMPLE = re.compile(r"(?:Let us think step by step\. )?(.+?)(?: So the (?:final )?answer is)? \[(.+)\]\.?")


def _read_example(reply: str) -> answer_task.ReasonedReply | None:
    match = _EXAMPLE.fullmatch(reply.strip())
    return answer_task.ReasonedReply(reasoning=match[1], label=match[2]) if match else None


JUDGE, SUMMARISER = "judge", "summariser"
Pieces = Annotated[int, Field(ge=1, le=50)]


class MadkeSettings(MethodSettings):
    """Settings of ``madke``."""

    # sources of the pool, in its order; the paper's are Wikipedia and Google (``wikipedia,google``)
    tools: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=1, max_length=8)
    # passages per tool, by default as in the paper; the last number holds for all further tools
    pieces: tuple[Pieces, ...] = Field(default=(10, 5), min_length=1, max_length=8)
    agents: int = Field(default=2, ge=1, le=10)
    max_rounds: int = Field(default=3, ge=1, le=10)  # after which the answers are summarised, consistent or not
    selecting: bool = True  # each agent chooses from the pool in each round; off, it sees all of it
    # an agent sees the answers given before its own in the same round; off, all answer concurrently
    sequential: bool = True
    swapped: bool = False  # exchanges question and answers in the summariser's prompt (``MADKE-1``)
    temperature: float = Field(default=0.5, ge=0, le=2)


class Madke(EvidencePool, name="madke", settings=MadkeSettings):
    """Debaters that choose from one pool of evidence, summarised once they agree (2312.04854)."""

    profiles = {"paper": {}, "authors": {"profile": "paper", "swapped": True}, "hardened": {}}
    paper = "Wang et al., Apollo's Oracle: Retrieval-Augmented Reasoning in Multi-Agent Debates, 2023, arXiv 2312.04854"
    graph = (
        "search -> ((agent-1 selects | agent-2 selects) -> agent-1 answers -> agent-2 answers -> judge) x1-3"
        " -> summariser"
    )
    few_shot = True

    settings: MadkeSettings

    async def check(self, claim: Claim) -> Verdict:
        self.last: dict[str, Answer] = {}
        self.examples = with_labels(read_examples(__package__), claim.labels)
        await self.fill_pool(*self.settings.pieces)
        self.passages = self.passages[:LARGEST_POOL]
        for round_ in range(1, self.settings.max_rounds + 1):
            await self.hold_round(round_)
            if await self.is_consistent(round_):
                break
        return await self.summarise()

    async def hold_round(self, round_: int) -> None:
        """All choose evidence concurrently, because the choice depends on no other answer; then they answer."""
        chosen = await gather_or_cancel(self.select(agent, round_) for agent in self.debaters)
        turns = list(zip(self.debaters, chosen, strict=True))
        if self.settings.sequential:
            for agent, passages in turns:
                self.last[agent] = await self.take_turn(agent, round_, passages)
        else:
            answers = await gather_or_cancel(self.take_turn(agent, round_, passages) for agent, passages in turns)
            self.last = dict(zip(self.debaters, answers, strict=True))

    async def select(self, agent: str, round_: int) -> tuple[Passage, ...]:
        """At most three pieces of the pool; none where the agent chooses none or its reply cannot be read."""
        if not self.settings.selecting or not self.passages:
            return self.passages
        shown = {"pool": self.passages, "own": self.last_text(agent)}
        selection = await self.try_to_ask(self.agents[agent], SelectEvidence, round_=round_, **shown)
        return tuple(self.passages[piece.number - 1] for piece in selection.pieces) if selection else ()

    def last_text(self, agent: str) -> str:
        return self.last[agent].text if agent in self.last else ""

    async def take_turn(self, agent: str, round_: int, passages: tuple[Passage, ...]) -> Answer:
        own = self.last_text(agent)
        others = self.latest_answers(but=agent) if own else ()
        shown = {"passages": passages, "others": others, "own": own, "examples": self.examples}
        answer = await self.ask(self.agents[agent], AnswerWithKnowledge, round_=round_, **shown)
        self.answered(agent, answer, round_=round_, passages=passages)
        return answer

    def latest_answers(self, *, but: str = "") -> tuple[OtherAnswer, ...]:
        return tuple(
            OtherAnswer(agent=agent, text=self.last[agent].text)
            for agent in self.debaters
            if agent != but and agent in self.last
        )

    async def is_consistent(self, round_: int) -> bool:
        """Asks the judge whether the answers agree; an unreadable reply means no (``MADKE-3``)."""
        judge, answers = self.agents[JUDGE], self.latest_answers()
        try:
            ruling = await self.ask(judge, JudgeConsistency, round_=round_, answers=answers)
            consistent, reason = ruling.consistent == "yes", ruling.reason
        except BadReply as error:
            consistent, reason = False, error.what
        self.run.emit(Spoke(agent=JUDGE, round=round_, text=reason))
        why = "the judge finds the answers consistent" if consistent else "the judge finds that they differ"
        labels = tuple(self.last[agent].label for agent in self.debaters)
        self.end_round(round_, labels, accepted=consistent, why=why)
        return consistent

    async def summarise(self) -> Verdict:
        """The summariser's answer; an unreadable one gives no label (``MADKE-5``)."""
        example = with_labels(read_examples(__package__, "summary"), self.claim.labels)
        shown: dict[str, Any] = {"answers": self.latest_answers(), "swapped": self.settings.swapped}
        try:
            answer = await self.ask(self.agents[SUMMARISER], SummariseAnswers, example=example, **shown)
        except BadReply as error:
            answer = Answer(text=error.raw, label=None)
        self.run.emit(Judged(text=answer.text, label=answer.label))
        return self.verdict_of(answer, decided_by=SUMMARISER, rounds=len(self.labels), round_labels=self.labels)

    @classmethod
    def roles_for(cls, settings: MadkeSettings) -> Roles:
        return {SEARCHER: settings.tools} | dict.fromkeys([*cls.debaters_for(settings), JUDGE, SUMMARISER])

    @classmethod
    def asks_for(cls, settings: MadkeSettings) -> tuple[type[AnyTask], ...]:
        choosing: tuple[type[AnyTask], ...] = (SelectEvidence,) if settings.selecting else ()
        return (*choosing, AnswerWithKnowledge, JudgeConsistency, SummariseAnswers)


@perform.register
def _select(task: SelectEvidence, backend: EmbeddedBackend) -> Selection:
    relevant = backend.entailment.relevance(
        [(task.claim.text, lines(passage.title, passage.text)) for passage in task.pool]
    )
    # Rounded, so that the order of nearly equal passages does not depend on the machine.
    order = sorted(range(len(task.pool)), key=lambda place: -round(float(relevant[place]), 6))
    return Selection(pieces=tuple(EvidencePiece(number=place + 1) for place in order[:MOST_PIECES]))


@perform.register
def _judge_consistency(task: JudgeConsistency, backend: EmbeddedBackend) -> Consistency:
    labels = [task.claim.labels.parse(answer.text) for answer in task.answers]
    same = None not in labels and len(set(labels)) == 1
    return Consistency(reason=", ".join(label or "no label" for label in labels), consistent="yes" if same else "no")


@perform.register
def _sum_up(task: SummariseAnswers, backend: EmbeddedBackend) -> Answer:
    """The answer whose label most agents give; on ties the first."""
    labels = [task.claim.labels.parse(answer.text) for answer in task.answers]
    votes = [label for label in labels if label is not None]
    if not votes:
        return Answer(text="No agent gives a label.", label=None)
    label = max(dict.fromkeys(votes), key=votes.count)
    return Answer(text=task.answers[labels.index(label)].text, label=label)
