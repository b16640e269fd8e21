"""The price list of models, from genai-prices (MIT): ``make prices``, before a release.

``python -m benchmarks prices`` rewrites the table ``[models]`` of ``src/redargue/runs/prices.toml`` from the installed
release of genai-prices. A name has one price there: its maker's, or the highest that a provider asks, so that a budget
holds. Models without a price for input or output, at no price, or charged by the request besides are left out: their
price stays unknown.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from redargue.runs.budget import VERSION

TABLE = Path(__file__).parents[1] / "src" / "redargue" / "runs" / "prices.toml"
MAKERS = (  # of two that list a name, the first
    *("openai", "anthropic", "google", "mistral", "deepseek", "x-ai", "cohere", "moonshotai", "zai", "minimax"),
    *("perplexity", "voyageai", "arcee"),
)
NO_ENDPOINT = ("cursor", "github-copilot")  # subscriptions
FIELDS = {"input": "input_mtok", "output": "output_mtok", "cached": "cache_read_mtok"}
BY_REQUEST = ("requests_kcount", "input_text_messages_kcount")
OTHER = re.compile(r"tts|audio|transcribe|realtime|whisper|image|video|vision-preview|speech|ocr|\.ft-")  # than text
NO_OUTPUT = ("embed", "rerank", "voyage")

Row = dict[str, Any]


def main(arguments: list[str]) -> None:
    """Rewrites the table, and prints how many names it has and had."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks prices")
    parser.add_argument("--date", type=datetime.date.fromisoformat, default=datetime.date.today(), help="prices of")
    date = parser.parse_args(arguments).date
    from genai_prices.data import providers

    old = TABLE.read_text(encoding="utf-8")
    rows = prices(providers, date)
    head = old[: old.index("[models]")].rstrip()
    said = (
        f"# Of {date}, from genai-prices {version('genai-prices')} (MIT, Copyright Pydantic Services Inc.): make prices"
    )
    lines = [f"{json.dumps(name)} = {written(rows[name])}" for name in sorted(rows)]
    TABLE.write_text("\n".join([head, "", "[models]", said, *lines, ""]), encoding="utf-8")
    print(json.dumps({"models": len(rows), "before": old.count(" = { input"), "bytes": TABLE.stat().st_size}))


def prices(providers: Iterable[Any], date: datetime.date) -> dict[str, Row]:
    """The price of each name on a day, without versions that cost what their model does."""
    listed: dict[str, dict[str, Row]] = {}
    for provider in providers:
        for model in provider.models if provider.id not in NO_ENDPOINT else ():
            if row := price(model, date):
                for name in {model.id, *names(model.match)}:
                    listed.setdefault(name, {})[provider.id] = row
    rows = {name: chosen(offers) for name, offers in listed.items() if not OTHER.search(name)}
    return {name: row for name, row in rows.items() if name == (base := VERSION.sub("", name)) or rows.get(base) != row}


def names(match: Any) -> Iterator[str]:
    """The exact names that a rule of genai-prices accepts."""
    if exact := getattr(match, "equals", None):
        yield exact
    for inner in getattr(match, "or_", ()):
        yield from names(inner)


def price(model: Any, date: datetime.date) -> Row | None:
    """A model's price on a day, the dearest of that day's hours; None without one that a count of tokens decides."""
    offers = [model.prices]
    if isinstance(model.prices, list):
        started = [each for each in model.prices if getattr(each.constraint, "start_date", date) <= date]
        latest = max((getattr(each.constraint, "start_date", datetime.date.min) for each in started), default=None)
        offers = [
            each.prices
            for each in started
            if getattr(each.constraint, "start_date", datetime.date.min) == latest
            or hasattr(each.constraint, "end_time")
        ]
    rows = [row for each in offers if (row := _of_tokens(each, model.id))]
    return dearest(rows) if len(rows) == len(offers) else None


def _of_tokens(given: Any, name: str) -> Row | None:
    if any(getattr(given, field, None) for field in BY_REQUEST):
        return None
    values = {field: getattr(given, theirs) for field, theirs in FIELDS.items()}
    if values["output"] is None and any(word in name for word in NO_OUTPUT):
        values["output"] = Decimal(0)
    if values["input"] is None or values["output"] is None:
        return None
    tiers = [tier for value in values.values() for tier in getattr(value, "tiers", ())]
    row: Row = {field: float(getattr(value, "base", value)) for field, value in values.items() if value is not None}
    if not row["input"] and not row["output"]:
        return None
    if tiers:  # of several, the dearest from where the first begins
        above = {field: _last(value) for field, value in values.items() if value is not None}
        row["long"] = {"above": min(tier.start for tier in tiers), **above}
    return row


def _last(value: Any) -> float:
    return float(value.tiers[-1].price if getattr(value, "tiers", ()) else getattr(value, "base", value))


def chosen(offers: Mapping[str, Row]) -> Row:
    maker = next((name for name in MAKERS if name in offers), None)
    return offers[maker] if maker else dearest(list(offers.values()))


def dearest(rows: list[Row]) -> Row:
    """Field by field, so that no one of them costs more."""
    row: Row = {field: max(each[field] for each in rows) for field in ("input", "output")}
    if all("cached" in each for each in rows):
        row["cached"] = max(each["cached"] for each in rows)
    if tiers := [each["long"] for each in rows if "long" in each]:
        fields = [field for field in FIELDS if field in row]
        row["long"] = {"above": min(tier["above"] for tier in tiers)}
        row["long"] |= {field: max(row[field], *(tier.get(field, 0) for tier in tiers)) for field in fields}
    return row


def written(row: Row) -> str:
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in row.items()) + " }"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return written(value)
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
