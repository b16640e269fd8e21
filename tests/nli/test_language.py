"""Claims and passages in other languages are told, named and not read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redargue import words
from redargue.api import replay
from redargue.assembly import Parts
from redargue.backends.scripted import ScriptedBackend
from redargue.caveats import Unchecked, UncheckedReason
from redargue.claims import TWO, Claim
from redargue.events import Event, EvidenceFound
from redargue.evidence import GapKind, Passage
from redargue.nli import language
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.language import in_english, language_of
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.run import Run
from redargue.spec import RunSpec
from redargue.tasks.extract import ExtractClaims, ExtractedClaim, ExtractedClaims
from redargue.text import Outcome
from redargue.text.extract import extract
from redargue.text.segment import Text
from redargue.text.verification import ground
from redargue.verifier import Verifier
from support.debates import CLAIM, TEXT

pytestmark = pytest.mark.anyio

IN_GERMAN = Unchecked(reason=UncheckedReason.LANGUAGE, languages=("de",))
GERMAN = "Der Leuchtturm am Kap Ansel wurde 1871 zum ersten Mal angezündet und steht auf einem Felsen."
LINES = [line.split("\t") for line in Path(__file__).with_name("languages.tsv").read_text("utf-8").splitlines()]


def test_nineteen_of_twenty_sentences_of_each_language_are_told_from_english() -> None:
    told = Counter(code for code, text in LINES if language_of(text))
    assert all(told[code] >= 19 for code, _ in LINES), told


@pytest.mark.parametrize("text", ["Москва", "東京", "القاهرة هي عاصمة مصر.", "Το νερό βράζει."])
def test_another_script_is_not_english_however_short(text: str) -> None:
    assert language_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "Bratislava is the capital of Slovakia.",
        "2,4-Dichlorophenoxyacetic acid is a herbicide.",
        "Schalke 04 beat Borussia Mönchengladbach.",
        "Der Spiegel reported the scandal.",
        "La La Land won six Oscars.",
        "α-Tubulin binds β-actin.",
        "Sir Ahmed Salman Rushdie ([sælˈmɑːn ˈrʊʃdi], अहमद सलमान रुशदी, born 1947) is a British Indian novelist.",
        "Malavan Bandar Anzali Football Club (Persian: باشگاه فوتبال ملوان بندر انزلى) is an Iranian football club.",
        "Crime increased.",
        "Premium: 15 euros a month",
        "Platinum: 25 euros monthly",
        "Maximum: 5 adults",
        "Bratislava",
        "1,204 / 3.5 % = 42",
        "",
    ],
)
def test_english_with_names_terms_or_few_words_stays_english(text: str) -> None:
    assert language_of(text) == ""


@pytest.mark.parametrize(
    "text", ["Gebühr: 15 Euro", "Das kostet 15 Euro.", "Livraison gratuite", "Le prix est de 15 euros."]
)
def test_a_few_words_of_another_language_are_told(text: str) -> None:
    assert language_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "Die Band The Beatles wurde 1960 in Liverpool gegründet.",
        "Filmen The Matrix hade premiär 1999.",
        "La serie The Office se estrenó en 2005.",
        "Film The Pianist powstał w 2002 roku.",
        "Der Roman What Maisie Knew erschien 1897.",
    ],
)
def test_an_english_title_does_not_make_a_sentence_english(text: str) -> None:
    assert language_of(text)


def test_the_model_of_languages_is_not_loaded_for_a_text_of_common_english_words(monkeypatch: Any) -> None:
    def load() -> None:
        pytest.fail("the model was loaded")

    monkeypatch.setattr(language, "_classifier", load)
    assert language_of("The Eiffel Tower opened in 1889.") == ""
    with pytest.raises(pytest.fail.Exception):
        language_of("Eiffel Tower opened 1889.")


def test_passages_in_other_languages_are_left_out_and_counted() -> None:
    passages = (Passage(text=TEXT), Passage(text=GERMAN), Passage(text=LINES[-1][1]))
    assert in_english(passages) == (passages[:1], {"de": 1, "ja": 1})


def verifier(*passages: Passage, claim: Claim = CLAIM, folder: Path | None = None) -> Verifier:
    evidence = {"corpus": FixedPassages([passages], whole=True)}
    spec = RunSpec(method="single-reader", offline=True, labels=claim.labels)
    parts = Parts(backend=EmbeddedBackend(), evidence=evidence)
    return Verifier(spec, parts=parts, folder=folder, claims=[claim])


@pytest.mark.parametrize("labels", [CLAIM.labels, TWO], ids=["three labels", "two labels"])
async def test_a_german_claim_is_not_checked_nothing_is_searched_and_it_replays(labels: object, tmp_path: Path) -> None:
    claim = Claim.model_validate({"text": GERMAN, "labels": labels})
    with verifier(Passage(text=TEXT), claim=claim, folder=tmp_path / "run") as runs:
        verdict = await runs.verify(claim)
    assert verdict.unchecked == IN_GERMAN
    assert words.unchecked(IN_GERMAN) == "the embedded models read English only, and this seems to be in German"
    assert (verdict.label, verdict.meaning, verdict.confidence, verdict.error) == (None, None, None, None)
    assert (verdict.usage.calls, verdict.usage.searches) == (0, 0)
    assert await replay(tmp_path / "run") == [verdict]


async def test_evidence_mostly_in_german_is_not_read_and_the_claim_not_checked(tmp_path: Path) -> None:
    german = [Passage(text=GERMAN), Passage(text=f"{GERMAN} Er ist weiß.")]
    with verifier(*german, Passage(text=TEXT), folder=tmp_path / "run") as runs:
        verdict = await runs.verify(CLAIM)
    assert (verdict.label, verdict.meaning, verdict.confidence) == (None, None, None)
    assert verdict.unchecked == IN_GERMAN.model_copy(update={"unread": 2, "passages": 3})
    assert words.unchecked(verdict.unchecked).endswith("(2 of 3 passages seem to be in German)")
    assert any("2 in German" in words.gap(gap) for gap in verdict.gaps)
    assert await replay(tmp_path / "run") == [verdict]


async def test_a_german_passage_among_english_ones_is_skipped_and_named_as_a_gap() -> None:
    events: list[Event] = []
    with verifier(Passage(text=TEXT), Passage(text=GERMAN)) as runs:
        verdict = await runs.verify(CLAIM, listeners=[events.append])
    assert verdict.label is not None
    assert verdict.unchecked is None
    (gap,) = verdict.gaps
    assert (gap.kind, gap.unread) == (GapKind.PARTIAL, {"de": 1})
    (search,) = (event for event in events if isinstance(event, EvidenceFound))
    assert search.unread == {"de": 1}
    assert [passage.text for passage in search.passages] == [TEXT]


async def test_a_german_sentence_of_a_text_is_listed_with_the_reason_and_not_extracted() -> None:
    extraction = await extract(Text(text=f"{CLAIM.text} {GERMAN}"), Run(EmbeddedBackend()))
    assert [claim.claim for claim in extraction.claims] == [CLAIM.text]
    (unread,) = extraction.unchecked
    assert unread.why == IN_GERMAN


async def test_a_markdown_table_of_a_text_is_listed_with_the_reason_and_not_extracted() -> None:
    table = "| Year | Visitors |\n|---|---|\n| 2025 | 51,300 |"
    extraction = await extract(Text(text=f"{CLAIM.text}\n\n{table}\n"), Run(EmbeddedBackend()))
    assert [claim.claim for claim in extraction.claims] == [CLAIM.text]
    assert {each.why.reason for each in extraction.unchecked} == {UncheckedReason.TABLE}


@pytest.mark.parametrize("kind", ["text", "dialogue"])
async def test_a_german_text_has_no_factual_outcome(kind: str) -> None:
    report = await ground(Text.model_validate({"text": GERMAN, "kind": kind}), contexts=[TEXT])
    assert report.claims == ()
    assert report.outcome is not Outcome.FACTUAL
    assert report.unchecked[0].why == IN_GERMAN


async def test_other_backends_read_what_they_are_given() -> None:
    claims = ExtractedClaims(claims=(ExtractedClaim(sentence=1, claim=GERMAN),))
    extraction = await extract(Text(text=GERMAN), Run(ScriptedBackend({ExtractClaims: claims})))
    assert [claim.claim for claim in extraction.claims] == [GERMAN]
