"""Multi-agent debate: equal agents answer, read the others' answers, answer again; the most frequent answer stands.

Du et al., "Improving Factuality and Reasoning in Language Models through Multiagent Debate" (arXiv 2305.14325), with
the prompts' structure of its program for multiple choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from redargue.agents.agent import Agent
from redargue.claims import Claim, Frozen
from redargue.concurrency import together
from redargue.errors import BadReply
from redargue.events import RoundEnded
from redargue.evidence import Passage, Quote
from redargue.protocols.base import Behaviour, Plan, methods
from redargue.protocols.baselines.sharing import EqualAgents, most_frequent, pool, tell
from redargue.protocols.quoting import distinct, gaps
from redargue.run import Run
from redargue.tasks.answering import STYLE_IS_NO_EVIDENCE, Answer, AnswerClaim, LabelledTask, Piece, claim_lines
from redargue.tasks.base import FORMAT_LAST, AnyTask, Exchange, Profile, PromptPart, lines
from redargue.tasks.moderating import OnEvidence, evidence_line, label_question
from redargue.tasks.querying import OtherAnswer
from redargue.tasks.untrusted import wrap_untrusted
from redargue.verdicts import Verdict

LAST_LINE = "Put your final answer, the label alone and in bold, on the last line of your reply."


class SolveWithOthers(LabelledTask):
    """An agent's answer: its own first, then one that takes the other agents' last answers as advice.

    Attributes:
        before: the agent's chat so far.
        solutions: what the other agents answered last; with none in a later round it checks its own once more.
    """

    template_var_names: ClassVar[tuple[str, ...]] = ("claim", "labels", "evidence", "solutions")
    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "label")

    before: tuple[Exchange, ...] = ()
    solutions: tuple[OtherAnswer, ...] = ()

    @property
    def lenient(self) -> bool:
        """The others read the whole reply, with or without a label."""
        return True

    def instructions(self) -> str:
        return ""

    def hardened_rules(self) -> str:
        return STYLE_IS_NO_EVIDENCE

    def quote_source(self) -> str:
        return "the evidence" if isinstance(self, OnEvidence) else ""

    def output_format(self) -> str:
        """The label on the last line."""
        return LAST_LINE

    def chat_history(self) -> tuple[Exchange, ...]:
        """The agent's chat."""
        return self.before

    def input_text(self) -> str:
        """The claim with the question; later the others' answers, and what to do with them."""
        if not self.before:
            return lines(
                "Answer the following question as accurately as you can, and explain your answer.",
                claim_lines(self.claim),
                evidence_line(self),
                label_question(self.claim.labels),
            )
        if not self.solutions:
            return "Check once more that your answer is correct."
        return lines(
            "These are the other agents' answers to the question:",
            self._solutions(),
            "Take their reasoning as further advice: go through your own answer and theirs step by step, and give an"
            " updated answer.",
        )

    def layout(self) -> tuple[PromptPart, ...]:
        return FORMAT_LAST

    def template_vars(self) -> dict[str, str]:
        """Claim, question, evidence, the others' answers."""
        return {
            "claim": claim_lines(self.claim).removeprefix("Claim: "),
            "labels": label_question(self.claim.labels),
            "evidence": (evidence_line(self) or "").removeprefix("Evidence: "),
            "solutions": self._solutions(),
        }

    def _solutions(self) -> str:
        """Each between fences, without its writer's name."""
        mark = "```" if self.profile == "paper" else ""  # the paper's own fence
        return "\n".join(f"One agent's answer: {mark}{wrap_untrusted(each.text)}{mark}" for each in self.solutions)


class SolveWithOthersOnEvidence(OnEvidence, SolveWithOthers, AnswerClaim):
    """The answer of an agent that sees evidence."""

    answer_fields: ClassVar[tuple[Piece, ...]] = ("reasoning", "quotes", "label")


class MultiAgentDebateSettings(Frozen):
    """Settings of ``multi-agent-debate``.

    Attributes:
        profile: ``paper`` or ``hardened``.
        tools: each is asked once, and all agents are shown what was found; without any nobody has evidence, as
            published.
        top_k: documents a search.
        agents: that debate; with one alone it checks its own answer.
        rounds: answers that each gives.
        simultaneous: each reads the others' answers of the last round; off, they answer one after the other, and each
            reads what those before it answered in the same round.
        temperature: of all replies; the paper leaves it at the endpoint's own, which is 1.
    """

    profile: Profile = "hardened"
    tools: tuple[str, ...] = Field(default=("corpus",), max_length=8)
    top_k: int = Field(default=3, ge=1, le=50)
    agents: int = Field(default=3, ge=1, le=15)
    rounds: int = Field(default=2, ge=1, le=10)
    simultaneous: bool = True
    temperature: float = Field(default=1.0, ge=0, le=2)


@methods.register("multi-agent-debate")
class MultiAgentDebate(EqualAgents):
    """Equal agents, a fixed number of rounds, a vote.

    Without tools the embedded backend cannot play it: it knows nothing but what it reads.
    """

    name: ClassVar[str] = "multi-agent-debate"
    about: ClassVar[str] = "equal agents that read one another's answers, then the most frequent one (2305.14325)"
    options: ClassVar[type[Frozen]] = MultiAgentDebateSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"profile": "paper", "tools": ()},
        "hardened": {},
    }
    paper: ClassVar[str] = (
        "Du et al., Improving Factuality and Reasoning in Language Models through Multiagent Debate, 2023,"
        " arXiv 2305.14325"
    )
    graph: ClassVar[str] = "(agent-1 | agent-2 | agent-3) x2 -> vote"
    behaviours: ClassVar[tuple[Behaviour, ...]] = (
        Behaviour(
            id="DU-1",
            original="its evaluation counts a question as right where the last agent's answer cannot be read",
            effect="published accuracy is too high by as many questions",
            here="an answer without a label has no vote; without any vote there is no label",
        ),
        Behaviour(
            id="DU-2",
            original="of answers that are equally frequent the first agent's counts",
            effect="with three agents of three opinions the first one decides",
            here="the same",
        ),
        Behaviour(
            id="DU-3",
            original="where no letter in brackets is found, the last number in a reply is its answer",
            effect="votes for what is no option",
            here="only labels of the set are answers",
        ),
    )

    def __init__(self, settings: MultiAgentDebateSettings) -> None:
        self.settings = settings

    def tasks(self) -> tuple[type[AnyTask], ...]:
        """Answers: on evidence, or without."""
        return (SolveWithOthersOnEvidence if self.settings.tools else SolveWithOthers,)

    def plan(self) -> tuple[Plan, Plan, Plan]:
        """Always the same."""
        chosen, (task,) = self.settings, self.tasks()
        plan = Plan(
            calls={task.name(): chosen.agents * chosen.rounds},
            searches=dict.fromkeys(self.tools(), 1),
            asked_by={task.name(): self.debaters()},
            call_depth=1 + (chosen.rounds - 1) * (1 if chosen.simultaneous else chosen.agents),
            search_depth=int(bool(chosen.tools)),
        )
        return plan, plan, plan

    async def verify(self, claim: Claim, run: Run) -> Verdict:
        """Rounds, then the vote.

        Raises:
            BadReply: no agent's last reply can be read.
        """
        return await _Debate(self.settings, self.debaters(), claim, run).hold()


class _Turn(NamedTuple):
    """What an agent answered, and its chat with that answer in it."""

    answer: Answer
    chat: tuple[Exchange, ...]


class _Debate:
    """One claim's debate."""

    def __init__(self, settings: MultiAgentDebateSettings, debaters: Sequence[str], claim: Claim, run: Run) -> None:
        self.settings, self.debaters, self.claim, self.run = settings, debaters, claim, run
        self.passages: tuple[Passage, ...] = ()
        self.turns: dict[str, _Turn] = {}  # each agent's last one that could be read
        self.quotes: list[Quote] = []
        self.labels: list[tuple[str | None, ...]] = []

    async def hold(self) -> Verdict:
        """Evidence, if any; rounds; the vote."""
        chosen = self.settings
        self.passages = await pool(self.claim, self.run, chosen.tools, (chosen.top_k,))
        for round_ in range(1, chosen.rounds + 1):
            self.labels.append(await self._round(round_))
        label = most_frequent(self.labels[-1])
        reason = next((turn.answer.text for turn in self.turns.values() if turn.answer.label == label), "")
        return Verdict(
            claim=self.claim,
            label=label,
            decided_by="vote",
            rounds=chosen.rounds,
            round_labels=tuple(self.labels),
            reason=reason if label else "",
            quotes=distinct(self.quotes),
            gaps=gaps(self.run.events),
        )

    async def _round(self, round_: int) -> tuple[str | None, ...]:
        """All agents at once over the last answers, or from the second round on one after the other."""
        new: dict[str, _Turn | BadReply] = {}
        if self.settings.simultaneous or round_ == 1:
            said = await together([self._turn(agent, round_) for agent in self.debaters])
            new = dict(zip(self.debaters, said, strict=True))
            self._keep(new)
        else:
            for agent in self.debaters:
                new[agent] = await self._turn(agent, round_)
                self._keep(new)
        failed = [each for each in new.values() if isinstance(each, BadReply)]
        if len(failed) == len(new):
            raise failed[0]
        labels = tuple(each.answer.label if isinstance(each, _Turn) else None for each in new.values())
        votes = ", ".join(f"{agent}: {label or 'no label'}" for agent, label in zip(new, labels, strict=True))
        agreed = None not in labels and len(set(labels)) == 1
        last = round_ == self.settings.rounds
        self.run.emit(RoundEnded(round=round_, labels=labels, agreed=agreed, accepted=last, why=(votes,)))
        return labels

    def _keep(self, new: Mapping[str, _Turn | BadReply]) -> None:
        self.turns |= {agent: turn for agent, turn in new.items() if isinstance(turn, _Turn)}

    async def _turn(self, agent: str, round_: int) -> _Turn | BadReply:
        """An agent's answer; one that cannot be read has no vote, and nobody sees it."""
        chat = self.turns[agent].chat if agent in self.turns else ()
        others = tuple(
            OtherAnswer(agent=other, text=self.turns[other].answer.text)
            for other in self.debaters
            if other != agent and other in self.turns
        )
        given: dict[str, Any] = {
            "claim": self.claim,
            "before": chat,
            "solutions": others if chat else (),
            "profile": self.settings.profile,
        }
        task = (
            SolveWithOthersOnEvidence(**given, passages=self.passages)
            if self.settings.tools
            else SolveWithOthers(**given)
        )
        try:
            (output,) = await Agent(agent, self.run).ask(task, round_=round_, temperature=self.settings.temperature)
        except BadReply as error:
            return error
        answer = output.answer
        self.quotes += tell(
            self.claim, self.run, agent, round_, answer.text, answer.label, answer.quotes, self.passages
        )
        return _Turn(answer, (*chat, task.exchange(output.text)))
