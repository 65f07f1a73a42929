"""Readable text of Markdown and reStructuredText, without their markup."""

from __future__ import annotations

import re
from typing import Final

_FRONT_MATTER = re.compile(r"\A---\n(?:.*\n){0,200}?---\n")
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
    (r"^ {0,3}#{1,6} +", ""),  # headings
    (r"^ {0,3}(?:=+|-{2,}|(?:[*_] ?){3,}) *$", ""),  # underlines, rules
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
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def markdown_text(text: str) -> str:
    r"""Return the text without markup, images, link targets and HTML; code stays unchanged.

    >>> markdown_text("# Use\n\nSee **the** [docs](https://a.org) and `x*y*z`.")
    'Use\n\nSee the docs and x*y*z.'
    """
    text = _FRONT_MATTER.sub("", _unified(text))
    parts: list[str] = []
    position = 0
    for code in _CODE.finditer(text):
        prose = _replaced(text[position : code.start()], _MARKDOWN)
        parts += [prose, code["inline"] or code["block"]]
        position = code.end()
    return _tidy("".join([*parts, _replaced(text[position:], _MARKDOWN)]))


def rst_text(text: str) -> str:
    r"""Return the text without roles, link targets, images and underlines.

    >>> rst_text("Use\n===\n\nSee :func:`open` and `docs <https://a.org>`_.")
    'Use\n\nSee open and docs.'
    """
    return _tidy(_replaced(_unified(text), _RST))


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _replaced(text: str, rules: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def _tidy(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", "\n".join(map(str.rstrip, text.split("\n")))).strip()
