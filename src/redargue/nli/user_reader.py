"""A user-supplied entailment model in place of the bundled one (``redargue models add``).

It reads (claim, evidence) pairs in its own input form. Evidence that is longer than its input is
read in windows; the most decisive window counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from redargue.errors import UsageError
from redargue.llm.hf_model import import_torch
from redargue.nli.aggregation import WEIGHTS, Weights
from redargue.nli.model_files import OnnxFile
from redargue.nli.questions import EndpointModel, EndpointSpec
from redargue.nli.reader_spec import SEPARATORS, SERVE, ReaderSpec, files_sha256, model_input, windows, without_marks
from redargue.nli.session import Entailment, Floats, ModelText, TextModel, onnx_inputs, read_tokenizer
from redargue.sanitize import counted

# A model gives one row of logits per text: of its labels, or of the answers "0" and "1" of an encoder-decoder. Output
# of another shape is an error: a row that belongs to a token, or to the words of a vocabulary, is not a verdict.

_KEPT = 10_000  # rows of logits in memory
_LOCAL = {"local_files_only": True, "trust_remote_code": False}  # no download, no code


def open_model(spec: ReaderSpec) -> TextModel:
    """Loads the model.

    Raises:
        UsageError: its files are not those that were added, or do not fit; of damaged ones, the
            exceptions of the libraries.
        UsageError: it needs transformers and torch.
    """
    if spec.sha256 != files_sha256(spec):
        raise UsageError(
            f"the files of the reader {spec.name!r} have changed since it was added, or are gone",
            where=str(spec.folder),
            hint=f"add it again: redargue models add {spec.source} --as reader --name {spec.name}",
        )
    return OnnxModel(spec) if spec.runtime == "onnx" else TorchModel(spec)


class OnnxModel(TextModel):
    """``model.onnx``, or an encoder-decoder: ``encoder_model.onnx``, ``decoder_model.onnx``."""

    def __init__(self, spec: ReaderSpec) -> None:
        if not (spec.folder / "tokenizer.json").is_file():
            what = f"no file 'tokenizer.json' in {str(spec.folder)!r}"
            raise UsageError(what, hint="save the model's fast tokenizer")
        tokenizer = read_tokenizer(spec.folder, spec.longest)
        super().__init__(spec.name, tokenizer, sha256=lambda: spec.sha256, kept=_KEPT)
        self._spec = spec
        self._answers = answer_tokens(tokenizer, spec)
        single = (spec.folder / "model.onnx").is_file()
        self._encoder = None if single else OnnxFile(spec.folder / "encoder_model.onnx")
        self._model = OnnxFile(spec.folder / ("model.onnx" if single else "decoder_model.onnx"))

    def _output(self, row: Any) -> Floats:
        inputs: dict[str, Any] = dict(onnx_inputs(row))
        if self._spec.decoder_start is not None:
            inputs["decoder_input_ids"] = np.asarray([[self._spec.decoder_start]], np.int64)
        if self._encoder is not None:
            inputs["encoder_hidden_states"] = self._encoder.run(inputs)
            inputs["encoder_attention_mask"] = inputs["attention_mask"]
            inputs["input_ids"] = inputs["decoder_input_ids"]
        return verdict_logits(self._model.run(inputs), self._spec, row, self._answers)


class TorchModel(TextModel):
    """A model in safetensors; nothing is downloaded, and no code in its folder is executed."""

    def __init__(self, spec: ReaderSpec) -> None:
        self._torch, transformers = import_torch("a model in safetensors")
        load = _load_hhem if spec.foundation else _load
        self._device = "cuda" if self._torch.cuda.is_available() else "cpu"
        self._model = load(spec, transformers).eval().to(self._device)
        folder = str(spec.foundation or spec.folder)
        fast = transformers.AutoTokenizer.from_pretrained(folder, **_LOCAL)
        if not getattr(fast, "is_fast", False):
            raise UsageError(f"{str(spec.folder)!r} has no fast tokenizer", hint="save its tokenizer.json")
        tokenizer = fast.backend_tokenizer
        tokenizer.enable_truncation(spec.longest)
        tokenizer.no_padding()
        # one thread, because torch has its own
        super().__init__(spec.name, tokenizer, sha256=lambda: spec.sha256, kept=_KEPT, threads=1)
        self._spec = spec
        self._names = {"input_ids", "attention_mask", *fast.model_input_names}
        self._answers = answer_tokens(tokenizer, spec)

    def _output(self, row: Any) -> Floats:
        arrays = {name: array for name, array in onnx_inputs(row).items() if name in self._names}
        inputs = {name: self._torch.from_numpy(array).to(self._device) for name, array in arrays.items()}
        if self._spec.decoder_start is not None:
            start = [[self._spec.decoder_start]]
            inputs["decoder_input_ids"] = self._torch.tensor(start, device=self._device)
        with self._torch.inference_mode():
            logits = self._model(**inputs).logits
        return verdict_logits(logits.float().cpu().numpy(), self._spec, row, self._answers)


def answer_tokens(tokenizer: Any, spec: ReaderSpec) -> list[int]:
    """The first tokens of the answers "0" and "1" of an encoder-decoder; none of a classifier.

    Raises:
        UsageError: the tokenizer does not tell them apart.
    """
    if spec.decoder_start is None:
        return []
    answers = [tokenizer.encode(text, add_special_tokens=False).ids[:1] for text in ("0", "1")]
    if not all(answers) or answers[0] == answers[1]:
        raise UsageError(
            f'the tokenizer in {str(spec.folder)!r} does not distinguish the answers "0" and "1"',
            hint="save the tokenizer that the model was trained with",
        )
    return [ids[0] for ids in answers]


def verdict_logits(output: Any, spec: ReaderSpec, row: Any, answers: Sequence[int]) -> Floats:
    """The row of logits that is the verdict about one text.

    Of a classifier, its only row. Of an encoder-decoder, those of the two answers, as the first
    token that it would write. Of HHEM, the first token's. Of LettuceDetect's form, those of the
    claim's token that is most probably hallucinated: a claim is as supported as its least
    supported word.

    Args:
        output: of shape (1, labels), (1, tokens, labels) or (1, 1, vocabulary).
        row: the tokenised text.

    Raises:
        UsageError: the output has another shape.
    """
    shape, tokens = tuple(output.shape), len(row.ids)
    if answers:
        fits = len(shape) in (2, 3) and set(shape[:-1]) == {1} and shape[-1] > max(answers)
        verdict = output.reshape(-1)[list(answers)] if fits else None
    elif spec.form == "lettuce":
        claim = _second_text(row)
        fits = shape == (1, tokens, 2) and bool(claim)
        verdict = _least_supported(output[0][claim], spec) if fits else None
    elif spec.form == "hhem":
        fits = shape in ((1, tokens, 2), (1, 2))
        verdict = output.reshape(-1)[:2] if fits else None
    else:
        fits = (len(shape) == 2 and shape[0] == 1) or shape == (1,)
        verdict = output.reshape(-1) if fits else None
    if verdict is None:
        raise _shape_error(shape, spec, tokens)
    return np.asarray(verdict, np.float32)


def _second_text(row: Any) -> list[int]:
    """The places of the tokens of a pair's second text, without special ones."""
    if hasattr(row, "sequence_ids"):
        return [at for at, text in enumerate(row.sequence_ids) if text == 1]
    return [at for at, text in enumerate(row.type_ids) if text == 1][:-1]  # without the separator


def _least_supported(logits: Any, spec: ReaderSpec) -> Any:
    margins = logits[:, spec.outputs.index("supports")] * 2 - logits.sum(axis=1)
    return logits[int(np.argmin(margins))]


def _shape_error(shape: tuple[int, ...], spec: ReaderSpec, tokens: int) -> UsageError:
    wanted = f"(1, {tokens}, 2)" if spec.form in ("lettuce", "hhem") else f"(1, {len(spec.outputs)})"
    hint = "export it again with a classifier of pairs"
    if spec.decoder_start is not None:
        wanted, hint = "(1, 1, vocabulary)", "export the encoder-decoder with its language model head"
    elif len(shape) == 3 and shape[-1] > 3:
        hint = f"it writes text: {SERVE}"
    elif len(shape) == 3:
        hint = (
            "it classifies tokens; if they are supported (0) or hallucinated (1), as LettuceDetect's are: "
            "--input-form lettuce"
        )
    what = f"the model gives numbers of shape {shape} for a text of {tokens} tokens, not {wanted}"
    return UsageError(what, where=f"reader {spec.name!r}", hint=hint)


def _load(spec: ReaderSpec, transformers: Any) -> Any:
    loader = transformers.AutoModelForSequenceClassification
    if spec.decoder_start is not None:
        loader = transformers.AutoModelForSeq2SeqLM
    elif spec.form == "lettuce":
        loader = transformers.AutoModelForTokenClassification
    options = {"dtype": "float32", "use_safetensors": True, "output_loading_info": True}
    model, loaded = loader.from_pretrained(str(spec.folder), **options, **_LOCAL)
    if missing := sorted(loaded["missing_keys"]):  # they would be random numbers
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UsageError(
            f"the weights have no {missing[0]!r}{more}, which {type(model).__name__} needs",
            where=str(spec.folder),
            hint="it was not trained on entailment, or was saved as another kind of model",
        )
    return model


def _load_hhem(spec: ReaderSpec, transformers: Any) -> Any:
    """HHEM-2.1-Open without its own code: flan-t5-base's encoder with a classifier of tokens."""
    from safetensors.torch import load_file

    foundation = str(spec.foundation)
    config = transformers.AutoConfig.from_pretrained(foundation, num_labels=2, **_LOCAL)
    weights = load_file(str(spec.folder / "model.safetensors"))
    model = transformers.T5ForTokenClassification(config)
    unprefixed = {name.removeprefix("t5."): weight for name, weight in weights.items()}
    missing, unexpected = model.load_state_dict(unprefixed, strict=False)
    missing = [name for name in missing if not name.endswith("embed_tokens.weight")]  # tied to the shared embedding
    if missing or unexpected:
        raise UsageError(
            f"the weights in {str(spec.folder)!r} are not those of HHEM-2.1: {[*missing, *unexpected][:3]}",
            hint=f"is {foundation!r} the configuration of flan-t5-base?",
        )
    return model


MIN_EVIDENCE = 32  # tokens of evidence
AnySpec = ReaderSpec | EndpointSpec
_PLACE = {"name", "source", "folder", "foundation", "revision", "template", "key_variable"}


class UserReader:
    """Reads (claim, evidence) pairs with an added model.

    Args:
        weights: of the aggregation; fitted by ``redargue models fit``, else those of the bundled
            model.
        temperature: the logits are divided by it.
        model: replaces the one in the spec's folder; a reader at an endpoint has no other.

    Raises:
        UsageError: the files are not those that were added, or do not fit together.
    """

    def __init__(
        self,
        spec: AnySpec,
        *,
        weights: Weights = WEIGHTS,
        temperature: float = 1.0,
        model: TextModel | EndpointModel | None = None,
    ) -> None:
        self.spec, self.weights, self.temperature, self._model = spec, weights, temperature, model

    @property
    def at_endpoint(self) -> bool:
        """Whether reading sends requests."""
        return isinstance(self.spec, EndpointSpec)

    @property
    def uncalibrated(self) -> bool:
        """Whether it answers with words alone, and no weights were fitted to them."""
        words = isinstance(self.spec, EndpointSpec) and not self.spec.logprobs
        return words and self.weights == WEIGHTS

    @cached_property
    def sha256(self) -> str:
        """Identifies the model, the settings for reading with it, and the fitted weights."""
        settings = self.spec.model_dump(mode="json", exclude=_PLACE)  # how it is read
        identity = sorted(settings.items()), self.weights, self.temperature
        return hashlib.sha256(repr(identity).encode()).hexdigest()

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
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
        return [1 - entailment.neither for entailment in self.read(pairs)]

    @cached_property
    def model(self) -> TextModel | EndpointModel:
        if self._model is not None:
            return self._model
        if not isinstance(self.spec, ReaderSpec):
            what = f"the reader {self.spec.name!r} is at an endpoint, to which nothing is sent here"
            raise UsageError(what, hint="use it in a check, a batch or a grounding")
        return open_model(self.spec)

    def _input(self, evidence: str, claim: str) -> ModelText:
        generates = isinstance(self.spec, ReaderSpec) and self.spec.decoder_start is not None
        separator = next((mark for mark in SEPARATORS if mark in self.model.marks), "\n")
        return model_input(self.spec.form, evidence, claim, separator=separator, generates=generates)

    def _inputs(self, claim: str, evidence: str) -> list[ModelText]:
        marks = self.model.marks
        claim, evidence = without_marks(claim, marks), without_marks(evidence, marks)
        overhead = self.model.count(self._input("", claim))
        room = min(self.spec.window, self.spec.longest - overhead)
        if room < MIN_EVIDENCE:
            raise UsageError(
                f"a claim of some {overhead} tokens leaves no room for evidence",
                where=f"reader {self.spec.name!r}, which reads {self.spec.longest}",
                hint="split the text into claims first: redargue ground",
            )
        return [self._input(part, claim) for part in windows(evidence, room, self.model.count)]

    def _probabilities(self, row: Floats, temperature: float) -> Entailment:
        spec, logits = self.spec, row.astype(np.float64)
        where = f"reader {spec.name!r}"
        if not np.isfinite(logits).all():
            what = f"the model returns {', '.join(map(str, logits.tolist()))} for a pair"
            raise UsageError(what, where=where, hint="its numbers overflow: export it again in float32")
        one_logit = isinstance(spec, ReaderSpec) and spec.one_logit
        expected = 1 if one_logit else len(spec.outputs)
        if len(logits) != expected:
            labels = "one: support" if one_logit else ", ".join(spec.outputs)
            what = f"the model returns {counted(len(logits), 'number')} for a pair, and its labels are {labels}"
            raise UsageError(what, where=where, hint="add it again with the --labels of its outputs")
        if one_logit:  # of support against its absence
            logits = np.array([0.0, logits[0]])
        shares = np.exp((logits - logits.max()) / temperature)
        shares /= shares.sum()
        by_side = dict.fromkeys(Entailment._fields, 0.0)
        by_side |= dict(zip(spec.outputs, map(float, shares), strict=True))
        return Entailment(**by_side)


def _decisiveness(entailment: Entailment) -> tuple[float, float]:
    return 1 - entailment.neither, entailment.supports
