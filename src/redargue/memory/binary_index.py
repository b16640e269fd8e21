"""Approximate nearest-neighbour search over one-bit-per-dimension codes, held in memory.

A code keeps the sign of each dimension: 48 bytes for 384 dimensions. A search first selects the codes with the smallest
Hamming distance to the query's code, then ranks them by the dot product of their signs with the query vector. The
caller compares the best of these exactly. On 35,000 passages of FEVER and SciFact, 200 candidates contain 0.998 of
the true ten nearest neighbours; a million codes are searched in a few milliseconds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from redargue.nli.session import Floats

_BLOCK = 32_768  # codes compared per step: the intermediate sums stay in the processor's cache
WORD_BITS = 64
OVERSAMPLING = 10  # candidates selected by Hamming distance per code that is returned


def pack_signs(vectors: Floats) -> list[bytes]:
    """Codes of vectors of shape (count, dimensions): a bit per dimension, zero-padded to whole 64-bit words."""
    bits = np.packbits(vectors > 0, axis=1)
    return [row.tobytes() for row in np.pad(bits, ((0, 0), (0, -bits.shape[1] % (WORD_BITS // 8))))]


class BinaryIndex:
    """Codes and their record numbers, in ascending order of the numbers. Not thread-safe."""

    def __init__(self, dimensions: int) -> None:
        self._words = -(-dimensions // WORD_BITS)
        # One row per word of the code, so that the comparison of one word runs over contiguous memory.
        self._codes = np.empty((self._words, 0), np.uint64)
        self._numbers = np.empty(0, np.int64)
        self.count = 0

    @property
    def last(self) -> int:
        return int(self._numbers[self.count - 1]) if self.count else 0

    def extend(self, rows: list[tuple[int, bytes]]) -> None:
        """Appends codes; their numbers must be larger than :attr:`last` and ascending."""
        count = self.count + len(rows)
        if count > len(self._numbers):
            more = max(1024, count + count // 4) - len(self._numbers)
            self._codes = np.pad(self._codes, ((0, 0), (0, more)))
            self._numbers = np.pad(self._numbers, (0, more))
        new = np.frombuffer(b"".join(bytes(code) for _, code in rows), np.uint64)
        self._codes[:, self.count : count] = new.reshape(len(rows), self._words).T
        self._numbers[self.count : count] = [number for number, _ in rows]
        self.count = count

    def nearest(self, vector: Floats, depth: int) -> list[int]:
        """Numbers of the ``depth`` codes that are probably nearest to a vector of shape (dimensions,).

        Ties go to the newest. If the index holds no more than ``depth`` codes, all numbers are returned.
        """
        if depth >= self.count:
            return [int(number) for number in self._numbers[: self.count]]
        query_code = np.frombuffer(pack_signs(vector[None])[0], np.uint64)
        positions = self._nearest_by_hamming(query_code, OVERSAMPLING * depth)
        codes = np.ascontiguousarray(self._codes[:, positions].T).view(np.uint8)
        signs = np.unpackbits(codes, axis=1, count=len(vector)).astype(np.float32)
        order = np.lexsort((-positions, -np.round(signs @ vector, 5)))[:depth]
        return [int(number) for number in self._numbers[positions[order]]]

    def _nearest_by_hamming(self, query_code: npt.NDArray[np.uint64], depth: int) -> npt.NDArray[np.intp]:
        """Positions of the codes with the smallest Hamming distance; ties go to the newest."""
        if depth >= self.count:
            return np.arange(self.count)
        distances = np.empty(self.count, np.uint16)
        for start in range(0, self.count, _BLOCK):
            stop = min(self.count, start + _BLOCK)
            block_distances = np.zeros(stop - start, np.uint16)
            for row, query_word in zip(self._codes, query_code, strict=True):
                block_distances += np.bitwise_count(row[start:stop] ^ query_word)
            distances[start:stop] = block_distances
        positions = np.flatnonzero(distances <= np.partition(distances, depth - 1)[depth - 1])
        return positions[np.lexsort((-positions, distances[positions]))[:depth]]
