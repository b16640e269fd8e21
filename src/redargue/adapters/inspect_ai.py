"""Inspect AI: the scorer ``redargue/grounded`` and the solver ``redargue/verify_claims``."""

from __future__ import annotations

from inspect_ai.model import ChatMessageTool, ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from redargue.adapters.grounding import Grounding, check_answer, failed, problem_lines, revision_request
from redargue.adapters.promptfoo import contexts_in
from redargue.errors import UsageError
from redargue.text.verification import TextOptions

_METADATA = "redargue"  # of a sample: what the solver found


@scorer(metrics=[mean(), stderr()])
def grounded(contexts: str = "", method: str = "", timeout_s: float | None = None) -> Scorer:
    """Scores the share of an answer's claims that its contexts support, in [0, 1].

    A sample that cannot be checked (no context, no claim, another language, a failure) is unscored, with its reason.

    Args:
        contexts: name of the sample's metadata with the documents; by default ``contexts``, ``context`` and
            ``documents``, and without them the results of its tools.
        method: of the verification; by default that of :func:`redargue.ground`.
        timeout_s: seconds after which a sample is unscored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        grounding = await _checked(state, contexts, method, timeout_s)
        details: dict[str, object] = {
            "answer": state.output.completion,
            "explanation": grounding.explanation,
            "metadata": _metadata(grounding),
        }
        if grounding.share is None:
            return Score.unscored(reason=str(grounding.reason), **details)
        return Score(value=grounding.share, **details)

    return score


@solver
def verify_claims(contexts: str = "", method: str = "", revisions: int = 0, timeout_s: float | None = None) -> Solver:
    """Checks the claims of the model's answer, and lets it revise an answer that is not supported.

    The outcome is in the sample's metadata (``redargue``), whatever it is.

    Args:
        contexts: as for :func:`grounded`.
        method: of the verification; by default that of :func:`redargue.ground`.
        revisions: how often the model may revise its answer.
        timeout_s: seconds after which an answer counts as unchecked.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for revision in range(revisions + 1):
            grounding = await _checked(state, contexts, method, timeout_s)
            state.metadata[_METADATA] = {**_metadata(grounding), "revisions": revision}
            report = grounding.report if not grounding.reason else None
            if not report or not problem_lines(report) or revision == revisions:
                break
            state.messages.append(ChatMessageUser(content=revision_request(report)))
            state = await generate(state)
        return state

    return solve


async def _checked(state: TaskState, contexts: str, method: str, timeout_s: float | None) -> Grounding:
    try:
        documents = contexts_in(state.metadata, contexts)
    except UsageError as error:
        return failed(error)
    if not documents and not contexts:
        documents = [message.text for message in state.messages if isinstance(message, ChatMessageTool)]
    options: TextOptions = {"method": method} if method else {}
    return await check_answer(state.output.completion, documents, timeout_s=timeout_s, **options)


def _metadata(grounding: Grounding) -> dict[str, object]:
    report = grounding.report
    return {
        **grounding.model_dump(mode="json", exclude={"report", "explanation"}),
        "problems": problem_lines(report) if report else [],
        "usage": report.usage.model_dump(mode="json") if report else None,
    }
