"""Label sets of data sets that ``redargue.claims`` does not define."""

from __future__ import annotations

from redargue.claims import Label, LabelSet, Meaning, label_sets
from redargue.errors import UnknownName
from redargue.registry import did_you_mean


def _set(name: str, *labels: Label, in_prose: bool = True) -> LabelSet:
    return LabelSet(name=name, labels=labels, in_prose=in_prose)


def _label(name: str, meaning: Meaning, *aliases: str, description: str) -> Label:
    return Label(name=name, meaning=meaning, aliases=aliases, description=description)


TRUE_FALSE = _set(
    "true-false",
    _label("true", Meaning.SUPPORTED, description="the claim is correct"),
    _label("false", Meaning.REFUTED, description="the claim is incorrect"),
    in_prose=False,
)
"""FacTool-QA, FELM, and the claim files of FIRE and MERMAID."""

FACTCHECK_BENCH = _set(
    "factcheck-bench",
    *TRUE_FALSE.labels,
    _label("not_enough_evidence", Meaning.NOT_ENOUGH, "unknown", description="the evidence does not settle the claim"),
    in_prose=False,
)

BINGCHECK = _set(
    "bingcheck",
    _label("supported", Meaning.SUPPORTED, description="the evidence supports the claim"),
    _label("partially supported", Meaning.SUPPORTED, description="the evidence supports part of the claim"),
    _label("not supported", Meaning.NOT_ENOUGH, description="the evidence does not settle the claim"),
    _label("refuted", Meaning.REFUTED, description="the evidence contradicts the claim"),
)

HOVER = _set(
    "hover",
    _label("SUPPORTED", Meaning.SUPPORTED, description="the claim is correct"),
    _label(
        "NOT_SUPPORTED", Meaning.REFUTED, "NOT SUPPORTED", description="the claim is incorrect, or nothing settles it"
    ),
)

SCIFACT = _set(
    "scifact",
    _label("SUPPORT", Meaning.SUPPORTED, "SUPPORTS", "SUPPORTED", description="the abstracts support the claim"),
    _label(
        "CONTRADICT",
        Meaning.REFUTED,
        "CONTRADICTS",
        "CONTRADICTED",
        "REFUTE",
        "REFUTES",
        "REFUTED",
        description="the abstracts contradict the claim",
    ),
    _label("NOT ENOUGH INFO", Meaning.NOT_ENOUGH, "NEI", description="no abstract settles the claim"),
)

HALLUCINATED = _set(
    "hallucinated",
    _label("yes", Meaning.REFUTED, description="the text holds something made up or wrong"),
    _label("no", Meaning.SUPPORTED, description="the text is right"),
    in_prose=False,
)
"""HaluEval asks whether a text is hallucinated, so *yes* means refuted."""

BY_NAME = {labels.name: labels for labels in (TRUE_FALSE, FACTCHECK_BENCH, BINGCHECK, HOVER, SCIFACT, HALLUCINATED)}


def label_set(name: str) -> LabelSet:
    """A registered label set, or one of those above.

    Raises:
        UnknownName: there is no such label set.
    """
    known = {**{registered: label_sets[registered] for registered in label_sets}, **BY_NAME}
    if name not in known:
        raise UnknownName(f"unknown label set {name!r}", hint=did_you_mean(name, known))
    return known[name]
