"""The texts of the questions to a grader at an endpoint.

A template is a text file: lines ``name: value`` and comments (``#``), then the messages, each
after its role in brackets. ``{evidence}`` and ``{claim}`` are its slots.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from redargue.errors import UsageError
from redargue.registry import did_you_mean

_FOLDER = files("redargue.nli") / "templates"
_ROLE = re.compile(r"\[(system|user|assistant|context)\]")
_SETTING = re.compile(r"(supported|unsupported|answer|tokens|body): *(\S.*)")
_SLOT = re.compile(r"\{(evidence|claim)\}")


class QuestionTemplate(NamedTuple):
    """A question whose answer is one of two words.

    Attributes:
        supported, unsupported: the words.
        last: whether the answer is the last of these words in a reply, not the first.
        tokens: of a reply, at most.
        body: further fields of the request.
        texts: the messages' roles and texts.
    """

    supported: str
    unsupported: str
    last: bool
    tokens: int
    body: Mapping[str, Any]
    texts: tuple[tuple[str, str], ...]

    def messages(self, evidence: str, claim: str) -> list[dict[str, str]]:
        values = {"evidence": evidence, "claim": claim}
        return [
            {"role": role, "content": _SLOT.sub(lambda slot: values[slot.group(1)], text)} for role, text in self.texts
        ]


def template_names() -> tuple[str, ...]:
    """The shipped templates."""
    return tuple(sorted(path.name.removesuffix(".txt") for path in _FOLDER.iterdir()))


def template_text(name: str) -> str:
    """The text of a shipped template, or of a file.

    Raises:
        UsageError: there is none of this name, or the file cannot be read.
    """
    if name in template_names():
        return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    if not name.endswith(".txt"):
        hint = f"{did_you_mean(name, list(template_names()))}; or name a file: FILE.txt"
        raise UsageError(f"unknown template {name!r}", where="--template", hint=hint)
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name!r} cannot be read: {error}", where="--template") from None


def read_template(text: str, where: str) -> QuestionTemplate:
    """Parses a template.

    Raises:
        UsageError: a line is not a setting, or a word, a message or a slot is missing.
    """
    settings, texts = _parts(text, where)
    missing = [name for name in ("supported", "unsupported") if not settings.get(name)]
    slots = [slot for slot in ("{evidence}", "{claim}") if not any(slot in text for _, text in texts)]
    if missing := [*missing, *slots]:
        raise UsageError(
            f"the template has no {missing[0]!r}",
            where=where,
            hint="it needs lines such as 'supported: Yes' and 'unsupported: No', and messages "
            "with {evidence} and {claim}: [user] on a line of its own, and its text below",
        )
    supported, unsupported = settings["supported"], settings["unsupported"]
    tokens, answer = settings.get("tokens", "4"), settings.get("answer", "first")
    body = _body(settings.get("body", "{}"))
    for name, value, wanted, right in (
        ("supported", supported, "one word", re.fullmatch(r"\w+", supported)),
        ("unsupported", unsupported, "one word", re.fullmatch(r"\w+", unsupported)),
        ("unsupported", unsupported, "another word than supported", unsupported.casefold() != supported.casefold()),
        ("tokens", tokens, "a number from 1 to 4096", tokens.isdigit() and 0 < int(tokens) <= 4096),
        ("answer", answer, "first or last", answer in ("first", "last")),
        ("body", settings.get("body", ""), "a JSON object", body is not None),
    ):
        if not right:
            raise UsageError(f"{name} is {value[:60]!r}, not {wanted}", where=where)
    return QuestionTemplate(supported, unsupported, answer == "last", int(tokens), body or {}, texts)


def _parts(text: str, where: str) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    settings = dict[str, str]()
    texts = list[tuple[str, list[str]]]()
    for number, line in enumerate(text.splitlines(), 1):
        if role := _ROLE.fullmatch(line):
            texts.append((role.group(1), []))
        elif texts:
            texts[-1][1].append(line)
        elif setting := _SETTING.fullmatch(line.rstrip()):
            settings[setting.group(1)] = setting.group(2)
        elif line.strip() and not line.startswith("#"):
            hint = "a setting is one of supported, unsupported, answer, tokens, body: 'name: value'"
            raise UsageError(f"{line[:60]!r} is not a setting", where=f"{where}, line {number}", hint=hint)
    return settings, tuple((role, "\n".join(lines).strip()) for role, lines in texts)


def _body(text: str) -> dict[str, object] | None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
