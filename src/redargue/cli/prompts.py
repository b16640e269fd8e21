"""``redargue prompts``: what a model would be sent, without a model, a corpus or a network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from redargue.cli.output import print_json
from redargue.cli.parameters import AsJson, PromptSet, option
from redargue.errors import RedargueError, UsageError
from redargue.registry import did_you_mean
from redargue.sanitize import counted, printable

if TYPE_CHECKING:
    from redargue.estimate import ShownPrompt

prompts_app = typer.Typer(no_args_is_help=True, help="Show the prompts of a method; nothing is sent.")


@prompts_app.command("show")
def show_prompts(
    method: Annotated[str, typer.Argument(help="Verification method; see redargue list methods.")],
    profile: Annotated[str, typer.Option(help="Settings to start from.")] = "hardened",
    form: Annotated[
        str, option("RESPONSE_FORMAT", "Format of replies: auto, schema, json, plain, or tools.", "--response-format")
    ] = "auto",
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; repeatable.")
    ] = None,
    tool: Annotated[list[str] | None, option("TOOL", "Search tool for a debater; repeatable.")] = None,
    labels: Annotated[str, option("LABELS", "Label set; see redargue list labels.")] = "fever",
    claim: Annotated[str, typer.Option(metavar="TEXT", help="The claim; default: one about a lighthouse.")] = "",
    context: Annotated[str, typer.Option(metavar="TEXT", help="The text that the claim comes from.")] = "",
    prompts: PromptSet = None,
    task: Annotated[list[str] | None, typer.Option(metavar="TASK", help="Only this task; repeatable.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every prompt in order, not only each task's longest.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Print what a model would be sent, task by task, with tokens.

    The method verifies one claim with made-up passages, and replies "(made-up text 1)"; its agents disagree, so that
    every round is held. Nothing is run and nothing is sent. Of each task the longest prompt is printed.
    """
    from redargue.assembly import read_prompts
    from redargue.claims import Claim
    from redargue.cli.options import read_settings
    from redargue.estimate import CLAIM, preview
    from redargue.spec import RunSpec

    given = {"method": method, "profile": profile, "response_format": form, "labels": labels}
    spec = RunSpec(**given, tools=tuple(tool) if tool else None, settings=read_settings(setting or []))
    of = Claim(text=claim or CLAIM.text, context=context, labels=spec.labels)
    shown = preview(spec.updated(labels="fever"), of, prompts=read_prompts(prompts))
    chosen = _chosen(shown, task or [], every=every)
    if json:
        rows = [prompt.model_dump(mode="json") | {"tokens": prompt.tokens} for prompt in chosen]
        print_json({"schema_version": 1, "method": method, "profile": profile, "prompts": rows})
        return
    for prompt in chosen:
        times = 1 if every else sum(other.task == prompt.task for other in shown)
        asked = f", asked {times} times" if times > 1 else ""
        typer.echo(f"===== {prompt.task} ({prompt.agent}{asked}; {prompt.tokens:,} tokens)")
        typer.echo(printable(_text(prompt)) + "\n")
    total = sum(prompt.tokens for prompt in shown)
    typer.echo(f"{counted(len(shown), 'prompt')} in this example, {total:,} tokens at 4 bytes each", err=True)


@prompts_app.command("ls")
def list_prompts(
    method: Annotated[str, typer.Argument(help="Verification method; default: all.")] = "",
    profile: Annotated[str, typer.Option(help="Settings to start from.")] = "hardened",
    json: AsJson = False,
) -> None:
    """List the prompts of each method: task, how often it is asked in the example, tokens of its longest prompt."""
    from redargue.estimate import preview
    from redargue.methods.base import methods
    from redargue.spec import RunSpec

    rows = []
    for name in [method] if method else [name for name in methods if profile in methods[name].profiles]:
        try:
            shown = preview(RunSpec(method=name, profile=profile))
        except RedargueError as error:
            if method:
                raise
            typer.echo(f"{name}: {error.what}", err=True)
            continue
        for task in dict.fromkeys(prompt.task for prompt in shown):
            tokens = [prompt.tokens for prompt in shown if prompt.task == task]
            rows.append({"method": name, "task": task, "asked": len(tokens), "tokens": max(tokens)})
    if json:
        print_json({"schema_version": 1, "profile": profile, "prompts": rows})
        return
    for row in rows:
        typer.echo(f"{row['method']:<18} {row['task']:<26} {row['asked']:>4}x {row['tokens']:>6,} tokens")


def _chosen(shown: list[ShownPrompt], tasks: list[str], *, every: bool) -> list[ShownPrompt]:
    """The prompts of these tasks, or of all without one; the longest of each task unless all are asked for."""
    names = list(dict.fromkeys(prompt.task for prompt in shown))
    for name in tasks:
        if name not in names:
            what = f"no prompt of the task {name!r} is sent about this claim"
            raise UsageError(what, where="--task", hint=did_you_mean(name, names))
    names = [name for name in names if not tasks or name in tasks]
    if every:
        return [prompt for prompt in shown if prompt.task in names]
    longest = sorted(shown, key=lambda prompt: prompt.tokens, reverse=True)
    return [next(prompt for prompt in longest if prompt.task == name) for name in names]


def _text(prompt: ShownPrompt) -> str:
    parts = [f"--- {message['role']}\n{message['content']}" for message in prompt.messages]
    values = [("schema", prompt.schema_sent)] if prompt.schema_sent else []
    values += [("function", function) for function in prompt.functions]
    parts += [f"--- {name}\n{json.dumps(value, indent=1, ensure_ascii=False)}" for name, value in values]
    return "\n".join(parts)
