from __future__ import annotations

import json

from redargue.service.proxy.contexts import contexts_of
from redargue.service.proxy.settings import RequestContext


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
    found = contexts_of(body, given)
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
    assert [passage.text for passage in contexts_of(body, ())] == [
        "Bees have six legs.", "Bees sting.", "Bees fly.", "Bees are insects."
    ]  # fmt: skip


def test_a_tools_json_becomes_lines_of_its_values() -> None:
    rows = [
        {"title": "Bees", "content": "Bees have\nsix legs.", "score": 0.5},
        {"content": "They make honey in hives."},
    ]
    body = {"messages": [{"role": "tool", "content": json.dumps(rows)}]}
    (passage,) = contexts_of(body, ())
    assert passage.text == "title: Bees\nBees have\nsix legs.\nscore: 0.5\nThey make honey in hives."


def test_a_document_occurs_once_and_one_without_words_not_at_all() -> None:
    body = {"messages": [{"role": "tool", "content": "Bees fly."}, {"role": "tool", "content": "…"}]}
    assert [passage.text for passage in contexts_of(body, ["Bees fly."])] == ["Bees fly."]
