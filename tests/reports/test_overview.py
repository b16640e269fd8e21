"""The table by risk that an editor reads first."""

from __future__ import annotations

import pytest
from lxml import html  # type: ignore[import-untyped]

from redargue.caveats import ClaimPart, Difference, Leaning, Unchecked, UncheckedReason
from redargue.claims import FEVER, Claim, Label, LabelSet, Meaning
from redargue.evidence import Gap, GapKind, Quote, QuoteStatus, Side, Source, Timing
from redargue.reports.debate import macro
from redargue.reports.overview import TITLES, Risk, RiskRow, compared_words, risk_counts, risk_rows, risk_tables
from redargue.reports.phrases import names_file, place_of
from redargue.text.segment import UncheckedSentence
from redargue.verdicts import Unsure, Verdict
from support.growth import grows_with_the_square

LABELS = {Meaning.SUPPORTED: "SUPPORTS", Meaning.REFUTED: "REFUTES", Meaning.NOT_ENOUGH: "NOT ENOUGH INFO"}


def quoted(text: str, side: Side = Side.CONTEXT, document: str = "/news/fact-sheet.pdf", page: int = 0) -> Quote:
    return Quote(
        text=text, status=QuoteStatus.VERIFIED, start=0, end=len(text), side=side, page=page,
        source=Source(document=document, title="A title"),
    )  # fmt: skip


def verdict(text: str, meaning: Meaning = Meaning.NOT_ENOUGH, *quotes: Quote, **fields: object) -> Verdict:
    whole = {"claim": Claim(text=text), "label": LABELS[meaning], "meaning": meaning, "quotes": quotes} | fields
    return Verdict.model_validate(whole)


def rows(*verdicts: Verdict, text: str = "", unread: tuple[UncheckedSentence, ...] = ()) -> tuple[RiskRow, ...]:
    return risk_rows(text, {number: (each, None) for number, each in enumerate(verdicts, 1)}, unread)


def test_refuted_claims_come_first_and_open_ones_with_a_differing_sentence_before_those_without() -> None:
    language = Unchecked(reason=UncheckedReason.LANGUAGE)
    found = rows(
        verdict("The fleet has six trains.", Meaning.SUPPORTED, quoted("It has six trains.", Side.FOR)),
        verdict("Ferne Züge.", unchecked=language),
        verdict("The line is quiet.", Meaning.NOT_ENOUGH, quoted("The line opens in June.")),
        verdict("A charge lasts 70 kilometres.", Meaning.NOT_ENOUGH, quoted("A charge lasts at least 70 miles.")),
        verdict("All stations are step-free.", Meaning.REFUTED, quoted("Oxley Bridge is not.", Side.AGAINST)),
    )
    assert [(row.risk, row.number) for row in found] == [
        (Risk.REFUTED, 5),
        (Risk.DIFFERS, 4),
        (Risk.OPEN, 3),
        (Risk.UNCHECKED, 2),
        (Risk.SUPPORTED, 1),
    ]
    assert found[1].differences == (Difference(kind="number", claim="70 kilometres", evidence="at least 70 miles"),)


def test_a_supported_claim_shows_each_sentence_that_has_a_figure_of_it() -> None:
    founded, owned = quoted("The museum was founded in 1894.", Side.FOR), quoted("It has 31,000 objects.", Side.FOR)
    (row,) = rows(verdict("The museum was founded in 1894 and owns 31,000 objects.", Meaning.SUPPORTED, founded, owned))
    assert (row.sentence, row.lacking) == (founded.text, ())
    assert row.said == ("also: “It has 31,000 objects.”",)
    (row,) = rows(verdict("The museum was founded in 1894 and owns 50 objects.", Meaning.SUPPORTED, founded))
    assert row.said == ("not in the sentence: 50",)


def test_a_claim_that_is_not_supported_says_which_of_its_parts_are() -> None:
    parts = (
        ClaimPart(text="The mill was built in 1894.", meaning=Meaning.SUPPORTED),
        ClaimPart(text="The mill employs 31 people.", meaning=Meaning.NOT_ENOUGH),
    )
    (row,) = rows(verdict("The mill was built in 1894 and employs 31 people.", Meaning.NOT_ENOUGH, parts=parts))
    assert row.notes == (
        "In parts: “The mill was built in 1894” is supported; “The mill employs 31 people” stays open",
    )


def test_a_recorded_difference_an_opposed_quotation_and_a_doubted_refutation_rank_above_open_claims() -> None:
    given = Difference(kind="negation", claim="", evidence="not")
    ranked = rows(
        verdict("It is open.", Meaning.NOT_ENOUGH, quoted("It was seen."), differences=(given,)),
        verdict("It is open.", Meaning.NOT_ENOUGH, quoted("It shuts.", Side.AGAINST)),
        verdict("It is open.", unsure=Unsure(label="REFUTES", min_confidence=0.9), confidence=0.5),
        verdict("It is open.", Meaning.NOT_ENOUGH, quoted("It was seen."), leaning=Leaning(supports=0.2, refutes=0.5)),
    )
    assert [row.risk for row in ranked] == [Risk.DIFFERS] * 3 + [Risk.OPEN]
    assert ranked[3].said == ("leans to refuted",)
    assert ranked[0].said == ("claim: no negation; evidence: not",)
    assert "it would have answered Refuted" in ranked[2].said[0]


def test_open_claims_that_lean_to_refuted_come_first_and_say_so() -> None:
    leanings = (None, Leaning(supports=0.3, refutes=0.2), Leaning(supports=0.24, refutes=0.4), None)
    found = rows(
        *(verdict("It is open.", Meaning.NOT_ENOUGH, quoted("It was seen."), leaning=each) for each in leanings)
    )
    assert [row.number for row in found] == [3, 1, 2, 4]
    assert [row.said for row in found] == [("leans to refuted",), (), ("leans to supported",), ()]
    (table,) = risk_tables(found)
    assert [row[3] for row in table.text_rows] == ["leans to refuted", "", "leans to supported", ""]
    decided = verdict("It is open.", Meaning.REFUTED, leaning=leanings[2])
    assert rows(decided)[0].said == ()


def test_claims_are_counted_in_the_words_of_the_groups_and_conflicts_are_a_group_of_their_own() -> None:
    labels = LabelSet(name="four", labels=(*FEVER.labels, Label(name="CONFLICT", meaning=Meaning.CONFLICTING)))
    claim = Claim(text="It is open.", labels=labels)
    clash = Verdict(claim=claim, label="CONFLICT", meaning=Meaning.CONFLICTING)
    found = rows(
        verdict("It is open.", Meaning.NOT_ENOUGH, quoted("It shuts.", Side.AGAINST)), clash, verdict("It is.")
    )
    assert risk_counts(found) == (
        "Conflicting: 1; Not enough evidence, and the nearest sentence differs: 1; Not enough evidence: 1"
    )
    unread = RiskRow(Risk.UNCHECKED, 0, "Free entry!")
    assert risk_counts([unread, unread._replace(number=1)]) == "Not checked: 1"


def test_the_nearest_sentence_has_the_most_words_of_the_claim_and_names_its_file_and_page() -> None:
    far, near = quoted("Trains are fine.", page=1), quoted("The first  public\ntrain leaves at six.", page=2)
    (row,) = rows(verdict("The first public train leaves on Sunday.", Meaning.NOT_ENOUGH, far, near))
    assert (row.sentence, row.place) == ("The first public train leaves at six.", "fact-sheet.pdf, page 2")


def test_files_of_the_same_name_are_named_with_their_folders() -> None:
    found = rows(
        verdict("One.", Meaning.NOT_ENOUGH, quoted("One.", document="/a/minutes.txt")),
        verdict("Two.", Meaning.NOT_ENOUGH, quoted("Two.", document="/b/minutes.txt")),
    )
    assert [row.place for row in found] == ["a/minutes.txt", "b/minutes.txt"]


def test_figures_are_compared_where_they_measure_the_same_and_missing_ones_are_named() -> None:
    swapped, _ = compared_words(
        "3.1 km run in tunnel and 1.2 km on viaducts.", "1.2 km run in tunnel and 3.1 km on viaducts."
    )
    assert {(each.claim, each.evidence) for each in swapped} == {("3.1 km", "1.2 km"), ("1.2 km", "3.1 km")}
    other, lacking = compared_words("The two stations are open.", "It is sent at five o'clock.")
    assert (other, lacking) == ((), ("two",))
    assert compared_words("It opened in 1998 after 58 years.", "It opened in 1998.") == ((), ("58 years",))
    assert compared_words("1 " * 80, "2 " * 80) == ((), ())


def test_the_only_figures_of_one_measure_in_sentences_of_the_same_words_differ() -> None:
    claim = "Tarn Ferries carried 1.8 million guests in 2025, an increase of 12 percent over 2024."
    near = "In 2025 Tarn Ferries carried 1.8 million guests, which is 7 percent more than in 2024."
    ((found,), lacking) = compared_words(claim, near)
    assert (found.kind, found.claim, found.evidence, lacking) == ("number", "12 percent", "7 percent", ())
    assert compared_words(claim, "7 percent of the guests bring a dog.")[0] == ()


def test_figures_of_sentences_without_a_common_word_are_not_compared() -> None:
    row = "Year: 2025; Revenue (million euros): 301."
    found, lacking = compared_words("The deal is expected to close in the second quarter of 2026.", row)
    assert (found, lacking[-1]) == ((), "2026")


def test_a_figure_in_a_table_has_the_unit_of_its_column() -> None:
    row = "Route: Tarn; Departures on time (percent): 98.9; Depth (m): 6.5."
    assert compared_words("98.9 percent of the departures to Tarn were on time, at 6.5 metres.", row) == ((), ())
    assert compared_words("It is 8.5 metres deep.", row)[0][0].evidence == "6.5 m"


def test_a_sentence_that_may_state_something_and_has_no_claim_is_listed_as_not_checked() -> None:
    fragment, silent = (
        UncheckedSentence(start=start, end=end, why=Unchecked(reason=reason))
        for start, end, reason in ((0, 22, UncheckedReason.FRAGMENT), (24, 31, UncheckedReason.NOT_A_CLAIM))
    )
    (row,) = rows(text="# Dividend of 48 cents\n\nContact", unread=(fragment, silent))
    assert (row.risk, row.number, row.claim) == (Risk.UNCHECKED, 0, "Dividend of 48 cents")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("**Length:** 330 metres", "Length: 330 metres"),
        ("## Opened 1889", "Opened 1889"),
        ("See [the fees](https://example.org/a): 3 euros", "See the fees: 3 euros"),
        ("Speed * time = 40", "Speed * time = 40"),
        ("The file_name_of_1889", "The file_name_of_1889"),
        ("Toll: 3 euros", "Toll: 3 euros"),
    ],
)
def test_a_sentence_without_a_claim_is_listed_without_marks_of_markdown(written: str, shown: str) -> None:
    sentence = UncheckedSentence(start=0, end=len(written), why=Unchecked(reason=UncheckedReason.FRAGMENT))
    (row,) = rows(text=written, unread=(sentence,))
    assert row.claim == shown


def test_the_page_shows_a_row_with_its_sentence_place_and_difference_and_tables_have_the_same() -> None:
    found = rows(verdict("A charge lasts 70 km <sic>.", Meaning.NOT_ENOUGH, quoted("A charge lasts 90 km.", page=3)))
    page = macro("run_parts.html", "overview")([(Risk.DIFFERS, TITLES[Risk.DIFFERS], found)], {0})
    (claim,) = html.fromstring(page).xpath("//th[@scope='row']")
    assert claim.text_content() == "1. A charge lasts 70 km <sic>."
    assert claim.xpath("./a/@href") == ["#c-0"]
    sentence, differs = (cell.text_content() for cell in html.fromstring(page).xpath("//td"))
    assert sentence == "A charge lasts 90 km.fact-sheet.pdf, page 3"
    assert "70" in differs
    (table,) = risk_tables(found)
    assert table.title == "Not enough evidence, and the nearest sentence differs (1)"
    assert table.text_rows[0][2] == "“A charge lasts 90 km.” (fact-sheet.pdf, page 3)"


def test_evidence_in_a_language_that_is_not_read_is_named_in_the_row() -> None:
    unread = [Gap(kind=GapKind.PARTIAL, tool="corpus", query=query, unread={"de": 1}) for query in ("a", "b")]
    (row,) = rows(verdict("It cost 84 million.", gaps=unread))
    assert row.said == ("found and not read, as the embedded models read English only: evidence in German",)
    assert "evidence in German" in str(risk_tables([row])[0].rows)


def test_a_source_that_is_later_than_the_claims_date_is_called_so_wherever_it_is_cited() -> None:
    def place(timing: Timing) -> tuple[str, ...]:
        source = Source(document="https://orvell.example", title="News", published="2023-05-01", timing=timing)
        return place_of(Quote(text="Twelve lamps.", status=QuoteStatus.VERIFIED, source=source))

    assert place(Timing.LATER) == ("News", "2023-05-01", "after the as-of date")
    assert place(Timing.IN_TIME) == ("News", "2023-05-01")


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ("annual-report.pdf", "annual-report.pdf"),
        ("sources/annual-report.pdf#energy", "annual-report.pdf#energy"),
        ("notes.txt (2)", "notes.txt (2)"),
        ("rows.jsonl:3", "rows.jsonl:3"),
        ("letter.eml#1-fees.csv", "letter.eml#1-fees.csv"),
        ("https://orvell.example/report.pdf", ""),
        ("10.1038/s41586-020-2649-2", ""),
        ("4983", ""),
        ("Booking.com", ""),
    ],
)
def test_a_file_is_named_beside_its_title_and_an_identifier_that_names_none_is_not(document: str, name: str) -> None:
    quote = quoted("A charge lasts 90 km.", document=document, page=3)
    shown = (document,) if name else ()
    assert place_of(quote) == ("A title", *shown, "page 3")
    (row,) = rows(verdict("A charge lasts 70 km.", Meaning.NOT_ENOUGH, quote))
    assert row.place == f"{name or 'A title'}, page 3"
    found = html.fromstring(str(macro("parts.html", "source")(quote.source))).text_content()
    assert (f"· {document} ·" in found) is bool(name)


def test_a_long_identifier_of_a_document_is_told_from_a_file_in_linear_time() -> None:
    assert names_file("report.pdf (2)")
    assert not names_file("https://example.org/report.pdf")
    assert not grows_with_the_square(names_file, "a.pdf#" * 10_000 + "\nx\n")
