"""Settings of Tool-MAD: the paper's, its ablations, and its open questions (``docs/tool-mad.md``)."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from redargue.backends import Stability
from redargue.methods.base import MethodSettings
from redargue.methods.setting_types import Word
from redargue.methods.tool_mad.tasks import Noncommittal, RelevanceQuestions, ScoreAnswer
from redargue.tasks.answer import LabelReading
from redargue.tasks.base import AnyTask
from redargue.tasks.score import (
    CheckStatements,
    CompareTexts,
    RateTexts,
    WriteQuestion,
    WriteQuestions,
    WriteStatements,
)
from redargue.verdicts import Metric

PAPER = {"profile": "paper", "faithfulness_threshold": 0.7, "relevance_threshold": 0.8}
TOOL_MAD_PROFILES: dict[str, dict[str, object]] = {
    "paper": PAPER,
    "hardened": {
        "keep_unchanged": True,
        "stable_by": "quotations",
        "scored_together": True,
        "first_query": "claim",
        "shared_reading": "once",
    },
    "pubmedqa": PAPER | {"debaters": ("corpus", "openalex"), "summarised": ("openalex",)},
    "acl": {"profile": "paper", "scoring": "label_only_stop", "judge_metric": "consistency"},
    "authors": PAPER  # the authors' program, with the paper's prompts
    | {
        "order": "sequential",
        "label_reading": "first_inside",
        "empty_equals_empty": True,
        "undefined_passes": True,
        "judge_sees_last_round": False,
        "judge_divisor": "three",
        "low_score_alert": "first",
        "unread_is_conflicting": True,
        "one_request": False,
    },
}
NO_TOOL = "none"
JUDGE, MODERATOR = "judge", "moderator"


class ToolMadSettings(MethodSettings):
    """Settings of ``tool-mad``; thresholds default to the backend's own, not the paper's.

    Attributes:
        debaters: one evidence tool per debater, or ``none`` (the paper's VANILLA); a tool may occur several times.
        names: of the debaters; empty for those of their tools.
        rounds: T, the most debate rounds.
        top_k: documents retrieved per query.
        faithfulness_threshold: lower bound, exclusive; None for the backend's own (the paper's is 0.7).
        relevance_threshold: lower bound, exclusive; None for the backend's own (the paper's is 0.8).
        summarised: tools whose queries are reduced to keywords and whose documents are read as summaries (PubMedQA,
            ``T26``); quotations are looked up in the documents themselves.
        query_formulation: whether agents write queries; otherwise the claim is the query in every round (Fig. 9).
        scoring: how "off" (Fig. 10) is understood (``T16``): ``label_only_stop`` ends on agreement whatever the
            scores; ``run_all_rounds`` ends before the last round only where that would repeat it (``keep_unchanged``).
        judge_scores: whether the judge is shown the scores (``T17``).
        judge_metric: the judge is shown the stability score, or the ACL version's consistency score, which gates
            nothing (``T24``).
        order: debaters answer concurrently (Eq. 6), or in turn, reading this round's earlier answers (``T5``).
        noncommittal: whether any or all of three questions make an answer noncommittal (:func:`.tasks.relevance`).
        one_request: three questions from one request (in the ``hardened`` profile in one reply), or from three.
        label_reading: the label on the last line, or the first of the set anywhere in an answer (``T11``); then an
            answer may have none.
        empty_equals_empty: whether answers without a label agree, as those are that cannot be read (``T12``).
        undefined_passes: whether an undefined score passes the gate, and leaves the judge without a mean (``T13``).
        judge_sees_last_round: whether the judge reads the last round, too, or all rounds but the last (``T4``).
        judge_divisor: the judge's scores are sums over the rounds, divided by the rounds scored or by three (``T3``).
        low_score_alert: who is warned that its score blocked a consensus: nobody, every debater whose score was too
            low, or the first of them (``T15``).
        must_revise: tools whose debaters' prompts state when a query has to change (``T34``).
        keep_unchanged: in the ``hardened`` profile, nothing is asked twice: a debater whose query, documents and
            opponents' answers have not changed keeps its answer, an identical question its reply, and once no debater
            changes, no further round is held. The judge reads the debate, and means of its scores, as if all rounds
            had been held. It assumes that a debater repeats itself where only its own last answer is new to it.
        stable_by: what makes an agreement stable: scores above their thresholds, or quotations that are found in each
            debater's documents and can carry the label. An agreement on not enough evidence is then stable once the
            debaters have searched again, and scores are computed only where nothing is quoted for an agreed answer
            that is on no side, and for the judge.
        scored_together: in the ``hardened`` profile, an answer's statements, their verdicts and the questions come from
            one call, which sees the claim and the label; otherwise from three.
        first_query: a model writes it, or it is the claim itself, if that is not too long for a query.
        shared_reading: whether debaters whose tools find the same passages in a round each answer from them, or one of
            them for all. With "once" a debater whose first query was the claim writes a query of its own before that.
        unread_is_conflicting: authors' AVeriTeC judge: an unreadable judgement gets the label for conflicting evidence
            (``T22``), and the judge is told that disagreement between debaters is not by itself such evidence
            (``T37``), as it always is in the ``hardened`` profile.
    """

    debaters: tuple[Word, ...] = Field(default=("corpus", "keywords"), min_length=2, max_length=8)
    names: tuple[Word, ...] = ()
    rounds: int = Field(default=3, ge=1, le=20)
    top_k: int = Field(default=3, ge=1, le=50)
    faithfulness_threshold: float | None = Field(default=None, ge=0, le=1)
    relevance_threshold: float | None = Field(default=None, ge=-1, le=1)
    query_formulation: bool = True
    scoring: Literal["on", "label_only_stop", "run_all_rounds"] = "on"
    judge_scores: bool = True
    judge_metric: Literal["stability", "consistency"] = "stability"
    order: Literal["simultaneous", "sequential"] = "simultaneous"
    noncommittal: Noncommittal = "any"
    one_request: bool = True
    label_reading: LabelReading = "last_line"
    empty_equals_empty: bool = False
    undefined_passes: bool = False
    judge_sees_last_round: bool = True
    judge_divisor: Literal["rounds", "three"] = "rounds"
    low_score_alert: Literal["off", "all", "first"] = "off"
    must_revise: tuple[Word, ...] = ()
    summarised: tuple[Word, ...] = ()
    unread_is_conflicting: bool = False
    keep_unchanged: bool = False
    stable_by: Literal["scores", "quotations"] = "scores"
    scored_together: bool = False
    first_query: Literal["model", "claim"] = "model"
    shared_reading: Literal["each", "once"] = "each"

    def limits(self, stability: Stability) -> dict[Metric, float]:
        """Thresholds by metric; a backend's own where none are set."""
        faithful, relevant = self.faithfulness_threshold, self.relevance_threshold
        return {
            Metric.FAITHFULNESS: stability.faithfulness if faithful is None else faithful,
            Metric.RELEVANCE: stability.relevance if relevant is None else relevant,
        }

    def metrics(self, *, has_documents: bool) -> tuple[Metric, ...]:
        """The metrics of a debater with documents or without (``T18``)."""
        if self.judge_metric == "consistency":
            return (Metric.CONSISTENCY,) if has_documents else ()
        return (Metric.FAITHFULNESS, Metric.RELEVANCE) if has_documents else (Metric.RELEVANCE,)

    @property
    def debater_names(self) -> tuple[str, ...]:
        return self.names or debater_names(self.debaters)

    @property
    def scoring_tasks(self) -> tuple[type[AnyTask], ...]:
        if self.scoring != "on" and not self.judge_scores:
            return ()
        if self.judge_metric == "consistency":
            return (RateTexts,)
        question = WriteQuestions if self.asked == "together" else WriteQuestion
        if self.scores_together:
            alone = (question,) if NO_TOOL in self.debaters else ()  # who has no documents has relevance only
            return (ScoreAnswer, *alone, CompareTexts)
        return (WriteStatements, CheckStatements, question, CompareTexts)

    @property
    def scores_together(self) -> bool:
        return self.scored_together and self.asked == "together"

    @property
    def asked(self) -> RelevanceQuestions:
        """How the three questions about an answer are asked for."""
        if not self.one_request:
            return "requests"
        return "together" if self.profile == "hardened" else "samples"

    @model_validator(mode="after")
    def _gate_has_thresholds(self) -> Self:
        if self.scoring == "on" and self.judge_metric == "consistency":
            raise ValueError("consistency has no threshold: it needs scoring=label_only_stop or run_all_rounds")
        if self.names and len({*self.names, JUDGE, MODERATOR}) != len(self.debaters) + 2:
            count, taken = len(self.debaters), f"none of them {JUDGE} or {MODERATOR}"
            raise ValueError(f"{count} debaters need as many names, all different, {taken}, not {self.names!r}")
        return self


def debater_names(tools: tuple[str, ...]) -> tuple[str, ...]:
    """Debaters are named after their tools, and numbered where several share one; without a tool: ``vanilla``."""
    names = ["vanilla" if tool == NO_TOOL else tool for tool in tools]
    return tuple(
        f"{name}-{names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    )
