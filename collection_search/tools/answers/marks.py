"""Marks of citations and addresses in a text that a model wrote.

Valid ones are replaced by placeholders in characters for private use, all others are removed. What
is removed may join what stands around it to a new mark, so this is repeated until nothing changes.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ...text.untrusted import FENCE, remove_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

MAX_CHARS: Final = 50_000
"""What is read of a model's text."""
_OPEN, _CLOSE = "\ue000", "\ue001"
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_PASSES: Final = 30
_MAX_RANGE: Final = 30
_MAX_DIGITS: Final = 9

_WORD: Final = (
    r"(?:sources?|quellen?|passages?|passagen?|refs?|references?|referenz(?:en)?|citations?|cites?"
    r"|docs?|documents?|dokumente?|results?|belege?|nachweise?|fundstellen?|footnotes?|fu(?:ß|ss)noten?)"
    r"[\s:#.]{0,3}(?:(?:no|nr)\.?\s{0,3})?"
)
_BETWEEN: Final = r"\s{0,3}(?:[,;&/+|\u2010-\u2015-]|(?:,\s?)?(?:and|und)\b)\s{0,3}"
_NUMBERS: Final = rf"[#^]?\s?\d+(?:{_BETWEEN}(?:{_WORD})?[#^]?\s?\d+)*"
_ITEMS: Final = rf"(?:{_WORD})?{_NUMBERS}"
_OPENING, _CLOSING = r"[\[【［〔]", r"[\]】］〕]"  # noqa: RUF001 - fullwidth brackets
_MARK = re.compile(
    rf"<sup>\s?[\[(]?\s?{_ITEMS}\s?[\])]?\s?</sup>"
    rf"|(?:{_OPENING}\s{{0,3}}){{1,3}}{_ITEMS}\s{{0,3}}(?:†[^\]\[【】\n]{{0,200}})?"
    rf"(?:{_CLOSING}\s?){{0,2}}{_CLOSING}"
    rf"|[(（]\s{{0,3}}{_WORD}{_NUMBERS}\s{{0,3}}[)）]",  # noqa: RUF001 - fullwidth brackets
    re.IGNORECASE,
)
_JOINT: Final = r"[ \t]{0,3}(?:[,;&/+]|(?:,[ \t]?)?(?:and|und)\b)[ \t]{0,3}"
_MARKS = re.compile(rf"(?:{_MARK.pattern})(?:{_JOINT}(?:{_MARK.pattern}))+", re.IGNORECASE)
"""Marks as a list, such as `[1], [2] and [3]`."""
_NUMBER = re.compile(r"\d+|[\u2010-\u2015-]")
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<words>[^\]\[]{0,300}|\s?\[[^\]\[]{0,60}\]\s?)\]\((?P<target>[^()\s]{0,2000}(?:\([^()]{0,200}\)"
    r"[^()\s]{0,2000}){0,3})(?:\s+[\"'(][^\"')]{0,300}[\"')])?\s*\)"
)
_IS_ADDRESS = re.compile(r"[/.:#?]")
_DEFINITION = re.compile(r"^[ \t]{0,3}\[[^\]\n]{1,100}\]:[^\n]*$", re.MULTILINE)
_URL = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,30}:(?://|\\\\)|www\.|(?<![:/\w])//(?=[\w-]+\.\w)"
    r"|\b(?:mailto|javascript|data|vbscript|tel|file):(?=\S))"
    "[^\\s<>\"'`\\[\\]{}|\\\\^\ue000-\uf8ff]*",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?<![\w@./:-])(?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|io|dev|info|gov|edu|mil|int|eu|de|at|ch|uk"
    r"|us|fr|nl|it|es|pl|ru|cn|jp|in|br|co|ai|app|xyz|me|tv|biz|link|site|online|shop|top|club|click"
    r"|gl|ly|to|cc)(?::\d{1,5})?/[^\s<>\"'`\[\]{}|\\^\ue000-\uf8ff]+",
    re.IGNORECASE,
)
"""An address without its scheme, with a path."""
_ESCAPED = re.compile(r"\\(?=[\[\]])")
_RAISED: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED_NUMBER = re.compile(rf"(?:(?<=[^\W\d_]{{3}})|(?<![^\W_]))[{_RAISED}]{{1,9}}")
"""A raised number behind a word or a stop; behind a unit or a digit it is a power."""
_DIGITS: Final = str.maketrans(_RAISED, "0123456789")
_ENDS_SENTENCE = re.compile(
    rf"(?:[`\s]*(?:{_MARK.pattern}))*[`\"'”*_)]*[ \t]*(?:\n|$|[.!?…。！？](?![a-z0-9_]))",  # noqa: RUF001
    re.IGNORECASE,
)
"""What follows a mark at the end of a sentence."""
_BEGINS_NEXT = re.compile(r"[.!?…]\s*$")
_BRACKETED = re.compile(
    r"[\[【〔〖⟦]([^\[\]【】〔〕〖〗⟦⟧]{0,60}\d[^\[\]【】〔〕〖〗⟦⟧]{0,60})[\]】〕〗⟧]"  # noqa: RUF001 - other scripts' brackets
)
"""What else looks like a mark."""
_TRAILING: Final = ".,;:!?)*_'\""
_TAG = re.compile(
    r"</?(?:a|img|script|iframe|style|link|object|embed|form|svg|video|audio|source|base|meta|sup|ref|cite)"
    r"\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
_FENCE_LINE = re.compile(rf"^[ \t]*</?{FENCE}[^\n]*$", re.MULTILINE | re.IGNORECASE)
_EMPTY = re.compile(r"(?<=[ \t])\([\s,;]*\)|<\s*>|\[\s*\]\(\s*\)")
_GAP_BEFORE_STOP = re.compile(r"(?<=[^\s|*+-]) +(?=[.,;:!?](?:\s|$))", re.MULTILINE)
_GAPS = re.compile(r"(?<=\S)[ \t]{2,}")
_CODE_FENCE = re.compile(r"[ \t]{0,12}(`{3,10}|~{3,10})")
_CODE = re.compile(r"(?<!`)(`{1,10})(?!`)([^\n`]{1,1000})\1(?!`)")
_SOURCES_HEAD = re.compile(
    r"\W*(?:sources?|references?|citations?|works\scited|bibliography|footnotes?|quellen"
    r"(?:angaben|verzeichnis)?|literatur|belege|einzelnachweise|fu(?:ß|ss)noten)(?:\s+used)?\W*",
    re.IGNORECASE,
)
_SOURCE_LINE = re.compile(r"\s*(?:[-*+•|]|\d+[.)]|[\[【(<]|https?:|www\.|$)", re.IGNORECASE)
PLACEHOLDER = re.compile(f"{_OPEN}([CKU])([0-9,]*){_CLOSE}")
_CITATION = re.compile(
    f"[ \\t]*{_OPEN}C[0-9,]*{_CLOSE}(?P<joined>(?![.,;:!?)\"'”*_]*(?:\\s|$|{_OPEN}C)))?"
)
_CITED = re.compile(f"{_OPEN}C[0-9,]*{_CLOSE}")
_CITED_URL = re.compile(f"({_OPEN}C[0-9,]*{_CLOSE})\\({_OPEN}U[0-9]+{_CLOSE}\\)")
_WRAPPED = re.compile(
    f"(?<!\\w)[(（](?=[^()（）]*{_CLOSE})"  # noqa: RUF001 - fullwidth brackets
    f"((?:[\\s,;&/+|]|and\\b|und\\b|{_OPEN}C[0-9,]*{_CLOSE})*)[)）]"  # noqa: RUF001
)
"""Parentheses that hold nothing but citations."""
_URL_AFTER_WORD = re.compile(f"(?<=[\\w+.:/-])(?={_OPEN}U)")
_REFERENCE = re.compile(
    r"&(?:#0{0,5}(?:40|41|47|58|60|62|91|92|93)|#x0{0,5}(?:28|29|2f|3a|3c|3e|5b|5c|5d)"
    r"|[lr](?:brack|sqb|par)|colon|sol|bsol);?",
    re.IGNORECASE,
)
"""Brackets, colons and slashes as HTML writes them."""
_URL_GAP = re.compile(f"({_OPEN}U[0-9]+{_CLOSE})(?![.,;:!?)\\]}}>\"'*_]*(?:\\s|$))")


@dataclass(slots=True)
class MarkedText:
    """A text with placeholders for citations, code and the addresses of passages."""

    text: str
    removed: int = 0
    """Citations and addresses that were removed."""
    kept: list[str] = field(default_factory=list)
    """Code and addresses, by the numbers of their placeholders."""

    def keep(self, kind: str, text: str) -> str:
        """Return a placeholder for a text that stays as it is."""
        self.kept.append(text)
        return f"{_OPEN}{kind}{len(self.kept) - 1}{_CLOSE}"

    def restore(self, text: str) -> str:
        """Return the text with code and addresses in the place of their placeholders."""
        apart = _URL_AFTER_WORD.sub(" ", _URL_GAP.sub(r"\1 ", text))
        uncited = _CITATION.sub(lambda one: "" if one["joined"] is None else " ", apart)
        plain = _stable(uncited, lambda part: _MARK.sub(" ", part))  # now that some are adjacent
        return PLACEHOLDER.sub(lambda one: self.kept[int(one[2])], plain).strip()


def mark(text: str, *, numbers: Collection[int], urls: Collection[str]) -> MarkedText:
    """Return the text with placeholders for these citations and addresses, without others."""
    plain = _PRIVATE.sub("", remove_invisible("\n".join(text[:MAX_CHARS].splitlines())))
    marked = MarkedText(_without_sources(_FENCE_LINE.sub("", plain)))
    allowed = frozenset(urls)

    def code(found: re.Match[str]) -> str:
        if _MARK.fullmatch(found[0].strip("` ")) and _is_at_end(found):
            return found[0].strip("` ")
        return block(found[0])

    def block(text: str) -> str:
        return marked.keep("K", _stable(text, lambda part: _without_urls(part, marked, ())))

    marked.text = _CODE.sub(code, _with_blocks(marked.text, block))

    def once(part: str) -> str:
        part = _DEFINITION.sub("", _REFERENCE.sub(lambda one: html.unescape(one[0]), part))
        part = _ESCAPED.sub("", part)
        part = _RAISED_NUMBER.sub(lambda one: f"[{one[0].translate(_DIGITS)}]", part)
        part = _LINK.sub(lambda link: _words(link, marked, allowed), part)
        part = _without_urls(_TAG.sub(_sup_or_nothing, part), marked, allowed)
        part = _MARK.sub(lambda one: _valid(one, marked, numbers), _joined(part))
        part = _WRAPPED.sub(lambda one: "".join(_CITED.findall(one[1])), part)
        part = _BRACKETED.sub(r"(\1)", _CITED_URL.sub(r"\1", part))
        return _GAP_BEFORE_STOP.sub("", _GAPS.sub(" ", _EMPTY.sub("", part)))

    marked.text = _stable(marked.text, once)
    return marked


def keep_citations(text: str, numbers: Collection[int]) -> str:
    r"""Return the text with the citations of these numbers alone; code stays.

    Where others go, the list of sources at the end goes with them.

    >>> keep_citations("Tea is hot. [1] Milk is cold. [2]\n\nSources:\n\n- [1] Tea", {2})
    'Tea is hot. Milk is cold. [2]'
    """
    marked = MarkedText(_PRIVATE.sub("", text))

    def code(part: str) -> str:
        return marked.keep("K", part)

    shown = _CODE.sub(lambda one: code(one[0]), _with_blocks(marked.text, code))
    if all(number in numbers for one in _MARK.finditer(shown) for number in _numbers(one[0])):
        return text

    def once(part: str) -> str:
        return _GAP_BEFORE_STOP.sub("", _GAPS.sub(" ", _MARK.sub(kept, _joined(part))))

    def kept(one: re.Match[str]) -> str:
        return "".join(f"[{number}]" for number in _numbers(one[0]) if number in numbers)

    shown = _stable(_without_sources(shown), once)
    return PLACEHOLDER.sub(lambda one: marked.kept[int(one[2])], shown).strip()


def _stable(text: str, once: Callable[[str], str]) -> str:
    """Return the text after so many passes that one more changes nothing."""
    for _ in range(_PASSES):
        before, text = text, once(text)
        if text == before:
            return text
    return re.sub(r"[\[\]【】［］〔〕:]", " ", text)  # noqa: RUF001 - nothing is left that could be one


def _without_sources(text: str) -> str:
    """Return the text without a list of sources at its end: citations are chosen by number."""
    lines = text.split("\n")
    end = len(lines)
    for place in range(len(lines) - 1, -1, -1):
        if _SOURCES_HEAD.fullmatch(lines[place]):
            end = place
        elif not _SOURCE_LINE.match(lines[place]):
            break
    return "\n".join(lines[:end])


def _with_blocks(text: str, keep: Callable[[str], str]) -> str:
    """Return the text with each block of code as `keep` returns it, one without an end too."""
    shown: list[str] = []
    block: list[str] = []
    closing = ""
    for line in text.split("\n"):
        fence = _CODE_FENCE.match(line)
        if not closing:
            closing = fence[1] if fence else ""
            (block if closing else shown).append(line)
            continue
        block.append(line)
        if line.strip().startswith(closing) and not line.strip().strip(closing[0]):
            shown.append(keep("\n".join(block)))
            block, closing = [], ""
    return "\n".join([*shown, *([keep("\n".join(block))] if block else [])])


def _is_at_end(code: re.Match[str]) -> bool:
    """Return whether inline code stands where a sentence's citation does: at or behind its end."""
    after = code.string[code.end() :]
    if _ENDS_SENTENCE.match(after):
        return True
    is_behind = _BEGINS_NEXT.search(code.string[max(0, code.start() - 9) : code.start()])
    return bool(is_behind) and after.lstrip()[:1].isupper()


def _sup_or_nothing(tag: re.Match[str]) -> str:
    return tag[0] if "sup" in tag[0][:5].lower() else ""


def _words(link: re.Match[str], marked: MarkedText, allowed: Collection[str]) -> str:
    words, target = link["words"], link["target"].strip("<>")
    if not link["image"] and _MARK.fullmatch(f"[{words}]"):
        return f"[{words}]"
    if not link["image"] and target in allowed:
        return f"{words} ({marked.keep('U', target)})"
    if not _IS_ADDRESS.search(target) and not link["image"] and PLACEHOLDER.search(target) is None:
        return f"{words} ({target})"
    if PLACEHOLDER.fullmatch(target):
        return f"{words} ({target})"
    marked.removed += 1
    return f"{words} "


def _without_urls(text: str, marked: MarkedText, allowed: Collection[str]) -> str:
    def judged(found: re.Match[str]) -> str:
        url = found[0]
        for end in _ends(url):
            for known in (url[:end], f"https://{url[:end]}", f"http://{url[:end]}"):
                if known in allowed:
                    return marked.keep("U", known) + url[end:]
        marked.removed += 1
        behind = _behind(url)
        return behind if behind.startswith(")") else f" {behind}"

    return _BARE.sub(judged, _URL.sub(judged, text))


def _behind(url: str) -> str:
    """Return the stops and closing marks at an address's end that belong to the sentence.

    >>> _behind("https://a.org/x)."), _behind("https://a.org/x_(y)")
    (').', '')
    """
    tail = url[len(url.rstrip(_TRAILING)) :]
    if url.count(")") <= url.count("("):
        tail = tail.replace(")", "")
    return "".join(char for char in tail if char in ".,;!?)*")


def _ends(url: str) -> Iterator[int]:
    """Yield the lengths of an address with fewer and fewer stops at its end."""
    end = len(url)
    yield end
    while end and url[end - 1] in _TRAILING:
        end -= 1
        yield end


def _joined(text: str) -> str:
    """Return the text without what stands between the marks of a list: it is of no use alone.

    >>> _joined("Tea is hot [1], [2] and [3].")
    'Tea is hot [1][2][3].'
    """
    return _MARKS.sub(lambda several: "".join(re.findall(_MARK, several[0])), text)


def _valid(one: re.Match[str], marked: MarkedText, numbers: Collection[int]) -> str:
    cited = _numbers(one[0])
    valid = [number for number in cited if number in numbers]
    marked.removed += len(cited) - len(valid)
    return f"{_OPEN}C{','.join(map(str, valid))}{_CLOSE}" if valid else ""


def _numbers(text: str) -> list[int]:
    """Return the numbers that a mark names; -1 for one of too many digits.

    >>> _numbers("[1, 3]"), _numbers("[2-4]"), _numbers("(source 7)")
    ([1, 3], [2, 3, 4], [7])
    """
    found: list[int] = []
    is_range = False
    for token in _NUMBER.findall(text.partition("†")[0]):
        if not token[0].isdigit():
            is_range = bool(found)
            continue
        number = int(token) if len(token) <= _MAX_DIGITS else -1
        if is_range and 0 < number - found[-1] <= _MAX_RANGE:
            found.extend(range(found[-1] + 1, number))
        found.append(number)
        is_range = False
    return list(dict.fromkeys(found))
