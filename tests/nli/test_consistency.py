"""What a comparison of a claim with sentences, word by word, finds without a model."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redargue import words
from redargue.nli.consistency import MOST_NUMBERS, check_consistency, only_framed, only_planned, withdrawn
from redargue.nli.lexical import FEATURE_NAMES, features

WORDS = st.sampled_from(
    "the river museum opened closed not three 1931 5 km rose fell only before after Anna beat Ben".split()
)


def feature(name: str, claim: str, sentence: str) -> float:
    return features(claim, sentence)[FEATURE_NAMES.index(name)]


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The museum is closed on Mondays.", "The museum is closed on Mondays."),
        ("the museum’s café is closed", "The museum's café is closed."),
        ("Emissions fell by 38% between 2018 and 2024.", "Emissions fell by 38 % between 2018 and 2024."),
        ("The tower – 31 m tall – was sold.", "The tower - 31 m tall - was sold"),
        ("The lamp is green.", "However, the lamp is green."),
        ("The lamp is green.", "The lamp is green; the door is red."),
        ("The dose did not differ between groups.", "The dose did not differ between groups (P = 0.41)."),
        ("The dose did not differ between groups.", "Conclusions: The dose did not differ between groups [3]."),
        ("The lamp is green.", "A: The lamp is green.[^2]"),
        ("The lamp is green.", "**The lamp.** The lamp is green¹."),
        ("Must not be installed in explosive atmospheres.", "must not be installed in explosive atmospheres"),
    ],
)
def test_a_repeated_sentence_is_supported(claim: str, sentence: str) -> None:
    assert check_consistency(claim, ["It is old.", sentence])[:2] == ("supported", 1)


@pytest.mark.parametrize(
    "sentences",
    [
        ["It is not true that the bridge is safe."],
        ["The mayor denied that the bridge is safe."],
        ["If the bridge is safe, it will open."],
        ["The bridge is safe if the river is low."],
        ["The bridge is safe, unless the river is high."],
        ["Is it so that the bridge is safe?"],
        ["The bridge is safe?"],
        ['"The bridge is safe", he said.'],
        ["“The bridge is safe.”", "So said the mayor."],
        ["The bridge is safe.", "That is not true."],
        ["The following claim is false:", "The bridge is safe."],
        ["The bridge is safe, but only in summer."],
        ["The bridge is safe; except in winter."],
        ["**Myth.** The bridge is safe."],
        ["Neither they nor we know whether the bridge is safe."],
    ],
)
def test_words_in_another_frame_do_not_support(sentences: list[str]) -> None:
    assert check_consistency("The bridge is safe.", sentences).verdict != "supported"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [("Inflation was 3.", "Inflation was 3.4 percent."), ("The tower has 12", "The tower has 12 – 15 floors.")],
)
def test_a_number_that_continues_is_not_repeated(claim: str, sentence: str) -> None:
    assert check_consistency(claim, [sentence]).verdict != "supported"


@pytest.mark.parametrize(
    ("claim", "text", "planned"),
    [
        ("Hall 3 reopened in April.", "Hall 3 is to reopen in April.", True),
        ("The fee was raised to 2 euros.", "She proposed raising the fee from 1 euro to 2 euros.", True),
        ("The bridge was built in 1998.", "The bridge will be built in 1998.", True),
        ("He won the cup.", "He may win the cup.", True),
        ("Hall 3 was expected to reopen.", "Hall 3 is expected to reopen in April.", False),
        ("The bridge was closed in 1998.", "It was to be closed in 1997, and was closed in 1998.", False),
        ("He became the first president.", "He was to become the first president.", False),
    ],
)
def test_what_is_only_planned_is_told_from_what_was_done(claim: str, text: str, planned: bool) -> None:
    assert only_planned(claim, text) is planned


@pytest.mark.parametrize(
    ("claim", "sentence", "kind", "text"),
    [
        ("Everybody over 60 was dismissed.", "Nobody over 60 was dismissed.", "quantifier", None),
        ("Aune succeeded Moe as chief on 1 May.", "Moe succeeded Aune as chief on 1 May.", "roles", None),
        ("It expects between NOK 1.4 and 1.6 million.", "It expects between NOK 1.4 and 1.6 billion.", "number", None),
        ("The bridge opened in 1931.", "The bridge opened in 1932.", "number", "claim: 1931; evidence: 1932"),
        (
            "Emissions fell by 83 % between 2018 and 2024.",
            "Emissions fell by 38 % between 2018 and 2024.",
            "number",
            "claim: 83 %; evidence: 38 %",
        ),
        (
            "The guarantee lasts 3 years.",
            "The guarantee lasts 24 months.",
            "number",
            "claim: 3 years; evidence: 24 months",
        ),
        (
            "The museum is open on Mondays.",
            "The museum is closed on Mondays.",
            "opposite",
            "claim: open; evidence: closed",
        ),
        (
            "The pump must be installed in explosive atmospheres.",
            "The pump must not be installed in explosive atmospheres.",
            "negation",
            "claim: no negation; evidence: not",
        ),
        (
            "The pump may be installed in explosive atmospheres.",
            "The pump must not be installed in explosive atmospheres.",
            "modality",
            "claim: may; evidence: must",
        ),
        ("The patients were unaffected.", "The patients were affected.", "opposite", None),
        ("All members of the board voted.", "Most members of the board voted.", "quantifier", None),
        ("Dover beat Quill in the final.", "Quill beat Dover in the final.", "roles", None),
        ("Dover spoke before Quill.", "Quill spoke before Dover.", "time", None),
        (
            "Costs were higher for trams than for buses.",
            "Costs were higher for buses than for trams.",
            "comparison",
            None,
        ),
    ],
)
def test_one_difference_is_named(claim: str, sentence: str, kind: str, text: str | None) -> None:
    found = check_consistency(claim, ["It was a quiet year.", sentence])
    assert (found.verdict, found.sentence) == ("contradicted", 1)
    (difference,) = found.differences
    assert difference.kind == kind
    assert text is None or words.difference(difference) == text


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The guarantee lasts 36 months.", "The guarantee lasts 3 years."),
        ("About 1,500,000 people live there.", "Some 1.5 million people live there."),
        ("The museum is not closed on Mondays.", "The museum is open on Mondays."),
        ("The river froze in 1931.", "The museum burned down in 1932."),
        ("Bread and milk are sold.", "Milk and bread are sold."),
        ("Quill was beaten by Dover.", "Dover beat Quill."),
        ("The company copied the lens.", "The company did not admit that it had copied the lens."),
        ("In most cases bleach is not necessary.", "Bleach is not necessary in most cases."),
        ("No departures were cancelled by strikes.", "0 departures were cancelled by strikes."),
        ("No departures were cancelled by strikes.", "None of the departures were cancelled by strikes."),
        ("No departures were cancelled by strikes.", "Route: Tarn; Departures cancelled by strikes: 0."),
    ],
)
def test_what_agrees_or_is_about_something_else_is_not_contradicted(claim: str, sentence: str) -> None:
    assert check_consistency(claim, [sentence]).verdict != "contradicted"


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("The ECB raised rates by 25 basis points to 4%.", "The ECB raised rates to 4%."),
        ("The firm cut costs by 10% in 2020.", "The firm cut costs in 2020."),
        ("We send invoices by email to customers.", "We send invoices to customers."),
        ("The storm injured more than 100 people in Ohio.", "In Ohio, more than 100 people were injured by the storm."),
        ("Acme sold more than 500 trucks to Bond.", "Bond bought more than 500 trucks from Acme."),
        ("Lead is denser than iron, and iron is denser than aluminium.", "Iron is denser than aluminium."),
        ("Lyon is larger than Nice and smaller than Paris.", "Paris is larger than Lyon."),
        ("The museum received the painting in 1990.", "The painting was given to the museum in 1990."),
        ("Disney acquired Pixar in 2006.", "Pixar was sold to Disney in 2006."),
        ("Norway signed an agreement with Chad.", "Chad signed an agreement with Norway."),
        ("Bill Gates co-founded Microsoft with Paul Allen.", "Paul Allen co-founded Microsoft with Bill Gates."),
        ("Ghana lies next to Togo.", "Togo lies next to Ghana."),
        ("Ulm is 20 km from Senden.", "Senden is 20 km from Ulm."),
        ("Supported languages are English, French, German.", "Supported languages are German, French, English."),
        (
            "Revenue rose 12% to $4.48 billion in 2022, from $4.0 billion in 2021.",
            "Revenue rose from $4.0 billion in 2021 to $4.48 billion in 2022.",
        ),
        ("The fund raised $2B in 2020.", "The fund raised $2 billion in 2020."),
        ("The site has 5M users.", "The site has 5 million users."),
        ("India has 1.2 lakh such schools.", "India has 1,20,000 such schools."),
        ("The castle was built in 1452.", "The castle was built around 1450."),
        ("The castle was built in 1452.", "The castle was built in the 1400s."),
        ("The laptop has 8 GB of RAM.", "The laptop has 8192 MB of RAM."),
        ("Returns are not accepted after 14 days.", "Returns are not accepted after 20 days."),
        ("Cars registered after 2010 are exempt.", "Cars registered after 2015 are exempt."),
        ("The bridge cannot carry 20 t.", "The bridge cannot carry 30 t."),
        ("Platform No. 4 is closed on Sundays.", "Platform 4 is closed on Sundays."),
        ("Drivers must not use phones.", "Drivers may not use phones."),
        ("Drivers must not use phones.", "Drivers cannot use phones."),
        ("The plan is far from complete.", "The plan is not complete."),
        ("Section 3B applies to tenants.", "Section 3 applies to tenants."),
        ("The family lives at 24B Baker Street.", "The family lives at 24 Baker Street."),
        ("Form 10K is due in May.", "Form 10 is due in May."),
        ("It is sold in 1 kg and 500 g bags.", "It is sold in 1 kg bags."),
        ("It is sold in 1 kg, 500 g and 250 g bags.", "It is sold in 1 kg bags."),
        ("The hall was almost full.", "The hall was not full."),
        ("The bill has yet to be passed.", "The bill has not been passed."),
        ("All employees must wear helmets.", "Some employees must wear helmets."),
    ],
)
def test_the_same_in_other_words_is_not_contradicted(sentence: str, claim: str) -> None:
    found = check_consistency(claim, [sentence])
    assert found.verdict != "contradicted", found.differences


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        (
            "Swimmers must not enter the pool until four hours after it.",
            "Swimmers must not enter the pool until six hours after it.",
        ),
        ("The kettle switches off after 4 minutes of boiling.", "The kettle switches off after 14 minutes of boiling."),
        ("The fund raised $2B in 2020.", "The fund raised $3 billion in 2020."),
        ("The castle was built in 1452.", "The castle was built around 1550."),
        ("The laptop has 8 GB of RAM.", "The laptop has 16 GB of RAM."),
        ("Lead is denser than iron.", "Iron is denser than lead."),
        ("Some employees must wear helmets.", "All employees must wear helmets."),
        ("Visitors may enter the lab.", "Visitors may not enter the lab."),
        ("Dogs are not allowed and cats must stay outside.", "Dogs are not allowed and cats may stay outside."),
        ("Visitors must pay but may not smoke.", "Visitors may pay but may not smoke."),
        ("16 year olds may vote.", "No 16 year olds may vote."),
    ],
)
def test_what_differs_is_still_contradicted(sentence: str, claim: str) -> None:
    assert check_consistency(claim, [sentence]).verdict == "contradicted"


@pytest.mark.parametrize(
    ("claim", "text", "framed"),
    [
        ("The earth is flat.", "The earth is flat, which is a myth.", True),
        ("The earth is flat.", "The earth is flat; this is false.", True),
        ("The mayor resigned in May.", "The mayor resigned in May, but that was later denied.", True),
        ("The drug cures cancer.", "The drug cures cancer – in mice.", True),
        ("Bats are blind.", "Common misconceptions are: the earth is flat; bats are blind.", True),
        ("Bulls hate red.", "Two statements are incorrect: bats are blind; bulls hate red.", True),
        ("The pump failed.", "What went wrong: the pump failed.", False),
        ("The mayor resigned in May.", "The mayor resigned in May, and the charge was denied.", False),
        ("He applied for a visa.", "He applied for a visa, which was denied.", False),
        ("He published it in 2010.", "He published it in 2010, which was later retracted.", False),
    ],
)
def test_what_its_text_calls_false_or_limits_is_no_copy(claim: str, text: str, *, framed: bool) -> None:
    assert only_framed(claim, text) is framed
    if framed:
        assert check_consistency(claim, [text]).verdict != "supported"


@pytest.mark.parametrize(
    ("sentences", "places"),
    [
        (["The vaccine contains chips.", "This is nonsense.", "It was tested."], {0, 1}),
        (["All birds can fly.", "(False)"], {0, 1}),
        (["The following statements are wrong.", "The earth is flat.", "Bats are blind."], {1, 2}),
        (["The application was filed in May.", "It was denied."], set()),
        (["It is not true that the factory will close.", "It stays open."], set()),
        (["Cars block the gate.", "It is wrong to park here."], set()),
        (["If any of the following is incorrect, tell us.", "The premium is 40 euros."], set()),
        (["None of the following are false.", "Bats fly."], set()),
        (["The following is wrong, is it not?", "Bats fly."], set()),
        (["Piltdown Man was announced in 1912.", "It was a hoax."], set()),
        (["The race began at noon.", "It was a false start."], set()),
        (["The claim for damages was filed in May.", "The claim was denied."], set()),
        (["Rates are low.", "That is not the case in France."], set()),
    ],
)
def test_sentences_that_their_text_calls_false_are_left_out(sentences: list[str], places: set[int]) -> None:
    assert withdrawn(tuple(sentences)) == places


@pytest.mark.parametrize(
    ("claim", "sentences"),
    [
        ("The earth is round.", ["The earth is flat.", "This is false.", "The earth is round."]),
        ("Entry is free.", ["In fact, the doors open at noon, and entry is free."]),
        ("Entry is free.", ["For example, the doors open at noon, and entry is free."]),
        ("The drug is safe.", ["The drug is safe; it contains vitamin C: 20 mg."]),
    ],
)
def test_what_a_text_says_of_its_own_is_a_copy(claim: str, sentences: list[str]) -> None:
    assert check_consistency(claim, sentences).verdict == "supported"


@pytest.mark.parametrize("opening", ["In the film", "Under the plan", "Without insurance", "On Sundays"])
def test_what_holds_in_a_circumstance_is_no_copy(opening: str) -> None:
    text = f"{opening}, the doors open at noon, and entry is free."
    assert check_consistency("Entry is free.", [text]).verdict == "nothing"


def test_a_sentence_that_says_the_same_outweighs_one_that_differs() -> None:
    sentences = ["The tower was 31 m tall in 1900.", "After 1950 the tower was 45 metres tall."]
    assert check_consistency("The tower was 45 m tall.", sentences).verdict == "nothing"


def test_values_in_another_order_do_not_differ() -> None:
    row = "station: Bridge Road; year: 2025; passengers: 34508; staff: 50; opened: 1850."
    assert check_consistency("Bridge Road had 34,508 passengers in 2025.", [row]).differences == ()


def test_the_title_names_what_the_sentence_calls_it() -> None:
    found = check_consistency(
        "The Merriden lighthouse has 124 steps.", ["It has 142 steps."], "The Merriden lighthouse"
    )
    assert found.verdict == "contradicted"


def test_features_separate_agreement_from_contradiction() -> None:
    assert feature("quantities_equal", "It takes 36 months.", "It takes 3 years.") == 1
    assert feature("quantities_unequal", "It takes 36 months.", "It takes 2 years.") == 1
    assert feature("quantities_missing", "It costs £45.", "It takes 2 years.") == 1
    assert feature("antonyms", "The museum is open.", "The museum is closed.") == 1
    assert feature("polarity", "The museum is not open.", "The museum is closed.") == 0
    assert feature("negation_difference", "She never came.", "She came.") == 1
    assert feature("obligation_against_permission", "You must pay.", "You may pay.") == 1
    assert feature("exclusive_gain", "Only members may enter.", "Members may enter.") == 1
    assert feature("temporal_reversed", "He left before the war.", "He left after the war.") == 1
    assert feature("order_reversed", "Dover beat Quill.", "Quill beat Dover.") == 1


@settings(max_examples=20)
@given(st.lists(WORDS, min_size=1, max_size=12))
def test_a_sentence_repeats_itself_and_contradicts_nothing_in_itself(words: list[str]) -> None:
    sentence = " ".join(words) + "."
    assert check_consistency(sentence, [sentence])[:2] == ("supported", 0)
    assert feature("containment", sentence, sentence) == feature("verbatim", sentence, sentence) == 1
    assert feature("quantities_unequal", sentence, sentence) == feature("polarity", sentence, sentence) == 0


@settings(max_examples=20)
@given(st.text(max_size=60), st.text(max_size=120))
def test_features_of_any_text_are_finite(claim: str, sentence: str) -> None:
    values = features(claim, sentence)
    assert len(values) == len(FEATURE_NAMES)
    assert all(map(math.isfinite, values))


def test_a_text_of_more_numbers_than_are_compared_is_read_by_the_models_alone() -> None:
    numbers = "9 " * (MOST_NUMBERS + 1)
    assert check_consistency(numbers, ["The shop opens at 9."] * 20).verdict == "nothing"
    assert check_consistency("The shop opens at 9.", [numbers] * 20).verdict == "nothing"


def test_many_sentences_that_are_called_false_and_many_comparisons_are_read_in_little_work() -> None:
    assert len(withdrawn(("This is false.",) * 20_000)) == 20_000
    follows = withdrawn(("The following statements are wrong.", *("It is so.",) * 20_000))
    assert follows == set(range(1, 9))  # a list, and not the rest of a document
    assert check_consistency("A is larger than B.", ["than, and " * 140]).verdict == "nothing"
