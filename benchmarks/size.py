"""How large the packages are, and what deleting a part leaves: lines at 100 columns, files, names, loaded modules.

With ``--delete`` each method and each optional part is removed with its lines in a copy, and every other module is
imported there in a process of its own: a module that fails needed the part. Then the command line starts there.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
WIDTH = 100
CHECK = ("check", "The Eiffel Tower opened in 1889.", "--method", "single-reader", "--store", "starter", "--offline")
LOADED = "import sys; from redargue.cli.app import run; run({!r}); print(*(n for n in sys.modules), file=sys.stderr)"
IMPORT = """
import importlib, json, pkgutil, sys, redargue
failed = {}
for module in pkgutil.walk_packages(redargue.__path__, "redargue.", onerror=lambda name: None):
    if module.name == "redargue.__main__":
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:
        failed[module.name] = f"{type(error).__name__}: {error}"[:200]
for registry in ("methods.base:methods", "backends:backends", "cli.app:commands"):
    try:
        pkgutil.resolve_name(f"redargue.{registry}").load_builtin()
    except Exception as error:
        failed[registry] = f"{type(error).__name__}: {error}"[:200]
from redargue.cli.app import run
if code := run(["--help"]):
    failed["redargue --help"] = f"exit code {code}"
print(json.dumps(failed))
"""


OPTIONAL = {  # parts that are deleted together, with the command that then says how it is installed
    "lab": (("bench", "analysis"), "bench"),
    "methods of the lab": (("methods.baselines", "methods.markov_debate"), ""),
    "markov-debate": (("methods.markov_debate",), ""),
    "serve": (("service",), "serve"),
    "scale": (("cluster", "postgresql", "retrieval.corpus.milvus"), "worker"),
}


def main(arguments: list[str]) -> None:
    """Prints the figures of the package, and with ``--delete`` a line for each part."""
    parser = argparse.ArgumentParser(prog="benchmarks size", description=__doc__)
    parser.add_argument("--delete", action="store_true", help="delete each part in a copy and import the rest")
    parser.add_argument("--at", type=Path, default=ROOT, help="a checkout of another commit")
    given = parser.parse_args(arguments)
    sources = given.at / "src"
    files = sorted(sources.rglob("*.py"))
    print(
        json.dumps(
            {
                "files": len(files),
                "lines": sum(count_lines(path.read_text(encoding="utf-8")) for path in files),
                f"lines_at_{WIDTH}": lines_at_width(sources),
                "dict[str, Any]": sum(path.read_text(encoding="utf-8").count("dict[str, Any]") for path in files),
                "names_in_two_modules": len(names_in_several(files)),
            }
            | loaded_modules(sources)
        )
    )
    if given.delete:
        for name, failed in deletions(sources).items():
            print(
                json.dumps({"deleted": name, "modules_that_fail": len(failed), "first": dict(list(failed.items())[:3])})
            )


def count_lines(text: str) -> int:
    return text.count("\n")


def lines_at_width(sources: Path) -> int:
    """Lines after formatting a copy with lines of at most 100 characters."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(sources, copy, ignore=lambda where, names: [n for n in names if not _python(Path(where) / n)])
        command = [sys.executable, "-m", "ruff", "format", "--isolated", "--quiet", f"--line-length={WIDTH}", str(copy)]
        subprocess.run(command, check=True)
        return sum(count_lines(path.read_text(encoding="utf-8")) for path in copy.rglob("*.py"))


def _python(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".py"


def names_in_several(files: list[Path]) -> dict[str, list[str]]:
    """Public classes, functions and constants at the top of more than one module."""
    places = defaultdict(list)
    for path in files:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in _defined(node):
                if not name.startswith("_"):
                    places[name].append(str(path))
    return {name: where for name, where in places.items() if len(where) > 1}


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def loaded_modules(sources: Path) -> dict[str, int]:
    """How many modules of the project one check loads, and of them those of each optional part."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"PYTHONPATH": str(sources), "REDARGUE_HOME": home}
        command = [sys.executable, "-c", LOADED.format([*CHECK, "-q"])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    names = {name for name in done.stderr.split() if name.startswith("redargue")}
    counts = {"loaded": len(names)}
    for part, (modules, _) in OPTIONAL.items():
        inside = tuple(f"redargue.{module}." for module in modules)
        counts[f"loaded_of_{part}"] = sum(f"{name}.".startswith(inside) for name in names)
    return counts


def deletions(sources: Path) -> dict[str, dict[str, str]]:
    """For each method and optional part, the modules that no longer import without it, with their errors."""
    missing = imported(sources).keys()  # for want of an extra
    parts: dict[str, tuple[str, ...]] = {}
    for module, names in modules_of_methods(sources).items():
        parts[" ".join(names)] = (module,)
    parts |= {name: deleted for name, (deleted, _) in OPTIONAL.items()}
    return {
        name: {module: why for module, why in without(sources, *deleted).items() if module not in missing}
        for name, deleted in parts.items()
    }


def modules_of_methods(sources: Path) -> dict[str, list[str]]:
    """The methods of each module: ``{"methods.tool_mad": ["tool-mad"]}``."""
    by_module = defaultdict(list)
    for path in (sources / "redargue/methods/base.py", *sources.rglob("methods/*/entry_points.toml")):
        text = path.read_text(encoding="utf-8")
        for name, module in re.findall(r'^ *"?([\w-]+)"?(?::| =) "redargue\.(methods\.[\w.]+):', text, re.MULTILINE):
            by_module[module].append(name)
    return dict(by_module)


def without(sources: Path, *modules: str) -> dict[str, str]:
    """The modules that cannot be imported in a copy without some folders, or files, and the lines that name them."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        copy_without(sources, copy, *modules)
        return imported(copy)


def copy_without(sources: Path, copy: Path, *modules: str) -> None:
    """Copies the package without some modules; with each goes what other parts do with it."""
    shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("__pycache__", "*.onnx"))
    _link_weights(sources, copy)
    for module in modules:
        name = module.rpartition(".")[2]
        for gone in (module, f"bench.commands.{name}", f"cluster.{name}"):
            place = copy / "redargue" / Path(*gone.split("."))
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.with_suffix(".py").unlink(missing_ok=True)
            _remove_lines(copy, gone)


def imported(sources: Path) -> dict[str, str]:
    """The modules that cannot be imported, with their errors."""
    command = [sys.executable, "-c", IMPORT]
    environment = os.environ | {"PYTHONPATH": str(sources)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def _remove_lines(sources: Path, module: str) -> None:
    """Removes the lines of registries that name the method's modules."""
    entry = re.compile(rf'^ *"?[^"\n]+"?(?::| =) "redargue\.{re.escape(module)}[.:"].*\n', re.MULTILINE)
    for path in (*sources.rglob("*.py"), *sources.rglob("entry_points.toml")):
        text = path.read_text(encoding="utf-8")
        if entry.search(text):
            path.write_text(entry.sub("", text), encoding="utf-8")


def _link_weights(sources: Path, copy: Path) -> None:
    for path in sources.rglob("*.onnx"):
        (copy / path.relative_to(sources)).symlink_to(path)
