"""Attention scaling by confidence, after the softmax (Yoffe et al., "DebUnc", 2024).

While an agent generates, in every layer and head the attention to each other agent's text is multiplied by that agent's
weight, then all these texts together are rescaled to their previous total. The factor differs by layer, head and
position, so no mask added before the softmax can express it. Attention within the prompt is unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from redargue.llm.rendering import WeightedSpan

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
