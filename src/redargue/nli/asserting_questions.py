"""Restates questions that assert something: "Did you know that octopuses have three hearts?"."""

from __future__ import annotations

import re

_ASKED = r"(?!(?:who|what|why|how|if|whether|where|when|which|whose|any|anyone|about|of|me|him|us)\b)"
_WRAPPED = re.compile(  # what is asserted follows
    r"(?:(?:and|but|so),? )?(?:"
    r"(?:did|do) you (?:ever )?(?:know|realise|realize|notice|hear|remember|see) that"
    r"|did you know,?|have you (?:heard|noticed|seen|read) that|(?:are|were) you aware that"
    r"|(?:can|could|would) you (?:believe|imagine)(?: that)?"
    r"|who (?:knew|(?:would have|would've|could have) (?:thought|guessed|known|believed))(?: that)?"
    r"|(?:isn't|ain't|wasn't) it (?:just |so |really |a bit |kind of )?(?!true\b)\w+(?: \w+)? that|isn't it true that"
    r"|(?:why|how) (?:is|was) it (?:even )?(?:possible )?that|how come"
    rf") {_ASKED}(?=\S)",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",? (?:right|correct|yes|no|don't you think"
    r"|(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)(?:n't)? (?:it|he|she|they|there|we|this|that)"
    r"(?: not)?)\s*\?$",
    re.IGNORECASE,
)
_LEADING = re.compile(  # "Isn't Canberra the capital of Australia?"
    r"(isn't|aren't|wasn't|weren't|hasn't|haven't|hadn't|doesn't|don't|didn't|can't|couldn't|won't|wouldn't)\s+"
    r"(it|there|he|she|they|this|that|these|those"
    r"|(?:the|an?|this|that|these|those|my|our|your|his|her|their|its)\s"
    r"(?:(?:first|last|second|new|old|whole|same|next|main|other|only|\w+est)\s)?[\w-]+(?:\sof\s(?:the\s)?[\w-]+)?"
    r"|(?-i:[A-Z])[\w'.-]*(?:\s(?-i:[A-Z0-9])[\w'.-]*)*|(?!you\b|we\b|i\b)[a-z-]+s)\s+(\S.*)\?$",
    re.IGNORECASE,
)
_IRREGULAR = {"can't": "can", "won't": "will"}


def asserted(text: str) -> str | None:
    """The statement that a question makes; a text that is not a question, unchanged; None for other questions."""
    question = text.rstrip("\"'”)* ")
    if not question.endswith("?"):
        return text
    question = question.rstrip("?! ") + "?"
    if wrapped := _WRAPPED.match(question):
        return _sentence(question[wrapped.end() : -1])
    if leading := _LEADING.match(question):
        negated = leading[1].lower()
        verb = _IRREGULAR.get(negated, negated.removesuffix("n't"))
        return _sentence(f"{leading[2]} {verb} {leading[3]}")
    if (tag := _TAG.search(question)) and len(question[: tag.start()].split()) > 1:
        return _sentence(question[: tag.start()])
    return None


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + "."
