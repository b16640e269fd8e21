"""Facts of a verdict in the words that every view shows: gaps, languages, reasons."""

from __future__ import annotations

from collections.abc import Mapping

from redargue.evidence import Gap, GapKind, Omission

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
_OMISSIONS = {
    Omission.LANGUAGE: "in another language",
    Omission.INJECTION: "speaks to models",
    Omission.FROZEN: "not stored: the memory is frozen",
    Omission.ERROR: "failed",
    Omission.EMPTY: "without a result",
}


def language(code: str) -> str:
    return LANGUAGES.get(code, "another language")


def omissions(counts: Mapping[Omission, int]) -> str:
    """``2 later, 1 undated``."""
    return ", ".join(f"{count} {_OMISSIONS.get(why, why)}" for why, count in counts.items())


def gap(gap: Gap) -> str:
    """A search without all or any of its results, in one line."""
    match gap.kind:
        case GapKind.FAILED:
            return f"{gap.tool} failed for {gap.query!r}: {gap.why}"
        case GapKind.EMPTY:
            return f"{gap.tool} found nothing for {gap.query!r}{_but(gap)}"
        case GapKind.PARTIAL:
            return f"{gap.tool}, {gap.query!r}: {_unused(gap)}"


def failure(gap: Gap) -> str:
    """Why a search has no result, without its tool and query."""
    return gap.why if gap.kind is GapKind.FAILED else f"found nothing{_but(gap)}"


def _but(gap: Gap) -> str:
    unused = _unused(gap)
    return f" that can be used: {unused}" if unused else ""


def _unused(gap: Gap) -> str:
    parts = []
    if gap.left_out:
        parts.append(f"left out as not in time: {omissions(gap.left_out)}")
    if gap.unread:
        counts = ", ".join(f"{count} in {language(code)}" for code, count in gap.unread.items())
        parts.append(f"not read, as {ENGLISH_ONLY}: {counts}")
    return "; ".join(parts)
