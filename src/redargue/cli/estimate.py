"""``redargue estimate``: what ``redargue check`` would cost with the same arguments."""

from __future__ import annotations

from typing import Annotated

import typer

from redargue.cli.check import CONCURRENCY
from redargue.cli.parameters import AsJson, RunParameters, SearchParameters, with_parameters
from redargue.errors import UsageError
from redargue.sanitize import counted


@with_parameters
def estimate(
    claim: Annotated[str, typer.Argument(metavar="CLAIM|FILE|-", help="A claim or a file of claims, as for check.")],
    *,
    as_: Annotated[str, typer.Option("--as", help="What the input is: claim (one) or claims.")] = "",
    options: RunParameters,
    search: SearchParameters,
    json: AsJson = False,
    call_seconds: Annotated[float, typer.Option(min=0, help="Assumed duration of a call.")] = 1.5,
    search_seconds: Annotated[float, typer.Option(min=0, help="Assumed duration of a search.")] = 1.0,
) -> None:
    """Estimate what check would cost, without calling a model.

    Takes the same arguments as check. Prints calls, depth (calls in sequence), tokens, price and time.
    """
    from redargue.cli.arguments import read_input
    from redargue.cli.options import connected, run_config
    from redargue.estimate import estimate as estimate_cost
    from redargue.verifier import Verifier

    config = run_config(options, search)
    given = read_input(claim, as_, "", config)
    claims = given.claims
    if given.text:
        hint = "verify it with redargue check, or estimate it as one claim: --as claim"
        raise UsageError(f"{claim[:60]!r} is a text whose claims have not been extracted", hint=hint)
    with Verifier(config, components=connected(config), claims=claims) as verifier:
        estimated = estimate_cost(
            verifier,
            claims,
            concurrency=options.concurrency or CONCURRENCY,
            call_seconds=call_seconds,
            search_seconds=search_seconds,
        )
    if json:
        print(estimated.model_dump_json(indent=1))  # noqa: T201
        return
    print(f"{counted(estimated.claims, 'claim')}; {verifier.method.name}, {verifier.backend.name} backend")  # noqa: T201
    print(f"{'':8}{'calls':>9}{'depth':>7}{'searches':>10}{'tokens in':>12}{'out':>10}{'price':>10}{'time':>10}")  # noqa: T201
    for name in ("low", "likely", "high"):
        row = getattr(estimated, name)
        price = "unknown" if row.usd is None else f"${row.usd:.4f}"
        price = "-" if verifier.backend.name != "chat" else price
        print(  # noqa: T201
            f"{name:8}{row.calls:>9,}{row.depth:>7}{row.searches:>10,}{row.prompt_tokens:>12,}"
            f"{row.completion_tokens:>10,}{price:>10}{_duration(row.seconds):>10}"
        )
    for assumption in estimated.assumed:
        print(f"assumed: {assumption}")  # noqa: T201


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
