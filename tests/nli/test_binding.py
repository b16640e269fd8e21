"""Values of a claim and whose they are in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redargue import words
from redargue.claims import FEVER, Meaning
from redargue.evidence import Passage
from redargue.nli.alignment import counts_something_else, parsed
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.binding import bind, misplaced
from redargue.nli.consistency import check_consistency
from redargue.nli.facts import rows_of_others
from support.growth import grows_with_the_square

HOURS = "The library opens at 9 on weekdays and at 11 on Sundays."
PLANTS = "The north plant employs 210 and the south plant 340."
ELECTED = "Smith was elected in 1998 and Jones in 2004."
STORAGE = "Deleted files are kept for 30 days, in Business for 180 days."
TARIFFS = "Households pay 31 cents by day and 19 cents at night."
GROWTH = "Aldane and Westmere grew by 4 % and 9 %, respectively."
PUMPS = "Pump | Flow (l/min) | Power (W)\nA20 | 20 | 310\nA35 | 35 | 480\nA60 | 60 | 900"
PORTS = "Container traffic reached 3.2 million units in Rotholm, 2.1 million in Sandvik and 0.8 million in Eide."
DOSES = "The dose is 250 mg for adults and 125 mg for children under 12."
TRAINS = "The night train leaves at 22:10; the day train leaves at 8:05."
PARCELS = "Parcels up to 2 kg cost 5 euros inland and 14 euros abroad."
FERRIES = "On Mondays the ferry sails at 7.30, on Fridays at 9."
SCHOOLS = "There are 14 schools in Belham and 22 in Corford."
PATIENTS = "A relapse was seen in 31 patients taking the drug and in 54 taking the placebo."
BRIDGES = "The stone bridge was finished in 1874, whereas the steel bridge was finished in 1931."
HUTS = "The lower hut has 60 beds and the upper hut 18."
BREAD = "The loaf bakes for 45 minutes at 220 degrees and the rolls for 18 minutes at 200 degrees."
SALES = "Prices rose by 3 % in May and by 5 % in June."
LINES = "Line 3 runs every 8 minutes, line 7 every 15 minutes."
PRICES = "Tickets cost €8 for members (guests: €12), parking €3."
COURSES = "The summer course takes 6 weeks; in winter, it takes 9 weeks."
EXAMS = "The written exam lasts three hours, the oral exam 25 minutes."
POISON = "Adults may take 4 g a day, but children no more than 2 g."
SEATS = "Twelve seats went to the Greens and nine to the Liberals."
RIVERS = "While the Arno is 241 km long, the Tiber measures 405 km."
FEES = "You pay 12 euros a month on the Basic plan, and 29 euros on the Team plan."


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        (HOURS, "The library opens at 9 on Sundays."),
        (HOURS, "On weekdays, the library opens at 11."),
        (HOURS, "On Sundays you can enter the library from 9, when it opens."),
        (PLANTS, "The north plant employs 340."),
        (PLANTS, "The south plant employs 210 people."),
        (PLANTS, "The south plant employs 210 and the north plant 340."),
        (ELECTED, "Jones was elected in 1998."),
        (ELECTED, "In 2004, Smith was elected."),
        (TARIFFS, "At night, households pay 31 cents."),
        (TARIFFS, "Households pay 19 cents by day and 31 cents at night."),
        (GROWTH, "Aldane grew by 9 %."),
        (GROWTH, "Westmere grew by 4 %."),
        (PUMPS, "The A35 has a power of 900 W."),
        (PUMPS, "The A20 has a flow of 35 l/min."),
        (PORTS, "Container traffic in Sandvik reached 3.2 million units."),
        (PORTS, "In Eide, container traffic reached 2.1 million units."),
        (DOSES, "The dose for children under 12 is 250 mg."),
        (DOSES, "For adults, the dose is 125 mg."),
        (TRAINS, "The day train leaves at 22:10."),
        (TRAINS, "At 8:05 the night train leaves."),
        (PARCELS, "Inland, parcels up to 2 kg cost 14 euros."),
        (FERRIES, "The ferry sails at 9 on Mondays."),
        (FERRIES, "On Fridays the ferry sails at 7.30."),
        (SCHOOLS, "Corford has 14 schools."),
        (SCHOOLS, "In Belham there are 22 schools."),
        (PATIENTS, "A relapse was seen in 54 patients taking the drug."),
        (BRIDGES, "The steel bridge was finished in 1874."),
        (HUTS, "The upper hut has 60 beds and the lower hut 18."),
        (BREAD, "The rolls bake for 45 minutes."),
        (BREAD, "The loaf bakes at 200 degrees."),
        (SALES, "Prices rose by 5 % in May."),
        (SALES, "In June, prices rose by 3 %."),
        (LINES, "Line 7 runs every 8 minutes."),
        (COURSES, "In winter, the course takes 6 weeks."),
        (SEATS, "The Liberals won twelve seats."),
        (FEES, "The Team plan costs 12 euros a month."),
    ],
)
def test_a_value_of_another_holder_contradicts(sentence: str, claim: str) -> None:
    found = check_consistency(claim, ["It is a busy place.", sentence])
    assert (found.verdict, found.sentence) == ("contradicted", 1)
    assert "crossed" in {difference.kind for difference in found.differences}


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        (HOURS, "On Sundays the library opens at 11."),
        (HOURS, "The library opens at 9 on weekdays."),
        (PLANTS, "The southern plant has a staff of 340."),
        (PLANTS, "340 people work at the south plant, 210 at the north plant."),
        (ELECTED, "In 2004 Jones was elected."),
        (ELECTED, "Jones was elected in 2004, six years after Smith."),
        (ELECTED, "Smith retired in 2004."),
        (STORAGE, "In Business, deleted files are kept for 180 days."),
        (TARIFFS, "By day households are charged 31 cents."),
        (TARIFFS, "At night 19 cents are due, and 31 by day."),
        (GROWTH, "Westmere grew by 9 %, Aldane by 4 %."),
        (GROWTH, "Growth at Aldane came to 4 %."),
        (PUMPS, "The A35 has a power of 480 W."),
        (PUMPS, "At 900 W, the A60 needs more power than the A35."),
        (PORTS, "Sandvik handled 2.1 million units."),
        (PORTS, "With 0.8 million units, Eide comes last."),
        (DOSES, "Children under 12 take 125 mg, adults 250 mg."),
        (DOSES, "The dose for adults is twice the 125 mg for children."),
        (TRAINS, "At 8:05 the day train leaves."),
        (PARCELS, "Abroad, parcels up to 2 kg cost 14 euros."),
        (FERRIES, "The ferry sails at 9 on Fridays and at 7.30 on Mondays."),
        (SCHOOLS, "Corford has 22 schools, Belham 14."),
        (PATIENTS, "Of those taking the placebo, 54 had a relapse."),
        (BRIDGES, "The steel bridge dates from 1931, the stone bridge from 1874."),
        (HUTS, "18 beds are in the upper hut."),
        (BREAD, "At 200 degrees the rolls bake for 18 minutes."),
        (SALES, "In June, prices rose by 5 %."),
        (LINES, "There is a tram every 15 minutes on line 7."),
        (PRICES, "Members pay €8 for tickets."),
        (COURSES, "The winter course takes 9 weeks."),
        (EXAMS, "The oral exam takes 25 minutes."),
        (POISON, "Children may take up to 2 g a day."),
        (SEATS, "The Greens won twelve seats and the Liberals nine."),
        (RIVERS, "The Tiber is 405 km long."),
        (FEES, "On the Team plan, customers pay 29 euros each month."),
        ("Sales grew from 4 to 6 million.", "Sales grew to 6 million."),
        ("Sales grew from 4 million in 2019 to 6 million in 2023.", "Sales came to 6 million in 2023."),
        ("Ada, born in 1815, was a pupil of Mary, born in 1780.", "Mary was born in 1780."),
        ("At 5 kg, the Alto differs from the Brio at 7 kg.", "The Alto weighs 5 kg."),
        ("The shop does not open at 9 on Sundays but at 9 on Mondays and 11 on Fridays.", "It opens at 9 on Mondays."),
    ],
)
def test_a_value_of_the_same_holder_contradicts_nothing(sentence: str, claim: str) -> None:
    assert bind(parsed(claim), parsed(sentence)).finding != "crossed"
    assert check_consistency(claim, [sentence]).verdict != "contradicted"


def test_the_difference_names_both_pairs() -> None:
    (difference,) = bind(parsed("The library opens at 9 on Sundays."), parsed(HOURS)).differences
    assert words.difference(difference) == "claim: 9 on Sundays; evidence: 11 on Sundays"


def test_the_pair_that_a_sentence_gives_is_bound() -> None:
    assert bind(parsed("The library opens at 11 on Sundays."), parsed(HOURS)).finding == "bound"
    assert bind(parsed("The library is closed."), parsed(HOURS)).finding == "unknown"


def test_another_sentence_may_give_the_claims_pair() -> None:
    sentences = [HOURS, "In July it is 9 on Sundays, too."]
    assert check_consistency("The library opens at 9 on Sundays.", sentences).verdict != "contradicted"


ROWS = ("Pump: A20; Flow (l/min): 20; Power (W): 310.", "Pump: A35; Flow (l/min): 35; Power (W): 480.")


def test_rows_with_named_cells_are_one_table() -> None:
    found = check_consistency("The A35 has a power of 310 W.", ROWS)
    assert (found.verdict, found.sentence) == ("contradicted", 1)
    assert check_consistency("The A35 has a power of 480 W.", ROWS).verdict != "contradicted"


def test_a_table_of_another_kind_says_nothing() -> None:
    assert bind(parsed("The A35 weighs 310 kg."), parsed(PUMPS)).finding == "unknown"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The ferry carries 210 passengers.", "The ferry company employs 60 drivers."),
        ("Children were followed until age nine.", "Children were followed until age six."),
        ("The hall seats 2,500 people.", "The hall seats about 2,460 people."),
        ("The bridge cost 2,200 euros.", "The tower cost 1,100 euros, half as much as the bridge."),
        ("The pool closes at 7 p.m. in winter.", "In winter the pool closes at 7 p.m., in summer at 5.30 p.m."),
        ("All 20 members voted for the budget.", "The budget was put to the 20 members in May."),
    ],
)
def test_a_number_about_something_else_contradicts_nothing(claim: str, sentence: str) -> None:
    assert check_consistency(claim, [sentence]).verdict != "contradicted"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("All members voted for the budget.", "17 of the 20 members voted for the budget."),
        ("All the members voted for the budget.", "Seventeen of 20 members voted for the budget."),
        ("No member voted for the budget.", "17 of the 20 members voted for the budget."),
        ("Every flat has a balcony.", "Some flats have a balcony."),
        ("At least 300 fans came to the match.", "Up to 200 fans came to the match."),
    ],
)
def test_a_part_contradicts_the_whole(claim: str, sentence: str) -> None:
    assert check_consistency(claim, [sentence]).verdict == "contradicted"


BOARD = "Smith was elected chair and Jones treasurer."
MEDALS = "Ada Abel took silver; Bruno Brandt took gold."
DEGREES = "While Ines studied chemistry, Otto studied law."


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        (BOARD, "Smith was elected treasurer."),
        (BOARD, "Jones was elected chair."),
        (MEDALS, "Ada Abel took gold."),
        (MEDALS, "Brandt took silver."),
        ("Aldane is based in Leeds, Westmere in Turin.", "Westmere is based in Leeds."),
    ],
)
def test_what_is_said_of_another_name_contradicts(sentence: str, claim: str) -> None:
    assert check_consistency(claim, [sentence]).verdict == "contradicted"


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        (BOARD, "Jones was elected treasurer."),
        (BOARD, "Smith resigned as treasurer."),
        (BOARD, "Brown was elected treasurer."),
        (MEDALS, "Gold was taken by Bruno Brandt."),
        (DEGREES, "Otto studied law and Ines chemistry."),
        ("Halden beat Roskar in the final and won the cup.", "Halden won the cup."),
        ("Smith met Jones and Brown in Paris.", "Brown met Smith in Paris."),
        ("Smith was not elected chair and Jones not treasurer.", "Smith was elected treasurer."),
    ],
)
def test_what_is_said_of_the_same_name_contradicts_nothing(sentence: str, claim: str) -> None:
    assert check_consistency(claim, [sentence]).verdict != "contradicted"


SAMPLES = [HOURS, PLANTS, ELECTED, STORAGE, TARIFFS, GROWTH, PUMPS, PORTS, DOSES, TRAINS, BREAD, PRICES, BOARD, MEDALS]


LOANS = "Eighty-six come from the town itself; nine museums in five countries have lent the other 54."
ROUTE = "Of the 17.4 km between Orsa and Vinn, 1.2 km run in tunnel and 3.1 km on viaducts."


@pytest.mark.parametrize(
    ("sentence", "claim", "exchanged"),
    [
        (LOANS, "The other 54 were lent by five museums in nine countries.", True),
        (LOANS, "The other 54 were lent by nine museums in five countries.", False),
        (ROUTE, "The line is 17.4 km long, with 3.1 km in tunnel and 1.2 km on viaducts.", True),
        (ROUTE, "The line is 17.4 km long, with 1.2 km in tunnel and 3.1 km on viaducts.", False),
        (ROUTE, "The line has 3.1 km in cuttings and 1.2 km on viaducts.", False),
        (
            "No more than 1.2 km are in tunnel, not 3.1 km on viaducts.",
            "It has 3.1 km in tunnel, 1.2 km on viaducts.",
            False,
        ),
        (
            "Boil 700 g of sugar with it, for the quince jam 900 g. Plum jam keeps.",
            "Quince jam takes 900 g, plum jam 700 g.",
            False,
        ),
    ],
)
def test_two_values_of_two_things_are_exchanged(sentence: str, claim: str, exchanged: bool) -> None:
    assert (bind(parsed(claim), parsed(sentence)).finding == "crossed") is exchanged


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("New staff: engineers 20, lawyers 10, clerks 5.", "The firm hired 20 engineers and 10 lawyers."),
        ("The pool has a length of 25 m and a width of 10 m.", "The pool is 25 m long and 10 m wide."),
    ],
)
def test_values_after_their_things_and_measures_in_other_words_contradict_nothing(sentence: str, claim: str) -> None:
    assert bind(parsed(claim), parsed(sentence)).finding != "crossed"


def test_a_text_of_many_values_is_not_compared_pair_by_pair() -> None:
    many = ", ".join(f"{number} cats" for number in range(40))
    assert bind(parsed("It has 3 cats and 5 dogs."), parsed(f"It has 5 cats and 3 dogs; {many}.")).finding == "unknown"


def test_the_difference_of_exchanged_values_names_both_things() -> None:
    (difference,) = bind(parsed("It was lent by five museums in nine countries."), parsed(LOANS)).differences
    assert (difference.claim, difference.evidence) == (
        "five museums in nine countries",
        "nine museums in five countries",
    )


@pytest.mark.parametrize("sentence", SAMPLES)
def test_a_sentence_crosses_nothing_in_itself(sentence: str) -> None:
    assert bind(parsed(sentence), parsed(sentence)).finding != "crossed"


@settings(max_examples=30)
@given(st.text(max_size=60) | st.sampled_from(SAMPLES), st.text(max_size=120) | st.sampled_from(SAMPLES))
def test_any_two_texts_can_be_compared(claim: str, sentence: str) -> None:
    assert bind(parsed(claim), parsed(sentence)).finding in ("bound", "crossed", "unknown")
    assert check_consistency(claim, [sentence, claim]).verdict


@pytest.mark.parametrize(
    ("claim", "sentence", "else_"),
    [
        ("The ferry has 210 passengers.", "The company has 60 drivers.", True),
        ("The ferry carries 210 passengers.", "The company employs 60 drivers.", True),
        ("The ferry carries 210 passengers.", "The ferry carries 180 people.", False),
        ("The ferry carries 210 passengers.", "It has room for 180 passengers.", False),
        ("The ferry carries 210 passengers.", "It has 60 drivers and no passengers.", False),
        ("The ferry carries 210 passengers.", "It was built in 1998.", False),
    ],
)
def test_a_sentence_may_count_something_else(claim: str, sentence: str, else_: bool) -> None:
    assert counts_something_else(parsed(claim), parsed(sentence)) is else_


MODELS = (
    "Model: TK-40; Price: 129 euros; Warranty: 2 years; Weight: 4.1 kg.",
    "Model: TK-60; Price: 189 euros; Warranty: 5 years; Weight: 6.3 kg.",
    "Model: TK-80; Price: 249 euros; Warranty: up to 5 years; Weight: 7.9 kg with lid.",
)


@pytest.mark.parametrize(
    "claim",
    [
        "The TK-60 weighs 6.3 kg.",
        "The price of the TK-60 is 189 euros.",
        "The model TK-60 costs 189 euros.",
        "The TK-60 comes with a five-year warranty.",
    ],
)
def test_a_claim_that_says_no_more_than_a_cell_is_supported_by_its_row(claim: str) -> None:
    found = check_consistency(claim, MODELS)
    assert (found.verdict, found.sentence) == ("supported", 1)


@pytest.mark.parametrize(
    "claim",
    [
        "The TK-60 weighs 4.1 kg.",  # another row's
        "The TK-60 lasts 5 years.",  # not what the column is about
        "The TK-80 weighs 7.9 kg.",  # the cell says more
        "The TK-80 has a warranty of 5 years.",
        "The TK-60 costs 189 euros in Norway.",  # the claim says more
        "The TK-60 costs 189 euros per month.",
        "The old TK-60 weighs 6.3 kg.",
        "The TK-60 does not cost 189 euros.",
        "The TK-60 may cost 189 euros.",
        "The TK-60 costs at least 189 euros.",
        "A pump costs 189 euros.",
    ],
)
def test_a_claim_that_says_more_or_less_than_a_cell_is_left_to_the_models(claim: str) -> None:
    assert check_consistency(claim, MODELS).verdict != "supported"


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("Tarn employs 52 people.", "supported"),
        ("Tarn has 52 employees.", "supported"),
        ("Tarn has 5,200 inhabitants.", "supported"),
        ("Tarn has 5,200 employees.", "contradicted"),
        ("Tarn employs 52 engineers.", "nothing"),
        ("Tarn employs 61 people.", "contradicted"),
        ("Tarn has 61 people.", "nothing"),  # no column
        ("Tarn employs 50 people.", "nothing"),  # rounded
        ("Tarn has 5,000 inhabitants.", "nothing"),
        ("Tarn has 5,100 inhabitants.", "contradicted"),
        ("Tarn employs more than 61 people.", "nothing"),
    ],
)
def test_a_column_may_name_what_is_counted_otherwise(claim: str, verdict: str) -> None:
    rows = ("Town: Tarn; Population: 5,200; Staff: 52.", "Town: Wick; Population: 8,100; Staff: 70.")
    assert check_consistency(claim, rows).verdict == verdict


def test_a_value_that_is_stated_elsewhere_is_not_contradicted_by_a_cell() -> None:
    rows = (
        "Town: Tarn; Staff: 52; Guests 2023: 900; Guests 2024: 870.",
        "Town: Wick; Staff: 70; Guests 2023: 5; Guests 2024: 6.",
    )
    assert check_consistency("Tarn had 800 guests.", rows).verdict == "doubtful"  # two columns
    found = check_consistency("Tarn employs 61 people.", rows)
    assert [(each.claim, each.evidence) for each in found.differences] == [("61", "52")]
    assert check_consistency("Tarn employs 61 people.", (*rows, "It has had 61 since May.")).verdict == "nothing"


def test_of_two_rows_with_one_name_neither_supports_a_claim() -> None:
    rows = ("Area: Wick; Year: 2024; Leakage: 17 litres.", "Area: Wick; Year: 2025; Leakage: 18 litres.")
    assert check_consistency("Leakage in Wick is 17 litres.", rows).verdict == "nothing"
    assert check_consistency("Leakage in Wick is 17 litres.", (rows[0], rows[1].replace("Wick", "Esk"))).sentence == 0


def test_rows_about_others_than_the_claim_names_are_found() -> None:
    assert rows_of_others("The TK-60 is sold in Norway.", MODELS) == {0, 2}
    assert rows_of_others("The TK-40 and the TK-60 are sold in Norway.", MODELS) == {2}
    assert not rows_of_others("The TK-60 is heavier than the others.", MODELS)
    assert not rows_of_others("The kettle is sold in Norway.", MODELS)
    months = ("Month: May; Visitors: 310; Days: 26.", "Month: June; Visitors: 420; Days: 25.")
    assert not rows_of_others("Visitors may come on Mondays.", months)
    assert rows_of_others("In May there were visitors on Mondays.", months) == {1}


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        ("The pool closes at 8.", "The pool opens at 8 and closes at 21.", True),
        ("She ran 10 km.", "She swam 10 km and ran 5 km.", True),
        ("The sensor sends a value every ten seconds.", "It measures every ten seconds and sends once an hour.", True),
        ("The pool opens at 8 on Sundays.", "The pool opens at 8, on Sundays at 10.", True),
        ("The fee for children is 20 euros.", "The fee is 20 euros, for children 10 euros.", True),
        ("Ferries run twice a day in winter.", "Ferries run twice a day, in winter once a day.", True),
        ("The pool closes at 21.", "The pool opens at 8 and closes at 21.", False),
        ("The pool opens at 10 on Sundays.", "The pool opens at 8, on Sundays at 10.", False),
        ("The fee is 20 euros.", "The fee is 20 euros, for children 10 euros.", False),
        ("The town has 300 residents.", "The town counts 300 residents and has 12 shops.", False),
        ("In winter it snows on 40 days.", "It snows on 40 days and the lake freezes for 20 days in winter.", False),
        ("There were 14 triplet births in 2005.", "Of 60,112 births in 2005, 1,022 were twins and 14 triplets.", False),
        ("He served until 1998.", "He was elected in 1990 and served until 1998.", False),
        ("The bridge is over 300 m wide.", "The bridge is 330 metres long and 24 metres wide.", True),
        ("The pool has a depth of 25 m.", "The pool is 25 m long.", True),
        ("The pool has a length of 25 m.", "The pool is 25 m long.", False),
        ("The tower is 40 m tall.", "The tower is 40 m high.", False),
        ("The tower is 40 m tall.", "The tower rises 40 m above the square.", False),
        ("Profit rose to £5 million.", "Profit rose by £5 million.", True),
        ("The workforce fell by 1,200 to 300.", "The workforce fell by 300 to 1,200.", True),
        ("Profit rose to £5 million.", "Profit rose by £2 million to £5 million.", False),
        ("Profit rose by £2 million.", "Profit, at £5 million, was up by £2 million.", False),
        ("It was bought by 300 people.", "It was sold to 300 people.", False),
        ("Turnover rose from £12 million to £8 million.", "It rose from £8 million to £12 million.", True),
        ("The vote was 17 to 9.", "The council voted 9 to 17.", True),
        ("Athletic won 3-2.", "Athletic led 2-3 and won 3-2.", False),
        ("Sales rose from 3 to 4 million in 2020.", "In 2020 sales rose to 4 million, up from 3 million.", False),
        ("The ratio of men to women is 3 to 2.", "The ratio of women to men is 2 to 3.", False),
        ("The company cut 300 jobs and created 120.", "The company cut 120 jobs and created 300.", True),
        ("They won the cup in 1998 and the league in 2004.", "They won the league in 1998 and the cup in 2004.", True),
        ("They won the cup in 1998 and the league in 2004.", "In 2004 they won the league, in 1998 the cup.", False),
        ("It cut 300 jobs and created 120.", "It created 120 jobs and cut 300.", False),
        ("The office has been open until 2015.", "The office has been open since 2015.", True),
        ("The road is closed after 9 May.", "The road is closed before 9 May.", True),
        ("The office has been open since 2015.", "The office did not open until 2015.", False),
        ("It ran from 1990.", "It ran from 1990 to 1995, and not before 1990.", False),
        ("The cup and the league were won in 1998 and 2004, respectively.",) * 2 + (False,),
        ("It was open in 2019-2020.", "It was open in 2019-2020.", False),
    ],
)
def test_a_value_that_is_of_another_verb_or_excepted_is_misplaced(claim: str, sentence: str, expected: bool) -> None:
    assert misplaced(parsed(claim), parsed(sentence)) is expected


def test_a_misplaced_value_is_not_supported() -> None:
    reader = EmbeddedBackend(threads=1, careful=False).reader
    for claim, text in [
        ("The pool closes at 8.", "The pool opens at 8 and closes at 21."),
        ("The bus departs at 9:40.", "The bus arrives at 9:40 and departs at 9:50."),
        ("Tickets cost 12 euros on Mondays.", "Tickets cost 12 euros, on Mondays 6 euros."),
    ]:
        assert reader.read(claim, (Passage(text=text),)).label(FEVER) != FEVER.named(Meaning.SUPPORTED), claim


def test_texts_of_many_values_are_not_compared() -> None:
    def compare(text: str) -> None:
        many = parsed(text)
        assert not misplaced(many, many)
        assert bind(many, many).finding == "unknown"

    assert not grows_with_the_square(compare, "It opens at 8 and closes at 9. " * 600)
