"""What a text only passes on as talk, belief, suspicion or question decides a claim neither way."""

from __future__ import annotations

import pytest

from redargue.claims import FEVER, Meaning
from redargue.evidence import Passage
from redargue.framing import calls_itself_false, framed
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.consistency import asserted_text, only_planned
from support.growth import grows_with_the_square

LEFT_OPEN = [
    ("Lisse stays open.", "There is talk that Lisse is going to be closed."),
    ("The station will close.", "Rumour has it that the station will close."),
    ("The mayor is still in office.", "According to rumours, the mayor has resigned."),
    ("The factory does not pollute the river.", "Opponents claim that the factory pollutes the river."),
    ("The minister never took bribes.", "The minister was accused of taking bribes."),
    ("Halden did not buy Morvik.", "Did Halden buy Morvik?"),
    ("The lake is 30 metres deep.", "Legend says the lake is 40 metres deep."),
    ("The hall seats 500.", "The hall supposedly seats 300 people."),
    ("The store accepts no cash.", "Ask the store whether it accepts cash."),
    ("Berg did not steal the car.", "Berg denied that he stole the car."),
    ("Olm is the largest town.", "My neighbour wrongly says that Olm is the largest town."),
    ("The earth is flat.", "Karl joked that the earth is flat."),
]
ASSERTED = [
    ("The station stays open.", "The operator announced that the station will close in May."),
    ("Insurers reject late claims.", "Insurance claims that arrive late are rejected by insurers."),
    ("The school was closed in 2019.", "There were rumours of a sale, but the school was closed in 2019."),
    ("Holm was born in Olm.", "Holm, who is suspected of fraud, was born in Olm in 1970."),
    ("The leak was reported by the skipper.", "The skipper reported the leak and is not suspected of any offence."),
    ("Wren said that he was not in a race.", "He denied that the journey had been a race."),
    ("The contract was valid.", "The court examined whether the contract was void and found that it was valid."),
    ("Pluto was believed to be a planet.", "It was long believed that Pluto is a planet."),
    ("Copernicus put the sun in the centre.", "Copernicus believed that the sun is the centre of the universe."),
    ("40 percent would vote.", "Asked whether they would vote, 40 percent said yes."),
    ("The museum opened in 1950.", "When did the museum open? It opened in 1950."),
    ("The drug cures migraine.", "It is a myth that the drug cures migraine."),
]


@pytest.mark.parametrize(("claim", "text"), LEFT_OPEN)
def test_what_a_text_leaves_open_is_not_read(claim: str, text: str) -> None:
    assert asserted_text(claim, text) == ""
    assert asserted_text(claim, f"The town has a harbour. {text}").strip() == "The town has a harbour."


@pytest.mark.parametrize(("claim", "text"), ASSERTED)
def test_what_a_text_asserts_is_read_whole(claim: str, text: str) -> None:
    assert asserted_text(claim, text) == text


@pytest.mark.parametrize(
    ("text", "supported", "refuted"),
    [
        ("The fee is ~~5~~ 6 euros.", "The fee is 6 euros.", "The fee is 5 euros."),
        ("The shop is ~~closed~~ open on Mondays.", "The shop is open on Mondays.", "The shop is closed on Mondays."),
    ],
)
def test_what_is_struck_inside_a_sentence_is_not_read(text: str, supported: str, refuted: str) -> None:
    reader = EmbeddedBackend(threads=1, careful=False).reader
    labels = [reader.read(claim, (Passage(text=text),)).label(FEVER) for claim in (supported, refuted)]
    assert labels == [FEVER.named(Meaning.SUPPORTED), FEVER.named(Meaning.REFUTED)]


def test_neither_side_follows_from_what_is_left_open() -> None:
    reader = EmbeddedBackend(threads=1, careful=False).reader
    for claim, text in LEFT_OPEN:
        label = reader.read(claim, (Passage(text=text),)).label(FEVER)
        assert FEVER.meaning(label or "") is Meaning.NOT_ENOUGH, claim


@pytest.mark.parametrize(
    ("claim", "text", "planned"),
    [
        ("The tunnel was flooded.", "If the gate had failed, the tunnel would have been flooded.", True),
        ("The school was demolished.", "The council voted on a proposal to demolish the school.", True),
        ("The school was demolished.", "The school was demolished after a proposal to demolish it.", False),
    ],
)
def test_what_would_have_happened_or_is_proposed_was_not_done(claim: str, text: str, *, planned: bool) -> None:
    assert only_planned(claim, text) is planned


def test_a_quotation_that_is_taken_back_or_whose_speaker_errs_shows_no_claim() -> None:
    assert calls_itself_false('"The vaccine contains mercury," the leaflet said, but that is wrong.')
    assert not calls_itself_false("The company reported figures, but they were wrong.")
    assert not calls_itself_false("Berg said it was deep. It is old, but that is wrong.")
    assert framed("", 'Berg wrote: "Olm is the largest town in the region."', " He is mistaken.")
    assert not framed("", "The exam was difficult.", " He was wrong about two questions.")


def test_what_is_taken_back_is_found_in_little_time() -> None:
    assert not grows_with_the_square(calls_itself_false, "he said " * 12_500)
    assert not grows_with_the_square(calls_itself_false, "said, but that is " * 5_500)


@pytest.mark.parametrize(
    ("quoted", "after", "false"),
    [
        ("Halden sold the mill.", " This was not true of the farm, which it kept.", False),
        ("The scale shows 5 kg.", " This is not accurate for small loads.", False),
        ("The tower is 50 metres high.", " That is not the case for the other towers.", False),
        ("The rule is simple.", " It is not true that it has exceptions.", False),
        ("Holm said that the plan is cheap.", " They were wrong numbers, typed twice.", False),
        ("Halden sold the mill.", " This was not true.", True),
        ("Halden sold the mill.", " That is false for several reasons.", True),
        ("The tower is 50 metres high.", " That is not the case.", True),
    ],
)
def test_what_is_false_of_something_else_leaves_a_quotation_as_it_is(quoted: str, after: str, *, false: bool) -> None:
    assert framed("", quoted, after) is false
