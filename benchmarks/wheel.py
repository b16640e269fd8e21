"""The wheels in clean environments: their sizes, what is installed with them, and the demo run from them.

``python -m benchmarks wheel`` builds the core and the optional parts, and installs the core alone, with each part, and
with all of them, for each Python from 3.11 to 3.14 that it finds on PATH or under pyenv; ``--python PATH`` names
another, ``--keep DIR`` keeps wheels and environments. It ends with exit code 1 if a demo does not give the verdicts
that it should, or a part's command (or the large reader) is found without the part or not found with it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PARTS = {"lab": "bench", "serve": "serve", "scale": "worker", "reader": ""}  # and a command of each that has one
LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")  # of examples/demo.txt


def main(arguments: list[str]) -> None:
    """Builds, installs and runs; prints one line of JSON for the wheel and one for each Python."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks wheel")
    parser.add_argument("--python", metavar="PATH", action="append", help="this interpreter; repeat it")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="where to keep the wheel and the environments")
    given = parser.parse_args(arguments)
    folder = given.keep or Path(tempfile.mkdtemp(prefix="redargue-wheel-"))
    folder.mkdir(parents=True, exist_ok=True)
    wheels = built(folder)
    print(json.dumps([about(wheel) for wheel in wheels.values()]), flush=True)
    failed = False
    for python in given.python or interpreters():
        for parts in ((), *((part,) for part in PARTS), tuple(PARTS)):
            figures = installed(python, [wheels["core"], *(wheels[part] for part in parts)], parts, folder)
            failed |= figures["labels"] != list(LABELS) or figures["commands"] != _commands(parts)
            failed |= figures["large_reader"] is not ("reader" in parts)
            print(json.dumps(figures), flush=True)
    if not given.keep:
        shutil.rmtree(folder)
    if failed:
        raise SystemExit(1)


def interpreters() -> list[str]:
    """The newest of each version, of those that start."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in VERSIONS:
        under = sorted(pyenv.glob(f"{version}.*/bin/python"), key=lambda path: int(path.parts[-3].split(".")[2]))
        candidates = [*map(str, reversed(under)), shutil.which(f"python{version}")]
        if python := next((each for each in candidates if each and _version(each).startswith(f"{version}.")), None):
            found.append(python)
    return found


def _version(python: str) -> str:
    code = "import platform; print(platform.python_version())"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def built(folder: Path) -> dict[str, Path]:
    """The wheels of this source tree, built in isolation: of the core and of each part."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    sources = {"core": ROOT} | {part: ROOT / "packages" / f"redargue-{part}" for part in PARTS}
    for source in sources.values():
        subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True)
    names = {"core": "redargue-"} | {part: f"redargue_{part}-" for part in PARTS}
    return {part: next(folder.glob(f"{name}*.whl")) for part, name in names.items()}


def about(wheel: Path) -> dict[str, Any]:
    with zipfile.ZipFile(wheel) as archive:
        files = archive.infolist()
    strangers = [file.filename for file in files if re.search(r"(^|/)(tests|docs|benchmarks|\.)", file.filename)]
    if strangers:
        raise SystemExit(f"the wheel holds files of the source tree: {strangers[:5]}")
    return {"wheel": wheel.name, "mb": megabytes(wheel.stat().st_size), "files": len(files)}


def installed(python: str, wheels: Sequence[Path], parts: Sequence[str], folder: Path) -> dict[str, Any]:
    """Installs wheels for one Python, and runs the demo and the parts' commands where nothing else is."""
    version = _version(python)
    environment = folder / "-".join([f"python-{version}", *parts])
    subprocess.run([python, "-m", "venv", "--clear", str(environment)], check=True)
    before = size(environment)
    began = time.perf_counter()
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), *map(str, wheels)], check=True)
    seconds = time.perf_counter() - began
    subprocess.run([*pip[:3], "--disable-pip-version-check", "check"], check=True, stdout=subprocess.DEVNULL)
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("REDARGUE_", "OPENAI_", "PYTHON"))
    }
    home = environment / "home"
    home.mkdir()
    shutil.copy(ROOT / "examples" / "demo.txt", home)
    command = [str(environment / "bin" / "redargue"), "check", "demo.txt", "--store", "starter", "--offline", "--json"]
    variables = kept | {"REDARGUE_HOME": str(home)}
    runs = [_demo(command, home, variables) for _ in range(2)]
    return {
        "python": version,
        "parts": list(parts),
        "commands": [name for name in _commands(PARTS) if _starts(command[0], name, variables)],
        "large_reader": _has_large_reader(command[0], variables),
        "install_seconds": round(seconds, 1),
        "installed_mb": megabytes(size(environment) - before),
        "packages": len(list(environment.glob("lib/python*/site-packages/*.dist-info"))),
        "labels": runs[1][0],
        "demo_seconds": [run[1] for run in runs],
        "demo_processor_seconds": [run[2] for run in runs],
    }


def _demo(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[list[str], float, float]:
    """The labels, and seconds by the clock and of processor time; the first run indexes the articles."""
    began, processor = time.perf_counter(), _children()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began, _children() - processor
    labels = [verdict["label"] for verdict in json.loads(done.stdout)["verdicts"]]
    return labels, round(seconds[0], 1), round(seconds[1], 1)


def _commands(parts: Iterable[str]) -> list[str]:
    return sorted(PARTS[part] for part in parts if PARTS[part])


def _has_large_reader(redargue: str, environment: dict[str, str]) -> bool:
    done = subprocess.run([redargue, "doctor"], env=environment, capture_output=True, text=True, check=False)
    (row,) = (line for line in (done.stdout + done.stderr).splitlines() if "large reader: " in line)
    return "not installed" not in row


def _starts(redargue: str, command: str, environment: dict[str, str]) -> bool:
    """Whether the command is there; without it, the error has to name the line that installs it."""
    done = subprocess.run([redargue, command, "--help"], env=environment, capture_output=True, text=True, check=False)
    if done.returncode and "python -m pip install 'redargue[" not in done.stderr:
        raise SystemExit(f"redargue {command} --help ends with {done.returncode}: {done.stderr[-500:]}")
    return not done.returncode


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def size(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def megabytes(count: int) -> float:
    """In units of 10^6 bytes."""
    return round(count / 1e6, 1)
