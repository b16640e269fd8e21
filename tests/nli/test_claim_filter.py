"""What the embedded backend takes for a claim, and which pronouns it replaces."""

from __future__ import annotations

import pytest

from redargue.nli.claim_filter import claims, statement


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("However, the bridge was opened in 1889.", "The bridge was opened in 1889."),
        ("Yes, in fact, **Bees** are insects.", "Bees are insects."),
        ("I think that the Moon orbits the Earth.", "The Moon orbits the Earth."),
        ("It is important to note that bees sting people.", "Bees sting people."),
        ("As of my knowledge cutoff in 2021, the band had four albums.", "The band had four albums."),
        ("The tower opened\nin 1889.", "The tower opened in 1889."),
    ],
)
def test_a_statement_loses_what_merely_leads_in(sentence: str, claim: str) -> None:
    assert statement(sentence) == claim


@pytest.mark.parametrize(
    "sentence",
    [
        "# The history of bees",
        "Do bees sleep at night?",
        "Here are some facts about bees:",
        "I love bees and their honey!",
        "I think you should read it.",
        "It's a really great movie.",
        "As an AI language model, I have no access to the web.",
        "Please let me know if you need more.",
        "In my opinion, bees are the best insects of all.",
        "Thanks!",
    ],
)
def test_a_sentence_that_states_nothing_checkable_is_no_claim(sentence: str) -> None:
    assert statement(sentence) is None


@pytest.mark.parametrize(
    ("sentences", "last"),
    [
        (["Marie Curie was a Polish physicist.", "She was born in Warsaw."], "Marie Curie was born in Warsaw."),
        (
            ["Marie Curie was a physicist.", "She moved to Paris.", "Her work won prizes."],
            "Marie Curie's work won prizes.",
        ),
        (
            ["Autonomous buildings are quiet.", "They have their own heating."],
            "Autonomous buildings have their own heating.",
        ),
        # who is meant is not plain:
        (["Marie Curie met Albert Einstein.", "He was a physicist."], "He was a physicist."),
        (["Marie Curie was a physicist.", "They are rare."], "They are rare."),
        (["Marie Curie was a physicist.", "It is said that she smiled."], "It is said that she smiled."),
        (["In 1911 a prize was given.", "It was the second."], "It was the second."),
        (["Marie Curie was a physicist.", "I love physics.", "She was born in Warsaw."], "She was born in Warsaw."),
    ],
)
def test_a_pronoun_is_replaced_only_where_one_subject_can_be_meant(sentences: list[str], last: str) -> None:
    assert claims(sentences)[-1] == last
    assert claims(sentences[-1:], before=sentences[:-1]) == [last]
