"""Tells lead-ins and bare labels, which state nothing, from words that may state something without a sentence."""

from __future__ import annotations

import re

from redargue.nli.check_worthiness import ORDERS

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
    r"(?:^|\W)[A-Za-z]\s*=|\d[a-z]\b|[{};\\]|\w\(\w*\)|(?:^|\s)--?\w|\w=\w|\w_\w|[/$]\w+/|\w\.(?:png|jpe?g|gif|svg|webp|pdf)\b"
)
_COUNTED = re.compile(  # figures that number or announce
    rf"\b(?:{_LIST_NOUNS}|chapter|fig\.|day|week|level|appendix|version|page|unit|round|top|no\.|document|case|lesson)"
    r"\s*#?\d+(?:[.–-]\d+)*"
    r"|\A(?-i:[A-Z])\w+ \d{1,2}(?=\s*(?:[:.–—-]|\Z))"  # Design 1:
    rf"|\b\d{{1,3}} (?:[\w-]+ ){{0,3}}{_LIST_NOUNS}\b",
    re.IGNORECASE,
)


def announces(text: str) -> bool:
    """Whether the words before a colon only announce what follows: "The opening hours are", "There are two ways"."""
    return (_ORDER.match(text) is not None and is_order(text)) or _ANNOUNCES.search(text.rstrip(" .:")) is not None


def gives_a_figure(text: str) -> bool:
    """Whether words give a figure that neither numbers nor announces: not "Step 3", "5 reasons" or code."""
    return not _CODE.search(text) and re.search(r"\d", _COUNTED.sub("", text)) is not None


def is_order(text: str) -> bool:
    """Whether the words begin as an instruction does: "Bake it for 20 minutes", but also "Return period"."""
    first = re.match(r"\W*(\w+)", text)
    return first is not None and first[1].lower() in ORDERS
