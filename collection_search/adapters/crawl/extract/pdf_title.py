"""The title of a PDF: whether the one in its properties is of use, and what its pages show."""

from __future__ import annotations

import math
import re
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHARS: Final = 3_000
"""The part of a page in which its title is looked for."""
_TITLE_CHARS: Final = 200
_LARGER: Final = 1.15
"""Size of a title's letters, at least, by that of the text."""
_SAME: Final = 0.97
_LEAST_LETTERS: Final = 3
_UPRIGHT: Final = 0.1
"""Most radians by which a letter of a line is turned; stamps on the margin are."""
_HYPHEN: Final = 2
"""What the library gives for a hyphen at the end of a line."""

_USELESS = re.compile(
    r"""(?:untitled|unbenannt|sans\s+titre|sin\s+título|no\s+title|title|titel|document|dokument
        |slide|folie|layout|presentation|präsentation|microsoft\s+word|microsoft\s+powerpoint
        |powerpoint[\s-]+präsentation|powerpoint\s+presentation|word\s+document|print|full\s+page
        |paper|main|book|report|page|seite|scan\w*|image|draft)?[\s_.\d()-]*
    |\(?(?:anonymous|none|null|unknown|unspecified)\)?
    |(?:microsoft|openoffice|libreoffice)\s+\w+\s+-\s+.*
    |.*\.(?:docx?|odt|rtf|pptx?|odp|xlsx?|ods|pdf|tex|dvi|e?ps|indd|qxp?d?|fm|pub|wpd|pages|txt|html?)
    |[a-z]:\\.*|/(?:\w+/)+.*|file:.*|https?:.*|[^\W\d_]?\d[\d\s._-]*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NO_TITLE = re.compile(
    r"arxiv:|doi\b|https?:|www\.|issn\b|isbn\b|page\s+\d|seite\s+\d|downloaded\s+from",
    re.IGNORECASE,
)
_SENTENCE_END: Final = (".", ",", ";", ":", "!")


class _PdfLine(NamedTuple):
    text: str
    size: float


def is_title(text: str) -> bool:
    """Return whether a title of a PDF's properties says what the document is about.

    >>> is_title("On herons"), is_title("Microsoft Word - x.doc"), is_title("untitled")
    (True, False, False)
    """
    return any(map(str.isalpha, text)) and _USELESS.fullmatch(text) is None


def title_on(textpage: Any) -> str:
    """Return the first lines in the largest letters, else a first line that is no sentence."""
    lines = [line for line in _lines(textpage) if _may_be_title(line.text)]
    if not lines:
        return ""
    body = median(line.size for line in lines for _ in line.text)
    largest = max(line.size for line in lines)
    if largest >= _LARGER * body:
        runs = groupby(lines, lambda line: line.size >= _SAME * largest)
        title = " ".join(line.text for line in next([*run] for is_large, run in runs if is_large))
        return title if len(title) <= _TITLE_CHARS else ""
    first, goes_on = lines[0].text, "".join(line.text for line in lines[1:2])
    is_sentence = first.endswith(_SENTENCE_END) or first[0].islower() or goes_on[:1].islower()
    return "" if is_sentence or not goes_on or len(first) > _TITLE_CHARS else first


def _may_be_title(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= _LEAST_LETTERS and _NO_TITLE.match(text) is None


def _lines(textpage: Any) -> Iterator[_PdfLine]:
    """Yield the upright lines at the beginning of a page, with the heights of their letters."""
    chars = ((_char(textpage, at), at) for at in range(min(textpage.count_chars(), _CHARS)))
    for is_end, line in groupby(chars, lambda one: one[0] in "\r\n"):
        if not is_end:
            letters = list(line)
            heights = [_height(textpage, at) for char, at in letters if char.isalnum()]
            text = " ".join("".join(char for char, _ in letters).split())
            if text and heights and median(heights) > 0:
                yield _PdfLine(text, median(heights))


def _char(textpage: Any, at: int) -> str:
    import pypdfium2.raw as pdfium

    code = pdfium.FPDFText_GetUnicode(textpage, at)
    is_surrogate = 0xD800 <= code <= 0xDFFF  # noqa: PLR2004 - the range of Unicode
    return "\ufffe" if code == _HYPHEN else " " if is_surrogate or not code else chr(code)


def _height(textpage: Any, at: int) -> float:
    """Return the height of a letter's line; 0 for a letter that is turned."""
    import pypdfium2.raw as pdfium

    angle = pdfium.FPDFText_GetCharAngle(textpage, at) % (2 * math.pi)
    if min(angle, 2 * math.pi - angle) > _UPRIGHT:
        return 0.0
    _, bottom, _, top = textpage.get_charbox(at, loose=True)
    return float(round(top - bottom, 1))
