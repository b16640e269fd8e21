"""``redargue estimate``: what ``redargue check`` with the same arguments will cost."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from redargue.cli.check import AT_ONCE, check

NOT_ASKED = (
    "as_",
    "question",
    "run",
    "jsonl",
    "quiet",
    "fail_on",
    "min_supported",
)  # they concern what comes out of a check


def like_check(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that gives a command the options of ``check`` but those named, before its own."""

    def shared(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(check, include_extras=True) | get_type_hints(command, include_extras=True)
        kept = [each for name, each in inspect.signature(check).parameters.items() if name not in without]
        own = [each for each in inspect.signature(command).parameters.values() if each.kind is each.KEYWORD_ONLY]
        keyword = [each.replace(kind=each.KEYWORD_ONLY, annotation=hints[each.name]) for each in [*kept, *own]]
        command.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in keyword}
        return command

    return shared


@like_check(*NOT_ASKED)
def estimate(
    *,
    call_seconds: Annotated[float, typer.Option(min=0, help="What a call takes.")] = 1.5,
    search_seconds: Annotated[float, typer.Option(min=0, help="What a search takes.")] = 1.0,
    **given: Any,
) -> None:
    """Says what ``check`` with these arguments will cost, before any call: calls, depth, tokens, price, time."""
    from redargue.cli.options import assemble
    from redargue.estimate import estimate as reckon
    from redargue.verifier import Verifier

    claims, options = assemble({**given, "run": None})
    with Verifier(**options, claims=claims) as verifier:
        found = reckon(
            verifier,
            claims,
            at_once=given["at_once"] or AT_ONCE,
            call_seconds=call_seconds,
            search_seconds=search_seconds,
        )
    if given["json"]:
        print(found.model_dump_json(indent=1))  # noqa: T201
        return
    print(f"{found.claims} claim{'s' * (found.claims != 1)}; {verifier.method.name}, {verifier.backend.name} backend")  # noqa: T201
    print(f"{'':8}{'calls':>9}{'depth':>7}{'searches':>10}{'tokens in':>12}{'out':>10}{'price':>10}{'time':>10}")  # noqa: T201
    for name in ("low", "likely", "high"):
        row = getattr(found, name)
        price = "unknown" if row.usd is None else f"${row.usd:.4f}"
        price = "-" if verifier.backend.name != "chat" else price
        print(  # noqa: T201
            f"{name:8}{row.calls:>9,}{row.depth:>7}{row.searches:>10,}{row.prompt_tokens:>12,}"
            f"{row.completion_tokens:>10,}{price:>10}{_time(row.seconds):>10}"
        )
    for each in found.assumed:
        print(f"assumed: {each}")  # noqa: T201


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
