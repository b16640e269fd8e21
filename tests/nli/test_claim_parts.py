"""The facts that a claim joins, each as a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redargue.nli.claim_parts import LONGEST_CLAIM, MOST_PARTS, claim_parts


@pytest.mark.parametrize(
    "parts",
    [
        # clauses
        "The old bridge is closed, and the new one opens in May. = The old bridge is closed. The new one opens in May.",
        "The pool is heated; the sauna was closed in 2019. = The pool is heated. The sauna was closed in 2019.",
        "Orsa grew by 4 %, while Vinn lost a tenth. = Orsa grew by 4 %. Vinn lost a tenth.",
        "The hall opens on 4 and 5 May; seats can be booked. = The hall opens on 4 and 5 May. Seats can be booked.",
        "The ferry was late, but it arrived safely. = The ferry was late. The ferry arrived safely.",
        "Although the roof leaked, the play was given. = The roof leaked. The play was given.",
        "Wine was taxed but beer was not. = Wine was taxed. Beer was not taxed.",
        "A book may be taken home, whereas a phone may not. = A book may be taken home. A phone may not be taken home.",
        "In 2019 sales rose and profit fell. = In 2019 sales rose. In 2019 profit fell.",
        "In Oslo, the card is free and guests pay a fee. = In Oslo, the card is free. In Oslo, guests pay a fee.",
        # verbs of one subject
        "The mill was built in 1894 and employs 31 people. = The mill was built in 1894. The mill employs 31 people.",
        "It bears the mark but may not be sold in Norway. = It bears the mark. It may not be sold in Norway.",
        "It will stay a month and then give way to a copy. = It will stay a month. It will give way to a copy.",
        "People who live here and guests can swim and use the sauna. = People who live here and guests can swim."
        " People who live here and guests can use the sauna.",
        # relative clauses
        "It measures the resistance of the chest, which falls with fluid. = It measures the resistance of the chest."
        " The resistance of the chest falls with fluid.",
        "The firm has a plant in Lisse, where it employs 40 people. = The firm has a plant in Lisse."
        " The firm employs 40 people in Lisse.",
        "Noise was heard in Ruft, where walls were built. = Noise was heard in Ruft. Walls were built in Ruft.",
        "It came from pure oils, whose sales rose in May. = It came from pure oils. Pure oils' sales rose in May.",
        "He rang the mother at home, who brought the cat. = He rang the mother at home. The mother brought the cat.",
    ],
)
def test_a_claim_is_cut_into_its_facts(parts: str) -> None:
    claim, _, wanted = parts.partition(" = ")
    found = claim_parts(claim)
    assert " ".join(found.texts) == wanted
    assert found.complete


@pytest.mark.parametrize(
    ("claim", "first"),
    [
        ("The mill closed, because the river ran dry.", "The mill closed."),
        ("The last patient left in May, after the ward had been closed.", "The last patient left in May."),
    ],
)
def test_reasons_and_times_are_more_than_the_parts(claim: str, first: str) -> None:
    parts = claim_parts(claim)
    assert parts.texts[0] == first
    assert not parts.complete


@pytest.mark.parametrize(
    "claim",
    [
        "The mill employs 31 people.",
        # of a pronoun that nothing resolves, a sentence about anybody would be evidence
        "The judge jailed the man and he appealed.",
        "Smith moved to Leeds in 1950, and he won the Harwell prize in 1960.",
        "Although Anna Keller founded the orchestra in 1921, she conducted it until 1950.",
        "Anna Keller moved to Rome, where she founded an orchestra in 1921.",
        "The plant in Norrby closed in 1990, and this cost 40 jobs.",
        "It recruited and trained 60 drivers.",
        "The group paid more for cocoa and electricity.",
        "The firm employs 142 people, all of them in Orsa.",
        "If it rains, the match is moved and tickets stay valid.",
        "The mayor said that the bridge is closed and the pool opens in May.",
        "“The pool is heated and the sauna is closed,” said Ann Roe.",
        "Is the old bridge closed, and does the new one open in May?",
        "According to the council, the pool is heated and the sauna is closed.",
        "The pool is heated. The sauna is closed and the lift is new.",
        "Nobody came and stayed for dinner.",
        "The museum never opens on Mondays and closes at 5 on Sundays.",
        "Guests can't smoke in the rooms and bring pets.",
        "The firm cannot raise prices and cut wages.",
        "The firm failed to pay the fine and close its plant.",
        "The council made the firm pay the fine and close the plant.",
        "What the firm did was cut jobs and close plants.",
        "The law would have cut taxes and raised spending.",
        "The form has to be signed by both parents and sent by 5 May.",
        "Police arrested the man after he fled the scene and crashed his car.",
        "The contract ends when the rent is unpaid and the landlord gives notice.",
        "Visitors must wear a badge while they are in the lab and leave it at the desk.",
        "He is one of two players who scored twice and won the cup.",
        "France makes more wine than Spain and Italy produces.",
        "For members, only in May, is entry free and parking costs 2 euros.",
        "At night the pool is closed and the sauna is open.",
        "The minister insisted the plan was sound and would go ahead.",
        "Officials fear the dam will break and villages will flood.",
        "It is possible the firm fails and workers lose their jobs.",
        "The mayor wants the bridge closed and the road opened.",
        "The drug was approved in 2001, which also limited its dose to 5 mg.",
        "The treaty was signed by France and Germany, which left the union in 1950.",
        "She married John Smith, who founded the firm, and moved to Leeds.",
        "Smith and Jones respectively led the firm and chaired the board.",
        "Of the four, two were upheld because the noise and the dust were heard at night.",
        "The group paid 58 million more, above all because cocoa, nuts and electricity had become dearer.",
        "",
        "and",
        ", which",
    ],
)
def test_what_says_one_thing_or_holds_only_as_a_whole_is_not_cut(claim: str) -> None:
    assert claim_parts(claim).texts == ()


def test_a_long_claim_and_one_of_many_facts_are_read_as_a_whole() -> None:
    assert claim_parts("; ".join(f"The pool {n} is heated" for n in range(MOST_PARTS))).texts
    assert not claim_parts("; ".join(f"The pool {n} is heated" for n in range(MOST_PARTS + 1))).texts
    assert not claim_parts(f"The pool is heated; the sauna is {'very ' * LONGEST_CLAIM}hot").texts


WORDS = st.sampled_from(
    "the mill which who and but , ; is was not because runs costs of 12 them all where it does".split()
)


@given(st.lists(WORDS, max_size=40).map(" ".join) | st.text(max_size=200))
def test_any_text_can_be_cut(text: str) -> None:
    parts = claim_parts(text)
    assert len(parts.texts) != 1
    assert all(part.endswith(".") for part in parts.texts)
