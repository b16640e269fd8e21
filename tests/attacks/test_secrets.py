"""Keys that services echo in any spelling, keys that are short, and files that other users could read."""

from __future__ import annotations

import html
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from redargue.cli.app import run
from redargue.cluster.store import open_ledger
from redargue.net.secrets import HIDDEN, Secrets

KEYS = {
    "letters and digits": "sk-proj-4f9Qx7Lm2Zt8Rb1Vw6Ks",
    "signs": "tvly-a/b+c=d&e?f#1234567890",
    "quotation marks": "key-\"quoted\"-'1234567890'",
    "back slashes": "key\\with\\slashes\\1234567890",
    "other scripts": "schlüssel-ключ-1234567890",
    "long": "eyJhbGciOiJIUzI1NiJ9." * 8 + "Zm9vYmFy",
}
ECHOES: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "JSON": lambda key: json.dumps(key)[1:-1],
    "JSON twice": lambda key: json.dumps(json.dumps(key)[1:-1])[1:-1],
    "JSON, every character": lambda key: "".join(f"\\u{ord(char):04x}" for char in key),
    "JSON, every character, upper case": lambda key: "".join(f"\\u{ord(char):04X}" for char in key),
    "JSON, first character": lambda key: f"\\u{ord(key[0]):04x}{json.dumps(key[1:])[1:-1]}",
    "JSON, one in the middle": lambda key: (
        f"{json.dumps(key[:9])[1:-1]}\\u{ord(key[9]):04x}{json.dumps(key[10:])[1:-1]}"
    ),
    "JSON of JSON, every character": lambda key: "".join(f"\\\\u{ord(char):04x}" for char in key),
    "percent": lambda key: quote(key, safe=""),
    "percent, every character": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "HTML": lambda key: html.escape(key),
    "HTML, every character": lambda key: "".join(f"&#{ord(char)};" for char in key),
    "HTML, hexadecimal": lambda key: "".join(f"&#x{ord(char):x};" for char in key),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_key_is_hidden_however_a_service_spells_it(key: str, echo: Callable[[str], str]) -> None:
    text = f'{{"error": "invalid key: {echo(key)}; try again"}}'
    hidden = Secrets([key]).hide(text)
    assert HIDDEN in hidden
    assert hidden == f'{{"error": "invalid key: {HIDDEN}; try again"}}'


SHORT = ("hunter2", "letmein", "abcd", "p@ss", "1234567")
NAMES: tuple[str, ...] = (
    "OPENAI_API_KEY",
    "REDARGUE_API_KEY",
    "TAVILY_API_KEY",
    "SERPER_API_KEY",
    "GOOGLE_CSE_API_KEY",
    "NCBI_API_KEY",
)
NAMES += ("OPENALEX_API_KEY", "REDARGUE_MILVUS_TOKEN", "REDARGUE_MCP_OURS_TOKEN", "PGPASSWORD", "GOOGLE_API_KEY")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", SHORT)
def test_a_short_key_of_a_known_variable_is_hidden(name: str, key: str) -> None:
    secrets = Secrets.from_environment({name: key})
    for text in (f"bad key {key}", f'{{"key":"{key}"}}', f"key={key}&a=b", "".join(f"\\u{ord(c):04x}" for c in key)):
        assert key not in secrets.hide(text)
        assert HIDDEN in secrets.hide(text)
    assert secrets.hide(f"x{key}x") == f"x{key}x"  # a part of a word says nothing


@pytest.mark.parametrize("key", ["ollama", "none", "EMPTY", "lm-studio", "x", "sk", ""])
def test_what_servers_without_keys_are_given_garbles_no_text(key: str) -> None:
    secrets = Secrets.from_environment({"OPENAI_API_KEY": key})
    assert secrets.hide("ollama: none of EMPTY x sk lm-studio") == "ollama: none of EMPTY x sk lm-studio"


def test_a_variable_of_another_program_hides_no_plain_word() -> None:
    assert Secrets.from_environment({"KEYBOARD_LAYOUT_KEY": "german"}).hide("a german text") == "a german text"


def modes(folder: Path) -> dict[str, str]:
    paths = [folder, *folder.rglob("*")]
    return {str(path): oct(stat.S_IMODE(path.stat().st_mode)) for path in paths if not path.is_symlink()}


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.slow
@pytest.mark.usefixtures("_open_umask")
def test_runs_corpora_memories_and_ledgers_are_their_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redargue.memory.memory import open_memory
    from redargue.retrieval.corpus.index import open_corpus

    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path / "new" / "home"))
    options = ["--method", "single-reader", "--store", "starter", "-q"]
    assert run(["check", "Bees are insects.", *options]) == 0
    Path("claims.csv").write_text("claim\nBees are insects.\n")
    assert run(["batch", "claims.csv", "-o", "new/batch", *options]) == 0
    open_corpus(tmp_path / "new" / "corpora" / "a.db", write=True).close()
    open_memory(tmp_path / "new" / "memories" / "b.db", write=True).close()
    open_ledger(tmp_path / "new" / "c.db").close()
    found = modes(tmp_path / "new")
    assert len(found) > 12
    assert {mode for path, mode in found.items() if not Path(path).is_dir()} == {"0o600"}
    assert {mode for path, mode in found.items() if Path(path).is_dir()} == {"0o700"}


def test_one_workspace_lists_no_name_of_another(capfd: pytest.CaptureFixture[str]) -> None:
    from redargue.memory.memory import open_memory

    for name in ("acme-merger", "default"):
        open_memory("memory.db", workspace=name, write=True).close()
    for arguments in ([], ["--json"]):
        assert run(["memory", "ls", "--memory", "memory.db", *arguments]) == 0
        out, err = capfd.readouterr()
        assert "acme-merger" not in out + err
    from redargue.memory.memory import Memory

    assert not hasattr(Memory, "workspaces")
