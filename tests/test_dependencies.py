"""What a plain installation brings along, read from the metadata of the installed packages."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from redargue.nli.careful import GRAPH, read_weights
from redargue.nli.session import file_sha256

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
    "wheel"
]
PARTS = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "packages").glob("*/pyproject.toml"))
}
READER = PARTS.pop("redargue-reader")["project"]  # weights alone: no folder of the source tree, no need of the core


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(requirements: list[str]) -> set[str]:
    """Names of the packages that these need on this machine, with their own needs."""
    names: set[str] = set()
    pending = [(Requirement(text), "") for text in requirements]
    seen = set()
    while pending:
        requirement, extra = pending.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonical(requirement.name)
        names.add(name)
        for wanted in ("", *requirement.extras):
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            try:
                needs = distribution(requirement.name).requires or []
            except PackageNotFoundError:  # an extra that is not installed here
                continue
            pending += [(Requirement(text), wanted) for text in needs]
    return names


@pytest.mark.parametrize(
    "package", ["babel", "dateparser", "hf-xet", "huggingface-hub", "nltk", "scipy", "torch", "trafilatura"]
)
def test_a_plain_installation_does_without(package: str) -> None:
    assert package not in closure(PROJECT["dependencies"])


def test_every_package_of_a_plain_installation_is_pinned() -> None:
    pins = {canonical(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert closure(PROJECT["dependencies"]) <= pins
    assert closure(PARTS["redargue-lab"]["project"]["dependencies"]) - {"redargue"} <= pins


@pytest.mark.parametrize("name", PARTS)
def test_a_part_has_the_core_s_version_and_needs_exactly_that(name: str) -> None:
    part = PARTS[name]["project"]
    assert (part["name"], part["version"]) == (name, PROJECT["version"])
    assert f"redargue=={PROJECT['version']}" in part["dependencies"]


def test_the_reader_has_the_core_s_version_and_its_extra() -> None:
    assert READER["version"] == PROJECT["version"]
    assert PROJECT["optional-dependencies"]["reader"] == [f"redargue-reader=={PROJECT['version']}"]


def test_the_reader_s_weights_are_those_of_its_manifest() -> None:
    folder = ROOT / "packages" / "redargue-reader" / "redargue_reader"
    weights = read_weights(folder)
    assert file_sha256(folder / GRAPH) == weights.sha256
    assert file_sha256(folder / "entailment.onnx").encode() in (folder / GRAPH).read_bytes()  # an identity for both
    pair = ("The bridge opened in 1889.", "The bridge was opened to traffic in 1889.")
    [reading] = weights.model(threads=1).read([pair])
    assert reading.supports > 0.8


def test_each_optional_folder_is_in_one_wheel_and_its_extra_pulls_it_in() -> None:
    excluded = {path.removeprefix("src/") for path in WHEEL["exclude"]}
    included = [
        target
        for part in PARTS.values()
        for target in part["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].values()
    ]
    assert sorted(included) == sorted(excluded)
    folders = {path.relative_to(ROOT / "src").parent.as_posix() for path in (ROOT / "src").rglob("entry_points.toml")}
    assert folders == excluded
    extras = [text for texts in PROJECT["optional-dependencies"].values() for text in texts]
    for name in PARTS:
        assert any(text.startswith(name) and text.endswith(f"=={PROJECT['version']}") for text in extras)
