"""Imports point one way and in no circle, functions stay short, public names stay put."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from collections.abc import Iterator, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import redargue
from redargue.errors import BadReply, BudgetReached, RedargueError, UsageError

PACKAGE = Path(redargue.__file__).parent
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
LONGEST = 60  # lines of a function
LAYERS = [  # a module may import those before it and its own group
    (
        "errors",
        "registry",
        "files",
        "sanitize",
        "database",
        "concurrency",
        "claims",
        "evidence",
        "caveats",
        "framing",
        "injections",
        "quotes",
        "words",
        "verdicts",
    ),
    ("tasks",),
    ("events",),
    ("runs", "net", "spec"),
    ("backends", "llm", "nli", "retrieval", "memory"),
    ("run",),
    ("methods",),
    ("config_file", "assembly", "verifier", "estimate", "text", "telemetry", "api"),
    ("inputs", "batch"),
    ("reports",),
    ("bench", "analysis"),
    ("postgresql",),
    ("cluster",),
    ("adapters",),
    ("service",),
    ("cli", "__main__"),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


DISTRIBUTIONS = {  # the core is all the rest, and imports none of them
    "lab": ("bench", "analysis", "methods.baselines", "methods.markov_debate"),
    "serve": ("service",),
    "scale": ("cluster", "postgresql", "retrieval.corpus.milvus"),
}
ACROSS = {("cluster.service", "service")}  # batches over HTTP: the service loads them if both are installed


def part(path: Path) -> str:
    """The group of a module; what a part does with the command line is in its ``commands``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    if "commands" in parts:
        return "cli"
    return "service" if parts[:2] == ("cluster", "service") else parts[0]


def dotted(path: Path) -> str:
    """The name of a module, without that of the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def is_inside(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def distribution(module: str) -> str:
    found = (name for name, packages in DISTRIBUTIONS.items() if any(is_inside(module, each) for each in packages))
    return next(found, "core")


class Read(NamedTuple):
    """What is asked of a module's syntax tree, which is too large to be kept."""

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    functions: tuple[tuple[str, int, int], ...]  # name, first and last line


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node's statements, and those inside them: a tenth of all nodes."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for inner in getattr(node, field, ()):
            yield inner
            yield from statements(inner)


@cache
def read(path: Path) -> Read:
    nodes = list(statements(ast.parse(path.read_text(encoding="utf-8"))))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Read(
        tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)),
        tuple((function.name, function.lineno, function.end_lineno or 0) for function in functions),
    )


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_no_module_imports_from_a_layer_above_it() -> None:
    upward = []
    for path in modules():
        for node in read(path).imports:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module == "redargue":
                names = [f"redargue.{alias.name}" for alias in node.names]
            above = [
                name
                for name in names
                if name.startswith("redargue.")
                and LEVEL["cli" if ".commands" in name else name.split(".")[1]] > LEVEL[part(path)]
            ]
            upward += [f"{path.relative_to(PACKAGE)} imports {name}" for name in above]
    assert upward == []


def test_the_core_imports_no_optional_package_and_optional_packages_only_the_core() -> None:
    known = {f"redargue.{dotted(path)}" for path in modules()} | {"redargue"}
    across = []
    for path in modules():
        module = dotted(path)
        for name in imported(path, known):
            wanted = name.removeprefix("redargue").removeprefix(".")
            other = distribution(wanted)
            agreed = any(is_inside(module, one) and is_inside(wanted, two) for one, two in ACROSS)
            if other not in ("core", distribution(module)) and not agreed:
                across.append(f"{module} imports {wanted}")
    assert across == []


def test_every_module_has_a_layer() -> None:
    assert {part(path) for path in modules()} <= set(LEVEL)


def test_imports_inside_functions_are_for_slow_modules_or_the_command_line() -> None:
    slow = {
        "onnxruntime",
        "py3langid",
        "tokenizers",
        "html_text",
        "readability",
        "pypdf",
        "safetensors",
        "syntok",
        "redargue",
        "pymilvus",
        "milvus_lite",
        "openpyxl",
        "striprtf",
        "docx",
    }
    slow |= {"mcp", "grpc", "jsonschema", "referencing", "anyio", "uvicorn", "psycopg", "matplotlib", "opentelemetry"}
    slow |= {"torch", "transformers", "safetensors", "huggingface_hub", "ray", "scipy", "nltk", "importlib", "tomllib"}
    hidden = []
    for path in modules():
        if part(path) == "cli":
            continue
        for _, first, last in read(path).functions:
            inside = [node for node in read(path).imports if first <= node.lineno <= last]
            names = [node.module or "" for node in inside if isinstance(node, ast.ImportFrom)]
            names += [node.names[0].name for node in inside if isinstance(node, ast.Import)]
            hidden += [f"{path.relative_to(PACKAGE)}: {name}" for name in names if name.split(".")[0] not in slow]
    assert hidden == []


def imported(path: Path, known: Set[str]) -> set[str]:
    """The modules among those known that a file imports anywhere, in functions and for types only too.

    Importing a module runs the packages that it is in.
    """
    names = set()
    for node in read(path).imports:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    while foreign := names - known:
        names = (names & known) | {name.rpartition(".")[0] for name in foreign} - {""}
    packages = {name.rsplit(".", depth)[0] for name in names for depth in range(1, name.count(".") + 1)}
    return names | {package for package in packages & known if package.replace(".", "/") not in str(path)}


@pytest.mark.slow
@pytest.mark.parametrize("package", [PACKAGE, BENCHMARKS], ids=["redargue", "benchmarks"])
def test_no_modules_import_each_other_in_a_circle(package: Path) -> None:
    paths = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }
    graph = {name: imported(path, paths.keys()) - {name} for name, path in paths.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_no_module_is_a_drawer() -> None:
    assert not {"utils", "helpers", "common", "manager"} & {path.stem for path in modules()}


def test_no_function_is_longer_than_60_lines_with_its_signature() -> None:
    assert [
        f"{path.relative_to(PACKAGE)}:{name}"
        for path in modules()
        for name, first, last in read(path).functions
        if last - first + 1 > LONGEST
    ] == []


@pytest.mark.parametrize("error", [BadReply("unread", raw="?"), BudgetReached("spent"), UsageError("wrong", hint="no")])
def test_an_error_can_be_sent_to_another_process(error: RedargueError) -> None:
    sent = pickle.loads(pickle.dumps(error))
    assert (type(sent), vars(sent), str(sent)) == (type(error), vars(error), str(error))


def test_public_names() -> None:
    assert sorted(redargue.__all__) == [
        "Background",
        "BadReply",
        "Budget",
        "BudgetReached",
        "Busy",
        "Caveat",
        "CheckedClaim",
        "Citation",
        "CitationOutcome",
        "Claim",
        "CorpusError",
        "ExtensionError",
        "Gap",
        "Grounder",
        "Label",
        "LabelSet",
        "Meaning",
        "Outcome",
        "Passage",
        "ProviderError",
        "Quote",
        "QuoteStatus",
        "RecordError",
        "RedargueError",
        "ReplayMiss",
        "Report",
        "RunSpec",
        "Score",
        "ScriptedBackend",
        "Side",
        "StoreUnavailable",
        "ToolFailed",
        "Unchecked",
        "UnreadableFile",
        "UnsupportedTask",
        "Usage",
        "UsageError",
        "Verdict",
        "Verifier",
        "check_stream",
        "ground",
        "grounded",
        "replay",
        "supported",
        "verify",
        "verify_citations",
        "verify_sync",
        "verify_text",
        "warm_up",
        "watch",
    ]
    for name in redargue.__all__:
        assert getattr(redargue, name).__doc__


def test_importing_redargue_or_its_command_line_loads_nothing_slow() -> None:
    code = (
        "import sys, redargue, redargue.cli.app\n"
        "slow = {'onnxruntime', 'tokenizers', 'readability', 'pypdf', 'numpy', 'pydantic', 'redargue.net.secrets'}\n"
        "slow &= set(sys.modules)\n"
        "sys.exit(str(slow) if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
