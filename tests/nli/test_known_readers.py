"""Readers that are downloaded by name: licence, revision, hashes, golden pairs; the hub is a loopback server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from redargue.cli.app import run
from redargue.errors import UsageError
from redargue.files import sha256_of
from redargue.nli.known_readers import get_reader, known_readers
from redargue.nli.reader_spec import ReaderSpec
from redargue.nli.reader_store import GOLDEN, GoldenPair, add_reader, models_folder, read_added, reader_names
from redargue.nli.user_reader import UserReader
from support.model_hub import ModelHub

REPOSITORY = "Owner/Tiny-NLI"


def test_shipped_readers_have_no_labels_and_no_revision_that_nobody_looked_up() -> None:
    known = known_readers()
    assert {"minicheck", "hhem", "lettuce", "deberta-nli"} <= known.keys()
    for reader in known.values():
        assert reader.repository.count("/") == 1
        assert reader.golden == GOLDEN
        assert reader.revision == ""
        assert reader.labels == ()  # its files name them


def test_known_readers_are_listed_and_nothing_is_downloaded_before_the_licence_is_accepted(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["models", "get"]) == 0
    assert "lettuce: KRLabsOrg/lettucedect-base-modernbert-en-v1 (MIT, 149 million" in capfd.readouterr().out
    assert run(["models", "get", "hhem"]) == 2
    error = capfd.readouterr().err
    assert "licence: Apache-2.0" in error
    assert "redargue models get hhem --yes" in error
    assert run(["models", "get", "hem", "--yes"]) == 2
    assert "did you mean 'hhem'" in capfd.readouterr().err


transformers = pytest.importorskip("transformers")
pytest.importorskip("torch")
from support import tiny_models  # noqa: E402


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelHub]:
    import huggingface_hub

    with ModelHub() as running:
        cached = {"endpoint": running.url, "cache_dir": str(tmp_path / "cache")}
        download = partial(huggingface_hub.snapshot_download, **cached)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
        yield running


@pytest.fixture
def model(hub: ModelHub, tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    tiny_models.bert(folder)
    (folder / "code.py").write_text("raise SystemExit('code of a model was downloaded')")
    hub.add(REPOSITORY, folder)
    return folder


def table(tmp_path: Path, golden: tuple[GoldenPair, ...]) -> Path:
    rows = [
        f"[[readers.tiny.golden]]\nclaim = {json.dumps(pair.claim)}\n"
        f"evidence = {json.dumps(pair.evidence)}\nsupported = {json.dumps(pair.supported)}\n"
        for pair in golden
    ]
    head = (
        f'[readers.tiny]\nrepository = "{REPOSITORY}"\nlicence = "MIT"\nparameters = 1\nwhat = "tiny"\nform = "pair"\n'
    )
    file = tmp_path / "readers.toml"
    file.write_text(head + "".join(rows))
    return file


def as_it_reads(folder: Path, *, wrongly: bool = False) -> tuple[GoldenPair, ...]:
    """Golden pairs that a random model happens to read as they say."""
    spec = add_reader(str(folder), name="plain")
    results = UserReader(spec).read([(pair.claim, pair.evidence) for pair in GOLDEN])
    return tuple(
        pair.model_copy(update={"supported": (result.supports >= 0.5) is not wrongly})
        for pair, result in zip(GOLDEN, results, strict=True)
    )


def pinned() -> dict[str, object]:
    content: dict[str, object] = json.loads((models_folder() / "pins" / "tiny.json").read_text())
    return content


@pytest.mark.extra
def test_a_download_records_its_revision_and_the_hashes_of_its_files(
    hub: ModelHub, model: Path, tmp_path: Path
) -> None:
    known = table(tmp_path, as_it_reads(model))
    spec = get_reader("tiny", table=known)
    assert isinstance(spec, ReaderSpec)
    assert (spec.source, spec.revision) == (REPOSITORY, hub.main[REPOSITORY])
    assert read_added("tiny") == spec
    read = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    files = {name: sha256_of(model / name) for name in read}
    assert pinned() == {"repository": REPOSITORY, "revision": spec.revision, "files": files}
    assert "code.py" not in hub.downloads


@pytest.mark.extra
def test_later_downloads_are_the_first_ones_revision(hub: ModelHub, model: Path, tmp_path: Path) -> None:
    known = table(tmp_path, as_it_reads(model))
    first = get_reader("tiny", table=known)
    tiny_models.bert(model, {0: "neutral", 1: "contradiction", 2: "entailment"})
    assert hub.add(REPOSITORY, model) != first.revision
    shutil.rmtree(tmp_path / "cache")
    assert get_reader("tiny", table=known) == first


@pytest.mark.extra
def test_other_files_under_the_recorded_revision_are_refused(hub: ModelHub, model: Path, tmp_path: Path) -> None:
    known = table(tmp_path, as_it_reads(model))
    first = get_reader("tiny", table=known)
    files = hub.commits[REPOSITORY][first.revision]
    files["config.json"] = files["config.json"].replace(b'"contradiction"', b'"contradicted"')
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(UsageError, match=r"is not what was downloaded first: 'config.json': sha256") as caught:
        get_reader("tiny", table=known)
    assert caught.value.where.endswith("tiny.json")


@pytest.mark.extra
def test_a_reader_that_reads_golden_pairs_wrongly_is_not_added(hub: ModelHub, model: Path, tmp_path: Path) -> None:
    known = table(tmp_path, as_it_reads(model, wrongly=True))
    with pytest.raises(UsageError, match=r"reads 3 of 3 plain pairs wrongly: 'The bridge was opened in 1889.' beside"):
        get_reader("tiny", table=known)
    assert reader_names() == ["plain"]
    assert not (models_folder() / "pins").exists()


@pytest.mark.extra
def test_offline_only_what_was_downloaded_is_read(hub: ModelHub, model: Path, tmp_path: Path) -> None:
    known = table(tmp_path, as_it_reads(model))
    with pytest.raises(UsageError, match="was not downloaded before"):
        get_reader("tiny", table=known, offline=True)
    first = get_reader("tiny", table=known)
    requests = len(hub.downloads)
    assert get_reader("tiny", table=known, offline=True, added_as="again").sha256 == first.sha256
    assert len(hub.downloads) == requests


@pytest.mark.extra
def test_a_repository_without_safetensors_says_what_it_lacks(hub: ModelHub, model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    hub.add(REPOSITORY, model)
    with pytest.raises(UsageError, match="convert them to safetensors"):
        get_reader("tiny", table=table(tmp_path, GOLDEN))
    assert "pytorch_model.bin" not in hub.downloads
