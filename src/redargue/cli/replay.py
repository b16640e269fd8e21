"""``redargue replay``: a recorded run again, offline, call for call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON object (docs/schemas/check.v1.json).")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", envvar="REDARGUE_QUIET", help="No progress.")] = False,
) -> None:
    """Runs a recorded run again from its record alone, and says whether it came out as recorded."""
    import asyncio
    import sys
    from itertools import zip_longest

    from rich.console import Console
    from rich.text import Text

    from redargue.cli import show
    from redargue.cli.event_text import describe
    from redargue.errors import RecordError
    from redargue.events import Event, canonical
    from redargue.playback import replay as replay_run
    from redargue.runs.record import Record, read_events

    console = Console(file=sys.stderr, highlight=False)
    seen: list[Event] = []

    def see(event: Event) -> None:
        seen.append(event)
        if not quiet and (text := describe(event)):
            console.print(Text(text), soft_wrap=True)

    record = Record(run, mode="replay")
    verdicts = asyncio.run(replay_run(record, listeners=[see]))
    replayed = {event.item for event in seen}
    recorded = [event for event in read_events(run) if event.item in replayed]
    if json:
        show.whole(show.CheckResult(verdicts=tuple(verdicts)))
    else:
        show.verdicts(verdicts, None)
    if canonical(seen) != canonical(recorded):
        pairs = zip_longest(canonical(seen), canonical(recorded), fillvalue={"kind": "missing"})
        differing = next(b["kind"] for a, b in pairs if a != b)
        raise RecordError(
            f"the replay differs from the record, first in a {differing!r} event",
            where=str(run),
            hint="the code has changed since the run was recorded",
        )
    console.print(
        Text(f"replayed {len(replayed)} of {len(verdicts)} claims; every event is as recorded", style="green")
    )
    if matched := sum(record.matched.values()):
        console.print(
            Text(
                f"matched by position: {matched} of the recorded answers, because words have changed since then",
                style="yellow",
            ),
            soft_wrap=True,
        )
