"""Quotations that the sentences beside them call false, and true ones beside a denial of something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import benchmarks
import pytest

from methods.test_limited import Quoting
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import Claim, Meaning
from redargue.evidence import Passage
from redargue.quotes import find_quote
from redargue.tasks.answer import AnswerClaim
from redargue.verifier import Verifier
from support.debates import CLOCK, ShelfTool, answer

ROWS = [
    json.loads(line)
    for line in Path(benchmarks.__file__).with_name("frames.jsonl").read_text(encoding="utf-8").splitlines()
]
FRAMED = [row for row in ROWS if row["framed"]]
INNOCENT = [row for row in ROWS if not row["framed"]]
UNSEEN = [  # of those that were put aside while the patterns were written
    "In the novel, a character says: "  # only the reader of a novel's title knows that it is invented
]
CLAIM = Claim(text="The Harrow Museum opened in 1998.")


def found(row: dict[str, Any], quote: str = "") -> bool:
    passage = Passage(text=f"{row['before']}{row['quote']}{row['after']}")
    return find_quote(quote or row["quote"], (passage,)).found


@pytest.mark.parametrize("row", FRAMED, ids=lambda row: f"{row['before']}…{row['after']}".strip())
def test_a_quotation_is_not_found_where_the_sentence_beside_it_calls_it_false(row: dict[str, Any]) -> None:
    assert found(row) is (row["before"] in UNSEEN)


@pytest.mark.parametrize("row", INNOCENT, ids=lambda row: f"{row['before']}…{row['after']}".strip())
def test_a_quotation_is_found_beside_a_denial_of_something_else(row: dict[str, Any]) -> None:
    assert found(row)


NOT_FRAMED = [
    ("Contrary to popular belief, bats are not blind. ", "Bats see well at dusk.", ""),
    ("Many people wrongly assume that bats are blind. ", "Bats see well at dusk.", ""),
    ("A viral post falsely stated that it was closed. ", "The museum opened in 1998.", ""),
    ("Nobody disputes that ", "the museum opened in 1998", "."),
    ("No one denies that ", "the museum opened in 1998", "."),
    ("It cannot be denied that ", "the museum opened in 1998", "."),
    ("", "The fee is refunded in full.", " The claim was rejected? You can appeal."),
    ("", "The fee is refunded in full.", "\n\n## This is wrong?\n\nPlease call us."),
    ("Lies?\n\n", "We never sell personal data.", ""),
    ("", "The bridge is 330 metres long.", " It was fabricated in Leeds."),
    ("", "The bridge is 330 metres long.", " It is not so long as the other one."),
]
STILL_FRAMED = [
    ("Many people wrongly assume that ", "bats are blind", "."),
    ("The museum denies that ", "it opened in 1998", "."),
    ("Nobody believes that ", "the museum opened in 1998", "."),
    ("", "The museum opened in 1998.", " It was fabricated."),
    ("", "The museum opened in 1998.", " This is not so."),
]


@pytest.mark.parametrize(("before", "quote", "after"), [*NOT_FRAMED, *STILL_FRAMED])
def test_a_whole_sentence_about_an_error_does_not_frame_the_next(before: str, quote: str, after: str) -> None:
    row = {"before": before, "quote": quote, "after": after}
    assert found(row) is ((before, quote, after) in NOT_FRAMED)


def test_a_quotation_with_its_label_is_read_with_what_follows() -> None:
    row = {"before": "", "quote": "Claim: The museum opened in 1998.", "after": "\n\nRating: False"}
    assert not found(row)
    assert found(row | {"after": "\n\nRating: True"})


SELF_FRAMED = ("Myth 3: {}", "A forged letter of 2004 stated: {}", "According to a fabricated quotation, {}")


@pytest.mark.anyio
@pytest.mark.parametrize(("side", "meaning"), [("SUPPORTS", Meaning.NOT_ENOUGH), ("REFUTES", Meaning.REFUTED)])
@pytest.mark.parametrize("frame", SELF_FRAMED)
async def test_a_quotation_that_calls_itself_false_shows_that_a_claim_is_false_and_never_that_it_is_true(
    frame: str, side: str, meaning: Meaning
) -> None:
    text = frame.format(CLAIM.text)
    backend = ScriptedBackend({AnswerClaim: answer(side, text)})
    options: Any = {"method": "single-reader", "backend": backend, "clock": CLOCK}
    with Verifier(evidence={"corpus": ShelfTool("corpus", Passage(text=text))}, **options) as verifier:
        assert (await verifier.verify(CLAIM)).meaning is meaning


def test_a_sentence_that_is_called_false_in_one_place_is_found_in_another() -> None:
    said = "The museum opened in 1998."
    passage = Passage(text=f"Myth: {said}\n\nThe archive shows it. {said} The mayor cut the ribbon.")
    quote = find_quote(said, (passage,))
    assert (quote.found, quote.start) == (True, passage.text.rindex(said))


def test_a_denial_over_two_lines_is_read() -> None:
    assert not found({"before": "", "quote": CLAIM.text, "after": "\nThis is a common\nmisconception."})


@pytest.mark.anyio
@pytest.mark.parametrize(
    "after", [" That is a common misconception.", "\n\nRating: Pants on Fire", " The ministry denied this."]
)
@pytest.mark.parametrize("method", ["single-reader", "tool-mad", "mermaid"])
async def test_a_framed_quotation_of_a_model_carries_no_verdict(method: str, after: str) -> None:
    page = Passage(text=f"The town has a harbour. {CLAIM.text}{after}", title="Harrow")
    settings: Any = {"memory": "off"} if method == "mermaid" else {}
    shelves: Any = {name: ShelfTool(name, page) for name in ("corpus", "keywords")}
    with Verifier(
        method=method, settings=settings, backend=Quoting(CLAIM.text), evidence=shelves, clock=CLOCK, store="starter"
    ) as verifier:
        verdict = await verifier.verify(CLAIM)
    assert verdict.error is None
    assert verdict.meaning is Meaning.NOT_ENOUGH


@pytest.mark.parametrize(
    "lead",
    [
        "None of the following statements is true:",
        "The following claims are false:",
        "These are common myths:",
        "Common myths:",
        "## False claims about our streets",
        "### Myths about street names",
    ],
)
def test_no_item_of_a_list_that_is_called_false_is_quoted(lead: str) -> None:
    items = [f"The street number {number} was renamed in {1900 + number}." for number in range(30)]
    passage = Passage(text=f"Corrections.\n\n{lead}\n\n" + "".join(f"- {item}\n" for item in items))
    for item in (items[0], items[15], items[29]):
        assert not find_quote(item, (passage,)).found
    plain = Passage(text=passage.text.replace(lead, "The council renamed streets:"))
    assert find_quote(items[15], (plain,)).found


def test_no_row_of_a_table_that_is_called_wrong_is_quoted() -> None:
    rows = [f"Model: TK-{number}; Price: {number} euros." for number in range(20, 40)]
    table = "\n".join(rows)
    assert not find_quote(rows[7], (Passage(text=f"The following prices are wrong:\n\n{table}"),)).found
    assert find_quote(rows[7], (Passage(text=f"The following prices hold:\n\n{table}"),)).found


def test_struck_text_is_not_quoted() -> None:
    passage = Passage(
        text="~~The fee is 5 euros.~~ The fee is 7 euros.\n- ~~Entry is free.~~\n- Dogs ~ cats ~~ stay out."
    )
    assert not find_quote("The fee is 5 euros.", (passage,)).found
    assert not find_quote("Entry is free.", (passage,)).found
    assert find_quote("The fee is 7 euros.", (passage,)).found
    assert find_quote("Dogs ~ cats ~~ stay out.", (passage,)).found
