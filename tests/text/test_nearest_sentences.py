"""The sentences a summary's claims are read against."""

from __future__ import annotations

from redargue.evidence import Passage
from redargue.nli.backend import EmbeddedBackend
from redargue.text.verification import nearest_sentences

TOWN = (
    "Orvell lies on the Sund. The bridge at Orvell was opened in 1889. It is 250 metres long. Bread is baked there. "
    "The mayor keeps bees. The bridge was repaired in 1950."
)


def test_the_nearest_sentences_stand_verbatim_in_their_document_and_neighbours_are_one_passage() -> None:
    documents = [Passage(text="Nobody has ever been to Port Veria.", document="b"), Passage(text=TOWN, document="a")]
    bridge, bees = nearest_sentences(
        ["The bridge at Orvell was opened in 1889.", "Who keeps bees?"], documents, EmbeddedBackend().embedder, most=3
    )
    for passage in (*bridge, *bees):
        assert passage.text in TOWN
        assert passage.text == TOWN[passage.start : passage.start + len(passage.text)]
    assert "The bridge at Orvell was opened in 1889." in bridge[0].text or "opened in 1889" in bridge[1].text
    assert any("mayor keeps bees" in each.text for each in bees)
    assert sum(each.text.count(".") for each in bridge) == 3
    assert [each.rank for each in bridge] == list(range(1, len(bridge) + 1))


def test_of_few_sentences_all_are_read_and_of_none_nothing() -> None:
    encoder = EmbeddedBackend().embedder
    (found,) = nearest_sentences(["The bridge is long."], [Passage(text=TOWN)], encoder)
    assert " ".join(each.text for each in found) == TOWN
    assert nearest_sentences(["The bridge is long."], [Passage(text=" … ")], encoder) == [()]
    assert nearest_sentences([], [Passage(text=TOWN)], encoder) == []


def test_the_reader_reads_all_nearest_sentences() -> None:
    backend = EmbeddedBackend()
    done = "planned drawn priced praised painted lit cleaned named measured blessed".split()
    document = Passage(text=" ".join(f"The Skerry bridge was {word} by the council." for word in done))
    claim = "The Skerry bridge was blessed by the council."
    (found,) = nearest_sentences([claim], [document], backend.embedder)
    read = {span.cited[0].quote for span in backend.reader.read(claim, found).spans}
    assert all(any(word in quote for quote in read) for word in done)
    assert len(found) == 3
