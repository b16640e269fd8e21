"""A claim's numbers, dates and measures in the terms of the evidence, as the models read them."""

from __future__ import annotations

import pytest

from redargue.nli.alignment import gives_another_value, in_terms_of, parsed
from support.growth import grows_with_the_square


@pytest.mark.parametrize(
    ("evidence", "claim", "read"),
    [
        ("The clause continues for two years.", "The clause lasts 24 months.", "The clause lasts two years."),
        ("The clause continues for two years.", "The clause lasts 12 months.", "The clause lasts 1 year."),
        ("It covers at least seven days.", "It covers at least one week.", "It covers at least seven days."),
        ("It is dry in 2 h.", "It is dry in 90 minutes.", "It is dry in 1.5 h."),
        ("Kestrel paid $1.2 billion.", "The price is 1,200 million dollars.", "The price is $1.2 billion."),
        ("The bag weighs 2 kg.", "The bag weighs 500 grams.", "The bag weighs 0.5 kg."),
        ("Stop below 95 Ml.", "Stop below 140 million litres.", "Stop below 140 Ml."),
    ],
)
def test_measures_in_other_units_are_read_in_those_of_the_evidence(evidence: str, claim: str, read: str) -> None:
    assert in_terms_of(evidence, claim) == read


@pytest.mark.parametrize(
    ("evidence", "claim", "read"),
    [
        ("It has twenty-seven rooms.", "It has 27 rooms.", "It has twenty-seven rooms."),
        ("It is 86 metres long.", "It is eighty-six metres long.", "It is 86 metres long."),
        ("At least one false alarm.", "One had at least 1 false alarm.", "One had at least one false alarm."),
        ("It opens at 9 am.", "It opens at 9:00.", "It opens at 9 am."),
        ("A quarter failed.", "One in four failed.", "A quarter failed."),
        ("It landed on 20 July 1969.", "It landed on 1969-07-20.", "It landed on 20 July 1969."),
        ("The pill is taken twice a day.", "The pill is taken every 12 hours.", "The pill is taken twice a day."),
    ],
)
def test_equal_values_are_read_in_the_words_or_digits_of_the_evidence(evidence: str, claim: str, read: str) -> None:
    assert in_terms_of(evidence, claim) == read


@pytest.mark.parametrize(
    ("evidence", "claim", "read"),
    [
        ("Exactly 48 people died.", "More than 45 people died.", "48 people died."),
        ("The pump weighs 14.5 kg.", "The pump weighs about 15 kg.", "The pump weighs 14.5 kg."),
        ("It was built in 1452.", "It was built around 1450.", "It was built in 1452."),
        ("Employees get 25 days off.", "Employees get more than 20 days off.", "Employees get 25 days off."),
        ("It cost £212 million.", "The second line cost more than £200 million.", "The second line cost £212 million."),
        ("8% of them felt dizzy.", "Fewer than one in ten of them felt dizzy.", "8% of them felt dizzy."),
        ("It is 604 metres long.", "It is a little over 600 m long.", "It is 604 metres long."),
        ("The dive reached 291 m.", "The dive fell just short of 300 m.", "The dive fell 291 m."),
    ],
)
def test_a_bound_or_a_round_number_is_read_as_the_only_value_that_implies_it(
    evidence: str, claim: str, read: str
) -> None:
    assert in_terms_of(evidence, claim) == read


NTA = "Northern Transit Authority"


@pytest.mark.parametrize(
    ("document", "evidence", "claim", "read"),
    [
        (f"The {NTA} (NTA) ran it.", "The NTA left.", f"The {NTA} left.", "The NTA left."),
        (f"NTA ({NTA}) ran it.", f"The {NTA} left.", "The NTA left.", f"The {NTA} left."),
        ("The Bank of the North (BN).", "The Bank of the North left.", "BN left.", "Bank of the North left."),
        (f"The {NTA} (NTA) ran it.", "The NTA left.", "The Northern Ferry left.", "The Northern Ferry left."),
        (f"{NTA} (Leeds) ran it.", "Leeds left.", f"{NTA} left.", f"{NTA} left."),
    ],
)
def test_an_abbreviation_is_read_as_the_evidence_has_it(document: str, evidence: str, claim: str, read: str) -> None:
    assert in_terms_of(evidence, claim, document) == read


@pytest.mark.parametrize(
    ("claim", "sentence", "other"),
    [
        ("More than half of the crop was lost.", "Traders say that 30% of the crop was lost.", True),
        ("A third of the crop was lost.", "Traders say that 30% of the crop and a third of the tea was lost.", False),
        ("More than half of the crop was lost.", "Traders say that most of the crop was lost.", False),
        ("Just under 91,000 people live in Tarn.", "Tarn has 91,200 inhabitants.", True),
        ("Some 3,412 people came.", "On the first day 3,214 people came.", True),
        ("Some 3,400 people came.", "On the first day 3,412 people came, on the second 3,300.", False),
        ("The hall seats about 2,500 people.", "The hall seats 900 people.", False),
    ],
)
def test_a_sentence_with_another_value_does_not_support_a_claim(claim: str, sentence: str, *, other: bool) -> None:
    assert gives_another_value(parsed(claim), parsed(sentence)) is other


@pytest.mark.parametrize("unit", ["Aa ", "A-", "AB (", "Aa Bb (", "a of "])
def test_abbreviations_are_found_in_time_that_grows_with_the_length(unit: str) -> None:
    assert not grows_with_the_square(lambda text: in_terms_of("It is so.", "It is 3.", text), unit * 40_000)


@pytest.mark.parametrize(
    ("evidence", "claim"),
    [
        ("The clause continues for two years.", "The clause lasts three years."),  # one unit already
        ("It took 3 days, and 2 hours more.", "It took 90 minutes."),  # two units: which one is meant is not known
        ("It covers up to seven days.", "It covers at least one week."),
        ("It costs 5 dollars.", "It weighs 5 kg."),
        ("Nothing is measured here.", "It lasts 24 months."),
        ("The ride takes 55 minutes.", "It ends a gap of 58 years."),
        ("Rooms 4 and 9 are taken.", "The club has room four."),
        ("The walk is 2 miles long.", "The walks are 3 and 5 km long."),
        ("It opened in May.", "It opened on 12 May 2019."),
        ("About 27 came.", "Twenty-seven came."),
        ("1,005 came.", "1000 came."),
        ("48 were hurt, and 50 died.", "More than 45 were hit."),  # which one is meant is not known
        # of what limits a statement, a narrower value does not imply a wider one
        ("Children of 6 travel free.", "Children under 10 travel free."),
        ("It is free for children of 6.", "It is free for children under 10."),
        ("A bonus goes to staff with 9 years.", "A bonus goes to staff with over 5 years."),
        ("No bag of 20 kg is taken.", "No bag weighs more than 15 kg."),
        ("It runs for 8 hours.", "It runs for up to 10 hours."),
    ],
)
def test_other_claims_are_read_as_they_are(evidence: str, claim: str) -> None:
    assert in_terms_of(evidence, claim) == claim
