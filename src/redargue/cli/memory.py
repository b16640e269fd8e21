"""``redargue memory``: lists, shows, removes and rechecks the records of the evidence memory."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from redargue.cli.output import FINISHED_WITH_ERRORS, print_json
from redargue.cli.parameters import AsJson, Offline, Yes, option, with_parameters
from redargue.errors import RedargueError, UsageError
from redargue.sanitize import counted, printable

if TYPE_CHECKING:  # loads numpy and pydantic, which --help does not need
    from redargue.memory import MemoryRecord, RecordFilter
    from redargue.memory.memory import Memory
    from redargue.memory.recheck import RecheckResult

memory_app = typer.Typer(help="List, show, recheck and remove records of the evidence memory.", no_args_is_help=True)

_LISTED = "redargue memory ls lists the numbers"
Limit = Annotated[
    int, typer.Option("-n", "--limit", min=1, max=1_000_000, help="Maximum number of records, newest first.")
]


@dataclass(frozen=True, kw_only=True)
class MemoryParameters:
    """The memory that a command reads or changes."""

    memory: Annotated[str, option("MEMORY", "Path or postgresql://…; default: memory.db in redargue's home.")] = ""
    workspace: Annotated[str, option("WORKSPACE", "Workspace; other workspaces are not read.")] = "default"

    def open(self, *, write: bool = False) -> Memory:
        from redargue.memory.memory import memory_stores, open_memory
        from redargue.net.services import is_offline, require_local

        if is_offline():
            require_local(self.memory, what="memory", stores=memory_stores)
        if write:
            open_memory(self.memory, write=False).close()  # raises if there is none, instead of creating it
        return open_memory(self.memory, workspace=self.workspace, write=write)


@dataclass(frozen=True, kw_only=True)
class SelectionParameters(MemoryParameters):
    """The records that a command applies to, besides their numbers."""

    entity: Annotated[str, typer.Option(help="Only records of this entity, in any spelling.")] = ""
    tool: Annotated[str, typer.Option(help="Only records of this tool.")] = ""
    status: Annotated[
        Literal["ok", "empty", "changed", "gone"] | None, typer.Option(help="Only records with this status.")
    ] = None
    before: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only records retrieved before this day (UTC).")
    ] = None

    def condition(self, numbers: Iterable[int] | None = None) -> RecordFilter:
        from redargue.memory import RecordFilter

        return RecordFilter(
            numbers=tuple(numbers or ()),
            entity=self.entity,
            tool=self.tool,
            status=self.status,
            before=self.before.date() if self.before else None,
        )


@memory_app.command("ls")
@with_parameters
def list_records(*, selected: SelectionParameters, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List records, newest first.

    Columns: number, retrieval time, status, tool, characters, title or query.
    """
    condition = selected.condition()
    with selected.open() as opened:
        records, count = opened.records(condition, limit=limit), opened.count(condition)
    if as_json:
        print_json({"workspace": selected.workspace, "count": count, "records": records})
        return
    for record in records:
        passage = record.passage
        when = f"{passage.retrieved:%Y-%m-%d %H:%M}" if passage.retrieved else ""
        about = passage.title or passage.query
        line = f"{record.number:>7}  {when}  {record.status:<7}  {passage.tool:<10}  {record.length:>7,}  {about}"
        typer.echo(printable(line, lines=False))
    noun = "record" if condition.is_empty else "matching record"
    shown = f"{len(records):,} of {counted(count, noun)} in workspace {selected.workspace!r}"
    typer.echo(printable(shown, lines=False), err=True)


@memory_app.command("show")
@with_parameters
def show_memory(
    numbers: Annotated[list[int], typer.Argument(help="Record numbers as listed by ls.")],
    *,
    selected: MemoryParameters,
    as_json: AsJson = False,
) -> None:
    """Show records in full: text, source, entities and claims."""
    condition = SelectionParameters().condition(numbers)
    with selected.open() as opened:
        _require(opened, condition)
        records = opened.records(condition, limit=len(numbers))
    if as_json:
        print_json({"workspace": selected.workspace, "records": records})
        return
    for record in sorted(records, key=lambda record: numbers.index(record.number)):
        typer.echo(_format(record))


@memory_app.command()
@with_parameters
def purge(
    numbers: Annotated[list[int] | None, typer.Argument(help="Record numbers as listed by ls.")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Remove all records of the workspace.")] = False,
    yes: Yes = False,
    selected: SelectionParameters,
    as_json: AsJson = False,
) -> None:
    """Remove the records that match all options permanently."""
    condition = selected.condition(numbers)
    if everything and not condition.is_empty:
        raise UsageError("--all removes every record, numbers and filters only some", hint="drop --all, or the others")
    if not everything and condition.is_empty:
        raise UsageError("purge needs record numbers or filters, or --all", hint=_LISTED)
    with selected.open(write=True) as opened:
        _require(opened, condition)
        count = opened.count(condition)
        question = f"Remove {counted(count, 'record')} of {selected.workspace!r}?"
        confirmed = yes or (count > 0 and typer.confirm(question, err=True))
        removed = opened.purge(condition) if confirmed else 0
    if as_json:
        print_json({"workspace": selected.workspace, "removed": removed})
    else:
        typer.echo(f"{counted(removed, 'record')} removed")


@memory_app.command("recheck")
@with_parameters
def recheck_memory(
    numbers: Annotated[list[int] | None, typer.Argument(help="Record numbers; default: all.")] = None,
    *,
    selected: SelectionParameters,
    store: Annotated[str, option("STORE", "Corpus to search.")] = "",
    offline: Offline = False,
    limit: Limit = 1000,
    as_json: AsJson = False,
) -> None:
    """Repeat the search of each record and mark what changed.

    Records that changed or disappeared are no longer recalled.
    """
    condition = selected.condition(numbers)
    with selected.open(write=True) as opened:
        _require(opened, condition)
        records = opened.records(condition, limit=len(numbers or ()) or limit)
        results = asyncio.run(_recheck(opened, records, store, offline))
    counts = Counter(result.outcome for result in results)
    totals = dict(sorted(counts.items()))
    if as_json:
        rows = [{"number": each.record.number, "outcome": each.outcome, "why": each.why} for each in results]
        print_json({"workspace": selected.workspace, "counts": totals, "records": rows})
    else:
        for result in results:
            if result.outcome != "same":
                number, passage = result.record.number, result.record.passage
                about = f"{passage.title or passage.query}  {result.why}"
                line = f"{result.outcome:<8} {number:>7}  {about}".rstrip()
                typer.echo(printable(line, lines=False))
        said = ", ".join(f"{count:,} {name}" for name, count in totals.items())
        typer.echo(said or "nothing to do", err=True)
    if counts["failed"] or counts["no tool"]:
        raise typer.Exit(FINISHED_WITH_ERRORS)


async def _recheck(opened: Memory, records: Sequence[MemoryRecord], store: str, offline: bool) -> list[RecheckResult]:
    from redargue.memory.recheck import recheck
    from redargue.net.services import limiter, services
    from redargue.net.transport import Transport
    from redargue.retrieval.corpus.index import Corpus, open_store
    from redargue.retrieval.tools import Sources, made_tool, tools
    from redargue.runs.budget import Prices

    available: dict[str, Any] = {}
    with ExitStack() as stack:

        @cache
        def corpus() -> Corpus:
            return stack.enter_context(open_store(store or None))

        async with Transport(limiter(), offline=offline) as transport:
            prices = dict(Prices.read().searches)
            sources = Sources(corpus=corpus, transport=transport, services=services(), prices=prices)
            for name in sorted({record.passage.tool for record in records} & set(tools)):
                try:
                    available[name] = made_tool(name, sources)
                except RedargueError as error:
                    typer.echo(printable(f"{name}: {error}"), err=True)
            checked = recheck(opened, records, available, now=datetime.now(UTC))
            return [result async for result in checked]


def _format(record: MemoryRecord) -> str:
    passage = record.passage
    fields = {
        "title": passage.title,
        "url": passage.url,
        "publisher": " · ".join(filter(None, (passage.publisher, passage.published))),
        "found by": f"{passage.tool} {json.dumps(record.arguments, ensure_ascii=False)}",
        "retrieved": str(passage.retrieved or ""),
        "status": record.status + (f", checked {record.checked}" if record.checked else ""),
        "under": " · ".join(record.entities),
        "for": " · ".join(f"{claim} ({run})" if run else claim for claim, run in record.claims),
    }
    lines = [f"{record.number}."]
    lines += [printable(f"   {name}: {value}", lines=False) for name, value in fields.items() if value]
    shown, body = len(passage.text), printable(passage.text).replace("\n", "\n   ")
    cut = f" (the first {shown:,} of {record.length:,})" if record.length > shown else ""
    return "\n".join((*lines, f"   text{cut}:", f"   {body}\n"))


def _require(opened: Memory, condition: RecordFilter) -> None:
    """Raises UsageError for the first number that is not a record's, or one of a record that the filters leave out."""
    named = SelectionParameters().condition(condition.numbers)
    for selected, why in ((named, "is not in"), (condition, "does not match the filters, but is in")):
        records = opened.records(selected, limit=len(condition.numbers))
        if missing := sorted(set(condition.numbers) - {record.number for record in records}):
            what = f"record {missing[0]} {why} workspace {opened.workspace!r}"
            raise UsageError(what, hint=_LISTED)
