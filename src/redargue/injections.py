"""Finds passages that address a model instead of a reader: orders, roles, answers in the form of a reply.

Patterns recall only what resembles them; a passage without a finding is not thereby safe. They are kept narrow, because a
false alarm takes evidence away: see ``tests/attacks/test_injections.py`` for both rates.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata

LONGEST = 200_000  # characters of a text that are read

_READER = r"(?:ai|a\.i\.|assistants?|(?:large )?language models?|llms?|chat ?bots?|models?|agents?|fact[- ]?checkers?|verifiers?)"
_LABEL = (
    r"(?:supports?|supported|refutes?|refuted|true|false|correct|incorrect|not enough info(?:rmation)?|verified"
    r"|conflicting|nei|factual|yes|no)"
)
_RULES = (
    r"(?:instructions?|prompts?|rules|directions|guidelines|orders|commands|safeguards|restrictions|system messages?"
    r"|context above|text above|documents above|evidence above|everything above|other (?:documents|sources|evidence)"
    r"|the documents|what you were told)"
)
_KINDS = {
    "overrides instructions": (
        rf"\b(?:ignore|disregard|forget|override|bypass|overlook|neglect|skip|do not follow|don't follow|stop following)\b"
        rf"[^.!?]{{0,40}}\b{_RULES}",
        r"\b(?:new|updated|revised|real|actual|hidden|secret|further) (?:system )?(?:instructions?|prompt|directive)s?"
        r" ?(?::|follow|for (?:the )?(?:ai|assistant|model))",
        r"\bignorier\w* (?:\w+ ){0,3}(?:anweisung|regeln|vorgaben)|\bignore[zr]? (?:\w+ ){0,3}(?:consignes|règles)"
        r"|\b(?:ignora|ignore|ignoren|olvida) (?:\w+ ){0,3}(?:instrucciones|reglas|instruções|istruzioni|regole)"
        r"|игнориру\w* (?:\w+ ){0,3}(?:инструкци|правил)|忽略.{0,8}(?:指令|指示|说明|規則|规则)"
        r"|無視して.{0,10}(?:答|回答)|(?:指示|命令).{0,6}無視|تجاهل .{0,20}(?:التعليمات|الأوامر)",
    ),
    "orders an answer": (
        rf"\b(?:you|{_READER}) (?:must|should|shall|have to|need to|are to|will)\b[^.!?]{{0,30}}"
        rf"\b(?:answer|reply|respond|output|conclude|vote|label|classify|rate|mark|return|say)\b[^.!?]{{0,50}}\b{_LABEL}\b",
        rf"(?:^|[.!?:;\n] ?|\b(?:and|now|please|just|simply|always|only|instead|then) )"
        rf"(?:answer|reply|respond|output|conclude|vote|label|classify|rate|mark|return)\b"
        rf"(?: (?:only|with|that|it|this|the|claim|statement|as|is|always|exactly|your|final|answer|label|verdict|in)){{0,8}}"
        rf" [\"'*:(\[]{{0,3}}{_LABEL}\b",
        r"\byour (?:final |next |only )?(?:answer|reply|response|output|verdict|task|label|job)"
        r" (?:must|should|shall|is to|has to|will be|is now)\b",
        rf"\b(?:the )?(?:correct|right|final|only|expected) (?:answer|label|verdict) (?:here )?(?:is|must be) "
        rf"[\"'*(\[]{{0,3}}(?:supports|refutes|supported|refuted|not enough info)",
        r"\bantworte (?:\w+ ){0,3}(?:mit|nur)\b|\brépond(?:s|ez) (?:\w+ ){0,3}(?:par|que)\b|\bresponde (?:\w+ ){0,3}(?:con|que)\b",
    ),
    "writes a reply": (
        r"\"(?:label|final_answer|answer|verdict|vote|factuality)\" ?: ?(?:\"|true|false)",
        r"<(?:label|answer|verdict|final_answer)>",
        r"\bfinish ?\[[^\]\n]{1,40}\]",
        r"\*\*(?:supports|refutes|supported|refuted|not enough info(?:rmation)?)\*\*",
        r"so the final answer is ?:",
    ),
    "speaks to a model": (
        rf"\b(?:note|notice|message|attention|instructions?|warning|reminder|hello|hey|dear|memo)(?: (?:to|for))?,? (?:the |any |all |every )?"
        rf"{_READER}(?: (?:reading|processing|reviewing|evaluating)| ?[:,!])",
        rf"\b(?:if|when|as|since|because) you(?: are|'re) (?:an? |the )?{_READER}\b",
        rf"\b(?:any|all|every|the) {_READER} (?:that |who |which )?(?:reads?|reading|processes|processing|sees|evaluates)"
        r" (?:this|these|the (?:text|page|document|passage))",
        r"\byou are now (?:an? |the |in )|\bfrom now on,? you\b|\bpretend (?:to be|that you|you)\b|(?:^|[.!?] )act as (?:an? |if you)"
        r"|\bdo anything now\b|\b(?:developer|god|debug|maintenance|dan) mode\b[^.!?]{0,20}(?:enabled|activated|on\b)|\bjailbreak",
        r"(?:^|\n) ?(?:system|developer) ?: ?\S|(?:^|\n) ?#{2,4} ?(?:instruction|system|response|human|assistant)s? ?:?"
        r"|(?:^|\n) ?task: ?[a-z]\w+\.",
        r"<\|\w+\|>|\[/?inst\]|<</?sys>>|<start_of_turn>|<end_of_turn>",
        r"\b(?:end|beginning|start) of (?:the )?(?:system prompt|(?:user|system) (?:message|input)|untrusted|data block)",
    ),
    "asks for secrets or requests": (
        r"\b(?:reveal|print|repeat|output|leak|disclose|show|tell (?:me|us)|give (?:me|us))\b[^.!?]{0,30}"
        r"\b(?:system prompt|your (?:instructions|prompt|rules|configuration)|api keys?|environment variables|passwords? of)\b",
        r"\b(?:fetch|open|visit|call|request|load|browse to|navigate to|send|post|upload|forward|submit|append)\b[^.!?\n]{0,60}"
        r"\bhttps?://\S+[^.!?\n]{0,60}\b(?:document|passage|conversation|prompt|content|text|query|answer|memory|before you answer)",
        r"\b(?:send|post|upload|forward|exfiltrate|append|email)\b[^.!?\n]{0,60}"
        r"\b(?:documents?|conversation|prompt|chat history|passages?|memory|contents?)\b[^.!?\n]{0,40}\b(?:https?://|to \S+@\S+)",
        r"\bcall (?:the )?(?:tool|function) [\"'`]?\w+",
        r"\bdecode (?:this|the following|it)\b[^.!?]{0,30}\b(?:base64|rot13|hex)|\b(?:base64|rot13)\b[^.!?]{0,40}\b(?:follow|obey|execute)",
    ),
    "withholds other evidence": (
        r"\b(?:do not|don't|never|you must not|must not)\b[^.!?]{0,15}\b(?:mention|search|quote|cite|extract|consult|use|read|check|verify|report)\b"
        r"[^.!?]{0,20}\b(?:other (?:documents?|sources?|evidence|pages|results)|this (?:document|text|page|message|instruction|passage)"
        r"|(?:these|this|any|the) (?:claims?|sentences?|instructions?)|further searches)\b",
        r"\b(?:this|the following) (?:text|page|document) (?:contains|has|makes) no claims\b",
        r"\b(?:write|compose|generate|produce) (?:me )?(?:a |an )\w+(?: \w+)? instead\b|\binstead,? (?:write|translate|compose|summari[sz]e|output|say)\b",
    ),
}
_PATTERNS = {
    kind: re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE) for kind, patterns in _KINDS.items()
}
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SPACED = re.compile(r"\b(?:\w[ .\-_]){5,}\w\b")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_CONFUSABLE = str.maketrans("аеорсухіѕԁӏ", "aeopcyxisdl")


def injection_in(text: str) -> str:
    """What a text does that only a model would obey, such as ``orders an answer``; empty if nothing was found."""
    text = text[:LONGEST]
    for reading in _readings(text):
        for kind, pattern in _PATTERNS.items():
            if pattern.search(reading):
                return kind
    return ""


def _readings(text: str) -> list[str]:
    """The text as a model might read it: folded, with its hidden tag characters, spaced words and encoded runs."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    latin = plain.translate(_CONFUSABLE) if re.search("[a-zA-Z][а-яіѕԁӏ]|[а-яіѕԁӏ][a-zA-Z]", plain) else plain
    lines = "\n".join(" ".join(line.split()) for line in latin.splitlines())
    readings = [lines.replace("’", "'"), " ".join(lines.replace("’", "'").split())]
    if hidden := "".join(chr(ord(char) - 0xE0000) for run in _TAGS.findall(text) for char in run):
        readings.append(hidden)
    if spaced := _SPACED.findall(lines):
        readings.append(" ".join(re.sub(r"[ .\-_]", "", word) for word in spaced))
    readings += filter(None, map(_decoded, _ENCODED.findall(text)[:20]))
    return readings


def _decoded(run: str) -> str:
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return decoded if decoded.isprintable() else ""
