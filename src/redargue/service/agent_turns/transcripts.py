"""Reads what an agent did and said last: Claude Code's transcripts, Codex's rollouts, the Agents SDK's items.

Claude Code: JSON lines with ``type`` (``user``, ``assistant``), whose ``message.content`` has blocks of the types
``text``, ``tool_use`` and ``tool_result``. Codex: JSON lines with ``type`` and ``payload``; a ``response_item`` is an
item of the Responses API. Agents SDK: the list of such items that ``result.to_input_list()`` gives, as JSON.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from redargue.errors import UnreadableFile
from redargue.files import open_to_read

_LARGEST = 8_000_000  # bytes that are read of a transcript, from its end: a hook has to answer within a second
LONGEST_LINE = 400  # characters of a line of output
EDITS = re.compile(
    r"(?:^|_)(?:multi|str_replace_based_|notebook)?(?:edit|write|patch|replace|create|delete|save|update)", re.I
)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
_CODE = re.compile(
    r"\A\s*(?:Chunk ID:.*\n)?(?:.*\n){0,3}?(?:Process exited with code|Exit code:?) (-?\d+)", re.IGNORECASE
)
_OUTPUTS = {f"{kind}_call_output" for kind in ("function", "custom_tool", "local_shell", "shell")}
_SUBAGENTS = {"task", "agent", "spawn_agent", "delegate"}
_PATHS = ("file_path", "notebook_path", "path", "filename", "file")
_COMMANDS = ("command", "cmd", "script", "code")
_READS = re.compile(r"^(?:read|view|open|get|list|search|grep|glob|fetch)", re.IGNORECASE)


class AgentCall(NamedTuple):
    """A use of a tool.

    Attributes:
        command: of a shell; of another tool its name and arguments in words.
        paths: files that it wrote, changed or deleted.
        exit_code: 0 if the tool reported no error; None if it has not ended or ran on in the background.
    """

    name: str
    command: str
    paths: tuple[str, ...]
    output: str
    exit_code: int | None


class Transcript(NamedTuple):
    """What an agent did, and its closing message.

    Attributes:
        calls: in order; those from ``turn`` on follow the user's last message.
        whole: whether nothing can be missing: no part was compacted or left out, and no other agent was asked.
    """

    calls: tuple[AgentCall, ...]
    turn: int
    closing: str
    whole: bool


def read_transcript(path: Path, *, closing: str = "") -> Transcript:
    """The transcript in a file; ``closing`` is the agent's last message where the hook received it.

    Raises:
        UnreadableFile: missing, empty, of another format, or it stops before a closing message.
    """
    try:
        with open_to_read(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _LARGEST))
            text = file.read(_LARGEST).decode("utf-8", "replace")
    except (OSError, ValueError) as error:  # a path may have characters that no file's has
        why = error.strerror if isinstance(error, OSError) else error
        raise UnreadableFile(f"the transcript {str(path)!r} cannot be read: {why}") from error
    whole = size <= _LARGEST
    return parse_transcript(text if whole else text.partition("\n")[2], where=str(path), closing=closing, whole=whole)


def parse_transcript(text: str, *, where: str = "", closing: str = "", whole: bool = True) -> Transcript:
    """As :func:`read_transcript`, of its text."""
    if not text.strip():
        raise UnreadableFile("the transcript is empty", where=where, hint="was the hook given the agent's transcript?")
    lines, cut = _entries(text, where)
    reading = _Reading(whole=whole and not cut)
    if not sum(map(reading.add, lines)):
        hint = "it has to be a transcript of Claude Code or Codex, or the Agents SDK's items as JSON"
        keys = ", ".join(map(str, list(lines[0])[:6])) if lines else "none"
        raise UnreadableFile(f"no line of the transcript is known; keys of the first: {keys}", where=where, hint=hint)
    said = closing.strip() or ("" if cut else "\n".join(reading.closing).strip())
    if not said:
        at = f" in line {cut}" if cut else ""
        raise UnreadableFile(f"the transcript stops{at} before a closing message", where=where)
    return Transcript(tuple(reading.finished()), reading.turn, said, reading.whole)


def _entries(text: str, where: str) -> tuple[list[Mapping[str, Any]], int]:
    """The objects of a JSON list or of JSON lines, and the number of a last line that is cut off (0: none is)."""
    if text.lstrip().startswith("["):
        try:
            return [entry for entry in json.loads(text) if isinstance(entry, dict)], 0
        except (ValueError, RecursionError):
            hint = "write the whole list: json.dumps(result.to_input_list())"
            raise UnreadableFile("the list of items stops midway or is not JSON", where=where, hint=hint) from None
    lines = text.rstrip("\n").split("\n")
    found: list[Mapping[str, Any]] = []
    bad = 0
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            bad = number
        else:
            found += [entry] if isinstance(entry, dict) else []
    if bad and (bad < len(lines) or not found):
        hint = "it has to be JSON lines, or one JSON list"
        raise UnreadableFile(f"line {bad} of the transcript is not JSON", where=where, hint=hint)
    return found, bad


class _Reading:
    """Calls and closing message, collected entry by entry."""

    def __init__(self, *, whole: bool) -> None:
        self.calls: dict[str, AgentCall] = {}
        self.closing: list[str] = []
        self.turn, self.whole = 0, whole
        self._folder = ""

    def finished(self) -> Iterator[AgentCall]:
        for call in self.calls.values():
            inside = (path.removeprefix(self._folder).lstrip("/") if self._folder else path for path in call.paths)
            yield call._replace(paths=tuple(path.removeprefix("./") for path in inside))

    def add(self, entry: Mapping[str, Any]) -> bool:
        """Whether the entry is of a known kind."""
        kind, payload = entry.get("type"), entry.get("payload")
        self._folder = self._folder or _text(entry.get("cwd"))
        if isinstance(payload, dict):
            self._folder = self._folder or _text(payload.get("cwd"))
            if kind == "compacted":
                self.whole = False
            return kind == "response_item" and self._item(payload)
        if kind in ("user", "assistant") and isinstance(message := entry.get("message"), dict):
            if not entry.get("isSidechain"):
                self._claude(entry, message)
            return True
        if kind == "system" and entry.get("subtype") == "compact_boundary":
            self.whole = False
        return self._item(entry)

    def _claude(self, entry: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        self.whole = self.whole and not entry.get("isCompactSummary")
        for block in _blocks(message.get("content")):
            kind = block.get("type")
            if kind == "tool_use":
                name, tool = _text(block.get("id")), _text(block.get("name"))
                self._called(name, tool, _fields(block.get("input")))
            elif kind == "tool_result":
                in_background = _fields(entry.get("toolUseResult")).get("backgroundTaskId")
                code = None if in_background else int(bool(block.get("is_error")))
                self._answered(_text(block.get("tool_use_id")), _joined(block.get("content")), code)
            elif kind == "text" and entry["type"] == "assistant":
                self.closing.append(_text(block.get("text")))
            elif kind == "text" and not entry.get("isMeta"):
                self._asked()

    def _item(self, item: Mapping[str, Any]) -> bool:
        """An item of the Responses API."""
        kind, role = _text(item.get("type")), item.get("role")
        name = _text(item.get("call_id") or item.get("id"))
        if kind in ("", "message") and role in ("user", "assistant", "developer", "system"):
            said = _joined(item.get("content"))
            if role == "assistant":
                self.closing.append(said)
            # Codex writes <environment_context> itself.
            elif role == "user" and not said.lstrip().startswith("<"):
                self._asked()
            return True
        tool, output = _text(item.get("name")), item.get("output")
        match kind:
            case "function_call":
                self._called(name, tool, _arguments(item.get("arguments")))
            case "custom_tool_call":
                self._called(name, tool, {"input": item.get("input")})
            case "local_shell_call" | "shell_call" | "apply_patch_call":
                action = item.get("action") or item.get("operation")
                self._called(name, kind.removesuffix("_call"), _arguments(action))
            case "apply_patch_call_output":
                self._answered(name, _joined(output), int(item.get("status") == "failed"))
            case _ if kind in _OUTPUTS:
                self._answered(name, *_output(output))
            case _:
                return kind == "reasoning"
        return True

    def _asked(self) -> None:
        self.turn, self.closing = len(self.calls), []

    def _called(self, name: str, tool: str, given: Mapping[str, Any]) -> None:
        self.closing = []
        self.whole = self.whole and tool.casefold() not in _SUBAGENTS
        command = next((_command(given[key]) for key in _COMMANDS if given.get(key)), "")
        if not command and isinstance(given.get("commands"), list):
            command = "\n".join(map(_text, given["commands"]))
        patch = f"{given.get('input') or given.get('patch') or ''}\n{command if 'apply_patch' in command else ''}"
        paths = [added or moved for added, moved in _PATCHED.findall(patch)]
        if not paths and EDITS.search(tool) and not command:
            paths = [_text(given[key]) for key in _PATHS if given.get(key)][:1]
        if not command and not paths and not _READS.match(tool):
            command = " ".join([tool.replace("_", " "), *map(str, given.values())])
        self.calls[name or f"#{len(self.calls)}"] = AgentCall(tool, command, tuple(paths), "", None)

    def _answered(self, name: str, output: str, code: int | None) -> None:
        self.closing = []
        if call := self.calls.get(name):
            output = "\n".join(line[:LONGEST_LINE] for line in output.split("\n"))
            said = _CODE.match(output)
            code = int(said[1]) if said and code is not None else code
            paths = () if code else call.paths
            self.calls[name] = call._replace(output=output, exit_code=code, paths=paths)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _fields(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _blocks(content: object) -> Iterable[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict)]


def _joined(content: object) -> str:
    if isinstance(content, dict):
        return _joined(content.get("text") or content.get("output") or "")
    return "\n".join(_text(block.get("text")) for block in _blocks(content))


def _command(value: object) -> str:
    """A command as text, without the shell that runs it."""
    words = [str(word) for word in value] if isinstance(value, list) else []
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words) or _text(value)


def _arguments(given: object) -> Mapping[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {"input": given}
    return _fields(given)


def _output(output: object) -> tuple[str, int | None]:
    """The text of an output and its exit code; JSON of older Codex versions, text with a header, or the SDK's parts."""
    parts = [part for part in output if isinstance(part, dict)] if isinstance(output, list) else []
    if any("outcome" in part for part in parts):
        texts = [_text(part.get("stdout")) + _text(part.get("stderr")) for part in parts]
        outcomes = [part["outcome"] for part in parts if isinstance(part.get("outcome"), dict)]
        codes = (outcome.get("exit_code", 1) for outcome in outcomes)
        return "\n".join(texts), next(filter(None, codes), 0)
    text = output if isinstance(output, str) else _joined(output)
    if text.startswith("{"):
        try:
            given = json.loads(text)
            return _text(given["output"]), int(given["metadata"]["exit_code"])
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
    return text, 0
