"""Runs user-supplied entailment models with onnxruntime, or with transformers and torch.

Each gives one row of logits per text: of the labels, or of the answers "0" and "1" of an encoder-decoder.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from redargue.errors import UsageError
from redargue.llm.hf_model import import_torch
from redargue.nli.cache import Floats
from redargue.nli.onnx_file import HINT, OnnxFile
from redargue.nli.reader_spec import ReaderSpec
from redargue.nli.session import TextModel, onnx_inputs, read_tokenizer, threads_setting

_KEPT = 10_000  # rows of logits in memory
_PREFIX = "t5."  # of the names of HHEM's weights
_LOCAL = {"local_files_only": True, "trust_remote_code": False}  # nothing is downloaded, no code is executed


def open_model(spec: ReaderSpec, *, threads: int = 0) -> TextModel:
    """Loads the model.

    Raises:
        UsageError: its files do not fit; of damaged ones, the exceptions of the libraries.
        UsageError: it needs transformers and torch.
    """
    return OnnxModel(spec, threads=threads) if spec.runtime == "onnx" else TorchModel(spec)


class OnnxModel(TextModel):
    """A model in ``model.onnx``, or an encoder-decoder in ``encoder_model.onnx`` and ``decoder_model.onnx``."""

    def __init__(self, spec: ReaderSpec, *, threads: int = 0) -> None:
        if not (spec.folder / "tokenizer.json").is_file():
            raise UsageError(
                f"no file 'tokenizer.json' in {str(spec.folder)!r}", hint="save the model's fast tokenizer"
            )
        tokenizer = read_tokenizer(spec.folder, spec.longest)
        threads = threads or threads_setting() or os.cpu_count() or 1
        super().__init__(spec.name, tokenizer, sha256=lambda: spec.sha256, kept=_KEPT, threads=threads)
        self._start = spec.decoder_start
        self._answers = answer_tokens(tokenizer, spec) if spec.decoder_start is not None else []
        single = (spec.folder / "model.onnx").is_file()
        self._encoder = None if single else OnnxFile(spec.folder / "encoder_model.onnx")
        self._model = OnnxFile(spec.folder / ("model.onnx" if single else "decoder_model.onnx"))

    def _output(self, row: Any) -> Floats:
        inputs: dict[str, Any] = dict(onnx_inputs(row))
        if self._start is not None:
            inputs["decoder_input_ids"] = np.asarray([[self._start]], np.int64)
        if self._encoder is not None:
            inputs["encoder_hidden_states"] = self._encoder.run(inputs)
            inputs["encoder_attention_mask"] = inputs["attention_mask"]
            inputs["input_ids"] = inputs["decoder_input_ids"]
        return _row(self._model.run(inputs), self._answers)


class TorchModel(TextModel):
    """A model in safetensors; nothing is downloaded, and no code in its folder is executed."""

    def __init__(self, spec: ReaderSpec) -> None:
        self._torch, transformers = import_torch("a model in safetensors")
        loaded = _load_hhem(spec, transformers) if spec.foundation else _load(spec, transformers)
        self._device = "cuda" if self._torch.cuda.is_available() else "cpu"
        self._model = loaded.eval().to(self._device)
        fast = transformers.AutoTokenizer.from_pretrained(str(spec.foundation or spec.folder), **_LOCAL)
        if not getattr(fast, "is_fast", False):
            raise UsageError(f"{str(spec.folder)!r} has no fast tokenizer", hint="save its tokenizer.json")
        tokenizer = fast.backend_tokenizer
        tokenizer.enable_truncation(spec.longest)
        tokenizer.no_padding()
        super().__init__(spec.name, tokenizer, sha256=lambda: spec.sha256, kept=_KEPT, threads=1)  # torch has its own
        self._segments = "token_type_ids" in fast.model_input_names
        self._start = spec.decoder_start
        self._answers = answer_tokens(tokenizer, spec) if spec.decoder_start is not None else []

    def _output(self, row: Any) -> Floats:
        names = ["input_ids", "attention_mask", *(["token_type_ids"] if self._segments else [])]
        inputs = {name: self._torch.from_numpy(onnx_inputs(row)[name]).to(self._device) for name in names}
        if self._start is not None:
            inputs["decoder_input_ids"] = self._torch.tensor([[self._start]], device=self._device)
        with self._torch.inference_mode():
            logits = self._model(**inputs).logits
        return _row(logits.float().cpu().numpy(), self._answers)


def answer_tokens(tokenizer: Any, spec: ReaderSpec) -> list[int]:
    """The first tokens of the answers "0" and "1"; raises UsageError if the tokenizer does not tell them apart."""
    answers = [tokenizer.encode(text, add_special_tokens=False).ids[:1] for text in ("0", "1")]
    if not all(answers) or answers[0] == answers[1]:
        raise UsageError(f'the tokenizer in {str(spec.folder)!r} does not tell the answers "0" and "1" apart')
    return [ids[0] for ids in answers]


def _row(output: Any, answers: list[int]) -> Floats:
    """The logits of the first text (of its first token, where each token has some), or those of the answers."""
    while output.ndim > 1:
        output = output[0]
    if answers and max(answers) >= len(output):
        raise UsageError(f"the model gives {len(output)} numbers, not one for each token", hint=HINT)
    return np.asarray(output[answers] if answers else output, np.float32)


def _load(spec: ReaderSpec, transformers: Any) -> Any:
    generates = spec.decoder_start is not None
    loader = transformers.AutoModelForSeq2SeqLM if generates else transformers.AutoModelForSequenceClassification
    return loader.from_pretrained(str(spec.folder), dtype="float32", use_safetensors=True, **_LOCAL)


def _load_hhem(spec: ReaderSpec, transformers: Any) -> Any:
    """HHEM-2.1-Open without its own code: the encoder of flan-t5-base with a classifier of tokens."""
    from safetensors.torch import load_file

    spec = transformers.AutoConfig.from_pretrained(str(spec.foundation), num_labels=2, **_LOCAL)
    weights = load_file(str(spec.folder / "model.safetensors"))
    model = transformers.T5ForTokenClassification(spec)
    unprefixed = {name.removeprefix(_PREFIX): weight for name, weight in weights.items()}
    missing, unexpected = model.load_state_dict(unprefixed, strict=False)
    missing = [name for name in missing if not name.endswith("embed_tokens.weight")]  # tied to the shared embedding
    if missing or unexpected:
        raise UsageError(
            f"the weights in {str(spec.folder)!r} are not those of HHEM-2.1: {[*missing, *unexpected][:3]}",
            hint=f"is {str(spec.foundation)!r} the configuration of flan-t5-base?",
        )
    return model
