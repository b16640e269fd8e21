"""How a user-supplied entailment model is read: its files, input form, outputs and length.

Everything is read from the model's ``config.json`` when it is added, and can be given instead where that file does not
say it. A model that would be misread is refused. Code in the folder is never executed. The input forms:

- ``pair``: evidence and claim are the two texts of a pair (models trained on NLI data sets).
- ``minicheck``: evidence, the separator and the claim are one text, which begins with
  "predict: " for the encoder-decoder (Tang et al., "MiniCheck", EMNLP 2024, arXiv 2404.10774,
  and the released program).
- ``hhem``: the prompt of Vectara's HHEM-2.1-Open (its ``config.json``).
- ``lettuce``: a pair of the released program's prompt for a text without a question, and the
  claim; each token of the claim is classified (Kovács and Recski, "LettuceDetect",
  arXiv 2502.17125).
- ``question``: a question to a language model at an endpoint (:mod:`redargue.nli.questions`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import Field

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.files import sha256_of
from redargue.nli.reader import sentences
from redargue.nli.session import ModelText
from redargue.registry import did_you_mean

OutputSide = Literal["supports", "refutes", "neither"]

PREFIXES: dict[OutputSide, tuple[str, ...]] = {
    "supports": ("entail", "support", "consistent"),
    "refutes": ("contradict", "refute"),
    "neither": ("neutral", "not", "non", "un", "inconsistent", "hallucinat", "nei"),
}
UNNAMED = re.compile(r"label[ _-]?\d+|\d+", re.IGNORECASE)
_ORDER = "give them in the order of the outputs: --labels entailment,neutral,contradiction"


def side_named(name: str) -> OutputSide | None:
    """The meaning of a label name, such as "SUPPORTS" or "not_entailment"; None if it says none."""
    plain = name.strip().lower()
    return next((side for side, prefixes in PREFIXES.items() if plain.startswith(prefixes)), None)


def sides(names: Sequence[str], not_supported: OutputSide = "neither", where: str = "") -> tuple[OutputSide, ...]:
    """The meanings of a model's outputs by their label names.

    Of two outputs, the one that is not support has the meaning that its name says, else
    ``not_supported``.

    Raises:
        UsageError: not exactly one output is support, or three names do not identify three
            meanings.
    """
    shown = ", ".join(map(repr, names[:6])) or "(none)"
    if len(names) > 3:
        raise UsageError(
            f"the model has {len(names)} outputs ({shown}{', …' if len(names) > 6 else ''}), "
            "and a reader has at most three",
            where=where,
            hint="choose a model whose labels are support, refutation and neither",
        )
    if names and all(UNNAMED.fullmatch(name.strip()) for name in names):
        hint = f"the model's card says what they mean; {_ORDER}"
        raise UsageError(f"the label names {shown} do not identify the outputs", where=where, hint=hint)
    known = [side_named(name) for name in names]
    if len(names) == 2 and known.count("supports") == 1:
        known = [side if side in ("supports", "refutes") else not_supported for side in known]
    found = tuple(side for side in known if side is not None)
    if len(names) not in (2, 3) or len(set(found)) < len(names) or "supports" not in found:
        raise UsageError(f"the label names {shown} do not identify the outputs", where=where, hint=_ORDER)
    return found


FolderForm = Literal["pair", "minicheck", "hhem", "lettuce"]
InputForm = Literal[FolderForm, "question"]

SEPARATORS = ("</s>", "[SEP]")
HHEM = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"
LETTUCE = "\nSummarize the following text:\npassage 1: {}\noutput:\n"


def form_named(name: str) -> FolderForm | None:
    """The input form of this name, None for ``auto``; raises UsageError for another name."""
    if name == "auto":
        return None
    if name not in get_args(FolderForm):
        hint = did_you_mean(name, ["auto", *get_args(FolderForm)])
        raise UsageError(f"unknown input form {name!r}", where="--input-form", hint=hint)
    return cast(FolderForm, name)


def model_input(
    form: InputForm, evidence: str, claim: str, *, separator: str = "", generates: bool = False
) -> ModelText:
    """The text or pair of texts that a model reads; ``generates``: an encoder-decoder."""
    match form:
        case "minicheck":
            return f"{'predict: ' if generates else ''}{evidence}{separator}{claim}"
        case "hhem":
            return HHEM.format(evidence, claim)
        case "lettuce":
            return LETTUCE.format(evidence), claim
        case _:
            return evidence, claim


def without_marks(text: str, marks: Sequence[str]) -> str:
    """The text without a model's special tokens: evidence must not end itself and begin a claim."""
    return re.sub("|".join(map(re.escape, marks)), " ", text) if marks else text


def windows(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    """The text in parts of at most ``room`` tokens: whole sentences.

    Each part repeats the last sentence before it. A sentence that is too long itself is divided
    at a space.
    """
    if count(text) <= room:
        return [text]
    out, current = list[str](), list[str]()
    for part in chain.from_iterable(_pieces(sentence, room, count) for sentence in sentences(text) or (text,)):
        if current and count(" ".join([*current, part])) > room:
            out.append(" ".join(current))
            current = current[-1:] if count(f"{current[-1]} {part}") <= room else []
        current.append(part)
    return [*out, " ".join(current)]


def _pieces(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    if len(text) < 2 or count(text) <= room:
        return [text]
    middle = len(text) // 2
    space = text.find(" ", middle)
    at = space if space > 0 and space < len(text) - 1 else middle
    return [*_pieces(text[:at].strip(), room, count), *_pieces(text[at:].strip(), room, count)]


Runtime = Literal["onnx", "transformers"]

NEEDED: dict[Runtime, tuple[tuple[str, ...], ...]] = {
    "onnx": (("model.onnx",), ("encoder_model.onnx", "decoder_model.onnx")),
    "transformers": (("model.safetensors",), ("model.safetensors.index.json",)),
}
WEIGHT_FILES: dict[Runtime, tuple[str, ...]] = {
    "onnx": ("*.onnx", "*.onnx_data", "*.onnx.data"),
    "transformers": ("*.safetensors", "*.safetensors.index.json"),
}
FILES = (  # configuration and tokenizer
    "config.json",
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "spm.model"),
    "sentencepiece.bpe.model",
)
_LEAST = 64  # tokens of an input
_LONGEST = 512  # where the model names no limit
LONGEST_RELATIVE = 2048  # without absolute positions, as MiniCheck's authors read it
LONGEST_LETTUCE = 4096  # as its authors' program reads it
MINICHECK_WINDOW, MINICHECK_T5_WINDOW = 400, 500  # tokens that its authors read as one text
_UNLIMITED = 10**6  # what tokenizers without a limit name as theirs is beyond this
_OFFSET = ("roberta", "xlm-roberta", "camembert", "mpnet")  # positions begin after padding's id
_RELATIVE = ("t5", "mt5", "umt5", "hhemv2config")  # without absolute positions
_GENERATIVE = ("CausalLM", "LMHeadModel")
_OTHER_HEADS = ("MaskedLM", "QuestionAnswering", "MultipleChoice", "PreTraining")
SERVE = (
    "serve it with vLLM, Ollama or llama.cpp, and add the endpoint: redargue models add "
    "http://…/v1 --as reader --template NAME --model NAME"
)


class ReaderSpec(Frozen):
    """How an added model is read (``reader.json``).

    Attributes:
        source: the folder or the name on a hub that the user gave.
        outputs: the meaning of each output; two for a model with one output, whose logit is the
            second.
        one_logit: the model has one output.
        longest: tokens of an input, including special ones.
        window: tokens of evidence that are read as one text.
        decoder_start: the first decoder token of an encoder-decoder, which answers "0" or "1";
            None for a classifier.
        foundation: the folder of HHEM's configuration and tokenizer, which are those of
            flan-t5-base.
        sha256: of all files that are read.
    """

    name: str
    source: str
    folder: Path
    revision: str = ""
    runtime: Runtime
    form: FolderForm
    outputs: tuple[OutputSide, ...] = Field(min_length=2, max_length=3)
    one_logit: bool = False
    longest: int = Field(ge=_LEAST)
    window: int = Field(ge=32)
    decoder_start: int | None = None
    foundation: Path | None = None
    sha256: str = ""


class ReaderChoices(Frozen):
    """What the user says of a model that its files do not say.

    Empty values are read from ``config.json``.
    """

    form: FolderForm | None = None
    outputs: tuple[str, ...] = ()
    longest: int | None = None
    not_supported: Literal["neither", "refutes"] = "neither"


def read_spec(name: str, source: str, folder: Path, choices: ReaderChoices | None = None) -> ReaderSpec:
    """The spec of the model in a folder.

    Raises:
        UsageError: a file is missing, does not say how to read the model, or says that it is not
            a model of this kind.
    """
    choices = choices or ReaderChoices()
    runtime, config = _runtime(folder), _json(folder / "config.json")
    if not isinstance(config, dict):
        what = f"{str(folder / 'config.json')!r} is not a model's configuration"
        raise UsageError(f"{what}: {str(config)[:60]!r}")
    where = str(folder / "config.json")
    form = choices.form or _form(config, source)
    decoder_start = _decoder_start(config, folder)
    _require_verdicts(config, form, where, generates=decoder_start is not None)
    outputs, one_logit = _outputs(config, form, choices, where, generates=decoder_start is not None)
    return ReaderSpec(
        name=name,
        source=source,
        folder=folder,
        runtime=runtime,
        form=form,
        outputs=outputs,
        one_logit=one_logit,
        longest=_longest(config, folder, form, choices.longest),
        window=_window(form, decoder_start),
        decoder_start=decoder_start,
    )


def files_sha256(spec: ReaderSpec) -> str:
    """One hash of all files that the model is read from; a missing one changes it."""
    paths = read_files(spec.folder, spec.runtime)
    paths += read_files(spec.foundation) if spec.foundation else []
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.name} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def read_files(folder: Path, runtime: Runtime | None = None) -> list[Path]:
    """The files of a folder that are read: configuration, tokenizer, and the runtime's weights."""
    patterns = (*(WEIGHT_FILES[runtime] if runtime else ()), *FILES)
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def _runtime(folder: Path) -> Runtime:
    if not folder.is_dir():
        raise UsageError(f"no folder {str(folder)!r}", hint="name a folder, or a model on a hub as OWNER/NAME")
    for runtime, alternatives in NEEDED.items():
        if any(all((folder / name).is_file() for name in names) for names in alternatives):
            return runtime
    raise UsageError(
        f"no model in {str(folder)!r}",
        hint="it needs model.onnx, or encoder_model.onnx and decoder_model.onnx, or "
        "model.safetensors; weights in pytorch_model.bin can execute code when they are loaded "
        "and are not read: convert them to safetensors",
    )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}") from None


def _architectures(config: dict[str, object]) -> str:
    names = config.get("architectures") or ()
    return " ".join(map(str, names if isinstance(names, list) else [names]))


def _form(config: dict[str, object], source: str) -> FolderForm:
    if "hhemv2" in f"{config.get('model_type')} {_architectures(config)}".lower():
        return "hhem"
    own_name = source.rstrip("/").rpartition("/")[2]
    names = f"{own_name} {config.get('_name_or_path', '')}".lower()
    if "lettuce" in names:
        return "lettuce"
    return "minicheck" if "minicheck" in names else "pair"


def _require_verdicts(config: dict[str, object], form: FolderForm, where: str, *, generates: bool) -> None:
    """Raises UsageError for a model that gives no verdict about a pair of texts."""
    kind = _architectures(config)
    by_token = "TokenClassification" in kind
    if any(name in kind for name in _GENERATIVE):
        raise UsageError(f"{kind!r} is a generative model", where=where, hint=SERVE)
    if by_token and form not in ("lettuce", "hhem"):
        hint = "if its tokens are supported (0) or hallucinated (1), as LettuceDetect's are: --input-form lettuce"
        raise UsageError(f"{kind!r} classifies each token, not a pair of texts", where=where, hint=hint)
    if form == "lettuce" and kind and not by_token:
        what = f"{kind!r} does not classify tokens, as the input form 'lettuce' needs"
        raise UsageError(what, where=where, hint="choose another --input-form")
    if kind.endswith("Model") or any(name in kind for name in _OTHER_HEADS):
        hint = "choose a model that was trained on entailment, such as one that redargue models get lists"
        raise UsageError(f"{kind!r} has no classifier of pairs", where=where, hint=hint)
    if generates and form != "minicheck":
        what = f"{kind or 'an encoder-decoder'!r} answers a prompt, which its files do not say"
        hint = 'if it answers "0" or "1" to MiniCheck\'s input: --input-form minicheck'
        raise UsageError(what, where=where, hint=hint)


def _outputs(
    config: dict[str, Any], form: FolderForm, choices: ReaderChoices, where: str, *, generates: bool
) -> tuple[tuple[OutputSide, ...], bool]:
    """The meanings of the outputs, and whether there is only one."""
    negative = choices.not_supported
    names = _label_names(config, where)
    given = choices.outputs
    if given and len(names) > 3:
        sides(names, where=where)  # what --labels says cannot be so
    if given and names and len(given) != len(names) and not generates:
        raise UsageError(
            f"{len(given)} labels ({', '.join(given)}) for a model with {len(names)} outputs",
            where="--labels",
            hint=f"name as many as id2label in {where}: {', '.join(names)}",
        )
    if len(given or names) == 1 and not generates:
        if side_named(only := (given or names)[0]) != "supports":  # rerankers have one output, too
            raise UsageError(
                f"the model has one output, {only!r}, as rerankers have, whose score is not support",
                where="--labels" if given else where,
                hint="if it is the logit of support: --labels supported; a reranker that needs a prompt "
                "is read at an endpoint: --template qwen3-reranker",
            )
        return (negative, "supports"), True
    if given:
        return sides(given, negative, "--labels"), False
    if form == "lettuce":
        return ("supports", negative), False  # 0: supported, 1: hallucinated
    if generates or form in ("minicheck", "hhem"):
        return (negative, "supports"), False  # answers "0" and "1", or MiniCheck's unnamed outputs
    return sides(names, negative, where), False


def _label_names(config: dict[str, Any], where: str) -> tuple[str, ...]:
    names = config.get("id2label") or {}
    try:
        return tuple(str(names[str(index)]) for index in range(len(names)))
    except (KeyError, TypeError) as error:
        raise UsageError(f"id2label does not name the model's outputs: {error!r}", where=where) from None


def _decoder_start(config: dict[str, object], folder: Path) -> int | None:
    generates = "ConditionalGeneration" in _architectures(config)
    if not generates and not (folder / "decoder_model.onnx").is_file():
        return None
    start = config.get("decoder_start_token_id", config.get("pad_token_id"))
    if not isinstance(start, int):
        what = f"decoder_start_token_id is {start!r}, and an encoder-decoder needs a token"
        raise UsageError(what, where=str(folder / "config.json"))
    return start


def _window(form: FolderForm, decoder_start: int | None) -> int:
    if form == "lettuce":
        return LONGEST_LETTUCE
    if form != "minicheck":
        return LONGEST_RELATIVE
    return MINICHECK_WINDOW if decoder_start is None else MINICHECK_T5_WINDOW


def _longest(config: dict[str, object], folder: Path, form: FolderForm, chosen: int | None) -> int:
    """Tokens of an input: what the user chose, or the lower of the model's own limits."""
    relative = str(config.get("model_type", "")).lower() in _RELATIVE
    limit = None if relative else _positions(config, str(folder / "config.json"))
    if chosen:
        if limit and chosen > limit and config.get("position_biased_input") is not False:
            what = f"{chosen} tokens are more than the model's {limit} positions"
            raise UsageError(what, where="--longest", hint=f"at most {limit}, as {folder / 'config.json'} says")
        return chosen
    if relative:
        return LONGEST_RELATIVE
    named = _json(folder / "tokenizer_config.json")
    tokens = named.get("model_max_length") if isinstance(named, dict) else None
    limits = [limit] if limit else []
    if isinstance(tokens, int) and _LEAST <= tokens < _UNLIMITED:
        limits.append(tokens)
    limits = limits or [_LONGEST]
    return min(*limits, LONGEST_LETTUCE) if form == "lettuce" else min(limits)


def _positions(config: dict[str, Any], where: str) -> int | None:
    """The tokens that a model with absolute positions reads; None if it names no limit."""
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int):
        return None
    if config.get("model_type") in _OFFSET:
        positions -= int(config.get("pad_token_id") or 0) + 1
    if positions < _LEAST:
        what = f"the model reads {positions} tokens, too few for a claim and evidence"
        raise UsageError(what, where=where, hint=f"choose a model that reads at least {_LEAST}")
    return positions
