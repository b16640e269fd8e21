"""A fitted cascade reads its file once, if it is one, and records what it says instead of its path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from methods.cascade.test_cascade import fitted
from redargue.api import spec_of
from redargue.assembly import method_of, without_files
from redargue.cluster import WorkerJob
from redargue.errors import UsageError
from redargue.methods.base import configure, methods
from redargue.methods.cascade import fit
from redargue.methods.setting_types import closed_fields
from redargue.runs.manifest import RunManifest
from redargue.spec import RunSpec
from support.manifests import MANIFEST


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", ".", "\x00", "missing.json"])
def test_only_a_regular_file_is_read(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(UsageError, match="cannot read") as raised:
        configure("cascade", "hardened", {"fitted": name})
    assert raised.value.where == "fitted"


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    with path.open("wb") as file:
        file.truncate(fit.MOST_BYTES + 1)
    with pytest.raises(UsageError, match="has more than 64,000,000 bytes"):
        configure("cascade", "hardened", {"fitted": str(path)})


def test_settings_keep_what_the_file_says_and_no_record_names_it(tmp_path: Path) -> None:
    given: dict[str, Any] = {"fitted": fitted(tmp_path), "min_sources": 2}
    spec = RunSpec(method="cascade", settings=given, tools=("corpus", "keywords"))
    settings = method_of(spec).settings
    assert settings.thresholds
    assert given["fitted"] not in settings.model_dump_json()
    read = without_files(spec)
    Path(given["fitted"]).unlink()
    assert method_of(read).settings == settings
    for method in methods:
        kind = methods[method].settings_class
        dump = configure(method, "hardened", {}).settings.model_dump()
        assert all(not dump[name] for name in closed_fields(kind)), method


@pytest.mark.parametrize("path", ["/dev/zero", "/no/such/file"])
def test_neither_a_worker_nor_a_replay_opens_a_file_that_a_stranger_names(path: str) -> None:
    spec = RunSpec(method="cascade", settings={"fitted": path})
    with pytest.raises(UsageError, match="the setting fitted may name a file"):
        WorkerJob(spec=spec, concurrency=1).with_environment({})
    manifest = MANIFEST.model_copy(update={"spec": spec.recorded()})
    with pytest.raises(UsageError, match="the setting fitted may name a file"):
        spec_of(RunManifest.model_validate_json(manifest.model_dump_json()))
