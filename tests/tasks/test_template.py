"""Prompts as texts: slots, guards, joined lines and parts; and the texts that are shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import redargue
from redargue.methods.base import methods
from redargue.tasks.base import PROFILES, Task, every_task
from redargue.tasks.template import Template, of_profile
from support.growth import grows_with_the_square
from tasks.test_tasks import examples

TEXTS = sorted(Path(redargue.__file__).parent.glob("**/prompts/**/*.txt"))


def filled(text: str, **values: object) -> str:
    return "\n".join(words for _, words in Template(text).fill(values))


def test_a_line_of_the_text_is_a_line_of_the_prompt() -> None:
    assert filled("Claim: {claim}\n\nEnd.\n", claim="It was lit.") == "Claim: It was lit.\n\nEnd."


def test_a_line_is_left_out_if_its_slots_leave_it_empty() -> None:
    assert filled("a\n{x}\n{x}{y}\nb", x="", y="") == "a\nb"


@pytest.mark.parametrize(("own", "kept"), [("mine", "Yours: mine\nend"), ("", "You said nothing.\nend")])
def test_a_guard_keeps_or_drops_its_line(own: str, kept: str) -> None:
    assert filled("{own?}Yours: {own}\n{own!}You said nothing.\nend", own=own) == kept


def test_a_line_with_several_guards_needs_them_all() -> None:
    text = "{a?}{b!}a alone\nend"
    shown = {(a, b): filled(text, a=a, b=b) for a in (False, True) for b in (False, True)}
    assert [values for values, words in shown.items() if "alone" in words] == [(True, False)]


def test_guards_of_joined_lines_apply_to_their_piece() -> None:
    text = "{others?}An opinion: \\\n{documents?}check it, \\\nsay where you differ.\nend"
    assert filled(text, others=True, documents=False) == "An opinion: say where you differ.\nend"
    assert filled(text, others=True, documents=True) == "An opinion: check it, say where you differ.\nend"
    assert filled(text, others=False, documents=True) == "end"


def test_a_text_of_both_profiles_has_lines_of_one_alone() -> None:
    text = "Decide.\n{hardened?}{open?}Or leave it open.\n{hardened!}>>>\n{hardened?}[examples]"
    assert of_profile(text, hardened=True) == "Decide.\n{open?}Or leave it open.\n[examples]"
    assert of_profile(text, hardened=False) == "Decide.\n>>>"


def test_parts_keep_their_order_and_empty_ones_are_left_out() -> None:
    text = "[instructions]\nDo.\n[input]\n{claim}\n[examples]\n{examples}\n[reply]\n[your answer]"
    assert Template(text).fill({"claim": "C", "examples": ""}) == [
        ("instructions", "Do."),
        ("input", "C"),
        ("reply", "[your answer]"),
    ]


def test_slots_in_values_and_braces_of_json_are_words() -> None:
    assert filled('{"a": 1} {} { x } {x}', x="{x}") == '{"a": 1} {} { x } {x}'


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_text_belongs_to_a_task(path: Path) -> None:
    methods.load_builtin()
    assert path.stem in {task.name() for task in every_task()}
    assert path.parent.name in (*PROFILES, "prompts", "printed")


@pytest.mark.parametrize("name", sorted(examples("paper")))
def test_a_task_fills_every_slot_of_its_texts(name: str) -> None:
    for profile in PROFILES:
        task: Task[Any] = examples(profile)[name]
        assert set(task.template(profile).slots) <= set(task.template_vars())


def test_a_task_of_another_package_may_have_its_text_in_the_class() -> None:
    class _Guess(Task[Any]):
        prompt = "[instructions]\nGuess.\n[input]\nWord: {word}"

        word: str

        def template_vars(self) -> dict[str, object]:
            return {"word": self.word}

    shown = _Guess(word="xyzzy").rendered()
    assert (shown.instructions, shown.input_text) == ("Guess.", "Word: xyzzy")


def test_a_slot_without_a_variable_is_an_error_that_names_it() -> None:
    class _Lost(Task[Any]):
        prompt = "Word: {word}"

    with pytest.raises(TypeError, match="_Lost has a slot 'word'"):
        _Lost().rendered()
    with pytest.raises(TypeError, match=r"Task has no prompt: write prompts/hardened/Task\.txt"):
        Task.template("hardened")


@pytest.mark.slow
def test_the_time_grows_with_the_number_of_guards_and_not_with_its_square() -> None:
    guards = "{a?}" * 400_000
    assert not grows_with_the_square(Template, guards)
    template = Template(guards + "words")
    assert template.fill({"a": ""}) == []
    assert template.fill({"a": "x"}) == [("input", "words")]
