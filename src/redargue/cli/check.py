"""``redargue check``: one claim, standard input, a file of claims, or a text."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from redargue.cli.exit import exit_code, read_gate, uninterrupted

AT_ONCE = 2  # claims


def check(
    claim: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM|FILE|-", help="A claim; a .txt (one a line) or .jsonl file; a text (.md); - for stdin."
        ),
    ],
    as_: Annotated[
        str, typer.Option("--as", help="claims, text, dialogue (a reply) or qa (question and answer: one claim).")
    ] = "",
    question: Annotated[
        str, typer.Option(metavar="TEXT|FILE", help="What a text answers, or what was said before it.")
    ] = "",
    method: Annotated[str, typer.Option(envvar="REDARGUE_METHOD", help="redargue list methods")] = "tool-mad",
    profile: Annotated[str, typer.Option(envvar="REDARGUE_PROFILE", help="paper or hardened")] = "hardened",
    model: Annotated[
        list[str] | None,
        typer.Option(
            envvar="REDARGUE_MODEL", metavar="[ROLE=]NAME", help="A language model; of a role: an agent or a task."
        ),
    ] = None,
    base_url: Annotated[
        str,
        typer.Option(envvar="REDARGUE_BASE_URL", help="Of the endpoint, with /v1; OPENAI_BASE_URL works too."),
    ] = "",
    embedding_model: Annotated[
        str, typer.Option(envvar="REDARGUE_EMBEDDING_MODEL", help="At the same endpoint; redargue's own by default.")
    ] = "",
    backend: Annotated[
        str, typer.Option(envvar="REDARGUE_BACKEND", help="redargue list backends; chat where a model is named.")
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            envvar="REDARGUE_FORM", help="How replies are asked for: auto, schema, json, text, plain, or tools to act."
        ),
    ] = "auto",
    prompts: Annotated[
        Path | None, typer.Option(envvar="REDARGUE_PROMPTS", metavar="DIR", help="Your own words: TASK.txt files.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(envvar="REDARGUE_MAX_TOKENS", min=1, help="Of a reply.")] = 4096,
    stream: Annotated[bool, typer.Option("--stream", envvar="REDARGUE_STREAM", help="Take replies in pieces.")] = False,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", envvar="REDARGUE_TOOL", help="A debater's tool, or none; once a debater."),
    ] = None,
    mcp: Annotated[
        list[str] | None,
        typer.Option(
            "--mcp",
            envvar="REDARGUE_MCP",
            metavar="[NAME=]SERVER",
            help="An MCP server's tools: wikipedia, google, scholar, papers, a command or an address; repeat it.",
        ),
    ] = None,
    memory: Annotated[
        str, typer.Option("--memory", envvar="REDARGUE_MEMORY", help="Where a method keeps evidence: a path or URL.")
    ] = "",
    workspace: Annotated[
        str, typer.Option("--workspace", envvar="REDARGUE_WORKSPACE", help="Of the memory; nothing else is seen.")
    ] = "default",
    offline: Annotated[
        bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Send nothing that leaves this machine.")
    ] = False,
    store: Annotated[
        str | None, typer.Option(envvar="REDARGUE_STORE", help="The corpus: a path or URI, or `starter`.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(envvar="REDARGUE_ROUNDS", help="The most debate rounds.")] = None,
    top_k: Annotated[int | None, typer.Option(envvar="REDARGUE_TOP_K", help="Documents a query.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the method.")
    ] = None,
    labels: Annotated[str, typer.Option(envvar="REDARGUE_LABELS", help="redargue list labels")] = "fever",
    as_of: Annotated[
        str, typer.Option(envvar="REDARGUE_AS_OF", metavar="DATE", help="Judge as of that day, like 2024-03-31.")
    ] = "",
    only_in_time: Annotated[
        bool, typer.Option("--only-in-time", help="Leave out evidence later than --as-of, or without a date.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(envvar="REDARGUE_BUDGET", help="The most to spend: 40calls, 200ktok, 0.50usd.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(envvar="REDARGUE_PRICES", metavar="FILE", help="Your own price table (TOML).")
    ] = None,
    seed: Annotated[int, typer.Option(envvar="REDARGUE_SEED")] = 0,
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="DIR", help="Record there; the same command again goes on where it stopped."),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(envvar="REDARGUE_AT_ONCE", min=1, help="Claims in work at a time: 2; of a text 16."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object (docs/schemas: check.v1, text.v1).")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One verdict a line, as each is reached.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET", help="No progress.")] = False,
    fail_on: Annotated[
        list[str] | None, typer.Option(help="Exit 1 where a verdict means this: supported, refuted, not_enough, …")
    ] = None,
    min_supported: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit 1 where fewer of the claims are supported.")
    ] = None,
) -> None:
    """Verifies a claim, each claim of a file, or a text claim by claim; prints verdict, quotations, gaps and cost."""
    given = dict(locals())
    from redargue.cli.text import CLAIMS, kind_of, read_text
    from redargue.cli.text import verify as verify_text

    if (kind := kind_of(as_, claim)) != CLAIMS:
        from redargue.cli.options import verifier_options

        text, options = read_text(claim, kind, question, "the text"), verifier_options(given)
        with options.get("memory") or nullcontext():
            verify_text(given, text, options)
    _verify(given)


def _verify(given: dict[str, Any]) -> None:
    """Verifies the claims that ``check`` was given.

    Raises:
        Exit: with the code that the verdicts and the user's gate amount to.
    """
    from redargue.api import new_run_folder
    from redargue.cli import show
    from redargue.cli.live import Viewer
    from redargue.cli.options import assemble
    from redargue.home import home
    from redargue.verifier import Verifier

    claims, options = assemble(given)
    gate = read_gate(given["fail_on"] or [], given["min_supported"])
    folder, at_once, jsonl = given["run"] or new_run_folder(home()), given["at_once"] or AT_ONCE, given["jsonl"]
    with (
        options.get("memory") or nullcontext(),
        Verifier(**options, folder=folder, claims=claims) as verifier,
        Viewer(verifier, claims, at_once=at_once, quiet=given["quiet"]) as viewer,
    ):
        verdicts = uninterrupted(
            folder,
            verifier.verify_all(
                claims,
                at_once=at_once,
                listeners=[viewer.see],
                done=lambda item, verdict: show.line(verdict) if jsonl else None,
            ),
        )
    if given["json"]:
        show.whole(show.CheckResult(verdicts=tuple(verdicts)))
    elif not jsonl:
        show.verdicts(verdicts, folder)
    raise typer.Exit(exit_code(verdicts, gate))
