"""The careful reader: small models rank the sentences, a large one reads the few that can decide, shown as read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from redargue.claims import FEVER, Claim, Meaning
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.nli import backend
from redargue.nli.aggregation import WEIGHTS, Weights, with_parts
from redargue.nli.backend import EmbeddedBackend, answer_from
from redargue.nli.careful import (
    GRAPH,
    IN_CONTEXT,
    MANIFEST,
    NEIGHBOURS,
    PICKED,
    CarefulReader,
    CarefulWeights,
    SourceKind,
    read_weights,
    source_kind,
)
from redargue.nli.reader import Reader, Reading
from redargue.nli.session import CrossEncoder, Entailment, shared

PACKAGED = Path(__file__).parents[2] / "packages" / "redargue-reader" / "redargue_reader"

BRIDGE = Passage(
    text="The Alma Bridge was built by the firm of Otto Lindqvist. It opened to traffic in 1932. "
    "Two lanes are for bicycles.",
    title="Alma Bridge",
    document="bridge",
)
HARBOUR = Passage(
    text="The harbour is old. Ferries leave every hour from the Alma Bridge.",
    title="Harbour",
    document="harbour",
)
SUPPORTS, REFUTES, NEITHER = Entailment(0.9, 0.05, 0.05), Entailment(0.05, 0.9, 0.05), Entailment(0.05, 0.05, 0.9)
CERTAIN = Weights((-1.0, 2.0, *[0.0] * 9), (-1.0, 0.0, 2.0, *[0.0] * 8))  # what is read decides


class Scripted:
    """A large model that answers by a rule on the evidence, and keeps what it has read."""

    sha256 = "scripted"

    def __init__(self, rule: Callable[[str], Entailment]) -> None:
        self.rule, self.seen = rule, list[str]()

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        self.seen += [evidence for _, evidence in pairs]
        return [self.rule(evidence) for _, evidence in pairs]

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [1 - self.rule(evidence).neither for _, evidence in pairs]


def read(claim: str, passages: Sequence[Passage], model: Any, weights: Weights = CERTAIN) -> Reading:
    least: dict[SourceKind, float] = {"documents": 0.63, "abstracts": 0.9, "web": 0.97}
    return CarefulReader(shared(1), CrossEncoder(threads=1), model, weights=weights, least=least).read(claim, passages)


@pytest.mark.parametrize(
    ("given", "least", "named"),
    [
        (None, (0.77, 0.9, 0.95), ""),
        (0.7, (0.7, 0.7, 0.7), "decides from 0.7"),  # above the small reader's own threshold
        (0.8, (0.77, 0.8, 0.8), "decides from 0.8"),  # what documents show with less is then marked as unsure
        (0.96, (0.77, 0.9, 0.95), ""),
    ],
)
def test_a_lower_threshold_loosens_the_reader_for_each_kind_of_source(
    given: float | None, least: tuple[float, ...], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own: dict[SourceKind, float] = {"documents": 0.77, "abstracts": 0.9, "web": 0.95}
    installed = CarefulWeights(Path("none"), "0" * 12, CERTAIN, tuple(own.items()))
    monkeypatch.setattr(backend, "careful_weights", lambda: installed)
    monkeypatch.setattr(backend, "_cross_encoder", lambda *given: Scripted(lambda text: NEITHER))
    made = EmbeddedBackend(threads=1, least=given)
    paper = Passage(text="Of 80 patients in the cohort, 12 improved (p < 0.05).")
    pages = (BRIDGE, paper, BRIDGE.model_copy(update={"url": "https://example.org/bridge"}))
    assert tuple(made.reader.least_for([passage]) for passage in pages) == least
    assert made.identity.partition("careful 000000000000,")[2] == named


@pytest.mark.slow
def test_a_sentence_that_decides_alone_is_quoted_alone() -> None:
    reading = read(
        "The bridge opened in 1932.", [BRIDGE], Scripted(lambda text: SUPPORTS if "1932" in text else NEITHER)
    )
    assert reading.label(FEVER) == "SUPPORTS"
    assert [each.quote for each in reading.best(Meaning.SUPPORTED, 2)] == ["It opened to traffic in 1932."]


def test_a_sentence_that_decides_only_after_the_one_before_is_quoted_with_it() -> None:
    model = Scripted(lambda text: SUPPORTS if "Lindqvist" in text and "1932" in text else NEITHER)
    reading = read("A bridge of Lindqvist's firm opened in 1932.", [BRIDGE], model)
    (quote,) = reading.best(Meaning.SUPPORTED, 2)
    assert quote.quote == BRIDGE.text[: BRIDGE.text.index(" Two lanes")]
    assert reading.label(FEVER) == "SUPPORTS"


def test_a_sentence_is_read_among_its_neighbours_which_are_never_quoted() -> None:
    """The neighbours lean to a side that neither a sentence nor two in a row show: it weighs, and the claim is open."""
    model = Scripted(lambda text: SUPPORTS if "Lindqvist" in text and "bicycles" in text else NEITHER)
    by_neighbours = Weights((3.0, *[0.0] * 8, 1.0, 0.0), (-9.0, *[0.0] * 10))
    reading = read("Lindqvist's bridge of 1932 has lanes for bicycles.", [BRIDGE], model, by_neighbours)
    assert reading.probabilities().supports > 0.9
    assert f"{BRIDGE.title}. {BRIDGE.text}" in model.seen
    assert reading.label(FEVER) == "NOT ENOUGH INFO"
    assert all(each.quote != BRIDGE.text for each in reading.best(Meaning.SUPPORTED, 3))


def test_where_the_first_sentence_shows_a_side_little_else_is_read() -> None:
    model = Scripted(lambda text: SUPPORTS if "1932" in text else NEITHER)
    assert read("The Alma Bridge opened to traffic in 1932, it is said.", [BRIDGE], model).label(FEVER) == "SUPPORTS"
    assert set(model.seen) == {f"{BRIDGE.title}. It opened to traffic in 1932.", f"{BRIDGE.title}. {BRIDGE.text}"}


@pytest.mark.parametrize(
    ("text", "around"),
    [
        (
            "The mill opened in 1932. It is red.\n\n## Staff\nNine people work there.",
            "The mill opened in 1932. It is red.",
        ),
        (
            "The mill opened in 1932. It is red. " + "It has a wheel. " * 60,
            "The mill opened in 1932. It is red. It has",
        ),
        ("Site: Tarn; Opened: 1932.\nSite: Wick; Opened: 2001.", "Site: Tarn; Opened: 1932."),
        ("The mill opened in 1932.", "The mill opened in 1932."),
    ],
)
def test_neighbours_end_at_headings_rows_and_a_length(text: str, around: str) -> None:
    model = Scripted(lambda _: NEITHER)
    claim = "In 1932 the mill of Tarn was opened."
    read(claim, [Passage(text=text)], model).probabilities()
    longest = max((seen for seen in model.seen if "1932" in seen), key=len)
    assert longest.startswith(around)
    assert len(longest) <= max(NEIGHBOURS - len(claim), len(around))
    assert "Nine" not in longest
    assert "Wick" not in longest


def test_a_heading_between_two_sentences_keeps_them_apart() -> None:
    passage = Passage(text="The bridge was built by Lindqvist.\n\n## Traffic\nIt opened in 1932.", document="1")
    model = Scripted(lambda text: SUPPORTS if "Lindqvist" in text and "1932" in text else NEITHER)
    reading = read("The bridge of Lindqvist opened in 1932.", [passage], model)
    assert reading.label(FEVER) == "NOT ENOUGH INFO"


def test_sentences_of_two_passages_that_decide_together_are_both_quoted() -> None:
    model = Scripted(lambda text: SUPPORTS if "Ferries" in text and "1932" in text else NEITHER)
    claim = "Ferries leave from the Alma Bridge of 1932."
    answer = answer_from(read(claim, [BRIDGE, HARBOUR], model), Claim(text=claim))
    assert answer.label == "SUPPORTS"
    assert {quote in BRIDGE.text for quote in answer.quotes} == {True, False}


def test_of_the_rows_of_a_table_those_with_the_numbers_of_the_claim_are_read() -> None:
    rows = [
        f"month: 2026-{month:02}; requests: {5000 + 37 * month}; median time to first reply (minutes): {10 + 7 * month}"
        f"; staff on duty: {20 + month}."
        for month in range(1, 13)
    ]
    model = Scripted(lambda _: NEITHER)
    claim = "In a month with 25 people on duty, half of all requests had a first answer within 45 minutes."
    read(claim, [Passage(text="\n".join(rows))], model).probabilities()
    assert any("45;" in text for text in model.seen)


def test_a_row_is_read_without_the_row_before_and_without_those_about_others() -> None:
    rows = [f"Model: TK-{number}0; Price: {number}9 euros; Weight: {number}.5 kg." for number in range(2, 9)]
    model = Scripted(lambda _: NEITHER)
    read("The TK-70 is sold in Norway and weighs some 7.5 kg.", [Passage(text="\n".join(rows))], model).probabilities()
    assert set(model.seen) == {rows[5]}


def test_the_small_model_refutes_nothing_by_what_is_said_of_something_else() -> None:
    passage = Passage(text="Handwritten receipts are not read. The bridge opened in 1932 and not in May.")
    reading = Reader(shared(1), Scripted(lambda _: REFUTES)).read("The bridge opened in May.", [passage])
    refuted = {
        span.cited[0].quote: span.strength(Meaning.REFUTED)
        for span in reading.spans
        if span.kind == "sentence" and not span.before
    }
    assert refuted["Handwritten receipts are not read."] == 0
    assert refuted["The bridge opened in 1932 and not in May."] == REFUTES.refutes


@pytest.mark.slow
def test_the_large_model_reads_few_texts_however_many_passages_there_are() -> None:
    model = Scripted(lambda text: NEITHER)
    passages = [Passage(text=f"{BRIDGE.text} Note {number}.", document=str(number)) for number in range(30)]
    assert read("The Alma Bridge opened in 1932.", passages, model).label(FEVER) == "NOT ENOUGH INFO"
    assert 0 < len(model.seen) <= PICKED + IN_CONTEXT + 1


def test_what_only_the_small_model_says_is_never_quoted_for_a_side() -> None:
    """The weights take it into account, but without a text that the large model reads so, the claim is open."""
    skimmed = Weights((3.0, *[0.0] * 10), (-9.0, *[0.0] * 10))
    reading = read("In 1932 the bridge was opened to cars.", [BRIDGE], Scripted(lambda _: NEITHER), skimmed)
    assert not reading.comparisons
    assert reading.probabilities().supports > 0.6
    assert reading.label(FEVER) == "NOT ENOUGH INFO"


JOINED = "The bridge was built by Lindqvist and has two lanes for bicycles."


class ByClaim(Scripted):
    """Answers by a rule on the claim and the evidence."""

    def __init__(self, rule: Callable[[str, str], Entailment]) -> None:
        super().__init__(lambda evidence: rule("", evidence))
        self.by_claim = rule

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        return [self.by_claim(claim, evidence) for claim, evidence in pairs]


def test_what_is_said_of_another_refutes_what_only_one_can_be() -> None:
    def rule(claim: str, evidence: str) -> Entailment:
        return SUPPORTS if "Orm" in claim else NEITHER

    for claim, label in {"Tarn is the capital": "REFUTES", "Tarn is a town": "NOT ENOUGH INFO"}.items():
        text = claim.replace("Tarn", "Orm")
        reading = read(f"{claim} of Veld.", [Passage(text=f"{text} of Veld.")], ByClaim(rule))
        assert reading.label(FEVER) == label


@pytest.mark.slow
def test_a_claim_whose_parts_two_sentences_show_is_supported_by_both() -> None:
    def rule(claim: str, evidence: str) -> Entailment:
        if "Lindqvist" in claim and "lanes" in claim:
            return Entailment(0.5, 0.05, 0.45)
        word = "Lindqvist" if "Lindqvist" in claim else "lanes"
        return SUPPORTS if word in evidence and len(evidence) < 80 else NEITHER

    answer = answer_from(read(JOINED, [BRIDGE], ByClaim(rule)), Claim(text=JOINED))
    assert answer.label == "SUPPORTS"
    assert answer.parts == ()
    assert set(answer.quotes) == {
        "The Alma Bridge was built by the firm of Otto Lindqvist.",
        "Two lanes are for bicycles.",
    }


def test_a_claim_with_one_part_that_is_not_shown_stays_open() -> None:
    def rule(claim: str, evidence: str) -> Entailment:
        return SUPPORTS if "lanes" not in claim and "Lindqvist" in evidence else NEITHER

    answer = answer_from(read(JOINED, [BRIDGE], ByClaim(rule)), Claim(text=JOINED))
    assert answer.label == "NOT ENOUGH INFO"
    assert [(part.text, part.meaning) for part in answer.parts] == [
        ("The bridge was built by Lindqvist.", Meaning.SUPPORTED),
        ("The bridge has two lanes for bicycles.", Meaning.NOT_ENOUGH),
    ]
    assert answer.quotes == ("The Alma Bridge was built by the firm of Otto Lindqvist.",)  # what settles the one part


def test_a_claim_with_one_part_that_is_refuted_shows_what_refutes_it() -> None:
    def rule(claim: str, evidence: str) -> Entailment:
        if "Lindqvist" in claim and "lanes" in claim:
            return Entailment(0.2, 0.6, 0.2)
        if "Lindqvist" in claim:
            return SUPPORTS
        return REFUTES if "lanes" in evidence and len(evidence) < 80 else NEITHER

    answer = answer_from(read(JOINED, [BRIDGE], ByClaim(rule)), Claim(text=JOINED))
    assert answer.label == "REFUTES"
    assert answer.quotes == ("Two lanes are for bicycles.",)
    assert [part.meaning for part in answer.parts] == [Meaning.SUPPORTED, Meaning.REFUTED]


def test_a_part_that_is_refuted_counts_less_where_the_whole_claim_is_likely() -> None:
    parts = (Entailment(0.9, 0.05, 0.05), Entailment(0.1, 0.8, 0.1))
    against, for_ = Entailment(0.3, 0.5, 0.2), Entailment(0.7, 0.1, 0.2)
    assert with_parts(against, parts, complete=True).refutes == pytest.approx(0.8)
    assert with_parts(for_, parts, complete=True).refutes < 0.5


def test_parts_do_not_support_a_claim_that_says_more_than_they() -> None:
    claim = "The bridge was built by Lindqvist, because two lanes were needed."

    def rule(claim: str, evidence: str) -> Entailment:
        return NEITHER if "because" in claim else SUPPORTS

    assert read(claim, [BRIDGE], ByClaim(rule)).label(FEVER) == "NOT ENOUGH INFO"


def test_a_side_shows_a_text_that_the_large_model_reads_so() -> None:
    model = Scripted(lambda text: REFUTES if "1932" in text else NEITHER)
    answer = answer_from(read("The bridge opened in 1940.", [BRIDGE], model), Claim(text="The bridge opened in 1940."))
    assert answer.label == "REFUTES"
    assert answer.quotes
    assert all("1932" in quote for quote in answer.quotes)


@pytest.mark.slow
def test_pages_that_a_search_found_need_more_confidence_than_documents_and_named_pages() -> None:
    model = Scripted(lambda text: SUPPORTS if "1932" in text else NEITHER)
    page = BRIDGE.model_copy(update={"url": "https://example.org/bridge"})
    assert read("The bridge opened in 1932.", [BRIDGE], model).label(FEVER) == "SUPPORTS"
    assert read("The bridge opened in 1932.", [page], model).label(FEVER) == "NOT ENOUGH INFO"
    named = page.model_copy(update={"named": True})
    assert read("The bridge opened in 1932.", [named], model).label(FEVER) == "SUPPORTS"


@pytest.mark.parametrize(
    ("text", "url", "kind"),
    [
        (BRIDGE.text, "", "documents"),
        (BRIDGE.text, "https://example.org/bridge", "web"),
        (BRIDGE.text, "https://en.wikipedia.org/wiki/Alma_Bridge", "documents"),
        (BRIDGE.text, "https://en.m.wikipedia.org", "documents"),
        (BRIDGE.text, "https://wikipedia.org.example/bridge", "web"),
        (BRIDGE.text, "https://example.org/wikipedia.org/", "web"),
        (BRIDGE.text, "https://en.wikipedia.org@example.org/", "web"),
        ("Of 80 patients in the cohort, 12 improved (p < 0.05).", "", "abstracts"),
        ("OBJECTIVE: to see. RESULTS: mice improved.", "https://doi.org/10.1/x", "abstracts"),
        ("Patients may park behind the clinic.", "", "documents"),
    ],
)
def test_the_kind_of_a_source_is_read_from_its_address_and_its_words(text: str, url: str, kind: str) -> None:
    assert source_kind([Passage(text=text, url=url)]) == kind


GATES = Passage(text="The north gate is locked at dusk and the south gate an hour later.", document="gates")


class Believing(Scripted):
    """A large model that believes the listed claims, whatever the evidence says."""

    def __init__(self, *claims: str) -> None:
        super().__init__(lambda _: NEITHER)
        self.claims = claims

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        return [SUPPORTS if claim in self.claims else NEITHER for claim, _ in pairs]


@pytest.mark.slow
def test_support_counts_only_where_the_claim_of_another_holder_has_none() -> None:
    north, south = (f"The {side} gate is locked an hour after dusk." for side in ("north", "south"))
    assert read(north, [GATES], Believing(north)).strongest(Meaning.SUPPORTED) > 0.8
    assert read(north, [GATES], Believing(north, south)).strongest(Meaning.SUPPORTED) == 0
    assert read(north, [GATES], Believing(north, south)).label(FEVER) == "NOT ENOUGH INFO"


@pytest.mark.parametrize(("of_other", "counts"), [(0.6, True), (0.89, False), (0.97, False)])
def test_a_name_that_a_text_only_mentions_does_not_take_support_from_a_claim(of_other: float, counts: bool) -> None:
    bridge = Passage(text="The Tarn Bridge, which Ida Berg drew, was opened in May 1998.", document="bridge")
    claim, other = "The Tarn Bridge was opened in May 1998.", "The Ida Berg was opened in May 1998."
    model = Rating({claim: 0.9, other: of_other})
    assert (read(claim, [bridge], model).strongest(Meaning.SUPPORTED) > 0.8) is counts


class Rating(Scripted):
    """A large model that supports each claim as much as is said here, whatever the evidence says."""

    def __init__(self, supports: Mapping[str, float]) -> None:
        super().__init__(lambda _: NEITHER)
        self.supports = supports

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        return [Entailment(share := self.supports[claim], 0.0, 1 - share) for claim, _ in pairs]


def test_pairings_by_order_are_not_left_to_the_large_model() -> None:
    rooms = Passage(text="Rooms 4 and 9 are for the choir and the chess club, respectively.", document="rooms")
    claim = "The chess club has room 4."
    assert read(claim, [rooms], Believing(claim)).strongest(Meaning.SUPPORTED) == 0


def test_nothing_to_read_is_open() -> None:
    assert (
        read("The bridge opened in 1932.", [Passage(text="#", document="1")], Scripted(lambda _: SUPPORTS)).spans == ()
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package without its models."""
    folder = tmp_path / "redargue_reader"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    write_manifest(folder, {side: [*getattr(WEIGHTS, side), 0.0, 0.0] for side in Weights._fields})
    return folder


def write_manifest(folder: Path, aggregation: dict[str, Any]) -> None:
    least = {"documents": 0.63, "abstracts": 0.7, "web": 0.8}
    manifest = {"sha256": {GRAPH: "a1b2c3d4e5f6a7b8"}, "aggregation": aggregation, "least": least}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.slow
def test_an_installed_package_reads_and_is_part_of_the_identity(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in PACKAGED.iterdir():
        if path.is_file() and path.name != MANIFEST:
            shutil.copy(path, package)
    monkeypatch.setattr("redargue.nli.backend.careful_weights", lambda: read_weights(package))
    backend = EmbeddedBackend(threads=1)
    assert isinstance(backend.reader, CarefulReader)
    assert "careful a1b2c3d4e5f6" in backend.identity
    answer = answer_from(backend.reader.read("The bridge opened in 1932.", [BRIDGE]), Claim(text="It opened in 1932."))
    assert answer.label in FEVER.names
    assert "careful" not in EmbeddedBackend(threads=1, careful=False).identity


@pytest.mark.parametrize(
    "aggregation",
    [{}, {"supports": [1.0], "refutes": [1.0]}, {"supports": ["x"] * 9, "refutes": [0.0] * 9}, {"supports": 3}],
)
def test_a_package_that_does_not_fit_says_what_to_install(package: Path, aggregation: dict[str, Any]) -> None:
    write_manifest(package, aggregation)
    with pytest.raises(UsageError) as refused:
        read_weights(package)
    assert str(package / "manifest.json") in refused.value.what
    assert "redargue-reader" in refused.value.hint


def test_a_package_without_its_model_says_what_to_install(package: Path) -> None:
    with pytest.raises(UsageError, match=r"no file 'reader\.onnx'") as refused:
        read_weights(package).model(threads=1)
    assert "redargue-reader" in refused.value.hint


def test_a_row_contradicts_no_value_that_another_passage_states() -> None:
    table = Passage(text="Site: Tarn; Staff: 52; Opened: 1987.\nSite: Wick; Staff: 61; Opened: 2001.", title="Sites")
    later = Passage(text="The report covers 2023. Since then the staff at Tarn has grown to 61.")
    unrelated = Passage(text="Site: Esk; Staff: 61; Opened: 1995.\nSite: Dunn; Staff: 12; Opened: 1996.")
    reader = Reader(shared(1), Scripted(lambda _: REFUTES))
    (found,) = reader.read("Tarn employs 61 people.", [table]).comparisons
    assert [(each.claim, each.evidence) for each in found.differences] == [("61", "52")]
    assert reader.read("Tarn employs 61 people.", [table, unrelated]).comparisons
    assert not reader.read("Tarn employs 61 people.", [table, later]).comparisons
