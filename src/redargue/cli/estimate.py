"""``redargue estimate``: what ``redargue check`` would cost with the same arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli import parameters
from redargue.cli.check import CLAIM_CONCURRENCY
from redargue.sanitize import counted

if TYPE_CHECKING:
    from redargue.estimate import Estimate
    from redargue.verifier import Verifier


@parameters.with_parameters
def estimate_costs(
    claim: Annotated[str, typer.Argument(metavar="CLAIM|FILE|-", help="A claim, a text or a file, as for check.")],
    *,
    reading: parameters.InputParameters,
    options: parameters.RunParameters,
    search: parameters.SearchParameters,
    record: parameters.RecordParameters,
    json: parameters.AsJson = False,
    output: parameters.OutputParameters,
    call_seconds: Annotated[float, typer.Option(min=0, help="Assumed duration of a call.")] = 1.5,
    search_seconds: Annotated[float, typer.Option(min=0, help="Assumed duration of a search.")] = 1.0,
) -> None:
    """Estimate what check would cost, without calling a model and without a key.

    Takes the same arguments as check; those for the record and the output have no effect. With --cited, a claim
    without a link counts too. Prints calls, depth (calls in sequence), tokens, price and time.
    """
    from redargue.cli.options import connected, run_config
    from redargue.estimate import claims_in, estimate
    from redargue.text.verification import CONCURRENCY as TEXT_CONCURRENCY
    from redargue.verifier import Verifier

    spec = run_config(options, search)
    given = reading.read(claim, spec)
    if given.note and not output.quiet:
        typer.echo(given.note, err=True)
    text = given.text
    claims = list(claims_in(text, spec.labels)) if text else given.claims
    with Verifier(spec, parts=connected(spec), claims=claims, sends=False) as verifier:
        estimated = estimate(
            verifier,
            claims,
            concurrency=options.concurrency or (TEXT_CONCURRENCY if text else CLAIM_CONCURRENCY),
            call_seconds=call_seconds,
            search_seconds=search_seconds,
            text=text,
        )
    if answers := sum(row.answer is not None for row in given.rows):
        uncounted = f"batch also verifies {counted(answers, 'answer')} claim by claim, which is not counted here"
        estimated = estimated.model_copy(update={"assumed": (*estimated.assumed, uncounted)})
    if json:
        typer.echo(estimated.model_dump_json(indent=1))
        return
    _print(estimated, verifier)


def _print(estimated: Estimate, verifier: Verifier) -> None:
    from redargue.cli.progress import duration

    backend = verifier.backend.name
    typer.echo(f"{counted(estimated.claims, 'claim')}; {verifier.method.name}, {backend} backend")
    typer.echo(f"{'':8}    calls  depth  searches   tokens in       out     price      time")
    for name in ("low", "likely", "high"):
        row = getattr(estimated, name)
        cost = "unknown" if row.usd is None else f"${row.usd:.4f}"
        price = cost if backend == "chat" else "-"
        typer.echo(
            f"{name:8}{row.calls:>9,}{row.depth:>7}{row.searches:>10,}{row.prompt_tokens:>12,}"
            f"{row.completion_tokens:>10,}{price:>10}{duration(row.seconds, digits=1):>10}"
        )
    for assumption in estimated.assumed:
        typer.echo(f"assumed: {assumption}")
