"""What a text asserts: it without the sentences that it leaves to others, to doubt or to a question.

"There is talk that the school will close" says nothing about the school, neither that it will close nor that it stays.
What a text calls false is kept, as it decides a claim.
"""

from __future__ import annotations

import re
from functools import lru_cache

from redargue.nli.alignment import Parsed, parsed
from redargue.quotes import STRUCK

_HELD = (
    r"claim(?:ed)?|alleg(?:e|es|ed)|believ(?:e|es|ed)|thinks?|thought|assum(?:e|es|ed)|suspect(?:ed)?|fear(?:ed)?"
    r"|worr(?:y|ies|ied)|hop(?:e|ed)|jok(?:e|ed)|pretend(?:s|ed)?|dream(?:t|ed)?|guess(?:ed)?|imagin(?:e|es|ed)"
    r"|suppos(?:e|es|ed)|wish(?:ed)?|den(?:y|ies|ied)"
)
_NOUN = r"rumou?rs?|talk|gossip|speculation|hearsay|suspicions?|allegations?|accusations?"
_SUBJECT = r"(?= (?:the|an?|this|these|it|he|she|they|there|his|her|its|their|some|all|no|(?-i:[A-Z])|\d))"
_OPENS = (  # what leads in a clause that the text itself does not assert
    rf"(?<!\bwe )(?:{_HELD}) that\b|(?:claims|fears|hopes|jokes|suspects) that{_SUBJECT}"
    rf"|(?<!\bwe )(?:thinks?|thought|believ(?:e|es|ed)){_SUBJECT}"
    rf"|(?<!no )(?<!not a )(?:{_NOUN}) (?:that|of|about)\b|(?:legend|rumou?r|gossip) (?:has it|says)\b"
    r"|according to (?:an? |the |some )?(?:\w+ )?(?:rumou?rs?|legends?|gossip|hearsay|myths?|popular belief)\b"
    r"|(?<!, )(?<!not )(?:accused|suspected) of\b"
    r"|(?:ask(?:s|ed|ing)?|wonder\w*|consider\w*|discuss\w*|debat\w*|unclear|uncertain|unknown|not known|doubt\w*"
    r"|questions?|investigat\w+|examin\w+|disput\w+)(?: \w+){0,3} (?:whether|if)\b(?!.*,)"
    r"|(?:nobody|no one|someone|somebody)(?: \w+){0,2} (?:said|says|claimed|claims|believes|thinks|told \w+) that\b"
    r"|(?:wrongly|falsely|mistakenly|erroneously|incorrectly) (?:says?|said|claim\w*|stat\w+|believ\w+|assum\w+|wrote"
    r"|thought|thinks?|report\w+) that\b"
    r"|(?:allegedly|supposedly|purportedly|reputedly)\b"
)
_ASIDE = r"(?:who|which|whose|although|though|while|whereas|when|because|since|after|before|if|unless)"
_CONTRAST = r"(?:[;:]|\b(?:but|yet|however|although|though|while|whereas|when|if|unless)\b|\band (?:\w+ly )?\w+ that\b)"
_LEFT_OPEN = re.compile(
    rf"(?P<who>(?:(?!\b{_ASIDE}\b)[^;:])*?)\b(?P<opens>{_OPENS})(?!.*{_CONTRAST})|\W*(?:perhaps|maybe|imagine|suppose)\b(?!.*{_CONTRAST})",
    re.IGNORECASE | re.DOTALL,
)
_OF_THEM = re.compile(r"accused|suspected|den|\w+edly", re.IGNORECASE)
_SPEAKS_OF_IT = re.compile(  # a claim about what someone says, believes or asks
    rf"\b(?:{_HELD}|{_NOUN}|claims|fears?|hopes?|jokes|legends?|myths?|alleg\w+|suppos\w+|reput\w+|purport\w+|whether"
    r"|sa(?:id|ys?)|stat(?:es?|ed)|according|accus\w+|suspect\w*|charged|ask\w*|wonder\w*|doubt\w*|disput\w+|debat\w+|discuss\w+|unclear|unknown|perhaps)\b|\?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?=[^\s\"'”’)]))*(?:[.!?\n\"'”’)\s]+|\Z)")


@lru_cache(maxsize=2048)
def asserted(claim: str, text: str) -> str:
    """The sentences of a text that it asserts; all of them beside a claim about what someone says, believes or asks.

    A question is left out where no answer follows, and what Markdown strikes out always.
    """
    if "~~" in text:
        text = STRUCK.sub("", text)
    if _SPEAKS_OF_IT.search(claim):
        return text
    sentences = _SENTENCE.findall(text)
    while sentences and (not sentences[-1].strip() or sentences[-1].rstrip(" \n\"'”’)").endswith("?")):
        sentences.pop()
    own = parsed(claim)
    kept = "".join(sentence for sentence in sentences if not _leaves_open(own, sentence))
    return kept if re.search(r"\w", kept) else ""


def _leaves_open(claim: Parsed, sentence: str) -> bool:
    """Whether a sentence asserts nothing but what someone holds of whom the claim does not speak."""
    found = _LEFT_OPEN.match(sentence)
    if not found or not found["who"] or _OF_THEM.match(found["opens"]):
        return found is not None
    who = parsed(found["who"])
    return not who.content or who.stems[who.content[0]] not in claim.vocabulary
