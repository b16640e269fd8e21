"""Prices: the shipped table under the user's, what is not a price, and budgets in money."""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from benchmarks import prices as price_list
from pydantic import ValidationError

import redargue
from redargue.errors import UsageError
from redargue.files import home
from redargue.runs import budget
from redargue.runs.budget import Account, Budget, Cost, LongRates, Price, Prices

OWN = """
[models]
"llama3.1" = { input = 0, output = 0 }
"gpt-4o" = { input = 1, output = 2 }
[searches]
serper = 0.0003
tavily = 0
"""


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_price_is_in_dollars_per_million_tokens() -> None:
    assert Price(input=2.5, output=10).of(1_000_000, 100_000) == pytest.approx(3.5)
    assert Price(input=2.5, output=10).of(0, 0) == 0.0


def test_cached_tokens_have_their_own_price_or_that_of_the_others() -> None:
    assert Price(input=2, output=8, cached=0.5).of(1_000_000, 0, 400_000) == pytest.approx(1.4)
    assert Price(input=2, output=8).of(1_000_000, 0, 400_000) == pytest.approx(2)


def test_a_long_prompt_has_rates_of_its_own_for_all_tokens_of_its_request() -> None:
    price = Price(input=1, output=8, cached=0.5, long=LongRates(above=200_000, input=2, output=12, cached=1))
    assert price.of(200_000, 1_000_000) == pytest.approx(0.2 + 8)
    assert price.of(400_000, 1_000_000, 100_000) == pytest.approx(0.6 + 0.1 + 12)


@pytest.mark.slow
def test_the_shipped_models_are_dated_and_each_row_has_a_price_above_zero() -> None:
    table = (Path(redargue.__file__).parent / "runs" / "prices.toml").read_text(encoding="utf-8")
    models = Prices.model_validate(tomllib.loads(table)).models
    assert re.search(r"^# Of 20\d\d-\d\d-\d\d, from genai-prices [\d.]+ ", table, re.M)
    assert len(models) > 2000
    assert all(price.input > 0 or price.output > 0 for price in models.values())
    assert {name: Prices.shipped().model(name) for name in models} == models
    assert {"claude-sonnet-4-5", "gemini-2.5-pro", "mistral-large-latest", "deepseek-chat"} <= set(models)


def test_a_model_is_looked_up_without_the_other_rows_being_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    budget._shipped.cache_clear()
    budget._shipped_model.cache_clear()
    Prices.shipped.cache_clear()
    parsed: list[str] = []
    read = tomllib.loads

    def loads(text: str) -> dict[str, object]:
        parsed.append(text)
        return read(text)

    monkeypatch.setattr(tomllib, "loads", loads)
    assert Prices.shipped().model("gpt-4o") is not None
    assert sum(map(len, parsed)) < 3000


@pytest.mark.extra
def test_the_price_list_takes_the_makers_price_or_the_dearest_and_leaves_out_what_tokens_do_not_decide() -> None:
    types = pytest.importorskip("genai_prices.types", reason="needs genai-prices")
    price, equals, date = types.ModelPrice, types.ClauseEquals, datetime.date(2026, 11, 24)

    def model(id_: str, prices: object, *names: str) -> object:
        return types.ModelInfo(id_, types.ClauseOr([*map(equals, (id_, *names))]), prices=prices)

    def provider(id_: str, *models: object) -> object:
        return types.Provider(id_, id_, "", models=list(models))

    def cost(input_: str, output: str, **more: object) -> object:
        return price(input_mtok=Decimal(input_), output_mtok=Decimal(output), **more)

    tiered = types.TieredPrices(Decimal(1), [types.Tier(200_000, Decimal(2))])
    later = types.ConditionalPrice(types.StartDateConstraint(datetime.date(2027, 1, 1)), prices=cost("9", "9"))
    rows = price_list.prices(
        [
            provider("reseller", model("big", cost("5", "6")), model("open", cost("1", "9"))),
            provider("openai", model("big", [types.ConditionalPrice(None, prices=cost("2", "3")), later], "big-alias")),
            provider(
                "other", model("open", cost("4", "2")), model("long", price(input_mtok=tiered, output_mtok=tiered))
            ),
            provider("cursor", model("seat", cost("1", "1"))),
            provider("free", model("gift", cost("0", "0")), model("half", price(input_mtok=Decimal(1)))),
            provider("asking", model("online", cost("1", "1", requests_kcount=Decimal(5)))),
            provider("dated", model("m", cost("1", "2"), "m-20250101"), model("m-20260101", cost("3", "4"))),
        ],
        date,
    )
    assert rows == {
        "big": {"input": 2, "output": 3},
        "big-alias": {"input": 2, "output": 3},
        "open": {"input": 4, "output": 9},
        "long": {"input": 1, "output": 1, "long": {"above": 200_000, "input": 2, "output": 2}},
        "m": {"input": 1, "output": 2},
        "m-20260101": {"input": 3, "output": 4},
    }


def test_the_shipped_table_is_read_and_names_every_tool() -> None:
    prices = Prices.shipped()
    assert prices.model("gpt-4o-mini") == Price(input=0.15, output=0.60, cached=0.075)
    assert {*prices.searches} >= {"tavily", "google", "wikipedia", "corpus", "keywords"}


@pytest.mark.parametrize("named", [True, False])
def test_the_users_entries_win_and_the_rest_stays(named: bool, tmp_path: Path) -> None:
    path = written(tmp_path / "mine.toml" if named else home() / "prices.toml", OWN)
    prices = Prices.read(path if named else None)
    assert prices.model("llama3.1") == Price(input=0, output=0)
    assert prices.model("gpt-4o") == Price(input=1, output=2)
    assert prices.model("gpt-4o-mini") == Prices.shipped().model("gpt-4o-mini")
    assert (prices.searches["serper"], prices.searches["tavily"], prices.searches["google"]) == (0.0003, 0, 0.001)


def test_a_named_file_goes_before_the_one_at_home(tmp_path: Path) -> None:
    written(home() / "prices.toml", OWN)
    assert Prices.read(written(tmp_path / "p.toml", "")).model("llama3.1") is None


def test_without_a_file_the_shipped_table_counts() -> None:
    assert Prices.read() == Prices.shipped()


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gpt-4o", True),
        ("gpt-4o-2024-08-06", True),
        ("gpt-4o-mini-2024-07-18", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-sonnet-4-5@20250929", True),
        ("gpt-4o-audio", False),
        ("gpt-4o-2024", False),
        ("my-gpt-4o", False),
        ("", False),
    ],
)
def test_a_dated_version_costs_what_its_model_does_and_nothing_else_is_guessed(name: str, known: bool) -> None:
    assert (Prices.shipped().model(name) is not None) == known


def test_an_unknown_price_is_refused_with_the_line_that_gives_it() -> None:
    prices = Prices.shipped()
    prices.require(["gpt-4o", "gpt-4o-2024-08-06"], ["tavily", "corpus"])
    with pytest.raises(UsageError, match="'gpt-4o-mny'") as caught:
        prices.require(["gpt-4o", "gpt-4o-mny"], [])
    assert '"gpt-4o-mny" = { input = 0.15, output = 0.60 }' in caught.value.hint
    assert "gpt-4o-mini" in caught.value.hint
    assert len(caught.value.hint) < 300  # and not every model that is known
    assert str(home() / "prices.toml") in caught.value.hint
    with pytest.raises(UsageError, match="the tool 'crystal-ball'") as caught:
        prices.require([], ["crystal-ball"])
    assert "crystal-ball = 0.001" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "cannot be read as TOML"),
        ('[models]\n"m" = 3', "3 is not a price"),
        ('[models]\n"m" = { input = 1 }', "is not a price: Field required"),
        ('[models]\n"m" = { input = -1, output = 1 }', "-1 is not a price"),
        ('[models]\n"m" = { input = nan, output = 1 }', "nan is not a price"),
        ('[models]\n"m" = { input = "cheap", output = 1 }', "'cheap' is not a price"),
        ('[models]\n"m" = { input = 1, output = 1, batch = 1 }', "1 is not a price"),
        ('[model]\n"m" = { input = 1, output = 1 }', "is not a price"),
        ('[searches]\ntavily = "free"', "'free' is not a price"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_what_is_no_price_table_is_refused_with_its_place(text: str | bytes, said: str, tmp_path: Path) -> None:
    path = written(tmp_path / "mine.toml", text)
    with pytest.raises(UsageError, match=said) as caught:
        Prices.read(path)
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize("value", ["-1", "nan", "inf"])
def test_a_search_costs_nothing_or_something(value: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Prices.read(written(tmp_path / "mine.toml", f"[searches]\ntavily = {value}\n"))


def test_a_models_price_is_finite(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Prices.read(written(tmp_path / "mine.toml", '[models]\n"m" = { input = inf, output = 1 }'))


def test_a_file_that_was_named_and_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no file '.*nowhere\.toml'") as caught:
        Prices.read(tmp_path / "nowhere.toml")
    assert caught.value.where == "--prices"
    with pytest.raises(UsageError, match="no file"):
        Prices.read(tmp_path)


def test_prices_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Prices.shipped().model("gpt-4o").input = 0  # type: ignore[union-attr,misc]


# budgets


@pytest.mark.parametrize(
    ("text", "calls", "tokens", "usd"),
    [
        ("40calls", 40, None, None),
        ("1call", 1, None, None),
        ("200ktok", None, 200_000, None),
        ("1.5m tokens", None, 1_500_000, None),
        ("0.50usd", None, None, 0.5),
        ("3$", None, None, 3.0),
        ("40calls, 0.50usd,1ktok", 40, 1000, 0.5),
    ],
)
def test_a_budget_is_read(text: str, calls: int | None, tokens: int | None, usd: float | None) -> None:
    budget = Budget.parse(text)
    assert (budget.calls, budget.tokens, budget.usd) == (calls, tokens, usd)


@pytest.mark.parametrize(
    "text", ["", "40", "calls", "-1calls", "0calls", "0usd", "0.5calls", "1calls,2calls", "1e3usd", "40 euros", "1usd,"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Budget.parse(text)


@pytest.mark.parametrize("usd", [0, -1, math.nan, math.inf])
def test_a_budget_that_allows_nothing_or_limits_nothing_is_refused(usd: float) -> None:
    with pytest.raises(UsageError, match=r"allows nothing, or limits nothing"):
        Budget(usd=usd)


@pytest.mark.anyio
async def test_tenths_of_a_cent_add_up_to_the_budget_and_not_beyond() -> None:
    budget, paid = Budget(usd=0.3), 0
    for _ in range(3):
        async with Account(budget).request(usd=0.1) as receipt:
            receipt.pay(usd=0.1)
            paid += 1
    assert budget.spent == Cost(3, 0, 0.3)
    with pytest.raises(Exception, match=r"\$0\.3 is spent"):
        await budget.reserve(Cost(usd=1e-6))
