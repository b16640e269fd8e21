"""How the time of a call grows with what it is given: a ratio of two measurements, the same on a slow machine."""

import time
from collections.abc import Callable

TIMES = 8  # as long
ROUNDS = 5  # a garbage collection or another program may fall into one of them


def grows_with_the_square(call: Callable[[str], object], text: str) -> bool:
    """Whether `call` takes much more than eight times as long for `text` as for an eighth of it.

    In proportion the time grows 8 times, with the square 64 times. The shortest of several measurements of the
    thread's own time counts. `text` should be long enough to take some milliseconds.
    """
    part = text[: len(text) // TIMES]
    for _ in range(ROUNDS):
        if _seconds(call, text) < 3 * TIMES * max(_seconds(call, part), _seconds(call, part), 0.0005):
            return False
    return True


def _seconds(call: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    call(text)
    return time.thread_time() - began
