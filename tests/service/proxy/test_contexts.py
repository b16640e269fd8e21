from __future__ import annotations

import json

import pytest

from redargue.service.proxy.contexts import contexts_of
from redargue.service.proxy.settings import MAX_CONTEXT, RequestContext


def test_contexts_are_given_then_those_of_tools_then_the_delimited_parts_of_instructions() -> None:
    body = {
        "messages": [
            {"role": "system", "content": "Answer from the <context>Bees are insects.</context> only."},
            {"role": "user", "content": "<context>Bees are birds.</context> Are they?"},
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "Bees have six legs."}]},
            {"role": "developer", "content": [{"type": "text", "text": "Documents:\nBees make honey.\n\nQuestion: ?"}]},
        ]
    }
    given: list[str | RequestContext] = ["Bees fly.", RequestContext(text="Bees sting.", url="https://bees.example/")]
    found = contexts_of(body, given).documents
    assert [(passage.text, passage.document) for passage in found] == [
        ("Bees fly.", "context-1"),
        ("Bees sting.", "context-2"),
        ("Bees have six legs.", "context-3"),
        ("Bees are insects.", "context-4"),
        ("Bees make honey.", "context-5"),
    ]
    assert found[1].url == "https://bees.example/"


def test_responses_have_them_in_instructions_and_outputs_of_functions() -> None:
    body = {
        "instructions": 'Keep to """Bees are insects."""',
        "input": [
            {"type": "function_call_output", "call_id": "c", "output": json.dumps({"text": "Bees have six legs."})},
            {"type": "mcp_call", "name": "look_up", "arguments": "{}", "output": "Bees sting."},
            {"type": "file_search_call", "results": [{"file_id": "f", "text": "Bees fly."}, {"text": None}]},
            {"type": "file_search_call", "results": None},
        ],
    }
    assert [passage.text for passage in contexts_of(body, ()).documents] == [
        "Bees have six legs.", "Bees sting.", "Bees fly.", "Bees are insects."
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "question"),
    [
        ({"input": "Are bees birds?"}, "Are bees birds?"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": '*"Honey?"*\n'}]}]}, '*"Honey?'),
        ({"messages": [{"role": "user", "content": "Are they?"}, {"role": "tool", "content": "Yes."}]}, "Are they?"),
        ({"messages": [{"role": "user", "content": "Are they?"}, {"role": "user", "content": "Tell me."}]}, ""),
        ({"messages": [{"role": "assistant", "content": "Are they?"}]}, ""),
        ({"messages": [{"role": "user", "content": None}], "input": 5}, ""),
    ],
)
def test_the_last_message_of_the_user_may_be_a_question(body: dict[str, object], question: str) -> None:
    assert contexts_of(body, ()).question == question


def test_a_tools_json_becomes_lines_of_its_values() -> None:
    rows = [
        {"title": "Bees", "content": "Bees have\nsix legs.", "score": 0.5},
        {"content": "They make honey in hives."},
    ]
    body = {"messages": [{"role": "tool", "content": json.dumps(rows)}]}
    (passage,) = contexts_of(body, ()).documents
    assert passage.text == "title: Bees\nBees have\nsix legs.\nscore: 0.5\nThey make honey in hives."


def test_a_document_occurs_once_and_one_without_words_not_at_all() -> None:
    body = {"messages": [{"role": "tool", "content": "Bees fly."}, {"role": "tool", "content": "…"}]}
    assert [passage.text for passage in contexts_of(body, ["Bees fly."]).documents] == ["Bees fly."]


def test_a_given_document_is_called_by_its_place_also_after_one_that_is_not_read() -> None:
    body = {"messages": [{"role": "tool", "content": "Bees sting."}, {"role": "tool", "content": "Bees fly."}]}
    found = contexts_of(body, [" ", "Bees fly.", "Bees fly.", RequestContext(text="Bees buzz.")]).documents
    assert [(passage.document, passage.text) for passage in found] == [
        ("context-2", "Bees fly."), ("context-4", "Bees buzz."), ("context-5", "Bees sting.")
    ]  # fmt: skip


def test_of_too_many_documents_the_earliest_results_of_tools_are_left_out_and_counted() -> None:
    instructions = {"role": "system", "content": "Answer from <context>Bees are insects.</context>"}
    results = [{"role": "tool", "content": f"Hive {number} has bees."} for number in range(60)]
    again = {"role": "tool", "content": "Hive 0 has bees."}  # the agent read it once more
    found = contexts_of({"messages": [instructions, *results, again]}, ["Bees fly."])
    texts = [passage.text for passage in found.documents]
    assert texts == ["Bees fly.", *(f"Hive {number} has bees." for number in [*range(13, 60), 0]), "Bees are insects."]
    assert found.unread == {"left_out": 12}


def test_a_long_document_is_read_to_its_limit_and_counted() -> None:
    body = {"messages": [{"role": "tool", "content": "bee " * (MAX_CONTEXT // 4) + "Bees fly."}, {"role": "tool"}]}
    found = contexts_of(body, ())
    assert ([len(passage.text) for passage in found.documents], found.unread) == ([MAX_CONTEXT], {"cut": 1})
