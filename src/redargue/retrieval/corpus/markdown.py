"""The text of a Markdown file, with its title and date; its tables are read row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FRONT = re.compile(r"\A---[ \t]*\n(?P<fields>(?:(?!---|\.\.\.).*\n)*)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FIELD = re.compile(r"^(?P<name>[A-Za-z_][\w-]*):[ \t]+(?P<value>\S.*?)[ \t]*$", re.MULTILINE)
_NAMES = {"title": "title", "date": "published", "published": "published", "url": "url", "publisher": "publisher"}
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CELLS = re.compile(r"(?<!\\)\|")


def read_markdown(text: str) -> dict[str, str]:
    """The text without its front matter and the fields of a document that this gives; raises nothing.

    The title is the front matter's, or else the first ``# heading``.
    """
    fields = {}
    if front := _FRONT.match(text):
        found = {match["name"].lower(): match["value"] for match in _FIELD.finditer(front["fields"])}
        fields = {_NAMES[name]: _plain(value) for name, value in found.items() if name in _NAMES}
        text = text[front.end() :].lstrip("\n")
    lines = list(_with_named_cells(text.split("\n")))
    if "title" not in fields and (title := _title(lines)):
        fields["title"] = title
    return {"text": "\n".join(lines), **fields}


def front_matter_end(text: str) -> int:
    """Where the front matter of a Markdown text ends; 0 without one that has a field."""
    front = _FRONT.match(text)
    return front.end() if front and _FIELD.search(front["fields"]) else 0


def _plain(value: str) -> str:
    quoted = re.fullmatch(r"\"(.*)\"|'(.*)'", value)
    return " ".join(((quoted[1] or quoted[2] or "") if quoted else value).split())


def _title(lines: list[str]) -> str:
    fenced = False
    for line in lines:
        fenced ^= _is_fence(line)
        if not fenced and (heading := re.match(r"#\s+(.*?)[\s#]*$", line)):
            return " ".join(heading.group(1).split())
    return ""


def _is_fence(line: str) -> bool:
    return line.lstrip().startswith(("```", "~~~"))


def _with_named_cells(lines: list[str]) -> Iterator[str]:
    """The lines, each row of a table as ``column: cell; column: cell.``, because a chunk may lack the head."""
    head: list[str] = []
    fenced = False
    for place, line in enumerate(lines):
        fenced ^= _is_fence(line)
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if fenced or "|" not in line:
            head = []
        elif not head and "|" in following and _RULE.fullmatch(following):
            head = cells_of(line)
            continue
        elif head and _RULE.fullmatch(line):
            continue
        elif head and (row := named_cells(head, cells_of(line))):
            yield row
            continue
        yield line


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(line.strip().removeprefix("|").removesuffix("|"))]


def named_cells(head: list[str], row: list[str]) -> str:
    """A table's row as a sentence; cells beyond the head have no name, and empty ones are left out."""
    names = [*head, *[""] * (len(row) - len(head))]
    named = (f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell)
    joined = "; ".join(named)
    return f"{joined}." if joined else ""
