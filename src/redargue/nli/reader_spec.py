"""How a user-supplied entailment model is read: its files, input form, outputs and length.

Everything is read from the model's ``config.json`` when it is added, and can be given instead where that file does not
say it. Code in the folder is never executed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import Field

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.nli.reader import sentences
from redargue.nli.session import ModelText
from redargue.registry import did_you_mean

# The input forms of entailment models, and the windows in which longer evidence is read.
#
# - ``pair``: evidence and claim are the two texts of a pair (models trained on NLI data sets).
# - ``minicheck``: evidence, the separator and the claim are one text, which begins with
# "predict: " for the encoder-decoder (Tang et al., "MiniCheck", EMNLP 2024, arXiv 2404.10774,
# and the released program). - ``hhem``: the prompt of Vectara's HHEM-2.1-Open (its
# ``config.json``).


SEPARATORS = ("</s>", "[SEP]")
HHEM = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"


def model_input(spec: ReaderSpec, evidence: str, claim: str, separator: str) -> ModelText:
    """The text or pair of texts that the model reads."""
    if spec.form == "minicheck":
        return f"{'predict: ' if spec.decoder_start is not None else ''}{evidence}{separator}{claim}"
    return HHEM.format(evidence, claim) if spec.form == "hhem" else (evidence, claim)


def special_tokens(tokenizer: Any) -> tuple[str, ...]:
    """The special tokens of a tokenizer, longest first."""
    if hasattr(tokenizer, "special"):
        names = list(tokenizer.special)
    else:
        names = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
    return tuple(sorted(names, key=len, reverse=True))


def without_marks(text: str, marks: Sequence[str]) -> str:
    """The text without a model's special tokens: evidence must not be able to end itself and begin a claim."""
    return re.sub("|".join(map(re.escape, marks)), " ", text) if marks else text


def windows(text: str, room: int, count: Callable[[str], int]) -> list[str]:
    """The text in parts of at most ``room`` tokens: whole sentences; each part repeats the last sentence before it.

    A sentence that is too long itself is divided at a space.
    """
    if count(text) <= room:
        return [text]
    parts = [piece for sentence in sentences(text) or (text,) for piece in _pieces(sentence, room, count)]
    out, current = list[str](), list[str]()
    for part in parts:
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


OutputSide = Literal["supports", "refutes", "neither"]
InputForm = Literal["pair", "minicheck", "hhem"]
Runtime = Literal["onnx", "transformers"]

PREFIXES: dict[OutputSide, tuple[str, ...]] = {  # of label names
    "supports": ("entail", "support", "consistent"),
    "refutes": ("contradict", "refute"),
    "neither": ("neutral", "not", "non", "un", "inconsistent", "hallucinat", "nei"),
}
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
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model"),
)
LONGEST, LONGEST_RELATIVE = 512, 2048  # tokens of an input; without absolute positions, as MiniCheck's authors read it
MINICHECK_WINDOW, MINICHECK_T5_WINDOW = 400, 500  # tokens of evidence that its authors read as one text
_OFFSET = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})  # positions begin after the padding token's id


class ReaderSpec(Frozen):
    """How an added model is read (``reader.json``).

    Attributes:
        source: the folder or the name on a hub that the user gave.
        outputs: the meaning of each output; two for a model with one output, whose logit is the second.
        longest: tokens of an input, including special ones.
        window: tokens of evidence that are read as one text.
        decoder_start: the first decoder token of an encoder-decoder, which answers "0" or "1"; None for a classifier.
        foundation: the folder of HHEM's configuration and tokenizer, which are those of flan-t5-base.
        sha256: of all files that are read.
    """

    name: str
    source: str
    folder: Path
    revision: str = ""
    runtime: Runtime
    form: InputForm
    outputs: tuple[OutputSide, ...] = Field(min_length=2, max_length=3)
    longest: int = Field(ge=64)
    window: int = Field(ge=32)
    decoder_start: int | None = None
    foundation: Path | None = None
    sha256: str = ""


class ReaderChoices(Frozen):
    """What the user says of a model that its files do not say; empty values are read from ``config.json``."""

    form: InputForm | None = None
    outputs: tuple[str, ...] = ()
    longest: int | None = None
    not_supported: Literal["neither", "refutes"] = "neither"


def read_spec(name: str, source: str, folder: Path, choices: ReaderChoices | None = None) -> ReaderSpec:
    """The spec of the model in a folder; raises UsageError if a file is missing or does not say how to read it."""
    choices = choices or ReaderChoices()
    runtime, config = _runtime(folder), _config(folder)
    form = choices.form or _form(config, source)
    decoder_start = _decoder_start(config, folder)
    outputs = _outputs(config, form, choices, decoder_start, str(folder / "config.json"))
    return ReaderSpec(
        name=name,
        source=source,
        folder=folder,
        runtime=runtime,
        form=form,
        outputs=outputs,
        longest=choices.longest or _longest(config),
        window=_window(form, decoder_start),
        decoder_start=decoder_start,
    )


def sides(names: Sequence[str], not_supported: OutputSide = "neither", where: str = "") -> tuple[OutputSide, ...]:
    """The meanings of a model's outputs by their label names.

    Of two outputs, the one that is not support has the meaning that its name says, else ``not_supported``.

    Raises:
        UsageError: not exactly one output is support, or three names do not identify three meanings.
    """
    known = [side_named(name) for name in names]
    if len(names) == 2 and known.count("supports") == 1:
        other = next(side for side in known if side != "supports")
        negative: OutputSide = "refutes" if other == "refutes" else not_supported
        known = ["supports" if side == "supports" else negative for side in known]
    if len(names) not in (2, 3) or None in known or len(set(known)) != len(known) or "supports" not in known:
        raise UsageError(
            f"the label names {', '.join(map(repr, names)) or '(none)'} do not identify the outputs",
            where=where,
            hint="give them in the order of the outputs: --labels entailment,neutral,contradiction",
        )
    return tuple(side for side in known if side is not None)


def files_sha256(spec: ReaderSpec) -> str:
    """One hash of all files that the model is read from; a missing one changes it."""
    digest = hashlib.sha256()
    for folder, patterns in ((spec.folder, (*WEIGHT_FILES[spec.runtime], *FILES)), (spec.foundation, FILES)):
        for path in sorted({path for pattern in patterns for path in folder.glob(pattern)} if folder else ()):
            with path.open("rb") as file:
                digest.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def form_named(name: str) -> InputForm | None:
    """The input form of this name, None for ``auto``; raises UsageError for another name."""
    if name == "auto":
        return None
    if name not in get_args(InputForm):
        hint = did_you_mean(name, ["auto", *get_args(InputForm)])
        raise UsageError(f"unknown input form {name!r}", where="--input-form", hint=hint)
    return cast(InputForm, name)


def _runtime(folder: Path) -> Runtime:
    if not folder.is_dir():
        raise UsageError(f"no folder {str(folder)!r}", hint="name a folder, or a model on a hub as OWNER/NAME")
    for runtime, alternatives in NEEDED.items():
        if any(all((folder / name).is_file() for name in names) for names in alternatives):
            return runtime
    raise UsageError(
        f"no model in {str(folder)!r}",
        hint="it needs model.onnx, or encoder_model.onnx and decoder_model.onnx, or model.safetensors; weights in "
        "pytorch_model.bin can execute code when they are loaded and are not read: convert them to safetensors",
    )


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise UsageError(f"{str(path)!r} is not a model's configuration: {str(config)[:60]!r}")
    return config


def _form(config: dict[str, Any], source: str) -> InputForm:
    if "hhemv2" in f"{config.get('model_type')} {config.get('architectures')}".lower():
        return "hhem"
    names = f"{source.rstrip('/').rpartition('/')[2]} {config.get('_name_or_path', '')}".lower()
    return "minicheck" if "minicheck" in names else "pair"


def _outputs(
    config: dict[str, Any], form: InputForm, choices: ReaderChoices, decoder_start: int | None, where: str
) -> tuple[OutputSide, ...]:
    negative = choices.not_supported
    if choices.outputs:
        return sides(choices.outputs, negative, "--labels")
    names = _label_names(config, where)
    if decoder_start is not None or len(names) == 1 or form in ("minicheck", "hhem"):
        return (negative, "supports")  # the answers "0" and "1", one logit, or MiniCheck's unnamed outputs
    return sides(names, negative, where)


def _label_names(config: dict[str, Any], where: str) -> tuple[str, ...]:
    names = config.get("id2label") or {}
    try:
        return tuple(str(names[str(index)]) for index in range(len(names)))
    except (KeyError, TypeError) as error:
        raise UsageError(f"id2label does not name the model's outputs: {error!r}", where=where) from None


def side_named(name: str) -> OutputSide | None:
    """The meaning of a label name, such as "SUPPORTS" or "not_entailment"; None if it says none."""
    plain = name.strip().lower().replace("_", " ")
    return next((side for side, prefixes in PREFIXES.items() if plain.startswith(prefixes)), None)


def _decoder_start(config: dict[str, Any], folder: Path) -> int | None:
    generates = any("ConditionalGeneration" in str(name) for name in config.get("architectures") or ())
    if not generates and not (folder / "decoder_model.onnx").is_file():
        return None
    start = config.get("decoder_start_token_id", config.get("pad_token_id"))
    if not isinstance(start, int):
        raise UsageError(
            f"decoder_start_token_id is {start!r}, and an encoder-decoder needs a token",
            where=str(folder / "config.json"),
        )
    return start


def _window(form: InputForm, decoder_start: int | None) -> int:
    if form != "minicheck":
        return LONGEST_RELATIVE
    return MINICHECK_WINDOW if decoder_start is None else MINICHECK_T5_WINDOW


def _longest(config: dict[str, Any]) -> int:
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int):
        relative = str(config.get("model_type", "")).lower() in ("t5", "mt5", "umt5", "hhemv2config")
        return LONGEST_RELATIVE if relative else LONGEST
    first = int(config.get("pad_token_id") or 0) + 1 if config.get("model_type") in _OFFSET else 0
    return max(64, positions - first)
