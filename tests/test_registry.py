"""Names are loaded when they are asked for, and other packages add their own."""

from __future__ import annotations

import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from redargue.backends import backends
from redargue.bench.datasets import datasets
from redargue.cli import doctor
from redargue.cli.app import EXTRAS, commands
from redargue.cli.list import list_app
from redargue.errors import UsageError
from redargue.methods import methods
from redargue.registry import _PARTS, Registry, install, optional_entries
from redargue.reports.folders import further_tables, kinds, sections
from redargue.reports.table import Column, Table
from redargue.retrieval.corpus import stores
from redargue.retrieval.tools import tools

OUTSIDE = Path(__file__).parent / "support" / "outside"
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


@pytest.mark.parametrize("registry", [methods, tools, datasets, backends], ids=lambda registry: registry.kind)
def test_every_built_in_name_loads_what_it_says(registry: Registry[Any]) -> None:
    assert len(list(registry)) >= 5
    for name in registry:
        assert registry[name] is registry[name]


@pytest.mark.slow
def test_looking_up_a_name_imports_its_module_alone() -> None:
    code = (
        "import sys; from redargue.methods import methods; methods['single-reader']\n"
        "loaded = [name for name in sys.modules if name.startswith('redargue.methods.') and 'mermaid' in name]\n"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_lists_the_known_ones_and_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown method 'tool-made'\n.*did you mean 'tool-mad' or .*known: "):
        methods["tool-made"]


def test_a_name_is_taken_once_but_a_class_may_be_defined_again() -> None:
    registry: Registry[type] = Registry("thing", builtin={"built-in": "somewhere:Thing"})

    def define() -> type:
        class Thing:
            pass

        return Thing

    registry.register("mine")(define())
    newer = registry.register("mine")(define())
    assert registry["mine"] is newer
    for name in ("mine", "built-in"):
        with pytest.raises(ValueError, match="registered twice"):
            registry.register(name)(int)


def test_a_package_that_cannot_be_imported_is_named_with_its_error() -> None:
    registry: Registry[Any] = Registry("method", group="redargue.none")
    registry._installed = {"broken": EntryPoint("broken", "no_such_package:Method", "redargue.none")}
    assert list(registry) == ["broken"]
    with pytest.raises(UsageError, match="method 'broken' of the package 'no_such_package' cannot be loaded: Module"):
        registry["broken"]


def test_a_broken_entry_says_who_has_to_do_what_and_the_others_stay_usable() -> None:
    def missing(entry: object) -> str:
        return "" if isinstance(entry, type) else "it is not a class"

    registry: Registry[Any] = Registry("tool", group="redargue.none", missing=missing)
    values = {"good": "decimal:Decimal", "absent": "no_such_package.part:X", "lost": "decimal:Lost", "odd": "math:pi"}
    registry._installed = {name: EntryPoint(name, value, "redargue.none") for name, value in values.items()}
    problems = registry.problems()
    assert list(problems) == ["absent", "lost", "odd"]
    assert problems["absent"].hint.startswith("install no_such_package, which")
    assert "its author: does the entry point name" in problems["lost"].hint
    assert problems["odd"].what == "the tool 'odd' of the package 'math' cannot be used: it is not a class"
    assert registry["good"].__name__ == "Decimal"


def test_a_list_names_the_broken_entries_and_lists_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"gaz": EntryPoint("gaz", "no_such_package:Gaz", "redargue.tools")}
    monkeypatch.setattr(tools, "_installed", broken)
    listed = CliRunner().invoke(list_app, ["tools"])
    assert listed.exit_code == 0
    assert "corpus: " in listed.stdout
    assert "left out: the tool 'gaz' of the package 'no_such_package' cannot be loaded" in listed.stderr


def points(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, str, str]) -> None:
    """Makes these the entry points of other packages: name, value, group."""
    given = EntryPoints(EntryPoint(*point) for point in found)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **chosen: given.select(**chosen))
    for registry in (methods, tools, backends, datasets, sections, stores, kinds, commands):
        monkeypatch.setattr(registry, "_installed", None)
        monkeypatch.setattr(registry, "_clashes", {})


@pytest.mark.parametrize(
    ("group", "value", "lacks"),
    [
        ("methods", "decimal:Decimal", "it is not a subclass of Method"),
        ("tools", "decimal:Decimal", "it has no 'make' and no 'about' and no 'online'"),
        ("tools", "decimal:getcontext", "it is not a class"),
        ("backends", "decimal:Decimal", "it has no 'can' and no 'perform' and no 'render'"),
        ("datasets", "decimal:Decimal", "it is not a subclass of Dataset"),
        ("report_sections", "math:pi", "it is not a function but 'float'"),
        ("commands", "asyncio:sleep", "it is async"),
        ("corpus_stores", "asyncio:sleep", "it is async"),
        ("report_folders", "pathlib:Path", "it is a class; name an instance"),
        ("tools", "support.outside.redargue_outside:Almanac", "its 'name' is 'almanac', and not that of the entry"),
        ("methods", "support.outside.redargue_outside:SecondOpinion", "its 'name' is 'second-opinion', and not that"),
        ("tools", "this_exits:Tool", "cannot be loaded"),
    ],
)
def test_an_entry_of_the_wrong_class_is_named_by_doctor_with_what_it_lacks(
    group: str, value: str, lacks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    points(monkeypatch, ("wrong", value, f"redargue.{group}"))
    (row,) = doctor._extensions()
    assert row.ok is False
    assert "'wrong' of the package" in row.found
    assert lacks in row.found


def test_doctor_lists_extensions_with_their_distribution_clashes_and_groups_that_are_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points(
        monkeypatch,
        ("almanac", "support.outside.redargue_outside:Almanac", "redargue.tools"),
        ("corpus", "decimal:Decimal", "redargue.tools"),
        ("almanac", "decimal:Decimal", "redargue.tools"),
        ("x", "decimal:Decimal", "redargue.tool"),
    )
    found = [(row.ok, row.found) for row in doctor._extensions()]
    assert (True, "tool 'almanac' of support.outside.redargue_outside") in found
    bad = "\n".join(text for ok, text in found if not ok)
    assert "the tool 'corpus' of the package 'decimal' is left out: redargue has one of that name" in bad
    assert "the tool 'almanac' of the package 'decimal' is left out: support.outside" in bad
    assert "no group 'redargue.tool'; did you mean 'redargue.tools'" in bad
    assert tools["corpus"].__module__.startswith("redargue.")
    listed = CliRunner().invoke(list_app, ["tools"])
    assert "almanac: an almanac" in listed.stdout
    assert listed.stderr.count("is left out") == 2


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("weather days", "there is no group 'weather' to which commands can be added"),
        ("check more", "there is no group 'check' to which"),
        ("--version", "'--version' cannot be the name of a command"),
        ("bench run", "redargue has a command of that name"),
        ("bench days", ""),
        ("leap-year", ""),
    ],
)
def test_doctor_says_why_a_command_cannot_be_called(name: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points(monkeypatch, (name, "support.outside.redargue_outside:days", "redargue.commands"))
    (row,) = doctor._extensions()
    assert (row.ok, why in row.found) == (not why, True)


def test_doctor_knows_every_group_of_entry_points() -> None:
    sources = Path(doctor.__file__).parents[1].rglob("*.py")
    groups = {group for path in sources for group in re.findall(r'group="(redargue\.\w+)"', path.read_text("utf-8"))}
    assert groups == set(doctor.REGISTRIES)
    for group, place in doctor.REGISTRIES.items():
        assert pkgutil.resolve_name(place).group == group


def test_a_section_that_fails_says_so_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(run: object) -> None:
        raise KeyError("x")

    monkeypatch.setitem(sections._loaded, "failing", fails)
    monkeypatch.setitem(sections._loaded, "wrong", lambda run: ["rows"])
    columns, odd = (Column("a"), Column("b")), object()
    monkeypatch.setitem(sections._loaded, "ragged", lambda run: Table("T", columns, (("x",),)))
    monkeypatch.setitem(sections._loaded, "odd", lambda run: Table("T", columns, (("x", odd),)))  # type: ignore[arg-type]
    tables = further_tables(None)  # type: ignore[arg-type]
    assert [table.title for table in tables] == [
        "The section 'failing' could not be made",
        "The section 'wrong' could not be made",
        "The section 'ragged' could not be made",
        "The section 'odd' could not be made",
    ]
    assert tables[0].rows == (("KeyError: 'x'",),)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed a package with a method and a tool."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    done = subprocess.run([*pip, "--target", str(target), str(OUTSIDE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def redargue(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)])}
    command = [sys.executable, "-c", "from redargue.cli.app import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_a_method_a_tool_and_a_report_section_of_an_installed_package_are_used_recorded_and_replayed(
    installed: Path, tmp_path: Path
) -> None:
    run = str(tmp_path / "run")
    claim = "Denver is the capital of Colorado."
    done = redargue(
        installed, "check", claim, "--method", "second-opinion", "--store", "starter", "--run", run, "--json"
    )
    assert done.returncode == 0, done.stderr
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert verdict["method"] == "second-opinion"
    assert verdict["decided_by"] == "second-reader"
    assert [(quote["text"], quote["status"]) for quote in verdict["quotes"]] == [(claim, "verified")]
    replayed = redargue(installed, "replay", run)
    assert replayed.returncode == 0, replayed.stderr
    assert "every event is as recorded" in replayed.stderr
    reported = {form: redargue(installed, "report", run, "--format", form) for form in ("html", "md", "json")}
    assert [done.returncode for done in reported.values()] == [0, 0, 0]
    assert all("Quotes of each publisher" in done.stdout for done in reported.values())
    assert json.loads(reported["json"].stdout)["sections"][0]["rows"] == [["Almanac", "1"]]
    estimated = redargue(installed, "estimate", claim, "--method", "second-opinion", "--store", "starter", "--json")
    assert [json.loads(estimated.stdout)[level]["calls"] for level in ("low", "likely", "high")] == [2, 2, 2]
    listed = redargue(installed, "list", "methods")
    assert "second-opinion: Two readers; the second one's answer counts" in listed.stdout


@pytest.mark.slow
def test_commands_of_an_installed_package_are_listed_run_and_configured(installed: Path, tmp_path: Path) -> None:
    assert "leap-year" in redargue(installed, "--help").stdout
    assert redargue(installed, "leap-year", "1900").stdout == "no\n"
    helped = redargue(installed, "bench", "--help").stdout
    assert "Count the days of some weeks" in helped
    assert "fit-cascade" in helped
    config = tmp_path / "own.toml"
    config.write_text("[bench.days]\nweeks = 3\n")
    assert redargue(installed, "--config", str(config), "bench", "days").stdout == "21\n"
    config.write_text("[bench.days]\nyears = 3\n")
    refused = redargue(installed, "--config", str(config), "bench", "days")
    assert (refused.returncode, "unknown option 'years'" in refused.stderr) == (2, True)


def test_every_command_of_an_optional_part_is_known_to_the_core_with_the_extra_that_installs_it() -> None:
    provided = {name for name in optional_entries()["redargue.commands"] if not name.startswith("bench ")}
    assert {name for names in EXTRAS.values() for name in names} == provided
    assert (
        EXTRAS.keys() <= tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"].keys()
    )


@pytest.mark.slow
def test_a_missing_package_is_an_unknown_name(tmp_path: Path) -> None:
    done = redargue(tmp_path, "check", "Bees are insects.", "--method", "second-opinion", "--store", "starter")
    assert done.returncode == 2
    assert "unknown method 'second-opinion'" in done.stderr


@pytest.mark.parametrize(
    ("origin", "extra", "line"),
    [
        (None, "lab", "python -m pip install 'redargue[lab]'"),
        ({"url": "https://host/redargue-0.3.0-py3-none-any.whl"}, "lab", "python -m pip install 'redargue[lab]'"),
        ({"url": "file:///no/such/folder"}, "lab", "python -m pip install 'redargue[lab]'"),
        ({"url": "{folder}"}, "documents", "python -m pip install '{path}[documents]'"),
        ({"url": "{folder}"}, "milvus", "python -m pip install '{path}[milvus]' '{path}/packages/redargue-scale'"),
        (
            {"url": "{folder}", "dir_info": {"editable": True}},
            "reader",
            "python -m pip install -e '{path}[reader]' -e '{path}/packages/redargue-reader'",
        ),
    ],
)
def test_the_line_that_installs_an_extra_names_the_folder_that_redargue_is_from(
    origin: dict[str, Any] | None, extra: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a clone"
    (path / "packages").mkdir(parents=True)
    text = json.dumps(origin).replace("{folder}", path.as_uri()) if origin else None
    monkeypatch.setattr("importlib.metadata.PathDistribution.read_text", lambda self, name: text)
    monkeypatch.setattr(shutil, "which", lambda name: sys.executable)
    assert install(extra) == line.replace("{path}", str(path))


def test_the_line_that_installs_an_extra_uses_the_python_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "a clone" / ".venv" / "bin" / "python"
    monkeypatch.setattr("importlib.metadata.PathDistribution.read_text", lambda self, name: None)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/python")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert install("lab") == f"'{python}' -m pip install 'redargue[lab]'"
    python.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a clone")
    assert install("lab") == ".venv/bin/python -m pip install 'redargue[lab]'"
    monkeypatch.setattr(shutil, "which", lambda name: str(python))
    assert install("lab") == "python -m pip install 'redargue[lab]'"


def test_the_parts_of_the_repository_are_named_for_the_extras_that_need_them() -> None:
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needed = {extra: re.findall(r"\b(redargue-\w+)", " ".join(needs)) for extra, needs in extras.items()}
    assert {extra: names[0] for extra, names in needed.items() if names} == _PARTS


def test_the_doctor_names_the_extras_that_are_not_installed_and_what_they_are_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"].keys()
    assert doctor.PURPOSES.keys() == known - {
        "browser",
        "clients",
        "dev",
        "docs",
        "reader",
    }  # the reader has its own row
    monkeypatch.setattr(doctor, "find_spec", lambda module: None if module == "striprtf" else module)
    (row,) = doctor._extras()
    assert row.ok is None
    assert row.found.startswith("not installed: documents (Excel and RTF files, reports as .docx). To install one")
    assert "[documents]" in row.found
    monkeypatch.setattr(doctor, "find_spec", lambda module: module)
    assert doctor._extras() == []
