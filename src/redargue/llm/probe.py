"""Probes what an endpoint supports, for ``redargue doctor``."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable
from typing import Any, NamedTuple

from redargue.backends.base import Sampling
from redargue.errors import RedargueError
from redargue.llm.client import Capabilities, Endpoint, Form
from redargue.llm.response import Choice
from redargue.net.transport import Service, Transport
from redargue.runs.budget import Account

QUESTION = "Is water wet? Reply with one JSON object and nothing else: its only field is answer, which is yes or no."
_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


class ProbeFinding(NamedTuple):
    """The result of one probe."""

    capability: str
    supported: bool
    detail: str


async def probe(
    transport: Transport, service: Service, model: str, embedding_model: str
) -> tuple[list[ProbeFinding], int]:
    """Probes an endpoint and stores its capabilities; returns findings and the number of requests sent."""
    account, where = Account(), (transport, service, model)
    endpoint = Endpoint(*where, max_tokens=2048)
    endpoint.remember(**Capabilities().model_dump())  # the endpoint may have changed
    began = time.monotonic()
    plain = await _ask(endpoint, account, "Reply with the word yes.")
    seconds = time.monotonic() - began
    thinks = "; it thinks aloud" if plain.thoughts else ""
    reply = f"{plain.problem or repr(plain.text[:40])} in {seconds:.1f} s{thinks}"
    json_mode = await _try("JSON mode", _in_json(endpoint, account, "json"))
    json_schema = await _try("JSON schema", _in_json(endpoint, account, "schema"))
    weaker: Form = "json" if json_mode.supported else "text"
    endpoint.remember(form="schema" if json_schema.supported else weaker)
    findings = [
        ProbeFinding("reply", not plain.problem, reply),
        json_mode,
        json_schema,
        await _try("tool calls", _call(endpoint, account)),
        await _try("three samples per request", _samples(endpoint, account)),
        await _try("log probabilities", _logprobs(endpoint, account)),
        await _try("streaming", _stream(Endpoint(*where, max_tokens=64, stream=True), account)),
    ]
    if embedding_model:
        vectors = Endpoint(transport, service, embedding_model)
        findings.append(await _try("embeddings", _embed(vectors, account)))
    refused = [name for name in endpoint.capabilities.refused if name not in ("n", "logprobs")]
    limit = endpoint.capabilities.limit or "no limit on a reply"
    refusals = f"{limit}; refused: {', '.join(refused) or 'none'}"
    return [*findings, ProbeFinding("parameters", not refused, refusals)], account.requests


async def _try(capability: str, answer: Awaitable[tuple[bool, str]]) -> ProbeFinding:
    try:
        return ProbeFinding(capability, *await answer)
    except RedargueError as error:
        return ProbeFinding(capability, False, error.what[:200])


async def _ask(endpoint: Endpoint, account: Account, question: str, **options: Any) -> Choice:
    messages = [{"role": "user", "content": question}]
    return (await endpoint.complete(messages, account=account, **options))[0]


def _answers(text: str) -> bool:
    try:
        return json.loads(text).get("answer") in ("yes", "no")
    except (ValueError, AttributeError):
        return False


async def _in_json(endpoint: Endpoint, account: Account, form: Form) -> tuple[bool, str]:
    choice = await _ask(endpoint, account, QUESTION, schema=("Wetness", _SCHEMA), form=form)
    if _answers(choice.text):
        return True, "followed"
    return False, f"accepted, but not followed: {choice.problem or repr(choice.text[:60])}"


async def _call(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    functions = [{"name": "answer", "description": "Gives your answer.", "parameters": _SCHEMA}]
    choice = await _ask(endpoint, account, "Is water wet? Call the function.", functions=functions)
    if not any(_answers(call.arguments) for call in choice.calls):
        return False, f"accepted, but no call made: {choice.problem or repr(choice.verbatim[:60])}"
    required = "tool_choice" not in endpoint.capabilities.refused
    return True, "works" if required else "works, but cannot be required"


async def _samples(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    await _ask(endpoint, account, "Name a colour.", sampling=Sampling(n=3, temperature=0.3))
    supported = "n" not in endpoint.capabilities.refused
    return supported, "works" if supported else "not supported; one request is sent per sample"


async def _logprobs(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    choice = await _ask(endpoint, account, "Name a colour.", logprobs=True)
    if choice.entropy is None:
        return False, "not supported"
    return True, f"works; mean entropy of a token {choice.entropy:.2f} nats"


async def _stream(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    choice = await _ask(endpoint, account, "Reply with the word yes.")
    supported = "stream" not in endpoint.capabilities.refused
    return supported and not choice.problem, choice.problem or ("works" if supported else "refused")


async def _embed(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    vectors = await endpoint.embed(("water", "fire"), account=account)
    return True, f"{endpoint.model}: {len(vectors[0])} dimensions"
