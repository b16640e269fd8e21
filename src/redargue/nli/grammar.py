"""Words and their grammar: stems and opposites, subjects and verbs, pronouns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from redargue.tasks.extract import Decomposition, Triplet

# Stems, opposites and words without content of their own.


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d+(?:[.,:]\d+)*")

FUNCTION_WORDS = word_set(
    "a an the and or but nor so as at by for from in into of off on onto out over per than that this these those to"
    " up via with within without about above after against along among around before behind below beneath beside"
    " besides between beyond down during except near through throughout toward towards under until upon while when"
    " where whether which who whom whose what why how if because since though although unless i me my we us our you"
    " your he him his she her hers it its itself himself herself themselves they them their theirs one ones there"
    " here then thus also too very just only even still already yet not no never none nor neither either both all"
    " any each every some most many much more less few fewer several other another such same own be is am are was"
    " were been being have has had having do does did done doing will would shall should can could may might must"
    " cannot ought need let let's isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't"
    " wouldn't can't couldn't shouldn't mustn't it's that's there's etc e.g i.e"
)
NEGATORS = word_set("not never no none nobody nothing neither nor without cannot hardly nowhere")


@cache
def _pairs(name: str) -> tuple[tuple[str, str], ...]:
    lines = Path(__file__).with_name("words").joinpath(name).read_text(encoding="utf-8").splitlines()
    return tuple((one, two) for one, two in map(str.split, lines))


@cache
def _irregular() -> dict[str, str]:
    return dict(_pairs("irregular.txt"))


@lru_cache(maxsize=32768)
def stem(word: str) -> str:
    """The word without inflection, in lower case: "ris" for "rise", "rises", "rising" and "rose"."""
    word = re.sub(r"['’]s?$", "", word.casefold())
    return regular_stem(_irregular().get(word, word))


def regular_stem(word: str) -> str:
    """The stem of a word in lower case that is inflected by rule."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif re.search(r"(?:s|x|z|ch|sh)es$", word):
        word = word[:-2]
    elif (len(word) > 3 and re.search(r"[^sui]s$", word)) or re.search(r"(?:gr|cr|fr|nt)eed$", word):
        word = word[:-1]
    elif re.search(r"[aeiouy].*?[^e]ed$", word) or re.search(r"[aeiouy].*ing$", word):
        word = re.sub(r"(?:ed|ing)$", "", word)
        word = re.sub(r"([bdfgklmnprtvz])\1$", r"\1", word) if len(word) > 3 else word
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return re.sub(r"ll$", "l", re.sub(r"(?<=[^aeiou])y$", "i", word))


def is_past(word: str) -> bool:
    """Whether a word in lower case may be a past form."""
    return word.endswith("ed") or (word in _irregular() and not word.endswith("ing"))


@cache
def _paired(*names: str) -> dict[str, frozenset[str]]:
    paired_with: dict[str, set[str]] = {}
    for one, two in (pair for name in names for pair in _pairs(name)):
        for first, second in ((stem(one), stem(two)), (stem(two), stem(one))):
            if first != second:
                paired_with.setdefault(first, set()).add(second)
    return {word: frozenset(words) for word, words in paired_with.items()}


def opposites(stemmed: str) -> frozenset[str]:
    """The stems of a stem's opposites, from WordNet and from a list of common ones that WordNet lacks."""
    return _paired("antonyms.txt", "opposites.txt").get(stemmed, frozenset())


def converses(stemmed: str) -> frozenset[str]:
    """The stems that relate two things in the other direction: "lose" for "win", "pupil" for "teacher"."""
    return _paired("converses.txt").get(stemmed, frozenset())


# Open information extraction with regular expressions: subject, verb, and one object per preposition. It is precise
# enough for the keys of an evidence memory (``python -m benchmarks mermaid`` compares it with a language model).

_MODAL = "can|could|will|would|may|might|shall|should|must|do|does|did"
_AUXILIARY = "am|is|are|was|were|be|been|being|has|have|had"
# Verb forms that neither end in -ed nor follow an auxiliary, except those that are also common nouns.
_VERBS = (
    "won|wins|wrote|writes|written|made|makes|became|becomes|began|begins|led|leads|took|takes|gave|gives|went|goes|"
    "came|comes|held|holds|said|says|sold|sells|built|spent|left|met|ran|runs|saw|sees|sang|sings|grew|grows|knew|"
    "knows|lost|loses|kept|keeps|lies|lay|lived|lives|died|dies|born|stars|plays|contains|includes|involves|causes|"
    "reduces|increases|prevents|inhibits|induces|regulates|promotes|results|consists|belongs|remains|serves|"
    "works|allows|requires|provides|produces|uses|helps|affects|shows|means|refers|appears|occurs|exists|"
    "borders|flows|wears|speaks|owns|costs|weighs|measures|originated|stood|stands|taught|teaches|fell|falls|rose|rises"
)
_BETWEEN = r"(?:\s+(?:not|never|also|only|been|being|be|have|\w+ly))*"
_VERB = re.compile(
    rf"\b(?:(?:{_MODAL})(?:n't)?{_BETWEEN}\s+[a-z]+\b"
    rf"|(?:{_AUXILIARY})(?:n't)?\b{_BETWEEN}(?:\s+(?:\w+(?:ed|en|wn)|{_VERBS})\b)?|(?:{_VERBS})\b|[a-z]{{2,}}ed\b)"
)
_CLAUSE = re.compile(r";\s+|,?\s+(?:but|whereas|while|who|which)\s+|\s+that\s+|,\s+and\s+(?=\w+\s)")
_ASIDE = re.compile(r"\s*\(([^()]+)\)")
_BEFORE_VERB = re.compile(r"(?:\s+(?:\w+ly|also|already|both|all|that))+$")
_PREPOSITION = re.compile(
    r"\s+\b(in|on|at|by|from|to|with|for|during|since|between|into|as|about|over|under|after|before)\b\s+"
)
_PRONOUN_SUBJECT = re.compile(r"he|she|it|they|this|that|these|those|which|who", re.IGNORECASE)
_EDGE = " \t\n.,;:!?\"'()[]“”‘’"


def decompose(text: str) -> Decomposition:
    """Triplets of a sentence's clauses; a clause without a subject takes that of the previous clause.

    Args:
        text: has a word, as every claim has; clauses and asides without one ("... but") are left out.
    """
    triplets: list[Triplet] = []
    subject = ""
    plain = " ".join(text.split())
    outside = _ASIDE.sub("", plain)
    clauses = filter(WORD.search, _CLAUSE.split(outside if WORD.search(outside) else plain))
    for clause in list(clauses) or [plain]:
        verb = _VERB.search(clause)
        before = _BEFORE_VERB.sub("", clause[: verb.start()].strip(_EDGE)) if verb else ""
        subject = before or subject
        if verb is None or not subject:
            triplets.append(_triplet(subject, "concerns", clause) if subject else _triplet(clause, "is", ""))
            continue
        triplets += _triplets(subject, verb.group(), clause[verb.end() :])
    triplets += [_triplet(triplets[0].subject, "is", aside) for aside in filter(WORD.search, _ASIDE.findall(plain))]
    names = tuple(dict.fromkeys(triplet.subject for triplet in triplets if triplet.subject))
    return Decomposition(triplets=tuple(dict.fromkeys(triplets)), topics=names[:2])


def claim_statements(text: str) -> tuple[str, ...]:
    """The clauses of a sentence as sentences; the whole sentence if a clause lacks a subject, or words after its verb.

    A clause whose subject is missing or a pronoun takes the subject of the previous clause: "X won Y, but it lost Z"
    gives "X won Y" and "X lost Z".
    """
    plain = " ".join(text.split())
    clauses: list[str] = []
    subject = ""
    for clause in filter(str.strip, _CLAUSE.split(plain)):
        verb = _VERB.search(clause)
        if verb is None or not clause[verb.end() :].strip(_EDGE):
            return (plain,)
        own = clause[: verb.start()].strip(_EDGE)
        if own and not _PRONOUN_SUBJECT.fullmatch(own):
            subject = own
        if not subject:
            return (plain,)
        clauses.append(f"{subject} {clause[verb.start() :].strip(_EDGE)}.")
    return tuple(dict.fromkeys(clauses)) if len(clauses) > 1 else (plain,)


def _triplets(subject: str, verb: str, rest: str) -> list[Triplet]:
    pieces = _PREPOSITION.split(f" {rest.strip()} ")
    triplets = [_triplet(subject, verb, pieces[0])] if pieces[0].strip(_EDGE) else []
    for preposition, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if piece.strip(_EDGE):
            triplets.append(_triplet(subject, f"{verb} {preposition}", piece))
    return triplets or [_triplet(subject, verb, "")]


def _triplet(subject: str, relation: str, rest: str) -> Triplet:
    return Triplet(subject=subject.strip(_EDGE), relation=" ".join(relation.split()), object=rest.strip(_EDGE))


# Finite verbs: statements have one; most headings, labels and captions do not.
#
# Auxiliaries and irregular past forms always count. A word in -ed counts unless the words beside it make it a
# participle. A common verb, or its form in -s, counts after a word that can be its subject. Rarer verbs in the present
# ("Otters nap") are not found; callers report such text as unread.

_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?|\d[\d.,:]*|[^\s\w]")
_CERTAIN = word_set(
    "is are was were am has had does did can could will would may might shall should must cannot isn't aren't"
    " wasn't weren't hasn't haven't hadn't doesn't don't didn't can't couldn't won't wouldn't shouldn't mustn't"
    " it's that's there's he's she's who's they're we're you're i'm i've we've you've they've it'll he'll she'll"
    " they'll we'll you'll i'll became began broke brought came chose did drew drove fell flew forgot fought froze"
    " gave got grew heard held kept knew laid lay led left lent lost made meant met paid ran rang rose said sang"
    " sank sat saw sent shook shot slept sold sought spent spoke sprang stole stood struck swam swore taught told"
    " thought took understood went woke won wore wrote"
)
_COMMON = word_set(  # verbs, except those that are as often nouns
    "have do begin become believe belong bring cause close come consist contain cover cross cut date eat employ"
    " end enter exist fail feed find fly follow get give go grow happen hold include increase kill know last lead"
    " leave lie live look lose make mean measure meet move need occur open own pay prevent produce provide"
    " publish reach receive reduce refer release remain require return rise run say see sell send serve set sing"
    " sink sit sleep speak spend stand start stay sting stop support take teach tell think turn understand use"
    " want wear weigh win work write cost ship offer accept allow arrive depart orbit"
)
_NOT_BEFORE_VERBS = word_set(  # a word after one of these is not a finite verb
    "a an the this that these those to of in on at by for from with without into onto over under about as per and"
    " or nor but no my your our his her their its some any each every all both how what where when why which who"
    " be been being is are was were am not newly recently most least more less very please let's"
)
_PRONOUNS = word_set("i you he she it we they who which that there this these those")
_ALWAYS_NOUNS = word_set("species series news means analysis basis status bus gas plus less across always")


MODALS = re.compile(rf"(?!d)(?:{_MODAL})\b")  # without "do"
AUXILIARIES = frozenset(f"{_MODAL}|{_AUXILIARY}|cannot".split("|"))
_OPEN_OBJECTS = word_set("a an the its their his her about some")
_INSIDE_VERBS = word_set("not also now already still only both never always be been being")


def has_finite_verb(text: str) -> bool:
    words = [word.replace("’", "'") for word in _TOKEN.findall(text)]
    lower = [word.lower() for word in words]
    return any(_is_finite(words, lower, at) for at in range(len(words)))


def finite_verbs(text: str, *, subject_before: bool = False, modal: bool = False) -> Iterator[tuple[int, int]]:
    """Where the finite verbs are, in order, each with its auxiliaries and participle.

    Args:
        subject_before: whether the text continues a sentence, so that it may begin with a verb.
        modal: whether the verb before was a modal's, so that an infinitive counts as well.
    """
    tokens = list(_TOKEN.finditer(text))
    words = [token[0].replace("’", "'") for token in tokens]
    lower = [word.lower() for word in words]
    if subject_before and lower and (_may_begin(lower) or (modal and lower[0] in _COMMON and len(lower) > 1)):
        words, lower = ["it", *words], ["it", *lower]
    shift, at = len(words) - len(tokens), 0
    while at < len(words):
        if not (_is_finite(words, lower, at) or _has_object(words, lower, at)):
            at += 1
            continue
        end = at
        if lower[at] in AUXILIARIES or "'" in lower[at]:
            while end + 1 < len(words) and _continues_verb(lower[end + 1]):
                end += 1
        yield tokens[at - shift].start(), tokens[end - shift].end()
        at = end + 1


def _has_object(words: list[str], lower: list[str], at: int) -> bool:
    """Whether a word in -s is a verb by what is beside it: "the device bears the mark"."""
    word, before = lower[at], lower[at - 1] if at else ""
    if not words[at].islower() or not re.search(r"[^sui]s\Z", word) or word in _ALWAYS_NOUNS or at + 1 == len(words):
        return False
    if not before[:1].isalpha() or before in FUNCTION_WORDS - _PRONOUNS or before.endswith("s"):
        return False
    return lower[at + 1] in _OPEN_OBJECTS or lower[at + 1][0].isdigit()


def is_infinitive(text: str) -> bool:
    """Whether a text may begin with an infinitive: "leave the others"."""
    return text.split(" ", 1)[0] in _COMMON


def _may_begin(lower: list[str]) -> bool:
    """Whether the first word is a verb rather than a noun: of "cost" and the like by what follows."""
    if lower[0] not in _COMMON or lower[0] in _CERTAIN:
        return True
    after = lower[1] if len(lower) > 1 else ""
    return not after[:1].isalnum() or after[0].isdigit() or after in FUNCTION_WORDS - {"of"}


def _continues_verb(word: str) -> bool:
    if word in AUXILIARIES or word in _INSIDE_VERBS or re.search(r"(?:[^e]ed|ly)\Z", word):
        return True
    return word in _irregular() or word in _VERB_WORDS or word in _CERTAIN


def _is_finite(words: list[str], lower: list[str], at: int) -> bool:
    word, before = lower[at], lower[at - 1] if at else ""
    if words[at] == "May" or (word == "am" and before[:1].isdigit()):
        return False  # the month, and "9 am"
    if word in _CERTAIN:
        # "a must", "the can": after an article it is a noun
        return before not in ("a", "an", "the") or word in ("is", "was", "has")
    if not before or (before in _NOT_BEFORE_VERBS and before not in _PRONOUNS) or not before[0].isalnum():
        return False
    after = lower[at + 1] if at + 1 < len(lower) else ""
    if word.endswith("ed") and len(word) > 4 and not word.endswith("eed"):
        return words[at].islower() and (after != "" or before in _PRONOUNS or len(words) < 4)
    if word in _COMMON:
        return before in _PRONOUNS or before.endswith("s") or before == "people" or words[at - 1][0].isupper()
    third_person = words[at].islower() and re.search(r"[^sui]s\Z", word) is not None and _is_common_in_s(word)
    return third_person and not before.endswith("s")


def _is_common_in_s(word: str) -> bool:
    return word not in _ALWAYS_NOUNS and not _COMMON.isdisjoint((word[:-1], word[:-2], word[:-3] + "y"))


_VERB_WORDS = frozenset(_VERBS.split("|"))


def verb_like(word: str) -> bool:
    """Whether a word can be a verb: "employs", "opened", "cost"; it may also be a noun."""
    word = word.lower()
    if word in _CERTAIN or word in _VERB_WORDS or word in _COMMON:
        return True
    if re.search(r"[^e]ed\Z", word) and len(word) > 4:
        return True
    return word.endswith("s") and _is_common_in_s(word)


# Replaces a pronoun at the beginning of a claim with the subject of the previous claim, if it can mean nothing else.

_OPENING_PRONOUN = re.compile(r"(He|She|It|They|His|Her|Its|Their)\b(?!')\s+(?=(\w+))")
_EXPLETIVE = re.compile(
    r"It (?:(?:is|was|has been|seems|appears)\b.*?\b(?:that|to|who|likely|whether|if|when|where|why|how|what|raining"
    r"|snowing)|took|takes|rained|snowed)\b"
)
_NAME = r"[A-Z][\w’'.&-]*(?:\s+(?:(?:of|the|de|la|von|van|der|du)\s+)*[A-Z0-9][\w’'.&-]*)*"
_SUBJECT = re.compile(
    rf"(?:((?:The\s+)?{_NAME})(?:\s*\([^)]*\)|,[^,]{{1,80}},)?\s+(?=([a-z]+ed|is|was|has|had|are|were|have|can|will|did)\b)"
    r"|([A-Z][\w-]*(?:\s+[\w'-]+){0,4}?)\s+(is|was|has|had|are|were|have|can|will|did)\b)"
)
_OTHER_NAME = re.compile(rf"(?:(\w+)\s+)?(?:\b(the|an?|its|his|her|their)\s+)?\b({_NAME})")
_PREPOSITIONS = word_set("in at on from near of since until during by to between after before around")
_NEVER_A_SUBJECT = word_set(
    "A An And As At But By For From He Her His If In It Its My No Not Of On Or She So Some Many Most Several There"
    " These They This Those To Under Until Upon We What When Where Which While Who With You Your Although Because"
    " After Before During Since Despite Both Each Other Another All Then Today That"
)
_PLURAL, _SINGULAR = word_set("are were have"), word_set("is was has does")


def subject_of(statement: str) -> tuple[str, str] | None:
    """The subject and verb of a statement; None if the subject is unclear or not the only name."""
    match = _SUBJECT.match(statement)
    if match is None or statement.split()[0] in _NEVER_A_SUBJECT:
        return None
    at = 1 if match[1] else 3
    parts = set(match[at].split())
    for before, article, name in _OTHER_NAME.findall(statement[match.end(at) :]):
        described = article in ("a", "an") and " " not in name  # a French physicist
        if not described and before.lower() not in _PREPOSITIONS and not set(name.split()) <= parts:
            return None
    return match[at], match[at + 1]


def _is_name(subject: str) -> bool:
    return not subject.startswith("The ") and re.fullmatch(_NAME, subject) is not None


def resolve_pronoun(claim: str, subject: tuple[str, str] | None) -> str:
    """The claim with its first pronoun replaced by the previous claim's subject, if they agree in number."""
    pronoun = _OPENING_PRONOUN.match(claim)
    if subject is None or pronoun is None or _EXPLETIVE.match(claim):
        return claim
    name, verb = subject
    plural = pronoun[1] in ("They", "Their")
    if verb in (_SINGULAR if plural else _PLURAL):
        return claim
    if pronoun[1] in ("He", "She", "His", "Her") and not _is_name(name):
        return claim
    possessive = pronoun[1] in ("His", "Her", "Its", "Their")
    ending = ("'" if name.endswith("s") and plural else "'s") if possessive else ""
    return f"{name}{ending} {claim[pronoun.end() :]}"
