"""The readers that a user has added: one folder each in ``models`` under redargue's home.

``reader.json`` says where the model is and how it is read, ``fit.json`` what ``redargue models fit`` fitted. The
model's files stay where they are. A model is tried before it is added.

From the Hugging Face hub only weights in safetensors are downloaded, and no code.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from redargue.claims import Frozen
from redargue.errors import RedargueError, UsageError
from redargue.files import home, make_folder
from redargue.net.secrets import display_url, has_credentials
from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.nli.aggregation import WEIGHTS, Weights
from redargue.nli.loop_bridge import run_alone
from redargue.nli.questions import (
    CONTEXT,
    LEAST_CONTEXT,
    WINDOW,
    EndpointModel,
    EndpointSpec,
    read_template,
    template_text,
)
from redargue.nli.reader_spec import FILES, WEIGHT_FILES, ReaderChoices, ReaderSpec, files_sha256, read_spec
from redargue.nli.session import EntailmentModel
from redargue.nli.user_reader import AnySpec, UserReader
from redargue.registry import did_you_mean, install
from redargue.runs.budget import Prices

HHEM_FOUNDATION = "google/flan-t5-base"  # has HHEM-2.1-Open's configuration and tokenizer
MODEL_FILES = FILES + WEIGHT_FILES["transformers"]
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def is_hub_name(source: str) -> bool:
    """Whether a source is OWNER/NAME on the hub; a folder of that name is preferred."""
    return not Path(source).expanduser().is_dir() and _HUB_NAME.fullmatch(source) is not None


def download(name: str, revision: str = "", *, offline: bool = False, files: tuple[str, ...] = MODEL_FILES) -> Path:
    """The folder of a model's snapshot in the hub's cache; its name is the commit.

    Raises:
        UsageError: the package is not installed, or the model cannot be downloaded or, offline, is not in the cache.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise UsageError(
            f"{name!r} is not a folder, and a model hub needs the extra transformers: {error}",
            hint=f"{install('transformers')}, or name a folder",
        ) from None
    options: dict[str, Any] = {"allow_patterns": list(files), "ignore_patterns": ["*/*"]}
    options |= {"revision": revision or None, "local_files_only": offline}
    try:
        return Path(snapshot_download(name, **options))
    except Exception as error:  # several packages raise their own
        why = str(error).strip().partition("\n")[0][:300]
        problem = "was not downloaded before" if offline else "cannot be downloaded"
        raise UsageError(
            f"{name!r} is not a folder and {problem}: {why}",
            where="--offline" if offline else "",
            hint=f"on a machine with a network: hf download {name} --local-dir FOLDER; then add the folder",
        ) from None


SPEC, FIT = "reader.json", "fit.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")

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


def _name_or_default(name: str, source: str) -> str:
    """The name of a reader and of its folder, after its source if none is given.

    Raises:
        UsageError: it cannot be a name.
    """
    name = name or re.sub(r"[^a-z0-9._-]+", "-", source.lower()).strip("-._")
    if not _NAME.fullmatch(name):
        hint = "letters, digits, '.', '_' and '-'"
        raise UsageError(f"{name!r} cannot be a reader's name", where="--name", hint=hint)
    return name


def reader_names() -> list[str]:
    return [path.parent.name for path in sorted(models_folder().glob(f"*/{SPEC}"))]


def read_added(name: str) -> AnySpec:
    """The spec of an added reader; raises UsageError if there is none of this name."""
    path = _spec_file(name)
    try:
        at_endpoint = '"url"' in path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        at_endpoint = False  # the error is raised below
    return _parsed(EndpointSpec, path) if at_endpoint else _parsed(ReaderSpec, path)


def _spec_file(name: str) -> Path:
    path = models_folder() / name / SPEC
    if not _NAME.fullmatch(name) or not path.is_file():
        names, adding = reader_names(), "add one: redargue models add NAME|FOLDER --as reader"
        hint = did_you_mean(name, names) if names else adding
        raise UsageError(f"no reader {name!r} has been added", hint=hint)
    return path


def read_fit(spec: AnySpec) -> ReaderFit | None:
    """What was fitted for the reader; None if nothing was. Raises UsageError if it was fitted with other files."""
    path = models_folder() / spec.name / FIT
    if not path.is_file():
        return None
    fit = _parsed(ReaderFit, path)
    if fit.reader != spec.sha256 or len(fit.supports) != len(WEIGHTS.supports):
        what = f"the weights of the reader {spec.name!r} were fitted to other files or by another release"
        hint = f"fit them again: redargue models fit {spec.name} --data FILE.jsonl"
        raise UsageError(what, where=str(path), hint=hint)
    return fit


def write_fit(spec: AnySpec, fit: ReaderFit) -> Path:
    path = models_folder() / spec.name / FIT
    _write(path, fit)
    return path


def remove_reader(name: str) -> None:
    """Forgets a reader and its fitted weights; the model's own files stay."""
    shutil.rmtree(_spec_file(name).parent)


def load_reader(
    name: str, *, transport: Transport | None = None, prices: Prices | None = None, fitted: bool = True
) -> UserReader:
    """The added reader, with its fitted weights unless they are to be fitted.

    A model in a folder is loaded once per process; a grader at an endpoint is asked over the transport.
    """
    spec = read_added(name)
    fit = read_fit(spec) if fitted else None
    weights, temperature = (fit.weights, fit.temperature) if fit else (WEIGHTS, 1.0)
    if isinstance(spec, ReaderSpec):
        return _reader(spec, weights, temperature)
    model = EndpointModel(spec, transport, prices) if transport else None
    return UserReader(spec, weights=weights, temperature=temperature, model=model)


@cache
def _reader(spec: ReaderSpec, weights: Weights, temperature: float) -> UserReader:
    return UserReader(spec, weights=weights, temperature=temperature)


def write_spec(spec: AnySpec) -> None:
    """Stores a reader; a fit of another model, or of another way of reading it, is removed."""
    folder = models_folder() / spec.name
    if (folder / SPEC).is_file() and read_added(spec.name) != spec:
        (folder / FIT).unlink(missing_ok=True)
    make_folder(folder)
    _write(folder / SPEC, spec)


def _write(path: Path, data: Frozen) -> None:
    path.write_text(data.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _parsed(model: type[Data], path: Path) -> Data:
    try:
        return model.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why, hint = getattr(error, "strerror", None) or "it is damaged", "remove the folder and add the model again"
        raise UsageError(f"{str(path)!r} cannot be read: {why}", hint=hint) from error


Check = Callable[[UserReader], None]
TRIED = 1024  # tokens of the long text that a model is tried with
_SENTENCE = "The bridge at Orvell was opened in 1889. "
_PAIR = ("A bridge was opened in 1889.", "The bridge was opened in 1889.")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,79}")


def add_reader(
    source: str,
    *,
    name: str = "",
    choices: ReaderChoices | None = None,
    revision: str = "",
    offline: bool = False,
    check: Check = lambda reader: None,
) -> ReaderSpec:
    """Adds the model in a folder, or of this name on the hub, and reads with it.

    Args:
        check: raises UsageError for a model that is not to be added.

    Raises:
        UsageError: there is no such model, it cannot be read, or its outputs are not known.
        UsageError: it needs a package that is not installed.
    """
    name = _name_or_default(name, Path(source).name)
    if is_hub_name(source):
        folder = download(source, revision, offline=offline)
        revision = folder.name
    else:
        folder, revision = Path(source).expanduser().absolute(), ""
        source = str(folder)
    spec = read_spec(name, source, folder, choices).model_copy(update={"revision": revision})
    if spec.form == "hhem" and spec.runtime == "transformers":
        foundation = folder / "foundation"
        if not foundation.is_dir():
            foundation = download(HHEM_FOUNDATION, offline=offline, files=FILES)
        spec = spec.model_copy(update={"foundation": foundation})
    spec = spec.model_copy(update={"sha256": files_sha256(spec)})
    check(_try(spec))
    write_spec(spec)
    return spec


def add_endpoint(
    url: str,
    *,
    model: str,
    template: str,
    name: str = "",
    key_variable: str = "",
    longest: int | None = None,
    not_supported: str = "neither",
    offline: bool = False,
    check: Check = lambda reader: None,
) -> EndpointSpec:
    """Adds a grader at an OpenAI-compatible endpoint, and asks it a question.

    Args:
        template: a shipped template's name, or a file.
        key_variable: the environment variable that has its key; empty for none.
        longest: tokens of a question; the evidence is read in windows of half of it.
        check: raises UsageError for a model that is not to be added; it may ask questions.

    Raises:
        UsageError: the address, the template, the key or the endpoint's refusal.
        ProviderError: it does not answer.
        BadReply: it answers with neither of the template's words.
    """
    name = _name_or_default(name, model.rpartition("/")[2])
    _require_no_key(url, key_variable)
    prompt = template_text(template)
    read_template(prompt, f"template {template!r}")
    longest = longest or CONTEXT
    if longest < LEAST_CONTEXT:
        what = f"{longest} tokens are too few for a question with evidence"
        raise UsageError(what, where="--longest", hint=f"at least {LEAST_CONTEXT}")
    spec = EndpointSpec(
        name=name,
        source=display_url(url),
        url=url.rstrip("/"),
        model=model,
        key_variable=key_variable,
        template=template,
        prompt=prompt,
        outputs=("refutes" if not_supported == "refutes" else "neither", "supports"),
        longest=longest,
        window=min(WINDOW, longest // 2),
    )
    transport = Transport(limiter(), offline=offline)
    try:
        _ask(spec, transport, check)
    except UsageError:
        words = spec.model_copy(update={"logprobs": False})
        _ask(words, transport, check)  # raises the cause unless log probabilities are it
        spec = words
    write_spec(spec)
    return spec


def _require_no_key(url: str, key_variable: str) -> None:
    """Raises UsageError for a key where an address or the name of a variable belongs."""
    if has_credentials(url) or "@" in url.partition("://")[2].partition("/")[0]:
        what = f"the address of {display_url(url)!r} contains a password or key"
        raise UsageError(what, hint="leave it out, and name the variable that has the key: --key-env NAME")
    if key_variable and not _VARIABLE.fullmatch(key_variable):
        raise UsageError(  # it may be the key itself, which is not shown
            "--key-env takes the name of an environment variable, not a key",
            where="--key-env",
            hint="such as --key-env GRADER_API_KEY; capital letters, digits and '_'",
        )


def _ask(spec: EndpointSpec, transport: Transport, check: Check) -> None:
    reader = UserReader(spec, model=EndpointModel(spec, transport))

    def ask() -> None:
        reader.read([_PAIR])
        check(reader)

    run_alone(ask, transport)


def _try(spec: ReaderSpec) -> UserReader:
    """Reads a pair, and a text as long as the model is said to read; the reader that did."""
    reader = UserReader(spec)
    try:
        room = min(spec.longest, spec.window, TRIED) - reader.model.count(_SENTENCE)
        repeats = max(1, room // max(1, reader.model.count(_SENTENCE)))
        reader.read([_PAIR, (_PAIR[0], _SENTENCE * repeats)])
    except RedargueError:
        raise
    except Exception as error:  # of onnxruntime, tokenizers, safetensors or transformers
        why = str(error).strip().partition("\n")[0][:300]
        raise UsageError(
            f"{spec.runtime} cannot load or run the model in {str(spec.folder)!r}: {why}",
            hint="code in a model's folder is never executed; export the model to ONNX if it needs its own",
        ) from None
    return reader


class GoldenPair(Frozen):
    """``supported``: whether the evidence supports the claim."""

    claim: str
    evidence: str
    supported: bool


GOLDEN = tuple(
    GoldenPair(claim=claim, evidence=evidence, supported=supported)
    for claim, evidence, supported in (
        ("The bridge was opened in 1889.", "The bridge was opened in 1889.", True),
        ("The museum is closed on Mondays.", "Otters eat fish, crabs and frogs.", False),
        ("The bridge was opened in 1889.", "The bridge was not opened in 1889. It was opened in 1921.", False),
    )
)


def golden_problems(reader: EntailmentModel, pairs: Sequence[GoldenPair] = GOLDEN) -> list[str]:
    """How a reader reads the pairs wrongly: one sentence a pair; none if it reads them well."""
    read = reader.read([(pair.claim, pair.evidence) for pair in pairs])
    return [
        f"{pair.claim!r} beside {pair.evidence!r}: support {result.supports:.2f}, and it is "
        f"{'supported' if pair.supported else 'not supported'}"
        for pair, result in zip(pairs, read, strict=True)
        if (result.supports >= 0.5) is not pair.supported
    ]
