"""What the embedded backend takes for a claim, and which pronouns it replaces."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from redargue.nli.claim_filter import CUES, WEIGHTS_FILE, asserted, claims, readings, statement, statements
from redargue.nli.grammar import has_finite_verb
from redargue.nli.session import DIMENSIONS, WEIGHTS_FOLDER

LINES = Path(__file__).with_name("claim_lines.txt")


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("However, the bridge was opened in 1889.", "The bridge was opened in 1889."),
        ("Yes, in fact, **Bees** are insects.", "Bees are insects."),
        ("It was opened in 1889 [1](https://a.org/b_(c)) and is old [2].", "It was opened in 1889 and is old."),
        ("The [bridge](https://a.org/b_(c)) has [23] arches.", "The bridge has 23 arches."),
        ("The bridge carried [60,000] people on [12] May.", "The bridge carried 60,000 people on 12 May."),
        ("The share of cars rose to [54](https://a.org)%.", "The share of cars rose to 54%."),
        ("Smith [3] showed that bees are insects.", "Smith showed that bees are insects."),
        ("“The share of women rose to 45%.”", "“The share of women rose to 45%.”"),
        ("The *bridge* was opened in _1889_.", "The bridge was opened in 1889."),
        ("The port emits 9 tonnes of CO<sub>2</sub>.", "The port emits 9 tonnes of CO2."),
        ("The quay measures 12,000 m<sup>2</sup>.", "The quay measures 12,000 m²."),
        ("The <b>bridge</b>, was<br>opened in 1889<sup>a</sup>.", "The bridge, was opened in 1889a."),
        ("Let's be clear: wages have risen for 18 months.", "Wages have risen for 18 months."),
        ("I think that the Moon orbits the Earth.", "The Moon orbits the Earth."),
        ("It is important to note that bees sting people.", "Bees sting people."),
        ("As of my knowledge cutoff in 2021, the band had four albums.", "The band had four albums."),
        ("The tower opened\nin 1889.", "The tower opened in 1889."),
        ("Hi Marek! Your parcel left Leipzig on Tuesday.", "Your parcel left Leipzig on Tuesday."),
        ("Good morning, Ms Lund, the repair costs 40 euros.", "The repair costs 40 euros."),
        ("We regret to inform you that the flight was cancelled.", "The flight was cancelled."),
        ("I was amazed to learn that bees can count.", "Bees can count."),
        ("Please note that the gate closes at nine.", "The gate closes at nine."),
        ("According to the provided context, the bridge was opened in 1889.", "The bridge was opened in 1889."),
        ("Based on the documents you shared, bees are insects.", "Bees are insects."),
        ("The passage also states that bees are insects.", "Bees are insects."),
        ("**Answer:** The bridge was opened in 1889.", "The bridge was opened in 1889."),
        ("The pool 🏊🏽\u200d♀\ufe0f was opened in 1889.", "The pool was opened in 1889."),
        ("Sure 😀! The bridge was opened in 1889 🌉.", "The bridge was opened in 1889."),
        ("In Document 2, it is stated that bees are insects.", "Bees are insects."),
        ("Bees are insects, as stated in the provided text.", "Bees are insects."),
        ("* *Bees* are insects [1][2, 3].", "Bees are insects."),
        ("Bees are insects【4:0†source】.", "Bees are insects."),
        ("Bees [^1] are insects (Source: Document 1, p. 3).", "Bees are insects."),
        ("According to [2], bees are [insects](https://bees.example/) [doc 1, doc 2].", "Bees are insects."),
        ("The array a[1000] has (see below) 3 rows.", "The array a[1000] has (see below) 3 rows."),
        ("According to the ministry, crime increased.", "According to the ministry, crime increased."),
        ("The document states its author on page two.", "The document states its author on page two."),
        ("> > The bridge was opened in 1889.", "The bridge was opened in 1889."),
        ("> 50 % of the voters voted by post.", "> 50 % of the voters voted by post."),
    ],
)
def test_a_statement_loses_what_merely_leads_in(sentence: str, claim: str) -> None:
    assert statement(sentence) == claim


COURTESIES = """\
Please note:
Kindly note that
Here is the answer:
Thanks for your question,
Let me explain:
Happy to help:
I hope this helps:
I can confirm that
I'd like to inform you that
Sorry,
As an AI, I can tell you that
No worries,
You should know that
Hi Anna,
I apologise for the confusion,
Just so you know,
You're welcome:
Of course,"""
PERMITTED = """\
You can open it by post.
You may open the account by post.
You can do this by post.
You cannot cancel the order.
It is free.
Unfortunately, it is not possible by post.
Don't worry, it's refundable."""
INSTRUCTIONS = """\
Call 0800 123456 to block your card.
Send the form to Maria Keller in Ulm.
Please return the goods within 60 days.
Make sure that you pay within 30 days.
Do not take it with alcohol.
If you have any questions, call 0800 123456.
Contact support at help@bank.example.
Open the Settings app.
Leave the vinegar in it for one hour.
Rinse the kettle three times.
Take it once a day."""
EXCLAIMED = """\
We've created 5 million jobs!
We have halved unemployment!
Under my leadership, we've planted 2 million trees!
I've cut taxes for 3 million families."""
ATTRIBUTED = """\
Lewis Carroll once wrote, “You know what the issue is with this world? Everyone wants magic.”
When he was asked to cut the budget, Churchill replied, “Then what are we fighting for?”
T.S. Eliot once said, “The existence of libraries affords the best evidence that we may have hope.”"""
ITEMS = """\
**Router:** included
Installation: always free of charge.
- Support line: every day, 7 am to 8 pm
Fine: £40k
Height: 40m
Debt: $3b
Time: 9.58s
Key figures: 12 paintings;
Staff: 612;
- 700 new jobs;
It is safe for children.
It is not toxic.
Dogs are welcome.
It costs nothing.
Nobody is safe.
No installation fee!
Always free of charge!
Thanks for asking about the router, which is included in the Basic plan!"""
CHAT = """\
Note: see below.
No problem!
You're very welcome!
It was a pleasure.
That makes sense.
The harbour has never looked better!
Kind regards, Ann
You can find more details below.
You can also try the following steps.
You can ask me anything.
Please contact customer support for more information.
Feel free to ask if you need anything else.
Don't hesitate to reach out.
Let me explain.
Make sure to read the instructions carefully.
I hope this helps!
Call us anytime.
Follow these steps:
Have a nice day.
Enjoy your meal!
Please let me know by Friday whether you can join.
Check the documentation for details."""


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("It opened in 1889 ([source](https://example.org/a)).", "It opened in 1889."),
        ("It opened in 1889 ([bbc.com](https://www.bbc.com/a)).", "It opened in 1889."),
        ("The bridge ([Orvell](https://example.org/a)) opened in 1889.", "The bridge opened in 1889."),
        ("It opened in 1889 ([it was false](https://example.org/a)).", "It opened in 1889. It was false."),
        ("It opened in 1889 (see [the report](https://example.org/a)).", "It opened in 1889 (see the report)."),
        ("The [bridge](https://example.org/a) opened in 1889 (again).", "The bridge opened in 1889 (again)."),
    ],
)
def test_the_words_of_a_link_in_parentheses_name_a_source_unless_they_state_something(sentence: str, said: str) -> None:
    assert statement(sentence) == said


@pytest.mark.parametrize("courtesy", COURTESIES.splitlines())
@pytest.mark.parametrize(
    "said", ["The Premium account costs 15 euros a month.", "Transfers within the euro area are not free."]
)
def test_a_courtesy_before_a_statement_does_not_hide_it(courtesy: str, said: str) -> None:
    assert statement(f"{courtesy} {said[0].lower()}{said[1:]}") == said


@pytest.mark.parametrize("sentence", PERMITTED.splitlines())
def test_what_may_be_done_is_a_claim(sentence: str) -> None:
    assert statement(sentence)


@pytest.mark.parametrize("sentence", EXCLAIMED.splitlines())
def test_what_a_speaker_boasts_of_is_a_claim(sentence: str) -> None:
    assert statement(sentence)


@pytest.mark.parametrize("sentence", ATTRIBUTED.splitlines())
def test_that_somebody_said_something_is_a_claim(sentence: str) -> None:
    assert (statement(sentence) or "").startswith(sentence[:20])


def test_a_question_whether_somebody_said_something_states_nothing() -> None:
    assert statements(["Did Churchill say, “What are we fighting for?”", "Who said “We shall fight”?"]) == [None, None]


@pytest.mark.parametrize("sentence", INSTRUCTIONS.splitlines())
def test_an_instruction_with_a_detail_is_a_claim(sentence: str) -> None:
    claim = statement(sentence)
    assert claim
    assert claim.rstrip(".").lower() in sentence.lower()
    assert not claim.startswith(("Please", "Make sure", "Feel free"))


@pytest.mark.parametrize("sentence", ITEMS.splitlines())
def test_an_item_with_its_value_may_state_something(sentence: str) -> None:
    assert readings([sentence])[0] == (None, True)


def test_what_somebody_is_free_to_do_is_a_claim() -> None:
    assert statement("Feel free to cancel by telephone.") == "You can cancel by telephone."


@pytest.mark.parametrize("sentence", CHAT.splitlines())
def test_chat_is_neither_a_claim_nor_an_instruction(sentence: str) -> None:
    assert readings([sentence])[0] == (None, False)


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
    "sentence",
    [
        "You can return it within 60 days.",
        "We ship to Brazil for free.",
        "If you open the housing, the warranty is void.",
        "I see two open orders on your account.",
        "Crime increased.",
    ],
)
def test_second_and_first_person_and_two_words_can_be_checked(sentence: str) -> None:
    assert statement(sentence) == sentence


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Did you know that otters hold hands?", "Otters hold hands."),
        ("Isn't it odd that the museum has no door?", "The museum has no door."),
        ("Isn't Canberra the capital of Australia?", "Canberra is the capital of Australia."),
        ("Didn't Brazil win the cup in 2002?", "Brazil did win the cup in 2002."),
        ("Wasn't it Bell who built the first telephone?", "It was Bell who built the first telephone."),
        ("The shop closes at six, doesn't it?", "The shop closes at six."),
        ("Did you know how long it takes?", None),
        ("Is it true that otters hold hands?", None),
        ("Why don't you come along?", None),
        ("Otters hold hands.", "Otters hold hands."),
    ],
)
def test_a_question_that_asserts_is_restated(question: str, statement: str | None) -> None:
    assert asserted(question) == statement


@pytest.mark.parametrize(
    ("text", "finite"),
    [
        ("Minutes of 4 May 2024", False),
        ("Opening hours: 9 am to 5 pm", False),
        ("The pool may close in May.", True),
        ("I am on my way.", True),
    ],
)
def test_a_month_and_an_hour_are_no_verbs(text: str, finite: bool) -> None:
    assert has_finite_verb(text) is finite


@pytest.mark.slow
def test_nine_of_ten_lines_are_told_rightly_both_ways() -> None:
    lines = [line for line in LINES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    found = statements([line[2:] for line in lines])
    kept = [claim is not None for line, claim in zip(lines, found, strict=True) if line.startswith("+")]
    dropped = [claim is None for line, claim in zip(lines, found, strict=True) if line.startswith("-")]
    assert min(len(kept), len(dropped)) > 80
    assert sum(kept) >= 0.9 * len(kept)
    assert sum(dropped) >= 0.9 * len(dropped)


def test_the_linear_model_was_fitted_to_the_bundled_embedder() -> None:
    manifest = json.loads((WEIGHTS_FOLDER / "manifest.json").read_text(encoding="utf-8"))
    with np.load(WEIGHTS_FILE, allow_pickle=False) as file:
        assert str(file["embedder"]) == manifest["sha256"]["embedder.onnx"]
        assert file["weights"].shape == (1 + DIMENSIONS + CUES,)


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
        (["The new quay was opened by the mayor.", "She was elected in 2021."], "She was elected in 2021."),
        (["The museum was rebuilt.", "His father had led it."], "His father had led it."),
        (["Marie Curie was a physicist.", "It is unclear how much she earned."], "It is unclear how much she earned."),
        (["Marie Curie was elected.", "It took three ballots."], "It took three ballots."),
    ],
)
def test_a_pronoun_is_replaced_only_where_one_subject_can_be_meant(sentences: list[str], last: str) -> None:
    assert claims(sentences)[-1] == last
    assert claims(sentences[-1:], before=sentences[:-1]) == [last]
