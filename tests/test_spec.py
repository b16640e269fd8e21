"""The configuration of a run: what it refuses, where it comes from, and what a type checker knows of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mypy import api as mypy

from redargue.assembly import OBJECTS, Parts, RunOptions, method_of, read_options
from redargue.claims import AVERITEC, FEVER, Claim
from redargue.cli.app import run
from redargue.cli.options import run_config
from redargue.cli.parameters import RunParameters, SearchParameters
from redargue.config_file import Known, read_defaults
from redargue.errors import RecordError, UsageError
from redargue.runs.budget import Prices
from redargue.runs.manifest import read_manifest
from redargue.spec import RECORDED, RunSpec
from redargue.verifier import Verifier

KNOWN: Known = {
    "check": {"rounds": None, "concurrency": None, "response_format": None},
    "bench": {"run": {"seed": None}},
}


def test_the_keywords_are_the_fields_of_the_configuration_and_the_components() -> None:
    assert set(RunOptions.__annotations__) == {*RunSpec.model_fields, *OBJECTS}


@pytest.mark.parametrize("given", [{}, {"model": "m"}, {"backend": "chat"}, {"method": ""}])
def test_a_run_without_a_method_reads_once(given: dict[str, Any]) -> None:
    assert RunSpec(**given).method == "single-reader"
    assert RunSpec(method="mermaid", model="m").updated(seed=2).method == "mermaid"
    assert repr(RunSpec(model="m")) == "RunSpec(model='m')"


def test_a_cascade_with_a_model_debates_only_where_its_first_answer_settles_nothing() -> None:
    settings = method_of(RunSpec(method="cascade", model="m")).settings
    assert (settings.stages, settings.debate, settings.chosen) == (("single-reader", "debate"), "tool-mad", (0.0,))
    assert method_of(RunSpec(method="cascade", model="m", settings={"debate": "mermaid"})).settings.chosen == (0.0,)
    assert method_of(RunSpec(method="cascade", model="m", settings={"target_risk": 0.1})).settings.stages[0] == "reader"
    assert method_of(RunSpec(method="cascade")).settings.chosen == (0.5, 0.5)


def test_mermaid_remembers_where_a_memory_or_its_setting_is_named_and_in_the_papers_profile(tmp_path: Path) -> None:
    def memory(**given: Any) -> str:
        return str(method_of(RunSpec(method="mermaid", **given)).settings.memory)

    assert (memory(), memory(profile="paper")) == ("off", "on")
    assert (memory(memory=tmp_path / "m.db"), memory(workspace="desk")) == ("on", "on")
    assert memory(memory=tmp_path / "m.db", settings={"memory": "frozen"}) == "frozen"
    assert method_of(RunSpec(method="mermaid"), memory=True).settings.memory == "on"
    assert memory(settings={"recall_items": 3}) == memory(settings={"memory_lookup": True}) == "on"
    assert memory(settings={"recall_items": 3, "memory": "off"}) == "off"


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("tool-mad", {"rounds": 1}),
        ("dual-position", {"max_rounds": 1, "min_rounds": 1}),
        ("mermaid", {"max_steps": 1}),
        ("cascade", {"rounds": 1}),
    ],
)
def test_rounds_bound_the_rounds_or_the_steps_of_any_method(method: str, settings: dict[str, int]) -> None:
    spec = run_config(RunParameters(method=method, rounds=1), SearchParameters(offline=True))
    made = method_of(spec).settings
    assert {name: getattr(made, name) for name in settings} == settings


def test_a_memory_beside_a_setting_that_turns_it_off_is_refused_and_the_setting_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="drop memory=off"):
        Verifier(method="mermaid", settings={"memory": "off"}, memory=tmp_path / "m.db")


def test_a_configuration_survives_json() -> None:
    spec = RunSpec(
        method="mermaid",
        settings={"max_steps": 3, "tools": ["corpus"]},
        tools=("corpus",),
        models={"judge": "m"},
        prompts=Path("words"),
        labels=AVERITEC,
        as_of=date(2024, 3, 31),
        budget="40calls",
    )
    assert RunSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"metod": "mad"}, "did you mean 'method'"),
        ({"response_format": "jsno"}, "cannot be requested as 'jsno'"),
        ({"response_format": "jsno"}, "did you mean 'json'"),
        ({"max_tokens": 0}, "0 does not fit 'max_tokens'"),
        ({"seed": "many"}, "'many' does not fit 'seed'"),
        ({"tools": "corpus"}, "'corpus' does not fit 'tools'"),
        ({"as_of": "31.3.2024"}, "'31.3.2024' is not a date"),
        ({"as_of": "0"}, "'0' is not a date"),
        ({"as_of": 1711843200}, "1711843200 is not a date"),
        ({"seed": -1}, "-1 does not fit 'seed'"),
        ({"seed": 1 << 53}, "9007199254740992 does not fit 'seed'"),
        ({"budget": "lots"}, "cannot read the budget 'lots'"),
        ({"labels": "fevr"}, "did you mean 'fever'"),
    ],
)
def test_what_does_not_fit_is_a_usage_error_that_quotes_it(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        RunSpec(**values)
    assert said in str(caught.value)


def test_keywords_win_over_the_configuration_and_objects_over_names() -> None:
    base = RunSpec(method="mermaid", seed=3, budget="40calls")
    prices = Prices.shipped()
    spec, parts = read_options({"seed": 4, "prices": prices, "memory": "m.db"}, base, Parts())
    assert (spec.method, spec.seed, spec.budget, spec.memory) == ("mermaid", 4, "40calls", "m.db")
    assert (parts.prices, parts.memory) == (prices, None)
    with pytest.raises(UsageError, match="40 does not fit 'budget'"):
        read_options({"budget": 40}, base)  # type: ignore[typeddict-item]
    with pytest.raises(UsageError, match="unknown option 'evidenc'"):
        read_options({"evidenc": {}}, base)  # type: ignore[typeddict-unknown-key]


def test_a_claim_that_is_text_gets_labels_and_date_and_one_that_is_data_keeps_its_own() -> None:
    spec = RunSpec(labels=AVERITEC, as_of=date(2024, 3, 31), strict_as_of=True)
    claim = spec.claim("Bees are insects.")
    assert (claim.labels, claim.as_of, claim.only_in_time) == (AVERITEC, date(2024, 3, 31), True)
    assert RunSpec().claim(claim) is claim
    with pytest.raises(UsageError, match="a claim that is given as text"):
        spec.claim(Claim(text="Bees are insects.", labels=FEVER))


def test_a_verifier_refuses_an_unknown_keyword() -> None:
    with pytest.raises(UsageError, match="unknown option 'chat'"):
        Verifier(chat={"form": "json"})  # type: ignore[call-arg]


# the command line


def test_the_options_of_a_command_become_a_configuration() -> None:
    options = RunParameters(model=["m judge=j"], setting=["top_k=2"], rounds=1, as_of="2024-03-31", labels="averitec")
    spec = run_config(options, SearchParameters(tool=["corpus", "keywords"], offline=True))
    assert (spec.model, spec.models, spec.tools) == ("m", {"judge": "j"}, ("corpus", "keywords"))
    assert (spec.settings, spec.as_of, spec.labels) == ({"top_k": 2, "rounds": 1}, date(2024, 3, 31), AVERITEC)


# redargue.toml


def test_a_settings_file_may_write_the_names_of_options_with_hyphens(tmp_path: Path) -> None:
    (tmp_path / "redargue.toml").write_text('[check]\nresponse-format = "json"\n[bench.run]\nseed = 7\n')
    tables = read_defaults(KNOWN, folder=tmp_path).tables
    assert tables == {"check": {"response_format": "json"}, "bench": {"run": {"seed": 7}}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[check]\nrouns = 2\n", "did you mean 'rounds'"),
        ("[chek]\nrounds = 2\n", "did you mean 'check'"),
        ("[bench.run]\nsed = 2\n", "[bench.run]"),
        ("[bench]\nrun = 2\n", "write a table: [bench.run]"),
        ("rounds = 2\n", "is not a table"),
        ("rounds = 2\n", "[check], and below it rounds = …"),
        ('[check]\nresponse-format = ""\n', "the value of 'response-format' is empty ([check] of "),
    ],
)
def test_a_misspelt_key_of_a_settings_file_says_where_and_what_is_known(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "redargue.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_defaults(KNOWN, folder=tmp_path)
    assert said in str(caught.value)
    assert str(tmp_path / "redargue.toml") in str(caught.value)


def test_flags_win_over_variables_and_these_over_the_file(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("redargue.toml").write_text('[check]\nresponse_format = "from-the-file"\n')
    command = ["check", "Bees are insects.", "--store", "starter"]
    for variable, flag, told in (
        ("", [], "from-the-file"),
        ("REDARGUE_RESPONSE_FORMAT", [], "from-the-environment"),
        ("", ["--response-format", "from-the-flag"], "from-the-flag"),
    ):
        if variable:
            monkeypatch.setenv(variable, told)
        assert run([*command, *flag]) == 2
        assert f"replies cannot be requested as {told!r}" in capfd.readouterr().err


def test_a_word_for_an_option_that_may_be_repeated_is_a_list_of_one(capfd: pytest.CaptureFixture[str]) -> None:
    check = ["check", "Bees are insects.", "--store", "starter", "--offline", "--no-record", "-q"]
    Path("redargue.toml").write_text('[check]\nfail_on = "refutd"\n')
    assert run(check) == 2
    assert "a verdict cannot be 'refutd'" in capfd.readouterr().err
    Path("redargue.toml").write_text('[check]\nfail_on = "not_enough"\n')
    assert run(check) == 1
    assert "gate failed" in capfd.readouterr().err
    Path("redargue.toml").write_text('[check]\nfail_on = ["supported", ""]\n')
    assert run(check) == 2
    assert "the value of 'fail_on' is empty" in capfd.readouterr().err


def test_an_empty_budget_of_a_settings_file_is_refused_and_is_not_no_limit(capfd: pytest.CaptureFixture[str]) -> None:
    Path("redargue.toml").write_text('[check]\nbudget = ""\n')
    assert run(["check", "Bees are insects.", "--store", "starter"]) == 2
    assert "the value of 'budget' is empty" in capfd.readouterr().err


# run.json

DESCRIBED = {
    "format": 3,
    "run": "20260101-000000-abcdef",
    "redargue": "0.3.0",
    "spec": {
        "method": "tool-mad",
        "settings": {"rounds": 2, "debaters": ["corpus", "keywords"]},
        "backend": "chat",
        "model": "m",
        "response_format": "json",
    },
    "backend": {"identity": "chat:http://x/v1 m", "stability": [0.7, 0.8], "address": "http://x/v1"},
    "tools": {"corpus": {"name": "corpus", "about": "documents", "revision": "r1"}},
    "claims": [Claim(text="Bees are insects.").model_dump(mode="json")],
}


def test_what_differs_between_two_manifests_is_named_and_cut_down() -> None:
    manifest = read_manifest(DESCRIBED, "run.json")
    spec = manifest.spec.updated(settings={**manifest.spec.settings, "rounds": 3})
    other = manifest.model_copy(update={"spec": spec})
    assert manifest.differing(other) == ("settings", "rounds 2", "3")


@pytest.mark.parametrize(
    ("other", "found"),
    [(None, "no format number"), (1, "the format '1'"), (2, "the format '2'"), ("3", "the format '3'")],
)
def test_a_manifest_of_another_format_is_refused(other: object, found: str) -> None:
    with pytest.raises(RecordError, match=f"has {found}, and this release reads 3"):
        read_manifest({**DESCRIBED, "format": other}, "run.json")


def test_a_manifest_with_a_value_of_the_wrong_type_is_refused_by_name() -> None:
    with pytest.raises(RecordError, match="not a run's description: seed"):
        read_manifest({**DESCRIBED, "spec": {"seed": "x"}}, "run.json")


@pytest.mark.parametrize("name", sorted(RunSpec.model_fields.keys() - RECORDED))
def test_a_record_cannot_say_what_is_opened_contacted_or_spent(name: str) -> None:
    with pytest.raises(RecordError, match=f"spec: .*{name}"):
        read_manifest({**DESCRIBED, "spec": {name: getattr(RunSpec(), name)}}, "run.json")


# a user's script

SCRIPT = """
import redargue
from redargue.spec import RunSpec

async def main() -> None:
    verdict = await redargue.verify("Bees are insects.", method="mad", seed=1, {keyword}, settings={{"rounds": 1}})
    report = await redargue.ground("Bees are insects.", contexts=["Bees are insects."], {keyword}, concurrency=4)
    async with redargue.watch("Bees are insects.", spec=RunSpec(seed=2), {keyword}) as events:
        async for event in events:
            print(event.item)
    print(verdict.label, report.outcome, redargue.verify_sync("Bees are insects.", {keyword}).label)
"""


@pytest.mark.slow
def test_a_type_checker_knows_the_keywords_of_the_public_functions(tmp_path: Path) -> None:
    for name, keyword in (("right", 'response_format="json"'), ("wrong", 'respons_format="json"')):
        (tmp_path / f"{name}.py").write_text(SCRIPT.format(keyword=keyword))
    scripts = [str(tmp_path / "right.py"), str(tmp_path / "wrong.py")]
    out, err, code = mypy.run(["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", *scripts])
    assert code == 1, out + err
    errors = [line for line in out.splitlines() if " error: " in line]
    assert all('Unexpected keyword argument "respons_format"' in line and "wrong.py:" in line for line in errors), out
    assert len(errors) == 4


@pytest.mark.anyio
async def test_a_verifier_refuses_what_is_not_a_claim() -> None:
    verifier = Verifier(method="single-reader", offline=True)
    with verifier, pytest.raises(UsageError, match=r"expected a Claim, got 'Rome fell\.'"):
        await verifier.verify_all(["Rome fell."])  # type: ignore[list-item]


@pytest.mark.anyio
async def test_a_verifier_that_may_verify_no_claim_at_a_time_says_so_and_loses_none() -> None:
    verifier = Verifier(method="single-reader", offline=True)
    with verifier, pytest.raises(UsageError, match="0 claims at a time"):
        await verifier.verify_all([Claim(text="Rome fell.")], concurrency=0)
