"""Attention scaled by confidence: after the softmax, with the mass of the weighted ranges kept.

Yoffe et al., "DebUnc" (2024): while an agent writes, in every layer and head, the attention to each other agent's text
is multiplied by that agent's weight, then all these texts together are scaled back to the attention they had. The
factor differs by layer, head and position, so that no mask added before the softmax can stand for it. Reading the
prompt is not touched.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from redargue.llm.rendering import WeightedSpan

WEIGHTED = "redargue-weighted"  # the name under which transformers knows this attention


class Focus:
    """What weights attention has in one call.

    Args:
        weights: of each token of the prompt: that of its range, 1 outside of ranges. Tensor (tokens,), float32.
        inside: 1 for each token in a range, else 0. Likewise.
    """

    def __init__(self, weights: Any, inside: Any) -> None:
        self.weights, self.inside = weights, inside
        self.prompt = len(weights)
        self.used = 0  # how often a layer asked

    def over(self, keys: int) -> tuple[Any, Any]:
        """Weights and ranges of so many tokens: what was written after the prompt is in no range."""
        more = keys - self.prompt
        return (
            (self.weights[:keys], self.inside[:keys])
            if more <= 0
            else (_padded(self.weights, more, 1.0), _padded(self.inside, more, 0.0))
        )


def _padded(row: Any, more: int, value: float) -> Any:
    import torch

    return torch.nn.functional.pad(row, (0, more), value=value)


def rescaled(attention: Any, weights: Any, inside: Any) -> Any:
    """Attention with the weights of the ranges, whose mass together stays what it was.

    Args:
        attention: after the softmax; tensor or array (..., tokens).
        weights: (tokens,), above 0.
        inside: (tokens,), 1 in a range, else 0.

    Returns:
        As ``attention``; what is in no range is as it was.
    """
    kept = (attention * inside).sum(-1)[..., None]
    raw = attention * inside * weights
    mass = raw.sum(-1)[..., None]
    none = mass == 0  # nothing looks at the ranges: there is nothing to scale
    return attention * (1 - inside) + raw * ((kept + none) / (mass + none))


class Tokens(NamedTuple):
    """Tokens of a text, and where each begins and ends in it, in characters."""

    ids: list[int]
    offsets: list[tuple[int, int]]


def focus(stretches: Sequence[WeightedSpan], tokens: Tokens, device: Any) -> Focus | None:
    """The weights of a prompt's tokens; None where they change nothing: one range, or equal weights.

    A token belongs to the first stretch that it shares a character with.

    Args:
        stretches: in the text that ``tokens`` are of.
        tokens: of the whole prompt.
        device: where the model is.
    """
    import torch

    if len({stretch.weight for stretch in stretches}) < 2:
        return None
    most = max(stretch.weight for stretch in stretches)  # only proportions count; this keeps them in range
    weights, inside = torch.ones(len(tokens.ids)), torch.zeros(len(tokens.ids))
    for place, (start, end) in enumerate(tokens.offsets):
        found = next((each for each in stretches if max(start, each.start) < min(end, each.end)), None)
        if found:
            weights[place], inside[place] = found.weight / most, 1.0
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
    """A model's own plain attention, with the weights of ``focus`` in the rows of what is being written.

    Args:
        module: the layer's attention.
        query: (batch, heads, rows, size); the rows are the last of the keys' positions.
        key: (batch, heads or fewer, keys, size): nothing of the cache was dropped.
        value: likewise.
        attention_mask: added before the softmax.
        focus: None for no weights.
        options: of the model's own function.

    Returns:
        Output (batch, rows, heads, size) and attention (batch, heads, rows, keys).
    """
    import torch

    plain = plain_attention(module)
    output, attention = plain(module, query, key, value, attention_mask, **options)
    if focus is None:
        return output, attention
    focus.used += 1
    rows, keys = attention.shape[-2:]
    read = max(0, focus.prompt - (keys - rows))  # rows that are the prompt's
    if read >= rows:
        return output, attention
    exact = attention[..., read:, :].to(torch.promote_types(attention.dtype, torch.float32))
    changed = rescaled(exact, *focus.over(keys)).to(attention.dtype)
    values = value.repeat_interleave(attention.shape[1] // value.shape[1], dim=1)
    attention, output = attention.clone(), output.clone()
    attention[..., read:, :] = changed
    output[:, read:] = (changed @ values).transpose(1, 2)
    return output, attention


def plain_attention(module: Any) -> Any:
    """The function that computes a layer's attention in plain steps; None where its model has none."""
    return getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)


def register() -> None:
    """Makes this attention known to transformers, with masks like plain attention's: without one it is not causal."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(WEIGHTED, weighted_attention)
    AttentionMaskInterface.register(WEIGHTED, eager_mask)
