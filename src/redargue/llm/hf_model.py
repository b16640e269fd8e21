"""A causal language model on this machine, and a reply that it writes piece by piece.

What is written freely is the model's; what a form prescribes is put in by code; between closed options the model's own
likelihood decides. The text is the truth: it is tokenised as a whole, so that each piece stands as it would had the
model written all of it, and of what was computed for an earlier state as much is kept as the two share.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import cached_property
from threading import Event
from typing import Any

from redargue.backends.base import Sampling, Token
from redargue.errors import MissingExtra, UsageError
from redargue.llm.attention import WEIGHTED, Focus, Tokens, focus, plain_attention, register
from redargue.llm.client import Message
from redargue.llm.rendering import WeightedSpan

_INSTALL = "install torch for your machine first (https://pytorch.org), then: pip install 'redargue[transformers]'"
_TAIL = 8  # tokens before what is written, which it is decoded after: some tokenizers drop a first space
_SAMPLED = 64  # numbers of each weight that the model is known by
_DISARMED = str.maketrans("<>[]|", "‹›⟦⟧¦")

Ending = Callable[[str], int]
"""Where a text that is being written ends, or -1 where it goes on."""


class CausalModel:
    """A model and its tokenizer, from a folder or from what was downloaded before; nothing is downloaded here.

    Args:
        name: of the folder or the model.
        device: as torch calls it; empty for a GPU where there is one.

    Raises:
        MissingExtra: torch or transformers is not installed.
        UsageError: no such model, or one whose attention cannot be weighed or whose tokenizer gives no offsets.
    """

    def __init__(self, name: str, *, device: str = "") -> None:
        torch, transformers = _imported()
        register()
        self.name = name
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(name, local_files_only=True)
            model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype="auto", local_files_only=True)
        except (OSError, ValueError) as error:
            why = str(error).strip().partition("\n")[0][:300]
            raise UsageError(
                f"no causal language model at {name!r}: {why}",
                where="--model",
                hint=f"name a folder, or a model that is here already: hf download {name}",
            ) from None
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.eval().to(self.device)
        self.own = model.config._attn_implementation
        if not getattr(self.tokenizer, "is_fast", False):
            raise UsageError(f"the tokenizer of {name!r} gives no offsets", hint="choose a model with a fast tokenizer")
        layers = [each for each in model.modules() if re.search("Attention$", type(each).__name__)]
        if model._is_stateful or not layers or not all(map(plain_attention, layers)):
            raise UsageError(
                f"the attention of {type(model).__name__} cannot be weighed", hint="choose a model of the Llama family"
            )
        self.longest = getattr(model.config.get_text_config(), "max_position_embeddings", None) or math.inf

    @cached_property
    def identity(self) -> str:
        """What the answers depend on: the weights (a sample of each), their type, tokenizer and chat template."""
        digest = hashlib.sha256(str(self.tokenizer.chat_template).encode())
        digest.update(str(sorted(self.tokenizer.get_vocab().items())).encode())
        for name, weights in sorted(self.model.state_dict().items()):
            flat = weights.flatten()
            some = flat[:: max(1, len(flat) // _SAMPLED)][:_SAMPLED].float().cpu().numpy().tobytes()
            digest.update(f"{name} {tuple(weights.shape)} {weights.dtype}".encode() + some)
        return f"{type(self.model).__name__}:{digest.hexdigest()[:16]}"

    @cached_property
    def ends(self) -> frozenset[int]:
        """Tokens with which a text ends: the model's own ends and every other special token."""
        own = getattr(self.model.generation_config, "eos_token_id", None)
        own = own if isinstance(own, list) else [] if own is None else [own]
        return frozenset([*own, *self._special])

    @cached_property
    def _special(self) -> dict[int, str]:
        return {place: each.content for place, each in self.tokenizer.added_tokens_decoder.items() if each.special}

    def rendered(self, messages: Sequence[Message]) -> str:
        """The messages as the model's chat template has them, up to where its reply begins."""
        said = [{**each, "content": self.disarmed(each["content"])} for each in messages]
        if not self.tokenizer.chat_template:
            return "\n\n".join(each["content"] for each in said) + "\n\n"
        try:
            return self._templated(said)
        except Exception as error:  # jinja2's: what a template raises is its own affair
            if said[0]["role"] != "system" or len(said) < 2:
                raise UsageError(f"the chat template of {self.name!r} takes no such message: {error}") from None
        first = {"role": "user", "content": f"{said[0]['content']}\n\n{said[1]['content']}"}  # it takes no system
        return self._templated([first, *said[2:]])

    def disarmed(self, text: str) -> str:
        """A text, as long as it was, in which nothing reads as a mark of the model's own: no text ends a message."""
        marks = "|".join(map(re.escape, sorted(self._special.values(), key=len, reverse=True)))
        return re.sub(marks, lambda found: _disarmed(found.group()), text) if marks else text

    def _templated(self, messages: list[dict[str, str]]) -> str:
        text: str = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return text

    def tokens(self, text: str) -> Tokens:
        """A text's tokens; a chat template has put the marks that begin it into the text."""
        found = self.tokenizer(
            text, add_special_tokens=not self.tokenizer.chat_template, return_offsets_mapping=True, verbose=False
        )
        return Tokens(found["input_ids"], [tuple(each) for each in found["offset_mapping"]])

    def decoded(self, ids: Sequence[int]) -> str:
        """The text of tokens, without marks."""
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text


class Draft:
    """A prompt and the reply that is being written after it.

    Args:
        model: writes.
        prompt: as the model is given it.
        stretches: agents' texts in the prompt, and their weights.
        stop: set from another thread to end the work.

    Attributes:
        text: prompt and reply.
        entropies: of every token that was written freely and of every choice (nats).
        tokens: that were written freely.
    """

    def __init__(
        self, model: CausalModel, prompt: str, stretches: Sequence[WeightedSpan] = (), stop: Event | None = None
    ):
        import torch
        from transformers import DynamicCache

        self._model, self.prompt, self._stop = model, prompt, stop or Event()
        read = model.tokens(prompt)
        self.prompt_tokens, self.reply_tokens = len(read.ids), 0
        self._focus: Focus | None = focus(stretches, read, model.device)
        self._cache, self._held = DynamicCache(), list[int]()  # no config: sliding layers keep everything, too
        self._generator = torch.Generator()
        self._log_probabilities(read.ids, len(read.ids) - 1)
        self.begin(Sampling(), 0)

    @property
    def reply(self) -> str:
        """What was written so far."""
        return self.text[len(self.prompt) :]

    @property
    def entropy(self) -> float | None:
        """Mean entropy (nats); None where nothing was written or chosen."""
        return sum(self.entropies) / len(self.entropies) if self.entropies else None

    def begin(self, sampling: Sampling, seed: int) -> None:
        """Begins a new reply to the same prompt."""
        self.text, self._sampling = self.prompt, sampling
        self.entropies: list[float] = []
        self.tokens: list[Token] = []
        self._generator.manual_seed(seed)

    def add(self, text: str) -> None:
        """Puts in what a form prescribes."""
        self.text += text

    def write(self, longest: int, ending: Ending) -> str:
        """Has the model write freely; the text is given back and not yet put in.

        Args:
            longest: characters; there the text is closed.
            ending: where it ends by itself, what stands there not included.
        """
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
            ends = (ending(whole), *(whole.find(each) for each in self._sampling.stop))
            at = min((each for each in ends if each >= 0), default=-1)
            whole = whole[: longest if at < 0 else at]
            new = whole if at >= 0 else whole.rstrip("�")  # of a character that is not whole yet
            self.tokens.append(Token(new[len(text) :], float(row[token])))
            text = new
            if at >= 0 or len(whole) >= longest:
                break
        self.tokens = [each for each in self.tokens if each.text]
        return text

    def choose(self, options: Sequence[str]) -> int:
        """The place of the likeliest of several ways to go on, which is put in; none may begin another."""
        if len(options) == 1:
            self.text += options[0]
            return 0
        every = [self._model.tokens(self.text + option).ids for option in options]
        shared = min(min(_shared(every[0], ids), len(ids) - 1) for ids in every)
        scores = []
        for ids in every:
            rows = self._log_probabilities(ids, shared - 1)
            scores.append(math.fsum(float(rows[place][token]) for place, token in enumerate(ids[shared:])))
        best = scores.index(max(scores))
        shares = [math.exp(score - scores[best]) for score in scores]
        total = sum(shares)
        self.entropies.append(-sum(each / total * math.log(each / total) for each in shares if each))
        self.reply_tokens += len(every[best]) - shared
        self.text += options[best]
        return best

    def _log_probabilities(self, ids: list[int], start: int) -> Any:
        """Of the token after each of ``ids[start:]``: tensor (tokens, vocabulary), float32."""
        import torch

        if self._stop.is_set():
            raise CancelledError
        if len(ids) > self._model.longest:
            raise UsageError(
                f"{len(ids):,} tokens are more than {self._model.name!r} reads: {self._model.longest:,}",
                hint="choose a model with a longer context",
            )
        kept = min(_shared(self._held, ids), start)
        if kept < len(self._held):
            self._cache.crop(kept - len(self._held))
        self._held = ids[:kept]
        options: dict[str, Any] = {}
        if self._focus and len(ids) > self.prompt_tokens:
            options["focus"] = self._focus
        used = self._focus.used if self._focus else 0
        model = self._model.model
        wanted = WEIGHTED if options else self._model.own
        if model.config._attn_implementation != wanted:
            model.set_attn_implementation(wanted)
        with torch.inference_mode():
            out = model(
                input_ids=torch.tensor([ids[kept:]], device=self._model.device),
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=len(ids) - start,
                **options,
            )
        self._held = list(ids)
        if self._focus and options and self._focus.used == used:
            raise UsageError(
                f"{type(model).__name__} hands no weights on to its attention",
                hint="choose a model of the Llama family",
            )
        return out.logits[0].float().log_softmax(-1)

    def _draw(self, row: Any) -> int:
        """A token by the call's sampling, from log probabilities."""
        import torch

        heat, top = self._sampling.temperature, self._sampling.top_p
        if not heat:
            return int(row.argmax())
        shares, order = (row.cpu() / heat).softmax(-1).sort(descending=True, stable=True)
        shares = shares.masked_fill(shares.cumsum(-1) - shares >= top, 0.0)
        return int(order[torch.multinomial(shares, 1, generator=self._generator)])


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two texts begin with alike."""
    differing = (place for place, (one, other) in enumerate(zip(left, right, strict=False)) if one != other)
    return next(differing, min(len(left), len(right)))


def _disarmed(mark: str) -> str:
    """A template's mark as harmless text of the same length."""
    plain = mark.translate(_DISARMED)
    return plain if plain != mark else "·" + mark[1:]


def _imported() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(f"the transformers backend needs torch and transformers: {error}", hint=_INSTALL) from None
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers
