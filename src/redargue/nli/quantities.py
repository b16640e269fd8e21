"""Parses numbers, dates, durations, currencies, percentages and units in English text and compares them by value.

Number words are read by text2num; docs/decisions/0018-quantities.md says why no library parses the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile
from typing import Literal, NamedTuple

from text_to_num import find_numbers

from redargue.nli.grammar import FUNCTION_WORDS, stem, word_set

Relation = Literal["equal", "compatible", "unequal"]
TOLERANCE = 1e-6
UNIT_TOLERANCE = 0.015  # between two units: "60 days" and "2 months", "5 km" and "3.1 miles"
_TOLERANCES = {"data": 0.1}  # 8 GB are 8,000 or 8,192 MB
APPROXIMATE = 0.1
APPROXIMATE_YEARS = 5


NO_NOUNS: frozenset[str] = frozenset()


class Quantity(NamedTuple):
    """A value in a text, as an interval.

    Attributes:
        dimension: "time", "length", "EUR", "ratio", "count", "ordinal", "year", "month", "day", "weekday", "clock", ...
        low: least value in the dimension's base unit (seconds, metres, grams, ...).
        high: greatest value.
        unit: the unit as written, or "".
        nouns: stems of the words after a count or an ordinal.
        text: the text from ``start`` to ``end``.
        approximate: whether the text says "about".
    """

    dimension: str
    low: float
    high: float
    unit: str = ""
    nouns: frozenset[str] = NO_NOUNS
    text: str = ""
    start: int = 0
    end: int = 0
    approximate: bool = False


def relation(claim: Quantity, evidence: Quantity) -> Relation | None:
    """Compares a claim's quantity with one of the evidence; None if their dimensions differ.

    "equal" if the claim's interval contains the evidence's, "compatible" if the two only overlap. An approximate value
    of the claim reaches as far as it is round ("about 3,000", not "about 3,412"), and "nearly" only below it; whatever
    is about as much is compatible.
    """
    if claim.dimension != evidence.dimension:
        return None
    tolerance = TOLERANCE if claim.unit == evidence.unit else _TOLERANCES.get(claim.dimension, UNIT_TOLERANCE)
    low, high = _widened(claim, max(tolerance, _roundness(claim)))
    if claim.approximate and _BELOW.match(claim.text):
        high = claim.high
    elif claim.approximate and _ABOVE.match(claim.text):
        low = claim.low
    if low <= evidence.low and evidence.high <= high:
        return "equal"
    if claim.approximate or evidence.approximate:
        low, high = _widened(claim, APPROXIMATE)
    overlapping = evidence.low <= high and low <= evidence.high
    adjacent = evidence.low != evidence.high and evidence.low <= high * 1.001 and low <= evidence.high * 1.001
    return "compatible" if overlapping or adjacent else "unequal"


_BELOW = re.compile(r"(?:nearly|almost|(?:just|slightly|a little) (?:under|short|less))\b", re.IGNORECASE)
_ABOVE = re.compile(r"(?:just|slightly|a little) (?:over|more)\b", re.IGNORECASE)


def _roundness(quantity: Quantity) -> float:
    """One unit of an approximate value's last digit that is not zero, as a share of it; a tenth at most, 0 if exact."""
    if not quantity.approximate:
        return 0.0
    written = re.search(r"\d[\d.,]*", quantity.text)
    digits = re.sub(r"\D", "", written[0]).strip("0") if written else ""
    return min(APPROXIMATE, 1 / int(digits)) if digits else APPROXIMATE


def _widened(quantity: Quantity, tolerance: float) -> tuple[float, float]:
    if quantity.dimension in _EXACT:
        beyond = min(APPROXIMATE_YEARS, quantity.low * tolerance) if quantity.dimension == "year" else 0
        return quantity.low - beyond, quantity.high + beyond
    return quantity.low - abs(quantity.low) * tolerance, quantity.high + abs(quantity.high) * tolerance


def base_units(unit: str) -> float:
    """A unit's size in base units of its dimension; 0 for an unknown unit."""
    return _UNIT.get(unit, ("", 0.0))[1]


_EXACT = word_set("year month day weekday clock ordinal")

_TIME = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0, "fortnight": 1209600.0}
_YEAR = 365.25 * 86400.0
_TIME |= {"month": _YEAR / 12, "year": _YEAR, "decade": _YEAR * 10, "century": _YEAR * 100}
_UNITS: dict[str, dict[str, float]] = {
    "time": {
        **{f"{name}|{name}s": factor for name, factor in _TIME.items()},
        "centuries": _YEAR * 100,
        "sec|secs|s": 1.0,
        "min|mins": 60.0,
        "h|hr|hrs": 3600.0,
        "yr|yrs": _YEAR,
        "ms|millisecond|milliseconds": 0.001,
        "quarter of an hour": 900.0,
    },
    "length": {
        "mm|millimetre|millimetres|millimeter|millimeters": 0.001,
        "cm|centimetre|centimetres|centimeter|centimeters": 0.01,
        "m|metre|metres|meter|meters": 1.0,
        "km|kilometre|kilometres|kilometer|kilometers": 1000.0,
        "inch|inches": 0.0254,
        "ft|foot|feet": 0.3048,
        "yd|yard|yards": 0.9144,
        "mile|miles": 1609.344,
        "nm|nanometre|nanometres|nanometer|nanometers": 1e-9,
        "μm|micrometre|micrometres|micron|microns": 1e-6,
        "nautical mile|nautical miles": 1852.0,
    },
    "area": {
        "m²|m2|square metre|square metres|square meter|square meters|sq m": 1.0,
        "km²|km2|square kilometre|square kilometres|square kilometer|square kilometers|sq km": 1e6,
        "cm²|square centimetre|square centimetres": 1e-4,
        "ha|hectare|hectares": 1e4,
        "acre|acres": 4046.856,
        "square mile|square miles|sq mi": 2589988.11,
        "square foot|square feet|sq ft": 0.092903,
    },
    "volume": {
        "ml|millilitre|millilitres|milliliter|milliliters": 0.001,
        "cl|centilitre|centilitres": 0.01,
        "dl|decilitre|decilitres": 0.1,
        "l|litre|litres|liter|liters": 1.0,
        "Ml|ML|megalitre|megalitres|megaliter|megaliters": 1e6,
        "hl|hectolitre|hectolitres": 100.0,
        "m³|m3|cubic metre|cubic metres|cubic meter|cubic meters": 1000.0,
        "km³|cubic kilometre|cubic kilometres": 1e12,
        "gallon|gallons": 3.785412,
        "pint|pints": 0.568261,
    },
    "mass": {
        "ng|nanogram|nanograms": 1e-9,
        "μg|mcg|microgram|micrograms": 1e-6,
        "mg|milligram|milligrams": 0.001,
        "g|gram|grams": 1.0,
        "kg|kilo|kilos|kilogram|kilograms": 1000.0,
        "t|tonne|tonnes|ton|tons|metric ton|metric tons": 1e6,
        "lb|lbs|pound of|pounds of": 453.592,
        "oz|ounce|ounces": 28.3495,
    },
    "temperature": {"°C|degree Celsius|degrees Celsius|℃|degree|degrees|°": 1.0},
    "fahrenheit": {"°F|degree Fahrenheit|degrees Fahrenheit|degrees F": 1.0},
    "power": {
        "W|watt|watts": 1.0,
        "kW|kilowatt|kilowatts": 1e3,
        "MW|megawatt|megawatts": 1e6,
        "GW|gigawatt|gigawatts": 1e9,
        "hp|horsepower": 745.7,
    },
    "energy": {
        "Wh": 1.0,
        "kWh|kilowatt-hour|kilowatt-hours|kilowatt hour|kilowatt hours": 1e3,
        "MWh|megawatt-hour|megawatt-hours|megawatt hour|megawatt hours": 1e6,
        "GWh|gigawatt-hour|gigawatt-hours|gigawatt hour|gigawatt hours": 1e9,
        "TWh": 1e12,
    },
    "data": {
        "KB|kB|kilobyte|kilobytes": 1e3,
        "MB|megabyte|megabytes": 1e6,
        "GB|gigabyte|gigabytes": 1e9,
        "TB|terabyte|terabytes": 1e12,
    },
    "speed": {"km/h|kph|kilometres per hour|kilometers per hour": 1.0, "mph|miles per hour": 1.609344, "m/s": 3.6},
    "voltage": {"V|volt|volts": 1.0, "kV|kilovolt|kilovolts": 1e3, "mV": 0.001},
    "sound": {"dB|decibel|decibels": 1.0},
    "ratio": {"%|percent|per cent|pc": 0.01, "‰|per mille": 0.001},
    "points": {"percentage point|percentage points|pp": 1.0},
    "multiple": {"times|-fold|fold": 1.0},
    "EUR": {"€|EUR|euro|euros": 1.0, "euro cents": 0.01},
    "USD": {"$|US$|USD|dollar|dollars": 1.0},
    "GBP": {"£|GBP|pound|pounds|pounds sterling": 1.0, "pence|penny": 0.01},
    "JPY": {"¥|JPY|yen": 1.0},
    "CHF": {"CHF|Swiss franc|Swiss francs": 1.0},
    "SEK": {"SEK|krona|kronor": 1.0},
    "NOK": {"NOK": 1.0},
    "DKK": {"DKK": 1.0},
    "kroner": {"krone|kroner": 1.0},  # Norwegian or Danish
    "cents": {"cent|cents|c": 1.0},
}
_UNIT = {
    name: (dimension, factor)
    for dimension, units in _UNITS.items()
    for names, factor in units.items()
    for name in names.split("|")
}
_UNIT |= {name.casefold(): unit for name, unit in _UNIT.items() if len(name) > 3}  # "Percent", not "MW" for "mw"
_SCALES = {"dozen": 12.0, "hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "m": 1e6}
_SCALES |= {"billion": 1e9, "bn": 1e9, "trillion": 1e12, "b": 1e9, "mm": 1e6, "mio": 1e6, "mln": 1e6, "bln": 1e9}
_SCALES |= {"lakh": 1e5, "crore": 1e7, "lakh crore": 1e12}
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}

_ALTERNATIVES = "|".join(re.escape(name) for name in sorted(_UNIT, key=len, reverse=True))
_NUMBER = (
    r"(?:\d{1,2}(?:,\d\d)+,\d{3}(?!\d)|\d{1,3}(?:[,\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?|\d{1,3}(?: \d{3})+(?!\d)"
    r"|\d+(?:[.,]\d+)?[½¼¾⅓⅔]?|[½¼¾⅓⅔])"
)
_SCALE = (
    r"(?:[ -]?(?:thousand|million|billion|trillion|dozen|hundred|mn|bn|mln|bln|mio|Mio|lakh crore|lakh|crore|k)"
    r"(?![^\W\d_])|(?:MM|[MBKm])(?![\w²³/-]))"
)
_SYMBOL = r"(?:US\$|[$€£¥]|(?:EUR|USD|GBP|CHF|JPY)\u00a0?)"
_SIGNS = {
    lead: sign
    for sign, leads in {
        ">=": "at least|not less than|no less than|no fewer than|a minimum of|minimum|≥",
        ">": "more than|over|well over|above|greater than|exceeding|exceeds|exceeded|longer than|older than"
        "|larger than|higher than|>|upwards of|better than",
        "<=": "up to|at most|no more than|not more than|a maximum of|maximum|≤|not exceeding|within",
        "<": "less than|fewer than|under|below|lower than|younger than|shorter than|<",
        "~": "nearly|almost|just under|just over|just short of|close to|a little over|a little under|a little more than"
        "|a little less than|slightly over|slightly under|about|around|roughly|some|approximately|c.|circa|~",
    }.items()
    for lead in leads.split("|")
}
_LEAD = "|".join(re.escape(lead) for lead in sorted(_SIGNS, key=len, reverse=True))
_NOT_AFTER_YEAR = r"(?:(?<!\bin (?:19|20)\d\d)|(?= \w+ (?:19|20)\d\d\b))"  # "from 4 in 2023 to 5 in 2024"
_MEASURE = re.compile(
    rf"(?P<symbol>{_SYMBOL})?(?P<minus>(?<![\w\d])[-−])?(?<![\w.,])(?P<number>{_NUMBER})"
    rf"(?P<half> and a half)?(?P<scale>{_SCALE})?"
    rf"(?:{_NOT_AFTER_YEAR}(?P<join>\s?[-–]\s?| to | and | or )(?(symbol)(?:{_SYMBOL})?)(?P<second>{_NUMBER})"
    rf"(?P<second_scale>{_SCALE})?)?"
    rf"(?:[\s-]?(?P<unit>{_ALTERNATIVES})(?![\w²³]))?"
    r"(?P<plus>\+(?!\w)| or (?i:more|longer|older|over|above|higher)\b| or (?i:less|fewer|under|younger|below)\b)?",
)
_BEFORE = re.compile(
    rf"(?<![\w-])(?:(?P<lead>{_LEAD})|(?P<between>between)(?: (?-i:[A-Z]{{3}}))?)\s*(?:an? |the )?$", re.IGNORECASE
)
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = (
    "(?:"
    + "|".join([*(name.title() for name in _MONTHS), *"Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec".split()])
    + r")\b\.?"
)
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_WEEKDAY = re.compile(rf"\b(?P<day>{'|'.join(name.title() for name in _WEEKDAYS)})s?\b")
_CLOCK = re.compile(
    r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s?(?P<half>[ap])\.?m\b\.?|\b(?P<hour24>[01]?\d"
    r"|2[0-4])[:h](?P<minute24>[0-5]\d)\b"
    r"|\b(?P<name>noon|midday|midnight)\b",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"\b(?P<iso>\d{{4}}-\d\d-\d\d)\b|(?<![\d./])(?P<numeric>\d{{1,2}}(?P<mark>[./])\d{{1,2}}(?P=mark)\d{{4}})\b(?![./]?\d)"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:(?:\s?[–-]\s?| and "
    rf"| to )(?P<last>\d{{1,2}}))? (?:of )?(?P<month>{_MONTH}),?(?: (?P<year>\d{{4}})\b)?"
    rf"|\b(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d|[.,]\d|:)(?:,? (?P<year2>\d{{4}})\b)?"
    rf"|(?<!\w)(?P<month3>{_MONTH})(?:,? (?:of )?(?P<year3>\d{{4}})\b)?"
    r"|\bQ(?P<quarter>[1-4])\b|\b(?i:(?P<nth>1st|2nd|3rd|4th) quarter)\b(?! of an)"
    r"|\b(?P<decade>\d{3}0)['’]?s\b|\b(?P<century>\d{1,2})(?:st|nd|rd|th)[ -]century\b|['’](?P<short>\d\d)\b(?!s)",
)
_RATE = re.compile(
    r"\b(?P<every>(?i:every|each)) (?:(?P<other>other|2nd) |(?P<count>\d+) )?(?P<unit>(?<=\d )second|minute|hour"
    r"|day|week|fortnight|month|quarter|year|decade)s?\b"
    r"|\b(?P<adverb>(?i:hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annually|annual"
    r"|biennial|biennially))\b"
    r"|\b(?P<times>(?i:once|twice|thrice)|\d+ times) (?:(?:in )?(?:a|an|per|each|every)) (?P<per>second|minute|hour|day"
    r"|week|month|year|decade)\b",
)
_ADVERBS = {
    "hourly": _TIME["hour"], "daily": _TIME["day"], "nightly": _TIME["day"], "weekly": _TIME["week"],
    "fortnightly": _TIME["fortnight"], "monthly": _TIME["month"], "quarterly": _YEAR / 4, "yearly": _YEAR,
    "annually": _YEAR, "annual": _YEAR, "biennial": 2 * _YEAR, "biennially": 2 * _YEAR,
}  # fmt: skip
_SHARES = {
    "half": 0.5, "halves": 0.5, "a third": 1 / 3, "one third": 1 / 3, "a 3rd": 1 / 3, "1 3rd": 1 / 3,
    "a quarter": 0.25, "one quarter": 0.25, "1 quarter": 0.25, "a 4th": 0.25, "3 quarters": 0.75, "3-quarters": 0.75,
    "a fifth": 0.2, "a 5th": 0.2, "1 5th": 0.2, "a 6th": 1 / 6, "1 6th": 1 / 6,
    "a 8th": 0.125, "an 8th": 0.125, "1 8th": 0.125, "a 10th": 0.1, "1 10th": 0.1,
}  # fmt: skip
_SHARE = re.compile(
    rf"(?:(?P<lead>\b(?i:{_LEAD})) )?(?:(?<!and a )\b(?P<name>(?i:{'|'.join(sorted(_SHARES, key=len, reverse=True))}))"
    r"|\b(?P<over>\d{1,2})[ -](?P<under>3rds|4ths|5ths|6ths|7ths|8ths|9ths|10ths)"
    r"|(?<![\d.,€$£¥])(?<!\d )(?P<one>\d+) (?:out of|in(?! (?:19|20)\d\d\b)|(?<=\b1 )in) (?P<of>\d+)"
    r"(?! \d{3}\b))(?![\w-])"
    r"(?! (?:an|a) (?:hour|million|billion|dozen|mile|century|year)| past| final|-?\d)",
)
_MULTIPLE = re.compile(
    r"\b(?P<name>twice|double[ds]?|doubling|thrice|triple[ds]?|tripling|halve[ds]?|halving)\b", re.IGNORECASE
)
_ORDINAL = re.compile(r"\b(?P<number>\d+)(?:st|nd|rd|th)\b")
_WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*|[^\w\s]")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|by|of|from|until|till|to|before|after|late|early|mid|during|year|spring|summer"
    r"|autumn|winter|season)\s"
    r"|[(–/]|mid-)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Token:
    """A word with the methods that text2num calls."""

    word: str
    scales: bool  # a scale word that multiplies the digits or the "half" before it

    def text(self) -> str:
        return self.word

    def nt_separated(self, previous: _Token) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return self.scales


_EMPHASIS = re.compile(  # of Markdown: "**5** euros", "in _1997_"
    r"(?<![\w*`])(?:\*{1,3}|_{1,3}|`)(?=[\w€$£+−-])|(?<=[\w%€$£.,;:!?)])(?:\*{1,3}|_{1,3}|`)(?![\w*`])"
)


def _with_digits(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text with its number words written as digits, without marks of emphasis, and each character's span in it."""
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    at = 0
    marks = ((*mark.span(), "") for mark in _EMPHASIS.finditer(text))
    ones = ((*match.span("one"), "1") for match in _ONE.finditer(text))
    for start, end, digits in [*sorted([*_number_words(text), *marks, *ones]), (len(text), len(text), "")]:
        if start < at:  # a mark within a number
            continue
        parts += [text[at:start], digits]
        spans += [*((place, place + 1) for place in range(at, start)), *[(start, end)] * len(digits)]
        at = end
    return "".join(parts), spans


def _number_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Spans of number words, and their digits."""
    matches = [match for match in _WORD.finditer(text) if match.group() != "-"]
    words = [match.group().lower() for match in matches]
    if _NUMBER_WORDS.isdisjoint(words):
        return
    tokens = [
        _Token(
            word,
            word in _SCALES
            and (before[-1:].isdigit() or before in ("half", "dozen") or (before == "a" and "half" in words)),
        )
        for before, word in zip(["", *words], words, strict=False)
    ]
    phrases = [(*match.span(match.lastindex or 0), "12" if match[1] else "0.5") for match in _PHRASES.finditer(text)]
    yield from sorted([*_numbers(matches, tokens), *phrases])


_ONE = re.compile(  # "within a week", not "twice a week"
    r"\b(?:within|for|after|lasts?|lasted|takes?|took|than) (?P<one>an?)"
    r"(?= (?:second|minute|hour|day|week|fortnight|month|year|decade|century)\b(?! (?:and a half|or (?:two|so))\b))",
    re.IGNORECASE,
)
_PHRASES = re.compile(  # which text2num does not read
    r"\bhalf[\s-]+a(?=\s(?:million|billion|dozen|thousand))|\ba[\s-]+(dozen)\b", re.IGNORECASE
)


def _numbers(matches: list[re.Match[str]], tokens: list[_Token]) -> Iterator[tuple[int, int, str]]:
    words = [token.word for token in tokens]
    for number in find_numbers(tokens, "en", 0.0):
        if tokens[number.start].scales or words[number.start][0].isdigit():
            continue
        if number.end - number.start > 1 or _is_number(words, number.start):
            yield matches[number.start].start(), matches[number.end - 1].end(), number.text


def _is_number(words: list[str], at: int) -> bool:
    """Whether a number word means a number: "second" may be a unit, and "one" a pronoun."""
    before = words[at - 1] if at else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    if words[at] in ("second", "seconds"):
        return before not in ("a", "per", "each", "every") and not before[-1:].isdigit()
    if words[at] == "one" and words[at + 1 : at + 4] != ["and", "a", "half"]:
        return before not in _NOT_BEFORE_ONE and after.isalpha() and after not in _NOT_AFTER_ONE
    return True


_NUMBER_WORDS = word_set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety first second"
    " third fourth fifth sixth"
    " seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth"
    " nineteenth twentieth thirtieth hundred million billion hundredth thousand thousandth thirds fourths fifths"
    " sixths sevenths dozen eighths ninths tenths fortieth fiftieth sixtieth seventieth eightieth ninetieth"
)
_NOT_BEFORE_ONE = word_set("no any every each another this that which the some other only it")
_NOT_AFTER_ONE = word_set("s of else another and to is was are were has had can may will would who that which by as")


_WRAP = re.compile(r"(?<!\n)(?:(?<!\d)\n|\n(?!\d))(?!\n)")  # a line that ends within a sentence


@lru_cache(maxsize=1024)
def quantities(text: str) -> tuple[Quantity, ...]:
    source, spans = _with_digits(_WRAP.sub(" ", text))
    parsed: list[Quantity] = []
    taken = bytearray(len(source))
    for begin, stop, values in _found(source):
        if any(taken[begin:stop]):
            continue
        taken[begin:stop] = b"\1" * (stop - begin)
        start, end = spans[begin][0], spans[stop - 1][1]
        written = _WRAP.sub(" ", text[start:end]).strip()
        parsed += (value._replace(text=written, start=start, end=end) for value in values)
    return tuple(_summed(sorted(parsed, key=lambda quantity: quantity.start), text))


_JOINS = {"time": (" ", " and ", ", "), "mass": (" ",), "length": (" ",)}


def _summed(parsed: list[Quantity], text: str) -> list[Quantity]:
    """Joins the parts of a duration or a weight, such as "8 minutes 40 seconds", "7 lb 8 oz"."""
    summed: list[Quantity] = []
    for other in parsed:
        one = summed[-1] if summed else None
        if (
            one
            and one.dimension == other.dimension
            and one.unit != other.unit
            and other.high < one.low == one.high
            and text[one.end : other.start] in _JOINS.get(one.dimension, ())
        ):
            low, high, written = one.low + other.low, one.high + other.high, text[one.start : other.end].strip()
            summed[-1] = one._replace(low=low, high=high, end=other.end, text=written)
        else:
            summed.append(other)
    return summed


_Found = tuple[int, int, list[Quantity]]  # start, end, and the values between them


def _found(text: str) -> Iterator[_Found]:
    """What has a pattern of its own, the more certain ones first."""
    yield from _matched(text, {_DATE: _date, _CLOCK: _clock, _RATE: _rate, _WEEKDAY: _weekday, _SHARE: _share})
    yield from _measures(text)
    yield from _matched(text, {_MULTIPLE: _multiple, _ORDINAL: _ordinal})


def _matched(
    text: str, readers: Mapping[re.Pattern[str], Callable[[re.Match[str]], list[Quantity]]]
) -> Iterator[_Found]:
    for pattern, read in readers.items():
        for match in pattern.finditer(text):
            if values := read(match):
                yield *match.span(), values


def _value(
    dimension: str, low: float, high: float | None = None, unit: str = "", nouns: frozenset[str] = NO_NOUNS
) -> Quantity:
    return Quantity(dimension, low, low if high is None else high, unit, nouns)


def _month_number(name: str) -> int:
    return 1 + next(i for i, month in enumerate(_MONTHS) if month.startswith(name.rstrip(".").lower()[:3]))


def _date(match: re.Match[str]) -> list[Quantity]:
    if iso := match["iso"]:
        return [
            _value(part, int(number)) for part, number in zip(("year", "month", "day"), iso.split("-"), strict=True)
        ]
    if numeric := match["numeric"]:
        return _numeric_date(*map(int, numeric.split(match["mark"])), american=match["mark"] == "/")
    if name := match["month"] or match["month2"] or match["month3"]:
        if name.lower() == "may" == (match["month3"] or "").lower() and not _may_is_a_month(match):
            return []
        values = [_value("month", _month_number(name))]
        if day := match["day"] or match["day2"]:
            values.append(_value("day", int(day), int(match["last"] or day)))
        if year := match["year"] or match["year2"] or match["year3"]:
            values.append(_value("year", int(year)))
        return values
    if quarter := match["quarter"] or (match["nth"] or "")[:1]:
        return [_value("month", 3 * int(quarter) - 2, 3 * int(quarter))]
    if match["decade"]:
        decade = int(match["decade"])
        return [_value("year", decade, decade + (9 if decade % 100 else 99))]  # "the 1400s"
    if match["century"]:
        return [_value("year", 100 * int(match["century"]) - 99, 100 * int(match["century"]))]
    short = int(match["short"])
    return [_value("year", short + (1900 if short > 30 else 2000))]


def _numeric_date(one: int, two: int, year: int, *, american: bool) -> list[Quantity]:
    """Of "3.5.2021" the 3rd of May; of "3/5/2021" the year alone, as the month may come first."""
    months = [(day, month) for day, month in {(one, two), (two, one) if american else (one, two)} if month <= 12]
    day, month = months[0] if len(months) == 1 else (0, 0)
    if not (1000 <= year <= 2100 and months and max(one, two) <= 31):
        return []
    parts = [_value("month", month), _value("day", day)] if month else []
    return [*parts, _value("year", year)]


def _may_is_a_month(match: re.Match[str]) -> bool:
    return match["year3"] is not None or _MONTH_FOLLOWS.search(match.string[: match.start()]) is not None


_MONTH_FOLLOWS = re.compile(
    r"\b(?:in|since|by|of|from|until|to|before|after|last|next|every|and|late|early|mid|this|during)[ -]$",
    re.IGNORECASE,
)


def _clock(match: re.Match[str]) -> list[Quantity]:
    if name := match["name"]:
        minutes = 0 if name.lower() == "midnight" else 720
    elif match["half"]:
        minutes = int(match["hour"]) % 12 * 60 + int(match["minute"] or 0) + 720 * (match["half"].lower() == "p")
    else:
        minutes = int(match["hour24"]) % 24 * 60 + int(match["minute24"])
    return [_value("clock", minutes)]


def _rate(match: re.Match[str]) -> list[Quantity]:
    if match["adverb"]:
        seconds = _ADVERBS[match["adverb"].lower()]
    elif match["times"]:
        times = {"once": 1, "twice": 2, "thrice": 3}.get(match["times"].lower()) or int(match["times"].split()[0])
        seconds = _TIME[match["per"]] / max(times, 1)
    else:
        unit = _YEAR / 4 if match["unit"] == "quarter" else _TIME[match["unit"]]
        seconds = unit * (2 if match["other"] else int(match["count"] or 1))
    return [_value("interval", seconds, unit=match["unit"] if match["count"] else match.group())]


def _weekday(match: re.Match[str]) -> list[Quantity]:
    return [_value("weekday", _WEEKDAYS.index(match["day"].lower()))]


def _share(match: re.Match[str]) -> list[Quantity]:
    if match["name"]:
        share = _SHARES[match["name"].lower()]
    elif match["over"]:
        share = int(match["over"]) / int(re.sub(r"\D", "", match["under"]))
    else:
        share = int(match["one"]) / max(1, int(match["of"]))
    return [_bounded(_value("ratio", share, unit="share"), match["lead"] or "")] if share < 1 else []


def _number(text: str, scale: str | None = None, *, half: bool = False) -> float:
    fraction = _FRACTIONS.get(text[-1:], 0.0)
    text = text.rstrip("½¼¾⅓⅔")
    if re.fullmatch(r"\d+,\d{1,2}|\d+,\d{4,}", text):
        text = text.replace(",", ".")
    value = float(re.sub(r"[^\d.]", "", text) or 0) + fraction + (0.5 if half else 0.0)
    return value * _SCALES.get((scale or "").strip(" -").lower(), 1.0)


def _measures(text: str) -> Iterator[_Found]:
    if not re.search(r"[\d½¼¾⅓⅔]", text):
        return
    for match in _MEASURE.finditer(text):
        start = match.start()
        if re.search(r"[^\W\d_]-?\Z", text[max(0, start - 3) : start]):
            continue  # part of a name: A4, COVID-19
        if re.match(r"(?:st|nd|rd|th)s?\b", text[match.end("number") :]):
            continue  # an ordinal
        lead = _BEFORE.search(text[max(0, start - 25) : start])
        between = bool(lead and lead["between"])
        join, second = (match["join"] or "").strip(), match["second"]
        is_change = join == "to" and re.search(r"(?i)\bfrom (?:\S+ ){0,2}$", text[:start])
        in_range = bool(second) and not is_change and (between or join in ("-", "–", "to", "or"))
        scale = match["scale"] or (match["second_scale"] if in_range else None)
        if scale in _CAPITAL_SCALES and not (match["symbol"] or _counts(text, start, match.end("scale"))):
            scale = None  # "Flat 2B", "Form 10K"
        value = _number(match["number"], scale, half=bool(match["half"])) * (-1 if match["minus"] else 1)
        values = [value] + ([_number(second, match["second_scale"])] if second else [])
        bound = (lead["lead"] or "" if lead else "") + (match["plus"] or "")
        start -= len(lead[0]) if lead else 0
        yield start, match.end(), _measured(match, values, bound, in_range=in_range)


_CAPITAL_SCALES = ("K", "M", "MM", "B")
_NUMBERED = re.compile(
    r"(?:\b[A-Z][\w.'’]*|\b(?:flat|section|form|gate|room|highway|route|unit|platform|building|block|apartment|bus|line"
    r"|number|no|article|annex|model|type|hall|road|at))\W*\Z"
)


def _counts(text: str, start: int, end: int) -> bool:
    """Whether digits with a capital behind them count something: "has 5M users"; without a currency, B never does."""
    return (
        text[end - 1] != "B"
        and re.match(r" [a-z]", text[end : end + 2]) is not None
        and not _NUMBERED.search(text[:start])
    )


def _measured(match: re.Match[str], values: list[float], bound: str, *, in_range: bool) -> list[Quantity]:
    symbol, unit = (match["symbol"] or "").strip("\u00a0 "), match["unit"] or ""
    dimension, factor = _UNIT.get(symbol or unit) or _UNIT.get(unit.casefold()) or ("count", 1.0)
    if dimension == "count" and all(_is_year(match, value) for value in values):
        about = _SIGNS.get(bound.lower().strip()) == "~"
        return [_value("year", value)._replace(approximate=about) for value in values]
    nouns = _nouns(match.string, match.end()) if dimension == "count" else NO_NOUNS
    unit = unit or symbol
    if in_range and values[0] <= values[1]:
        return [_value(dimension, values[0] * factor, values[1] * factor, unit, nouns)]
    return [_bounded(_value(dimension, value * factor, None, unit, nouns), bound) for value in values]


def _bounded(value: Quantity, lead: str) -> Quantity:
    """The value with the bounds that "at least", "up to", "about" or "or more" give it."""
    lead = lead.lower().strip()
    sign = _SIGNS.get(lead, "")
    if lead.startswith(("or more", "or long", "or old", "or over", "or above", "or high", "+")):
        sign = ">="
    elif lead.startswith("or "):
        sign = "<="
    elif lead == "over" and value.dimension == "time":
        sign = ">="  # "over three years" may also mean "during"
    size = value.low
    lowest = 0.0 if size >= 0 else -math.inf  # nothing counts below zero but what is below zero itself
    match sign:
        case ">=":
            return value._replace(high=math.inf)
        case ">":
            return value._replace(low=size + abs(size) * 1e-4, high=math.inf)
        case "<=":
            return value._replace(low=lowest)
        case "<":
            return value._replace(low=lowest, high=size - abs(size) * 1e-4)
        case "":
            return value
    return value._replace(approximate=True)


def _is_year(match: re.Match[str], value: float) -> bool:
    if not 1000 <= value <= 2100 or value % 1 or match["scale"] or match["half"] or match["minus"]:
        return False
    if not re.fullmatch(r"\d{4}", match["number"]) or not re.fullmatch(r"(?:\d\d){0,2}", match["second"] or ""):
        return False
    after = re.match(r"[ -]([a-z]+)", match.string[match.end() :])
    is_count = after is not None and after[1] not in FUNCTION_WORDS and after[1].endswith("s")
    return not is_count or bool(_YEAR_BEFORE.search(match.string[: match.start("number")]))


def _nouns(text: str, at: int) -> frozenset[str]:
    """Stems of the next content words, at most three, up to a function word or a punctuation mark."""
    found = re.finditer(r"\s*(?P<word>[^\W\d_]+(?:[-'’][^\W\d_]+)*)|.", text[at : at + 60])
    words = (word for match in found if (word := (match["word"] or "").lower()) not in _SKIPPED)
    nouns = takewhile(lambda word: word and word not in FUNCTION_WORDS, words)
    return frozenset(stem(word) for word in islice(nouns, 3))


_SKIPPED = word_set("more other such new of its the their")


def _multiple(match: re.Match[str]) -> list[Quantity]:
    name = match["name"].lower()
    factor = 0.5 if name.startswith("hal") else 3.0 if name.startswith(("thr", "tri")) else 2.0
    return [_value("multiple", factor, unit="times")]


def _ordinal(match: re.Match[str]) -> list[Quantity]:
    return [_value("ordinal", int(match["number"]), nouns=_nouns(match.string, match.end()))]
