"""What any file can be instead of what was expected."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from redargue.claims import FEVER
from redargue.errors import UsageError
from redargue.inputs.rows import Row, keyed_rows, printable_value, rows


def written(folder: Path, content: str | bytes, name: str = "f.jsonl") -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize(
    "content",
    ['{"a": 1}\n\n{"a": 2}\n', '[{"a": 1},\n {"a": 2}]', '\ufeff{"a": 1}\r\n\r\n{"a": 2}', '\n [{"a": 1}, {"a": 2}]\n'],
)
@pytest.mark.parametrize("name", ["f.jsonl", "f.json", "f.jsonl.gz", "f.json.gz"])
def test_json_lines_and_lists_are_told_apart_by_content_packed_or_not(tmp_path: Path, content: str, name: str) -> None:
    data = content.encode()
    file = written(tmp_path, gzip.compress(data) if name.endswith(".gz") else data, name)
    assert [row.fields["a"] for row in rows(file)] == [1, 2]


def test_gzip_is_known_by_its_bytes_not_its_name(tmp_path: Path) -> None:
    assert [row.fields for row in rows(written(tmp_path, gzip.compress(b'{"a": 1}')))] == [{"a": 1}]


def test_a_row_of_json_lines_is_numbered_by_its_line(tmp_path: Path) -> None:
    assert [row.number for row in rows(written(tmp_path, '\n{"a": 1}\n\n{"a": 2}'))] == [2, 4]


def test_an_object_of_rows_names_them(tmp_path: Path) -> None:
    file = written(tmp_path, '{\n"x": {"a": 1},\n"y": {"a": 2}}', "f.json")
    assert [(row.name, row.number, row.fields) for row in keyed_rows(file)] == [("x", 1, {"a": 1}), ("y", 2, {"a": 2})]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("\n \n", "the file is empty"),
        ("[]", "expected rows, got an empty list"),
        ("claim\tlabel\n", r"not JSON: Expecting value at character 1, in .* \(.*f\.jsonl, row 1\)"),
        ('{"a": 1}\n{"a": }\n', r"not JSON: .*row 2\)\n  → expected one JSON object per line"),
        ('{\n"a": 1}', r"not JSON: .* row 1\)"),
        ('[{"a": 1}, 3]', r"expected a JSON object, got 3 \(.*row 2\)"),
        ('{"a": 1}\n[1]\n', r"expected a JSON object, got \[1\] \(.*row 2\)"),
        ('[{"a": 1}', r"not JSON: .*line 1, character"),
        ("[" * 100_000, "not JSON that can be read"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7 of line 1"),
    ],
)
def test_a_wrong_file_says_what_stands_there(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(rows(written(tmp_path, content)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "expected a JSON object with a row under each key, got a list"),
        ("{}", "expected rows, got an empty object"),
        ('{"x": {"a": 1}, "y": "text"}', r'expected a JSON object, got "text" \(.*row 2 \(y\)\)'),
    ],
)
def test_a_wrong_object_of_rows_says_what_stands_there(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        list(keyed_rows(written(tmp_path, content)))


def test_no_file_a_folder_no_gzip_and_half_a_gzip_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        list(rows(tmp_path / "missing.jsonl"))
    written(tmp_path, "{}", "inside.jsonl")
    with pytest.raises(UsageError, match=r"expected a file, got a folder[\s\S]*inside\.jsonl"):
        list(rows(tmp_path))
    with pytest.raises(UsageError, match=r"named \.gz, but not gzip data"):
        list(rows(written(tmp_path, '{"a": 1}', "f.jsonl.gz")))
    packed = gzip.compress(b"".join(json.dumps({"a": n, "b": str(n * n)}).encode() + b"\n" for n in range(5000)))
    with pytest.raises(UsageError, match=r"damaged gzip data after line [\d,]+: "):
        list(rows(written(tmp_path, packed[: len(packed) // 2], "half.jsonl.gz")))
    with pytest.raises(UsageError, match="damaged gzip data"):
        list(rows(written(tmp_path, b"\x1f\x8bno gzip at all", "bad.gz")))


ROW = Row(
    Path("f.jsonl"),
    3,
    {"text": "a", "blank": " ", "number": 4, "yes": True, "list": [1], "object": {"x": 1}, "null": None},
)


@pytest.mark.parametrize(
    ("method", "field", "message"),
    [
        ("text", "number", "number: expected text, got 4 (f.jsonl, row 3)"),
        ("text", "blank", 'blank: expected text, got " " (f.jsonl, row 3)'),
        (
            "text",
            "absent",
            "no field absent; its fields: text, blank, number, yes, list, object, null (f.jsonl, row 3)",
        ),
        ("string", "null", "null: expected text, got null (f.jsonl, row 3)"),
        ("optional", "list", "list: expected text or null, got [1] (f.jsonl, row 3)"),
        ("key", "yes", "yes: expected an identifier (text or a whole number), got true (f.jsonl, row 3)"),
        ("integer", "yes", "yes: expected a whole number, got true (f.jsonl, row 3)"),
        ("integer", "text", 'text: expected a whole number, got "a" (f.jsonl, row 3)'),
        ("items", "text", 'text: expected a list, got "a" (f.jsonl, row 3)'),
        ("texts", "list", "list: expected a list of texts, got [1] (f.jsonl, row 3)"),
        ("child", "list", "list: expected an object, got [1] (f.jsonl, row 3)"),
        ("children", "list", "list: expected a list of objects, got [1] (f.jsonl, row 3)"),
    ],
)
def test_a_wrong_field_is_quoted_with_its_row_and_what_was_expected(method: str, field: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(ROW, method)(field)
    assert str(caught.value).split("\n")[0] == message


def test_a_wrong_label_and_a_wrong_field_inside_are_named_by_where_they_stand() -> None:
    row = Row(Path("f"), 1, {"asked": [{"q": "a"}, {"q": 5}], "label": "perhaps"})
    with pytest.raises(UsageError, match=r"asked\[1\]\.q: expected text, got 5"):
        [each.text("q") for each in row.children("asked")]
    with pytest.raises(UsageError, match='label: expected one of SUPPORTS, REFUTES, NOT ENOUGH INFO, got "perhaps"'):
        row.label("label", FEVER)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\x07b", r"claim: control character '\\x07' at position 1 \(f, row 2\)"),
        ("...", r"claim: '\.\.\.' contains no word to check \(f, row 2\)"),
        ("word " * 5000, r"claim: 24,999 characters; the limit is 20,000 \(f, row 2\)"),
    ],
)
def test_a_claim_that_cannot_be_checked_is_refused_with_its_row(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Row(Path("f"), 2, {"claim": text}).claim("claim")
    with pytest.raises(UsageError, match="claim, the claim's context: control character"):
        Row(Path("f"), 2, {"claim": "a"}).claim("claim", context="\x07")


def test_a_row_counts_as_hidden_only_if_nothing_in_it_is_unknown() -> None:
    assert Row(Path("f"), 1, {"id": 1, "claim": "a"}).is_unlabelled(("label",), ("id", "claim"))
    assert not Row(Path("f"), 1, {"id": 1, "claim": "a", "lable": "b"}).is_unlabelled(("label",), ("id", "claim"))
    assert not Row(Path("f"), 1, {"id": 1, "label": "b"}).is_unlabelled(("label",), ("id", "claim"))


def test_what_is_no_text_on_a_page_stays_visible() -> None:
    assert printable_value("a\x00b\x0cc\td\ne\x7f\ud800") == "a\ufffdb\nc\td\ne\ufffd\ufffd"
