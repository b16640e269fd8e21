# mypy: ignore-errors
"""ragas' own scores of cases, run by a Python that has ragas; ``benchmarks ragas`` starts it.

Cases come as JSON on standard input, scores go as JSON to standard output. ragas writes the prompts, reads the replies
and computes the scores; only the language model and the embedder are stand-ins, which reply as the case says. Start it
with ``-I``: this folder holds a ``ragas.py`` and a ``statistics.py`` of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import sys
import warnings
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import ragas  # noqa: E402
from langchain_core.outputs import Generation, LLMResult  # noqa: E402
from ragas.dataset_schema import SingleTurnSample  # noqa: E402
from ragas.embeddings.base import BaseRagasEmbeddings  # noqa: E402
from ragas.llms.base import BaseRagasLLM  # noqa: E402
from ragas.metrics import Faithfulness, ResponseRelevancy  # noqa: E402

BEFORE, AFTER = "Now perform the same with the following input\ninput: ", "\nOutput: "


class Mind(BaseRagasLLM):
    """Replies to each of ragas' prompts as the case says, and keeps the inputs it was given."""

    def __init__(self, case: dict[str, Any]) -> None:
        super().__init__()
        self.case, self.inputs = case, []
        self.questions = iter(case["questions"])

    def reply(self, given: dict[str, Any]) -> dict[str, Any]:
        """The scripted reply to the prompt with this input; a repair prompt has none of these and fails."""
        if set(given) == {"question", "answer"}:
            return {"statements": self.case["statements"]}
        if set(given) == {"context", "statements"}:
            verdicts = self.case["verdicts"]
            return {"statements": [{"statement": text, "reason": "", "verdict": said} for text, said in verdicts]}
        if set(given) == {"response"}:
            text, noncommittal = next(self.questions)
            return {"question": text, "noncommittal": noncommittal}
        raise ValueError(f"no reply is scripted for a prompt with the input {given!r}")

    async def agenerate_text(self, prompt, n=1, temperature=None, stop=None, callbacks=None) -> LLMResult:
        """``n`` replies to one prompt."""
        given = json.loads(prompt.to_string().rpartition(BEFORE)[2].removesuffix(AFTER))
        self.inputs.append(given)
        return LLMResult(generations=[[Generation(text=json.dumps(self.reply(given))) for _ in range(n)]])

    def generate_text(self, prompt, n=1, temperature=None, stop=None, callbacks=None) -> LLMResult:
        """Not used: ragas scores asynchronously."""
        raise NotImplementedError

    def is_finished(self, response: LLMResult) -> bool:
        """Every reply is whole."""
        return True


class Vectors(BaseRagasEmbeddings):
    """The case's vectors."""

    def __init__(self, case: dict[str, Any]) -> None:
        super().__init__()
        self.vectors = case["vectors"]

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.vectors[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of several."""
        return [self.vectors[text] for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of several."""
        return self.embed_documents(texts)


async def score(case: dict[str, Any]) -> dict[str, Any]:
    """Both scores of a case, null where ragas gives NaN, and the inputs of the prompts."""
    sample = SingleTurnSample(user_input=case["question"], response=case["answer"], retrieved_contexts=case["contexts"])
    mind = Mind(case)
    metrics = {
        "faithfulness": Faithfulness(llm=mind),
        "relevance": ResponseRelevancy(llm=mind, embeddings=Vectors(case)),
    }
    values = {name: float(await metric.single_turn_ascore(sample)) for name, metric in metrics.items()}
    return {name: None if math.isnan(value) else value for name, value in values.items()} | {"inputs": mind.inputs}


async def main() -> None:
    """Reads cases, writes ``{"version", "scores"}``."""
    scores = [await score(case) for case in json.load(sys.stdin)]
    json.dump({"version": ragas.__version__, "scores": scores}, sys.stdout)


asyncio.run(main())
