"""Tests that a closing message excepts ("all tests pass except test_x"), beside those that failed."""

from __future__ import annotations

import re

from redargue.service.agent_turns.shown import CommandRun

_EXCEPTED = re.compile(
    r"\b(?:except(?:ing|\s+for)?|other\s+than|(?:apart|aside)\s+from|besides|save\s+for|with\s+the\s+exception\s+of|but)"
    r"\s+(?P<names>.{1,300})",
    re.IGNORECASE | re.DOTALL,
)
_END = re.compile(
    r"[.!?](?:\s|$)|;|[\s,(]\s*(?:which|that|who|because|since|as|and\s+(?:it|they|that|this|I|we))\b|\s[–—-]\s"
)
_NAME = re.compile(  # of a test: in code, or with an underscore, colons or a capital within
    r"`(?P<code>[^`\n]{1,200})`|(?<![\w/.:\[-])(?P<bare>(?:[\w./-]+::)*(?:\w*_\w+|[A-Za-z]\w*[a-z][A-Z]\w*)(?:\[[^\]\s]{0,80}\])?)"
)
_FAILED = re.compile(  # as pytest, go, cargo, unittest, and jest or vitest print the name
    r"^(?:FAILED|ERROR)\s+(?P<pytest>\S+::\S+)|^\s*--- FAIL: (?P<go>\S+)|^test (?P<cargo>\S+) \.\.\. FAILED"
    r"|^(?:FAIL|ERROR): (?P<unittest>\w+)|^\s*[✕✗×] (?P<jest>.+?)(?:\s+\(?\d+ ?ms\)?)?\s*$",
    re.MULTILINE,
)


def are_those_that_failed(sentence: str, run: CommandRun) -> bool:
    """Whether a sentence excepts by name exactly the tests that failed in a run, as its output has them."""
    said = _EXCEPTED.search(sentence)
    if not said:
        return False
    excepted = {_short(match["code"] or match["bare"]) for match in _NAME.finditer(_END.split(said["names"])[0])}
    names = [next(filter(None, match.groups())) for match in _FAILED.finditer(run.call.output)]
    counted = run.summary.failed or len(set(names))
    return bool(excepted) and {*map(_short, names)} == excepted and counted == len(set(names))


def _short(name: str) -> str:
    """The name of a test without its file, class, module and parameters."""
    return re.split(r"::|\.(?=\w+$)", name.strip().partition("[")[0])[-1].casefold()
