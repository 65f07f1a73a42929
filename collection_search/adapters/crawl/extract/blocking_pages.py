"""Pages that a site sends in place of a document: challenges, and notices to enable JavaScript.

The amount of other text decides together with the phrases: an article may speak of them.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any, Final

from ....text.headings import write_headings
from .blocking_phrases import (
    CAPTCHA,
    CERTAIN_MARKS,
    CHALLENGES,
    DENIED,
    LIKELY_MARKS,
    LOADING,
)
from .extracted import EmptyDocumentError
from .html_lines import BESIDE, html_lines
from .page_subjects import (
    asks_for_script,
    explains_captchas,
    explains_consent,
    explains_script,
    page_titles,
    sentences_of,
)
from .unseen_parts import asks_consent, button_labels

_KEPT: Final = "What is stored of the page stays."
CHALLENGE: Final = (
    "The site checks for a person or a browser first (a captcha or another challenge) and does not"
    f" send the page's text. {_KEPT} Use another source of the text, or ask the site for access."
)
CONSENT: Final = (
    "The site asks for consent to cookies in place of the page's text."
    f" {_KEPT} Use another source of the text."
)
NEEDS_JAVASCRIPT: Final = (
    "The page has no text of its own: JavaScript would load it."
    f" {_KEPT} Set fetch_browser to true to have its scripts run, or use another address of the"
    " text, such as its print version, a PDF or a feed."
)

NOTICE_CHARS: Final = 1_500
"""A page with more visible text is a document, whatever it says."""
_REST_CHARS: Final = 120
"""Text beside one phrase of a notice; a document says more."""
_REST_WITHOUT_SCRIPT_CHARS: Final = 40
"""Text beside a notice on a page that has no script."""
_REST_OF_TWO_CHARS: Final = 300
"""The same where two phrases occur."""
_SHELL_CHARS: Final = 100
"""Text around the empty element that a script would fill."""
_SENTENCE_CHARS: Final = 250
_TAG = re.compile(r"<[^<>]{0,500}>")
_SHELL_IDS: Final = frozenset({
    "root", "app", "__next", "__nuxt", "___gatsby", "svelte", "app-root", "main-app", "react-root",
    "application", "ember-application",
})  # fmt: skip
"""Names of the empty element that a program fills."""
_PICTURES: Final = ("img", "picture", "video", "audio", "object", "embed", "iframe", "frame")
_MARKED: Final = ("script", "iframe", "form", "link", "div", "input", "body", "meta", "span")


@dataclass(frozen=True, slots=True)
class PageSigns:
    """The facts of a page that tell a document from what stands in its place."""

    title: str
    titles: tuple[str, ...]
    """The parts of the title and of the main headings."""
    noscript: str
    is_challenge: bool
    """It has marks of challenges alone."""
    may_be_challenge: bool
    is_shell: bool
    """It has the empty element that a program fills."""
    has_programs: bool
    has_pictures: bool


def read_signs(tree: Any, title: str) -> PageSigns:
    """Return the signs of a page, before anything is removed from it."""
    programs = [one for one in tree.iter("script") if "json" not in (one.get("type") or "")]
    values = [one.text or "" for one in programs]
    for element in tree.iter(*_MARKED):
        values += element.attrib.values()
    markup = "\n".join(values)
    return PageSigns(
        title=title,
        titles=page_titles(tree),
        noscript="\n".join(" ".join(one.itertext()) for one in tree.iter("noscript")),
        is_challenge=CERTAIN_MARKS.search(markup) is not None,
        may_be_challenge=LIKELY_MARKS.search(markup) is not None,
        is_shell=any(map(_is_shell, tree.iter("div", "main", "section", "app-root"))),
        has_programs=bool(programs),
        has_pictures=next(tree.iter(*_PICTURES), None) is not None,
    )


def _is_shell(element: Any) -> bool:
    said = element.attrib
    is_named = (
        said.get("id", "").lower() in _SHELL_IDS
        or element.tag == "app-root"
        or any(name in said for name in ("ng-app", "data-reactroot", "ng-version"))
    )
    return is_named and not html_lines(element)


def refuse_blocking_page(signs: PageSigns, tree: Any, text: str, consent: str) -> None:
    """Raise EmptyDocumentError unless the page can be a document.

    `text` is all that a reader sees on it, with marked headings and without `consent`: the requests
    for consent that were removed.
    """
    if len(text) > NOTICE_CHARS:
        return
    text, own = write_headings(text), write_headings(html_lines(tree, without=BESIDE))
    if _is_challenge(signs, text):
        raise EmptyDocumentError(CHALLENGE, "challenge")
    if _needs_javascript(signs, text, own):
        raise EmptyDocumentError(NEEDS_JAVASCRIPT, "needs_javascript")
    if _is_consent_alone(signs, tree, text, consent):
        raise EmptyDocumentError(CONSENT, "challenge")


def _is_consent_alone(signs: PageSigns, tree: Any, text: str, consent: str) -> bool:
    """Return whether the page asks for consent, or has only menus beside what asked for it."""
    if asks_consent(tree):
        return not explains_consent(signs.titles, text, button_labels(tree))
    if not consent or any(map(str.isalnum, html_lines(tree, without=BESIDE))):
        return False
    return len(html_lines(tree, without=BESIDE - {"a"})) <= _REST_CHARS


def is_challenge_markup(page: str) -> bool:
    """Return whether the page of a refused request is a challenge.

    >>> is_challenge_markup("<title>Just a moment...</title>")
    True
    >>> is_challenge_markup("<title>Forbidden</title><p>Members only.")
    False
    """
    if CERTAIN_MARKS.search(page):
        return True
    said, _ = _challenges(sentences_of(html.unescape(_TAG.sub("\n", page))))
    is_certain = bool(said - {CHALLENGES.index(DENIED)})
    return is_certain or bool(said and LIKELY_MARKS.search(page))


def _is_challenge(signs: PageSigns, text: str) -> bool:
    if signs.is_challenge:
        return True
    sentences = [*sentences_of(text), *sentences_of(signs.title)]
    said, rest = _challenges(sentences)
    is_named_alone = said == {CHALLENGES.index(CAPTCHA)} and not signs.may_be_challenge
    if is_named_alone and explains_captchas(sentences, 1 + signs.has_programs):
        return False
    if len(said) > 1:
        return signs.may_be_challenge or rest <= _REST_OF_TWO_CHARS
    return bool(said) and rest <= (_REST_OF_TWO_CHARS if signs.may_be_challenge else _REST_CHARS)


def _challenges(sentences: list[str]) -> tuple[set[int], int]:
    """Return which phrases of challenges the sentences begin with, and the length of the others."""
    said: set[int] = set()
    rest = 0
    for sentence in sentences:
        found = {n for n, phrase in enumerate(CHALLENGES) if phrase.match(sentence)}
        said |= found
        rest += 0 if found else len(sentence)
    return said, rest


def _needs_javascript(signs: PageSigns, text: str, own: str) -> bool:
    """Return whether the page is a notice, or a shell that a program would fill."""
    lines = [line for line in text.splitlines() if not LOADING.fullmatch(line)]
    chars = sum(map(len, lines))
    if signs.has_programs:
        is_announced = signs.is_shell or any(map(_is_notice, sentences_of(signs.noscript)))
        if chars <= _SHELL_CHARS and signs.is_shell:
            return True
        if not chars and (is_announced or not signs.has_pictures):
            return True
    sentences = sentences_of(own)
    notices = [one for one in sentences if _is_notice(one)]
    if not notices or (not signs.is_shell and explains_script(signs.titles, sentences)):
        return False
    rest = sum(map(len, sentences)) - sum(map(len, notices))
    return rest <= (_REST_CHARS if signs.has_programs else _REST_WITHOUT_SCRIPT_CHARS)


def _is_notice(sentence: str) -> bool:
    return len(sentence) <= _SENTENCE_CHARS and asks_for_script(sentence)
