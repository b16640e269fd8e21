"""Facts of a verdict in the words that every view shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redargue.caveats import Caveat, CaveatKind, ClaimPart, Difference, Leaning, Noted, Unchecked, UncheckedReason
from redargue.claims import MAX_CLAIM, Meaning
from redargue.evidence import Gap, GapKind, Omission, UnreadFile
from redargue.sanitize import counted, printable

ENGLISH_ONLY = "the embedded models read English only"
UNDETERMINED = "und"  # ISO 639-2 for a language that is not known
LANGUAGES = dict(  # by ISO 639-1
    pair.split("=")
    for pair in (
        "af=Afrikaans ar=Arabic bg=Bulgarian bn=Bengali ca=Catalan cs=Czech da=Danish de=German el=Greek"
        " es=Spanish et=Estonian fa=Persian fi=Finnish fr=French he=Hebrew hi=Hindi hr=Croatian hu=Hungarian"
        " id=Indonesian it=Italian ja=Japanese ko=Korean lt=Lithuanian lv=Latvian nl=Dutch no=Norwegian pl=Polish"
        " pt=Portuguese ro=Romanian ru=Russian sk=Slovak sl=Slovenian sr=Serbian sv=Swedish sw=Swahili ta=Tamil"
        " th=Thai tr=Turkish uk=Ukrainian ur=Urdu vi=Vietnamese zh=Chinese"
    ).split()
)
_MEANINGS = {
    Meaning.SUPPORTED: "The evidence supports the claim.",
    Meaning.REFUTED: "The evidence refutes the claim.",
    Meaning.NOT_ENOUGH: "The evidence does not settle the claim. This does not mean that it is partly true.",
    Meaning.CONFLICTING: "The evidence is in conflict.",
}
_OMISSIONS = {
    Omission.LANGUAGE: "in another language",
    Omission.INJECTION: "addressed to models",
    Omission.FROZEN: "not stored: the memory is frozen",
    Omission.ERROR: "failed",
    Omission.EMPTY: "without a result",
}
_CAVEATS = {
    CaveatKind.FROM_MEMORY: "answered from memory, without evidence",
    CaveatKind.NOTHING_FOUND: "no evidence found",
    CaveatKind.UNQUOTED: "no quotation was found in the evidence",
    CaveatKind.TOO_LITTLE: "what is quoted says too little to decide",
    CaveatKind.ONLY_INJECTED: "only a passage that addresses language models is quoted",
    CaveatKind.ONLY_CHANGED: "the recalled text is no longer in its source",
}
_REASONS = {
    UncheckedReason.LANGUAGE: ENGLISH_ONLY,
    UncheckedReason.SEARCH_FAILED: "not searched: every search failed",
    UncheckedReason.ERROR: "error",
    UncheckedReason.BUDGET: "the budget is spent",
    UncheckedReason.UNSURE: "the model was unsure",
    UncheckedReason.NO_ANSWER: "no answer",
    UncheckedReason.SUBJECTIVE: "subjective",
    UncheckedReason.NOT_A_CLAIM: "states nothing that can be checked",
    UncheckedReason.LEFT_OUT: "the model extracted no claim",
    UncheckedReason.FRAGMENT: "a fragment that may state something",
    UncheckedReason.TABLE: "the embedded models cannot read tables",
    UncheckedReason.TOO_LONG: f"longer than {MAX_CLAIM:,} characters",
    UncheckedReason.NO_LINK: "cites no page",
    UncheckedReason.NO_CONTEXT: "there is no document to check it against",
}


def meaning(of: Meaning | None) -> str:
    """What a verdict with that meaning says, as a sentence; empty for a label that says something else."""
    return _MEANINGS.get(of, "") if of else ""


def language(code: str) -> str:
    return LANGUAGES.get(code, "another language")


def omissions(counts: Mapping[Omission, int]) -> str:
    """``2 later, 1 undated``."""
    return ", ".join(f"{count} {_OMISSIONS.get(why, why)}" for why, count in counts.items())


def gap(of: Gap) -> str:
    """A search without all or any of its results, in one line."""
    match of.kind:
        case GapKind.FAILED:
            return f"{of.tool} failed for {of.query!r}: {of.why}"
        case GapKind.EMPTY:
            return f"{of.tool} found nothing for {of.query!r}{_but(of)}"
        case GapKind.PARTIAL:
            return f"{of.tool}, {of.query!r}: {_unused(of)}"


def failure(gap: Gap) -> str:
    """Why a search has no result, without its tool and query."""
    return gap.why if gap.kind is GapKind.FAILED else f"found nothing{_but(gap)}"


def _but(gap: Gap) -> str:
    unused = _unused(gap)
    return f" that can be used: {unused}" if unused else ""


def _unused(gap: Gap) -> str:
    parts = []
    if gap.left_out:
        parts.append(f"left out because of the as-of date: {omissions(gap.left_out)}")
    if gap.unread:
        counts = ", ".join(f"{count} in {language(code)}" for code, count in gap.unread.items())
        parts.append(f"not read, as {ENGLISH_ONLY}: {counts}")
    return "; ".join(parts)


def unread_languages(gaps: Iterable[Gap]) -> str:
    """What searches found and the models do not read, in one line; empty for nothing."""
    codes = dict.fromkeys(code for gap in gaps for code in gap.unread)
    languages = ", ".join(map(language, codes))
    return f"found and not read, as {ENGLISH_ONLY}: evidence in {languages}" if languages else ""


def caveats(of: Iterable[Caveat]) -> str:
    """All caveats in one line; empty for none."""
    return "; ".join(dict.fromkeys(map(caveat, of)))


def caveat(of: Caveat) -> str:
    source = printable(of.source, lines=False)
    match of.kind:
        case CaveatKind.INJECTION:
            return f"{source[:80] or 'a passage'} {str(of.injection).replace('_', ' ')}"
        case CaveatKind.SINGLE_SOURCE:
            only = f"only {source[:80] or 'a passage'} is" if of.sources else "no two are"
            return f"single source: of {counted(of.publishers, 'publisher')}, {only} quoted with evidence for the label"
        case CaveatKind.NOT_READ_AGAIN:
            day = f"{of.day:%Y-%m-%d}" if of.day else ""
            origin = ", ".join(filter(None, (printable(of.tool, lines=False), day, source)))
            return f"rests on recalled evidence that was not read again ({origin[:200]})"
    does_not_count = f": the answer {of.answer} does not count" if of.answer else ""
    return f"{_CAVEATS[of.kind]}{does_not_count}"


def robustness(robust_to: int) -> str:
    """That a verdict does not hang on any one source; empty where it does, or where that is not known."""
    if not robust_to:
        return ""
    return "holds without any one of its sources" if robust_to == 1 else f"holds without any {robust_to} of its sources"


def reason(of: UncheckedReason) -> str:
    return _REASONS[of]


def unchecked(why: Unchecked) -> str:
    """Why a claim or a sentence was not checked, without a full stop."""
    if why.caveats:
        return caveats(why.caveats)
    if why.error:
        return f"{reason(why.reason)}: {why.error}"
    if not why.languages:
        return reason(why.reason)
    languages = ", ".join(map(language, why.languages))
    if why.passages:
        return f"{reason(why.reason)} ({why.unread} of {counted(why.passages, 'passage')} seem to be in {languages})"
    return f"{reason(why.reason)}, and this seems to be in {languages}"


def without_claims(sentences: Iterable[Unchecked]) -> str:
    """``2 sentences were not checked; 1 states nothing that can be checked``; empty for none."""
    may_state = [why.may_state for why in sentences]
    parts = []
    if unread := sum(may_state):
        parts.append(f"{counted(unread, 'sentence')} {'was' if unread == 1 else 'were'} not checked")
    if rest := len(may_state) - unread:
        subject = f"{rest:,}" if parts else counted(rest, "sentence")
        parts.append(f"{subject} state{'s' if rest == 1 else ''} nothing that can be checked")
    return "; ".join(parts)


def unread_file(of: UnreadFile) -> str:
    """``loan.pdf: the PDF is encrypted``."""
    return printable(f"{of.file}: {of.why}", lines=False)


def difference(of: Difference) -> str:
    """``claim: 1931; evidence: 1932``."""
    missing = "no negation"
    return f"claim: {of.claim or missing}; evidence: {of.evidence or missing}"


def leaning(of: Leaning) -> str:
    return f"The model was unsure: support {of.supports:.2f}, refutation {of.refutes:.2f}"


def leans(side: Meaning) -> str:
    """The side to which a claim leans that is left open."""
    return f"leans to {side}"


def in_parts(of: Iterable[ClaimPart]) -> str:
    """``In parts: “The mill was built in 1894” is supported; “The mill employs 31 people” stays open``."""
    return "In parts: " + "; ".join(f"“{each.text.removesuffix('.')}” {_OF_PARTS[each.meaning]}" for each in of)


_OF_PARTS = {Meaning.SUPPORTED: "is supported", Meaning.REFUTED: "is refuted", Meaning.NOT_ENOUGH: "stays open"}


def notes(noted: Noted) -> tuple[str, ...]:
    """What the embedded reader notes beside an answer, in lines."""
    lines = [f"Difference – {difference(each)}" for each in noted.differences]
    lines += [leaning(noted.leaning)] if noted.leaning else []
    return (*lines, in_parts(noted.parts)) if noted.parts else tuple(lines)
