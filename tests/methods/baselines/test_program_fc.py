"""ProgramFC: programs as data, what waits for what, what facts and votes come to, what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redargue.api  # noqa: F401  (loads every role)
from redargue.backends import require
from redargue.backends.scripted import ScriptedBackend
from redargue.claims import FEVER, FREE_TEXT, TWO, Claim, Meaning
from redargue.errors import BadReply, UnsupportedTask, UsageError
from redargue.events import Answered, QueryWritten
from redargue.llm.rendering import Renderer
from redargue.methods.base import ConfiguredMethod, configure
from redargue.methods.baselines.program_fc import (
    AnswerQuestion,
    ProgramFC,
    ProgramFCSettings,
    ProgramSpan,
    RecallAnswer,
    RecallFact,
    TruthJudgement,
    VerifyFact,
    WriteProgram,
    majority_meaning,
)
from redargue.methods.baselines.program_fc.program import MOST_STEPS, Program, ProgramStep, parse_program
from redargue.methods.dry_run import costs
from redargue.nli.backend import EmbeddedBackend
from redargue.run import Run
from redargue.tasks.template import read_examples
from redargue.verdicts import Verdict
from support.baselines.programs import step
from support.debates import CLOCK, QUOTE, ShelfTool

CLAIM = Claim(text="The keeper of the first light at Cape Ansel, lit in 1871, was born in Veshti.", labels=TWO)
WRITTEN = """
# The claim is that the keeper was born in Veshti.
def program():
    light = Verify("The light at Cape Ansel was lit in 1871.")
    keeper = Question("Who kept the first light at Cape Ansel?")
    birth = Verify(f'{keeper} was born in "Veshti".')
    label = Predict(light and birth)
# The claim is that Bees are insects.
def program():
    nonsense
"""
PROGRAM = Program(
    steps=(
        step("Verify", "The light at Cape Ansel was lit in 1871."),
        step("Question", "Who kept the first light at Cape Ansel?"),
        step("Verify", '{answer_1} was born in "Veshti".'),
    )
)
UNREADABLE = BadReply("said nothing that can be read", raw="hm")


async def check(
    claim: Claim = CLAIM, *, written: Any = PROGRAM, facts: Any = "true", spans: Any = "Ada Pell", **given: Any
) -> tuple[Verdict, ScriptedBackend, Run]:
    """The verdict, with every call that was made for it."""

    def truth(task: RecallFact, call: Any) -> Any:
        said = facts(task, call) if callable(facts) else facts
        return said if isinstance(said, BadReply) else TruthJudgement(verdict=said, quotes=(QUOTE,))

    def span(task: RecallAnswer, call: Any) -> Any:
        return spans if isinstance(spans, BadReply) else ProgramSpan(text=spans)

    backend = ScriptedBackend({WriteProgram: written, RecallFact: truth, RecallAnswer: span})
    run = Run(backend, {"keywords": ShelfTool("keywords")}, clock=CLOCK, seed=given.pop("seed", 0))
    verdict = await ConfiguredMethod(ProgramFC, ProgramFCSettings(**given)).verify(claim, run)
    return verdict, backend, run


# programs


def test_a_program_in_the_papers_form_becomes_data_and_what_follows_predict_is_not_read() -> None:
    assert parse_program(WRITTEN) == PROGRAM
    assert PROGRAM.names == ("fact_1", "answer_1", "fact_2")
    assert PROGRAM.levels == ((0, 1), (2,))
    assert parse_program(PROGRAM.text) == PROGRAM


def test_what_does_not_change_the_label_is_left_out() -> None:
    text = WRITTEN.replace("light and birth", "light")
    assert parse_program(text) == Program(steps=PROGRAM.steps[:1])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("keeper = Question", "keeper = Search", r"line 5 .*'Search' is not one of the functions"),
        ("{keeper}", "{captain}", r"line 6 .*'captain' is not assigned on a line before it"),
        ("first light", "light {birth}", r"line 5 .*'birth' is not assigned"),  # a circle
        ("{keeper}", "{birth}", r"line 6 .*'birth' is not assigned"),  # the smallest circle
        ("{keeper}", "{light}", r"line 6 .*'light' is true or false, not a text"),
        ("birth = ", "light = ", r"line 6 .*'light' is assigned twice"),
        ("birth = Verify", "birth: Verify", r"line 6 .*not of the form"),
        ('Verify("The light at Cape Ansel was lit in 1871.")', 'Verify("")', r"line 4 .*empty"),
        ("light and birth", "light and keeper", r"line 7 .*'keeper' is the answer to a question"),
        ("    label = Predict(light and birth)", "", r"not of the form|no Predict"),
        ("light and birth", "light or birth", r"line 7 .*joins facts with 'and' alone"),  # PFC-4
        ("light and birth", "not light", r"line 7 .*joins facts with 'and' alone"),  # PFC-4
        ("light and birth", "", r"line 7"),
        ("light and birth", "__import__('os')", r"line 7"),
        ("light = Verify", "import os; light = Verify", r"line 4"),
    ],
)
def test_what_is_no_program_is_an_error_that_names_the_line(old: str, new: str, said: str) -> None:
    assert old in WRITTEN
    with pytest.raises(ValueError, match=said):
        parse_program(WRITTEN.replace(old, new, 1))


def test_a_program_without_predict_is_none() -> None:  # PFC-5
    with pytest.raises(ValueError, match="no Predict"):
        parse_program('fact_1 = Verify("Bees are insects.")')


def test_a_program_has_an_end() -> None:
    line = 'a{0} = Verify("Bees are insects.")\n'
    text = "".join(line.format(at) for at in range(MOST_STEPS + 1)) + "label = Predict(a0)"
    with pytest.raises(ValueError, match=f"{MOST_STEPS} steps at most"):
        parse_program(text)
    with pytest.raises(ValueError, match="at most"):
        Program(steps=(step("Verify", "Bees are insects."),) * (MOST_STEPS + 1))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([("Verify", "{answer_1} is old.")], "not the answer of an earlier Question"),
        ([("Question", "Who?"), ("Verify", "{answer_2} is old."), ("Question", "Where?")], r"fact_1 = .*answer_2"),
        ([("Verify", "It is."), ("Verify", "{fact_1} is old.")], r"fact_2 = .*fact_1"),
        ([("Question", "Who?")], "no Verify"),
        ([("Verify", "  ")], "empty"),
        ([("Predict", "fact_1")], "function"),
        ([], "no Verify"),
    ],
)
def test_a_program_in_json_is_checked_as_well(steps: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Program.model_validate({"steps": [{"function": name, "text": text} for name, text in steps]})


def test_an_answer_that_looks_like_a_name_is_text() -> None:
    """What a page made an agent say is put in once, and nothing in it is replaced."""
    line = ProgramStep(function="Verify", text="{answer_1} met {answer_2}.")
    assert line.filled({"answer_1": "{answer_2}", "answer_2": "Ann"}) == "{answer_2} met Ann."


def test_our_demonstrations_are_programs_of_what_they_claim() -> None:
    found = read_examples("redargue.methods.baselines.program_fc").split("\n\n")
    assert len(found) == 12
    for each in found:
        head, _, body = each.partition("\n")
        assert head.startswith("# The claim is that ")
        program = parse_program(body)
        assert program.text == "\n".join(["def program():", *body.splitlines()[1:]])


FRAGMENTS = st.sampled_from(
    [
        'a = Verify("x")',
        'b = Question("{a}")',
        "label = Predict(a and b)",
        "\n",
        " ",
        "(",
        '"',
        "{a}",
        "and",
        "def f():",
    ]
)


@pytest.mark.slow
@given(st.one_of(st.text(max_size=300), st.lists(FRAGMENTS, max_size=60).map("".join)))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_text_is_a_program_or_a_value_error(text: str) -> None:
    try:
        program = parse_program(text)
    except ValueError:
        return
    assert parse_program(program.text) == program


@pytest.mark.parametrize("hostile", ["(" * 100_000, 'a = Verify("' + '" ' * 50_000, "a = Predict(" + ") " * 50_000])
def test_long_texts_take_no_time(hostile: str) -> None:
    with pytest.raises(ValueError):
        parse_program(hostile)


# replies in the paper's form


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("True", "true"),
        (" the answer is: Yes.", "true"),
        ("**False**", "false"),
        ("no", "false"),
        ("It’s impossible to say", "impossible to say"),
        ('{"quotes": [], "verdict": "false"}', "false"),
    ],
)
def test_the_truth_of_a_fact_is_a_word(said: str, verdict: str) -> None:
    assert Renderer().read(VerifyFact(statement="s", profile="paper"), said, plain=True) == TruthJudgement(
        verdict=verdict
    )


@pytest.mark.parametrize("said", ["", "maybe", "True or false", "It is true that bees are no insects: false", "nope"])
def test_what_is_neither_yes_nor_no_is_none_of_them(said: str) -> None:
    with pytest.raises(ValueError):
        Renderer().read(VerifyFact(statement="s", profile="paper"), said, plain=True)


def test_a_short_answer_is_short() -> None:
    task = AnswerQuestion(question="Who?", profile="paper")
    assert Renderer().read(task, "The answer is: Ada Pell.", plain=True) == ProgramSpan(text="Ada Pell")
    assert Renderer().read(task, "Answerable people", plain=True) == ProgramSpan(text="Answerable people")
    for bad in ("", "x" * 201):
        with pytest.raises(ValueError, match="not an answer in a few words"):
            Renderer().read(task, bad, plain=True)


# execution


@pytest.mark.anyio
async def test_lines_are_executed_as_far_as_they_need_each_other() -> None:
    verdict, backend, run = await check()
    asked = [
        (type(task).__name__, getattr(task, "question", getattr(task, "statement", ""))) for task, _ in backend.calls
    ]
    assert asked == [
        ("WriteProgram", ""),
        ("VerifyFact", "The light at Cape Ansel was lit in 1871."),
        ("AnswerQuestion", "Who kept the first light at Cape Ansel?"),
        ("VerifyFact", 'Ada Pell was born in "Veshti".'),
    ]
    assert [each.query for each in run.events if isinstance(each, QueryWritten)] == [text for _, text in asked[1:]]
    assert (verdict.label, verdict.decided_by, verdict.rounds) == ("SUPPORTS", "program", 1)
    assert [call.sampling.temperature for _, call in backend.calls] == [0.0] * 4
    assert verdict.quotes[0].found
    assert verdict.reason.splitlines()[-3:] == ["fact_1 is true", "answer_1 is Ada Pell", "fact_2 is true"]
    assert all(task.passages for task, _ in backend.calls if isinstance(task, VerifyFact))


@pytest.mark.anyio
async def test_one_false_fact_refutes() -> None:
    verdict, _, run = await check(facts=lambda task, call: "false" if "Ada Pell" in task.statement else "true")
    assert verdict.label == "REFUTES"
    assert [each.label for each in run.events if isinstance(each, Answered)] == ["SUPPORTS", "REFUTES"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("labels", "not_supported", "label"),
    [
        (TWO, "not_enough", "REFUTES"),
        (FEVER, "refuted", "REFUTES"),
        (FEVER, "not_enough", "NOT ENOUGH INFO"),
    ],
)
async def test_what_cannot_be_said_refutes_or_stays_open(labels: Any, not_supported: str, label: str) -> None:
    """PFC-6."""
    claim = CLAIM.model_copy(update={"labels": labels})
    verdict, _, _ = await check(claim, facts="impossible to say", not_supported=not_supported)
    assert verdict.label == label
    mixed = {"lit in 1871": "impossible to say"}
    verdict, _, _ = await check(
        claim,
        facts=lambda task, call: next((v for k, v in mixed.items() if k in task.statement), "false"),
        not_supported=not_supported,
    )
    assert verdict.label == "REFUTES"  # one false fact is enough


@pytest.mark.anyio
async def test_a_line_that_needs_an_answer_nobody_found_is_not_asked() -> None:
    verdict, backend, _ = await check(CLAIM.model_copy(update={"labels": FEVER}), spans="")
    assert verdict.label == "NOT ENOUGH INFO"
    assert [task.name() for task, _ in backend.calls] == ["WriteProgram", "VerifyFact", "AnswerQuestion"]


@pytest.mark.anyio
async def test_gold_evidence_is_the_claims_context_and_closed_books_show_none() -> None:
    claim = CLAIM.model_copy(update={"context": f"{QUOTE} Ada Pell kept it." + " It stands." * 3_000})  # whole: PFC-7
    _, backend, run = await check(claim, setting="gold")
    shown = [task.passages for task, _ in backend.calls if isinstance(task, VerifyFact | AnswerQuestion)]
    assert [[each.text for each in passages] for passages in shown] == [[claim.context]] * 3
    assert not [each for each in run.events if isinstance(each, QueryWritten)]
    verdict, backend, _ = await check(claim, setting="closed-book")
    assert [task.name() for task, _ in backend.calls[1:]] == ["RecallFact", "RecallAnswer", "RecallFact"]
    assert (verdict.label, verdict.quotes) == ("SUPPORTS", ())
    with pytest.raises(UsageError, match="has no context"):
        await check(setting="gold")


@pytest.mark.anyio
async def test_several_programs_vote_and_a_tie_refutes() -> None:
    """PFC-3."""
    one = {n: Program(steps=(step("Verify", f"Statement {n}."),)) for n in range(1, 4)}
    said = {"Statement 1.": "true", "Statement 2.": "false", "Statement 3.": "true"}

    def written(task: WriteProgram, call: Any) -> Program:
        return one[task.sample + 1]

    facts = lambda task, call: said[task.statement]  # noqa: E731
    verdict, backend, _ = await check(written=written, facts=facts, programs=3)
    assert (verdict.label, verdict.rounds) == ("SUPPORTS", 1)
    assert verdict.round_labels == (("SUPPORTS", "REFUTES", "SUPPORTS"),)
    assert [call.sampling.temperature for task, call in backend.calls if isinstance(task, WriteProgram)] == [0.7] * 3
    verdict, _, _ = await check(written=written, facts=facts, programs=2)
    assert verdict.label == "REFUTES"


@pytest.mark.parametrize(
    ("votes", "winner"),
    [("", None), ("--", None), ("s-", "s"), ("sr", "r"), ("sn", "n"), ("rn", "r"), ("ssn", "s"), ("nnr", "n")],
)
def test_majorities(votes: str, winner: str | None) -> None:
    meanings = {"s": Meaning.SUPPORTED, "r": Meaning.REFUTED, "n": Meaning.NOT_ENOUGH, "-": None}
    assert majority_meaning([meanings[each] for each in votes]) == meanings[winner or "-"]


# what cannot be read


@pytest.mark.anyio
@pytest.mark.parametrize("parts", [{"written": UNREADABLE}, {"facts": UNREADABLE}, {"spans": UNREADABLE}])
async def test_what_cannot_be_read_is_no_vote_and_by_chance_only_where_that_was_asked_for(
    parts: dict[str, Any],
) -> None:
    """PFC-1, PFC-2."""
    verdict, _, _ = await check(**parts)
    assert (verdict.label, verdict.error) == (None, None)
    assert "said nothing that can be read" in verdict.reason
    drawn = [(await check(**parts, unparsed="random", seed=seed))[0].label for seed in range(12)]
    assert {*drawn} == {"SUPPORTS", "REFUTES"}
    assert drawn == [(await check(**parts, unparsed="random", seed=seed))[0].label for seed in range(12)]


@pytest.mark.anyio
async def test_a_program_without_a_vote_leaves_the_others_theirs() -> None:
    verdict, _, _ = await check(written=[UNREADABLE, PROGRAM], programs=2)
    assert (verdict.label, verdict.round_labels) == ("SUPPORTS", ((None, "SUPPORTS"),))


# what it needs


@pytest.mark.anyio
async def test_labels_without_sides_are_refused() -> None:
    with pytest.raises(UsageError, match="'free-text'"):
        await check(Claim(text="Who?", labels=FREE_TEXT))


@pytest.mark.slow
def test_a_dry_run_counts_programs_and_lines() -> None:
    low, likely, high = costs(configure("program-fc", "paper", {"programs": 3}))
    assert low.calls == {"WriteProgram": 3, "VerifyFact": 3}
    assert (likely.call_depth, likely.searches) == (3, {"keywords": 6})  # a fact that needs the answer to a question
    assert high.model_calls == 3 * (1 + MOST_STEPS)
    gold = configure("program-fc", "paper", {"setting": "gold"})
    assert costs(gold, CLAIM.model_copy(update={"context": "It was lit."})).likely.searches == {}
    with pytest.raises(UsageError, match="no gold evidence"):
        costs(gold)


def test_the_embedded_backend_reads_evidence_and_knows_nothing_by_heart() -> None:
    backend = EmbeddedBackend()
    require(backend, "program-fc", configure("program-fc", "hardened", {}).tasks())
    with pytest.raises(UnsupportedTask, match="RecallFact"):
        require(backend, "program-fc", configure("program-fc", "hardened", {"setting": "closed-book"}).tasks())


def test_a_plain_reply_gives_its_quotations_before_the_answer() -> None:
    said = 'It says: "The bridge was opened in 1911."\n**True**'
    read = Renderer().read(VerifyFact(statement="s"), said, plain=True)
    assert read == TruthJudgement(verdict="true", quotes=("The bridge was opened in 1911.",))
    read = Renderer().read(AnswerQuestion(question="q"), '"It was opened in 1911."\n1911', plain=True)
    assert read == ProgramSpan(text="1911", quotes=("It was opened in 1911.",))
