"""An OpenAI-compatible endpoint: what it can do is found out by asking, and remembered.

Servers differ in what they take (temperature, max_tokens, n, response_format, …). A parameter that is refused by name
is left out from then on; an unasked-for default never stands in for an answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redargue.backends.base import Sampling
from redargue.concurrency import together
from redargue.errors import BadReply, ProviderError, UsageError
from redargue.llm.capabilities import (
    FOLLOWERS,
    FORMS,
    LIMITS,
    OPTIONAL,
    Capabilities,
    Form,
    Memory,
    about_form,
    names_in,
    refuses_tools,
)
from redargue.llm.response import Choice, error_message, read_response, read_stream
from redargue.net.transport import Answer, Service, Transport
from redargue.paths import home
from redargue.runs.budget import Account
from redargue.runs.prices import Prices
from redargue.tasks.base import EXACTLY_ONE

MESSAGE_OVERHEAD = 16  # tokens that a chat template adds to a message, at most

Message = Mapping[str, str]
Function = Mapping[str, Any]  # its name, what it does, and the JSON schema of its arguments


@dataclass(frozen=True, kw_only=True)
class CompletionRequest:
    """What is asked for, in whatever way the endpoint takes it; see :meth:`Endpoint.complete`."""

    messages: Callable[[Form], Sequence[Message]]
    schema: tuple[str, dict[str, Any]] | None
    form: Form | None
    functions: Sequence[Function]
    logprobs: bool


class Endpoint:
    """One model at one endpoint.

    Args:
        transport: sends the requests.
        service: address and key.
        model: as the endpoint calls it.
        prices: what tokens cost; a model without a price costs nothing that could be counted.
        max_tokens: the most a reply may have.
        stream: ask for the reply in pieces, so that a stalled one is noticed.
    """

    def __init__(
        self,
        transport: Transport,
        service: Service,
        model: str,
        *,
        prices: Prices | None = None,
        max_tokens: int = 4096,
        stream: bool = False,
    ) -> None:
        self.transport, self.service, self.model = transport, service, model
        self.prices, self.max_tokens, self.stream = prices or Prices.shipped(), max_tokens, stream
        self._memory = Memory(home() / "endpoints.json")
        self.capabilities = self._memory.recall(service.place, model)
        self._proven: set[Form] = set()  # forms in which a reply has come: a 500 is not about them

    async def complete(
        self,
        messages: Callable[[Form], Sequence[Message]],
        *,
        account: Account,
        schema: tuple[str, dict[str, Any]] | None = None,
        form: Form | None = None,
        sampling: Sampling | None = None,
        seed: int = 0,
        logprobs: bool = False,
        functions: Sequence[Function] = (),
    ) -> tuple[Choice, ...]:
        """Asks for ``sampling.n`` replies: in one request where the endpoint can, in as many at once where not.

        Args:
            messages: the conversation, for the way in which the reply is asked for.
            account: pays.
            schema: name and JSON schema of the reply, where it is to be JSON.
            form: pins how JSON is asked for; by default the strictest way that the endpoint takes.
            sampling: how to draw.
            seed: of the first sample.
            logprobs: ask for log probabilities.
            functions: one of which the model is to call, instead of a reply in words.

        Raises:
            UsageError: the endpoint refuses the request: key, model, functions, or a parameter that cannot be left out.
            ProviderError: nothing answered.
            BudgetReached: the budget has no room.
        """
        sampling = sampling or Sampling()
        wish = CompletionRequest(messages=messages, schema=schema, form=form, functions=functions, logprobs=logprobs)

        async def ask(n: int, seed: int) -> tuple[Choice, ...]:
            return await self._ask(wish, account, sampling.model_copy(update={"n": n}), seed)

        choices: tuple[Choice, ...] = ()
        if sampling.n == 1 or "n" not in self.capabilities.refused:
            choices = (await ask(sampling.n, seed))[: sampling.n]
        if 0 < len(choices) < sampling.n and not any(each.problem for each in choices):
            self._refuse("n")  # silently one sample where several were wanted
        if missing := sampling.n - len(choices):
            more = [ask(1, seed + place) for place in range(len(choices), len(choices) + missing)]
            choices += tuple(each[0] for each in await together(more))
        return choices

    async def _ask(
        self, wish: CompletionRequest, account: Account, sampling: Sampling, seed: int
    ) -> tuple[Choice, ...]:
        tried: Form | None = None  # instead of a form at which the server failed; noted once it has worked
        for _ in range(len(OPTIONAL) + len(FORMS) + 2):
            sent = wish.form or tried or self.capabilities.form
            body = self._body(wish, sent, sampling, seed)
            answer = await self._send(body, account, sent)
            if answer.status == 200:
                if wish.schema:
                    self._proven.add(sent)
                if tried:
                    self._remember(form=tried)
                return read_response(answer.text, called=bool(wish.functions))
            rejected = answer.status in (400, 404, 422, 500) and wish.schema is not None and wish.form is None
            if rejected and FORMS.index(self.capabilities.form) > FORMS.index(sent):
                tried = None  # a concurrent request has found a form that the endpoint takes
                continue
            failed = answer.status == 500 and sent not in self._proven
            if rejected and sent != "text" and (failed or (tried and about_form(body, answer))):
                tried = FORMS[FORMS.index(sent) + 1]
            elif answer.status not in (400, 404, 422) or not self._learn(
                body, answer, sent, pinned=wish.form is not None
            ):
                raise self._error(answer, offered=refuses_tools(body, answer))
        raise self._error(answer)

    def _body(self, wish: CompletionRequest, form: Form, sampling: Sampling, seed: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(wish.messages(form)),
            "temperature": sampling.temperature,
            "seed": seed % 2**31,
        }
        body |= {"top_p": sampling.top_p} if sampling.top_p != 1.0 else {}
        body |= {"stop": list(sampling.stop)} if sampling.stop else {}
        body |= {"n": sampling.n} if sampling.n > 1 else {}
        body |= {"logprobs": True, "top_logprobs": 5} if wish.logprobs else {}
        body |= {"stream": True, "stream_options": {"include_usage": True}} if self.stream else {}
        if wish.functions:
            tools = [{"type": "function", "function": dict(each)} for each in wish.functions]
            body |= {"tools": tools, "tool_choice": "required", "parallel_tool_calls": False}
        for name in self.capabilities.refused:
            body.pop(name, None)
            for follower in FOLLOWERS.get(name, ()):
                body.pop(follower, None)
        if self.capabilities.limit:
            body[self.capabilities.limit] = sampling.max_tokens or self.max_tokens
        if wish.schema:
            body |= _response_format(form, *wish.schema)
        return body

    async def _send(self, body: dict[str, Any], account: Account, form: Form) -> Answer:
        prompt = most_tokens(body)
        samples = body.get("n", 1)
        reply = samples * body.get(self.capabilities.limit, 4 * self.max_tokens)
        tokens = prompt + reply
        price = self.prices.model(self.model)
        headers = {"Authorization": f"Bearer {self.service.key}"} if self.service.key else {}
        return await self.transport.send(
            self.service,
            "POST",
            "/chat/completions",
            account=account,
            headers=headers,
            json=body,
            tokens=tokens,
            expected=prompt // 4 + min(reply, samples * 500),
            usd=price.of(prompt, reply) if price else 0.0,
            read=read_stream if body.get("stream") else None,
            final=lambda answer: (
                _final(answer, trial=form not in self._proven and "response_format" in body)
                or refuses_tools(body, answer)
            ),
            paid=lambda answer: _paid(answer, price.of if price else None),
        )

    async def embed(self, texts: Sequence[str], *, account: Account) -> list[list[float]]:
        """One vector a text, in order.

        Raises:
            BadReply: what came back are not as many vectors.
            UsageError, ProviderError, BudgetReached: as ``complete``.
        """
        body = {"model": self.model, "input": list(texts)}
        price = self.prices.model(self.model)
        tokens = sum(len(text.encode()) for text in texts) + MESSAGE_OVERHEAD
        answer = await self.transport.send(
            self.service,
            "POST",
            "/embeddings",
            account=account,
            headers={"Authorization": f"Bearer {self.service.key}"} if self.service.key else {},
            json=body,
            tokens=tokens,
            usd=price.of(tokens, 0) if price else 0.0,
            final=_final,
            paid=lambda answer: _paid(answer, price.of if price else None),
        )
        if answer.status != 200:
            raise self._error(answer)
        vectors = _vectors(answer.text, len(texts))
        if not vectors:
            raise BadReply(f"{self.model!r} gave no vectors for {len(texts)} texts", raw=answer.text)
        return vectors

    def _learn(self, body: Mapping[str, Any], answer: Answer, wanted: Form, *, pinned: bool) -> bool:
        """Notes what a refusal was about; says whether asking again in another way makes sense.

        Several requests may find out the same at once: what one of them has noted is not noted again.
        """
        said, named = error_message(answer.text).lower(), names_in(answer.text)
        for name, onward in LIMITS.items():
            if name in body and name in named and "large" not in said:  # refused by name, not for its value
                if self.capabilities.limit == name:
                    self._remember(limit=onward)
                return True
        if about_form(body, answer) and not pinned and wanted != "text":
            if self.capabilities.form == wanted:
                self._remember(form=FORMS[FORMS.index(wanted) + 1])
            return True
        for name in OPTIONAL:
            if name in body and name in named:
                self._refuse(name)
                return True
        return False

    def learn_anew(self) -> None:
        """Forgets what was found out: an endpoint may have learned, too."""
        self._remember(**Capabilities().model_dump())

    def settle_on(self, form: Form) -> None:
        """Asks for JSON in that way from now on."""
        self._remember(form=form)

    def _refuse(self, name: str) -> None:
        self._remember(refused=tuple(sorted({*self.capabilities.refused, name})))

    def _remember(self, **changes: Any) -> None:
        self.capabilities = self.capabilities.model_copy(update=changes)
        self._memory.keep(self.service.place, self.model, self.capabilities)

    def _error(self, answer: Answer, *, offered: bool = False) -> ProviderError | UsageError:
        """What a refusal comes to; ``offered``: it is about the functions that were."""
        said = " ".join(error_message(answer.text).split())[:300]
        what = f"{self.model!r} at {self.service.place} answered {answer.status}: {said or 'nothing'}"
        if offered:
            return UsageError(what, hint="it takes no tool calls, or not of these tools: use --response-format auto")
        if answer.status in (401, 403):
            return UsageError(what, hint="set REDARGUE_API_KEY (or OPENAI_API_KEY) to a key of that endpoint")
        if answer.status in (400, 404, 413, 422):
            return UsageError(
                what, hint="look at --model and --base-url; redargue doctor tells what the endpoint can do"
            )
        spent = answer.status == 402 or _final(answer)
        hint = "its quota is used up: top it up" if spent else "wait"
        return ProviderError(what, hint=f"{hint}, or choose another endpoint: --base-url")


def _response_format(form: Form, name: str, schema: dict[str, Any]) -> dict[str, Any]:
    if form == "schema":
        schema = _unbounded(schema)
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": name, "strict": True, "schema": schema},
            }
        }
    # llama.cpp and vLLM hold the reply to a schema given here; others ignore the extra field
    return {"response_format": {"type": "json_object", "schema": _alternatives(schema)}} if form == "json" else {}


def _alternatives(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as one of several, where one field of some is to hold something and the others nothing."""
    plain = {name: each for name, each in schema.items() if name != EXACTLY_ONE}
    fields = schema.get(EXACTLY_ONE, ())
    if not fields:
        return plain
    empty = {name: {"enum": [""]} for name in fields}
    return {
        "anyOf": [
            plain | {"properties": {**plain["properties"], **empty, name: _filled(plain, name)}} for name in fields
        ]
    }


def _filled(schema: dict[str, Any], name: str) -> dict[str, Any]:
    field = dict(schema["properties"][name])
    if "enum" in field:
        return field | {"enum": [each for each in field["enum"] if each]}
    return field | {"minLength": 1}


def _unbounded(schema: Any) -> Any:
    """The schema without what strict endpoints refuse: bounds on lengths, and words of our own."""
    if isinstance(schema, list):
        return [_unbounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _unbounded(each) for name, each in schema.items() if name not in ("maxLength", "maxItems", EXACTLY_ONE)
    }


def most_tokens(body: Mapping[str, Any]) -> int:
    """A bound on a prompt's tokens: byte-level vocabularies have no token shorter than a byte."""
    words = sum(len(each["content"].encode()) + MESSAGE_OVERHEAD for each in body["messages"])
    return words + sum(len(json.dumps(body[name])) for name in ("response_format", "tools") if name in body)


def _vectors(text: str, wanted: int) -> list[list[float]]:
    """The vectors of a reply, by their index; none where one is missing, twice there, or no vector."""
    try:
        rows = {int(row["index"]): [float(each) for each in row["embedding"]] for row in json.loads(text)["data"]}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return []
    vectors = [rows.get(place, []) for place in range(wanted)]
    even = len(rows) == wanted and len({len(each) for each in vectors}) == 1 and bool(vectors[0])
    return vectors if even and all(math.isfinite(each) for vector in vectors for each in vector) else []


_QUOTA = ("insufficient_quota", "billing_hard_limit", "exceeded your current quota")


def _final(answer: Answer, *, trial: bool = False) -> bool:
    """Whether asking again cannot help: a quota is used up, or the form of the request is what the server chokes on."""
    quota = any(word in answer.text for word in _QUOTA)
    return quota or (trial and answer.status == 500)


def _paid(answer: Answer, price: Any) -> tuple[int, int, float] | None:
    """Tokens both ways and dollars, as the endpoint counts them; None where it does not say."""
    try:
        usage = json.loads(answer.text)["usage"]
        prompt, spoken = int(usage["prompt_tokens"]), usage.get("completion_tokens")
        completion = int(usage["total_tokens"]) - prompt if spoken is None else int(spoken)
    except (ValueError, AttributeError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if prompt < 0 or completion < 0:
        return None
    return prompt, completion, price(prompt, completion) if price else 0.0
