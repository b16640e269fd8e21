"""Added readers give what transformers gives for the same input, in every architecture and both runtimes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from redargue.errors import UsageError  # noqa: E402
from redargue.nli.reader_spec import (  # noqa: E402
    HHEM,
    LETTUCE,
    ReaderChoices,
)
from redargue.nli.reader_store import add_reader  # noqa: E402
from redargue.nli.user_reader import UserReader  # noqa: E402
from support import tiny_models  # noqa: E402

pytestmark = pytest.mark.extra

CLAIM, EVIDENCE = "the bridge at orvell was opened in 1889.", "it crosses the river. it was built in 1871, not 1889."
BERT_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REDARGUE_HOME", str(tmp_path / "home"))


def expected(folder: Path, model: Any, *texts: str, **more: Any) -> Any:
    """What transformers itself gives for these texts."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    with torch.inference_mode():
        return model(**tokenizer(*texts, return_tensors="pt"), **more).logits


def onnx_folder(folder: Path, source: Path) -> Path:
    folder.mkdir()
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(source / name, folder / name)
    return folder


@pytest.mark.parametrize(
    ("make", "order", "inputs"),
    [
        (tiny_models.bert, (1, 0, 2), BERT_INPUTS),
        (
            lambda folder: tiny_models.roberta(folder, {0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}),
            (0, 2, 1),
            BERT_INPUTS[:2],
        ),
        (tiny_models.deberta, (0, 2, 1), BERT_INPUTS[:2]),
    ],
    ids=["bert", "roberta", "deberta-v2"],
)
def test_a_classifier_of_pairs(
    make: Callable[[Path], Any], order: tuple[int, ...], inputs: tuple[str, ...], tmp_path: Path
) -> None:
    source = tmp_path / "model"
    model = make(source)
    logits = expected(source, model, EVIDENCE, CLAIM)[0]
    shares = logits.softmax(-1)[list(order)].numpy()
    exported = onnx_folder(tmp_path / "exported", source)
    tiny_models.export(model, exported / "model.onnx", inputs)
    for folder, runtime in ((source, "transformers"), (exported, "onnx")):
        spec = add_reader(str(folder))
        assert (spec.runtime, spec.form) == (runtime, "pair")
        reader = UserReader(spec)
        (rows,) = reader.logits([(CLAIM, EVIDENCE)])
        np.testing.assert_allclose(rows[0], logits.numpy(), atol=1e-4)
        (read,) = reader.read([(CLAIM, EVIDENCE)])
        np.testing.assert_allclose(read, shares, atol=1e-4)
        assert reader.relevance([(CLAIM, EVIDENCE)]) == pytest.approx([1 - shares[2]], abs=1e-4)


def test_an_encoder_decoder_as_minicheck_flan_t5(tmp_path: Path) -> None:
    source = tmp_path / "MiniCheck-Tiny-T5"
    model = tiny_models.t5(source)
    text = f"predict: {EVIDENCE}</s>{CLAIM}"
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(source))
    answers = [tokenizer("0")["input_ids"][0], tokenizer("1")["input_ids"][0]]
    assert tokenizer.convert_ids_to_tokens(answers) == ["▁", "▁1"]  # as the two tokens of the released program
    logits = expected(source, model, text, decoder_input_ids=torch.tensor([[0]]))[0, 0, answers]
    whole = onnx_folder(tmp_path / "minicheck-whole", source)
    tiny_models.export(model, whole / "model.onnx", ("input_ids", "attention_mask", "decoder_input_ids"))
    split = onnx_folder(tmp_path / "minicheck-split", source)
    tiny_models.export_split(model, split)
    for folder in (source, whole, split):
        spec = add_reader(str(folder))
        assert (spec.form, spec.outputs, spec.decoder_start) == ("minicheck", ("neither", "supports"), 0)
        (rows,) = UserReader(spec).logits([(CLAIM, EVIDENCE)])
        np.testing.assert_allclose(rows[0], logits.numpy(), atol=1e-4)
        (read,) = UserReader(spec).read([(CLAIM, EVIDENCE)])
        support = float(logits.softmax(-1)[1])
        np.testing.assert_allclose(read, (support, 0.0, 1 - support), atol=1e-4)


def test_a_classifier_as_minicheck_roberta_reads_one_text_with_unnamed_labels(tmp_path: Path) -> None:
    folder = tmp_path / "MiniCheck-RoBERTa"
    model = tiny_models.roberta(folder)
    support = float(expected(folder, model, f"{EVIDENCE}</s>{CLAIM}")[0].softmax(-1)[1])
    (read,) = UserReader(add_reader(str(folder))).read([(CLAIM, EVIDENCE)])
    np.testing.assert_allclose(read, (support, 0.0, 1 - support), atol=1e-4)
    spec = add_reader(str(folder), choices=ReaderChoices(not_supported="refutes"))
    np.testing.assert_allclose(UserReader(spec).read([(CLAIM, EVIDENCE)])[0], (support, 1 - support, 0.0), atol=1e-4)


def test_hhem_is_read_without_executing_its_code(tmp_path: Path) -> None:
    model = tiny_models.hhem(tmp_path / "hhem")
    logits = expected(tmp_path / "hhem" / "foundation", model, HHEM.format(EVIDENCE, CLAIM))[0, 0]
    spec = add_reader(str(tmp_path / "hhem"))
    assert (spec.form, spec.outputs) == ("hhem", ("neither", "supports"))
    (rows,) = UserReader(spec).logits([(CLAIM, EVIDENCE)])
    np.testing.assert_allclose(rows[0], logits.numpy(), atol=1e-4)


def test_tokens_are_classified_as_lettucedetect_does(tmp_path: Path) -> None:
    source = tmp_path / "lettucedect-tiny"
    model = tiny_models.modernbert(source)
    prompt = LETTUCE.format(EVIDENCE)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(source))
    row = tokenizer(prompt, CLAIM)
    words = [at for at, text in enumerate(row.sequence_ids()) if text == 1]
    assert len(words) == len(tokenizer(CLAIM, add_special_tokens=False)["input_ids"])
    hallucinated = expected(source, model, prompt, CLAIM)[0].softmax(-1)[words, 1]
    support = 1 - float(hallucinated.max())
    exported = onnx_folder(tmp_path / "lettucedect-exported", source)
    tiny_models.export(model, exported / "model.onnx", BERT_INPUTS[:2])
    for folder in (source, exported):
        spec = add_reader(str(folder))
        assert (spec.form, spec.outputs, spec.longest) == ("lettuce", ("supports", "neither"), 512)
        (read,) = UserReader(spec).read([(CLAIM, EVIDENCE)])
        np.testing.assert_allclose(read, (support, 0.0, 1 - support), atol=1e-4)
    with pytest.raises(UsageError, match="classifies each token, not a pair"):
        add_reader(str(source), choices=ReaderChoices(form="pair"))
    (exported / "config.json").write_text('{"id2label": {"0": "supported", "1": "unsupported"}}')
    with pytest.raises(UsageError, match=r"numbers of shape \(1, \d+, 2\).*\n.*--input-form lettuce"):
        add_reader(str(exported), choices=ReaderChoices(form="pair"))


def test_weights_without_a_classifier_are_not_completed_by_random_ones(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    model = tiny_models.bert(folder)
    model.bert.save_pretrained(folder)  # its weights alone, and a configuration that says so
    with pytest.raises(UsageError, match="'BertModel' has no classifier of pairs"):
        add_reader(str(folder))
    tiny_models.bert(tmp_path / "named")
    shutil.copy(tmp_path / "named" / "config.json", folder)
    with pytest.raises(UsageError, match=r"the weights have no 'classifier.bias' and 1 more"):
        add_reader(str(folder))


def test_a_language_model_in_onnx_is_refused_by_its_shape(tmp_path: Path) -> None:
    source = tmp_path / "model"
    model = tiny_models.bert_language_model(source)
    exported = onnx_folder(tmp_path / "exported", source)
    tiny_models.export(model, exported / "model.onnx", BERT_INPUTS)
    (exported / "config.json").write_text(
        '{"max_position_embeddings": 128, "id2label": {"0": "entailment", "1": "not_entailment"}}'
    )
    with pytest.raises(UsageError, match=r"numbers of shape \(1, \d+, \d+\).*\n.*it writes text"):
        add_reader(str(exported))


def test_a_model_that_reads_less_than_it_says_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tiny_models.bert(folder)
    exported = onnx_folder(tmp_path / "exported", folder)
    tiny_models.export(tiny_models.bert(folder), exported / "model.onnx", BERT_INPUTS)
    config = (exported / "config.json").read_text()
    (exported / "config.json").write_text(config.replace('"max_position_embeddings": 128', '"unknown": 128'))
    with pytest.raises(UsageError, match="cannot be run"):
        add_reader(str(exported))


def test_longer_evidence_is_read_in_windows_that_all_fit(tmp_path: Path) -> None:
    model = tiny_models.bert(tmp_path / "model")
    reader = UserReader(add_reader(str(tmp_path / "model")))
    assert reader.spec.longest == 128
    text = " ".join(f"The bridge at Orvell was built in {year}." for year in range(1800, 1860))
    (rows,) = reader.logits([(CLAIM, text)])
    assert len(rows) > 4
    shares = [
        expected(tmp_path / "model", model, read[0], CLAIM)[0].softmax(-1)[[1, 0, 2]].tolist()
        for read in reader._inputs(CLAIM, text)
    ]
    best = min(shares, key=lambda share: share[2])
    np.testing.assert_allclose(reader.read([(CLAIM, text)])[0], best, atol=1e-4)
    with pytest.raises(UsageError, match="leaves no room for evidence"):
        reader.read([("bridge " * 120, EVIDENCE)])


def test_what_transformers_cannot_load_is_refused_with_its_reason(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tiny_models.bert(folder)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"model_type": "bert"', '"model_type": "new-kind"'))
    with pytest.raises(UsageError, match="transformers cannot load"):
        add_reader(str(folder))


def test_a_name_on_the_hub_that_was_not_downloaded_is_refused_offline() -> None:
    with pytest.raises(UsageError, match="was not downloaded before") as caught:
        add_reader("nobody/no-such-model", offline=True)
    assert "hf download nobody/no-such-model" in str(caught.value)


def test_of_a_name_on_the_hub_only_weights_configuration_and_tokenizer_are_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    tiny_models.bert(tmp_path / "0123abc")
    asked: list[dict[str, Any]] = []

    def download(name: str, **options: Any) -> str:
        asked.append({"name": name, **options})
        return str(tmp_path / "0123abc")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    spec = add_reader("Owner/Tiny-NLI", revision="main")
    assert (spec.name, spec.source, spec.revision) == ("tiny-nli", "Owner/Tiny-NLI", "0123abc")
    (request,) = asked
    assert (request["name"], request["revision"], request["local_files_only"]) == ("Owner/Tiny-NLI", "main", False)
    assert "*.safetensors" in request["allow_patterns"]
    assert not any(pattern.endswith((".py", ".bin")) for pattern in request["allow_patterns"])
