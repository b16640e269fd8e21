"""Quotations that change what their passage says, and true ones that pages and models write differently."""

from __future__ import annotations

import random
import time
import unicodedata

import pytest

from redargue.evidence import Passage
from redargue.quotes import find_quote
from support.prose import paragraphs, span

QUOTED = "vaccines cause this illness in children"

# The words left out before the quotation deny it.
DENIED_BEFORE = [
    *(
        f"Doctors say that in the region {words}{QUOTED}, as was reported."
        for words in (
            "it is not true that ",
            "it is no longer said that ",
            "it is false that ",
            "nobody believes that ",
            "no study shows that ",
            "there is no evidence that ",
            "rarely do ",
            "barely do ",
            "seldom do ",
            "hardly any ",
            "never do ",
            "NOT: ",
            "not, ",
            "not – ",
            "not (",
            "not “",
            "the ministry denies that ",
            "the ministry denied, ",
            "the ministry disputes that ",
            "the court rejected that ",
            "it is a myth that ",
            "it is wrong that ",
            "myth: ",
            "false: ",
            "it is unlikely that ",
            "without ",
            "few doubt it is untrue that ",
        )
    ),
]
DENIED_BEFORE_ELSEWHERE = [
    ("offen für alle Besucher im Sommer", "Der Turm ist nicht offen für alle Besucher im Sommer."),
    ("offen für alle Besucher im Sommer", "Der Turm ist nicht mehr offen für alle Besucher im Sommer."),
    ("Beweis für die Wirkung", "Es gibt keinen Beweis für die Wirkung."),
    ("Zeuge der Tat vor Gericht", "Er war kein Zeuge der Tat vor Gericht."),
    ("am Turm gesehen worden", "Er ist niemals am Turm gesehen worden."),
    ("am Turm gesehen worden", "Er ist kaum am Turm gesehen worden."),
    ("ouverte au public en été", "La tour n'est pas ouverte au public en été."),
    ("ouverte au public en été", "La tour n’est plus ouverte au public en été."),
    ("ouverte au public en été", "La tour n'est jamais ouverte au public en été."),
    ("abierta al público en verano", "La torre nunca abierta al público en verano."),
    ("está abierta al público", "La torre no está abierta al público."),
    ("está aberta ao público", "A torre não está aberta ao público."),
    ("aperta al pubblico in estate", "La torre non aperta al pubblico in estate."),
    ("открыта для посетителей летом", "Башня не открыта для посетителей летом."),
    ("открыта для посетителей летом", "Башня никогда не открыта для посетителей летом."),
    ("open voor het publiek", "De toren is niet open voor het publiek."),
    ("otwarta dla zwiedzających latem", "Wieża nie otwarta dla zwiedzających latem."),
    ("يفتح البرج للزوار في الصيف", "لا يفتح البرج للزوار في الصيف."),
    ("يفتح البرج للزوار في الصيف", "لم يفتح البرج للزوار في الصيف."),
    ("פתוח למבקרים בקיץ", "המגדל לא פתוח למבקרים בקיץ."),
]
# The words left out after it do.
DENIED_AFTER = [
    f"The claim that {QUOTED}{words}"
    for words in (
        " is false.",
        " is not true.",
        " is a myth.",
        " is wrong.",
        " was never shown.",
        " has been debunked.",
        " has been refuted.",
        " was disproved in 2004.",
        " is completely false.",
        " is simply untrue.",
        " – is false.",
        ", which is false.",
        ", which is not true.",
        " (which is false).",
        " (false).",
        " (not true).",
        ' " is false.',
        "” is false.",
        " turned out to be wrong.",
        " proved false.",
        " is a hoax.",
        " is incorrect.",
        " was retracted.",
    )
] + [
    f"They said that {QUOTED} NOT.",
    f"They said that {QUOTED}. NOT!",
    f"They said that {QUOTED}... NOT.",
    f"They said that {QUOTED}? No.",
    f"They said that {QUOTED}: false.",
    f"They said that {QUOTED} – not!",
]
DENIED_AFTER_ELSEWHERE = [
    ("Der Turm wurde im Sommer", "Der Turm wurde im Sommer nicht eröffnet."),
    ("La tour est ouverte en été", "La tour est ouverte en été, c'est faux."),
    ("Dass der Turm alt ist", "Dass der Turm alt ist, ist falsch."),
    ("La torre está abierta", "La torre está abierta no es verdad."),
]
# Chinese and Japanese, whose quotations may end within a clause.
DENIED_WITHIN_A_CLAUSE = [
    ("大桥安全可靠", "这座大桥不安全可靠。"),
    ("安全可靠的大桥", "这是一座不安全可靠的大桥。"),
    ("公司关闭工厂", "他否认公司关闭工厂。"),
    ("会关闭工厂", "公司不会关闭工厂。"),
    ("关闭工厂", "公司没有关闭工厂。"),
    ("关闭工厂", "公司从未关闭工厂。"),
    ("该公司", "该公司并未关闭工厂。"),
    ("市议会批准了该项目", "市议会批准了该项目的说法不实。"),
    ("市议会批准了该项目", "市议会批准了该项目是谣言。"),
    ("可能な計画です", "不可能な計画です。"),
    ("橋は1998年に開通", "橋は1998年に開通しなかった。"),
    ("橋は1998年に開通し", "橋は1998年に開通しなかった。"),
    ("橋は1998年に開通", "橋は1998年に開通していない。"),
    ("橋は1998年に開通した", "橋は1998年に開通したという事実はない。"),
    ("橋は1998年に開通した", "「橋は1998年に開通した」というのは誤りである。"),
]
# Half of a word or a number, however it is hidden.
CUT = [
    ("happy with the result", "He was un\u200bhappy with the result."),
    ("happy with the result", "He was un\u200ehappy with the result."),
    ("happy with the result", "He was un\u00adhappy with the result."),
    ("happy with the result", "He was un\u034fhappy with the result."),
    ("5 million people came", "About 1.5 million people came."),
    ("5 million people came", "About 1.\u200b5 million people came."),
    ("5 million people came", "About 1,5 million people came."),
    ("1.5 million people came", "In class 1. 5 million people came."),
    ("1. 5 million people came", "About 1.5 million people came."),
    ("1,200 people came", "Of class 1, 200 people came."),
    ("1, 200 people came", "About 1,200 people came."),
    ("1.5 million people came", "In class 1 .5 million people came."),
    ("12 people came here", "Of type 1 2 people came here."),
    ("102 people came here", "About 10² people came here."),
    ("ओरवेल का पुल", "ओरवेल का पुलिस थाना 1889 में खोला गया था।"),  # the bridge, the police station
    ("สะพานท", "สะพานที่ออร์เวลล์"),
    ("The old caf\u0065\u0301", "The old cafe\u0301s open at 7."),
    ("98年通车", "该桥于1998年通车，全长三百米。"),
    ("全长三百", "该桥全长三百五十米。"),
    ("长度为300", "长度为300万米。"),
    ("ロックを発売", "会社はクロックを発売した。"),  # a rock, a clock
]


@pytest.mark.parametrize("text", [*DENIED_BEFORE, *DENIED_AFTER])
def test_a_quotation_is_not_found_where_the_words_left_out_deny_it(text: str) -> None:
    assert not find_quote(QUOTED, (Passage(text=text),)).found


@pytest.mark.parametrize(
    ("quote", "text"), [*DENIED_BEFORE_ELSEWHERE, *DENIED_AFTER_ELSEWHERE, *DENIED_WITHIN_A_CLAUSE]
)
def test_a_quotation_in_another_language_is_not_found_where_the_words_left_out_deny_it(quote: str, text: str) -> None:
    assert not find_quote(quote, (Passage(text=text),)).found


@pytest.mark.parametrize(("quote", "text"), CUT)
def test_a_quotation_is_not_found_in_half_of_a_word_or_a_number(quote: str, text: str) -> None:
    assert not find_quote(quote, (Passage(text=text),)).found


# What stands near a quotation without denying it.
TRUE_NEARBY = [
    ("The tower is old.", "Was it late? No. The tower is old."),
    ("The tower is old.", "There was nothing: The tower is old."),
    ("The tower is old", "The tower is old, not new."),
    ("The tower is old", "The tower is old and has never been painted."),
    ("The tower is old.", "The tower is old. It is not open."),
    ("the tower is old", "Not only is it high: the tower is old."),
    ("the tower stands on a hill", "Nobody knows why, but the tower stands on a hill."),
    ("the tower is old and grey", "Unlike the bridge, which was never finished, the tower is old and grey."),
    ("The tower was painted in 1990", "The tower was painted in 1990 (not in 1980)."),
    ("The tower is old", "The tower is old but not high."),
    ("The story of the tower is old", "The story of the tower is old. False teeth were found in it."),
]
# The passage has marks that a quotation leaves out, or the other way round.
MARKED = [
    ("The tower is old and grey.", "The \u200etower\u200f is old and grey."),
    ("The tower is old and grey.", "The to\u034fwer is old and\ufe0f grey."),
    ("The tower is old and grey.", "The tower is\u180e old and grey."),
    ("The tower is old and grey.", "\u202aThe tower is old and grey.\u202c"),
    ("The tower is old and grey.", "The tower is old\u2063 and grey."),
    ("The \u200ftower is old\ufe0e and grey.", "The tower is old and grey."),
    ("The tower is old ☎️ and grey.", "The tower is old ☎ and grey."),
    ("The tower is old and the bridge is new", "• The tower is old and\n• the bridge is new"),
    ("The tower is old. The bridge is new.", "- The tower is old.\n- The bridge is new."),
    ("The tower is old. The bridge is new.", "1. The tower is old.\n2. The bridge is new."),
    ("The tower is old. The bridge is new.", "* The tower is old.\n* The bridge is new."),
    ("The tower is old. The bridge is new.", "(a) The tower is old.\n(b) The bridge is new."),
    ("• The tower is old.", "The tower is old."),
    ("- The tower is old.", "The tower is old."),
    ("1. The tower is old and grey.", "The tower is old and grey."),
    ("The tower is old and grey.", "The tower[1] is old[2][3] and grey."),
    ("The tower is old and grey.", "The tower is old[citation needed] and grey."),
    ("The tower is old and grey.", "The tower is old[note 4] and grey.[a]"),
    ("The tower is old and grey.", "The tower¹ is old and grey.²"),
    ("The tower is old and grey.", "The tower† is old and grey.*"),
    ("The tower is old [1] and grey [2].", "The tower is old and grey."),
    ("「The tower is old and grey」", "The tower is old and grey."),
    ("『The tower is old and grey』", "The tower is old and grey."),
    ("The tower is “old” and grey.", "The tower is 「old」 and grey."),
    ("‹The tower is old and grey›", "The tower is old and grey."),
    ("《The tower is old and grey》", "The tower is old and grey."),
    ("(The tower is old and grey)", "The tower is old and grey."),
    ("[The tower is old and grey]", "The tower is old and grey."),
    ("[…] the tower is old and grey […]", "Then the tower is old and grey, they say."),
    ("**The tower is old and grey**", "The tower is old and grey."),
    ("> The tower is old and grey.", "The tower is old and grey."),
    ("The tower is old and grey.", "The **tower** is _old_ and grey."),
    ("The tower is old and grey.", 'The [tower](https://a.example/T_(1) "The tower") is [old](/age)[^1] and grey.'),
    ("The tower is 330 metres high.", "The tower is `330` metres high."),
    ("The [tower](https://a.example) is old and grey.", "The tower is old and grey."),
]
# The same letters, composed or in parts, as in names of files and in PDF files.
COMPOSED = [
    ("다리는 1889년에 개통되었다.", unicodedata.normalize("NFD", "다리는 1889년에 개통되었다. 길다.")),
    (unicodedata.normalize("NFD", "다리는 1889년에 개통되었다"), "다리는 1889년에 개통되었다. 길다."),
    ("এটি ছোটো সেতু", unicodedata.normalize("NFD", "এটি ছোটো সেতু, ১৮৮৯ সালে খোলা।")),
    (unicodedata.normalize("NFD", "সেতু ছোটো"), "এটি সেতু ছোটো"),
]
# No space divides the words of Chinese and Japanese.
WITHIN_A_CLAUSE = [
    ("長さは三百メートル", "この橋は1998年に開通し、長さは三百メートルである。"),
    ("全长三百米的大桥", "这座全长三百米的大桥横跨海峡。"),
    ("1998年通车", "该桥于1998年通车，全长三百米。"),
    ("市议会批准了该项目", "上周三，市议会批准了该项目，但没有给出期限。"),
    ("橋は1998年に開通", "この橋は1998年に開通した。"),
    ("政府は新しい法案を可決", "昨日、政府は新しい法案を可決し、来年から施行する。"),
    ("使用Python语言编写", "该软件使用Python语言编写并发布。"),
]


@pytest.mark.parametrize(("quote", "text"), [*TRUE_NEARBY, *MARKED, *COMPOSED, *WITHIN_A_CLAUSE])
def test_a_true_quotation_is_found(quote: str, text: str) -> None:
    found = find_quote(quote, (Passage(text=text),))
    assert found.found
    assert text[found.start : found.end] == found.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ('"' * 64_000 + "a", "x " * 20_000),
        ("«" * 64_000, "x " * 20_000),
        ("the reef " * 400 + "x", "the reef " * 8_000),
        ("e", "not e" * 30_000),
        ("a." * 20_000, "a. " * 30_000),
        ("[1]" * 20_000 + "a", "[1] " * 20_000),
        ("- " * 20_000 + "a", "\n- " * 20_000),
        ("[x](" * 20_000 + "a", "[x](y " * 20_000 + "[" * 20_000 + "](" * 20_000),
        ("a" + "\u0301" * 30_000, "b" + "\u0301" * 60_000),
    ],
    ids=["marks", "guillemets", "repeated", "letter", "points", "references", "items", "links", "combining"],
)
def test_a_search_takes_time_in_proportion_to_the_text(quote: str, text: str) -> None:
    begin = time.process_time()
    find_quote(quote, (Passage(text=text),))
    assert time.process_time() - begin < 3


INVISIBLE = "\u200e\u200f\ufe0f\u034f\u180e\u200b\u2060\ufeff\u061c\u2066\u2069"


@pytest.mark.slow
def test_a_quotation_is_found_wherever_invisible_marks_are_put() -> None:
    rng = random.Random(3)
    missed = []
    for text in paragraphs(rng, 15):
        for _ in range(10):
            quote = span(rng, text)
            both = [_strewn(rng, quote), _strewn(rng, text)]
            if not find_quote(both[0], (Passage(text=both[1]),)).found:
                missed.append(both)
    assert len(missed) <= 1  # of 150


def _strewn(rng: random.Random, text: str) -> str:
    return "".join(char + (rng.choice(INVISIBLE) if rng.random() < 0.1 else "") for char in text)
