"""An OpenAI-compatible endpoint, whose capabilities are learned from its refusals.

Servers differ in the parameters that they accept (temperature, max_tokens, n, response_format, …). A parameter that is
refused by name is left out from then on. An answer is never replaced by a default.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from redargue.backends import Sampling
from redargue.claims import Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply, ProviderError, UsageError
from redargue.files import home, make_folder, replacing
from redargue.llm.response import Choice, error_message, read_response, read_stream
from redargue.net.transport import HttpAnswer, Service, Transport
from redargue.runs.budget import Account, Prices
from redargue.tasks.base import EXACTLY_ONE

Form = Literal["schema", "json", "text"]
FORMS: tuple[Form, ...] = ("schema", "json", "text")  # ``text``: JSON is requested in words only
# Without the last two a model decides whether and how often to call.
OPTIONAL = "temperature top_p seed stop n logprobs stream_options stream tool_choice parallel_tool_calls".split()
LIMITS: Mapping[str, Any] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": ""}
DEPENDENT = {"logprobs": ("top_logprobs",), "stream": ("stream_options",)}
# Names that may be words of a message must be quoted in it.
UNMISTAKABLE = [*LIMITS, *(name for name in OPTIONAL if name not in ("seed", "stop", "n", "stream"))]


class Capabilities(Frozen):
    """What a model at an endpoint is known to support; ``limit`` is its parameter for the length of a reply."""

    form: Form = "schema"
    limit: Literal["max_tokens", "max_completion_tokens", ""] = "max_tokens"
    refused: tuple[str, ...] = ()


class CapabilityStore:
    """Capabilities in a JSON file; a file that cannot be read or written is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def recall(self, place: str, model: str) -> Capabilities:
        try:
            return Capabilities.model_validate(self._all().get(f"{place} {model}", {}))
        except ValidationError:
            return Capabilities()

    def keep(self, place: str, model: str, capabilities: Capabilities) -> None:
        content = {**self._all(), f"{place} {model}": capabilities.model_dump(mode="json")}
        with contextlib.suppress(OSError):  # it will be learned again next time
            make_folder(self._path.parent)
            with replacing(self._path, self._path.with_suffix(f".{os.getpid()}.new")) as file:
                file.write(json.dumps(content, indent=1, sort_keys=True).encode())

    def _all(self) -> dict[str, object]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def refuses_form(body: Mapping[str, Any], answer: HttpAnswer) -> bool:
    """Whether a refusal is about the response format."""
    about = r"response_format|json_schema|json_object|grammar"
    return "response_format" in body and re.search(about, answer.text.lower()) is not None


def refuses_tools(body: Mapping[str, Any], answer: HttpAnswer) -> bool:
    """Whether a refusal is about the functions offered; llama.cpp's server refuses with 500."""
    about = re.search(r"\btools?\b|\btool_c|function.?call", answer.text.lower())
    return "tools" in body and answer.status in (400, 404, 422, 500, 501) and about is not None


def refused_parameters(text: str) -> frozenset[str]:
    """The parameter that an error declares in ``param``, or those that its message names."""
    try:
        error = json.loads(text).get("error")
        if isinstance(error, dict) and error.get("param"):
            return frozenset({str(error["param"]).split(".")[0]})
    except (ValueError, AttributeError, RecursionError):
        pass
    message = error_message(text).lower()
    names = r"['\"`]([a-z_]+)['\"`]|(?:parameter|argument|field)s?:? ([a-z_]+)"
    quoted = (match[1] or match[2] for match in re.finditer(names, message))
    plain = (name for name in UNMISTAKABLE if re.search(rf"(?<![\w-]){name}(?![\w-])", message))
    return frozenset([*quoted, *plain])


MESSAGE_OVERHEAD = 16  # upper bound on the tokens that a chat template adds to a message

Message = Mapping[str, str]
Function = Mapping[str, Any]  # name, description, JSON schema of the arguments


NamedSchema = tuple[str, dict[str, Any]]  # the name of a reply, and its JSON schema


@dataclass(frozen=True, kw_only=True)
class CompletionRequest:
    """A request for replies.

    Attributes:
        schema: name and JSON schema of the reply; None for text.
        form: how to ask for JSON; default: the strictest form that the endpoint accepts.
        functions: one of which the model must call instead of replying in words.
        extra: further fields of the request, which are never left out.
    """

    messages: Sequence[Message]
    schema: NamedSchema | None = None
    form: Form | None = None
    functions: Sequence[Function] = ()
    sampling: Sampling = field(default_factory=Sampling)
    logprobs: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


class Endpoint:
    """One model at one endpoint.

    Args:
        prices: of tokens; a model without a price costs nothing.
        stream: whether to ask for streamed replies, so that a stalled one is noticed.
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
        self.max_tokens, self.stream = max_tokens, stream
        self._price = (prices or Prices.shipped()).model(model)
        self._store = CapabilityStore(home() / "endpoints.json")
        self.capabilities = self._store.recall(service.display_url, model)
        self._proven: set[Form] = set()  # forms that have worked: a 500 has another cause

    async def complete(self, request: CompletionRequest, *, account: Account, seed: int = 0) -> tuple[Choice, ...]:
        """Asks for ``sampling.n`` replies: in one request if the endpoint can, else in concurrent requests.

        Raises:
            UsageError: the endpoint refuses the key, the model, the functions, or a parameter that cannot be left out.
            ProviderError: nothing answered.
            BudgetReached: the request exceeds the budget.
        """
        n, choices = request.sampling.n, tuple[Choice, ...]()
        if n == 1 or "n" not in self.capabilities.refused:
            choices = (await self._ask(request, n, account, seed))[:n]
        if 0 < len(choices) < n and not any(choice.problem for choice in choices):
            self._refuse("n")  # it was silently ignored
        if len(choices) < n:
            seeds = range(seed + len(choices), seed + n)
            more = await gather_or_cancel(self._ask(request, 1, account, seed) for seed in seeds)
            choices += tuple(choice for choice, *_ in more)
        return choices

    async def _ask(self, request: CompletionRequest, n: int, account: Account, seed: int) -> tuple[Choice, ...]:
        tried: Form | None = None  # after a stricter form was a server error; stored once it works
        pinned, may_change = request.form, request.schema is not None and request.form is None
        for _ in range(len(OPTIONAL) + len(FORMS) + 3):
            form = pinned or tried or self.capabilities.form
            body = self._body(request, form, n, seed)
            answer = await self._send(body, account, form)
            if answer.status == 200:
                if request.schema:
                    self._proven.add(form)
                if tried:
                    self.remember(form=tried)
                return read_response(answer.text, called=bool(request.functions))
            rejected = may_change and answer.status in (400, 404, 422, 500)
            if rejected and FORMS.index(self.capabilities.form) > FORMS.index(form):
                tried = None  # a concurrent request has found a form that the endpoint accepts
                continue
            failed = answer.status == 500 and form not in self._proven
            if rejected and form != "text" and (failed or (tried and refuses_form(body, answer))):
                tried = FORMS[FORMS.index(form) + 1]
            elif answer.status not in (400, 404, 422) or not self._learn(body, answer, form, pinned):
                raise self._error(answer, offered=refuses_tools(body, answer))
        raise self._error(answer)

    def _body(self, request: CompletionRequest, form: Form, n: int, seed: int) -> dict[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(request.messages),
            "temperature": sampling.temperature,
            "seed": seed % 2**31,
        }
        body |= {"top_p": sampling.top_p} if sampling.top_p != 1.0 else {}
        body |= {"stop": list(sampling.stop)} if sampling.stop else {}
        body |= {"n": n} if n > 1 else {}
        body |= {"logprobs": True, "top_logprobs": 5} if request.logprobs else {}
        body |= {"stream": True, "stream_options": {"include_usage": True}} if self.stream else {}
        if request.functions:
            tools = [{"type": "function", "function": dict(each)} for each in request.functions]
            body |= {"tools": tools, "tool_choice": "required", "parallel_tool_calls": False}
        for name in self.capabilities.refused:
            for dropped in (name, *DEPENDENT.get(name, ())):
                body.pop(dropped, None)
        if self.capabilities.limit:
            body[self.capabilities.limit] = sampling.max_tokens or self.max_tokens
        if request.schema:
            bounded = BOUND not in self.capabilities.refused
            body |= _response_format(form, *request.schema, bounded=bounded)
        return body | dict(request.extra)

    async def _send(self, body: dict[str, Any], account: Account, form: Form) -> HttpAnswer:
        prompt = most_tokens(body)
        samples = body.get("n", 1)
        reply = samples * body.get(self.capabilities.limit, 4 * self.max_tokens)

        def final(answer: HttpAnswer) -> bool:
            trial = form not in self._proven and "response_format" in body
            return _final(answer, trial=trial) or refuses_tools(body, answer)

        return await self._post(
            "/chat/completions",
            body,
            account=account,
            tokens=(prompt, reply),
            expected=prompt // 4 + min(reply, samples * 500),
            read=read_stream if body.get("stream") else None,
            final=final,
        )

    async def _post(
        self, path: str, body: dict[str, Any], *, account: Account, tokens: tuple[int, int], **options: Any
    ) -> HttpAnswer:
        price = self._price.of if self._price else None
        return await self.transport.send(
            self.service,
            "POST",
            path,
            account=account,
            headers={"Authorization": f"Bearer {self.service.key}"} if self.service.key else {},
            json=body,
            tokens=sum(tokens),
            usd=price(*tokens, 0) if price else 0.0,
            paid=lambda answer: _paid(answer, price),
            **options,
        )

    async def embed(self, texts: Sequence[str], *, account: Account) -> list[list[float]]:
        """One vector per text, in order; raises BadReply if the reply does not contain them."""
        tokens = (sum(len(text.encode()) for text in texts) + MESSAGE_OVERHEAD, 0)
        body = {"model": self.model, "input": list(texts)}
        answer = await self._post("/embeddings", body, account=account, tokens=tokens, final=_final)
        if answer.status != 200:
            raise self._error(answer)
        if vectors := _vectors(answer.text, len(texts)):
            return vectors
        what = f"{self.model!r} gave no vectors for {len(texts)} texts"
        raise BadReply(what, raw=answer.text)

    def _learn(self, body: Mapping[str, Any], answer: HttpAnswer, form: Form, pinned: Form | None) -> bool:
        """Records the cause of a refusal; returns whether a changed request may succeed.

        Concurrent requests may be refused for the same cause, which is recorded once.
        """
        message, named = error_message(answer.text).lower(), refused_parameters(answer.text)
        too_large = "large" in message  # refused for its value, not by name
        for name, successor in LIMITS.items():
            if name in body and name in named and not too_large:
                if self.capabilities.limit == name:
                    self.remember(limit=successor)
                return True
        if form == "schema" and BOUND.lower() in message and BOUND not in self.capabilities.refused:
            self._refuse(BOUND)
            return True
        if refuses_form(body, answer) and not pinned and form != "text":
            if self.capabilities.form == form:
                self.remember(form=FORMS[FORMS.index(form) + 1])
            return True
        refused = next((name for name in OPTIONAL if name in body and name in named), "")
        if refused:
            self._refuse(refused)
        return bool(refused)

    def _refuse(self, name: str) -> None:
        self.remember(refused=tuple(sorted({*self.capabilities.refused, name})))

    def remember(self, **changes: Any) -> None:
        self.capabilities = self.capabilities.model_copy(update=changes)
        self._store.keep(self.service.display_url, self.model, self.capabilities)

    def _error(self, answer: HttpAnswer, *, offered: bool = False) -> ProviderError | UsageError:
        status, message = answer.status, " ".join(error_message(answer.text).split())[:300]
        what = f"{self.model!r} at {self.service.display_url} answered {status}: {message or 'nothing'}"
        hint = ""
        if offered:
            hint = "it takes no tool calls, or not of these tools: use --response-format auto"
        elif status in (401, 403):
            hint = "set REDARGUE_API_KEY (or OPENAI_API_KEY) to a key of that endpoint"
        elif status in (400, 404, 413, 422):
            hint = "check --model and --base-url; redargue doctor reports what the endpoint supports"
        if hint:
            return UsageError(what, hint=hint)
        exhausted = status == 402 or _final(answer)
        hint = "its quota is exhausted: increase it" if exhausted else "wait"
        return ProviderError(what, hint=f"{hint}, or choose another endpoint: --base-url")


def _response_format(form: Form, name: str, schema: dict[str, Any], *, bounded: bool) -> dict[str, Any]:
    if form == "text":
        return {}
    if form == "schema":
        strict = {"name": name, "strict": True, "schema": strict_schema(schema, bounded=bounded)}
        return {"response_format": {"type": "json_schema", "json_schema": strict}}
    # llama.cpp and vLLM enforce a schema given here; others ignore the extra field
    shape = _alternatives(_without(schema, "description"))
    return {"response_format": {"type": "json_object", "schema": shape}}


def _alternatives(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as alternatives, if exactly one of some fields must have a value."""
    plain = {name: value for name, value in schema.items() if name != EXACTLY_ONE}
    fields = schema.get(EXACTLY_ONE, ())
    if not fields:
        return plain
    empty = plain["properties"] | {name: {"enum": [""]} for name in fields}
    shapes = (empty | {name: _filled(plain["properties"][name])} for name in fields)
    return {"anyOf": [plain | {"properties": shape} for shape in shapes]}


def _filled(field: dict[str, Any]) -> dict[str, Any]:
    if "enum" in field:
        return field | {"enum": [value for value in field["enum"] if value]}
    return field | {"minLength": 1}


# without it a small model may fill a list up to its token limit; some strict endpoints refuse it
BOUND = "maxItems"
_REFUSED = ("maxLength", EXACTLY_ONE)  # by strict endpoints: the former, and redargue's own keyword


def strict_schema(schema: dict[str, Any], *, bounded: bool = True) -> dict[str, Any]:
    """A reply's schema as strict endpoints are sent it; ``bounded``: whether lists have a greatest length."""
    refused = _REFUSED if bounded else (BOUND, *_REFUSED)
    return dict(_without(schema, *refused, "description"))


def _without(schema: Any, *keywords: str) -> Any:
    """The schema without some keywords; the messages describe the fields, and say it once."""
    if isinstance(schema, list):
        return [_without(item, *keywords) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name == "properties":
            kept[name] = {field: _without(inner, *keywords) for field, inner in value.items()}
        elif name not in keywords:
            kept[name] = _without(value, *keywords)
    return kept


def most_tokens(body: Mapping[str, Any]) -> int:
    """An upper bound on a prompt's tokens: in byte-level vocabularies a token has at least one byte."""
    words = sum(len(message["content"].encode()) + MESSAGE_OVERHEAD for message in body["messages"])
    beside = body.keys() & {"response_format", "tools"}
    return words + sum(len(json.dumps(body[name])) for name in beside)


def _vectors(text: str, count: int) -> list[list[float]]:
    """The vectors of a reply, by index; none if one is missing, duplicated or invalid."""
    try:
        data = json.loads(text)["data"]
        rows = {int(row["index"]): list(map(float, row["embedding"])) for row in data}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return []
    vectors = [rows.get(index, []) for index in range(count)]
    sizes = {len(vector) for vector in vectors}
    even = len(rows) == count and len(sizes) == 1 and 0 not in sizes
    return vectors if even and all(map(math.isfinite, chain(*vectors))) else []


_MOST_TOKENS = 10**9  # of one request; a number above it says nothing, and no ledger could add it up
_QUOTA = ("insufficient_quota", "billing_hard_limit", "exceeded your current quota")


def _final(answer: HttpAnswer, *, trial: bool = False) -> bool:
    """Whether a retry cannot help: the quota is exhausted, or the form of the request makes the server fail."""
    return any(word in answer.text for word in _QUOTA) or (trial and answer.status == 500)


def _paid(answer: HttpAnswer, price: Callable[[int, int, int], float] | None) -> tuple[int, int, float, int] | None:
    """Prompt and completion tokens, dollars, cached prompt tokens, as the endpoint reports; None if it reports none."""
    try:
        usage = json.loads(answer.text)["usage"]
        prompt, completion = int(usage["prompt_tokens"]), usage.get("completion_tokens")
        completion = int(usage["total_tokens"]) - prompt if completion is None else int(completion)
    except (ValueError, AttributeError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if not (0 <= prompt <= _MOST_TOKENS and 0 <= completion <= _MOST_TOKENS):
        return None
    cached = _cached(usage, prompt)
    return prompt, completion, price(prompt, completion, cached) if price else 0.0, cached


def _cached(usage: Mapping[str, Any], prompt: int) -> int:
    """Cached tokens where the endpoint gives a number of them that is possible, else 0.

    OpenAI and most others give them among the details; Moonshot and DeepSeek, and gateways to Anthropic, beside them.
    """
    details = usage.get("prompt_tokens_details")
    given = [details.get("cached_tokens")] if isinstance(details, dict) else []
    names = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
    given += map(usage.get, names)
    return next((each for each in given if type(each) is int and 0 < each <= prompt), 0)
