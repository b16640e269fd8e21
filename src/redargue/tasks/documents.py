"""The claim and the documents in prompts: numbered, with their publishers and dates, each fenced."""

from __future__ import annotations

import re

from redargue.claims import Claim
from redargue.evidence import Passage, Source, Timing, publisher_of
from redargue.tasks.base import Profile, lines
from redargue.tasks.excerpts import by_document, document_key, joined
from redargue.tasks.untrusted import wrap_untrusted

_DAY = re.compile(r"\d{4}(?:-\d{2}){0,2}(?!\d)")
_TIMING = {Timing.LATER: "later than the claim's date", Timing.UNDATED: "undated"}


def claim_section(claim: Claim, profile: Profile) -> str:
    """The claim with its options and context, and in the hardened profile its as-of date."""
    options = "\n".join(
        f"{label}) {wrap_untrusted(text, inline=True)}"
        for label, text in zip(claim.labels.names, claim.options, strict=False)
    )
    context = f"Context: {wrap_untrusted(claim.context)}" if claim.context else None
    return lines(wrap_untrusted(claim.text, inline=True), options, context, as_of(claim, profile))


def as_of(claim: Claim, profile: Profile) -> str:
    """A sentence with the claim's as-of date; empty where it has none."""
    if profile == "paper" or claim.as_of is None:
        return ""
    return f"Judge it as of {claim.as_of}."


def documents(passages: tuple[Passage, ...], profile: Profile, *, numbers: tuple[int, ...] = ()) -> str:
    """The documents for a prompt, or a note that there are none.

    Hardened: each document once, with all of its excerpts, under its number.

    Args:
        numbers: of the documents in the whole claim, in their order; without them they are counted from 1.
    """
    if not passages:
        return "(no document was found)"
    if profile == "paper":
        return "\n".join(passage.text for passage in passages)
    groups = by_document(passages)
    counted = numbers or range(1, len(groups) + 1)
    return "\n".join(document(group, number) for group, number in zip(groups, counted, strict=True))


class NumberedDocuments:
    """The observations of a claim's steps: a document has one number in all of them, and no text is shown twice."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._numbers: dict[str, int] = {}  # by document
        self._shown: set[str] = set()  # sha256 of texts

    def shown(self, passages: tuple[Passage, ...]) -> str:
        """The documents of one observation, or a note that there are none."""
        if self._profile == "paper" or not passages:
            return documents(passages, self._profile)
        return "\n".join(map(self._one, by_document(passages)))

    def _one(self, excerpts: tuple[Passage, ...]) -> str:
        number = self._numbers.setdefault(document_key(excerpts[0]), len(self._numbers) + 1)
        new = tuple(passage for passage in excerpts if passage.sha256 not in self._shown)
        self._shown.update(passage.sha256 for passage in new)
        return document(new, number) if new else f"[{number}] again"


def document(excerpts: tuple[Passage, ...], number: int) -> str:
    """A document after its number: ``[1] (2019-05-01; later than the claim's date)``, publisher, title and excerpts.

    What a source says of itself is inside the fence; a date is digits, and may be outside.
    """
    source = excerpts[0]
    when = dated(source)
    heading = ": ".join(filter(None, (publisher_of(source), source.title)))
    fenced = wrap_untrusted(lines(heading, _without_title(joined(excerpts), source.title)))
    return f"[{number}]{f' ({when})' if when else ''}\n{fenced}"


def _without_title(text: str, title: str) -> str:
    """The text without a first line that is its title, which the heading has."""
    first, _, rest = text.partition("\n")
    return rest.lstrip("\n") if rest.strip() and first.strip("# \t\r") == title.strip() else text


def sourced(text: str, source: Source) -> str:
    """A quotation with its source: title, address or publisher, and date."""
    title, where = " ".join(source.title.split()), source.url or publisher_of(source)
    known_by = ", ".join(filter(None, (title, where, dated(source))))
    return f'"{" ".join(text.split())}"' + (f" ({known_by})" if known_by else "")


def dated(source: Source) -> str:
    """The day, month or year of publication, and how it relates to the claim's date; empty where neither is known."""
    match = _DAY.match(source.published)
    return "; ".join(filter(None, (match[0] if match else "", _TIMING.get(source.timing, ""))))
