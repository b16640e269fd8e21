"""Label sets of data sets that ``redargue.claims`` does not define."""

from __future__ import annotations

from redargue.claims import Label, LabelSet, Meaning, label_sets, read_labels
from redargue.errors import UsageError
from redargue.registry import did_you_mean


def _label(name: str, meaning: Meaning, description: str, *aliases: str) -> Label:
    return Label(name=name, meaning=meaning, aliases=aliases, description=description)


def _label_set(name: str, *labels: Label, in_prose: bool = True) -> LabelSet:
    return LabelSet(name=name, labels=labels, in_prose=in_prose)


TRUE_FALSE = _label_set(
    "true-false",
    _label("true", Meaning.SUPPORTED, "the claim is correct"),
    _label("false", Meaning.REFUTED, "the claim is incorrect"),
    in_prose=False,
)
"""FacTool-QA, FELM, and the claim files of FIRE and MERMAID."""

FACTCHECK_BENCH = _label_set(
    "factcheck-bench",
    *TRUE_FALSE.labels,
    _label("not_enough_evidence", Meaning.NOT_ENOUGH, "the evidence does not settle the claim", "unknown"),
    in_prose=False,
)

BINGCHECK = _label_set(
    "bingcheck",
    _label("supported", Meaning.SUPPORTED, "the evidence supports the claim"),
    _label("partially supported", Meaning.SUPPORTED, "the evidence supports part of the claim"),
    _label("not supported", Meaning.NOT_ENOUGH, "the evidence does not settle the claim"),
    _label("refuted", Meaning.REFUTED, "the evidence contradicts the claim"),
)

HOVER = _label_set(
    "hover",
    _label("SUPPORTED", Meaning.SUPPORTED, "the claim is correct"),
    _label("NOT_SUPPORTED", Meaning.REFUTED, "the claim is incorrect, or nothing settles it", "NOT SUPPORTED"),
)

_CONTRADICT = ("CONTRADICTS", "CONTRADICTED", "REFUTE", "REFUTES", "REFUTED")
SCIFACT = _label_set(
    "scifact",
    _label("SUPPORT", Meaning.SUPPORTED, "the abstracts support the claim", "SUPPORTS", "SUPPORTED"),
    _label("CONTRADICT", Meaning.REFUTED, "the abstracts contradict the claim", *_CONTRADICT),
    _label("NOT ENOUGH INFO", Meaning.NOT_ENOUGH, "no abstract settles the claim", "NEI"),
)

SCIFACT_DECIDED = _label_set("scifact-decided", *SCIFACT.labels[:2])
"""Of the claims that an abstract supports or contradicts, as in FOLK's and MERMAID's samples."""

HALLUCINATED = _label_set(
    "hallucinated",
    _label("yes", Meaning.REFUTED, "the text holds something made up or wrong"),
    _label("no", Meaning.SUPPORTED, "the text is right"),
    in_prose=False,
)
"""HaluEval asks whether a text is hallucinated, so *yes* means refuted."""

_ALL = (TRUE_FALSE, FACTCHECK_BENCH, BINGCHECK, HOVER, SCIFACT, SCIFACT_DECIDED, HALLUCINATED)
BY_NAME = {labels.name: labels for labels in _ALL}


def label_set(name: str) -> LabelSet:
    """A registered label set, one of those above, or words for labels (:func:`redargue.claims.read_labels`)."""
    if "=" in name:
        return read_labels(name)
    known = {**{registered: label_sets[registered] for registered in label_sets}, **BY_NAME}
    if name not in known:
        raise UsageError(f"unknown label set {name!r}", hint=did_you_mean(name, known))
    return known[name]
