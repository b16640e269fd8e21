"""``redargue check``: one claim, standard input, or a file of claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from redargue.claims import Claim
    from redargue.verdicts import Verdict

INTERRUPTED = 130


def check(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM|FILE|-", help="A claim; a .txt (one a line) or .jsonl file; - for standard input."
        ),
    ],
    method: Annotated[str, typer.Option(envvar="REDARGUE_METHOD", help="redargue list methods")] = "tool-mad",
    profile: Annotated[str, typer.Option(envvar="REDARGUE_PROFILE", help="paper or hardened")] = "hardened",
    backend: Annotated[str, typer.Option(envvar="REDARGUE_BACKEND", help="redargue list backends")] = "embedded",
    tool: Annotated[
        list[str] | None,
        typer.Option(
            "--tool", envvar="REDARGUE_TOOL", help="A debater's tool (corpus, keywords, none); once a debater."
        ),
    ] = None,
    store: Annotated[
        str | None, typer.Option(envvar="REDARGUE_STORE", help="The corpus: a path or URI, or `starter`.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(envvar="REDARGUE_ROUNDS", help="The most debate rounds.")] = None,
    top_k: Annotated[int | None, typer.Option(envvar="REDARGUE_TOP_K", help="Documents a query.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the method.")
    ] = None,
    labels: Annotated[str, typer.Option(envvar="REDARGUE_LABELS", help="redargue list labels")] = "fever",
    budget: Annotated[str | None, typer.Option(envvar="REDARGUE_BUDGET", help="The most to spend: 40calls.")] = None,
    seed: Annotated[int, typer.Option(envvar="REDARGUE_SEED")] = 0,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="DIR", help="Record there; the same command again goes on where it stopped."),
    ] = None,
    at_once: Annotated[int, typer.Option(envvar="REDARGUE_AT_ONCE", min=1, help="Claims in work at a time.")] = 2,
    json: Annotated[bool, typer.Option("--json", help="One JSON object (docs/schemas/check.v1.json).")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One verdict a line, as each is reached.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET", help="No progress.")] = False,
    fail_on: Annotated[
        list[str] | None, typer.Option(help="Exit 1 where a verdict means this: supported, refuted, not_enough, …")
    ] = None,
    min_supported: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit 1 where fewer of the claims are supported.")
    ] = None,
) -> None:
    """Verifies a claim, or each claim of a file, and prints verdict, quotations, gaps and cost."""
    from redargue.api import Verifier, new_run_folder
    from redargue.claims import label_sets
    from redargue.cli import show
    from redargue.cli.live import Viewer
    from redargue.home import home
    from redargue.ledger.budget import Budget

    claims = read_claims(claim, label_sets[labels])
    gate = _gate(fail_on or [], min_supported)
    settings = read_settings(setting or [])
    settings |= {"debaters": tuple(tool)} if tool else {}
    settings |= {name: value for name, value in (("rounds", rounds), ("top_k", top_k)) if value is not None}
    folder = run or new_run_folder(home())
    with (
        Verifier(
            method=method,
            profile=profile,
            backend=backend,
            store=store,
            seed=seed,
            settings=settings,
            folder=folder,
            budget=Budget.parse(budget) if budget else None,
            claims=claims,
        ) as verifier,
        Viewer(verifier, claims, at_once=at_once, quiet=quiet) as viewer,
    ):
        verdicts = _uninterrupted(
            folder,
            verifier.verify_all(
                claims,
                at_once=at_once,
                listeners=[viewer.see],
                done=lambda item, verdict: show.line(verdict) if jsonl else None,
            ),
        )
    if json:
        show.whole(verdicts)
    elif not jsonl:
        show.verdicts(verdicts, folder)
    raise typer.Exit(exit_code(verdicts, gate))


def _uninterrupted(folder: Path, work: Coroutine[Any, Any, list[Verdict]]) -> list[Verdict]:
    """The work's result; Ctrl-C becomes exit 130 and the line that goes on."""
    import asyncio

    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; the same command with --run {folder} goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None


def read_claims(given: str, labels: Any) -> list[Claim]:
    """The claims that the argument names.

    Raises:
        UsageError: a missing or empty file, or a row without a claim; says which line.
    """
    import json
    import sys

    from redargue.errors import UsageError

    path = Path(given)
    if given != "-" and path.suffix not in (".txt", ".jsonl"):
        return [_claim({"claim": given}, labels, "the claim")]
    if given != "-" and not path.is_file():
        raise UsageError(f"no file {given!r}", hint="give a file of claims, or the claim itself in quotation marks")
    try:
        raw = sys.stdin.buffer.read() if given == "-" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{given!r} cannot be read: {error}") from error
    rows = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not rows:
        raise UsageError(f"{given!r} holds no claim")
    claims = []
    for number, line in rows:
        where = f"{given}, line {number}"
        row: Any = {"claim": line.strip()}
        if path.suffix == ".jsonl" or (given == "-" and line.lstrip().startswith("{")):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"not JSON: {line.strip()[:60]!r}", where=where) from error
        claims.append(_claim(row, labels, where))
    return claims


def _claim(row: Any, labels: Any, where: str) -> Claim:
    from pydantic import ValidationError

    from redargue.claims import Claim
    from redargue.errors import UsageError

    if not isinstance(row, dict) or not isinstance(row.get("claim"), str):
        raise UsageError(f"no field 'claim' with a text in {str(row)[:60]!r}", where=where)
    fields = {name: row[name] for name in ("context", "options") if name in row}
    try:
        return Claim(text=row["claim"], labels=labels, **fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=where) from error


def read_settings(given: list[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs; a value is read as JSON where it is JSON, and as text where it is not."""
    import json

    from redargue.errors import UsageError

    settings: dict[str, Any] = {}
    for pair in given:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise UsageError(f"cannot read the setting {pair!r}", where="--set", hint="write it like --set rounds=2")
        try:
            settings[name.replace("-", "_")] = json.loads(value)
        except ValueError:
            settings[name.replace("-", "_")] = value
    return settings


def _gate(fail_on: list[str], min_supported: float | None) -> tuple[frozenset[str], float | None]:
    from redargue.claims import Meaning
    from redargue.errors import UsageError
    from redargue.registry import did_you_mean

    for name in fail_on:
        if name not in list(Meaning):
            known = [each.value for each in Meaning]
            raise UsageError(f"no verdict means {name!r}", where="--fail-on", hint=did_you_mean(name, known))
    return frozenset(fail_on), min_supported


def exit_code(verdicts: list[Verdict], gate: tuple[frozenset[str], float | None]) -> int:
    """0, or 1 where the user's gate failed, or what the errors among the verdicts amount to."""
    codes = [verdict.error.exit_code for verdict in verdicts if verdict.error]
    if codes:
        for code in (4, 5):  # a spent budget concerns all; a provider only where nothing else went through
            if (code in codes) if code == 4 else (codes == [5] * len(verdicts)):
                return code
        return codes[0] if len(verdicts) == 1 else 3
    fail_on, least = gate
    failed = any(verdict.meaning in fail_on for verdict in verdicts)
    share = sum(verdict.meaning == "supported" for verdict in verdicts) / len(verdicts)
    return int(failed or (least is not None and share < least))
