"""The checked-in OpenAPI document, and that the service answers as it says."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from redargue.service.app import create_app
from redargue.service.proxy.settings import CheckOptions
from support.serving import Service

DOCUMENT = Path(__file__).parents[2] / "docs" / "schemas" / "openapi.v1.json"
EXAMPLES = 40  # of each operation


def test_the_document_is_that_of_the_service() -> None:
    """``REDARGUE_GOLDEN=write`` accepts a change; read the diff."""
    made = json.dumps(create_app().openapi(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("REDARGUE_GOLDEN") == "write":
        DOCUMENT.write_text(made, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == made


def test_every_operation_documents_its_errors_as_problems() -> None:
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        if path.startswith(("/v1/chat", "/v1/responses", "/v1/models")):
            continue  # OpenAI's shape
        for operation in operations.values():
            errors = {status: each for status, each in operation["responses"].items() if status >= "400"}
            assert "422" in errors, path
            for status, each in errors.items():
                kinds = set(each.get("content", {}))
                assert kinds <= {"application/problem+json", "application/json"}, (path, status)
                assert path == "/readyz" or kinds == {"application/problem+json"}, (path, status)


def test_the_routes_of_openais_api_document_the_key_the_body_and_errors_in_its_shape() -> None:
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    schemas = document["components"]["schemas"]
    bodies = {"/v1/chat/completions": "messages", "/v1/responses": "input", "/v1/models": None}
    for path, field in bodies.items():
        (operation,) = document["paths"][path].values()
        assert operation["security"] == document["paths"]["/v1/checks"]["post"]["security"]
        errors = {status: each for status, each in operation["responses"].items() if status.isdigit() and status >= "4"}
        assert errors.keys() >= {"400", "401", "402", "413", "500", "502", "503"}
        for each in errors.values():
            (content,) = each["content"].values()
            assert content["schema"] == {"$ref": "#/components/schemas/ProxyErrorBody"}
        assert ("requestBody" in operation) == (field is not None)
        if field:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            body = schemas[schema["$ref"].rpartition("/")[2]]
            assert body["additionalProperties"] is True
            assert {field, "redargue"} <= body["properties"].keys()
    assert set(schemas["ProxyError"]["required"]) == {"message", "type"}
    assert schemas["CheckOptions"]["properties"].keys() == CheckOptions.model_fields.keys()
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert references <= schemas.keys()


@pytest.mark.slow
@pytest.mark.extra
def test_generated_requests_get_documented_answers_and_no_server_error(tmp_path: Path) -> None:
    schemathesis: Any = pytest.importorskip("schemathesis", reason="needs schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    schema = schemathesis.openapi.from_dict(json.loads(DOCUMENT.read_text(encoding="utf-8")))
    tried = 0
    with Service(tmp_path / "home") as service:

        def ask(case: Any) -> None:
            nonlocal tried
            tried += 1
            case.call_and_validate(base_url=service.url, checks=checks, timeout=300)

        chosen = settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        without = "/events$|^/v1/chat|^/v1/responses|^/v1/models"  # a stream; and there is no upstream
        for result in schema.exclude(path_regex=without).get_all_operations():
            generated: Any = chosen(given(case=result.ok().as_strategy())(ask))
            generated()
    assert tried >= 10 * EXAMPLES
