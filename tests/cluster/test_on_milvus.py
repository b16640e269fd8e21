"""Several workers that share one corpus on a Milvus server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster.test_batch import TEXTS, same
from redargue.cli.app import run
from redargue.retrieval.corpus.index import ARTICLES
from retrieval.corpus.conftest import MISSING
from retrieval.corpus.test_milvus_server import running

pytestmark = [pytest.mark.extra, pytest.mark.skipif(MISSING, reason="needs pip install -e '.[milvus]'")]


def test_workers_that_share_a_server_make_the_folder_that_one_process_makes(tmp_path: Path) -> None:
    file, one, many = tmp_path / "claims.jsonl", tmp_path / "one" / "run", tmp_path / "many" / "run"
    file.write_text("".join(json.dumps({"claim": f"{place}: {text}"}) + "\n" for place, text in enumerate(TEXTS * 2)))
    with running(tmp_path / "data") as server:
        store = f"milvus:{server.uri}?collection=shared"
        assert run(["corpus", "add", str(ARTICLES), "--store", store]) == 0
        command = ["batch", str(file), "--store", store, "--method", "tool-mad", "--rounds", "1", "-q", "-o"]
        assert run([*command, str(one)]) == 0
        assert run([*command, str(many), "--engine", "local", "--workers", "3", "--concurrency", "2"]) == 0
    assert same(many, one)
    assert all(json.loads(line)["label"] for line in (one / "verdicts.jsonl").read_text().splitlines())
