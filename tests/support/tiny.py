"""A tiny Llama with random weights, written to a folder: two layers, four heads, a tokenizer of bytes and pairs.

``REDARGUE_TEST_TORCH=required`` makes what would be skipped without torch a failure.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

NO_TORCH = "needs torch and transformers: pip install torch, then pip install 'redargue[transformers]'"
TEMPLATE = (
    "{% for each in messages %}<|{{ each.role }}|>{{ each.content | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CONTROL = {chr(256 + byte) for byte in range(32) if byte != 10} | {chr(289)}  # as the alphabet spells these bytes
WORDS = "The lighthouse at Cape Ansel was first lit in 1871 and the claim is correct: it stands on a granite reef. "


def needs_torch() -> None:
    if os.environ.get("REDARGUE_TEST_TORCH") == "required":
        return
    pytest.importorskip("torch", reason=NO_TORCH)
    pytest.importorskip("transformers", reason=NO_TORCH)


@cache
def tiny_llama(folder: Path, *, template: str = TEMPLATE, longest: int = 16_384, family: str = "llama") -> Path:
    """A folder with the model, the same each time."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    marks = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=marks,
        initial_alphabet=[each for each in pre_tokenizers.ByteLevel.alphabet() if each not in CONTROL],
        show_progress=False,
    )
    made.train_from_iterator([WORDS] * 20, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=marks[0])
    tokenizer.add_special_tokens({"additional_special_tokens": marks[1:]})
    tokenizer.chat_template = template or None
    config = transformers.AutoConfig.for_model(
        family,
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=longest,
        initializer_range=0.4,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=None,
    )
    torch.set_num_threads(1)  # matrices this small gain nothing from more
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config)
    place = folder / f"{family}-{longest}-{len(template)}"
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place
