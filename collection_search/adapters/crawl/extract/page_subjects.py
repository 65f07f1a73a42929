"""Short pages that explain consent, captchas or JavaScript, in place of asking for one of them.

Their titles name the subject, and their sentences describe it. A request speaks to its reader.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from .blocking_phrases import EXPLAINING, HOW_TO, SCRIPT_NEED, SCRIPT_WORD, SENTENCES, THIS_PAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ABOUT_CONSENT: Final = re.compile(
    r"""\bcookies?\b|\bconsent\b|einwilligung|zustimmung|datenschutz|\bprivacy\b|\btracking\b
    |vie\s+privée|confidentialité|privacidad|consentimiento|riservatezza|consenso
    |zgod[aęy]|samtykke|toestemming|クッキー|同意|隐私|隱私|쿠키|동의|куки|согласие""",
    re.IGNORECASE | re.VERBOSE,
)
_POLICY: Final = re.compile(
    r"""\bpolic(?:y|ies)\b|\bstatement\b|\blaw\b|\bact\b|directive|regulation|glossary|\bguide\b
    |richtlinie|erklärung|gesetz|verordnung|glossar|informationen|pol[ií]ti(?:que|ca)|informativa
    |beleid|verklaring|polityka|ポリシー|政策|방침|политика""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words of titles that a request for consent does not have."""
_ASKING: Final = re.compile(
    r"""\b(?:you|your|we|our|us|this|uses?|preferences?|choices?|options?|settings?|manage|accept
    |allow|agree|continue|before|banner|center|centre|required|sie|ihre?|wir|unsere?|diese|bevor
    |auswahl|verwalten|zustimmen|verwende\w*|vos|votre|nous|notre|cette|gestion|gérer|choix
    |su|sus|tu|esta|este)\b|cookie[\s-]?consent|einstellung|präferenz|param[eè]tr|préférence|configur
    |preferenc|設定|设置|설정|настройк""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words of titles that speak to the reader or name a dialog."""
_OTHER_CHOICE: Final = re.compile(
    r"""reject|declin|refus|\bdeny|settings|preferences|options|manage|customi[sz]e|choices
    |necessary|essential|disagree|einstellung|ablehnen|notwendige|optionen|auswahl|verwalten
    |anpassen|gérer|param[eè]tr|rechazar|configur|rifiuta|weiger|odrzu|avvis|отклон|настро
    |拒否|設定|拒绝|设置|거부|설정""",
    re.IGNORECASE | re.VERBOSE,
)
"""The label of a button beside the one that gives consent."""
_CAPTCHA: Final = re.compile(r"(?:re|h)?captchas?\W*", re.IGNORECASE)
_ADDRESSED: Final = re.compile(
    r"\b(?i:you|your|yours|please|bitte|vous|votre|veuillez|usted|por favor)\b|\b(?:Sie|Ihre?)\b"
)
_TITLE_PARTS: Final = re.compile(r"\s+[|·–—-]\s+|\||:\s")  # noqa: RUF001
_TITLES: Final = 5
_LABEL_CHARS: Final = 60
_LEAST_CHARS: Final = 15
"""A sentence with fewer explains nothing."""
_LEAST_SENTENCES: Final = 2


def page_titles(tree: Any) -> tuple[str, ...]:
    """Return the parts of the page's title and of its main headings."""
    found = (one for tag in ("title", "h1") for one in islice(tree.iter(tag), _TITLES))
    texts = (" ".join("".join(one.itertext()).split()) for one in found)
    return tuple(part for text in texts for part in _TITLE_PARTS.split(text) if part)


def sentences_of(text: str) -> list[str]:
    r"""Return the sentences that have a letter or a digit, without the marks around them.

    >>> sentences_of("# Herons\nThey wait. They strike!")
    ['Herons', 'They wait', 'They strike']
    """
    found = (sentence.strip(" \t#|-*") for sentence in SENTENCES.findall(text))
    return [sentence for sentence in found if any(map(str.isalnum, sentence))]


def explains_consent(titles: Sequence[str], text: str, labels: Iterable[str]) -> bool:
    """Return whether a page that speaks of consent is about it, such as a policy for cookies.

    `labels` are those of its buttons. A request has mostly a second one, to refuse.
    """
    about = [title for title in titles if ABOUT_CONSENT.search(title)]
    if any(_POLICY.search(title) or EXPLAINING.match(title) for title in about):
        is_subject = True
    else:
        is_subject = any(not _ASKING.search(title) for title in about) and not any(
            len(label) < _LABEL_CHARS and _OTHER_CHOICE.search(label) for label in labels
        )
    return is_subject and len(_explaining(sentences_of(text), titles)) >= _LEAST_SENTENCES


def explains_captchas(sentences: Sequence[str], least: int) -> bool:
    """Return whether one of the sentences is the word alone, and others describe it."""
    others = [one for one in sentences if not _CAPTCHA.fullmatch(one)]
    said = [one for one in _explaining(others, ()) if not _ADDRESSED.search(one)]
    return len(others) < len(sentences) and len(said) >= least


def asks_for_script(sentence: str) -> bool:
    """Return whether the sentence says that JavaScript is needed, and does not explain it."""
    return (
        EXPLAINING.match(sentence) is None
        and HOW_TO.match(sentence) is None
        and SCRIPT_WORD.search(sentence) is not None
        and SCRIPT_NEED.search(sentence) is not None
    )


def explains_script(titles: Sequence[str], sentences: Sequence[str]) -> bool:
    """Return whether the page is about JavaScript: an article, or how to enable it."""
    if any(asks_for_script(one) and THIS_PAGE.search(one) for one in sentences):
        return False
    if any(map(HOW_TO.match, sentences)):
        return True
    is_subject = any(
        SCRIPT_WORD.search(title) and not _ADDRESSED.search(title) and not asks_for_script(title)
        for title in titles
    )
    said = [one for one in _explaining(sentences, titles) if not _ADDRESSED.search(one)]
    return is_subject and len(said) >= _LEAST_SENTENCES


def _explaining(sentences: Sequence[str], titles: Sequence[str]) -> list[str]:
    return [one for one in sentences if len(one) >= _LEAST_CHARS and one not in titles]
