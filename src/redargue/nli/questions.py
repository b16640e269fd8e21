"""A grader at an OpenAI-compatible endpoint reads evidence: one yes/no question a window.

The probability of support is P(yes) / (P(yes) + P(no)), from the log probabilities of the reply's
word and its alternatives. An endpoint that gives none answers with a word, which counts as 1 or 0.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from redargue.backends import Sampling
from redargue.claims import Frozen
from redargue.concurrency import gather_or_cancel
from redargue.errors import BadReply, ProviderError, UsageError
from redargue.llm.client import CompletionRequest, Endpoint
from redargue.llm.response import Choice
from redargue.net.services import reader_service
from redargue.net.transport import Transport
from redargue.nli.loop_bridge import current_bridge
from redargue.nli.reader_spec import OutputSide
from redargue.nli.session import Floats, ModelText
from redargue.registry import did_you_mean
from redargue.runs.budget import Account, Prices
from redargue.tasks.untrusted import disarm_messages

# The texts of the questions to a grader at an endpoint.
#
# A template is a text file: lines ``name: value`` and comments (``#``), then the messages, each
# after its role in brackets. ``{evidence}`` and ``{claim}`` are its slots.


_FOLDER = files("redargue.nli") / "templates"
_ROLE = re.compile(r"\[(system|user|assistant|context)\]")
_SETTING = re.compile(r"(supported|unsupported|answer|tokens|body): *(\S.*)")
_SLOT = re.compile(r"\{(evidence|claim)\}")


class QuestionTemplate(NamedTuple):
    """A question whose answer is one of two words.

    Attributes:
        supported, unsupported: the words.
        last: whether the answer is the last of these words in a reply, not the first.
        tokens: of a reply, at most.
        body: further fields of the request.
        texts: the messages' roles and texts.
    """

    supported: str
    unsupported: str
    last: bool
    tokens: int
    body: Mapping[str, Any]
    texts: tuple[tuple[str, str], ...]

    def messages(self, evidence: str, claim: str) -> list[dict[str, str]]:
        values = {"evidence": evidence, "claim": claim}
        return [
            {"role": role, "content": _SLOT.sub(lambda slot: values[slot.group(1)], text)} for role, text in self.texts
        ]


def template_names() -> tuple[str, ...]:
    return tuple(sorted(path.name.removesuffix(".txt") for path in _FOLDER.iterdir()))


def template_text(name: str) -> str:
    """The text of a shipped template, or of a file.

    Raises:
        UsageError: there is none of this name, or the file cannot be read.
    """
    if name in template_names():
        return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    if not name.endswith(".txt"):
        hint = f"{did_you_mean(name, list(template_names()))}; or name a file: FILE.txt"
        raise UsageError(f"unknown template {name!r}", where="--template", hint=hint)
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name!r} cannot be read: {error}", where="--template") from None


def read_template(text: str, where: str) -> QuestionTemplate:
    """Parses a template.

    Raises:
        UsageError: a line is not a setting, or a word, a message or a slot is missing.
    """
    settings, texts = _parts(text, where)
    missing = [name for name in ("supported", "unsupported") if not settings.get(name)]
    slots = [slot for slot in ("{evidence}", "{claim}") if not any(slot in text for _, text in texts)]
    if missing := [*missing, *slots]:
        raise UsageError(
            f"the template has no {missing[0]!r}",
            where=where,
            hint="it needs lines such as 'supported: Yes' and 'unsupported: No', and messages "
            "with {evidence} and {claim}: [user] on a line of its own, and its text below",
        )
    supported, unsupported = settings["supported"], settings["unsupported"]
    tokens, answer = settings.get("tokens", "4"), settings.get("answer", "first")
    body = _body(settings.get("body", "{}"))
    for name, value, wanted, right in (
        ("supported", supported, "one word", re.fullmatch(r"\w+", supported)),
        ("unsupported", unsupported, "one word", re.fullmatch(r"\w+", unsupported)),
        ("unsupported", unsupported, "another word than supported", unsupported.casefold() != supported.casefold()),
        ("tokens", tokens, "a number from 1 to 4096", tokens.isdigit() and 0 < int(tokens) <= 4096),
        ("answer", answer, "first or last", answer in ("first", "last")),
        ("body", settings.get("body", ""), "a JSON object", body is not None),
    ):
        if not right:
            raise UsageError(f"{name} is {value[:60]!r}, not {wanted}", where=where)
    return QuestionTemplate(supported, unsupported, answer == "last", int(tokens), body or {}, texts)


def _parts(text: str, where: str) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    settings = dict[str, str]()
    texts = list[tuple[str, list[str]]]()
    for number, line in enumerate(text.splitlines(), 1):
        if role := _ROLE.fullmatch(line):
            texts.append((role.group(1), []))
        elif texts:
            texts[-1][1].append(line)
        elif setting := _SETTING.fullmatch(line.rstrip()):
            settings[setting.group(1)] = setting.group(2)
        elif line.strip() and not line.startswith("#"):
            hint = "a setting is one of supported, unsupported, answer, tokens, body: 'name: value'"
            raise UsageError(f"{line[:60]!r} is not a setting", where=f"{where}, line {number}", hint=hint)
    return settings, tuple((role, "\n".join(lines).strip()) for role, lines in texts)


def _body(text: str) -> dict[str, object] | None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


CONTEXT = 4096  # tokens; what Ollama and llama.cpp read by default
LEAST_CONTEXT = 256
WINDOW = 2048  # tokens of evidence in one question
UNCALIBRATED = 20.0  # the logit of a word without a probability
_ROUNDING = 1e-3  # by which a log probability may be above 0
_LEAST = 1e-6  # probability of a word that is not among the alternatives
_BYTES_PER_TOKEN = 3  # fewer than in English text, so that a question is not longer than estimated
_KEPT = 10_000  # answers in memory
_TAG = re.compile(r"<[^<>]{0,40}>")  # such as <score>
_THINKING = ("<think>", "<thinking>")


class EndpointSpec(Frozen):
    """How a grader at an endpoint is asked (``reader.json``).

    Attributes:
        source: the address, as shown.
        key_variable: the environment variable that has its key; empty for none.
        template: its name or file; ``prompt`` is its text.
        logprobs: whether the endpoint gives log probabilities; its answers are uncalibrated if not.
        longest: tokens of a question, by an estimate from its bytes.
        window: tokens of evidence in one question.
    """

    name: str
    source: str
    url: str
    model: str
    key_variable: str = ""
    template: str
    prompt: str
    logprobs: bool = True
    form: Literal["question"] = "question"
    outputs: tuple[OutputSide, ...] = ("neither", "supports")
    longest: int = Field(default=CONTEXT, ge=LEAST_CONTEXT)
    window: int = WINDOW

    @property
    def sha256(self) -> str:
        """Of the address, the model and how it is asked."""
        settings = self.model_dump(mode="json", exclude={"name", "source", "template", "key_variable"})
        return hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest()


class EndpointModel:
    """Asks the grader about windows, each once; called only in a task (:mod:`.loop_bridge`)."""

    marks: tuple[str, ...] = ()  # the tokens of chat templates are disarmed in the messages

    def __init__(self, spec: EndpointSpec, transport: Transport, prices: Prices | None = None) -> None:
        self._spec, self._transport, self._prices = spec, transport, prices
        self._template = read_template(spec.prompt, f"template {spec.template!r}")
        self._known: OrderedDict[ModelText, Floats] = OrderedDict()
        self._lock = Lock()

    def count(self, text: ModelText) -> int:
        """An estimate of the tokens of a window with its question, or of a text."""
        if isinstance(text, str):
            return _estimate(text)
        messages = self._template.messages(*text)
        return sum(_estimate(message["content"]) for message in messages) + self._template.tokens

    def run(self, texts: Sequence[ModelText]) -> list[Floats]:
        """For each (evidence, claim) the logits of its absence and presence of support.

        Raises:
            UsageError: there is no key, or the endpoint refuses the request.
            ProviderError: it does not answer.
            BadReply: it answers with neither word.
            BudgetReached: a request would exceed the budget.
        """
        with self._lock:
            known = {text: self._known[text] for text in texts if text in self._known}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            bridge = current_bridge()
            answers = bridge.wait_for(self._ask_all(new, bridge.account))
            known |= zip(new, answers, strict=True)
            with self._lock:
                self._known.update((text, known[text]) for text in new)
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return [known[text] for text in texts]

    async def _ask_all(self, texts: Sequence[ModelText], account: Account) -> Sequence[Floats]:
        return await gather_or_cancel([self._ask(text, account) for text in texts])

    async def _ask(self, text: ModelText, account: Account) -> Floats:
        spec, template, where = self._spec, self._template, f"reader {self._spec.name!r}"
        endpoint = self._endpoint
        request = CompletionRequest(
            messages=disarm_messages(template.messages(*text)),
            sampling=Sampling(max_tokens=template.tokens),
            logprobs=spec.logprobs,
            extra=template.body,
        )
        try:
            (choice, *_) = await endpoint.complete(request, account=account)
        except (UsageError, ProviderError) as error:
            key = f"the key in {spec.key_variable}" if spec.key_variable else "--key-env for a key"
            hint = f"check the address, the model's name and {key}: redargue models list"
            raise type(error)(error.what, where=where, hint=hint) from None
        return answer_logits(choice, template, where=where, logprobs=spec.logprobs)

    @cached_property
    def _endpoint(self) -> Endpoint:
        spec = self._spec
        key = os.environ.get(spec.key_variable, "").strip() if spec.key_variable else ""
        if spec.key_variable and not (key and key.isascii() and key.isprintable()):
            problem = "has characters that no key has" if key else "is not set"
            where, hint = f"reader {spec.name!r}", f"set it to the key of {spec.source}"
            raise UsageError(f"{spec.key_variable} {problem}", where=where, hint=hint)
        return Endpoint(
            self._transport,
            reader_service(spec.url, key),
            spec.model,
            prices=self._prices,
            max_tokens=self._template.tokens,
        )


def answer_logits(choice: Choice, template: QuestionTemplate, *, where: str, logprobs: bool) -> Floats:
    """The logits of absence and presence of support that a reply gives.

    Raises:
        UsageError: it thinks aloud, or gives no log probabilities where they are expected.
        BadReply: it does not begin with one of the words, or has neither if the last one counts.
    """
    cut = choice.text.strip() if choice.text.lstrip().startswith(_THINKING) else ""
    if thoughts := choice.thoughts or cut:
        raise UsageError(
            f"the model wrote thoughts before its answer: {thoughts[:80]!r}",
            where=where,
            hint="turn its thinking off at the server, or in the template: body: "
            '{"chat_template_kwargs": {"enable_thinking": false}}',
        )
    words = (template.unsupported.casefold(), template.supported.casefold())
    said = re.findall(r"\w+", _TAG.sub(" ", choice.text).casefold())
    said = [word for word in said if word in words][-1:] if template.last else said[:1]
    if choice.refused or not said or said[0] not in words:
        raise BadReply(
            f"the grader answered {choice.text[:80]!r}, neither {template.supported!r} nor {template.unsupported!r}",
            raw=choice.text,
            where=where,
            hint="is the template that of the model? redargue models add … --template NAME",
        )
    if not logprobs:
        sign = 1 if said[0] == words[1] else -1
        return np.array([0.0, sign * UNCALIBRATED], np.float32)
    places = [at for at, token in enumerate(choice.tokens) if _plain(token.text) in words]
    at = places[-1 if template.last else 0] if places else None
    if at is None or not choice.alternatives[at : at + 1] or not choice.alternatives[at]:
        raise UsageError(
            f"the endpoint gives no log probabilities for its answer {choice.text[:80]!r}",
            where=where,
            hint="add the reader again, which finds out whether it gives any",
        )
    shares = dict.fromkeys(words, 0.0)
    for text, logprob in {each.text: each.logprob for each in (choice.tokens[at], *choice.alternatives[at])}.items():
        if not logprob <= _ROUNDING:  # NaN neither
            raise BadReply(f"the log probability of {text[:80]!r} is {logprob}", raw=choice.text, where=where)
        if (word := _plain(text)) in shares:
            shares[word] += math.exp(logprob)
    return np.array([math.log(max(shares[word], _LEAST)) for word in words], np.float32)


def _plain(token: str) -> str:
    """The word of a token, without case, spaces, quotation marks and the marks of tokenizers."""
    return re.sub(r"[\W_]+|[Ġ▁Ċ]", "", token).casefold()


def _estimate(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)
