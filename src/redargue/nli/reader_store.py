"""The readers that a user has added: one folder each in ``models`` under redargue's home.

``reader.json`` says where the model is and how it is read, ``fit.json`` what ``redargue models fit`` fitted. The
model's files stay where they are.
"""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from redargue.claims import Frozen
from redargue.errors import RedargueError, UsageError
from redargue.files import home, make_folder
from redargue.nli.aggregation import WEIGHTS, Weights
from redargue.nli.reader_spec import FILES, WEIGHT_FILES, ReaderChoices, ReaderSpec, files_sha256, read_spec
from redargue.nli.user_reader import UserReader
from redargue.registry import did_you_mean

SPEC, FIT = "reader.json", "fit.json"
HHEM_FOUNDATION = "google/flan-t5-base"  # whose configuration and tokenizer HHEM-2.1-Open has
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_HUB = re.compile(r"[\w.-]+/[\w.-]+")

Data = TypeVar("Data", bound=Frozen)


class ReaderFit(Frozen):
    """Weights of the aggregation that were fitted to a user's data (``fit.json``).

    Attributes:
        reader: the hash of the files that were read.
        data, data_sha256: name and hash of the data's file.
        counts: rows of each label.
        before: of the default weights, on all rows: log loss (nats) and accuracy.
        after: of the fitted ones, by 5-fold cross-validation; all rows of a claim are in one fold.
    """

    reader: str
    data: str
    data_sha256: str
    counts: dict[str, int]
    temperature: float
    supports: tuple[float, ...]
    refutes: tuple[float, ...]
    before: dict[str, float]
    after: dict[str, float]

    @property
    def weights(self) -> Weights:
        return Weights(self.supports, self.refutes)


def models_folder() -> Path:
    return home() / "models"


def add_reader(
    source: str, *, name: str = "", choices: ReaderChoices | None = None, revision: str = "", offline: bool = False
) -> ReaderSpec:
    """Adds the model in a folder, or of this name on the hub, and reads one pair with it.

    Raises:
        UsageError: there is no such model, it cannot be read, or its outputs are not known.
        UsageError: it needs a package that is not installed.
    """
    name = name or re.sub(r"[^a-z0-9._-]+", "-", Path(source).name.lower()).strip("-._")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a reader's name", where="--name", hint="letters, digits, '.', '_' and '-'"
        )
    folder = Path(source).expanduser()
    hub = not folder.is_dir() and _HUB.fullmatch(source) is not None
    folder = _download(source, revision, FILES + WEIGHT_FILES["transformers"], offline) if hub else folder.absolute()
    spec = read_spec(name, source if hub else str(folder), folder, choices)
    if spec.form == "hhem" and spec.runtime == "transformers":
        foundation = folder / "foundation"
        if not foundation.is_dir():
            foundation = _download(HHEM_FOUNDATION, "", FILES, offline)
        spec = spec.model_copy(update={"foundation": foundation})
    revision = folder.name if hub else ""  # a snapshot's folder is named by its commit
    spec = spec.model_copy(update={"revision": revision, "sha256": files_sha256(spec)})
    _try(spec)
    _write(spec)
    return spec


def _try(spec: ReaderSpec) -> None:
    try:
        UserReader(spec).read([("A bridge was opened in 1889.", "The bridge was opened in 1889.")])
    except RedargueError:
        raise
    except Exception as error:  # of onnxruntime, tokenizers, safetensors or transformers
        why = str(error).strip().partition("\n")[0][:300]
        raise UsageError(
            f"{spec.runtime} cannot load or run the model in {str(spec.folder)!r}: {why}",
            hint="code in a model's folder is never executed; export the model to ONNX if it needs its own",
        ) from None


def added_readers() -> list[ReaderSpec]:
    return [read_added(path.parent.name) for path in sorted(models_folder().glob(f"*/{SPEC}"))]


def read_added(name: str) -> ReaderSpec:
    """The spec of an added reader; raises UsageError if there is none of this name."""
    return _parsed(ReaderSpec, _spec_file(name))


def _spec_file(name: str) -> Path:
    path = models_folder() / name / SPEC
    if not _NAME.fullmatch(name) or not path.is_file():
        names = [path.parent.name for path in sorted(models_folder().glob(f"*/{SPEC}"))]
        hint = did_you_mean(name, names) if names else "add one: redargue models add NAME|FOLDER --as reader"
        raise UsageError(f"no reader {name!r} has been added", where="--reader", hint=hint)
    return path


def read_fit(spec: ReaderSpec) -> ReaderFit | None:
    """What was fitted for the reader; None if nothing was. Raises UsageError if it was fitted with other files."""
    path = models_folder() / spec.name / FIT
    if not path.is_file():
        return None
    fit = _parsed(ReaderFit, path)
    if fit.reader != spec.sha256 or len(fit.supports) != len(WEIGHTS.supports):
        raise UsageError(
            f"the weights of the reader {spec.name!r} were fitted to other files or by another release",
            where=str(path),
            hint=f"fit them again: redargue models fit {spec.name} --data FILE.jsonl",
        )
    return fit


def write_fit(spec: ReaderSpec, fit: ReaderFit) -> Path:
    path = models_folder() / spec.name / FIT
    path.write_text(fit.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path


def remove_reader(name: str) -> None:
    """Forgets a reader and its fitted weights; the model's own files stay."""
    shutil.rmtree(_spec_file(name).parent)


def load_reader(name: str, *, threads: int = 0) -> UserReader:
    """The added reader with its fitted weights; loaded once per process."""
    spec = read_added(name)
    fit = read_fit(spec)
    return _reader(spec, fit.weights if fit else WEIGHTS, fit.temperature if fit else 1.0, threads)


@cache
def _reader(spec: ReaderSpec, weights: Weights, temperature: float, threads: int) -> UserReader:
    return UserReader(spec, weights=weights, temperature=temperature, threads=threads)


def _write(spec: ReaderSpec) -> None:
    folder = models_folder() / spec.name
    if (folder / SPEC).is_file() and read_added(spec.name) != spec:
        (folder / FIT).unlink(missing_ok=True)  # fitted to another model, or to another way of reading it
    make_folder(folder)
    (folder / SPEC).write_text(spec.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _parsed(model: type[Data], path: Path) -> Data:
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise UsageError(
            f"{str(path)!r} cannot be read: {error}", hint="remove the folder and add the model again"
        ) from None


def _download(name: str, revision: str, patterns: tuple[str, ...], offline: bool) -> Path:
    """The folder of a model's snapshot in the hub's cache; its weights in safetensors only, and no code."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise UsageError(
            f"{name!r} is not a folder, and a model hub needs the extra transformers: {error}",
            hint="pip install 'redargue[transformers]', or name a folder",
        ) from None
    options: dict[str, Any] = {"allow_patterns": list(patterns), "ignore_patterns": ["*/*"]}
    try:
        return Path(snapshot_download(name, revision=revision or None, local_files_only=offline, **options))
    except Exception as error:  # of several packages
        why = str(error).strip().partition("\n")[0][:300]
        raise UsageError(
            f"{name!r} is not a folder and {'was not downloaded before' if offline else 'cannot be downloaded'}: {why}",
            where="--offline" if offline else "",
            hint=f"on a machine with a network: hf download {name} --local-dir FOLDER; then add the folder",
        ) from None
