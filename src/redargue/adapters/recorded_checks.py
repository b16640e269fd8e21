"""Makes the checks of tests, records them, and replays what was recorded.

A check is recorded in a run folder of its own, whose name is a hash of what was checked, against what, and with which
configuration: a replay of anything else finds no folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redargue import playback
from redargue.adapters.grounding import VerifyOptions, completed
from redargue.adapters.session import current
from redargue.api import verify
from redargue.errors import RecordError, ReplayMiss
from redargue.evidence import Passage
from redargue.parts import RunOptions, read_options
from redargue.reports.load import SingleRun, load_run
from redargue.runs.folders import remove_run
from redargue.spec import RunSpec
from redargue.text.report import Report, build_report
from redargue.text.segment import Text
from redargue.text.verification import verify_text
from redargue.verdicts import Verdict


def check_claim(claim: str, options: VerifyOptions) -> Verdict:
    """Verifies, records or replays a claim."""
    identity = {"claim": claim}
    if folder := _folder(current.replay, identity, options):
        (verdict,) = completed(playback.replay(_recorded(folder)))
        return verdict
    return completed(verify(claim, folder=_emptied(_folder(current.record, identity, options)), **options))


def check_text(text: Text, documents: Sequence[Passage], number: int, options: VerifyOptions) -> Report:
    """Verifies, records or replays a text; ``number`` is added to the seed."""
    about = {
        "text": text.model_dump(mode="json"),
        "documents": [document.model_dump(mode="json") for document in documents],
        "number": number,
    }
    if folder := _folder(current.replay, about, options):
        return _replayed(folder)
    checked: VerifyOptions = {**options, "seed": _config(options).seed + number}
    folder = _emptied(_folder(current.record, about, options))
    return completed(verify_text(text, documents=documents, folder=folder, **checked))


def _config(options: VerifyOptions) -> RunSpec:
    """The configuration that the options describe; objects among them are not part of it."""
    given: RunOptions = {name: value for name, value in options.items() if name != "spec"}  # type: ignore[assignment]
    return read_options(given, options.get("spec"))[0]


def _folder(parent: Path | None, about: dict[str, Any], options: VerifyOptions) -> Path | None:
    """The run folder of a check; None where nothing is recorded or replayed."""
    if parent is None:
        return None
    identity = json.dumps({**about, "spec": _config(options).model_dump(mode="json")}, sort_keys=True)
    words = re.findall(r"[a-z0-9]+", str(about.get("claim") or about["text"]["text"]).lower())
    return parent / "-".join([*words[:4], hashlib.sha256(identity.encode(errors="replace")).hexdigest()[:16]])


def _emptied(folder: Path | None) -> Path | None:
    """A folder without an earlier recording: a recorded run would be resumed."""
    if folder and folder.exists():
        remove_run(folder)
    return folder


def _recorded(folder: Path) -> Path:
    if (folder / "run.json").is_file():
        return folder
    raise ReplayMiss(
        f"the check {folder.name!r} is not recorded",
        where=str(folder.parent),
        hint="its text, contexts or options have changed, or it is new: run the test with --redargue-record",
    )


def _replayed(folder: Path) -> Report:
    verdicts = completed(playback.replay(_recorded(folder)))
    run = load_run(folder)
    if not isinstance(run, SingleRun) or not run.text:
        raise RecordError(f"{str(folder)!r} is not the run of a text", hint="record it again: --redargue-record")
    return build_report(*run.text, verdicts, run.extraction_usage)
