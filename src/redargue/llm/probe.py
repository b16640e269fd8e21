"""What an endpoint can do, found out by asking it: for ``redargue doctor``."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from redargue.backends.base import Sampling
from redargue.errors import RedargueError
from redargue.llm.capabilities import Form
from redargue.llm.client import Endpoint
from redargue.net.transport import Service, Transport
from redargue.runs.budget import Account

QUESTION = "Is water wet? Reply with one JSON object and nothing else: its only field is answer, which is yes or no."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


class Finding(NamedTuple):
    """One thing that was asked of an endpoint: what, whether it can, what came back."""

    ability: str
    able: bool
    found: str


async def probe(
    transport: Transport, service: Service, model: str, *, embedding_model: str = ""
) -> tuple[list[Finding], int]:
    """Asks an endpoint for everything that redargue may ask of it, and remembers what it found out.

    Args:
        transport: open.
        service: the endpoint.
        model: as the endpoint calls it.
        embedding_model: empty where there is none.

    Returns:
        The findings, the plain reply first, and how many requests were sent.

    Raises:
        RedargueError: not even a plain reply came.
    """
    account = Account()
    endpoint = Endpoint(transport, service, model, max_tokens=2048)
    endpoint.learn_anew()
    began = time.monotonic()
    (plain,) = await endpoint.complete(lambda form: _asked("Reply with the word yes."), account=account)
    seconds = time.monotonic() - began
    thinks = "; it thinks aloud" if plain.thoughts else ""
    findings = [
        Finding("reply", not plain.problem, f"{plain.problem or repr(plain.text[:40])} in {seconds:.1f} s{thinks}")
    ]
    best: Form = "text"
    for form, name in (("json", "JSON mode"), ("schema", "JSON schema")):
        finding = await _tried(name, lambda form=form: _in_json(endpoint, account, form))  # type: ignore[misc]
        findings.append(finding)
        best = form if finding.able else best  # type: ignore[assignment]
    endpoint.settle_on(best)
    findings.append(await _tried("tool calls", lambda: _called(endpoint, account)))
    findings.append(await _tried("three samples a request", lambda: _samples(endpoint, account)))
    findings.append(await _tried("log probabilities", lambda: _logprobs(endpoint, account)))
    findings.append(await _tried("streaming", lambda: _streamed(transport, service, model, account)))
    if embedding_model:
        vectors = Endpoint(transport, service, embedding_model)
        findings.append(await _tried("embeddings", lambda: _embedded(vectors, account)))
    refused = [name for name in endpoint.capabilities.refused if name not in ("n", "logprobs")]
    limit = endpoint.capabilities.limit or "no limit on a reply"
    findings.append(Finding("parameters", not refused, f"{limit}; refused: {', '.join(refused) or 'none'}"))
    return findings, account.requests


async def _tried(ability: str, ask: Callable[[], Awaitable[tuple[bool, str]]]) -> Finding:
    try:
        return Finding(ability, *await ask())
    except RedargueError as error:
        return Finding(ability, False, error.what[:200])


def _asked(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


async def _in_json(endpoint: Endpoint, account: Account, form: Form) -> tuple[bool, str]:
    (choice,) = await endpoint.complete(
        lambda _: _asked(QUESTION), account=account, schema=("Wetness", SCHEMA), form=form
    )
    try:
        valid = json.loads(choice.text).get("answer") in ("yes", "no")
    except (ValueError, AttributeError):
        valid = False
    return valid, "kept" if valid else f"taken, and not kept: {choice.problem or repr(choice.text[:60])}"


async def _called(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    offered = [{"name": "answer", "description": "Gives your answer.", "parameters": SCHEMA}]
    asked = lambda form: _asked("Is water wet? Call the function.")  # noqa: E731
    (choice,) = await endpoint.complete(asked, account=account, functions=offered)
    try:
        made = any(json.loads(each.arguments).get("answer") in ("yes", "no") for each in choice.calls)
    except (ValueError, AttributeError):
        made = False
    if not made:
        return False, f"taken, and none made: {choice.problem or repr(choice.verbatim[:60])}"
    return True, "made" if "tool_choice" not in endpoint.capabilities.refused else "made; not where they are required"


async def _samples(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    asked = lambda form: _asked("Name a colour.")  # noqa: E731
    await endpoint.complete(asked, account=account, sampling=Sampling(n=3, temperature=0.3))
    able = "n" not in endpoint.capabilities.refused
    return able, "given" if able else "not given; as many requests are sent instead"


async def _logprobs(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    (choice,) = await endpoint.complete(lambda form: _asked("Name a colour."), account=account, logprobs=True)
    if choice.entropy is None:
        return False, "not given"
    return True, f"given; mean entropy of a token {choice.entropy:.2f} nats"


async def _streamed(transport: Transport, service: Service, model: str, account: Account) -> tuple[bool, str]:
    endpoint = Endpoint(transport, service, model, max_tokens=64, stream=True)
    (choice,) = await endpoint.complete(lambda form: _asked("Reply with the word yes."), account=account)
    able = "stream" not in endpoint.capabilities.refused
    return able and not choice.problem, choice.problem or ("works" if able else "refused")


async def _embedded(endpoint: Endpoint, account: Account) -> tuple[bool, str]:
    vectors = await endpoint.embed(("water", "fire"), account=account)
    return True, f"{endpoint.model}: {len(vectors[0])} dimensions"
