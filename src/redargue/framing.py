"""Words and sentences beside a quotation that deny it or call it false.

In the quotation's own sentence: "it is not true that", "… is a myth". Only words next to the quotation count, in its
own sentence; a denial further away is left to the reader. The texts are those that :mod:`redargue.quotes` compares:
typography is unified, and white space is kept only between words.

Beside it: "Myth 3: …", "… That is a common misconception.", "Verdict: false". The sentence or heading right before and
right after is read, and after a heading such as "Claim" the verdict that follows it. Only what refers to the quotation
counts ("this claim is false"): a denial of something else does not.
"""

from __future__ import annotations

import re

DENIAL_REACH = 80  # characters on either side that are read

_DENYING = (
    r"not|never|no|nor|neither|cannot|without|hardly|scarcely|barely|rarely|seldom|nobody|none|nothing|\w+n't"
    r"|nicht|kein|keine|keinen|keinem|keiner|keines|nie|niemals|kaum|ohne|weder"
    r"|pas|jamais|guère|aucun|aucune|sans|nunca|jamás|ningún|ninguna|tampoco|não|nem|non|mai|nessun|nessuna|senza"
    r"|niet|geen|nooit|zonder|inte|aldrig|ikke|aldri|ingen|nigdy|bez|не|ни|нет|без|никогда|ні|ніколи|δεν|ποτέ|χωρίς"
    r"|لا|لم|لن|ليس|ليست|غير|بدون|لیس|נא|לא|אין|אינו|אינה|בלי|ללא|नहीं"
)
_FILLERS = (  # may stand between a negation and what it negates
    r"that|the|a|an|any|longer|yet|even|always|necessarily|really|very|so|be|been|being|have|has|had|to|it|is|was|are"
    r"|were|do|does|did|of|ever|still|actually|all"
    r"|mehr|immer|ganz|sehr|der|die|das|den|dem|ein|eine|einen|está|es|fue|son|era|é|foi|è|sono|ha|un|una|il|la|el"
    r"|een|de|het|meer|est|le|les|plus"
)
_NO_DENIAL = (
    r"(?! (?:one |be )?(?:only|just|merely|doubt|until|surpris|less|fewer|question|know|knew|reali[sz]|notic|mention"
    r"|aware|disput|den(?:y|ies|ied)))"
)
_DISPUTE = r"disput(?:e|es|ed|ing)|reject(?:s|ed|ing)?|refut(?:e|es|ed|ing)|debunk(?:s|ed|ing)?|disprov(?:e|es|ed|ing)"
_UNTRUE = (
    r"false|untrue|wrong|incorrect|inaccurate|unlikely|impossible|myth|hoax|lie|nonsense|fiction|fake|rumour|rumor"
    r"|falsch|unwahr|faux|falso|falsa|onwaar|неверно|неправда|ложь"
)
_BY_SOMEBODY = r"(?<!nobody )(?<!no one )(?<!few )(?<!no )(?<!cannot )(?<!cannot be )"
_BETWEEN = r"[ ,;\-\"'(\[]*"

# Chinese and Japanese put no space between words, so that a quotation may end within a clause that is denied.
_EAST_ASIAN_NOT = "[不没沒未无無非别別勿莫]"
_EAST_ASIAN_BEFORE = (
    rf"{_EAST_ASIAN_NOT}(?:有|会|會|能够|能夠|能|可以|可能|可|得|再|是|曾|必|应该|应|應|想|愿意|愿|敢|准|许|許|一定|完全"
    r"|认为|認為|相信){0,3}"
    r"|(?:否认|否認|驳斥|駁斥|谣传|謠傳|误传|誤傳|谎称|謊稱|禁止|拒绝|拒絕)[了过過称稱说說]?"
)
_REPORT = "的?(?:说法|說法|传言|傳言|消息|报道|報導)"
_EAST_ASIAN_AFTER = (
    rf"[\"」』]*[并並从從也都还還尚仍]?{_EAST_ASIAN_NOT}"
    rf"|[\"'。]*(?:不是|不对|不對|并非|並非|{_REPORT}(?:不实|不實|虚假|虛假|有误|有誤)"
    rf"|(?:{_REPORT})?(?:是|为|為|属|屬|纯属|純屬)(?:假|错|錯|谣|謠|虚假|虛假|不实|不實|误传|誤傳))"
    r"|[ \"'」』]*[ぁ-ゖ]{0,8}?(?:ない|なかった|なく|なけれ|ません|ざる|ずに|ず(?=[、。 ]|$))"
    r"|[\"」』]*(?:という|といった|との|とする|って|とは)[^。]{0,16}?"
    r"(?:ない|なかった|ません|嘘|うそ|デマ|誤り|間違い|否定|虚偽|誤解)"
)

_BEFORE = re.compile(
    rf"(?:^|(?<=\W))(?:"
    rf"(?:{_DENYING}){_NO_DENIAL}(?: (?:{_FILLERS})){{0,3}}[ \"'(\[]*"
    rf"|(?<!if )(?<!or )(?<!why )(?<!whether )(?:not|never|nicht|pas|не){_BETWEEN}"
    rf"|(?:{_DENYING}){_NO_DENIAL}(?: \w+){{0,4}} that(?: the| a| an)?{_BETWEEN}"
    rf"|{_BY_SOMEBODY}den(?:y|ies|ied|ying)(?: that| the| a| any)*{_BETWEEN}"
    rf"|{_BY_SOMEBODY}(?:{_DISPUTE})(?: claims?| reports?)?(?: that(?: the| a)?{_BETWEEN}|[,(\-\"']+{_BETWEEN})"
    rf"|(?:{_UNTRUE})(?: to \w+)? that(?: the| a| an)?{_BETWEEN}"
    rf"|(?:not|denied|debunked|{_UNTRUE}):{_BETWEEN}"
    rf"|(?:ne|n'\w+)(?: \w+){{0,2}}[ \"'(]*"  # French: "n'est plus"
    rf")$|(?:{_EAST_ASIAN_BEFORE})\"?$",
    re.IGNORECASE,
)

_BEING = (
    r"(?:is|was|are|were|has been|have been|had been|proved|proven|proves|remains?|turns? out|turned out|ist|war|est"
    r"|c'est|es|era|è|é|это)"
)
_FALSITY = (
    rf"(?:(?:to be|\w+ly|pas|an?|ein|eine|une?|una?|long since|since|later) )*"
    rf"(?:{_UNTRUE}|denied|disproved|disproven|debunked|refuted|fabricated|rejected|retracted|invented"
    rf"|(?:not|never|no|pas|nicht|non)(?: been)? (?:true|so|the case|correct|accurate|supported|confirmed|shown|proved"
    rf"|proven|established|demonstrated|verdad|cierto|vrai|wahr|vero))\b"
)
_END = r"(?=[.,;:!?)\-\"']|$)"
_NEXT = (  # a negation right after the quotation, which ends inside of what it negates
    r"not|never|nicht|nie|niemals|kaum|pas|jamais|niet|nooit|inte|ikke|nunca|no longer|hardly|scarcely|barely|rarely"
    r"|seldom|не|никогда|değil|نہیں|नहीं"
)
_AFTER = re.compile(
    rf"(?:"
    rf"[\"'\])]* (?:{_NEXT})\b(?! (?:only|just|merely))"
    rf"|[ ,;\-\"'(\])]*(?:(?:which|that|this|it|what|who|all of which) )?{_BEING} {_FALSITY}"
    rf"|[ ,;\-\"']*[(,:;\-]+\"?(?:not|{_FALSITY}){_END}"
    rf"|[\"'\])]*[.!?;:\-]+[\"'\]) ]*(?:not|no|not so|not true|{_UNTRUE})(?=[.!]|$)"
    rf"|[ ,;\-\"']*(?:no es (?:verdad|cierto)|n'est pas vrai|non è vero|não é verdade)\b"
    rf"|{_EAST_ASIAN_AFTER}"
    rf")",
    re.IGNORECASE,
)


_ANY = re.compile(rf"(?<!\w)(?:{_DENYING}|den(?:y|ies|ied|ying)|{_DISPUTE}|{_UNTRUE})(?!\w)", re.IGNORECASE)


def negates(text: str) -> bool:
    """Whether a text contains a negation, or says that something is untrue."""
    return bool(_ANY.search(text))


def denied(before: str, after: str) -> bool:
    """Whether a quotation is denied by the text right before or right after it."""
    return bool(_BEFORE.search(before[-DENIAL_REACH:]) or _AFTER.match(after[:DENIAL_REACH]))


REACH = 600  # characters on either side that are read
_LONGEST = 240  # characters of a sentence
_PLAIN = str.maketrans("‘’‚‛´`“”„«»‹›‐‑‒–—―−", "'" * 6 + '"' * 7 + "-" * 7, "*_")

_ADVERBS = (
    r"(?:(?:\w+ly|a|an|the|of course|in fact|also|just|only|nothing but|nothing more than|pure|sheer|complete|utter"
    r"|total|common|popular|widespread|old|well-known|urban|long|since|later|now|quite|plain|all|rated|to be|been"
    r"|ein|eine|glatt|völlig|une?|una?|um|uma) ){0,5}"
)
_FALSE = (
    r"(?:false|untrue|incorrect|inaccurate|misleading|unfounded|groundless|baseless|bogus|apocryphal|nonsense|rubbish"
    r"|myths?|hoax|lies?|misconceptions?|fallacy|falsehoods?|fabrications?|fabricated(?! (?:at|from|in|of)\b)|debunked"
    r"|disproved|disproven|refuted|misinformation|disinformation|pants on fire"
    r"|not (?:true|so(?! \w)|the case|correct|accurate|right(?! (?:above|behind|beside|by|for|in|next|on|under)\b))"
    r"|wrong(?! (?:to|with|for|about|side|place|way|time)\b)"
    r"|falsch|unwahr|gelogen|unsinn|irrtum|faux|fausse|falsos?|falsas?|mentira|bulo|onwaar|неправда|ложь|миф|фейк)\b"
)
_FALSE_OF_TEXTS = (  # of a claim, a report, "this"; a person or a plan may be these, too
    r"(?:fake|fiction|fictional|fictitious|satire|satirical|parody|legend|forged|forgery|rumou?r|mistaken|error"
    r"|made up|invented|retracted|withdrawn|denied|rejected|dismissed|discredited|contradicted)\b"
)
_TEXTS = (
    r"(?:claims?|stor(?:y|ies)|statements?|reports?|rumou?rs?|assertions?|allegations?|legends?|quotations?|quotes?"
    r"|posts?|theor(?:y|ies)|beliefs?|accounts?|tales?|news|message|letter|article|headline|myth|meme|photo|video)"
)
_THIS_TEXT = (
    rf"(?:this|that|the|these|those|such|all these|the above|viral)(?: (?:viral|whole|above|widespread))? {_TEXTS}"
)
_IS = (
    r"(?:is|was|are|were|(?:has|have|had)(?: \w+)? been|proved|proves|turn(?:s|ed) out|remains?"
    r"|ist|sind|war|est|es|è|é)"
)
_LABEL = (
    r"(?:(?:our|the|final|politifact'?s?|snopes) )?(?:verdict|rating|ruling|fact[- ]?check|conclusion|truth rating"
    r"|assessment|finding|status|result|evaluation|reality|truth|bewertung|faktencheck|urteil|veredicto|verdad)"
)
_RATING = (
    rf"(?:this is |it is |it's |mostly |partly )?{_ADVERBS}(?:{_FALSE}|{_FALSE_OF_TEXTS}|(?:one|two|three|four|[1-4])"
    r" pinocchios?|no evidence(?! (?:of|that) (?!this\b|that\b|it\b))|unsupported|scam|legend|hoax)"
)
_SPEAKS = (
    r"(?:reads?|reading|stat(?:es|ed|ing)|sa(?:ys?|id|ying)|claim(?:s|ed|ing)?|wrote|writes|announc(?:es|ed|ing)"
    r"|assert(?:s|ed|ing)?|insist(?:s|ed|ing)?|report(?:s|ed|ing)?|posted|tells?|told|goes|went|ran|has it|alleg\w+"
    r"|believ\w+|behaupte\w*|liest|lautet\w*)"
)
_UNTRUE_WORD = (
    r"(?:hoax(?:es)?|myths?|misconceptions?|fallac(?:y|ies)|false|falsely|falsehoods?|untrue|untruth\w*|fake[ds]?"
    r"|forged|forger(?:y|ies)|fabricat\w+|bogus|mis-?information|disinformation|wrong|wrongly|mistakenly|erroneously"
    r"|incorrect|incorrectly|inaccurate|satir\w+|parody|spoof|lies?|lied|lying|rumou?rs?|conspiracy|conspiracists?"
    r"|april fools?'?s?|legends?|debunked|discredited|made[- ]up|prank|falschmeldung|irrtum|gerücht|lüge|fake news"
    r"|bulo|mentira|falso|falsa|rumeur|canular|intox|mythe|mito|миф|ложь|слух|фейк)"
)
_NOT = r"\b(?:not|no|never|nor|neither|nobody|none|few|hardly|cannot|\w+n't|true|correct|facts?)\b"

_LABELLED = re.compile(  # "Myth 3:", "False claim:", "Disinformation alert.", "Myths about the lake"
    rf"\W*(?:(?:the|a|common|popular|viral|old) ){{0,2}}{_UNTRUE_WORD}"
    rf"(?: (?:{_TEXTS}|answer|belief|alert|warning|spreading))?(?: (?:no\.? ?|number |nr\.? ?|#)?\d{{1,3}})?"
    r"(?:\W*| (?:about|regarding|concerning) [^.:!?\n]{1,60}:?)"
)
_TOLD = re.compile(
    rf"(?!.*{_NOT}).*\b{_UNTRUE_WORD}\b.*\b{_SPEAKS}\b.*|(?!.*{_NOT}).*\b{_SPEAKS}\b.*\b{_UNTRUE_WORD}\b.*"
)
_BY = re.compile(rf"(?!.*{_NOT})(?:.*\b)?(?:according to|in the words of) .*\b{_UNTRUE_WORD}\b.*")
_BELIEVED = re.compile(
    rf"(?!.*{_NOT})(?!.*[.!?]$).*\b(?:wrongly|falsely|mistakenly|erroneously|incorrectly)(?: \w+){{1,2}} that"
    r"|(?!.*[.!?]$)contrary to popular belief"
    rf"|.*\bthe following\b.*\b(?:{_FALSE}|does not hold|did not happen|is not true).*"
)
_CLAIM = re.compile(
    r"\W*(?:the )?(?:claims?|statement|what was (?:claimed|said)|what (?:they|people) said|behauptung)\W*"
)
_HEADING = re.compile(rf"\W*(?:{_LABEL}|(?:the )?facts?|analysis|explanation)\W*")

_RATED = re.compile(rf"\W*[\"'(]*{_RATING}[\"')]*[.!]*$")
_RATED_BY_LABEL = re.compile(rf"\W*{_LABEL}[\s:\-]+[\"'(]*{_RATING}.*")
_SO = r"\W*(?:(?:but|however|in fact|in reality|actually|yet|sadly),? )?"
_OUTRIGHT = r"(?!-| (?:that|for(?! (?:\w+ )?reasons?)|(?<=true )of)\b)"  # not "of the farm, which it kept"
_SAID_FALSE = re.compile(
    rf"{_SO}(?:(?:this|that|{_THIS_TEXT}) {_IS} {_ADVERBS}(?:{_FALSE}|{_FALSE_OF_TEXTS}){_OUTRIGHT}"
    rf"|it(?:'s| {_IS}) {_ADVERBS}{_FALSE}{_OUTRIGHT}|it(?:'s| is) (?:only|just|merely) a (?:legend|story|rumou?r)"
    rf"|(?:das|dies|es) (?:{_IS} {_ADVERBS}(?:{_FALSE}|nicht (?:wahr|richtig|korrekt))|stimmt nicht|trifft nicht zu)"
    rf"|(?:c'est|ceci est|cela est) {_ADVERBS}{_FALSE}|ce n'est pas (?:vrai|exact)|(?:esto|eso|questo|isso) {_IS} "
    rf"{_ADVERBS}{_FALSE}|no es (?:verdad|cierto)|это (?:{_FALSE}|не так|неверно)|这(?:是假|不是真|是谣|并非))"
)
_NOTHING = r"(?:evidence|truth|basis|foundation|proof|substance|support)"
_THIS = rf"(?:this|that|it|them|these|{_THIS_TEXT}|any of (?:this|it))"
_IDIOM = re.compile(
    rf"{_SO}(?:nothing could be (?:further from the truth|more wrong|less true)"
    rf"|(?:that|this|it|they) could(?: not|n't) be (?:more wrong|further from the truth|less true)"
    rf"|(?:there (?:is|was|'s)|(?:we|they|\w+) found|has found)? ?no (?:\w+ )?{_NOTHING}"
    rf" (?:for|to|of|behind|in|(?:that )?supports?|supporting) {_THIS}[.!]*$"
    rf"|none of (?:it|this|that|these) (?:is|was|were|are) (?:true|real|correct|so)"
    rf"|no such (?:\w+ )?(?:happened|exists?|existed|took place|occurred|was|were)"
    rf"|(?:it|this|that|{_THIS_TEXT}) (?:has|had|lacks?) (?:no|any) (?:\w+ )?{_NOTHING}"
    rf"|(?:do not|don't|please do not) (?:share|believe) (?:it|this|them)[.!]*$)"
)
_DENIAL = (
    r"(?:den(?:y|ies|ied)|reject(?:s|ed)?|refut(?:e|es|ed)|debunk(?:s|ed)?|disput(?:e|es|ed)|dismiss(?:es|ed)?"
    r"|contradict(?:s|ed)?|disprov(?:e|es|ed)|retract(?:s|ed)?|withdrew|withdrawn|discredit(?:s|ed)?|rebut(?:s|ted)?)"
)
_ENDS = r"(?=[.,;!]|$| as | in | on | many | outright| \w+ly\b)"
_DENIED_BY = re.compile(
    rf"(?!.*{_NOT})[^.]{{1,100}}\b(?:{_DENIAL} (?:this|these|{_THIS_TEXT}){_ENDS}|den(?:y|ies|ied) it{_ENDS}"
    rf"|(?:rates?|rated|labell?ed|call(?:s|ed)|ruled|deem(?:s|ed)|found|judged) (?:this|it|{_THIS_TEXT})"
    rf" (?:to be |as )?[\"']?{_ADVERBS}{_FALSE})"
)
_THEY_ERR = re.compile(
    r"\W*(?:they|these people|all of them|he|she) (?:are|were|is|was) (?:all )?(?:mistaken|wrong|lying|misinformed)"
    r"(?=[.,;!]|\Z| about\b)"
)

_TAKEN_BACK = re.compile(  # "The lake is deep," he said, but that is wrong.
    rf",? (?:but|yet|and|though|although) (?:that|this|it|he|she) {_IS} {_ADVERBS}{_FALSE}[.!]*\Z"
)

_NOT_TRUE = re.compile(  # leads in a list: "None of the following statements is true:"
    r"\W*(?:none of (?:the following|these)\b[^.:]{0,40}\b(?:is|are|was|were) (?:true|correct|accurate)"
    rf"|(?:the following|these)\b[^.:]{{0,40}}\b(?:is|are|was|were) {_ADVERBS}{_FALSE})\W*"
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|\s*\n\s*")
_OWN_LEAD = re.compile(r"[^.!?\n:]{1,160}:")
_OWN_SOURCE = re.compile(r"[^.!?\n:,]{1,160},")


def framed(before: str, quoted: str, after: str) -> bool:
    """Whether the text right before a quotation, or right after it, says that it is false; :data:`REACH` is enough."""
    before, after = _plain(before), _plain(after)
    lead = _sentences(before.rstrip(" \t\n\"'([>-#"))[-1:]
    following = _sentences(after.lstrip(" \t\n\"').,;!?]>"))
    first = lead[0] if lead else ""
    if first and _leads_to_falsehood(first, before):
        return True
    if following and _says_false(following[0]):
        return True
    if len(following) > 1 and _HEADING.fullmatch(following[0]) and _says_false(following[1]):
        return True
    own = _OWN_LEAD.match(_plain(quoted))
    if _CLAIM.fullmatch(first) or (own and _CLAIM.fullmatch(own.group())):
        return any(map(_RATED_BY_LABEL.match, following))
    return bool(following and re.search(rf"\b{_SPEAKS}\b", f"{first} {quoted}") and _THEY_ERR.match(following[0]))


def calls_itself_false(quoted: str) -> bool:
    """Whether a quotation begins or ends with words that call the rest false, as in "Myth: …": it shows no claim."""
    plain = _plain(quoted)
    taken_back = _TAKEN_BACK.search(plain)
    if taken_back and re.search(rf"\b{_SPEAKS}\b", re.split(r"[.!?]", plain[: taken_back.start()])[-1]):
        return True
    lead, source = _OWN_LEAD.match(plain), _OWN_SOURCE.match(plain)
    before = lead.group() if lead and lead.end() < len(plain) else ""
    if _LABELLED.fullmatch(before) or _TOLD.fullmatch(before):
        return True
    return bool(source and _BY.fullmatch(source.group()))


def _plain(text: str) -> str:
    return text.translate(_PLAIN).casefold()


def _sentences(text: str) -> list[str]:
    """Sentences and headings; lines that a sentence runs across are joined."""
    joined = re.sub(r"(?<=[\w,;]) *\n(?=[a-z])", " ", text)
    return [part[-_LONGEST:] for part in _SENTENCE.split(joined) if re.search(r"\w", part)]


def _asks(sentence: str) -> bool:
    """Whether a sentence is a question, which says of nothing that it is false."""
    return sentence.rstrip(" \"')*").endswith("?")


def _leads_to_falsehood(lead: str, before: str) -> bool:
    if _asks(lead):
        return False
    own_line = lead.endswith(":") or before.rstrip(" \t\"'").endswith(("\n", ".", "!"))
    if own_line and (_LABELLED.fullmatch(lead) or _NOT_TRUE.fullmatch(lead)):
        return True
    if lead.endswith(":") or before.endswith(('"', "'")):
        return bool(_TOLD.fullmatch(lead))
    if lead.endswith(","):
        return bool(_BY.fullmatch(lead))
    return bool(_BELIEVED.match(lead))


def _says_false(sentence: str) -> bool:
    patterns = (_RATED, _RATED_BY_LABEL, _SAID_FALSE, _IDIOM, _DENIED_BY)
    return not _asks(sentence) and any(pattern.match(sentence) for pattern in patterns)
