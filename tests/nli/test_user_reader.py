"""Added readers without torch: configurations, label order, input forms, windows, the fit, the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from redargue.assembly import make_backend, method_of
from redargue.cli.app import run
from redargue.errors import UsageError
from redargue.evidence import Passage
from redargue.net.services import services
from redargue.net.transport import Transport
from redargue.nli import reader_store
from redargue.nli.aggregation import WEIGHTS as DEFAULT_WEIGHTS
from redargue.nli.backend import EmbeddedBackend
from redargue.nli.fitting import LabelledPair, _folds, fit, read_pairs, softmax_regression
from redargue.nli.reader import Reader
from redargue.nli.reader_spec import (
    FolderForm,
    OutputSide,
    ReaderChoices,
    ReaderSpec,
    files_sha256,
    model_input,
    read_spec,
    sides,
    without_marks,
)
from redargue.nli.session import WEIGHTS_FOLDER, Floats, ModelText, TextModel, read_tokenizer, shared
from redargue.nli.user_reader import UserReader
from redargue.runs.budget import Prices
from redargue.spec import RunSpec

Answer = Callable[[ModelText], Sequence[float]]


class Scripted(TextModel):
    """Gives the logits that a function returns for a text, and keeps the texts."""

    def __init__(self, answer: Answer, longest: int = 128) -> None:
        tokenizer = read_tokenizer(WEIGHTS_FOLDER, longest)
        super().__init__("scripted", tokenizer, sha256=lambda: "", kept=1000, threads=1)
        self.answer, self.texts = answer, list[ModelText]()

    def run(self, texts: Sequence[ModelText]) -> list[Floats]:
        self.texts += texts
        return [np.array(self.answer(text), np.float32) for text in texts]

    def _output(self, row: Any) -> Floats:
        raise NotImplementedError


def spec(
    folder: Path,
    outputs: tuple[OutputSide, ...] = ("supports", "refutes", "neither"),
    form: FolderForm = "pair",
    start: int | None = None,
) -> ReaderSpec:
    return ReaderSpec(
        name="mine",
        source=str(folder),
        folder=folder,
        runtime="onnx",
        form=form,
        outputs=outputs,
        longest=128,
        window=100,
        decoder_start=start,
    )


def folder_of(path: Path, config: dict[str, Any], *files: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    for name in files or ("model.onnx",):
        (path / name).write_bytes(b"weights")
    return path


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path / "home"))


# what a configuration says


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("contradiction", "entailment", "neutral"), ("refutes", "supports", "neither")),
        (("ENTAILMENT", "NEUTRAL", "CONTRADICTION"), ("supports", "neither", "refutes")),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), ("supports", "refutes", "neither")),
        (("entailment", "not_entailment"), ("supports", "neither")),
        (("hallucinated", "consistent"), ("neither", "supports")),
        (("contradiction", "entailment"), ("refutes", "supports")),
        (("unsupported", "supported"), ("neither", "supports")),
    ],
)
def test_label_names_give_the_order_of_the_outputs(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert sides(names) == expected


@pytest.mark.parametrize("names", [(), ("LABEL_0", "LABEL_1", "LABEL_2"), ("entailment", "supported"), ("a", "b")])
def test_label_names_that_identify_nothing_are_refused(names: Sequence[str]) -> None:
    with pytest.raises(UsageError, match="do not identify the outputs"):
        sides(names)


def test_a_configuration_says_form_outputs_and_length(tmp_path: Path) -> None:
    three = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    roberta = {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1, "id2label": three}
    found = read_spec("a", "a", folder_of(tmp_path / "a", roberta))
    assert (found.form, found.outputs, found.longest) == ("pair", ("supports", "neither", "refutes"), 512)
    t5 = {"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "decoder_start_token_id": 0}
    found = read_spec("b", "lytang/MiniCheck-Flan-T5-Large", folder_of(tmp_path / "b", t5, "model.safetensors"))
    assert (found.form, found.outputs, found.decoder_start) == ("minicheck", ("neither", "supports"), 0)
    assert (found.runtime, found.longest, found.window) == ("transformers", 2048, 500)
    found = read_spec("c", "c", folder_of(tmp_path / "c", {"model_type": "HHEMv2Config"}))
    assert (found.form, found.outputs) == ("hhem", ("neither", "supports"))
    given = ReaderChoices(outputs=("neutral", "entailment"), longest=300, not_supported="refutes", form="minicheck")
    found = read_spec("d", "d", folder_of(tmp_path / "d", {}), given)
    assert (found.form, found.outputs, found.longest, found.window) == ("minicheck", ("refutes", "supports"), 300, 400)


def test_a_folder_that_cannot_be_read_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        read_spec("a", "a", tmp_path / "nowhere")
    with pytest.raises(UsageError, match="convert them to safetensors"):
        read_spec("a", "a", folder_of(tmp_path / "pickled", {}, "pytorch_model.bin"))
    with pytest.raises(UsageError, match="do not identify the outputs"):
        read_spec("a", "a", folder_of(tmp_path / "unnamed", {"id2label": {"0": "x", "1": "y", "2": "z"}}))
    (tmp_path / "unnamed" / "config.json").write_text("[]")
    with pytest.raises(UsageError, match="is not a model's configuration"):
        read_spec("a", "a", tmp_path / "unnamed")


# how pairs are read


def test_input_forms() -> None:
    assert model_input("pair", "E", "C", separator="[SEP]") == ("E", "C")
    assert model_input("minicheck", "E", "C", separator="</s>") == "E</s>C"
    assert model_input("minicheck", "E", "C", separator="</s>", generates=True) == "predict: E</s>C"
    prompt = model_input("hhem", "E", "C")
    lettuce = model_input("lettuce", "E", "C")
    assert lettuce == ("\nSummarize the following text:\npassage 1: E\noutput:\n", "C")
    assert prompt == "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: E\n\nHypothesis: C"


def test_evidence_cannot_end_itself_with_a_special_token(tmp_path: Path) -> None:
    assert without_marks("a</s>b", ("</s>",)) == "a b"
    model = Scripted(lambda text: (0.0, 1.0))
    UserReader(spec(tmp_path, ("neither", "supports"), "minicheck"), model=model).read(
        [("claim", "one [SEP] claim [CLS]")]
    )
    assert model.texts == ["one   claim  [SEP]claim"]


def test_logits_become_probabilities_of_the_named_sides(tmp_path: Path) -> None:
    reader = UserReader(
        spec(tmp_path, ("refutes", "supports", "neither")), model=Scripted(lambda text: (0.0, 2.0, 1.0))
    )
    (read,) = reader.read([("claim", "evidence")])
    assert read == pytest.approx((0.665241, 0.090031, 0.244728), abs=1e-6)
    assert reader.relevance([("claim", "evidence")]) == pytest.approx([1 - 0.244728], abs=1e-6)
    two: tuple[OutputSide, ...] = ("neither", "supports")
    single = spec(tmp_path, two).model_copy(update={"one_logit": True})
    (one,) = UserReader(single, model=Scripted(lambda text: (2.0,))).read([("c", "e")])
    assert one == pytest.approx((0.880797, 0.0, 0.119203), abs=1e-6)
    (cooler,) = UserReader(single, temperature=2.0, model=Scripted(lambda text: (2.0,))).read([("c", "e")])
    assert cooler.supports == pytest.approx(0.731059, abs=1e-6)
    wrong = {"returns 2 numbers": (1.0, 2.0), "returns nan, nan, nan": (float("nan"),) * 3}
    for said, row in wrong.items():
        model = Scripted(lambda text, row=row: row)  # type: ignore[misc]
        with pytest.raises(UsageError, match=f"the model {said} for a pair.*reader 'mine'"):
            UserReader(spec(tmp_path), model=model).read([("c", "e")])
    with pytest.raises(UsageError, match="returns 1 number for a pair"):  # a reranker whose labels were given
        UserReader(spec(tmp_path, two), model=Scripted(lambda text: (2.0,))).read([("c", "e")])


def test_longer_evidence_is_read_in_windows_of_sentences_and_the_most_decided_counts(tmp_path: Path) -> None:
    def answer(text: ModelText) -> Sequence[float]:
        return (3.0, 0.0, 0.0) if "number 41 " in text[0] else (0.0, 0.0, 3.0)

    model = Scripted(answer)
    sentences = [f"This is number {number} of the sentences." for number in range(60)]
    reader = UserReader(spec(tmp_path), model=model)
    (read,) = reader.read([("The claim.", " ".join(sentences))])
    assert read.supports > 0.9
    parts = [text[0] for text in model.texts]
    assert len(parts) > 4
    assert all(len(model.tokenizer.encode(part, "The claim.").ids) <= 128 for part in parts)
    assert all(any(sentence in part for part in parts) for sentence in sentences)
    assert all(part.endswith(following.split(". ")[0] + ".") for part, following in pairwise(parts))
    model.texts.clear()
    reader.read([("The claim.", "word " * 1000)])  # one sentence
    assert sum(len(text[0].split()) for text in model.texts) == 1000
    with pytest.raises(UsageError, match="leaves no room for evidence"):
        reader.read([("claim " * 200, "evidence")])


# the fit


def overlap(text: ModelText) -> Sequence[float]:
    """A poorly calibrated model: 'yes' supports, 'no' refutes, and it is far too sure."""
    return (9.0 * ("yes" in text[0]), 9.0 * ("no " in text[0]), 4.0)


def pairs(count: int) -> list[LabelledPair]:
    texts: tuple[tuple[str, OutputSide], ...] = (
        ("yes it is so", "supports"),
        ("no it is not", "refutes"),
        ("maybe", "neither"),
    )
    rows = [LabelledPair(f"it is so {at // 3}", (f"{text} {at}",), side) for at in range(count) for text, side in texts]
    return [row._replace(side="neither") if at % 10 == 0 else row for at, row in enumerate(rows)]


@pytest.mark.slow
def test_the_fit_lowers_the_log_loss_and_is_used(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("rows")
    reader = UserReader(spec(tmp_path), model=Scripted(overlap))
    fitted = fit(reader, pairs(30), shared(1), data)
    assert fitted.after["log_loss"] < fitted.before["log_loss"]
    assert fitted.temperature > 1
    assert sum(fitted.counts.values()) == 90
    used = UserReader(reader.spec, weights=fitted.weights, temperature=fitted.temperature, model=reader.model)
    assert used.sha256 != reader.sha256
    reading = Reader(shared(1), used, weights=used.weights).read("it is so 4", [Passage(text="yes it is so 13")])
    assert reading.probabilities().supports > 0.5


@pytest.mark.slow
def test_a_two_way_reader_is_fitted_to_two_labels_and_never_refutes(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("rows")
    model = Scripted(lambda text: (0.0, 4.0 if "yes" in text[0] else -4.0))
    fitted = fit(UserReader(spec(tmp_path, ("neither", "supports")), model=model), pairs(30), shared(1), data)
    assert set(fitted.counts) == {"supports", "neither"}
    assert fitted.refutes[0] == -20.0


def test_too_few_rows_and_a_label_that_is_missing_are_refused(tmp_path: Path) -> None:
    reader = UserReader(spec(tmp_path), model=Scripted(overlap))
    with pytest.raises(UsageError, match=r"12 rows \(.*\) are too few"):
        fit(reader, pairs(4), shared(1), tmp_path / "data.jsonl")
    with pytest.raises(UsageError, match="0 refutes"):
        fit(reader, [row for row in pairs(50) if row.side != "refutes"], shared(1), tmp_path / "data.jsonl")


def test_rows_of_one_claim_are_never_held_out_from_each_other(tmp_path: Path) -> None:
    rows = pairs(30)
    for claim in {row.claim for row in rows}:
        assert len({fold for row, fold in zip(rows, _folds(rows), strict=True) if row.claim == claim}) == 1
    reader = UserReader(spec(tmp_path), model=Scripted(overlap))
    with pytest.raises(UsageError, match="different claims: 1"):
        fit(reader, [row._replace(claim="it is so") for row in rows], shared(1), tmp_path / "data.jsonl")


def test_softmax_regression_finds_the_weights_that_made_the_data() -> None:
    rng = np.random.default_rng(3)
    features = np.hstack([np.ones((4000, 1)), rng.normal(size=(4000, 2))])
    weights = np.array([[0.5, 1.0, -1.0], [-0.5, -1.0, 2.0]])
    scores = np.hstack([features @ weights.T, np.zeros((4000, 1))])
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    np.testing.assert_allclose(softmax_regression(features, truth, 3), weights, atol=0.2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "not JSON"),
        ('{"claim": "c", "evidence": "e"}', "no field 'label'"),
        ('{"claim": "c", "evidence": [], "label": "SUPPORTS"}', "no field 'evidence'"),
        ('{"claim": "c", "evidence": [1], "label": "SUPPORTS"}', "have to be texts"),
        ('{"claim": "c", "evidence": "e", "label": "perhaps"}', "the label 'perhaps' says neither"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_with_their_line(line: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"claim": "c", "evidence": ["e", "f"], "label": "Refuted"}\n' + line)
    with pytest.raises(UsageError, match=said) as caught:
        read_pairs(file)
    assert "line 2" in str(caught.value)
    file.write_text(
        '{"claim": "c", "evidence": ["e", "f"], "label": "Refuted"}\n{"claim": "c", "evidence": "e", "label": 1}\n'
    )
    assert [row.side for row in read_pairs(file)] == ["refutes", "supports"]


# the store, and where a reader is used


def added(tmp_path: Path) -> ReaderSpec:
    """A reader that was added; its weights are not a model's."""
    folder = folder_of(tmp_path / "model", {}, "model.onnx", "tokenizer.json")
    found = spec(folder)
    found = found.model_copy(update={"sha256": files_sha256(found)})
    reader_store.write_spec(found)
    return found


def test_an_added_reader_is_part_of_the_identity_and_its_changed_files_are_refused(tmp_path: Path) -> None:
    found = added(tmp_path)
    config = RunSpec(reader="mine", tools=())
    made = make_backend(config, method_of(RunSpec()), services()["model"], Transport(), Prices.shipped())
    reader = reader_store.load_reader("mine")
    assert made.identity == f"{EmbeddedBackend(careful=False).identity},reader {reader.sha256[:12]}"
    assert reader.weights == DEFAULT_WEIGHTS
    (found.folder / "config.json").write_text('{"changed": true}')
    with pytest.raises(UsageError, match="have changed since it was added"):
        UserReader(found).read([("c", "e")])


def test_fitted_weights_belong_to_the_files_they_were_fitted_to(tmp_path: Path) -> None:
    found = added(tmp_path)
    fitted = reader_store.ReaderFit(
        reader=found.sha256,
        data="d.jsonl",
        data_sha256="",
        counts={"supports": 30, "refutes": 30, "neither": 30},
        temperature=1.5,
        supports=(0.1,) * len(DEFAULT_WEIGHTS.supports),
        refutes=(0.2,) * len(DEFAULT_WEIGHTS.refutes),
        before={"log_loss": 1.0, "accuracy": 0.5},
        after={"log_loss": 0.5, "accuracy": 0.8},
    )
    reader_store.write_fit(found, fitted)
    assert reader_store.load_reader("mine").temperature == 1.5
    reader_store.write_fit(found, fitted.model_copy(update={"reader": "other"}))
    with pytest.raises(UsageError, match="fitted to other files"):
        reader_store.load_reader("mine")
    reader_store.write_spec(found.model_copy(update={"sha256": "new"}))
    assert reader_store.read_fit(found) is None


def test_a_reader_is_only_for_the_embedded_backend() -> None:
    config = RunSpec(reader="mine", model="m")
    with pytest.raises(UsageError, match="'chat' does not read evidence with the reader 'mine'"):
        make_backend(config, method_of(config), services()["model"], Transport(), Prices.shipped())


def test_readers_are_listed_and_removed_on_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = added(tmp_path).folder
    assert run(["models", "list"]) == 0
    assert capfd.readouterr().out.startswith(f"mine: {folder} (onnx, form pair, outputs supports, refutes, neither")
    assert run(["models", "list", "--json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["readers"]
    assert (row["name"], row["fit"]) == ("mine", None)
    assert run(["models", "remove", "mine"]) == 0
    assert (folder / "model.onnx").is_file()
    assert run(["models", "remove", "mine"]) == 2
    refused = capfd.readouterr().err
    assert "no reader 'mine' has been added" in refused
    assert "--reader" not in refused  # an option that this command does not have


@pytest.mark.parametrize("content", ["garbage", "{}", '{"url": 5}', "\0"])
def test_a_damaged_reader_hides_no_other(content: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    added(tmp_path)
    damaged = reader_store.models_folder() / "broken" / reader_store.SPEC
    damaged.parent.mkdir()
    damaged.write_text(content)
    assert run(["models", "list"]) == 3
    listed = capfd.readouterr()
    assert listed.out.startswith("mine: ")
    assert listed.err == f"damaged: {str(damaged)!r} cannot be read: it is damaged\n"
    assert run(["models", "list", "--json"]) == 3
    assert [row["name"] for row in json.loads(capfd.readouterr().out)["readers"]] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "nowhere", "--as", "reader"], "no folder"),
        (["add", "nowhere", "--as", "judge"], "cannot be added as 'judge'"),
        (["add", "nowhere", "--as", "reader", "--input-form", "pairs"], "did you mean 'pair'"),
        (["add", "nowhere", "--as", "reader", "--name", "../x"], "cannot be a reader's name"),
        (["add", "nowhere", "--as", "reader", "--not-supported", "no"], "expected neither or refutes, got 'no'"),
        (["fit", "mine", "--data", "nowhere.jsonl"], "no reader 'mine' has been added"),
    ],
)
def test_what_cannot_be_added_or_fitted_is_refused(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", *arguments]) == 2
    assert said in capfd.readouterr().err
