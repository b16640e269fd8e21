"""What a document has around its sentences is neither a claim nor evidence."""

from __future__ import annotations

import pytest

from redargue.nli.claim_filter import statement
from redargue.nli.markup import is_furniture, is_heading, without_dateline
from redargue.nli.reader import SHORT_LIST, sentences
from redargue.retrieval.corpus.documents import headings_in
from redargue.text.segment import sentences_of

RELEASE = """PRESS RELEASE
EMBARGOED UNTIL 00:01, 12 May 2026
Kestrel Motors plans a second plant
BERLIN, 12 May 2026 – Kestrel Motors will build a plant in Brandt. It will employ 340 people.
-ENDS-
Notes to editors:
Kestrel Motors was founded in 1961.
Press contact: Jana Brandt, +49 30 5550 1234, press@kestrel.example
"""


@pytest.mark.parametrize(
    "line",
    [
        "FOR IMMEDIATE RELEASE",
        "EMBARGOED UNTIL 00:01 GMT, 12 May 2026",
        "Embargo: 12 May 2026, 6 a.m.",
        "Not for publication before 12 May",
        "NOT FOR PUBLICATION BEFORE 7.30 A.M. ON 5 MARCH 2026",
        "About Lumenar Medical",
        "About Aldermoor & Vale Railway",
        "Communications office, St Brannoc's University Hospital, +47 555 0142, media@stbrannoc.example",
        "Press release",
        "MEDIA RELEASE – 12 May 2026",
        "Press contact: Jana Brandt, +49 30 5550 1234, press@kestrel.example",
        "Media enquiries: Tom Ferrow",
        "Tel.: +44 20 7946 0000",
        "E-mail: press@kestrel.example",
        "Jana Brandt, +49 30 5550 1234",
        "Contact: Anna Berg, +44 20 7946 0018, press2026@example.org",
        "Press office: Anna Berg, 12 Harbour Street, London SW1A 1AA",
        "Mobile: +49 170 1234567",
        "Phone: 555-123-4567",
        "Tel.: 22 33 44 55",
        "01234 567890",
        "Press release No. 12/2026",
        "For further information, please contact the press office.",
        "-ENDS-",
        "- ends -",
        "###",
        "# # #",
        "Notes to editors:",
        "Page 3 of 12",
        "12.05.2026",
        "© 2025 St Brannoc's University Hospital.",
        "Copyright © 2024-2026 Tarrow Valley Water. All rights reserved.",
        "All rights reserved.",
    ],
)
def test_lines_that_accompany_a_release_state_nothing(line: str) -> None:
    assert is_furniture(line)
    assert statement(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "The embargo was lifted in 2015.",
        "Embargoed until Monday, the report says that 340 people were killed.",
        "Press contact: vaccines were withdrawn in 2019.",
        "The press office is in Leeds.",
        "The film ends with a wedding.",
        "Contact with the probe was lost on 3 May.",
        "In 2019, 12345678 people voted.",
        "Copyright law was changed in 2019.",
        "© 2019 was printed on 40,000 copies.",
        "Opening hours: 09.00-17.30",
        "Opening hours: 09.00-12.00/13.00-17.30",
        "Construction: 1968-1974",
        "Season: 01.09.2025-31.05.2026",
        "Season: 2024/2025",
        "Passengers: 51 300 400",
        "Turnover: 1.200.000.000",
        "Mobile: 3.2 million customers",
        "Office: 4,500 square metres",
        "Office: Orvell; Staff: 999.",
        "Investor relations: 12 employees",
        "Website: 3 million visitors",
        "Profit: 25 million euros, www.port.example",
        "Media release: 700 jobs to go at port",
        "Embargo: Russia imports 40 % less oil",
    ],
)
def test_a_line_with_a_statement_is_not_furniture(line: str) -> None:
    assert not is_furniture(line)


@pytest.mark.parametrize(
    "line",
    [
        "BERLIN, 12 May 2026 – Sales rose by 3 %.",
        "BERLIN, Germany, May 12, 2026 (GLOBE NEWSWIRE) -- Sales rose by 3 %.",
        "Berlin, 12 May 2026 - Sales rose by 3 %.",
        "LONDON (Reuters) - Sales rose by 3 %.",
        "NEW YORK – Sales rose by 3 %.",
        "12 May 2026, Berlin – Sales rose by 3 %.",
    ],
)
def test_a_dateline_is_taken_off(line: str) -> None:
    assert without_dateline(line) == statement(line) == "Sales rose by 3 %."


@pytest.mark.parametrize(
    "line",
    [
        "NATO – founded in 1949 – has 32 members.",
        "On 12 May 2026 – a Tuesday – sales rose.",
        "COVID-19 – a disease – was first seen in 2019.",
        "Sales rose – by 3 % – in May.",
    ],
)
def test_a_dash_alone_makes_no_dateline(line: str) -> None:
    assert without_dateline(line) == line


def test_the_lines_of_a_release_are_sentences_of_their_own() -> None:
    found = [each.text for each in sentences_of(RELEASE)]
    assert "Kestrel Motors plans a second plant" in found
    assert "It will employ 340 people." in found
    claims = [claim for text in found if (claim := statement(text)) and "plans" not in claim]
    assert claims == [
        "Kestrel Motors will build a plant in Brandt.",
        "It will employ 340 people.",
        "Kestrel Motors was founded in 1961.",
    ]


def test_the_number_of_a_section_is_part_of_its_heading() -> None:
    assert headings_in("2 Depth\nThe harbour has a depth of 6.5 metres.") == ((0, 8),)


@pytest.mark.parametrize(
    "line",
    ["Opening hours", "## The second plant", "**Prices and discounts**", "Terms of Use", "2 Depth", "3.1. Two berths"],
)
def test_a_few_words_without_a_verb_or_a_figure_are_a_heading(line: str) -> None:
    assert is_heading(line)


@pytest.mark.parametrize(
    "line", ["Sales rose in May", "340 jobs", "Parking: free", "It ended.", "and other costs", "12 May", ""]
)
def test_other_lines_are_not_headings(line: str) -> None:
    assert not is_heading(line)


def test_headings_are_no_evidence_and_are_not_glued_to_sentences() -> None:
    text = "Opening hours\nThe museum opens at 9. It is closed on Mondays.\nPrices and discounts\nA ticket costs €9."
    assert sentences(text) == ("The museum opens at 9.", "It is closed on Mondays.", "A ticket costs €9.")


def test_a_list_of_names_is_not_a_list_of_headings() -> None:
    text = "The board has three members.\nAda Abel\nBruno Brandt\nClara Castel"
    assert "Bruno Brandt" in " ".join(sentences(text))


def test_no_sentence_is_across_a_page_break() -> None:
    text = "The plant employs\n\n\f340 people in Brandt. It opened in 1961."
    assert sentences(text) == ("The plant employs", "340 people in Brandt.", "It opened in 1961.")


def test_lines_below_a_contact_heading_are_no_claims() -> None:
    block = "Media contact\nAda Brandt, Chief Operating Officer\nHalden Ferries AS\n+47 22 33 44 55"
    found = [sentence.text for sentence in sentences_of(f"The yard is in Ulsteinvik.\n\n{block}\n")]
    assert found == ["The yard is in Ulsteinvik.", block]
    assert [statement(sentence) for sentence in found] == ["The yard is in Ulsteinvik.", None]


def test_a_statement_below_a_contact_heading_is_a_claim() -> None:
    text = "Contact\nAda Brandt\nThe yard employs 340 people.\n"
    found = [sentence.text for sentence in sentences_of(text)]
    assert found == ["Contact\nAda Brandt", "The yard employs 340 people."]
    assert [statement(sentence) for sentence in found] == [None, "The yard employs 340 people."]


def test_items_of_a_list_are_sentences_of_their_own() -> None:
    hours = "## Hours\n\n- Monday: closed\n- Saturday: 9 am to 4 pm\n  (in May: 5 pm)\n\nEntry is free."
    assert sentences(hours) == ("Monday: closed", "Saturday: 9 am to 4 pm\n  (in May: 5 pm)", "Entry is free.")
    assert sentences("Steps.\n\n1. Open the lid.\n2. Close it.\n") == ("Steps.", "Open the lid.", "Close it.")


def test_a_short_list_stays_with_what_leads_it_in() -> None:
    fee = "The fee does not include:\n\n- breakfast\n- parking\n"
    assert sentences(fee) == (fee.strip(),)
    assert len(sentences(fee + "".join(f"- item number {number}\n" for number in range(SHORT_LIST // 10)))) > 20
