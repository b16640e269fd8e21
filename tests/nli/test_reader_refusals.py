"""What would be misread is refused when it is added, by what its files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redargue.cli.app import run
from redargue.errors import UsageError
from redargue.nli.reader_spec import ReaderChoices, ReaderSpec, read_spec, sides

NLI = {"0": "entailment", "1": "neutral", "2": "contradiction"}


def read(folder: Path, config: dict[str, Any], *, name: str = "model", **choices: Any) -> ReaderSpec:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.onnx").write_bytes(b"weights")
    return read_spec("mine", name, folder, ReaderChoices.model_validate(choices))


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {  # the configuration, what is said, the hint
    "a classifier of tokens": (
        {"architectures": ["BertForTokenClassification"], "id2label": {"0": "O", "1": "B-PER"}},
        "'BertForTokenClassification' classifies each token",
        "--input-form lettuce",
    ),
    "a generative model": (
        {"architectures": ["LlamaForCausalLM"]},
        "'LlamaForCausalLM' is a generative model",
        "redargue models add http://…/v1 --as reader --template NAME --model NAME",
    ),
    "GPT-2": ({"architectures": ["GPT2LMHeadModel"]}, "is a generative model", "serve it"),
    "an embedding model": (
        {"architectures": ["BertModel"], "id2label": NLI},
        "'BertModel' has no classifier of pairs",
        "models get",
    ),
    "a masked language model": (
        {"architectures": ["BertForMaskedLM"], "id2label": NLI},
        "has no classifier",
        "models get",
    ),
    "an encoder-decoder of another kind": (
        {"architectures": ["T5ForConditionalGeneration"], "decoder_start_token_id": 0},
        "answers a prompt, which its files do not say",
        "--input-form minicheck",
    ),
    "a reranker": (
        {"architectures": ["XLMRobertaForSequenceClassification"], "id2label": {"0": "LABEL_0"}},
        "one output, 'LABEL_0', as rerankers have",
        "--template qwen3-reranker",
    ),
    "unnamed labels": (
        {"id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}},
        "'LABEL_0', 'LABEL_1', 'LABEL_2' do not identify the outputs",
        "the model's card says what they mean; give them in the order of the outputs: --labels",
    ),
    "five outputs": (
        {"id2label": {str(at): f"{at} stars" for at in range(5)}},
        "the model has 5 outputs ('0 stars', '1 stars'",
        "choose a model",
    ),
    "few positions": (
        {"id2label": NLI, "max_position_embeddings": 32},
        "the model reads 32 tokens",
        "at least 64",
    ),
}


@pytest.mark.parametrize(("config", "said", "hint"), REFUSED.values(), ids=REFUSED)
def test_a_model_that_would_be_misread_is_refused_with_the_next_step(
    config: dict[str, Any], said: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path / "model", config)
    assert said in caught.value.what
    assert caught.value.where == str(tmp_path / "model" / "config.json")
    assert hint in caught.value.hint


def test_labels_cannot_contradict_the_number_of_outputs(tmp_path: Path) -> None:
    five = {"id2label": {str(at): str(at) for at in range(5)}}
    with pytest.raises(UsageError, match="has 5 outputs"):
        read(tmp_path / "five", five, outputs=("entailment", "neutral", "contradiction"))
    with pytest.raises(UsageError, match=r"2 labels .* for a model with 3 outputs .--labels."):
        read(tmp_path / "three", {"id2label": NLI}, outputs=("entailment", "neutral"))
    with pytest.raises(UsageError, match=r"is not support .--labels."):
        read(tmp_path / "one", {"id2label": {"0": "LABEL_0"}}, outputs=("relevant",))


def test_one_logit_that_is_said_to_be_support_is_read_as_that(tmp_path: Path) -> None:
    named = read(tmp_path / "named", {"id2label": {"0": "entailment"}})
    given = read(tmp_path / "given", {"id2label": {"0": "LABEL_0"}}, outputs=("supported",))
    for found in (named, given):
        assert (found.outputs, found.one_logit) == (("neither", "supports"), True)


def test_a_window_is_never_longer_than_the_models_own_limit(tmp_path: Path) -> None:
    bert = {"id2label": NLI, "model_type": "bert", "max_position_embeddings": 512}
    with pytest.raises(UsageError, match="4096 tokens are more than the model's 512 positions"):
        read(tmp_path / "bert", bert, longest=4096)
    assert read(tmp_path / "bert", bert, longest=300).longest == 300
    relative = bert | {"model_type": "deberta-v2", "position_biased_input": False}
    assert read(tmp_path / "deberta", relative, longest=2048).longest == 2048
    long = bert | {"model_type": "modernbert", "max_position_embeddings": 8192}
    for folder, tokens, expected in (("a", 512, 512), ("b", 10**30, 8192), ("c", None, 8192)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": tokens}))
        assert read(tmp_path / folder, long).longest == expected


def test_a_classifier_of_tokens_is_read_in_lettucedetects_form_by_name_or_on_request(tmp_path: Path) -> None:
    config = {"architectures": ["ModernBertForTokenClassification"], "max_position_embeddings": 8192}
    by_name = read(tmp_path / "a", config, name="KRLabsOrg/lettucedect-base-modernbert-en-v1")
    on_request = read(tmp_path / "a", config, form="lettuce")
    for found in (by_name, on_request):
        assert (found.form, found.outputs) == ("lettuce", ("supports", "neither"))
        assert (found.longest, found.window) == (4096, 4096)
    with pytest.raises(UsageError, match="does not classify tokens"):
        read(tmp_path / "a", {"architectures": ["BertForSequenceClassification"]}, form="lettuce")


def test_the_error_on_the_command_line_says_how_to_name_the_labels(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    read(tmp_path / "model", {"id2label": NLI})
    unnamed = json.dumps({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}})
    (tmp_path / "model" / "config.json").write_text(unnamed)
    assert run(["models", "add", str(tmp_path / "model"), "--as", "reader"]) == 2
    assert "--labels entailment,neutral,contradiction" in capfd.readouterr().err
    assert run(["models", "add", str(tmp_path / "model"), "--as", "reader", "--model", "m"]) == 2
    assert "--model belongs to an endpoint" in capfd.readouterr().err


def test_more_label_names_than_outputs_can_be_told_apart() -> None:
    with pytest.raises(UsageError, match=r"has 7 outputs .'a', 'b', 'c', 'd', 'e', 'f', …."):
        sides("abcdefg")
