"""What the outputs of an agent's tools show: runs of tests, builds and linters with their results, files, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from redargue.service.agent_turns.transcripts import AgentCall, Transcript

# Kinds of commands, by words of the command line. A command may be of several.
_KINDS = {
    "test": r"pytest|py\.test|unittest|\btox\b|\bnox\b|jest|vitest|mocha|rspec|phpunit|ctest"
    r"|playwright|cypress|\bava\b|\b(?:cargo|go|mix|dotnet|swift|sbt|bazel|npm|yarn|pnpm|bun|deno"
    r"|make|rails|rake|zig|flutter|dart|lein|stack|cabal)\b[^\n;&|]*\b(?:test|tests|spec|check"
    r"|nextest)\b|\b(?:mvn|mvnw|gradle|gradlew)\b[^\n;&|]*\b(?:test|verify|check|build|install)\b"
    r"|run.tests?\b|\btests?\.sh\b",
    "build": r"\bbuild\b|compile|\bmake\b(?! (?:lint|test|format|clean))|\b(?:cargo|go) (?:build"
    r"|check|run|install|vet)|\btsc\b|webpack|rollup|latexmk|pdflatex|\bg?cc\b|clang|\bmvn\b"
    r"|gradle|\bassemble\b|\bbun build|vite",
    "lint": r"\bruff\b(?! format)|eslint|flake8|pylint|clippy|golangci|rubocop|shellcheck|hadolint"
    r"|stylelint|\blint\b|go vet|pre-commit|biome|ktlint|checkstyle|swiftlint|tflint|credo",
    "types": r"mypy|pyright|\btsc\b|type-?check|\bpyre\b|\bty check|sorbet|dialyzer|vue-tsc",
    "format": r"\bblack\b|prettier|\bfmt\b|gofmt|rustfmt|\bisort\b|ruff format|yapf|clang-format"
    r"|\bformat\b",
    "install": r"\b(?:pip3?|uv|npm|yarn|pnpm|bun|cargo|go|apt|apt-get|brew|gem|bundle|poetry"
    r"|composer|conda|dnf|apk)\b[^\n;&|]*\b(?:install|add|get|i|ci|sync|update|upgrade|require)\b",
    "commit": r"\bgit\b[^\n;&|]*\b(?:commit|merge|cherry-pick|rebase|revert|am)\b",
    "push": r"\bgit\b[^\n;&|]*\bpush\b|\bgh pr create|\bglab mr create",
    "migration": r"migrat|alembic|flyway|liquibase|prisma|db:|\bpsql\b|\bsqlite3\b|schema:|diesel"
    r"|sqlx|knex|goose",
    "deployment": r"deploy|kubectl|helm|terraform apply|docker push|rollout|ansible|fly\b|vercel"
    r"|netlify|serverless",
    "request": r"\bcurl\b|\bhttpie?\b|\bwget\b|\bhttps?\b",
    "removal": r"\brm\b|\brmdir\b|\bdel\b|unlink|-delete\b|\bclean\b|\bprune\b|\bremove"
    r"|\*\*\* Delete File|\bdelete|git rm|reset",
    "status": r"\bgit\b[^\n;&|]*\bstatus\b",
}
_WRITES = re.compile(
    r">>?(?!&)|\bsed\b[^\n|]*-i|\b(?:mv|cp|touch|tee|patch|ln|mkdir|unzip|tar|install|generate"
    r"|codegen|scaffold|init|create)\b|--(?:fix|write|in-place|update|snapshot)|\bgit (?:mv"
    r"|checkout|restore|apply|merge|pull|stash|rebase|revert|rm)|\b(?:black|isort|gofmt|fmt"
    r"|prettier|autopep8|yapf|format)\b|\bpython3?\b|\bnode\b|\bperl\b|\bmake\b|\bnpx\b|\bnpm\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b[1-9]\d* (?:tests? |specs? )?(?:failed|failures?|failing|errors?|problems?|offenses)\b"
    r"|\bFAILED\b|^FAIL\b|BUILD FAIL|Traceback \(most recent|^error(?:\[|:)|^npm ERR!|(?:Failures"
    r"|Failed|Errors): +[1-9]|^panic:|^FAILURE:|✗|^make: \*\*\*",
    re.MULTILINE,
)
_GIT_FAILED = re.compile(r"^fatal:", re.MULTILINE)
_WARNINGS_ALONE = re.compile(r"\b0 errors\b", re.IGNORECASE)
# A summary of tests: passed, failed and left out, as each runner prints them.
_PASSED = (
    r"(?<![\d.,])(\d[\d,]*) (?:tests? )?(?:passed|passing|pass)\b|Passed: +(\d+)|(\d+) examples,"
    r"|(\d+) tests?, \d+ failures|Tests run: (\d+)|^Ran (\d+) tests?|tests failed out of (\d+)"
    r"|Executed (\d+) tests, with|^OK \((\d+) (?:tests|checks)|Passed: Total (\d+)|^# pass (\d+)"
)
_NOT_PASSED = (
    r"(?<![\d.,])(\d[\d,]*) (?:tests? )?(?:failed|failing|errors?)\b|Failed: +(\d+)|(\d+) failures?\b"
    r"|Failures: (\d+)|failures=(\d+)|errors=(\d+)|^# fail (\d+)"
)
_SKIPPED = r"(?<![\d.,])(\d[\d,]*) (?:skipped|pending|ignored|todo)\b|Skipped: +(\d+)|skipped=(\d+)"
_WHOLE_RUNS = re.compile(
    r"\d+ examples,|\d+ tests?, \d+ failures|Tests run:|^Ran \d+ tests|failed out of|Executed \d+ tests", re.M
)
_NO_TESTS = re.compile(  # said by runners of a run without tests
    r"\bno tests?\b(?! fail)|\bNO-SOURCE\b|\b0 tests\b|\d (?:tests? collected|deselected)\b",
    re.IGNORECASE,
)
_GO_PASSED = re.compile(r"^ok\s(?!.*\[no tests to run\])", re.MULTILINE)
_GO = re.compile(r"^\s*--- (PASS|FAIL):", re.MULTILINE)
_VITEST_FILES = re.compile(r"^.*(?:Test Files|Test Suites:|Snapshots:).*$", re.MULTILINE)
_CHANGED = re.compile(r"(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?")
_COMMENT = re.compile(r"(?<!\S)#.*")
_SHORT_STATUS = re.compile(r"^[ MADRCU?]{1,2} \S", re.MULTILINE)


class SuiteResult(NamedTuple):
    """Tests of one run; None where the output has no number."""

    passed: int | None
    failed: int
    skipped: int


class CommandRun(NamedTuple):
    """A command that ended; ``failed`` by its exit code or its output."""

    call: AgentCall
    failed: bool

    @property
    def line(self) -> str:
        """The line of the output to show: the last that says how it ended."""
        lines = [stripped for line in reversed(self.call.output.splitlines()) if (stripped := line.strip())]
        telling = (line for line in lines if _FAILED.search(line) or any(map(line.count, ("passed", "error", "fail"))))
        return next(telling, (lines or [f"exit code {self.call.exit_code}"])[0])[:200]

    @property
    def summary(self) -> SuiteResult:
        return suite_result(self.call.output)

    @property
    def has_passing_tests(self) -> bool:
        """Whether a test passed: by the output's number or, where it has none, unless it says that no test ran."""
        passed, _, skipped = self.summary
        if passed is not None:
            return passed > 0
        output = self.call.output
        return _GO_PASSED.search(output) is not None or not (skipped or _NO_TESTS.search(output))


class Shown(Transcript):
    """A transcript, by what its calls show."""

    __slots__ = ()

    def runs(self, kind: str) -> list[CommandRun]:
        """The commands of a kind that have ended, in order."""
        ended = (call for call in self._begun(kind) if call.exit_code is not None)
        return [CommandRun(call, _failed(call, kind)) for call in ended]

    def began(self, kind: str) -> bool:
        """Whether a command of a kind was started, also one that has not ended."""
        return any(self._begun(kind))

    def _begun(self, kind: str) -> Iterator[AgentCall]:
        return (call for call in self.calls if re.search(_KINDS[kind], _COMMENT.sub("", call.command), re.I))

    def last_run(self) -> CommandRun | None:
        """The last command that ended."""
        ended = [call for call in self.calls if call.command and call.exit_code is not None]
        return CommandRun(ended[-1], _failed(ended[-1], "build")) if ended else None

    def edited(self, *, turn: bool = True) -> set[str]:
        """Files that tools wrote, since the user's last message or in the whole transcript."""
        calls = self.calls[self.turn :] if turn else self.calls
        return {path for call in calls for path in call.paths if call.exit_code in (0, None)}

    def edited_after(self, call: AgentCall) -> list[str]:
        at = next(place for place, other in enumerate(self.calls) if other is call)
        return [path for later in self.calls[at + 1 :] for path in later.paths]

    def may_write(self) -> bool:
        """Whether a command may have written files that no tool names."""
        return any(_WRITES.search(call.command) for call in self.calls)

    def mentions(self, name: str) -> bool:
        """Whether a file's name is in a path, a command or an output."""
        base = name.rsplit("/", 1)[-1].casefold()
        texts = (f"{call.command} {' '.join(call.paths)} {call.output}" for call in self.calls)
        return any(base in text.casefold() for text in texts)

    def changes(self) -> list[tuple[int, int, int]]:
        """Files, insertions and deletions, as git counts them."""
        return [
            (int(files), int(added or 0), int(removed or 0))
            for call in self.calls
            for files, added, removed in _CHANGED.findall(call.output)
        ]

    def status_counts(self) -> list[int]:
        """Entries of each short status of git."""
        return [len(_SHORT_STATUS.findall(run.call.output)) for run in self.runs("status")]


@lru_cache(maxsize=64)
def suite_result(output: str) -> SuiteResult:
    """The counts of a test run; those of several parts are added."""
    text = _VITEST_FILES.sub("", output)
    patterns = (_PASSED, _NOT_PASSED, _SKIPPED)
    found = ([next(filter(None, match.groups())) for match in re.finditer(each, text, re.M)] for each in patterns)
    passed, failed, skipped = ([int(number.replace(",", "")) for number in numbers] for numbers in found)
    if _WHOLE_RUNS.search(text) and passed:  # counts all that ran: the last line sums up
        wrong, left = max(failed, default=0), max(skipped, default=0)
        return SuiteResult(passed[-1] - wrong - (left if "Tests run:" in text else 0), wrong, left)
    if not passed and (go := _GO.findall(text)):
        return SuiteResult(go.count("PASS"), go.count("FAIL"), 0)
    total = sum if "test result:" in text else max  # cargo prints a summary of each part
    return SuiteResult(total(passed) if passed else None, total([0, *failed]), max([0, *skipped]))


def sums(numbers: Iterable[int]) -> set[int]:
    """The numbers, and the sums of up to four of them, which a message may add up."""
    known = list(dict.fromkeys(numbers))[-8:]
    return {sum(chosen) for size in range(1, 5) for chosen in combinations(known, size)}


def _failed(call: AgentCall, kind: str) -> bool:
    if call.exit_code:
        return True
    if kind == "test":
        counts = suite_result(call.output)
        if counts.passed is not None:
            return counts.failed > 0
    if kind in ("commit", "push") and _GIT_FAILED.search(call.output):
        return True
    found = _FAILED.search(call.output)
    return bool(found) and not _WARNINGS_ALONE.search(call.output)
