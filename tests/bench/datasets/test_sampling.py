"""Samples: which examples, always the same ones, and what is written down about them."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from redargue.bench.datasets import Example, SamplePlan, describe_sample, draw, half_of
from redargue.claims import FEVER, Claim
from redargue.errors import UsageError
from redargue.files import sha256_of


def example(number: int, gold: str | None = "SUPPORTS", group: str = "") -> Example:
    return Example(id=str(number), claim=Claim(text=f"Claim {number}."), gold=gold, group=group, row=number)


EXAMPLES = tuple(
    example(number, FEVER.names[number % 5 % 3], group=f"{2 + number % 2}-hop") for number in range(1, 101)
)  # 40 SUPPORTS, 40 REFUTES, 20 NOT ENOUGH INFO


def ids(sampling: SamplePlan, examples: tuple[Example, ...] = EXAMPLES) -> list[int]:
    return [int(each.id) for each in draw(examples, sampling)]


def test_all_are_taken_where_nothing_is_said_or_there_are_fewer() -> None:
    assert ids(SamplePlan()) == list(range(1, 101))
    assert ids(SamplePlan(limit=500, how="random")) == list(range(1, 101))


def test_first_takes_the_first() -> None:
    assert ids(SamplePlan(limit=3)) == [1, 2, 3]


def test_a_random_sample_depends_on_the_seed_alone_and_keeps_the_order() -> None:
    sampling = SamplePlan(limit=20, how="random", seed=7)
    chosen = ids(sampling)
    assert chosen == sorted(chosen)
    assert len(set(chosen)) == 20
    assert ids(sampling, EXAMPLES[::-1]) == chosen[::-1]
    assert ids(SamplePlan(limit=20, how="random", seed=8)) != chosen
    assert ids(SamplePlan(limit=3, how="random", seed=7)) == [39, 47, 62]  # the same on every machine


def test_a_larger_sample_holds_the_smaller_one() -> None:
    small, large = (set(ids(SamplePlan(limit=limit, how="random"))) for limit in (10, 30))
    assert small < large


def test_a_balanced_sample_has_as_many_of_each_label() -> None:
    taken = draw(EXAMPLES, SamplePlan(limit=32, how="balanced", seed=1))
    assert Counter(each.gold for each in taken) == {"SUPPORTS": 11, "REFUTES": 11, "NOT ENOUGH INFO": 10}
    taken = draw(EXAMPLES, SamplePlan(how="balanced"))
    assert set(Counter(each.gold for each in taken).values()) == {20}


def test_a_balanced_sample_that_there_is_not_says_how_many_there_are() -> None:
    with pytest.raises(
        UsageError, match=r"needs 21 of 'NOT ENOUGH INFO', and there are 20\n  → use a limit of at most 60"
    ):
        draw(EXAMPLES, SamplePlan(limit=63, how="balanced"))


def test_examples_without_gold_are_in_no_balanced_sample() -> None:
    hidden = (example(1, None), example(2), example(3, "REFUTES"))
    assert ids(SamplePlan(how="balanced"), hidden) == [2, 3]
    with pytest.raises(UsageError, match="no examples left"):
        draw((example(1, None),), SamplePlan(how="balanced"))


def test_per_group_draws_from_each_group() -> None:
    for how in ("first", "random"):
        taken = draw(EXAMPLES, SamplePlan(limit=10, how=how, per_group=True))
        assert Counter(each.group for each in taken) == {"2-hop": 10, "3-hop": 10}
    taken = draw(EXAMPLES, SamplePlan(limit=6, how="balanced", per_group=True))
    assert set(Counter((each.group, each.gold) for each in taken).values()) == {2}


def test_halves_are_disjoint_whole_and_follow_the_claim_text() -> None:
    even, odd = ids(SamplePlan(half="even")), ids(SamplePlan(half="odd"))
    assert sorted(even + odd) == list(range(1, 101))
    for each in EXAMPLES:
        number = int(hashlib.sha1(each.claim.text.encode()).hexdigest()[:8], 16) % 2
        assert (int(each.id) in even) == (number == 0)
        assert half_of(each.claim.text) == ("even", "odd")[number]
    assert set(ids(SamplePlan(half="odd", limit=10, how="random"))) <= set(odd)


def test_a_sample_is_written_down_whole(tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    file.write_bytes(b"content")
    sampling = SamplePlan(limit=4, how="random", seed=3, half="even")
    taken = draw((*EXAMPLES, example(101, None)), sampling)
    sample = describe_sample("fever", file, sampling, rows=101, taken=taken, options=[("unit", "segment")])
    assert sample.sha256 == hashlib.sha256(b"content").hexdigest()
    assert (sample.dataset, sample.file, sample.rows, sample.taken) == ("fever", "claims.jsonl", 101, 4)
    assert (sample.seed, sample.how, sample.half, sample.limit) == (3, "random", "even", 4)
    assert [name for name, _ in sample.labels] == list(FEVER.names)
    assert sum(count for _, count in sample.labels) == 4
    assert dict(sample.groups) == Counter(each.group for each in taken)
    assert sample.options == (("unit", "segment"),)


def test_hidden_gold_is_counted_under_no_name(tmp_path: Path) -> None:
    sample = describe_sample("fever", tmp_path, SamplePlan(), rows=1, taken=(example(1, None),))
    assert dict(sample.labels) == {"SUPPORTS": 0, "REFUTES": 0, "NOT ENOUGH INFO": 0, "": 1}
    assert sample.groups == ()


def test_a_folders_hash_follows_its_files(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"2")
    (tmp_path / "a").write_bytes(b"1")
    before = sha256_of(tmp_path)
    lines = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in (("a", b"1"), ("b", b"2")))
    assert before == hashlib.sha256(lines.encode()).hexdigest()
    (tmp_path / "a").write_bytes(b"3")
    assert sha256_of(tmp_path) != before
