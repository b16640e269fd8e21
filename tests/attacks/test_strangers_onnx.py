"""ONNX files of strangers: they read nothing outside their folder, end, and every error says which file and why."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from redargue.errors import UsageError
from redargue.nli import model_files
from redargue.nli.model_files import LARGEST, OnnxFile
from redargue.nli.reader_spec import ReaderChoices
from redargue.nli.reader_store import add_reader
from redargue.nli.session import WEIGHTS_FOLDER
from redargue.nli.user_reader import UserReader

onnx = pytest.importorskip("onnx", reason="needs onnx, with which the tests write models")
pytestmark = pytest.mark.extra

INPUTS = ("input_ids", "attention_mask")
PAIR = [("A bridge was opened in 1889.", "The bridge was opened.")]
SECRET = bytes(range(64))


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(SECRET)
    made = tmp_path / "model"
    made.mkdir()
    shutil.copy(WEIGHTS_FOLDER / "tokenizer.json", made)
    (made / "config.json").write_text('{"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}')
    return made


def write(
    folder: Path,
    nodes: list[Any],
    *,
    weights: Any = (),
    inputs: tuple[str, ...] = INPUTS,
    output: Any = None,
    domain: str = "",
) -> Path:
    helper, kind = onnx.helper, onnx.TensorProto
    output = output or helper.make_tensor_value_info("logits", kind.FLOAT, [1, 3])
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, kind.INT64, [1, None]) for name in inputs],
        [output],
        initializer=list(weights),
    )
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder


def constant(values: Any, kind: Any = None) -> Any:
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    tensor = helper.make_tensor("v", kind or floats, [1, len(values)], values)
    return helper.make_node("Constant", [], ["logits"], value=tensor)


def external(location: str, size: int = 12) -> Any:
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[1, size // 4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(size))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def added(folder: Path) -> UserReader:
    return UserReader(add_reader(str(folder), name="mine", choices=ReaderChoices()))


def refusal(folder: Path) -> str:
    """The error of adding a model."""
    with pytest.raises(UsageError) as caught:
        added(folder)
    return str(caught.value)


def identity() -> list[Any]:
    return [onnx.helper.make_node("Identity", ["w"], ["logits"])]


LOCATIONS = {
    "a file above": "../secret",
    "an absolute path": "{tmp}/secret",
    "a path through the folder": "./a/../../secret",
    "a link": "link",
    "a pipe": "pipe",
    "a device": "/dev/zero",
    "no file": "gone.bin",
    "nothing": "",
    "the folder": ".",
    "a name with a zero": "a\0b",
}


@pytest.mark.parametrize("location", LOCATIONS.values(), ids=LOCATIONS)
@pytest.mark.parametrize("place", ["initializer", "attribute", "subgraph"])
def test_weights_outside_of_the_folder_are_not_read(location: str, place: str, folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to("../secret")
    os.mkfifo(folder / "pipe")
    tensor, helper = external(location.replace("{tmp}", str(tmp_path))), onnx.helper
    if place == "initializer":
        write(folder, identity(), weights=[tensor])
    elif place == "attribute":
        write(folder, [helper.make_node("Constant", [], ["logits"], value=tensor)])
    else:
        output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 3])
        branch = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "b", [], [output], [tensor])
        truth = helper.make_tensor("c", onnx.TensorProto.BOOL, [], [True])
        nodes = [
            helper.make_node("Constant", [], ["c"], value=truth),
            helper.make_node("If", ["c"], ["logits"], then_branch=branch, else_branch=branch),
        ]
        write(folder, nodes)
    assert "for its weights" in refusal(folder)


def test_a_number_in_the_place_of_a_key_does_not_hide_where_weights_are(folder: Path) -> None:
    tensor = external("../secret")
    tensor.external_data[0].MergeFromString(b"\x08\x01")  # onnxruntime passes over a number where a text is expected
    write(folder, identity(), weights=[tensor])
    assert b"location\x12\x09../secret\x08\x01" in (folder / "model.onnx").read_bytes()
    assert "for its weights" in refusal(folder)


def test_weights_in_the_folder_and_in_a_hubs_cache_are_read(folder: Path, tmp_path: Path) -> None:
    import numpy as np

    (folder / "model.onnx_data").write_bytes(np.array([3, 1, 2], np.float32).tobytes())
    write(folder, identity(), weights=[external("model.onnx_data")])
    assert added(folder).read(PAIR)[0].supports > 0.5
    snapshot = tmp_path / "hub" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (tmp_path / "hub" / "blobs").mkdir()
    for file in folder.iterdir():
        shutil.copy(file, tmp_path / "hub" / "blobs" / file.name)
        (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    assert added(snapshot).read(PAIR)[0].supports > 0.5


def hostile(folder: Path, name: str) -> Path:
    helper, kind = onnx.helper, onnx.TensorProto
    match name:
        case "a custom operator":
            return write(folder, [helper.make_node("Read", ["input_ids"], ["logits"], domain="evil")], domain="evil")
        case "an unknown operator":
            return write(folder, [helper.make_node("Reed", ["input_ids"], ["logits"])])
        case "another input":
            return write(folder, [constant([1.0, 2.0, 3.0])], inputs=("pixel_values",))
        case "text":
            info = helper.make_tensor_value_info("logits", kind.STRING, [1, 3])
            return write(folder, [constant([b"a", b"b", b"c"], kind.STRING)], output=info)
        case "a scalar":
            node = helper.make_node("Constant", [], ["logits"], value=helper.make_tensor("v", kind.FLOAT, [], [1.0]))
            return write(folder, [node], output=helper.make_tensor_value_info("logits", kind.FLOAT, []))
        case "no number":
            node = helper.make_node("Constant", [], ["logits"], value=helper.make_tensor("v", kind.FLOAT, [1, 0], []))
            return write(folder, [node], output=helper.make_tensor_value_info("logits", kind.FLOAT, [1, 0]))
        case "a sequence":
            nodes = [constant([1.0, 2.0, 3.0]), helper.make_node("SequenceConstruct", ["logits"], ["s"])]
            return write(folder, nodes, output=helper.make_tensor_sequence_value_info("s", kind.FLOAT, [1, 3]))
        case "NaN":
            return write(folder, [constant([float("nan")] * 3)])
        case "infinity":
            return write(folder, [constant([float("inf")] * 3)])
        case "more memory than there is":
            shape = helper.make_tensor("s", kind.INT64, [2], [1, 2**44])
            nodes = [
                helper.make_node("Constant", [], ["shape"], value=shape),
                helper.make_node("ConstantOfShape", ["shape"], ["logits"]),
            ]
            return write(folder, nodes, output=helper.make_tensor_value_info("logits", kind.FLOAT, [1, None]))
    raise ValueError(name)


@pytest.mark.parametrize(
    "name",
    [
        *("a custom operator", "an unknown operator", "another input", "text", "a scalar", "no number", "a sequence"),
        *("NaN", "infinity", "more memory than there is"),
    ],
)
def test_a_model_of_another_kind_is_an_error_that_says_so(name: str, folder: Path) -> None:
    assert "→" in refusal(hostile(folder, name))


def test_a_model_that_computes_without_end_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "LONGEST_RUN", 1.0)
    helper, kind = onnx.helper, onnx.TensorProto
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["x", "x"], ["y"])],
        "body",
        [
            helper.make_tensor_value_info("i", kind.INT64, []),
            helper.make_tensor_value_info("go", kind.BOOL, []),
            helper.make_tensor_value_info("x", kind.FLOAT, [1, 3]),
        ],
        [helper.make_tensor_value_info("on", kind.BOOL, []), helper.make_tensor_value_info("y", kind.FLOAT, [1, 3])],
    )
    floats = helper.make_tensor("f", kind.FLOAT, [1, 3], [1.0, 2.0, 3.0])
    nodes = [
        helper.make_node("Constant", [], ["n"], value=helper.make_tensor("n", kind.INT64, [], [2**62])),
        helper.make_node("Constant", [], ["true"], value=helper.make_tensor("t", kind.BOOL, [], [True])),
        helper.make_node("Constant", [], ["first"], value=floats),
        helper.make_node("Loop", ["n", "true", "first"], ["logits"], body=body),
    ]
    assert "cannot be run" in refusal(write(folder, nodes))


DAMAGED = {
    "empty": b"",
    "text": b"<html>not found</html>" * 50,
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
    "zeros": bytes(1000),
    "a field longer than the file": b"\x3a\xff\xff\xff\xff\x0f",
    "a number without end": b"\xff" * 100,
    "nested messages": b"\x3a\x7e" * 60,
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_is_no_model_is_an_error_that_names_it(data: bytes, folder: Path) -> None:
    (folder / "model.onnx").write_bytes(data)
    assert str(folder) in refusal(folder)


def test_an_oversized_file_is_refused_unread(folder: Path) -> None:
    with (folder / "model.onnx").open("wb") as file:
        file.truncate(LARGEST + 1)  # sparse
    with pytest.raises(UsageError, match="is not a file of 1 to"):
        OnnxFile(folder / "model.onnx")
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="is not a file of 1 to"):
        OnnxFile(folder / "model.onnx")


def test_random_bytes_and_cuts_in_a_model_end_in_results_or_errors(folder: Path) -> None:
    helper, kind = onnx.helper, onnx.TensorProto
    weights = helper.make_tensor("w", kind.FLOAT, [1, 3], [1.0, 2.0, 3.0])
    original = (write(folder, identity(), weights=[weights]) / "model.onnx").read_bytes()
    chance = random.Random(0)
    for _ in range(500):
        data = bytearray(original)
        for _ in range(chance.choice((1, 3, 10))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (folder / "model.onnx").write_bytes(data[: chance.choice((len(data), chance.randrange(1, len(data))))])
        with suppress(UsageError):
            added(folder).read(PAIR)
