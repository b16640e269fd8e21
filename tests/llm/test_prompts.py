"""The messages of every task, golden, and a user's own words in their place.

To accept changed words: ``REDARGUE_GOLDEN=write make test``, and read the difference.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redargue import replay
from redargue.assembly import read_prompts
from redargue.backends import Call
from redargue.claims import Claim
from redargue.errors import BadReply, RecordError, UsageError
from redargue.llm.chat import ChatBackend
from redargue.llm.rendering import Prompts, Renderer
from redargue.methods.mermaid.tasks import NextStep
from redargue.net.secrets import Secrets
from redargue.net.transport import Service, Transport
from redargue.runs.record import read_events
from redargue.tasks.base import Profile, Task, every_task
from redargue.tasks.judge import JudgeDebate, MeanScore
from redargue.tasks.template import Template
from redargue.tasks.untrusted import UNTRUSTED
from redargue.verdicts import Metric
from redargue.verifier import Verifier
from support.debates import CLAIM, CLOCK, ShelfTool
from support.loopback import Ask, Behaviour, Loopback
from support.scripts import agreeing
from tasks.test_tasks import examples

GOLDEN = Path(__file__).parent / "golden"
TASKS = sorted(
    {*examples("hardened")} - {"CompareTexts", "InferClaim", "RateTexts", "ReadPassages"}
)  # small models perform them, without words
WORDS = {
    "AnswerClaim": """[system]
You check claims. Labels: {labels}
[input]
{claim}
Others: {others}
Document: {document}
End with a label on the last line only; it must stand on the last line: \\
output **SUPPORTS**, output **REFUTES** or output **NOT ENOUGH INFO**.
"""
}


def shown(task: Task[Any]) -> str:
    prompt = Renderer().prompt(task)
    return "\n".join(f"--- {each['role']} ---\n{each['content']}" for each in prompt.messages()) + "\n"


def folder(path: Path, texts: dict[str, str]) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in texts.items():
        (path / f"{name}.txt").write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture
def server(running: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    running.behaviour, running.script = Behaviour(), agreeing
    running.reset()
    monkeypatch.setenv("REDARGUE_BASE_URL", f"{running.url}/v1")
    return running


def verifier(claims: list[Claim] | None = None, run: Path | None = None, **options: Any) -> Verifier:
    tools = {name: ShelfTool(name) for name in ("corpus", "keywords")}
    return Verifier(
        method="tool-mad",
        model="for-m",
        embedding_model="e",
        evidence=tools,
        clock=CLOCK,
        folder=run,
        claims=claims or [CLAIM],
        transport=Transport(secrets=Secrets(), patience=0),
        **options,
    )


# golden


@pytest.mark.parametrize("name", TASKS)
def test_the_messages_of_each_task_are_the_golden_ones(name: str) -> None:
    words = shown(examples("hardened")[name])
    path = GOLDEN / f"{name}.schema.txt"
    if os.environ.get("REDARGUE_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(words, encoding="utf-8")
    assert words == path.read_text(encoding="utf-8")


def test_what_an_agent_is_told_that_calls_functions_is_golden() -> None:
    prompt = Renderer(calls=True).prompt(examples("hardened")["NextStep"])
    said = "\n".join(f"--- {each['role']} ---\n{each['content']}" for each in prompt.messages())
    said += "".join(f"\n--- function ---\n{json.dumps(each, indent=1)}" for each in prompt.functions) + "\n"
    path = GOLDEN / "NextStep.tools.txt"
    if os.environ.get("REDARGUE_GOLDEN") == "write":
        path.write_text(said, encoding="utf-8")
    assert said == path.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    wanted = {f"{name}.schema.txt" for name in TASKS} | {"NextStep.tools.txt"}
    assert {path.name for path in GOLDEN.iterdir()} == wanted


@pytest.mark.parametrize("name", TASKS)
def test_what_does_not_change_from_call_to_call_comes_first(name: str) -> None:
    task = examples("hardened")[name]
    system = Renderer().prompt(task).messages()[0]
    assert system["role"] == "system"
    assert not system["content"].startswith("Task:")  # a task's name says nothing to a model
    assert name not in system["content"]
    for stranger in ("Cape Ansel", "1871", "1875"):  # claim, document, others: nothing of them before the user's part
        assert stranger not in system["content"]
    if "<data>" in task.rendered().input_text:
        assert UNTRUSTED in system["content"]


@pytest.mark.parametrize("name", TASKS)
def test_the_paper_profile_says_the_papers_words_and_nothing_else(name: str) -> None:
    task = examples("paper")[name]
    prompt = Renderer().prompt(task)
    assert prompt.schema is None
    said = [("system", task.rendered().system)] if task.rendered().system else []
    for each in task.chat_history():
        said += [("user", each.prompt_text), ("assistant", each.reply)]
    said += [("user", task.prompt_text())]
    assert list(prompt.messages()) == [{"role": role, "content": words} for role, words in said]


# folders


def test_a_folder_replaces_the_words_of_the_tasks_it_names(tmp_path: Path) -> None:
    prompts = Prompts.read(folder(tmp_path / "p", WORDS))
    task = examples("hardened")["AnswerClaim"]
    filled = prompts.fill(task)
    assert filled is not None
    system, user = filled
    assert system == "You check claims. Labels: **SUPPORTS**, **REFUTES**, **NOT ENOUGH INFO**"
    assert user.startswith("<data>The lighthouse at Cape Ansel was lit in 1871.</data>\nOthers: <data>\n")
    assert prompts.fill(examples("hardened")["JudgeDebate"]) is None
    prompt = Renderer(prompts).prompt(task)
    assert prompt.schema is None
    assert [each["role"] for each in prompt.messages()] == ["system", "user"]


@pytest.mark.parametrize("name", TASKS)
def test_every_slot_that_a_task_has_is_filled(name: str) -> None:
    task = examples("hardened")[name]
    values = task.template_vars()
    words = "\n".join(f"{slot}={{{slot}}}" for slot in task.slots() or ())
    filled = Prompts({name: words}).fill(task)
    assert filled == ("", "\n".join(f"{slot}={task.fill(str(values[slot]))}" for slot in task.slots() or ()))


def test_slots_in_what_strangers_wrote_are_not_filled() -> None:
    task = examples("hardened")["WriteStatements"].model_copy(update={"question": "{answer}", "answer": "secret"})
    assert Prompts({"WriteStatements": "Q: {question}"}).fill(task) == ("", "Q: <data>{answer}</data>")


@pytest.mark.parametrize(("profile", "said"), [("hardened", "Be strict.\nQ"), ("paper", "Q")])
def test_a_prompt_may_have_lines_for_one_profile(profile: Profile, said: str) -> None:
    words = Prompts({"WriteStatements": "{hardened?}Be strict.\nQ"})
    assert words.fill(examples(profile)["WriteStatements"]) == ("", said)


def test_braces_of_json_in_a_prompt_are_words() -> None:
    words = 'Reply with {"question": "…", "noncommittal": 0} or { } or {}: {response}'
    filled = Prompts({"WriteQuestion": words}).fill(examples("hardened")["WriteQuestion"])
    assert filled is not None
    assert filled[1].startswith('Reply with {"question": "…", "noncommittal": 0} or { } or {}: <data>\n"first')


@pytest.mark.parametrize(
    ("texts", "said", "hint"),
    [
        ({"AnswerClam": "x"}, r"'AnswerClam\.txt' is not named after a task", "did you mean 'AnswerClaim'"),
        (
            {"AnswerClaim": "x", "AnswerClaim.user": "x"},
            r"'AnswerClaim\.user\.txt' is not named after a task",
            "the part [system] of TASK.txt",
        ),
        ({"AnswerClaim": "x", "answerclaim": "x"}, r"'answerclaim\.txt' is not named after a task", "AnswerClaim"),
        ({}, "no prompts in", "tasks: AnalyseText, AnswerClaim"),
    ],
)
def test_a_folder_that_cannot_be_meant_is_refused(texts: dict[str, str], said: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        Prompts.read(folder(tmp_path / "p", texts))
    assert hint in caught.value.hint
    assert "p" in str(caught.value)


def test_a_folder_that_is_none_or_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        Prompts.read(tmp_path / "nowhere")
    (tmp_path / "AnswerClaim.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UsageError, match=r"AnswerClaim\.txt' cannot be read"):
        Prompts.read(tmp_path)


def test_a_byte_order_mark_is_no_word(tmp_path: Path) -> None:
    (tmp_path / "AnswerClaim.txt").write_bytes(b"\xef\xbb\xbf{claim}")
    assert Prompts.read(tmp_path).texts == {"AnswerClaim": "{claim}"}


def test_an_unknown_slot_is_refused_with_its_file(tmp_path: Path) -> None:
    path = folder(tmp_path / "p", {"AnswerClaim": "{claim} {documnt}"})
    with pytest.raises(UsageError, match=r"slot \{documnt\}") as caught:
        Prompts.read(path).fill(examples("hardened")["AnswerClaim"])
    assert caught.value.where == f"{path}/AnswerClaim.txt"
    assert "did you mean 'document'" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sytem]\nYou check claims.\n[input]\n{claim}", r"no part \[sytem\].*\n.*did you mean 'system'"),
        ("Claim: {claim\nDocument: {document}", r"the slot \{claim is not closed.*\n.*write \{claim\}"),
    ],
)
def test_a_misspelt_part_and_an_open_slot_are_refused_and_not_sent_as_words(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        Prompts.read(folder(tmp_path / "p", {"AnswerClaim": text}))


def test_words_in_brackets_and_braces_that_are_no_parts_and_slots_are_sent(tmp_path: Path) -> None:
    text = '[notes]\n{claim} [1]\nReply with {"label": …} or { label }.'
    assert Prompts.read(folder(tmp_path / "p", {"AnswerClaim": text})).texts == {"AnswerClaim": text}


@pytest.mark.anyio
async def test_an_unknown_slot_is_refused_before_anything_is_sent(server: Loopback, tmp_path: Path) -> None:
    path = folder(tmp_path / "p", {"WriteQuestion": "{respnse}"})  # asked last in a round
    with pytest.raises(UsageError), verifier(prompts=path) as made:
        await made.verify(CLAIM)
    assert server.counts.requests["chat"] == 0


def test_words_for_a_task_that_has_none_are_refused() -> None:
    with pytest.raises(UsageError):
        Prompts({"CompareTexts": "Compare {material}"})


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(UsageError):
        Prompts({"AnswerClaim": " \n"})


def test_other_words_are_another_identity() -> None:
    def identity(words: dict[str, str]) -> str:
        nowhere = Service(name="model", url="http://localhost")
        prompts = Prompts(words) if words else None
        return ChatBackend(Transport(secrets=Secrets()), nowhere, "m", prompts=prompts).identity

    assert len({identity({}), identity({"AnswerClaim": "a"}), identity({"AnswerClaim": "b"})}) == 3


# debates with words of one's own


def plainly(ask: Ask) -> Any:
    """Answers claims in the paper's own form, as they are asked with words of one's own."""
    return "It says so.\n**SUPPORTS**" if ask.system.startswith("You check claims.") else agreeing(ask)


@pytest.mark.anyio
async def test_a_debate_with_words_of_ones_own_sends_them_and_reads_the_papers_form(
    server: Loopback, tmp_path: Path
) -> None:
    server.script = plainly
    with verifier(prompts=folder(tmp_path / "p", WORDS)) as made:
        verdict = await made.verify(CLAIM)
    assert (verdict.error, verdict.label) == (None, "SUPPORTS")
    bodies = [each.body for each in server.requests if each.route == "chat"]
    ours = [each for each in bodies if each["messages"][0]["content"].startswith("You check claims.")]
    assert len(ours) >= 2
    assert not any("response_format" in each for each in ours)
    assert all("response_format" in each for each in bodies if each not in ours)


@pytest.mark.anyio
async def test_a_run_with_words_of_ones_own_replays_without_their_folder_and_without_an_endpoint(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = plainly
    prompts, run = folder(tmp_path / "p", WORDS), tmp_path / "run"
    with verifier(prompts=prompts, run=run) as made:
        verdict = await made.verify(CLAIM)
    sent = server.counts.requests["chat"]
    for path in prompts.iterdir():
        path.unlink()
    prompts.rmdir()
    monkeypatch.delenv("REDARGUE_BASE_URL")
    assert await replay(run) == [verdict]
    assert server.counts.requests["chat"] == sent
    assert json.loads((run / "run.json").read_text())["prompts"] == WORDS


@pytest.mark.anyio
async def test_a_run_goes_on_with_its_own_words_only(server: Loopback, tmp_path: Path) -> None:
    server.script = plainly
    run = tmp_path / "run"
    with verifier(prompts=folder(tmp_path / "p", WORDS), run=run) as made:
        await made.verify(CLAIM)
    changed = folder(tmp_path / "q", {"AnswerClaim": f"{WORDS['AnswerClaim']} Be brief."})
    for other in (changed, None):
        with pytest.raises(RecordError, match="already holds a run whose identity differs"):
            verifier(prompts=other, run=run)


@pytest.mark.anyio
@pytest.mark.parametrize("form", ["auto", "json", "plain"])
async def test_a_run_replays_in_the_form_that_it_was_asked_in(form: str, server: Loopback, tmp_path: Path) -> None:
    def answer(ask: Ask) -> Any:
        found = agreeing(ask)
        return json.dumps(found) if isinstance(found, dict) else found

    server.script = answer
    run = tmp_path / "run"
    with verifier(run=run, response_format=form) as made:
        verdict = await made.verify(CLAIM)
    assert verdict.error is None
    if form == "plain":  # JSON read as plain text quotes nothing
        assert (verdict.label, verdict.caveats[0].kind) == ("NOT ENOUGH INFO", "unquoted")
    else:
        assert verdict.label == "SUPPORTS"
    assert await replay(run) == [verdict]


@pytest.mark.anyio
async def test_what_was_rejected_is_in_the_record(server: Loopback, tmp_path: Path) -> None:
    def twice(ask: Ask) -> Any:
        return "nonsense" if ask.role == "WriteQuery" and len(ask.messages) == 2 else agreeing(ask)

    server.script = twice
    run = tmp_path / "run"
    with verifier(run=run, settings={"first_query": "model"}) as made:
        verdict = await made.verify(CLAIM)
    assert verdict.label == "SUPPORTS"
    rejected = [each for event in read_events(run) for each in getattr(event, "rejected", ())]
    assert [each["raw"] if isinstance(each, dict) else each.raw for each in rejected] == ["nonsense"] * 2
    assert await replay(run) == [verdict]


@pytest.mark.anyio
async def test_a_reply_to_words_of_ones_own_that_ends_in_no_label_is_an_error(server: Loopback) -> None:
    server.script = lambda ask: "I cannot say."
    async with Transport(secrets=Secrets(), patience=0) as transport:
        service = Service(name="model", url=f"{server.url}/v1")
        backend = ChatBackend(transport, service, "m", prompts=Prompts(WORDS))
        with pytest.raises(BadReply, match="its last line is not one of the labels"):
            await backend.perform(examples("hardened")["AnswerClaim"], Call(agent="corpus"))
    assert server.counts.requests["chat"] == 2


@pytest.mark.slow
def test_prompts_may_be_for_tasks_of_methods_that_are_not_loaded_yet() -> None:
    code = 'from redargue.assembly import read_prompts; read_prompts({"ChooseAction": "{claim}", "GiveOpinion": "x"})'
    subprocess.run([sys.executable, "-c", code], check=True)


# shipped sets


def test_the_printed_prompts_of_tool_mad_have_the_papers_slots_in_its_order() -> None:
    """Figures 4 to 6 of the journal version, and the answer of round 1, which has no other debater to read."""
    printed = read_prompts(Path("printed:tool-mad"))
    assert printed is not None
    slots = {name: re.findall(r"\{(\w+)\}", text) for name, text in printed.texts.items()}  # without guards
    assert slots["RewriteQuery"] == ["tool", "about", "others", "used", "claim"]
    assert slots["AnswerClaim"] == ["label_rules", "labels", "claim", "others", "document"]
    assert slots["JudgeDebate"] == ["label_rules", "history", "scores", "claim"]
    later = examples("paper")["AnswerClaim"]
    first = later.model_copy(update={"others": ()})
    assert [("Other debaters" in (printed.fill(task) or ("", ""))[1]) for task in (first, later)] == [False, True]


@pytest.mark.parametrize("metric", [Metric.FAITHFULNESS, Metric.CONSISTENCY, None])
def test_the_printed_judge_is_told_of_the_scores_that_it_is_shown(metric: Metric | None) -> None:
    printed = read_prompts(Path("printed:tool-mad"))
    assert printed is not None
    scores = (MeanScore(agent="corpus", metric=metric, value=0.5),) if metric else ()
    _, words = printed.fill(JudgeDebate(claim=CLAIM, profile="paper", history=(), scores=scores)) or ("", "")
    named = {each for each in (Metric.FAITHFULNESS, Metric.CONSISTENCY) if f"The {each} score measures" in words}
    assert named == ({metric} if metric else set())
    assert ("these scores" in words) == bool(scores)


def test_the_printed_prompts_of_mermaid_are_system_messages_with_the_papers_slots_in_its_order() -> None:
    printed = read_prompts(Path("printed:mermaid"))
    assert printed is not None
    slots = {name: list(Template(text).slots) for name, text in printed.texts.items()}
    assert slots["DecomposeClaim"] == ["claim"]
    assert slots["NextStep"] == ["claim", "background", "history", "tools", "answers"]
    filled = printed.fill(NextStep(claim=CLAIM, profile="paper"))
    assert filled is not None
    system, user = filled
    assert "Query: The lighthouse at Cape Ansel was lit in 1871." in system
    assert '{"thought": "your reasoning", "answer": "True" | "False" | "NOT ENOUGH INFO"}' in system
    assert user == "Give the JSON object."


def test_a_method_without_printed_prompts_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="'nli' has no printed prompts") as caught:
        read_prompts(Path("printed:nli"))
    assert "printed:tool-mad" in caught.value.hint
    with pytest.raises(UsageError, match="tool-mud"):
        read_prompts(Path("printed:tool-mud"))


@pytest.mark.anyio
async def test_a_run_with_printed_prompts_replays_without_their_files(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with verifier(run=tmp_path / "run", prompts=Path("printed:tool-mad"), profile="paper") as made:
        verdict = await made.verify(CLAIM)
    monkeypatch.setattr("redargue.assembly._printed", lambda name: tmp_path / "nowhere")
    assert verdict.error is None
    assert await replay(tmp_path / "run") == [verdict]


# documentation


def test_the_documented_slots_are_those_of_the_tasks() -> None:
    read_prompts({"AnswerClaim": "x"})  # loads the tasks of all methods
    tasks = {task.name(): task for task in every_task()}
    table = (Path(__file__).parents[2] / "docs/endpoints.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"(?m)^\| (`\w+`.*?) \| (.*`) \|$", table.partition("## Your own prompts")[2].partition("\n## ")[0]
    )
    assert len(rows) > 8
    for names, slots in rows:
        for name in re.findall(r"`([A-Z]\w+)`", names):
            assert {*re.findall(r"`(\w+)`", slots)} <= {*(tasks[name].slots() or ())}, name
