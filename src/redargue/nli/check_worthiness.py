"""Scores whether a sentence states something that can be checked: a linear model over its vector and its wording.

``training/train_claims.py`` fits the weights; they belong to the bundled embedder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from zlib import crc32

import numpy as np

from redargue.nli.encoders import DIMENSIONS, Embedder
from redargue.nli.model_files import read_arrays
from redargue.nli.session import WEIGHTS_FOLDER, Floats

WEIGHTS_FILE = WEIGHTS_FOLDER / "check_worthiness.npz"
CUES = 4096  # hashed
VECTOR_SCALE = 5.0  # a vector has length 1, a cue is 0 or 1

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[^\sa-z\d]")
_FUNCTION_WORDS = frozenset(
    (
        "a an the of and or to in on at for with from by as than if when while because although unless until after"
        " before once is are was were be been being am do does did done has have had can could may might must shall"
        " should will would cannot not no n't never it its this that these those there here i me my we us our you"
        " your he him his she her they them their who what which whose where why how let please all any each every"
        " some both few many much most more less only just also so very too"
    ).split()
)
ORDERS = frozenset(  # verbs that begin an instruction or a request
    (
        "add adjust allow answer apply arrange ask assume attach avoid back bake be begin book boil bring browse"
        " build buy call cancel carry check choose clean clear click close come compare complete confirm connect"
        " consider consult contact continue convert copy cook cover create cut decide define delete describe dip"
        " disable discard discuss double download draft drag drain draw drink drive drop eat email empty enable"
        " enjoy enter expect explain explore fill find finish fix focus fold follow forget forward freeze fry get"
        " give go grab grate guess hang have head heat help hit hold imagine import include inform insert inspect"
        " install invite iron join jot jump keep know launch learn leave let lift list listen load lock log look"
        " lower make mark measure melt mention mind mix move name note notice obtain open order pack park paste"
        " pause pay pick place plan plug post pour practise practice preheat prepare press print protect provide"
        " pull push put raise reach read rebuild recall record reduce refer refresh register relax release remember"
        " remind remove rename repeat replace reply report request rest restart return review rinse roast roll rub"
        " run save say scan schedule scroll season see seek select send separate serve set shake share shop show"
        " shut sign simmer sit skip sleep slice slide smile soak solve speak spend spread sprinkle stand start stay"
        " step stick stir stop store stretch submit subscribe suggest swap switch tag take talk tap taste tell test"
        " thank think tick tie tighten touch train transfer treat trust try turn type unplug unsubscribe update"
        " upgrade upload use verify view visit vote wait walk warm wash watch wear weigh whisk wipe wish work wrap"
        " write"
    ).split()
)


def scores(sentences: Sequence[str], embedder: Embedder) -> Floats:
    """Log-odds that a sentence can be checked, shape (sentences,)."""
    weights = _weights()
    return np.asarray(sentence_features(sentences, embedder) @ weights[1:] + weights[0], np.float32)


def sentence_features(sentences: Sequence[str], embedder: Embedder) -> Floats:
    """Shape (sentences, 384 + ``CUES``): the vector, then which hashed cues there are."""
    matrix = np.zeros((len(sentences), DIMENSIONS + CUES), np.float32)
    matrix[:, :DIMENSIONS] = VECTOR_SCALE * embedder.encode(sentences)
    for row, sentence in enumerate(sentences):
        for cue in _cues(sentence):
            matrix[row, DIMENSIONS + crc32(cue.encode()) % CUES] = 1
    return matrix


def _cues(sentence: str) -> list[str]:
    """Words, pairs of words, the beginning, the end, and the frame of function words."""
    tokens = ["0" if token.isdigit() else token for token in _TOKEN.findall(sentence.lower())]
    frame = [token if token in _FUNCTION_WORDS or not token[0].isalpha() else _shape(token) for token in tokens]
    cues = [*tokens, *(f"{first} {second}" for first, second in pairwise(tokens))]
    cues += [f"begins {' '.join(tokens[:count])}" for count in (1, 2, 3)]
    cues += [f"ends {' '.join(tokens[-count:])}" for count in (1, 2)]
    cues += [f"frame begins {' '.join(frame[:count])}" for count in (2, 3, 4)]
    cues += [f"frame {' '.join(frame[at : at + 3])}" for at in range(len(frame) - 2)]
    cues += [f"of length {min(len(tokens) // 3, 5)}"]
    if tokens and tokens[0] in ORDERS:
        cues += ["an order", f"an order {' '.join(frame[1:2])}"]
    if re.search(r"[a-z,] [A-Z][a-z]", sentence):
        cues.append("a name")
    if re.search(r"\d", sentence):
        cues.append("a number")
    if not re.search(r"[.!?…][\"')]*$", sentence):
        cues.append("no end")
    return cues


def _shape(token: str) -> str:
    ending = token[-2:] if len(token) > 4 else ""
    return f"*{ending}" if ending in ("ed", "ly", "ng", "es") else "*"


@cache
def _weights() -> Floats:
    """The intercept, then a weight for each feature."""
    return np.asarray(read_arrays(WEIGHTS_FILE, ["weights"])["weights"], np.float32)
