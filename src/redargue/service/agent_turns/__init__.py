"""Compares the closing message of an agent with what its tools show.

Each rule reads one clause and is silent unless the clause makes its kind of claim. A rule says *contradicted* only for
what the outputs contradict, or for a command that a whole transcript does not have; *confirmed* for what they show;
*not shown* for the rest. Clauses that deny, plan, ask or set conditions make no claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from itertools import product
from typing import NamedTuple

from redargue.service.agent_turns.shown import CommandRun, Shown, sums
from redargue.service.agent_turns.transcripts import Transcript

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


class ClosingOutcome(StrEnum):
    """What the tools of an agent say of a claim in its closing message."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_SHOWN = "not_shown"


class ClosingClaim(NamedTuple):
    """A claim of a closing message; ``why`` says what the tools show, and quotes a line of their output."""

    sentence: str
    kind: str
    outcome: ClosingOutcome
    why: str = ""


Found = tuple[ClosingOutcome, str]
_Rule = Callable[[str, str, Shown], Found | None]  # of a clause, its sentence and what was shown

MOST_READ, LONGEST_SENTENCE = 20_000, 600  # characters
_PROSE = (".md", ".txt", ".rst", ".adoc")
_FENCED = re.compile(r"^```.*?^```\s*?$", re.MULTILINE | re.DOTALL)
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\n+|(?<=:)\s+(?=[A-Z])")
_CLAUSES = re.compile(
    r";\s+|,?\s+(?:but|because|although|though|except|while|whereas|since)\s+|,\s+(?:and|so|which"
    r"|where|as|with)\s+|\s+and\s+(?=(?:I|we|it|the|all|every|everything|each|then|also|they|now"
    r"|ran|re-?ran|pushed|committed|coverage|verified|confirmed)\b)"
)
_NO_CLAIM = re.compile(
    r"\b(?:if|once|whenever|unless|until|should|would|could|might|may|will|shall|can|cannot|let me"
    r"|please|want|needs? to|have to|has to|to see|so that|going to|next step|plan to|try|in CI"
    r"|CI)\b|\?\s*$|n[’']t\b",
    re.I,
)
_OF_DENIALS = ("clean tree", "only file")
_DENIED = re.compile(
    r"\b(?:not|never|neither|nor|without running|skipped as|at first|initially|earlier|previously)\b", re.I
)
_WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_NUMBER = rf"(\d[\d,]*|(?:{'|'.join(_WORDS)})\b)"
_PATH = re.compile(r"(?<![\w/])(?:[\w@.-]+/)*[\w@.-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/(])")
_NO_FILES = re.compile(r"^(?:e\.g|i\.e|etc\.?|(?:Node|Next|Vue|React|D3)\.js|\d.*)$", re.I)
_PASS = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:is|are|were|was|all|now|being)\s+(?:all\s+"
    r"|now\s+)?(?:green|ok|passing|clean|successful))\b"
)
_TESTS = r"(?:tests?|suites?|specs?|examples|checks|cases|everything)\b"
_PART = re.compile(
    r"\b(?:unit|integration|end-to-end|e2e|new|these|those|its|other)\s+tests?\b|\btests?\s+(?:for"
    r"|in|of)\b|\bthe\s+(?!whole|entire|full|test|maven|go)\w+\s+tests?\b",
    re.I,
)
_NONE = (
    r"(?:no|zero|without(?: any)?|free of)\s+(?:\w+\s+){0,2}?(?:errors?|warnings?|problems?|issues?"
    r"|offen[cs]es|complaints?)\b"
)
_CLEAN = rf"(?:{_PASS}|\bclean\b|{_NONE}|\bnothing\b|\bquiet\b|\bpassing\b|\bcontent\b|\bformatted\b)"


def check_closing(transcript: Transcript) -> list[ClosingClaim]:
    """The claims of the closing message that a rule knows, in its order; a sentence counts once for each kind."""
    shown, found = Shown(*transcript), dict[tuple[str, str], ClosingClaim]()
    for sentence in closing_sentences(transcript.closing):
        parts = [part for part in _CLAUSES.split(sentence) if part.strip()]
        claiming = [part for part in parts if not _NO_CLAIM.search(part)]
        if claiming[:1] != parts[:1]:
            continue
        for clause, (kind, rule) in product(claiming, _RULES.items()):
            if _DENIED.search(clause) and kind not in _OF_DENIALS:
                continue
            if answer := rule(clause, sentence, shown):
                claim = ClosingClaim(sentence, kind, *answer)
                if (sentence, kind) not in found or claim.outcome is ClosingOutcome.CONTRADICTED:
                    found[sentence, kind] = claim
    return list(found.values())


def closing_sentences(closing: str) -> Iterator[str]:
    """The sentences of a message, without code blocks; of a very long message the end."""
    for part in _SENTENCES.split(_FENCED.sub("", closing[-MOST_READ:])):
        if text := part.strip().lstrip("-*•#> ").strip()[:LONGEST_SENTENCE]:
            yield text


def _find(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.I)


def _stated_number(text: str) -> int:
    word = text.casefold()
    return _WORDS.index(word) + 1 if word in _WORDS else int(text.replace(",", ""))


def _named_in(text: str) -> list[str]:
    """The names of files in a text."""
    return [name for name in _PATH.findall(text) if not _NO_FILES.match(name)]


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _confirmed(why: str = "") -> Found:
    return ClosingOutcome.CONFIRMED, why


def _contradicted(why: str) -> Found:
    return ClosingOutcome.CONTRADICTED, why


NOT_SHOWN: Found = (ClosingOutcome.NOT_SHOWN, "no output of a tool shows it")


def _of(run: CommandRun) -> str:
    return f"{run.call.command.strip().splitlines()[0][:80]!r} ended with {run.line!r}"


def _last(shown: Shown, runs: Sequence[CommandRun]) -> Found | None:
    """By the last of some runs: None if there is none; one before the last edit shows nothing of what it left."""
    if not runs:
        return None
    last = runs[-1]
    later = [path for path in shown.edited_after(last.call) if not path.endswith(_PROSE)]
    if later and not last.failed:
        why = f"the last run was before the edit of {later[-1]}: {_of(last)}"
        return ClosingOutcome.NOT_SHOWN, why
    return _by(last)


def _by(run: CommandRun) -> Found:
    return _contradicted(_of(run)) if run.failed else _confirmed(_of(run))


def _never(shown: Shown, kind: str, what: str) -> Found:
    if shown.whole and not shown.began(kind):
        return _contradicted(f"no command in the transcript {what}")
    return NOT_SHOWN


def _by_last_run(kind: str, *needed: str, unless: str = "(?!)", never: str = "", named: bool = False) -> _Rule:
    """The rule of a kind of command whose last run decides.

    Args:
        needed: patterns that a clause has if it makes the claim.
        unless: a pattern that it does not have; by default, one that nothing has.
        never: what no command does where the claim is contradicted, in words; empty: it is not.
        named: whether the first pattern names a program, whose runs decide where there are any.
    """

    def rule(clause: str, sentence: str, shown: Shown) -> Found | None:
        found = [_find(pattern, clause) for pattern in needed]
        if not found[0] or not all(found) or _find(unless, clause):
            return None
        runs, program = shown.runs(kind), found[0][0].casefold()
        of_program = [run for run in runs if named and program in run.call.command.casefold()]
        return _last(shown, of_program or runs) or (_never(shown, kind, never) if never else NOT_SHOWN)

    return rule


def _tests(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = _find(
        rf"\b{_TESTS}[^.;]*?\b{_PASS}|\b(?:passing|green)\s+{_TESTS}"
        rf"|\b{_NUMBER}\s+(?:\w+\s+)?passed\b",
        clause,
    )
    others = r"\b(?:lint|linter|types?|syntax|hooks?|format|pre-commit|mypy|formatting)\b"
    if not said or _find(others, clause):
        return None
    runs = shown.runs("test")
    if runs and runs[-1].failed and are_those_that_failed(sentence, runs[-1]):
        return _of_the_others(clause, runs[-1])
    if counted := _counted(clause, runs):
        return counted
    runs = [run for run in runs if run.failed or run.has_passing_tests]
    if not runs:
        named = _find(r"\b(?:tests?|suites?|specs?)\b", clause)
        return _never(shown, "test", "runs tests") if named else None
    if _PART.search(clause) and (passing := [run for run in runs if not run.failed]):
        return _confirmed(_of(passing[-1]))
    return _last(shown, runs)


def _of_the_others(clause: str, run: CommandRun) -> Found:
    """Where exactly the tests that failed are excepted: of a number, that it counts the others or all."""
    passed, failed, _ = run.summary
    given = _TEST_COUNT.search(clause)
    if given and passed is not None and _stated_number(given[1]) not in (passed, passed + failed):
        return _contradicted(_of(run))
    return _confirmed(_of(run))


_TEST_COUNT = re.compile(
    rf"\b{_NUMBER}\s+(?:of\s+(?:the\s+)?{_NUMBER}\s+)?(?:[\w-]+\s+){{0,3}}?(?:tests?|examples?"
    rf"|specs?|cases|checks|passed)\b",
    re.I,
)


def _counted(clause: str, runs: Sequence[CommandRun]) -> Found | None:
    """Of a number of tests that pass."""
    given = _TEST_COUNT.search(clause)
    numbered = [(run, run.summary.passed) for run in runs if run.summary.passed is not None]
    if not given or not numbered:
        return None
    count, run = _stated_number(given[1]), numbered[-1][0]
    last = run.summary
    if count not in sums(passed for _, passed in numbered):
        counts = f"{last.passed} passed, {last.failed} failed, {last.skipped} were skipped"
        return _contradicted(f"{counts}: {_of(run)}")
    everything = _find(r"\b(?:all|every|whole|suite|everything)\b", clause) and not given[2]
    return _by(run) if everything and last.passed == count else _confirmed(_of(run))


_KINDS_RUN = {  # as a message names them after "ran"
    "test": r"(?:the\s+|all\s+|our\s+)?(?:\w+[\s-]){0,2}(?:tests?|suite|specs)\b",
    "lint": r"(?:the\s+)?lint(?:er|ing)?\b",
    "migration": r"(?:the\s+)?(?:\w+\s+)?migrations?\b",
    "build": r"(?:the\s+|a\s+)?(?:\w+\s+)?build\b",
}


def _ran(clause: str, sentence: str, shown: Shown) -> Found | None:
    """Of a command that was run."""
    said = _find(
        r"\b(?:I|we|and|also|then|,)\s*(?:also\s+|then\s+|just\s+)?(?:(?:re-?)?ran|executed"
        r"|have\s+(?:re-?)?run)\s+(.+)|^(?:re-?)?ran\s+(.+)",
        clause,
    )
    if not said:
        return None
    what = (said[1] or said[2]).strip()
    quoted = re.match(r"(?:the\s+)?`([^`]+)`", what)
    if not quoted:
        for kind, pattern in _KINDS_RUN.items():
            if re.match(pattern, what, re.I):
                return _confirmed() if shown.began(kind) else _never(shown, kind, f"is a {kind}")
        if not re.match(_BINARY, what, re.I):
            return None
    words = (quoted[1] if quoted else what).split()
    named = 2 if quoted or re.match(_BINARY_WITH, " ".join(words[1:])) else 1
    names = [word.casefold() for word in words[:named] if not word.startswith("-")]
    commands = " \n ".join(call.command for call in shown.calls).casefold()
    if all(name in commands for name in names):
        return _confirmed()
    if shown.whole:
        return _contradicted(f"no command in the transcript has {' '.join(names)!r}")
    return NOT_SHOWN


_BINARY = (
    r"(?:pytest|tox|mypy|ruff|black|eslint|prettier|tsc|npm|npx|yarn|pnpm|cargo|go|make|cmake|mvn"
    r"|gradle|docker|kubectl|helm|terraform|shellcheck|hadolint|playwright|cypress|jest|vitest"
    r"|rspec|rubocop|flake8|pylint|pyright|clippy|git|curl)\b"
)
_BINARY_WITH = r"(?:apply|test|build|run|check|lint|plan|install)\b"


def _build(clause: str, sentence: str, shown: Shown) -> Found | None:
    if _find(r"\b(?:tests?|lint\w*|types?)\b", clause) and not _find(r"\bcompiles?\b", clause):
        return None
    claimed = _find(_BUILT, clause) and _find(_SUBJECT, clause)
    if not claimed or _find(r"\bdeploy|rollout|migrat", clause):
        return None
    tools = r"docker|podman|buildah" if _find(r"\bimage\b", clause) else ""
    runs = [run for run in shown.runs("build") if re.search(tools, run.call.command)]
    return _last(shown, runs) or NOT_SHOWN


_SUBJECT = (
    r"\b(?:build|project|code|package|binary|image|it|app|application|release|library|crate"
    r"|gradle|maven)\b"
)
_BUILT = (
    r"\b(?:builds|compiles|build(?:ing)? succeed\w*|succeeds|succeeded|was built|were built"
    r"|is built|is successful|was successful|finished without errors|build (?:passes|is green"
    r"|works)|works again|compiled)\b"
)


_CHANGE = r"(?:changed?|modified|edited|updated|touched|rewrote|created|added|wrote|adapted|adjusted)"
_FILES = r"(?:files?|documents?|pages?|style\s?sheets?|modules?|scripts?)\b"


def _file_count(clause: str, sentence: str, shown: Shown) -> Found | None:
    active = (
        rf"\b{_CHANGE}\s+(?:only\s+|just\s+|the\s+)?{_NUMBER}\s+(?:other\s+|new\s+|more\s+)?"
        rf"(?:\w+\s+)?{_FILES}"
    )
    passive = (
        rf"\b{_NUMBER}\s+(?:\w+\s+)?{_FILES}\s+(?:were\s+|are\s+|have\s+been\s+|was\s+"
        rf"|is\s+)?(?:changed|modified|different|edited|differ|updated|created|added)\b"
    )
    said = _find(active, clause) or _find(passive, clause)
    if not said:
        return None
    count, written = _stated_number(said[1]), shown.edited(turn=False)
    counted = [*(files for files, _, _ in shown.changes()), *shown.status_counts()]
    if count in (len(shown.edited()), len(written), *counted):
        return _confirmed(f"{count} files")
    if not shown.whole or (shown.may_write() and not counted):
        return NOT_SHOWN
    names = ", ".join(sorted(written)) or "none"
    return _contradicted(f"tools changed {len(written)}: {names}"[:300])


def _line_count(clause: str, sentence: str, shown: Shown) -> Found | None:
    changes = shown.changes()
    for place, word in ((1, "insertion"), (2, "deletion")):
        if changes and (said := _find(rf"\b{_NUMBER}\s+{word}s?\b", clause)):
            known = {change[place] for change in changes}
            if _stated_number(said[1]) in known:
                return _confirmed()
            return _contradicted(f"git counts {', '.join(map(str, sorted(known)))} {word}s")
    return None


def _named_files(clause: str, sentence: str, shown: Shown) -> Found | None:
    names = _named_in(clause)
    if not names or not _find(rf"\b{_CHANGE}\b", clause):
        return None
    missing = [name for name in names if not shown.mentions(name)]
    if missing and shown.whole and not shown.may_write():
        return _contradicted(f"no tool wrote or mentions {', '.join(missing)}")
    return NOT_SHOWN if missing else _confirmed()


def _only_file(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = _find(
        r"\bonly\b.*\b(?:touched|changed|edited|modified|file)\b|\bno other files?\b"
        r"|\bnothing else (?:was )?(?:changed|touched)",
        sentence,
    )
    names = _named_in(sentence)
    if not said or len(names) != 1 or re.search(r"\bI only\b", sentence):
        return None
    others = sorted(path for path in shown.edited() if _base(path) != _base(names[0]))
    return _contradicted(f"tools also wrote {', '.join(others)}"[:300]) if others else _confirmed()


def _clean_tree(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = _find(
        r"\b(?:nothing (?:is )?(?:left )?uncommitted|working (?:tree|directory|copy) is clean"
        r"|everything is committed)\b",
        sentence,
    )
    counts = shown.status_counts()
    if not said or not counts:
        return None
    return _contradicted(f"git status lists {counts[-1]} files") if counts[-1] else _confirmed()


def _coverage(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = _find(r"\bcoverage\b\D{0,40}?(\d+(?:\.\d+)?)\s?(?:%|per ?cent)", clause)
    if not said:
        return None
    percent = r"(?:TOTAL|All files|[Cc]overage|Lines).*?(\d+(?:\.\d+)?)\s?%"
    known = {float(value) for call in shown.calls for value in re.findall(percent, call.output)}
    if not known:
        return NOT_SHOWN
    if any(abs(float(said[1]) - value) < 1 for value in known):
        return _confirmed()
    return _contradicted(f"the reports say {', '.join(f'{value:g} %' for value in sorted(known))}")


def _status_code(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = _find(
        r"\b(?:returns?|answers?|responds?|gives?)\s+(?:\w+\s+){0,2}?(?:with\s+)?(?:HTTP\s+)?"
        r"([1-5]\d\d)\b",
        clause,
    )
    status = re.compile(r"HTTP/[\d.]+ ([1-5]\d\d)|^\s*([1-5]\d\d)\s*$", re.M)
    outputs = [run.call.output for run in shown.runs("request")]
    known = {answer[1] or answer[2] for text in outputs for answer in status.finditer(text)}
    if not said or not known:
        return None
    if said[1] in known:
        return _confirmed()
    return _contradicted(f"the requests were answered with {', '.join(sorted(known))}")


def _no_errors(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = _find(
        r"\b(?:runs?|ran|works|executes|starts|imports|finishes)\b.*(?:\bwithout (?:an "
        r"|any )?errors?\b|\bto the end\b|\bthrough$|\bthrough\b[ .]|\bsuccessfully\b)",
        clause,
    )
    if not said or _find(rf"\b{_TESTS}", clause):
        return None
    run = shown.last_run()
    return _by(run) if run else NOT_SHOWN


def _deleted(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = _find(
        r"\b(?:deleted|removed)\s+(?:the\s+)?(?:(?:folder|file|directory)\s+)?`?([\w./-]+)`?"
        r"|`?([\w./-]+)`?\s+(?:is|was|are)\s+(?:deleted|removed|gone)",
        clause,
    )
    if not said:
        return None
    name = (said[1] or said[2]).rstrip(".")
    if not (_PATH.fullmatch(name) or "/" in name or _find(r"\b(?:folder|directory)\b", clause)):
        return None
    if shown.runs("removal") or any(_base(name) in path for path in shown.edited(turn=False)):
        return _confirmed()
    if shown.whole and not shown.may_write():
        return _contradicted(f"no command in the transcript removes {name!r}")
    return NOT_SHOWN


_MEASURE = re.compile(
    r"(\d[\d,]*(?:\.\d+)?)\s?(ms|s|seconds?|req/s|rps|ops/s|MB|kB|KB|MiB|GB|rows?|%|fps"
    r"|tokens/s)(?![\w/])"
)


def _measured(clause: str, sentence: str, shown: Shown) -> Found | None:
    """Of a measurement that an output has with the same name and unit."""
    said = _MEASURE.search(clause)
    others = (
        r"\b(?:coverage|about|roughly|nearly|over|under|more|less|limited?|up from|down from"
        r"|tests?)\b"
    )
    names = r"\b(?:p\d\d|median|mean|average|throughput|latency|size|time|rate|accuracy|memory)\b"
    named = {name.casefold() for name in re.findall(names, clause, re.I)}
    if not said or not named or _find(others, clause):
        return None
    lines = [
        line
        for call in shown.calls
        for line in call.output.splitlines()
        if any(name in line.casefold() for name in named)
    ]
    measured = (found for line in lines for found in _MEASURE.findall(line))
    known = [_amount(value) for value, unit in measured if unit == said[2]]
    if not known:
        return None
    value = _amount(said[1])
    if any(abs(value - other) <= 0.05 * max(value, other) for other in known):
        return _confirmed()
    return _contradicted(f"the output says {lines[-1].strip()[:120]!r}")


def _amount(text: str) -> float:
    return float(text.replace(",", ""))


# Of linters, type checkers and formatters.
_clean_report = partial(_by_last_run, unless=r"\b(?:one|two|\d+) errors?\b", named=True)
_UNDONE = r"\b(?:un\w+|to be|yet|last commit)\b"
_RULES: dict[str, _Rule] = {
    "tests": _tests,
    "command": _ran,
    "build": _build,
    "lint": _clean_report(
        "lint",
        r"\b(?:ruff|eslint|flake8|pylint|clippy|rubocop|shellcheck|lint(?:er|ing)?|golangci-lint"
        r"|go vet|helm lint)\b",
        _CLEAN,
    ),
    "types": _clean_report("types", r"\b(?:mypy|pyright|tsc|types?|type[- ]check\w*)\b", _CLEAN),
    "format": _clean_report("format", r"\b(?:black|prettier|format\w*|gofmt|rustfmt|fmt)\b", _CLEAN),
    "number of files": _file_count,
    "number of lines": _line_count,
    "files": _named_files,
    "only file": _only_file,
    "commit": _by_last_run("commit", r"\bcommitted\b", unless=_UNDONE, never="is a git commit"),
    "push": _by_last_run("push", r"\bpushed\b", unless=_UNDONE, never="is a git push"),
    "clean tree": _clean_tree,
    "coverage": _coverage,
    "installation": _by_last_run("install", r"\binstalled\b"),
    "migration": _by_last_run(
        "migration", r"\bmigrat\w+|\bdatabase\b", r"\b(?:applied|ran|migrated|succeeded|went through)\b"
    ),
    "deployment": _by_last_run(
        "deployment",
        r"\b(?:deploy\w*|rollout)\b",
        r"\b(?:succeeded|complete|successful|deployed|configured|done)\b",
    ),
    "status code": _status_code,
    "run": _no_errors,
    "deletion": _deleted,
    "measurement": _measured,
}
