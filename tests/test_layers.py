"""Imports point one way, files stay short, public names stay put."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import redargue

PACKAGE = Path(redargue.__file__).parent
LAYERS = [  # a module may import those before it and its own group
    ("errors", "registry", "home", "keys", "printing", "concurrency", "postgresql", "claims", "evidence", "verdicts"),
    ("tasks", "models"),
    ("events",),
    ("ledger",),
    ("transport",),
    ("backends", "corpus"),
    ("tools", "memory"),
    ("run",),
    ("agents",),
    ("scoring", "texts"),
    ("protocols",),
    ("settings", "services", "verifier", "estimate", "responses", "api"),
    ("evals",),
    ("reports",),
    ("cluster",),
    ("service", "cli"),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_no_module_imports_from_a_layer_above_it() -> None:
    upward = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module == "redargue":
                names = [f"redargue.{alias.name}" for alias in node.names]
            above = [
                name for name in names if name.startswith("redargue.") and LEVEL[name.split(".")[1]] > LEVEL[part(path)]
            ]
            upward += [f"{path.relative_to(PACKAGE)} imports {name}" for name in above]
    assert upward == []


def test_every_module_has_a_layer() -> None:
    assert {part(path) for path in modules()} <= set(LEVEL)


def test_imports_inside_functions_are_for_slow_modules_or_the_command_line() -> None:
    slow = {"onnxruntime", "tokenizers", "trafilatura", "pypdf", "syntok", "redargue", "pymilvus", "milvus_lite"}
    slow |= {"mcp", "jsonschema", "referencing", "anyio", "uvicorn", "psycopg"}
    slow |= {"torch", "transformers", "ray"}
    hidden = []
    for path in modules():
        if part(path) == "cli":
            continue
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [node.module or "" for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]
                names += [node.names[0].name for node in ast.walk(function) if isinstance(node, ast.Import)]
                hidden += [f"{path.relative_to(PACKAGE)}: {name}" for name in names if name.split(".")[0] not in slow]
    assert hidden == []


def test_files_and_functions_stay_short_and_no_file_is_a_drawer() -> None:
    long = []
    for path in modules():
        source = path.read_text(encoding="utf-8")
        if source.count("\n") > 400 or path.stem in ("utils", "helpers", "common", "manager"):
            long.append(str(path.relative_to(PACKAGE)))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.body[0].lineno
                long += [f"{path.relative_to(PACKAGE)}:{node.name}"] if length > 60 else []
    assert long == []


def test_public_names() -> None:
    assert sorted(redargue.__all__) == [
        "Budget",
        "Claim",
        "Label",
        "LabelSet",
        "Meaning",
        "Passage",
        "Quote",
        "QuoteStatus",
        "RedargueError",
        "Report",
        "Score",
        "ScriptedBackend",
        "Side",
        "Usage",
        "Verdict",
        "Verifier",
        "ground",
        "replay",
        "verify",
        "verify_sync",
        "verify_text",
        "watch",
    ]
    for name in redargue.__all__:
        assert getattr(redargue, name).__doc__


def test_importing_redargue_or_its_command_line_loads_nothing_slow() -> None:
    code = (
        "import sys, redargue, redargue.cli.app\n"
        "slow = {'onnxruntime', 'tokenizers', 'trafilatura', 'pypdf', 'numpy', 'pydantic', 'redargue.keys'}\n"
        "slow &= set(sys.modules)\n"
        "sys.exit(str(slow) if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
