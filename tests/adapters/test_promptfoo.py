"""What promptfoo's Python assertion and its webhook get."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from redargue.adapters.promptfoo import answer_text, contexts_in, get_assert
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.service.app import create_app
from support.serving import settings

BRIDGE = "The bridge at Orvell opened in 1889. It is 330 metres long."
WRONG = BRIDGE.replace("330", "500")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("output", "variables", "passes", "score", "reason"),
    [
        (BRIDGE, {"contexts": [BRIDGE]}, True, 1.0, "2/2 claims supported"),
        (WRONG, {"context": BRIDGE}, False, 0.5, "1/2 claims supported\nREFUTES [37:59]"),
        (BRIDGE, {}, False, 0.0, "unchecked: there is no context"),
        ("Hello!", {"contexts": [BRIDGE]}, False, 0.0, "no claim found"),
        (
            "Die Brücke wurde im Jahr 1889 eröffnet.",
            {"contexts": [BRIDGE]},
            False,
            0.0,
            "unchecked: no claim was checked",
        ),
    ],
)
def test_an_output_passes_only_where_its_claims_are_supported(
    output: str, variables: dict[str, Any], passes: bool, score: float, reason: str
) -> None:
    grade = get_assert(output, {"prompt": "", "vars": variables})
    assert (grade["pass"], grade["score"]) == (passes, score)
    assert str(grade["reason"]).startswith(reason)


@pytest.mark.slow
def test_the_assertion_is_configured_in_the_test() -> None:
    config = {"context": "docs", "min_supported": 0.5}
    assert get_assert(WRONG, {"vars": {"docs": BRIDGE}, "config": config})["pass"] is True
    wrong = get_assert(BRIDGE, {"vars": {"docs": BRIDGE}, "config": {"context": "docs", "method": "no-such-method"}})
    assert wrong["pass"] is False
    assert "no-such-method" in str(wrong["reason"])


def test_documents_are_texts_or_objects_with_a_text() -> None:
    objects: list[dict[str, Any]] = [{"text": "b"}, {"page_content": "c"}, {"pageContent": "d"}, {"body": "e"}]
    objects += [{"document": {"content": "f"}}, {"text": "Terms", "content": "Dogs travel free."}, {"text": None}, {}]
    documents = ["a", *objects, [["g"], None, ""], '{"id": 1, "body": "h i j k"}', "a"]
    read = ["a", "b", "c", "d", "e", "f", "Terms\n\nDogs travel free.", "g", "id: 1\nh i j k"]
    assert contexts_in({"documents": documents}) == read


def test_all_variables_with_documents_are_read_unless_one_is_named() -> None:
    variables = {"context": "The bridge opened in 1998.", "documents": ["It is 200 m long."], "notes": "b"}
    assert contexts_in(variables) == ["The bridge opened in 1998.", "It is 200 m long."]
    assert contexts_in(variables, "documents") == ["It is 200 m long."]


def test_a_document_keeps_its_title() -> None:
    given = ["a", {"title": "Basic plan", "text": "The fee is 5 euros."}]
    titled = Passage(text="The fee is 5 euros.", title="Basic plan", document="context-2")
    assert contexts_in({"contexts": given}) == ["a", titled]


@pytest.mark.parametrize(
    ("documents", "what"),
    [
        (["a", {"metadata": {}, "words": "b"}], r"contexts\[1\] is an object with the names metadata, words, and none"),
        ([{"content": [{"text": "a"}, {"image_url": "b"}]}], r"contexts\[0\]\.content\[1\] is an object .* image_url"),
        (["a", 5], r"contexts\[1\] is not a document: 5"),
        ([[[[[[[["a"]]]]]]]], r"contexts.* is nested too deeply"),
    ],
)
def test_a_value_without_a_known_text_is_refused_by_its_name(documents: object, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        contexts_in({"contexts": documents})


def test_documents_in_too_many_objects_are_refused() -> None:
    nested: dict[str, Any] = {"text": "a"}
    for _ in range(2_000):
        nested = {"text": nested}
    with pytest.raises(UsageError, match="nested too deeply"):
        contexts_in({"documents": [nested, "b"]})


def test_an_output_that_is_not_a_text_is_its_values() -> None:
    sentences = BRIDGE.split(". ")  # promptfoo sends what a transform made of the output
    assert answer_text({"answer": f"{sentences[0]}.", "more": [sentences[1]]}) == f"{sentences[0]}.\n{sentences[1]}"


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(UsageError, match=r"'half' is not a number") as caught:
        get_assert(BRIDGE, {"vars": {"context": BRIDGE}, "config": {"min_supported": "half"}})
    assert caught.value.where == "config.min_supported"


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_webhook_answers_in_promptfoos_format() -> None:
    application = create_app(settings())
    transport = httpx2.ASGITransport(application)
    variables = {"answer": WRONG, "docs": [{"text": BRIDGE}]}  # a request of promptfoo 0.121.20
    body = {"output": WRONG, "context": {"prompt": WRONG, "vars": variables, "provider": "new field"}}
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        for parameters in ({}, {"context": "docs"}):
            answer = (await http.post("/v1/promptfoo", json=body, params=parameters)).json()
            assert set(answer) == {"pass", "score", "reason"}
            assert answer["pass"] is False
            late = answer["reason"] == "unchecked: the check took longer than 4.5 s"  # on a very busy machine
            assert late or answer["reason"].startswith("1/2 claims" if parameters else "unchecked: there is no context")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("documents", "reason"),
    [
        ([f"Bridge {number} is closed." for number in range(51)], "51 documents are more than 50; join some of them"),
        ([{"words": BRIDGE}], "contexts[0] is an object with the names words, and none of text, content"),
    ],
)
async def test_the_webhook_passes_no_output_whose_documents_it_does_not_read(documents: list[Any], reason: str) -> None:
    application = create_app(settings())
    transport = httpx2.ASGITransport(application)
    body = {"output": BRIDGE, "context": {"vars": {"contexts": documents}}}
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        answer = (await http.post("/v1/promptfoo", json=body)).json()
    assert (answer["pass"], answer["score"]) == (False, 0)
    assert answer["reason"].startswith(f"unchecked: UsageError: {reason}")
