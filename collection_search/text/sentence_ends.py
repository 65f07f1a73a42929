"""Where sentences end: abbreviations and ordinals of English and German, stops of other scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ALWAYS: Final = re.compile(
    r"abzgl|al|allg|approx|aug|bd|bspw|bzgl|bzw|ca|cf|chr|corp|d\.h|dec|dept|dez|dgl|dr|e\.g|eds?"
    r"|einschl|engl|evtl|exkl|feb|ff|ggfs?|gov|hrsg|i\.d\.r|i\.e|inkl|insb|jan|jul|jun|m\.e|mind"
    r"|mio|mr|mrd|mrs|ms|mär|nov|nr|o\.ä|oct|okt|prof|resp|s\.o|s\.u|sen|sept?|sog|st|std|tel|tsd"
    r"|u\.a|u\.u|urspr|usf|vgl|vs|z\.b|ziff|zzgl"
)
"""Abbreviations after which a sentence goes on, without their last full stop."""
_BEFORE_NUMBERS: Final = re.compile(
    r"abb|abs|abschn|apr|art|ch|eq|figs?|kap|max|min|nos?|pp?|sec|tab|ver|vol|zeile"
)
"""Words that are abbreviations where a number follows."""
_BEFORE_ORDINALS: Final = re.compile(
    r"ab|am|bis|das|dem|den|der|des|die|im|ins|jeden|seit|vom|zum|zur"
)
"""German words after which `3.` is an ordinal number."""
_EAST: Final = "。！？｡"  # noqa: RUF001 - full stops of Chinese and Japanese
_END = re.compile(
    rf"(?P<stop>[.!?…؟۔।]+|[{_EAST}]+)"  # noqa: RUF001
    r"(?P<close>[\"'”’“»«)\]*_`」』]*)"  # noqa: RUF001 - closing quotation marks
    r"(?P<cited>(?:\s*\ue000C[\d,]*\ue001)*)"
)
"""The end of a sentence, with the marks of citations that stand behind it."""
_NEXT = re.compile(r"(?P<gap>\s*)[\"'“„«(\[*_\ue000¿¡-]*\s*(?P<first>\S?)")
_WORD_BEFORE = re.compile(r"([\w.]+(?:['’]\w+)?)$")  # noqa: RUF001 - an apostrophe


def split_sentences(text: str) -> list[str]:
    """Return the sentences of one paragraph; a citation behind a full stop belongs before it.

    >>> split_sentences("Tasks end, e.g. by a timeout. Dr. Who asks why? So be it.")
    ['Tasks end, e.g. by a timeout.', 'Dr. Who asks why?', 'So be it.']
    >>> split_sentences("Am 3. Mai gilt z. B. Version 3.12. Danach nicht mehr.")
    ['Am 3. Mai gilt z. B. Version 3.12.', 'Danach nicht mehr.']
    """
    spans = sentence_spans(text, 0, len(text))
    return [text[start:end] for start, end in spans]


def sentence_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each sentence of the paragraph `text[start:end]`, in order.

    They have no white space at their ends.

    >>> list(sentence_spans("Tea. Is it hot?", 0, 15))
    [(0, 4), (5, 15)]
    """
    begin = start
    for found in _END.finditer(text, start, end):
        if found.start() >= begin and _ends_sentence(text, found, begin, end):
            yield from _stripped(text, begin, found.end())
            begin = found.end()
    yield from _stripped(text, begin, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without white space at its ends, unless nothing is left."""
    bare = text[start:end].strip()
    if bare:
        start = text.index(bare, start)
        yield start, start + len(bare)


def _ends_sentence(text: str, found: re.Match[str], start: int, end: int) -> bool:
    following = _NEXT.match(text, found.end(), end)
    first = following["first"] if following else ""
    if not first or found["stop"][0] in _EAST:
        return True
    has_gap = bool(following and following["gap"]) or bool(found["cited"])
    is_cited = text.endswith("\ue001", start, found.start()) and found["stop"] != "…"
    if is_cited and not first.islower():  # `[1].It is hot`
        return True
    if not has_gap or first.islower():
        return False
    return found["stop"] != "." or not _is_abbreviated(text[start : found.start()], first)


def _is_abbreviated(before: str, first: str) -> bool:
    """Return whether a full stop after this text, before this character, ends no sentence."""
    word = _WORD_BEFORE.search(before)
    if word is None:
        return False
    last = word[1].lower()
    if _ALWAYS.fullmatch(last) or (first.isdigit() and _BEFORE_NUMBERS.fullmatch(last)):
        return True
    if len(last) == 1 and last.isalpha():  # an initial, or a part of an abbreviation
        return True
    if last.isdigit() and len(last) <= 2:  # noqa: PLR2004 - days, centuries
        *_, previous = ("", *before[: word.start()].lower().split())
        return bool(_BEFORE_ORDINALS.fullmatch(previous)) or not before[: word.start()].strip()
    return False
