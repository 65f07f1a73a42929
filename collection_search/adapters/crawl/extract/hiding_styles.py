"""What styles hide: an element's own, and the rules of the page for one class or one id.

Style sheets in files are not known here, nor what scripts change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RULE_CHARS: Final = 1_000_000
"""Rules beyond these characters of a page are not read."""
_PLACES: Final = ("left", "top", "right", "bottom")
_NAMES: Final = frozenset({
    "display", "visibility", "opacity", "font-size", "position", "clip", "clip-path", "transform",
    "transition", "animation", "will-change", *_PLACES,
})  # fmt: skip
_MOVING: Final = frozenset({"transform", "transition", "animation", "will-change"})
_MOVED = re.compile(r"^data-.{0,20}(?:anim|aos|w-id|sal\b|scroll|reveal|fade|motion|framer)")
"""Names of attributes by which scripts find what they are to fade in."""
_ZERO = re.compile(r"(?:0++\.?0*+|\.0++)(?:%|[a-z]{1,4})?")
_FAR = re.compile(r"-(?:(?:\d{4,}|999)(?:\.\d+)?px|(?:\d{3,}|99)(?:\.\d+)?r?em)")
_HIDING: Final[Mapping[str, re.Pattern[str]]] = {
    "display": re.compile("none"),
    "visibility": re.compile("hidden"),
    "opacity": _ZERO,
    "font-size": _ZERO,
    "clip-path": re.compile(r"inset\(\s*(?:50|100)%\s*\)"),
    "clip": re.compile(r"rect\(\s*([01])(?:px)?(?:\s*[\s,]\s*\1(?:px)?){3}\s*\)"),
    **dict.fromkeys(_PLACES, _FAR),
}
"""Values that hide; a few count only beside others."""
_PLACED: Final = frozenset({"clip", *_PLACES})

_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|<!--|-->")
_BRACE = re.compile(r""""[^"\n]*+"|'[^'\n]*+'|[{}]""")
_NAME: Final = r"[.#](?:[-\w]|\\.)+"
_SIMPLE = re.compile(_NAME)
_LAST = re.compile(r"[^\s>+~]*\Z")
_SCREENS: Final = frozenset({"", "all", "screen"})
_UNUSED: Final = ("noscript", "template", "svg")


@dataclass(slots=True)
class _Rules:
    """The rules for one class or id each, and what other rules may show again."""

    said: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    hiding: set[str] = field(default_factory=set)
    showing: dict[str, set[str]] = field(default_factory=dict)


def styled_away(tree: Any) -> Iterator[Any]:
    """Yield the outermost elements below `body` that styles hide.

    An element that fades in is not hidden, nor one that another rule may show.
    """
    etree: Any = import_module("lxml.etree")

    rules = _read_rules(tree)
    body = tree.find("body")
    walk = etree.iterwalk(tree if body is None else body, events=("start",))
    for _, element in walk:
        if element.tag != "body" and _is_away(element, rules):
            walk.skip_subtree()
            yield element


def declarations(style: str) -> dict[str, str]:
    """Return the declarations that say whether something is seen, in small letters.

    >>> declarations("Opacity: 0 !important; color: red")
    {'opacity': '0'}
    """
    said: dict[str, str] = {}
    for part in style.lower().split(";"):
        name, _, value = part.partition(":")
        name = name.strip().removeprefix("-webkit-")
        if name in _NAMES:
            said[name] = value.partition("!")[0].strip()
    return said


def hidden_by(said: Mapping[str, str]) -> str | None:
    """Return the declaration that hides an element, or None.

    >>> hidden_by({"opacity": "0.0"}), hidden_by({"opacity": "0.5"}), hidden_by({"left": "-9999px"})
    ('opacity', None, None)
    """
    for name, value in _HIDING.items():
        if name not in said or not value.fullmatch(said[name]):
            continue
        is_placed = said.get("position") in {"absolute", "fixed"}
        is_moving = name == "opacity" and _MOVING.intersection(said)
        if (is_placed or name not in _PLACED) and not is_moving:
            return name
    return None


def _is_away(element: Any, rules: _Rules) -> bool:
    said = element.attrib
    names = _names(said) if rules.hiding and ("class" in said or "id" in said) else []
    if "style" not in said and not rules.hiding.intersection(names):
        return False
    ruled = sorted(
        (rules.said[name] for name in names if name in rules.said), key=lambda one: one[0]
    )
    merged = {name: value for _, one in ruled for name, value in one.items()}
    by = hidden_by(merged | declarations(said.get("style", "")))
    if by is None or any(by in rules.showing.get(name, ()) for name in names):
        return False
    if by == "opacity":
        return not any(map(_MOVED.match, said))
    return by != "font-size" or not _may_have_size(element)


def _may_have_size(element: Any) -> bool:
    """Return whether parts of the element may have letters of a size of their own."""
    size = "boolean(.//*[@class or @id or contains(@style, 'font')])"
    return element.tag in {"html", "body"} or bool(element.xpath(size))


def _names(said: Mapping[str, str]) -> list[str]:
    classes = [f".{name}" for name in said.get("class", "").split()]
    return [*classes, f"#{said['id'].strip()}"] if "id" in said else classes


def _read_rules(tree: Any) -> _Rules:
    rules = _Rules()
    for number, (selectors, block, is_certain) in enumerate(_blocks(_style_text(tree))):
        if not (said := declarations(block)):
            continue
        for selector in map(str.strip, selectors.split(",")):
            if is_certain and _SIMPLE.fullmatch(selector):
                _add(rules, selector.replace("\\", ""), number, said)
            elif last := _LAST.search(selector):
                shown = said.keys() - {hidden_by(said)}
                for name in _SIMPLE.findall(last[0]):
                    rules.showing.setdefault(name.replace("\\", ""), set()).update(shown)
    return rules


def _add(rules: _Rules, name: str, number: int, said: dict[str, str]) -> None:
    """Add a rule; one for an id is stronger than all for classes."""
    known = rules.said.get(name, (0, {}))[1] | said
    rules.said[name] = (number + (_RULE_CHARS if name[0] == "#" else 0), known)
    if hidden_by(known):
        rules.hiding.add(name)
    else:
        rules.hiding.discard(name)


def _style_text(tree: Any) -> str:
    """Return the rules that a browser with scripts obeys on a screen."""
    parts = (
        style.text or ""
        for style in tree.iter("style")
        if (style.get("media") or "").strip().lower() in _SCREENS
        and next(style.iterancestors(*_UNUSED), None) is None
    )
    return _COMMENT.sub(" ", "\n".join(parts)[:_RULE_CHARS])


def _blocks(css: str) -> Iterator[tuple[str, str, bool]]:
    """Yield selectors and declarations of each rule, and whether it holds without conditions."""
    above: list[str] = []
    start = 0
    for found in _BRACE.finditer(css):
        if found[0] == "{":
            above.append(css[start : found.start()].rpartition(";")[2].strip())
        elif found[0] == "}":
            if above and not above[-1].startswith("@"):
                yield above[-1], css[start : found.start()], len(above) == 1
            del above[-1:]
        else:
            continue
        start = found.end()
