"""A stranger's folder that is indexed: its links reach no file outside; what is removed at once is asked for."""

from __future__ import annotations

import json
import os
from io import StringIO
from pathlib import Path

import pytest

from redargue.cli.app import run


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("The secret code is 4711.")
    folder = tmp_path / "stranger"
    (folder / "inner").mkdir(parents=True)
    (folder / "page.txt").write_text("A page of the folder.")
    return folder


LINKS = {
    "a file": ("link.txt", "../outside/secret.txt"),
    "an absolute path": ("link.txt", "{tmp}/outside/secret.txt"),
    "a folder": ("link", "../outside"),
    "a folder above": ("link", ".."),
    "in a folder": ("inner/link.txt", "../../outside/secret.txt"),
    "a folder in a folder": ("inner/link", "../../outside"),
    "over the folder itself": ("link.txt", "../stranger/../outside/secret.txt"),
    "the root": ("link", "/etc"),
    "a device": ("link.txt", "/dev/zero"),
}


@pytest.mark.parametrize(("name", "target"), LINKS.values(), ids=LINKS)
def test_a_link_out_of_the_folder_is_not_indexed(
    name: str, target: str, stranger: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (stranger / name).symlink_to(target.replace("{tmp}", str(tmp_path)))
    assert run(["corpus", "add", str(stranger), "--store", "corpus.db"]) == 3
    assert "a link out of the folder" in capfd.readouterr().err
    run(["corpus", "ls", "--store", "corpus.db", "--json"])
    documents = json.loads(capfd.readouterr().out)["documents"]
    assert [Path(document["id"]).name for document in documents] == ["page.txt"]


def test_a_chain_of_links_and_links_inside_are_told_apart(stranger: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (stranger / "inner" / "same.txt").symlink_to("../page.txt")
    (stranger / "first.txt").symlink_to("second.txt")
    (stranger / "second.txt").symlink_to("../outside/secret.txt")
    assert run(["corpus", "add", str(stranger), "--store", "corpus.db"]) == 3
    capfd.readouterr()
    run(["corpus", "ls", "--store", "corpus.db", "--json"])
    documents = json.loads(capfd.readouterr().out)["documents"]
    assert sorted(Path(document["id"]).name for document in documents) == ["page.txt", "same.txt"]


def test_a_link_that_the_user_names_is_followed(stranger: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(stranger)
    assert run(["corpus", "add", str(tmp_path / "link"), "--store", "corpus.db"]) == 0


@pytest.mark.parametrize("name", ["/", "..", ".", "../..", "~", "/tmp", "{cwd}", "{cwd}/", "./inner/../", "//"])
def test_removing_everything_below_a_wide_folder_is_asked_for(
    name: str, stranger: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(stranger)
    monkeypatch.setenv("HOME", str(stranger.parent))
    assert run(["corpus", "add", "page.txt", "--store", "corpus.db"]) == 0
    wide = name.replace("{cwd}", os.getcwd())
    if wide == "/tmp" and not Path.cwd().is_relative_to("/tmp"):
        pytest.skip("the tests' folders are elsewhere")
    monkeypatch.setattr("sys.stdin", StringIO("n\n"))
    assert run(["corpus", "rm", wide, "--store", "corpus.db"]) == 0  # declined
    capfd.readouterr()
    run(["corpus", "ls", "--store", "corpus.db", "--json"])
    assert len(json.loads(capfd.readouterr().out)["documents"]) == 1
