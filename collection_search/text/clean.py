"""Cleaning of search queries and snippets, excerpts, and the spans of chunks."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

from ..errors import InvalidQueryError
from .tables import is_in_row

MAX_QUERY_CHARS: Final = 2_000
"""Limit of a query or question, in characters of its one line."""

MAX_CHAT_CHARS: Final = 20_000
"""Limit of a message of a chat."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]+")
"""Control characters but the tab and the line break, and broken surrogates."""
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff"  # control characters, broken surrogates
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]+"
)
"""Unicode categories Cc (without white space), Cs and Cf, written out for speed."""

_FIELDS: Final = (
    "site|filetype|ext|mime|(?:all)?in(?:url|title|text|anchor)|inbody|inpostauthor|inposttitle"
    "|url|host|domain|ip|related|link|linkfromdomain|cache|info|define|before|after|daterange"
    "|numrange|source|loc|location|lang|language|region|contains|feed|hasfeed|instreamset|prefer"
    "|near"
)
_FIELD = rf'(?:{_FIELDS})\ ?:(?:"[^"]*"|\([^()]*\)|\S*)'  # site:a.com, site:(a OR b), site :
_OPERATORS_ONLY = re.compile(
    rf"""(?:
        [\s!\#-,./:-@\[-`{{-~\u00a1-\u00bf\u2010-\u205e\u3001-\u303f]++  # white space, punctuation
      | "(?:{_FIELDS})\ ?:[^\s"]*"
      | (?<!\S)-(?:{_FIELD}|"[^"]*"|(?=[^\W\d])\S+)  # -word, -"a phrase"; not -40, not --help
      | ["-]
      | {_FIELD}
      | (?:and|or|not|around\(\d*\))(?!\w)
    )*+""",
    re.VERBOSE,
)
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2212\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]+"
)
"""Characters that look blank but are no format characters, and the minus sign."""
_COMPATIBLE = re.compile(
    "[\u00a0-\u02ff\u1d2c-\u1d6b\u2070-\u24ff\ufe10-\ufe6f\uff01-\uff5e"
    "\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff]+"
)
"""Other forms of ASCII characters, such as the fullwidth colon."""

_INLINE_TAGS: Final = (
    "a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|q|s|samp|small|span"
    "|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_BLOCK_TAGS: Final = (
    "address|article|aside|blockquote|body|br|button|caption|center|dd|details|div|dl|dt|figcaption"
    "|figure|footer|form|h[1-6]|head|header|hr|html|iframe|img|input|li|link|main|meta|nav|ol"
    "|option|p|picture|pre|script|section|select|source|style|summary|table|tbody|td|textarea"
    "|tfoot|th|thead|title|tr|ul|video"
)
_TAG = re.compile(
    rf"""<(?=[a-z/!])/?(?:(?P<inline>{_INLINE_TAGS})|{_BLOCK_TAGS})
    (?:\s*/?|\s[^<>=]*=(?:[^<>"']++|"[^<"]*+"|'[^<']*+'|["'])*+)>
    |<!--[^<>]*-->""",
    re.IGNORECASE | re.VERBOSE,
)
_HUGE_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{12,};?")

_STOPS: Final = ".!?…।॥؟۔։።"  # noqa: RUF001
_EAST_STOPS: Final = "。！？｡"  # noqa: RUF001
_EAST_CLOSING: Final = "」』）】〉》”’"  # noqa: RUF001

# Patterns begin with characters, since a search for these is ten times as fast as for borders.
_PARAGRAPH_END = re.compile(r"\n(?=[^\S\n]*\n)")
_SENTENCE_END = re.compile(
    rf"""[{_STOPS}{_EAST_STOPS}](?:
        (?<=[{_STOPS}])["')\]”’»]?+(?=\s)|(?<=[{_EAST_STOPS}])[{_EAST_CLOSING}]?+)""",  # noqa: RUF001
    re.VERBOSE,
)
_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"\S(?=\s)")
_ENDS: Final = (
    (_PARAGRAPH_END, re.Match.start),
    (_SENTENCE_END, re.Match.end),
    (_LINE_END, re.Match.start),
    (_WORD_END, re.Match.end),
)
_SENTENCE_START = re.compile(
    rf"""[{_STOPS}{_EAST_STOPS}\n](?:
        (?<=[{_STOPS}])\s|(?<=\n)|(?<=[{_EAST_STOPS}])[{_EAST_CLOSING}]?+)(?=\S)""",
    re.VERBOSE,
)
_WORD_START = re.compile(r"\s(?=\S)")
_STARTS: Final = (_SENTENCE_START, _WORD_START)
_MAX_BEFORE: Final = 2
"""Most characters of a pattern before the border that it finds."""
_NEAR_END: Final = 50
"""Characters that are searched for an end first: most that are searched have many."""
_VISIBLE = re.compile(r"\S")


def normalize_query(text: str) -> str:
    """Return the query in one line, without invisible characters: idempotent.

    Format characters (Unicode category Cf), control characters and broken surrogates are removed,
    as specified; this splits joined emoji.

    Raises InvalidQueryError when no plain word is left beside search operators, excluded words,
    boolean words and punctuation, and over 2000 characters. A symbol outside ASCII, such as an
    emoji, counts as a word.

    >>> normalize_query("  python   asyncio site:docs.python.org ")
    'python asyncio site:docs.python.org'
    """
    query = _one_line(text)
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidQueryError(
            f"the query has {len(query)} characters; at most {MAX_QUERY_CHARS} are searched for:"
            " shorten it"
        )
    if _OPERATORS_ONLY.fullmatch(_folded(query)):
        raise InvalidQueryError(
            "the query is empty or holds search operators only; add a word to search for"
        )
    return query


def clean_chat_text(text: str) -> str:
    r"""Return what a person wrote in a chat: lines and their indentation stay.

    Control characters, broken surrogates and blanks around it are removed. Empty where nothing can
    be seen.

    >>> clean_chat_text("\nif x:\r\n\tgo()\x00\n\nWhy?  ")
    'if x:\n\tgo()\n\nWhy?'
    """
    lines = _CONTROL.sub("", "\n".join(text.splitlines())).rstrip()
    if not _one_line(lines):
        return ""
    return _BLANK_LINES.sub("", lines) if "\n" in lines else lines.strip()


def to_unicode(text: str) -> str:
    """Return the text with broken surrogates as question marks, for JSON and databases.

    >>> to_unicode("caf" + chr(0xE9) + chr(0xD800))
    'café?'
    """
    return text if text.isascii() else text.encode(errors="replace").decode()


def clean_snippet(text: str | None) -> str:
    """Return the plain text of a snippet that may contain HTML: one line, entities decoded once.

    Only the names of HTML elements make a tag, so `a < b` and `list<int>` stay.

    >>> clean_snippet("Use <b>asyncio</b>.timeout()<br>if x &lt; 3")
    'Use asyncio.timeout() if x < 3'
    """
    if not text:
        return ""
    if "<" in text:
        text = _TAG.sub(lambda tag: "" if tag["inline"] else " ", text)
    if "&" in text:
        text = html.unescape(_HUGE_REFERENCE.sub("\ufffd", text))
    return _one_line(text)


def excerpt(text: str, limit: int = 240) -> str:
    """Return the beginning of the text in one line, at most `limit` (1 or more) characters.

    It ends at a word border where one is near, and in an ellipsis only if something was cut.

    >>> excerpt("The quick brown fox", 12)
    'The quick…'
    """
    if limit < 1:
        raise ValueError("limit must be 1 or more")
    if len(text) <= limit and _is_one_line(text):
        return text
    line = " ".join(text.split(maxsplit=limit)).rstrip()
    if len(line) <= limit:
        return line
    border = line.rfind(" ", limit // 2, limit)
    return line[: limit - 1 if border < 0 else border].rstrip(" ,;:-–—") + "…"  # noqa: RUF001


def chunk_spans(text: str, *, size: int = 1200, overlap: int = 150) -> list[tuple[int, int]]:
    """Return the spans of chunks, in order, that together cover all that is not white space.

    A span is at most `size` (1 or more) characters long, has no white space at its ends and ends
    with the last paragraph, else sentence, else line, else word of its second half. The next one
    repeats up to `overlap` characters (at most half of `size`) of it: whole sentences or lines,
    or words where the cut fell inside them.

    A row of a table, with a bar at its beginning, is cut and repeated in part only if it is longer
    than half of `size`.

    >>> text = "One two. Three. Four five six seven eight."
    >>> [text[start:end] for start, end in chunk_spans(text, size=20, overlap=8)]
    ['One two. Three.', 'Three. Four five six', 'six seven eight.']
    """
    if size < 1:
        raise ValueError("size must be 1 or more")
    spans: list[tuple[int, int]] = []
    stop = len(text.rstrip())
    start = head = _next_visible(text, 0, stop)
    while head < stop:
        end = stop if stop - start <= size else _last_end(text, start, head, size)
        spans.append((start, end))
        head = _next_visible(text, end, stop)
        start = _first_start(text, max(start + 1, head - min(overlap, size // 2)), head)
    return spans


def _one_line(text: str) -> str:
    if _is_one_line(text):
        return text
    seen = text if text.isprintable() else _UNSEEN.sub("", text)
    return " ".join(seen.split())


def _is_one_line(text: str) -> bool:
    """Return whether the text is clean already: printable, with single blanks inside only."""
    return text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " "


def _folded(query: str) -> str:
    """Return the query for matching operators: case, width and blank characters do not matter."""
    if query.isascii():
        return query.lower()
    return _COMPATIBLE.sub(_normal_form, _BLANK.sub("", query)).casefold()


def _normal_form(run: re.Match[str]) -> str:
    """Return NFKC of each character: that of a whole text may take quadratic time."""
    return "".join([unicodedata.normalize("NFKC", char) for char in run[0]])


def _next_visible(text: str, start: int, stop: int) -> int:
    match = _VISIBLE.search(text, start)
    return match.start() if match else stop


def _last_end(text: str, start: int, head: int, size: int) -> int:
    """Return the best end of a chunk in its second half, after `head`, without trailing space."""
    low, high = max(start + size // 2, head + 1), start + size
    for pattern, border in _ENDS:
        for begin in (max(low, high - _NEAR_END), low):
            found = map(border, pattern.finditer(text, max(begin - _MAX_BEFORE, 0), high + 1))
            ends = [end for end in found if begin <= end <= high]
            if pattern is _SENTENCE_END:
                ends = [end for end in ends if not is_in_row(text, end)]
            if ends:
                return start + len(text[start : ends[-1]].rstrip())
    return start + len(text[start:high].rstrip())


def _first_start(text: str, low: int, head: int) -> int:
    """Return the first start of a sentence, else of a word, from `low` to `head`."""
    for pattern in _STARTS:
        for match in pattern.finditer(text, max(low - _MAX_BEFORE, 0), head + 1):
            if low <= match.end() <= head and not is_in_row(text, match.end()):
                return match.end()
    return low
