"""``docs/methods.md`` says what the methods are, and what it says of the originals is tested."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.methods import FIGURES, PAGE, configured, ours, page

from redargue.cli.options import read_settings
from redargue.methods.base import Deviation, configure, methods
from redargue.methods.dry_run import costs
from redargue.spec import RunSpec
from redargue.verifier import Verifier
from support.pages import DOCS

TESTS = Path(__file__).parent
DEVIATIONS = [(name, deviation) for name in ours() for deviation in methods[name].deviations()]


@pytest.mark.slow
def test_the_page_is_written_from_the_methods_as_they_are() -> None:
    """If it is not: ``python -m benchmarks methods --write``."""
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(FIGURES.read_text(encoding="utf-8")))


def test_the_page_says_with_which_tools_its_figures_were_counted() -> None:
    used = {tool for name in ours() for tool in configured(name).tools()}
    assert len(used) == 1
    head = " ".join(PAGE.read_text(encoding="utf-8").partition("\n## ")[0].split())
    assert "with one search tool" in head
    assert "default settings" not in head


@pytest.mark.slow
def test_the_calls_on_the_page_on_choosing_are_those_of_an_estimate_with_a_model() -> None:
    page = (DOCS / "choosing.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"\| `([\w-]+)` \| (\d+ / \d+ / \d+) \|", page))
    counted = {}
    for name in shown:
        spec = RunSpec(method=name, model="any", store="starter", offline=True)
        with Verifier(spec, sends=False) as verifier:
            counted[name] = " / ".join(str(run.model_calls) for run in costs(verifier.method))
    assert len(shown) == 6
    assert shown == counted


def test_every_method_says_where_it_comes_from_and_how_its_calls_hang_together() -> None:
    assert [name for name in ours() if not getattr(methods[name], "paper", "")] == []
    assert [name for name in ours() if not getattr(methods[name], "graph", "")] == []


def test_a_profile_that_restores_an_original_is_named_as_the_command_line_takes_it() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "`profile=" not in page
    assert page.count("`--profile paper` (in `bench run`, `METHOD@paper`) restores the original") == 2


def test_deviations_have_distinct_ids() -> None:
    assert [each for each, count in Counter(each.id for _, each in DEVIATIONS).items() if count > 1] == []


@pytest.mark.parametrize(("name", "deviation"), DEVIATIONS, ids=[each.id for _, each in DEVIATIONS])
def test_a_deviation_is_cited_in_a_test_and_its_setting_exists(name: str, deviation: Deviation) -> None:
    cited = [path for path in TESTS.rglob("test_*.py") if deviation.id in path.read_text(encoding="utf-8")]
    assert cited, f"no test cites {deviation.id}"
    for pair in filter(None, deviation.setting.split(",")):
        setting, equals, value = pair.strip().partition("=")
        assert equals
        assert value
        assert setting in {*methods[name].settings_class.model_fields, "profile"}
    given = read_settings([pair.strip() for pair in deviation.setting.split(",") if pair])  # as on the command line
    configure(name, str(given.pop("profile", "hardened")), given)
