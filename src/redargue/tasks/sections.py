"""Sections of prompts: the claim, its labels and when each applies, and the documents.

Labels are explained in the claim's own terms. Documents are numbered, with their publishers and dates, each fenced. The
excerpts of one document are one text: in its order, each sentence once, with what is left out between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from redargue.claims import Claim, Label, LabelSet, Meaning
from redargue.evidence import CUT_MARK, Passage, Source, Timing, publisher_of
from redargue.tasks.base import Profile, lines
from redargue.tasks.untrusted import wrap_untrusted

# label sets of questions; others are of claims
_QUESTIONS = ("yes-no-maybe", "options", "free-text")
_HALLUCINATED = "hallucinated"

_BY_MEANING = {
    Meaning.SUPPORTED: "the documents state or directly imply every part of the claim",
    Meaning.REFUTED: "the documents contradict at least one part of the claim",
    Meaning.NOT_ENOUGH: "no part of the claim is contradicted, but at least one is neither stated nor implied; name it",
    Meaning.CONFLICTING: "the documents contradict each other about the claim",
    Meaning.OPTION: "it is the one best option",
}
_FROM_MEMORY = {
    Meaning.SUPPORTED: "every part of the claim is correct",
    Meaning.REFUTED: "at least one part of the claim is incorrect",
    Meaning.NOT_ENOUGH: "nothing you know settles the claim; say which part is open",
    Meaning.CONFLICTING: "sources that you know contradict each other about the claim",
}
_ANSWER_FROM_MEMORY = {
    Meaning.SUPPORTED: "the answer to the question is yes",
    Meaning.REFUTED: "the answer to the question is no",
    Meaning.NOT_ENOUGH: "nothing you know settles the question",
}
_BY_SET: dict[str, dict[Meaning, str]] = {
    "averitec": {
        Meaning.NOT_ENOUGH: "the documents are silent or unclear about a part of the claim; say which",
        Meaning.CONFLICTING: (
            "the documents contradict each other, or the claim is right only because of what it leaves out"
        ),
    },
    "yes-no-maybe": {
        Meaning.SUPPORTED: "the documents show that the answer to the question is yes",
        Meaning.REFUTED: "the documents show that the answer to the question is no",
        Meaning.NOT_ENOUGH: "the documents leave the answer open; say why",
    },
    "hover": {Meaning.REFUTED: "the documents contradict a part of the claim, or leave it open"},
    _HALLUCINATED: {
        Meaning.REFUTED: "the text contains something that the documents contradict or that is made up",
        Meaning.SUPPORTED: "the documents bear out everything that the text says",
    },
}
# BingCheck's second label
_PARTLY = "the documents state or imply a part of the claim and contradict none"
# Descriptions that only repeat a label's meaning; any other one is the label's own definition.
_MEANINGS_ALONE = re.compile(
    "(the claim is (in)?correct|the evidence (does not settle|supports|contradicts) the claim"
    "|no abstract settles the claim|the abstracts (support|contradict) the claim)?"
)


def subject(labels: LabelSet) -> str:
    """What is answered with these labels: a claim, a question or a text that may be hallucinated."""
    if labels.name in _QUESTIONS:
        return "question"
    return "text" if labels.name == _HALLUCINATED else "claim"


def subject_vars(labels: LabelSet) -> dict[str, object]:
    """What a prompt says of the claim: what it is, that as a heading, and whether it is a question."""
    what = subject(labels)
    return {
        "subject": what,
        "heading": what.capitalize(),
        "question": what == "question",
        "quotation_rule": quotation_rule(labels),
    }


def label_definitions(labels: LabelSet, *, has_documents: bool = True) -> str:
    """A line per label with its definition; one line for all options and for free text."""
    if labels.free_text:
        return "Answer in a few words."
    if labels.labels[0].meaning is Meaning.OPTION:
        return "Choose the one best option and answer with its letter."
    request = {
        "claim": "Answer with one of these labels:",
        "question": "Answer the question with one of these labels:",
        "text": "Is the text hallucinated? Answer with one of these labels:",
    }
    definitions = (f"- {label.name}: {_definition(labels, label, has_documents)}." for label in labels.labels)
    undecided = _IF_UNDECIDED if takes_sides(labels) else ""
    return lines(request[subject(labels)], *definitions, undecided)


def answer_lines(labels: LabelSet, words: Mapping[str, str]) -> str:
    """A line per word that may be answered, with when to answer it; ``words``: label by word."""
    when = answer_conditions(labels, words)
    undecided = _IF_UNDECIDED if takes_sides(labels) else ""
    return lines(*(f"- {word}: {condition}." for word, condition in when.items()), undecided)


def takes_sides(labels: LabelSet) -> bool:
    """Whether an answer has to be one of the two sides, whatever the documents leave open."""
    return labels.named(Meaning.NOT_ENOUGH) is None and labels.name in ("two", "true-false")


_IF_UNDECIDED = (
    "If the documents settle neither, choose the likelier one, quote what comes nearest to settling it, and say what is"
    " open."
)


def quotation_rule(labels: LabelSet, words: Mapping[str, str] | None = None) -> str:
    """That facts are quoted, and what an answer counts as that quotes nothing; ``words``: label by word."""
    rule = "Quote the documents word for word for every fact you rely on."
    words = words if words is not None else {name: name for name in labels.names}
    by_meaning = {labels.meaning(label): word for word, label in words.items()}
    sides = list(filter(None, map(by_meaning.get, (Meaning.SUPPORTED, Meaning.REFUTED))))
    if not sides:
        return rule
    open_ = by_meaning.get(Meaning.NOT_ENOUGH)
    counts = f"counts as {open_}" if open_ else "does not count"
    return f"{rule} {' or '.join(sides)} without a quotation of at least one clause {counts}."


def answer_conditions(labels: LabelSet, words: Mapping[str, str]) -> dict[str, str]:
    """Each word that may be answered, with when to answer it; ``words``: label by word."""
    meant = {label.name: _definition(labels, label, has_documents=True) for label in labels.labels}
    return {word: meant[label] for word, label in words.items()}


def _definition(labels: LabelSet, label: Label, has_documents: bool) -> str:
    if labels.name == "bingcheck" and label.name == "partially supported":
        return _PARTLY
    if labels.name not in _BY_SET and not _MEANINGS_ALONE.fullmatch(label.description):
        return label.description
    if not has_documents:
        return (_ANSWER_FROM_MEMORY if labels.name in _QUESTIONS else _FROM_MEMORY)[label.meaning]
    return _BY_SET.get(labels.name, {}).get(label.meaning) or _BY_MEANING[label.meaning]


def label_conditions(labels: LabelSet) -> str:
    """As the paper has them: a line per label; one for all options; none for free text."""
    if labels.labels and labels.labels[0].meaning is Meaning.OPTION:
        return "First explain from the document which option is the best one, then output its letter, such as **A**."
    when = {
        Meaning.SUPPORTED: "If the claim is correct, first explain from the document why it is correct",
        Meaning.REFUTED: "If the claim is incorrect, first explain from the document why it is incorrect",
        Meaning.NOT_ENOUGH: "If the evidence is unclear or inconsistent, first explain what is uncertain",
        Meaning.CONFLICTING: "If the evidence contradicts itself or the claim leaves out what matters, explain how",
    }
    rows = (f"{when[label.meaning]}, then output **{label.name}**." for label in labels.labels)
    return "\n".join(rows)


def label_names(labels: LabelSet) -> str:
    return ", ".join(f"**{name}**" for name in labels.names)


_WORD = 6  # characters of an English word with its space
_ADJACENT = 2  # characters between excerpts that are only white space or a line break


class _Piece(NamedTuple):
    """A text with the offset of its first character in its document."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def by_document(passages: Iterable[Passage]) -> tuple[tuple[Passage, ...], ...]:
    """The passages grouped by document, in the order in which the documents come first."""
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(document_key(passage), []).append(passage)
    return tuple(map(tuple, groups.values()))


def document_numbers(passages: Iterable[Passage]) -> dict[str, int]:
    """The numbers of the documents, by document, in the order in which they come first; from 1."""
    return {document_key(group[0]): number for number, group in enumerate(by_document(passages), 1)}


def numbers_of(passages: Iterable[Passage], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of the documents of some passages, in their order."""
    return tuple(numbers[document_key(group[0])] for group in by_document(passages))


def document_key(passage: Passage) -> str:
    """What identifies a passage's document; its own text where the tool names neither a document nor an address."""
    return passage.document or passage.url or passage.sha256


def joined(passages: tuple[Passage, ...]) -> str:
    """The excerpts of one document for a prompt, with marks where it was cut."""
    ordered = sorted(passages, key=lambda passage: passage.start)
    pieces = _without_copies([_Piece(passage.start, passage.text) for passage in ordered])
    text = pieces[0].text
    for before, piece in pairwise(pieces):
        text += f"{_left_out(before, piece)}{piece.text}"
    lead = ordered[0].lead
    last = max(ordered, key=lambda passage: passage.start + len(passage.text))
    return f"{lead}{text}{f' {CUT_MARK}' if last.ends_cut else ''}"


def _without_copies(pieces: list[_Piece]) -> list[_Piece]:
    """The pieces without those inside others; overlapping ones become one."""
    kept: list[_Piece] = []
    for piece in pieces:
        words = _words(piece.text)
        if any(words in _words(other.text) for other in kept):
            continue
        kept = [other for other in kept if _words(other.text) not in words]
        if kept and (union := _union(kept[-1], piece)):
            kept[-1] = union
        else:
            kept.append(piece)
    return kept


def _words(text: str) -> str:
    """The text in which a copy is looked for: letters in one case, spaces alike."""
    return f" {' '.join(text.split())} ".casefold()


def _union(first: _Piece, second: _Piece) -> _Piece | None:
    """Two overlapping pieces as one; None where they do not overlap, or differ where they do."""
    common = first.end - second.start
    if common <= 0 or second.start < first.start or first.text[-common:] != second.text[:common]:
        return None
    return _Piece(first.start, first.text + second.text[common:])


def _left_out(before: _Piece, after: _Piece) -> str:
    """What is between two excerpts; without a length where the tool does not say where they begin."""
    missing = after.start - before.end
    if missing < 0:
        return "\n[…]\n"
    if missing <= _ADJACENT:
        return "\n"
    return f"\n[… about {max(1, round(missing / _WORD))} words left out …]\n"


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

    Hardened: each document once, with all of its excerpts, under its number: one of ``numbers``, or counted from 1.
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
        self._shown: set[tuple[str, str]] = set()  # titles and texts

    def shown(self, passages: tuple[Passage, ...]) -> str:
        """The documents of one observation, or a note that there are none."""
        if self._profile == "paper" or not passages:
            return documents(passages, self._profile)
        return "\n".join(map(self._one, by_document(passages)))

    def _one(self, excerpts: tuple[Passage, ...]) -> str:
        number = self._numbers.setdefault(document_key(excerpts[0]), len(self._numbers) + 1)
        new = tuple(passage for passage in excerpts if passage.content not in self._shown)
        self._shown.update(passage.content for passage in new)
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
