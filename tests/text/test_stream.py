"""A text that is checked while it arrives: the same sentences however it is cut, exact offsets, verdicts in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redargue
from redargue.backends.scripted import ScriptedBackend
from redargue.caveats import Unchecked, UncheckedReason
from redargue.errors import BadReply, UsageError
from redargue.tasks.extract import ExtractClaims
from redargue.text.grounder import Grounder, Segmenter
from redargue.text.segment import MAX_LENGTH, Sentence, sentences_of
from support.debates import script
from support.growth import grows_with_the_square

BRIDGE = "The bridge at Orvell was opened in 1889. It is 3.5 km long. Its architect was Dr. A. Vidal."
PIECES = (
    "Dr. Smith left at 3.5 p.m. yesterday.",
    "It costs $4.99, i.e. less than in the U.S. or the U.K. today.",
    "He said: “No.” Then he left!",
    "Is it true? Yes... it is.",
    "The Ritz (opened 1906) is old. It’s near St. James's Park, No. 5.",
    "# A heading\n",
    "- an item\n- another item\n",
    "1. first\n2. second\n",
    "\n\n",
    "\n",
    "Zoë ate 😀 at Café Ältere. 1,000.50 is a number.",
    "See e.g. Fig. 3 and www.example.org. It helps.",
    "An unfinished",
)
GROUND = redargue.RunSpec(method="single-reader")


def sentences(chunks: list[str] | list[bytes]) -> list[tuple[int, int, str]]:
    segmenter = Segmenter()
    for chunk in chunks:
        segmenter.add(chunk)
    segmenter.end()
    return [(sentence.start, sentence.end, sentence.text) for sentence in segmenter.sentences]


@pytest.mark.slow
@pytest.mark.parametrize("piece", [".", '."', "\n"])
def test_a_model_that_repeats_itself_costs_little(piece: str) -> None:
    def read(repeated: str) -> None:
        assert sentences(["Bees fly. They sting. ", *repeated.split("|")])

    assert not grows_with_the_square(read, f"{piece}|" * 12_000)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.lists(st.integers(1, 12), min_size=1))
def test_the_sentences_do_not_depend_on_where_the_stream_is_cut(pieces: list[str], sizes: list[int]) -> None:
    text = " ".join(pieces)
    whole = [(sentence.start, sentence.end, sentence.text) for sentence in sentences_of(text)]
    chunks, raw, at = [], [], 0
    data = text.encode()
    for number in range(len(text) + 1):
        size = sizes[number % len(sizes)]
        chunks.append(text[at : at + size])
        raw.append(data[at : at + size])
        at += size
    raw.append(data[at:])
    assert sentences(chunks) == whole
    assert sentences(raw) == whole


@pytest.mark.parametrize(
    ("so_far", "complete"),
    [
        ("He met Dr.", 0),
        ("He met Dr. ", 0),
        ("It costs 3.", 0),
        ("It is in the U.S. It", 0),  # the next word may still be part of the sentence
        ("It was open. The br", 0),
        ("It was open. The bridge was", 1),
        ("It was open.\n\n", 1),
        ("It was open.\n\nThe bridge was 3.", 1),
    ],
)
def test_half_a_sentence_is_never_complete(so_far: str, complete: int) -> None:
    segmenter = Segmenter()
    found = [sentence for char in so_far for sentence in segmenter.add(char)]
    assert len(found) == complete


@pytest.mark.parametrize("text", ["The bridge opened in 1889. " * 100, "word. " * 450])
def test_a_long_paragraph_is_split_in_time_that_grows_with_its_length(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(part: str) -> tuple[Sentence, ...]:
        read.append(len(part))
        return sentences_of(part)

    monkeypatch.setattr("redargue.text.grounder.sentences_of", counted)
    chunks = [text[at : at + 4] for at in range(0, len(text), 4)]
    assert sentences(chunks) == [(each.start, each.end, each.text) for each in sentences_of(text)]
    assert sum(read) < 60 * len(text)


def test_a_character_may_be_cut_in_utf_8_and_in_utf_16() -> None:
    assert [text for *_, text in sentences([bytes([byte]) for byte in "Zoë is 😀 now.".encode()])] == ["Zoë is 😀 now."]
    assert [text for *_, text in sentences(["Zoë is \ud83d", "\ude00 now."])] == ["Zoë is 😀 now."]
    for cut in (["Zo\ud83d"], [b"Zo" + "ë".encode()[:1]]):
        with pytest.raises(UsageError, match="ends within a character"):
            sentences(cut)


def test_bytes_that_are_not_utf_8_what_no_text_contains_and_an_endless_text_are_refused() -> None:
    with pytest.raises(UsageError, match=r"control character '\\x05' at position 1 \(after character 3\)"):
        sentences(["abc", "d\x05e"])
    with pytest.raises(UsageError, match="a lone surrogate"):
        sentences(["a\udfff b"])
    with pytest.raises(UsageError, match=r"b'\\xff.*' is not UTF-8 \(after character 3\)"):
        sentences([b"abc", b"\xffabc"])
    with pytest.raises(UsageError, match=r"b'\\xc3\(cd' is not UTF-8 \(after character 2\)"):
        sentences([b"ab\xc3", b"(cdef"])
    with pytest.raises(UsageError, match="neither text nor bytes: None"):
        sentences([None])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="more than 200,000 characters"):
        sentences(["x" * MAX_LENGTH, "x"])


async def written(text: str, size: int = 3) -> AsyncIterator[str]:
    for at in range(0, len(text), size):
        await asyncio.sleep(0)
        yield text[at : at + size]


@pytest.mark.anyio
async def test_a_stream_has_the_verdicts_of_the_whole_text_with_its_offsets() -> None:
    text = BRIDGE + " In my opinion it is lovely.\n\nThe bridge at Orvell was opened in 1931."
    report = await redargue.ground(text, contexts=[BRIDGE], spec=GROUND)
    streamed = [claim async for claim in redargue.check_stream(written(text), [BRIDGE], spec=GROUND)]
    assert [(claim.start, claim.end) for claim in streamed] == [(claim.start, claim.end) for claim in report.claims]
    assert all(text[claim.start : claim.end] == claim.stated for claim in streamed)
    assert [claim.verdict.label for claim in streamed] == [claim.verdict.label for claim in report.claims]
    assert {claim.verdict.label for claim in streamed} >= {"SUPPORTS", "REFUTES"}
    assert isinstance(streamed[0], redargue.CheckedClaim)


@pytest.mark.anyio
async def test_a_verdict_comes_before_the_text_has_ended() -> None:
    judged = asyncio.Event()

    async def waiting() -> AsyncIterator[str]:
        yield "The bridge at Orvell was opened in 1889. It is 3."
        async with asyncio.timeout(60):
            await judged.wait()
        yield "5 km long."

    stated = []
    async for claim in redargue.check_stream(waiting(), BRIDGE, spec=GROUND):
        stated.append(claim.stated)
        judged.set()
    assert stated == ["The bridge at Orvell was opened in 1889.", "It is 3.5 km long."]


@pytest.mark.anyio
async def test_chunks_may_be_a_list_of_bytes_and_contexts_an_open_grounder() -> None:
    with Grounder(BRIDGE, spec=GROUND) as grounder:
        for _ in range(2):
            found = [
                claim async for claim in redargue.check_stream([BRIDGE[:7].encode(), BRIDGE[7:40].encode()], grounder)
            ]
            assert [claim.verdict.label for claim in found] == ["SUPPORTS"]
        with pytest.raises(UsageError, match="a Grounder has its options"):
            await anext(redargue.check_stream(["x"], grounder, method="nli"))


@pytest.mark.anyio
async def test_an_unread_sentence_is_not_passed_over() -> None:
    german = "Die Brücke wurde im Jahr 1931 eröffnet und ist sehr lang geworden."
    (found,) = [claim async for claim in redargue.check_stream([german], BRIDGE, spec=GROUND)]
    assert (found.stated, found.verdict.label) == (german, None)
    assert found.verdict.unchecked == Unchecked(reason=UncheckedReason.LANGUAGE, languages=("de",))


@pytest.mark.anyio
async def test_leaving_the_loop_and_a_failing_stream_end_what_runs() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "The bridge at Orvell was opened in 1889. "
                await asyncio.sleep(0)
        finally:
            closed.set()

    verdicts = redargue.check_stream(endless(), BRIDGE, spec=GROUND)
    async for _ in verdicts:
        break
    await verdicts.aclose()
    async with asyncio.timeout(60):
        await closed.wait()

    async def failing() -> AsyncIterator[str]:
        yield "The bridge at Orvell was opened in 1889. It is"
        raise ConnectionError("the model went away")

    with pytest.raises(ConnectionError, match="went away"):
        async for _ in redargue.check_stream(failing(), BRIDGE, spec=GROUND):
            pass


@pytest.mark.slow
@pytest.mark.anyio
async def test_no_check_outlives_a_stream_that_is_left_while_others_wait_for_a_place() -> None:
    text = [f"The bridge number {number} at Orvell was opened in 1889. " for number in range(80)]
    before = asyncio.all_tasks()
    verdicts = redargue.check_stream(text, BRIDGE, spec=GROUND)
    async for _ in verdicts:
        break
    await verdicts.aclose()
    assert asyncio.all_tasks() == before


@pytest.mark.anyio
async def test_a_failed_extraction_is_an_error_not_silence() -> None:
    def unreadable(*_: object) -> object:
        raise BadReply("unreadable", raw="")

    backend = ScriptedBackend({**script(), ExtractClaims: unreadable})
    with pytest.raises(BadReply):
        async for _ in redargue.check_stream(["It was lit in 1871."], "It was lit.", backend=backend):
            pass
