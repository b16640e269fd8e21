"""Quantities in English text, compared by value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redargue.nli.quantities import Quantity, quantities, relation


def only(text: str) -> Quantity:
    (quantity,) = quantities(text)
    return quantity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 years", "36 months"),
        ("**5** euros", "5 euros"),
        ("in _1997_.", "1997"),
        ("_five_ *km*", "5 km"),
        ("three years", "36 months"),
        ("1.5 million", "1,500,000"),
        ("one and a half million", "1,500,000"),
        ("half a million", "500,000"),
        ("a dozen", "12"),
        ("half a dozen boats", "6 boats"),
        ("two hundred and five", "205"),
        ("38 %", "38 percent"),
        ("38%", "38 per cent"),
        ("£45", "45 pounds"),
        ("€1.5bn", "1,500 million euros"),
        ("90 seconds", "1.5 minutes"),
        ("8 minutes 40 seconds", "520 seconds"),
        ("5 km", "5,000 m"),
        ("0.4 mg", "400 micrograms"),
        ("5 km", "3.1 miles"),
        ("84,000 cubic metres", "84 Ml"),
        ("within a week", "within seven days"),
        ("after a month", "after 30 days"),
        ("two thirds", "66.7 %"),
        ("half", "50 %"),
        ("one in five", "20 %"),
        ("every two weeks", "fortnightly"),
        ("twice a day", "every 12 hours"),
        ("once a minute", "every 60 seconds"),
        ("once a year", "annually"),
        ("twice", "double"),
        ("8 pm", "20:00"),
        ("noon", "12:00"),
        ("5 feet 6 inches", "66 inches"),
    ],
)
def test_different_words_for_one_value_are_equal(one: str, other: str) -> None:
    assert relation(only(one), only(other)) == relation(only(other), only(one)) == "equal"


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("at least 3 km", "5 km", "equal"),
        ("at least 3 km", "2 km", "unequal"),
        ("up to 5 hours", "4 hours", "equal"),
        ("more than 300 fans", "300 fans", "unequal"),
        ("between 18 and 24 months", "20 months", "equal"),
        ("20 months", "between 18 and 24 months", "compatible"),
        ("about 100 km", "104 km", "equal"),
        ("some 3,412 people", "3,214 people", "compatible"),
        ("about 3,200 people", "3,214 people", "equal"),
        ("about 3,200 people", "3,900 people", "unequal"),
        ("3,214 people", "some 3,000 people", "compatible"),
        ("about half", "48 %", "equal"),
        ("nearly half", "48 %", "equal"),
        ("nearly half", "52 %", "compatible"),
        ("just under 91,000 people", "91,200 people", "compatible"),
        ("slightly over 400 people", "365 people", "compatible"),
        ("slightly over 400 people", "405 people", "equal"),
        ("almost 500 deaths", "547 deaths", "compatible"),
        ("around 1450", "1453", "equal"),
        ("around 1453", "1450", "compatible"),
        ("60 minutes or more", "2 hours", "equal"),
        ("over three years", "three years", "equal"),  # more than three, or during three
        ("over three years", "two years", "unequal"),
        ("1931", "1932", "unequal"),
        ("the 1930s", "1931", "equal"),
        ("the 16th century", "1530", "equal"),
        ("Q3", "August", "equal"),
        ("Q3", "October", "unequal"),
        ("the second prize", "the third prize", "unequal"),
        ("Monday", "Tuesday", "unequal"),
        ("5 km", "5 kg", None),
        ("100 SEK", "100 NOK", None),
        ("below −5 °C", "−10 °C", "equal"),
        ("below −5 °C", "−3 °C", "unequal"),
    ],
)
def test_intervals_contain_values(claim: str, evidence: str, expected: str | None) -> None:
    assert relation(only(claim), only(evidence)) == expected


@pytest.mark.parametrize(
    ("text", "dimensions"),
    [
        ("It opened on 3 May 1931.", ["month", "day", "year"]),
        ("It opened on September 11, 2010.", ["month", "day", "year"]),
        ("Emissions fell by 38 % between 2018 and 2024.", ["ratio", "year", "year"]),
        ("The rate dropped from 4.2 to 1.5.", ["count", "count"]),
        ("COVID-19, H5N1 and the A4 are names.", []),
        ("One of them may go; no one else can wait a second.", []),
        ("The firm offered 1250 jobs.", ["count"]),
    ],
)
def test_dates_years_and_names_are_told_apart(text: str, dimensions: list[str]) -> None:
    assert [quantity.dimension for quantity in quantities(text)] == dimensions


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Calls rose to 1,410 in 2025.", [("1,410", "count"), ("2025", "year")]),
        ("It was 2.5 in 2024.", [("2.5", "count"), ("2024", "year")]),
        ("It fell from 9 in 2023 to 8 in 2024.", [("9", "count"), ("2023", "year"), ("8", "count"), ("2024", "year")]),
        ("3.5 out of 10", [("3.5", "count"), ("10", "count")]),
        ("1 in 2000 births", [("1 in 2000", "ratio")]),
        ("It rose to\n1,310.", [("1,310", "count")]),
        ("It cost €8.7\nmillion.", [("€8.7 million", "EUR")]),
        ("visitors 10\n250 staff", [("10", "count"), ("250", "count")]),
        ("on 13.05.2021", [("13.05.2021", "month"), ("13.05.2021", "day"), ("13.05.2021", "year")]),
        ("on 05/13/2021", [("05/13/2021", "month"), ("05/13/2021", "day"), ("05/13/2021", "year")]),
        ("on 3/5/2021", [("3/5/2021", "year")]),  # in March or May
    ],
)
def test_a_figure_keeps_its_value_beside_a_year_and_at_the_end_of_a_line(
    text: str, values: list[tuple[str, str]]
) -> None:
    assert [(each.text, each.dimension) for each in quantities(text)] == values


def test_a_quantity_is_a_span_of_the_text() -> None:
    text = "On twenty-one days in all, nearly two hundred people paid £45 or more."
    assert all(text[q.start : q.end].strip() == q.text for q in quantities(text))
    assert [q.text for q in quantities(text)] == ["twenty-one days", "nearly two hundred", "£45 or more"]


@settings(max_examples=20)
@given(
    st.integers(1, 9999),
    st.sampled_from([("km", "m", 1000), ("hours", "minutes", 60), ("kg", "g", 1000), ("years", "months", 12)]),
)
def test_conversion_holds_in_both_directions(size: int, units: tuple[str, str, int]) -> None:
    large, small, factor = units
    one, other = only(f"{size} {large}"), only(f"{size * factor:,} {small}")
    assert relation(one, other) == relation(other, one) == "equal"
    assert relation(one, only(f"{size * factor * 2} {small}")) == "unequal"


@settings(max_examples=20)
@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    assert all(0 <= quantity.start <= quantity.end <= len(text) for quantity in quantities(text))
