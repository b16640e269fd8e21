"""Finds the sentences that can be checked, and states them without what merely leads in.

The embedded backend generates no text, so its claims are a text's sentences, without lead-ins ("However,", "I think
that", "According to the document,"). Rules decide what is certain; a linear model over a sentence's vector and wording
decides the rest (``training/train_claims.py`` fits it to the bundled embedder). Second and first person are no reason
to drop a sentence: "You can return it within 60 days." can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

import numpy as np

from redargue.nli.grammar import has_finite_verb, resolve_pronoun, subject_of, word_set
from redargue.nli.markup import contact_block, is_furniture, parts, without_dateline
from redargue.nli.model_files import read_arrays
from redargue.nli.quantities import quantities
from redargue.nli.session import DIMENSIONS, WEIGHTS_FOLDER, Embedder, Floats, shared
from redargue.quotes import content_words
from redargue.retrieval.corpus.documents import sentence_spans

WEIGHTS_FILE = WEIGHTS_FOLDER / "check_worthiness.npz"
CUES = 4096  # hashed
VECTOR_SCALE = 5.0  # a vector has length 1, a cue is 0 or 1

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[^\sa-z\d]")
_FUNCTION_WORDS = word_set(
    "a an the of and or to in on at for with from by as than if when while because although unless until after"
    " before once is are was were be been being am do does did done has have had can could may might must shall"
    " should will would cannot not no n't never it its this that these those there here i me my we us our you"
    " your he him his she her they them their who what which whose where why how let please all any each every"
    " some both few many much most more less only just also so very too"
)
ORDERS = word_set(  # verbs that begin an instruction or a request
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


_SHORT = 6  # words of a statement that leaves some out: "Router included for free"
FEWEST = 2  # words of a statement: "Crime increased."
THRESHOLD = -0.2  # log-odds above which a sentence is a claim
WITH_A_FIGURE = -1.2  # above which a sentence with a verb and a figure is one
CERTAIN = 1.0  # above which words without a verb are a fragment of one

_FEELING = (
    r"(?:happy|glad|pleased|delighted|proud|excited|thrilled|relieved|sad|surprised|amazed|shocked"
    r"|disappointed|astonished|fascinated|grateful|good|great|nice|interesting|crazy|wild|funny|amazing|strange|odd)"
)
_REPORTS = r"(?:say|tell|confirm|inform|assure|note|mention|add|state|report|share|point out|remind)"
_SUBJECT_BEGINS = (
    r"(?=(?:an?|the|this|that|these|those|it|he|she|they|we|you|there|my|our|your|his|her|their|its|all|most|some|many"
    r"|no|each|every|both|i)\b|(?-i:[A-Z0-9]))"
)
_KIND = r"(?:documents?|docs?|contexts?|passages?|sources?|excerpts?|chunks?|snippets?)"
_NUMBERS = r"\[?#?\d{1,3}\]?(?:(?:,| and|,? &) \[?#?\d{1,3}\]?)*"
_DOCUMENTS = (  # those of a chatbot's request
    rf"(?:{_KIND}[ _-]?{_NUMBERS}|(?:the|your|this|these) (?:(?:\w+ )?(?:provided|given|supplied|retrieved|attached"
    rf"|above) )?(?:{_KIND}|documentation|text|search results?|knowledge base)"
    r"|(?:the )?(?:provided|given|supplied|retrieved|above) (?:contexts?|documents?|information|material|articles?"
    r"|pages?|files?|text))"
    r"(?: (?:you|that you|i was) (?:have )?(?:provided|gave|given|shared|supplied))?"
    r"(?: (?:provided|given|above|itself))?"
)
_BY = r"(?:according to|based on|as (?:stated|mentioned|described|noted|shown|given|per)(?: in| by)?|per|from)"
_SAID = r"(?: (?:also|clearly|explicitly))?"
_TRAIL = re.compile(rf",? {_BY} {_DOCUMENTS}(?=\W*$)", re.IGNORECASE)
_MARK = re.compile(  # what refers to a source: 【1†source】, (Source: Document 1)
    r"\s*(?:【[^【】]{1,80}】|\((?:sources?|refs?|references?)\s*:[^()]{1,120}\)"
    rf"|[\[(](?:(?:sources?|see|refs?):?\s+)?{_KIND}[ _-]?#?\d{{1,3}}"
    rf"(?:(?:,| and|,? &)\s*(?:{_KIND} )?#?\d{{1,3}})*[\])])",
    re.IGNORECASE,
)
_NUMBERED_MARK = re.compile(  # [1], [2, 3], [1](https://…), [1][2]
    r"(?P<space>\s*)\[\^?(?P<number>\d{1,3}(?:,\d{3}(?=\]))?)(?P<more>(?:\s*[,;–-]\s*\^?\d{1,3})*)\]"
    r"(?:\[\d{1,3}\]|\((?:[^()\n]|\([^()\n]*\))*\))?"
)
_BEFORE_A_FIGURE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|of|(?<!according )to|in"
    r"|on|at|by|from|for|with|about|around|over|under|than|between)\Z",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\s?[%°]|\s+(?P<noun>[A-Za-z]\w+)")  # after a figure
_LEAD = re.compile(
    rf"{_BY}(?: {_DOCUMENTS})?\s*[,:]\s*"
    rf"|(?:in|from) {_DOCUMENTS},? it (?:is|was){_SAID} (?:stated|mentioned|noted|said|written|shown|explained) that "
    rf"|{_DOCUMENTS}{_SAID} (?:states?|says?|mentions?|notes?|indicates?|shows?|explains?){_SAID} that "
    r"|(?:(?:short|final|direct|quick) )?(?:answer|response|summary|conclusion)\s*:\s*"
    r"|(?:yes|no|yeah|nope|sure|certainly|of course|okay|ok|well|oh|absolutely|indeed|right|great|thanks|thank you|so)"
    r"\s*(?:[,.!;:]|\s[–—-]\s)\s*"
    r"|(?:hi|hello|hey|dear|good (?:morning|afternoon|evening))"
    r"(?: there| again| all| everyone)?(?:,? (?-i:[A-Z])[\w.'’-]+){0,3}\s*[,.!]\s+"
    r"|(?:however|moreover|furthermore|additionally|in addition|also|besides|therefore|thus|overall|finally|in fact"
    r"|actually|for example|for instance|as a result|in conclusion|in summary|in short|on the other hand|interestingly"
    r"|notably|similarly|by the way|unfortunately|luckily|fortunately|sadly|surprisingly|honestly|frankly|to be clear"
    r"|to be honest|rest assured|just to let you know|just so you know|fyi|to answer your question|in other words"
    r"|long story short|as (?:mentioned|agreed|discussed)(?: (?:earlier|above|before))?"
    r"|sorry(?: about that)?|i'm sorry|i am sorry)\s*,\s*(?:but )?"
    r"|(?:fun fact|reminder|update|breaking|psa|(?:good|bad) news|note|fyi|til)\s*:\s*|(?:fyi|til)\s+(?:that )?"
    r"|as of my (?:knowledge|last)[^,]*,\s+"
    r"|it(?:'s| is) (?:also )?(?:important|worth|interesting) (?:to (?:note|know)|noting|to mention|mentioning)"
    r"(?: that)?,?\s+"
    r"|(?:(?:please|kindly) )?(?:note|be aware|be advised|keep in mind|bear in mind|remember) that (?!this\b)"
    r"|you (?:should|must|need to|may want to|might want to) (?:know|be aware|note|remember) that "
    r"|(?:it )?turns out (?:that )?"
    r"|just (?:saw|heard|read|learned|found out) (?:on the \w+ )?that "
    rf"|(?:(?:i|we)(?:'m|'re| am| are| was| were)? )?(?:(?:so|very|really|truly) )?{_FEELING}"
    r" (?:to (?:\w+ )?(?:say|see|hear|learn|read|report|find|announce|confirm|inform you|tell you|let you know) that "
    rf"|that {_SUBJECT_BEGINS})"
    r"|(?:i|we)(?:'m|'re| am| are)? (?:regret|sorry) to (?:say|inform you|tell you|announce|report) (?:that )?"
    rf"|(?:and |but )?i(?:(?:'m| am) afraid(?: that)?|(?: also)? (?:think|believe|guess)(?: that)?"
    rf"|(?: also)? (?:know|heard|read|understand|see) that) {_SUBJECT_BEGINS}"
    rf"|(?:as an? [^,.:;]{{1,40}}, )?i(?:'d|'m| am| can| could| would| may| must| should| will| do| just| also| want"
    rf"| like| happy| glad| able| to)* {_REPORTS}(?: you)? that (?=\S)",
    re.IGNORECASE,
)
_COURTESY = re.compile(  # before a statement: "Thanks for your question, the fee is …", "Here is the answer: The fee …"
    r"(?:(?:many )?thanks(?! to\b)|thank you|(?:happy|glad) to help|(?:i )?hope(?:fully)?|you(?:'re| are) welcome"
    r"|let(?: me|'s)|please|kindly|here(?:'s| is| are)|(?:i apologi[sz]e|(?:my )?apologies)|no (?:worries|problem)"
    r"|(?:don't|do not) worry|(?:great|good|nice|excellent) question|i(?:'m| am) (?:happy|glad|pleased|sorry|afraid)"
    r"|as an? (?:\w+ )?(?:ai|language model)|sorry|for your information|quick answer)\b"
    rf"[^,:;.!?–—]{{0,60}}(?:\s*[:;–—.!]\s+|,\s*(?:{_SUBJECT_BEGINS}|(?=\w+s\s)))",
    re.IGNORECASE,
)
_SELF = re.compile(  # a sentence about its text, its writer or its reader
    r"as an? (?:\w+ )?(?:ai|language model)\b|(?:here|below)(?:'s| is| are)\b|i hope\b|feel free\b|kindly\b"
    r"|if you (?:have any|need any|ask me)\b|note that this\b|(?:make|be) sure\b|(?:don't|do not)\b|good luck\b"
    r"|you(?:'re| are) (?:very |most )?welcome\b|(?:it's|it is|it was|that's) (?:a|my) pleasure\b"
    r"|(?:that|this|it) makes sense\b|(?:that|this)(?:'s| is) (?:all|it)\W*\Z"
    r"|you can (?:always )?ask (?:me|us)\b"
    r"|never (?!before\b|once\b|in\b|since\b|more\b)(?-i:[a-z]+)(?<!s)(?<!ed)\b|thanks\b(?! to\b)|thank you\b"
    r"|(?:let(?:'s| me| us)|please|imagine)\b(?! (?-i:[A-Z]))",  # Imagine Dragons is a band
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\bI (?:\w+ )?(?:recommend|suggest)\b|^if I were you\b"
    r"|\bin my (?:opinion|view)\b|^personally\b|\bimho\b|\bmy favou?rite\b"
    r"|\bnever (?:looked|felt|sounded|tasted|been) (?:so )?(?:better|good|nicer|easier|happier)\b"
    r"|^(?:it|that|this|they|he|she|those|these)(?:'s| is| was| are| were| sounds?| looks?| seems?)\s+"
    r"(?:(?:an?|such|really|very|so|quite|pretty|definitely|absolutely|truly)\s+)*"
    r"(?:great|good|awesome|amazing|wonderful|terrible|awful|beautiful|interesting|fun|funny|cool|nice|boring|best"
    r"|fantastic|excellent|true|sad|crazy|lovely|perfect)\b(?:\s+\w+)?\s*[.!]*$",
    re.IGNORECASE,
)
_REPORTED = re.compile(r"It (?:is|was) (?:said|reported|believed|thought|known|estimated|claimed|alleged) that ")
_ATTRIBUTED = re.compile(  # somebody's words: "Shaw once said, “…”"
    r"(?!(?:i|we|you|who|what|why|how|(?:when |where )?(?:did|does|has|is|was|are|were))\b)[^\"“”‘?!]{2,80}"
    r"\b(?:said|says?|saying|wrote|writes|written|tweeted|posted|replied|claimed|claims"
    r"|stated|states|declared|announced|told \w+|asked|admitted|argued|insisted)\b[^\"“”‘?!]{0,40}?[\"“‘]\w",
    re.IGNORECASE,
)
_EMOJI = re.compile(  # before a full stop they hide it; a joiner puts other signs into one
    "\\s*(?:[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u200d\ufe0f]|(?<=\u200d)[\u2190-\u2bff])+"
)
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+")
_QUESTION = re.compile(r"\?\s*$")


class Statement(NamedTuple):
    """What a sentence states: a claim, or perhaps something, as a fragment of one; or nothing that can be checked."""

    claim: str | None = None
    fragment: bool = False


def statement(sentence: str, embedder: Embedder | None = None) -> str | None:
    """The sentence as a claim; None if it cannot be checked: a question, a request, an opinion, a mere heading."""
    return statements((sentence,), embedder)[0]


def statements(sentences: Sequence[str], embedder: Embedder | None = None) -> list[str | None]:
    """Each sentence as a claim, or None; of several sentences in one string, those that can be checked."""
    return [reading.claim for reading in readings(sentences, embedder)]


def readings(sentences: Sequence[str], embedder: Embedder | None = None) -> list[Statement]:
    """What each sentence states; of several sentences in one string, those that can be checked are the claim."""
    found = [list(candidates(sentence)) for sentence in sentences]
    stated = [part for of_one in found for part in of_one]
    every = list(dict.fromkeys([*(part.text for part in stated), *map(_unmarked, stated)]))
    odds = dict(zip(every, map(float, scores(every, embedder or shared())), strict=True)) if every else {}
    odds = {part.text: max(odds[part.text], odds[_unmarked(part)]) for part in stated}
    return [_reading(sentence, of_one, odds) for sentence, of_one in zip(sentences, found, strict=True)]


def _unmarked(part: _Candidate) -> str:
    """A sentence without quotation marks at its edges, and one with a figure without an exclamation mark."""
    text = part.text.strip('"“”„«»') or part.text
    return re.sub("!+$", ".", text) if part.finite and quantities(text) else text


def _reading(sentence: str, found: Sequence[_Candidate], odds: Mapping[str, float]) -> Statement:
    claims = [part.text for part in found if _is_claim(part, odds[part.text])]
    if claims:
        return Statement(" ".join(claims))
    if claim := instruction(sentence):
        return Statement(claim)
    # a courtesy may end in a statement: "Thanks for asking about the router, which is included!"
    adds_a_clause = _CLAUSE.search(sentence) is not None and not _QUESTION.search(sentence)
    return Statement(fragment=adds_a_clause or any(_is_fragment(part, odds[part.text]) for part in found))


def _is_claim(part: _Candidate, odds: float) -> bool:
    if part.label and not part.finite:
        return False
    figure = part.finite and gives_a_figure(_ADDRESS.sub("", part.text))
    return odds > (WITH_A_FIGURE if figure else THRESHOLD) or _is_certain(part.text)


def _is_certain(text: str) -> bool:
    """Whether a sentence states something whatever the model says: "You can open it by post.", "It is free."."""
    permitted = _PERMITTED.match(text)
    if _REPORTED.match(text) or _PREDICATE.match(text) or _ATTRIBUTED.match(text):
        return True
    return permitted is not None and _names_something(text[permitted.start(1) :])


def _is_fragment(part: _Candidate, odds: float) -> bool:
    figure = gives_a_figure(_ADDRESS.sub("", part.text))
    if part.finite:
        short = len(part.text.split()) <= _SHORT and not re.match(r"(?:i|we)\b", part.text, re.IGNORECASE)
        if re.match(r"you\b", part.text, re.IGNORECASE):  # "You can find more below."
            short = short and _states_shortly(part.text)
        return (short or (figure and _LABELLED.match(part.text) is not None)) and not part.label
    if odds > CERTAIN or (figure and (odds > THRESHOLD or not is_order(part.text))):
        return True
    return not part.label and (_states_shortly(part.text) or _gives_a_value(part.text))


def _states_shortly(text: str) -> bool:
    """Whether words without a verb say what is so: "No installation fee!", "Always free of charge."."""
    return re.search(rf"\b{_STATES}\b", text, re.IGNORECASE) is not None or _WITHOUT.match(text) is not None


def _gives_a_value(text: str) -> bool:
    """Whether words are an item and its value: "Router: a cable modem"."""
    labelled = None if _CODE.search(text) else _LABELLED.match(text)
    return labelled is not None and not _COUNTED.search(labelled[0]) and _names_something(text[labelled.end() :])


class _Candidate(NamedTuple):
    """A sentence that may state something; of a ``label``, as a heading, only one with a verb can be a claim."""

    text: str
    label: bool
    finite: bool


def _without_marks(text: str) -> str:
    """The text without what refers to a source; a figure in brackets stays: "It has [23] stops."."""

    def read(mark: re.Match[str]) -> str:
        figure = mark["space"] and not mark["more"] and is_counted(text[: mark.start()], text[mark.end() :])
        return f" {mark['number']}" if figure else ""

    return _MARK.sub("", _NUMBERED_MARK.sub(read, text))


def is_counted(before: str, after: str) -> bool:
    """Whether what is between two texts is a figure, and not the number of a source."""
    if _BEFORE_A_FIGURE.search(before[-20:]):
        return True
    verb, counted = re.search(r"[a-z]+\Z", before[-40:]), _COUNTS.match(after)
    noun = counted["noun"] if counted else None
    return counted is not None and noun not in _FUNCTION_WORDS and verb is not None and has_finite_verb(f"It {verb[0]}")


def candidates(text: str) -> Iterator[_Candidate]:
    """The sentences of a text without lead-ins, except those that certainly state nothing."""
    if contact_block(text) == len(text):
        return
    for part in parts(_without_marks(_EMOJI.sub("", text).replace("’", "'"))):
        words = without_dateline(part.text)
        for start, end in sentence_spans(words):
            leads_in = words[start:end].rstrip("\"'”’)*_ ").endswith(":")
            plain = _plain(words[start:end])
            if plain is not None and not (leads_in and announces(plain)):
                finite = has_finite_verb(plain)
                ended = finite and (part.label or leads_in) and not re.search(r"[.!?…]\W*$", plain)
                yield _Candidate(plain + "." if ended else plain, part.label or leads_in, finite)


def _plain(text: str) -> str | None:
    """A sentence without its lead-ins; None if it certainly states nothing that can be checked."""
    if is_furniture(text):
        return None
    text = asserted(_without_lead(text)) or ""
    text = _TRAIL.sub("", _without_lead(text)).rstrip(": ")
    if len(re.findall(r"\w+", _ADDRESS.sub("", text))) < FEWEST or _SELF.match(text) or _OPINION.search(text):
        return None
    return text[0].upper() + text[1:]


def _without_lead(text: str) -> str:
    while lead := _LEAD.match(text) or _courtesy(text):
        text = text[lead.end() :]
    return text


def _courtesy(text: str) -> re.Match[str] | None:
    found = _COURTESY.match(text)
    return found if found and has_finite_verb(text[found.end() :]) else None


def claims(
    sentences: Sequence[str], before: Sequence[str] = (), context: str = "", embedder: Embedder | None = None
) -> list[str | None]:
    """The claim of each sentence, or None; ``context`` is the question that the text answers.

    A pronoun at the beginning is replaced if the sentence before has one subject and names nobody else.
    """
    results: list[str | None] = []
    subject = subject_of(context)
    every = (*before, *sentences)
    for sentence, claim in zip(every, statements(every, embedder), strict=True):
        if claim is not None:
            claim = resolve_pronoun(claim, subject)
            subject = subject_of(claim)
        elif not _QUESTION.search(sentence):
            subject = None
        results.append(claim)
    return results[len(before) :]


# Restates questions that assert something: "Did you know that octopuses have three hearts?".

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
    if not question.endswith("?") or _ATTRIBUTED.match(text):
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


# Tells lead-ins and bare labels, which state nothing, from words that may state something
# without a sentence.

_LIST_NOUNS = (  # what a list that follows is called
    r"(?:advantages?|answers?|approaches|areas?|aspects?|basics|benefits?|breakdown|categories|causes|challenges"
    r"|characteristics|comparison|concepts?|considerations?|criteria|definitions?|details?|differences?|disadvantages?"
    r"|elements?|examples?|explanations?|facts?|factors?|features?|figures?|forms?|functions?|goals?|groups?|guidelines?"
    r"|highlights?|hours|ideas?|impacts?|implications?|information|ingredients|instructions?|issues?|items?|kinds?|lessons?"
    r"|limitations?|list|methods?|names?|notes?|numbers?|objectives|options?|outline|overview|parts?|phases?|places?|points?"
    r"|principles|problems?|pros and cons|purposes?|questions?|reasons?|recommendations?|resources|results?|roles?"
    r"|rules?|sections?|sources?|stages?|steps?|strategies|suggestions?|summary|symptoms|table|takeaways|techniques|terms"
    r"|themes|things?|tips?|tools?|topics?|trends|types?|uses|ways?)"
)
_ANNOUNCES = re.compile(  # a lead-in, without its colon
    r"(?:\A(?:.*, )?(?:we|you can (?:use|try|do|follow|see|also|write|run|say)|let's|let me|i)\b.*"
    r"|\b(?:formula|expression|equation|code|function|syntax|command|script|query|format|template|simply|us|it|like|as)"
    r"|\b(?:as follows|follow|following|below|like this|like so|such as|namely|these|this|that|those|here|including"
    r"|includes?|included|is|are|was|were|be|by|of|to|for|with|from|in|on|at|and|or|say|says|said|states?|stated|explains?"
    r"|has|have|had|do|does|did|can|will|about|using|makes?|offers?|means|needs?|requires?|provides?)"
    r"|\b(?:the following|several|some|many|various|a few|multiple|a number of|different|key|main|common|important"
    rf"|these|two|three|four|five|six|seven|eight|nine|ten|both|more|other)\s(?:[\w-]+\s){{0,3}}{_LIST_NOUNS}"
    r"(?:\s(?:to|for|of|about|that|you|why|in|on)\b.*)?"
    r"|\b(?:several|some|many|various|a few|multiple|the following|these|different)\s[\w\s-]{1,60})\Z",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\w+ (?:an?|the|this|these|your|it|them|all|each|some|to|in|on|with|up|out)\b", re.IGNORECASE)
_CODE = re.compile(  # or algebra
    r"(?:^|\W)[A-Za-z]\s*=|\d[nxyz]\b|[{}\\]|\A(?!\W*(?:\d|[A-ZÀ-Þ][\w ]{0,60}: ))[^\n]*;\s*\Z"  # not "Staff: 612;"
    r"|\w\(\w*\)|(?:^|\s)--?\w|\w=\w|\w_\w|[/$]\w+/|\w\.(?:png|jpe?g|gif|svg|webp|pdf)\b"
)
_COUNTED = re.compile(  # figures that number or announce
    rf"\b(?:{_LIST_NOUNS}|chapter|fig\.|day|week|level|appendix|version|page|unit|round|top|no\.|document|case|lesson)"
    r"\s*#?\d+(?:[.–-]\d+)*"
    r"|\A(?-i:[A-Z])\w+ \d{1,2}(?=\s*(?:[:.–—-]|\Z))"  # Design 1:
    rf"|\b\d{{1,3}} (?:[\w-]+ ){{0,3}}{_LIST_NOUNS}\b",
    re.IGNORECASE,
)


_PERMITTED = re.compile(  # not "You can find more below"
    r"(?:you|customers|users|guests|members|visitors|we|i)\s+(?:can|may|cannot|can't|could|must|mustn't|must not"
    r"|may not|won't|will|don't|do not|need not|needn't)\s+"
    r"(?:(?:not|also|only|always|still|even|then|now|either)\s+)*"
    r"((?!(?:find|see|ask|try|check|read|contact|reach|learn|refer|look|think|imagine|tell|let|say|rely|trust|want|like"
    r"|know|not|also|only|always|still|even|then|now|either)\b)[a-z]+.*)",
    re.IGNORECASE | re.DOTALL,
)
_STATES = (
    r"(?:free|possible|impossible|allowed|permitted|required|included|excluded|available|unavailable|refundable"
    r"|non-refundable|mandatory|optional|compulsory|prohibited|forbidden|valid|invalid|covered|open|closed)"
)
_PREDICATE = re.compile(
    r"(?:it|that|this|they|these|those)(?:'s| is| are|'re| was| were)(?:n't| not)?"
    r"(?: (?:not|also|currently|always|completely|entirely|only|still|now))*\s"
    rf"{_STATES}\b",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"no (?!problem|worr|thank|need|doubt|idea|one\b|offen)[a-z-]+(?: [a-z-]+){0,4}[.!]*\Z", re.IGNORECASE
)
_LABELLED = re.compile(
    r"(?!\w+ regards|note\b|summary\b|in \w+\b)[^\s:][^:\n]{1,40}:[ \t]+(?!see\b)(?=\S)", re.IGNORECASE
)
_CLAUSE = re.compile(
    r",\s+(?:which|who|where)\s+(?:is|are|was|were|has|have|can|costs?|includes?|opens?|closes?|lasts?|takes?|starts?"
    r"|ends?|comes?|applies|apply)\b",
    re.IGNORECASE,
)
_PERMISSION = re.compile(
    r"(?:please )?(?:feel free|you can always|you(?:'re| are) (?:always |very )?(?:welcome|free))(?: to)?\s+",
    re.IGNORECASE,
)
_COURTEOUS = re.compile(  # before what is asked
    r"\A(?:(?:please|kindly|just|simply|then|next|first|also|feel free|(?:make|be) sure|(?:don't|do not) forget"
    r"|remember|you can always)(?: to| that you| you| that)?,?\s+)+",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\A(?:if|when|before|after|once|as soon as) [^,]{1,80},\s+", re.IGNORECASE)
_NOT_AN_ORDER = word_set("worry hesitate panic mind")
_SPELLED = re.compile(  # not "Take one moment"
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|sixty)\s+(?:\w+\s)?"
    r"(?:minutes?|hours?|days?|weeks?|months?|years?|times|tablets?|drops|spoons?|cups?|metres?|litres?|euros?)\b"
    r"|\b(?:once|twice)(?= (?:an?|per|every)\b| daily)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:to|in|at|from|with|by|under|on|of|for|the|via)\s+[A-Z]\w")
_NUMBERED = re.compile(r"\A(?:step\s+)?\d{1,2}[.:)]\s+", re.IGNORECASE)
_TO_THE_WRITER = re.compile(  # asks for something
    r"\A(?:describe|explain|provide|share|attach|specify|mention|reply|respond|rate|let|tell|feel|enjoy|have)\b"
    r"|\b(?:(?:tell|ask|give|send|show|remind) (?:me|us)|to me)\b",
    re.IGNORECASE,
)
_OF_A_CHAT = word_set(
    "question questions help helps information info detail details support customer service team further more"
    " additional else anything something assistance assist issue issues problem problems page pages website site"
    " section below above following step steps instruction instructions documentation document documents context"
    " answer answers response carefully day time note sure know free ask contact reach reaching hesitate out"
    " clarification clarify specific provide example list here link links let want wish like need check read see"
    " thing things way ways explain understand moment chat conversation message request share anyone interested"
    " describe words tried later again first next please nice great good hope meal breath deep enjoy luck welcome"
    " representative representatives hotline phone email directly anytime happy glad other option options use using"
    " code command function snippet script"
)


def announces(text: str) -> bool:
    """Whether the words before a colon only announce what follows: "The opening hours are", "There are two ways"."""
    return (_ORDER.match(text) is not None and is_order(text)) or _ANNOUNCES.search(text.rstrip(" .:")) is not None


def gives_a_figure(text: str) -> bool:
    """Whether words give a figure that neither numbers nor announces: not "Step 3", "5 reasons" or code."""
    return not _CODE.search(text) and re.search(r"\d", _COUNTED.sub("", text)) is not None


def instruction(sentence: str) -> str | None:
    """An instruction that gives a detail, without its courtesies: "Return the goods within 60 days."; else None."""
    if contact_block(sentence) == len(sentence):
        return None
    text = " ".join(
        part.text for part in parts(_without_marks(sentence.replace("’", "'"))) if not is_furniture(part.text)
    )
    led = _NUMBERED.sub("", _without_lead(text.strip(" -*•>\t\n")))
    if (permitted := _PERMISSION.match(led)) and _is_certain(you_can := f"You can {led[permitted.end() :]}"):
        return you_can
    words = _COURTEOUS.sub("", led)
    asked = _COURTEOUS.sub("", _CONDITION.sub("", words))
    first = re.match(r"(?P<not>(?:do not|don't|never)\s+)?(?P<verb>\w+)", asked, re.IGNORECASE)
    if not first or _QUESTION.search(words) or _TO_THE_WRITER.search(asked) or _CODE.search(asked):
        return None
    if first["not"]:
        given = first["verb"].lower() not in _NOT_AN_ORDER and _names_something(asked[first.end() :])
    else:
        given = (words != led or is_order(asked)) and _gives_a_detail(asked)
    return words[0].upper() + words[1:] if given else None


def _gives_a_detail(words: str) -> bool:
    """Whether words give an address, a figure, a number in words or a name."""
    plain = _ADDRESS.sub("", words)
    return plain != words or gives_a_figure(plain) or any(each.search(plain) for each in (_SPELLED, _NAMED))


def _names_something(words: str) -> bool:
    """Whether words name something that not every chat is about."""
    return gives_a_figure(words) or any(word not in _OF_A_CHAT for word in content_words(words))


def is_order(text: str) -> bool:
    """Whether the words begin as an instruction does: "Bake it for 20 minutes", but also "Return period"."""
    first = re.match(r"\W*(\w+)", text)
    return first is not None and first[1].lower() in ORDERS
