"""When each label of a claim applies, in the claim's own terms."""

from __future__ import annotations

import re
from collections.abc import Mapping

from redargue.claims import Label, LabelSet, Meaning
from redargue.tasks.base import lines

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
