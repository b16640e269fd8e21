"""Downloads a model's files from the Hugging Face hub: weights in safetensors only, and no code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from redargue.errors import UsageError
from redargue.nli.reader_spec import FILES, WEIGHT_FILES
from redargue.registry import install

HHEM_FOUNDATION = "google/flan-t5-base"  # has HHEM-2.1-Open's configuration and tokenizer
MODEL_FILES = FILES + WEIGHT_FILES["transformers"]
_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def is_hub_name(source: str) -> bool:
    """Whether a source is OWNER/NAME on the hub; a folder of that name is preferred."""
    return not Path(source).expanduser().is_dir() and _NAME.fullmatch(source) is not None


def download(name: str, revision: str = "", *, offline: bool = False, files: tuple[str, ...] = MODEL_FILES) -> Path:
    """The folder of a model's snapshot in the hub's cache; its name is the commit.

    Raises:
        UsageError: the package is not installed, or the model cannot be downloaded or, offline, is not in the cache.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise UsageError(
            f"{name!r} is not a folder, and a model hub needs the extra transformers: {error}",
            hint=f"{install('transformers')}, or name a folder",
        ) from None
    options: dict[str, Any] = {"allow_patterns": list(files), "ignore_patterns": ["*/*"]}
    options |= {"revision": revision or None, "local_files_only": offline}
    try:
        return Path(snapshot_download(name, **options))
    except Exception as error:  # several packages raise their own
        why = str(error).strip().partition("\n")[0][:300]
        problem = "was not downloaded before" if offline else "cannot be downloaded"
        raise UsageError(
            f"{name!r} is not a folder and {problem}: {why}",
            where="--offline" if offline else "",
            hint=f"on a machine with a network: hf download {name} --local-dir FOLDER; then add the folder",
        ) from None
