"""The pytest plugin: marker ``factual``, ``--redargue-record`` and ``--redargue-replay``.

Tests call :func:`redargue.grounded` and :func:`redargue.supported`.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from redargue.adapters.session import current

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
