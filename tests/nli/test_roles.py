"""A text that relates two things the other way round supports no claim, and one that inverts twice refutes none."""

from __future__ import annotations

import pytest

from redargue.claims import FEVER, Meaning
from redargue.evidence import Passage
from redargue.nli.alignment import parsed
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.consistency import check_consistency
from redargue.nli.roles import denies_opposite, exchanges_phrases, is_of_somebody_else, limits_another, restated, turned

TURNED = [
    ("Redwick lost to Stanmoor.", "Redwick beat Stanmoor 2-1 on Saturday."),
    ("Redwick was beaten by Stanmoor.", "Redwick beat Stanmoor 2-1 on Saturday."),
    ("Morvik bought Halden.", "Morvik was bought by Halden in 2019."),
    ("Birgit is taller than Anna.", "Anna is taller than Birgit."),
    ("Anders Holk was a pupil of Marta Veil.", "Anders Holk was the teacher of Marta Veil."),
    ("Norrland is the parent company of Lindqvist.", "Norrland is a subsidiary of Lindqvist."),
    ("The library opened before the museum.", "The museum opened before the library."),
    ("Torvia exports grain to Selmark.", "Torvia imports grain from Selmark."),
    ("Peter is Emil's nephew.", "Peter is Emil's uncle."),
    ("Tom gave Anna the keys.", "Tom got the keys from Anna."),
    ("Owners were more in favour of the park than renters.", "Renters were more in favour than owners."),
]
RESTATED = [
    ("Stanmoor lost to Redwick.", "Redwick beat Stanmoor 2-1 on Saturday."),
    ("Birgit is shorter than Anna.", "Anna is taller than Birgit."),
    ("The tower is shorter than the church.", "The church is taller than the tower."),
    ("The library opened before the museum.", "The museum opened after the library."),
    ("Marlin sold boats to Kestrel.", "Kestrel bought its boats from Marlin."),
    ("Norrland is a subsidiary of Lindqvist.", "Lindqvist is the parent company of Norrland."),
    ("Ice is turned into water by heat.", "Heat turns ice into water."),
    ("Coffee has more caffeine than tea.", "It contains less caffeine than coffee."),
    ("All patients survived.", "None of the patients died."),
    ("The path is safe.", "The path is not dangerous."),
    ("No exit was closed.", "Every exit was open."),
]
NEITHER = [
    ("Redwick lost to Stanmoor.", "Redwick beat Brandt and lost to Stanmoor."),
    ("The firm bought 12 trucks.", "The firm sold 30 trucks and bought 12."),
    ("The museum found the fossil.", "The fossil was found by a farmer and later bought by a museum."),
    ("The judge has to state written reasons for a fine.", "A fine must be explained in writing by the judge."),
    ("Sixty flights were diverted to Vaal.", "214 flights have been cancelled, and 60 more diverted to Vaal."),
    ("Kai taught Per.", "Ulla taught Kai, and Kai taught Per."),
    ("The museum opened after the library.", "The library opened in 1990, the museum in 1995."),
    ("The capital of Torvia is Selm.", "Selm is the capital of Torvia."),
    ("In summer the bees produce honey.", "Bees produce honey in summer."),
    ("Stress increases with noise.", "Noise increases stress."),
    ("Olm differs from Lisse.", "Lisse differs from Olm in size."),
    ("Redwick drew with Stanmoor.", "Stanmoor drew with Redwick."),
    ("Anna married Bert.", "Bert married Anna in 1990."),
    ("Redwick was beaten by Stanmoor.", "Redwick did not beat Stanmoor."),
    ("Vessby has more shops than Torrum.", "Vessby has fewer inhabitants but more shops than Torrum."),
    ("The water is warm.", "The water is fresh and not salty."),
    ("Marta visited Jonas.", "Jonas visited Marta in spring and Marta visited Jonas in autumn."),
]


@pytest.mark.parametrize(
    ("claim", "text", "denies"),
    [
        ("No one survived.", "No one died.", True),
        ("The gate is never open.", "The gate is never closed.", True),
        ("The shop is open.", "The shop is closed.", False),
        ("The water is warm.", "The water is cold and not clean.", False),
    ],
)
def test_the_opposite_of_what_is_denied_is_not_denied(claim: str, text: str, *, denies: bool) -> None:
    assert denies_opposite(parsed(claim), parsed(text)) is denies
    assert not restated(parsed(claim), parsed(text))


@pytest.mark.parametrize(("claim", "text"), TURNED)
def test_a_text_that_relates_two_things_the_other_way_round_is_turned(claim: str, text: str) -> None:
    assert turned(parsed(claim), parsed(text))
    assert not restated(parsed(claim), parsed(text))
    assert check_consistency(claim, [text]).verdict == "contradicted"


@pytest.mark.parametrize(("claim", "text"), RESTATED)
def test_two_inversions_say_the_same(claim: str, text: str) -> None:
    assert restated(parsed(claim), parsed(text))
    assert not turned(parsed(claim), parsed(text))


@pytest.mark.parametrize(("claim", "text"), NEITHER)
def test_other_orders_of_words_turn_nothing_round(claim: str, text: str) -> None:
    assert not turned(parsed(claim), parsed(text))
    assert not restated(parsed(claim), parsed(text))
    assert check_consistency(claim, [text]).verdict != "contradicted"


@pytest.mark.parametrize(
    ("claim", "text", "other"),
    [
        ("The president visited Kyiv.", "The vice president visited Kyiv in March.", True),
        ("The director signed it.", "The acting director signed it.", True),
        ("The mayor was arrested.", "The mayor's brother was arrested on Monday.", True),
        ("The sheriff was arrested.", "The man who shot the sheriff was arrested.", True),
        ("Acme went bankrupt.", "The company that bought Acme went bankrupt.", True),
        ("The director resigned.", "Apart from the director, all employees resigned.", True),
        ("The seller pays the fee.", "The buyer pays the fee.", True),
        ("The lessee gives notice.", "The lessor must give notice in writing.", True),
        ("The valve failed in April.", "Either the pump failed in March or the valve failed in April.", True),
        ("The valve closes.", "The valve closes only if the pump fails.", True),
        ("The acting director signed it.", "The acting director signed it.", False),
        ("The president visited Kyiv.", "The vice president and the president visited Kyiv.", False),
        ("Mary is Peter's cousin.", "Peter is Mary's cousin.", False),
        ("The judge permits it.", "It is used with the judge's permission.", False),
        ("Ms Holm paid the fee.", "He said that Ms Holm paid the fee.", False),
        ("Either the pump or the valve failed.", "Either the pump failed or the valve failed.", False),
        ("The valve closes if the pump fails.", "The valve closes only if the pump fails.", False),
        ("The valve closes.", "The valve closes at noon. It opens only if the pump fails.", False),
        ("Some drank water.", "They drank either juice or water.", False),
    ],
)
def test_what_is_said_of_somebody_else_or_on_a_condition_is_told_apart(claim: str, text: str, *, other: bool) -> None:
    assert is_of_somebody_else(parsed(claim), parsed(text)) is other


@pytest.mark.parametrize(
    ("claim", "text", "otherwise"),
    [
        ("The court ruled for the tenant against the landlord.", "It ruled for the landlord against the tenant.", True),
        ("The striker was sold to Rovers by United.", "The striker was sold to United by Rovers.", True),
        ("She moved from Paris to Rome.", "She moved to Rome from Paris.", False),
        ("From Paris to London it is 344 km.", "From London to Paris it is 344 km.", False),
        ("Only residents may park in Mill Lane.", "Residents may park only in Mill Lane.", True),
        ("Only members may vote.", "The vote is open only to members.", False),
        ("It opens only on Sundays.", "It only opens on Sundays.", False),
    ],
)
def test_exchanged_phrases_and_another_limit_are_told_apart(claim: str, text: str, *, otherwise: bool) -> None:
    ours, theirs = parsed(claim), parsed(text)
    assert (exchanges_phrases(ours, theirs) or limits_another(ours, theirs)) is otherwise


def test_another_value_is_not_a_restatement() -> None:
    assert not restated(parsed("Morvik was bought by Halden in 2015."), parsed("Halden bought Morvik in 2019."))


def test_the_reader_takes_neither_side_by_the_order_of_words_alone() -> None:
    reader = EmbeddedBackend(threads=1, careful=False).reader
    for cases, wrong in ((TURNED, Meaning.SUPPORTED), (RESTATED, Meaning.REFUTED)):
        for claim, text in cases:
            label = reader.read(claim, (Passage(text=text),)).label(FEVER)
            assert FEVER.meaning(label or "") is not wrong, claim


def test_another_sentence_that_is_turned_takes_no_support_away() -> None:
    passage = Passage(text="Redwick beat Stanmoor in March. In May, Redwick lost to Stanmoor by two goals.")
    reading = EmbeddedBackend(threads=1, careful=False).reader.read("Redwick lost to Stanmoor in May.", (passage,))
    assert FEVER.meaning(reading.label(FEVER) or "") is Meaning.SUPPORTED
