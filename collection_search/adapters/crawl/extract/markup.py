"""Readable text of Markdown and reStructuredText, without their markup."""

from __future__ import annotations

import re
from typing import Final

from ....text.headings import heading_mark, trimmed, write_headings
from .front_matter import split_front_matter

_UNDERLINED: Final = 0.6
"""Least part of a title that its underline has the length of."""
_BEGINS_WITH_HEADING: Final = re.compile(r"\s*(?:\#[ \t]|[^\n]+\n=+[ \t]*$)", re.MULTILINE)
_CODE = re.compile(
    r"""^\ {0,3}(?P<fence>```++|~~~++).*\n(?P<block>(?:.*\n)*?)(?:\ {0,3}(?P=fence)[`~]*\ *$|\Z)
        | (?<!`)(?P<ticks>`+)(?!`)(?P<inline>.{1,300}?)(?<!`)(?P=ticks)(?!`)""",
    re.VERBOSE | re.MULTILINE,
)


def _rules(*rules: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.MULTILINE), text) for pattern, text in rules)


_MARKDOWN: Final = _rules(
    (r"<!--(?:[^-]|-(?!->))*(?:-->|\Z)", ""),
    (r"!\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])", ""),  # images
    (r"\[\s*\](?:\([^()]*\)|\[[^\[\]]*\])", ""),  # links around images alone
    (r"\[([^\[\]]+)\](?:\([^()]*(?:\([^()]*\))?[^()]*\)|\[[^\[\]]*\])", r"\1"),  # links
    (r"^ {0,3}\[[^\[\]]+\]:\s.*$", ""),  # link targets
    (r"</?[a-zA-Z][^<>]*>", ""),
    *((rf"^ {{0,3}}#{{{level}}} +", heading_mark(level)) for level in range(1, 7)),
    (r"^(?![ \t#>|*+-])([^\n]{1,200})\n {0,3}=+ *$", rf"{heading_mark(1)}\1"),
    (r"^(?![ \t#>|*+-])([^\n]{1,200})\n {0,3}-{2,} *$", rf"{heading_mark(2)}\1"),
    (r"^ {0,3}(?:=+|-{2,}|(?:[*_] ?){3,}) *$", ""),  # rules
    (r"(\*\*\*|\*\*|\*|~~)(?=\S)(.{1,300}?)(?<=\S)\1", r"\2"),
)
_RST: Final = _rules(
    (r"^\.\. (?:\|.*\| )?(?:image|figure|raw|contents|toctree)::.*\n(?:[ \t]+\S.*\n)*", ""),
    (r"^\.\. _.+:.*$", ""),  # link targets
    (r"^(?:\|[^|\n]*\|_{0,2} *)+$", ""),  # badges
    (r":[a-zA-Z][\w:.+-]{0,40}:`~?([^`<]{1,300}?)(?:\s*<[^`>]*>)?`", r"\1"),  # roles
    (r"`([^`<]{1,300}?)\s*<[^`>]*>`__?", r"\1"),  # links
    (r"``([^`]+)``|`([^`]+)`_{0,2}", r"\1\2"),
    (r"(?<!\w)(\*\*|\*)(?=\S)([^*\n]{1,300}?)(?<=\S)\1(?!\w)", r"\2"),
    (r"^([=\-~^\"'`#*+.:])\1{2,} *$", ""),  # underlines of headings
)
_RST_HEADING = re.compile(
    r"""^(?P<over>([=\-~^"'`\#*+.:])\2{2,}[ ]*\n(?=[ ]?\S[^\n]*\n\2{3}))?
        [ ]{0,3}(?P<title>\S[^\n]{0,200})\n(?P<under>([=\-~^"'`\#*+.:])\5{2,})[ ]*$""",
    re.VERBOSE | re.MULTILINE,
)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def markdown_text(text: str) -> str:
    r"""Return the text without markup but headings, without images, link targets and HTML.

    Of front matter the title is kept, as the heading of a text that does not begin with one.

    >>> markdown_text("Use\n===\n\nSee **the** [docs](https://a.org) and `x*y*z`.")
    '# Use\n\nSee the docs and x*y*z.'
    >>> markdown_text("---\ntitle: Tea\n---\nBrew it.")
    '# Tea\n\nBrew it.'
    """
    text = _with_title(_unified(text))
    parts: list[str] = []
    position = 0
    for code in _CODE.finditer(text):
        prose = _replaced(text[position : code.start()], _MARKDOWN)
        parts += [prose, code["inline"] or code["block"]]
        position = code.end()
    return _tidy("".join([*parts, _replaced(text[position:], _MARKDOWN)]))


def rst_text(text: str) -> str:
    r"""Return the text without roles, link targets and images, with headings as in Markdown.

    >>> rst_text("Use\n===\n\nSee :func:`open` and `docs <https://a.org>`_.")
    '# Use\n\nSee open and docs.'
    """
    return _tidy(_replaced(_with_marks(_unified(text)), _RST))


def rst_headings(text: str, *, outermost: int = 1) -> str:
    r"""Return the text with underlined headings as in Markdown, and all else unchanged.

    `outermost` is the level of the first heading.

    >>> rst_headings("Use\n***\n\nIt *waits*.")
    '# Use\n\nIt *waits*.'
    """
    return write_headings(_with_marks(text, outermost))


def _with_marks(text: str, outermost: int = 1) -> str:
    """Mark the headings; their level is the order in which their kinds of lines come first."""
    levels: dict[tuple[str, bool], int] = {}

    def marked(found: re.Match[str]) -> str:
        title, under = found["title"].rstrip(), found["under"]
        is_ruled = found["over"] is not None
        if len(under) < len(title) * _UNDERLINED or (found[0][0] == " " and not is_ruled):
            return found[0]
        level = levels.setdefault((under[0], is_ruled), len(levels) + outermost)
        return f"{heading_mark(level)}{title}"

    return _RST_HEADING.sub(marked, text)


def _with_title(text: str) -> str:
    """Return the text without its front matter, whose title becomes a heading."""
    title, body = split_front_matter(text)
    return f"# {title}\n\n{body}" if title and not _BEGINS_WITH_HEADING.match(body) else body


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _replaced(text: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def _tidy(text: str) -> str:
    text = write_headings(text)
    return trimmed(_BLANK_LINES.sub("\n\n", "\n".join(map(str.rstrip, text.split("\n")))))
