"""``redargue memory``: what is kept of earlier claims' evidence, where it came from, and whether it still holds."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redargue.sanitize import printable

if TYPE_CHECKING:  # they load numpy and pydantic, which --help does not need
    from redargue.memory.base import MemoryRecord, RecordFilter
    from redargue.memory.memory import Memory
    from redargue.memory.recheck import RecheckResult
    from redargue.retrieval.tools.base import Tool

app = typer.Typer(help="Look at the evidence memory, look its evidence up again, and empty it.", no_args_is_help=True)

Where = Annotated[
    str,
    typer.Option("--memory", envvar="REDARGUE_MEMORY", help="Path, or postgresql://…; yours by default."),
]
Workspace = Annotated[str, typer.Option("--workspace", envvar="REDARGUE_WORKSPACE", help="Nothing else is seen.")]
Entity = Annotated[str, typer.Option("--entity", help="Only what stands under this entity, in any spelling.")]
ToolName = Annotated[str, typer.Option("--tool", help="Only what this tool found.")]
StatusName = Annotated[str, typer.Option("--status", help="Only ok, empty, changed or gone.")]
Before = Annotated[
    datetime | None,
    typer.Option("--before", formats=["%Y-%m-%d"], help="Only what was retrieved before this day, UTC."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

FINISHED_WITH_ERRORS = 3


@app.command("ls")
def list_records(
    memory: Where = "",
    workspace: Workspace = "default",
    entity: Entity = "",
    tool: ToolName = "",
    status: StatusName = "",
    before: Before = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="The newest so many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List records, the newest first: number, when retrieved, status, tool, characters, title or query."""
    wanted = _filter((), entity, tool, status, before)
    with _open(memory, workspace) as kept:
        records, count, others = kept.records(wanted, limit=limit), kept.count(wanted), kept.workspaces()
    if as_json:
        _print_json({"workspace": workspace, "count": count, "workspaces": others, "records": _dumped(records)})
        return
    for each in records:
        passage = each.passage
        when = f"{passage.retrieved:%Y-%m-%d %H:%M}" if passage.retrieved else ""
        about = passage.title or passage.query
        line = f"{each.number:>7}  {when}  {each.status:<7}  {passage.tool:<10}  {each.length:>7,}  {about}"
        typer.echo(printable(line, lines=False))
    rest = ", ".join(f"{name} {number:,}" for name, number in others.items() if name != workspace)
    shown = f"{len(records):,} of {count:,} records in workspace {workspace!r}"
    typer.echo(printable(shown + (f"; others: {rest}" if rest else ""), lines=False), err=True)


@app.command()
def show(
    numbers: Annotated[list[int], typer.Argument(help="Of the records, as ls lists them.")],
    memory: Where = "",
    workspace: Workspace = "default",
    as_json: AsJson = False,
) -> None:
    """Show records whole: the text, where it came from, the entities it stands under, the claims it was found for."""
    with _open(memory, workspace) as kept:
        records = kept.records(_filter(numbers, "", "", "", None), limit=len(numbers))
    _require(numbers, records, workspace)
    if as_json:
        _print_json({"workspace": workspace, "records": _dumped(records)})
        return
    for each in sorted(records, key=lambda record: numbers.index(record.number)):
        typer.echo(_shown(each))


@app.command()
def purge(
    numbers: Annotated[list[int] | None, typer.Argument(help="Of the records, as ls lists them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="The whole workspace.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    memory: Where = "",
    workspace: Workspace = "default",
    entity: Entity = "",
    tool: ToolName = "",
    status: StatusName = "",
    before: Before = None,
    as_json: AsJson = False,
) -> None:
    """Remove records for good: those to which all that is given applies."""
    from redargue.errors import UsageError

    wanted = _filter(numbers or (), entity, tool, status, before)
    if everything != wanted.is_empty:
        raise UsageError("purge takes what to remove, or --all", hint="redargue memory ls lists the numbers")
    with _open(memory, workspace, write=True) as kept:
        if numbers:
            _require(numbers, kept.records(wanted, limit=len(numbers)), workspace)
        count = kept.count(wanted)
        if count and not yes and not typer.confirm(f"Remove {count:,} records of {workspace!r}?", err=True):
            raise typer.Exit(1)
        removed = kept.purge(wanted) if count else 0
    if as_json:
        _print_json({"workspace": workspace, "removed": removed})
    else:
        typer.echo(f"{removed:,} removed")


@app.command()
def recheck(
    numbers: Annotated[list[int] | None, typer.Argument(help="Of the records; all by default.")] = None,
    memory: Where = "",
    workspace: Workspace = "default",
    entity: Entity = "",
    tool: ToolName = "",
    status: StatusName = "",
    before: Before = None,
    store: Annotated[str, typer.Option("--store", envvar="REDARGUE_STORE", help="The corpus to search.")] = "",
    offline: Annotated[bool, typer.Option("--offline", envvar="REDARGUE_OFFLINE", help="Send nothing away.")] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="The newest so many.")] = 1000,
    as_json: AsJson = False,
) -> None:
    """Make each record's search again; what has changed or is gone is marked, and recalled no more."""
    wanted = _filter(numbers or (), entity, tool, status, before)
    with _open(memory, workspace, write=True) as kept:
        records = kept.records(wanted, limit=limit)
        _require(numbers or (), records, workspace)
        results = asyncio.run(_rechecked(kept, records, store, offline))
    counts = Counter(each.outcome for each in results)
    if as_json:
        rows = [{"number": each.record.number, "outcome": each.outcome, "why": each.why} for each in results]
        _print_json({"workspace": workspace, "counts": dict(sorted(counts.items())), "records": rows})
    else:
        for each in results:
            if each.outcome != "same":
                passage = each.record.passage
                line = f"{each.outcome:<8} {each.record.number:>7}  {passage.title or passage.query}  {each.why}"
                typer.echo(printable(line.rstrip(), lines=False))
        typer.echo(
            ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())) or "nothing to do", err=True
        )
    if counts["failed"] or counts["no tool"]:
        raise typer.Exit(FINISHED_WITH_ERRORS)


async def _rechecked(kept: Memory, records: Iterable[MemoryRecord], store: str, offline: bool) -> list[RecheckResult]:
    from redargue.memory.recheck import recheck
    from redargue.net.services import limiter, services
    from redargue.net.transport import Transport
    from redargue.retrieval.corpus.index import Corpus
    from redargue.retrieval.corpus.shipped import open_store
    from redargue.retrieval.tools.base import Sources
    from redargue.runs.prices import Prices

    corpora: list[Corpus] = []

    def corpus() -> Corpus:
        corpora.extend([] if corpora else [open_store(store or None)])
        return corpora[0]

    some = tuple(records)
    async with Transport(limiter(), offline=offline) as transport:
        prices = dict(Prices.read().searches)
        sources = Sources(corpus=corpus, transport=transport, services=services(), prices=prices)
        try:
            found = _tools({each.passage.tool for each in some}, sources)
            return [each async for each in recheck(kept, some, found, now=datetime.now(UTC))]
        finally:
            for each in corpora:
                each.close()


def _tools(names: Iterable[str], sources: Any) -> Mapping[str, Tool]:
    """Those of the names that are search tools, and have what they need."""
    from redargue.errors import RedargueError
    from redargue.retrieval.tools.base import tools

    made = {}
    for name in sorted(names):
        if name in tools:
            try:
                made[name] = tools[name].make(sources)
            except RedargueError as error:
                typer.echo(printable(f"{name}: {error}"), err=True)
    return made


def _shown(record: MemoryRecord) -> str:
    passage = record.passage
    facts = {
        "title": passage.title,
        "url": passage.url,
        "publisher": " · ".join(filter(None, (passage.publisher, passage.published))),
        "found by": f"{passage.tool} {json.dumps(record.arguments, ensure_ascii=False)}",
        "retrieved": str(passage.retrieved or ""),
        "status": record.status + (f", checked {record.checked}" if record.checked else ""),
        "under": " · ".join(record.entities),
        "for": " · ".join(f"{claim} ({run})" if run else claim for claim, run in record.claims),
    }
    head = [f"{record.number}."] + [f"   {name}: {each}" for name, each in facts.items() if each]
    cut = f" (the first {len(passage.text):,} of {record.length:,})" if record.length > len(passage.text) else ""
    body = printable(passage.text).replace("\n", "\n   ")
    return "\n".join(printable(each, lines=False) for each in head) + f"\n   text{cut}:\n   {body}\n"


def _filter(numbers: Iterable[int], entity: str, tool: str, status: str, before: datetime | None) -> RecordFilter:
    from redargue.errors import UsageError
    from redargue.memory.base import RecordFilter

    known = ("ok", "empty", "changed", "gone")
    if status and status not in known:
        raise UsageError(f"{status!r} is no status", where="--status", hint=f"known: {', '.join(known)}")
    day = before.date() if before else None
    given = {"numbers": tuple(numbers), "entity": entity, "tool": tool, "status": status or None, "before": day}
    return RecordFilter.model_validate(given)


def _require(numbers: Iterable[int], records: Iterable[MemoryRecord], workspace: str) -> None:
    from redargue.errors import UnknownName

    if missing := sorted(set(numbers) - {each.number for each in records}):
        raise UnknownName(
            f"no record {missing[0]} in workspace {workspace!r}", hint="redargue memory ls lists the numbers"
        )


def _open(memory: str, workspace: str, *, write: bool = False) -> Memory:
    from redargue.memory.memory import open_memory

    if write:
        open_memory(memory, write=False).close()  # refuses what is not there, instead of making it
    return open_memory(memory, workspace=workspace, write=write)


def _dumped(records: Iterable[MemoryRecord]) -> list[dict[str, Any]]:
    return [each.model_dump(mode="json") for each in records]


def _print_json(value: object) -> None:
    """In ASCII, so that no document's character reaches a terminal as it is."""
    typer.echo(json.dumps(value, indent=2))
