"""A local causal language model, and a reply that is generated piece by piece.

The model generates free text and chooses among options by likelihood; code inserts the rest. The text is tokenised as a
whole after each step, so that the tokens are those of a text that the model wrote alone; the cache keeps the common
prefix.

Attention is scaled by confidence after the softmax (Yoffe et al., "DebUnc", 2024). While an agent generates, in every
layer and head the attention to each other agent's text is multiplied by that agent's weight, then all these texts
together are rescaled to their previous total. The factor differs by layer, head and position, so no mask added before
the softmax can express it. Attention within the prompt is unchanged.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import cached_property
from threading import Event
from typing import Any, NamedTuple

from redargue.backends import Sampling, Token
from redargue.errors import UsageError
from redargue.llm.client import Message
from redargue.llm.rendering import WeightedSpan
from redargue.registry import install
from redargue.tasks.untrusted import DISARMED

_TAIL = 8  # tokens decoded before new ones: some tokenizers drop a leading space
_SAMPLED = 64  # numbers of each weight that are hashed
_LLAMA = "choose a model of the Llama family"

Ending = Callable[[str], int]
"""The index at which a generated text ends, or -1 if it continues."""


class CausalModel:
    """A model and its tokenizer; nothing is downloaded.

    Raises UsageError without torch or transformers, for a model that does not exist or has no eager attention, and for
    a tokenizer that gives no offsets.
    """

    def __init__(self, name: str, *, device: str = "") -> None:
        torch, transformers = import_torch("the transformers backend")
        register()
        self.name = name
        try:
            local: dict[str, Any] = {"local_files_only": True}
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(name, **local)
            model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype="auto", **local)
        except (OSError, ValueError) as error:
            why = str(error).strip().partition("\n")[0][:300]
            raise UsageError(
                f"no causal language model at {name!r}: {why}",
                where="--model",
                hint=f"name a folder or a downloaded model: hf download {name}",
            ) from None
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.eval().to(self.device)
        self.default_attention = model.config._attn_implementation
        if not getattr(self.tokenizer, "is_fast", False):
            hint = "choose a model with a fast tokenizer"
            raise UsageError(f"the tokenizer of {name!r} gives no offsets", hint=hint)
        layers = [layer for layer in model.modules() if type(layer).__name__.endswith("Attention")]
        if model._is_stateful or not layers or not all(map(plain_attention, layers)):
            what = f"the attention of {type(model).__name__} cannot be weighted"
            raise UsageError(what, hint=_LLAMA)
        config = model.config.get_text_config()
        self.longest = getattr(config, "max_position_embeddings", None) or math.inf

    @cached_property
    def identity(self) -> str:
        """A hash of a sample of each weight, their types, the tokenizer and the chat template."""
        digest = hashlib.sha256(str(self.tokenizer.chat_template).encode())
        digest.update(str(sorted(self.tokenizer.get_vocab().items())).encode())
        for name, weights in sorted(self.model.state_dict().items()):
            flat = weights.flatten()
            some = flat[:: max(1, len(flat) // _SAMPLED)][:_SAMPLED].float().cpu().numpy().tobytes()
            digest.update(f"{name} {tuple(weights.shape)} {weights.dtype}".encode() + some)
        return f"{type(self.model).__name__}:{digest.hexdigest()[:16]}"

    @cached_property
    def ends(self) -> frozenset[int]:
        """Tokens that end a text: the model's end tokens and every special token."""
        ends = getattr(self.model.generation_config, "eos_token_id", None)
        ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
        return frozenset([*ends, *self._special])

    @cached_property
    def _special(self) -> dict[int, str]:
        added = self.tokenizer.added_tokens_decoder.items()
        return {id_: token.content for id_, token in added if token.special}

    def rendered(self, messages: Sequence[Message]) -> str:
        """The messages in the model's chat template, up to its reply."""
        clean = [{**message, "content": self.disarmed(message["content"])} for message in messages]
        if not self.tokenizer.chat_template:
            return "\n\n".join(message["content"] for message in clean) + "\n\n"
        try:
            return self._templated(clean)
        except Exception as error:  # a template may raise anything
            if clean[0]["role"] != "system" or len(clean) < 2:
                what = f"the chat template of {self.name!r} rejects the messages: {error}"
                raise UsageError(what) from None
        system, user, *others = clean  # the template may know no system message
        first = {"role": "user", "content": f"{system['content']}\n\n{user['content']}"}
        return self._templated([first, *others])

    def disarmed(self, text: str) -> str:
        """A text of the same length without the model's special tokens, so that it cannot end a message."""
        marks = "|".join(map(re.escape, sorted(self._special.values(), key=len, reverse=True)))
        return re.sub(marks, _disarmed, text) if marks else text

    def _templated(self, messages: list[dict[str, str]]) -> str:
        options = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
        return str(self.tokenizer.apply_chat_template(messages, **options))

    def tokens(self, text: str) -> Tokens:
        """A text's tokens; a chat template has already added the initial special tokens."""
        options = {"return_offsets_mapping": True, "verbose": False}
        special = not self.tokenizer.chat_template
        encoded = self.tokenizer(text, add_special_tokens=special, **options)
        return Tokens(encoded["input_ids"], [tuple(offset) for offset in encoded["offset_mapping"]])

    def decoded(self, ids: Sequence[int]) -> str:
        options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        return str(self.tokenizer.decode(ids, **options))


class Draft:
    """A prompt and a partial reply, together in ``text``; ``entropies`` in nats."""

    def __init__(
        self, model: CausalModel, prompt: str, spans: Sequence[WeightedSpan], stop: Event | None = None
    ) -> None:
        import torch
        from transformers import DynamicCache

        self._model, self.prompt, self._stop = model, prompt, stop or Event()
        tokens = model.tokens(prompt)
        self.prompt_tokens, self.reply_tokens = len(tokens.ids), 0
        self._focus: Focus | None = focus(spans, tokens, model.device)
        self._cache = DynamicCache()  # without a config, so that sliding layers keep everything too
        self._cached: list[int] = []
        self._generator = torch.Generator()
        self._log_probabilities(tokens.ids, len(tokens.ids) - 1)
        self.begin(Sampling(), 0)

    @property
    def reply(self) -> str:
        return self.text[len(self.prompt) :]

    @property
    def entropy(self) -> float | None:
        """Mean entropy (nats); None if nothing was generated or chosen."""
        return sum(self.entropies) / len(self.entropies) if self.entropies else None

    def begin(self, sampling: Sampling, seed: int) -> None:
        self.text, self._sampling = self.prompt, sampling
        self.entropies: list[float] = []
        self.tokens: list[Token] = []
        self._generator.manual_seed(seed)

    def add(self, text: str) -> None:
        self.text += text

    def write(self, longest: int, ending: Ending) -> str:
        """Generates free text, which is returned but not added; ``longest`` in characters."""
        ids = self._model.tokens(self.text).ids
        tail = ids[-_TAIL:]
        before, written, text = len(self._model.decoded(tail)), list[int](), ""
        for _ in range(min(longest, self._sampling.max_tokens or longest)):
            row = self._log_probabilities(ids, len(ids) - 1)[0]
            token = self._draw(row)
            self.reply_tokens += 1
            self.entropies.append(float((-row.exp() * row.clamp(min=-1e9)).sum()))
            if token in self._model.ends:
                break
            ids, written = [*ids, token], [*written, token]
            whole = self._model.decoded([*tail, *written])[before:]
            ends = (ending(whole), *(whole.find(stop) for stop in self._sampling.stop))
            at = min((end for end in ends if end >= 0), default=-1)
            whole = whole[: longest if at < 0 else at]
            new = whole if at >= 0 else whole.rstrip("�")  # an incomplete character
            self.tokens.append(Token(new[len(text) :], float(row[token])))
            text = new
            if at >= 0 or len(whole) >= longest:
                break
        self.tokens = [token for token in self.tokens if token.text]
        return text

    def choose(self, options: Sequence[str]) -> int:
        """Adds the most likely option and returns its index; no option may be a prefix of another."""
        if len(options) == 1:
            self.text += options[0]
            return 0
        encoded = [self._model.tokens(self.text + option).ids for option in options]
        shared = min(min(_shared(encoded[0], ids), len(ids) - 1) for ids in encoded)
        scores = []
        for ids in encoded:
            rows = zip(self._log_probabilities(ids, shared - 1), ids[shared:], strict=False)
            scores.append(math.fsum(float(row[token]) for row, token in rows))
        best = scores.index(max(scores))
        shares = [math.exp(score - scores[best]) for score in scores]
        total = sum(shares)
        probabilities = [share / total for share in shares]
        self.entropies.append(-sum(each * math.log(each) for each in probabilities if each))
        self.reply_tokens += len(encoded[best]) - shared
        self.text += options[best]
        return best

    def _log_probabilities(self, ids: list[int], start: int) -> Any:
        """Log probabilities of the token after each of ``ids[start:]``: tensor (tokens, vocabulary), float32."""
        import torch

        if self._stop.is_set():
            raise CancelledError
        if len(ids) > self._model.longest:
            raise UsageError(
                f"{len(ids):,} tokens are more than {self._model.name!r} reads: {self._model.longest:,}",
                hint="choose a model with a longer context",
            )
        prefix = min(_shared(self._cached, ids), start)
        if prefix < len(self._cached):
            self._cache.crop(prefix - len(self._cached))
        self._cached = ids[:prefix]
        options = {"focus": self._focus} if self._focus and len(ids) > self.prompt_tokens else {}
        used = self._focus.used if self._focus else 0
        model = self._model.model
        attention = WEIGHTED if options else self._model.default_attention
        if model.config._attn_implementation != attention:
            model.set_attn_implementation(attention)
        with torch.inference_mode():
            out = model(
                input_ids=torch.tensor([ids[prefix:]], device=self._model.device),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=len(ids) - start,
                **options,
            )
        self._cached = list(ids)
        if self._focus and options and self._focus.used == used:
            what = f"{type(model).__name__} does not pass weights to its attention"
            raise UsageError(what, hint=_LLAMA)
        return out.logits[0].float().log_softmax(-1)

    def _draw(self, row: Any) -> int:
        import torch

        temperature, top_p = self._sampling.temperature, self._sampling.top_p
        if not temperature:
            return int(row.argmax())
        shares, order = (row.cpu() / temperature).softmax(-1).sort(descending=True, stable=True)
        shares = shares.masked_fill(shares.cumsum(-1) - shares >= top_p, 0.0)
        return int(order[torch.multinomial(shares, 1, generator=self._generator)])


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the prefix that both have."""
    pairs = enumerate(zip(left, right, strict=False))
    differences = (index for index, (one, other) in pairs if one != other)
    return next(differences, min(len(left), len(right)))


def _disarmed(mark: re.Match[str]) -> str:
    plain = mark.group().translate(DISARMED)
    return plain if plain != mark.group() else "·" + plain[1:]


def import_torch(user: str) -> tuple[Any, Any]:
    """The modules torch and transformers; raises UsageError, which names their ``user``."""
    try:
        import torch
        import transformers
    except ImportError as error:
        hint = f"install torch for your machine first (https://pytorch.org), then: {install('transformers')}"
        raise UsageError(f"{user} needs torch and transformers: {error}", hint=hint) from None
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


WEIGHTED = "redargue-weighted"  # registered name of this attention in transformers


class Focus:
    """The weights of a prompt's tokens, 1 outside spans; ``inside``: 1 in spans, else 0; tensors (tokens,), float32."""

    def __init__(self, weights: Any, inside: Any) -> None:
        self.weights, self.inside = weights, inside
        self.prompt = len(weights)
        self.used = 0

    def over(self, keys: int) -> tuple[Any, Any]:
        """Weights and mask for the first ``keys`` tokens; tokens after the prompt are outside spans."""
        from torch.nn.functional import pad

        more = keys - self.prompt
        if more <= 0:
            return self.weights[:keys], self.inside[:keys]
        return pad(self.weights, (0, more), value=1.0), pad(self.inside, (0, more), value=0.0)


def rescaled(attention: Any, weights: Any, inside: Any) -> Any:
    """Attention weighted within spans, with the spans' total mass unchanged.

    Args:
        attention: after the softmax; tensor or array (..., tokens).
        weights: (tokens,), above 0.
        inside: (tokens,), 1 in a span, else 0.
    """
    mass = (attention * inside).sum(-1)[..., None]
    raw = attention * inside * weights
    raw_mass = raw.sum(-1)[..., None]
    none = raw_mass == 0  # no attention to the spans: nothing to scale
    return attention * (1 - inside) + raw * ((mass + none) / (raw_mass + none))


class Tokens(NamedTuple):
    """Token ids of a text, and each one's span in it, in characters."""

    ids: list[int]
    offsets: list[tuple[int, int]]


def focus(spans: Sequence[WeightedSpan], tokens: Tokens, device: Any) -> Focus | None:
    """The weights of a prompt's tokens; None if they have no effect, because there is one span or all are equal.

    A token belongs to the first span with which it shares a character.
    """
    import torch

    if len({span.weight for span in spans}) < 2:
        return None
    largest = max(span.weight for span in spans)  # only proportions matter; this avoids overflow
    weights, inside = torch.ones(len(tokens.ids)), torch.zeros(len(tokens.ids))
    for index, (start, end) in enumerate(tokens.offsets):
        span = next((span for span in spans if max(start, span.start) < min(end, span.end)), None)
        if span:
            weights[index], inside[index] = span.weight / largest, 1.0
    return Focus(weights.to(device), inside.to(device))


def weighted_attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    *,
    focus: Focus | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """A model's eager attention, with the weights of ``focus`` for generated tokens; its rows are the last keys."""
    import torch

    plain = plain_attention(module)
    output, attention = plain(module, query, key, value, attention_mask, **options)
    if focus is None:
        return output, attention
    focus.used += 1
    rows, keys = attention.shape[-2:]
    prompt_rows = max(0, focus.prompt - (keys - rows))
    if prompt_rows >= rows:
        return output, attention
    exact = attention[..., prompt_rows:, :].to(torch.promote_types(attention.dtype, torch.float32))
    changed = rescaled(exact, *focus.over(keys)).to(attention.dtype)
    values = value.repeat_interleave(attention.shape[1] // value.shape[1], dim=1)
    attention, output = attention.clone(), output.clone()
    attention[..., prompt_rows:, :] = changed
    output[:, prompt_rows:] = (changed @ values).transpose(1, 2)
    return output, attention


def plain_attention(module: Any) -> Any:
    """The eager attention function of a layer's model; None if it has none."""
    return getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)


def register() -> None:
    """Registers this attention in transformers with the eager mask; without a mask it would not be causal."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(WEIGHTED, weighted_attention)
    AttentionMaskInterface.register(WEIGHTED, eager_mask)
