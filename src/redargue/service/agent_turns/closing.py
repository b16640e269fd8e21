"""Compares the closing message of an agent with what its tools show.

Each rule reads one clause and is silent unless the clause makes its kind of claim. A rule says *contradicted* only for
what the outputs contradict, or for a command that a whole transcript does not have; *confirmed* for what they show;
*not shown* for the rest. Clauses that deny, plan, ask or set conditions make no claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from redargue.service.agent_turns.excepted import are_those_that_failed
from redargue.service.agent_turns.shown import CommandRun, Shown, sums
from redargue.service.agent_turns.transcripts import Transcript


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
    r";\s+|,?\s+(?:but|because|although|though|except|while|whereas|since)\s+|,\s+(?:and|so|which|where|as|with)\s+"
    r"|\s+and\s+(?=(?:I|we|it|the|all|every|everything|each|then|also|they|now|ran|re-?ran|pushed|committed"
    r"|coverage|verified|confirmed)\b)"
)
_NO_CLAIM = re.compile(
    r"\b(?:if|once|whenever|unless|until|should|would|could|might|may|will|shall|can|cannot|let me|please|want"
    r"|needs? to|have to|has to|to see|so that|going to|next step|plan to|try|in CI|CI)\b|\?\s*$|n[’']t\b",
    re.IGNORECASE,
)
_OF_DENIALS = ("clean tree", "only file")
_DENIED = re.compile(
    r"\b(?:not|never|neither|nor|without running|skipped as|at first|initially|earlier|previously)\b", re.I
)
_WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_NUMBER = rf"(\d[\d,]*|(?:{'|'.join(_WORDS)})\b)"
_PATH = re.compile(r"(?<![\w/])(?:[\w@.-]+/)*[\w@.-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/(])")
_NO_FILES = re.compile(
    r"^(?:e\.g|i\.e|etc\.?|Node\.js|Next\.js|Vue\.js|React\.js|D3\.js|\d.*)$",
    re.IGNORECASE,
)
_PASS = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|(?:is|are|were|was|all|now|being)\s+(?:all\s+|now\s+)?(?:green|ok"
    r"|passing|clean|successful))\b"
)
_TESTS = r"(?:tests?|suites?|specs?|examples|checks|cases|everything)\b"
_PART = re.compile(
    r"\b(?:unit|integration|end-to-end|e2e|new|these|those|its|other)\s+tests?\b|\btests?\s+(?:for|in|of)\b"
    r"|\bthe\s+(?!whole|entire|full|test|maven|go)\w+\s+tests?\b",
    re.IGNORECASE,
)
_NONE = (
    r"(?:no|zero|without(?: any)?|free of)\s+(?:\w+\s+){0,2}?(?:errors?|warnings?|problems?|issues?|offen[cs]es"
    r"|complaints?)\b"
)
_CLEAN = rf"(?:{_PASS}|\bclean\b|{_NONE}|\bnothing\b|\bquiet\b|\bpassing\b|\bcontent\b|\bformatted\b)"


def check_closing(transcript: Transcript) -> list[ClosingClaim]:
    """The claims of the closing message that a rule knows, in its order; a sentence counts once for each kind."""
    shown, found = Shown(transcript), dict[tuple[str, str], ClosingClaim]()
    for sentence in closing_sentences(transcript.closing):
        parts = clauses(sentence)
        told = [] if _NO_CLAIM.search(parts[0]) else [part for part in parts if not _NO_CLAIM.search(part)]
        for clause, (kind, rule) in product(told, _RULES.items()):
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


def clauses(sentence: str) -> list[str]:
    return [part for part in _CLAUSES.split(sentence) if part.strip()]


def stated_number(text: str) -> int:
    return _WORDS.index(text.casefold()) + 1 if text.casefold() in _WORDS else int(text.replace(",", ""))


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
    if runs[-1].failed:
        return _contradicted(_of(runs[-1]))
    later = [path for path in shown.edited_after(runs[-1].call) if not path.endswith(_PROSE)]
    if later:
        return ClosingOutcome.NOT_SHOWN, f"the last run was before the edit of {later[-1]}: {_of(runs[-1])}"
    return _confirmed(_of(runs[-1]))


def _never(shown: Shown, kind: str, what: str) -> Found:
    if shown.whole and not shown.began(kind):
        return _contradicted(f"no command in the transcript {what}")
    return NOT_SHOWN


def _tests(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = re.search(
        rf"\b{_TESTS}[^.;]*?\b{_PASS}|\b(?:passing|green)\s+{_TESTS}"
        rf"|\b{_NUMBER}\s+(?:\w+\s+)?passed\b",
        clause,
        re.I,
    )
    if not said or re.search(
        r"\b(?:lint|linter|type|types|syntax|hook|hooks|format|pre-commit|mypy|formatting)\b", clause, re.I
    ):
        return None
    runs = shown.runs("test")
    if runs and runs[-1].failed and are_those_that_failed(sentence, runs[-1]):
        return _of_the_others(clause, runs[-1])
    counted = _counted(clause, shown)
    if counted:
        return counted
    if not runs:
        if not re.search(r"\b(?:tests?|suites?|specs?)\b", clause, re.I):
            return None
        return _never(shown, "test", "runs tests")
    if _PART.search(clause) and (passing := [run for run in runs if not run.failed]):
        return _confirmed(_of(passing[-1]))
    return _last(shown, runs)


def _of_the_others(clause: str, run: CommandRun) -> Found:
    """Where exactly the tests that failed are excepted: of a number, that it counts the others or all."""
    passed, failed, _ = run.summary
    given = _TEST_COUNT.search(clause)
    if given and passed is not None and stated_number(given[1]) not in (passed, passed + failed):
        return _contradicted(_of(run))
    return _confirmed(_of(run))


_TEST_COUNT = re.compile(
    rf"\b{_NUMBER}\s+(?:of\s+(?:the\s+)?{_NUMBER}\s+)?(?:[\w-]+\s+){{0,3}}?(?:tests?|examples?|specs?|cases"
    rf"|checks|passed)\b",
    re.IGNORECASE,
)


def _counted(clause: str, shown: Shown) -> Found | None:
    """Of a number of tests that pass."""
    given = _TEST_COUNT.search(clause)
    runs = [run for run in shown.runs("test") if run.summary.passed is not None]
    if not given or not runs:
        return None
    count, last = stated_number(given[1]), runs[-1].summary
    if count not in sums(passed for run in runs if (passed := run.summary.passed) is not None):
        said = f"{last.passed} passed, {last.failed} failed, {last.skipped} were skipped: {_of(runs[-1])}"
        return _contradicted(said)
    everything = re.search(r"\b(?:all|every|whole|suite|everything)\b", clause, re.I) and not given[2]
    failing = everything and runs[-1].failed and last.passed == count
    return _contradicted(_of(runs[-1])) if failing else _confirmed(_of(runs[-1]))


def _ran(clause: str, sentence: str, shown: Shown) -> Found | None:
    """Of a command that was run."""
    said = re.search(
        r"\b(?:I|we|and|also|then|,)\s*(?:also\s+|then\s+|just\s+)?(?:(?:re-?)?ran|executed"
        r"|have\s+(?:re-?)?run)\s+(.+)|^(?:re-?)?ran\s+(.+)",
        clause,
        re.I,
    )
    if not said:
        return None
    what = (said[1] or said[2]).strip()
    quoted = re.match(r"(?:the\s+)?`([^`]+)`", what)
    words = (quoted[1] if quoted else what).split()
    commands = " \n ".join(call.command for call in shown.calls)
    for kind, pattern in (
        ("test", r"(?:the\s+|all\s+|our\s+)?(?:\w+[\s-]){0,2}(?:tests?|suite|specs)\b"),
        ("lint", r"(?:the\s+)?lint(?:er|ing)?\b"),
        ("migration", r"(?:the\s+)?(?:\w+\s+)?migrations?\b"),
        ("build", r"(?:the\s+|a\s+)?(?:\w+\s+)?build\b"),
    ):
        if not quoted and re.match(pattern, what, re.I):
            return _confirmed() if shown.began(kind) else _never(shown, kind, f"is a {kind}")
    if not quoted and not re.match(_BINARY, words[0], re.I):
        return None
    names = [
        word.casefold()
        for word in words[
            : 2
            if quoted or re.match(r"^(?:apply|test|build|run|check|lint|plan|install)\b", " ".join(words[1:2]))
            else 1
        ]
    ]
    names = [name for name in names if not name.startswith("-")]
    if all(name in commands.casefold() for name in names):
        return _confirmed()
    return _contradicted(f"no command in the transcript has {' '.join(names)!r}") if shown.whole else NOT_SHOWN


_BINARY = (
    r"(?:pytest|tox|mypy|ruff|black|eslint|prettier|tsc|npm|npx|yarn|pnpm|cargo|go|make|cmake|mvn|gradle|docker"
    r"|kubectl|helm|terraform|shellcheck|hadolint|playwright|cypress|jest|vitest|rspec|rubocop|flake8|pylint|pyright|clippy"
    r"|git|curl)\b"
)


def _build(clause: str, sentence: str, shown: Shown) -> Found | None:
    if re.search(r"\b(?:tests?|lint\w*|types?)\b", clause, re.I) and not re.search(r"\bcompiles?\b", clause, re.I):
        return None
    subject = r"\b(?:build|project|code|package|binary|image|it|app|application|release|library|crate|gradle|maven)\b"
    done = (
        r"\b(?:builds|compiles|build(?:ing)? succeed\w*|succeeds|succeeded|was built|were built|is built"
        r"|is successful|was successful|finished without errors|build (?:passes|is green|works)|works again"
        r"|compiled)\b"
    )
    if not (re.search(done, clause, re.I) and re.search(subject, clause, re.I)) or re.search(
        r"\bdeploy|rollout|migrat", clause, re.I
    ):
        return None
    image = re.search(r"\bimage\b", clause, re.I)
    runs = [run for run in shown.runs("build") if not image or re.search(r"docker|podman|buildah", run.call.command)]
    return _last(shown, runs) or NOT_SHOWN


def _checker(kind: str, names: str) -> _Rule:
    """The rule of linters, type checkers and formatters."""

    def rule(clause: str, sentence: str, shown: Shown) -> Found | None:
        subject = re.search(names, clause, re.I)
        if (
            not subject
            or not re.search(_CLEAN, clause, re.I)
            or re.search(r"\b(?:one|two|\d+) errors?\b", clause, re.I)
        ):
            return None
        named = [run for run in shown.runs(kind) if subject[0].casefold() in run.call.command.casefold()]
        runs = named or shown.runs(kind)
        return _last(shown, runs) or NOT_SHOWN

    return rule


_CHANGE = r"(?:changed?|modified|edited|updated|touched|rewrote|created|added|wrote|adapted|adjusted)"
_FILES = r"(?:files?|documents?|pages?|style\s?sheets?|modules?|scripts?)\b"


def _file_count(clause: str, sentence: str, shown: Shown) -> Found | None:
    active = re.search(
        rf"\b{_CHANGE}\s+(?:only\s+|just\s+|the\s+)?{_NUMBER}\s+(?:other\s+|new\s+|more\s+)?(?:\w+\s+)?{_FILES}",
        clause,
        re.I,
    )
    passive = re.search(
        rf"\b{_NUMBER}\s+(?:\w+\s+)?{_FILES}\s+(?:were\s+|are\s+|have\s+been\s+|was\s+|is\s+)?(?:changed|modified"
        rf"|different|edited|differ|updated|created|added)\b",
        clause,
        re.I,
    )
    said = active or passive
    if not said:
        return None
    count = stated_number(said[1])
    known = {
        len(shown.edited()),
        len(shown.edited(turn=False)),
        *(files for files, _, _ in shown.changes()),
        *shown.status_counts(),
    }
    if count in known:
        return _confirmed(f"{count} files")
    counted = shown.changes() or shown.status_counts()
    if not shown.whole or (shown.may_write() and not counted):
        return NOT_SHOWN
    names = ", ".join(sorted(shown.edited(turn=False))) or "none"
    return _contradicted(f"tools changed {len(shown.edited(turn=False))}: {names}"[:300])


def _line_count(clause: str, sentence: str, shown: Shown) -> Found | None:
    changes = shown.changes()
    if not changes:
        return None
    for place, word in ((1, "insertions?"), (2, "deletions?")):
        if said := re.search(rf"\b{_NUMBER}\s+{word}\b", clause, re.I):
            known = {change[place] for change in changes}
            if stated_number(said[1]) not in known:
                return _contradicted(f"git counts {', '.join(map(str, sorted(known)))} {word.rstrip('?')}")
            return _confirmed()
    return None


def _named_files(clause: str, sentence: str, shown: Shown) -> Found | None:
    if not re.search(rf"\b{_CHANGE}\b", clause, re.I):
        return None
    names = [name for name in _PATH.findall(clause) if not _NO_FILES.match(name)]
    missing = [name for name in names if not shown.mentions(name)]
    if not names:
        return None
    if missing and shown.whole and not shown.may_write():
        return _contradicted(f"no tool wrote or mentions {', '.join(missing)}")
    return NOT_SHOWN if missing else _confirmed()


def _only_file(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = re.search(
        r"\bonly\b.*\b(?:touched|changed|edited|modified|file)\b|\bno other files?\b"
        r"|\bnothing else (?:was )?(?:changed|touched)",
        sentence,
        re.I,
    )
    names = [name for name in _PATH.findall(sentence) if not _NO_FILES.match(name)]
    if not said or len(names) != 1 or re.search(r"\bI only\b", sentence):
        return None
    others = [path for path in shown.edited() if names[0].rsplit("/", 1)[-1] != path.rsplit("/", 1)[-1]]
    return _contradicted(f"tools also wrote {', '.join(sorted(others))}"[:300]) if others else _confirmed()


def _git(kind: str, word: str) -> _Rule:
    """The rule of commits and pushes."""

    def rule(clause: str, sentence: str, shown: Shown) -> Found | None:
        if not re.search(rf"\b{word}\b", clause, re.I) or re.search(
            r"\b(?:un\w+|to be|yet|last commit)\b", clause, re.I
        ):
            return None
        return _last(shown, shown.runs(kind)) or _never(shown, kind, f"is a git {kind}")

    return rule


def _clean_tree(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = re.search(
        r"\b(?:nothing (?:is )?(?:left )?uncommitted|working (?:tree|directory|copy) is clean"
        r"|everything is committed)\b",
        sentence,
        re.I,
    )
    counts = shown.status_counts()
    if not said or not counts:
        return None
    return _contradicted(f"git status lists {counts[-1]} files") if counts[-1] else _confirmed()


def _coverage(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = re.search(r"\bcoverage\b\D{0,40}?(\d+(?:\.\d+)?)\s?(?:%|per ?cent)", clause, re.I)
    known = {
        float(value)
        for text in shown.outputs()
        for value in re.findall(r"(?:TOTAL|All files|[Cc]overage|Lines).*?(\d+(?:\.\d+)?)\s?%", text)
    }
    if not said or not known:
        return NOT_SHOWN if said else None
    if any(abs(float(said[1]) - value) < 1 for value in known):
        return _confirmed()
    return _contradicted(f"the reports say {', '.join(f'{value:g} %' for value in sorted(known))}")


def _installed(clause: str, sentence: str, shown: Shown) -> Found | None:
    if not re.search(r"\binstalled\b", clause, re.I):
        return None
    return _last(shown, shown.runs("install")) or NOT_SHOWN


def _by_kind(kind: str, subject: str, done: str) -> _Rule:
    """The rule of migrations and deployments."""

    def rule(clause: str, sentence: str, shown: Shown) -> Found | None:
        if not (re.search(subject, clause, re.I) and re.search(done, clause, re.I)):
            return None
        return _last(shown, shown.runs(kind)) or NOT_SHOWN

    return rule


def _status_code(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = re.search(
        r"\b(?:returns?|answers?|responds?|gives?)\s+(?:\w+\s+){0,2}?(?:with\s+)?(?:HTTP\s+)?([1-5]\d\d)\b",
        clause,
        re.I,
    )
    answers = [run.call.output for run in shown.runs("request")]
    known = {
        code
        for text in answers
        for code in re.findall(r"HTTP/[\d.]+ ([1-5]\d\d)|^\s*([1-5]\d\d)\s*$", text, re.M)
        for code in code
        if code
    }
    if not said or not known:
        return None
    return (
        _confirmed()
        if said[1] in known
        else _contradicted(f"the requests were answered with {', '.join(sorted(known))}")
    )


def _no_errors(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = re.search(
        r"\b(?:runs?|ran|works|executes|starts|imports|finishes)\b.*(?:\bwithout (?:an |any )?errors?\b"
        r"|\bto the end\b|\bthrough$|\bthrough\b[ .]|\bsuccessfully\b)",
        clause,
        re.I,
    )
    if not said or re.search(rf"\b{_TESTS}", clause, re.I):
        return None
    run = shown.last_run()
    return NOT_SHOWN if run is None else _contradicted(_of(run)) if run.failed else _confirmed(_of(run))


def _deleted(clause: str, sentence: str, shown: Shown) -> Found | None:
    said = re.search(
        r"\b(?:deleted|removed)\s+(?:the\s+)?(?:(?:folder|file|directory)\s+)?`?([\w./-]+)`?"
        r"|`?([\w./-]+)`?\s+(?:is|was|are)\s+(?:deleted|removed|gone)",
        clause,
        re.I,
    )
    if not said:
        return None
    name = next(filter(None, said.groups())).rstrip(".")
    if not (_PATH.fullmatch(name) or "/" in name or re.search(r"\b(?:folder|directory)\b", clause, re.I)):
        return None
    if shown.runs("removal") or any(name.rsplit("/", 1)[-1] in path for path in shown.edited(turn=False)):
        return _confirmed()
    return (
        _contradicted(f"no command in the transcript removes {name!r}")
        if shown.whole and not shown.may_write()
        else NOT_SHOWN
    )


_MEASURE = re.compile(
    r"(\d[\d,]*(?:\.\d+)?)\s?(ms|s|seconds?|req/s|rps|ops/s|MB|kB|KB|MiB|GB|rows?|%|fps|tokens/s)(?![\w/])"
)


def _measured(clause: str, sentence: str, shown: Shown) -> Found | None:
    """Of a measurement that an output has with the same name and unit."""
    if re.search(
        r"\b(?:coverage|about|roughly|nearly|over|under|more|less|limited?|up from|down from"
        r"|tests?)\b",
        clause,
        re.I,
    ):
        return None
    names = set(
        re.findall(r"\b(?:p\d\d|median|mean|average|throughput|latency|size|time|rate|accuracy|memory)\b", clause, re.I)
    )
    said = _MEASURE.search(clause)
    if not said or not names:
        return None
    lines = [
        line
        for text in shown.outputs()
        for line in text.splitlines()
        if any(name.casefold() in line.casefold() for name in names)
    ]
    known = [
        float(value.replace(",", "")) for line in lines for value, unit in _MEASURE.findall(line) if unit == said[2]
    ]
    value = float(said[1].replace(",", ""))
    if not known:
        return None
    if any(abs(value - other) <= 0.05 * max(value, other) for other in known):
        return _confirmed()
    return _contradicted(f"the output says {lines[-1].strip()[:120]!r}")


_RULES: dict[str, _Rule] = {
    "tests": _tests,
    "command": _ran,
    "build": _build,
    "lint": _checker(
        "lint",
        r"\b(?:ruff|eslint|flake8|pylint|clippy|rubocop|shellcheck|lint(?:er|ing)?|golangci-lint|go vet"
        r"|helm lint)\b",
    ),
    "types": _checker("types", r"\b(?:mypy|pyright|tsc|types?|type[- ]check\w*)\b"),
    "format": _checker("format", r"\b(?:black|prettier|format\w*|gofmt|rustfmt|fmt)\b"),
    "number of files": _file_count,
    "number of lines": _line_count,
    "files": _named_files,
    "only file": _only_file,
    "commit": _git("commit", "committed"),
    "push": _git("push", "pushed"),
    "clean tree": _clean_tree,
    "coverage": _coverage,
    "installation": _installed,
    "migration": _by_kind(
        "migration", r"\bmigrat\w+|\bdatabase\b", r"\b(?:applied|ran|migrated|succeeded|went through)\b"
    ),
    "deployment": _by_kind(
        "deployment", r"\b(?:deploy\w*|rollout)\b", r"\b(?:succeeded|complete|successful|deployed|configured|done)\b"
    ),
    "status code": _status_code,
    "run": _no_errors,
    "deletion": _deleted,
    "measurement": _measured,
}
