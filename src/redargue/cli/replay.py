"""``redargue replay``: replays a recorded run offline."""

from __future__ import annotations

import asyncio
import sys

from redargue.cli.output import print_json
from redargue.cli.parameters import AsJson, Quiet, RunName, Verbose
from redargue.errors import RecordError
from redargue.sanitize import counted


def replay_run(
    run: RunName,
    json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Replay a recorded run offline and compare it with its record.

    Every call and search is answered from the record. The schema of --json is docs/schemas/check.v2.json.
    """
    from itertools import zip_longest

    from rich.console import Console
    from rich.text import Text

    from redargue.cli import show
    from redargue.cli.live import describe
    from redargue.events import Event, canonical
    from redargue.playback import replay as replay_run
    from redargue.reports.load import CheckResult
    from redargue.runs.folders import find_run
    from redargue.runs.manifest import replayed_by
    from redargue.runs.record import Record, last_attempts

    console = Console(file=sys.stderr, highlight=False)
    seen: list[Event] = []

    def see(event: Event) -> None:
        seen.append(event)
        if verbose and not quiet and (text := describe(event, record.manifest.claims[event.item].labels)):
            console.print(Text(text), soft_wrap=True)

    folder = find_run(run)
    record = Record(folder, mode="replay")
    verdicts = asyncio.run(replay_run(record, listeners=[see]))
    replayed = {event.item for event in seen}
    recorded = [event for event in last_attempts(folder) if event.item in replayed]
    if json:
        print_json(CheckResult(verdicts=tuple(verdicts)))
    else:
        show.verdicts(verdicts, None)
    if canonical(seen) != canonical(recorded):
        pairs = zip_longest(canonical(seen), canonical(recorded), fillvalue={"kind": "missing"})
        kind = next(before["kind"] for now, before in pairs if now != before)
        raise RecordError(
            f"the replay differs from the record, first in an event of kind {kind!r}",
            where=str(folder),
            hint=replayed_by(record.manifest.redargue) or "the code has changed since the run was recorded",
        )
    done = f"{len(replayed):,} of {counted(len(verdicts), 'claim')}"
    console.print(Text(f"replayed {done}: every event is as recorded", "green"))
