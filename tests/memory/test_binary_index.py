from __future__ import annotations

import numpy as np
import pytest

from redargue.memory.records import BinaryIndex, pack_signs
from redargue.nli.session import Floats


def clustered(count: int, dimensions: int, seed: int) -> Floats:
    """Unit vectors around forty centres."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((40, dimensions))
    vectors = (centres[rng.integers(0, 40, count)] + 0.9 * rng.standard_normal((count, dimensions))).astype(np.float32)
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


@pytest.mark.parametrize("dimensions", [384, 100])
def test_the_true_neighbours_are_among_the_nearest_codes(dimensions: int) -> None:
    vectors, questions = clustered(20_000, dimensions, 2), clustered(20, dimensions, 3)
    codes = BinaryIndex(dimensions)
    rows = list(enumerate(pack_signs(vectors), start=1))
    for start in range(0, len(rows), 3_000):
        codes.extend(rows[start : start + 3_000])
    assert (codes.count, codes.last) == (20_000, 20_000)
    kept = 0
    for question in questions:
        true = 1 + np.argsort(-(vectors @ question))[:10]
        kept += len(set(map(int, true)) & set(codes.nearest(question, 200)))
    assert kept / 200 >= 0.95


def test_few_codes_are_all_near() -> None:
    codes = BinaryIndex(384)
    assert (codes.last, codes.nearest(clustered(1, 384, 4)[0], 5)) == (0, [])
    codes.extend(list(zip([3, 7, 9], pack_signs(clustered(3, 384, 5)), strict=True)))
    assert sorted(codes.nearest(clustered(1, 384, 4)[0], 5)) == [3, 7, 9]


def test_of_equal_codes_the_newest_come_first() -> None:
    codes = BinaryIndex(384)
    vector = clustered(1, 384, 6)
    codes.extend([(number, pack_signs(vector)[0]) for number in range(1, 101)])
    assert codes.nearest(vector[0], 3) == [100, 99, 98]
