"""The documentation site is built without a warning, with an index for language models."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import DOCS, pages

pytest.importorskip("sphinx", reason="needs the extra docs")
pytest.importorskip("furo", reason="needs the extra docs")
pytest.importorskip("myst_parser", reason="needs the extra docs")


@pytest.mark.slow
@pytest.mark.extra
def test_the_site_is_built_without_a_warning_and_llms_txt_lists_its_pages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "llms.txt").read_text(encoding="utf-8")
    assert index.startswith("# redargue\n\n> ")
    linked = re.findall(r"\]\((\S+)\)", index)
    assert all((tmp_path / to).is_file() for to in linked)
    names = {to.removeprefix("_sources/").removesuffix(".md.txt") for to in linked}
    written = {page.relative_to(DOCS).with_suffix("").as_posix() for page in pages() if page.is_relative_to(DOCS)}
    assert written - names == {
        "index",
        *(name for name in written if name.startswith("decisions/") and "index" not in name),
    }
    full = (tmp_path / "llms-full.txt").read_text(encoding="utf-8")
    assert (DOCS / "limits.md").read_text(encoding="utf-8") in full
    assert (tmp_path / "tutorials" / "ci.html").is_file()
