"""Public readers that are downloaded by name (``redargue models get``)."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from pydantic import Field, TypeAdapter

from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.files import make_folder, sha256_of
from redargue.nli.reader_spec import FolderForm, ReaderChoices, ReaderSpec, read_files
from redargue.nli.reader_store import GOLDEN, GoldenPair, add_reader, golden_problems, models_folder
from redargue.nli.user_reader import UserReader
from redargue.registry import did_you_mean

TABLE = Path(str(files("redargue.nli"))) / "known_readers.toml"


class KnownReader(Frozen):
    """A public model, and how it is read.

    Attributes:
        parameters: in millions.
        labels: of its outputs, in their order; empty where the form or ``config.json`` says it.
        revision: a commit of the repository; empty if none is pinned.
        golden: what it has to read well.
    """

    repository: str
    licence: str
    parameters: int = Field(gt=0)
    what: str
    form: FolderForm
    labels: tuple[str, ...] = ()
    revision: str = ""
    golden: tuple[GoldenPair, ...] = GOLDEN


class Download(Frozen):
    """What was downloaded first (``pin.json``); later downloads have to equal it."""

    repository: str
    revision: str
    files: dict[str, str]


def known_readers(table: Path = TABLE) -> dict[str, KnownReader]:
    try:
        content = tomllib.loads(table.read_text(encoding="utf-8"))
        return TypeAdapter(dict[str, KnownReader]).validate_python(content["readers"])
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{str(table)!r} cannot be read: {error}") from None


def known_reader(name: str, table: Path = TABLE) -> KnownReader:
    """The known reader of this name; raises UsageError if there is none."""
    known = known_readers(table)
    if name in known:
        return known[name]
    hint = f"{did_you_mean(name, list(known))}; any other: redargue models add OWNER/NAME"
    raise UsageError(f"no reader {name!r} is known", where="READER", hint=hint)


def get_reader(name: str, *, added_as: str = "", offline: bool = False, table: Path = TABLE) -> ReaderSpec:
    """Downloads a known reader, adds it, and reads the golden pairs with it.

    Raises:
        UsageError: it cannot be downloaded or read, its files are not those of the first
            download, or it reads a golden pair wrongly.
    """
    known = known_reader(name, table)
    pin = _read_pin(name, known)
    revision = pin.revision if pin else known.revision

    def check(reader: UserReader) -> None:
        spec = reader.spec
        assert isinstance(spec, ReaderSpec)
        found = _downloaded(spec)
        _require_same(found, pin, str(_pin_file(name)))
        if problems := golden_problems(reader, known.golden):
            raise UsageError(
                f"{known.repository!r} reads {len(problems)} of {len(known.golden)} plain pairs wrongly: {problems[0]}",
                where=f"revision {found.revision}",
                hint="it is not the model that this release knows; redargue models add "
                f"{known.repository} adds it nevertheless",
            )

    spec = add_reader(
        known.repository,
        name=added_as or name,
        choices=ReaderChoices(form=known.form, outputs=known.labels),
        revision=revision,
        offline=offline,
        check=check,
    )
    path = _pin_file(name)
    make_folder(path.parent)
    path.write_text(_downloaded(spec).model_dump_json(indent=1) + "\n", encoding="utf-8")
    return spec


def _downloaded(spec: ReaderSpec) -> Download:
    hashes = {path.name: sha256_of(path) for path in read_files(spec.folder, spec.runtime)}
    shared = read_files(spec.foundation) if spec.foundation else []
    hashes |= {f"foundation/{path.name}": sha256_of(path) for path in shared}
    return Download(repository=spec.source, revision=spec.revision, files=hashes)


def _pin_file(name: str) -> Path:
    return models_folder() / "pins" / f"{name}.json"


def _read_pin(name: str, known: KnownReader) -> Download | None:
    """The first download of this reader; None before it, and for another repository."""
    path = _pin_file(name)
    if not path.is_file():
        return None
    try:
        pin = Download.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "remove the file to accept what is downloaded next"
        raise UsageError(f"{str(path)!r} cannot be read: {error}", hint=hint) from None
    return pin if pin.repository == known.repository else None


def _require_same(found: Download, pin: Download | None, where: str) -> None:
    if pin is None or found == pin:
        return
    what = f"revision {found.revision}"
    for name in sorted({*found.files, *pin.files}):
        now, first = (download.files.get(name, "no such file") for download in (found, pin))
        if now != first:
            what = f"{name!r}: sha256 {now}, and {first} at the first download"
            break
    raise UsageError(
        f"{found.repository!r} is not what was downloaded first: {what}",
        where=where,
        hint="remove that file to accept the new files, if you know why they changed",
    )
