"""The pytest plugin: checks are recorded once and replayed afterwards."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from redargue import playback
from redargue.adapters.grounding import VerifyOptions, completed, current
from redargue.api import verify
from redargue.errors import RecordError, ReplayMiss
from redargue.evidence import Passage
from redargue.parts import RunOptions, read_options
from redargue.reports.load import SingleRun, load_run
from redargue.runs.folders import remove_run
from redargue.spec import RunSpec
from redargue.text.report import Report, build_report
from redargue.text.segment import Text
from redargue.text.verification import verify_text
from redargue.verdicts import Verdict

ERROR = "redargue_error"  # attribute of a test's report


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("redargue")
    group.addoption("--redargue-record", metavar="DIR", help="Record the checks of redargue in this folder.")
    group.addoption("--redargue-replay", metavar="DIR", help="Replay recorded checks: no model, no search, no network.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "factual(**options): the test checks facts with redargue.grounded or redargue.supported; "
        "options are defaults of its checks.",
    )
    current.record, current.replay = _folder(config, "record"), _folder(config, "replay")
    if current.record and current.replay:
        raise pytest.UsageError("choose one of --redargue-record and --redargue-replay")


def pytest_unconfigure() -> None:
    current.record = current.replay = None


def _folder(config: pytest.Config, option: str) -> Path | None:
    folder = config.getoption(f"redargue_{option}")
    return config.invocation_params.dir / folder if folder else None


def pytest_report_header() -> list[str]:
    if current.record:
        return [f"redargue: checks are recorded in {current.record}"]
    return [f"redargue: checks are replayed from {current.replay}"] if current.replay else []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    markers = list(item.iter_markers("factual"))  # the closest first
    for value in (value for marker in markers for value in marker.args):
        pytest.fail(f"factual takes keywords, such as factual(min_supported=0.9), and not {value!r}", pytrace=False)
    options = {name: value for marker in reversed(markers) for name, value in marker.kwargs.items()}
    current.options, current.checks, current.error = options, 0, None
    try:
        result = yield
    finally:
        current.options = {}
    if markers and not current.checks:
        pytest.fail("marked factual, and checked nothing: call redargue.grounded or redargue.supported", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.excinfo and call.excinfo.value is current.error:
        setattr(report, ERROR, True)
    return report


def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """A check that could not be made is an error of the test, not a failure of what it tests."""
    return ("error", "E", "ERROR") if getattr(report, ERROR, False) else None


def check_claim(claim: str, options: VerifyOptions) -> Verdict:
    """Verifies, records or replays a claim."""
    identity = {"claim": claim}
    if folder := _check_folder(current.replay, identity, options):
        (verdict,) = completed(playback.replay(_recorded(folder)))
        return verdict
    return completed(verify(claim, folder=_emptied(_check_folder(current.record, identity, options)), **options))


def check_text(text: Text, documents: Sequence[Passage], number: int, options: VerifyOptions) -> Report:
    """Verifies, records or replays a text; ``number`` is added to the seed."""
    about = {
        "text": text.model_dump(mode="json"),
        "documents": [document.model_dump(mode="json") for document in documents],
        "number": number,
    }
    if folder := _check_folder(current.replay, about, options):
        return _replayed(folder)
    checked: VerifyOptions = {**options, "seed": _config(options).seed + number}
    folder = _emptied(_check_folder(current.record, about, options))
    return completed(verify_text(text, documents=documents, folder=folder, **checked))


def _config(options: VerifyOptions) -> RunSpec:
    """The configuration that the options describe; objects among them are not part of it."""
    given: RunOptions = {name: value for name, value in options.items() if name != "spec"}  # type: ignore[assignment]
    return read_options(given, options.get("spec"))[0]


def _check_folder(parent: Path | None, about: dict[str, Any], options: VerifyOptions) -> Path | None:
    """The run folder of a check; None where nothing is recorded or replayed."""
    if parent is None:
        return None
    identity = json.dumps({**about, "spec": _config(options).model_dump(mode="json")}, sort_keys=True)
    words = re.findall(r"[a-z0-9]+", str(about.get("claim") or about["text"]["text"]).lower())
    return parent / "-".join([*words[:4], hashlib.sha256(identity.encode(errors="replace")).hexdigest()[:16]])


def _emptied(folder: Path | None) -> Path | None:
    """A folder without an earlier recording: a recorded run would be resumed."""
    if folder and folder.exists():
        remove_run(folder)
    return folder


def _recorded(folder: Path) -> Path:
    if (folder / "run.json").is_file():
        return folder
    raise ReplayMiss(
        f"the check {folder.name!r} is not recorded",
        where=str(folder.parent),
        hint="its text, contexts or options have changed, or it is new: run the test with --redargue-record",
    )


def _replayed(folder: Path) -> Report:
    verdicts = completed(playback.replay(_recorded(folder)))
    run = load_run(folder)
    if not isinstance(run, SingleRun) or not run.text:
        raise RecordError(f"{str(folder)!r} is not the run of a text", hint="record it again: --redargue-record")
    return build_report(*run.text, verdicts, run.extraction_usage)
