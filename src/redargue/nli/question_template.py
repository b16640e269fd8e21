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
    names = (path.name.removesuffix(".txt") for path in _FOLDER.iterdir())
    return tuple(sorted(names))


def template_text(name: str) -> str:
    """The text of a shipped template, or of a file.

    Raises:
        UsageError: there is none of this name, or the file cannot be read.
    """
    if name in template_names():
        return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    if not name.endswith(".txt"):
        known = list(template_names())
        hint = f"{did_you_mean(name, known)}; or name a file: FILE.txt"
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
    missing += [f"{{{slot}}}" for slot in ("evidence", "claim") if not _has_slot(texts, slot)]
    if missing:
        raise UsageError(
            f"the template has no {missing[0]!r}",
            where=where,
            hint="it needs lines such as 'supported: Yes' and 'unsupported: No', and messages "
            "with {evidence} and {claim}: [user] on a line of its own, and its text below",
        )
    words = [settings[name].strip() for name in ("supported", "unsupported")]
    for name, word in zip(("supported", "unsupported"), words, strict=True):
        if not re.fullmatch(r"\w+", word):
            raise _wrong(name, word, "one word", where)
    if words[0].casefold() == words[1].casefold():
        raise _wrong("unsupported", words[1], "another word than supported", where)
    tokens, answer = settings.get("tokens", "4"), settings.get("answer", "first")
    if not tokens.isdigit() or not 0 < int(tokens) <= 4096:
        raise _wrong("tokens", tokens, "a number from 1 to 4096", where)
    if answer not in ("first", "last"):
        raise _wrong("answer", answer, "first or last", where)
    return QuestionTemplate(
        supported=words[0],
        unsupported=words[1],
        last=answer == "last",
        tokens=int(tokens),
        body=_body(settings.get("body", "{}"), where),
        texts=texts,
    )


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


def _has_slot(texts: tuple[tuple[str, str], ...], slot: str) -> bool:
    return any(f"{{{slot}}}" in text for _, text in texts)


def _body(text: str, where: str) -> dict[str, object]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise _wrong("body", text, "a JSON object", where)
    return body


def _wrong(name: str, value: str, wanted: str, where: str) -> UsageError:
    return UsageError(f"{name} is {value[:60]!r}, not {wanted}", where=where)
