"""Tells whether words contain a finite verb: what a statement has, and a heading, a label or a caption mostly lacks.

Auxiliaries and irregular past forms are certain. A word in -ed counts where nothing makes it a participle, and a verb
of everyday use, or one in -s, where a word that can be its subject stands before it. A rarer verb in the present
("Otters nap") is not found; the callers count what they then cannot tell as unread.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?|\d[\d.,:]*|[^\s\w]")
_CERTAIN = frozenset(
    (
        "is are was were am has had does did can could will would may might shall should must cannot isn't aren't"
        " wasn't weren't hasn't haven't hadn't doesn't don't didn't can't couldn't won't wouldn't shouldn't mustn't"
        " it's that's there's he's she's who's they're we're you're i'm i've we've you've they've it'll he'll she'll"
        " they'll we'll you'll i'll became began broke brought came chose did drew drove fell flew forgot fought froze"
        " gave got grew heard held kept knew laid lay led left lent lost made meant met paid ran rang rose said sang"
        " sank sat saw sent shook shot slept sold sought spent spoke sprang stole stood struck swam swore taught told"
        " thought took understood went woke won wore wrote"
    ).split()
)
_EVERYDAY = frozenset(  # verbs, without what is as common as a noun
    (
        "have do begin become believe belong bring cause close come consist contain cover cross cut date eat employ"
        " end enter exist fail feed find fly follow get give go grow happen hold include increase kill know last lead"
        " leave lie live look lose make mean measure meet move need occur open own pay prevent produce provide"
        " publish reach receive reduce refer release remain require return rise run say see sell send serve set sing"
        " sink sit sleep speak spend stand start stay sting stop support take teach tell think turn understand use"
        " want wear weigh win work write cost ship offer accept allow arrive depart orbit"
    ).split()
)
_NO_SUBJECT = frozenset(  # after these a word is no finite verb
    (
        "a an the this that these those to of in on at by for from with without into onto over under about as per and"
        " or nor but no my your our his her their its some any each every all both how what where when why which who"
        " be been being is are was were am not newly recently most least more less very please let's"
    ).split()
)
_PRONOUNS = frozenset("i you he she it we they who which that there this these those".split())
_ALWAYS_NOUNS = frozenset("species series news means analysis basis status bus gas plus less across always".split())


def has_finite_verb(text: str) -> bool:
    words = [word.replace("’", "'") for word in _WORD.findall(text)]
    lower = [word.lower() for word in words]
    return any(_is_finite(words, lower, at) for at in range(len(words)))


def _is_finite(words: list[str], lower: list[str], at: int) -> bool:
    word, before = lower[at], lower[at - 1] if at else ""
    if word in _CERTAIN:
        # "must-see", "the can": a determiner makes it a noun
        return before not in ("a", "an", "the") or word in ("is", "was", "has")
    if not before or (before in _NO_SUBJECT and before not in _PRONOUNS) or not before[0].isalnum():
        return False
    after = lower[at + 1] if at + 1 < len(lower) else ""
    if word.endswith("ed") and len(word) > 4 and not word.endswith("eed"):
        return words[at].islower() and (after != "" or before in _PRONOUNS or len(words) < 4)
    if word in _EVERYDAY:
        return before in _PRONOUNS or before.endswith("s") or before == "people" or words[at - 1][0].isupper()
    return _is_third_person(word, words[at]) and not before.endswith("s")


def _is_third_person(word: str, written: str) -> bool:
    if not written.islower() or word in _ALWAYS_NOUNS or not re.search(r"[^sui]s\Z", word):
        return False
    stems = {word[:-1], word[:-2], word[:-3] + "y"}
    return bool(stems & _EVERYDAY)
