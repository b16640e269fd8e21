"""Links between pages lead somewhere, and no line names a place outside the repository."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import redargue
from redargue.assembly import tools_setting
from redargue.methods.base import methods
from support.pages import DOCS, ROOT, pages

_LINK = re.compile(r"(?<!`)\[[^\]\n]+\]\((?P<to>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<words>.+)$", re.M)
_BLOCK = re.compile(r"^```.*?^```$", re.S | re.M)
_PLACE = re.compile(r"(?<![\w.:/-])/(?P<first>[a-z]\w*)(?=/[\w.-])")  # an absolute path
SYSTEM = {"usr", "tmp", "etc", "data", "v1", "beta", "mcp"}
SERVED = re.compile(r"`[^`\n]*`")


def anchors(page: Path) -> set[str]:
    prose = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading["words"].lower()).replace(" ", "-") for heading in _HEADING.finditer(prose)}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    prose = SERVED.sub("", _BLOCK.sub("", page.read_text(encoding="utf-8")))
    for link in _LINK.finditer(prose):
        to, _, anchor = link["to"].partition("#")
        if to.startswith(("http://", "https://", "mailto:")):
            continue
        target = (page.parent / to).resolve() if to else page
        if "_generated" in target.parts:
            continue  # make docs writes it
        assert target.is_relative_to(ROOT), f"{page.name} links outside the repository: {to}"
        assert target.exists(), f"{page.name}: no file {to}"
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), f"{page.name}: {link['to']}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_line_names_a_path_outside_the_repository(page: Path) -> None:
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        without = re.sub(r"\w+(\+\w+)*://\S+", "", line)
        outside = [found["first"] for found in _PLACE.finditer(without) if found["first"] not in SYSTEM]
        assert not outside, f"{page.name}:{number}: {line}"


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = set()
    for index in DOCS.rglob("index.md"):
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", index.read_text(encoding="utf-8"), re.S | re.M):
            names = [line for line in block.split() if not line.startswith(":")]
            listed |= {path for name in names for path in index.parent.glob(f"{name}.md")}
    written = {path for path in pages() if path.is_relative_to(DOCS)} - {DOCS / "index.md"}
    assert written - listed == set()


def test_the_page_on_extensions_lists_every_group_of_entry_points() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    groups = {group for source in sources for group in re.findall(r'group="(redargue\.\w+)"', source)}
    listed = set(re.findall(r"^\| `(redargue\.\w+)` \|", (DOCS / "extending.md").read_text(encoding="utf-8"), re.M))
    assert groups == listed


def test_the_page_on_extensions_names_modules_that_exist() -> None:
    page = (DOCS / "extending.md").read_text(encoding="utf-8")
    places = re.findall(r"`([a-z_]+/[\w/]*(?:\.py)?)`", page)
    assert places
    assert [place for place in places if not (ROOT / "src" / "redargue" / place).exists()] == []


def test_the_page_on_limits_names_every_method_that_searches_the_web_by_default() -> None:
    (row,) = re.findall(r"^\| a web tool: .*$", (DOCS / "limits.md").read_text(encoding="utf-8"), re.M)
    online = set()
    for name in methods:
        setting, profile = tools_setting(name), methods[name].profiles.get("hardened", {})
        field = methods[name].settings_class.model_fields.get(setting)
        if field and "keywords" in profile.get(setting, field.default):  # replaced by a live tool
            online.add(name)
    assert online == set(re.findall(r"`([\w-]+)`", row.partition("by default (")[2].partition(")")[0]))


def test_the_reference_of_the_python_interface_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto\w+:: ([\w.]+)\.(\w+)$", page, re.M)
    assert sorted(set(redargue.__all__) - {name for _, name in shown}) == []
    assert [name for module, name in shown if not hasattr(import_module(module), name)] == []
