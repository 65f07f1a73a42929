"""Parts of a page that are no text of it: hidden elements and requests for consent to cookies."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from .hiding_styles import styled_away
from .html_lines import BESIDE, html_lines
from .page_subjects import ABOUT_CONSENT, explains_consent, page_titles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_WRAPPERS: Final = 20
"""Hidden elements that are read, in case one of them holds the page."""
_WRAPPER_ELEMENTS: Final = 20_000
_TEXT_CHARS: Final = 200
"""A hidden element with less text is not taken for the page's text by its length."""
_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE
)
_FRAME: Final = frozenset({"html", "head", "body", "main"})
"""Elements that hold the whole text. Many sites hide them until a script shows them."""
_UNSHOWN: Final = frozenset({"template", "noscript"})
_MAY_BE_HIDDEN: Final = """(descendant-or-self::*/@hidden | descendant-or-self::*/@style
    | descendant-or-self::*/@aria-hidden)/..
    | descendant-or-self::template | descendant-or-self::noscript"""

_VENDORS = re.compile(
    r"""^(?:onetrust|cybotcookiebot|usercentrics|uc-banner|didomi|qc-cmp2?|sp_message|iubenda-cs
    |cmplz|cmpbox|truste|osano-cm|klaro|borlabs-?cookie|cky-|cc-window|cc-banner|fc-consent
    |tarteaucitron|axeptio|moove_gdpr|hs-eu-cookie|cookie-law-info|cookiefirst|termsfeed
    |cookie-?consent|ccm-root|consent-?manager|cookiescript|wt-ecb|pum-overlay-cookie)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Beginnings of the names that ready-made banners give to their elements."""
_NAMED = re.compile(
    r"cookie|consent|gdpr|dsgvo|ccpa|privacy|einwilligung|datenschutz", re.IGNORECASE
)
_ACCEPT = re.compile(
    r"""\W*(?:(?:i\s+|yes,?\s+)?(?:accept|agree|allow|consent)(?:\s+(?:all|to\s+all|and\s+\w+|the))?
        (?:\s+(?:optional\s+)?cookies)?
    |got\s+it!?|ok(?:ay)?|i\s+understand|understood|continue|that.s\s+(?:fine|ok)
    |(?:alle[ns]?\s+)?(?:cookies\s+)?(?:akzeptieren|annehmen|zulassen|zustimmen|erlauben)
        (?:\s+und\s+\w+)?
    |(?:ich\s+)?(?:stimme\s+zu|akzeptiere|bin\s+einverstanden)|(?:alle[ms]?\s+)?zustimmen
    |einverstanden|verstanden|(?:tout|j.)\s*accepte[rz]?|accepter(?:\s+\w+){0,3}|d.accord
    |acept(?:ar|o)(?:\s+\w+){0,2}|accett(?:a|o)(?:\s+\w+){0,2}|aceitar(?:\s+\w+){0,2}
    |(?:alles\s+)?accepteren|akkoord|godkänn(?:\s+\w+){0,2}|zgadzam\s+się|akceptuj\w*(?:\s+\w+)?
    |принять(?:\s+\w+)?|同意(?:する|して\w+)?|すべて(?:受け入れる|許可)|接受(?:全部|所有)?|동의(?:합니다)?
    )\W*""",
    re.IGNORECASE | re.VERBOSE,
)
"""The whole text of a button that gives consent."""
_WITH_NAMES: Final = """(descendant-or-self::*/@id | descendant-or-self::*/@class
    | descendant-or-self::*/@aria-label)/.."""
_BOXES: Final = frozenset({"div", "section", "aside", "dialog", "form", "footer", "p", "span"})
_BUTTONS: Final = ("button", "a", "input")
_BANNER_CHARS: Final = 20_000
"""The lists of partners of some banners are long."""
_STEPS_UP: Final = 6
"""How many elements may stand around the button within its banner."""
_MAX_BUTTONS: Final = 20
"""Buttons with such a label whose surroundings are read."""
_BANNER_ELEMENTS: Final = 5_000
_MAX_SHARE: Final = 0.4
_LEAST_SHARE: Final = 0.1
"""Parts of a banner's sentences that must be about consent; the second is for ready-made ones."""
_REST_CHARS: Final = 60
"""Text beside a banner that may be a page of its own."""
_SENTENCE = re.compile(r"[^.!?。\n]{3,}")


def show_shadow_roots(tree: Any) -> None:
    """Make ordinary elements of the templates that browsers show at once."""
    for template in tree.xpath("//template[@shadowrootmode]"):
        template.tag = "div"


def remove_unseen(tree: Any) -> str:
    """Remove hidden elements and requests for consent; return the text of the requests."""
    _show_formulas(tree)
    _remove_hidden(tree)
    banners = list(_banners(tree))
    if banners and _is_page_itself(tree, banners):
        return ""
    text = "\n".join(html_lines(banner) for banner in banners)
    _remove(iter(banners))
    return text


def _show_formulas(tree: Any) -> None:
    """Show formulas that are hidden behind a picture of them: Wikipedia's are."""
    for wrapper in tree.iter("span"):
        if len(wrapper) == 1 and wrapper[0].tag == "math":
            picture = wrapper.getnext()
            if picture is not None and picture.tag == "img":
                wrapper.attrib.pop("style", None)


def _remove_hidden(tree: Any) -> None:
    """Remove what no reader sees, except what a script shows when the page is loaded."""
    page_chars = cache(lambda: len(html_lines(tree, without=BESIDE)))
    wrappers = 0
    for element in [one for one in tree.xpath(_MAY_BE_HIDDEN) if _is_hidden(one)]:
        may_wrap = element.tag not in _UNSHOWN and len(element) > 0 and wrappers < _MAX_WRAPPERS
        wrappers += may_wrap
        if may_wrap and _holds_main_text(element, tree, page_chars):
            for name in ("hidden", "style"):  # the extraction of articles obeys them
                element.attrib.pop(name, None)
        else:
            _remove(iter((element,)))
    _remove_styled(tree, page_chars)


def _remove_styled(tree: Any, page_chars: Callable[[], int]) -> None:
    """Remove what styles hide, unless it holds or is most of the text: a script shows that."""
    found = [one for one in styled_away(tree) if one.tag not in _FRAME]
    wrappers = [one for one in found if len(one)][:_MAX_WRAPPERS]
    kept = {one for one in wrappers if _holds_main_text(one, tree, page_chars)}
    away = [one for one in found if one not in kept]
    chars = sum(len(html_lines(one, without=BESIDE)) for one in away)
    if chars < _TEXT_CHARS or 2 * chars <= page_chars():
        _remove(iter(away))


def _holds_main_text(element: Any, tree: Any, page_chars: Callable[[], int]) -> bool:
    """Return whether the page would lose its article, or most of its text, with the element."""
    for tag in ("main", "article", "h1"):
        inside = element.xpath(f"count(descendant-or-self::{tag})")
        if inside and 2 * inside > tree.xpath(f"count(//{tag})"):
            return True
    if element.xpath("count(.//*)") > _WRAPPER_ELEMENTS:
        return False
    chars = len(html_lines(element, without=BESIDE))
    return chars >= _TEXT_CHARS and 2 * chars > page_chars()


def _is_hidden(element: Any) -> bool:
    """Return whether a browser shows nothing of the element at first.

    `aria-hidden` hides from screen readers alone. It is obeyed where it repeats a formula.
    """
    said = element.attrib
    if element.tag in _UNSHOWN or not said or element.tag in _FRAME:
        return element.tag in _UNSHOWN
    return (
        said.get("hidden", "until-found").lower() != "until-found"
        or ("style" in said and _HIDING_STYLE.search(said["style"]) is not None)
        or (said.get("aria-hidden") == "true" and _repeats_formula(element))
    )


def _repeats_formula(element: Any) -> bool:
    before = element.getprevious()
    return before is not None and before.find(".//math") is not None


def _remove(elements: Iterator[Any]) -> None:
    for element in list(elements):
        if element.getparent() is not None:
            element.drop_tree()


def _is_page_itself(tree: Any, banners: list[Any]) -> bool:
    """Return whether what looks like requests is a page about consent, with nothing beside it."""
    titles = page_titles(tree)
    if not any(map(ABOUT_CONSENT.search, titles)):
        return False
    text = "\n".join(html_lines(one, without=_BUTTONS) for one in banners)
    rest = len(html_lines(tree, without=BESIDE))
    rest -= sum(len(html_lines(one, without=BESIDE)) for one in banners)
    labels = (label for one in banners for label in button_labels(one))
    return rest <= _REST_CHARS and explains_consent(titles, text, labels)


def _banners(tree: Any) -> Iterator[Any]:
    """Yield the outermost elements that only ask for consent."""
    found: set[Any] = set()
    for element in (*_with_telling_names(tree), *_around_buttons(tree)):
        if not found.intersection((element, *element.iterancestors())):
            found.add(element)
            yield element


def _with_telling_names(tree: Any) -> Iterator[Any]:
    for element in tree.xpath(_WITH_NAMES):
        names = _names(element) if element.tag in _BOXES else []
        if (any(map(_VENDORS.match, names)) and _is_about_consent(element)) or (
            any(map(_NAMED.search, names)) and asks_consent(element)
        ):
            yield element


def _names(element: Any) -> list[str]:
    said = element.attrib
    words = f"{said.get('id', '')} {said.get('class', '')} {said.get('aria-label', '')}"
    return words.split()


def _around_buttons(tree: Any) -> Iterator[Any]:
    """Yield what stands around buttons such as "Accept all", if it asks for consent."""
    for button in islice(filter(_accepts, tree.iter(*_BUTTONS)), _MAX_BUTTONS):
        for above in islice(button.iterancestors(), _STEPS_UP):
            if above.tag in _FRAME or above.tag == "article":
                break
            if asks_consent(above):
                yield above
                break


def _accepts(button: Any) -> bool:
    label = _label(button)
    return len(label) < 60 and _ACCEPT.fullmatch(label) is not None  # noqa: PLR2004 - a label


def _label(button: Any) -> str:
    text = "".join(button.itertext()) if len(button) else button.text
    return text or button.get("value") or ""


def button_labels(tree: Any) -> Iterator[str]:
    """Yield what the buttons and links say."""
    return map(_label, tree.iter(*_BUTTONS))


def asks_consent(element: Any) -> bool:
    """Return whether the element asks for consent and has a button for it."""
    return any(map(_accepts, element.iter(*_BUTTONS))) and _is_about_consent(element, _MAX_SHARE)


def _is_about_consent(element: Any, least: float = _LEAST_SHARE) -> bool:
    """Return whether at least this part of the element's text is about consent."""
    is_large = next(islice(element.iter(), _BANNER_ELEMENTS, None), None) is not None
    if is_large or (element.tag not in _FRAME and _holds_page(element)):
        return False
    text = html_lines(element, without=_BUTTONS)
    said = _SENTENCE.findall(text)
    about = sum(len(one) for one in said if ABOUT_CONSENT.search(one))
    return len(text) <= _BANNER_CHARS and about > 0 and about >= least * sum(map(len, said))


def _holds_page(element: Any) -> bool:
    """Return whether the page's own text is in the element."""
    if element.find(".//main") is not None or element.find(".//article") is not None:
        return True
    titles = ("".join(title.itertext()) for title in element.iter("h1"))
    return any(not ABOUT_CONSENT.search(title) for title in titles)
