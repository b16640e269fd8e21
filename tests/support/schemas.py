"""The published JSON schemas, beside the models that they describe."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import BaseModel

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def assert_published(name: str, model: type[BaseModel]) -> None:
    """Compares a model with its schema; ``REDARGUE_GOLDEN=write`` accepts a change."""
    made = json.dumps(model.model_json_schema(mode="serialization"), indent=1, ensure_ascii=False) + "\n"
    path = SCHEMAS / f"{name}.json"
    if os.environ.get("REDARGUE_GOLDEN") == "write":
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made
