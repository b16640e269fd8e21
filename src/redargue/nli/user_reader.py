"""A user-supplied entailment model in place of the bundled cross-encoder (``redargue models add``).

It reads (claim, evidence) pairs in its own input form. Evidence that is longer than its input is read in windows; the
most decisive window counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from redargue.errors import UsageError
from redargue.llm.hf_model import import_torch
from redargue.nli.aggregation import WEIGHTS, Weights
from redargue.nli.encoders import Entailment
from redargue.nli.model_files import HINT, OnnxFile
from redargue.nli.reader_spec import (
    SEPARATORS,
    ReaderSpec,
    files_sha256,
    model_input,
    special_tokens,
    windows,
    without_marks,
)
from redargue.nli.session import Floats, ModelText, TextModel, onnx_inputs, read_tokenizer, threads_setting

# Runs user-supplied entailment models with onnxruntime, or with transformers and torch.
#
# Each gives one row of logits per text: of the labels, or of the answers "0" and "1" of an
# encoder-decoder.


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

    config = transformers.AutoConfig.from_pretrained(str(spec.foundation), num_labels=2, **_LOCAL)
    weights = load_file(str(spec.folder / "model.safetensors"))
    model = transformers.T5ForTokenClassification(config)
    unprefixed = {name.removeprefix(_PREFIX): weight for name, weight in weights.items()}
    missing, unexpected = model.load_state_dict(unprefixed, strict=False)
    missing = [name for name in missing if not name.endswith("embed_tokens.weight")]  # tied to the shared embedding
    if missing or unexpected:
        raise UsageError(
            f"the weights in {str(spec.folder)!r} are not those of HHEM-2.1: {[*missing, *unexpected][:3]}",
            hint=f"is {str(spec.foundation)!r} the configuration of flan-t5-base?",
        )
    return model


MIN_EVIDENCE = 32  # tokens of evidence


class UserReader:
    """Reads (claim, evidence) pairs with an added model.

    Args:
        weights: of the aggregation; fitted by ``redargue models fit``, else those of the bundled model.
        temperature: the logits are divided by it.
        model: replaces the one in the spec's folder.

    Raises:
        UsageError: the files are not those that were added, or do not fit together.
    """

    def __init__(
        self,
        spec: ReaderSpec,
        *,
        weights: Weights = WEIGHTS,
        temperature: float = 1.0,
        threads: int = 0,
        model: TextModel | None = None,
    ) -> None:
        self.spec, self.weights, self.temperature, self._threads = spec, weights, temperature, threads
        self._model = model

    @cached_property
    def sha256(self) -> str:
        """Identifies the files, the settings for reading them, and the fitted weights."""
        settings = self.spec.model_dump(mode="json", exclude={"name", "source", "folder", "foundation", "revision"})
        return hashlib.sha256(repr((sorted(settings.items()), self.weights, self.temperature)).encode()).hexdigest()

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """One result per pair, in order; each window is read alone, so results do not depend on their neighbours."""
        return [self.entailment(rows, self.temperature) for rows in self.logits(pairs)]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> list[list[Floats]]:
        """For each pair the logits of its windows."""
        inputs = [self._inputs(claim, evidence) for claim, evidence in pairs]
        rows = iter(self.model.run([text for texts in inputs for text in texts]))
        return [[next(rows) for _ in texts] for texts in inputs]

    def entailment(self, windows: Sequence[Floats], temperature: float) -> Entailment:
        """The probabilities of the most decisive window."""
        return max((self._probabilities(row, temperature) for row in windows), key=_decisiveness)

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability that each text decides the claim either way, in [0, 1]."""
        return [1 - entailment.neither for entailment in self.read(pairs)]

    @cached_property
    def model(self) -> TextModel:
        if self._model is not None:
            return self._model
        spec = self.spec
        if spec.sha256 != files_sha256(spec):
            raise UsageError(
                f"the files of the reader {spec.name!r} have changed since it was added, or are gone",
                where=str(spec.folder),
                hint=f"add it again: redargue models add {spec.source} --as reader --name {spec.name}",
            )
        return open_model(spec, threads=self._threads)

    @cached_property
    def _marks(self) -> tuple[str, ...]:
        return special_tokens(self.model.tokenizer)

    @cached_property
    def _separator(self) -> str:
        return next((mark for mark in SEPARATORS if mark in self._marks), "\n")

    def _inputs(self, claim: str, evidence: str) -> list[ModelText]:
        claim, evidence = without_marks(claim, self._marks), without_marks(evidence, self._marks)
        overhead = self._tokens(model_input(self.spec, "", claim, self._separator))
        room = min(self.spec.window, self.spec.longest - overhead)
        if room < MIN_EVIDENCE:
            raise UsageError(
                f"a claim of some {overhead} tokens leaves no room for evidence",
                where=f"reader {self.spec.name!r}, which reads {self.spec.longest}",
                hint="split the text into claims first: redargue ground",
            )
        parts = windows(evidence, room, self._tokens)
        return [model_input(self.spec, part, claim, self._separator) for part in parts]

    def _tokens(self, text: ModelText) -> int:
        return len(self.model.tokenizer.encode(*([text] if isinstance(text, str) else text)).ids)

    def _probabilities(self, row: Floats, temperature: float) -> Entailment:
        logits = row.astype(np.float64)
        if len(logits) == 1:  # the logit of support against its absence
            logits = np.array([0.0, logits[0]])
        if len(logits) != len(self.spec.outputs) or not np.isfinite(logits).all():
            raise UsageError(
                f"the model returns {logits.tolist()} for a pair, but its labels are {', '.join(self.spec.outputs)}",
                where=f"reader {self.spec.name!r}",
                hint="add it again with --labels, or export it again in another precision",
            )
        shares = np.exp((logits - logits.max()) / temperature)
        by_side = dict.fromkeys(Entailment._fields, 0.0) | dict(
            zip(self.spec.outputs, map(float, shares / shares.sum()), strict=True)
        )
        return Entailment(**by_side)


def _decisiveness(entailment: Entailment) -> tuple[float, float]:
    return 1 - entailment.neither, entailment.supports
